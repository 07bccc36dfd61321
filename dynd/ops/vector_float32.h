// Functions of vectors of floats. Most are computed in doubles, with as many terms as a float32 needs, and rounded
// once; the logarithm and the hyperbolic tangent in floats, which are twice as many in a register.
#pragma once

#include "dynd/ops/vector_exp_log.h"
#include "dynd/ops/vector_trigonometry.h"

namespace dynd {
namespace {

typedef vector_of<int32_t, vector_bytes>::type int32s;

namespace math {

/// A function of doubles for both halves of a vector of floats.
template <class F, class... A> DYND_ISA_INLINE float32s in_double(F f, A... a) {
  typedef vector_of<float, vector_bytes / 2>::type half;
  struct halves {
    half part[2];
  };
  halves to;
  auto part = [](float32s x, int i) __attribute__((always_inline)) {
    return __builtin_convertvector(__builtin_bit_cast(halves, x).part[i], float64s);
  };
  to.part[0] = __builtin_convertvector(f(part(a, 0)...), half);
  to.part[1] = __builtin_convertvector(f(part(a, 1)...), half);
  return __builtin_bit_cast(float32s, to);
}

DYND_ISA_INLINE float32s all_floats(float x) { return x - float32s{}; }
DYND_ISA_INLINE int32s bits(float32s x) { return (int32s)x; }
DYND_ISA_INLINE float32s from_bits(int32s x) { return (float32s)x; }
DYND_ISA_INLINE float32s magnitude(float32s x) { return from_bits(bits(x) & INT32_MAX); }
DYND_ISA_INLINE float32s chosen(int32s where, float32s a, float32s b) { return where ? a : b; }

DYND_ISA_FAST float32s fused(float32s a, float32s b, float32s c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  for (size_t i = 0; i < vector_bytes / 4; ++i) {
    c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  }
  return c;
#endif
}

DYND_ISA_INLINE bool any(int32s where) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)where) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps((__m256)where) != 0;
#else
  return (where[0] | where[1] | where[2] | where[3]) != 0;
#endif
}

template <class... More>
DYND_ISA_INLINE float32s float_polynomial(float32s x, float first, float second, More... more) {
  float32s value = fused(x, all_floats(first), all_floats(second));
  ((value = fused(value, x, all_floats(more))), ...);
  return value;
}

/// The result of a function of doubles where something is rare: its elements only.
template <class F> DYND_ISA_INLINE float32s where_rare(int32s rare, float32s a, float32s result, F f) {
  if (__builtin_expect(any(rare), 0)) {
    result = chosen(rare, in_double(f, a), result);
  }
  return result;
}

DYND_ISA_FAST float32s exp(float32s a) {
  a = a < -110.0f ? all_floats(-110) : a > 90.0f ? all_floats(90) : a;
  return in_double(
      [](float64s x) __attribute__((always_inline)) {
        float64s sum = fused(x, log2e, rounder), r = fused(sum - rounder, -ln2_hi, x);
        float64s p = polynomial(r, 0x1.6dda64322bff2p-10, 0x1.127065b3c8f8bp-7, 0x1.55541b12fbad6p-5,
                                0x1.555402ca1f225p-3, 0x1.000000918250dp-1, 0x1.000000a31000bp+0, 0x1.ffffffff4ca98p-1);
        return from_bits(bits(p) + (bits(sum) << 52)); // the sum ends in k, which joins the exponent
      },
      a);
}

/// x is 2^k m with m in [2/3, 4/3), of which m - 1 is exact.
DYND_ISA_FAST float32s log(float32s x) {
  int32s above = bits(x) - 0x3f2aaaab, whole = above >> 23;
  float32s f = from_bits(bits(x) - (whole << 23)) - 1.0f, k = __builtin_convertvector(whole, float32s);
  float32s tail = float_polynomial(f, 0x1.fa8848p-4f, -0x1.073fe6p-3f, 0x1.b4994p-4f, -0x1.f37636p-4f, 0x1.252188p-3f,
                                   -0x1.5599aep-3f, 0x1.9995eep-3f, -0x1.ffff0cp-3f, 0x1.55555ap-2f, -0.5f);
  float32s hi = k * 0x1.62e4p-1f, sum = hi + f, rest = f - (sum - hi); // ln 2 with zeros at the end: exact
  float32s lo = fused(f * f, tail, k * 0x1.7f7d1cp-20f);
  int32s rare = ~((x >= 0x1p-126f) & (x < __builtin_inff()));
  return where_rare(
      rare, x, sum + (rest + lo), [](float64s y) __attribute__((always_inline)) { return log(y); });
}

