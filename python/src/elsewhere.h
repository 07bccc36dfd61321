// Kernels from elsewhere: Python functions and the loops of NumPy's ufuncs.
#pragma once

#include <string>

#include "binding.h"
#include "dynd/call/callable.h"
#include "dynd/call/counted_kernel.h"

namespace binding {

/// A kernel that calls a Python function for every element. What has no core dimension is a Python number or tuple,
/// what has one an array. Keeps the function alive.
nd::kernel python_kernel(const std::string &name, std::string_view signature, PyObject *function,
                         const std::string &doc);

/// The exception of a Python function that a kernel called, raised again as it was, with the place of the element as a
/// note, where an error of the library says that there was one; else false.
bool raise_kept_exception(const std::string &text);

/// A counted deferred kernel that keeps a Python object alive.
struct python_owner : nd::counted_kernel<python_owner> {
  PyObject *object;

  python_owner(std::string name, std::string signature, std::string doc, PyObject *kept)
      : counted_kernel(std::move(name), std::move(signature), std::move(doc)), object(Py_NewRef(kept)) {
    flags = dynd_callable_python_lock;
  }
  virtual ~python_owner() { Py_DECREF(object); }
  void destroy() { // with Python's lock or without
    give_back([&] { delete this; });
  }

  /// The owner that a kernel is; null where it is another kernel.
  static python_owner *in(const deferred_ckernel *self) { return self->release == release_self ? of(self) : nullptr; }
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
  } catch (...) {
    fail_element(frame, index);
    return nd::report_caught(frame);
  }
}

/// Adds the function that makes kernels of NumPy's loops to the module.
void add_ufuncs(nb::module_ &m);

} // namespace binding
