// The operations that the engine itself computes with: on the validities of elements that may be missing, and in
// reductions that are made of several.
#pragma once

#include "dynd/ops/operation.h"

namespace dynd::logic {

inline constexpr op_id both = op_id::bitwise_and;
inline constexpr op_id either = op_id::bitwise_or;
inline constexpr op_id inverted = op_id::bitwise_invert;
inline constexpr op_id chosen = op_id::where;
inline constexpr op_id filled = op_id::fill_missing;
inline constexpr op_id missing = op_id::is_missing;
inline constexpr op_id finite = op_id::isfinite;
inline constexpr op_id different = op_id::not_equal;
inline constexpr reduction_id any = reduction_id::max;           ///< whether some are true
inline constexpr reduction_id first_true = reduction_id::argmax; ///< where the first true one is

} // namespace dynd::logic

namespace dynd::arithmetic {

inline constexpr reduction_id sum = reduction_id::sum, least = reduction_id::min, largest = reduction_id::max;
inline constexpr op_id addition = op_id::add, difference = op_id::subtract, product = op_id::multiply,
                       quotient = op_id::divide;
inline constexpr op_id square = op_id::square, root = op_id::sqrt, magnitude = op_id::abs, larger = op_id::maximum;
inline constexpr op_id equal = op_id::equal, conjugate = op_id::conj;
inline constexpr op_id smaller_number = op_id::fmin, larger_number = op_id::fmax; ///< not NaN, where one is not

} // namespace dynd::arithmetic
