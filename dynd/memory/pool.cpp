#include "dynd/memory/pool.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "dynd/base/errors.h"

namespace dynd {

namespace {

// Address space is plenty (2^47 bytes, or what a limit of the process says), but thousands of pools can be alive: each
// reserves a part of what is left of half of it, so that the rest of the process always finds some.
constexpr size_t most_reserved = size_t(1) << 34, least_share = size_t(1) << 24, least_reserved = size_t(1) << 20;
std::atomic<size_t> reserved_now{0};

size_t half_of_address_space() {
  rlimit limit;
  bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return std::min(size_t(1) << 46, limited ? size_t(limit.rlim_cur) / 2 : SIZE_MAX);
}

size_t fair_share() {
  size_t all = half_of_address_space();
  size_t left = all - std::min(all, reserved_now.load(std::memory_order_relaxed));
  size_t share = std::min(most_reserved, left / std::max<size_t>(all / most_reserved / 2, 8));
  size_t least = std::max(least_reserved, std::min(least_share, all >> 11));
  return std::max(share / least_reserved * least_reserved, least);
}

// Reservations of the usual size that were barely touched are kept for the next pools: to map one, to touch it and to
// unmap it costs 15 us, ten times what three texts in it cost. Their pages are zero again.
constexpr size_t kept_touched = size_t(1) << 16;
std::atomic<char *> kept[16];

char *take_kept() {
  for (std::atomic<char *> &place : kept) {
    if (place.load(std::memory_order_relaxed)) {
      if (char *address = place.exchange(nullptr)) {
        return address;
      }
    }
  }
  return nullptr;
}

bool keep(char *address) {
  for (std::atomic<char *> &place : kept) {
    char *none = nullptr;
    if (place.compare_exchange_strong(none, address)) {
      return true;
    }
  }
  return false;
}

char *reserve(size_t &bytes) {
  bytes = most_reserved;
  if (char *address = take_kept()) {
    return address;
  }
  for (bytes = fair_share(); bytes >= least_reserved; bytes /= 4) {
    void *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address != MAP_FAILED) {
      reserved_now.fetch_add(bytes, std::memory_order_relaxed);
      return static_cast<char *>(address);
    }
  }
  return nullptr;
}

void unreserve(char *address, size_t bytes) {
  munmap(address, bytes);
  reserved_now.fetch_sub(bytes, std::memory_order_relaxed);
}

} // namespace

void trim_pools() {
  while (char *address = take_kept()) {
    unreserve(address, most_reserved);
  }
}

ref<row_pool> row_pool::make(std::span<pool_stream> streams, ref<counted> below) {
  auto *pool = new (std::nothrow) row_pool;
  if (!pool) {
    fail(error_kind::memory, "cannot allocate a pool of rows");
  }
  pool->refs = 1;
  pool->destroy = destroy_pool;
  pool->below_ = std::move(below);
  ref<row_pool> result = ref<row_pool>::adopt(pool);
  pool->streams_ = new (std::nothrow) pool_stream[streams.size()];
  for (size_t s = 0; s < streams.size() && pool->streams_; s++, pool->nstreams_++) {
    streams[s].address = reserve(streams[s].reserved);
    if (!streams[s].address) {
      break;
    }
    pool->streams_[s] = streams[s];
    int64_t capacity = int64_t(streams[s].reserved / std::max<size_t>(streams[s].item, 1));
    pool->capacity_ = std::min(pool->capacity_, capacity);
  }
  pool->top_ = pool->capacity_;
  if (pool->nstreams_ != streams.size()) {
    fail(error_kind::memory, "cannot reserve memory for rows");
  }
  return result;
}

row_pool::~row_pool() {
  for (size_t s = 0; s < nstreams_; s++) {
    auto [item, fill, address, reserved] = streams_[s];
    size_t low = size_t(next_) * item, high = size_t(capacity_ - top_) * item; // touched at either end
    bool usual = recycling && reserved == most_reserved && low + high <= kept_touched;
    if (usual) {
      std::memset(address, 0, low);
      std::memset(address + size_t(top_) * item, 0, high);
    }
    if (!usual || !keep(address)) {
      unreserve(address, reserved);
    }
  }
  delete[] streams_;
}

void row_pool::destroy_pool(counted *self) noexcept { delete static_cast<row_pool *>(self); }

