// Memory for rows that are written one by one: the rows of a writable `var` array that have no memory yet, the texts of
// writable strings, the values behind pointers.
//
// All elements of one pool have one numbering over several streams (a row of structs has one place, and a stream for
// each field), and what is there never moves: views hold its addresses. So a pool reserves address space, not memory,
// which the system gives page by page as it is touched.
//
// What is replaced is used again, where no view can see it. Each place in a pool is shown by one slot only, the one
// that got it. Texts are found through their slots and nowhere else: views share the slots, not the place, and no lazy
// array reads memory that can be written. So the place of a replaced text is free at once. A row's place is also known
// to views of the row and to slots that were cut out of others; making one pins the pool, and from then on the places
// of replaced rows are left as they are. Elements in a place that is used again keep what they own (the places of their
// texts and rows), until they are assigned to. A place is also given back where a pointer becomes null, and where an
// assignment fails that had taken it.
//
//   | first places, of any size -->        ...       <-- places of 2^n elements, in lists by n once they are free |
//
// What has no place yet gets the next at the low end: of the size that it has, so that a pool which is written once has
// no gaps. What is replaced by something longer moves to the high end, where the size says how much room there is. The
// place that it had at the low end is lost: that is at most what was written at first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dynd/memory/buffer.h"

namespace dynd {

/// How new elements of a stream begin: as zeros, as {-1, 0} pairs (rows or texts without memory), as -1 (pointers to
/// nothing).
enum class pool_fill : uint8_t { zeros, texts, rows, indices };

/// One stream of the content.
struct pool_stream {
  size_t item; ///< bytes for each element
  pool_fill fill;
  char *address = nullptr; ///< set by the pool
  size_t reserved = 0;
};

void fill_new(char *address, size_t bytes, pool_fill fill);

class row_pool : public counted {
public:
  /// `below`: what holds the slots of these rows, kept alive with the pool.
  static ref<row_pool> make(std::span<pool_stream> streams, ref<counted> below);

  /// The number of the first of `count` new elements; -1 where the reserved space is used up. Any thread may call it.
  int64_t take(int64_t count);

  /// A place for `count` elements that replace those of a slot {start, size}; start -1: it had none. The same place
  /// where they fit. -1 where the reserved space is used up: the slot's elements are then as they were.
  int64_t replace(int64_t start, int64_t size, int64_t count);
  /// Elements that nothing shows any more: their place may be taken again. The places of their texts stay theirs.
  void give_back(int64_t start, int64_t count);
  /// A view shows rows of the pool otherwise than through their slots.
  void pin() { pinned_.store(true, std::memory_order_relaxed); }

  /// Elements that were taken, while none was replaced.
  int64_t used() const { return next_.load(std::memory_order_relaxed); }
  /// The memory of the stream that an address is in; empty where it is in none.
  std::span<const char> memory_around(const char *address) const;
  /// What holds the slots of the rows.
  counted *below() const { return below_.get(); }

private:
  row_pool() = default;
  ~row_pool();
  static void destroy_pool(counted *self) noexcept;
  friend row_pool *as_pool(counted *owner);

  int64_t take_high(int n); // a place of 2^n elements
  int64_t take_again(int64_t count);
  void fill(int64_t start, int64_t count, bool again = false);

  int64_t capacity_ = INT64_MAX;          // elements
  std::atomic<int64_t> next_{0}, top_{0}; // between them nothing is used
  std::atomic<bool> pinned_{false}, has_returned_{false};
  std::mutex mutex_; // guards what follows
  static constexpr int classes = 47;
  std::vector<int64_t> free_[classes];                // starts of places of 2^n elements
  std::vector<std::pair<int64_t, int64_t>> returned_; // start and count; the last is taken first
  size_t nstreams_ = 0;
  pool_stream *streams_ = nullptr;
  ref<counted> below_;
};

/// Gives reservations that are kept for the next pools back to the system.
void trim_pools();

/// The owner as a pool, null when it is something else.
row_pool *as_pool(counted *owner);
/// Before the starts of rows are used for a view: their places stay as they are, where they are in a pool.
inline void pin(counted *owner) {
  if (row_pool *pool = as_pool(owner)) {
    pool->pin();
  }
}

} // namespace dynd
