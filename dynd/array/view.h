// Views: arrays that share the memory of another. Only addresses, sizes and strides change.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dynd/array/array.h"

namespace dynd {

/// The axis, negative from the end, checked: an index error of the operation where there is none.
int checked_axis(const char *operation, int axis, int ndim);

namespace nd {

/// One entry of an index expression.
struct index {
  enum kind_t : uint8_t { integer, slice, ellipsis, new_axis } kind;
  intptr_t at = 0;                           ///< integer
  std::optional<intptr_t> start, stop, step; ///< slice, as in Python

  static index whole() { return {slice, 0, {}, {}, {}}; } ///< `:`
  static index number(intptr_t i) { return {integer, i, {}, {}, {}}; }
  static index range(std::optional<intptr_t> start, std::optional<intptr_t> stop) {
    return {slice, 0, start, stop, {}};
  }
};

/// a[i, 1:2, ..., None]. On ragged arrays: rows, elements, slices over rows, and slices inside rows (a view with slots
/// of its own; of immutable scalars, a copy where the slices are short: later steps find rows that follow each other).
/// a[:, i] takes an element of every row: a copy, unless the elements are ragged rows themselves, which
/// stay a view. A row of a ragged array is `strided`.
array at(const array &a, std::span<const index> indices);

/// a[i] over the outermost dimension.
array at(const array &a, intptr_t i);

/// What an index that is out of bounds says; `row`: which row of a ragged array it is in, if any.
std::string out_of_bounds_text(intptr_t i, int axis, const std::string &row, intptr_t size);

/// An index error where an index expression has several ellipses, or takes more axes than there are.
void check_index_counts(int ellipses, int taken, int ndim);

/// The axes in another order; of ragged arrays only those between the same rows.
array transposed(const array &a, std::span<const int> axes);
bool can_transpose(const array &a, std::span<const int> axes);
/// All axes reversed.
array transposed(const array &a);

/// One axis moved to another place, past axes that are not ragged.
///   (2, 3, 4), 0 to 2: (3, 4, 2)
array with_axis_moved(const array &a, int from, int to);
bool can_move_axis(const array &a, int from, int to); ///< whether no ragged axis is between

/// A dimension of size 1 at `axis`.
array with_unit_axis(const array &a, int axis);

/// A field of an array of structs: a["x"]. Through options and pointers too, whose fields are options and pointers.
array field(const array &a, std::string_view name);
/// The same by the field's place, of tuples too.
array field(const array &a, int i);

/// A field that may be missing, of structs that may be missing: missing where either is. eval/ sets it.
extern array (*field_of_options)(const array &a, int i);

/// The elements of an array of `bytes` as rows of uint8: a dimension more, the same memory. One element is a row.
array byte_rows(const array &a);

/// Some fields of an array of structs, as structs of these: a[["x", "y"]]. Through options and pointers too.
array fields(const array &a, std::span<const std::string> names);

} // namespace nd

} // namespace dynd
