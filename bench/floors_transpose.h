// A transposed square of doubles in registers, for the loops that meet a transposed operand. It is not in floors.h:
// programs that include that one are compiled for any CPU.
#pragma once

#include "floors.h"

#include <initializer_list>

namespace floors {

/// to[i][j] = from[j][i] for 8 x 8 elements: halves, quarters, then neighbours change places.
inline void transpose_8x8(const double *from, int64_t from_stride, double *to, int64_t to_stride) {
  vec<8> row[8], half[8], quarter[8];
  for (int k = 0; k < 8; ++k) {
    row[k] = load<8>(from + k * from_stride);
  }
  for (int k = 0; k < 4; ++k) {
    half[k] = __builtin_shufflevector(row[k], row[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    half[k + 4] = __builtin_shufflevector(row[k], row[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int k : {0, 1, 4, 5}) {
    quarter[k] = __builtin_shufflevector(half[k], half[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    quarter[k + 2] = __builtin_shufflevector(half[k], half[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int k : {0, 2, 4, 6}) {
    vec<8> even = __builtin_shufflevector(quarter[k], quarter[k + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    vec<8> odd = __builtin_shufflevector(quarter[k], quarter[k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    store<store_kind::regular, 8>(to + k * to_stride, even);
    store<store_kind::regular, 8>(to + (k + 1) * to_stride, odd);
  }
}

} // namespace floors
