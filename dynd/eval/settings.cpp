#include "dynd/eval/settings.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace dynd {

namespace {

std::atomic<bool> direct_enabled = [] {
  const char *text = std::getenv("DYND_DIRECT"); // 0: for tests, everything is a task
  return !text || std::strcmp(text, "0") != 0;
}();

__attribute__((tls_model("initial-exec"))) thread_local settings of_this_thread;

} // namespace

settings &thread_settings() {
  bool direct = direct_enabled.load(std::memory_order_relaxed);
  if (of_this_thread.direct != direct) { // whoever copies the settings would wait for a byte just written
    of_this_thread.direct = direct;
  }
  return of_this_thread;
}

void set_direct(bool on) { direct_enabled.store(on); }

} // namespace dynd
