#include "dynd/array/rows.h"

#include <cstring>

namespace dynd {

offsets_run rows_of(const array_block &block, int s) {
  const stream &slots = block.streams()[s];
  if (slots.kind != slot_kind::offsets64) {
    return {};
  }
  // From the inside out, the slots have to chain: (2, 3) rows have strides (24, 8). Dimensions of size 1 may have any
  // stride. At the next `var` dimension outside, its content is what the slots run over.
  const intptr_t *stride = block.strides(s), *size = block.size();
  const char *address = slots.address;
  intptr_t chained = sizeof(int64_t), count = 1;
  for (int d = block.var_axis(s) - 1; d >= 0; d--) {
    if (size[d] < 0) {
      offsets_run outer = rows_of(block, s - 1);
      if (!outer.offsets || stride[d] != chained) {
        return {};
      }
      address += outer.offsets[0] * stride[d];
      count *= outer.content();
      break;
    }
    if (size[d] != 1 && stride[d] != chained) {
      return {};
    }
    chained *= size[d];
    count *= size[d];
  }
  return {reinterpret_cast<const int64_t *>(address), count};
}

namespace {

bool equal_differences(const int64_t *a, const int64_t *b, intptr_t rows) {
  int64_t shift = a[0] - b[0];
  if (shift == 0) {
    return std::memcmp(a, b, size_t(rows + 1) * sizeof(int64_t)) == 0;
  }
  for (intptr_t i = 0; i <= rows;) {
    intptr_t end = i + 1024 <= rows ? i + 1024 : rows + 1;
    int64_t different = 0;
    for (; i < end; i++) {
      different |= (a[i] - b[i]) ^ shift;
    }
    if (different) {
      return false;
    }
  }
  return true;
}

// The whole of a buffer that holds nothing but these offsets; only then the answer is a property of the buffer.
buffer *whole_buffer(const int64_t *offsets, counted *owner, intptr_t rows) {
  buffer *memory = as_buffer(owner);
  bool whole = memory && reinterpret_cast<const char *>(offsets) == memory->data &&
               memory->size == size_t(rows + 1) * sizeof(int64_t);
  return whole ? memory : nullptr;
}

uint64_t age_of(buffer *memory) {
  static std::atomic<uint64_t> last = 0;
  uint64_t age = memory->row_age.load(std::memory_order_relaxed);
  if (age == 0) {
    uint64_t next = last.fetch_add(1, std::memory_order_relaxed) + 1;
    age = memory->row_age.compare_exchange_strong(age, next, std::memory_order_relaxed) ? next : age;
  }
  return age;
}

buffer *representative(buffer *memory) {
  while (buffer *other = memory->same_rows.load(std::memory_order_acquire)) {
    memory = other;
  }
  return memory;
}

} // namespace

bool known_same_slots(const stream &a, const stream &b) {
  if (a.address == b.address && a.kind == b.kind) {
    return true;
  }
  buffer *first = as_buffer(a.owner), *second = as_buffer(b.owner);
  return a.kind == slot_kind::offsets64 && b.kind == a.kind && first && second && a.address == first->data &&
         b.address == second->data && first->size == second->size && representative(first) == representative(second) &&
         *reinterpret_cast<const int64_t *>(a.address) == *reinterpret_cast<const int64_t *>(b.address);
}

bool same_row_lengths(const offsets_run &run_a, counted *a_owner, const offsets_run &run_b, counted *b_owner) {
  intptr_t rows = run_a.rows;
  const int64_t *a = run_a.offsets, *b = run_b.offsets;
  if (rows != run_b.rows) {
    return false;
  }
  if (a == b) {
    return true;
  }
  buffer *first = whole_buffer(a, a_owner, rows), *second = whole_buffer(b, b_owner, rows);
  if (first && second && representative(first) == representative(second)) {
    return true;
  }
  if (!equal_differences(a, b, rows)) {
    return false;
  }
  if (first && second) {
    // Link the two chains at their ends. Links go from the younger to the older only: they cannot form a ring when two
    // threads link at once (a lost race costs a comparison later), and an array that is compared with ever new ones
    // does not keep them all alive.
    buffer *from = representative(first), *to = representative(second);
    if (age_of(from) < age_of(to)) {
      std::swap(from, to);
    }
    if (from != to) {
      retain(to);
      buffer *expected = nullptr;
      if (!from->same_rows.compare_exchange_strong(expected, to, std::memory_order_acq_rel)) {
        release(to);
      }
    }
  }
  return true;
}

} // namespace dynd
