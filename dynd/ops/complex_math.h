// Functions of complex numbers, one at a time, by the formulas of Kahan ("Branch cuts for complex elementary
// functions", 1987) with the special values of C. They compute in doubles; a complex64 is rounded at the end. Private
// to the units that are compiled once for each ISA level.
#pragma once

#include "dynd/ops/vector_exp_log.h"
#include "dynd/ops/vector_trigonometry.h"

namespace dynd {
namespace {
namespace math {

using dynd::square_root;
using dynd::operator*;
using dynd::operator/;

typedef complex_of<double> complex128;

/// The functions of vectors for one number.
#define DYND_ONE(name)                                                                                                 \
  DYND_ISA_CALLED double name(double x) { return name(all(x))[0]; }
DYND_ONE(exp)
DYND_ONE(exp2)
DYND_ONE(expm1)
DYND_ONE(log)
DYND_ONE(log1p)
DYND_ONE(sin)
DYND_ONE(cos)
DYND_ONE(sinh)
DYND_ONE(cosh)
DYND_ONE(tanh)
DYND_ONE(asinh)
#undef DYND_ONE
DYND_ISA_CALLED double atan2(double y, double x) { return atan2(all(y), all(x))[0]; }
DYND_ISA_CALLED double hypot(double x, double y) { return hypot(all(x), all(y))[0]; }

DYND_ISA_INLINE bool is_finite(double x) { return __builtin_fabs(x) < infinity; }
DYND_ISA_INLINE double signed_as(double size, double sign) { return __builtin_copysign(size, sign); }
constexpr double not_a_number = __builtin_nan("");

/// exp(x) * (c, s), where the exponential alone may be out of range.
DYND_ISA_INLINE complex128 exp_times(double x, double c, double s) {
  bool large = x > 700;
  double size = exp(large ? x - 700 : x), rest = large ? 0x1.d945df4f8ec8ep+1009 : 1; // exp(700)
  return {size * c * rest, size * s * rest};
}

DYND_ISA_CALLED complex128 exp(complex128 z) {
  if (z.imag == 0) {
    return {exp(z.real), z.imag};
  }
  if (!is_finite(z.imag)) {
    return z.real == -infinity  ? complex128{0, 0}
           : z.real == infinity ? complex128{infinity, not_a_number}
                                : complex128{not_a_number, not_a_number};
  }
  return exp_times(z.real, cos(z.imag), sin(z.imag));
}

/// The angle z.imag * ln 2 may be large: what its product loses is added to sine and cosine.
DYND_ISA_CALLED complex128 exp2(complex128 z) {
  if (z.imag == 0 || !is_finite(z.imag)) {
    complex128 e = exp(complex128{z.real, z.imag});
    return {z.imag == 0 ? exp2(z.real) : e.real, e.imag};
  }
  double angle = z.imag * ln2_hi, lost = __builtin_fma(z.imag, ln2_hi, -angle) + z.imag * ln2_lo;
  double c = cos(angle), s = sin(angle);
  return exp_times(z.real * ln2_hi, unfused_difference(c, s * lost), s + c * lost);
}

DYND_ISA_CALLED complex128 expm1(complex128 z) {
  if (z.imag == 0) {
    return {expm1(z.real), z.imag};
  }
  if (!is_finite(z.imag) || !(__builtin_fabs(z.real) < 700)) {
    complex128 e = exp(z);
    return {e.real - 1, e.imag};
  }
  double half = sin(z.imag * 0.5);
  return {expm1(z.real) * cos(z.imag) - 2 * half * half, exp(z.real) * sin(z.imag)};
}

/// The logarithm of a length, also where that is near 1.
DYND_ISA_CALLED double log_length(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y), most = a > b ? a : b;
  if (a == infinity || b == infinity) {
    return infinity;
  }
  if (!(most > 0)) {
    return most == 0 && b == b && a == a ? -infinity : not_a_number;
  }
  double by = most > 0x1p500 ? 0x1p-600 : most < 0x1p-400 ? 0x1p600 : 1;
  double scale = most > 0x1p500 ? 1200 : most < 0x1p-400 ? -1200 : 0;
  twofold square = exact_product(all(a * by), all(a * by)) + exact_product(all(b * by), all(b * by));
  factored parts = factor(square);
  parts.k += scale;
  double result = log_of(parts).hi[0] * 0.5;
  return a != a || b != b ? a + b : result;
}

DYND_ISA_CALLED complex128 log(complex128 z) { return {log_length(z.real, z.imag), atan2(z.imag, z.real)}; }

DYND_ISA_INLINE complex128 log2(complex128 z) {
  complex128 result = log(z);
  return {result.real * log2e, result.imag * log2e};
}

DYND_ISA_INLINE complex128 log10(complex128 z) {
  complex128 result = log(z);
  return {result.real * 0x1.bcb7b1526e50ep-2, result.imag * 0x1.bcb7b1526e50ep-2};
}

/// |1 + z|^2 is 1 and x^2 + y^2 + 2x.
DYND_ISA_CALLED complex128 log1p(complex128 z) {
  double size = __builtin_fabs(z.real) + __builtin_fabs(z.imag);
  if (!(size < 0x1p400) || z.real <= -0.75) {
    return log(complex128{1 + z.real, z.imag});
  }
  float64s x = all(z.real), y = all(z.imag);
  twofold rest = exact_product(x, x) + exact_product(y, y) + (x + x);
  return {log1p_twofold(rest).hi[0] * 0.5, atan2(z.imag, 1 + z.real)};
}

DYND_ISA_CALLED complex128 sinh(complex128 z) {
  double x = z.real, y = z.imag;
  if (y == 0) {
    return {sinh(x), y};
  }
  if (!is_finite(y)) {
    return {x == 0 || __builtin_fabs(x) == infinity ? x : not_a_number, not_a_number};
  }
  double c = cos(y), s = sin(y);
  if (__builtin_fabs(x) > 700) {
    return exp_times(__builtin_fabs(x), signed_as(0.5, x) * c, 0.5 * s);
  }
  return {sinh(x) * c, cosh(x) * s};
}

DYND_ISA_CALLED complex128 cosh(complex128 z) {
  double x = z.real, y = z.imag;
  if (y == 0) {
    return {cosh(x), x != x ? y : signed_as(1, x) * y};
  }
  if (!is_finite(y)) {
    return {__builtin_fabs(x) == infinity ? infinity : not_a_number, x == 0 ? x : not_a_number};
  }
  double c = cos(y), s = sin(y);
  if (__builtin_fabs(x) > 700) {
    return exp_times(__builtin_fabs(x), 0.5 * c, signed_as(0.5, x) * s);
  }
  return {cosh(x) * c, sinh(x) * s};
}

DYND_ISA_CALLED complex128 tanh(complex128 z) {
  double x = z.real, y = z.imag;
  if (y == 0) {
    return {tanh(x), y};
  }
  if (__builtin_fabs(x) > 30) {
    double sine = is_finite(y) ? sin(y) * cos(y) : 0;
    return {signed_as(1, x), 4 * sine * exp(-2 * __builtin_fabs(x))};
  }
  if (!is_finite(y)) {
    return {x == 0 ? x : not_a_number, not_a_number};
  }
  double c = cos(y), s = sin(y), hyperbolic = sinh(x);
  double length = hyperbolic * hyperbolic + c * c;
  return {hyperbolic * cosh(x) / length, s * c / length};
}

constexpr double far_away = 0x1p500;

/// log(2 |z|), where 1 beside z does not count.
DYND_ISA_INLINE double log_twice(complex128 z) { return log_length(z.real, z.imag) + ln2_hi; }
DYND_ISA_INLINE bool is_far(complex128 z) {
  return __builtin_fabs(z.real) > far_away || __builtin_fabs(z.imag) > far_away;
}

DYND_ISA_CALLED complex128 asinh(complex128 z) {
  if (is_far(z)) {
    return {signed_as(log_twice(z), z.real), atan2(z.imag, __builtin_fabs(z.real))};
  }
  if (z.imag == 0 && z.real != z.real) {
    return z;
  }
  complex128 a = square_root(complex128{1 + z.imag, -z.real}), b = square_root(complex128{1 - z.imag, z.real});
  return {asinh(unfused_difference(a.real * b.imag, b.real * a.imag)),
          atan2(z.imag, unfused_difference(a.real * b.real, a.imag * b.imag))};
}

DYND_ISA_CALLED complex128 acosh(complex128 z) {
  if (is_far(z)) {
    return {log_twice(z), atan2(z.imag, z.real)};
  }
  complex128 a = square_root(complex128{z.real - 1, z.imag}), b = square_root(complex128{z.real + 1, z.imag});
  return {asinh(a.real * b.real + a.imag * b.imag), 2 * atan2(a.imag, b.real)};
}

DYND_ISA_CALLED complex128 acos(complex128 z) {
  if (is_far(z)) {
    return {atan2(__builtin_fabs(z.imag), z.real), -signed_as(log_twice(z), z.imag)};
  }
  if (z.real == 0 && z.imag != z.imag) {
    return {half_pi, z.imag};
  }
  complex128 a = square_root(complex128{1 - z.real, -z.imag}), b = square_root(complex128{1 + z.real, z.imag});
  return {2 * atan2(a.real, b.real), asinh(unfused_difference(b.real * a.imag, b.imag * a.real))};
}

DYND_ISA_CALLED complex128 atanh(complex128 z) {
  double x = __builtin_fabs(z.real), y = __builtin_fabs(z.imag);
  double real, imag;
  if (is_far(z)) {
    double length = hypot(x * 0.5, y * 0.5);
    real = x == infinity || y == infinity ? 0 : x * 0.25 / length / length;
    imag = y != y ? y : half_pi;
  } else if (x == 1 && y < 0x1p-500) {
    real = y == 0 ? infinity : -0.5 * (log(y) - ln2_hi);
    imag = y == 0 ? 0 : atan2(2, -y) * 0.5;
  } else {
    real = log1p(4 * x / ((1 - x) * (1 - x) + y * y)) * 0.25;
    imag = z.real == 0 && y != y ? y : atan2(2 * y, unfused_difference((1 - x) * (1 + x), y * y)) * 0.5;
    real = z.real == 0 ? 0 : real;
  }
  return {signed_as(real, z.real), signed_as(imag, z.imag)};
}

/// f(z) by the function g of i z, and back.
DYND_ISA_INLINE complex128 times_i(complex128 z) { return {-z.imag, z.real}; }
DYND_ISA_INLINE complex128 over_i(complex128 z) { return {z.imag, -z.real}; }
DYND_ISA_INLINE complex128 sin(complex128 z) { return over_i(sinh(times_i(z))); }
DYND_ISA_INLINE complex128 cos(complex128 z) { return cosh(times_i(z)); }
DYND_ISA_INLINE complex128 tan(complex128 z) { return over_i(tanh(times_i(z))); }
DYND_ISA_INLINE complex128 asin(complex128 z) { return over_i(asinh(times_i(z))); }
DYND_ISA_INLINE complex128 atan(complex128 z) { return over_i(atanh(times_i(z))); }

DYND_ISA_INLINE double angle(complex128 z) { return atan2(z.imag, z.real); }

/// As NumPy: a small whole power is a product, every other one exp(b log(a)).
DYND_ISA_CALLED complex128 pow(complex128 a, complex128 b) {
  if (b.real == 0 && b.imag == 0) {
    return {1, 0};
  }
  if (a.real == 0 && a.imag == 0) {
    return b.real > 0 ? complex128{0, 0} : complex128{not_a_number, not_a_number};
  }
  if (b.imag == 0 && __builtin_fabs(b.real) < 100 && b.real == __builtin_trunc(b.real)) {
    complex128 result = {1, 0}, factor = a;
    bool first = true;
    for (int n = int(__builtin_fabs(b.real)); n != 0; n >>= 1, factor = factor * factor) {
      if (n & 1) {
        result = first ? factor : result * factor;
        first = false;
      }
    }
    return b.real < 0 ? complex128{1, 0} / result : result;
  }
  return exp(b * log(a));
}

/// In complex64: computed as a complex128, rounded once.
#define DYND_COMPLEX64(name)                                                                                           \
  DYND_ISA_INLINE complex_of<float> name(complex_of<float> z) {                                                        \
    complex128 result = name(complex128{z.real, z.imag});                                                              \
    return {float(result.real), float(result.imag)};                                                                   \
  }
DYND_COMPLEX64(exp)
DYND_COMPLEX64(exp2)
DYND_COMPLEX64(expm1)
DYND_COMPLEX64(log)
DYND_COMPLEX64(log2)
DYND_COMPLEX64(log10)
DYND_COMPLEX64(log1p)
DYND_COMPLEX64(sinh)
DYND_COMPLEX64(cosh)
DYND_COMPLEX64(tanh)
DYND_COMPLEX64(asinh)
DYND_COMPLEX64(acosh)
DYND_COMPLEX64(atanh)
DYND_COMPLEX64(sin)
DYND_COMPLEX64(cos)
DYND_COMPLEX64(tan)
DYND_COMPLEX64(asin)
DYND_COMPLEX64(acos)
DYND_COMPLEX64(atan)
#undef DYND_COMPLEX64
DYND_ISA_INLINE float angle(complex_of<float> z) { return float(angle(complex128{z.real, z.imag})); }
DYND_ISA_INLINE complex_of<float> pow(complex_of<float> a, complex_of<float> b) {
  complex128 result = pow(complex128{a.real, a.imag}, complex128{b.real, b.imag});
  return {float(result.real), float(result.imag)};
}

} // namespace math
} // namespace
} // namespace dynd
