// Choices of elements of short rows, compiled for each ISA level: see dynd/call/choices.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynd {

/// Choices of one or several elements of each row, numbered, and one member of them: which elements it is.
struct choice_rows {
  static constexpr int most = 16; ///< choices, and elements, that a pattern is for
  struct alignas(64) pattern {
    uint64_t place[most]; ///< which of the next elements the member of each choice is
    int64_t choices;      ///< how many choices it is for; where there are more in the row, the pattern again
    int64_t elements;     ///< by how many elements further on. No choices: there is no pattern
  };
  const int64_t *counts;   ///< where each row's choices begin
  const int64_t *rows;     ///< where each row's elements begin in the member's list
  const int64_t *by;       ///< rows whose lengths say which pattern is used
  const pattern *patterns; ///< for lengths 0 .. most
  int64_t size;            ///< of the member's list
  // Rows without a pattern: for each element of the first member a run of the second. Of products these are all of the
  // other row, else those that come `distance` after the element.
  bool product, second; ///< second: it is the second member's elements that are wanted
  int64_t distance;
};

struct choice_loops {
  /// Whether each of n >= 1 numbers is the one before it and 1.
  bool (*follow)(const int64_t *number, size_t n);
  /// By log2 of the item size, 2 and 3: the members of the choices of rows from `row` on, to at most `stop`. It ends
  /// before a row that is within the last `most` elements of the list, or after which fewer than `most` items would be
  /// left before `end`: so many may be written too much. Returns the row where it ends.
  size_t (*choose[2])(char *to, const char *end, const char *from, const choice_rows &choices, size_t row, size_t stop);
};

} // namespace dynd
