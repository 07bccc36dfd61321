#include "dynd/plan/nest.h"

#include <gtest/gtest.h>

#include "dynd/base/errors.h"
#include "tests/cpp/plan/naive.h"

using namespace dynd;
using namespace dynd::plan_test;

using rows = std::vector<numbers>;

namespace {

template <typename Step> rows after(Step step, const rows &loops) {
  nest n = nest_of(loops);
  step(n);
  return loops_of(n);
}

} // namespace

TEST(plan_loops, contiguous_becomes_one_loop) {
  operand a = c_array({2, 3, 4});
  EXPECT_EQ(loops_of(planned(a.size, {a, a, a})), (rows{{24, 8, 8, 8}}));
  EXPECT_EQ(loops_of(planned({5}, {c_array({5}), c_array({5})})), (rows{{5, 8, 8}}));
}

TEST(plan_loops, all_transposed_alike_becomes_one_loop) {
  operand t = {{2, 3, 4}, {8, 16, 48}};
  EXPECT_EQ(loops_of(planned(t.size, {t, t})), (rows{{24, 8, 8}}));
  operand rotated = {{2, 3, 4}, contiguous_strides({2, 3, 4}, {1, 2, 0}, 8)};
  EXPECT_EQ(loops_of(planned(rotated.size, {rotated, rotated, rotated})), (rows{{24, 8, 8, 8}}));
}

TEST(plan_loops, outer_sum_keeps_two_loops) {
  operand column = {{6, 1}, {8, 8}}, row = {{1, 5}, {40, 8}};
  EXPECT_EQ(loops_of(planned({6, 5}, {c_array({6, 5}), column, row})), (rows{{6, 40, 8, 0}, {5, 8, 0, 8}}));
}

TEST(plan_loops, sliced_inner_axis_keeps_two_loops) {
  operand sliced = {{6, 3}, {40, 8}};
  EXPECT_EQ(loops_of(planned({6, 3}, {c_array({6, 3}), sliced})), (rows{{6, 24, 40}, {3, 8, 8}}));
}

TEST(plan_loops, every_other_element_becomes_one_loop) {
  operand every_other = {{6, 3}, {48, 16}};
  EXPECT_EQ(loops_of(planned({6, 3}, {c_array({6, 3}), every_other})), (rows{{18, 8, 16}}));
}

TEST(plan_loops, row_broadcast_over_outer_axes_joins_those) {
  EXPECT_EQ(loops_of(planned({2, 3, 4}, {c_array({2, 3, 4}), c_array({4})})), (rows{{6, 32, 0}, {4, 8, 8}}));
}

TEST(plan_loops, destination_decides_the_order) {
  operand c = c_array({3, 4}), f = {{3, 4}, {8, 24}};
  EXPECT_EQ(loops_of(planned({3, 4}, {c, f})), (rows{{3, 32, 8}, {4, 8, 24}}));
  EXPECT_EQ(loops_of(planned({3, 4}, {f, c})), (rows{{4, 24, 8}, {3, 8, 32}}));
}

TEST(plan_loops, sources_decide_in_order_where_the_destination_stands_still) {
  operand still = {{}, {}}, c = c_array({3, 4}), f = {{3, 4}, {8, 24}};
  EXPECT_EQ(loops_of(planned({3, 4}, {still, f, c})), (rows{{4, 0, 24, 8}, {3, 0, 8, 32}}));
  EXPECT_EQ(loops_of(planned({3, 4}, {still, c, f})), (rows{{3, 0, 32, 8}, {4, 0, 8, 24}}));
}

TEST(plan_loops, reversed_alike_is_walked_forward) {
  operand reversed = {{2, 3}, {-24, -8}};
  nest n = planned({2, 3}, {reversed, reversed});
  EXPECT_EQ(loops_of(n), (rows{{6, 8, 8}}));
  EXPECT_EQ(offsets_of(n), (numbers{-40, -40}));
}

