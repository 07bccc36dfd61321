// What the tests of the compiled loops share: awkward values, memory that ends at a page that cannot be touched, and
// comparison bit for bit (one NaN is as good as another: which one an addition of two gives is the compiler's choice).
#pragma once

#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/ops/isa.h"

namespace dynd::testing {

/// Calls f(type tag, scalar_id) for every scalar type.
template <class T> struct tag { using type = T; };

template <class F> void for_each_scalar(F f) {
#define DYND_SCALAR(id, name, ctype) f(tag<ctype>{}, scalar_id::id);
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
}

template <class F> void for_each_level(F f) {
  for (const isa_table *const *table = runnable_isa_tables(); *table; ++table) {
    SCOPED_TRACE((*table)->name);
    f(**table);
  }
}

template <class T> constexpr bool is_half = std::is_same_v<T, float16>;
template <class T> constexpr bool is_complex_type = false;
template <class T> constexpr bool is_complex_type<complex_of<T>> = true;

/// The real type that a type's values are made of: float for a float16.
template <class T> struct real_of { using type = T; };
template <> struct real_of<float16> { using type = float; };
template <class T> struct real_of<complex_of<T>> { using type = T; };

/// A float16 by its definition: sign, five bits of exponent, ten of the mantissa.
inline float value_of(float16 x) {
  int exponent = x.bits >> 10 & 31, mantissa = x.bits & 1023;
  float size = exponent == 31  ? (mantissa ? NAN : INFINITY)
               : exponent == 0 ? std::ldexp(float(mantissa), -24)
                               : std::ldexp(float(1024 + mantissa), exponent - 25);
  return x.bits >> 15 ? -size : size;
}

/// The nearest of them by its definition: a multiple of the unit of its size, ties to even (the rounding mode).
inline float16 nearest_float16(long double x) {
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) {
    return {0x7e00};
  }
  x = std::fabs(x);
  int exponent = x < 0x1p-14L ? -14 : std::isinf(x) ? 16 : std::ilogb(x);
  if (exponent > 15) {
    return {uint16_t(sign | 0x7c00)};
  }
  long units = std::lrint(std::ldexp(x, 10 - exponent)); // 1024 more than the mantissa, or a small number
  return {uint16_t(sign | (units + ((exponent + 14) << 10)))};
}

/// A value from its real component.
template <class T, class X> T make(X x) {
  if constexpr (is_half<T>) {
    return nearest_float16(x);
  } else if constexpr (is_complex_type<T>) {
    return {make<typename real_of<T>::type>(x), 0};
  } else {
    return T(x);
  }
}

/// Any value, and often one of the bad ones.
template <class T> T random_value(std::mt19937_64 &random, scalar_id id) {
  uint64_t choice = random() % 8;
  if (id == scalar_id::bool_) {
    return make<T>(choice < 3 ? 0 : choice < 6 ? 1 : random() % 256);
  }
  if constexpr (is_complex_type<T>) {
    using part = typename real_of<T>::type;
    return {random_value<part>(random, id), random_value<part>(random, id)};
  } else if constexpr (is_half<T>) {
    return choice < 4 ? T{uint16_t(random())} : nearest_float16(random_value<float>(random, id));
  } else if constexpr (std::is_floating_point_v<T>) {
    const T special[] = {T(0),
                         T(-0.0),
                         std::numeric_limits<T>::infinity(),
                         -std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::quiet_NaN(),
                         std::numeric_limits<T>::max(),
                         std::numeric_limits<T>::denorm_min(),
                         T(1),
                         T(-3),
                         T(0.5),
                         T(2147483648.0),
                         T(-2147483649.0),
                         T(4294967296.0),
                         T(9223372036854775808.0),
                         T(18446744073709551616.0),
                         T(-9223372036854775808.0)};
    switch (choice) {
    case 0:
      return special[random() % (sizeof special / sizeof *special)];
    case 1:
      return T(int(random() % 21) - 10);
    case 2:
      return std::ldexp(T(int64_t(random())), int(random() % 100) - 100);
    default:
      return T(int64_t(random())) / T(int64_t(1) << (random() % 62));
    }
  } else {
    switch (choice) {
    case 0:
      return std::numeric_limits<T>::min();
    case 1:
      return std::numeric_limits<T>::max();
    case 2:
      return T(-1);
    case 3:
      return T(int(random() % 21) - 10);
    case 4:
      return T(0);
    default:
      return T(random() >> (random() % 64));
    }
  }
}

