// The order of elements: sorted rows, and what is found by sorting them. Rows are those of an axis, negative from the
// end; inside of ragged dimensions too. Where an axis is outside of ragged rows, these must be equally long along it.
//
// The order: numbers by value, -0.0 before 0.0, then NaN, then what is missing; text and bytes by their bytes.
// `descending` reverses the order of the values; NaN and what is missing are still last. Equal elements stay in their
// order, in both.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dynd/array/array.h"

namespace dynd::nd {

array sort(const array &a, int axis = -1, bool descending = false);
/// The positions within the row that sort it; int64.
array argsort(const array &a, int axis = -1, bool descending = false);

/// Whether each row is what sort would make of it.
array is_sorted(const array &a, int axis = -1, bool descending = false);

/// The k largest elements of each row, the largest first. Ragged rows that are shorter give what they have; for an axis
/// of one size k is not above it.
array top_k(const array &a, intptr_t k, int axis = -1);

/// Where values would have to be inserted in sorted rows to keep them sorted; int64. Before equal elements, or `right`
/// of them; -0.0 and 0.0 are equal here. Values of any shape for one row. For several, row r of the values, which have
/// the same dimensions outside of their last one, is found in row r.
array searchsorted(const array &sorted, const array &values, bool right = false);

} // namespace dynd::nd
