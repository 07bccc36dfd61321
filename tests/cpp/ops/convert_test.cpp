// Conversions at every ISA level against a definition over long double, which holds every value of every type. The
// types are data here: a test that is compiled for each pair of them takes minutes.
#include "isa_testing.h"

#include <array>

namespace dynd::testing {
namespace {

constexpr error_mode modes[] = {error_mode::nocheck, error_mode::overflow, error_mode::fractional, error_mode::inexact};

size_t size_of(scalar_id id) { return scalar_size[size_t(id)]; }
bool is_complex_id(scalar_id id) { return scalar_kind[size_t(id)] == number_kind::complex; }
bool has_fraction(scalar_id id) { return scalar_kind[size_t(id)] == number_kind::floating || is_complex_id(id); }

/// The smallest and the largest finite value of a type, or of its components.
std::array<long double, 2> limits_of(scalar_id id) {
  std::array<long double, 2> found;
  with_type(id, [&]<class T>(tag<T>) {
    using limits = std::numeric_limits<typename real_of<T>::type>;
    found = {(long double)limits::lowest(), (long double)limits::max()};
  });
  return found;
}

/// A real number as a value of the type, and back.
long double rounded(scalar_id to, long double x) {
  char element[16];
  encode(to, {x, 0}, element);
  return decoded(to, element).real;
}

/// The rule that scalar_math.h states, in other words: of a floating-point value that becomes an integer.
long double truncated(scalar_id to, long double x) {
  if (size_of(to) < 4 || to == scalar_id::int32) {
    return x > -2147483649.0L && x < 2147483648.0L ? (long double)int32_t(x) : (long double)INT32_MIN;
  }
  if (to == scalar_id::uint64 && x >= 0x1p63L) {
    return x < 0x1p64L ? (long double)uint64_t(x) : 0.0L;
  }
  return x >= -0x1p63L && x < 0x1p63L ? (long double)int64_t(x) : (long double)INT64_MIN;
}

/// Without a check; not rounded yet.
value converted(scalar_id to, scalar_id from, value x) {
  if (to == scalar_id::bool_) {
    return {(long double)(x.real != 0 || x.imag != 0), 0};
  }
  if (has_fraction(from) && !has_fraction(to)) {
    return {truncated(to, x.real), 0};
  }
  return {x.real, is_complex_id(to) ? x.imag : 0};
}

bool is_refused_real(scalar_id to, long double x, error_mode mode) {
  if (to == scalar_id::bool_) {
    return x != 0 && x != 1;
  }
  if (has_fraction(to)) {
    long double found = rounded(to, x);
    return (std::isfinite(x) && std::isinf(found)) || (mode == error_mode::inexact && !std::isnan(x) && found != x);
  }
  auto [low, high] = limits_of(to);
  return !(x >= low && x <= high) || (mode != error_mode::overflow && std::floor(x) != x);
}

/// A complex number is a real one only without an imaginary component.
bool is_refused(scalar_id to, scalar_id from, value x, error_mode mode) {
  if (mode == error_mode::nocheck || to == from) {
    return false;
  }
  bool real = is_refused_real(to, x.real, mode);
  return real || (is_complex_id(to) ? is_refused_real(to, x.imag, mode) : is_complex_id(from) && x.imag != 0);
}

/// Calls f(to, from) for every pair of types.
template <class F> void for_each_pair(F f) {
  for (size_t to = 0; to < scalar_count; ++to) {
    for (size_t from = 0; from < scalar_count; ++from) {
      SCOPED_TRACE(std::string(scalar_name[from]) + " to " + scalar_name[to]);
      if (!::testing::Test::HasFatalFailure()) {
        f(scalar_id(to), scalar_id(from));
      }
    }
  }
}

TEST(Convert, EveryPairAtEveryLevel) {
  std::mt19937_64 random(7);
  for_each_pair([&](scalar_id to, scalar_id from) {
    size_t d_size = size_of(to), s_size = size_of(from);
    for (size_t n = 0; n < 200; n += 1 + n % 3) {
      guarded_memory source(n * s_size), target(n * d_size);
      std::vector<char> a(n * s_size + 1), expected(n * d_size + 1);
      fill_random(random, from, a.data(), n);
      put(source.at_end(), a.data(), n * s_size);
      for (size_t i = 0; i < n; ++i) {
        const char *element = a.data() + i * s_size;
        if (to == from && to != scalar_id::bool_) { // a copy, whatever the bits are
          std::memcpy(expected.data() + i * d_size, element, d_size);
        } else {
          encode(to, converted(to, from, decoded(from, element)), expected.data() + i * d_size);
        }
      }
      auto verify = [&](const char *got) {
        for (size_t i = 0; i < n; ++i) {
          ASSERT_TRUE(same_element(to, got + i * d_size, expected.data() + i * d_size))
              << show(decoded(from, a.data() + i * s_size)) << " gave " << show(decoded(to, got + i * d_size))
              << ", not " << show(decoded(to, expected.data() + i * d_size));
        }
      };
      for_each_level([&](const isa_table &table) {
        batch_fn f = table.convert(to, from);
        char *d = target.at_end();
        EXPECT_EQ(f(d, source.at_end(), nullptr, nullptr, n, nullptr), 0u);
        verify(d);
        if (d_size == s_size) {
          put(d, a.data(), n * s_size);
          f(d, d, nullptr, nullptr, n, nullptr);
          verify(d);
        }
      });
    }
  });
}

TEST(Convert, StreamingCopies) {
  for_each_level([&](const isa_table &table) {
    const scalar_id of_size[] = {scalar_id::uint8, scalar_id::uint16, scalar_id::uint32, scalar_id::uint64,
                                 scalar_id::complex128};
    for (int log2 = 0; log2 < 5; ++log2) {
      batch_fn copy = table.convert_stream(error_mode::nocheck, of_size[log2], of_size[log2]);
      for (size_t n : {0, 1, 7, 63, 64, 65, 200, 3001}) {
        for (size_t shift : {0, 1, 8, 40}) {
          std::vector<char> a((n << log2) + 100), d(a.size() + 64, 1), e = d;
          for (size_t i = 0; i < a.size(); ++i) {
            a[i] = char(i * 7);
          }
          put(e.data() + shift, a.data() + 3, n << log2);
          copy(d.data() + shift, a.data() + 3, nullptr, nullptr, n, nullptr);
          EXPECT_EQ(d, e);
        }
      }
    }
  });
}

TEST(SwapBytes, ReversesEveryComponent) {
  std::mt19937_64 random(23);
  for (size_t type = 0; type < scalar_count; ++type) {
    SCOPED_TRACE(scalar_name[type]);
    size_t size = scalar_size[type], part = is_complex_id(scalar_id(type)) ? size / 2 : size;
    for_each_level([&](const isa_table &table) {
      batch_fn swap = table.swap_bytes(scalar_id(type));
      ASSERT_EQ(swap == nullptr, size == 1);
      for (size_t n = 0; swap && n < 150; ++n) {
        guarded_memory source(n * size), target(n * size);
        std::vector<char> expected(n * size);
        for (size_t i = 0; i < n * size; ++i) {
          char byte = char(random());
          source.at_end()[i] = byte;
          expected[i / part * part + (part - 1 - i % part)] = byte;
        }
        ASSERT_EQ(swap(target.at_end(), source.at_end(), nullptr, nullptr, n, nullptr), 0u);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), target.at_end()));
        swap(source.at_end(), source.at_end(), nullptr, nullptr, n, nullptr); // in place
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), source.at_end()));
      }
    });
  }
}

