// Broadcasting of strided shapes, right-justified always: axes line up at the last one; a missing axis, or one of size
// one, stretches to what the other operands have, zero included. Strides are in bytes.
//
//   sizes  (3, 1, 4), (5, 1), (4)  ->  (3, 5, 4)
//   strides (16, 16, 4) -> (16, 0, 4)     of the operand (3, 1, 4)
//               (8, 40) -> (0, 8, 0)      of the operand (5, 1)
//                   (4) -> (0, 0, 4)      of the operand (4)
#pragma once

#include <cstdint>
#include <span>

namespace dynd {

/// The most axes an array has, and so the most loops of a nest.
inline constexpr int max_loops = 32;

using sizes_view = std::span<const intptr_t>;

/// The stride of one axis of an operand in the result: one element is found at the same place again and again.
inline intptr_t broadcast_stride(intptr_t size, intptr_t stride) { return size == 1 ? 0 : stride; }

} // namespace dynd
