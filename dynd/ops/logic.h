// The operations that the engine itself computes with, on the validities of elements that may be missing.
#pragma once

#include "dynd/ops/operation.h"

namespace dynd::logic {

inline constexpr op_id both = op_id::bitwise_and;
inline constexpr op_id either = op_id::bitwise_or;
inline constexpr op_id inverted = op_id::bitwise_invert;
inline constexpr op_id chosen = op_id::where;
inline constexpr op_id absent = op_id::is_missing;
inline constexpr op_id difference = op_id::subtract;
/// Equal, then the orders: as they are numbered in kernel/compare.h.
inline constexpr op_id comparisons[] = {op_id::equal,      op_id::not_equal, op_id::less,
                                        op_id::less_equal, op_id::greater,   op_id::greater_equal};
inline constexpr reduction_id total = reduction_id::sum;
inline constexpr reduction_id any = reduction_id::max; ///< whether some are true

} // namespace dynd::logic