/// Of a rest, |r| <= pi/2, after some half turns, which the last bit of `turns` counts.
DYND_ISA_INLINE float64s short_sine(float64s r, float64s turns) {
  float64s t = r * r;
  float64s tail = polynomial(t, -0x1.9dabe569e1489p-26, 0x1.7196618f6c7edp-19, -0x1.a01904d2402adp-13,
                             0x1.11110fd963a25p-7, -0x1.555555545f559p-3);
  return flipped_by(fused(t * r, tail, r), bits(turns) << 63);
}

DYND_ISA_FAST float32s sin(float32s a) {
  float32s result = in_double(
      [](float64s x) __attribute__((always_inline)) {
        float64s sum = fused(x, 0x1.45f306dc9c883p-2, rounder), turns = sum - rounder;
        float64s r = fused(turns, -2 * half_pi_lo, fused(turns, -2 * half_pi, x));
        return short_sine(r, sum);
      },
      a);
  result = chosen(a == 0, a, result);
  return where_rare(
      ~(magnitude(a) < 0x1p20f), a, result, [](float64s x) __attribute__((always_inline)) { return sin(x); });
}

/// x is (n - 1/2) pi + r, so its cosine is (-1)^n sin(r).
DYND_ISA_FAST float32s cos(float32s a) {
  float32s result = in_double(
      [](float64s x) __attribute__((always_inline)) {
        float64s sum = fused(x, 0x1.45f306dc9c883p-2, 0.5) + rounder, halves = (sum - rounder) - 0.5;
        float64s r = fused(halves, -2 * half_pi_lo, fused(halves, -2 * half_pi, x));
        return short_sine(r, sum);
      },
      a);
  return where_rare(
      ~(magnitude(a) < 0x1p20f), a, result, [](float64s x) __attribute__((always_inline)) { return cos(x); });
}

/// The logarithm needs no more digits than a double has.
DYND_ISA_CALLED float32s pow(float32s a, float32s b) {
  return in_double([](float64s x, float64s y) { return power_specials(x, y, exp(log(magnitude(x)) * y)); }, a, b);
}

