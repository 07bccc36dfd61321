// The order of elements: sorted rows, and what is found by sorting them. Rows are those of an axis, negative from the
// end; inside of ragged dimensions too. Where an axis is outside of ragged rows, these must be equally long along it.
//
// The order: numbers by value, -0.0 before 0.0, then NaN, then what is missing; text and bytes by their bytes; structs
// and tuples by their fields, the first first. `descending` reverses the order of the values; NaN and what is missing
// are still last. Equal elements stay in their order, in both. `by`: the fields that structs are ordered by, as names;
// "-x" is the reverse order of field x.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dynd/array/array.h"

namespace dynd::nd {

array sort(const array &a, int axis = -1, bool descending = false, const std::vector<std::string> &by = {});
/// The positions within the row that sort it; int64.
array argsort(const array &a, int axis = -1, bool descending = false, const std::vector<std::string> &by = {});

/// Whether each row is what sort would make of it.
array is_sorted(const array &a, int axis = -1, bool descending = false, const std::vector<std::string> &by = {});

/// The k largest elements of each row, the largest first. Ragged rows that are shorter give what they have; for an axis
/// of one size k is not above it.
array top_k(const array &a, intptr_t k, int axis = -1, const std::vector<std::string> &by = {});

/// Where values would have to be inserted in sorted rows to keep them sorted; int64. Before equal elements, or `right`
/// of them; -0.0 and 0.0 are equal here. Values of any shape for one row. For several, row r of the values, which have
/// the same dimensions outside of their last one, is found in row r.
array searchsorted(const array &sorted, const array &values, bool right = false);

/// The different elements in their order. There is one NaN, one zero (0.0), and one element that is missing, the last.
/// Without an axis, of all elements as one row; else of each row of the axis, which becomes the last axis, with rows of
/// unequal length.
array unique(const array &a, std::optional<int> axis = std::nullopt);
struct counted_values {
  array values, counts; ///< how often each value is there; int64
};
counted_values unique_counts(const array &a, std::optional<int> axis = std::nullopt);
struct indexed_values {
  array values, inverse; ///< for each element of the array, in its shape, the place of its value; int64
};
indexed_values unique_inverse(const array &a, std::optional<int> axis = std::nullopt);

/// What rank equal elements have. `ordinal`: each its own, in their order.
enum class rank_of_equals { average, smallest, largest, dense, ordinal };
/// The rank of each element in its row, from 1 on; int64, or float64 for averages. What is missing has none.
array rank(const array &a, int axis = -1, rank_of_equals equals = rank_of_equals::average, bool descending = false,
           const std::vector<std::string> &by = {});

} // namespace dynd::nd
