// Memory for rows that are written one by one: the rows of a writable `var` array that have no memory yet, the texts of
// writable strings, the values behind pointers.
//
// All elements of one pool have one numbering over several streams (a row of structs has one place, and a stream for
// each field), and what is there never moves: views hold its addresses. So a pool reserves address space, not memory,
// which the system gives page by page as it is touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dynd/memory/buffer.h"

namespace dynd {

/// How new elements of a stream begin: as zeros, as {-1, 0} pairs (rows without memory), as -1 (pointers to nothing).
enum class pool_fill : uint8_t { zeros, pairs, indices };

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

  /// Elements that were taken.
  int64_t used() const { return next_.load(std::memory_order_relaxed); }
  /// What holds the slots of the rows.
  counted *below() const { return below_.get(); }

private:
  row_pool() = default;
  ~row_pool();
  static void destroy_pool(counted *self) noexcept;
  friend row_pool *as_pool(counted *owner);

  std::atomic<int64_t> next_{0};
  int64_t capacity_ = 0;
  size_t nstreams_ = 0;
  pool_stream *streams_ = nullptr;
  ref<counted> below_;
};

/// The owner as a pool, null when it is something else.
row_pool *as_pool(counted *owner);

} // namespace dynd
