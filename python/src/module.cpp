// The module `_dynd`: the array type, the types, the functions.
#include "binding.h"
#include "elsewhere.h"

#include <cstring>
#include <optional>

#include "dynd/base/interpreter.h"

namespace binding {

namespace {

// What a signal handler raised while an evaluation ran on the main thread, until the evaluation has stopped.
std::optional<nb::python_error> interrupt;

// Signals are handled on the main thread only, which is where a program began.
bool is_interrupted() {
  if (gettid() != getpid()) {
    return false;
  }
  nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() == 0) {
    return false;
  }
  interrupt.emplace();
  return true;
}

PyObject *exception_of(error_kind kind) {
  switch (kind) {
  case error_kind::type:
    return PyExc_TypeError;
  case error_kind::value:
  case error_kind::broadcast:
    return PyExc_ValueError;
  case error_kind::index:
    return PyExc_IndexError;
  case error_kind::overflow:
    return PyExc_OverflowError;
  case error_kind::memory:
    return PyExc_MemoryError;
  case error_kind::cancelled:
    return PyExc_KeyboardInterrupt;
  case error_kind::internal:
    break;
  }
  return PyExc_RuntimeError;
}

// A text that was cut short, or that a plug-in wrote, need not be UTF-8 to its end.
void raise_text(PyObject *type, const char *text) {
  nb::object message = nb::steal(PyUnicode_DecodeUTF8(text, Py_ssize_t(std::strlen(text)), "replace"));
  if (message.is_valid()) {
    PyErr_SetObject(type, message.ptr());
  }
}

} // namespace

PyObject *raise(const error &e) {
  if (e.kind() == error_kind::cancelled && interrupt) {
    interrupt->restore();
    interrupt.reset();
  } else if (!raise_kept_exception(e.what())) {
    raise_text(exception_of(e.kind()), e.what());
  }
  return nullptr;
}

PyObject *raise_current() {
  try {
    throw;
  } catch (const error &e) {
    return raise(e);
  } catch (nb::python_error &e) {
    e.restore();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &e) {
    raise_text(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

} // namespace binding

NB_MODULE(_dynd, m) {
  using namespace binding;
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr &p, void *) {
    try {
      std::rethrow_exception(p);
    } catch (const error &e) {
      raise(e);
    }
  });
  the_interpreter.let_go = []() -> void * { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; };
  the_interpreter.take_back = [](void *state) {
    or_sleep([&] { PyEval_RestoreThread(static_cast<PyThreadState *>(state)); });
  };
  the_interpreter.enter = [] { return int(or_sleep(PyGILState_Ensure)); };
  the_interpreter.leave = [](int state) { PyGILState_Release(PyGILState_STATE(state)); };
  the_interpreter.interrupted = is_interrupted;
  make_array_types();
  m.attr("array") = nb::handle(reinterpret_cast<PyObject *>(array_type));
  add_types(m);
  add_functions(m);
  add_keyword_functions(m);
  add_callables(m);
  add_elsewhere(m);
  add_linear(m);
  add_kernels(m);
  add_conversions(m);
  add_pickle(m);
  add_scans(m);
  add_creation(m);
  add_order(m);
  add_structure(m);
  add_groups(m);
}
