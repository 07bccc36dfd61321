// Running a task: build its kernel, cut the call into pieces, run them, and turn a failure into a message.
#pragma once

#include <string>

#include "dynd/base/interpreter.h"
#include "dynd/eval/task.h"

namespace dynd {

inline constexpr intptr_t threads_from = 200'000; ///< elements: below, waking a thread costs more than it brings

/// Runs a lowered task. The outputs' memory is there. False where the task is one logical row and its operands cannot
/// be walked as one: then nothing was done.
bool run_task(task &t);

/// The first element that fails, in C order: where it is, down to the part of it that failed, and what was said.
struct first_failure {
  int status = dynd_ok; ///< zero: none fails when it is run again, as may be with external kernels
  std::string where;    ///< `(2, 0, "x")`; empty where there is neither an axis nor a part
  std::string text;
};

/// Runs the lowered task again, in C order, up to the first element that fails; the status is dynd_error_cancelled
/// where the user wants it to stop before that.
first_failure locate_failure(const task &t);

} // namespace dynd
