#include "dynd/memory/buffer.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "dynd/base/errors.h"
#include "dynd/memory/pool.h"

namespace dynd {

const bool poisoning = [] {
  const char *text = std::getenv("DYND_POISON");
  return text && std::strcmp(text, "1") == 0;
}();

void poison(void *memory, size_t bytes) { std::memset(memory, 0xA5, bytes); }

namespace {

// The header is before the data in the same allocation; 64 bytes keep the data aligned.
constexpr size_t header_size = 64;
static_assert(sizeof(buffer) <= header_size);

constexpr size_t huge_page = size_t(2) << 20;
constexpr size_t mapped_from = size_t(4) << 20; // larger ones come from mmap, on huge pages
constexpr int64_t keep_seconds = 20;

// Size classes: four to a doubling, so that at most a fifth is wasted. Class c holds blocks of (4 + c % 4) << (c / 4 +
// 6) bytes: 256, 320, 384, 448, 512, 640, ...
constexpr int class_count = 4 * 40;

int class_of(size_t bytes) {
  if (bytes <= 256) {
    return 0;
  }
  int exponent = 63 - std::countl_zero(bytes - 1); // bytes - 1 in [2^exponent, 2^(exponent + 1))
  int quarter = int((bytes - 1) >> (exponent - 2)) & 3;
  return 4 * (exponent - 8) + quarter + 1;
}

size_t class_bytes(int c) { return size_t(4 + c % 4) << (c / 4 + 6); }

struct kept_block {
  kept_block *next;
  int64_t since; // seconds
};

int64_t now_seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

void *map_block(size_t bytes) {
  // Over-map to align to a huge page, then cut off the ends.
  size_t length = (bytes + huge_page - 1) / huge_page * huge_page;
  char *start = static_cast<char *>(
      mmap(nullptr, length + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (start == MAP_FAILED) {
    return nullptr;
  }
  char *aligned =
      reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(start) + huge_page - 1) / huge_page * huge_page);
  if (aligned != start) {
    munmap(start, aligned - start);
  }
  munmap(aligned + length, start + huge_page - aligned);
  madvise(aligned, length, MADV_HUGEPAGE);
  return aligned;
}

void *fresh_block(size_t bytes) {
  if (bytes >= mapped_from) {
    return map_block(bytes);
  }
  return ::operator new(bytes, std::align_val_t(64), std::nothrow);
}

void free_block(void *block, size_t bytes) {
  if (bytes >= mapped_from) {
    munmap(block, (bytes + huge_page - 1) / huge_page * huge_page);
  } else {
    ::operator delete(block, std::align_val_t(64));
  }
}

size_t keep_limit() {
  static const size_t limit = [] {
    size_t memory = size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGE_SIZE));
    return std::min(memory / 8, size_t(2) << 30);
  }();
  return limit;
}

// The blocks that are kept, by class, the latest first. Leaked: arrays may outlive the statics.
class recycler {
public:
  void *get(int c) {
    std::lock_guard lock(mutex_);
    kept_block *block = kept_[c];
    if (block) {
      kept_[c] = block->next;
      bytes_ -= class_bytes(c);
    }
    return block;
  }

  void put(void *memory, int c) {
    size_t bytes = class_bytes(c);
    if (poisoning) {
      poison(memory, bytes);
    }
    if (!recycling || bytes > keep_limit()) {
      free_block(memory, bytes);
      return;
    }
    std::unique_lock lock(mutex_);
    int64_t now = now_seconds();
    auto *block = static_cast<kept_block *>(memory);
    *block = {kept_[c], now};
    kept_[c] = block;
    bytes_ += bytes;
    if (bytes_ > keep_limit() || now > last_trim_ + keep_seconds / 2) {
      last_trim_ = now;
      // Beyond the limit a quarter goes, so that this walk over all blocks is rare.
      size_t limit = bytes_ > keep_limit() ? keep_limit() / 4 * 3 : keep_limit();
      kept_block *old = cut_older_than(now - keep_seconds, limit);
      lock.unlock();
      free_list(old);
    }
  }

