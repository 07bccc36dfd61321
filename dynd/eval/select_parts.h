// An index expression taken apart, and what it selects. Private to dynd/eval/select*.cpp.
#pragma once

#include <span>
#include <vector>

#include "dynd/eval/gather.h"
#include "dynd/eval/select.h"
#include "dynd/eval/settings.h"

namespace dynd {

/// What comes before the arrays, the arrays and the integers among them, what comes after.
struct index_expression {
  std::vector<nd::index> before, after;
  std::vector<selector> arrays;
  int first_axis = 0; ///< of the array: the one that the first array is over
  int naxes = 0;      ///< that the arrays and integers are over

  index_expression(const nd::array &a, std::span<const selector> selectors);
  /// The array with what comes before applied; its axis number before.size() is the arrays' first.
  nd::array base(const nd::array &a) const { return before.empty() ? a : nd::at(a, before); }
  int axis() const { return int(before.size()); }
  /// A view of a result of the selection, with what comes after applied. `inside`: dimensions of the result that are
  /// inside of those of the selection.
  nd::array rest_of(const nd::array &taken, int inside) const;
};

/// How many axes of an array the selector is over.
int axes_of(const selector &s);

/// An index array has integers, which may be missing: whether they may. Other elements are an error.
bool check_index_type(const char *name, const nd::array &index);
/// An index as int64, or options of it. A number that does not fit is out of bounds.
nd::array index_numbers(const char *name, const nd::array &index, bool option);

/// Whether integers come first and then a mask or an index with rows, a[i, mask]: it is of that row, a[i][mask].
bool selects_in_one_row(const nd::array &a, std::span<const selector> selectors);

/// Selections of which selects_in_missing_rows is true.
nd::array select_in_missing_rows(const nd::array &a, std::span<const selector> selectors);
void assign_in_missing_rows(const nd::array &a, std::span<const selector> selectors, const nd::array &value,
                            const settings &how);
/// assign_selected with the settings of the call.
void assign_to_selected(const nd::array &a, std::span<const selector> selectors, const nd::array &value,
                        const settings &how);

/// The value for an array whose selected elements have one more dimension outside of `inside` others.
inline nd::array with_row_axis(const nd::array &value, int inside) {
  return value.ndim() > inside ? nd::with_unit_axis(value, value.ndim() - inside) : value;
}
[[noreturn]] void refuse_view(const nd::array &view);

/// What is selected: places among the elements of an axis, and the dimensions that they have in the result.
struct selected {
  nd::array base; ///< compact down to the axis
  int axis = 0;
  nd::array like; ///< the first `keep` dimensions of the result
  int keep = 0;
  std::vector<new_dim> dims; ///< after these
  place_buffer start;
  intptr_t rows_alike = 1; ///< above 1: the places are those in the first of so many rows, and in the others likewise
  bool may_be_missing = false;

  nd::array take(const char *name) const;
};

/// The places of elements by an index that is lined up with the rows of the axis.
selected places_in_rows(const char *name, const nd::array &a, const nd::array &index, int axis);
/// What the arrays of the expression select from the base.
selected find_selected(const nd::array &base, const index_expression &e, bool alike = false);
/// The same as a copy.
nd::array take_selected(const nd::array &base, const index_expression &e);

// ---- numbers, without the general gather (select_numbers.cpp) -------------------------------------------------------

/// A list of numbers that follow each other.
bool are_dense_numbers(const nd::array &list);
/// The numbers at these places of each of so many rows, which the list is cut into.
nd::array take_of_each_row(const char *name, const nd::array &list, intptr_t rows, const place_buffer &places);
/// A few numbers of one axis by one index, without the steps of take_selected; nobody watches these either. Nothing
/// where they are of another kind, or where a number is out of bounds: then those steps say which.
nd::array direct_points(const nd::array &a, std::span<const selector> selectors);

} // namespace dynd
