// Walks over arrays that are no kernels: those that find sizes and places, and copy elements. They are cut into pieces,
// run on threads where there is much to do, without Python's lock, and stop at Ctrl-C.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "dynd/eval/run.h"
#include "dynd/plan/pieces.h"

namespace dynd {

/// Calls f for the pieces; of those that fail, the first one's error is thrown. The name is for messages.
void run_work(const char *name, intptr_t count, const std::function<piece(intptr_t)> &piece_at,
              const std::function<void(intptr_t, intptr_t)> &f);
template <class Pieces, class F> void run_work(const char *name, const Pieces &pieces, const F &f) {
  run_work(
      name, pieces.count(), [&](intptr_t i) { return pieces[i]; }, f);
}

inline constexpr intptr_t work_piece = 1 << 16; ///< elements

/// Calls f(begin, end) for parts of 0 .. count, which are all of it together. `each`: elements that one takes.
template <class F> void in_pieces(const char *name, intptr_t count, F f, intptr_t each = 1) {
  if (count <= unlocked_from / each) {
    f(intptr_t(0), count);
  } else {
    run_work(name, even_pieces(count, work_piece / each ? work_piece / each : 1, 1), f);
  }
}

/// The same for rows of 0 .. rows, each of which is offsets[r] .. offsets[r + 1] of something.
template <class F> void in_pieces_of_rows(const char *name, const int64_t *offsets, intptr_t rows, F f) {
  if (offsets[rows] - offsets[0] + rows <= unlocked_from) {
    f(intptr_t(0), rows);
  } else {
    run_work(name, content_pieces(offsets, rows, work_piece), f);
  }
}

/// The same where long rows are cut, too: f(first, last, begin, end) has what is from begin to end of these rows.
template <class F> void in_pieces_of_content(const char *name, const int64_t *offsets, intptr_t rows, F f) {
  auto before = [=](intptr_t r) {
    return intptr_t(offsets[r] - offsets[0]) + r;
  }; // a row is one more behind its elements
  auto row_of = [=](intptr_t place) {
    intptr_t low = 0, high = rows;
    while (high - low > 1) {
      intptr_t middle = low + (high - low) / 2;
      (before(middle) <= place ? low : high) = middle;
    }
    return low;
  };
  in_pieces(name, before(rows), [&](intptr_t from, intptr_t to) {
    if (from < to) {
      intptr_t first = row_of(from), last = row_of(to - 1);
      f(first, last + 1, std::min(offsets[first] + from - before(first), offsets[first + 1]),
        std::min(offsets[last] + to - before(last), offsets[last + 1]));
    }
  });
}

/// Cuts 0 .. count into so many chunks of equal size and calls f(chunk, begin, end) for parts of each, in their order,
/// a chunk on one thread.
void in_chunks(const char *name, intptr_t count, intptr_t chunks,
               const std::function<void(intptr_t, intptr_t, intptr_t)> &f, intptr_t each = 1);

/// As in_pieces, but one part after another, in their order, on this thread.
template <class F> void in_order(const char *name, intptr_t count, F f, intptr_t each = 1) {
  in_chunks(
      name, count, 1, [&](intptr_t, intptr_t begin, intptr_t end) { f(begin, end); }, each);
}

/// Sizes that are added or multiplied: an error of the operation (memory) where the result is too large.
intptr_t checked_sum(const char *name, intptr_t a, intptr_t b);
intptr_t checked_product(const char *name, intptr_t a, intptr_t b);

/// Sizes become the offsets of what follows each other: offsets[i + 1] holds the size of i, and offsets[0] anything.
/// Returns the last. A sum beyond 64 bits is an error (memory).
int64_t make_offsets(const char *name, int64_t *offsets, intptr_t count);

} // namespace dynd
