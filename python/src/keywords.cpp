// The functions that take settings by keyword, and Python's own for rounding: round(a, 2), math.floor(a).
#include "arguments.h"

#include <algorithm>
#include <string>

#include "dynd/call/composed.h"
#include "dynd/eval/evaluate.h"
#include "dynd/ops/op_id.h"

namespace binding {

namespace {

template <op_id op> void add_rounding(nb::handle type, const char *name, const char *doc) {
  auto call = [](nb::handle self) {
    array_block *block = unwrap(self.ptr()).get();
    return wrapped(nd::array(evaluate(op, {&block, 1})));
  };
  nb::setattr(type, name, nb::cpp_function(call, nb::name(name), nb::is_method(), nb::scope(type), doc));
}

intptr_t places(nb::handle decimals) { return clipped_integer("round", "decimals", decimals); }

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

// ---- operations with names for their operands, or with more than these ---------------------------------------------

PyObject *call_pow(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names) {
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  return guarded([&]() -> PyObject * {
    if (names) {
      return call_overloads(self, arguments, flags, names);
    }
    ref<array_block> result = count == 2 ? power_of_number(arguments[0], arguments[1]) : ref<array_block>();
    return result ? wrap(std::move(result)) : call_operation(op_id::pow, arguments, count);
  });
}

constexpr const char *clip_names[] = {"a", "min", "max"};

// The array itself is not optional: None is a missing value, of an integer where the bounds say no type.
nd::array value_of_no_bound(int i, array_block *const (&operands)[3]) {
  if (i > 0 && (operands[0] || operands[1] || operands[2])) {
    return nd::no_bound(i == 2, operands);
  }
  array_block *bound = operands[1] ? operands[1] : operands[2];
  return missing_value(bound ? kind_of_numbers("clip", bound->type).scalar : scalar_id::int32);
}

PyObject *clip(PyObject *(&given)[3]) {
  std::replace(given, given + 3, static_cast<PyObject *>(nullptr), Py_None);
  return call_operation(op_id::clip, given, 3, value_of_no_bound);
}

PyObject *call_clip(PyObject *, PyObject *const *arguments, size_t flags, PyObject *names) {
  PyObject *given[3];
  bool parsed = parse_arguments("clip", clip_names, 3, 1, arguments, PyVectorcall_NARGS(flags), names, given);
  return parsed ? clip(given) : nullptr;
}

PyObject *clip_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  PyObject *given[3] = {self};
  return parse_arguments("clip", clip_names + 1, 2, 2, 0, arguments, count, names, given + 1) ? clip(given) : nullptr;
}

constexpr const char *round_names[] = {"a", "decimals"};

PyObject *round(PyObject *a, PyObject *decimals) {
  return guarded([&] {
    intptr_t number = decimals ? places(decimals) : 0;
    if (number == 0 && is_array(a)) {
      return call_operation(op_id::round, &a, 1);
    }
    return wrap(nd::round(to_operand(a, nullptr, "round"), number));
  });
}

PyObject *call_round(PyObject *, PyObject *const *arguments, size_t flags, PyObject *names) {
  PyObject *given[2];
  bool parsed = parse_arguments("round", round_names, 2, 1, arguments, PyVectorcall_NARGS(flags), names, given);
  return parsed ? round(given[0], given[1]) : nullptr;
}

PyObject *round_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  PyObject *given[1];
  bool parsed = parse_arguments("round", round_names + 1, 1, 1, 0, arguments, count, names, given);
  return parsed ? round(self, given[0]) : nullptr;
}

named_operation named_operations[] = {
    {op_id::pow,
     call_pow,
     "a, b, /",
     "The exponents 2, 3, -1 and 0.5, as Python numbers, are products, reciprocal and root.\n",
     {}},
    {op_id::clip,
     call_clip,
     "a, min=None, max=None",
     "min, max: None is no bound.\n",
     {"clip", as_method<clip_method>(), METH_FASTCALL | METH_KEYWORDS,
      "clip($self, min=None, max=None)\n--\n\nnd.clip(self, min, max)"}},
    {op_id::round,
     call_round,
     "a, decimals=0",
     "decimals: to how many places after the point; before it where that is negative, exactly for integers.\n"
     "Floating-point numbers are scaled by a power of ten, rounded and scaled back.\n",
     {"round", as_method<round_method>(), METH_FASTCALL | METH_KEYWORDS,
      "round($self, decimals=0)\n--\n\nnd.round(self, decimals)"}}};

} // namespace

named_operation *find_named_operation(op_id id) {
  auto found = std::find_if(std::begin(named_operations), std::end(named_operations),
                            [&](const named_operation &named) { return named.id == id; });
  return found == std::end(named_operations) ? nullptr : found;
}

void add_keyword_functions(nb::module_ &m) {
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