TEST(plan_loops, reversed_against_a_scalar_is_walked_forward) {
  nest n = planned({5}, {{{5}, {-8}}, {{}, {}}});
  EXPECT_EQ(loops_of(n), (rows{{5, 8, 0}}));
  EXPECT_EQ(offsets_of(n), (numbers{-32, 0}));
}

TEST(plan_loops, reversed_against_forward_stays) {
  nest n = planned({2, 3}, {c_array({2, 3}), {{2, 3}, {-24, -8}}});
  EXPECT_EQ(loops_of(n), (rows{{6, 8, -8}}));
  EXPECT_EQ(offsets_of(n), (numbers{0, 0}));
}

TEST(plan_loops, a_scalar_is_one_contiguous_loop_of_one) {
  nest n = make_nest({}, {c_array({}), c_array({})});
  plan_loops(n, numbers{8, 4}.data());
  EXPECT_EQ(loops_of(n), (rows{{1, 8, 4}}));
  EXPECT_FALSE(is_empty(n));
  EXPECT_EQ(loops_of(planned({1, 1}, {c_array({1, 1}), c_array({1})})), (rows{{1, 8, 8}}));
}

TEST(plan_loops, nothing_is_one_loop_of_zero) {
  for (const numbers &size : {numbers{0}, numbers{3, 0, 4}, numbers{0, 0}, numbers{1, 0}, numbers{4, 3, 0}}) {
    for (loop_order order : {loop_order::free, loop_order::keep}) {
      operand a = c_array(size), reversed = a;
      for (intptr_t &s : reversed.stride)
        s = -s - 8;
      nest n = planned(size, {reversed, reversed}, order);
      EXPECT_TRUE(is_empty(n));
      EXPECT_EQ(n.loop_count, 1);
      EXPECT_EQ(n.loops[0].size, 0);
      EXPECT_EQ(offsets_of(n), (numbers{0, 0}));
    }
  }
}

TEST(plan_loops, kept_order_only_drops_and_coalesces) {
  operand f = {{3, 4}, {8, 24}};
  EXPECT_EQ(loops_of(planned({3, 4}, {f, f}, loop_order::keep)), (rows{{3, 8, 8}, {4, 24, 24}}));
  operand reversed = {{2, 1, 3}, {-24, 5, -8}};
  nest n = planned(reversed.size, {{{}, {}}, reversed}, loop_order::keep);
  EXPECT_EQ(loops_of(n), (rows{{6, 0, -8}}));
  EXPECT_EQ(offsets_of(n), (numbers{0, 0}));
}

TEST(plan_loops, reduced_and_kept_axes_never_join) {
  operand a = c_array({2, 3, 4});
  operand over_last_two = {{2, 1, 1}, {8, 8, 8}}, over_first = {{1, 3, 4}, {96, 32, 8}};
  EXPECT_EQ(loops_of(planned(a.size, {over_last_two, a}, loop_order::keep)), (rows{{2, 8, 96}, {12, 0, 8}}));
  EXPECT_EQ(loops_of(planned(a.size, {over_first, a}, loop_order::keep)), (rows{{2, 0, 96}, {12, 8, 8}}));
}

TEST(drop_unit_axes, removes_ones_and_keeps_the_rest) {
  EXPECT_EQ(after(drop_unit_axes, {{3, 8}, {1, 99}, {4, 2}}), (rows{{3, 8}, {4, 2}}));
  EXPECT_EQ(after(drop_unit_axes, {{3, 8}, {0, 4}, {2, 1}}), (rows{{0, 4}}));
  EXPECT_EQ(after(drop_unit_axes, {{1, 8}, {1, 4}}), rows{});
}

