// An axis moved inside of all others, for functions that work on rows. Private to dynd/call/.
#pragma once

#include <optional>

#include "dynd/array/array.h"
#include "dynd/eval/nested.h"

namespace dynd::nd {

/// An axis as the last one of an array. What is between is equally long along it, or it is an error (broadcast).
struct innermost_axis {
  array own;
  array moved; ///< with the axis as the last, compact down to it
  int axis;    ///< of `own`

  /// Without an axis, all elements are one row.
  innermost_axis(const char *name, const array &a, std::optional<int> along);
  row_offsets rows() const { return rows_at(moved, moved.ndim() - 1); }
  array list() const { return list_of(moved, moved.ndim() - 1); }
  /// Elements in the order of `moved`, in the shape of `own`.
  array restored(const char *name, const array &list) const;

private:
  std::optional<place_buffer> order_; // where each element of `moved` is in `own`, where that cannot be transposed
};

/// The array with the axis as the last: a view, or where ragged rows are between a copy.
array with_axis_last(const char *name, const array &a, int axis);

} // namespace dynd::nd
