// Products of matrices and tensors: what dynd/_linear.py calls.
#include "arguments.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "dynd/call/blas.h"
#include "dynd/call/linear.h"

namespace binding {

namespace {

// None would be a missing value, which matrices have not.
nd::array matrix(nb::handle object, const char *name) {
  if (object.is_none()) {
    throw error(error_kind::type, std::string(name) + ": expected an array, not None");
  }
  return operand(object, name);
}

nb::object tensordot(nb::handle a, nb::handle b, nb::handle a_axes, nb::handle b_axes) {
  std::vector<int> axes[2];
  for (nb::handle axis : a_axes) {
    axes[0].push_back(axis_number("tensordot", axis));
  }
  for (nb::handle axis : b_axes) {
    axes[1].push_back(axis_number("tensordot", axis));
  }
  return wrapped(nd::tensordot(matrix(a, "tensordot"), matrix(b, "tensordot"), axes[0], axes[1]));
}

nb::object einsum(const std::string &subscripts, nb::tuple operands) {
  std::vector<nd::array> all;
  for (nb::handle object : operands) {
    all.push_back(matrix(object, "einsum"));
  }
  return wrapped(nd::einsum(subscripts, all));
}

} // namespace

void add_linear(nb::module_ &m) {
  m.def(
      "matmul",
      [](nb::handle a, nb::handle b) { return wrapped(nd::matmul(matrix(a, "matmul"), matrix(b, "matmul"))); },
      nb::arg("a").none(), nb::arg("b").none());
  m.def("tensordot", tensordot, nb::arg("a").none(), nb::arg("b").none(), nb::arg("a_axes"), nb::arg("b_axes"));
  m.def("einsum", einsum);
  m.def("add_blas_path", nd::add_blas_path);
  m.def("blas_library", nd::blas_library);
}

} // namespace binding