  void trim() {
    std::unique_lock lock(mutex_);
    kept_block *all = cut_older_than(INT64_MAX, 0);
    lock.unlock();
    free_list(all);
  }

  size_t bytes() {
    std::lock_guard lock(mutex_);
    return bytes_;
  }

  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

private:
  // Unlinks what was put before `time`, and the largest classes' blocks as long as more than `limit` bytes are kept.
  // The class is stored in `since` of the unlinked blocks.
  kept_block *cut_older_than(int64_t time, size_t limit) {
    kept_block *cut = nullptr;
    for (int c = class_count - 1; c >= 0; c--) {
      for (kept_block **link = &kept_[c]; *link;) {
        kept_block *block = *link;
        if (block->since < time || bytes_ > limit) {
          *link = block->next;
          bytes_ -= class_bytes(c);
          *block = {cut, c};
          cut = block;
        } else {
          link = &block->next;
        }
      }
    }
    return cut;
  }

  static void free_list(kept_block *list) {
    while (list) {
      kept_block *block = std::exchange(list, list->next);
      free_block(block, class_bytes(int(block->since)));
    }
  }

  std::mutex mutex_;
  kept_block *kept_[class_count] = {};
  size_t bytes_ = 0;
  int64_t last_trim_ = 0;
};

recycler &the_recycler() {
  static recycler *instance = [] {
    auto *made = new recycler;
    pthread_atfork([] { the_recycler().before_fork(); }, [] { the_recycler().after_fork(); },
                   [] { the_recycler().after_fork(); });
    return made;
  }();
  return *instance;
}

// Gives back a buffer, and those that it was the last to link to: in a loop, because a chain of links may be long.
void destroy_buffer(counted *self) noexcept {
  auto *block = static_cast<buffer *>(self);
  while (block) {
    buffer *next = block->same_rows.load(std::memory_order_acquire);
    if (block->give_back) {
      block->give_back(block->context);
      delete block;
    } else {
      the_recycler().put(block, class_of(block->size + header_size));
    }
    block = next && next->refs.fetch_sub(1, std::memory_order_acq_rel) == 1 ? next : nullptr;
  }
}

ref<buffer> start_buffer(buffer *made, char *data, size_t size, void (*give_back)(void *), void *context) {
  made->refs.store(1, std::memory_order_relaxed);
  made->destroy = destroy_buffer;
  made->data = data;
  made->size = size;
  made->give_back = give_back;
  made->context = context;
  return ref<buffer>::adopt(made);
}

} // namespace

ref<buffer> allocate_buffer(size_t size) {
  if (size > size_t(1) << 46) {
    fail(error_kind::memory, "cannot allocate " + std::to_string(size) + " bytes");
  }
  int c = class_of(size + header_size);
  void *memory = recycling ? the_recycler().get(c) : nullptr;
  if (!memory) {
    memory = fresh_block(class_bytes(c));
    if (!memory) {
      fail(error_kind::memory, "cannot allocate " + std::to_string(size) + " bytes");
    }
    if (poisoning) {
      poison(memory, class_bytes(c));
    }
  }
  return start_buffer(new (memory) buffer, static_cast<char *>(memory) + header_size, size, nullptr, nullptr);
}

ref<buffer> adopt_memory(void *data, size_t size, void (*give_back)(void *context), void *context) {
  auto *result = new (std::nothrow) buffer;
  if (!result) {
    give_back(context);
    fail(error_kind::memory, "cannot allocate a buffer header");
  }
  return start_buffer(result, static_cast<char *>(data), size, give_back, context);
}

buffer *as_buffer(counted *owner) {
  return owner && owner->destroy == destroy_buffer ? static_cast<buffer *>(owner) : nullptr;
}

size_t recycled_bytes() { return the_recycler().bytes(); }

void trim_memory() {
  the_recycler().trim();
  trim_pools();
}

} // namespace dynd