template <class T> std::vector<T> random_values(std::mt19937_64 &random, scalar_id id, size_t n) {
  std::vector<T> values(n);
  for (T &value : values) {
    value = random_value<T>(random, id);
  }
  return values;
}

template <class T> bool same_bits(T a, T b) {
  if constexpr (is_complex_type<T>) {
    return same_bits(a.real, b.real) && same_bits(a.imag, b.imag);
  } else if constexpr (is_half<T>) {
    return a.bits == b.bits || (std::isnan(value_of(a)) && std::isnan(value_of(b)));
  } else {
    return std::memcmp(&a, &b, sizeof(T)) == 0 || (a != a && b != b);
  }
}

template <class T> bool same_bits(const std::vector<T> &a, const std::vector<T> &b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) {
      return false;
    }
  }
  return a.size() == b.size();
}

template <class T> std::string show(T value) {
  char text[64];
  if constexpr (is_complex_type<T>) {
    return "(" + show(value.real) + ", " + show(value.imag) + ")";
  } else if constexpr (is_half<T>) {
    return show(value_of(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    std::snprintf(text, sizeof text, "%.17g", double(value));
    return text;
  } else {
    return std::to_string(value);
  }
}

/// A value of any type: a long double holds each of them exactly. Tests over pairs of types use it, so that they are
/// compiled once and not once for each pair.
struct value {
  long double real = 0, imag = 0;
};

/// Calls f(type tag) for the type of an id.
template <class F> void with_type(scalar_id id, F f) {
  for_each_scalar([&]<class T>(tag<T> t, scalar_id own) {
    if (own == id) {
      f(t);
    }
  });
}

inline value decoded(scalar_id id, const char *at) {
  value result;
  with_type(id, [&]<class T>(tag<T>) {
    T x;
    std::memcpy(&x, at, sizeof(T));
    if constexpr (is_complex_type<T>) {
      result = {x.real, x.imag};
    } else if constexpr (is_half<T>) {
      result.real = value_of(x);
    } else {
      result.real = id == scalar_id::bool_ ? x != 0 : x;
    }
  });
  return result;
}

/// Floating-point values are rounded once, integers wrap (whole numbers in the range of int64 or uint64).
inline void encode(scalar_id id, value x, char *at) {
  with_type(id, [&]<class T>(tag<T>) {
    T result;
    if constexpr (is_complex_type<T>) {
      using part = typename real_of<T>::type;
      result = {part(x.real), part(x.imag)};
    } else if constexpr (is_half<T>) {
      result = nearest_float16(x.real);
    } else if constexpr (std::is_floating_point_v<T>) {
      result = T(x.real);
    } else {
      result = x.real < 0 ? T(int64_t(x.real)) : T(uint64_t(x.real));
    }
    std::memcpy(at, &result, sizeof(T));
  });
}

/// Bit for bit, but for one NaN and another.
inline bool same_element(scalar_id id, const char *a, const char *b) {
  bool same = false;
  with_type(id, [&]<class T>(tag<T>) {
    T x, y;
    std::memcpy(&x, a, sizeof(T));
    std::memcpy(&y, b, sizeof(T));
    same = same_bits(x, y);
  });
  return same;
}

inline void fill_random(std::mt19937_64 &random, scalar_id id, char *to, size_t n) {
  with_type(id, [&]<class T>(tag<T>) {
    for (size_t i = 0; i < n; i++) {
      T x = random_value<T>(random, id);
      std::memcpy(to + i * sizeof(T), &x, sizeof(T));
    }
  });
}

inline std::string show(value x) { return "(" + show(double(x.real)) + ", " + show(double(x.imag)) + ")"; }

/// memcpy, which must not see the null that an empty vector has.
inline void put(char *to, const void *from, size_t bytes) {
  if (bytes != 0) {
    std::memcpy(to, from, bytes);
  }
}

/// n elements that end (or, if at_end is false, begin) exactly at an inaccessible page.
class guarded_memory {
public:
  explicit guarded_memory(size_t bytes) : bytes_(bytes) {
    mapped_ = (bytes + 4095) / 4096 * 4096 + 8192;
    base_ = static_cast<char *>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + 4096, mapped_ - 8192, PROT_READ | PROT_WRITE);
  }
  guarded_memory(const guarded_memory &) = delete;
  ~guarded_memory() { munmap(base_, mapped_); }
  char *at_end() const { return base_ + mapped_ - 4096 - bytes_; }
  char *at_begin() const { return base_ + 4096; }

private:
  size_t bytes_;
  size_t mapped_;
  char *base_;
};

} // namespace dynd::testing
