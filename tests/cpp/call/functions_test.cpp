// The C++ functions and operators: one for each operation, for lvalues, rvalues and numbers.
#include <algorithm>
#include <climits>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "dynd/call/composed.h"
#include "dynd/call/functions.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::bits;
using testing::parse;
using testing::ramp;
using testing::text;
using testing::type_text;

bool takes_options(const operation &r) {
  return std::any_of(r.operand, r.operand + r.noperands,
                     [](value_rule rule) { return rule == value_rule::optional || rule == value_rule::presence; });
}

nd::array operand(const char *shape, const operation &r, int i) {
  bool condition = r.operand[i] == value_rule::boolean;
  bool whole = r.set == type_set::integers || r.set == type_set::bits || r.operand[i] == value_rule::int64;
  nd::array a = ramp(std::string(shape) + (condition ? "bool" : whole ? "int64" : "float64"));
  return condition ? a : whole ? a + (i + 1) : a + (i + 1.0); // no zero to divide by
}

std::string bits_of(const nd::array &a) { return bits(a); }
std::string bits_of(const std::pair<nd::array, nd::array> &both) { return bits(both.first) + bits(both.second); }

// Every operation by its own C++ function, against evaluate() by its id: strided, ragged, broadcast.
template <int count, class F> void compare(op_id id, F function) {
  const operation &r = operation_of(id);
  ASSERT_EQ(r.noperands, count);
  if (takes_options(r)) { // tests of missing values have these
    return;
  }
  for (const char *shape : {"", "5 * ", "3 * 4 * ", "6 * var * ", "2 * var * 3 * var * "}) {
    nd::array operands[3];
    array_block *blocks[3];
    for (int i = 0; i < r.noperands; i++) {
      operands[i] = operand(i == 1 && shape[0] ? "1 * " : shape, r, i);
      blocks[i] = operands[i].get();
    }
    ref<array_block> expected[2];
    evaluate(id, {blocks, r.noperands}, expected);
    std::string wanted = bits(nd::array(expected[0])) + (r.noutputs == 2 ? bits(nd::array(expected[1])) : "");
    auto call = [&]<size_t... I>(std::index_sequence<I...>) { return bits_of(function(operands[I]...)); };
    EXPECT_EQ(call(std::make_index_sequence<count>()), wanted) << r.name << " over " << shape;
  }
}

TEST(Functions, OneForEachOperation) {
#define DYND_OPERATION_NAME(name, signature)                                                                           \
  compare<parse_signature(signature).noperands>(op_id::name, [](auto &...x) { return nd::name(x...); });
#include "dynd/ops/operation_names.h"
#undef DYND_OPERATION_NAME
}

TEST(Functions, OneForEachReduction) {
  nd::array strided = ramp("3 * 4 * float64"), ragged = parse("2 * var * float64", "[[3, 1], [2]]");
#define DYND_AGGREGATE(name, ...)                                                                                      \
  for (const nd::array &a : {strided, ragged}) {                                                                       \
    for (std::optional<int> axis : {std::optional<int>(), std::optional(1), std::optional(-1)}) {                      \
      for (bool keepdims : {false, true}) {                                                                            \
        reduction_keywords keywords{.keepdims = keepdims};                                                             \
        ref<array_block> expected = evaluate(aggregate_id::name, a.get(), false, axis, keywords);                      \
        EXPECT_EQ(bits(nd::name(a, axis, keywords)), bits(nd::array(expected))) << #name;                              \
        EXPECT_EQ(bits(nd::name(a + 0.0, axis, keywords)), bits(nd::array(expected))) << #name;                        \
      }                                                                                                                \
    }                                                                                                                  \
  }
#include "dynd/ops/aggregates.def"
#undef DYND_AGGREGATE
  EXPECT_EQ(text(nd::sum(ragged, 1)), "[4.0, 2.0]");
  EXPECT_EQ(text(nd::max(ragged, 1, {.keepdims = true})), "[[3.0], [2.0]]");
  EXPECT_EQ(text(nd::min(ragged)), "1.0");
  EXPECT_EQ(text(nd::sum(strided, {0, 1})), "66.0");
  nd::array mask = parse("2 * var * bool", "[[1, 0], [1]]");
  EXPECT_EQ(text(nd::sum(ragged, 1, {.where = mask.get()})), "[3.0, 2.0]");
}

