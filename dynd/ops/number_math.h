// What the expressions of operations.def may call, besides scalar_math.h: signs, components and neighbours of numbers.
// The same rules: internal linkage, no standard library, the same bits at every ISA level.
#pragma once

#include <type_traits>

#include "dynd/ops/scalar_math.h"

namespace dynd {
namespace {

template <class T> DYND_ISA_INLINE T conjugate(T a) { return a; }
template <class T> DYND_ISA_INLINE complex_of<T> conjugate(complex_of<T> a) { return {a.real, -a.imag}; }
template <class T> DYND_ISA_INLINE T real_of(T a) { return a; }
template <class T> DYND_ISA_INLINE T real_of(complex_of<T> a) { return a.real; }
template <class T> DYND_ISA_INLINE T imag_of(T) { return T(0); }
template <class T> DYND_ISA_INLINE T imag_of(complex_of<T> a) { return a.imag; }
template <class T> DYND_ISA_INLINE complex_of<T> complex_number(T real, T imag) { return {real, imag}; }

template <class T> DYND_ISA_INLINE bool is_true(T a) { return a != T{}; }

template <class T> DYND_ISA_INLINE bool is_finite(T a) {
  if constexpr (is_floating_point<T>) {
    return __builtin_fabs(a) < T(__builtin_inf());
  } else {
    return true;
  }
}
template <class T> DYND_ISA_INLINE bool is_finite(complex_of<T> a) { return is_finite(a.real) & is_finite(a.imag); }
template <class T> DYND_ISA_INLINE bool is_infinite(T a) {
  if constexpr (is_floating_point<T>) {
    return __builtin_fabs(a) == T(__builtin_inf());
  } else {
    return false;
  }
}
template <class T> DYND_ISA_INLINE bool is_infinite(complex_of<T> a) {
  return is_infinite(a.real) | is_infinite(a.imag);
}

/// Both zeros give 0; NaN itself.
template <class T> DYND_ISA_INLINE T sign_of(T a) {
  if constexpr (is_floating_point<T>) {
    T size = T(a != 0);
    return a != a ? a : a < 0 ? -size : size;
  } else if constexpr (is_signed_type<T>) {
    T high = a < T(1) ? a : T(1);
    return high > T(-1) ? high : T(-1);
  } else {
    return a < T(1) ? a : T(1);
  }
}

/// On the unit circle. As NumPy: 0 of 0, the axis of one infinite component, NaN of two.
template <class T> DYND_ISA_INLINE complex_of<T> sign_of(complex_of<T> a) {
  T size = absolute(a);
  if (is_infinite(size)) {
    T real = is_infinite(a.real) ? T(__builtin_copysign(T(1), a.real)) : T(0);
    T imag = is_infinite(a.imag) ? T(__builtin_copysign(T(1), a.imag)) : T(0);
    T both = is_infinite(a.real) && is_infinite(a.imag) ? T(__builtin_nan("")) : T(0);
    return {real + both, imag + both};
  }
  if (size == 0) {
    return {T(0), T(0)};
  }
  T real = a.real / size, imag = a.imag / size;
  return {size != size ? size : real, size != size ? size : imag};
}

template <class T> DYND_ISA_INLINE T inverse(T a) { return T(1) / a; }

/// Smith's method, as NumPy.
template <class T> DYND_ISA_INLINE complex_of<T> inverse(complex_of<T> a) {
  bool by_real = __builtin_fabs(a.imag) <= __builtin_fabs(a.real);
  T large = by_real ? a.real : a.imag, little = by_real ? a.imag : a.real;
  T ratio = little / large;
  T size = large + little * ratio;
  return by_real ? complex_of<T>{T(1) / size, -ratio / size} : complex_of<T>{ratio / size, T(-1) / size};
}

/// The bits of a number with a sign, and the value that they are.
template <class T> struct sign_format {
  using bits = typename unsigned_of<sizeof(T)>::type;
  static constexpr bits sign = bits(bits(1) << (8 * sizeof(T) - 1));
};

template <class T> DYND_ISA_INLINE T with_sign(T a, T b) {
  using format = sign_format<T>;
  using bits = typename format::bits;
  bits size = bits(__builtin_bit_cast(bits, a) & bits(~format::sign));
  return __builtin_bit_cast(T, bits(size | bits(__builtin_bit_cast(bits, b) & format::sign)));
}

/// The bits of numbers with one sign have the order of their sizes: a neighbour is one more or one less.
template <class T> DYND_ISA_INLINE T next_towards(T a, T b) {
  using format = sign_format<T>;
  using bits = typename format::bits;
  auto x = in_computed(a), y = in_computed(b);
  bits own = __builtin_bit_cast(bits, a), other = __builtin_bit_cast(bits, b);
  bits from_zero = bits((other & format::sign) | 1);
  bits away = bits(own + 1), back = bits(own - 1);
  bits next = x == 0 ? from_zero : (x < y) == (x > 0) ? away : back;
  next = x == y ? other : x != x ? own : y != y ? other : next;
  return __builtin_bit_cast(T, next);
}

/// The other where one is NaN: a comparison with one is false. Of two zeros the second.
template <class T> DYND_ISA_INLINE T smaller_number(T a, T b) {
  T least = a < b ? a : b;
  return b != b ? a : least;
}
template <class T> DYND_ISA_INLINE T larger_number(T a, T b) {
  T most = a > b ? a : b;
  return b != b ? a : most;
}

template <class T> DYND_ISA_INLINE T step(T a, T at_zero) {
  T other = a < 0 ? T(0) : a > 0 ? T(1) : a;
  return a == 0 ? at_zero : other;
}

/// a * 2^exponent in three products by powers of two, of which one rounds at most. On the way down the first ones leave
/// room for all digits above the subnormal numbers; what has no room there is 0 in the end.
template <class T> DYND_ISA_INLINE T scaled(T a, int64_t exponent) {
  using format = format_of<T>;
  using whole = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  constexpr whole largest = format::bias, smallest = 1 - format::bias, down = smallest + format::digits + 1;
  auto clamped = [](auto x, auto low, auto high) __attribute__((always_inline)) {
    x = x < high ? x : high;
    return x > low ? x : low;
  };
  auto part = [](whole e) __attribute__((always_inline)) {
    whole high = e < largest ? e : largest;
    return high < smallest ? down : high;
  };
  auto power = [](whole e) __attribute__((always_inline)) {
    return __builtin_bit_cast(T, typename format::bits(e + format::bias) << format::digits);
  };
  whole all = whole(clamped(exponent, int64_t(4 * smallest), int64_t(4 * largest)));
  whole first = part(all), second = part(all - first), third = clamped(whole(all - first - second), smallest, largest);
  return a * power(first) * power(second) * power(third);
}

} // namespace
} // namespace dynd
