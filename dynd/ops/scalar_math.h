// What the expressions of operations.def and reductions.def may call. Private to the units that are compiled once for
// each ISA level: everything has internal linkage, nothing of the standard library, the same bits at every ISA level.
//
// smaller and larger also take GCC vectors of T, because reductions combine whole vectors: comparisons and ?: only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dynd/type/scalar.h"

#define DYND_ISA_INLINE [[gnu::always_inline, maybe_unused]] static inline

namespace dynd {
namespace {

template <class T> constexpr bool is_floating_point = false;
template <> constexpr bool is_floating_point<float> = true;
template <> constexpr bool is_floating_point<double> = true;

template <class T> constexpr bool is_complex = false;
template <class T> constexpr bool is_complex<complex_of<T>> = true;

template <class T> constexpr bool is_signed_type = T(-1) < T(0);

template <size_t Size> struct unsigned_of;
template <> struct unsigned_of<1> { using type = uint8_t; };
template <> struct unsigned_of<2> { using type = uint16_t; };
template <> struct unsigned_of<4> { using type = uint32_t; };
template <> struct unsigned_of<8> { using type = uint64_t; };
template <> struct unsigned_of<16> { using type = uint64_t; };

/// What is stored in memory: for a complex number two of these.
template <class T> struct component { using type = T; };
template <> struct component<float16> { using type = uint16_t; };
template <class T> struct component<complex_of<T>> { using type = T; };

/// The value of a float16, by integer arithmetic that vectorises: the same bits at every ISA level, with F16C or not. A
/// small one has no leading 1: it is added, as 2^-14, and subtracted again.
DYND_ISA_INLINE float from_float16(float16 x) {
  uint32_t size = uint32_t(x.bits & 0x7fff) << 13;
  uint32_t exponent = size & 0x0f800000;
  uint32_t normal = size + ((127 - 15) << 23);
  float small = __builtin_bit_cast(float, normal + (1 << 23)) - 0x1p-14f;
  uint32_t bits = exponent == 0x0f800000 ? normal + ((127 - 15) << 23) // infinity, NaN
                  : exponent == 0        ? __builtin_bit_cast(uint32_t, small)
                                         : normal;
  return __builtin_bit_cast(float, bits | uint32_t(x.bits & 0x8000) << 16);
}

/// A number in the type that computes: itself, but a float16 as a float.
DYND_ISA_INLINE float in_computed(float16 x) { return from_float16(x); }
template <class T> DYND_ISA_INLINE T in_computed(T x) { return x; }

/// The nearest float16, ties to even, in one rounding from a float or a double. The bits of a small one are the last of
/// a sum with a number whose unit is 2^-24, the smallest float16. What rounds up to 2^16 carries into infinity.
template <class F> DYND_ISA_INLINE float16 to_float16(F x) {
  constexpr bool wide = sizeof(F) == 8;
  constexpr int digits = wide ? 52 : 23, bias = wide ? 1023 : 127;
  using bits = decltype([] {
    if constexpr (wide) {
      return uint64_t();
    } else {
      return uint32_t();
    }
  }());
  constexpr bits infinity = bits(2 * bias + 1) << digits;
  constexpr F unit = wide ? F(0x1p28) : F(0x1p-1);
  bits all = __builtin_bit_cast(bits, x);
  bits size = all & ~(bits(1) << (8 * sizeof(F) - 1));
  bits large = size > infinity ? 0x7e00 : 0x7c00;
  bits small = __builtin_bit_cast(bits, __builtin_bit_cast(F, size) + unit) - __builtin_bit_cast(bits, unit);
  bits half = (bits(1) << (digits - 11)) - 1 + ((size >> (digits - 10)) & 1);
  bits normal = (size - (bits(bias - 15) << digits) + half) >> (digits - 10);
  bits result = size >= bits(bias + 16) << digits ? large : size < bits(bias - 14) << digits ? small : normal;
  return {uint16_t(result | ((all >> (8 * sizeof(F) - 16)) & 0x8000))};
}

template <class T> DYND_ISA_INLINE complex_of<T> operator+(complex_of<T> a, complex_of<T> b) {
  return {a.real + b.real, a.imag + b.imag};
}
template <class T> DYND_ISA_INLINE complex_of<T> operator-(complex_of<T> a, complex_of<T> b) {
  return {a.real - b.real, a.imag - b.imag};
}
template <class T> DYND_ISA_INLINE complex_of<T> operator-(complex_of<T> a) { return {-a.real, -a.imag}; }
template <class T> DYND_ISA_INLINE bool operator==(complex_of<T> a, complex_of<T> b) {
  return (a.real == b.real) & (a.imag == b.imag);
}
template <class T> DYND_ISA_INLINE bool operator!=(complex_of<T> a, complex_of<T> b) {
  return (a.real != b.real) | (a.imag != b.imag);
}

/// a - b, as the sum with -b, which it is bit for bit. Where one component is a sum and the other a difference, g++ 12
/// makes fused multiplications of the products in them, whatever -ffp-contract says (GCC bug 107647).
template <class T> DYND_ISA_INLINE T unfused_difference(T a, T b) {
  if constexpr (sizeof(T) == 4) {
    return a + __builtin_bit_cast(T, __builtin_bit_cast(uint32_t, b) ^ 0x80000000u);
  } else {
    return a + __builtin_bit_cast(T, __builtin_bit_cast(uint64_t, b) ^ 0x8000000000000000u);
  }
}

/// The textbook formula: infinities times zero are NaN.
template <class T> DYND_ISA_INLINE complex_of<T> operator*(complex_of<T> a, complex_of<T> b) {
  return {unfused_difference(a.real * b.real, a.imag * b.imag), a.real * b.imag + a.imag * b.real};
}

/// Smith's method, as NumPy: divides by the larger component first, so that no square of them overflows. Divided by
/// zero, the components become infinities or NaN.
template <class T> DYND_ISA_INLINE complex_of<T> operator/(complex_of<T> a, complex_of<T> b) {
  bool by_real = __builtin_fabs(b.real) >= __builtin_fabs(b.imag);
  T large = by_real ? b.real : b.imag, little = by_real ? b.imag : b.real;
  if (large == 0 && little == 0) {
    T zero = T(__builtin_fabs(large));
    return {a.real / zero, a.imag / zero};
  }
  T ratio = little / large;
  T scale = T(1) / (large + little * ratio);
  T real = by_real ? a.real + a.imag * ratio : a.real * ratio + a.imag;
  T imag = by_real ? unfused_difference(a.imag, a.real * ratio) : unfused_difference(a.imag * ratio, a.real);
  return {real * scale, imag * scale};
}

/// Numbers of another size, where the squares of components that are at most `most` would overflow or vanish. A root of
/// such a number is as many times smaller as the square root of the scale.
struct square_scale {
  double scale = 1, root = 1;
};
DYND_ISA_INLINE square_scale scale_for(double most) {
  return most > 0x1p500    ? square_scale{0x1p-600, 0x1p-300}
         : most < 0x1p-400 ? square_scale{0x1p600, 0x1p300}
                           : square_scale{};
}

DYND_ISA_INLINE float square_root(float a) { return __builtin_sqrtf(a); }
DYND_ISA_INLINE double square_root(double a) { return __builtin_sqrt(a); }

/// Within two units in the last place, infinite if a component is. The components are scaled by a power of two that
/// brings the larger one near 1, so no square of them overflows, or vanishes beside the other.
template <class T> DYND_ISA_INLINE T absolute(complex_of<T> x) {
  using bits = typename unsigned_of<sizeof(T)>::type;
  constexpr int fraction = sizeof(T) == 4 ? 23 : 52;
  constexpr bits one = bits(1) << fraction, infinity = bits(sizeof(T) == 4 ? 255 : 2047) << fraction;
  bits a = __builtin_bit_cast(bits, T(__builtin_fabs(x.real))), b = __builtin_bit_cast(bits, T(__builtin_fabs(x.imag)));
  bits most = (a > b ? a : b) & infinity; // the exponent; its scale has one too
  most = most < one ? one : most > infinity - 3 * one ? infinity - 3 * one : most;
  T scale = __builtin_bit_cast(T, bits(infinity - one - most));
  T u = __builtin_bit_cast(T, a) * scale, v = __builtin_bit_cast(T, b) * scale;
  T size = square_root(u * u + v * v) * __builtin_bit_cast(T, most);
  return (a == infinity) | (b == infinity) ? T(__builtin_inf()) : size;
}

DYND_ISA_INLINE float16 operator-(float16 x) { return {uint16_t(x.bits ^ 0x8000)}; }
DYND_ISA_INLINE float16 absolute(float16 x) { return {uint16_t(x.bits & 0x7fff)}; }

template <class T> DYND_ISA_INLINE T absolute(T a) {
  if constexpr (is_floating_point<T>) {
    return T(__builtin_fabs(a));
  } else if constexpr (is_signed_type<T>) {
    return T(a < 0 ? -a : a);
  } else {
    return a;
  }
}

/// The root with a real component that is not negative. Computed in double, and where squares would overflow or vanish
/// on numbers of another size: only the larger component's size is, the quotient has the number's own.
template <class T> DYND_ISA_INLINE complex_of<T> square_root(complex_of<T> x) {
  constexpr double infinity = __builtin_inf();
  double a = x.real, b = x.imag;
  double real_size = __builtin_fabs(a), imag_size = __builtin_fabs(b);
  if (imag_size == infinity) {
    return {T(infinity), x.imag};
  }
  if (real_size == infinity) {
    double other = b != b ? b : 0;
    return a > 0 ? complex_of<T>{T(a), T(__builtin_copysign(other, b))}
                 : complex_of<T>{T(other), T(__builtin_copysign(infinity, b))};
  }
  double most = real_size > imag_size ? real_size : imag_size;
  if (most == 0) {
    return {T(0), x.imag};
  }
  square_scale by = scale_for(most);
  double u = real_size * by.scale, v = imag_size * by.scale;
  double large = __builtin_sqrt((u + __builtin_sqrt(u * u + v * v)) * 0.5) / by.root;
  double little = imag_size / (2 * large);
  return a >= 0 ? complex_of<T>{T(large), T(__builtin_copysign(little, b))}
                : complex_of<T>{T(little), T(__builtin_copysign(large, b))};
}

/// The minimum of vectors, where isa_vector.inc knows an instruction for it: the second one where neither is smaller.
template <class T> struct order_of { static constexpr bool is_known = false; };

template <class T> DYND_ISA_INLINE T first_if_less(T a, T b) {
  if constexpr (order_of<T>::is_known) {
    return order_of<T>::min(a, b);
  } else {
    return a < b ? a : b;
  }
}

/// Of numbers, or of vectors of them.
template <class T> constexpr bool is_vector = requires(T x) { x[0]; };
template <class T> constexpr bool has_signed_zeros = is_floating_point<T>;
template <class T>
requires is_vector<T>
constexpr bool has_signed_zeros<T> = [] {
  auto one = T{}[0];
  return is_floating_point<decltype(one)>;
}();

/// The bits of a floating-point number or vector as integers.
template <class T> DYND_ISA_INLINE auto bits_of(T x) {
  if constexpr (is_vector<T>) {
    return (decltype(x < x))x;
  } else {
    return __builtin_bit_cast(typename unsigned_of<sizeof(T)>::type, x);
  }
}

/// NaN if either is NaN, and -0.0 is smaller than 0.0, so that the result does not depend on the order of the operands
/// (but for which NaN it is). What differs between both orders are zeros or a NaN: a set sign remains, as does a NaN.
template <class T> DYND_ISA_INLINE T smaller(T a, T b) {
  if constexpr (has_signed_zeros<T>) {
    if constexpr (is_vector<T>) {
      __asm__("" : "+v"(b)); // of a reduction the element: in a register, or memory is read twice
    }
    auto bits = bits_of(first_if_less(a, b)) | bits_of(first_if_less(b, a));
    return __builtin_bit_cast(T, bits);
  } else {
    return first_if_less(a, b);
  }
}

/// With the other sign, whatever it is.
template <class T> DYND_ISA_INLINE T flipped(T x) {
  auto bits = bits_of(x) ^ bits_of(-T{});
  return __builtin_bit_cast(T, bits);
}

/// In a reduction the signs of the accumulator flip back at once, so that is one operation for each element.
template <class T> DYND_ISA_INLINE T larger(T a, T b) {
  if constexpr (has_signed_zeros<T>) {
    return flipped(smaller(flipped(a), flipped(b)));
  } else {
    return a > b ? a : b;
  }
}

template <class T> DYND_ISA_INLINE bool is_nan(T a) { return a != a; }
template <class T> DYND_ISA_INLINE bool is_nan(complex_of<T> a) { return (a.real != a.real) | (a.imag != a.imag); }

/// The parts of a floating-point type's bits.
template <class F> struct format_of {
  using bits = typename unsigned_of<sizeof(F)>::type;
  static constexpr int digits = sizeof(F) == 8 ? 52 : 23; // those that are stored
  static constexpr int bias = sizeof(F) == 8 ? 1023 : 127;
  static constexpr int most = 2 * bias + 1; // the exponent of infinities and NaN
};

/// Whether it has a minus sign.
template <class T> DYND_ISA_INLINE bool is_negative(T a) {
  if constexpr (is_floating_point<T>) {
    using bits = typename format_of<T>::bits;
    return __builtin_bit_cast(bits, a) >> (8 * sizeof(T) - 1);
  } else if constexpr (is_signed_type<T>) {
    return a < 0;
  } else {
    return false;
  }
}

/// A number below the normal ones times 2^64, which makes it one.
template <class T> DYND_ISA_INLINE T as_normal(T a) {
  constexpr T smallest = sizeof(T) == 8 ? T(0x1p-1022) : T(0x1p-126f);
  return __builtin_fabs(a) < smallest ? a * T(0x1p64) : a;
}

template <class T> DYND_ISA_INLINE int biased_exponent(T a) {
  using format = format_of<T>;
  return int(__builtin_bit_cast(typename format::bits, as_normal(a)) >> format::digits) & format::most;
}

/// As C's frexp: the number itself where it is 0, infinite or NaN.
template <class T> DYND_ISA_INLINE T mantissa_of(T a) {
  using format = format_of<T>;
  using bits = typename format::bits;
  int exponent = biased_exponent(a);
  bits kept = __builtin_bit_cast(bits, as_normal(a)) & ~(bits(format::most) << format::digits);
  T mantissa = __builtin_bit_cast(T, bits(kept | bits(format::bias - 1) << format::digits));
  return (exponent == 0) | (exponent == format::most) ? a : mantissa;
}

/// 0 where the number is 0, infinite or NaN.
template <class T> DYND_ISA_INLINE int32_t exponent_of(T a) {
  using format = format_of<T>;
  int exponent = biased_exponent(a);
  int scaled = as_normal(a) != a ? 64 : 0; // NaN differs too, and is none of these
  return (exponent == 0) | (exponent == format::most) ? 0 : exponent - (format::bias - 1) - scaled;
}

/// An integer of 64 bits as the nearest double. AVX-512 has an instruction; without it this vectorises: each half is in
/// the last bits of a double, and their sum is rounded once.
template <class Integer> DYND_ISA_INLINE double to_double(Integer x) {
#if defined(__AVX512DQ__)
  return double(x);
#else
  constexpr bool has_sign = is_signed_type<Integer>;
  uint64_t bits = uint64_t(x) ^ (has_sign ? 0x8000000000000000u : 0);
  double low = __builtin_bit_cast(double, 0x4330000000000000u | (bits & 0xffffffffu)); // 2^52 and the lower half
  double high = __builtin_bit_cast(double, 0x4530000000000000u | bits >> 32);          // 2^84 and 2^32 times the other
  return high - (0x1p84 + 0x1p52 + (has_sign ? 0x1p63 : 0)) + low;
#endif
}

/// Conversion without a check. Integers wrap. A floating-point value is truncated towards zero to int32 for targets of
/// 8 and 16 bits and for int32, to int64 for other types, and then wraps; NaN and what is outside that int32 (int64)
/// becomes its smallest value, as the CPU's cvttsd2si does. uint64 takes the range up to 2^64 too. Every ISA level
/// computes exactly this; the unsigned conversions of AVX-512, which saturate, are never used. A complex number that
/// becomes a real one loses its imaginary component.
template <class To, class From> DYND_ISA_INLINE To convert_number(From x) {
  if constexpr (is_complex<To>) {
    using part = typename component<To>::type;
    if constexpr (is_complex<From>) {
      return {part(x.real), part(x.imag)};
    } else {
      return {convert_number<part>(x), part(0)};
    }
  } else if constexpr (is_complex<From>) {
    return convert_number<To>(x.real);
  } else if constexpr (__is_same(To, float16)) {
    if constexpr (is_floating_point<From>) {
      return to_float16(x);
    } else {
      return to_float16(float(x)); // exact up to 2^24, and infinite from 65520 on
    }
  } else if constexpr (is_floating_point<From> && !is_floating_point<To>) {
    if constexpr (sizeof(To) < 4 || (sizeof(To) == 4 && is_signed_type<To>)) {
      return To(int32_t(x));
    } else if constexpr (sizeof(To) == 4 || is_signed_type<To>) {
      return To(int64_t(x));
    } else {
      bool high = x >= From(0x1p63);
      int64_t low = int64_t(high ? x - From(0x1p63) : x);
      return high ? uint64_t(low) ^ 0x8000000000000000u : uint64_t(low);
    }
  } else if constexpr (__is_same(To, double) && !is_floating_point<From> && sizeof(From) == 8) {
    return to_double(x);
  } else {
    return To(x);
  }
}

template <class T> constexpr T largest_integer = T(is_signed_type<T> ? (uint64_t(1) << (8 * sizeof(T) - 1)) - 1 : -1);

/// -0.0 + x is x bit for bit; +0.0 + -0.0 is not.
template <class T> constexpr T sum_identity() {
  if constexpr (is_complex<T>) {
    using part = typename component<T>::type;
    return {sum_identity<part>(), sum_identity<part>()};
  } else if constexpr (is_floating_point<T>) {
    return T(-0.0);
  } else {
    return 0;
  }
}

template <class T> constexpr T product_identity() {
  if constexpr (is_complex<T>) {
    return {1, 0};
  } else {
    return 1;
  }
}

template <class T> constexpr T min_identity() {
  if constexpr (is_floating_point<T>) {
    return T(__builtin_inf());
  } else {
    return largest_integer<T>;
  }
}

template <class T> constexpr T max_identity() {
  if constexpr (is_floating_point<T>) {
    return T(-__builtin_inf());
  } else {
    return T(~largest_integer<T>);
  }
}

} // namespace
} // namespace dynd
