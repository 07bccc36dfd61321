// Whether the user wants a kernel to stop that works on one long row: the engine asks between its pieces, of which the
// row is one. Private to dynd/call/.
#pragma once

#include "dynd/base/interruption.h"
#include "dynd/kernel/level.h"

namespace dynd::nd {

class row_interruption {
public:
  explicit row_interruption(dynd_frame *frame) : frame_(frame), asked_(true) {}

  /// Only the thread that made it asks. The others of the evaluation are told: through this object, or where they work
  /// on other rows through their frames.
  bool poll() {
    if (is_cancelled(frame_)) {
      return true;
    }
    bool stop = asked_.poll();
    if (stop && frame_->cancel) {
      __atomic_store_n(const_cast<int *>(frame_->cancel), 1, __ATOMIC_RELAXED);
    }
    return stop;
  }

private:
  dynd_frame *frame_;
  interruption asked_;
};

} // namespace dynd::nd
