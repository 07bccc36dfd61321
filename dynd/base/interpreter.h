// The hooks of a host language with a global lock. A thread that is about to wait, or to work for long, gives the lock
// up first, and asks now and then whether the user wants it to stop. A thread that calls into the host takes the lock.
// The Python package sets the hooks; without a host nothing happens.
#pragma once

#include <cstdint>

namespace dynd {

struct interpreter_hooks {
  void *(*let_go)() = nullptr; ///< null result: the lock was not held
  void (*take_back)(void *) = nullptr;
  /// Takes the lock, on any thread; one that has it already only counts. The result is for `leave`.
  int (*enter)() = nullptr;
  void (*leave)(int) = nullptr;
  bool (*interrupted)() = nullptr; ///< asked without the lock; the host remembers what it will raise
};

/// Defined in the library, not inline: the binding is another shared object, and must not get a copy.
extern interpreter_hooks the_interpreter;

/// Asks the host whether the user wants this thread's evaluation to stop. The host may run the user's signal handlers.
bool ask_whether_to_stop();
/// The same, where this thread has not asked for 50 ms: so that many short steps ask as one long one does. Else false.
bool ask_now_and_then();
/// Whether this thread is inside of ask_whether_to_stop: its own evaluation is not finished, so it must not wait for
/// the values of another.
bool is_inside_handler();

/// While one lives, this thread's evaluations are not stopped: what undoes another comes to its end.
class without_interruption {
public:
  without_interruption();
  ~without_interruption();
  without_interruption(const without_interruption &) = delete;
  without_interruption &operator=(const without_interruption &) = delete;

private:
  bool before_;
};

inline constexpr intptr_t unlocked_from = 50'000; ///< elements: about 20 microseconds of work, without the host's lock

/// For a long walk that is no kernel: asks now and then, and fails as cancelled where the user wants it.
class interruptible_walk {
public:
  /// Some steps were made: a clock is read after some thousand.
  void step(const char *operation, uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ >= 16384) {
      steps_ = 0;
      ask(operation);
    }
  }

private:
  static void ask(const char *operation);
  uint64_t steps_ = 0;
};

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

/// With the host's lock for as long as it lives, if `apply` and there is a host.
class with_interpreter {
public:
  explicit with_interpreter(bool apply = true)
      : entered_(apply && the_interpreter.enter), state_(entered_ ? the_interpreter.enter() : 0) {}
  ~with_interpreter() {
    if (entered_) {
      the_interpreter.leave(state_);
    }
  }
  with_interpreter(const with_interpreter &) = delete;
  with_interpreter &operator=(const with_interpreter &) = delete;

private:
  bool entered_;
  int state_;
};

} // namespace dynd
