// Medians and quantiles: elements of rows by their places in the order, found without sorting where these are few.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/distribution.h"
#include "dynd/call/innermost_axis.h"
#include "dynd/call/order_keys.h"
#include "dynd/call/select_long.h"
#include "dynd/call/sort_codes.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// Where a quantile is among sorted elements: at `index`, and `part` of the way from there to the next.
struct quantile_place {
  int64_t index;
  double part;
};

quantile_place between(double at, int64_t n) {
  if (!(at < double(n - 1))) {
    return {n - 1, 0};
  }
  double below = std::floor(at);
  return at < 0 ? quantile_place{0, 0} : quantile_place{int64_t(below), at - below};
}

quantile_place one_element(double at, int64_t n) { return {int64_t(std::clamp(at, 0.0, double(n - 1))), 0}; }

// As in NumPy: n * q + (alpha + q * (1 - alpha - beta)) - 1.
quantile_place fitted(double q, int64_t n, double alpha, double beta) {
  return between(double(n) * q + (alpha + q * (1 - alpha - beta)) - 1, n);
}

quantile_place place_of(quantile_method method, double q, int64_t n) {
  double count = double(n), along = (count - 1) * q, cdf = count * q - 1;
  switch (method) {
  case quantile_method::inverted_cdf:
    return one_element(std::ceil(cdf), n);
  case quantile_method::averaged_inverted_cdf: {
    quantile_place place = between(cdf, n);
    bool inside = cdf >= 0 && cdf < count - 1;
    return {place.index, !inside ? 0 : place.part == 0 ? 0.5 : 1};
  }
  case quantile_method::closest_observation: {
    double at = cdf - 0.5, below = std::floor(at);
    bool stays = at == below && std::fmod(below, 2) != 0;
    return one_element(stays ? below : below + 1, n);
  }
  case quantile_method::interpolated_inverted_cdf:
    return fitted(q, n, 0, 1);
  case quantile_method::hazen:
    return fitted(q, n, 0.5, 0.5);
  case quantile_method::weibull:
    return fitted(q, n, 0, 0);
  case quantile_method::linear:
    return between(along, n);
  case quantile_method::median_unbiased:
    return fitted(q, n, 1 / 3.0, 1 / 3.0);
  case quantile_method::normal_unbiased:
    return fitted(q, n, 3 / 8.0, 3 / 8.0);
  case quantile_method::lower:
    return one_element(std::floor(along), n);
  case quantile_method::higher:
    return one_element(std::ceil(along), n);
  case quantile_method::midpoint:
    return between(0.5 * (std::floor(along) + std::ceil(along)), n);
  case quantile_method::nearest:
    return one_element(std::nearbyint(along), n);
  }
  fail(error_kind::internal, "quantile: invalid method");
}

double interpolated(double a, double b, double part) {
  if (part == 0 || a == b) {
    return a;
  }
  double difference = b - a;
  return part < 0.5 ? a + difference * part : b - difference * (1 - part);
}

double mean_of_two(double a, double b) {
  double sum = a + b;
  return std::isinf(sum) && !std::isinf(a) && !std::isinf(b) ? a / 2 + b / 2 : sum / 2;
}

// The numbers of the rows, with the codes that they are selected by. Of float16 they are float32.
struct quantile_rows {
  innermost_axis inner;
  array list, numbers;
  row_offsets rows;
  ordered_kind kind;
  scalar_id scalar;
  presence is_there;

  quantile_rows(const char *name, const array &a, std::optional<int> axis)
      : inner(name, a, axis), list(inner.list()), rows(inner.rows()), kind(name, a),
        scalar(*kind.number == scalar_id::float16 ? scalar_id::float32 : *kind.number), is_there(presence_of(list)) {
    numbers = native_list(kind.option ? inside_of_options(list) : list, scalar);
  }

  scalar_id result() const { return is_floating(*kind.number) ? *kind.number : scalar_id::float64; }
};

