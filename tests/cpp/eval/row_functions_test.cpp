// Functions of rows whose passes are stages of one kernel: the bits of the same passes one by one, for every layout.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/row_functions.h"
#include "dynd/eval/settings.h"
#include "dynd/eval/threads.h"
#include "eval/allocation_scenarios.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::bits;
using testing::parse;
using testing::ramp;
using testing::text;

nd::array rows(row_function function, nd::array a, double correction = 0, int axis = -1, bool keepdims = false) {
  return nd::array(evaluate_rows({{"rows", function, correction}, a.get(), false, axis, keepdims}, thread_settings()));
}
nd::array row_means(const nd::array &a) { return rows(row_function::mean, a); }
nd::array row_deviations(const nd::array &a) { return rows(row_function::deviation, a); }

// One pass after another. `a` has no missing values.
struct passes {
  nd::array mean, deviation;
  explicit passes(const nd::array &a) {
    nd::array one = nd::add(nd::multiply(nd::isnan(a) & nd::array(false), nd::array(1.0)), nd::array(1.0));
    nd::array count = nd::sum(one, -1, {true});
    nd::array kept = nd::sum(a, -1, {true}) / count;
    nd::array d = a - kept;
    mean = nd::sum(a, -1) / nd::sum(one, -1);
    deviation = nd::sqrt(nd::sum(d * d, -1) / nd::sum(one, -1));
  }
};

// Values that round: thirds.
nd::array thirds(const char *type) { return nd::sqrt(ramp(type) + 0.5) / 3.0; }

TEST(RowFunctions, AreTheBitsOfPassesOneByOne) {
  for (const char *type : {"700 * 4 * float64", "3 * 5000 * float64", "5 * 513 * float32", "9000 * var * float64",
                           "4 * 7 * 9 * float64", "5 * 1 * float64", "40 * float64", "30 * var * float32"}) {
    nd::array a = thirds(type).eval();
    EXPECT_EQ(bits(row_means(a)), bits(passes(a).mean)) << type;
    EXPECT_EQ(bits(row_deviations(a)), bits(passes(a).deviation)) << type;
    nd::array backwards = testing::view(a, -1);
    EXPECT_EQ(bits(row_deviations(backwards)), bits(passes(backwards).deviation)) << type;
  }
}

TEST(RowFunctions, OfRowsLongerThanABatch) {
  nd::array content = thirds("3000 * float64").eval(), offsets = parse("6 * int64", "[0, 255, 511, 800, 801, 3000]");
  nd::array a = nd::from_offsets(offsets, content);
  EXPECT_EQ(bits(row_deviations(a)), bits(passes(a).deviation));
}

TEST(RowFunctions, OfRowsOfEveryLength) {
  for (int step : {1, 7, 37}) { // eight rows that are alike, or not
    std::string offsets = "[0";
    int64_t end = 0;
    for (int r = 0; r < 300; r++) {
      end += r * step % 90;
      offsets += ", " + std::to_string(end);
    }
    nd::array rows_of = parse("301 * int64", offsets + "]");
    for (const char *type : {"float64", "float32"}) {
      std::string content = std::to_string(end) + " * " + type;
      nd::array a = nd::from_offsets(rows_of, thirds(content.c_str()).eval());
      EXPECT_EQ(bits(row_means(a)), bits(passes(a).mean)) << step << type;
      EXPECT_EQ(bits(row_deviations(a)), bits(passes(a).deviation)) << step << type;
    }
  }
}

TEST(RowFunctions, AreOneKernelWithWhatIsLazyBelow) {
  nd::array a = ramp("9000 * var * float64");
  observation seen;
  nd::array result;
  {
    observed_scope watched(&seen);
    nd::array product = a * a;
    result = nd::array(evaluate_rows({{"std", row_function::deviation}, product.get(), true}, thread_settings()));
  }
  ASSERT_EQ(seen.kernels.size(), 1u) << explanation_text(seen);
  EXPECT_NE(explanation_text(seen).find("multiply"), std::string::npos);
  EXPECT_NE(explanation_text(seen).find("row r3=float64(r2)"), std::string::npos) << explanation_text(seen);
  EXPECT_EQ(bits(result), bits(row_deviations((a * a).eval())));
}

TEST(RowFunctions, ALazyOperandWithAnotherOwnerIsComputedOnTheWay) {
  nd::array a = ramp("9000 * var * float64"), product = a * a;
  nd::array result = row_deviations(product);
  EXPECT_EQ(product->state.load(), array_state::ready);
  EXPECT_EQ(bits(product), bits((a * a).eval()));
  EXPECT_EQ(bits(result), bits(row_deviations((a * a).eval())));
}

TEST(RowFunctions, EmptyRowsAndMissingValues) {
  nd::array a = parse("4 * var * ?float64", "[[1, null, 3], [], [null], [2, 2]]");
  EXPECT_EQ(text(row_means(a)), "[2.0, nan, nan, 2.0]");
  EXPECT_EQ(text(rows(row_function::variance, a)), "[1.0, nan, nan, 0.0]");
  EXPECT_EQ(text(rows(row_function::variance, a, 1)), "[2.0, nan, nan, 0.0]");
  EXPECT_EQ(text(row_means(ramp("2 * 0 * float64"))), "[nan, nan]");
  EXPECT_EQ(text(row_means(parse("2 * 3 * int8", "[[1, 2, 4], [-1, 0, 1]]")) * 3.0), "[7.0, 0.0]");
}

