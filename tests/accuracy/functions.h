// The functions that accuracy.cpp measures: what MPFR says of each, the bar, and where its arguments are.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "dynd/ops/isa.h"
#include "dynd/ops/op_id.h"

namespace dynd::accuracy {

constexpr mpfr_prec_t work_bits = 160;

struct function {
  op_id op;
  double bar;
  void (*exact)(mpfr_t to, mpfr_t a, mpfr_t b);
  double low, high; ///< where it has its shape
  bool binary = false;
  double (*least)(double a, double b) = nullptr; ///< errors are at least in units of this
};

#define DYND_MPFR(name) [](mpfr_t to, mpfr_t a, mpfr_t) { mpfr_##name(to, a, MPFR_RNDN); }
#define DYND_MPFR_2(name) [](mpfr_t to, mpfr_t a, mpfr_t b) { mpfr_##name(to, a, b, MPFR_RNDN); }

/// log(base^a + base^b), with as many more digits as may cancel.
template <bool Two> void exact_logaddexp(mpfr_t to, mpfr_t a, mpfr_t b) {
  if (mpfr_nan_p(a) || mpfr_nan_p(b)) {
    mpfr_set_nan(to);
    return;
  }
  bool first = mpfr_greater_p(a, b);
  mpfr_t rest;
  mpfr_init2(rest, 2500);
  mpfr_sub(rest, first ? b : a, first ? a : b, MPFR_RNDN);
  if (mpfr_inf_p(a) || mpfr_inf_p(b)) {
    mpfr_set(to, first ? a : b, MPFR_RNDN);
    if (mpfr_zero_p(to)) { // -0 and nothing
      mpfr_set_zero(to, 1);
    }
  } else {
    mpfr_t wide;
    mpfr_init2(wide, 400);
    mpfr_set(wide, rest, MPFR_RNDN);
    Two ? mpfr_exp2(wide, wide, MPFR_RNDN) : mpfr_exp(wide, wide, MPFR_RNDN);
    mpfr_log1p(wide, wide, MPFR_RNDN);
    if (Two) {
      mpfr_t two;
      mpfr_init2(two, 400);
      mpfr_const_log2(two, MPFR_RNDN);
      mpfr_div(wide, wide, two, MPFR_RNDN);
      mpfr_clear(two);
    }
    mpfr_add(to, wide, first ? a : b, MPFR_RNDN);
    mpfr_clear(wide);
  }
  mpfr_clear(rest);
}

inline void exact_expit(mpfr_t to, mpfr_t a, mpfr_t) {
  mpfr_neg(to, a, MPFR_RNDN);
  mpfr_exp(to, to, MPFR_RNDN);
  mpfr_add_ui(to, to, 1, MPFR_RNDN);
  mpfr_ui_div(to, 1, to, MPFR_RNDN);
}

inline void exact_logit(mpfr_t to, mpfr_t a, mpfr_t) {
  if (mpfr_nan_p(a)) {
    mpfr_set_nan(to);
    return;
  }
  mpfr_t rest;
  mpfr_init2(rest, 1200);
  mpfr_ui_sub(rest, 1, a, MPFR_RNDN);
  mpfr_div(rest, a, rest, MPFR_RNDN);
  mpfr_log(to, rest, MPFR_RNDN);
  if (mpfr_cmp_ui(a, 1) == 0) {
    mpfr_set_inf(to, 1);
  }
  if (mpfr_zero_p(to)) {
    mpfr_set_zero(to, 1);
  }
  mpfr_clear(rest);
}

inline void exact_gamma(mpfr_t to, mpfr_t a, mpfr_t) {
  // Beyond the range of doubles MPFR would take long.
  if (mpfr_cmp_d(a, 1000) > 0 && !mpfr_inf_p(a)) {
    mpfr_set_ui_2exp(to, 1, 5000, MPFR_RNDN);
  } else if (mpfr_cmp_d(a, -1000) < 0 && !mpfr_inf_p(a) && !mpfr_integer_p(a)) {
    mpfr_t floor;
    mpfr_init2(floor, 1200);
    mpfr_floor(floor, a);
    mpfr_div_2ui(floor, floor, 1, MPFR_RNDN);
    mpfr_set_ui_2exp(to, 1, -5000, MPFR_RNDN);
    mpfr_setsign(to, to, !mpfr_integer_p(floor), MPFR_RNDN);
    mpfr_clear(floor);
  } else {
    mpfr_gamma(to, a, MPFR_RNDN);
  }
}

inline void exact_lgamma(mpfr_t to, mpfr_t a, mpfr_t) {
  int sign;
  mpfr_lgamma(to, &sign, a, MPFR_RNDN);
}

inline double larger_operand(double a, double b) {
  return std::isfinite(a) && std::isfinite(b) ? std::fabs(std::max(a, b)) : 0;
}
inline double some_if_negative(double a, double) { return a < 0 ? 0x1p-4 : 0; }

inline const function functions[] = {
    {op_id::exp, 1, DYND_MPFR(exp), -746, 710},
    {op_id::exp2, 1, DYND_MPFR(exp2), -1076, 1025},
    {op_id::expm1, 1, DYND_MPFR(expm1), -40, 45},
    {op_id::log, 1, DYND_MPFR(log), 0.3, 3},
    {op_id::log1p, 1, DYND_MPFR(log1p), -1, 3},
    {op_id::log2, 1, DYND_MPFR(log2), 0.3, 3},
    {op_id::log10, 1, DYND_MPFR(log10), 0.3, 3},
    {op_id::sin, 1, DYND_MPFR(sin), -20, 20},
    {op_id::cos, 1, DYND_MPFR(cos), -20, 20},
    {op_id::tan, 1, DYND_MPFR(tan), -20, 20},
    {op_id::asin, 1, DYND_MPFR(asin), -1, 1},
    {op_id::acos, 1, DYND_MPFR(acos), -1, 1},
    {op_id::atan, 1, DYND_MPFR(atan), -5, 5},
    {op_id::atan2, 1, DYND_MPFR_2(atan2), -5, 5, true},
    {op_id::sinh, 1, DYND_MPFR(sinh), -20, 20},
    {op_id::cosh, 1, DYND_MPFR(cosh), -20, 20},
    {op_id::tanh, 1, DYND_MPFR(tanh), -10, 10},
    {op_id::pow, 1, DYND_MPFR_2(pow), 0, 40, true},
    {op_id::cbrt, 1, DYND_MPFR(cbrt), -10, 10},
    {op_id::hypot, 1, DYND_MPFR_2(hypot), -5, 5, true},
    {op_id::asinh, 4, DYND_MPFR(asinh), -5, 5},
    {op_id::acosh, 4, DYND_MPFR(acosh), 1, 5},
    {op_id::atanh, 4, DYND_MPFR(atanh), -1, 1},
    {op_id::erf, 4, DYND_MPFR(erf), -6, 6},
    {op_id::erfc, 4, DYND_MPFR(erfc), -6, 28},
    {op_id::gamma, 4, exact_gamma, -185, 172},
    {op_id::lgamma, 4, exact_lgamma, -20, 20, false, some_if_negative},
    {op_id::expit, 4, exact_expit, -40, 40},
    {op_id::logit, 4, exact_logit, 0, 1},
    {op_id::logaddexp, 4, exact_logaddexp<false>, -40, 40, true, larger_operand},
    {op_id::logaddexp2, 4, exact_logaddexp<true>, -40, 40, true, larger_operand},
};
#undef DYND_MPFR
#undef DYND_MPFR_2

template <class T> bool same_bits(T a, T b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (a != a && b != b);
}

/// Where functions change: arguments at which results overflow, vanish, or are exact.
// clang-format off
inline constexpr double edges[] = {
    0, 0.25, 0.375, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 16, 20, 24, 25, 26.5, 27.2, 28, 32, 35.04, 36,
    40, 64, 88.7228, 89.4159, 87.3365, 90, 103.97, 104, 110, 126, 127, 128, 149, 150, 170, 171, 171.624, 184, 185,
    200, 308.25, 300, 700, 708.39, 709.78, 709.782712, 710, 710.475, 712, 745, 745.13, 746, 760, 1022, 1023, 1024,
    1025, 1074, 1075, 1076, 1e3, 1e5, 1e6, 1e16, 1e22, 1e100, 1e300, 2.5e305, 0x1p20, 0x1p28, 0x1p51, 0x1p52,
    0x1p53, 0x1p60, 0x1p-28, 0x1p-54, 0x1p-60, 0x1p-500, 0x1p500, 0x1p-1022, 0x1p-126, 0x1.6ac5b262ca1ffp+849,
    2.457024738220800};
// clang-format on

/// Arguments of a function, the same in every run.
template <class T> class argument_maker {
public:
  explicit argument_maker(const function &f) : f_(f), random_(uint64_t(f.op)) {}

  void fill(size_t count, std::vector<T> &a, std::vector<T> &b) {
    std::vector<T> edges = edge_values();
    for (size_t i = 0; a.size() < count && i < edges.size(); ++i) {
      if (!f_.binary) {
        a.push_back(edges[i]);
      }
    }
    for (size_t i = 0; f_.binary && a.size() < count / 4; ++i) {
      a.push_back(edges[random_() % edges.size()]);
      b.push_back(edges[random_() % edges.size()]);
    }
    while (a.size() < count) {
      a.push_back(any_value());
      if (f_.binary) {
        b.push_back(f_.op == op_id::pow ? exponent_for(a.back()) : any_value());
      }
    }
  }

private:
  static std::vector<T> edge_values() {
    using limits = std::numeric_limits<T>;
    std::vector<double> seeds(std::begin(edges), std::end(edges));
    seeds.insert(seeds.end(), {limits::max(), limits::min(), limits::denorm_min(), limits::infinity(), M_SQRT2,
                               M_SQRT1_2, std::tan(M_PI / 8), M_E, M_LN2});
    for (int k = 1; k <= 64; ++k) {
      seeds.push_back(k * M_PI_4);
      seeds.push_back(std::ldexp(M_PI_2, k));
      seeds.push_back((6381956970095103.0 + k - 1) * 0x1p797);
      seeds.push_back(k * 0.5);
    }
    std::vector<T> values;
    for (double seed : seeds) {
      for (T start : {T(seed), T(-seed)}) {
        T up = start, down = start;
        values.push_back(start);
        for (int k = 0; k < 4; ++k) {
          values.push_back(up = std::nextafter(up, limits::infinity()));
          values.push_back(down = std::nextafter(down, -limits::infinity()));
        }
      }
    }
    values.push_back(limits::quiet_NaN());
    return values;
  }

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  T any_value() {
    switch (random_() % 8) {
    case 0:
    case 1: { // every size
      uint64_t bits = random_();
      T value;
      std::copy_n(reinterpret_cast<const char *>(&bits), sizeof value, reinterpret_cast<char *>(&value));
      return std::isfinite(value) ? value : T(0.7);
    }
    case 2:
    case 3:
      return T(std::ldexp(uniform(1, 2), int(random_() % 50) - 35) * (random_() % 2 ? 1 : -1));
    case 4: // near a multiple of pi/2
      return T(M_PI_2 * double(random_() % 1000000) * (1 + (int(random_() % 9) - 4) * 0x1p-53));
    default:
      return T(uniform(f_.low, f_.high));
    }
  }

  /// An exponent with which the power is in range, or at its edges.
  T exponent_for(T base) {
    double logarithm = std::log2(std::fabs(double(base)));
    if (random_() % 4 == 0 || !std::isfinite(logarithm) || logarithm == 0) {
      return any_value();
    }
    double wide = std::numeric_limits<T>::max_exponent;
    T exponent = T(uniform(-1.1 * wide, 1.05 * wide) / logarithm);
    return base < 0 ? std::rint(exponent) : exponent;
  }

  const function &f_;
  std::mt19937_64 random_;
};

} // namespace dynd::accuracy
