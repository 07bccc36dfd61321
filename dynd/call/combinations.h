// Combinations of the elements of rows, and products of rows of several arrays.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynd/array/array.h"

namespace dynd::nd {

/// All choices of n elements of each row of the axis, in their order, with `replacement` also of the same element
/// several times: tuples, or structs with these names for the fields.
array combinations(const array &a, intptr_t n, int axis = 1, bool replacement = false,
                   std::span<const std::string> fields = {});
/// The same of the positions in the row, int64.
array argcombinations(const array &a, intptr_t n, int axis = 1, bool replacement = false,
                      std::span<const std::string> fields = {});

/// All choices of one element of each array, for each row of the axis, the last array's changing first: structs of that
/// many fields, or without names tuples. `nested`: a row for each element of the first array.
array cartesian(std::span<const std::string> fields, std::span<const array> arrays, int axis = 1, bool nested = false);
array argcartesian(std::span<const std::string> fields, std::span<const array> arrays, int axis = 1,
                   bool nested = false);

} // namespace dynd::nd
