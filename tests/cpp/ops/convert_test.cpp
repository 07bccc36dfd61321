// Checked conversions at every level against a definition over long double, which holds every value of every type.
#include "level_testing.h"

namespace dynd::testing {
namespace {

constexpr error_mode modes[] = {error_mode::nocheck, error_mode::overflow, error_mode::fractional, error_mode::inexact};

template <class To> bool is_refused(long double x, error_mode mode, bool to_bool) {
  if (mode == error_mode::nocheck) {
    return false;
  }
  if (to_bool) {
    return x != 0 && x != 1;
  }
  if constexpr (is_half<To> || std::is_floating_point_v<To>) {
    long double found;
    if constexpr (is_half<To>) {
      found = value_of(nearest_float16(x));
    } else {
      found = To(x);
    }
    return (std::isfinite(x) && std::isinf(found)) || (mode == error_mode::inexact && !std::isnan(x) && found != x);
  } else {
    bool inside = x >= (long double)std::numeric_limits<To>::min() && x <= (long double)std::numeric_limits<To>::max();
    return !inside || (mode != error_mode::overflow && std::floor(x) != x);
  }
}

/// Of any pair of types, by their real types. A complex number is 0 or 1 only without an imaginary component.
template <class To, class From> bool is_refused_value(From x, error_mode mode, bool to_bool, bool from_bool) {
  using real = std::conditional_t<is_half<To>, To, typename real_of<To>::type>;
  if constexpr (is_complex_type<From>) {
    bool real_refused = is_refused<real>(x.real, mode, to_bool);
    if constexpr (is_complex_type<To>) {
      return real_refused || is_refused<real>(x.imag, mode, to_bool);
    } else {
      return real_refused || (mode != error_mode::nocheck && x.imag != 0);
    }
  } else if constexpr (is_half<From>) {
    return is_refused<real>(value_of(x), mode, to_bool);
  } else {
    return is_refused<real>(from_bool ? (long double)(x != 0) : (long double)x, mode, to_bool);
  }
}

/// The limits of the target, what is next to them, halves, and what awkward values the source type has.
template <class From, class To> std::vector<From> edges(scalar_id from) {
  std::vector<From> values;
  if (from == scalar_id::bool_) {
    return {make<From>(0), make<From>(1)};
  }
  if constexpr (is_complex_type<From>) {
    using part = typename real_of<From>::type;
    for (part x : edges<part, To>(from)) {
      for (part y : {part(0), part(-0.0), part(1), part(NAN)}) {
        values.push_back({x, y});
        values.push_back({y, x});
      }
    }
    return values;
  }
  using limits_of_target = std::numeric_limits<typename real_of<To>::type>;
  const long double limits[] = {(long double)limits_of_target::lowest(),
                                (long double)limits_of_target::max(),
                                65504,
                                65519,
                                65520,
                                65535,
                                0x1p-14L,
                                0x1p11L,
                                0x1p24L,
                                0x1p53L,
                                0x1p31L,
                                0x1p63L,
                                0,
                                1};
  for (long double limit : limits) {
    for (long double sign : {1, -1}) {
      for (long double step : {0.0L, 0.5L, 1.0L, 2.0L, -0.5L, -1.0L, -2.0L}) {
        long double x = sign * limit + step;
        using limits_of_source = std::numeric_limits<typename real_of<From>::type>;
        if (!std::is_integral_v<From> ||
            (x >= (long double)limits_of_source::min() && x <= (long double)limits_of_source::max())) {
          values.push_back(make<From>(x));
        }
      }
    }
  }
  if constexpr (is_half<From>) {
    for (uint32_t bits = 0; bits < 0x10000; bits += 61) {
      values.push_back({uint16_t(bits)});
    }
    values.insert(values.end(), {From{0x7c00}, From{0xfc00}, From{0x7e00}, From{0x8000}, From{1}, From{0x7bff}});
  } else if constexpr (std::is_floating_point_v<From>) {
    using limits_of = std::numeric_limits<From>;
    for (From x : {limits_of::infinity(), limits_of::quiet_NaN(), limits_of::max(), limits_of::denorm_min(),
                   limits_of::min(), From(-0.0), From(0x1.ffffffp127), std::nextafter(From(0x1.ffffffp127), From(0)),
                   std::nextafter(From(65520), From(0)), From(0x1p-25), std::nextafter(From(0x1p-25), From(1)),
                   std::nextafter(From(1), From(2)), std::nextafter(From(0x1p63), From(0))}) {
      values.push_back(x);
      values.push_back(-x);
    }
  }
  return values;
}

template <class F> void for_each_checked_pair(F f) {
  for_each_scalar([&]<class To>(tag<To>, scalar_id to) {
    for_each_scalar([&]<class From>(tag<From>, scalar_id from) {
      for (error_mode mode : modes) {
        SCOPED_TRACE(std::string(scalar_name[size_t(from)]) + " to " + scalar_name[size_t(to)] + ", mode " +
                     std::to_string(int(mode)));
        auto refused = [&](From x) {
          return is_refused_value<To>(x, mode, to == scalar_id::bool_, from == scalar_id::bool_) && from != to;
        };
        for_each_level([&](const isa_table &table) {
          f(tag<To>{}, tag<From>{}, to, from, table.convert_checked(mode, to, from),
            table.convert_stream(mode, to, from), table.convert(to, from),
            refused);
        });
      }
    });
  });
}

TEST(CheckedConvert, EveryEdgeIsRefusedOrConvertedAsWithoutACheck) {
  for_each_checked_pair([]<class To, class From>(tag<To>, tag<From>, scalar_id, scalar_id from, block_fn checked,
                                                 block_fn, block_fn unchecked, auto refused) {
    for (From x : edges<From, To>(from)) {
      To got, expected, before;
      std::memset(&got, 0x5a, sizeof(To));
      before = got;
      unchecked(&expected, &x, nullptr, nullptr, 1, nullptr);
      bool bad = checked(&got, &x, nullptr, nullptr, 1, nullptr) != 0;
      ASSERT_EQ(bad, refused(x)) << show(x);
      ASSERT_TRUE(same_bits(got, bad ? before : expected)) << show(x) << " gave " << show(got);
      // The same in a vector, among values that every type has.
      From many[35];
      To all[35];
      std::fill_n(many, 35, make<From>(1));
      std::fill_n(all, 35, before);
      many[9] = x;
      ASSERT_EQ(checked(all, many, nullptr, nullptr, 35, nullptr) != 0, bad) << show(x);
      ASSERT_TRUE(same_bits(all[9], bad ? before : expected)) << show(x) << " gave " << show(all[9]);
    }
  });
}

/// Bad elements at any place of a block, in vectors and in what is left over; pieces with a bad one are not written.
TEST(CheckedConvert, ABadElementAnywhereIsFound) {
  std::mt19937_64 random(17);
  for_each_checked_pair([&]<class To, class From>(tag<To>, tag<From>, scalar_id to, scalar_id from, block_fn checked,
                                                  block_fn stream, block_fn unchecked, auto refused) {
    for (size_t n : {0, 1, 15, 16, 33, 67, 1100}) {
      std::vector<From> a(n);
      From bad_value = make<From>(1);
      bool has_bad = false;
      for (int attempt = 0; attempt < 60 && !has_bad; attempt++) {
        bad_value = random_value<From>(random, from);
        has_bad = refused(bad_value);
      }
      for (From &x : a) {
        x = make<From>(to == scalar_id::bool_ || from == scalar_id::bool_ ? random() % 2 : random() % 100);
      }
      for (block_fn f : {checked, stream}) {
        std::vector<To> expected(n), got(n, make<To>(1));
        unchecked(expected.data(), a.data(), nullptr, nullptr, n, nullptr);
        ASSERT_EQ(f(got.data(), a.data(), nullptr, nullptr, n, nullptr), 0u);
        ASSERT_TRUE(same_bits(got, expected));
        if (n == 0 || !has_bad) {
          continue;
        }
        size_t at = random() % n;
        std::vector<From> b = a;
        b[at] = bad_value;
        std::vector<To> before(n, make<To>(1));
        got = before;
        ASSERT_NE(f(got.data(), b.data(), nullptr, nullptr, n, nullptr), 0u) << show(bad_value) << " at " << at;
        for (size_t i = 0; i < n; i++) {
          ASSERT_TRUE(same_bits(got[i], before[i]) || (i != at && same_bits(got[i], expected[i]))) << i;
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
