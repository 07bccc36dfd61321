// How structs of scalars, and scalars that may be missing, are in memory for a kernel that is written in C.
#pragma once

#include <vector>

#include "dynd/type/type.h"

namespace dynd {

/// How a scalar, or a struct or tuple of scalars, is in memory, by the rules of C. A ?T is a struct of a byte that
/// is 1 where the value is there, and the value.
struct c_layout {
  intptr_t size = 0, alignment = 1;
  std::vector<intptr_t> offset; ///< of each stream
};
c_layout c_layout_of(const type_data *dtype);

/// Whether a kernel can take elements of this type: scalars, those that may be missing, structs and tuples of scalars.
bool has_c_layout(const type_data *dtype);

} // namespace dynd
