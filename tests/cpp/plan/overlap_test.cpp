#include "dynd/plan/overlap.h"

#include <gtest/gtest.h>

#include "tests/cpp/plan/naive.h"

using namespace dynd;
using namespace dynd::plan_test;

namespace {

touched bytes(uintptr_t address, const numbers &sizes, const numbers &strides, intptr_t item_size) {
  return touched_bytes(reinterpret_cast<const void *>(address), sizes, strides.data(), item_size);
}

} // namespace

TEST(touched_bytes, from_the_first_byte_to_just_past_the_last) {
  EXPECT_EQ(bytes(100, {3, 4}, {16, 4}, 4), (touched{100, 148, 4, 4}));
  EXPECT_EQ(bytes(100, {3, 4}, {-16, 4}, 4), (touched{68, 116, 4, 4}));
  EXPECT_EQ(bytes(100, {3}, {-8}, 8), (touched{84, 108, 8, 8}));
  EXPECT_EQ(bytes(100, {}, {}, 8), (touched{100, 108, 0, 8}));
  EXPECT_EQ(bytes(100, {1, 5}, {999, 0}, 8), (touched{100, 108, 0, 8}));
}

TEST(touched_bytes, of_nothing_are_none) {
  EXPECT_EQ(bytes(100, {3, 0}, {16, 4}, 4), (touched{100, 100}));
  EXPECT_EQ(bytes(100, {0}, {-8}, 8), (touched{100, 100}));
}

TEST(touched_bytes, outside_the_address_space_are_everything) {
  touched everything = {0, UINTPTR_MAX};
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
        touched found = bytes(1000, size, stride, 4);
        EXPECT_EQ(found.low, 1000 + static_cast<uintptr_t>(visits.front()[0]));
        EXPECT_EQ(found.high, 1004 + static_cast<uintptr_t>(visits.back()[0]));
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

TEST(may_overlap, columns_of_one_table_do_not) {
  EXPECT_FALSE(may_overlap(bytes(1000, {9}, {24}, 8), bytes(1008, {9}, {24}, 8)));  // x[:, 0], x[:, 1]
  EXPECT_FALSE(may_overlap(bytes(1008, {9}, {24}, 8), bytes(1000, {9}, {24}, 8)));  // and the other way round
  EXPECT_FALSE(may_overlap(bytes(1000, {9}, {16}, 8), bytes(1136, {9}, {-16}, 8))); // a[::2], a[1::2][::-1]
  EXPECT_FALSE(may_overlap(bytes(1000, {4, 3}, {96, 32}, 8), bytes(1072, {2, 3}, {96, 32}, 8)));
  EXPECT_TRUE(may_overlap(bytes(1000, {9}, {24}, 16), bytes(1008, {9}, {24}, 8))); // x[:, :2], x[:, 1]
  EXPECT_TRUE(may_overlap(bytes(1000, {9}, {24}, 8), bytes(1020, {9}, {24}, 8)));  // reaches into the next row
  EXPECT_TRUE(may_overlap(bytes(1000, {9}, {24}, 8), bytes(1008, {9}, {16}, 8)));  // a[::3], a[1::2]
}

TEST(may_overlap, is_said_wherever_a_naive_walk_finds_a_byte_of_both) {
  std::vector<operand> views;
  for (intptr_t first : {-40, -12, 8, 24}) {
    for (intptr_t second : {-8, 0, 4, 12}) {
      views.push_back({{3, 4}, {first, second}});
      views.push_back({{2, 1}, {first, second}});
    }
  }
  int disjoint = 0, told_apart = 0;
  for (const operand &a : views) {
    for (const operand &b : views) {
      for (uintptr_t apart = 0; apart < 48; apart += 3) {
        std::vector<bool> mine(4000);
        for (const numbers &visit : naive_visits(a.size, {a})) {
          std::fill_n(mine.begin() + 1000 + visit[0], 4, true);
        }
        bool shared = false;
        for (const numbers &visit : naive_visits(b.size, {b})) {
          auto at = mine.begin() + 1000 + intptr_t(apart) + visit[0];
          shared |= std::find(at, at + 8, true) != at + 8;
        }
        bool said = may_overlap(bytes(1000, a.size, a.stride, 4), bytes(1000 + apart, b.size, b.stride, 8));
        ASSERT_TRUE(said || !shared) << shape_text(a.stride) << " " << shape_text(b.stride) << " " << apart;
        disjoint += !shared;
        told_apart += !said;
      }
    }
  }
  EXPECT_GT(2 * told_apart, disjoint); // most of what is disjoint is known to be
}
