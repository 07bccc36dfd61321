// Evaluation at once: broadcasting, types, assignment, errors; with the direct step and without.
#include <cstring>

#include <gtest/gtest.h>

#include "allocations.h"
#include "dynd/call/functions.h"
#include "dynd/eval/direct.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::allocation_count;
using testing::bits;
using testing::failure;
using testing::parse;
using testing::ramp;
using testing::text;
using testing::type_text;
using testing::with_direct;

nd::array reversed(const nd::array &a) {
  nd::index backwards{nd::index::slice, 0, {}, {}, -1};
  return nd::at(a, {&backwards, 1});
}

// ---- broadcasting ---------------------------------------------------------------------------------------------------

TEST(Evaluate, TheSeedsExamples) {
  nd::array a = parse("2 * var * int32", "[[1, 2], [3]]");
  EXPECT_EQ(text(a + parse("2 * var * int32", "[[4, 5], [6, 7]]")), "[[5, 7], [9, 10]]");
  EXPECT_EQ(text(a + parse("2 * var * int32", "[[4], [5, 6, 7]]")), "[[5, 6], [8, 9, 10]]");
  nd::array deep = parse("2 * var * var * int32", "[[[1, 2, 3], [4, 5]], [[6, 7, 8, 9]]]");
  EXPECT_EQ(text(nd::sum(deep, 2)), "[[6, 9], [30]]");
  nd::array pair = parse("2 * var * 2 * int32", "[[[1, 2], [3, 4]], [[5, 6]]]");
  EXPECT_EQ(text(nd::sum(pair, 1)), "[[4, 6], [5, 6]]");
}

TEST(Evaluate, StridedShapesBroadcast) {
  nd::array x = ramp("3 * 1 * 4 * int32"), y = ramp("5 * 1 * int32"), z = ramp("4 * int32");
  nd::array result = x + y + z;
  EXPECT_EQ(type_text(result), "3 * 5 * 4 * int32");
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 5; j++) {
      for (int k = 0; k < 4; k++) {
        EXPECT_EQ(result.data<int32_t>()[(i * 5 + j) * 4 + k], (4 * i + k) + j + k);
      }
    }
  }
}

TEST(Evaluate, MixesOfRowsAndSizes) {
  nd::array rows = parse("3 * var * int32", "[[1, 2], [], [3]]");
  EXPECT_EQ(text(rows * parse("3 * 1 * int32", "[[10], [20], [30]]")), "[[10, 20], [], [90]]");
  EXPECT_EQ(text(rows + 1), "[[2, 3], [], [4]]");
  nd::array even = parse("2 * var * int32", "[[1, 2], [3]]"), fixed = parse("2 * 2 * int32", "[[10, 20], [30, 40]]");
  EXPECT_EQ(text(even + fixed), "[[11, 22], [33, 43]]");
  EXPECT_EQ(type_text(even + fixed), "2 * 2 * int32");
  nd::array nested = parse("2 * var * var * int32", "[[[1, 2], [3]], [[4]]]");
  EXPECT_EQ(text(nested + parse("2 * 1 * 1 * int32", "[[[10]], [[20]]]")), "[[[11, 12], [13]], [[24]]]");
  EXPECT_EQ(text(nested + even), "[[[2, 4], [6]], [[5, 6], [7]]]") << "right-justified: the sublist [4] stretches";
}

TEST(Evaluate, TypesArePromotedOnce) {
  EXPECT_EQ(type_text(ramp("3 * int8") + ramp("3 * uint8")), "3 * int16");
  EXPECT_EQ(type_text(ramp("3 * int32") / ramp("3 * int32")), "3 * float64");
  EXPECT_EQ(type_text(nd::less(ramp("3 * float32"), ramp("3 * int8"))), "3 * bool");
  EXPECT_EQ(text(nd::where(parse("3 * bool", "[true, false, true]"), ramp("3 * int8"), nd::array(1.5))),
            "[0.0, 1.5, 2.0]");
  EXPECT_EQ(failure([] { nd::where(ramp("2 * int8"), nd::array(1), nd::array(2)); }),
            "type: where: the condition must be bool, not int8");
}

TEST(Evaluate, TwoOutputs) {
  auto [quotient, rest] = nd::divmod(parse("2 * var * int32", "[[7, -7], [9]]"), nd::array(2));
  EXPECT_EQ(text(quotient), "[[3, -4], [4]]");
  EXPECT_EQ(text(rest), "[[1, 1], [1]]");
}

