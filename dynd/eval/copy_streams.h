// A copy of an array whose elements are texts, rows and records: stream by stream instead of element by element.
#pragma once

#include "dynd/array/block.h"

namespace dynd {

/// Copies the source to `dst`, which new_empty made, of the same type and sizes. False where the source's streams are
/// not in C order, its rows are not one after another in their content, most of the content belongs to no row, a value
/// with rows is missing, or there are pointers: `dst` is then of no use any more.
bool try_copy_streams(array_block &dst, const array_block &src);

} // namespace dynd
