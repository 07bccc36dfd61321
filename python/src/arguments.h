// Arguments of functions that Python calls without making a tuple of them, by position and by name.
#pragma once

#include "values.h"

#include <optional>

namespace binding {

/// `given[i]` is the argument called names[i], or null. The first `positional` may come by position; `required` of them
/// must be there. False: a Python exception is set.
bool parse_arguments(const char *function, const char *const *names, size_t count, size_t positional, size_t required,
                     PyObject *const *arguments, Py_ssize_t nargs, PyObject *keywords, PyObject **given);

template <size_t N>
bool parse_arguments(const char *function, const char *const (&names)[N], size_t positional, size_t required,
                     PyObject *const *arguments, Py_ssize_t nargs, PyObject *keywords, PyObject *(&given)[N]) {
  return parse_arguments(function, names, N, positional, required, arguments, nargs, keywords, given);
}

template <auto function> PyCFunction as_method() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(function));
}
/// Adds the functions, up to an empty entry, to the module, and their names as a list of that name.
void add_method_table(nb::module_ &m, PyMethodDef *functions, const char *list);

/// axis=: an integer, or None or nothing.
std::optional<int> to_axis(const char *function, PyObject *axis);
/// True or False, also of other objects; false where it was not given.
bool to_flag(PyObject *object);

} // namespace binding
