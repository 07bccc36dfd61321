#include "dynd/ops/order.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "dynd/ops/isa.h"

namespace dynd {

namespace {

template <class T> T load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// NaN against anything, where it has a place.
template <bool Total> outcome nan_outcome(bool left_is_nan, bool right_is_nan) {
  return !Total ? unordered : left_is_nan && right_is_nan ? equal : left_is_nan ? greater : less;
}

template <bool Total, class T> outcome compare_same(T left, T right) {
  outcome found = outcome_of(left, right);
  return found == unordered ? nan_outcome<Total>(left != left, right != right) : found;
}

// ---- any two types --------------------------------------------------------------------------------------------------

/// A number, or the real component of one, in the one of three types that holds it exactly.
struct number {
  enum { signed_integer, unsigned_integer, floating } kind;
  union {
    int64_t i;
    uint64_t u;
    double d;
  };
  double imag = 0;
};

template <class T> constexpr bool is_complex_type = kind_of_storage<T> == number_kind::complex;

template <class T> number widen(T value) {
  number result;
  if constexpr (is_complex_type<T>) {
    result = widen(value.real);
    result.imag = value.imag;
  } else if constexpr (std::is_same_v<T, float16>) {
    result.kind = number::floating;
    batch_fn convert = isa().convert(scalar_id::float64, scalar_id::float16);
    convert(&result.d, &value, nullptr, nullptr, 1, nullptr);
  } else if constexpr (std::is_floating_point_v<T>) {
    result.kind = number::floating;
    result.d = value;
  } else if constexpr (std::is_signed_v<T>) {
    result.kind = number::signed_integer;
    result.i = value;
  } else {
    result.kind = number::unsigned_integer;
    result.u = value;
  }
  return result;
}

/// The components of a complex number have an order of bytes each.
template <class T> T load_swapped(const char *at) {
  constexpr size_t component = is_complex_type<T> ? sizeof(T) / 2 : sizeof(T);
  char bytes[sizeof(T)];
  for (size_t i = 0; i < sizeof(T); i += component) {
    std::reverse_copy(at + i, at + i + component, bytes + i);
  }
  return load<T>(bytes);
}

number read_number(const number_layout &source, const char *at) {
  switch (source.scalar) {
#define DYND_SCALAR(id, name, ctype)                                                                                   \
  case scalar_id::id:                                                                                                  \
    return widen(source.swapped ? load_swapped<ctype>(at) : load<ctype>(at));
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
  }
  return {};
}

outcome opposite(outcome found) { return found == less ? greater : found == greater ? less : found; }

outcome compare_mixed(int64_t left, uint64_t right) { return left < 0 ? less : outcome_of(uint64_t(left), right); }

/// An integer against a floating-point number that is not NaN: by range, then as integers, then by the fraction.
template <class Integer> outcome compare_mixed(Integer left, double right) {
  constexpr bool is_signed = std::is_signed_v<Integer>;
  if (right >= (is_signed ? 0x1p63 : 0x1p64)) {
    return less;
  }
  if (right < (is_signed ? -0x1p63 : 0.0)) {
    return greater;
  }
  Integer whole = Integer(right); // towards zero
  if (left != whole) {
    return outcome_of(left, whole);
  }
  return outcome_of(double(whole), right); // exact: `whole` came from a double
}

template <bool Total> outcome compare_real(const number &left, const number &right) {
  if (left.kind == right.kind) {
    return left.kind == number::floating         ? compare_same<Total>(left.d, right.d)
           : left.kind == number::signed_integer ? outcome_of(left.i, right.i)
                                                 : outcome_of(left.u, right.u);
  }
  if (left.kind > right.kind) {
    return opposite(compare_real<Total>(right, left));
  }
  if (right.kind == number::floating) {
    if (right.d != right.d) {
      return nan_outcome<Total>(false, true);
    }
    return left.kind == number::signed_integer ? compare_mixed(left.i, right.d) : compare_mixed(left.u, right.d);
  }
  return compare_mixed(left.i, right.u);
}

template <bool Total>
outcome compare_any(const char *left, const number_layout &left_layout, const char *right,
                    const number_layout &right_layout) {
  number a = read_number(left_layout, left), b = read_number(right_layout, right);
  outcome found = compare_real<Total>(a, b);
  return found == equal ? compare_same<Total>(a.imag, b.imag) : found;
}

template <bool Total, class T>
outcome compare_plain(const char *left, const number_layout &, const char *right, const number_layout &) {
  return compare_same<Total>(load<T>(left), load<T>(right));
}

template <bool Total, class T> number_order plain_order() {
  if constexpr (std::is_arithmetic_v<T>) {
    return compare_plain<Total, T>;
  } else {
    return compare_any<Total>;
  }
}

template <bool Total> number_order order_for(const number_layout &left, const number_layout &right) {
  if (left.scalar == right.scalar && !left.swapped && !right.swapped) {
    switch (left.scalar) {
#define DYND_SCALAR(id, name, ctype)                                                                                   \
  case scalar_id::id:                                                                                                  \
    return plain_order<Total, ctype>();
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
    }
  }
  return compare_any<Total>;
}

} // namespace

number_order order_of_numbers(const number_layout &left, const number_layout &right, bool total) {
  return total ? order_for<true>(left, right) : order_for<false>(left, right);
}

} // namespace dynd
