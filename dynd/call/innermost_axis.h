// An axis moved inside of all others, for functions that work on rows. Private to dynd/call/.
#pragma once

#include "dynd/array/array.h"
#include "dynd/eval/nested.h"

namespace dynd::nd {

/// An axis as the last one of an array. What is between is equally long along it, or it is an error (broadcast).
struct innermost_axis {
  array own;          ///< compact down to its last axis
  array moved;        ///< compact too, with the axis as the last
  place_buffer order; ///< where each element of `moved` is in `own`; null: both are the same

  innermost_axis(const char *name, const array &a, int axis);
  row_offsets rows() const { return rows_at(moved, moved.ndim() - 1); }
  array list() const { return list_of(moved, moved.ndim() - 1); }
  /// Elements in the order of `moved`, in the shape and order of `own`.
  array restored(const char *name, const array &list) const;
};

} // namespace dynd::nd
