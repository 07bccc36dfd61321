#include "dynd/call/composed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"
#include "dynd/call/functions.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/reduce.h"
#include "dynd/eval/row_functions.h"
#include "dynd/eval/settings.h"
#include "dynd/eval/space.h"
#include "dynd/ops/isa.h"
#include "dynd/ops/logic.h"

namespace dynd::nd {

namespace {

/// The type that such numbers are computed in; a type error where they are none of the set.
scalar_id type_in(const char *name, type_set set, const array &a) {
  return in_set(name, set, kind_of_numbers(name, a->type).scalar);
}

template <class T> array number(scalar_id type, T value) {
  alignas(16) char converted[max_scalar_size];
  isa().convert(type, native_scalar_id<T>())(converted, &value, nullptr, nullptr, 1, nullptr);
  return scalar_of(type, converted);
}

/// Of a floating-point type.
double largest(scalar_id type) {
  return type == scalar_id::float16   ? 65504.0
         : type == scalar_id::float32 ? double(std::numeric_limits<float>::max())
                                      : std::numeric_limits<double>::max();
}

/// Of an integer type.
uint64_t largest_integer(scalar_id type) {
  size_t bits = 8 * scalar_size[size_t(type)];
  return ~uint64_t(0) >> (64 - bits + is_signed_integer(type));
}

array round_floats(const array &a, scalar_id type, int decimals) {
  double size = std::pow(10.0, std::abs(decimals));
  if (size > largest(type)) {
    return decimals > 0 ? positive(a) : a * number(type, 0.0);
  }
  array power = number(type, size);
  if (decimals < 0) {
    return rint(a / power) * power;
  }
  array scaled = a * power;
  array rounded = rint(scaled) / power;
  return where(isfinite(std::move(scaled)), std::move(rounded), a);
}

/// q * 10^n, with q the even one of the two nearest quotients where both are as near.
array round_integers(const array &a, scalar_id type, int digits) {
  uint64_t power = 1, most = largest_integer(type);
  array zero = number(type, 0), one = number(type, 1);
  for (int i = 0; i < digits; i++) {
    if (power > most / 5) { // half of the next power is more than any element
      return a * zero;
    }
    if (power > most / 10) { // that power itself wraps
      array half = number(type, power * 5), next = number(type, power * 10);
      array below = is_signed_integer(type) ? where(less(a, negative(half)), negative(next), zero) : zero;
      return i + 1 < digits ? a * zero : where(greater(a, half), next, below);
    }
    power *= 10;
  }
  array unit = number(type, power);
  auto [quotient, rest] = divmod(a, unit);
  array left = unit - rest;
  array odd = equal(quotient & one, one);
  array up = greater(rest, left) | (equal(rest, left) & odd);
  return (quotient + where(up, one, zero)) * unit;
}

array finite_parts(const array &from, scalar_id type, double nan, std::optional<double> posinf,
                   std::optional<double> neginf) {
  // What others may write to is copied, so that what follows may be lazy: one pass instead of five.
  bool copied = from->is_ready() && !(from->flags & flag_ours) && from->count >= intptr_t(lazy_from / 8);
  array a = copied ? array(copy_values(from.get(), access_mode::immutable)) : from;
  array high = number(type, posinf.value_or(largest(type))), low = number(type, neginf.value_or(-largest(type)));
  array infinity = number(type, std::numeric_limits<double>::infinity());
  array finite = where(equal(a, infinity), high, where(equal(a, negative(infinity)), low, a));
  return where(isnan(a), number(type, nan), std::move(finite));
}

} // namespace

array round(const array &a, intptr_t decimals) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("round", a);
    return rows.restored(round(rows.operand(), decimals));
  }
  scalar_id type = type_in("round", type_set::numbers, a);
  int places = int(std::clamp<intptr_t>(decimals, -10000, 10000)); // beyond some hundreds nothing changes
  if (decimals == 0 || (is_integer(type) && decimals > 0)) {
    return round(a);
  }
  if (is_complex(type)) {
    return complex(round(real(a), decimals), round(imag(a), decimals));
  }
  return is_integer(type) ? round_integers(a, type, -places) : round_floats(a, type, places);
}

