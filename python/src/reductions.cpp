// The reductions: functions and methods, made from the entries of ops/.
#include "values.h"

#include <optional>
#include <string>

#include "dynd/eval/evaluate.h"

namespace binding {

namespace {

PyObject *reduce(reduction_id id, PyObject *operand, PyObject *axis, PyObject *keepdims) {
  try {
    const char *name = reduction_of(id).name;
    std::optional<int> axis_number;
    if (axis && axis != Py_None) {
      if (!PyIndex_Check(axis)) {
        throw error(error_kind::type,
                    std::string(name) + ": axis must be an integer or None, not " + Py_TYPE(axis)->tp_name);
      }
      Py_ssize_t number = PyNumber_AsSsize_t(axis, nullptr);
      if (number == -1 && PyErr_Occurred()) {
        throw nb::python_error();
      }
      if (number > max_ndim || number < -max_ndim) {
        throw error(error_kind::index,
                    std::string(name) + ": axis " + nb::str(nb::handle(axis)).c_str() + " is out of bounds");
      }
      axis_number = int(number);
    }
    int keep = keepdims ? PyObject_IsTrue(keepdims) : 0;
    if (keep < 0) {
      throw nb::python_error();
    }
    nd::array other = is_array(operand) ? nd::array() : to_operand(operand, nullptr, name);
    array_block *block = other ? other.get() : unwrap(operand).get();
    bool last_use = !other && Py_REFCNT(operand) == 1;
    return wrap(evaluate(id, block, last_use, axis_number, keep));
  } catch (...) {
    return raise_current();
  }
}

// axis and keepdims, by position or by name.
bool parse_reduction(const char *name, PyObject *const *arguments, Py_ssize_t count, Py_ssize_t first,
                     PyObject *keywords, PyObject **axis, PyObject **keepdims) {
  if (count < first || count > first + 2) {
    PyErr_Format(PyExc_TypeError, "%s: takes %s axis= and keepdims=, not %zd arguments", name,
                 first ? "an array," : "only", count);
    return false;
  }
  *axis = count > first ? arguments[first] : nullptr;
  *keepdims = count > first + 1 ? arguments[first + 1] : nullptr;
  Py_ssize_t nkeywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < nkeywords; i++) {
    PyObject *key = PyTuple_GET_ITEM(keywords, i);
    PyObject **target = PyUnicode_CompareWithASCIIString(key, "axis") == 0       ? axis
                        : PyUnicode_CompareWithASCIIString(key, "keepdims") == 0 ? keepdims
                                                                                 : nullptr;
    if (!target || *target) {
      PyErr_Format(PyExc_TypeError, "%s: %s keyword argument %R", name, target ? "repeated" : "unexpected", key);
      return false;
    }
    *target = arguments[count + i];
  }
  return true;
}

template <reduction_id id>
PyObject *reduction_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  PyObject *axis, *keepdims;
  return parse_reduction(reduction_of(id).name, arguments, count, 0, keywords, &axis, &keepdims)
             ? reduce(id, self, axis, keepdims)
             : nullptr;
}

template <reduction_id id>
PyObject *reduction_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  PyObject *axis, *keepdims;
  return parse_reduction(reduction_of(id).name, arguments, count, 1, keywords, &axis, &keepdims)
             ? reduce(id, arguments[0], axis, keepdims)
             : nullptr;
}

#define DYND_REDUCTION_DOC(parameters, doc)                                                                            \
  parameters "\n--\n\n" doc                                                                                            \
             "\n\n(Dims... * T) -> Kept... * R, where R is T, or 64 bits wide for a sum of integers or bool.\n\n"      \
             "axis: the dimension to reduce, negative from the end; None reduces all, in C order.\n"                   \
             "keepdims: the reduced dimension stays with size 1, so that the result broadcasts with the operand.\n"    \
             "A lazy operand is computed in the same pass: (a * b).sum() reads memory once."

#define DYND_REDUCTION(name, set, accumulator, combine, identity, empty, doc)                                          \
  {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(reduction_method<reduction_id::name>)),               \
   METH_FASTCALL | METH_KEYWORDS, DYND_REDUCTION_DOC(#name "($self, axis=None, keepdims=False)", doc)},
PyMethodDef reduction_methods[] = {
#include "dynd/ops/reductions.def"
    {nullptr, nullptr, 0, nullptr}};
#undef DYND_REDUCTION

#define DYND_REDUCTION(name, set, accumulator, combine, identity, empty, doc)                                          \
  {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(reduction_function<reduction_id::name>)),             \
   METH_FASTCALL | METH_KEYWORDS, DYND_REDUCTION_DOC(#name "(a, axis=None, keepdims=False)", doc)},
PyMethodDef reduction_functions[] = {
#include "dynd/ops/reductions.def"
    {nullptr, nullptr, 0, nullptr}};
#undef DYND_REDUCTION

nb::object steal(PyObject *object) {
  if (!object) {
    throw nb::python_error();
  }
  return nb::steal(object);
}

} // namespace

void add_reductions(nb::module_ &m) {
  nb::object module_name = nb::str("dynd.nd");
  for (PyMethodDef *method = reduction_functions; method->ml_name; method++) {
    m.attr(method->ml_name) = steal(PyCFunction_NewEx(method, nullptr, module_name.ptr()));
  }
  nb::handle type(reinterpret_cast<PyObject *>(array_type));
  for (PyMethodDef *method = reduction_methods; method->ml_name; method++) {
    nb::setattr(type, method->ml_name, steal(PyDescr_NewMethod(array_type, method)));
  }
  for (size_t i = 0; i < reduction_count; i++) {
    const reduction &r = reduction_of(reduction_id(i));
    m.attr("operations").attr("append")(nb::make_tuple(r.name, r.doc, "(Dims... * T) -> Kept... * R"));
  }
}

} // namespace binding