/// tanh(c + h) for the middle c of each interval: its value in two parts and the coefficients of h, h^2, ... The
/// intervals are [0, 0.1875), where c is 0 and h itself is left out, and the halves of each power of two up to 12.
alignas(64) constexpr float tanh_table[9][16] = {
    {0x0p+0f, 0x1.b8fd04p-3f, 0x1.35f98ap-2f, 0x1.a5729ep-2f, 0x1.1bf47ep-1f, 0x1.68665p-1f, 0x1.b2523cp-1f,
     0x1.e1fbfap-1f, 0x1.f92582p-1f, 0x1.ff112cp-1f, 0x1.fff41ap-1f, 0x1.ffffc8p-1f, 0x1p+0f, 0x1p+0f, 0x1p+0f,
     0x1p+0f},
    {0x0p+0f, 0x1.6a7c92p-31f, 0x1.d4ca1cp-31f, 0x1.c91006p-27f, 0x1.5771f2p-26f, 0x1.718402p-26f, -0x1.253484p-27f,
     -0x1.03995cp-26f, 0x1.829c7p-27f, 0x1.8ea41ep-27f, -0x1.32e41ep-26f, 0x1.93a878p-28f, -0x1.1b4866p-28f,
     -0x1.1b4866p-28f, -0x1.1b4866p-28f, -0x1.1b4866p-28f},
    {0x0p+0f, 0x1.e842cap-1f, 0x1.d11574p-1f, 0x1.a945bap-1f, 0x1.6284c4p-1f, 0x1.02500ap-1f, 0x1.1f2514p-2f,
     0x1.d22ca2p-4f, 0x1.b3afe4p-6f, 0x1.dd37dp-9f, 0x1.7ccd9cp-13f, 0x1.be6adep-19f, 0x1.9db0aap-27f, 0x1.9db0aap-27f,
     0x1.9db0aap-27f, 0x1.9db0aap-27f},
    {-0x1.3de94p-32f, -0x1.a48aaep-3f, -0x1.19922p-2f, -0x1.5e0f0ap-2f, -0x1.893b5ap-2f, -0x1.6ba7ccp-2f,
     -0x1.e7291ap-3f, -0x1.b6d854p-4f, -0x1.adda94p-6f, -0x1.dc59bap-9f, -0x1.7cea32p-13f, -0x1.be973cp-19f,
     0x1.5b0fp-27f, 0x1.5b0fp-27f, 0x1.5b0fp-27f, 0x1.5b0fp-27f},
    {-0x1.55554ep-2f, -0x1.183afcp-2f, -0x1.c1a4bp-3f, -0x1.16e1e6p-3f, -0x1.2426d4p-6f, 0x1.4f152cp-4f, 0x1.bba438p-4f,
     0x1.01b9fep-4f, 0x1.16de6ap-6f, 0x1.3c68b2p-9f, 0x1.fbd3b6p-14f, 0x1.29bf66p-19f, 0x1.6e27fep-25f, 0x1.6e27fep-25f,
     0x1.6e27fep-25f, 0x1.6e27fep-25f},
    {-0x1.a4088cp-18f, 0x1.04dcccp-3f, 0x1.43d312p-3f, 0x1.5c26d8p-3f, 0x1.1a68fp-3f, 0x1.f2084p-5f, -0x1.9c5ebcp-7f,
     -0x1.816448p-6f, -0x1.07c974p-7f, -0x1.39f7f4p-10f, -0x1.f6ec3ep-15f, -0x1.26efep-20f, 0x1.446304p-25f,
     0x1.446304p-25f, 0x1.446304p-25f, 0x1.446304p-25f},
    {0x1.115688p-3f, 0x1.5c19fp-4f, 0x1.74c9e8p-5f, -0x1.90d0f8p-8f, -0x1.c3b938p-5f, -0x1.e21b14p-5f, -0x1.3aa77p-6f,
     0x1.e4996ep-9f, 0x1.76f3a2p-9f, 0x1.ef095cp-12f, 0x1.91fbd4p-16f, 0x1.d7c232p-22f, 0x1.c709a2p-26f,
     0x1.c709a2p-26f, 0x1.c709a2p-26f, 0x1.c709a2p-26f},
    {-0x1.3c38cap-10f, -0x1.0b587cp-4f, -0x1.288b5cp-4f, -0x1.f8ee9ep-5f, -0x1.89dc92p-6f, 0x1.a9cb4ep-7f,
     0x1.ee7492p-7f, 0x1.0fe3c2p-9f, -0x1.6f7a5ep-11f, -0x1.488de4p-13f, -0x1.316316p-17f, -0x1.6773b2p-23f,
     0x1.235134p-27f, 0x1.235134p-27f, 0x1.235134p-27f, 0x1.235134p-27f},
    {-0x1.96fe48p-5f, -0x1.6e42c4p-6f, -0x1.d8a56p-15f, 0x1.7168ap-6f, 0x1.e329c4p-6f, 0x1.6ba402p-7f, -0x1.22ac98p-8f,
     -0x1.019b22p-9f, 0x1.0007cap-14f, 0x1.5e6ecap-15f, 0x1.5b89dcp-19f, 0x1.9ac0e6p-25f, 0x1.a3e36cp-30f,
     0x1.a3e36cp-30f, 0x1.a3e36cp-30f, 0x1.a3e36cp-30f}};

DYND_ISA_INLINE float32s looked_up(int32s place, const float *table) {
#if defined(__AVX512F__)
  return _mm512_mask_permutexvar_ps(float32s{}, __mmask16(-1), (__m512i)place, _mm512_load_ps(table));
#elif defined(__AVX2__)
  __m256 low = _mm256_permutevar8x32_ps(_mm256_load_ps(table), (__m256i)place);
  __m256 high = _mm256_permutevar8x32_ps(_mm256_load_ps(table + 8), (__m256i)place);
  return _mm256_blendv_ps(low, high, (__m256)(place << 28));
#else
  float32s result;
  for (size_t i = 0; i < vector_bytes / 4; ++i) {
    result[i] = table[place[i]];
  }
  return result;
#endif
}

DYND_ISA_FAST float32s tanh(float32s a) {
  float32s size = magnitude(a), inside = size < 9.02f ? size : all_floats(9.02f);
  int32s place = (bits(inside) >> 22) - 248, first = place <= 0; // 0.125 is 248 << 22
  place = place > 0 ? place : int32s{};
  float32s middle = from_bits((bits(inside) & (int32_t(-1) << 22)) | 1 << 21);
  float32s h = inside - chosen(first, float32s{}, middle);
  float32s value = looked_up(place, tanh_table[8]);
#pragma GCC unroll 8
  for (int i = 7; i >= 1; --i) {
    value = fused(value, h, looked_up(place, tanh_table[i]));
  }
  float32s start = chosen(first, inside, looked_up(place, tanh_table[0]));
  float32s result = from_bits(bits(start + value) | (bits(a) & INT32_MIN));
  return a != a ? a : result;
}

} // namespace math
} // namespace
} // namespace dynd
