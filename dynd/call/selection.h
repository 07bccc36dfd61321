// Selecting elements by functions: what a[mask] and a[index] (dynd/eval/select.h) do not say.
#pragma once

#include <optional>
#include <vector>

#include "dynd/eval/select.h"

namespace dynd::nd {

/// Elements by their number along an axis; without one, of the array as one row. The dimensions of the index take the
/// place of the axis. An index with `var` rows takes elements within the rows of the axis, which is its own last one.
array take(const array &a, const array &index, std::optional<int> axis = std::nullopt);

/// Row r of the index takes elements from row r of the axis: the result has the index's shape.
array take_along_axis(const array &a, const array &index, int axis = -1);

/// Where the elements are neither 0 nor missing: a list of positions for each axis, in C order.
std::vector<array> nonzero(const array &a);
/// The same as one array, a row of positions for each such element.
array argwhere(const array &a);

/// The elements of the axis that are not missing: ?T becomes T. Rows stay rows, and an axis inside of others becomes
/// `var`.
array drop_missing(const array &a, int axis = -1);

/// The elements, missing where the mask, which broadcasts to them, is not true. With an axis, the elements of that one,
/// rows as a whole: the mask has the dimensions down to it, and nothing is copied.
array mask(const array &a, const array &mask, std::optional<int> axis = std::nullopt);

/// The i-th element of each row of the axis, negative from the end. Where a row has none: `empty`, an array without
/// dimensions; without one it is missing.
array nth(const array &a, intptr_t i, int axis = -1, const array &empty = {});

/// Whether each element is among the values: numbers, which are compared exactly, text or bytes. A missing one gives
/// missing. NaN is equal to nothing.
array isin(const array &a, const array &values, bool invert = false);

} // namespace dynd::nd
