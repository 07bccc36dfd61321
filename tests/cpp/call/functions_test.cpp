// The C++ functions and operators: one for each row, for lvalues, rvalues and numbers.
#include <string>

#include <gtest/gtest.h>

#include "dynd/call/functions.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::bits;
using testing::parse;
using testing::ramp;
using testing::text;
using testing::type_text;

nd::array operand(const char *shape, const operation &r, int i) {
  bool condition = r.kind == op_kind::select && i == 0;
  nd::array a = ramp(std::string(shape) + (condition ? "bool" : "float64"));
  return condition ? a : a + (i + 1.0); // no zero to divide by
}

// Every row by its own C++ function, against evaluate() by its id: strided, ragged, broadcast.
template <class F> void compare(op_id id, F function) {
  const operation &r = operation_of(id);
  for (const char *shape : {"", "5 * ", "3 * 4 * ", "6 * var * ", "2 * var * 3 * var * "}) {
    nd::array operands[3];
    array_block *blocks[3];
    for (int i = 0; i < r.arity; i++) {
      operands[i] = operand(i == 1 && shape[0] ? "1 * " : shape, r, i);
      blocks[i] = operands[i].get();
    }
    ref<array_block> expected[2];
    if (r.outputs == 2) {
      evaluate2(id, {blocks, r.arity}, expected);
    } else {
      expected[0] = evaluate(id, {blocks, r.arity});
    }
    EXPECT_EQ(function(operands), bits(nd::array(expected[0])) + (r.outputs == 2 ? bits(nd::array(expected[1])) : ""))
        << r.name << " over " << shape;
  }
}

TEST(Functions, OneForEachRow) {
#define DYND_UNARY(name, ...) compare(op_id::name, [](nd::array *x) { return bits(nd::name(x[0])); });
#define DYND_MAGNITUDE(...) DYND_UNARY(__VA_ARGS__)
#define DYND_BINARY(name, ...) compare(op_id::name, [](nd::array *x) { return bits(nd::name(x[0], x[1])); });
#define DYND_COMPARE(name, ...) DYND_BINARY(name)
#define DYND_SELECT(name, ...) compare(op_id::name, [](nd::array *x) { return bits(nd::name(x[0], x[1], x[2])); });
#define DYND_BINARY2(name, ...)                                                                                        \
  compare(op_id::name, [](nd::array *x) {                                                                              \
    auto [first, second] = nd::name(x[0], x[1]);                                                                       \
    return bits(first) + bits(second);                                                                                 \
  });
#include "dynd/ops/elementwise.def"
#undef DYND_UNARY
#undef DYND_MAGNITUDE
#undef DYND_BINARY
#undef DYND_COMPARE
#undef DYND_SELECT
#undef DYND_BINARY2
}

TEST(Functions, OneForEachReduction) {
  nd::array strided = ramp("3 * 4 * float64"), ragged = parse("2 * var * float64", "[[3, 1], [2]]");
#define DYND_REDUCTION(name, ...)                                                                                      \
  for (const nd::array &a : {strided, ragged}) {                                                                       \
    for (int axis : {all_axes, 1, -1}) {                                                                               \
      for (bool keepdims : {false, true}) {                                                                            \
        ref<array_block> expected = evaluate(reduction_id::name, a.get(), false, axis, keepdims);                      \
        EXPECT_EQ(bits(nd::name(a, axis, keepdims)), bits(nd::array(expected))) << #name;                              \
        EXPECT_EQ(bits(nd::name(a + 0.0, axis, keepdims)), bits(nd::array(expected))) << #name;                        \
      }                                                                                                                \
    }                                                                                                                  \
  }
#include "dynd/ops/reductions.def"
#undef DYND_REDUCTION
  EXPECT_EQ(text(nd::sum(ragged, 1)), "[4.0, 2.0]");
  EXPECT_EQ(text(nd::max(ragged, 1, true)), "[[3.0], [2.0]]");
  EXPECT_EQ(text(nd::min(ragged)), "1.0");
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

TEST(Operators, ValueCategoriesDoNotChangeTheResult) {
  // 80 KB each: waiting, so that what is dying matters.
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
