// Interning: what a type says about itself, one address for each type, and that from many threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/type/c_layout.h"
#include "dynd/type/type.h"

using namespace dynd;

namespace {

template <typename F> void expect_error(error_kind kind, const std::string &text, F f) {
  try {
    f();
    ADD_FAILURE() << "no error, expected: " << text;
  } catch (const error &e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    EXPECT_EQ(std::string(e.what()), text);
  }
}

ndt::type dims_over(int n, ndt::type element) {
  for (int i = 0; i < n; ++i)
    element = i % 2 ? ndt::make_strided_dim(element) : ndt::make_var_dim(element);
  return element;
}

// Made before main: scalars need no initialisation of their own, whatever the order of static objects is.
const ndt::type early_type = ndt::make_fixed_dim(5, ndt::make_strided_dim(ndt::make_scalar(scalar_id::int16)));

TEST(type, no_type_is_false_and_equal_to_itself) {
  EXPECT_FALSE(ndt::type());
  EXPECT_TRUE(ndt::type() == ndt::type());
  EXPECT_TRUE(ndt::make_scalar(scalar_id::bool_) != ndt::type());
}

TEST(type, handle_is_one_pointer) { static_assert(sizeof(ndt::type) == sizeof(void *)); }

TEST(type, scalar_describes_itself) {
  for (size_t i = 0; i < scalar_count; ++i) {
    ndt::type t = ndt::make_scalar(scalar_id(i));
    EXPECT_EQ(t->kind, type_kind::scalar);
    EXPECT_EQ(t->scalar, scalar_id(i));
    EXPECT_EQ(t->ndim, 0);
    EXPECT_EQ(t->var_count, 0);
    EXPECT_EQ(t->id, i);
    EXPECT_EQ(t->size, -1);
    EXPECT_EQ(t->element, nullptr);
    EXPECT_EQ(t.str(), scalar_name[i]);
    EXPECT_TRUE(t.dtype() == t);
    EXPECT_FALSE(t.element());
  }
}

TEST(type, dimension_describes_itself) {
  ndt::type f64 = ndt::make_scalar(scalar_id::float64);
  ndt::type inner = ndt::make_var_dim(f64);
  ndt::type t = ndt::make_strided_dim(ndt::make_fixed_dim(3, inner));
  EXPECT_EQ(t.str(), "strided * 3 * var * float64");
  EXPECT_EQ(t->kind, type_kind::strided_dim);
  EXPECT_EQ(t->scalar, scalar_id::float64);
  EXPECT_EQ(t->ndim, 3);
  EXPECT_EQ(t->var_count, 1);
  EXPECT_EQ(t->size, -1);
  EXPECT_EQ(t.element()->kind, type_kind::fixed_dim);
  EXPECT_EQ(t.element()->size, 3);
  EXPECT_EQ(t.element()->var_count, 1);
  EXPECT_EQ(inner->kind, type_kind::var_dim);
  EXPECT_EQ(inner->ndim, 1);
  EXPECT_TRUE(t.element().element() == inner);
  EXPECT_TRUE(t.dtype() == f64);
  EXPECT_EQ(ndt::make_var_dim(t)->var_count, 2);
}

TEST(type, at_depth_removes_dimensions) {
  ndt::type t("3 * strided * var * int8");
  EXPECT_TRUE(t.at_depth(0) == t);
  EXPECT_EQ(t.at_depth(1).str(), "strided * var * int8");
  EXPECT_EQ(t.at_depth(2).str(), "var * int8");
  EXPECT_EQ(t.at_depth(3).str(), "int8");
  expect_error(error_kind::index, "type: cannot remove 4 dimensions from 3 * strided * var * int8",
               [&] { t.at_depth(4); });
  expect_error(error_kind::index, "type: cannot remove -1 dimensions from 3 * strided * var * int8",
               [&] { t.at_depth(-1); });
}

TEST(type, same_arguments_give_the_same_address) {
  for (size_t i = 0; i < scalar_count; ++i) {
    ndt::type t = ndt::make_scalar(scalar_id(i));
    EXPECT_EQ(t.get(), ndt::make_scalar(scalar_id(i)).get());
    EXPECT_EQ(ndt::make_strided_dim(t).get(), ndt::make_strided_dim(t).get());
    EXPECT_EQ(ndt::make_var_dim(t).get(), ndt::make_var_dim(t).get());
    EXPECT_EQ(ndt::make_fixed_dim(7, t).get(), ndt::make_fixed_dim(7, t).get());
  }
}

TEST(type, different_types_differ_in_address_and_id) {
  std::set<const type_data *> addresses;
  std::set<uint32_t> ids;
  size_t count = 0;
  auto add = [&](ndt::type t) {
    addresses.insert(t.get());
    ids.insert(t->id);
    ++count;
  };
  for (size_t i = 0; i < scalar_count; ++i) {
    ndt::type s = ndt::make_scalar(scalar_id(i));
    add(s);
    for (ndt::type t : {s, ndt::make_strided_dim(s), ndt::make_var_dim(s)}) {
      add(ndt::make_strided_dim(t));
      add(ndt::make_var_dim(t));
      for (intptr_t size : {intptr_t(0), intptr_t(1), intptr_t(2), INTPTR_MAX})
        add(ndt::make_fixed_dim(size, t));
    }
  }
  EXPECT_EQ(addresses.size(), count);
  EXPECT_EQ(ids.size(), count);
}

TEST(type, made_before_main_is_the_same_type) {
  EXPECT_EQ(early_type.str(), "5 * strided * int16");
  EXPECT_TRUE(early_type == ndt::type("5 * strided * int16"));
}

TEST(type, size_zero_and_the_largest_size) {
  ndt::type i8 = ndt::make_scalar(scalar_id::int8);
  EXPECT_EQ(ndt::make_fixed_dim(0, i8).str(), "0 * int8");
  EXPECT_EQ(ndt::make_fixed_dim(INT64_MAX, i8).str(), "9223372036854775807 * int8");
}

TEST(type, negative_size_is_an_error) {
  expect_error(error_kind::value, "datashape: negative dimension size -2",
               [] { ndt::make_fixed_dim(-2, ndt::make_scalar(scalar_id::int8)); });
}

TEST(type, at_most_32_dimensions) {
  ndt::type t = dims_over(max_ndim, ndt::make_scalar(scalar_id::uint8));
  EXPECT_EQ(t->ndim, 32);
  EXPECT_EQ(t->var_count, 16);
  for (int attempt = 0; attempt < 2; ++attempt) {
    expect_error(error_kind::value, "datashape: more than 32 dimensions", [&] { ndt::make_strided_dim(t); });
    expect_error(error_kind::value, "datashape: more than 32 dimensions", [&] { ndt::make_var_dim(t); });
    expect_error(error_kind::value, "datashape: more than 32 dimensions", [&] { ndt::make_fixed_dim(1, t); });
  }
}

TEST(type, element_without_a_type_is_an_error) {
  expect_error(error_kind::type, "make_strided_dim: the element has no type",
               [] { ndt::make_strided_dim(ndt::type()); });
  expect_error(error_kind::type, "make_var_dim: the element has no type", [] { ndt::make_var_dim(ndt::type()); });
  expect_error(error_kind::type, "make_fixed_dim: the element has no type",
               [] { ndt::make_fixed_dim(1, ndt::type()); });
  expect_error(error_kind::type, "make_function: the element has no type",
               [] { ndt::make_function({{ndt::parameter()}}, ndt::make_scalar(scalar_id::int8)); });
}

// Every thread makes the same thousands of new types, in the same order, so that they meet at most of them.
TEST(type, threads_get_the_same_types) {
  constexpr int thread_count = 8;
  constexpr intptr_t first_size = 100000, size_count = 300; // sizes that no other test has
  std::vector<std::vector<ndt::type>> made(thread_count);
  std::atomic<int> ready{0};
  auto work = [&](int index) {
    ++ready;
    while (ready < thread_count)
      std::this_thread::yield();
    for (intptr_t size = first_size; size < first_size + size_count; ++size) {
      ndt::type t = ndt::make_fixed_dim(size, ndt::make_scalar(scalar_id(size % scalar_count)));
      for (int depth = 0; depth < 4; ++depth) {
        made[index].push_back(t);
        made[index].push_back(ndt::make_strided_dim(t));
        t = ndt::make_var_dim(t);
      }
      made[index].push_back(ndt::type(std::to_string(size) + " * strided * " + std::to_string(size) + " * int32"));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i)
    threads.emplace_back(work, i);
  for (std::thread &t : threads)
    t.join();

  std::set<uint32_t> ids;
  for (ndt::type t : made[0])
    ids.insert(t->id);
  EXPECT_EQ(made[0].size(), size_t(size_count * 9));
  EXPECT_EQ(ids.size(), made[0].size());
  for (int i = 1; i < thread_count; ++i)
    EXPECT_TRUE(made[i] == made[0]) << "thread " << i;
}

TEST(type, texts_of_a_fixed_length_are_values) {
  ndt::type text = ndt::make_fixed_string(6), bytes = ndt::make_fixed_bytes(6);
  EXPECT_EQ(text, ndt::type("fixed_string[6]"));
  EXPECT_NE(text, bytes);
  EXPECT_EQ(text->nstreams, 1);
  EXPECT_EQ(text->all_ndim, 0);
  EXPECT_EQ(text->size, 6);
  EXPECT_EQ(text->scalar, not_scalar);
  EXPECT_EQ(text->roles[0], stream_role::values);
  EXPECT_TRUE(is_of_family(text.get(), type_family::text));
  EXPECT_FALSE(is_of_family(bytes.get(), type_family::text));
  EXPECT_TRUE(is_of_family(bytes.get(), type_family::scalar));
  expect_error(error_kind::value, "datashape: a fixed_string has 1 to 2147483647 bytes, not 0",
               [] { ndt::make_fixed_string(0); });
}

// As C has them: char[N] has no alignment of its own.
TEST(type, structs_with_texts_are_laid_out_as_in_c) {
  struct item {
    char name[6];
    unsigned char id[3];
    double x;
    char last[1];
  };
  ndt::type type("{name: fixed_string[6], id: fixed_bytes[3], x: float64, last: fixed_string[1]}");
  ASSERT_TRUE(has_c_layout(type.get()));
  c_layout layout = c_layout_of(type.get());
  EXPECT_EQ(layout.size, intptr_t(sizeof(item)));
  EXPECT_EQ(layout.alignment, intptr_t(alignof(item)));
  std::vector<intptr_t> offsets = {offsetof(item, name), offsetof(item, id), offsetof(item, x), offsetof(item, last)};
  EXPECT_EQ(layout.offset, offsets);
  c_layout option = c_layout_of(ndt::type("?fixed_bytes[3]").get());
  EXPECT_EQ(option.size, 4);
  EXPECT_EQ(option.offset, (std::vector<intptr_t>{0, 1}));
}

} // namespace
