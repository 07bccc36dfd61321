// ndt.type and the scalar types.
#include "values.h"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

namespace binding {

namespace {

// As Python quotes it: a field's name may have backslashes in it.
std::string quoted(const std::string &text) { return nb::repr(nb::str(text.c_str(), text.size())).c_str(); }

std::string repr(const ndt::type &t) {
  std::string text(t.str());
  return t->kind == type_kind::scalar ? "ndt." + text : "ndt.type(" + quoted(text) + ")";
}

} // namespace

ndt::type to_type(nb::handle object, const char *operation) {
  if (!object.is_valid() || object.is_none()) {
    return ndt::type();
  }
  if (nb::isinstance<ndt::type>(object)) {
    return nb::cast<ndt::type>(object);
  }
  if (!PyUnicode_Check(object.ptr())) {
    throw error(error_kind::type, std::string(operation) + ": type must be datashape text or an ndt.type, not " +
                                      Py_TYPE(object.ptr())->tp_name);
  }
  return ndt::type(utf8_of(object.ptr(), {}));
}

void add_types(nb::module_ &m) {
  nb::class_<ndt::type>(m, "type", "A type, made from datashape text: ndt.type('strided * var * float64').")
      .def(
          "__init__",
          [](ndt::type *self, nb::object text) {
            if (nb::isinstance<ndt::type>(text)) {
              new (self) ndt::type(nb::cast<ndt::type>(text));
            } else if (PyUnicode_Check(text.ptr())) {
              new (self) ndt::type(utf8_of(text.ptr(), {}));
            } else {
              throw error(error_kind::type, std::string("ndt.type: expected datashape text or a type, not ") +
                                                Py_TYPE(text.ptr())->tp_name);
            }
          },
          nb::arg("datashape").none())
      .def("__str__", [](const ndt::type &t) { return std::string(t.str()); })
      .def("__repr__", repr)
      .def("__eq__",
           [](const ndt::type &t, nb::object other) {
             return nb::isinstance<ndt::type>(other) ? nb::cast<ndt::type>(other) == t : nb::str(t->text).equal(other);
           })
      .def("__hash__", [](const ndt::type &t) { return size_t(t->id); })
      .def_prop_ro(
          "ndim", [](const ndt::type &t) { return int(t->ndim); }, "Number of dimensions.")
      .def_prop_ro(
          "element",
          [](const ndt::type &t) {
            if (!t->element) {
              throw error(error_kind::type, "ndt.type: " + std::string(t.str()) + " has no dimension");
            }
            return t.element();
          },
          "The type below the outermost dimension.")
      .def_prop_ro(
          "dtype", [](const ndt::type &t) { return t.dtype(); }, "The type of the elements.");
  nb::dict scalars;
  for (size_t i = 0; i < scalar_count; i++) {
    scalars[scalar_name[i]] = ndt::make_scalar(scalar_id(i));
  }
  m.attr("scalar_types") = scalars;
}

} // namespace binding
