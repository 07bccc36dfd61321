// The error and the gamma function of vectors of doubles (vector_arithmetic.h). Errors are in docs/accuracy.md.
#pragma once

#include "dynd/ops/vector_exp_log.h"
#include "dynd/ops/vector_trigonometry.h"

namespace dynd {
namespace {
namespace math {

/// erf(x) for |x| <= 1.
DYND_ISA_INLINE twofold erf_near(float64s x) {
  float64s t = x * x;
  float64s tail = polynomial(t, -0x1.33feb06d4bcc7p-38, 0x1.831e0d245dda3p-34, -0x1.4f188074a33efp-30,
                             0x1.fc68e834d05adp-27, -0x1.5f7009a39f751p-23, 0x1.b9e68855b4640p-20,
                             -0x1.f4d25977632e0p-17, 0x1.f9a326e584a73p-14, -0x1.c02db3ffe242cp-11,
                             0x1.565bcd0e694cfp-8, -0x1.b82ce31288b21p-6, 0x1.ce2f21a042be1p-4, -0x1.812746b0379e7p-2);
  twofold factor = ordered_sum(all(0x1.20dd750429b6dp+0), fused(t, tail, 0x1.1ae3a914fed80p-56));
  return factor * x;
}

/// erfc(x) for 1 <= x <= 28: exp(-x^2) / (1 + 2x) times a polynomial of (x - 4) / (x + 4).
DYND_ISA_INLINE float64s erfc_far(float64s x) {
  float64s v = (x - 4.0) / (x + 4.0);
  float64s w = polynomial(v, -0x1.b83e76da4f84dp-26, 0x1.7c63c9f40db5bp-24, 0x1.8e0d863f170bap-24,
                          -0x1.b36c28393013ap-21, 0x1.2af0d25646cdep-22, 0x1.7ed2f171f40a6p-18, -0x1.784f8bcc19d1bp-17,
                          -0x1.9955342c2aa6cp-16, 0x1.3bdf5692f9aa5p-13, -0x1.a1df3060d80c1p-13, -0x1.8d4a903a1e0c5p-11,
                          0x1.49c67284146dep-8, -0x1.0962388d026d5p-6, 0x1.3079edf6a2cdbp-5, -0x1.0fb06dfe2b2d5p-4,
                          0x1.7fee004e11315p-4, -0x1.9ddb23c3e9f6fp-4, 0x1.16ecefcfa540bp-4, 0x1.f7f5df66fd91ep-7,
                          -0x1.1df1ad154a28fp-3, 0x1.3ba5916e9fd7fp+0);
  w /= fused(x, 2.0, 1.0);
  twofold square = exact_product(x, x);
  reduced parts = reduce_exponent(-square.hi, -square.lo);
  float64s p = exp_minus_one(parts.r).hi;
  return scaled(fused(p, w, w), parts.k);
}

DYND_ISA_CALLED float64s erf(float64s x) {
  float64s size = magnitude(x);
  float64s far = 1.0 - erfc_far(clamped(size, 1, 28)), near = erf_near(clamped(size, 0, 1)).hi;
  return with_sign(size > 1 ? far : near, sign_of(x));
}

DYND_ISA_CALLED float64s erfc(float64s x) {
  float64s size = magnitude(x);
  float64s far = erfc_far(clamped(size, 1, 28));
  float64s near = (ordered_sum(all(1), float64s{}) - erf_near(clamped(x, -1, 1))).hi;
  return size > 1 ? (x > 0 ? far : 2.0 - far) : near;
}

/// sin(pi x), of any finite x: whole turns are taken off, then quarters.
DYND_ISA_CALLED twofold sine_of_pi(float64s x) {
  float64s size = magnitude(x), turns_off = ((size * 0.5 + 0x1p52) - 0x1p52) * 2.0;
  x = flipped_by(chosen(size < 0x1p53, size - turns_off, 0.0), sign_of(x));
  float64s halves = rounded_whole(x + x), rest = fused(halves, -0.5, x);
  twofold angle = twice(2 * half_pi, 2 * half_pi_lo) * rest;
  int64s turns = low_bits(halves);
  twofold sine = chosen(has_bit(turns, 1), cosine_of(angle), sine_of(angle));
  return {flipped_by(sine.hi, (turns & 2) << 62), flipped_by(sine.lo, (turns & 2) << 62)};
}

/// The logarithm of gamma(x) * product, by Stirling's series, where the argument was moved to 10 or more: product is
/// x (x + 1) ... of the steps.
struct moved_gamma {
  twofold logarithm, product;
};

/// 0 < x < 2^1000.
DYND_ISA_CALLED moved_gamma stirling(twofold x) {
  twofold product = twice(1, 0);
  for (int i = 0; i < 10 && any(x.hi < 10); ++i) {
    int64s below = x.hi < 10;
    product = chosen(below, product * x, product);
    x = chosen(below, x + all(1), x);
  }
  float64s inverse = 1.0 / x.hi;
  float64s tail = polynomial(inverse * inverse, 0x1.6fe96381e0680p-3, -0x1.e4286cb0f5398p-6, 0x1.a41a41a41a41ap-8,
                             -0x1.f6ab0d9993c7dp-10, 0x1.b951e2b18ff23p-11, -0x1.3813813813814p-11,
                             0x1.a01a01a01a01ap-11, -0x1.6c16c16c16c17p-9, 0x1.5555555555555p-4);
  twofold half_log_two_pi = twice(0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55);
  twofold sum = (x + all(-0.5)) * precise_log(x) - x;
  return {sum + (half_log_two_pi + tail * inverse), product};
}

/// NaN at the negative whole numbers, infinite at the zeros.
DYND_ISA_CALLED float64s gamma(float64s x) {
  int64s negative = x < 0, tiny = magnitude(x) < 0x1p-60;
  float64s size = chosen(tiny, 1.0, clamped(magnitude(x), 0, 200));
  twofold argument = chosen(negative, exact_sum(all(1), size), twofold{size, float64s{}});
  moved_gamma parts = stirling(argument);
  twofold pi = twice(2 * half_pi, 2 * half_pi_lo);
  twofold by = chosen(negative, pi * parts.product, twice(1, 0)) /
               chosen(negative, sine_of_pi(chosen(negative, x, -0.5)), parts.product);
  twofold exponent = chosen(negative, -parts.logarithm, parts.logarithm);
  reduced power = reduce_exponent(exponent.hi, exponent.lo);
  float64s result = scaled(fused(exp_minus_one(power.r).hi, by.hi, by.hi), power.k);
  result = chosen(x == infinity, infinity, chosen(tiny, 1.0 / x, result));
  result = chosen(negative & is_whole(magnitude(x)), __builtin_nan(""), result);
  return x != x ? x : result;
}

/// log(gamma(1 + z)) for 0 <= z <= 1.
DYND_ISA_INLINE twofold lgamma_near(float64s z) {
  float64s q = polynomial(z, -0x1.131cbaba79ae3p-17, 0x1.9c0a87e6dbc7cp-14, -0x1.2573d46b486cap-11,
                          0x1.09b6f254be798p-9, -0x1.59d2f2f977713p-8, 0x1.5bdcf2e99aa75p-7, -0x1.1d49c0ef50360p-6,
                          0x1.8f82135ddf73dp-6, -0x1.f2d9c0da618f9p-6, 0x1.2140a909006d3p-5, -0x1.427dcfd61cfa1p-5,
                          0x1.6251464effd26p-5, -0x1.852fe4537ade3p-5, 0x1.ae7e0cf99e3fbp-5, -0x1.e180a31e414c9p-5,
                          0x1.1155359615cb6p-4, -0x1.3cb1f86dfee14p-4, 0x1.79cf9c3bd6e65p-4, -0x1.d7a3e6a87a564p-4,
                          0x1.3e54520481054p-3, -0x1.f6465978d46d3p-3, 0x1.2788cfc6fb619p-1);
  return exact_product(z, z - 1.0) * q;
}

/// log(gamma(x)) for 0 < x < 2^60. Near its zeros at 1 and 2 a polynomial of the distance from one of them. Where it is
/// `reflected`, from 2 on Stirling's series, which has more digits: -2.457 and -2.747 are zeros too.
DYND_ISA_CALLED twofold lgamma_positive(float64s x, int64s reflected) {
  int64s small = x < chosen(reflected, 2.0, 3.0);
  float64s inside = chosen(small, x, 1.0);
  float64s z = chosen(inside < 1, inside, chosen(inside <= 2, inside - 1.0, inside - 2.0));
  twofold near = lgamma_near(z);
  twofold step = precise_log({chosen(inside < 1, inside, inside - 1.0), float64s{}});
  step = chosen(inside < 1, -step, step);
  near = chosen((inside >= 1) & (inside <= 2), near, near + step);
  moved_gamma parts = stirling({chosen(small, 3.0, x), float64s{}});
  twofold far = parts.logarithm - precise_log(parts.product);
  return chosen(small, near, far);
}

DYND_ISA_CALLED float64s lgamma(float64s x) {
  int64s negative = x < 0;
  float64s size = magnitude(x), inside = chosen((size > 0x1p-60) & (size < 0x1p60), size, 1.0);
  twofold sine = sine_of_pi(chosen(negative, inside, 0.5));
  // gamma(x) gamma(-x) is -pi / (x sin(pi x)).
  twofold product = sine * chosen(negative, inside, 1.0);
  product = {magnitude(product.hi), flipped_by(product.lo, sign_of(product.hi))};
  int64s pole = product.hi == 0;
  twofold ratio = twice(2 * half_pi, 2 * half_pi_lo) / chosen(pole, twice(1, 0), product);
  twofold positive = lgamma_positive(inside, negative);
  float64s result = chosen(negative, precise_log(ratio) - positive, positive).hi;
  result = chosen(size <= 0x1p-60, -log(size), result);
  result = chosen(size >= 0x1p60, chosen(negative, infinity, x * (log(x) - 1.0)), result);
  result = chosen((negative & is_whole(size)) | (size == infinity), infinity, result);
  return x != x ? x : result;
}

} // namespace math
} // namespace
} // namespace dynd
