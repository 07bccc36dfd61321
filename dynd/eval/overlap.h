// Whether an assignment would read what it writes.
#pragma once

#include "dynd/array/block.h"

namespace dynd {

/// Judged by the addresses that the streams of both may touch: different owners may lend the same memory. Where that is
/// not known the answer is yes, and the price is a copy.
bool may_write_to(const array_block &dst, const array_block &src);

} // namespace dynd
