// Lazy arrays: what may be lazy, what is computed in one pass, and which values on the way are kept.
#include <vector>

#include <gtest/gtest.h>

#include "dynd/call/functions.h"
#include "dynd/eval/observe.h"
#include "dynd/memory/buffer.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::at_once;
using testing::bits;
using testing::ramp;

// 10,000 doubles, 80 KB: enough to be lazy.
const char *const large = "100 * 100 * float64";

bool is_lazy(const nd::array &a) { return a->state.load() == array_state::lazy; }
bool has_memory(const nd::array &a) { return a->values().owner != nullptr; }

TEST(Lazy, LargeOperationsOnImmutableArrays) {
  nd::array a = ramp(large), b = ramp(large);
  nd::array sum = a + b;
  EXPECT_TRUE(is_lazy(sum));
  EXPECT_FALSE(has_memory(sum));
  EXPECT_EQ(bits(sum), bits(at_once([&] { return a + b; })));
  EXPECT_FALSE(is_lazy(sum));
}

TEST(Lazy, TheDirectStepChangesNoBit) {
  nd::array a = ramp(large), b = at_once([&] { return a * 0.5 + 1.0; }), whole = ramp("100 * 100 * int64");
  nd::array one = ramp("1 * 100 * 100 * float64"), row = ramp("100 * float64");
  auto all = [&] {
    std::string text;
    for (const nd::array &x :
         {a + b, a * a, nd::sqrt(a), nd::where(nd::less(whole, a), whole, whole), a + whole, a + one, one - one,
          a + row, a + nd::transposed(b), nd::transposed(a) + nd::transposed(b), (a + b) * a}) {
      EXPECT_TRUE(is_lazy(x));
      text += bits(x);
    }
    return text;
  };
  std::string expected = all();
  testing::with_direct off(false);
  std::string long_way = all();
  EXPECT_TRUE(long_way == expected);
  EXPECT_EQ((a + b).data<double>()[9999], 9999 + (9999 * 0.5 + 1));
}

TEST(Lazy, WhatMustBeEager) {
  nd::array a = ramp(large);
  EXPECT_FALSE(is_lazy(ramp("100 * float64") + 1.0)) << "small";
  EXPECT_FALSE(is_lazy(at_once([&] { return a + a; }))) << "eager_scope";
  EXPECT_FALSE(is_lazy(ramp(large, access_mode::readwrite) + 1.0)) << "its memory can be written";
  EXPECT_FALSE(is_lazy(ramp(large, access_mode::readonly) + 1.0));
  auto [quotient, rest] = nd::divmod(ramp("100 * 100 * int64"), nd::array(3));
  EXPECT_FALSE(is_lazy(quotient) || is_lazy(rest)) << "may fail on values";
  EXPECT_FALSE(is_lazy(nd::sum(a, 1, {.keepdims = true})));
}

TEST(Lazy, EagerScopesNest) {
  nd::array a = ramp(large);
  {
    eager_scope outer;
    { eager_scope inner; }
    EXPECT_FALSE(is_lazy(a + a));
  }
  EXPECT_TRUE(is_lazy(a + a));
}

TEST(Lazy, TemporariesAreNeverStored) {
  nd::array a = ramp(large), b = ramp(large);
  observation seen;
  {
    observed_scope watched(&seen);
    nd::array result = (a * b + a) / b;
    result.eval();
  }
  ASSERT_EQ(seen.kernels.size(), 1u) << "one pass";
  EXPECT_EQ(seen.kernels[0].operands.size(), 3u) << "one output, two sources";
}

// Both of its references are the group's own.
TEST(Lazy, ATemporaryThatIsAnOperandTwiceIsNotStored) {
  nd::array a = ramp(large), b = ramp(large), sum = a + b, square = sum * sum;
  std::string expected = bits(at_once([&] { return (a + b) * (a + b); }));
  sum = nd::array();
  observation seen;
  {
    observed_scope watched(&seen);
    square.eval();
  }
  ASSERT_EQ(seen.kernels.size(), 1u);
  EXPECT_EQ(seen.kernels[0].operands.size(), 3u) << "to the square, from a and b";
  EXPECT_EQ(bits(square), expected);
}

TEST(Lazy, AValueWithAnotherOwnerIsAnExtraOutput) {
  nd::array a = ramp(large), product = a * a, sum = product + a;
  ASSERT_TRUE(is_lazy(product));
  sum.eval();
  EXPECT_FALSE(is_lazy(product)) << "computed in the same pass";
  EXPECT_EQ(bits(product), bits(at_once([&] { return a * a; })));
  EXPECT_EQ(bits(sum), bits(at_once([&] { return a * a + a; })));
}

// What is above fails when the values below have memory already: they stay lazy, and later use it.
TEST(Lazy, TheMemoryOfAFailedAttemptIsUsedAgain) {
  nd::array a = ramp("100 * 100 * int64"), product = a * a;
  EXPECT_NE(testing::failure([&] { nd::floor_divide(product, a - a); }).find("division by zero"), std::string::npos);
  EXPECT_TRUE(is_lazy(product));
  counted *memory = product->values().owner;
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(bits(product), bits(at_once([&] { return a * a; })));
  EXPECT_EQ(product->values().owner, memory);
}

