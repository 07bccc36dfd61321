// Selections: a[mask], a[index], and both mixed with slices, integers, `...` and new axes; and assignment through them.
//
// Integer arrays over neighbouring axes are broadcast together, as in NumPy; with an integer array, integers are arrays
// of no dimension. A mask of several axes stands for the positions where it is true. Where both the array and the mask
// or index are strided, the result is NumPy's. A mask with `var` rows, or over `var` rows, keeps them; an index with a
// `var` dimension takes elements within the rows of the axis that its last dimension is lined up with.
#pragma once

#include <span>

#include "dynd/array/view.h"

namespace dynd {

/// One entry of an index expression: an array, or where that is null what nd::at takes.
struct selector {
  nd::index plain;
  nd::array array;
};

/// The selected elements: a copy, unless there is no array among the selectors. A missing index gives a missing
/// element; where a mask is missing, nothing is taken.
nd::array select(const nd::array &a, std::span<const selector> selectors);

/// a[selectors] = value, broadcast to the shape of the selection. Of equal indices the last one's value stays. Without
/// arrays among them, one is an integer inside of rows: an element of every row.
void assign_selected(const nd::array &a, std::span<const selector> selectors, const nd::array &value);

/// Whether rows that may be missing are entered, or select: what is selected of these is missing, and nothing is
/// assigned.
bool selects_in_missing_rows(const nd::array &a, std::span<const selector> selectors);

/// Elements by indices for neighbouring axes, from `axis` on, which are broadcast together; all are strided. Their
/// dimensions take the place of these axes.
nd::array select_points(const char *name, const nd::array &a, int axis, std::span<const nd::array> indices);

/// Elements by their numbers, within the rows of an axis that is one of rows that may be missing, or inside of these.
nd::array take_of_missing_rows(const char *name, const nd::array &a, const nd::array &index, int axis);

/// Elements along an axis by an index of int64 that is lined up with the array's rows: row r of the index takes from
/// row r of the axis. Axes outside of it have equal sizes in both.
nd::array select_in_rows(const char *name, const nd::array &a, const nd::array &index, int axis);

/// The elements of the axis whose entry in the mask, an array of bools with the same rows down to the axis, is true.
/// Rows stay rows; of an axis with nothing outside there is one row, which is strided.
nd::array filter_rows(const char *name, const nd::array &a, const nd::array &mask, int axis);

} // namespace dynd
