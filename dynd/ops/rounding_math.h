// What the expressions of operations.def may call, besides scalar_math.h: whole numbers near a number. The same rules:
// internal linkage, no standard library, the same bits at every ISA level, and it vectorises at each.
#pragma once

#include "dynd/ops/scalar_math.h"

namespace dynd {
namespace {

/// Integers are whole.
template <class T> DYND_ISA_INLINE T rounded_down(T a) { return a; }
template <class T> DYND_ISA_INLINE T rounded_up(T a) { return a; }
template <class T> DYND_ISA_INLINE T rounded_to_even(T a) { return a; }
template <class T> DYND_ISA_INLINE T whole_of(T a) { return a; }

#if defined(__SSE4_1__)
DYND_ISA_INLINE float rounded_down(float a) { return __builtin_floorf(a); }
DYND_ISA_INLINE double rounded_down(double a) { return __builtin_floor(a); }
DYND_ISA_INLINE float rounded_up(float a) { return __builtin_ceilf(a); }
DYND_ISA_INLINE double rounded_up(double a) { return __builtin_ceil(a); }
DYND_ISA_INLINE float rounded_to_even(float a) { return __builtin_rintf(a); }
DYND_ISA_INLINE double rounded_to_even(double a) { return __builtin_rint(a); }
DYND_ISA_INLINE float whole_of(float a) { return __builtin_truncf(a); }
DYND_ISA_INLINE double whole_of(double a) { return __builtin_trunc(a); }
#else
/// Without an instruction for it: a sum with a number whose unit is 1 has no fraction. Larger numbers have none either.
template <class T> DYND_ISA_INLINE T nearest(T a) {
  constexpr T whole = sizeof(T) == 8 ? T(0x1p52) : T(0x1p23);
  T size = T(__builtin_fabs(a));
  return size < whole ? T(__builtin_copysign((size + whole) - whole, a)) : a;
}
template <class T> DYND_ISA_INLINE T floor_by_nearest(T a) {
  T near = nearest(a);
  return near > a ? near - T(1) : near;
}
template <class T> DYND_ISA_INLINE T ceil_by_nearest(T a) {
  T near = nearest(a);
  return T(__builtin_copysign(near < a ? near + T(1) : near, a));
}
template <class T> DYND_ISA_INLINE T trunc_by_nearest(T a) {
  return T(__builtin_copysign(floor_by_nearest(T(__builtin_fabs(a))), a));
}
DYND_ISA_INLINE float rounded_down(float a) { return floor_by_nearest(a); }
DYND_ISA_INLINE double rounded_down(double a) { return floor_by_nearest(a); }
DYND_ISA_INLINE float rounded_up(float a) { return ceil_by_nearest(a); }
DYND_ISA_INLINE double rounded_up(double a) { return ceil_by_nearest(a); }
DYND_ISA_INLINE float rounded_to_even(float a) { return nearest(a); }
DYND_ISA_INLINE double rounded_to_even(double a) { return nearest(a); }
DYND_ISA_INLINE float whole_of(float a) { return trunc_by_nearest(a); }
DYND_ISA_INLINE double whole_of(double a) { return trunc_by_nearest(a); }
#endif

/// Both components.
template <class T> DYND_ISA_INLINE complex_of<T> rounded_to_even(complex_of<T> a) {
  return {rounded_to_even(a.real), rounded_to_even(a.imag)};
}

/// What whole_of leaves, with the sign of the number; of infinity 0.
template <class T> DYND_ISA_INLINE T fraction_of(T a) {
  T rest = a - whole_of(a);
  return T(__builtin_copysign(__builtin_fabs(a) == T(__builtin_inf()) ? T(0) : rest, a));
}

} // namespace
} // namespace dynd
