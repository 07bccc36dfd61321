// Choices of elements of short rows, compiled for each ISA level: see dynd/call/choices.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynd {

/// Choices of two elements of each row, numbered, and fields of their members: lists from which the elements are taken.
struct choice_rows {
  static constexpr int most = 16;       ///< choices, and elements, that a pattern is for
  static constexpr int most_fields = 8; ///< at once
  struct alignas(64) pattern {
    uint64_t place[most]; ///< which of the next elements the member of each choice is
    uint32_t words[4][8]; ///< the same by four choices: 32-bit words of the four elements from `start` on
    uint32_t start[4];
    bool in_fours;    ///< they are all among these
    int64_t choices;  ///< how many choices it is for; where there are more in the row, the pattern again
    int64_t elements; ///< by how many elements further on. No choices: there is no pattern
  };
  struct member {
    const int64_t *rows;     ///< where each row's elements begin in the lists
    const pattern *patterns; ///< for lengths 0 .. most
    int fields;
  };
  const int64_t *counts;         ///< where each row's choices begin
  member members[2];             ///< the lengths of the second one's rows say which pattern is used
  const char *from[most_fields]; ///< the lists, those of the first member first
  // Rows without a pattern: for each element of the first member a run of the second. Of products these are all of the
  // other row, else those that come `distance` after the element.
  bool product;
  int64_t distance;
};

struct choice_loops {
  /// Whether each of n >= 1 numbers is the one before it and 1.
  bool (*follow)(const int64_t *number, size_t n);
  /// By log2 of the item size, 2 and 3: the fields of the choices of rows from `row` on, to at most `stop`; `to` has
  /// room for so many items. After each of these rows, the lists have `most` more elements. It ends before a row after
  /// which fewer than `most` items would be left: so many may be written too much. Returns the row where it ends.
  size_t (*choose[2])(const choice_rows &choices, char *const *to, int64_t room, size_t row, size_t stop);
};

} // namespace dynd
