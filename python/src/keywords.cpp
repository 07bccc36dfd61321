// The functions that take settings by keyword, and Python's own for rounding: round(a, 2), math.floor(a).
#include "values.h"

#include <nanobind/stl/optional.h>

#include <algorithm>

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
int places(long long decimals) { return int(std::clamp(decimals, -10000LL, 10000LL)); }

} // namespace

void add_keyword_functions(nb::module_ &m) {
  m.def(
      "round_to",
      [](nb::handle a, long long decimals) {
        return wrapped(nd::round(to_operand(a.ptr(), nullptr, "round"), places(decimals)));
      },
      nb::arg("a").none(), nb::arg("decimals"));
  m.def(
      "nan_to_num",
      [](nb::handle a, double nan, std::optional<double> posinf, std::optional<double> neginf) {
        return wrapped(nd::nan_to_num(to_operand(a.ptr(), nullptr, "nan_to_num"), nan, posinf, neginf));
      },
      nb::arg("a").none(), nb::arg("nan"), nb::arg("posinf").none(), nb::arg("neginf").none());
  m.def(
      "isclose",
      [](nb::handle a, nb::handle b, double rtol, double atol, bool equal_nan) {
        nd::array left, right; // what is no array takes its type from the other
        if (is_array(a.ptr()) || !is_array(b.ptr())) {
          left = to_operand(a.ptr(), nullptr, "isclose");
          right = to_operand(b.ptr(), &left, "isclose");
        } else {
          right = unwrap(b.ptr());
          left = to_operand(a.ptr(), &right, "isclose");
        }
        return wrapped(nd::isclose(left, right, rtol, atol, equal_nan));
      },
      nb::arg("a").none(), nb::arg("b").none(), nb::arg("rtol"), nb::arg("atol"), nb::arg("equal_nan"));
  m.def(
      "logsumexp",
      [](nb::handle a, nb::handle axis, bool keepdims) {
        return wrapped(
            nd::logsumexp(to_operand(a.ptr(), nullptr, "logsumexp"), axes_of("logsumexp", axis.ptr()), keepdims));
      },
      nb::arg("a").none(), nb::arg("axis").none(), nb::arg("keepdims"));
  m.def(
      "softmax",
      [](nb::handle a, int axis) { return wrapped(nd::softmax(to_operand(a.ptr(), nullptr, "softmax"), axis)); },
      nb::arg("a").none(), nb::arg("axis"));

  nb::handle type(reinterpret_cast<PyObject *>(array_type));
  add_rounding<op_id::floor>(type, "__floor__", "math.floor(a): of each element, in the array's type.");
  add_rounding<op_id::ceil>(type, "__ceil__", "math.ceil(a): of each element, in the array's type.");
  add_rounding<op_id::trunc>(type, "__trunc__", "math.trunc(a): of each element, in the array's type.");
  auto round = [](nb::handle self, std::optional<long long> decimals) {
    return wrapped(nd::round(unwrap(self.ptr()), places(decimals.value_or(0))));
  };
  nb::setattr(type, "__round__",
              nb::cpp_function(round, nb::name("__round__"), nb::is_method(), nb::scope(type),
                               "round(a, decimals): as nd.round.", nb::arg("decimals") = nb::none()));
}

} // namespace binding
