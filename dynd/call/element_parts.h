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

  /// part_of(i): of element i, called once for each.
  template <class F>
  element_parts(const char *name, intptr_t elements, F part_of)
      : name_(name), elements_(elements), part_(elements), next_((elements / block + 1) * parts) {
    in_blocks([&](intptr_t b, intptr_t begin, intptr_t end) {
      int64_t counts[parts] = {};
      uint16_t *__restrict to = part_.data();
      for (intptr_t i = begin; i < end; i++) {
        auto part = uint16_t(part_of(i));
        to[i] = part;
        counts[part]++;
      }
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

  /// Stores value(i) of each element i at its place of `to`, memory that begins with a line. Elements of a part are
  /// collected in a line of their own, which is stored when it is full: to as many places as there are parts, single
  /// ones would be stored with a miss each.
  template <class T, class F> void move(T *to, F value) const {
    in_blocks([this, to, value](intptr_t b, intptr_t begin, intptr_t end) {
      constexpr int64_t per_line = line_bytes / sizeof(T);
      alignas(line_bytes) T lines[parts][per_line];
      int64_t next[parts];
      const int64_t *first = next_.data() + b * parts; // another block has what is before it in its line
      std::copy_n(first, parts, next);
      auto store = [&](intptr_t part, int64_t line, int64_t stop) {
        for (int64_t at = std::max(first[part], line); at < stop; at++) {
          to[at] = lines[part][at & (per_line - 1)];
        }
      };
      const uint16_t *part_of = part_.data(); // these two are in registers
      F own = value;
      for (intptr_t i = begin; i < end; i++) {
        intptr_t part = part_of[i];
        int64_t at = next[part]++, lane = at & (per_line - 1);
        lines[part][lane] = own(i);
        if (lane == per_line - 1) {
          if (at - lane >= first[part]) {
            stream_line(to + at - lane, lines[part]);
          } else {
            store(part, at - lane, at + 1);
          }
        }
      }
      for (intptr_t part = 0; part < parts; part++) {
        store(part, next[part] & -per_line, next[part]);
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
  static constexpr intptr_t block = intptr_t(1) << 20;

  template <class F> void in_blocks(F f) const {
    in_pieces(
        name_, (elements_ + block - 1) / block,
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
  scratch_values<int64_t> next_; // where each block begins in each part
  std::vector<int64_t> begin_;
};

} // namespace dynd::nd