array no_bound(bool above, array_block *const (&operands)[3]) {
  std::optional<scalar_id> common;
  for (const array_block *block : operands) {
    if (block) {
      scalar_id own = kind_of_numbers("clip", elements_of_rows(block->type)).scalar;
      common = common ? promote(*common, own) : own;
    }
  }
  scalar_id type = in_set("clip", operation_of(op_id::clip).set, common.value());
  if (!is_integer(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    return number(type, above ? infinity : -infinity);
  }
  uint64_t most = largest_integer(type);
  return number(type, above ? most : is_signed_integer(type) ? ~most : 0);
}

array clip(array a, const clip_bounds &bounds) {
  array_block *const given[3] = {a.get(), bounds.min.get(), bounds.max.get()};
  array low = bounds.min ? bounds.min : no_bound(false, given), high = bounds.max ? bounds.max : no_bound(true, given);
  return clip(std::move(a), std::move(low), std::move(high));
}

ref<array_block> try_power(array_block *a, plain_exponent exponent, bool last_use) {
  double power = exponent.value;
  element_kind kind;
  if ((power != 2 && power != 3 && power != -1 && power != 0.5) || !find_element_kind(a->type->dtype, kind) ||
      kind.scalar == scalar_id::bool_) {
    return {};
  }
  bool integers = is_integer(kind.scalar);
  if (integers && exponent.whole && power == -1) { // an error that pow has
    return {};
  }
  if (power == 0.5 || power == -1) {
    return evaluate(power == 0.5 ? op_id::sqrt : op_id::reciprocal, {&a, 1, last_use});
  }
  ref<array_block> floating;
  if (integers && !exponent.whole) { // a float makes floats of them
    const double one = 1;
    ref<array_block> number = new_scalar(scalar_id::float64, &one);
    array_block *factors[2] = {a, number.get()};
    floating = evaluate(op_id::multiply, {factors, 2, last_use});
    a = floating.get();
    last_use = true;
  }
  ref<array_block> square = evaluate(op_id::square, {&a, 1, power == 2 && last_use});
  array_block *factors[2] = {square.get(), a};
  return power == 2 ? square : evaluate(op_id::multiply, {factors, 2, 1u | unsigned(last_use) << 1});
}

array nan_to_num(const array &a, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("nan_to_num", a);
    return rows.restored(nan_to_num(rows.operand(), nan, posinf, neginf));
  }
  scalar_id type = type_in("nan_to_num", type_set::numbers, a);
  if (is_integer(type)) {
    return positive(a);
  }
  if (!is_complex(type)) {
    return finite_parts(a, type, nan, posinf, neginf);
  }
  scalar_id part = real_type(type);
  return complex(finite_parts(real(a), part, nan, posinf, neginf), finite_parts(imag(a), part, nan, posinf, neginf));
}

array isclose(const array &a, const array &b, double rtol, double atol, bool equal_nan) {
  const array both[] = {a, b};
  if (has_missing_rows(both)) {
    missing_rows rows("isclose", both);
    return rows.restored(isclose(rows.operand(0), rows.operand(1), rtol, atol, equal_nan));
  }
  scalar_id left = type_in("isclose", type_set::numbers, a), right = type_in("isclose", type_set::numbers, b);
  scalar_id real = real_type(in_set("isclose", type_set::floats, promote(left, right)));
  auto floating = [&](const array &x, scalar_id own) { return is_integer(own) ? x * 1.0 : x; };
  array x = floating(a, left), y = floating(b, right);
  array tolerance = number(real, atol) + number(real, rtol) * abs(y);
  array close = (less_equal(abs(x - y), std::move(tolerance)) & isfinite(y)) | equal(x, y);
  return equal_nan ? std::move(close) | (isnan(x) & isnan(y)) : close;
}

namespace {

/// Floating-point numbers; integers as float64.
array as_floats(const char *name, const array &a) {
  element_kind kind = kind_of_numbers(name, a->type);
  scalar_id type = in_set(name, type_set::real_floats, kind.scalar);
  return kind.scalar == type ? a : array(copy_values(a.get(), access_mode::immutable, number_type(type, kind.option)));
}

/// What the elements along the axes are taken relative to: the largest of them; 0 where that is not finite.
array largest_along(const char *name, const array &a, const reduced_axes &axes, const array &mask = {}) {
  scalar_id type = type_in(name, type_set::real_floats, a);
  array lowest = number(type, -std::numeric_limits<double>::infinity()), top;
  try {
    top = max(a, axes, {.keepdims = true, .where = mask.get(), .initial = lowest.get()});
  } catch (const error &e) { // of rows or a mask: not that of a maximum
    std::string text = e.what();
    fail(e.kind(), name + text.substr(std::min(text.find(':'), text.size())));
  }
  return where(isfinite(top), top, number(type, 0.0));
}

} // namespace

