#include "dynd/eval/settings.h"

#include <cstdlib>
#include <cstring>

namespace dynd {

std::atomic<bool> direct_enabled = [] {
  const char *text = std::getenv("DYND_DIRECT");
  return !text || std::strcmp(text, "0") != 0;
}();

namespace {
__attribute__((tls_model("initial-exec"))) thread_local settings of_this_thread;
}

settings &thread_settings() { return of_this_thread; }

} // namespace dynd
