// Running a task: build its kernel, cut the call into pieces, run them, and turn a failure into a message.
#pragma once

#include "dynd/eval/task.h"

namespace dynd {

inline constexpr intptr_t threads_from = 200'000; ///< elements: below, waking a thread costs more than it brings
inline constexpr intptr_t unlocked_from = 50'000; ///< elements: about 20 microseconds of work, without Python's lock

/// Runs a lowered task. The outputs' memory is there. False where the task is one logical row and its operands cannot
/// be walked as one: then nothing was done.
bool run_task(task &t);

} // namespace dynd
