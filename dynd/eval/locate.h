// Which element failed: one way for every task.
#pragma once

#include <string>

#include "dynd/eval/task.h"

namespace dynd {

/// The first element that fails, in C order: where it is, down to the part of it that failed, and what was said.
struct first_failure {
  int status = dynd_ok; ///< zero: none fails when it is run again, as may be with external kernels
  std::string where;    ///< `(2, 0, "x")`; empty where there is neither an axis nor a part
  std::string text;
};

/// Runs the lowered task again, up to the first element that fails: ranges are halved until one element is left, so
/// that all runs add up to less than three times the whole. A flaky task is run element by element. Consumes the task.
first_failure locate_failure(task t);

} // namespace dynd
