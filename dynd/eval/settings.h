// How a thread wants its evaluations done. Read once where a call enters the engine, and passed down from there.
#pragma once

#include <atomic>
#include <utility>

namespace dynd {

struct observation;

struct settings {
  observation *watching = nullptr; ///< explain or trace
  bool eager = false;              ///< nothing is lazy
  /// Inside of a Python function that a kernel calls: a kernel that fails there is not called again to name the
  /// element. In calls inside of calls it would be called thrice as often for each.
  bool once = false;
};

/// For intermediate arrays: they are not watched. None is lazy: it would be computed later, and seen then.
inline constexpr settings unwatched{nullptr, true};

/// The same for what is read at once, by something else that is not watched.
inline settings without_watching(settings how) {
  how.watching = nullptr;
  return how;
}

/// What the calling thread has set.
settings &thread_settings();

/// While one lives, a setting of this thread has another value.
template <class T> class setting_scope {
public:
  setting_scope(T settings::*which, T value) : which_(which), before_(std::exchange(thread_settings().*which, value)) {}
  ~setting_scope() { thread_settings().*which_ = before_; }
  setting_scope(const setting_scope &) = delete;
  setting_scope &operator=(const setting_scope &) = delete;

private:
  T settings::*which_;
  T before_;
};

/// Operations of this thread are not lazy.
struct eager_scope : setting_scope<bool> {
  eager_scope() : setting_scope(&settings::eager, true) {}
};

/// Evaluations of this thread report to the observation.
struct observed_scope : setting_scope<observation *> {
  explicit observed_scope(observation *seen) : setting_scope(&settings::watching, seen) {}
};

/// Whether small dense operands take the direct step. It is off in the whole process where a test wants everything to
/// be a task, by set_direct(false) or DYND_DIRECT=0.
extern std::atomic<bool> direct_enabled;
inline void set_direct(bool on) { direct_enabled.store(on); }

} // namespace dynd
