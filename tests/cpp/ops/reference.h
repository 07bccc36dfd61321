// What every operation gives, written apart from the entries, one element at a time.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "dynd/ops/op_id.h"
#include "isa_testing.h"

namespace dynd::testing {

/// What NumPy computes, written apart from the entries. Integers wrap.
template <class T> T reference_quotient(T a, T b, T *rest) {
  if constexpr (std::is_floating_point_v<T>) {
    T mod = std::fmod(a, b);
    if (b == 0) {
      *rest = mod;
      return a / b;
    }
    T div = (a - mod) / b;
    if (mod != 0) {
      if ((b < 0) != (mod < 0)) {
        mod += b;
        div -= 1;
      }
    } else {
      mod = std::copysign(T(0), b);
    }
    *rest = mod;
    if (div == 0) {
      return std::copysign(T(0), a / b);
    }
    T whole = std::floor(div);
    return div - whole > T(0.5) ? whole + 1 : whole;
  } else {
    __int128 quotient = __int128(a) / b;
    if (__int128(a) % b != 0 && (a < 0) != (b < 0)) {
      --quotient;
    }
    *rest = T(__int128(a) - quotient * b);
    return T(quotient);
  }
}

template <class T> T wrapped(__int128 x) { return T(x); }

template <class T> T product(T x, T y) { return x * y; }
/// Wraps: the product of two large uint64 does not fit.
inline __int128 product(__int128 x, __int128 y) { return __int128((unsigned __int128)(x) * (unsigned __int128)(y)); }

/// Powers of an odd number repeat every 2^(width - 2), those of an even one are 0 from the width on.
template <class T> T reference_power(T a, T b) {
  T result = 1;
  uint64_t count = uint64_t(b);
  if (count > 128) {
    if (a % 2 == 0) {
      return 0;
    }
    count %= uint64_t(1) << (sizeof(T) * 8 - 2);
  }
  std::vector<T> squares = {a};
  for (; count > 0; count /= 2, squares.push_back(T(uint64_t(squares.back()) * uint64_t(squares.back())))) {
    result = count % 2 ? T(uint64_t(result) * uint64_t(squares.back())) : result;
  }
  return result;
}

template <class T> T reference_shift(T a, T b, bool left) {
  if (uint64_t(b) >= 8 * sizeof(T)) {
    return !left && a < 0 ? T(-1) : T(0);
  }
  return left ? T(uint64_t(a) << b) : T(a >> b);
}

using results = std::optional<std::array<value, 2>>;

inline value truth(bool x) { return {(long double)x, 0}; }

/// What only integers have; T is one.
template <class T> results integer_reference(const std::string &name, bool is_bool, T a, T b) {
  auto one = [](T x) { return results{{value{(long double)x, 0}}}; };
  if (name == "bitwise_and") {
    return one(a & b);
  } else if (name == "bitwise_or") {
    return one(a | b);
  } else if (name == "bitwise_xor") {
    return one(a ^ b);
  } else if (name == "bitwise_invert") {
    return one(is_bool ? T(!a) : T(~a));
  } else if (name == "pow") {
    return one(reference_power(a, b));
  } else if (name == "bitwise_left_shift") {
    return one(reference_shift(a, b, true));
  } else if (name == "bitwise_right_shift") {
    return one(reference_shift(a, b, false));
  } else if (name == "gcd") {
    unsigned __int128 x = a < 0 ? -__int128(a) : __int128(a), y = b < 0 ? -__int128(b) : __int128(b);
    while (y != 0) {
      x = std::exchange(y, x % y);
    }
    return one(T(x));
  } else if (name == "lcm") {
    unsigned __int128 x = a < 0 ? -__int128(a) : __int128(a), y = b < 0 ? -__int128(b) : __int128(b);
    unsigned __int128 multiple = x;
    for (unsigned __int128 u = x, v = y; v != 0; u = std::exchange(v, u % v)) {
      multiple = u % v == 0 ? x / v * y : multiple;
    }
    return one(x == 0 || y == 0 ? T(0) : T(multiple));
  } else if (name == "bitwise_count") {
    int count = 0;
    for (unsigned __int128 x = a < 0 ? -__int128(a) : __int128(a); x != 0; x &= x - 1) {
      count++;
    }
    return {{value{(long double)count}}};
  } else if (name == "isfinite" || name == "isinf") {
    return {{truth(name == "isfinite")}};
  }
  return std::nullopt;
}

/// The number next to a towards b: of a float16 in its own type.
template <class T> T reference_neighbour(bool half, T a, T b) {
  if (!half || a != a || b != b || a == b) {
    return std::nextafter(a, b);
  }
  uint16_t bits = nearest_float16(a).bits;
  if (a == 0) {
    return value_of(float16{uint16_t(b < 0 ? 0x8001 : 1)});
  }
  return value_of(float16{uint16_t((a < b) == (a > 0) ? bits + 1 : bits - 1)});
}

/// The floating-point functions of the C library, where it has them.
template <class T> results library_reference(const std::string &name, bool half, T a, T b) {
  auto one = [](T x) { return results{{value{x}}}; };
  if (name == "rint") {
    return one(std::nearbyint(a));
  } else if (name == "copysign") {
    return one(std::copysign(a, b));
  } else if (name == "nextafter") {
    return one(reference_neighbour(half, a, b));
  } else if (name == "isfinite") {
    return {{truth(std::isfinite(a))}};
  } else if (name == "isinf") {
    return {{truth(std::isinf(a))}};
  } else if (name == "heaviside") {
    return one(a != a ? a : a == 0 ? b : T(a > 0));
  } else if (name == "reciprocal") {
    return one(1 / a);
  } else if (name == "deg2rad") {
    return one(a * (T(M_PI) / 180));
  } else if (name == "rad2deg") {
    return one(a * (180 / T(M_PI)));
  } else if (name == "complex") {
    return {{value{a, b}}};
  }
  return std::nullopt;
}

/// What only floating-point numbers have.
template <class T> results floating_reference(const std::string &name, bool half, T a, T b) {
  if (name == "divide") {
    return {{value{a / b}}};
  } else if (name == "sqrt") {
    return {{value{std::sqrt(a)}}};
  } else if (name == "modf") {
    T whole, fraction = std::modf(a, &whole);
    return {{value{fraction}, value{whole}}};
  } else if (name == "frexp") {
    int exponent = 0;
    T mantissa = std::frexp(a, &exponent);
    return {{value{mantissa}, value{std::isfinite(a) ? (long double)exponent : 0.0L}}};
  }
  return library_reference(name, half, a, b);
}

/// `special`: it is bool, or float16, computed in float.
template <class T> results real_reference(const std::string &name, bool special, T a, T b, T c) {
  constexpr bool floating = std::is_floating_point_v<T>;
  auto number = [&](auto f) -> results {
    if constexpr (floating) {
      return {{value{T(f(a, b))}}};
    } else {
      return {{value{(long double)wrapped<T>(f(__int128(a), __int128(b)))}}};
    }
  };
  auto less = [](T x, T y) { return x < y || (x == y && std::signbit(double(x)) > std::signbit(double(y))); };
  auto minimum = [&](T x, T y) { return x != x ? x : y != y ? y : less(y, x) ? y : x; };
  auto maximum = [&](T x, T y) { return x != x ? x : y != y ? y : less(x, y) ? y : x; };
  auto one = [](T x) { return results{{value{(long double)x}}}; };
  if (name == "add") {
    return number([](auto x, auto y) { return x + y; });
  } else if (name == "subtract") {
    return number([](auto x, auto y) { return x - y; });
  } else if (name == "multiply") {
    return number([](auto x, auto y) { return product(x, y); });
  } else if (name == "negative") {
    return number([](auto x, auto) { return -x; });
  } else if (name == "square") {
    return number([](auto x, auto) { return product(x, x); });
  } else if (name == "abs") {
    return number([](auto x, auto) { return x <= 0 ? 0 - x : x; });
  } else if (name == "minimum") {
    return one(minimum(a, b));
  } else if (name == "maximum") {
    return one(maximum(a, b));
  } else if (name == "clip") {
    return one(minimum(maximum(a, b), c));
  } else if (name == "less") {
    return {{truth(a < b)}};
  } else if (name == "equal") {
    return {{truth(a == b)}};
  } else if (name == "less_equal") {
    return {{truth(a <= b)}};
  } else if (name == "greater") {
    return {{truth(a > b)}};
  } else if (name == "greater_equal") {
    return {{truth(a >= b)}};
  } else if (name == "not_equal") {
    return {{truth(a != b)}};
  } else if (name == "isnan") {
    return {{truth(a != a)}};
  } else if (name == "floor" || name == "ceil" || name == "trunc" || name == "round") {
    long double x = (long double)a, near = std::nearbyint(x);
    return {{value{name == "floor"   ? std::floor(x)
                   : name == "ceil"  ? std::ceil(x)
                   : name == "trunc" ? std::trunc(x)
                                     : near}}};
  } else if (name == "positive" || name == "conj" || name == "real") {
    return one(a);
  } else if (name == "imag") {
    return one(T(0));
  } else if (name == "sign") {
    return one(a != a ? a : T(a > 0) - T(a < 0));
  } else if (name == "fmin") {
    return one(b != b || a < b ? a : b);
  } else if (name == "fmax") {
    return one(b != b || a > b ? a : b);
  } else if (name == "fmod") {
    if constexpr (floating) {
      return one(std::fmod(a, b));
    } else {
      return one(T(__int128(a) % b));
    }
  } else if (name == "signbit") {
    return {{truth(std::signbit((long double)a))}};
  } else if (name == "divmod" || name == "floor_divide" || name == "remainder") {
    T rest, quotient = reference_quotient(a, b, &rest);
    return {{value{(long double)(name == "remainder" ? rest : quotient)}, value{(long double)rest}}};
  }
  if constexpr (floating) {
    return floating_reference(name, special, a, b);
  } else {
    return integer_reference(name, special, a, b);
  }
}

/// What the formulas of the entries say of complex numbers, without a loop around them.
template <class T> results complex_reference(const std::string &name, complex_of<T> a, complex_of<T> b) {
  auto one = [](complex_of<T> x) { return results{{value{x.real, x.imag}}}; };
  auto times = [](complex_of<T> x, complex_of<T> y) {
    T rr = x.real * y.real, ii = x.imag * y.imag, ri = x.real * y.imag, ir = x.imag * y.real;
    return complex_of<T>{rr - ii, ri + ir};
  };
  if (name == "add") {
    return one({a.real + b.real, a.imag + b.imag});
  } else if (name == "subtract") {
    return one({a.real - b.real, a.imag - b.imag});
  } else if (name == "multiply") {
    return one(times(a, b));
  } else if (name == "square") {
    return one(times(a, a));
  } else if (name == "negative") {
    return one({-a.real, -a.imag});
  } else if (name == "equal") {
    return {{truth(a.real == b.real && a.imag == b.imag)}};
  } else if (name == "not_equal") {
    return {{truth(!(a.real == b.real && a.imag == b.imag))}};
  } else if (name == "isnan") {
    return {{truth(std::isnan(a.real) || std::isnan(a.imag))}};
  } else if (name == "isinf") {
    return {{truth(std::isinf(a.real) || std::isinf(a.imag))}};
  } else if (name == "isfinite") {
    return {{truth(std::isfinite(a.real) && std::isfinite(a.imag))}};
  } else if (name == "positive") {
    return one(a);
  } else if (name == "conj") {
    return one({a.real, -a.imag});
  } else if (name == "round" || name == "rint") {
    return one({std::nearbyint(a.real), std::nearbyint(a.imag)});
  } else if (name == "real" || name == "imag") {
    return {{value{name == "real" ? a.real : a.imag}}};
  } else if (name == "divide") { // as NumPy's loop does it
    if (std::fabs(b.real) >= std::fabs(b.imag)) {
      if (b.real == 0 && b.imag == 0) {
        return one({a.real / std::fabs(b.real), a.imag / std::fabs(b.real)});
      }
      T ratio = b.imag / b.real, scale = T(1) / (b.real + b.imag * ratio);
      return one({(a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale});
    }
    T ratio = b.real / b.imag, scale = T(1) / (b.imag + b.real * ratio);
    return one({(a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale});
  }
  return std::nullopt;
}

/// By the registers of the loop; `type` is T. Nothing where the operation has no reference here (a new one: the
/// comparison between loops still covers it).
inline results reference(const operation &op, scalar_id type, const char *const *reg) {
  std::string name = op.name;
  if (name == "where" || name == "fill_missing") {
    return {{decoded(type, *reg[0] ? reg[1] : reg[2])}};
  } else if (name == "is_missing") {
    return {{truth(!*reg[0])}};
  } else if (name.rfind("logical_", 0) == 0) {
    auto is_true = [&](int i) { return decoded(type, reg[i]).real != 0 || decoded(type, reg[i]).imag != 0; };
    bool a = is_true(0), b = name != "logical_not" && is_true(1);
    return {{truth(name == "logical_not"   ? !a
                   : name == "logical_and" ? a && b
                   : name == "logical_or"  ? a || b
                                           : a != b)}};
  } else if (name == "ldexp") {
    int64_t exponent;
    std::memcpy(&exponent, reg[1], sizeof exponent);
    return {{value{std::ldexp(decoded(type, reg[0]).real, int(std::clamp<int64_t>(exponent, -15000, 15000)))}}};
  }
  results found;
  with_type(type, [&]<class T>(tag<T>) {
    T x[3] = {};
    for (int i = 0; i < op.noperands; i++) {
      std::memcpy(&x[i], reg[i], sizeof(T));
    }
    bool is_bool = type == scalar_id::bool_;
    if constexpr (is_complex_type<T>) {
      found = complex_reference(name, x[0], x[1]);
    } else if constexpr (is_half<T>) { // in float, rounded once
      found = real_reference<float>(name, true, value_of(x[0]), value_of(x[1]), value_of(x[2]));
    } else if (is_bool) {
      found = real_reference<T>(name, true, x[0] != 0, x[1] != 0, x[2] != 0);
    } else {
      found = real_reference<T>(name, false, x[0], x[1], x[2]);
    }
  });
  return found;
}

} // namespace dynd::testing
