// Running pieces of work on several threads (oneTBB).
#pragma once

#include <cstdint>
#include <functional>

namespace dynd {

/// How many threads one evaluation may use; at least 1. The default is the number of CPUs.
int num_threads();
void set_num_threads(int count);

/// Calls piece(i) for every i < count, on several threads where that is allowed. Of the pieces that failed (a status
/// that is not zero, or an exception) the lowest i decides what is returned or thrown; pieces after it may or may not
/// have run.
int for_each_piece(intptr_t count, const std::function<int(intptr_t)> &piece);

} // namespace dynd
