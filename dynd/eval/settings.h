// How a thread wants its evaluations done. Read once where a call enters the engine, and passed down from there.
#pragma once

namespace dynd {

struct observation;

struct settings {
  observation *watching = nullptr; ///< explain or trace
  bool eager = false;              ///< nothing is lazy
  bool direct = true;              ///< small dense operands take the direct step
};

/// What the calling thread has set.
settings &thread_settings();

/// While one lives, operations of this thread are not lazy.
class eager_scope {
public:
  eager_scope() : before_(thread_settings().eager) { thread_settings().eager = true; }
  ~eager_scope() { thread_settings().eager = before_; }
  eager_scope(const eager_scope &) = delete;
  eager_scope &operator=(const eager_scope &) = delete;

private:
  bool before_;
};

/// While one lives, evaluations of this thread report to the observation.
class observed_scope {
public:
  explicit observed_scope(observation *seen) : before_(thread_settings().watching) {
    thread_settings().watching = seen;
  }
  ~observed_scope() { thread_settings().watching = before_; }
  observed_scope(const observed_scope &) = delete;
  observed_scope &operator=(const observed_scope &) = delete;

private:
  observation *before_;
};

/// For tests: turns the direct step off, in the whole process.
void set_direct(bool on);

} // namespace dynd