/// The limits of the target, what is next to them, halves, and what awkward values the source type has.
std::vector<value> edges(scalar_id to, scalar_id from) {
  if (from == scalar_id::bool_) {
    return {{0}, {1}};
  }
  auto [to_low, to_high] = limits_of(to);
  auto [low, high] = limits_of(from);
  const long double limits[] = {to_low,  to_high, 65504,   65519,   65520,   65535, 0x1p-14L,
                                0x1p11L, 0x1p24L, 0x1p53L, 0x1p31L, 0x1p63L, 0,     1};
  std::vector<long double> numbers;
  for (long double limit : limits) {
    for (long double sign : {1, -1}) {
      for (long double step : {0.0L, 0.5L, 1.0L, 2.0L, -0.5L, -1.0L, -2.0L}) {
        long double x = sign * limit + step;
        if (has_fraction(from) || (x >= low && x <= high)) {
          numbers.push_back(has_fraction(from) ? x : std::trunc(x));
        }
      }
    }
  }
  if (from == scalar_id::float16) {
    for (uint32_t bits = 0; bits < 0x10000; bits += 61) {
      numbers.push_back(value_of(float16{uint16_t(bits)}));
    }
    for (uint16_t bits : {0x7c00, 0xfc00, 0x7e00, 0x8000, 1, 0x7bff}) {
      numbers.push_back(value_of(float16{bits}));
    }
  } else if (has_fraction(from)) {
    bool narrow = size_of(from) / (is_complex_id(from) ? 2 : 1) == 4;
    auto next = [&](double x, double towards) {
      return narrow ? (long double)std::nextafter(float(x), float(towards)) : (long double)std::nextafter(x, towards);
    };
    long double smallest = narrow ? (long double)0x1p-149f : (long double)0x1p-1074;
    long double smallest_normal = narrow ? (long double)0x1p-126f : (long double)0x1p-1022;
    for (long double x :
         {(long double)INFINITY, (long double)NAN, high, smallest, smallest_normal, -0.0L, 0x1.ffffffp127L,
          next(0x1.ffffffp127, 0), next(65520, 0), 0x1p-25L, next(0x1p-25, 1), next(1, 2), next(0x1p63, 0)}) {
      numbers.push_back(x);
      numbers.push_back(-x);
    }
  }
  std::vector<value> values;
  for (long double x : numbers) {
    if (!is_complex_id(from)) {
      values.push_back({x});
      continue;
    }
    for (long double y : {0.0L, -0.0L, 1.0L, (long double)NAN}) {
      values.push_back({x, y});
      values.push_back({y, x});
    }
  }
  return values;
}

