#include "dynd/plan/overlap.h"

#include <gtest/gtest.h>

#include "tests/cpp/plan/naive.h"

using namespace dynd;
using namespace dynd::plan_test;

namespace {

byte_interval bytes(uintptr_t address, const numbers &sizes, const numbers &strides, intptr_t item_size) {
  return touched_bytes(reinterpret_cast<const void *>(address), sizes, strides.data(), item_size);
}

} // namespace

TEST(touched_bytes, from_the_first_byte_to_just_past_the_last) {
  EXPECT_EQ(bytes(100, {3, 4}, {16, 4}, 4), (byte_interval{100, 148}));
  EXPECT_EQ(bytes(100, {3, 4}, {-16, 4}, 4), (byte_interval{68, 116}));
  EXPECT_EQ(bytes(100, {3}, {-8}, 8), (byte_interval{84, 108}));
  EXPECT_EQ(bytes(100, {}, {}, 8), (byte_interval{100, 108}));
  EXPECT_EQ(bytes(100, {1, 5}, {999, 0}, 8), (byte_interval{100, 108}));
}

TEST(touched_bytes, of_nothing_are_none) {
  EXPECT_EQ(bytes(100, {3, 0}, {16, 4}, 4), (byte_interval{100, 100}));
  EXPECT_EQ(bytes(100, {0}, {-8}, 8), (byte_interval{100, 100}));
}

TEST(touched_bytes, outside_the_address_space_are_everything) {
  byte_interval everything = {0, UINTPTR_MAX};
  EXPECT_EQ(bytes(100, {INTPTR_MAX}, {INTPTR_MAX}, 8), everything);
  EXPECT_EQ(bytes(100, {100}, {-8}, 8), everything);
  EXPECT_EQ(bytes(UINTPTR_MAX - 7, {100}, {8}, 8), everything);
}

TEST(touched_bytes, are_those_of_a_naive_walk) {
  for (intptr_t first : {-24, -8, 0, 8, 40})
    for (intptr_t second : {-8, 0, 4, 8})
      for (const numbers &size : {numbers{3, 4}, numbers{1, 4}, numbers{3, 1}, numbers{2, 2}}) {
        numbers stride = {first, second};
        std::vector<numbers> visits = sorted(naive_visits(size, {{size, stride}}));
        byte_interval expected = {1000 + static_cast<uintptr_t>(visits.front()[0]),
                                  1004 + static_cast<uintptr_t>(visits.back()[0])};
        EXPECT_EQ(bytes(1000, size, stride, 4), expected);
      }
}

TEST(may_overlap, where_intervals_share_a_byte) {
  EXPECT_TRUE(may_overlap({10, 20}, {19, 30}));
  EXPECT_TRUE(may_overlap({19, 30}, {10, 20}));
  EXPECT_TRUE(may_overlap({10, 20}, {12, 13}));
  EXPECT_TRUE(may_overlap({10, 20}, {10, 20}));
  EXPECT_FALSE(may_overlap({10, 20}, {20, 30}));
  EXPECT_FALSE(may_overlap({20, 30}, {10, 20}));
}

TEST(may_overlap, never_with_nothing) {
  EXPECT_FALSE(may_overlap({15, 15}, {10, 20}));
  EXPECT_FALSE(may_overlap({10, 20}, {15, 15}));
  EXPECT_FALSE(may_overlap({15, 15}, {15, 15}));
}

TEST(may_overlap, shifted_views_do) {
  EXPECT_TRUE(may_overlap(bytes(1008, {9}, {8}, 8), bytes(1000, {9}, {8}, 8)));  // a[1:] = a[:-1]
  EXPECT_FALSE(may_overlap(bytes(1000, {5}, {8}, 8), bytes(1040, {5}, {8}, 8))); // a[:5] = a[5:]
}