TEST(order_axes, is_stable_where_nobody_minds) {
  EXPECT_EQ(after(order_axes, {{3, 8, 0}, {4, 0, 8}, {5, 0, 0}}), (rows{{3, 8, 0}, {4, 0, 8}, {5, 0, 0}}));
  EXPECT_EQ(after(order_axes, {{3, 0, 8}, {4, 8, 24}}), (rows{{4, 8, 24}, {3, 0, 8}}));
}

TEST(order_axes, looks_past_loops_without_an_opinion) {
  EXPECT_EQ(after(order_axes, {{3, 8}, {4, 0}, {5, 24}}), (rows{{5, 24}, {3, 8}, {4, 0}}));
}

TEST(order_axes, compares_absolute_strides) {
  EXPECT_EQ(after(order_axes, {{3, 8, 8}, {4, -24, 24}}), (rows{{4, -24, 24}, {3, 8, 8}}));
}

TEST(coalesce_axes, joins_only_where_every_stream_chains) {
  EXPECT_EQ(after(coalesce_axes, {{2, 96, 96}, {3, 32, 32}, {4, 8, 8}}), (rows{{24, 8, 8}}));
  EXPECT_EQ(after(coalesce_axes, {{2, 96, 0}, {3, 32, 0}, {4, 8, 8}}), (rows{{6, 32, 0}, {4, 8, 8}}));
  EXPECT_EQ(after(coalesce_axes, {{2, 999, 0}, {3, 32, 32}, {4, 8, 8}}), (rows{{2, 999, 0}, {12, 8, 8}}));
  EXPECT_EQ(after(coalesce_axes, {{3, 32, 0}, {4, 8, 8}}), (rows{{3, 32, 0}, {4, 8, 8}}));
}

TEST(coalesce_axes, does_not_overflow) {
  constexpr intptr_t huge = intptr_t(1) << 40;
  EXPECT_EQ(after(coalesce_axes, {{huge, 0}, {huge, 0}}), (rows{{huge, 0}, {huge, 0}}));
  EXPECT_EQ(after(coalesce_axes, {{2, 0}, {huge, huge}}), (rows{{2, 0}, {huge, huge}})); // 2^80 wraps to 0
}

TEST(move_loop, moves_in_both_directions) {
  nest n = nest_of({{1, 10}, {2, 20}, {3, 30}, {4, 40}});
  move_loop(n, 0, 2);
  EXPECT_EQ(loops_of(n), (rows{{2, 20}, {3, 30}, {1, 10}, {4, 40}}));
  move_loop(n, 2, 0);
  EXPECT_EQ(loops_of(n), (rows{{1, 10}, {2, 20}, {3, 30}, {4, 40}}));
  move_loop(n, 1, 1);
  EXPECT_EQ(loops_of(n), (rows{{1, 10}, {2, 20}, {3, 30}, {4, 40}}));
}

TEST(nest, limits_are_errors_of_ours) {
  nest n;
  numbers sizes(33, 1);
  try {
    start_nest(n, sizes);
    FAIL();
  } catch (const error &e) {
    EXPECT_STREQ(e.what(), "plan: more than 32 loops in a nest: 33");
    EXPECT_EQ(e.kind(), error_kind::internal);
  }
  start_nest(n, numbers(32, 1));
  for (int i = 0; i < max_streams; ++i)
    add_stream(n, {}, nullptr);
  try {
    add_stream(n, {}, nullptr);
    FAIL();
  } catch (const error &e) {
    EXPECT_EQ(e.what(), "plan: more than " + std::to_string(max_streams) + " streams in a nest");
    EXPECT_EQ(e.kind(), error_kind::internal);
  }
}

TEST(nest, full_size_is_planned) {
  numbers size(max_loops, 1);
  size[3] = 2, size[17] = 3, size[31] = 2;
  std::vector<operand> operands(max_streams, c_array(size));
  nest n = planned(size, operands);
  EXPECT_EQ(n.loop_count, 1);
  EXPECT_EQ(sorted(nest_visits(n)), sorted(naive_visits(size, operands)));
}
