// Taking arrays apart at an axis, and putting them together: the two ends of every function whose result has rows of
// other lengths than its operand (docs/decisions/0033).
//
// An array is taken apart into the rows of an axis (their offsets) and a list, all the elements of the axis one after
// another. Both are views where the layout allows it. What the function does is in between: from offsets and list to
// other offsets and a list of other elements. A list is an array `strided * E`; E may be anything.
//
//   [[1, 2], [], [3]] at axis 1: offsets 0 2 2 3, list [1, 2, 3]
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/eval/work.h"

namespace dynd {

struct space;

/// Numbers of places, to be filled in: recycled memory, not zeroed. Or those of a dense list of int64, which it shares.
class place_buffer {
public:
  place_buffer() = default;
  explicit place_buffer(intptr_t count);
  explicit place_buffer(const nd::array &list);
  static place_buffer counting(intptr_t count);            ///< 0, 1, 2, ...
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

/// New offsets from the length of each row.
template <class F> row_offsets offsets_of(const char *name, intptr_t count, F length) {
  new_offsets offsets(count);
  int64_t *to = offsets.fill() + 1;
  in_pieces(name, count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      to[r] = length(r);
    }
  });
  make_offsets(name, offsets.fill(), count);
  return offsets;
}

/// New offsets, each of them: offset(r) for r from 0 to count.
template <class F> row_offsets offsets_at(const char *name, intptr_t count, F offset) {
  new_offsets offsets(count);
  int64_t *to = offsets.fill();
  in_pieces(name, count + 1, [&](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      to[r] = offset(r);
    }
  });
  return offsets;
}

/// Calls f(row) for all rows, in pieces.
template <class F> void for_rows(const char *name, const row_offsets &rows, F f) {
  in_pieces_of_rows(name, rows.at, rows.count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      f(r);
    }
  });
}

/// Calls f(row, begin, end) for parts of all rows, in pieces; a long row has several.
template <class F> void for_parts_of_rows(const char *name, const row_offsets &rows, F f) {
  in_pieces_of_content(name, rows.at, rows.count, [&](intptr_t first, intptr_t last, int64_t begin, int64_t end) {
    for (intptr_t r = first; r < last; r++) { // one place of the call, so that it is inlined
      int64_t stop = std::min(rows.at[r + 1], end);
      f(r, begin, stop);
      begin = stop;
    }
  });
}

/// Fills begin .. end, four elements at once, so that no branch depends on the length of a short row. Elements behind
/// the end, even of an empty row, are overwritten up to `limit`: the caller fills the rows in their order.
template <class T> void fill_onward(T *begin, T *end, T *limit, T value) {
  if (limit - begin >= 4) {
    do {
      std::fill_n(begin, 4, value);
      begin += 4;
    } while (begin < end && limit - begin >= 4);
  }
  for (; begin < end; begin++) {
    *begin = value;
  }
}

/// The first row that has another length in `b`; -1 where all are equally long. Both have as many rows.
intptr_t first_other_row(const char *name, const row_offsets &a, const row_offsets &b);
/// Whether both have as many rows of the same lengths.
inline bool same_rows(const char *name, const row_offsets &a, const row_offsets &b) {
  return a.count == b.count && first_other_row(name, a, b) < 0;
}

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
/// The axis of several arrays, counted with those inside of rows that may be missing: a value error where, from the
/// end, it is another one of each.
int common_axis(const char *name, std::span<const nd::array> arrays, int axis);
/// Several axes, of which none is given twice: that is a value error.
std::vector<int> checked_axes(const char *name, std::span<const int> axes, int ndim);

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

/// Arrays that are compact down to the axis have the same sizes and rows outside of it; else a value error.
void check_outside(const char *name, std::span<const nd::array> arrays, int axis);
inline void check_outside(const char *name, std::initializer_list<nd::array> arrays, int axis) {
  check_outside(name, std::span(arrays.begin(), arrays.size()), axis);
}

/// Two arrays have the same size along an axis; else a value error.
void check_size(const char *name, const nd::array &a, const nd::array &b, int axis);
/// The numbers from `first` on, one for each element of the first `depth` dimensions of an array, which is compact
/// there, in these dimensions.
nd::array numbered(const char *name, const nd::array &a, int depth, int64_t first = 0);

/// Of a list of options, as views: what is inside of them, and whether it is there.
nd::array inside_of_options(const nd::array &list);
nd::array validity_of(const nd::array &list);

/// Which of some elements count: a byte each; without an address all do.
struct presence {
  const char *address = nullptr;
  intptr_t stride = 0;

  explicit operator bool() const { return address != nullptr; }
  bool operator()(intptr_t i) const { return !address || address[i * stride]; }
};
/// Which elements of a list are not missing; it does not own the list.
presence presence_of(const nd::array &list);

/// A list such that nothing else writes it: the list itself, or a copy.
nd::array unshared(const nd::array &list);
/// A list of numbers that cannot be missing: of that native type, one after another, and if `kept` such that nothing
/// else writes them. The list itself, or a copy.
nd::array native_list(const nd::array &list, scalar_id type, bool kept = true);

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

/// Places as a list of int64, the same memory; 0, 1, 2, ... as such a list.
nd::array list_of_places(const place_buffer &places);
inline nd::array counted_list(intptr_t count) { return list_of_places(place_buffer::counting(count)); }
/// The same that is not in memory (flag_numbers): for programs that have no other operand.
nd::array list_of_numbers(intptr_t count);

/// A list to be filled in: of numbers, or options of them.
nd::array new_list(ndt::type element, intptr_t count);
template <class T> nd::array new_list(intptr_t count) {
  return new_list(ndt::make_scalar(native_scalar_id<T>()), count);
}
template <class T> T *values_of(const nd::array &list) { return reinterpret_cast<T *>(list->values().address); }

} // namespace dynd
