// Every logical element is visited exactly once, at the right place of every stream: planned nests against loops in C
// order, for all permutations up to rank five and for random operands.
#include <random>

#include <gtest/gtest.h>

#include "dynd/plan/nest.h"
#include "dynd/plan/tile.h"
#include "tests/cpp/plan/naive.h"

using namespace dynd;
using namespace dynd::plan_test;

namespace {

std::string describe(const numbers &size, const std::vector<operand> &operands) {
  std::string text = "sizes " + shape_text(size);
  for (const operand &o : operands)
    text += "; " + shape_text(o.size) + " strides " + shape_text(o.stride);
  return text;
}

/// What plan_loops promises of its result, whatever it was given.
void expect_short(const nest &n) {
  ASSERT_GE(n.loop_count, 1);
  for (int i = 0; i < n.loop_count; ++i)
    ASSERT_TRUE(n.loops[i].size > 1 || n.loop_count == 1);
  nest again = n;
  coalesce_axes(again);
  ASSERT_EQ(again.loop_count, n.loop_count);
}

void expect_all_visited(const numbers &size, const std::vector<operand> &operands) {
  SCOPED_TRACE(describe(size, operands));
  std::vector<numbers> in_order = naive_visits(size, operands);
  std::vector<numbers> expected = sorted(in_order);

  nest n = planned(size, operands);
  expect_short(n);
  ASSERT_EQ(sorted(nest_visits(n)), expected);

  plan_walk(n, numbers(operands.size(), 8).data());
  ASSERT_EQ(sorted(nest_visits(n)), expected);

  nest kept = planned(size, operands, loop_order::keep);
  expect_short(kept);
  ASSERT_EQ(nest_visits(kept), in_order);
}

/// All operands in memory orders of their own; the destination is contiguous, so its bytes are walked rising.
void expect_permuted(const numbers &size, const std::vector<int> &first, const std::vector<int> &second) {
  operand destination = {size, contiguous_strides(size, first, 8)};
  operand source = {size, contiguous_strides(size, second, 8)};
  expect_all_visited(size, {destination, source});

  std::vector<numbers> visits = nest_visits(planned(size, {destination, source}));
  ASSERT_TRUE(std::is_sorted(visits.begin(), visits.end()));
  ASSERT_TRUE(first != second || planned(size, {destination, source}).loop_count == 1);
}

class random_operands {
public:
  explicit random_operands(uint32_t seed) : random_(seed) {}

  numbers sizes() {
    static constexpr intptr_t choices[] = {0, 1, 1, 2, 2, 2, 3, 3, 4, 5};
    numbers result(below(7));
    for (intptr_t &size : result)
      size = choices[below(30) == 0 ? 0 : 1 + below(9)];
    return result;
  }

  /// Permuted, sliced, reversed, broadcast on axes of its own, with leading axes missing; or without any sense at all.
  operand one_of(const numbers &size) {
    operand result = {numbers(size.begin() + below(3) % (size.size() + 1), size.end()), {}};
    std::vector<int> order(result.size.size());
    std::iota(order.begin(), order.end(), 0);
    if (below(2))
      std::shuffle(order.begin(), order.end(), random_);
    numbers allocated = result.size;
    for (intptr_t &a : allocated)
      a += below(4) == 0 ? below(3) : 0;
    result.stride = contiguous_strides(allocated, order, 8);
    for (size_t i = 0; i < result.size.size(); ++i)
      change_axis(result.size[i], result.stride[i]);
    return result;
  }

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

private:
  void change_axis(intptr_t &size, intptr_t &stride) {
    switch (below(10)) {
    case 0:
      size = 1;
      break;
    case 1:
      stride = 0;
      break;
    case 2:
    case 3:
      stride = -stride;
      break;
    case 4:
      stride *= 2;
      break;
    case 5:
      stride = below(65) - 32;
      break;
    default:
      break;
    }
  }

  std::mt19937 random_;
};

} // namespace

TEST(nest_property, all_permutations_of_two_operands_up_to_rank_four) {
  for (const numbers &size : {numbers{}, numbers{3}, numbers{3, 2}, numbers{2, 3, 4}, numbers{2, 3, 2, 3}}) {
    std::vector<int> first(size.size());
    std::iota(first.begin(), first.end(), 0);
    do {
      std::vector<int> second(size.size());
      std::iota(second.begin(), second.end(), 0);
      do {
        expect_permuted(size, first, second);
        if (testing::Test::HasFatalFailure())
          return;
      } while (std::next_permutation(second.begin(), second.end()));
    } while (std::next_permutation(first.begin(), first.end()));
  }
}

TEST(nest_property, all_permutations_of_rank_five) {
  for (const numbers &size : {numbers{2, 3, 2, 2, 3}, numbers{2, 1, 3, 1, 2}, numbers{2, 3, 0, 2, 2}}) {
    std::vector<int> c_order = {0, 1, 2, 3, 4}, order = c_order;
    do {
      std::vector<int> backward(order.rbegin(), order.rend());
      for (const std::vector<int> &other : {c_order, order, backward}) {
        expect_permuted(size, order, other);
        expect_permuted(size, other, order);
        if (testing::Test::HasFatalFailure())
          return;
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(nest_property, all_signs_and_zeros_of_rank_three) {
  numbers size = {2, 3, 4}, stride = c_strides(size, 8);
  for (int code = 0; code < 729; ++code) {
    operand destination = {size, stride}, source = {size, stride};
    int digits = code;
    for (int axis = 0; axis < 3; ++axis) {
      destination.stride[axis] *= digits % 3 - 1;
      source.stride[axis] *= digits / 3 % 3 - 1;
      digits /= 9;
    }
    expect_all_visited(size, {destination, source, c_array({4})});
    if (testing::Test::HasFatalFailure())
      return;
  }
}

TEST(nest_property, random_operands_by_the_thousand) {
  for (uint32_t seed = 0; seed < 8000; ++seed) {
    random_operands random(seed);
    numbers size = random.sizes();
    std::vector<operand> operands;
    int count = 1 + random.below(5);
    for (int i = 0; i < count; ++i)
      operands.push_back(random.one_of(size));
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_all_visited(size, operands);
    if (testing::Test::HasFatalFailure())
      return;
  }
}

TEST(nest_property, steps_change_nothing_but_the_walk) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    random_operands random(seed);
    numbers size = random.sizes();
    std::vector<operand> operands = {random.one_of(size), random.one_of(size)};
    std::vector<numbers> expected = sorted(naive_visits(size, operands));
    for (auto step : {drop_unit_axes, flip_negative_axes, order_axes, coalesce_axes}) {
      nest n = make_nest(size, operands);
      step(n);
      ASSERT_EQ(sorted(nest_visits(n)), expected) << "seed " << seed << " " << describe(size, operands);
    }
  }
}