/// The functions of one pair of types, mode and level.
struct checked_pair {
  scalar_id to, from;
  error_mode mode;
  batch_fn checked, stream, unchecked;

  bool refuses(const char *element) const { return is_refused(to, from, decoded(from, element), mode); }
};

template <class F> void for_each_checked_pair(F f) {
  for_each_pair([&](scalar_id to, scalar_id from) {
    for (error_mode mode : modes) {
      SCOPED_TRACE("mode " + std::to_string(int(mode)));
      for_each_level([&](const isa_table &table) {
        f(checked_pair{to, from, mode, table.convert_checked(mode, to, from), table.convert_stream(mode, to, from),
                       table.convert(to, from)});
      });
    }
  });
}

TEST(CheckedConvert, EveryEdgeIsRefusedOrConvertedAsWithoutACheck) {
  for_each_checked_pair([](const checked_pair &pair) {
    size_t d_size = size_of(pair.to), s_size = size_of(pair.from);
    char one[16];
    encode(pair.from, {1}, one);
    for (value edge : edges(pair.to, pair.from)) {
      char x[16], got[16], expected[16], before[16];
      encode(pair.from, edge, x);
      std::memset(got, 0x5a, sizeof got);
      std::memset(before, 0x5a, sizeof before);
      pair.unchecked(expected, x, nullptr, nullptr, 1, nullptr);
      bool bad = pair.checked(got, x, nullptr, nullptr, 1, nullptr) != 0;
      ASSERT_EQ(bad, pair.refuses(x)) << show(edge);
      ASSERT_TRUE(same_element(pair.to, got, bad ? before : expected)) << show(edge);
      // The same in a vector, among values that every type has.
      char many[35 * 16], all[35 * 16];
      for (size_t i = 0; i < 35; i++) {
        std::memcpy(many + i * s_size, i == 9 ? x : one, s_size);
      }
      std::memset(all, 0x5a, sizeof all);
      ASSERT_EQ(pair.checked(all, many, nullptr, nullptr, 35, nullptr) != 0, bad) << show(edge);
      ASSERT_TRUE(same_element(pair.to, all + 9 * d_size, bad ? before : expected)) << show(edge);
    }
  });
}

