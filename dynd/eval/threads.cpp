#include "dynd/eval/threads.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "dynd/base/errors.h"

namespace dynd {

namespace {

std::atomic<int> thread_count = 0; // 0: not asked yet
std::atomic<bool> forked = false;  // in the child of a fork there are no workers any more

int default_threads() {
  static const int count = [] {
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
    unsigned cpus = std::thread::hardware_concurrency();
    return cpus ? int(cpus) : 1;
  }();
  return count;
}

// One arena for each number of threads that was asked for; leaked, because workers may outlive the statics.
tbb::task_arena &arena_of(int threads) {
  static std::atomic<tbb::task_arena *> arenas[256] = {};
  std::atomic<tbb::task_arena *> &slot = arenas[threads < 256 ? threads : 255];
  tbb::task_arena *arena = slot.load(std::memory_order_acquire);
  if (!arena) {
    // More threads than CPUs are the user's choice; without this TBB ignores it, and prints.
    static auto *limit = new tbb::global_control(tbb::global_control::max_allowed_parallelism, 256);
    (void)limit;
    auto *made = new tbb::task_arena(threads);
    if (slot.compare_exchange_strong(arena, made, std::memory_order_acq_rel)) {
      arena = made;
    } else {
      delete made;
    }
  }
  return *arena;
}

// Scratch is kept by the thread and grows; it is used by one piece at a time.
struct thread_scratch {
  char *memory = nullptr;
  size_t size = 0;
  bool used = false;
  ~thread_scratch() { ::operator delete(memory, std::align_val_t(64)); }
};
thread_local thread_scratch scratch_of_thread;

char *new_scratch(size_t size) {
  auto *memory = static_cast<char *>(::operator new(size, std::align_val_t(64), std::nothrow));
  if (!memory) {
    fail(error_kind::memory, "cannot allocate " + std::to_string(size) + " bytes of scratch");
  }
  return memory;
}

} // namespace

int num_threads() {
  int count = thread_count.load(std::memory_order_relaxed);
  return forked.load(std::memory_order_relaxed) ? 1 : count ? count : default_threads();
}

void set_num_threads(int count) {
  if (count < 1) {
    fail(error_kind::value, "set_num_threads: the number must be at least 1, not " + std::to_string(count));
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
  std::atomic<intptr_t> failed = count; // the lowest piece that failed
  std::mutex failure;                   // guards `status`, which goes with it
  int status = dynd_ok;
  arena_of(threads).execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<intptr_t>(0, count, 1),
        [&](const tbb::blocked_range<intptr_t> &some) {
          for (intptr_t i = some.begin(); i != some.end(); i++) {
            if (i > failed.load(std::memory_order_relaxed)) {
              return;
            }
            if (int result = piece(i)) {
              std::lock_guard lock(failure);
              if (i < failed.load(std::memory_order_relaxed)) {
                failed.store(i, std::memory_order_relaxed);
                status = result;
              }
            }
          }
        },
        tbb::simple_partitioner());
  });
  return status;
}

struct work_frame::temp_block {
  temp_block *next;
};

work_frame::work_frame(size_t scratch_size) : previous_(nullptr) {
  size = sizeof(dynd_frame);
  version = DYND_ABI_VERSION;
  temp = allocate_temp;
  cancel = nullptr;
  kind = 0;
  text[0] = 0;
  engine = nullptr;
  thread_scratch &own = scratch_of_thread;
  if (own.used) { // a kernel that evaluates something itself
    scratch = previous_ = new_scratch(scratch_size);
    return;
  }
  if (own.size < scratch_size) {
    char *larger = new_scratch(scratch_size * 2);
    ::operator delete(own.memory, std::align_val_t(64));
    own.memory = larger;
    own.size = scratch_size * 2;
  }
  own.used = true;
  scratch = own.memory;
}

work_frame::~work_frame() {
  if (previous_) {
    ::operator delete(previous_, std::align_val_t(64));
  } else {
    scratch_of_thread.used = false;
  }
  while (temps_) {
    temp_block *next = temps_->next;
    ::operator delete(temps_, std::align_val_t(64));
    temps_ = next;
  }
}

void *work_frame::allocate_temp(dynd_frame *base, size_t size) {
  auto *self = static_cast<work_frame *>(base);
  void *memory = ::operator new(64 + size, std::align_val_t(64), std::nothrow);
  if (!memory) {
    return nullptr;
  }
  auto *block = static_cast<temp_block *>(memory);
  block->next = self->temps_;
  self->temps_ = block;
  return static_cast<char *>(memory) + 64;
}

} // namespace dynd
