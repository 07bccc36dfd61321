// What comparison kernels are tested against: values kept apart from arrays (numbers as long double, which holds every
// integer and float of ours exactly; texts as std::string; everything else as lists), their order, and arrays of them.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/array/array.h"
#include "dynd/array/layout.h"
#include "dynd/eval/frame.h"
#include "dynd/kernel/compare.h"
#include "dynd/ops/isa.h"
#include "fixture.h"

namespace dynd::testing {
namespace { // other tests have values too

static_assert(std::numeric_limits<long double>::digits >= 64, "the oracle holds every uint64");

constexpr comparison all_comparisons[] = {comparison::equal,      comparison::not_equal, comparison::less,
                                          comparison::less_equal, comparison::greater,   comparison::greater_equal,
                                          comparison::order};

const char *name_of(comparison which) { return which == comparison::order ? "order" : operation_for(which)->name; }

// ---- values and the oracle ------------------------------------------------------------------------------------------

struct value {
  enum { number, text, list, missing } kind = missing;
  long double n = 0, imag = 0;
  std::string s;
  std::vector<value> items;

  static value of(long double n, long double imag = 0) { return {number, n, imag, "", {}}; }
  static value of(const char *s) { return {text, 0, 0, s, {}}; }
  static value of(std::vector<value> items) { return {list, 0, 0, "", std::move(items)}; }
};
const value none;

enum { below = -1, same = 0, above = 1, apart = 2 };

int order_of(long double a, long double b, bool total) {
  if (std::isnan(a) || std::isnan(b)) {
    return total ? int(std::isnan(a)) - int(std::isnan(b)) : int(apart);
  }
  return a < b ? below : a > b ? above : same;
}

int order_of(const value &a, const value &b, bool total) {
  if (a.kind == value::missing || b.kind == value::missing) {
    return int(a.kind == value::missing) - int(b.kind == value::missing);
  }
  if (a.kind == value::number) {
    int found = order_of(a.n, b.n, total);
    return found == same ? order_of(a.imag, b.imag, total) : found;
  }
  if (a.kind == value::text) {
    for (size_t i = 0; i < std::min(a.s.size(), b.s.size()); i++) {
      if (a.s[i] != b.s[i]) {
        return static_cast<unsigned char>(a.s[i]) < static_cast<unsigned char>(b.s[i]) ? below : above;
      }
    }
    return a.s.size() < b.s.size() ? below : a.s.size() > b.s.size() ? above : same;
  }
  for (size_t i = 0; i < std::min(a.items.size(), b.items.size()); i++) {
    if (int found = order_of(a.items[i], b.items[i], total); found != same) {
      return found;
    }
  }
  return a.items.size() < b.items.size() ? below : a.items.size() > b.items.size() ? above : same;
}

bool expected(const value &a, const value &b, comparison which) {
  int found = order_of(a, b, which == comparison::order);
  switch (which) {
  case comparison::equal:
    return found == same;
  case comparison::not_equal:
    return found != same;
  case comparison::less_equal:
    return found == below || found == same;
  case comparison::greater:
    return found == above;
  case comparison::greater_equal:
    return found == above || found == same;
  default:
    return found == below;
  }
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

template <class T> T number_as(const value &v) {
  if constexpr (kind_of_storage<T> == number_kind::complex) {
    return {static_cast<decltype(T::real)>(v.n), static_cast<decltype(T::imag)>(v.imag)};
  } else if constexpr (std::is_same_v<T, float16>) {
    double wide = static_cast<double>(v.n);
    float16 narrow;
    isa().convert(scalar_id::float16, scalar_id::float64)(&narrow, &wide, nullptr, nullptr, 1, nullptr);
    return narrow;
  } else {
    return static_cast<T>(v.n);
  }
}

void write_number(array_writer &out, int stream, scalar_id scalar, const value &v, bool swapped) {
  auto put = [&](auto converted) {
    char bytes[sizeof(converted)];
    std::memcpy(bytes, &converted, sizeof(bytes));
    size_t component = is_complex(scalar) ? sizeof(bytes) / 2 : sizeof(bytes);
    for (size_t i = 0; swapped && i < sizeof(bytes); i += component) {
      std::reverse(bytes + i, bytes + i + component);
    }
    out.add_value(stream, bytes, sizeof(bytes));
  };
  switch (scalar) {
#define DYND_SCALAR(id, name, ctype)                                                                                   \
  case scalar_id::id:                                                                                                  \
    return put(number_as<ctype>(v));
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
  }
}

void write(array_writer &out, const type_part &part, const value &v) {
  const type_data *t = part.type;
  switch (t->kind) {
  case type_kind::scalar:
    return write_number(out, part.stream, t->scalar, v, false);
  case type_kind::byteswap:
    return write_number(out, part.stream, t->element->scalar, v, true);
  case type_kind::string:
  case type_kind::bytes:
    return out.add_text(part.stream, v.s);
  case type_kind::option:
    if (v.kind == value::missing) {
      return out.add_nothing(part);
    }
    out.add_valid(part.stream, true);
    return write(out, part.element(), v);
  case type_kind::pointer:
    out.add_pointer(part.stream);
    return write(out, part.element(), v);
  case type_kind::tuple:
  case type_kind::struct_:
    for (int i = 0; i < t->nfields; i++) {
      write(out, part.field(i), v.items[size_t(i)]);
    }
    return;
  default:
    if (t->kind == type_kind::var_dim) {
      out.add_row(part.stream, intptr_t(v.items.size()));
    } else {
      ASSERT_TRUE(out.add_size(part.dim, intptr_t(v.items.size())));
    }
    for (const value &item : v.items) {
      write(out, part.element(), item);
    }
  }
}

/// One dimension of elements of that type.
nd::array array_of(const std::string &element, const std::vector<value> &elements,
                   access_mode access = access_mode::immutable) {
  ndt::type type("strided * " + element);
  array_writer out(type);
  write(out, {type.get()}, value::of(elements));
  return nd::array(out.finish(access));
}

/// The elements of an array as an operand, its streams in the call from `first` on.
struct elements {
  const array_block &block;
  arrmeta_of meta;
  kernel_operand operand;

  elements(const nd::array &a, int first)
      : block(*a.get()), meta(block), operand{type_part{block.type}.element(), meta.get(), first} {}

  void place(intptr_t i, char **stream) const {
    for (int s = 0; s < block.nstreams; s++) {
      stream[operand.first + s] = block.streams()[s].address + i * block.strides(s)[0];
    }
  }
  void steps(intptr_t step, intptr_t *stride) const {
    for (int s = 0; s < block.nstreams; s++) {
      stride[operand.first + s] = step * block.strides(s)[0];
    }
  }
};

/// The result of comparisons, in the call's first stream.
kernel_operand result_operand() { return {{ndt::make_scalar(scalar_id::bool_).get()}, nullptr, 0}; }

/// Elements begin, begin + step ... of both.
struct walk {
  intptr_t left_begin, left_step, right_begin, right_step, result_step;
};

std::vector<char> strided(const nd::array &a, const nd::array &b, const walk &w, size_t count, comparison which) {
  elements left(a, 1), right(b, 1 + a->nstreams);
  ckernel_builder kernel;
  make_comparison_kernel(kernel, 0, result_operand(), left.operand, right.operand, which);
  work_frame frame(kernel.scratch_size);
  std::vector<char> memory(count * size_t(std::abs(w.result_step)) + 1, 7), results;
  char *stream[600];
  intptr_t stride[600];
  stream[0] = memory.data() + (w.result_step < 0 ? -w.result_step * intptr_t(count - 1) : 0);
  stride[0] = w.result_step;
  left.place(w.left_begin, stream);
  right.place(w.right_begin, stream);
  left.steps(w.left_step, stride);
  right.steps(w.right_step, stride);
  auto function = reinterpret_cast<streams_strided_t>(kernel.root()->function);
  EXPECT_EQ(function(stream, stride, count, kernel.root(), &frame), dynd_ok);
  for (size_t i = 0; i < count; i++) {
    results.push_back(stream[0][intptr_t(i) * w.result_step]);
  }
  return results;
}

bool single(const nd::array &a, intptr_t i, const nd::array &b, intptr_t j, comparison which) {
  return strided(a, b, {i, 0, j, 0, 1}, 1, which)[0] == 1;
}

/// Where there are complex numbers, the operators have no order.
bool has(comparison which, const std::string &left_type, const std::string &right_type) {
  bool complex = (left_type + right_type).find("complex") != std::string::npos;
  return !complex || which == comparison::equal || which == comparison::not_equal || which == comparison::order;
}

/// All pairs, many in one call and one alone, by every comparison.
void check_all_pairs(const std::string &left_type, const std::vector<value> &left, const std::string &right_type,
                     const std::vector<value> &right) {
  SCOPED_TRACE(left_type + " against " + right_type);
  nd::array a = array_of(left_type, left), b = array_of(right_type, right);
  for (comparison which : all_comparisons) {
    SCOPED_TRACE(name_of(which));
    if (!has(which, left_type, right_type)) {
      EXPECT_NE(failure([&] { single(a, 0, b, 0, which); }).find("no order of complex numbers"), std::string::npos);
      continue;
    }
    for (size_t i = 0; i < left.size(); i++) {
      std::vector<char> row = strided(a, b, {intptr_t(i), 0, 0, 1, 1}, right.size(), which);
      for (size_t j = 0; j < right.size(); j++) {
        ASSERT_EQ(int(row[j]), int(expected(left[i], right[j], which))) << "strided, elements " << i << ", " << j;
      }
      size_t j = (i * 7 + size_t(which)) % right.size();
      ASSERT_EQ(single(a, intptr_t(i), b, intptr_t(j), which), expected(left[i], right[j], which))
          << "single, elements " << i << ", " << j;
    }
  }
}

} // namespace
} // namespace dynd::testing
