// Whether the user wants an evaluation to stop. The calling thread asks the host between its pieces; all threads see
// the answer, also through dynd_frame::cancel.
#pragma once

#include <atomic>
#include <thread>

#include "dynd/base/interpreter.h"

namespace dynd {

class interruption {
public:
  /// Work that is not long does not ask.
  explicit interruption(bool asks) : asks_(asks) {}
  bool poll() {
    if (!asks_) {
      return false;
    }
    if (!stop_.load(std::memory_order_relaxed) && std::this_thread::get_id() == caller_) {
      stop_.store(ask_now_and_then(), std::memory_order_relaxed);
    }
    return stop_.load(std::memory_order_relaxed);
  }
  const int *flag() const { return reinterpret_cast<const int *>(&stop_); }

private:
  bool asks_;
  std::atomic<int> stop_ = 0;
  std::thread::id caller_ = std::this_thread::get_id();
};
static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);

} // namespace dynd
