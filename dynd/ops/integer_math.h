// What the expressions of operations.def may call, besides scalar_math.h: division with a remainder, powers, and what
// only integers have. The same rules: internal linkage, no standard library, the same bits at every ISA level, no trap.
#pragma once

#include "dynd/ops/rounding_math.h"

namespace dynd {
namespace {

/// Truncating division of integers that never traps: a / 0 is a, INT_MIN / -1 is INT_MIN. Up to 32 bits it goes through
/// a floating-point division that is exact after truncation (the quotient is further from the next integer than the
/// rounding error), because that one vectorises.
template <class T> DYND_ISA_INLINE T truncated_quotient(T a, T b) {
  bool minus_one = is_signed_type<T> && b == T(-1);
  T divisor = (b == 0) | minus_one ? T(1) : b;
  T quotient;
  if constexpr (sizeof(T) <= 2) {
    quotient = T(int32_t(float(a) / float(divisor)));
  } else if constexpr (sizeof(T) == 4 && is_signed_type<T>) {
    quotient = T(double(a) / double(divisor));
  } else if constexpr (sizeof(T) == 4) {
    quotient = T(int64_t(double(a) / double(divisor)));
  } else {
    quotient = T(a / divisor);
  }
  return minus_one ? T(-a) : quotient;
}

/// The remainder of C's fmod by integers, 11 digits of the quotient at a time: for any two numbers.
[[gnu::noinline, gnu::cold, maybe_unused]] static double long_remainder(double a, double b) {
  constexpr double infinity = __builtin_inf();
  double size = __builtin_fabs(a), divisor = __builtin_fabs(b);
  if (!(size < infinity) || !(divisor > 0)) {
    return __builtin_nan("");
  }
  if (size < divisor) {
    return a;
  }
  struct parts { // value is mantissa * 2^exponent, but for one constant
    uint64_t mantissa;
    int exponent;
  };
  auto parts_of = [](double x) {
    uint64_t bits = __builtin_bit_cast(uint64_t, x), fraction = bits & ((uint64_t(1) << 52) - 1);
    int exponent = int(bits >> 52);
    return exponent ? parts{fraction | uint64_t(1) << 52, exponent} : parts{fraction, 1};
  };
  parts x = parts_of(size), y = parts_of(divisor);
  uint64_t rest = x.mantissa % y.mantissa;
  for (int left = x.exponent - y.exponent; left > 0; left -= 11) {
    rest = (rest << (left < 11 ? left : 11)) % y.mantissa;
  }
  // Times the divisor's unit, which may be a subnormal number: exact.
  uint64_t unit = y.exponent > 52 ? uint64_t(y.exponent - 52) << 52 : uint64_t(1) << (y.exponent - 1);
  return __builtin_copysign(double(rest) * __builtin_bit_cast(double, unit), a);
}

#if defined(__FMA__) || defined(__AVX512F__)
#define DYND_HAS_FMA 1
#endif

/// a - whole * b, where that is a number of the type. Without a fused multiplication the product is the sum of its
/// nearest number and what that leaves: Dekker's, of halves of the digits.
DYND_ISA_INLINE double unrounded_rest(double a, double whole, double b) {
#if defined(DYND_HAS_FMA)
  return __builtin_fma(-whole, b, a);
#else
  auto high = [](double x) __attribute__((always_inline)) {
    double large = x * 0x1.0000002p27;
    return large - (large - x);
  };
  double product = whole * b;
  double whole_high = high(whole), whole_low = whole - whole_high, high_b = high(b), low_b = b - high_b;
  double left = ((whole_high * high_b - product) + whole_high * low_b + whole_low * high_b) + whole_low * low_b;
  return (a - product) - left;
#endif
}

/// Whether a - whole * b may be no remainder, nor one that is one divisor off: for doubles that is a quotient from 2^53
/// on (that of infinity too), for floats, computed as doubles, from 2^29 on; a divisor that is infinite; and, of
/// products by halves, a number that has no room for these to grow.
template <class T> DYND_ISA_INLINE bool is_hard([[maybe_unused]] double a, double b, double whole) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr double most = wide ? 0x1p53 : 0x1p29;
#if defined(DYND_HAS_FMA)
  return !((__builtin_fabs(whole) < most) & (__builtin_fabs(b) < __builtin_inf()));
#else
  constexpr double room = wide ? 0x1p990 : __builtin_inf();
  return !((__builtin_fabs(whole) < most) & (__builtin_fabs(a) < room) & (__builtin_fabs(b) < room));
#endif
}

/// The remainder of C's fmod, exactly, by one step that at most goes one divisor too far; where that is not so, it is
/// hard, and the result is any. No branch: it vectorises.
template <class T> DYND_ISA_INLINE T quick_remainder(T a, T b, bool &hard) {
  constexpr bool wide = sizeof(T) == 8;
  double x = a, y = b, whole = whole_of(x / y);
  hard = is_hard<T>(x, y, whole);
  double rest = wide ? unrounded_rest(x, whole, y) : x - whole * y;
  bool too_far = ((rest < 0) != (x < 0)) & (rest != 0);
  rest += too_far ? __builtin_copysign(y, x) : 0.0;
  return T(__builtin_copysign(rest, x));
}

/// Remainder with the sign of the dividend, as C has it.
template <class T> DYND_ISA_INLINE T truncated_remainder(T a, T b) {
  if constexpr (is_floating_point<T>) {
    bool hard;
    T rest = quick_remainder(a, b, hard);
    return hard ? T(long_remainder(a, b)) : rest;
  } else {
    return T(a - truncated_quotient(a, b) * b);
  }
}

/// From that the remainder with the sign of the divisor, as Python's and NumPy's divmod.
template <class T> DYND_ISA_INLINE T floor_remainder_by(T rest, T b) {
  bool other_sign = ((rest < 0) != (b < 0)) & (rest != 0);
  T result = T(rest + (other_sign ? b : T(0)));
  if constexpr (is_floating_point<T>) {
    return result == 0 ? T(__builtin_copysign(T(0), b)) : result;
  } else {
    return result;
  }
}

/// And the quotient rounded to minus infinity.
template <class T> DYND_ISA_INLINE T floor_quotient_by(T rest, T a, T b) {
  bool other_sign = ((rest < 0) != (b < 0)) & (rest != 0);
  T ratio = a / b, quotient = (a - rest) / b;
  quotient -= other_sign ? T(1) : T(0);
  T whole = rounded_down(quotient);
  whole += quotient - whole > T(0.5) ? T(1) : T(0);
  T result = quotient == 0 ? T(__builtin_copysign(T(0), ratio)) : whole;
  return b == 0 ? ratio : result;
}

template <class T> DYND_ISA_INLINE T floor_remainder(T a, T b) {
  return floor_remainder_by(truncated_remainder(a, b), b);
}

template <class T> DYND_ISA_INLINE T floor_quotient(T a, T b) {
  if constexpr (is_floating_point<T>) {
    return floor_quotient_by(truncated_remainder(a, b), a, b);
  } else {
    T quotient = truncated_quotient(a, b);
    T rest = T(a - quotient * b);
    return T(quotient - T(is_signed_type<T> & (rest != 0) & ((rest < 0) != (b < 0)))); // no branch: none foresees it
  }
}

/// The same without the long way: what it would be taken for is collected (loops `guarded`).
template <class T> struct quick {
  T value;
  typename unsigned_of<sizeof(T)>::type *hard;
};
template <class T> DYND_ISA_INLINE T truncated_remainder(quick<T> a, quick<T> b) {
  bool hard;
  T rest = quick_remainder(a.value, b.value, hard);
  *a.hard |= hard;
  return rest;
}
/// In one step: the quotient is rounded down before it is multiplied, at most one divisor too high. What is left is a
/// number of the type, or the sum of both operands, which is rounded as floor_remainder_by does it (of floats computed
/// as doubles: to a double first, which changes no sum of two floats).
template <class T> DYND_ISA_INLINE T floor_remainder(quick<T> a, quick<T> b) {
  double x = a.value, y = b.value, whole = rounded_down(x / y);
  *a.hard |= is_hard<T>(x, y, whole);
  double rest = sizeof(T) == 8 ? unrounded_rest(x, whole, y) : x - whole * y;
  bool other_sign = ((rest < 0) != (y < 0)) & (rest != 0);
  rest += other_sign ? y : 0.0;
  return T(__builtin_copysign(rest, y));
}
template <class T> DYND_ISA_INLINE T floor_quotient(quick<T> a, quick<T> b) {
  return floor_quotient_by(truncated_remainder(a, b), a.value, b.value);
}

/// Integers wrap. A negative exponent, which fails, is taken for a large one.
template <class T> DYND_ISA_INLINE T whole_power(T a, T b) {
  using number = typename unsigned_of<sizeof(T)>::type;
  number base = number(a), result = 1;
  for (number exponent = number(b); exponent != 0; exponent = number(exponent >> 1)) {
    result = exponent & 1 ? number(result * base) : result;
    base = number(base * base);
  }
  return T(result);
}

/// Not, of a bool.
template <class T> DYND_ISA_INLINE T inverted(T a) {
  if constexpr (__is_same(T, bool)) {
    return !a;
  } else {
    return T(~a);
  }
}

/// 0 from the width of T on; a negative count, which fails, is a large one.
template <class T> DYND_ISA_INLINE T shifted_left(T a, T b) {
  using number = typename unsigned_of<sizeof(T)>::type;
  constexpr number width = 8 * sizeof(T);
  number count = number(b);
  return count < width ? T(number(a) << (count & (width - 1))) : T(0);
}

/// The sign, or 0, from the width of T on.
template <class T> DYND_ISA_INLINE T shifted_right(T a, T b) {
  using number = typename unsigned_of<sizeof(T)>::type;
  constexpr number width = 8 * sizeof(T);
  number count = number(b);
  T beyond = is_signed_type<T> ? T(a >> (width - 1)) : T(0);
  return count < width ? T(a >> (count & (width - 1))) : beyond;
}

/// By shifts and differences. Of numbers that are not negative; 2^(width - 1), which the smallest T has, wraps to it.
template <class T> DYND_ISA_INLINE T greatest_divisor(T a, T b) {
  using number = typename unsigned_of<sizeof(T)>::type;
  uint64_t u = number(is_negative(a) ? T(-a) : a), v = number(is_negative(b) ? T(-b) : b);
  if (u == 0 || v == 0) {
    return T(u | v);
  }
  int twos = __builtin_ctzll(u | v);
  u >>= __builtin_ctzll(u);
  while (v != 0) {
    v >>= __builtin_ctzll(v);
    uint64_t smaller = u < v ? u : v;
    v = u < v ? v - u : u - v;
    u = smaller;
  }
  return T(u << twos);
}

template <class T> DYND_ISA_INLINE T least_multiple(T a, T b) {
  using number = typename unsigned_of<sizeof(T)>::type;
  number u = number(is_negative(a) ? T(-a) : a), v = number(is_negative(b) ? T(-b) : b);
  number divisor = number(greatest_divisor(u, v));
  return divisor == 0 ? T(0) : T(number(u / divisor * v));
}

/// By sums of neighbouring bits, pairs, and so on: it vectorises without an instruction for it.
template <class T> DYND_ISA_INLINE uint8_t count_of_ones(T a) {
  using number = typename unsigned_of<sizeof(T)>::type;
  number x = number(is_negative(a) ? T(-a) : a);
  x = number(x - (x >> 1 & number(0x5555555555555555u)));
  x = number((x & number(0x3333333333333333u)) + (x >> 2 & number(0x3333333333333333u)));
  x = number((x + (x >> 4)) & number(0x0f0f0f0f0f0f0f0fu));
  if constexpr (sizeof(T) == 8) {
    x += x >> 32;
  }
  if constexpr (sizeof(T) >= 4) {
    x += x >> 16;
  }
  if constexpr (sizeof(T) >= 2) {
    x = number(x + (x >> 8));
  }
  return uint8_t(x & 127);
}

} // namespace
} // namespace dynd
