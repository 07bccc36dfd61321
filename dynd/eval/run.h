// Running a task: build its kernel, cut the call into pieces, run them, and turn a failure into a message.
#pragma once

#include "dynd/eval/tree.h"

namespace dynd {

inline constexpr intptr_t threads_from = 200'000; ///< elements: below, waking a thread costs more than it brings
inline constexpr intptr_t unlocked_from = 50'000; ///< elements: about 20 microseconds of work, without Python's lock

/// Lowers the operands (outputs first) over the task's shape and runs it. The outputs' memory is there.
void run_task(task &t, array_block *const *outputs, array_block *const *sources);

/// A reduction over everything, to one value at `dst`. False where the sources are not one run of elements in C order:
/// nothing was done then. There is at least one element.
bool run_reduce_all(task &t, array_block *const *sources, void *dst);

} // namespace dynd
