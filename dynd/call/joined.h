// What functions that join several arrays share. Private to dynd/call/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynd/array/array.h"
#include "dynd/eval/nested.h"

namespace dynd::nd {

/// A list of structs whose fields are the elements of lists of one length; without names, of tuples. A view.
array zip_lists(std::span<const std::string> names, std::span<const array> lists);

/// Numbers of places as a list of int64.
array list_of_places(const place_buffer &places);

/// Arrays that are compact down to the axis have the same sizes and rows outside of it; else a value error.
void check_outside(const char *name, const std::vector<array> &arrays, int axis);

} // namespace dynd::nd
