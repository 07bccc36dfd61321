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

/// The remainder of C's fmod, exactly. While the quotient is below 2^53 (2^29 for floats, computed as doubles), one
/// fused step is exact and at most one divisor off.
DYND_ISA_INLINE double exact_remainder(double a, double b) {
  double quotient = __builtin_trunc(a / b);
  if (__builtin_expect(__builtin_fabs(quotient) < 0x1p53 && __builtin_fabs(b) <= 0x1.fffffffffffffp1023, 1)) {
    double rest = __builtin_fma(-quotient, b, a);
    if (rest != 0 && (rest < 0) != (a < 0)) {
      rest += (b < 0) == (rest < 0) ? -b : b;
    }
    return rest == 0 ? __builtin_copysign(0.0, a) : rest;
  }
  return __builtin_fmod(a, b);
}

DYND_ISA_INLINE float exact_remainder(float a, float b) {
  double quotient = __builtin_trunc(double(a) / double(b));
  if (__builtin_expect(__builtin_fabs(quotient) < 0x1p29 && __builtin_fabsf(b) <= 0x1.fffffep127f, 1)) {
    double rest = double(a) - quotient * double(b);
    return rest == 0 ? __builtin_copysignf(0.0f, a) : float(rest);
  }
  return __builtin_fmodf(a, b);
}

/// Remainder with the sign of the dividend, as C has it.
template <class T> DYND_ISA_INLINE T truncated_remainder(T a, T b) {
  if constexpr (is_floating_point<T>) {
    return exact_remainder(a, b);
  } else {
    return T(a - truncated_quotient(a, b) * b);
  }
}

/// Remainder with the sign of the divisor, as Python's and NumPy's divmod.
template <class T> DYND_ISA_INLINE T floor_remainder(T a, T b) {
  if constexpr (is_floating_point<T>) {
    T rest = exact_remainder(a, b);
    if (b == 0) {
      return rest; // NaN
    }
    if (rest == 0) {
      return T(__builtin_copysign(T(0), b));
    }
    return (b < 0) != (rest < 0) ? rest + b : rest;
  } else {
    T rest = T(a - truncated_quotient(a, b) * b);
    return is_signed_type<T> && rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
  }
}

/// Quotient rounded to minus infinity, as Python's and NumPy's divmod.
template <class T> DYND_ISA_INLINE T floor_quotient(T a, T b) {
  if constexpr (is_floating_point<T>) {
    if (b == 0) {
      return a / b;
    }
    T rest = exact_remainder(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) {
      quotient -= T(1);
    }
    if (quotient == 0) {
      return T(__builtin_copysign(T(0), a / b));
    }
    T whole = T(__builtin_floor(quotient));
    return quotient - whole > T(0.5) ? whole + T(1) : whole;
  } else {
    T quotient = truncated_quotient(a, b);
    T rest = T(a - quotient * b);
    return is_signed_type<T> && rest != 0 && (rest < 0) != (b < 0) ? T(quotient - 1) : quotient;
  }
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
  for (unsigned width = 8; width < 8 * sizeof(T); width *= 2) {
    x = number(x + (x >> width));
  }
  return uint8_t(x & 127);
}

} // namespace
} // namespace dynd
