// Whether an assignment would read what it writes.
#pragma once

#include "dynd/array/block.h"

namespace dynd {

/// Judged by the addresses that the streams of both may touch: different owners may lend the same memory. Where that is
/// not known the answer is yes, and the price is a copy.
bool may_share_memory(const array_block &a, const array_block &b);

} // namespace dynd
