// Arrays from values that come one after another.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "dynd/array/array.h"
#include "dynd/array/layout.h"
#include "dynd/base/errors.h"

namespace dynd {
namespace {

TEST(array_writer, scalars_are_dense_and_small_ones_in_their_block) {
  array_writer writer(ndt::type("strided * 2 * int32"));
  EXPECT_TRUE(writer.add_size(0, 3));
  int32_t values[6] = {1, 2, 3, 4, 5, 6};
  std::memcpy(writer.add_space(0, sizeof(values)), values, sizeof(values));
  nd::array a(writer.finish(access_mode::immutable));
  EXPECT_EQ(a.str(), "nd.array([[1, 2], [3, 4], [5, 6]], type=\"strided * 2 * int32\")");
  EXPECT_TRUE(a->flags & flag_dense);
  EXPECT_TRUE(a->flags & flag_ours);
  EXPECT_EQ(a->count, 6);
  EXPECT_EQ(a->values().owner, nullptr);
}

TEST(array_writer, space_and_values_follow_each_other) {
  array_writer writer(ndt::type("strided * var * int8"));
  writer.add_size(0, 2);
  writer.add_row(0, 2);
  int8_t first[2] = {1, 2}, second = 3;
  std::memcpy(writer.add_space(1, 2), first, 2);
  writer.add_row(0, 1);
  writer.add_value(1, &second, 1);
  nd::array a(writer.finish(access_mode::immutable));
  EXPECT_EQ(nd::values_text(a), "[[1, 2], [3]]");
}

TEST(array_writer, a_strided_dimension_has_one_size) {
  array_writer writer(ndt::type("strided * strided * int8"));
  EXPECT_TRUE(writer.add_size(1, 2));
  EXPECT_TRUE(writer.add_size(1, 2));
  EXPECT_FALSE(writer.add_size(1, 3));
}

TEST(type, names_of_fields_have_no_zero_byte) {
  std::string names[] = {std::string("a\0b", 3)};
  ndt::type fields[] = {ndt::make_string()};
  EXPECT_THROW(ndt::make_struct(names, fields), error);
}

} // namespace
} // namespace dynd
