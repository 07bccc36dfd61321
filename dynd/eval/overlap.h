// Whether an assignment would read what it writes.
#pragma once

#include "dynd/array/block.h"

namespace dynd {

/// By the addresses that the streams of both may touch: different owners may lend the same memory. Where that cannot be
/// told the answer is yes, and the price a copy.
bool may_share_memory(const array_block &a, const array_block &b);

} // namespace dynd
