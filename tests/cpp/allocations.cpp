#include "allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace dynd::testing {

namespace {

std::atomic<int64_t> live = 0, asked = 0;
std::atomic<int64_t> countdown = -1; // allocations that still succeed; negative: all of them
std::atomic<bool> keeps_failing = false, failed = false;
std::function<void()> before_failure;

bool must_fail() {
  if (countdown.load(std::memory_order_relaxed) < 0) {
    return keeps_failing && failed;
  }
  if (countdown.fetch_sub(1, std::memory_order_relaxed) != 0) {
    return keeps_failing && failed;
  }
  if (before_failure) {
    before_failure();
  }
  failed = true;
  return true;
}

void *allocate(size_t size, size_t alignment) {
  asked.fetch_add(1, std::memory_order_relaxed);
  if (must_fail()) {
    return nullptr;
  }
  size = size ? size : 1;
  void *memory = alignment > alignof(std::max_align_t)
                     ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                     : std::malloc(size);
  if (memory) {
    live.fetch_add(1, std::memory_order_relaxed);
  }
  return memory;
}

void *allocate_or_throw(size_t size, size_t alignment) {
  void *memory = allocate(size, alignment);
  if (!memory) {
    throw std::bad_alloc();
  }
  return memory;
}

void give_back(void *memory) {
  if (memory) {
    live.fetch_sub(1, std::memory_order_relaxed);
    std::free(memory);
  }
}

} // namespace

int64_t live_allocations() { return live; }
int64_t allocation_count() { return asked; }

failing_allocation::failing_allocation(int64_t n, bool all_after, std::function<void()> meanwhile) {
  before_failure = std::move(meanwhile);
  failed = false;
  keeps_failing = all_after;
  countdown = n;
}

failing_allocation::~failing_allocation() {
  countdown = -1;
  keeps_failing = false;
  before_failure = nullptr;
}

bool failing_allocation::happened() const { return failed; }

} // namespace dynd::testing

using dynd::testing::allocate;
using dynd::testing::allocate_or_throw;
using dynd::testing::give_back;

void *operator new(size_t size) { return allocate_or_throw(size, 0); }
void *operator new[](size_t size) { return allocate_or_throw(size, 0); }
void *operator new(size_t size, const std::nothrow_t &) noexcept { return allocate(size, 0); }
void *operator new[](size_t size, const std::nothrow_t &) noexcept { return allocate(size, 0); }
void *operator new(size_t size, std::align_val_t a) { return allocate_or_throw(size, size_t(a)); }
void *operator new[](size_t size, std::align_val_t a) { return allocate_or_throw(size, size_t(a)); }
void *operator new(size_t size, std::align_val_t a, const std::nothrow_t &) noexcept {
  return allocate(size, size_t(a));
}
void *operator new[](size_t size, std::align_val_t a, const std::nothrow_t &) noexcept {
  return allocate(size, size_t(a));
}

void operator delete(void *memory) noexcept { give_back(memory); }
void operator delete[](void *memory) noexcept { give_back(memory); }
void operator delete(void *memory, size_t) noexcept { give_back(memory); }
void operator delete[](void *memory, size_t) noexcept { give_back(memory); }
void operator delete(void *memory, const std::nothrow_t &) noexcept { give_back(memory); }
void operator delete[](void *memory, const std::nothrow_t &) noexcept { give_back(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void *memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void *memory, size_t, std::align_val_t) noexcept { give_back(memory); }
