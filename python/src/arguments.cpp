#include "arguments.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dynd/plan/nest.h"

namespace binding {

bool parse_arguments(const char *function, const char *const *names, size_t count, size_t positional, size_t required,
                     PyObject *const *arguments, Py_ssize_t nargs, PyObject *keywords, PyObject **given) {
  std::fill_n(given, count, nullptr);
  if (size_t(nargs) > positional) {
    PyErr_Format(PyExc_TypeError, "%s: takes %zu positional argument(s), not %zd", function, positional, nargs);
    return false;
  }
  std::copy_n(arguments, nargs, given);
  Py_ssize_t nkeywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < nkeywords; i++) {
    PyObject *key = PyTuple_GET_ITEM(keywords, i);
    size_t which = 0;
    while (which < count && PyUnicode_CompareWithASCIIString(key, names[which]) != 0) {
      which++;
    }
    if (which == count || given[which]) {
      PyErr_Format(PyExc_TypeError, "%s: %s keyword argument %R", function, which == count ? "unexpected" : "repeated",
                   key);
      return false;
    }
    given[which] = arguments[nargs + i];
  }
  for (size_t i = 0; i < required; i++) {
    if (!given[i]) {
      PyErr_Format(PyExc_TypeError, "%s: missing argument '%s'", function, names[i]);
      return false;
    }
  }
  return true;
}

void add_method_table(nb::module_ &m, PyMethodDef *functions, const char *list) {
  nb::object module_name = nb::str("dynd.nd"), names = nb::list();
  for (PyMethodDef *function = functions; function->ml_name; function++) {
    m.attr(function->ml_name) = steal(PyCFunction_NewEx(function, nullptr, module_name.ptr()));
    names.attr("append")(function->ml_name);
  }
  m.attr(list) = names;
}

std::string integer_text(nb::handle object) {
  nb::object number = steal(PyNumber_Index(object.ptr()));
  auto bits = nb::cast<size_t>(number.attr("bit_length")());
  return bits <= 128 ? nb::str(number).c_str() : "(" + std::to_string(bits) + " bits)";
}

intptr_t to_integer(const char *function, const char *what, nb::handle object) {
  if (!PyIndex_Check(object.ptr())) {
    throw error(error_kind::type,
                std::string(function) + ": " + what + " must be an integer, not " + Py_TYPE(object.ptr())->tp_name);
  }
  nb::object number = steal(PyNumber_Index(object.ptr()));
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow) {
    throw error(error_kind::overflow,
                std::string(function) + ": " + what + " " + integer_text(number) + " does not fit int64");
  }
  if (value == -1 && PyErr_Occurred()) {
    throw nb::python_error();
  }
  return value;
}

intptr_t clipped_integer(const char *function, const char *what, nb::handle object, const char *expected) {
  if (!PyIndex_Check(object.ptr())) {
    throw error(error_kind::type, std::string(function) + ": " + what + " must be " + expected + ", not " +
                                      Py_TYPE(object.ptr())->tp_name);
  }
  Py_ssize_t number = PyNumber_AsSsize_t(object.ptr(), nullptr);
  if (number == -1 && PyErr_Occurred()) {
    throw nb::python_error();
  }
  return number;
}

std::vector<nb::object> one_or_several(const char *function, const char *what, nb::handle integers) {
  std::vector<nb::object> all;
  if (!PyList_Check(integers.ptr()) && !PyTuple_Check(integers.ptr())) {
    if (PyObject *number = PyNumber_Index(integers.ptr())) {
      all.push_back(steal(number));
      return all;
    }
    forget_error(PyExc_TypeError); // arrays have __index__ too
  }
  if (nb::object elements = nb::steal(PySequence_Fast(integers.ptr(), "")); elements.is_valid()) {
    for (Py_ssize_t i = 0, n = PySequence_Fast_GET_SIZE(elements.ptr()); i < n; i++) {
      PyObject *number = PyNumber_Index(PySequence_Fast_GET_ITEM(elements.ptr(), i));
      if (!number) {
        break;
      }
      all.push_back(steal(number));
    }
  }
  if (PyErr_Occurred()) {
    forget_error(PyExc_TypeError);
    throw error(error_kind::type, std::string(function) + ": " + what + " must be an integer or a tuple of them, not " +
                                      nb::repr(integers).c_str());
  }
  return all;
}

