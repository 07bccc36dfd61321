#include "dynd/plan/broadcast.h"

#include <functional>

#include <gtest/gtest.h>

#include "dynd/base/errors.h"
#include "tests/cpp/plan/naive.h"

using namespace dynd;
using namespace dynd::plan_test;

namespace {

numbers shapes(const std::vector<numbers> &operands, const char *operation = "add") {
  std::vector<sizes_view> views(operands.begin(), operands.end());
  intptr_t result[max_loops];
  int ndim = broadcast_shapes(operation, views, result);
  return numbers(result, result + ndim);
}

numbers strides(const numbers &size, const numbers &stride, int ndim) {
  numbers result(ndim, -1);
  broadcast_strides(size, stride.data(), ndim, result.data());
  return result;
}

void expect_error(error_kind kind, const std::string &text, const std::function<void()> &call) {
  try {
    call();
    ADD_FAILURE() << "no error, expected: " << text;
  } catch (const error &e) {
    EXPECT_EQ(e.what(), text);
    EXPECT_EQ(e.kind(), kind);
  }
}

constexpr intptr_t huge = intptr_t(1) << 40;

} // namespace

TEST(broadcast, shapes_line_up_at_the_right) {
  EXPECT_EQ(shapes({{3, 1, 4}, {5, 1}, {4}}), (numbers{3, 5, 4}));
  EXPECT_EQ(shapes({{4}, {3, 4}}), (numbers{3, 4}));
  EXPECT_EQ(shapes({{3, 4}, {3, 4}, {3, 4}}), (numbers{3, 4}));
  EXPECT_EQ(shapes({{3, 1}, {1, 4}}), (numbers{3, 4}));
}

TEST(broadcast, scalars_and_no_operands_give_no_axes) {
  EXPECT_EQ(shapes({}), numbers{});
  EXPECT_EQ(shapes({{}, {}}), numbers{});
  EXPECT_EQ(shapes({{}, {2, 3}}), (numbers{2, 3}));
}

TEST(broadcast, one_stretches_to_zero) {
  EXPECT_EQ(shapes({{0}, {1}}), numbers{0});
  EXPECT_EQ(shapes({{1, 3}, {0, 1}}), (numbers{0, 3}));
  EXPECT_EQ(shapes({{0}, {}}), numbers{0});
}

TEST(broadcast, error_names_operation_shapes_and_axis) {
  expect_error(error_kind::broadcast, "add: cannot broadcast (3, 4) with (2, 4) at axis 0", [] {
    shapes({{3, 4}, {2, 4}});
  });
  expect_error(error_kind::broadcast, "multiply: cannot broadcast (3, 4) with (3,) at axis 1", [] {
    shapes({{3, 4}, {3}}, "multiply");
  });
  expect_error(error_kind::broadcast, "add: cannot broadcast (0,) with (3,) at axis 0", [] { shapes({{0}, {3}}); });
}

TEST(broadcast, error_names_the_operand_that_gave_the_size) {
  expect_error(error_kind::broadcast, "where: cannot broadcast (3, 1) with (2, 4, 4) at axis 1", [] {
    shapes({{1, 4}, {3, 1}, {2, 4, 4}}, "where");
  });
}

TEST(broadcast, too_many_axes_fail) {
  EXPECT_EQ(shapes({numbers(32, 1)}).size(), 32u);
  expect_error(error_kind::value, "add: more than 32 axes: 33", [] { shapes({numbers(33, 1), {2}}); });
}

TEST(broadcast, too_many_elements_fail) {
  expect_error(error_kind::overflow, "add: too many elements: (1099511627776, 1099511627776)", [] {
    shapes({{huge, 1}, {1, huge}});
  });
  EXPECT_EQ(shapes({{huge, 1}, {1, 1 << 22}}), (numbers{huge, 1 << 22}));
  EXPECT_THROW(shapes({{huge, 1}, {1, 1 << 23}}), error); // 2^63
}

TEST(broadcast, count_of_elements) {
  EXPECT_EQ(count_elements("array", numbers{3, 4}), 12);
  EXPECT_EQ(count_elements("array", numbers{}), 1);
  EXPECT_EQ(count_elements("array", numbers{3, 0, 4}, 8), 0);
  EXPECT_EQ(count_elements("array", numbers{INTPTR_MAX}), INTPTR_MAX);
  expect_error(error_kind::overflow, "array: too many elements of 8 bytes: (9223372036854775807,)",
               [] { count_elements("array", numbers{INTPTR_MAX}, 8); });
}

TEST(broadcast, count_checks_the_strides_of_empty_shapes_too) {
  for (const numbers &size : {numbers{0, huge, huge}, numbers{huge, huge, 0}, numbers{huge, 0, huge}})
    EXPECT_THROW(count_elements("array", size), error);
}

TEST(broadcast, destination_does_not_stretch) {
  check_broadcasts_to("assign", numbers{4}, numbers{3, 4});
  check_broadcasts_to("assign", numbers{3, 1}, numbers{3, 0});
  check_broadcasts_to("assign", numbers{}, numbers{});
  expect_error(error_kind::broadcast, "assign: cannot broadcast (3, 4) to (2, 4) at axis 0", [] {
    check_broadcasts_to("assign", numbers{3, 4}, numbers{2, 4});
  });
  expect_error(error_kind::broadcast, "assign: cannot broadcast (3,) to (2, 1) at axis 1", [] {
    check_broadcasts_to("assign", numbers{3}, numbers{2, 1});
  });
  expect_error(error_kind::broadcast, "assign: cannot broadcast 2 axes to 1, (1, 4) to (4,)", [] {
    check_broadcasts_to("assign", numbers{1, 4}, numbers{4});
  });
}

TEST(broadcast, strides_are_zero_where_missing_or_of_size_one) {
  EXPECT_EQ(strides({3, 1, 4}, {16, 16, 4}, 3), (numbers{16, 0, 4}));
  EXPECT_EQ(strides({5, 1}, {8, 40}, 3), (numbers{0, 8, 0}));
  EXPECT_EQ(strides({4}, {4}, 3), (numbers{0, 0, 4}));
  EXPECT_EQ(strides({}, {}, 2), (numbers{0, 0}));
  EXPECT_EQ(strides({0, 3}, {-24, -8}, 2), (numbers{-24, -8}));
}

TEST(broadcast, shape_text_is_pythons) {
  EXPECT_EQ(shape_text(numbers{}), "()");
  EXPECT_EQ(shape_text(numbers{4}), "(4,)");
  EXPECT_EQ(shape_text(numbers{3, 4}), "(3, 4)");
}
