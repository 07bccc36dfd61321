// Which bytes a strided operand may touch. An interval, not the exact set: a[::2] and a[1::2] are said to overlap, and
// the price of that is a copy, never a wrong value.
#pragma once

#include <cstdint>

#include "dynd/plan/nest.h"

namespace dynd {

/// Addresses [low, high); nothing where low == high.
struct byte_interval {
  uintptr_t low;
  uintptr_t high;
  bool operator==(const byte_interval &) const = default;
};

/// From the first byte that the operand may touch to just past the last one. Where the arithmetic leaves the address
/// space the interval is all of it.
///   address 100, sizes (3, 4), strides (-16, 4), items of 4 -> [68, 116)
///   address 100, sizes (3, 0) -> [100, 100)
inline byte_interval touched_bytes(const void *address, sizes_view sizes, const intptr_t *strides, intptr_t item_size) {
  uintptr_t start = reinterpret_cast<uintptr_t>(address);
  intptr_t below = 0, above = item_size; // reach on either side of the address
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0)
      return {start, start};
    intptr_t reach;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach);
    overflow |= __builtin_add_overflow(below, reach < 0 ? reach : 0, &below);
    overflow |= __builtin_add_overflow(above, reach < 0 ? 0 : reach, &above);
  }
  byte_interval result;
  overflow |= __builtin_add_overflow(start, below, &result.low);
  overflow |= __builtin_add_overflow(start, above, &result.high);
  return overflow ? byte_interval{0, UINTPTR_MAX} : result;
}

inline bool may_overlap(byte_interval a, byte_interval b) {
  bool nothing = a.low == a.high || b.low == b.high;
  return !nothing && a.low < b.high && b.low < a.high;
}

} // namespace dynd