/// Bad elements at any place of a block, in vectors and in what is left over; pieces with a bad one are not written.
TEST(CheckedConvert, ABadElementAnywhereIsFound) {
  std::mt19937_64 random(17);
  for_each_checked_pair([&](const checked_pair &pair) {
    size_t d_size = size_of(pair.to), s_size = size_of(pair.from);
    bool truth = pair.to == scalar_id::bool_ || pair.from == scalar_id::bool_;
    for (size_t n : {0, 1, 15, 16, 33, 67, 67, 67, 67, 67, 67, 1100}) { // with another bad value each time
      char bad_value[16];
      bool has_bad = false;
      for (int attempt = 0; attempt < 60 && !has_bad; attempt++) {
        fill_random(random, pair.from, bad_value, 1);
        has_bad = pair.refuses(bad_value);
      }
      std::vector<char> a(n * s_size + 1), before(n * d_size + 1), expected(n * d_size + 1);
      for (size_t i = 0; i < n; i++) {
        encode(pair.from, {(long double)(random() % (truth ? 2 : 100))}, a.data() + i * s_size);
        encode(pair.to, {1}, before.data() + i * d_size);
      }
      pair.unchecked(expected.data(), a.data(), nullptr, nullptr, n, nullptr);
      auto is = [&](const std::vector<char> &got, const std::vector<char> &wanted, size_t i) {
        return same_element(pair.to, got.data() + i * d_size, wanted.data() + i * d_size);
      };
      for (batch_fn f : {pair.checked, pair.stream}) {
        std::vector<char> got = before;
        ASSERT_EQ(f(got.data(), a.data(), nullptr, nullptr, n, nullptr), 0u);
        for (size_t i = 0; i < n; i++) {
          ASSERT_TRUE(is(got, expected, i)) << i;
        }
        if (n == 0 || !has_bad) {
          continue;
        }
        size_t at = random() % n;
        std::vector<char> b = a;
        std::memcpy(b.data() + at * s_size, bad_value, s_size);
        got = before;
        ASSERT_NE(f(got.data(), b.data(), nullptr, nullptr, n, nullptr), 0u) << "at " << at;
        for (size_t i = 0; i < n; i++) {
          ASSERT_TRUE(is(got, before, i) || (i != at && is(got, expected, i))) << i;
        }
      }
    }
  });
}

TEST(CheckedConvert, WhatCannotFailIsNotChecked) {
  for_each_level([](const isa_table &table) {
    auto is_checked = [&](error_mode mode, scalar_id to, scalar_id from) {
      return table.convert_checked(mode, to, from) != table.convert(to, from);
    };
    for (error_mode mode : modes) {
      EXPECT_FALSE(is_checked(mode, scalar_id::int32, scalar_id::int32));
      EXPECT_FALSE(is_checked(mode, scalar_id::float64, scalar_id::int32));
      EXPECT_FALSE(is_checked(mode, scalar_id::int16, scalar_id::uint8));
      EXPECT_FALSE(is_checked(mode, scalar_id::int8, scalar_id::bool_));
      EXPECT_FALSE(is_checked(mode, scalar_id::float64, scalar_id::float32));
      EXPECT_FALSE(is_checked(mode, scalar_id::float32, scalar_id::float16));
      EXPECT_FALSE(is_checked(mode, scalar_id::float16, scalar_id::uint8));
      EXPECT_FALSE(is_checked(mode, scalar_id::complex128, scalar_id::complex64));
      EXPECT_FALSE(is_checked(mode, scalar_id::complex64, scalar_id::int16));
    }
    EXPECT_FALSE(is_checked(error_mode::fractional, scalar_id::float16, scalar_id::int16));
    EXPECT_TRUE(is_checked(error_mode::overflow, scalar_id::float16, scalar_id::uint16));
    EXPECT_TRUE(is_checked(error_mode::overflow, scalar_id::float64, scalar_id::complex64));
    EXPECT_FALSE(is_checked(error_mode::fractional, scalar_id::float32, scalar_id::int64));
    EXPECT_TRUE(is_checked(error_mode::inexact, scalar_id::float32, scalar_id::int64));
    EXPECT_TRUE(is_checked(error_mode::overflow, scalar_id::uint64, scalar_id::int8));
  });
}

} // namespace
} // namespace dynd::testing
