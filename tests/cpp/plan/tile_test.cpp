#include "dynd/plan/tile.h"

#include <gtest/gtest.h>

#include "tests/cpp/plan/naive.h"

using namespace dynd;
using namespace dynd::plan_test;

using rows = std::vector<numbers>;

namespace {

constexpr uint64_t bit(int stream) { return uint64_t(1) << stream; }

/// The walk of a nest of doubles; `loops` becomes the order it is walked in.
walk walk_of(rows &loops) {
  nest n = nest_of(loops);
  walk w = plan_walk(n, numbers(max_streams, 8).data());
  loops = loops_of(n);
  return w;
}

void expect_walk(rows loops, walk_kind kind, uint64_t fetched) {
  rows before = loops;
  walk w = walk_of(loops);
  EXPECT_EQ(w.kind, kind);
  EXPECT_EQ(w.fetched, fetched);
  EXPECT_EQ(loops, before);
}

} // namespace

TEST(plan_walk, one_loop_is_flat) {
  expect_walk({{1000, 8, 8}}, walk_kind::flat, 0);
  expect_walk({{3, 8, 8}}, walk_kind::flat, 0);
  expect_walk({{0, 8, 8}}, walk_kind::flat, 0);
}

TEST(plan_walk, long_rows_of_the_same_order_are_flat) {
  expect_walk({{100, 640, 1280}, {80, 8, 8}}, walk_kind::flat, 0);
  expect_walk({{100, 640, 1280}, {80, 8, 16}}, walk_kind::flat, 0);
  expect_walk({{100, 640, 1280}, {80, 8, -8}}, walk_kind::flat, 0);
}

TEST(plan_walk, value_of_a_row_is_not_a_panel) {
  expect_walk({{100, 1280, 8, 0}, {160, 8, 0, 8}}, walk_kind::flat, 0); // outer sum
}

TEST(plan_walk, sliding_window_is_not_a_panel) { expect_walk({{100, 640, 8}, {80, 8, 8}}, walk_kind::flat, 0); }

TEST(plan_walk, short_rows_are_collected) {
  expect_walk({{1000, 32, 32}, {3, 8, 8}}, walk_kind::small_rows, 0);
  expect_walk({{1000, 24, 32}, {3, 8, 8}}, walk_kind::small_rows, 0);
  expect_walk({{1000, 24, 8, 0}, {3, 8, 0, 8}}, walk_kind::small_rows, 0);
  expect_walk({{1000, 24, 8}, {3, 8, 8000}}, walk_kind::small_rows, 0); // structure of arrays to array of structs
}

TEST(plan_walk, thirty_two_elements_with_gaps_are_a_long_row) {
  expect_walk({{1000, 512, 512}, {31, 8, 16}}, walk_kind::small_rows, 0);
  expect_walk({{1000, 512, 512}, {32, 8, 16}}, walk_kind::flat, 0);
  expect_walk({{1000, 512, 512}, {32, 8, -8}}, walk_kind::flat, 0);
}

TEST(plan_walk, half_a_kilobyte_is_a_long_row) {
  auto kind_of = [](intptr_t size, intptr_t item, const rows &loops) {
    rows own = loops;
    own.back()[0] = size;
    nest n = nest_of(own);
    return plan_walk(n, numbers{item, item, item}.data()).kind;
  };
  for (intptr_t item : {1, 2, 4, 8}) {
    rows alike = {{1000, 600, 600, 600}, {0, item, item, item}},
         constant = {{1000, 600, item, 600}, {0, item, 0, item}};
    for (const rows &loops : {alike, constant}) {
      EXPECT_EQ(kind_of(512 / item - 1, item, loops), walk_kind::small_rows) << item;
      EXPECT_EQ(kind_of(512 / item, item, loops), walk_kind::flat) << item;
    }
  }
  rows wide = {{1000, 1600, 1600, 1600}, {0, 16, 16, 16}}; // counted as if they were of eight bytes
  EXPECT_EQ(kind_of(63, 16, wide), walk_kind::small_rows);
  EXPECT_EQ(kind_of(64, 16, wide), walk_kind::flat);
  nest mixed = nest_of({{1000, 100, 800}, {60, 1, 8}}); // the widest counts
  EXPECT_EQ(plan_walk(mixed, numbers{1, 8}.data()).kind, walk_kind::small_rows);
  mixed = nest_of({{1000, 100, 800}, {64, 1, 8}});
  EXPECT_EQ(plan_walk(mixed, numbers{1, 8}.data()).kind, walk_kind::flat);
}

TEST(plan_walk, rows_that_follow_each_other_are_collected_up_to_1280_bytes) {
  expect_walk({{1000, 1272, 8, 0}, {159, 8, 0, 8}}, walk_kind::small_rows, 0);
  expect_walk({{1000, 1280, 8, 0}, {160, 8, 0, 8}}, walk_kind::flat, 0);
  expect_walk({{1000, 1272, 1272}, {159, 8, 8}}, walk_kind::small_rows, 0);
  expect_walk({{1000, 1272, 1280}, {159, 8, 8}}, walk_kind::flat, 0); // a gap between rows: they would be copied
  expect_walk({{1000, 1280, 1272}, {159, 8, 8}}, walk_kind::flat, 0);
  expect_walk({{7, 1272, 8, 0}, {159, 8, 0, 8}}, walk_kind::flat, 0); // too few to gain anything
  expect_walk({{8, 1272, 8, 0}, {159, 8, 0, 8}}, walk_kind::small_rows, 0);
}