double as_double(scalar_id scalar, uint64_t bits) {
  switch (scalar) {
  case scalar_id::float64: {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  case scalar_id::float32: {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return double(value);
  }
  case scalar_id::int8:
    return double(int8_t(bits));
  case scalar_id::int16:
    return double(int16_t(bits));
  case scalar_id::int32:
    return double(int32_t(bits));
  case scalar_id::int64:
    return double(int64_t(bits));
  default:
    return double(bits);
  }
}

// The elements of one row, of which some are wanted by their places in the order.
template <class Code> class row_selection {
  using bits = typename Code::bits;

public:
  row_selection(const char *name, const quantile_rows &from, intptr_t row, intptr_t wanted, bits *codes)
      : name_(name), scalar_(from.scalar), codes_(codes), scratch_(codes + from.rows.length(row)) {
    const char *values = from.numbers->values().address + from.rows.at[row] * int64_t(sizeof(bits));
    intptr_t n = from.rows.length(row);
    if (from.is_there) {
      read_present(values, from.is_there, from.rows.at[row], n);
    } else {
      read(values, n);
    }
    if (wanted > 6 || (wanted > 1 && count_ < long_row)) {
      sort_all();
    }
  }
  int64_t count() const { return count_; }
  bool has_nan() const { return has_nan_; }

  // Elements i and i + 1 of the row in order.
  std::pair<double, double> at(int64_t i) {
    if (sorted_) {
      return {value(codes_[i]), value(codes_[std::min(i + 1, count_ - 1)])};
    }
    auto [first, second] =
        count_ < long_row ? select_two(codes_, count_, i) : long_selection<bits>(name_, codes_, count_).two(i);
    return {value(first), value(second)};
  }

private:
  static bits value_at(const char *values, intptr_t i) {
    bits own;
    std::memcpy(&own, values + i * intptr_t(sizeof(bits)), sizeof(bits));
    return own;
  }
  double value(bits code) const { return as_double(scalar_, Code::decode(code, false)); }

  void read(const char *values, intptr_t n) {
    count_ = n;
    std::atomic<bool> nan = false;
    in_pieces(name_, n, [&](intptr_t begin, intptr_t end) {
      bool found = false;
      for (intptr_t i = begin; i < end; i++) {
        bits own = value_at(values, i);
        codes_[i] = Code::encode(own, false);
        found |= Code::is_nan(own);
      }
      if (found) {
        nan.store(true, std::memory_order_relaxed);
      }
    });
    has_nan_ = nan;
  }

  // In one chunk: where an element goes depends on those before.
  void read_present(const char *values, presence is_there, int64_t first, intptr_t n) {
    auto add = [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        bits own = value_at(values, i);
        bool there = is_there(first + i);
        codes_[count_] = Code::encode(own, false);
        has_nan_ |= there && Code::is_nan(own);
        count_ += there;
      }
    };
    n < long_row ? add(0, n) : in_order(name_, n, add);
  }

  void sort_all() {
    sorted_ = true;
    if (count_ < long_row) {
      return sort_items(codes_, count_, scratch_);
    }
    using code = number_code<bits, key_kind::unsigned_integer>;
    sort_long_row<code>(name_, reinterpret_cast<const char *>(codes_), count_, false, scratch_);
    std::swap(codes_, scratch_);
  }

  const char *name_;
  scalar_id scalar_;
  bits *codes_, *scratch_;
  int64_t count_ = 0;
  bool has_nan_ = false, sorted_ = false;
};

// Calls f(row, its selection) for the rows that have elements and no NaN; the others' results are NaN already.
// `wanted`: how many selections f makes.
template <class F> void for_selections(const char *name, const quantile_rows &from, intptr_t wanted, F f) {
  with_code(from.scalar, [&](auto code) {
    using bits = typename decltype(code)::bits;
    auto select = [&](intptr_t r, bits *memory) {
      row_selection<decltype(code)> row(name, from, r, wanted, memory);
      if (row.count() > 0 && !row.has_nan()) {
        f(r, row);
      }
    };
    for_short_and_long_rows(
        name, from.rows,
        [&](intptr_t begin, intptr_t end, intptr_t longest) {
          scratch_values<bits> memory(2 * longest);
          for (intptr_t r = begin; r < end; r++) {
            select(r, memory.data());
          }
        },
        [&](intptr_t r) { select(r, scratch_values<bits>(2 * from.rows.length(r)).data()); });
  });
}