TEST(Evaluate, EmptyArrays) {
  EXPECT_EQ(text(ramp("0 * int32") + ramp("1 * int32")), "[]");
  EXPECT_EQ(text(parse("2 * var * int32", "[[], []]") * 2), "[[], []]");
  EXPECT_EQ(text(ramp("0 * var * int32") + ramp("0 * var * int32")), "[]");
  EXPECT_EQ(text(ramp("3 * 0 * int32") + 1), "[[], [], []]");
}

// ---- the direct step ------------------------------------------------------------------------------------------------

TEST(Evaluate, WithoutTheDirectStepTheBitsAreTheSame) {
  nd::array d = ramp("7 * float64"), f = ramp("2 * 3 * float32"), i = ramp("100 * int16"), s = nd::array(3.0);
  auto all = [&] {
    std::string result;
    for (const nd::array &a : {d + d, d * s, s - d, nd::sqrt(f), f / f, nd::minimum(i, i * i), -1 * i, nd::abs(s),
                               s + s, nd::less(d, d), nd::square(i)}) {
      result += bits(a);
    }
    return result;
  };
  std::string expected = all();
  with_direct off(false);
  EXPECT_EQ(all(), expected);
}

// Whatever settings it comes with: those of copies and of steps that nobody watches, too.
TEST(Evaluate, WithoutTheDirectStepEverythingIsATask) {
  nd::array to = ramp("7 * float64", access_mode::readwrite), from = ramp("7 * float64");
  for (const settings &how : {settings(), unwatched, thread_settings()}) {
    with_direct on(true);
    EXPECT_TRUE(try_direct_assign(to.get(), from.get(), error_mode::fractional, how));
    with_direct off(false);
    EXPECT_FALSE(try_direct_assign(to.get(), from.get(), error_mode::fractional, how));
    EXPECT_EQ(bits(nd::array(copy_values(from.get(), access_mode::immutable))), bits(from));
  }
}

TEST(Evaluate, TheWrongNumberOfOperandsIsAnErrorInAnyCase) {
  nd::array a = ramp("3 * float64");
  array_block *blocks[] = {a.get(), a.get(), a.get()};
  EXPECT_EQ(failure([&] { evaluate(op_id::add, {blocks, 1}); }), "type: add: takes 2 operands, not 1");
  EXPECT_EQ(failure([&] { evaluate(op_id::add, {blocks, 3}); }), "type: add: takes 2 operands, not 3");
  EXPECT_EQ(failure([&] { evaluate(op_id::negative, {blocks, 2}); }), "type: negative: takes 1 operands, not 2");
  with_direct off(false);
  EXPECT_EQ(failure([&] { evaluate(op_id::add, {blocks, 1}); }), "type: add: takes 2 operands, not 1");
}

TEST(Evaluate, OddAddresses) {
  nd::array values = ramp("10 * float64"), bytes = ramp("100 * uint8", access_mode::readwrite);
  nd::array shifted = ramp("10 * float64", access_mode::readwrite);
  release(shifted->values().owner);
  retain(bytes->values().owner);
  shifted->values() = {const_cast<char *>(bytes.data<char>()) + 1, bytes->values().owner, slot_kind::none};
  nd::assign(shifted, values);
  EXPECT_EQ(bits(shifted + shifted), bits(values + values));
  EXPECT_EQ(bits(nd::sum(shifted)), bits(nd::sum(values)));
  EXPECT_EQ(bits(nd::less(shifted, values)), bits(nd::less(values, values)));
  EXPECT_EQ(bits(reversed(shifted) * shifted), bits(reversed(values) * values));
  nd::assign(shifted, reversed(values));
  EXPECT_EQ(text(shifted), text(reversed(values)));
}

// ---- what it costs --------------------------------------------------------------------------------------------------

TEST(Evaluate, ASmallOperationAllocatesNothingButTheResult) {
  nd::array a{1.0, 2.0, 3.0}, b{4.0, 5.0, 6.0};
  nd::array warm = a + b;
  int64_t before = allocation_count();
  nd::array result = a + b;
  EXPECT_LE(allocation_count() - before, 1);
  EXPECT_EQ(text(result), "[5.0, 7.0, 9.0]");
}

TEST(Evaluate, AnOrdinaryAssignmentAllocatesNothing) {
  nd::array dst = ramp("3 * float64", access_mode::readwrite), src = reversed(ramp("3 * float64"));
  nd::assign(dst, src);
  int64_t before = allocation_count();
  nd::assign(dst, src);
  EXPECT_EQ(allocation_count(), before) << "the kernel is built and run on the stack";
  EXPECT_EQ(text(dst), "[2.0, 1.0, 0.0]");
}

