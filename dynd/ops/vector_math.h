// The functions of transcendental.def: of vectors of floating-point numbers, of complex numbers, and the powers of
// integers. Private to the units that are compiled once for each ISA level; the same bits at each (decision 0024).
#pragma once

#include "dynd/ops/complex_math.h"
#include "dynd/ops/integer_math.h"
#include "dynd/ops/vector_float32.h"
#include "dynd/ops/vector_special.h"

namespace dynd {
namespace {
namespace math {

/// exp of the difference of two numbers, of which the second is not smaller, times the logarithm of the base.
DYND_ISA_INLINE twofold power_of_difference(float64s less, float64s most, twofold log_of_base) {
  twofold difference = exact_sum(less, -most);
  twofold inside = chosen(difference.hi > -2000, difference, twice(-2000, 0)) * log_of_base;
  reduced parts = reduce_exponent(chosen(inside.hi > -900, inside.hi, -900.0), inside.lo);
  twofold p = exp_minus_one(parts.r) + all(1);
  return {scaled(p.hi, parts.k), scaled(p.lo, parts.k)};
}

/// The logarithm of a sum of powers: the larger exponent, and what the other adds. Both may be infinite.
DYND_ISA_INLINE float64s log_of_powers(float64s a, float64s b, twofold log_of_base, twofold inverse) {
  float64s most = a > b ? a : b, less = a > b ? b : a;
  int64s finite = magnitude(most) < infinity;
  twofold added = log1p_twofold(power_of_difference(less, chosen(finite, most, less), log_of_base)) * inverse;
  float64s sum = chosen(finite, (added + most).hi, most);
  return (a != a) | (b != b) ? a + b : sum;
}

DYND_ISA_CALLED float64s logaddexp(float64s a, float64s b) { return log_of_powers(a, b, twice(1, 0), twice(1, 0)); }

DYND_ISA_CALLED float64s logaddexp2(float64s a, float64s b) {
  return log_of_powers(a, b, twice(ln2_hi, ln2_lo), twice(log2e, log2e_lo));
}

/// 1 / (1 + exp(-x)), by the exponential that does not overflow.
DYND_ISA_CALLED float64s expit(float64s x) {
  float64s e = exp(-magnitude(x));
  return chosen(x < 0, e, 1.0) / (1.0 + e);
}

/// log(p / (1 - p)), near a half by what differs from it.
DYND_ISA_CALLED float64s logit(float64s p) {
  float64s near = atanh(p + p - 1.0) * 2.0, far = log(p / (1.0 - p));
  return (p > 0.25) & (p < 0.75) ? near : far;
}

DYND_ISA_INLINE float64s angle(float64s x) { return x != x ? x : chosen(sign_of(x) != 0, 2 * half_pi, 0.0); }

#define DYND_FLOAT32(name)                                                                                             \
  DYND_ISA_CALLED float32s name(float32s a) {                                                                          \
    return in_double(                                                                                                  \
        [](float64s x) __attribute__((always_inline)) { return name(x); }, a);                                         \
  }
#define DYND_FLOAT32_2(name)                                                                                           \
  DYND_ISA_CALLED float32s name(float32s a, float32s b) {                                                              \
    return in_double(                                                                                                  \
        [](float64s x, float64s y) __attribute__((always_inline)) { return name(x, y); }, a, b);                       \
  }
DYND_FLOAT32(exp2)
DYND_FLOAT32(expm1)
DYND_FLOAT32(log1p)
DYND_FLOAT32(log2)
DYND_FLOAT32(log10)
DYND_FLOAT32(expit)
DYND_FLOAT32(logit)
DYND_FLOAT32(tan)
DYND_FLOAT32(asin)
DYND_FLOAT32(acos)
DYND_FLOAT32(atan)
DYND_FLOAT32(angle)
DYND_FLOAT32(sinh)
DYND_FLOAT32(cosh)
DYND_FLOAT32(asinh)
DYND_FLOAT32(acosh)
DYND_FLOAT32(atanh)
DYND_FLOAT32(cbrt)
DYND_FLOAT32(erf)
DYND_FLOAT32(erfc)
DYND_FLOAT32(gamma)
DYND_FLOAT32(lgamma)
DYND_FLOAT32_2(logaddexp)
DYND_FLOAT32_2(logaddexp2)
DYND_FLOAT32_2(atan2)
DYND_FLOAT32_2(hypot)
#undef DYND_FLOAT32
#undef DYND_FLOAT32_2

/// Of integers.
template <class T>
requires(!is_vector<T> && !is_complex<T>) DYND_ISA_INLINE T pow(T a, T b) { return whole_power(a, b); }

} // namespace math
} // namespace
} // namespace dynd
