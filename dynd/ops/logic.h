// The operations that the engine itself computes with: on the validities of elements that may be missing, and in
// reductions that are made of several. Not as constants of the compiler: whoever includes this need not be compiled
// again when an operation is added.
#pragma once

#include "dynd/ops/operation.h"

namespace dynd::logic {

extern const op_id both, either, inverted;
extern const op_id chosen;                                       ///< where
extern const op_id filled;                                       ///< fill_missing
extern const op_id missing;                                      ///< is_missing
extern const op_id finite;                                       ///< isfinite
extern const op_id different;                                    ///< not_equal
inline constexpr reduction_id any = reduction_id::max;           ///< whether some are true
inline constexpr reduction_id first_true = reduction_id::argmax; ///< where the first true one is

} // namespace dynd::logic

namespace dynd::arithmetic {

inline constexpr reduction_id sum = reduction_id::sum, least = reduction_id::min, largest = reduction_id::max;
extern const op_id addition, difference, product, quotient;
extern const op_id square, root, magnitude, larger;
extern const op_id equal, conjugate;
extern const op_id smaller_number, larger_number; ///< not NaN, where one is not

} // namespace dynd::arithmetic
