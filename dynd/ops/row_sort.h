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

struct row_sort_loops {
  /// For numbers of 4 and of 8 bytes; null where the ISA level has no vectors for it. Sorts the rows r of begin .. end,
  /// which are offsets[r] .. offsets[r + 1] of `from`, to the same places of `to`. Stops at a row that is too long or
  /// has a NaN; returns its number, or end. What is behind the rows sorted so far may hold anything, up to
  /// offsets[end].
  intptr_t (*rows[2])(char *to, const char *from, const int64_t *offsets, intptr_t begin, intptr_t end,
                      const sort_code &code);
  /// For unsigned integers of 4 and of 8 bytes; null where the ISA level has no loop that is faster than counting
  /// digits. Sorts n of them; the scratch has room for as many. False: they are in some order, for another sort.
  bool (*codes[2])(void *items, size_t n, void *scratch);
};

} // namespace dynd
