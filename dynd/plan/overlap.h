// Which bytes a strided operand may touch: items at a common distance within an interval. Not the exact set, but
// columns of one table (x[:, 0] and x[:, 1]) and a[::2] and a[1::2] are told apart. Where it errs it says that they
// overlap.
#pragma once

#include <cstdint>
#include <numeric>

#include "dynd/plan/nest.h"

namespace dynd {

/// Addresses [low, high), nothing where low == high; of these only the first `item` bytes from every low + k *
/// distance. All of them where item is 0.
struct touched {
  uintptr_t low;
  uintptr_t high;
  uintptr_t distance = 0;
  uintptr_t item = 0;
  bool operator==(const touched &) const = default;
};

/// From the first byte that the operand may touch to just past the last one; the distance is the greatest common
/// divisor of the strides. Where the arithmetic leaves the address space it is all of it.
///   address 100, sizes (3, 4), strides (-16, 4), items of 4 -> [68, 116), 4 of every 4
///   address 100, sizes (3, 1), strides (16, 4), items of 4  -> [100, 136), 4 of every 16
///   address 100, sizes (3, 0)                               -> [100, 100)
inline touched touched_bytes(const void *address, sizes_view sizes, const intptr_t *strides, intptr_t item_size) {
  uintptr_t start = reinterpret_cast<uintptr_t>(address);
  intptr_t below = 0, above = item_size; // reach on either side of the address
  uintptr_t distance = 0;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0)
      return {start, start};
    intptr_t reach;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach);
    overflow |= __builtin_add_overflow(below, reach < 0 ? reach : 0, &below);
    overflow |= __builtin_add_overflow(above, reach < 0 ? 0 : reach, &above);
    if (sizes[i] > 1)
      distance = std::gcd(distance, strides[i] < 0 ? uintptr_t(0) - uintptr_t(strides[i]) : uintptr_t(strides[i]));
  }
  touched result = {0, 0, distance, uintptr_t(item_size)};
  overflow |= __builtin_add_overflow(start, below, &result.low);
  overflow |= __builtin_add_overflow(start, above, &result.high);
  return overflow ? touched{0, UINTPTR_MAX} : result;
}

/// Two operands whose items have a common distance d repeat after d bytes, so one period decides:
///   x[:, 0] and x[:, 1] of doubles in rows of 24 bytes: d = 24, the second begins at 8, 8 + 8 <= 24 -> no
inline bool may_overlap(touched a, touched b) {
  bool nothing = a.low == a.high || b.low == b.high;
  if (nothing || a.low >= b.high || b.low >= a.high)
    return false;
  if (a.item == 0 || b.item == 0) // bytes without strides
    return true;
  uintptr_t distance = std::gcd(a.distance, b.distance);
  if (distance == 0) // one item each
    return true;
  uintptr_t apart = b.low >= a.low ? (b.low - a.low) % distance : (distance - (a.low - b.low) % distance) % distance;
  return apart < a.item || apart + b.item > distance;
}

} // namespace dynd