TEST(Functions, WithSettings) {
  nd::array a = parse("2 * var * float64", "[[1.26, nan], [-inf]]");
  EXPECT_EQ(text(nd::round(a, 1)), "[[1.3, nan], [-inf]]");
  EXPECT_EQ(text(nd::round(nd::array{15, 25, 26}, -1)), "[20, 20, 30]");
  EXPECT_EQ(text(nd::round(nd::array{1.5, 25.0}, INT_MIN)), "[0.0, 0.0]");
  EXPECT_EQ(text(nd::round(nd::array{15, 25}, INT64_MIN)), "[0, 0]");
  EXPECT_EQ(text(nd::round(nd::array{1.25, 25.0}, INT64_MAX)), "[1.25, 25.0]");
  EXPECT_EQ(text(nd::nan_to_num(a, 2, std::nullopt, -1)), "[[1.26, 2.0], [-1.0]]");
  EXPECT_EQ(text(nd::clip(a, {.min = 1.5})), "[[1.5, nan], [1.5]]");
  EXPECT_EQ(text(nd::clip(nd::array{1, 5}, {.max = 3})), "[1, 3]");
  EXPECT_EQ(text(nd::clip(nd::array{1, 5}, {.min = 2, .max = 3})), "[2, 3]");
  nd::array rows = parse("3 * ?var * int32", "[[1, 5], [], [9]]"); // which may be missing
  EXPECT_EQ(text(nd::clip(rows, {.min = 2})), "[[2, 5], [], [9]]");
  EXPECT_EQ(text(nd::clip(rows, {.max = 6})), "[[1, 5], [], [6]]");
  EXPECT_EQ(text(nd::clip(rows, {.min = 2, .max = 6})), "[[2, 5], [], [6]]");
  EXPECT_EQ(text(nd::isclose(a, a)), "[[True, False], [True]]");
  EXPECT_EQ(text(nd::isclose(a, a, 0, 0, true)), "[[True, True], [True]]");
  EXPECT_EQ(text(nd::isclose(nd::array{1, 2}, nd::array(1.25), 0, 0.25)), "[True, False]");
}

TEST(Operators, OfArraysAndNumbers) {
  nd::array a{1.0, 2.0, 4.0}, b{8.0, 6.0, 4.0};
  EXPECT_EQ(text(a + b), "[9.0, 8.0, 8.0]");
  EXPECT_EQ(text(b - a), "[7.0, 4.0, 0.0]");
  EXPECT_EQ(text(a * b), "[8.0, 12.0, 16.0]");
  EXPECT_EQ(text(b / a), "[8.0, 3.0, 1.0]");
  EXPECT_EQ(text(a + 1.0), "[2.0, 3.0, 5.0]");
  EXPECT_EQ(text(1.0 - a), "[0.0, -1.0, -3.0]");
  EXPECT_EQ(text(2 * a), "[2.0, 4.0, 8.0]");
  EXPECT_EQ(text((a + b) * (a - b) / 2.0), "[-31.5, -16.0, 0.0]");
  nd::array ints{1, 2};
  EXPECT_EQ(type_text(ints * 2), "strided * int32");
  EXPECT_EQ(type_text(ints / 2), "strided * float64");
}

