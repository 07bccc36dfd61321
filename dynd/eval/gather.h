// Copies of elements from anywhere in a list, of any type: the one primitive of selections. Everything below the
// elements comes along: rows, texts, fields, what pointers point to. Sizes are counted, offsets made of them, memory of
// that size is filled.
#pragma once

#include "dynd/array/array.h"
#include "dynd/eval/nested.h"

namespace dynd {

/// Which elements of a list: runs of neighbours.
struct list_places {
  const int64_t *start = nullptr;   ///< of each run; where runs are one element each, -1 for no element
  const int64_t *offsets = nullptr; ///< count + 1: where each run begins in the result; null: each is one element
  intptr_t count = 0;
  const int32_t *source = nullptr; ///< of each run: which list it is in, where there are several

  list_places() = default;
  list_places(const int64_t *first, const int64_t *begin, intptr_t n, const int32_t *list = nullptr)
      : start(first), offsets(begin), count(n), source(list) {}
  list_places(const place_buffer &places) : start(places.data()), count(places.size()) {} // NOLINT: one each

  intptr_t total() const { return offsets ? offsets[count] : count; }

  /// The first run after r, before `end`, that does not go on where r and those after it end. Empty ones are anywhere.
  intptr_t end_of_neighbours(intptr_t r, intptr_t end) const {
    const int64_t distance = start[r] - offsets[r];
    const int32_t list = source ? source[r] : 0;
    if (offsets[r + 1] == offsets[r]) {
      return r + 1;
    }
    for (r++; r < end; r++) {
      bool follows = start[r] - offsets[r] == distance && (!source || source[r] == list);
      if (!follows && offsets[r + 1] > offsets[r]) {
        break;
      }
    }
    return r;
  }
};

/// The elements of the list at these places, which are in it (the caller has checked), as a list. Immutable.
nd::array gather(const char *name, const nd::array &list, const list_places &places);
/// The same where elements are missing whose place is -1: T becomes ?T.
nd::array gather_or_missing(const char *name, const nd::array &list, const list_places &places);
/// From several lists, whose elements have the same type and, inside, the same sizes (an error where they differ).
nd::array gather(const char *name, std::span<const nd::array> lists, const list_places &places);
/// The same where elements are the fill's, an array without dimensions of the element type, whose place is -1.
nd::array gather_or_fill(const char *name, const nd::array &list, const list_places &places, const nd::array &fill);
/// A copy of a whole array of any type, rows and texts one after another. Those of a writable one can be replaced; its
/// rows that have no memory, or belong to missing values, have none.
nd::array gather_whole(const nd::array &a, access_mode access = access_mode::immutable);

} // namespace dynd
