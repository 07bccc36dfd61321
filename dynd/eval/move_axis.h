// An axis outside of ragged rows, for what is computed along it: it is copied inside, and back.
#pragma once

#include <utility>

#include "dynd/eval/nested.h"

namespace dynd {

/// A copy in which the axis is number `to`, further inside. What is between must have the same shape along the axis: it
/// is taken element by element, so rows have to be equally long; else it is an error that names the operation.
ref<array_block> move_axis_inside(const char *operation, array_block *block, int axis, int to);
/// The same of an array that is compact down to `to`, and where each element of that axis is in the array.
std::pair<nd::array, place_buffer> move_axis(const char *name, const nd::array &own, int axis, int to);

/// The reverse, for a result of the moved array: a copy with the axis where it is in `like`, which is ragged below it.
/// The axis is `longer` elements longer than there.
ref<array_block> move_axis_back(array_block *moved, const array_block &like, int axis, int longer);

} // namespace dynd
