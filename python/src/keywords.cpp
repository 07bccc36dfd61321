// The functions that take settings by keyword, and Python's own for rounding: round(a, 2), math.floor(a).
#include "arguments.h"

#include <algorithm>
#include <string>

#include "dynd/call/composed.h"
#include "dynd/eval/evaluate.h"

namespace binding {

namespace {

nb::object wrapped(nd::array a) { return nb::steal(wrap(std::move(a))); }

template <op_id op> void add_rounding(nb::handle type, const char *name, const char *doc) {
  auto call = [](nb::handle self) {
    array_block *block = unwrap(self.ptr()).get();
    return wrapped(nd::array(evaluate(op, {&block, 1})));
  };
  nb::setattr(type, name, nb::cpp_function(call, nb::name(name), nb::is_method(), nb::scope(type), doc));
}

// Of any size: beyond some hundreds places nothing changes.
int places(nb::handle decimals) {
  if (!PyIndex_Check(decimals.ptr())) {
    throw error(error_kind::type,
                std::string("round: decimals must be an integer, not ") + Py_TYPE(decimals.ptr())->tp_name);
  }
  Py_ssize_t number = PyNumber_AsSsize_t(decimals.ptr(), nullptr);
  if (number == -1 && PyErr_Occurred()) {
    throw nb::python_error();
  }
  return int(std::clamp<Py_ssize_t>(number, -10000, 10000));
}

nb::object isclose(nb::handle a, nb::handle b, nb::handle rtol, nb::handle atol, nb::handle equal_nan) {
  const char *name = "isclose";
  nd::array left, right; // what is no array takes its type from the other
  if (is_array(a.ptr()) || !is_array(b.ptr())) {
    left = to_operand(a.ptr(), nullptr, name);
    right = to_operand(b.ptr(), &left, name);
  } else {
    right = unwrap(b.ptr());
    left = to_operand(a.ptr(), &right, name);
  }
  return wrapped(nd::isclose(left, right, to_number(name, "rtol", rtol.ptr(), 1e-5),
                             to_number(name, "atol", atol.ptr(), 1e-8), to_flag(name, "equal_nan", equal_nan.ptr())));
}

nb::object nan_to_num(nb::handle a, nb::handle nan, nb::handle posinf, nb::handle neginf) {
  const char *name = "nan_to_num";
  auto given = [&](const char *keyword, nb::handle value) {
    return value.is_none() ? std::nullopt : std::optional(to_number(name, keyword, value.ptr(), 0));
  };
  if (nan.is_none()) {
    throw error(error_kind::type, "nan_to_num: nan must be a number, not NoneType");
  }
  return wrapped(nd::nan_to_num(to_operand(a.ptr(), nullptr, name), to_number(name, "nan", nan.ptr(), 0),
                                given("posinf", posinf), given("neginf", neginf)));
}

nb::object logsumexp(nb::handle a, nb::handle axis, nb::handle keepdims, nb::handle where) {
  const char *name = "logsumexp";
  nd::array mask = where.is_none() ? nd::array() : to_operand(where.ptr(), nullptr, name);
  return wrapped(nd::logsumexp(to_operand(a.ptr(), nullptr, name), axes_of(name, axis.ptr()),
                               to_flag(name, "keepdims", keepdims.ptr()), mask));
}

nb::object softmax(nb::handle a, nb::handle axis) {
  return wrapped(nd::softmax(to_operand(a.ptr(), nullptr, "softmax"), axes_of("softmax", axis.ptr())));
}

nb::object round_to(nb::handle a, nb::handle decimals) {
  return wrapped(nd::round(to_operand(a.ptr(), nullptr, "round"), places(decimals)));
}

} // namespace

void add_keyword_functions(nb::module_ &m) {
  m.def("round_to", round_to, nb::arg().none(), nb::arg().none());
  m.def("nan_to_num", nan_to_num, nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none());
  m.def("isclose", isclose, nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none());
  m.def("logsumexp", logsumexp, nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none());
  m.def("softmax", softmax, nb::arg().none(), nb::arg().none());

  nb::handle type(reinterpret_cast<PyObject *>(array_type));
  add_rounding<op_id::floor>(type, "__floor__", "math.floor(a): of each element, in the array's type.");
  add_rounding<op_id::ceil>(type, "__ceil__", "math.ceil(a): of each element, in the array's type.");
  add_rounding<op_id::trunc>(type, "__trunc__", "math.trunc(a): of each element, in the array's type.");
  auto round = [](nb::handle self, nb::handle decimals) {
    return wrapped(nd::round(unwrap(self.ptr()), decimals.is_none() ? 0 : places(decimals)));
  };
  nb::setattr(type, "__round__",
              nb::cpp_function(round, nb::name("__round__"), nb::is_method(), nb::scope(type),
                               "round(a, decimals): as nd.round.", nb::arg("decimals") = nb::none()));
}

} // namespace binding
