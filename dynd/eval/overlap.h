// Whether an assignment would read what it writes.
#pragma once

#include "dynd/array/block.h"

namespace dynd {

/// By the addresses that the streams of both may touch, rows looked at: different owners may lend the same memory. Where
/// the elements have rows, texts or pointers inside, by owners: what is there may be anywhere in their memory.
bool may_share_memory(const array_block &a, const array_block &b);

} // namespace dynd
