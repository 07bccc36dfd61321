// Elements moved into parts, so that all accumulators and keys that one part needs are in a cache. Private to
// dynd/call/.
//
// Each element has the number of its part. Moving is a pass in the order of the elements, which stay in order within a
// part; blocks of elements are moved by different threads, because it is known where each block begins in each part.
#pragma once

#include <cstdint>
#include <vector>

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

  /// f(i, place): element i goes to that place; in the order of a part's elements. f holds its pointers by value: they
  /// stay in registers.
  template <class F> void move(F f) const {
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