TEST(Operators, OfIntegers) {
  nd::array a{7, -7, 12}, b{2, 2, 5};
  EXPECT_EQ(text(a % b), "[1, 1, 2]");
  EXPECT_EQ(text(a & b), "[2, 0, 4]");
  EXPECT_EQ(text(a | b), "[7, -5, 13]");
  EXPECT_EQ(text(a ^ b), "[5, -5, 9]");
  EXPECT_EQ(text(a << b), "[28, -28, 384]");
  EXPECT_EQ(text(a >> 1), "[3, -4, 6]");
  EXPECT_EQ(text(1 << b), "[4, 4, 32]");
  EXPECT_EQ(text(~a), "[-8, 6, -13]");
  EXPECT_EQ(text(~nd::less(a, b)), "[True, False, True]");
}

std::string message(nd::array (*f)(const nd::array &, const nd::array &), const nd::array &a, const nd::array &b) {
  try {
    f(a, b).eval();
  } catch (const error &e) {
    return e.what();
  }
  return "no error";
}

// Small and dense arrays take the direct step, a number beside one too; large ones could be lazy.
TEST(Functions, AFailureIsReportedHoweverTheLoopIsCalled) {
  auto quotient = [](const nd::array &a, const nd::array &b) { return nd::floor_divide(a, b); };
  auto power = [](const nd::array &a, const nd::array &b) { return nd::pow(a, b); };
  auto shifted = [](const nd::array &a, const nd::array &b) { return a >> b; };
  nd::array a{1, 2, 3}, large = ramp("50000 * int64");
  for (bool direct : {true, false}) {
    testing::with_direct step(direct);
    EXPECT_EQ(message(quotient, a, nd::array{1, 0, 2}), "floor_divide: integer division by zero at index (1,)");
    EXPECT_EQ(message(quotient, a, nd::array(0)), "floor_divide: integer division by zero at index (0,)");
    EXPECT_EQ(message(quotient, nd::array(5), nd::array(0)), "floor_divide: integer division by zero");
    EXPECT_EQ(message(quotient, large, large), "floor_divide: integer division by zero at index (0,)");
    EXPECT_EQ(message(quotient, large + 1, large), "floor_divide: integer division by zero at index (0,)");
    EXPECT_EQ(message(power, a, nd::array{1, 2, -1}), "pow: negative integer power at index (2,)");
    EXPECT_EQ(message(shifted, a, nd::array(-1)), "bitwise_right_shift: negative shift count at index (0,)");
    EXPECT_EQ(message(power, nd::array{2.0}, nd::array{-1.0}), "no error");
  }
}

TEST(Operators, ValueCategoriesDoNotChangeTheResult) {
  // 80 KB each: lazy, so that the last use of a handle matters.
  nd::array a = ramp("100 * 100 * float64"), b = ramp("100 * 100 * float64");
  std::string expected;
  {
    eager_scope eager;
    expected = bits((a + b) * (a - b));
  }
  nd::array sum = a + b, difference = a - b;
  EXPECT_EQ(bits(sum * difference), expected);
  EXPECT_EQ(bits((a + b) * (a - b)), expected);
  EXPECT_EQ(bits(sum * (a - b)), expected);
  EXPECT_EQ(bits(std::move(sum) * difference), expected);
  nd::array s = a + b, d = a - b, copy = s;
  EXPECT_EQ(bits(nd::multiply(std::move(s), std::move(d))), expected);
  EXPECT_EQ(bits(copy), bits(a + b)) << "another handle had it too";
}

TEST(Functions, Copy) {
  nd::array a = ramp("2 * 3 * int32"), t = nd::copy(nd::transposed(a), access_mode::readwrite);
  EXPECT_EQ(text(t), "[[0, 3], [1, 4], [2, 5]]");
  EXPECT_TRUE(t->flags & flag_dense);
  EXPECT_EQ(t->access, access_mode::readwrite);
  nd::assign(t, nd::array(7));
  EXPECT_EQ(text(a), "[[0, 1, 2], [3, 4, 5]]");
  nd::array rows = parse("3 * var * int32", "[[1, 2], [], [3]]");
  EXPECT_EQ(bits(nd::copy(rows, access_mode::immutable)), bits(rows));
}

} // namespace
} // namespace dynd
