// The frame that a piece of work gets (see dynd/abi/kernel.h), with scratch that belongs to the thread.
#pragma once

#include <cstddef>

#include "dynd/kernel/level.h"

namespace dynd {

/// A frame with `scratch_size` bytes of scratch, taken from the thread; gives everything back with itself.
class work_frame : public dynd_frame {
public:
  explicit work_frame(size_t scratch_size);
  ~work_frame();
  work_frame(const work_frame &) = delete;
  work_frame &operator=(const work_frame &) = delete;

  frame_state state; ///< what `engine` points to

private:
  static void *allocate_temp(dynd_frame *self, size_t size);

  char *own_scratch_ = nullptr; // where the thread's was in use outside of this frame
};

} // namespace dynd
