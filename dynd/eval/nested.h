// Taking arrays apart at an axis, and putting them together: the two ends of every function whose result has rows of
// other lengths than its operand (docs/decisions/0033).
//
// An array is taken apart into the rows of an axis (their offsets) and a list, all the elements of the axis one after
// another. Both are views where the layout allows it. What the function does is in between: from offsets and list to
// other offsets and a list of other elements. A list is an array `strided * E`; E may be anything.
//
//   [[1, 2], [], [3]] at axis 1: offsets 0 2 2 3, list [1, 2, 3]
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "dynd/array/rows.h"
#include "dynd/array/view.h"

namespace dynd {

struct space;

/// Numbers of places, to be filled in: recycled memory, not zeroed. Or those of a dense list of int64, which it shares.
class place_buffer {
public:
  place_buffer() = default;
  explicit place_buffer(intptr_t count);
  explicit place_buffer(const nd::array &list);
  int64_t *fill() { return const_cast<int64_t *>(data_); } ///< not of what is shared
  const int64_t *data() const { return data_; }
  intptr_t size() const { return count_; }
  int64_t operator[](intptr_t i) const { return data_[i]; }
  const ref<counted> &owner() const { return owner_; }

private:
  ref<counted> owner_;
  const int64_t *data_ = nullptr;
  intptr_t count_ = 0;
};

/// Where rows begin in a list: count + 1 offsets, the first is 0.
struct row_offsets {
  ref<counted> owner;
  const int64_t *at = nullptr;
  intptr_t count = 0;

  int64_t total() const { return at[count]; }
  int64_t length(intptr_t r) const { return at[r + 1] - at[r]; }
};

/// Memory for count + 1 offsets, to be filled in by the caller.
struct new_offsets : row_offsets {
  explicit new_offsets(intptr_t count);
  int64_t *fill() { return const_cast<int64_t *>(at); }
};

/// Whether the elements are rows that may be missing, `strided * ?var * T` (missing_rows.h).
inline bool has_missing_rows(const type_data *type) {
  return type->dtype->kind == type_kind::option && type->dtype->element->ndim > 0;
}
inline constexpr const char *missing_rows_hint = "use fill_missing(a, []) or drop_missing(a) first";
/// The dimensions, and those inside of rows that may be missing.
///   strided * ?var * ?3 * {x: var * T}: 3
int rows_ndim(const type_data *type);

/// The elements, inside of such rows too.
inline const type_data *elements_of_rows(const type_data *type) {
  for (; has_missing_rows(type); type = type->dtype->element) {
  }
  return type->dtype;
}

/// Whether the elements are bools, which may be missing.
inline bool is_mask(const type_data *type) {
  element_kind kind;
  return find_element_kind(type->dtype, kind) && kind.scalar == scalar_id::bool_;
}

/// The axis, negative from the end, checked: an index error where there is none. Axes inside of rows that may be
/// missing count, but are an error too: functions that take them look for them first.
int checked_axis(const char *name, const nd::array &a, int axis);

/// The array; where its first dimension is `var`, that one row as a dimension of one size.
nd::array one_size_outside(const nd::array &a);

/// Whether the elements of the axis follow each other in memory.
bool is_compact(const nd::array &a, int axis);
/// The array, with one size outside, or a copy in which everything is in C order: where the elements of the axis do not
/// follow each other.
nd::array compact(const nd::array &a, int axis);
/// A copy of an array of any type: in C order, rows and texts one after another.
nd::array compact_copy(const nd::array &a);

/// Whether the first dimensions of an array have the sizes of a space, and rows of the same lengths, which in the space
/// follow each other.
bool has_rows_of(const nd::array &a, const space &shape);

// Of an array that is compact down to the axis:
/// all elements of the axis, as a list, a view; axis -1: the whole array as the one element of a list;
nd::array list_of(const nd::array &a, int axis);
/// the rows of the axis, over everything outside of it. Rows of one size have offsets too.
row_offsets rows_at(const nd::array &a, int axis);
/// the lengths of these rows, int64, with the dimensions outside of the axis;
nd::array lengths_at(const char *name, const nd::array &a, int axis);
/// one of them by its number, for messages: "row 2", "row (0, 1)";
std::string row_name(const nd::array &a, int axis, intptr_t row);
/// of a mask, its elements as a list of bytes: 1 where it is true, 0 where it is false or missing. Other types are an
/// error.
nd::array mask_list(const char *name, const nd::array &mask, int axis);

/// The numbers from `first` on, one for each element of the first `depth` dimensions of an array, which is compact
/// there, in these dimensions.
nd::array numbered(const char *name, const nd::array &a, int depth, int64_t first = 0);

/// Of a list of options, as views: what is inside of them, and whether it is there.
nd::array inside_of_options(const nd::array &list);
nd::array validity_of(const nd::array &list);

/// A list of `count` rows over the elements of another list, a view; each is a {start, size} pair.
///   [10, 20, 30], {2, 1} {0, 2}: [[30], [10, 20]]
nd::array rows_over(const nd::array &list, ref<buffer> slots, intptr_t count);

/// Of any array: the content of its innermost rows down to the axis, as a list, a view, and the place there of each
/// element of the axis. False where the dimensions inside of the rows do not follow each other, or there are no rows.
bool list_of_content(const nd::array &a, int axis, nd::array &list, place_buffer &places);

/// One more dimension of an array that is put together: rows, or one size.
struct new_dim {
  new_dim(row_offsets r) : rows(std::move(r)), size(-1) {} // NOLINT: rows are a dimension
  new_dim(intptr_t n) : size(n) {}                         // NOLINT: so is a size

  row_offsets rows;
  intptr_t size;
};

/// An array with the first `keep` dimensions of `like`, which is compact down to them, the dimensions `dims` inside of
/// these, and the elements of a list. All sizes agree: that is the caller's duty.
nd::array assemble(const nd::array &like, int keep, std::span<const new_dim> dims, const nd::array &list);
inline nd::array assemble(const nd::array &like, int keep, std::initializer_list<new_dim> dims, const nd::array &list) {
  return assemble(like, keep, std::span(dims.begin(), dims.size()), list);
}

/// The numbers from 0 to count - 1 as a list; they are not in memory (flag_numbers).
nd::array list_of_numbers(intptr_t count);

/// A list of numbers to be filled in.
template <class T> nd::array new_list(intptr_t count) {
  return nd::array(new_dense(ndt::make_strided_dim(ndt::make_scalar(native_scalar_id<T>())).get(), &count));
}
template <class T> T *values_of(const nd::array &list) { return reinterpret_cast<T *>(list->values().address); }

} // namespace dynd