TEST(plan_walk, short_rows_of_a_transposed_source_are_a_panel) {
  expect_walk({{100, 320, 320, 8}, {40, 8, 8, 800}}, walk_kind::panel, bit(2));
}

TEST(plan_walk, transposed_source_is_a_panel) {
  expect_walk({{100, 320, 320, 8}, {40, 8, 8, 800}}, walk_kind::panel, bit(2));
  expect_walk({{100, 320, 8, 8}, {40, 8, 800, -800}}, walk_kind::panel, bit(1) | bit(2));
}

TEST(plan_walk, panel_needs_a_contiguous_destination) {
  expect_walk({{100, 640, 8}, {40, 16, 800}}, walk_kind::flat, 0);
  expect_walk({{100, 0, 8}, {40, 0, 800}}, walk_kind::flat, 0);
}

TEST(plan_walk, item_sizes_are_those_of_each_stream) {
  nest n = nest_of({{100, 320, 4}, {40, 8, 400}});
  walk w = plan_walk(n, numbers{8, 4}.data());
  EXPECT_EQ(w.kind, walk_kind::panel);
  EXPECT_EQ(plan_walk(n, numbers{8, 2}.data()).kind, walk_kind::flat); // pairs of two bytes: not side by side
}

TEST(plan_walk, paired_loop_becomes_the_second_innermost) {
  rows loops = {{10, 32000, 8}, {100, 320, 80}, {40, 8, 8000}};
  walk w = walk_of(loops);
  EXPECT_EQ(w.kind, walk_kind::panel);
  EXPECT_EQ(w.fetched, bit(1));
  EXPECT_EQ(loops, (rows{{100, 320, 80}, {10, 32000, 8}, {40, 8, 8000}}));
}

TEST(plan_walk, most_sources_choose_the_pair_then_the_first) {
  rows most = {{10, 32000, 80, 8, 8}, {100, 320, 8, 80, 80}, {40, 8, 8000, 8000, 8000}};
  EXPECT_EQ(walk_of(most).fetched, bit(2) | bit(3));
  EXPECT_EQ(most[1][0], 10);
  rows first = {{10, 32000, 80, 8}, {100, 320, 8, 80}, {40, 8, 8000, 8000}};
  EXPECT_EQ(walk_of(first).fetched, bit(1));
  EXPECT_EQ(first[1][0], 100);
  rows swapped = {{10, 32000, 8, 80}, {100, 320, 80, 8}, {40, 8, 8000, 8000}};
  EXPECT_EQ(walk_of(swapped).fetched, bit(1));
  EXPECT_EQ(swapped[1][0], 10);
}

TEST(plan_walk, every_stream_has_its_bit) {
  rows loops = {numbers(max_streams + 1, 8), numbers(max_streams + 1, 800)};
  loops[0][0] = 100, loops[1][0] = 40;
  loops[0][1] = 320, loops[1][1] = 8;
  uint64_t sources = 0;
  for (int s = 1; s < max_streams; ++s)
    sources |= bit(s);
  expect_walk(loops, walk_kind::panel, sources);
}

TEST(plan_walk, planned_transpose_is_a_panel) {
  operand c = c_array({50, 70}), transposed = {{50, 70}, {8, 400}};
  nest n = planned({50, 70}, {c, c, transposed});
  walk w = plan_walk(n, numbers{8, 8, 8}.data());
  EXPECT_EQ(w.kind, walk_kind::panel);
  EXPECT_EQ(w.fetched, bit(2));
}

TEST(far_panel, is_nearly_square_and_stays_in_the_cache) {
  for (int log2 : {0, 1, 2, 3, 4}) {
    for (size_t column_bytes : {1, 2, 8, 16, 40, 400}) {
      panel_shape shape = far_panel(log2, column_bytes);
      if (column_bytes == size_t(1) << log2) {
        EXPECT_TRUE(shape.columns == shape.rows || shape.columns == 2 * shape.rows);
      }
      EXPECT_TRUE(shape.columns >= 64 && shape.columns <= 512);
      EXPECT_TRUE(shape.rows >= 64 && shape.rows <= 512 && shape.rows % panel_unit == 0);
      EXPECT_TRUE(shape.rows * shape.columns * column_bytes <= size_t(1) << 18 ||
                  shape.rows * shape.columns == 64 * 64);
      panel_shape wider = shape.wider(); // in the same scratch
      EXPECT_GE(wider.rows, 64);
      EXPECT_LE(wider.rows * wider.stride(log2), shape.rows * shape.stride(log2));
    }
  }
}
