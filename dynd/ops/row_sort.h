// Sorting of numbers, compiled for each ISA level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynd {

/// How numbers become signed integers of their size in the same order, and back:
///   code = x ^ (x < 0 ? if_negative : 0) ^ always
/// A number is NaN where its bits without the sign are above `last`.
struct sort_code {
  int64_t if_negative, always, last;
};

/// Buckets of codes: the last code of each, integers of the codes' size, ascending.
struct bucket_ends {
  const void *last;
  size_t count;
};

struct row_sort_loops {
  /// By log2 of the items' size: whether none of n codes is below the one before it. NaNs are above all.
  bool (*in_order[4])(const char *from, size_t n, const sort_code &code);
  /// The others are for numbers of 4 and of 8 bytes, and null where the ISA level has no vectors for it. Sorts the rows
  /// r of begin .. end, which are offsets[r] .. offsets[r + 1] of `from`, to the same places of `to`. Stops at a row
  /// that has a NaN; returns its number, or end. What is behind the rows sorted so far may hold anything, up to
  /// offsets[end]. One row without NaN may be sorted in place.
  intptr_t (*rows[2])(char *to, const char *from, const int64_t *offsets, intptr_t begin, intptr_t end,
                      const sort_code &code) = {};
  /// For a row that is sorted in parts. First, n numbers from `from`, at least 64, become codes in `to`, those of the
  /// first bucket first; NaNs are behind them as they are, in their order. counts[i]: those of bucket i, and of NaNs.
  void (*split[2])(void *to, const char *from, size_t n, const sort_code &code, const bucket_ends &buckets,
                   int64_t *counts) = {};
  /// Then, n codes from low to high are sorted in place and become numbers.
  void (*codes[2])(void *items, size_t n, int64_t low, int64_t high, const sort_code &code) = {};
};

} // namespace dynd
