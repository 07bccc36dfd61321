#include "dynd/eval/threads.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "dynd/base/errors.h"

// TSan does not see how TBB hands work from thread to thread (CMakeLists.txt says why): it is told.
#if DYND_ANNOTATE_TSAN
extern "C" void __tsan_acquire(void *address);
extern "C" void __tsan_release(void *address);
#endif

namespace dynd {

namespace {

constexpr int most_threads = 255;
constexpr int most_callers = 64;   // at once; each has a place, so that it works itself, and asks whether to stop
std::atomic<int> thread_count = 0; // 0: not asked yet
std::atomic<bool> forked = false;  // in the child of a fork there are no workers any more

int default_threads() {
  static const int count = [] {
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
    unsigned cpus = std::thread::hardware_concurrency();
    return cpus ? std::min(int(cpus), most_threads) : 1;
  }();
  return count;
}

// What a thread did before hand_over(at) is visible to a thread after take_over(at).
inline void hand_over([[maybe_unused]] char &at) {
#if DYND_ANNOTATE_TSAN
  __tsan_release(&at);
#endif
}

inline void take_over([[maybe_unused]] char &at) {
#if DYND_ANNOTATE_TSAN
  __tsan_acquire(&at);
#endif
}

// One arena for each number of threads that was asked for, with places for one worker less and for callers; leaked,
// because workers may outlive the statics.
tbb::task_arena &arena_of(int threads) {
  static std::atomic<tbb::task_arena *> arenas[most_threads + 1] = {};
  std::atomic<tbb::task_arena *> &slot = arenas[threads];
  tbb::task_arena *arena = slot.load(std::memory_order_acquire);
  if (!arena) {
    // More threads than CPUs are the user's choice; without this TBB ignores it, and prints.
    // (Never read, but it has to stay reachable, or it looks like a leak.)
    [[gnu::used]] static auto *limit =
        new tbb::global_control(tbb::global_control::max_allowed_parallelism, most_threads + most_callers);
    auto *made = new tbb::task_arena(threads - 1 + most_callers, most_callers);
    if (slot.compare_exchange_strong(arena, made, std::memory_order_acq_rel)) {
      arena = made;
    } else {
      delete made;
    }
  }
  return *arena;
}

// The failure of the lowest piece among those that ran.
class lowest_failure {
public:
  explicit lowest_failure(intptr_t count) : piece_(count) {}

  bool is_before(intptr_t i) const { return piece_.load(std::memory_order_relaxed) < i; }

  void run(const std::function<int(intptr_t)> &piece, intptr_t i) {
    try {
      if (int status = piece(i)) {
        note(i, status, nullptr);
      }
    } catch (...) {
      note(i, dynd_ok, std::current_exception());
    }
  }

  int result() const {
    if (exception_) {
      std::rethrow_exception(exception_);
    }
    return status_;
  }

private:
  void note(intptr_t i, int status, std::exception_ptr exception) {
    std::lock_guard lock(mutex_);
    if (i < piece_.load(std::memory_order_relaxed)) {
      piece_.store(i, std::memory_order_relaxed);
      status_ = status;
      exception_.swap(exception);
    }
  }

  std::atomic<intptr_t> piece_;
  std::mutex mutex_; // guards what follows
  int status_ = dynd_ok;
  std::exception_ptr exception_;
};

} // namespace

int num_threads() {
  int count = thread_count.load(std::memory_order_relaxed);
  return forked.load(std::memory_order_relaxed) ? 1 : count ? count : default_threads();
}

void set_num_threads(int count) {
  if (count < 1 || count > most_threads) {
    fail(error_kind::value, "set_num_threads: the number must be from 1 to " + std::to_string(most_threads) + ", not " +
                                std::to_string(count));
  }
  default_threads();
  thread_count.store(count, std::memory_order_relaxed);
}

int for_each_piece(intptr_t count, const std::function<int(intptr_t)> &piece) {
  int threads = num_threads();
  if (count <= 1 || threads == 1) {
    for (intptr_t i = 0; i < count; i++) {
      if (int status = piece(i)) {
        return status;
      }
    }
    return dynd_ok;
  }
  lowest_failure failure(count);
  char begun, done;
  hand_over(begun);
  arena_of(threads).execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<intptr_t>(0, count, 1),
        [&](const tbb::blocked_range<intptr_t> &some) {
          take_over(begun);
          for (intptr_t i = some.begin(); i != some.end() && !failure.is_before(i); i++) {
            failure.run(piece, i);
          }
          hand_over(done);
        },
        tbb::simple_partitioner());
  });
  take_over(done);
  return failure.result();
}

} // namespace dynd
