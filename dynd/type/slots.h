// Slots: where the rows of a `var` dimension are, one for each row.
#pragma once

#include <cstdint>

namespace dynd {

/// How a row says where it is: by offsets (start, next start) of 64 or 32 bits, or as an int64 {start, size} pair.
enum class slot_kind : uint32_t { none = 0, offsets64 = 1, pairs64 = 2, offsets32 = 3 };

struct row_extent {
  int64_t start, size;
};

inline row_extent read_slot(const char *slot, slot_kind kind) {
  if (kind == slot_kind::offsets32) {
    const int32_t *offsets = reinterpret_cast<const int32_t *>(slot);
    return {offsets[0], int64_t(offsets[1]) - offsets[0]};
  }
  const int64_t *words = reinterpret_cast<const int64_t *>(slot);
  return kind == slot_kind::offsets64 ? row_extent{words[0], words[1] - words[0]} : row_extent{words[0], words[1]};
}

/// Bytes from one slot to the next where they follow each other.
inline intptr_t slot_size(slot_kind kind) {
  return kind == slot_kind::offsets32   ? intptr_t(sizeof(int32_t))
         : kind == slot_kind::offsets64 ? intptr_t(sizeof(int64_t))
                                        : intptr_t(sizeof(row_extent));
}

} // namespace dynd
