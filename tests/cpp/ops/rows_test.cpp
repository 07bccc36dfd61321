// The run-time view of the rows, the type rules, and the choice of a level.
#include <cstring>

#include <gtest/gtest.h>

#include "dynd/base/errors.h"
#include "dynd/ops/operation.h"

namespace dynd {
namespace {

TEST(Rows, DescribeThemselves) {
  const operation &add = operation_of(op_id::add);
  EXPECT_STREQ(add.name, "add");
  EXPECT_STREQ(add.signature, "(T, T) -> T");
  EXPECT_EQ(add.arity, 2);
  EXPECT_EQ(add.outputs, 1);
  EXPECT_TRUE(add.total);
  EXPECT_STREQ(operation_of(op_id::where).signature, "(bool, T, T) -> T");
  EXPECT_EQ(operation_of(op_id::divmod).outputs, 2);
  EXPECT_TRUE(can_fail(op_id::divmod, scalar_id::int32));
  EXPECT_FALSE(can_fail(op_id::divmod, scalar_id::float32));
  EXPECT_FALSE(can_fail(op_id::add, scalar_id::int32));
  EXPECT_EQ(reduction_of(reduction_id::max).combine, op_id::maximum);
  EXPECT_EQ(reduction_of(reduction_id::max).empty, empty_rule::none);
}

TEST(Rows, AreFoundByName) {
  for (size_t op = 0; op < op_count; ++op) {
    EXPECT_EQ(find_op(operation_of(op_id(op)).name), &operation_of(op_id(op)));
    EXPECT_GT(std::strlen(operation_of(op_id(op)).doc), 10u);
  }
  for (size_t op = 0; op < reduction_count; ++op) {
    EXPECT_EQ(find_reduction(reduction_of(reduction_id(op)).name), &reduction_of(reduction_id(op)));
  }
  EXPECT_EQ(find_op("no such thing"), nullptr);
  EXPECT_EQ(find_reduction("add"), nullptr);
}

TEST(Rows, ComputationTypeFollowsTheSet) {
  EXPECT_EQ(computation_type(op_id::add, scalar_id::int8), scalar_id::int8);
  EXPECT_EQ(computation_type(op_id::divide, scalar_id::int8), scalar_id::float64);
  EXPECT_EQ(computation_type(op_id::divide, scalar_id::float32), scalar_id::float32);
  EXPECT_EQ(computation_type(op_id::equal, scalar_id::bool_), scalar_id::bool_);
  EXPECT_EQ(result_type(op_id::less, scalar_id::float64), scalar_id::bool_);
  EXPECT_EQ(result_type(op_id::divmod, scalar_id::uint8), scalar_id::uint8);
  EXPECT_EQ(result_type(op_id::abs, scalar_id::float16), scalar_id::float16);
  EXPECT_EQ(result_type(op_id::abs, scalar_id::complex64), scalar_id::float32);
  EXPECT_EQ(result_type(op_id::abs, scalar_id::complex128), scalar_id::float64);
}

template <class F> std::string type_error(F f) {
  try {
    f();
  } catch (const error &e) {
    EXPECT_EQ(e.kind(), error_kind::type);
    return e.what();
  }
  return "no error";
}

TEST(Rows, TypeErrorsOfComplexNumbersNameTheType) {
  for (op_id op : {op_id::less, op_id::greater_equal, op_id::minimum, op_id::divmod}) {
    EXPECT_EQ(type_error([&] { computation_type(op, scalar_id::complex64); }),
              std::string(operation_of(op).name) + ": not defined for complex numbers, got complex64");
  }
  EXPECT_EQ(type_error([] { accumulator_type(reduction_id::min, scalar_id::complex128); }),
            "min: not defined for complex numbers, got complex128");
  EXPECT_EQ(computation_type(op_id::sqrt, scalar_id::complex64), scalar_id::complex64);
  EXPECT_EQ(computation_type(op_id::equal, scalar_id::complex128), scalar_id::complex128);
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::complex64), scalar_id::complex64);
}

TEST(Rows, Float16IsReducedInFloat32) {
  for (reduction_id id : {reduction_id::sum, reduction_id::min, reduction_id::max}) {
    EXPECT_EQ(accumulator_type(id, scalar_id::float16), scalar_id::float32);
    EXPECT_EQ(result_type(id, scalar_id::float16), scalar_id::float16);
  }
  EXPECT_EQ(result_type(reduction_id::sum, scalar_id::int8), scalar_id::int64);
}

TEST(Rows, AccumulatorsOfIntegerSumsHave64Bits) {
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::bool_), scalar_id::int64);
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::int16), scalar_id::int64);
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::uint16), scalar_id::uint64);
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::float32), scalar_id::float32);
  EXPECT_EQ(accumulator_type(reduction_id::min, scalar_id::int16), scalar_id::int16);
}

TEST(Rows, BoolIsNotANumber) {
  EXPECT_EQ(type_error([] { computation_type(op_id::add, scalar_id::bool_); }),
            "add: bool is not a number; nd.where(a, 1, 0) makes integers of it");
  EXPECT_EQ(type_error([] { computation_type(op_id::divide, scalar_id::bool_); }),
            "divide: bool is not a number; nd.where(a, 1, 0) makes integers of it");
  EXPECT_EQ(accumulator_type(reduction_id::max, scalar_id::bool_), scalar_id::bool_) << "any, not arithmetic";
}

TEST(Level, TheBaselineAlwaysRuns) {
  EXPECT_STREQ(runnable_isa_tables()[0]->name, "baseline");
  bool found = false;
  for (const isa_table *const *table = runnable_isa_tables(); *table; ++table) {
    found = found || *table == &isa();
  }
  EXPECT_TRUE(found);
}

} // namespace
} // namespace dynd
