// Reducing an axis that is outside of ragged rows.
#pragma once

#include "dynd/array/array.h"

namespace dynd {

/// A copy in which the axis is the innermost, for arrays that are ragged below it, with elements that are scalars that
/// may be missing. What is below must have the same shape along the axis: rows are reduced element by element, so they
/// have to be equally long; else it is an error that names the operation.
ref<array_block> move_axis_inside(const char *operation, array_block *block, int axis);

} // namespace dynd
