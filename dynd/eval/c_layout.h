// How structs of scalars are in memory for a kernel that is written in C.
#pragma once

#include <vector>

#include "dynd/type/type.h"

namespace dynd {

/// How a scalar, or a struct or tuple of scalars, is in memory, by the rules of C.
struct c_layout {
  intptr_t size = 0, alignment = 1;
  std::vector<intptr_t> offset; ///< of each stream
};
c_layout c_layout_of(const type_data *dtype);

/// Whether a kernel can take elements of this type: scalars, and structs and tuples of them.
bool has_c_layout(const type_data *dtype);

} // namespace dynd
