// Running pieces of work on several threads (oneTBB), and the frame that each piece gets.
#pragma once

#include <functional>

#include "dynd/abi/kernel.h"

namespace dynd {

/// How many threads one evaluation may use; at least 1. The default is the number of CPUs.
int num_threads();
void set_num_threads(int count);

/// Calls piece(i) for every i < count, on several threads where that is allowed. The first status that is not zero (the
/// lowest i) is returned; pieces after it may or may not have run.
int for_each_piece(intptr_t count, const std::function<int(intptr_t)> &piece);

/// A frame with `scratch_size` bytes of scratch, taken from the thread; gives everything back with itself.
class work_frame : public dynd_frame {
public:
  explicit work_frame(size_t scratch_size);
  ~work_frame();
  work_frame(const work_frame &) = delete;
  work_frame &operator=(const work_frame &) = delete;

private:
  static void *allocate_temp(dynd_frame *self, size_t size);

  struct temp_block;
  temp_block *temps_ = nullptr;
  char *previous_; // a scratch in use outside of this one
};

} // namespace dynd
