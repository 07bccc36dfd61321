// Assignments that check: messages, kinds, the element that is named, and what is in the destination afterwards.
#include <gtest/gtest.h>

#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/eval/threads.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::failure;
using testing::parse;
using testing::ramp;
using testing::text;

std::string refusal(const char *to, const nd::array &src, error_mode mode = error_mode::fractional) {
  nd::array dst = ramp(to, access_mode::readwrite);
  return failure([&] { nd::assign(dst, src, mode); });
}

TEST(CheckedAssign, Messages) {
  EXPECT_EQ(refusal("int8", nd::array(300)), "overflow: overflow while assigning int32 value 300 to int8");
  EXPECT_EQ(refusal("int8", nd::array(1.5)), "value: fractional part lost while assigning float64 value 1.5 to int8");
  EXPECT_EQ(refusal("float32", nd::array(1e300)), "overflow: overflow while assigning float64 value 1e+300 to float32");
  EXPECT_EQ(refusal("float32", nd::array(1 / 3.0), error_mode::inexact),
            "value: inexact precision loss while assigning float64 value 0.333333 to float32");
  EXPECT_EQ(refusal("float32", nd::array(33554433), error_mode::inexact),
            "value: inexact value while assigning int32 value 33554433 to float32 value 3.35544e+07");
  EXPECT_EQ(refusal("bool", nd::array(2)), "overflow: overflow while assigning int32 value 2 to bool");
  EXPECT_EQ(refusal("int8", nd::array(1.5), error_mode::overflow), "no error");
  EXPECT_EQ(refusal("int8", nd::array(300), error_mode::nocheck), "no error");
  EXPECT_EQ(refusal("float32", nd::array(1 / 3.0)), "no error");
}

TEST(CheckedAssign, NamesTheFirstBadElementOfTheDestination) {
  nd::array rows = parse("2 * var * float64", "[[1], [2, 2.5, 3.5]]");
  EXPECT_EQ(refusal("2 * 3 * int32", rows),
            "value: fractional part lost while assigning float64 value 2.5 to int32 at index (1, 1)");
  EXPECT_EQ(refusal("4 * 3 * int8", parse("3 * int32", "[1, 2, 300]")),
            "overflow: overflow while assigning int32 value 300 to int8 at index (0, 2)");
  EXPECT_EQ(refusal("3 * int8", parse("3 * int32", "[1, -129, 300]")),
            "overflow: overflow while assigning int32 value -129 to int8 at index (1,)");
  nd::array turned = nd::transposed(parse("2 * 3 * float64", "[[1, 2, 0.5], [0.25, 5, 6]]"));
  EXPECT_EQ(refusal("3 * 2 * int32", turned),
            "value: fractional part lost while assigning float64 value 0.25 to int32 at index (0, 1)");
}

TEST(CheckedAssign, ElementsAreOldOrNewAndBadOnesOld) {
  int threads = num_threads();
  for (int count : {1, 4}) {
    set_num_threads(count);
    nd::array src = ramp("500000 * int32", access_mode::readwrite),
              dst = ramp("500000 * uint16", access_mode::readwrite);
    nd::assign(dst, nd::array(7));
    EXPECT_EQ(failure([&] { nd::assign(dst, src); }),
              "overflow: overflow while assigning int32 value 65536 to uint16 at index (65536,)");
    for (int i = 0; i < 500000; i++) {
      uint16_t x = dst.data<uint16_t>()[i];
      ASSERT_TRUE(x == 7 || (i < 65536 && x == i)) << i;
    }
  }
  set_num_threads(threads);
}

} // namespace
} // namespace dynd
