// Exponentials, logarithms, powers and hyperbolic functions of vectors of doubles (vector_arithmetic.h). Errors are in
// docs/accuracy.md; the polynomials are minimax approximations of the functions beside them.
#pragma once

#include "dynd/ops/vector_arithmetic.h"

namespace dynd {
namespace {
namespace math {

constexpr double ln2_hi = 0x1.62e42fefa39efp-1, ln2_lo = 0x1.abc9e3b39803fp-56;
/// ln 2 with zeros at the end: its product with an exponent is exact.
constexpr double ln2_short = 0x1.62e42fefa3800p-1, ln2_rest = 0x1.ef35793c76730p-45;
constexpr double log2e = 0x1.71547652b82fep+0, log2e_lo = 0x1.777d0ffda0d24p-56;

/// An exponent of two and what remains: x = k ln 2 + r.
struct reduced {
  float64s k;
  twofold r;
};

/// |x| < 1000.
DYND_ISA_INLINE reduced reduce_exponent(float64s x, float64s x_lo) {
  float64s k = fused(x, log2e, rounder) - rounder; // the nearest whole number
  float64s hi = fused(k, -ln2_short, x), lo = fused(k, -ln2_rest, x_lo);
  return {k, ordered_sum(hi, lo)};
}

/// (exp(r) - 1 - r - r^2/2) / r^3 for |r| <= ln(2) / 2.
DYND_ISA_INLINE float64s exp_tail(float64s r) {
  return polynomial_in_halves(r, 0x1.61cceb3da5953p-33, 0x1.1f7341a399d6ep-29, 0x1.ae64248d64c59p-26,
                              0x1.27e4db4661a25p-22, 0x1.71de3a5c53f27p-19, 0x1.a01a01a6e209cp-16,
                              0x1.a01a01a019215p-13, 0x1.6c16c16c162c3p-10, 0x1.1111111111112p-7, 0x1.5555555555556p-5,
                              0x1.5555555555555p-3);
}

/// The same to 2^-57 of exp(r), for a sum that is rounded to 2^-53 of it anyway.
DYND_ISA_INLINE float64s exp_tail_short(float64s r) {
  return polynomial_in_halves(r, 0x1.ad1f1a739f998p-26, 0x1.289faf77b522ep-22, 0x1.71df561aa77d2p-19,
                              0x1.a019ab0ae1757p-16, 0x1.a01a011bad0dap-13, 0x1.6c16c17ccd471p-10, 0x1.11111111289fdp-7,
                              0x1.55555555531eap-5, 0x1.5555555555501p-3);
}

/// exp(r) - 1, to about 2^-62 of it.
DYND_ISA_INLINE twofold exp_minus_one(twofold r) {
  float64s x = r.hi, square = x * x;
  twofold sum = ordered_sum(x, square * 0.5);
  float64s lo = fused(x, x, -square) * 0.5 + fused(r.lo, x, r.lo);
  return ordered_sum(sum.hi, sum.lo + fused(square * x, exp_tail(x), lo));
}

/// exp(r) * 2^k.
DYND_ISA_INLINE float64s exp_scaled(reduced x) {
  float64s r = x.r.hi;
  float64s p = r + fused(r * r, fused(r, exp_tail_short(r), 0.5), x.r.lo);
  return scaled(1.0 + p, x.k);
}
/// The same, rounded nearly correctly.
DYND_ISA_INLINE float64s exp_scaled_twofold(reduced x) {
  twofold p = exp_minus_one(x.r), sum = ordered_sum(all(1), p.hi);
  return scaled(sum.hi + (sum.lo + p.lo), x.k);
}

/// What is not a number stays so; far below, exp is 0, far above, infinite.
DYND_ISA_INLINE float64s clamped(float64s x, double low, double high) {
#if defined(__AVX512F__)
  x = _mm512_mask_max_pd(x, __mmask8(-1), all(low), x); // of NaN these give the second
  return _mm512_mask_min_pd(x, __mmask8(-1), all(high), x);
#elif defined(__AVX2__)
  return _mm256_min_pd(all(high), _mm256_max_pd(all(low), x));
#else
  return chosen(x < low, low, chosen(x > high, high, x));
#endif
}

DYND_ISA_FAST float64s exp(float64s x) {
  x = clamped(x, -746, 710);
  return exp_scaled(reduce_exponent(x, float64s{}));
}

DYND_ISA_FAST float64s exp2(float64s x) {
  x = clamped(x, -1076, 1025);
  float64s k = rounded_whole(x);
  twofold r = twice(ln2_hi, ln2_lo) * (x - k);
  return exp_scaled({k, r});
}

/// exp(x) - 1: the exact sum of 2^k - 1 and the first term of 2^k (exp(r) - 1), then the others.
DYND_ISA_FAST float64s expm1(float64s x) {
  reduced parts = reduce_exponent(clamped(x, -40, 710), float64s{});
  float64s r = parts.r.hi, half = parts.k - 1.0, power = power_of_two(half); // 2^1024 has no number
  float64s square = r * (r * 0.5), square_lo = fused(r, r * 0.5, -square);
  float64s rest = fused(square * r, exp_tail(r) * 2.0, parts.r.lo + square_lo);
  float64s whole = power - 0.5, lost = (power - whole) - 0.5;
  twofold sum = ordered_sum(whole, power * r);
  float64s result = (sum.hi + fused(power, square, fused(power, rest, sum.lo + lost))) * 2.0;
  return chosen(magnitude(x) < 0x1p-54, x, result);
}

/// The hyperbolic functions of the rest r: cosh(r) - 1 and sinh(r) - r.
struct hyperbolic {
  float64s even, odd;
};
DYND_ISA_INLINE hyperbolic hyperbolic_tails(float64s r) {
  float64s t = r * r;
  float64s even = polynomial(t, 0x1.1eed8eff8d898p-29, 0x1.27e4fb7789f5cp-22, 0x1.a01a01a01a01ap-16,
                             0x1.6c16c16c16c17p-10, 0x1.5555555555555p-5, 0x1p-1);
  float64s odd = polynomial(t, 0x1.6124613a86d09p-33, 0x1.ae64567f544e4p-26, 0x1.71de3a556c734p-19,
                            0x1.a01a01a01a01ap-13, 0x1.1111111111111p-7, 0x1.5555555555555p-3);
  return {even * t, odd * (t * r)};
}

/// With x = k ln 2 + r, half of exp(x) and of exp(-x), both divided by 2^k, are exp(r) / 2 and exp(-r) 2^(-2k-1), and
/// cosh(r) is half the sum of exp(r) and exp(-r), sinh(r) half their difference. `lost`: what the sum of both factors
/// was rounded by, and so was their difference.
DYND_ISA_FAST float64s sinh(float64s x) {
  float64s size = magnitude(x);
  reduced parts = reduce_exponent(clamped(size, 0, 712), float64s{});
  float64s r = parts.r.hi, small = power_of_two(clamped(parts.k * -2.0 - 1.0, -200, 0));
  float64s sum = 0.5 + small, difference = 0.5 - small, lost = small - (sum - 0.5);
  hyperbolic tails = hyperbolic_tails(r);
  float64s rest = fused(difference, tails.even, fused(sum, tails.odd + parts.r.lo, fused(lost, r, -lost)));
  float64s result = scaled(difference + fused(sum, r, rest), parts.k);
  return with_sign(chosen(size < 0x1p-28, size, result), sign_of(x));
}

DYND_ISA_FAST float64s cosh(float64s x) {
  reduced parts = reduce_exponent(clamped(magnitude(x), 0, 712), float64s{});
  float64s r = parts.r.hi, small = power_of_two(clamped(parts.k * -2.0 - 1.0, -200, 0));
  float64s sum = 0.5 + small, difference = 0.5 - small, lost = small - (sum - 0.5);
  hyperbolic tails = hyperbolic_tails(r);
  float64s rest = fused(sum, tails.even, fused(difference, tails.odd + parts.r.lo, fused(-lost, r, lost)));
  return scaled(sum + fused(difference, r, rest), parts.k);
}

/// (exp(2x) - 1) / (exp(2x) + 1). Numerator and denominator have more digits than a double, but not all of twofold's.
DYND_ISA_FAST float64s tanh(float64s x) {
  float64s size = magnitude(x), inside = clamped(size, 0, 20);
  reduced parts = reduce_exponent(inside + inside, float64s{});
  float64s r = parts.r.hi, power = power_of_two(parts.k);
  twofold p = ordered_sum(r, fused(r * r, fused(r, exp_tail(r), 0.5), parts.r.lo));
  twofold above = ordered_sum(power - 1.0, power * p.hi);
  above.lo = fused(power, p.lo, above.lo);
  twofold below = exact_sum(above.hi, all(2));
  below.lo += above.lo;
  return with_sign(chosen(size < 0x1p-28, size, (above / below).hi), sign_of(x));
}

/// (2 atanh(s) - 2 s) / s^3 for |s| <= 0.1716, of t = s^2.
DYND_ISA_INLINE float64s log_tail(float64s t) {
  return polynomial(t, 0x1.0c189cd0b5d61p-3, 0x1.0fbc87513dbcbp-3, 0x1.3b1c498d78289p-3, 0x1.745cf8a280abdp-3,
                    0x1.c71c72024c8b6p-3, 0x1.24924924763d6p-2, 0x1.9999999999a3cp-2, 0x1.5555555555555p-1);
}

constexpr int64_t root_of_half = 0x3fe6a09e667f3bcd;

/// The exponent of a positive number, from its bits less those of the root of 1/2: of 0.7 it is -1, of 0.71 and 1.4 0.
DYND_ISA_INLINE float64s exponent_above(int64s above) {
#if defined(__AVX512F__)
  return __builtin_convertvector(above >> 52, float64s);
#else
  int64s biased = (int64s)((uint64s)(above + (int64_t(1023) << 52)) >> 52);
  return from_bits(biased | 0x4330000000000000) - (0x1p52 + 1023);
#endif
}

/// An exponent k and a factor m - 1 = f, m between the roots of 1/2 and 2: x = 2^k m. Of x > 0, finite.
struct factored {
  float64s k;
  twofold f;
};
DYND_ISA_INLINE factored factor(twofold x) {
  int64s small = x.hi < 0x1p-1022;
  int64s number = bits(chosen(small, x.hi * 0x1p54, x.hi));
  int64s above = number - root_of_half;
  float64s k = exponent_above(above);
  float64s m = from_bits(number - (above & (int64_t(-1) << 52)));
  float64s lo = chosen(x.lo == 0, 0.0, scaled(x.lo, -k));
  return {chosen(small, k - 54.0, k), ordered_sum(m - 1.0, lo)};
}

/// Half the logarithm of m is atanh(s), s = (m - 1) / (m + 1).
DYND_ISA_INLINE twofold log_argument(twofold f) {
  twofold below = ordered_sum(all(2), f.hi);
  return f / twofold{below.hi, below.lo + f.lo};
}

/// Logarithm of what `factor` gave.
DYND_ISA_INLINE twofold log_of(factored x) {
  twofold s = log_argument(x.f);
  float64s square = s.hi * s.hi;
  twofold sum = ordered_sum(x.k * ln2_short, s.hi + s.hi);
  float64s lo = fused(x.k, ln2_rest, fused(square * s.hi, log_tail(square), s.lo + s.lo));
  return ordered_sum(sum.hi, sum.lo + lo);
}

/// The logarithm's values where x is not positive and finite.
DYND_ISA_INLINE float64s log_specials(float64s x, float64s result) {
  result = x < infinity ? result : x;
  return chosen(x <= 0, chosen(x == 0, -infinity, __builtin_nan("")), result);
}

/// The logarithm of x * 2^More, x normal: with s = f / (2 + f), log(1 + f) is f - s (f - tail).
template <int More = 0> DYND_ISA_INLINE float64s log_normal(float64s x) {
  int64s above = bits(x) - root_of_half;
  float64s f = from_bits(bits(x) - (above & (int64_t(-1) << 52))) - 1.0, k = exponent_above(above);
  if constexpr (More != 0) {
    k += double(More);
  }
  float64s s = f / (f + 2.0), square = s * s;
  float64s lo = fused(-s, fused(-square, log_tail(square), f), k * ln2_rest);
  twofold sum = ordered_sum(k * ln2_short, f);
  return sum.hi + (sum.lo + lo);
}

DYND_ISA_FAST float64s log(float64s x) {
  float64s result = log_normal(x);
  int64s rare = ~((x >= 0x1p-1022) & (x < infinity));
  if (__builtin_expect(any(rare), 0)) {
    result = chosen(rare, log_specials(x, log_normal<-54>(x * 0x1p54)), result);
  }
  return result;
}

/// log(1 + f) - f + more, between the roots of 1/2 and 2: with s = f / (2 + f) and h = f^2 / 2, s (h + tail) - h.
DYND_ISA_INLINE float64s log_rest(float64s f, float64s more) {
  float64s s = f / (f + 2.0), square = s * s, half = f * 0.5;
  return fused(s, fused(square, log_tail(square), half * f), fused(-half, f, more));
}

/// The logarithm of 2^k (1 + f) to another base: its reciprocal's logarithm, and that of 2, are sums of two doubles.
struct log_base {
  double factor, factor_lo, of_two, of_two_lo;
};
template <int More> DYND_ISA_INLINE float64s log_normal_to(float64s x, log_base base) {
  int64s above = bits(x) - root_of_half;
  float64s f = from_bits(bits(x) - (above & (int64_t(-1) << 52))) - 1.0, k = exponent_above(above) + double(More);
  float64s hi = f * base.factor, lo = fused(f, base.factor_lo, fused(f, base.factor, -hi));
  lo = fused(log_rest(f, float64s{}), base.factor, fused(k, base.of_two_lo, lo));
  twofold sum = ordered_sum(k * base.of_two, hi);
  return sum.hi + (sum.lo + lo);
}
DYND_ISA_INLINE float64s log_to(float64s x, log_base base) {
  float64s result = log_normal_to<0>(x, base);
  int64s rare = ~((x >= 0x1p-1022) & (x < infinity));
  if (__builtin_expect(any(rare), 0)) {
    result = chosen(rare, log_specials(x, log_normal_to<-54>(x * 0x1p54, base)), result);
  }
  return result;
}

DYND_ISA_FAST float64s log2(float64s x) { return log_to(x, {log2e, log2e_lo, 1, 0}); }

/// log10(2) has zeros at the end: its product with an exponent is exact.
DYND_ISA_FAST float64s log10(float64s x) {
  return log_to(x, {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f7800p-2, 0x1.fef311f12b358p-46});
}

/// log(1 + x), where 1 + x may be a sum of two doubles, and so is the result.
DYND_ISA_CALLED twofold log1p_twofold(twofold x) {
  twofold sum = exact_sum(all(1), x.hi);
  factored parts = factor(ordered_sum(sum.hi, sum.lo + x.lo));
  parts.f = chosen(parts.k == 0, x, parts.f);
  return log_of(parts);
}

/// log(1 + x + lo), lo at most some units in the last place of x > -1: what the sum is rounded by counts as its
/// quotient by 1 + x, a small part of the result, of which some digits are enough. Where the exponent is 0, x is all
/// there is.
DYND_ISA_INLINE float64s log1p_sum(float64s x, float64s lo) {
  twofold sum = exact_sum(all(1), x);
  int64s above = bits(sum.hi) - root_of_half, shift = above & (int64_t(-1) << 52), near = shift == 0;
  float64s k = exponent_above(above), f = chosen(near, x, from_bits(bits(sum.hi) - shift) - 1.0);
  float64s scale = from_bits(k > 60 ? int64s{} : (int64_t(1023) << 52) - shift);
  lo = chosen(near, lo, (sum.lo + lo) * scale) * fused(f, f - 1.0, 1.0);
  twofold both = ordered_sum(k * ln2_short, f);
  return both.hi + (both.lo + log_rest(f, fused(k, ln2_rest, lo)));
}

DYND_ISA_FAST float64s log1p(float64s x) {
  float64s result = log1p_sum(chosen((x > -1) & (x < infinity), x, 1.0), float64s{});
  return chosen(magnitude(x) < 0x1p-54, x, log_specials(x + 1.0, result));
}

/// What the root of a + lo was rounded by: some digits of it, by those of the inverse root.
DYND_ISA_INLINE float64s lost_by_root(float64s root, float64s a, float64s lo) {
  return (fused(-root, root, a) + lo) * (rough_inverse_root(a) * 0.5);
}

/// The logarithm of 2x above 2^28, where 1 does not count beside x^2; NaN of NaN.
DYND_ISA_INLINE float64s or_log_of_twice(float64s x, float64s near) {
  int64s far = ~(x <= 0x1p28);
  if (__builtin_expect(any(far), 0)) {
    near = chosen(far, log(x) + ln2_hi, near);
  }
  return near;
}

/// log(|x| + sqrt(x^2 + 1)): 1 is added last.
DYND_ISA_CALLED float64s asinh(float64s x) {
  float64s size = magnitude(x), inside = clamped(size, 0, 0x1p28);
  twofold square = exact_product(inside, inside), sum = exact_sum(square.hi, all(1));
  float64s root = square_root(sum.hi), below = root + 1.0, inverse = 1.0 / below;
  float64s below_lo = (1.0 - (below - root)) + lost_by_root(root, sum.hi, sum.lo + square.lo);
  float64s more = square.hi * inverse;
  float64s more_lo = (fused(-more, below, square.hi) + fused(-more, below_lo, square.lo)) * inverse;
  twofold argument = ordered_sum(inside, more);
  float64s near = chosen(size < 0x1p-28, size, log1p_sum(argument.hi, argument.lo + more_lo));
  return with_sign(or_log_of_twice(size, near), sign_of(x));
}

DYND_ISA_CALLED float64s acosh(float64s x) {
  float64s inside = clamped(x, 1, 0x1p28), less = inside - 1.0;
  twofold more = exact_sum(inside, all(1)), product = exact_product(more.hi, less);
  float64s root = square_root(product.hi), lost = lost_by_root(root, product.hi, fused(more.lo, less, product.lo));
  twofold argument = ordered_sum(root, less);
  float64s near = log1p_sum(argument.hi, argument.lo + lost);
  return x >= 1 ? or_log_of_twice(x, near) : all(__builtin_nan(""));
}

/// Half the logarithm of 1 + 2x / (1 - x).
DYND_ISA_CALLED float64s atanh(float64s x) {
  float64s size = magnitude(x), inside = chosen(size < 1, size, 0.5), above = inside + inside;
  twofold below = ordered_sum(all(1), -inside);
  float64s inverse = 1.0 / below.hi, quotient = above * inverse;
  float64s lo = fused(-quotient, below.lo, fused(-quotient, below.hi, above)) * inverse;
  float64s near = chosen(size < 0x1p-28, size, log1p_sum(quotient, lo) * 0.5);
  return with_sign(chosen(size < 1, near, chosen(size == 1, infinity, __builtin_nan(""))), sign_of(x));
}

/// The terms of the series from 2/5 s^5 on, divided by s^5, of t = s^2.
DYND_ISA_INLINE float64s precise_log_tail(float64s t) {
  return polynomial_in_halves(t, 0x1.e0533fdb7d1e2p-4, 0x1.df792d194ad57p-4, 0x1.1118d9a1f288ep-3, 0x1.3b13957be162ap-3,
                              0x1.745d177b6c625p-3, 0x1.c71c71c6e9a43p-3, 0x1.2492492492525p-2, 0x1.999999999999ap-2);
}

/// The logarithm to about 2^-66 of it: the first terms of the series have more digits. Of x > 0, finite.
DYND_ISA_CALLED twofold precise_log(twofold x) {
  factored parts = factor(x);
  twofold s = log_argument(parts.f), square = s * s;
  float64s t = square.hi;
  twofold third = ordered_sum(all(0x1.5555555555555p-1), fused(t, precise_log_tail(t), 0x1.5555555555555p-55));
  twofold rest = square * third, factor = ordered_sum(all(2), rest.hi);
  twofold series = s * twofold{factor.hi, factor.lo + rest.lo};
  twofold sum = ordered_sum(parts.k * ln2_short, series.hi);
  return ordered_sum(sum.hi, sum.lo + fused(parts.k, ln2_rest, series.lo));
}

/// The specials of C's pow, which are IEEE's.
DYND_ISA_INLINE float64s power_specials(float64s x, float64s y, float64s result) {
  int64s whole = is_whole(magnitude(y)), odd = whole & ~is_whole(magnitude(y) * 0.5);
  result = with_sign(result, odd & sign_of(x));
  result = chosen((x < 0) & ~whole & (x > -infinity), __builtin_nan(""), result);
  result = chosen((magnitude(x) == 1) & (magnitude(y) == infinity), 1.0, result);
  result = (x != x) | (y != y) ? x + y : result;
  return chosen((y == 0) | (x == 1), 1.0, result);
}

/// Every power.
DYND_ISA_CALLED float64s any_power(float64s x, float64s y) {
  float64s size = magnitude(x);
  twofold logarithm = precise_log({chosen((size > 0) & (size < infinity), size, 1.0), float64s{}});
  logarithm.hi = chosen(size == 0, -infinity, chosen(size == infinity, infinity, logarithm.hi));
  float64s hi = logarithm.hi * y;
  float64s lo = fused(logarithm.hi, y, -hi) + logarithm.lo * y;
  lo = chosen(magnitude(hi) < 1000, lo, 0.0);
  return power_specials(x, y, exp_scaled_twofold(reduce_exponent(clamped(hi, -760, 720), lo)));
}

/// The logarithm of a normal number to about 2^-66 of it: 2 s + s^3 (2/3 + s^2 tail), of which only the tail is a
/// double.
DYND_ISA_INLINE twofold precise_log_normal(float64s x) {
  int64s above = bits(x) - root_of_half;
  float64s f = from_bits(bits(x) - (above & (int64_t(-1) << 52))) - 1.0, k = exponent_above(above);
  float64s below = f + 2.0, below_lo = f - (below - 2.0), inverse = 1.0 / below;
  float64s s = f * inverse, s_lo = fused(-s, below_lo, fused(-s, below, f)) * inverse;
  float64s t = s * s, t_lo = fused(s + s, s_lo, fused(s, s, -t));
  float64s tail = fused(t, precise_log_tail(t), 0x1.5555555555555p-55);
  twofold third = ordered_sum(all(0x1.5555555555555p-1), tail);
  float64s rest = t * third.hi, rest_lo = fused(t, third.lo, fused(t_lo, third.hi, fused(t, third.hi, -rest)));
  float64s cube = s * rest, cube_lo = fused(s, rest_lo, fused(s_lo, rest, fused(s, rest, -cube)));
  twofold first = ordered_sum(k * ln2_short, s + s), sum = ordered_sum(first.hi, cube);
  return {sum.hi, sum.lo + (first.lo + (cube_lo + fused(k, ln2_rest, s_lo + s_lo)))};
}

/// Powers of normal numbers that are normal, and not near the ends; others again.
DYND_ISA_CALLED float64s pow(float64s x, float64s y) {
  twofold logarithm = precise_log_normal(x);
  float64s hi = logarithm.hi * y, lo = fused(logarithm.lo, y, fused(logarithm.hi, y, -hi));
  float64s result = exp_scaled_twofold(reduce_exponent(hi, lo));
  int64s rare = ~((x >= 0x1p-1022) & (x < infinity) & (magnitude(hi) < 708));
  if (__builtin_expect(any(rare), 0)) {
    result = chosen(rare, any_power(x, y), result);
  }
  return result;
}

} // namespace math
} // namespace
} // namespace dynd
