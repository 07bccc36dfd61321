#include "dynd/base/interpreter.h"

#include <utility>

#include "dynd/base/errors.h"

namespace dynd {

interpreter_hooks the_interpreter;

namespace {
thread_local bool asking = false;
thread_local bool undisturbed = false;
} // namespace

bool ask_whether_to_stop() {
  if (!the_interpreter.interrupted || undisturbed) {
    return false;
  }
  bool outside = std::exchange(asking, true);
  bool stop = the_interpreter.interrupted();
  asking = outside;
  return stop;
}

void interruptible_walk::ask(const char *operation) {
  if (ask_whether_to_stop()) {
    fail(error_kind::cancelled, std::string(operation) + ": interrupted");
  }
}

bool is_inside_handler() { return asking; }

without_interruption::without_interruption() : before_(std::exchange(undisturbed, true)) {}
without_interruption::~without_interruption() { undisturbed = before_; }

} // namespace dynd