array nans(intptr_t count) {
  array found = new_list<double>(count);
  std::fill_n(values_of<double>(found), count, nan_value);
  return found;
}

// Results of the rows in the type and shape they are wanted in.
array finished(const quantile_rows &from, const array &a, std::optional<int> axis, bool keepdims, array found) {
  found = native_list(found, from.result(), false);
  found = assemble(from.inner.moved, from.inner.moved.ndim() - 1, {}, found);
  if (keepdims && axis) {
    return with_unit_axis(found, *axis < 0 ? *axis + a.ndim() : *axis);
  }
  for (int d = 0; keepdims && d < a.ndim(); d++) {
    found = with_unit_axis(found, 0);
  }
  return found;
}

void check_numbers(const char *name, const array &a) {
  element_kind kind;
  if (!find_element_kind(a->type->dtype, kind) || is_complex(kind.scalar)) {
    fail(error_kind::type, std::string(name) + ": elements of type " + std::string(a.type().dtype().str()) +
                               "; it is defined for real numbers and bools");
  }
}

std::vector<double> checked_parts(const array &q) {
  element_kind kind;
  if (!find_element_kind(q->type->dtype, kind) || is_complex(kind.scalar) || kind.option || q.ndim() > 1) {
    fail(error_kind::type, "quantile: q must be a real number or a list of them, not " + std::string(q.type().str()));
  }
  array list = list_of(compact(q, q.ndim() - 1), q.ndim() - 1);
  array doubles(copy_values(list.get(), access_mode::immutable, ndt::make_scalar(scalar_id::float64)));
  std::vector<double> parts(values_of<double>(doubles), values_of<double>(doubles) + doubles.size(0));
  for (double part : parts) {
    if (!(part >= 0 && part <= 1)) {
      fail(error_kind::value, "quantile: q must be from 0 to 1, not " + values_text(array(part)));
    }
  }
  return parts;
}

// No arrays of that shape, along a new first axis.
array none_of(const array &one) {
  index nothing{index::slice, 0, 0, 0, {}};
  return at(with_unit_axis(one, 0), {&nothing, 1});
}

} // namespace

array median(const array &a, std::optional<int> axis, bool keepdims) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("median", a);
    return rows.of_axis(median(rows.operand(), axis, keepdims), axis);
  }
  check_numbers("median", a);
  quantile_rows from("median", a, axis);
  array found = nans(from.rows.count);
  for_selections("median", from, 1, [&](intptr_t r, auto &row) {
    auto [low, high] = row.at((row.count() - 1) / 2);
    values_of<double>(found)[r] = row.count() % 2 ? low : mean_of_two(low, high);
  });
  return finished(from, a, axis, keepdims, found);
}

array quantile(const array &a, const array &q, std::optional<int> axis, quantile_method method, bool keepdims) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("quantile", a);
    std::vector<double> parts = checked_parts(q);
    std::vector<array> found;
    for (double part : parts.empty() ? std::vector<double>{0} : parts) {
      found.push_back(rows.of_axis(quantile(rows.operand(), part, axis, method, keepdims), axis));
    }
    return parts.empty() ? none_of(found[0]) : q.ndim() == 0 ? found[0] : stack(found, 0);
  }
  check_numbers("quantile", a);
  std::vector<double> parts = checked_parts(q);
  quantile_rows from("quantile", a, axis);
  std::vector<array> found;
  for (size_t i = 0; i < parts.size(); i++) {
    found.push_back(nans(from.rows.count));
  }
  for_selections("quantile", from, intptr_t(parts.size()), [&](intptr_t r, auto &row) {
    for (size_t i = 0; i < parts.size(); i++) {
      quantile_place place = place_of(method, parts[i], row.count());
      auto [low, high] = row.at(place.index);
      values_of<double>(found[i])[r] = interpolated(low, high, place.part);
    }
  });
  for (array &one : found) {
    one = finished(from, a, axis, keepdims, one);
  }
  if (q.ndim() == 0) {
    return found[0];
  }
  if (found.empty()) {
    return none_of(finished(from, a, axis, keepdims, nans(from.rows.count)));
  }
  return stack(found, 0);
}

} // namespace dynd::nd
