// Buffers: the memory that array data lives in.
//
// The library's own buffers are 64-byte aligned and recycled: a fresh 128 MB result costs 56 ms in page faults where
// the addition costs 10. What is kept is bounded in bytes and trimmed with time; large ones ask for huge pages. A
// buffer over memory of another owner (NumPy, the caller) has the function that gives it back. Recycling is off under
// sanitizers, so that it hides no bug.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dynd/base/counted.h"

namespace dynd {

/// Whether memory is kept for reuse: not under a sanitizer, where that would hide bugs.
#if defined(DYND_SANITIZE)
inline constexpr bool recycling = false;
#else
inline constexpr bool recycling = true;
#endif

/// Whether memory that promises nothing is handed out full of a pattern (DYND_POISON=1, for tests), so that whoever
/// reads what was never written, or what was given back, is seen. 0xA5: neither a zero nor a bool, and a negative size.
extern const bool poisoning;
void poison(void *memory, size_t bytes);

struct buffer : counted {
  char *data;
  size_t size;
  /// For offsets of rows: another buffer of offsets with equal differences, found once and remembered (see
  /// array/rows.h). Owned.
  std::atomic<buffer *> same_rows;
  /// Rising in the order in which buffers of offsets were first compared; 0 before that.
  std::atomic<uint64_t> row_age;
  /// How memory of another owner is given back; null: it is the library's own.
  void (*give_back)(void *context);
  void *context;
};

/// Memory of at least `size` bytes (0 is fine), 64-byte aligned, not zeroed.
ref<buffer> allocate_buffer(size_t size);

/// Memory of another owner; `give_back(context)` is called when the last reference is gone.
ref<buffer> adopt_memory(void *data, size_t size, void (*give_back)(void *context), void *context);

/// The owner as a buffer, null when it is something else (an array that holds small data).
buffer *as_buffer(counted *owner);

/// Bytes that are kept for reuse now; trim_memory gives them back to the system.
size_t recycled_bytes();
void trim_memory();

} // namespace dynd
