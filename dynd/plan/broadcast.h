// Broadcasting of strided shapes, right-justified always: axes line up at the last one; a missing axis, or one of size
// one, stretches to what the others have, zero included. Sizes and strides only; strides are in bytes.
//
//   sizes  (3, 1, 4), (5, 1), (4)  ->  (3, 5, 4)
//   strides (16, 16, 4) -> (16, 0, 4)     of the operand (3, 1, 4)
//               (8, 40) -> (0, 8, 0)      of the operand (5, 1)
//                   (4) -> (0, 0, 4)      of the operand (4)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dynd {

/// The most axes an array has, and so the most loops of a nest.
inline constexpr int max_loops = 32;

using sizes_view = std::span<const intptr_t>;

/// As errors show a shape, and as Python prints it: "(3, 4)", "(4,)", "()".
std::string shape_text(sizes_view sizes);

/// The number of elements, zero where a size is zero. Fails (overflow) if the sizes other than zero, multiplied with
/// one another and with item_size, exceed intptr_t: then the strides of a contiguous array of this shape are safe to
/// compute even if it is empty.
///   (3, 4) -> 12     () -> 1     (3, 0) -> 0     (2^40, 2^40), (0, 2^40, 2^40) fail
intptr_t count_elements(std::string_view operation, sizes_view sizes, intptr_t item_size = 1);

/// Writes the sizes of the result, outermost first, and returns how many; `result` has room for max_loops. Fails as
/// "add: cannot broadcast (3, 4) with (2, 4) at axis 0" (broadcast; the axis is the result's), and as count_elements.
///   (3, 1, 4), (5, 1), (4) -> (3, 5, 4)     (0), (1) -> (0)     no operands -> ()
int broadcast_shapes(std::string_view operation, std::span<const sizes_view> operands, intptr_t *result);

/// That an operand of these sizes may be assigned to a destination that is already there. Fails (broadcast) as
/// "assign: cannot broadcast (3, 4) to (2, 4) at axis 0", "assign: cannot broadcast 2 axes to 1, (1, 4) to (4,)".
///   (4) to (3, 4) passes, (3, 4) to (1, 4) fails: a destination does not stretch
void check_broadcasts_to(std::string_view operation, sizes_view operand, sizes_view destination);

/// The stride of one axis of an operand in the result: one element is found at the same place again and again.
inline intptr_t broadcast_stride(intptr_t size, intptr_t stride) { return size == 1 ? 0 : stride; }

/// The operand's strides in a result of result_ndim >= sizes.size() axes: zero where the axis is missing or of size
/// one.
///   sizes (5, 1), strides (8, 40), result_ndim 3 -> (0, 8, 0)
inline void broadcast_strides(sizes_view sizes, const intptr_t *strides, int result_ndim, intptr_t *result) {
  int ndim = static_cast<int>(sizes.size());
  int missing = result_ndim - ndim;
  for (int i = 0; i < missing; ++i)
    result[i] = 0;
  for (int i = 0; i < ndim; ++i)
    result[missing + i] = broadcast_stride(sizes[i], strides[i]);
}

} // namespace dynd