int64_t row_pool::take(int64_t count) {
  if (count == 0) {
    return 0; // the low end, whatever is there
  }
  if (int64_t place = has_returned_.load(std::memory_order_relaxed) ? take_again(count) : -1; place >= 0) {
    return place;
  }
  int64_t start = next_.load(std::memory_order_relaxed);
  do {
    if (count < 0 || count > top_ - start) {
      return -1;
    }
  } while (!next_.compare_exchange_weak(start, start + count));
  if (start + count > top_) { // a thread that replaces was faster
    return -1;
  }
  fill(start, count);
  return start;
}

void row_pool::give_back(int64_t start, int64_t count) {
  if (count == 0 || pinned_.load(std::memory_order_relaxed)) {
    return;
  }
  std::lock_guard lock(mutex_);
  try {
    returned_.emplace_back(start, count);
    has_returned_.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc &) { // the place is lost
  }
}

int64_t row_pool::take_again(int64_t count) {
  std::lock_guard lock(mutex_);
  if (returned_.empty() || returned_.back().second != count) {
    return -1;
  }
  int64_t start = returned_.back().first;
  returned_.pop_back();
  has_returned_.store(!returned_.empty(), std::memory_order_relaxed);
  fill(start, count, true);
  return start;
}

namespace {

int class_of(int64_t count) { return count > 1 ? std::bit_width(uint64_t(count - 1)) : 0; }

} // namespace

int64_t row_pool::replace(int64_t start, int64_t size, int64_t count) {
  if (start < 0) {
    return take(count);
  }
  bool reused = !pinned_.load(std::memory_order_relaxed);
  auto has_room = [&](bool high) { return reused && (high ? class_of(size) == class_of(count) : count <= size); };
  if (count <= size && has_room(start >= top_)) { // at whichever end it is
    return start;
  }
  std::lock_guard lock(mutex_); // without it top_ may be lower for a moment, and a place of the low end seem high
  bool high = start >= top_;
  if (has_room(high)) {
    return start;
  }
  int64_t place = count > 0 ? take_high(class_of(count)) : 0;
  if (place >= 0 && high && reused) {
    try {
      free_[class_of(size)].push_back(start);
    } catch (const std::bad_alloc &) { // the place is lost
    }
  }
  return place;
}

int64_t row_pool::take_high(int n) {
  if (n >= classes) {
    return -1;
  }
  if (!free_[n].empty()) {
    int64_t place = free_[n].back();
    free_[n].pop_back();
    return place;
  }
  int64_t end = top_, room = int64_t(1) << n;
  if (room >= end - next_) { // the first element is always at the low end
    return -1;
  }
  top_ = end - room;
  if (next_ >= end - room) { // a thread that takes was faster
    top_ = end;
    return -1;
  }
  fill(end - room, room);
  return end - room;
}

std::span<const char> row_pool::memory_around(const char *address) const {
  for (const pool_stream &stream : std::span(streams_, nstreams_)) {
    auto distance = uintptr_t(address) - uintptr_t(stream.address); // large where it is before it
    if (distance < stream.reserved) {
      return {stream.address, stream.reserved};
    }
  }
  return {};
}

// Fresh pages are zero. In a place that was used before, rows must be new again: they may have another length. Texts
// keep their places, and numbers are whatever was there.
void row_pool::fill(int64_t start, int64_t count, bool again) {
  for (size_t s = 0; s < nstreams_; s++) {
    const pool_stream &stream = streams_[s];
    char *address = stream.address + size_t(start) * stream.item;
    if (stream.fill != pool_fill::zeros && !(again && stream.fill == pool_fill::texts)) {
      fill_new(address, size_t(count) * stream.item, stream.fill);
    } else if (poisoning && again && stream.fill == pool_fill::zeros) {
      poison(address, size_t(count) * stream.item);
    }
  }
}

void fill_new(char *address, size_t bytes, pool_fill fill) {
  if (fill == pool_fill::zeros) {
    std::memset(address, 0, bytes);
    return;
  }
  for (size_t i = 0; i * sizeof(int64_t) < bytes; i++) {
    int64_t word = fill == pool_fill::indices || i % 2 == 0 ? -1 : 0;
    std::memcpy(address + i * sizeof(int64_t), &word, sizeof(int64_t));
  }
}

row_pool *as_pool(counted *owner) {
  return owner && owner->destroy == row_pool::destroy_pool ? static_cast<row_pool *>(owner) : nullptr;
}

} // namespace dynd
