// The hook of a host language with a global lock: whoever is about to wait, or to work for long, gives the lock up
// first, and asks now and then whether the user wants it to stop. The Python package sets it; without a host nothing
// happens.
#pragma once

namespace dynd {

struct interpreter_hooks {
  void *(*let_go)() = nullptr; ///< null result: the lock was not held
  void (*take_back)(void *) = nullptr;
  bool (*interrupted)() = nullptr; ///< asked without the lock; the host remembers what it will raise
};

/// Defined in the library, not inline: the binding is another shared object, and must not get one of its own.
extern interpreter_hooks the_interpreter;

/// Asks the host whether the user wants this thread's evaluation to stop. The host may run the user's signal handlers.
bool ask_whether_to_stop();
/// Whether this thread is inside of that, with an evaluation of its own not finished: it must not wait for values.
bool is_inside_handler();

/// Without the host's lock for as long as it lives, if `apply`.
class without_interpreter {
public:
  explicit without_interpreter(bool apply = true)
      : state_(apply && the_interpreter.let_go ? the_interpreter.let_go() : nullptr) {}
  ~without_interpreter() {
    if (state_) {
      the_interpreter.take_back(state_);
    }
  }
  without_interpreter(const without_interpreter &) = delete;
  without_interpreter &operator=(const without_interpreter &) = delete;

private:
  void *state_;
};

} // namespace dynd
