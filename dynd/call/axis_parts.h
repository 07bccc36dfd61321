// An axis of an array with its rows and elements, for functions that change the lengths of rows. Private to dynd/call/.
#pragma once

#include <algorithm>
#include <string>

#include "dynd/array/array.h"
#include "dynd/base/errors.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/nested.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

// An argument with elements of another type; what they cannot become is an error of the function.
inline array converted_for(const char *name, const char *what, const array &given, ndt::type element) {
  try {
    return array(copy_values(given.get(), access_mode::immutable, element));
  } catch (const error &e) {
    fail(e.kind(), std::string(name) + ": " + what + ": " + e.what());
  }
}

// One value as an element of the list.
inline array element_from(const char *name, const char *what, const array &given, const array &list) {
  if (given.ndim() > 0) {
    fail(error_kind::type,
         std::string(name) + ": " + what + " must be one value, not " + std::string(given.type().str()));
  }
  return converted_for(name, what, given, list.type().element());
}

// An axis of the operand, with its rows and elements.
struct axis_parts {
  int axis;
  array whole;
  row_offsets rows;

  axis_parts(const char *name, const array &a, int number)
      : axis(checked_axis(name, a, number)), whole(compact(a, axis)), rows(rows_at(whole, axis)) {}
  array list() const { return list_of(whole, axis); }
  bool is_var() const { return whole->is_var(axis); }
  /// Other elements in place of the axis: rows where it has rows, else the one size.
  array put(row_offsets others, const array &list) const {
    intptr_t size = others.count ? others.length(0) : 0;
    return is_var() ? assemble(whole, axis, {std::move(others)}, list) : assemble(whole, axis, {size}, list);
  }
};

// An array of integers as a list of int64.
inline array int_list(const char *name, const char *what, const array &a) {
  element_kind kind;
  if (!find_element_kind(a->type->dtype, kind) || kind.option || !is_integer(kind.scalar)) {
    fail(error_kind::type, std::string(name) + ": " + what + " must be integers, not " + std::string(a.type().str()));
  }
  array numbers = converted_for(name, what, a, ndt::make_scalar(scalar_id::int64));
  return list_of(compact(numbers, a.ndim() - 1), a.ndim() - 1);
}

// Of a list of int64.
inline void check_not_negative(const char *name, const char *what, const array &list) {
  const int64_t *value = values_of<int64_t>(list);
  in_pieces(name, list.size(0), [&](intptr_t begin, intptr_t end) {
    const int64_t *negative = std::find_if(value + begin, value + end, [](int64_t v) { return v < 0; });
    if (negative < value + end) {
      fail(error_kind::value, std::string(name) + ": " + what + " " + std::to_string(negative - value) +
                                  " is negative: " + std::to_string(*negative));
    }
  });
}

} // namespace dynd::nd
