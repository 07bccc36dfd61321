// The operations as data, the type rules, and the choice of an ISA level.
#include <cstring>

#include <gtest/gtest.h>

#include "dynd/base/errors.h"
#include "dynd/ops/aggregate.h"
#include "dynd/ops/isa.h"
#include "dynd/ops/op_id.h"

namespace dynd {
namespace {

TEST(Operations, DescribeThemselves) {
  const operation &add = operation_of(op_id::add);
  EXPECT_STREQ(add.name, "add");
  EXPECT_STREQ(add.signature, "(T, T) -> T");
  EXPECT_EQ(add.noperands, 2);
  EXPECT_EQ(add.noutputs, 1);
  EXPECT_EQ(add.failure, nullptr);
  EXPECT_FALSE(add.compares);
  EXPECT_TRUE(operation_of(op_id::less).compares);
  EXPECT_EQ(add.relation, comparison::none);
  EXPECT_EQ(operation_of(op_id::not_equal).relation, comparison::not_equal);
  EXPECT_EQ(operation_for(comparison::greater_equal)->id, op_id::greater_equal);
  EXPECT_EQ(operation_for(comparison::order), nullptr);
  EXPECT_FALSE(operation_of(op_id::isnan).compares);
  EXPECT_EQ(operation_of(op_id::where).operand[0], value_rule::boolean);
  EXPECT_EQ(operation_of(op_id::where).operand[2], value_rule::same);
  EXPECT_EQ(operation_of(op_id::divmod).noutputs, 2);
  EXPECT_EQ(operation_of(op_id::frexp).output[1], value_rule::int32);
  EXPECT_EQ(operation_of(op_id::abs).output[0], value_rule::real);
  EXPECT_EQ(operation_of(op_id::is_missing).operand[0], value_rule::presence);
  EXPECT_EQ(operation_of(op_id::fill_missing).operand[0], value_rule::optional);
  EXPECT_EQ(reduction_of(reduction_id::max).combine, op_id::maximum);
  EXPECT_EQ(reduction_of(reduction_id::max).empty, empty_rule::none);
}

TEST(Operations, AreInTheOrderOfTheirIds) {
  for (size_t op = 0; op < op_count; ++op) {
    EXPECT_EQ(operation_of(op_id(op)).id, op_id(op));
    EXPECT_GT(std::strlen(operation_of(op_id(op)).doc), 10u);
  }
  for (size_t op = 0; op < reduction_count; ++op) {
    EXPECT_EQ(reduction_of(reduction_id(op)).id, reduction_id(op));
  }
  for (size_t i = 0; i < aggregate_count; ++i) {
    EXPECT_EQ(aggregate_of(aggregate_id(i)).id, aggregate_id(i));
    EXPECT_GT(std::strlen(aggregate_of(aggregate_id(i)).doc), 10u);
  }
}

TEST(Operations, FailInTheTypesThatTheirEntriesName) {
  EXPECT_TRUE(can_fail(op_id::divmod, scalar_id::int32));
  EXPECT_TRUE(can_fail(op_id::remainder, scalar_id::uint8));
  EXPECT_FALSE(can_fail(op_id::divmod, scalar_id::float32));
  EXPECT_FALSE(can_fail(op_id::add, scalar_id::int32));
  EXPECT_TRUE(can_fail(op_id::pow, scalar_id::int8));
  EXPECT_FALSE(can_fail(op_id::pow, scalar_id::uint8));
  EXPECT_FALSE(can_fail(op_id::bitwise_left_shift, scalar_id::uint64));
  EXPECT_STREQ(operation_of(op_id::floor_divide).failure, "integer division by zero");
  EXPECT_STREQ(operation_of(op_id::pow).failure, "negative integer power");
  EXPECT_STREQ(operation_of(op_id::bitwise_right_shift).failure, "negative shift count");
}

TEST(Operations, ThatOneBoolDecidesDoNotDependOnTheOther) {
  int deciding = 0;
  for (size_t op = 0; op < op_count; ++op) {
    decision decided = operation_of(op_id(op)).decided;
    if (decided == decision::none) {
      continue;
    }
    deciding++;
    bool value = decided == decision::by_true, other[] = {false, true}, results[4];
    for (int i = 0; i < 2; i++) {
      isa().loop(op_id(op), scalar_id::bool_)(results + 2 * i, &value, other + i, nullptr, 1, nullptr);
      isa().loop(op_id(op), scalar_id::bool_)(results + 2 * i + 1, other + i, &value, nullptr, 1, nullptr);
    }
    EXPECT_TRUE(results[0] == results[1] && results[0] == results[2] && results[0] == results[3]);
  }
  EXPECT_EQ(deciding, 4); // bitwise and logical: and, or
}

TEST(Signature, IsParsed) {
  constexpr operation_shape fill = parse_signature("(?T, T) -> T");
  static_assert(fill.noperands == 2 && fill.nregisters == 3 && fill.noutputs == 1 && !fill.compares());
  static_assert(fill.reg[0] == value_rule::boolean && fill.reg[1] == value_rule::same);
  constexpr operation_shape presence = parse_signature("(?) -> bool");
  static_assert(presence.nregisters == 1 && presence.reg[0] == value_rule::boolean && !presence.compares());
  constexpr operation_shape parts = parse_signature("(T) -> (T, int32)");
  static_assert(parts.noutputs == 2 && parts.output[0] == value_rule::same && parts.output[1] == value_rule::int32);
  static_assert(parse_signature("(T) -> real T").output[0] == value_rule::real);
  static_assert(parse_signature("(bool, T, T) -> T").operand[0] == value_rule::boolean);
  static_assert(parse_signature("(T, T) -> bool").compares());
  constexpr operation_shape scaled = parse_signature("(T, int64) -> complex T");
  static_assert(scaled.reg[1] == value_rule::int64 && scaled.output[0] == value_rule::complex && scaled.has_values());
  constexpr operation_shape logical = parse_signature("(truth, truth) -> uint8");
  static_assert(logical.reg[0] == value_rule::same && logical.output[0] == value_rule::uint8);
  static_assert(!presence.has_values() && !logical.compares());
}

TEST(Operations, ComputationTypeFollowsTheSet) {
  EXPECT_EQ(computation_type(op_id::add, scalar_id::int8), scalar_id::int8);
  EXPECT_EQ(computation_type(op_id::divide, scalar_id::int8), scalar_id::float64);
  EXPECT_EQ(computation_type(op_id::divide, scalar_id::float32), scalar_id::float32);
  EXPECT_EQ(computation_type(op_id::equal, scalar_id::bool_), scalar_id::bool_);
  EXPECT_EQ(result_type(op_id::less, 0, scalar_id::float64), scalar_id::bool_);
  EXPECT_EQ(result_type(op_id::divmod, 1, scalar_id::uint8), scalar_id::uint8);
  EXPECT_EQ(result_type(op_id::abs, 0, scalar_id::float16), scalar_id::float16);
  EXPECT_EQ(result_type(op_id::abs, 0, scalar_id::complex64), scalar_id::float32);
  EXPECT_EQ(result_type(op_id::abs, 0, scalar_id::complex128), scalar_id::float64);
  EXPECT_EQ(result_type(op_id::frexp, 0, scalar_id::float32), scalar_id::float32);
  EXPECT_EQ(result_type(op_id::frexp, 1, scalar_id::float32), scalar_id::int32);
  EXPECT_EQ(operand_type(op_id::where, 0, scalar_id::float32), scalar_id::bool_);
  EXPECT_EQ(operand_type(op_id::where, 1, scalar_id::float32), scalar_id::float32);
  EXPECT_EQ(operand_type(op_id::fill_missing, 0, scalar_id::int16), scalar_id::int16);
  EXPECT_EQ(computation_type(op_id::modf, scalar_id::int8), scalar_id::float64);
  EXPECT_EQ(computation_type(op_id::bitwise_and, scalar_id::bool_), scalar_id::bool_);
  EXPECT_EQ(computation_type(op_id::gcd, scalar_id::uint16), scalar_id::uint16);
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

TEST(Operations, TypeErrorsOfComplexNumbersNameTheType) {
  for (op_id op : {op_id::less, op_id::greater_equal, op_id::minimum, op_id::divmod, op_id::modf, op_id::gcd}) {
    EXPECT_EQ(type_error([&] { computation_type(op, scalar_id::complex64); }),
              std::string(operation_of(op).name) + ": not defined for complex numbers, got complex64");
  }
  EXPECT_EQ(type_error([] { accumulator_type(reduction_id::min, scalar_id::complex128); }),
            "min: not defined for complex numbers, got complex128");
  EXPECT_EQ(computation_type(op_id::sqrt, scalar_id::complex64), scalar_id::complex64);
  EXPECT_EQ(computation_type(op_id::equal, scalar_id::complex128), scalar_id::complex128);
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::complex64), scalar_id::complex64);
}

TEST(Operations, TypeErrorsOfIntegerOperationsNameTheType) {
  EXPECT_EQ(type_error([] { computation_type(op_id::gcd, scalar_id::float32); }),
            "gcd: defined for integers only, got float32");
  EXPECT_EQ(type_error([] { computation_type(op_id::bitwise_or, scalar_id::float64); }),
            "bitwise_or: defined for integers and bool only, got float64");
}

TEST(Operations, Float16IsReducedInFloat32) {
  for (reduction_id id : {reduction_id::sum, reduction_id::min, reduction_id::max}) {
    EXPECT_EQ(accumulator_type(id, scalar_id::float16), scalar_id::float32);
    EXPECT_EQ(result_type(id, scalar_id::float16), scalar_id::float16);
  }
  EXPECT_EQ(result_type(reduction_id::sum, scalar_id::int8), scalar_id::int64);
  EXPECT_EQ(accumulator_type(reduction_id::argmax, scalar_id::float16), scalar_id::float32);
  EXPECT_EQ(result_type(reduction_id::argmax, scalar_id::float16), scalar_id::int64);
}

TEST(Operations, AccumulatorsOfIntegerSumsHave64Bits) {
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::bool_), scalar_id::int64);
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::int16), scalar_id::int64);
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::uint16), scalar_id::uint64);
  EXPECT_EQ(accumulator_type(reduction_id::sum, scalar_id::float32), scalar_id::float32);
  EXPECT_EQ(accumulator_type(reduction_id::min, scalar_id::int16), scalar_id::int16);
}

TEST(Operations, BoolIsNotANumber) {
  EXPECT_EQ(type_error([] { computation_type(op_id::add, scalar_id::bool_); }),
            "add: bool is not a number; nd.where(a, 1, 0) makes integers of it");
  EXPECT_EQ(type_error([] { computation_type(op_id::bitwise_left_shift, scalar_id::bool_); }),
            "bitwise_left_shift: bool is not a number; nd.where(a, 1, 0) makes integers of it");
  EXPECT_EQ(type_error([] { computation_type(op_id::divide, scalar_id::bool_); }),
            "divide: bool is not a number; nd.where(a, 1, 0) makes integers of it");
  EXPECT_EQ(accumulator_type(reduction_id::max, scalar_id::bool_), scalar_id::bool_) << "any, not arithmetic";
}

TEST(Isa, TheBaselineAlwaysRuns) {
  EXPECT_STREQ(runnable_isa_tables()[0]->name, "baseline");
  bool found = false;
  for (const isa_table *const *table = runnable_isa_tables(); *table; ++table) {
    found = found || *table == &isa();
  }
  EXPECT_TRUE(found);
}

} // namespace
} // namespace dynd
