#include "arguments.h"

#include <algorithm>
#include <string>

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
    m.attr(function->ml_name) = nb::steal(PyCFunction_NewEx(function, nullptr, module_name.ptr()));
    names.attr("append")(function->ml_name);
  }
  m.attr(list) = names;
}

std::optional<int> to_axis(const char *function, PyObject *axis) {
  if (!axis || axis == Py_None) {
    return {};
  }
  if (!PyIndex_Check(axis)) {
    throw error(error_kind::type,
                std::string(function) + ": axis must be an integer or None, not " + Py_TYPE(axis)->tp_name);
  }
  Py_ssize_t number = PyNumber_AsSsize_t(axis, nullptr);
  if (number == -1 && PyErr_Occurred()) {
    throw nb::python_error();
  }
  if (number > max_ndim || number < -max_ndim) {
    throw error(error_kind::index,
                std::string(function) + ": axis " + nb::str(nb::handle(axis)).c_str() + " is out of bounds");
  }
  return int(number);
}

bool to_flag(PyObject *object) {
  int flag = object ? PyObject_IsTrue(object) : 0;
  if (flag < 0) {
    throw nb::python_error();
  }
  return flag;
}

} // namespace binding
