// What functions of order share: the keys that elements are ordered by, the permutation that sorts rows, and an axis
// moved inside of all others. Private to dynd/call/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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

/// Elements that can be ordered: real numbers, bools, texts, bytes, or options of them. Else a type error.
struct ordered_kind {
  bool option = false, swapped = false;
  std::optional<scalar_id> number; ///< else text or bytes

  ordered_kind(const char *name, const array &a);
};

/// Numbers of a native type that follow each other in memory, from a list of them.
array dense_numbers(const array &list, const ordered_kind &kind);

/// What the elements of a list are ordered by. For numbers it is a key that says all; of a text the key is its
/// beginning.
class order_keys {
public:
  /// `one_zero`: -0.0 and 0.0 are equal.
  order_keys(const char *name, const array &list, bool descending = false, bool one_zero = false);

  bool may_be_missing() const { return valid_ != nullptr; }
  bool is_missing(int64_t i) const { return valid_ && !valid_[i * valid_stride_]; }
  bool is_nan(int64_t i) const { return floating_ && key(i) == nan_key; }
  bool has_texts() const { return bool(texts_); }
  uint64_t key(int64_t i) const { return uint64_t(keys_[i]); }
  std::string_view text(int64_t i) const;

  /// Less than 0, 0 or more, as element i of one list is before, equal to or after element j of the other.
  static int compare(const order_keys &a, int64_t i, const order_keys &b, int64_t j);
  /// The same for equal keys of elements that are not missing.
  static int compare_texts(const order_keys &a, int64_t i, const order_keys &b, int64_t j);

  static constexpr uint64_t nan_key = ~uint64_t(0);

private:
  array list_;
  array texts_; ///< null for numbers
  place_buffer keys_;
  const char *valid_ = nullptr;
  intptr_t valid_stride_ = 0;
  bool floating_ = false, descending_ = false;
};

/// The positions within each row, in the order of the keys; stable.
void argsort_rows(const char *name, const order_keys &keys, const row_offsets &rows, int64_t *to);

/// Rows of numbers, as `dense_numbers` gives them, sorted: a new list.
array sorted_numbers(const char *name, const array &list, scalar_id scalar, const row_offsets &rows, bool descending);

} // namespace dynd::nd
