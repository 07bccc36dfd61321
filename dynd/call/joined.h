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

/// What is gathered for one field of records: the elements of a list that an array of int32, in the shape of the
/// result, has the numbers of.
struct record_field {
  array list, index;
};

/// Structs of that many fields (or without names, tuples), in the shape of the indices, which are all of one shape, the
/// library's own and compact. Large ones are lazy: a field of them is computed without the others, and if it is made of
/// numbers in one pass with what is computed from it.
array gather_records(const char *name, std::span<const std::string> names, std::span<const record_field> fields);

/// Arrays that are compact down to the axis have the same sizes and rows outside of it; else a value error.
void check_outside(const char *name, const std::vector<array> &arrays, int axis);

} // namespace dynd::nd
