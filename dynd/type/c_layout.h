// How values (scalars, texts and bytes of a fixed length), those that may be missing, and structs of values are in
// memory for a kernel that is written in C.
#pragma once

#include <vector>

#include "dynd/type/type.h"

namespace dynd {

/// How a value, or a struct or tuple of values, is in memory, by the rules of C. A fixed_string[N] or fixed_bytes[N] is
/// a char[N]. A ?T is a struct of a byte that is 1 where the value is there, and the value.
struct c_layout {
  intptr_t size = 0, alignment = 1;
  std::vector<intptr_t> offset; ///< of each stream
};
/// A type error where it has none.
c_layout c_layout_of(const type_data *dtype);

/// Whether a kernel can take elements of this type: values, those that may be missing, structs and tuples of
/// values.
bool has_c_layout(const type_data *dtype);

} // namespace dynd