int axis_number(const char *function, nb::handle axis, const char *expected) {
  intptr_t number = clipped_integer(function, "axis", axis, expected);
  if (number > max_ndim || number < -max_ndim) {
    throw error(error_kind::index, std::string(function) + ": axis " + integer_text(axis) + " is out of bounds");
  }
  return int(number);
}

std::optional<int> to_axis(const char *function, nb::handle axis) {
  return axis.is_valid() && !axis.is_none() ? std::optional(axis_number(function, axis, "an integer or None"))
                                            : std::nullopt;
}

bool to_flag(const char *function, const char *keyword, nb::handle object) {
  if (!object.is_valid() || object.is_none()) {
    return false;
  }
  const PyNumberMethods *number = Py_TYPE(object.ptr())->tp_as_number;
  if (!number || !number->nb_bool) {
    throw error(error_kind::type,
                std::string(function) + ": " + keyword + " must be True or False, not " + nb::repr(object).c_str());
  }
  int flag = PyObject_IsTrue(object.ptr());
  if (flag < 0) {
    throw nb::python_error();
  }
  return flag;
}

double to_number(const char *function, const char *keyword, PyObject *object, double otherwise) {
  double value = object && object != Py_None ? PyFloat_AsDouble(object) : otherwise;
  if (value == -1 && PyErr_Occurred()) {
    forget_error(PyExc_TypeError); // others are of its own __float__, or it is too large
    throw error(error_kind::type,
                std::string(function) + ": " + keyword + " must be a number, not " + Py_TYPE(object)->tp_name);
  }
  return value;
}

namespace {

constexpr const char *access_names[] = {"immutable", "readonly", "readwrite"};

} // namespace

const char *access_name(access_mode access) { return access_names[size_t(access)]; }

access_mode access_of(const char *function, std::string_view text) {
  for (size_t i = 0; i < std::size(access_names); i++) {
    if (text == access_names[i]) {
      return access_mode(i);
    }
  }
  if (text == "r" || text == "rw") {
    return text == "r" ? access_mode::readonly : access_mode::readwrite;
  }
  throw error(error_kind::value, std::string(function) +
                                     ": access must be 'immutable', 'readonly' or 'readwrite' ('rw'), not '" +
                                     std::string(text) + "'");
}

access_mode access_or(const char *function, PyObject *access, access_mode otherwise) {
  if (!access || access == Py_None) {
    return otherwise;
  }
  if (!PyUnicode_Check(access)) {
    throw error(error_kind::type, std::string(function) + ": access must be text, not " + Py_TYPE(access)->tp_name);
  }
  return access_of(function, utf8_of(access, {}));
}

ndt::type to_element_type(const char *function, PyObject *object) {
  if (!object || object == Py_None || PyUnicode_Check(object) || nb::isinstance<ndt::type>(object)) {
    return to_type(object, function);
  }
  const std::pair<PyTypeObject *, scalar_id> numbers[] = {{&PyFloat_Type, scalar_id::float64},
                                                          {&PyLong_Type, scalar_id::int64},
                                                          {&PyBool_Type, scalar_id::bool_},
                                                          {&PyComplex_Type, scalar_id::complex128}};
  for (auto &[python, scalar] : numbers) {
    if (object == reinterpret_cast<PyObject *>(python)) {
      return ndt::make_scalar(scalar);
    }
  }
  nb::object numpy = nb::module_::import_("sys").attr("modules").attr("get")("numpy");
  if (!numpy.is_none()) {
    nb::object dtype;
    try {
      dtype = numpy.attr("dtype")(nb::handle(object));
    } catch (const nb::python_error &e) {
      if (!e.matches(PyExc_TypeError)) { // else it is none
        throw;
      }
    }
    if (dtype.is_valid()) {
      return type_of_copies(dtype);
    }
  }
  throw error(error_kind::type, std::string(function) + ": type must be datashape text, an ndt.type or a dtype, not " +
                                    Py_TYPE(object)->tp_name);
}

std::optional<scalar_id> number_type(const char *function, const ndt::type &type) {
  if (type && type->scalar == not_scalar) {
    throw error(error_kind::type,
                std::string(function) + ": the type must be a number's, not " + std::string(type.str()));
  }
  return type ? std::optional(type->scalar) : std::nullopt;
}

} // namespace binding
