// Kernels from elsewhere: Python functions and the loops of NumPy's ufuncs.
#pragma once

#include <string>

#include "binding.h"
#include "dynd/call/callable.h"

namespace binding {

/// A kernel that calls a Python function for every element. What has no core dimension is a Python number or tuple,
/// what has one an array. Keeps the function alive.
nd::kernel python_kernel(const std::string &name, std::string_view signature, PyObject *function,
                         const std::string &doc);

/// Exceptions of Python functions that kernels call, while a callable is called: the first one is raised again as it
/// was, with the place of the element.
class python_error_scope {
public:
  python_error_scope();
  ~python_error_scope();
  python_error_scope(const python_error_scope &) = delete;
  python_error_scope &operator=(const python_error_scope &) = delete;
  /// In a catch block: raises what the function raised, else what was caught. Always null.
  PyObject *raise();
  /// Keeps the exception that is set now.
  static void keep();

private:
  PyObject *exception_ = nullptr;
  python_error_scope *outer_;
};

} // namespace binding
