// Arguments of functions that Python calls without making a tuple of them, by position and by name.
#pragma once

#include "values.h"

#include <optional>
#include <vector>

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

/// An integer for a message; of one that is too long to be shown only how many bits it has.
std::string integer_text(nb::handle object);
/// An integer of 64 bits that is called `what`; one that has more is an overflow error.
intptr_t to_integer(const char *function, const char *what, nb::handle object);
/// The same where an integer beyond 64 bits is the nearest one that has them; `expected` says what it can be, for what
/// is no integer.
intptr_t clipped_integer(const char *function, const char *what, nb::handle object,
                         const char *expected = "an integer");
/// One integer, or several, in what has elements: a tuple, a list, an array.
std::vector<nb::object> one_or_several(const char *function, const char *what, nb::handle integers);
/// An axis, which is there; `expected` says what it can be, for what is no integer.
int axis_number(const char *function, nb::handle axis, const char *expected = "an integer");
/// axis=: an integer, or None or nothing.
std::optional<int> to_axis(const char *function, nb::handle axis);
/// True or False, also of numbers; false where it was not given or is None. What has no truth of its own, as a dtype
/// that is given by position where another library has it, is a type error.
bool to_flag(const char *function, const char *keyword, nb::handle object);

/// A number as float64; `otherwise` where it was not given or is None.
double to_number(const char *function, const char *keyword, PyObject *object, double otherwise);

/// access=: "readonly", "rw", ...; `otherwise` where it was not given or is None.
access_mode access_or(const char *function, PyObject *access, access_mode otherwise);
access_mode access_of(const char *function, std::string_view text);
const char *access_name(access_mode access);

/// The element type that an argument names: datashape text, an ndt.type, one of Python's number types, or what NumPy
/// takes for a dtype. Null where it was not given or is None.
ndt::type to_element_type(const char *function, PyObject *object);
/// The type that elements of a NumPy dtype have as a copy (numpy.cpp).
ndt::type type_of_copies(nb::handle dtype);
/// The number that it is; a type error for any other type.
std::optional<scalar_id> number_type(const char *function, const ndt::type &type);

} // namespace binding