TEST(Lazy, AValueThatIsHeldBelowIsNotComputedForTheOneAbove) {
  nd::array a = ramp(large), product = a * a, sum = product + a;
  product.eval();
  EXPECT_TRUE(is_lazy(sum)) << "its values were not asked for";
  EXPECT_EQ(bits(sum), bits(at_once([&] { return a * a + a; })));
}

TEST(Lazy, AnRvalueIsNotKept) {
  nd::array a = ramp(large), product = a * a;
  nd::array held = product; // so that what became of it can be seen
  array_block *block = product.get();
  nd::array total = nd::sum(std::move(product)); // held by another handle too: kept all the same
  EXPECT_FALSE(is_lazy(held));
  EXPECT_EQ(held.get(), block);
  nd::array dropped = a * a;
  nd::array again = nd::sum(dropped);
  EXPECT_EQ(bits(again), bits(total));
  EXPECT_FALSE(is_lazy(dropped)) << "an lvalue stays, so its values are kept";
  nd::array moved = a * a;
  EXPECT_EQ(bits(nd::sum(std::move(moved))), bits(total));
}

TEST(Lazy, ReductionsAbsorbLazyOperations) {
  nd::array a = ramp(large), b = ramp(large);
  observation seen;
  nd::array rows;
  {
    observed_scope watched(&seen);
    rows = nd::sum(a * b + a, 1);
  }
  EXPECT_EQ(seen.kernels.size(), 1u);
  EXPECT_EQ(bits(rows), bits(at_once([&] { return nd::sum(a * b + a, 1); })));
}

TEST(Lazy, RaggedArraysShareTheRowsOfTheirOperands) {
  nd::array a = ramp("10000 * var * float64");
  nd::array result = a * a + a;
  EXPECT_TRUE(is_lazy(result));
  EXPECT_EQ(result->streams()[0].address, a->streams()[0].address);
  EXPECT_EQ(bits(result), bits(at_once([&] { return a * a + a; })));
}

TEST(Lazy, ChainsLongerThanAGroupAreCut) {
  nd::array a = ramp(large), fused = a, eager = a;
  for (int i = 0; i < 100; i++) {
    fused = i % 3 ? fused + a : fused * 0.5;
    eager = at_once([&] { return i % 3 ? eager + a : eager * 0.5; });
  }
  EXPECT_EQ(bits(fused), bits(eager));
}

TEST(Lazy, ManySourcesAreCut) {
  std::vector<nd::array> sources;
  for (int i = 0; i < 30; i++) {
    sources.push_back(ramp(large) * double(i + 1));
    sources.back().eval();
  }
  auto total = [&] {
    nd::array sum = sources[0];
    for (const nd::array &source : sources) {
      sum = sum * 0.5 + source;
    }
    return sum;
  };
  EXPECT_EQ(bits(total()), bits(at_once(total)));
}

TEST(Lazy, KeepsAliveNoMoreThanFourTimesItself) {
  nd::array a[5];
  for (nd::array &each : a) {
    each = ramp(large);
  }
  nd::array sum = a[0] + a[1] + a[2] + a[3];
  EXPECT_TRUE(is_lazy(sum)) << "80 KB that hold 320 KB";
  EXPECT_FALSE(is_lazy(sum + a[4])) << "80 KB that would hold 400 KB";
  nd::array small = ramp("100 * 100 * int8") + ramp("100 * 100 * int8");
  EXPECT_TRUE(is_lazy(small)) << "elements count as 8 bytes at least, or a comparison would never be lazy";
  EXPECT_TRUE(is_lazy(nd::less(a[0], a[1])));
}

TEST(Lazy, MixedTypesAndConversionsInOnePass) {
  nd::array i = ramp("100 * 200 * int16"), f = ramp("100 * 200 * float32");
  auto compute = [&] { return nd::where(nd::less(i, f), i * i, f / i); };
  EXPECT_EQ(bits(compute()), bits(at_once(compute)));
}

TEST(Lazy, DroppingALongChainNeedsNoStack) {
  // Each operation has another lazy input; nothing is ever computed.
  nd::array a = ramp(large);
  std::vector<nd::array> heads;
  for (int k = 0; k < 1000; k++) {
    nd::array chain = a;
    for (int i = 0; i < 25; i++) {
      chain = chain + a;
    }
    heads.push_back(chain);
  }
  heads.clear();
  EXPECT_EQ(lazy_bytes.load(), 0);
}

TEST(Lazy, TheBudgetCountsLazyArraysOnly) {
  int64_t before = lazy_bytes.load();
  nd::array a = ramp(large);
  {
    nd::array sum = a + a;
    EXPECT_GT(lazy_bytes.load(), before);
    nd::array computed = a * a;
    computed.eval();
    EXPECT_GT(lazy_bytes.load(), before);
  }
  EXPECT_EQ(lazy_bytes.load(), before);
}

TEST(Lazy, ViewsAssignmentsAndCopiesMaterializeTheirOperand) {
  nd::array a = ramp(large), expected = at_once([&] { return a + a; });
  EXPECT_EQ(bits(nd::at(a + a, 3)), bits(nd::at(expected, 3)));
  EXPECT_EQ(bits(nd::transposed(a + a)), bits(nd::transposed(expected)));
  nd::array dst = ramp(large, access_mode::readwrite);
  nd::assign(dst, a + a);
  EXPECT_EQ(bits(dst), bits(expected));
  EXPECT_EQ(bits(nd::copy(a + a, access_mode::readwrite)), bits(expected));
}

} // namespace
} // namespace dynd
