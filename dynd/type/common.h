// The type that elements of two types are converted to where they meet in one array: joined, or chosen from.
#pragma once

#include "dynd/type/type.h"

namespace dynd {

/// Numbers promote, texts of all lengths are one, rows meet by their elements, structs and tuples with the same fields
/// field by field; where either may be missing, so may both. Null where there is none.
const type_data *common_element(const type_data *a, const type_data *b);

} // namespace dynd
