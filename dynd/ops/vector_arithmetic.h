// What the functions of vector_math.h are made of: vectors of doubles as wide as a register of the ISA level, fused
// multiplication, and sums of two doubles. Private to the units that are compiled once for each ISA level.
//
// Every operation here is rounded correctly, fused multiplication too (at the baseline the system's fma() does it, in
// software where the CPU cannot). So the bits are the same at every ISA level, and at every place in a vector.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "dynd/ops/scalar_math.h"
#include "dynd/ops/vector_of.h"

#pragma GCC diagnostic ignored "-Wpsabi"

// A function of a vector that is called, rather than put into each loop that has it: those that take long anyway, and
// at the baseline all of them.
#define DYND_ISA_CALLED [[gnu::noinline, maybe_unused]] static
#if defined(__AVX2__)
#define DYND_ISA_FAST DYND_ISA_INLINE
#else
#define DYND_ISA_FAST DYND_ISA_CALLED
#endif

namespace dynd {
namespace {

typedef vector_of<double, vector_bytes>::type float64s;
typedef vector_of<int64_t, vector_bytes>::type int64s;
typedef vector_of<uint64_t, vector_bytes>::type uint64s;
typedef vector_of<float, vector_bytes>::type float32s;

namespace math {

constexpr double infinity = __builtin_inf();

DYND_ISA_INLINE float64s all(double x) { return x - float64s{}; }
DYND_ISA_INLINE int64s bits(float64s x) { return (int64s)x; }
DYND_ISA_INLINE float64s from_bits(int64s x) { return (float64s)x; }

/// a*b + c, rounded once.
DYND_ISA_FAST float64s fused(float64s a, float64s b, float64s c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_pd(a, b, c);
#else
  for (size_t i = 0; i < vector_bytes / 8; ++i) {
    c[i] = __builtin_fma(a[i], b[i], c[i]);
  }
  return c;
#endif
}
DYND_ISA_INLINE float64s fused(float64s a, float64s b, double c) { return fused(a, b, all(c)); }
DYND_ISA_INLINE float64s fused(float64s a, double b, float64s c) { return fused(a, all(b), c); }
DYND_ISA_INLINE float64s fused(float64s a, double b, double c) { return fused(a, all(b), all(c)); }

DYND_ISA_INLINE float64s square_root(float64s a) {
#if defined(__AVX512F__)
  return _mm512_mask_sqrt_pd(a, __mmask8(-1), a);
#elif defined(__AVX2__)
  return _mm256_sqrt_pd(a);
#else
  for (size_t i = 0; i < vector_bytes / 8; ++i) {
    a[i] = __builtin_sqrt(a[i]);
  }
  return a;
#endif
}

/// 1 / sqrt(a) to some digits: by the exponent, once made better. Of 0 a large number.
DYND_ISA_INLINE float64s rough_inverse_root(float64s a) {
  float64s inverse = from_bits(0x5fe6eb50c7b537a9 - (int64s)((uint64s)bits(a) >> 1));
  return inverse * fused(a * -0.5, inverse * inverse, 1.5);
}

DYND_ISA_INLINE float64s chosen(int64s where, float64s a, float64s b) { return where ? a : b; }
DYND_ISA_INLINE float64s chosen(int64s where, double a, float64s b) { return where ? all(a) : b; }
DYND_ISA_INLINE float64s chosen(int64s where, float64s a, double b) { return where ? a : all(b); }
DYND_ISA_INLINE float64s chosen(int64s where, double a, double b) { return where ? all(a) : all(b); }

/// Whether any lane of a comparison holds: what is rare is done in a branch.
DYND_ISA_INLINE bool any(int64s where) {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask((__m512i)where) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)where) != 0;
#else
  return (where[0] | where[1]) != 0;
#endif
}

DYND_ISA_INLINE int64s sign_of(float64s x) { return bits(x) & INT64_MIN; }
DYND_ISA_INLINE float64s magnitude(float64s x) { return from_bits(bits(x) & INT64_MAX); }
DYND_ISA_INLINE float64s with_sign(float64s x, int64s sign) { return from_bits(bits(x) | sign); }
DYND_ISA_INLINE float64s flipped_by(float64s x, int64s sign) { return from_bits(bits(x) ^ sign); }

/// The nearest whole number of |x| < 2^51: the sum has no room for a fraction.
constexpr double rounder = 0x1.8p52;
DYND_ISA_INLINE float64s rounded_whole(float64s x) { return (x + rounder) - rounder; }
/// A whole number as an integer, with garbage above its 51 bits.
DYND_ISA_INLINE int64s low_bits(float64s whole) { return bits(whole + rounder); }
/// Of x >= 0.
DYND_ISA_INLINE int64s is_whole(float64s x) { return (x >= 0x1p52) | ((x + 0x1p52) - 0x1p52 == x); }

/// 2^k of a whole number -1022 <= k <= 1023: the sum ends in k + 1023.
DYND_ISA_INLINE float64s power_of_two(float64s k) { return from_bits(bits(k + (rounder + 1023)) << 52); }

/// x * 2^k, rounded once, for 2^-2 < |x| < 2^2 and |k| < 2000.
DYND_ISA_INLINE float64s scaled(float64s x, float64s k) {
#if defined(__AVX512F__)
  return _mm512_mask_scalef_pd(x, __mmask8(-1), x, k);
#else
  float64s half = rounded_whole(k * 0.5);
  return x * power_of_two(half) * power_of_two(k - half);
#endif
}

/// The value of a polynomial, the coefficient of the highest power first.
template <class... More> DYND_ISA_INLINE float64s polynomial(float64s x, double first, double second, More... more) {
  float64s value = fused(x, first, second);
  ((value = fused(value, x, more)), ...);
  return value;
}

/// The same by two sums, of the even and of the odd powers, which do not wait for each other.
template <class... All> DYND_ISA_INLINE float64s polynomial_in_halves(float64s x, All... coefficients) {
  constexpr size_t count = sizeof...(All);
  const double c[count] = {coefficients...};
  float64s square = x * x, sum[2] = {all(c[0]), all(c[1])};
#pragma GCC unroll 16
  for (size_t i = 2; i < count; ++i) {
    sum[i % 2] = fused(sum[i % 2], square, c[i]);
  }
  return fused(sum[count % 2], x, sum[1 - count % 2]);
}

/// An unevaluated sum, lo at most half a unit in the last place of hi: about 106 bits.
struct twofold {
  float64s hi, lo;
};

/// The exact sum, where a is 0 or not smaller than b.
DYND_ISA_INLINE twofold ordered_sum(float64s a, float64s b) {
  float64s sum = a + b;
  return {sum, b - (sum - a)};
}
DYND_ISA_INLINE twofold exact_sum(float64s a, float64s b) {
  float64s sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
DYND_ISA_INLINE twofold exact_product(float64s a, float64s b) {
  float64s product = a * b;
  return {product, fused(a, b, -product)};
}

DYND_ISA_INLINE twofold operator+(twofold a, twofold b) {
  twofold sum = exact_sum(a.hi, b.hi);
  return ordered_sum(sum.hi, sum.lo + (a.lo + b.lo));
}
DYND_ISA_INLINE twofold operator+(twofold a, float64s b) {
  twofold sum = exact_sum(a.hi, b);
  return ordered_sum(sum.hi, sum.lo + a.lo);
}
DYND_ISA_INLINE twofold operator-(twofold a) { return {-a.hi, -a.lo}; }
DYND_ISA_INLINE twofold operator-(twofold a, twofold b) { return a + -b; }
DYND_ISA_INLINE twofold operator*(twofold a, float64s b) {
  float64s product = a.hi * b;
  return ordered_sum(product, fused(a.lo, b, fused(a.hi, b, -product)));
}
DYND_ISA_INLINE twofold operator*(twofold a, twofold b) {
  float64s product = a.hi * b.hi;
  return ordered_sum(product, fused(a.hi, b.lo, fused(a.lo, b.hi, fused(a.hi, b.hi, -product))));
}
/// By the reciprocal; what that leaves is divided once more.
DYND_ISA_INLINE twofold operator/(twofold a, twofold b) {
  float64s inverse = 1.0 / b.hi, quotient = a.hi * inverse;
  float64s rest = fused(-quotient, b.lo, fused(-quotient, b.hi, a.hi) + a.lo);
  return ordered_sum(quotient, rest * inverse);
}

/// 0 for 0.
DYND_ISA_INLINE twofold square_root(twofold a) {
  float64s root = square_root(a.hi), rest = fused(-root, root, a.hi) + a.lo;
  return ordered_sum(root, chosen(root == 0, 0.0, rest / (root + root)));
}

DYND_ISA_INLINE twofold chosen(int64s where, twofold a, twofold b) {
  return {chosen(where, a.hi, b.hi), chosen(where, a.lo, b.lo)};
}
DYND_ISA_INLINE twofold twice(double hi, double lo) { return {all(hi), all(lo)}; }

} // namespace math
} // namespace
} // namespace dynd
