// Elements moved into parts, so that all accumulators and keys that one part needs are in a cache. Private to
// dynd/call/.
//
// Each element has the number of its part. Moving is a pass in the order of the elements, which stay in order within a
// part; blocks of elements are moved by different threads, because it is known where each block begins in each part.
#pragma once

#include <cstdint>
#include <vector>

#include "dynd/base/cache_lines.h"
#include "dynd/call/slot_table.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

class element_parts {
public:
  static constexpr intptr_t parts = 512; ///< measured; moving to more places at once is slower

  /// part_of(i): of element i, called once for each; fetch(i) fetches ahead what it reads (in_eights).
  template <class Fetch, class F>
  element_parts(const char *name, intptr_t elements, Fetch fetch, F part_of)
      : name_(name), elements_(elements), part_(elements), next_((blocks() + 1) * parts) {
    in_blocks([&](intptr_t b, intptr_t begin, intptr_t end) {
      int64_t counts[parts] = {};
      uint16_t *__restrict to = part_.data();
      in_eights(begin, end, fetch, [&](intptr_t i) {
        auto part = uint16_t(part_of(i));
        to[i] = part;
        counts[part]++;
      });
      std::copy_n(counts, parts, next_.data() + b * parts);
    });
    add_up();
  }

  intptr_t elements() const { return elements_; }
  /// Where the elements of a part begin.
  int64_t begin(intptr_t part) const { return begin_[size_t(part)]; }
  const int64_t *offsets() const { return begin_.data(); }
  /// Where in each part those elements begin that are not before this one; of all parts.
  std::vector<int64_t> from(intptr_t element) const;

  /// Stores value(i) of each element i at its place of `to`. A block is sorted by its parts in the cache first, without
  /// a branch; then what it has of a part is stored in one go, past the cache.
  template <class T, class Fetch, class F> void move(T *to, Fetch fetch, F value) const {
    in_blocks([=, this](intptr_t b, intptr_t begin, intptr_t end) {
      const int64_t *first = next_.data() + b * parts, *last = first + parts;
      uint32_t next[parts], before = 0;
      for (intptr_t part = 0; part < parts; part++) {
        next[part] = before;
        before += uint32_t(last[part] - first[part]);
      }
      scratch_values<T> block_values(block);
      T *__restrict sorted = block_values.data();
      const uint16_t *__restrict part_of = part_.data();
      in_eights(begin, end, fetch, [&, value](intptr_t i) { sorted[next[part_of[i]]++] = value(i); });
      for (intptr_t part = 0; part < parts; part++) {
        int64_t count = last[part] - first[part];
        stream_values(to + first[part], sorted, count);
        sorted += count;
      }
      store_fence();
    });
  }

  /// f(i, place) of each element, in order within a part.
  template <class F> void for_places(F f) const {
    in_blocks([&](intptr_t b, intptr_t begin, intptr_t end) {
      int64_t next[parts];
      std::copy_n(next_.data() + b * parts, parts, next);
      const uint16_t *part = part_.data();
      for (intptr_t i = begin; i < end; i++) {
        f(i, next[part[i]]++);
      }
    });
  }
  intptr_t part(intptr_t i) const { return part_[i]; }

private:
  static constexpr intptr_t block = intptr_t(1) << 16; // measured; values of 8 bytes are in the second cache

  intptr_t blocks() const { return (elements_ + block - 1) / block; }
  template <class F> void in_blocks(F f) const {
    in_pieces(
        name_, blocks(),
        [&](intptr_t begin, intptr_t end) {
          for (intptr_t b = begin; b < end; b++) {
            f(b, b * block, std::min((b + 1) * block, elements_));
          }
        },
        block);
  }
  void add_up();

  const char *name_;
  intptr_t elements_;
  scratch_values<uint16_t> part_;
  scratch_values<int64_t> next_; // where each block begins in each part; the last one's ends follow
  std::vector<int64_t> begin_;
};

} // namespace dynd::nd