// ---- assignment -----------------------------------------------------------------------------------------------------

TEST(Assign, BroadcastsAndConverts) {
  nd::array dst = ramp("2 * 3 * float64", access_mode::readwrite);
  nd::assign(dst, parse("3 * int8", "[1, 2, 3]"));
  EXPECT_EQ(text(dst), "[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]");
  nd::assign(dst, parse("2 * var * int32", "[[7], [4, 5, 6]]"));
  EXPECT_EQ(text(dst), "[[7.0, 7.0, 7.0], [4.0, 5.0, 6.0]]");
  nd::array rows = parse("2 * var * int32", "[[1, 2], [3]]", access_mode::readwrite);
  nd::assign(rows, parse("2 * 1 * int32", "[[8], [9]]"));
  EXPECT_EQ(text(rows), "[[8, 8], [9]]");
}

TEST(Assign, OverlappingMemory) {
  nd::array a = ramp("5 * int32", access_mode::readwrite);
  nd::index head{nd::index::slice, 0, 0, 4, {}}, tail{nd::index::slice, 0, 1, 5, {}};
  nd::assign(nd::at(a, {&tail, 1}), nd::at(a, {&head, 1}));
  EXPECT_EQ(text(a), "[0, 0, 1, 2, 3]");
  nd::assign(a, reversed(a));
  EXPECT_EQ(text(a), "[3, 2, 1, 0, 0]");
  nd::array square = ramp("2 * 2 * int32", access_mode::readwrite);
  nd::assign(square, nd::transposed(square));
  EXPECT_EQ(text(square), "[[0, 2], [1, 3]]");
}

TEST(Assign, ErrorsLeaveTheDestinationAlone) {
  nd::array dst = parse("2 * var * int32", "[[1, 2], [3]]", access_mode::readwrite);
  std::string before = bits(dst);
  EXPECT_EQ(failure([&] { nd::assign(dst, parse("2 * var * int32", "[[7, 8], [9, 10]]")); }),
            "broadcast: assign: cannot broadcast row 1: lengths 2 and 1");
  EXPECT_EQ(failure([&] { nd::assign(dst, ramp("3 * 1 * int32")); }),
            "broadcast: assign: cannot broadcast (3, 1) to (2, var)");
  EXPECT_EQ(failure([&] { nd::assign(dst, nd::array(1.5)); }),
            "value: fractional part lost while assigning float64 value 1.5 to int32 at index (0, 0)");
  EXPECT_EQ(bits(dst), before);
  nd::array constant = ramp("2 * int32");
  EXPECT_EQ(failure([&] { nd::assign(constant, constant); }),
            "type: assign: the destination is immutable; make it with access='rw'");
}

// ---- errors ---------------------------------------------------------------------------------------------------------

TEST(Evaluate, ErrorsNameTheOperationTheRowAndTheLengths) {
  EXPECT_EQ(failure([] { ramp("3 * 4 * int32") + ramp("2 * 4 * int32"); }),
            "broadcast: add: cannot broadcast (3, 4) with (2, 4) at axis 0");
  EXPECT_EQ(
      failure([] { parse("2 * var * int32", "[[1, 2], [3, 4]]") * parse("2 * var * int32", "[[1, 2], [3, 4, 5]]"); }),
      "broadcast: multiply: cannot broadcast row 1: lengths 2 and 3");
  EXPECT_NE(failure([] { parse("3 * var * int32", "[[1], [2, 3], []]") + ramp("3 * int32"); }).find("x[:, None]"),
            std::string::npos);
}

TEST(Evaluate, ABadValueIsNamedByItsIndexHoweverTheWorkIsDone) {
  nd::array divisor = ramp("300 * 3 * int32");
  auto divide = [&](const nd::array &by) { return failure([&] { nd::divmod(nd::array(7), by); }); };
  EXPECT_EQ(divide(divisor), "value: divmod: integer division by zero at index (0, 0)");
  EXPECT_EQ(divide(nd::transposed(divisor)), "value: divmod: integer division by zero at index (0, 0)");
  EXPECT_EQ(divide(reversed(divisor)), "value: divmod: integer division by zero at index (299, 0)");
  EXPECT_EQ(divide(parse("2 * var * int32", "[[1], [2, 0]]")),
            "value: divmod: integer division by zero at index (1, 1)");
  EXPECT_EQ(divide(nd::array(0)), "value: divmod: integer division by zero");
}

} // namespace
} // namespace dynd