array logsumexp(const array &a, const reduced_axes &axes, bool keepdims, const array &mask) {
  const array both[] = {a, mask};
  if (has_missing_rows(both)) {
    missing_rows rows("logsumexp", both);
    int first = find_axes("logsumexp", axes, rows.ndim()).first();
    return rows.restored(logsumexp(rows.operand(0), axes, keepdims, rows.operand(1)), first);
  }
  find_axes("logsumexp", axes, a.ndim()); // an error of its own
  array x = as_floats("logsumexp", a), top = largest_along("logsumexp", x, axes, mask);
  array total = log(sum(exp(x - top), axes, {.keepdims = keepdims, .where = mask.get()}));
  return std::move(total) + (keepdims ? top : sum(top, axes));
}

namespace {

/// Along the axis, which stays: as a stage of what is computed of it, where that can be.
array of_rows(const array &a, int axis, row_function function, const settings &how) {
  ref<array_block> result =
      evaluate_rows({.what = {"softmax", function}, .operand = a.get(), .axis = axis, .keepdims = true}, how);
  return result                              ? array(std::move(result))
         : function == row_function::largest ? largest_along("softmax", a, axis)
                                             : sum(a, axis, {.keepdims = true});
}

constexpr intptr_t most_direct = 512;

// The rows of the content x, by the compiled loops; as the stages have it.
template <class T> void softmax_rows(T *to, const T *x, const int64_t *offsets, size_t rows, scalar_id type) {
  T of_row[most_direct];
  auto *values = reinterpret_cast<char *>(of_row);
  int64_t first = offsets[0], count = offsets[rows] - first;
  isa().reduce(arithmetic::largest, type).rows(values, sizeof(T), x, offsets, rows, 0);
  for (size_t r = 0; r < rows; r++) {
    T top = std::isfinite(of_row[r]) ? of_row[r] : T(0);
    for (int64_t i = offsets[r]; i < offsets[r + 1]; i++) {
      to[i] = x[i] - top;
    }
  }
  isa().loop(op_id::exp, type)(to + first, to + first, nullptr, nullptr, size_t(count), nullptr);
  isa().reduce(arithmetic::sum, type).rows(values, sizeof(T), to, offsets, rows, 0);
  for (size_t r = 0; r < rows; r++) {
    for (int64_t i = offsets[r]; i < offsets[r + 1]; i++) {
      to[i] /= of_row[r];
    }
  }
}

// The direct step: a small array, ragged or a vector, without making a kernel. Nothing where it is not of this kind.
array try_direct_softmax(const array &x, int axis, const settings &how) {
  const array_block &block = *x.get();
  int ndim = block.ndim;
  if (!may_be_direct(how) || (axis != -1 && axis != ndim - 1) || !block.has_scalars() || !block.is_ready()) {
    return {};
  }
  scalar_id type = block.scalar();
  bool vector = ndim == 1 && block.type->var_count == 0 && (block.flags & flag_dense);
  offsets_run run = ndim == 2 ? contiguous_rows(block) : offsets_run();
  if ((type != scalar_id::float32 && type != scalar_id::float64) || (!run && !vector) ||
      (run ? std::max<int64_t>(run.rows, run.content()) : block.count) > most_direct) {
    return {};
  }
  int64_t one_row[] = {0, block.count};
  const int64_t *offsets = run ? reinterpret_cast<const int64_t *>(run.address) : one_row;
  space shape;
  space_of(x.get(), shape);
  array result(new_result(shape, ndt::make_scalar(type)));
  auto rows = size_t(run ? run.rows : 1);
  char *to = result->values().address;
  const char *from = block.values().address;
  if (type == scalar_id::float32) {
    softmax_rows(reinterpret_cast<float *>(to), reinterpret_cast<const float *>(from), offsets, rows, type);
  } else {
    softmax_rows(reinterpret_cast<double *>(to), reinterpret_cast<const double *>(from), offsets, rows, type);
  }
  return result;
}

} // namespace

array softmax(const array &a, const reduced_axes &axes) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("softmax", a);
    return rows.restored(softmax(rows.operand(), axes));
  }
  axis_set found = find_axes("softmax", axes, a.ndim()); // an error of its own
  array x = as_floats("softmax", a);
  if (found.count != 1) {
    array powers = exp(x - largest_along("softmax", x, axes));
    return powers / sum(powers, axes, {.keepdims = true});
  }
  int axis = found.first();
  settings how = thread_settings();
  if (array small = try_direct_softmax(x, axis, how)) {
    return small;
  }
  array powers = exp(x - of_rows(x, axis, row_function::largest, how));
  return powers / of_rows(powers, axis, row_function::total, how);
}

} // namespace dynd::nd
