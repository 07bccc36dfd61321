// Kernels from elsewhere: Python functions and the loops of NumPy's ufuncs.
#pragma once

#include <atomic>
#include <string>

#include "binding.h"
#include "dynd/call/callable.h"
#include "dynd/kernel/level.h"

namespace binding {

/// A kernel that calls a Python function for every element. What has no core dimension is a Python number or tuple,
/// what has one an array. Keeps the function alive.
nd::kernel python_kernel(const std::string &name, std::string_view signature, PyObject *function,
                         const std::string &doc);

/// The exception of a Python function that a kernel called, raised again as it was, with the place of the element as a
/// note, where an error of the library says that there was one; else false.
bool raise_kept_exception(const std::string &text);

/// A counted deferred kernel that keeps a Python object alive.
struct python_owner : deferred_ckernel {
  std::string name_text, signature_text, doc_text;
  PyObject *object;
  std::atomic<intptr_t> refs{1};

  python_owner(std::string name, std::string signature, std::string doc, PyObject *kept)
      : deferred_ckernel{}, name_text(std::move(name)), signature_text(std::move(signature)), doc_text(std::move(doc)),
        object(Py_NewRef(kept)) {
    size = sizeof(deferred_ckernel);
    version = DYND_ABI_VERSION;
    flags = dynd_callable_python_lock;
    this->name = name_text.c_str();
    this->signature = signature_text.c_str();
    this->doc = doc_text.c_str();
    retain = [](const deferred_ckernel *self) { of(self)->refs.fetch_add(1, std::memory_order_relaxed); };
    release = release_owner;
  }
  virtual ~python_owner() { Py_DECREF(object); }

  static python_owner *of(const deferred_ckernel *self) {
    return const_cast<python_owner *>(static_cast<const python_owner *>(self));
  }
  /// The owner that a kernel is; null where it is another kernel.
  static python_owner *in(const deferred_ckernel *self) { return self->release == release_owner ? of(self) : nullptr; }

private:
  static void release_owner(const deferred_ckernel *self) { // with Python's lock or without
    if (of(self)->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      give_back([&] { delete of(self); });
    }
  }
};

/// The exception that is set becomes the error of the call.
int report_exception(dynd_frame *frame);

/// What the call throws becomes the error of the outer element.
template <class Call> int guarded_call(dynd_frame *frame, size_t index, Call call) {
  try {
    call();
    return dynd_ok;
  } catch (nb::python_error &e) {
    e.restore();
    fail_element(frame, index);
    return report_exception(frame);
  } catch (const error &e) {
    fail_element(frame, index);
    return report(frame, int(e.kind()), "%s", e.what());
  } catch (...) {
    return report(frame, dynd_error_memory, "no memory");
  }
}

/// Adds the function that makes kernels of NumPy's loops to the module.
void add_ufuncs(nb::module_ &m);

} // namespace binding