TEST(RowFunctions, OfAnotherAxisWhereItIsInsideInMemory) {
  nd::array a = thirds("50 * 60 * float64").eval(), turned = nd::transposed(a);
  EXPECT_EQ(bits(rows(row_function::variance, turned, 0, 0)), bits(rows(row_function::variance, a)));
  EXPECT_FALSE(evaluate_rows({{"var", row_function::variance}, turned.get(), false, 1}, thread_settings()));
  EXPECT_EQ(text(nd::array(rows(row_function::mean, turned, 0, 0, true)->size()[0])), "1");
}

// ---- lazy -----------------------------------------------------------------------------------------------------------

nd::array kept(row_function function, const nd::array &a) { return rows(function, a, 0, -1, true); }

TEST(RowFunctions, WhatIsComputedOfRowsAndTheirValuesIsOneKernel) {
  for (const char *type : {"9000 * var * float64", "300 * 700 * float64", "3 * 4000 * float32"}) {
    nd::array a = thirds(type).eval(), expected;
    {
      eager_scope eager;
      expected = (a - kept(row_function::mean, a)) / kept(row_function::deviation, a);
    }
    observation seen;
    nd::array result;
    {
      observed_scope watched(&seen);
      result = (a - kept(row_function::mean, a)) / kept(row_function::deviation, a);
      EXPECT_EQ(result->state.load(), array_state::lazy);
      result.eval();
    }
    EXPECT_EQ(seen.kernels.size(), 1u) << explanation_text(seen);
    std::string steps = explanation_text(seen); // the mean, and what deviates from it, once
    EXPECT_EQ(steps.find("subtract"), steps.rfind("subtract")) << steps;
    EXPECT_EQ(bits(result), bits(expected)) << type;
  }
}

TEST(RowFunctions, LazyOnesWithOtherOwnersAreComputedOnTheWay) {
  nd::array a = ramp("9000 * var * float64"), expected;
  nd::array mean = kept(row_function::mean, a), alone = kept(row_function::mean, a * a);
  EXPECT_EQ(mean->state.load(), array_state::lazy);
  nd::array d = (a - mean).eval();
  EXPECT_EQ(mean->state.load(), array_state::ready);
  EXPECT_EQ(bits(mean), bits(nd::with_unit_axis(rows(row_function::mean, a), 1)));
  EXPECT_EQ(bits(alone), bits(nd::with_unit_axis(rows(row_function::mean, a * a), 1)));
}

TEST(RowFunctions, LazyOnesWithinOperationsOnRowsAndReductions) {
  nd::array a = ramp("9000 * var * float64");
  auto all = [&] {
    nd::array mean = kept(row_function::mean, a), twice = mean * 2.0 + 1.0;
    std::string text = bits(twice) + bits(nd::sum(a - kept(row_function::mean, a), 1));
    text += bits(nd::sum(a - kept(row_function::mean, a))) + bits(kept(row_function::mean, a - mean));
    nd::array x = a;
    for (int i = 0; i < 12; i++) { // more functions of rows than one pass takes
      x = x * 0.5 - kept(i % 2 ? row_function::deviation : row_function::mean, x);
    }
    return text + bits(x);
  };
  std::string fused = all();
  eager_scope eager;
  EXPECT_EQ(fused, all());
}

// ---- rows in blocks -------------------------------------------------------------------------------------------------

// Rows of these lengths, with values about `center`.
nd::array long_rows(double center) {
  nd::array content = nd::sqrt(ramp("310000 * float64") + 0.1) / 500.0 + nd::array(center);
  return nd::from_offsets(parse("7 * int64", "[0, 5, 5, 40005, 72773, 110000, 310000]"), content.eval());
}

TEST(RowFunctions, ARowHasTheSameBitsWhateverIsBesideIt) {
  nd::array a = long_rows(3);
  nd::array together = rows(row_function::variance, a);
  for (intptr_t r : {0, 2, 3, 4, 5}) {
    nd::array alone = nd::at(a, r), one = nd::with_unit_axis(alone, 0);
    EXPECT_EQ(bits(rows(row_function::variance, alone)), bits(nd::at(together, r))) << r;
    EXPECT_EQ(bits(nd::at(rows(row_function::variance, one), 0)), bits(nd::at(together, r))) << r;
    nd::array columns = nd::copy(nd::transposed(one), access_mode::immutable);
    if (alone->size()[0] > block_elements) {
      EXPECT_EQ(bits(nd::at(rows(row_function::variance, columns, 0, 0), 0)), bits(nd::at(together, r))) << r;
    }
  }
  EXPECT_EQ(bits(rows(row_function::variance, a * 1.0)), bits(together));
  EXPECT_EQ(bits(rows(row_function::variance, testing::view(testing::view(a, -1), -1))), bits(together));
}

TEST(RowFunctions, LongRowsAreSharedByThreads) {
  nd::array a = long_rows(3);
  int before = num_threads();
  set_num_threads(1);
  std::string one = bits(row_deviations(a));
  set_num_threads(2);
  EXPECT_EQ(bits(row_deviations(a)), one);
  set_num_threads(before);
}

// Known exactly: a ramp of n steps of h has variance h^2 (n^2 - 1) / 12, wherever its center is.
TEST(RowFunctions, VarianceOfLongRowsIsAccurateFarFromZero) {
  for (double center : {0.0, 1e6, 1e10}) {
    nd::array a = ramp("200000 * float64") * 0.5 + nd::array(center);
    double n = 200000, expected = 0.25 * (n * n - 1) / 12;
    double found = std::stod(text(rows(row_function::variance, a)));
    EXPECT_NEAR(found, expected, 4e-16 * expected) << center;
  }
}

} // namespace
} // namespace dynd
