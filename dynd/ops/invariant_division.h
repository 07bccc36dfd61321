// Integers divided by one number, the same for all elements: by a product and shifts (Granlund and Montgomery,
// "Division by invariant integers using multiplication", 1994), exactly. A division takes several times as long, and
// CPUs have none of vectors. Private to the units that are compiled once for each ISA level.
#pragma once

#include <immintrin.h>

#include "dynd/ops/scalar_math.h"
#include "dynd/ops/vector_of.h"

namespace dynd {
namespace {

template <size_t Size> struct doubled_width;
template <> struct doubled_width<2> { using type = uint32_t; };
template <> struct doubled_width<4> { using type = uint64_t; };
template <> struct doubled_width<8> { using type = unsigned __int128; };

/// The upper half of a product. Of vectors it is made of products that have 64 bits.
template <class N> DYND_ISA_INLINE N high_product(N a, N b) {
  using wide = typename doubled_width<sizeof(N)>::type;
  return N(wide(wide(a) * b) >> (8 * sizeof(N)));
}

#if defined(__AVX2__)
template <class T> using whole_vector = typename vector_of<T, vector_bytes>::type;

/// Of the lower halves of 64 bits.
DYND_ISA_INLINE whole_vector<uint64_t> product_of_halves(whole_vector<uint64_t> a, whole_vector<uint64_t> b) {
#if defined(__AVX512F__)
  return (whole_vector<uint64_t>)_mm512_maskz_mul_epu32(__mmask8(-1), (__m512i)a, (__m512i)b);
#else
  return (whole_vector<uint64_t>)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#endif
}

DYND_ISA_INLINE whole_vector<uint64_t> high_product(whole_vector<uint64_t> a, uint64_t b) {
  using vector = whole_vector<uint64_t>;
  vector low = b - vector{}, high = (b >> 32) - vector{}, upper = a >> 32;
  vector middle = product_of_halves(upper, low) + (product_of_halves(a, low) >> 32);
  vector lower_middle = product_of_halves(a, high) + (middle & 0xffffffffu);
  return product_of_halves(upper, high) + (middle >> 32) + (lower_middle >> 32);
}

DYND_ISA_INLINE whole_vector<uint32_t> high_product(whole_vector<uint32_t> a, uint32_t b) {
  using vector = whole_vector<uint64_t>;
  vector factor = b - vector{}, even = product_of_halves((vector)a, factor) >> 32;
  vector odd = product_of_halves((vector)a >> 32, factor);
  return (whole_vector<uint32_t>)(even | (odd & ~uint64_t(0xffffffffu)));
}
#endif

/// What a value without a sign is computed in: of T, or of vectors of T.
template <class V> struct magnitude { using type = typename unsigned_of<sizeof(V)>::type; };
template <class V>
requires is_vector<V>
struct magnitude<V> {
  using type = typename vector_of<typename unsigned_of<sizeof(V{}[0])>::type, sizeof(V)>::type;
};

/// n * 2^64 / d, for n < d: an instruction, of which the compiler would make a call.
DYND_ISA_INLINE uint64_t shifted_quotient(uint64_t n, uint64_t d) {
  uint64_t quotient, rest;
  __asm__("divq %4" : "=a"(quotient), "=d"(rest) : "a"(uint64_t(0)), "d"(n), "r"(d) : "cc");
  return quotient;
}

/// A divisor that is not 0, and what takes its place.
template <class T> struct invariant_divisor {
  using number = typename unsigned_of<sizeof(T)>::type;
  T divisor;
  number size, factor;
  int before, after;

  explicit invariant_divisor(T d) : divisor(d), size(number(is_negative(d) ? T(-d) : d)) {
    constexpr int width = 8 * sizeof(T);
    int bits = size == 1 ? 0 : 64 - __builtin_clzll(uint64_t(size) - 1); // of the power of two from size on
    number rest = number((bits < width ? number(number(1) << bits) : number(0)) - size);
    if constexpr (sizeof(T) == 8) {
      factor = shifted_quotient(rest, size) + 1;
    } else {
      using wide = typename doubled_width<sizeof(T)>::type;
      factor = number(wide(wide(rest) << width) / size + 1);
    }
    before = bits > 0;
    after = bits > 0 ? bits - 1 : 0;
  }

  /// x / size, rounded down, for any x.
  template <class N> [[gnu::always_inline]] inline N quotient(N x) const {
    N high = high_product(x, factor);
    return N(N(high + N(N(x - high) >> before)) >> after);
  }
};

/// An operand of such a division, a T or a vector of T: `by` is the divisor of both.
template <class V, class T> struct by_number {
  V value;
  const invariant_divisor<T> *by;
};

/// All bits where it is less.
template <class V, class T> DYND_ISA_INLINE V mask_of_less(V a, T b) {
  if constexpr (is_vector<V>) {
    return (V)(a < b);
  } else {
    return a < b ? V(-1) : V(0);
  }
}

/// Below zero the distance from -1 is divided, and what comes out is as far from -1. A negative divisor has the same
/// quotients the other way around, and -1 where the other has 0: there one less is divided.
///
///   7 // 3 = 2,  -7 // 3: 6 / 3 = 2, -1 - 2 = -3;  7 // -3: 6 / 3 = 2, -1 - 2 = -3;  -7 // -3: 7 / 3 = 2
template <class V, class T> DYND_ISA_INLINE V floor_quotient(by_number<V, T> a, by_number<V, T> b) {
  using number = typename magnitude<V>::type;
  const invariant_divisor<T> &by = *b.by;
  if constexpr (!is_signed_type<T>) {
    return V(by.quotient(a.value));
  } else {
    T other_way = by.divisor < 0 ? T(-1) : T(0);
    V below = mask_of_less(a.value, T(-other_way));
    number x = number(V(a.value + other_way) ^ below);
    return V(V(by.quotient(x)) ^ below ^ other_way);
  }
}

template <class V, class T> DYND_ISA_INLINE V floor_remainder(by_number<V, T> a, by_number<V, T> b) {
  return V(a.value - V(floor_quotient(a, b) * b.by->divisor));
}

template <class V, class T> DYND_ISA_INLINE V truncated_remainder(by_number<V, T> a, by_number<V, T> b) {
  using number = typename magnitude<V>::type;
  const invariant_divisor<T> &by = *b.by;
  V below = is_signed_type<T> ? mask_of_less(a.value, T(0)) : V{};
  number x = number(V(a.value ^ below) - below);
  return V(V(number(x - number(by.quotient(x) * by.size)) ^ number(below)) - below);
}

} // namespace
} // namespace dynd
