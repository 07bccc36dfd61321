// Trigonometric functions and their inverses, roots and lengths, of vectors of doubles (vector_arithmetic.h). Errors
// are in docs/accuracy.md.
#pragma once

#include "dynd/ops/vector_arithmetic.h"

namespace dynd {
namespace {
namespace math {

/// The bits of 2/pi after 64 zeros.
constexpr uint64_t two_over_pi[] = {0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
                                    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
                                    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
                                    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
                                    0xf0cfbc209af4361d};

constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_lo = 0x1.1a62633145c07p-54;

/// A quarter of a turn for each unit of `turns` (of which the last two bits count), and a rest: |r| <= pi/4.
struct turned {
  int64s turns;
  twofold r;
};

/// One finite number of at least 2^20, by integers (Payne and Hanek): x is m * 2^e, and of m * 2/pi * 2^e the multiples
/// of 4 are never computed. 192 bits remain, 190 of them behind the point.
[[gnu::noinline, maybe_unused]] static void turn_large(double x, int64_t *turns, double *hi, double *lo) {
  uint64_t number = __builtin_bit_cast(uint64_t, x) & INT64_MAX;
  uint64_t m = (number & ((uint64_t(1) << 52) - 1)) | uint64_t(1) << 52;
  int first = int(number >> 52) - 1075 + 62; // the place in the table of the bit that makes 2
  const uint64_t *word = two_over_pi + first / 64;
  int shift = first % 64;
  uint64_t w[3];
  for (int i = 0; i < 3; ++i) {
    w[i] = shift ? word[i] << shift | word[i + 1] >> (64 - shift) : word[i];
  }
  unsigned __int128 low = (unsigned __int128)m * w[2], middle = (unsigned __int128)m * w[1] + (low >> 64);
  uint64_t n[3] = {m * w[0] + uint64_t(middle >> 64), uint64_t(middle), uint64_t(low)};
  int64_t quarter = int64_t(n[0] >> 62);
  uint64_t f[3] = {n[0] << 2 | n[1] >> 62, n[1] << 2 | n[2] >> 62, n[2] << 2};
  bool above = f[0] >> 63; // from a half on it is below the next quarter
  if (above) {
    quarter++;
    for (uint64_t &part : f) {
      part = ~part;
    }
  }
  double first_part = double(f[0] >> 11) * 0x1p-53, second = double(f[0] & 2047) * 0x1p-64;
  double third = double(f[1] >> 11) * 0x1p-117, rest = second + third;
  double total = first_part + rest, below = rest - (total - first_part);
  below += (third - (rest - second)) + double((f[1] & 2047) << 53 | f[2] >> 11) * 0x1p-181;
  double product = total * half_pi;
  double product_lo = __builtin_fma(total, half_pi, -product) + (total * half_pi_lo + below * half_pi);
  bool negative = above != (x < 0);
  *turns = x < 0 ? -quarter : quarter;
  *hi = negative ? -product : product;
  *lo = negative ? -product_lo : product_lo;
}

/// pi/2 in three parts, of which the first has 33 bits: its product with up to a million turns is exact.
DYND_ISA_INLINE turned turn(float64s x) {
  float64s turns = rounded_whole(x * 0x1.45f306dc9c883p-1);
  float64s rest = fused(turns, -0x1.921fb54400000p+0, x);
  twofold next = exact_product(turns, all(-0x1.0b4611a626331p-34));
  twofold sum = exact_sum(rest, next.hi);
  turned result = {low_bits(turns), ordered_sum(sum.hi, fused(turns, -0x1.1701b839a2520p-88, sum.lo + next.lo))};
  int64s large = ~(magnitude(x) < 0x1p20);
  if (__builtin_expect(any(large), 0)) {
    for (size_t i = 0; i < vector_bytes / 8; ++i) {
      double number = x[i];
      if (large[i] && __builtin_fabs(number) < infinity) {
        int64_t quarter;
        double hi, lo;
        turn_large(number, &quarter, &hi, &lo);
        result.turns[i] = quarter;
        result.r.hi[i] = hi;
        result.r.lo[i] = lo;
      } else if (large[i]) {
        result.r.hi[i] = result.r.lo[i] = number - number; // NaN
      }
    }
  }
  return result;
}

/// Sine of a rest.
DYND_ISA_INLINE twofold sine_of(twofold r) {
  float64s x = r.hi, t = x * x;
  float64s tail =
      polynomial(t, -0x1.ab1625bb227b7p-41, 0x1.61217c3312c35p-33, -0x1.ae64540f30bbfp-26, 0x1.71de3a545e87cp-19,
                 -0x1.a01a01a019927p-13, 0x1.1111111111110p-7, -0x1.5555555555555p-3);
  return ordered_sum(x, fused(t * x, tail, fused(r.lo * -0.5, t, r.lo)));
}

/// Cosine of a rest.
DYND_ISA_INLINE twofold cosine_of(twofold r) {
  float64s x = r.hi, t = x * x;
  float64s tail =
      polynomial(t, 0x1.ab76daf2efd77p-45, -0x1.9394b7827a415p-37, 0x1.1eed8de9fe4d9p-29, -0x1.27e4fb7711eb6p-22,
                 0x1.a01a01a019d03p-16, -0x1.6c16c16c16c16p-10, 0x1.5555555555555p-5);
  float64s t_lo = fused(x, x, -t);
  twofold sum = ordered_sum(all(1), t * -0.5);
  float64s lo = fused(t_lo, -0.5, fused(-x, r.lo, sum.lo));
  return ordered_sum(sum.hi, fused(t * t, tail, lo));
}

DYND_ISA_INLINE int64s has_bit(int64s x, int64_t bit) { return (x & bit) != 0; }

/// The sine of a rest after some quarters of a turn.
DYND_ISA_INLINE float64s sine_after(turned x) {
  float64s size = chosen(has_bit(x.turns, 1), cosine_of(x.r).hi, sine_of(x.r).hi);
  return flipped_by(size, (x.turns & 2) << 62);
}

DYND_ISA_FAST float64s sin(float64s x) { return chosen(x == 0, x, sine_after(turn(x))); }

DYND_ISA_FAST float64s cos(float64s x) {
  turned parts = turn(x);
  parts.turns += 1;
  return sine_after(parts);
}

DYND_ISA_CALLED float64s tan(float64s x) {
  turned parts = turn(x);
  twofold sine = sine_of(parts.r), cosine = cosine_of(parts.r);
  int64s odd = has_bit(parts.turns, 1);
  twofold quotient = chosen(odd, cosine, sine) / chosen(odd, -sine, cosine);
  return chosen(x == 0, x, quotient.hi);
}

/// (atan(u) - u) / u^3 for |u| <= 1/2, of t = u^2.
DYND_ISA_INLINE float64s atan_tail(float64s t) {
  return polynomial_in_halves(t, 0x1.58a70e520deefp-7, -0x1.cb76266c70cd5p-6, 0x1.5a44b190e531cp-5,
                              -0x1.a4dbd646f023cp-5, 0x1.e037dfb40382fp-5, -0x1.10f9674e770afp-4, 0x1.3b11e9bd60b62p-4,
                              -0x1.745d00e524e00p-4, 0x1.c71c711ab2f36p-4, -0x1.2492492328932p-3, 0x1.9999999997121p-3,
                              -0x1.555555555554ep-2);
}

/// The angle of the point (x, y), neither of them negative, of which one is not 0; that of (-x, y) where `left`. A
/// multiple of pi/4 is taken off, so that the tangent of the rest is at most 1/2: a / b, or (a - b) / (a + b), of which
/// the difference is exact.
DYND_ISA_INLINE float64s angle_of(float64s y, float64s x, int64s left) {
  int64s steep = y > x;
  float64s a = chosen(steep, x, y), b = chosen(steep, y, x);
  int64s wide = a + a > b;
  float64s below = chosen(wide, a + b, b), below_lo = chosen(wide, a - (below - b), 0.0);
  float64s above = chosen(wide, a - b, a), inverse = 1.0 / below;
  float64s u = above * inverse, u_lo = fused(-u, below_lo, fused(-u, below, above)) * inverse;
  float64s t = u * u, lo = fused(t * u, atan_tail(t), fused(-t, u_lo, u_lo));
  float64s eighths = chosen(wide, 1.0, 0.0);
  eighths = chosen(steep, 2.0 - eighths, eighths);
  eighths = chosen(left, 4.0 - eighths, eighths);
  int64s sign = (steep ^ left) & INT64_MIN;
  twofold base = exact_product(eighths, all(half_pi * 0.5));
  twofold sum = ordered_sum(base.hi, flipped_by(u, sign));
  return sum.hi + (sum.lo + fused(eighths, half_pi_lo * 0.5, base.lo + flipped_by(lo, sign)));
}

/// By the rules of C: the sign of y, and an angle for every pair of zeros and infinities.
DYND_ISA_CALLED float64s atan2(float64s y, float64s x) {
  float64s a = magnitude(y), b = magnitude(x), most = a > b ? a : b;
  float64s by = chosen(most > 0x1p1000, 0x1p-100, chosen(most < 0x1p-900, 0x1p100, 1.0));
  int64s far_y = a == infinity, far_x = b == infinity;
  a = chosen(far_y, 1.0, chosen(far_x, 0.0, a * by));
  b = chosen(far_x | (most == 0), 1.0, chosen(far_y, 0.0, b * by));
  int64s left = sign_of(x) != 0, tiny = (a < 0x1p-960) & (b > 0x1p-700) & ~left; // a rest would have no digits
  a *= chosen(tiny, 0x1p200, 1.0);
  float64s angle = angle_of(a, b, left) * chosen(tiny, 0x1p-200, 1.0);
  angle = with_sign(angle, sign_of(y));
  return (x != x) | (y != y) ? x + y : angle;
}

DYND_ISA_CALLED float64s atan(float64s x) {
  float64s size = magnitude(x);
  int64s far = size > 0x1p60;
  float64s angle = angle_of(chosen(far, 1.0, size), chosen(far, 0.0, 1.0), int64s{});
  return with_sign(angle, sign_of(x));
}

/// (asin(v) - v) / v^3 for |v| <= 1/2, of t = v^2.
DYND_ISA_INLINE float64s asin_tail(float64s t) {
  return polynomial_in_halves(t, 0x1.0092e6ff91f0fp-5, -0x1.34a288aebc50dp-6, 0x1.49bf552428c38p-6,
                              0x1.1f1b5a9d77aa5p-8, 0x1.5b28664b7a816p-7, 0x1.76a758b713a2ep-7, 0x1.c9fa7481c98fap-7,
                              0x1.1c4b90c4bf9b5p-6, 0x1.6e8bc66802ad9p-6, 0x1.f1c71b80b4fa0p-6, 0x1.6db6db6f74302p-5,
                              0x1.3333333331d5cp-4, 0x1.5555555555559p-3);
}

/// Of 0 <= size <= 1/2 the number itself, above v = sqrt((1 - size) / 2), the sine of half of the angle that is left to
/// a right one; NaN beyond 1. asin(v) is v + lo.
struct half_arc {
  int64s steep;
  float64s v, lo;
};
DYND_ISA_INLINE half_arc half_arc_of(float64s size) {
  int64s steep = size > 0.5;
  float64s t = chosen(steep, (1.0 - size) * 0.5, size * size), v = chosen(steep, square_root(t), size);
  // What the root was rounded by, of which some digits are enough.
  float64s lo = chosen(steep, fused(-v, v, t) * (rough_inverse_root(t) * 0.5), 0.0);
  return {steep, v, fused(v * t, asin_tail(t), lo)};
}

DYND_ISA_CALLED float64s asin(float64s x) {
  half_arc arc = half_arc_of(magnitude(x));
  float64s times = chosen(arc.steep, -2.0, 1.0);
  twofold sum = ordered_sum(chosen(arc.steep, half_pi, 0.0), times * arc.v);
  float64s angle = sum.hi + (sum.lo + fused(times, arc.lo, chosen(arc.steep, half_pi_lo, 0.0)));
  return with_sign(angle, sign_of(x));
}

DYND_ISA_CALLED float64s acos(float64s x) {
  half_arc arc = half_arc_of(magnitude(x));
  float64s quarters = chosen(arc.steep, chosen(sign_of(x) != 0, 2.0, 0.0), 1.0);
  float64s times = flipped_by(chosen(arc.steep, 2.0, -1.0), sign_of(x));
  twofold sum = ordered_sum(quarters * half_pi, times * arc.v);
  return sum.hi + (sum.lo + fused(times, arc.lo, quarters * half_pi_lo));
}

DYND_ISA_CALLED float64s hypot(float64s x, float64s y) {
  float64s a = magnitude(x), b = magnitude(y), most = a > b ? a : b;
  int64s far = (a == infinity) | (b == infinity);
  float64s by = chosen(most > 0x1p500, 0x1p-600, chosen(most < 0x1p-400, 0x1p600, 1.0));
  float64s back = chosen(most > 0x1p500, 0x1p600, chosen(most < 0x1p-400, 0x1p-600, 1.0));
  a = chosen(far, 1.0, a * by);
  b = chosen(far, 1.0, b * by);
  twofold root = square_root(exact_product(a, a) + exact_product(b, b));
  return chosen(far, infinity, root.hi * back);
}

/// Of m times 2^(3k), m in [0.5, 4): the inverse of the root from a polynomial, twice made better, and the
/// rest of the root's cube.
DYND_ISA_CALLED float64s cbrt(float64s x) {
  float64s size = magnitude(x);
  int64s small = size < 0x1p-1022;
  int64s number = bits(chosen(small, size * 0x1p54, size));
  float64s exponent = from_bits((int64s)((uint64s)number >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
  float64s third = rounded_whole(exponent * 0x1.5555555555555p-2);
  float64s m = from_bits(number - (low_bits(third * 3.0) << 52));
  float64s z = polynomial(m, 0x1.67578e6155a6ap-9, -0x1.5b02cc0b5d2bcp-5, 0x1.116c629fbdf8cp-2, -0x1.c65b1b32839cep-1,
                          0x1.b037b0f678464p+0, -0x1.ec2ce0d9f339fp+0, 0x1.e49b1d0601deep+0);
  for (int i = 0; i < 2; ++i) {
    float64s rest = fused(-m, z * z * z, 1.0);
    z = fused(z * rest, fused(rest, 0x1.c71c71c71c71cp-3, 0x1.5555555555555p-2), z);
  }
  float64s square = z * z, root = m * square;
  twofold power = exact_product(root, root);
  float64s cube = power.hi * root;
  float64s rest = (m - cube) - fused(power.lo, root, fused(power.hi, root, -cube));
  float64s result = fused(rest * square, 0x1.5555555555555p-2, root);
  result *= power_of_two(chosen(small, third - 18.0, third));
  return with_sign(chosen((size > 0) & (size < infinity), result, size), sign_of(x));
}

} // namespace math
} // namespace
} // namespace dynd
