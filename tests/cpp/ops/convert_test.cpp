// Checked conversions at every level against a definition over long double, which holds every value of every type.
#include "level_testing.h"

namespace dynd::testing {
namespace {

constexpr error_mode modes[] = {error_mode::nocheck, error_mode::overflow, error_mode::fractional, error_mode::inexact};

template <class To> bool is_refused(long double x, error_mode mode, bool to_bool, bool from_integer) {
  if (mode == error_mode::nocheck) {
    return false;
  }
  if (to_bool) {
    return x != 0 && x != 1;
  }
  if constexpr (std::is_floating_point_v<To>) {
    bool overflows = !from_integer && std::isfinite(x) && std::isinf(To(x));
    return overflows || (mode == error_mode::inexact && !std::isnan(x) && (long double)To(x) != x);
  } else {
    bool inside = x >= (long double)std::numeric_limits<To>::min() && x <= (long double)std::numeric_limits<To>::max();
    return !inside || (mode != error_mode::overflow && std::floor(x) != x);
  }
}

/// The limits of the target, what is next to them, halves, and what awkward values the source type has.
template <class From, class To> std::vector<From> edges(scalar_id from) {
  std::vector<From> values;
  if (from == scalar_id::bool_) {
    return {From(0), From(1)};
  }
  const long double limits[] = {(long double)std::numeric_limits<To>::lowest(),
                                (long double)std::numeric_limits<To>::max(),
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
        if (std::is_floating_point_v<From> || (x >= (long double)std::numeric_limits<From>::min() &&
                                               x <= (long double)std::numeric_limits<From>::max())) {
          values.push_back(From(x));
        }
      }
    }
  }
  if constexpr (std::is_floating_point_v<From>) {
    using limits_of = std::numeric_limits<From>;
    for (From x : {limits_of::infinity(), limits_of::quiet_NaN(), limits_of::max(), limits_of::denorm_min(),
                   limits_of::min(), From(-0.0), From(0x1.ffffffp127), std::nextafter(From(0x1.ffffffp127), From(0)),
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
          bool integer = !std::is_floating_point_v<From>;
          long double value = from == scalar_id::bool_ ? (long double)(x != 0) : (long double)x;
          return is_refused<To>(value, mode, to == scalar_id::bool_, integer) && from != to;
        };
        for_each_level([&](const level_table &table) {
          f(tag<To>{}, tag<From>{}, to, from, table.convert_checked[size_t(mode)][size_t(to)][size_t(from)],
            table.convert_stream[size_t(mode)][size_t(to)][size_t(from)], table.convert[size_t(to)][size_t(from)],
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
      From bad_value = From(1);
      bool has_bad = false;
      for (int attempt = 0; attempt < 60 && !has_bad; attempt++) {
        bad_value = random_value<From>(random, from);
        has_bad = refused(bad_value);
      }
      for (From &x : a) {
        x = From(to == scalar_id::bool_ || from == scalar_id::bool_ ? random() % 2 : random() % 100);
      }
      for (block_fn f : {checked, stream}) {
        std::vector<To> expected(n), got(n, To(1));
        unchecked(expected.data(), a.data(), nullptr, nullptr, n, nullptr);
        ASSERT_EQ(f(got.data(), a.data(), nullptr, nullptr, n, nullptr), 0u);
        ASSERT_EQ(got, expected);
        if (n == 0 || !has_bad) {
          continue;
        }
        size_t at = random() % n;
        std::vector<From> b = a;
        b[at] = bad_value;
        std::vector<To> before(n, To(1));
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
  for_each_level([](const level_table &table) {
    auto is_checked = [&](error_mode mode, scalar_id to, scalar_id from) {
      return table.convert_checked[size_t(mode)][size_t(to)][size_t(from)] != table.convert[size_t(to)][size_t(from)];
    };
    for (error_mode mode : modes) {
      EXPECT_FALSE(is_checked(mode, scalar_id::int32, scalar_id::int32));
      EXPECT_FALSE(is_checked(mode, scalar_id::float64, scalar_id::int32));
      EXPECT_FALSE(is_checked(mode, scalar_id::int16, scalar_id::uint8));
      EXPECT_FALSE(is_checked(mode, scalar_id::int8, scalar_id::bool_));
      EXPECT_FALSE(is_checked(mode, scalar_id::float64, scalar_id::float32));
    }
    EXPECT_FALSE(is_checked(error_mode::fractional, scalar_id::float32, scalar_id::int64));
    EXPECT_TRUE(is_checked(error_mode::inexact, scalar_id::float32, scalar_id::int64));
    EXPECT_TRUE(is_checked(error_mode::overflow, scalar_id::uint64, scalar_id::int8));
  });
}

} // namespace
} // namespace dynd::testing
