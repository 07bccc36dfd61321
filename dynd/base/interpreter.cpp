#include "dynd/base/interpreter.h"

#include <chrono>
#include <utility>

#include "dynd/base/errors.h"

namespace dynd {

interpreter_hooks the_interpreter;

namespace {
thread_local bool asking = false;
thread_local bool undisturbed = false;
constinit thread_local std::chrono::steady_clock::time_point asked; // by ask_now_and_then
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

bool ask_now_and_then() {
  auto now = std::chrono::steady_clock::now();
  if (now - asked < std::chrono::milliseconds(50)) {
    return false;
  }
  asked = now;
  return ask_whether_to_stop();
}

void interruptible_walk::ask(const char *operation) {
  if (ask_now_and_then()) {
    fail(error_kind::cancelled, std::string(operation) + ": interrupted");
  }
}

bool is_inside_handler() { return asking; }

without_interruption::without_interruption() : before_(std::exchange(undisturbed, true)) {}
without_interruption::~without_interruption() { undisturbed = before_; }

} // namespace dynd
