#include "dynd/array/rows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "dynd/base/interpreter.h"

namespace dynd {

offsets_run rows_of(const array_block &block, int s) {
  const stream &slots = block.streams()[s];
  if (slots.kind == slot_kind::pairs64) {
    return {};
  }
  // From the inside out, the slots have to chain: (2, 3) rows have strides (24, 8). Dimensions of size 1 may have any
  // stride. At the next `var` dimension outside, its content is what the slots run over.
  const intptr_t *stride = block.strides(s), *size = block.size();
  const char *address = slots.address;
  intptr_t chained = slot_size(slots.kind), count = 1;
  for (int d = block.var_axis(s) - 1; d >= 0; d--) {
    if (block.is_var(d)) {
      offsets_run outer = rows_of(block, s - 1);
      if (!outer || stride[d] != chained) {
        return {};
      }
      address += outer.first() * stride[d];
      count *= outer.content();
      break;
    }
    if (size[d] != 1 && stride[d] != chained) {
      return {};
    }
    chained *= size[d];
    count *= size[d];
  }
  return {address, slots.kind, count};
}

bool has_many_places(const array_block &block, int ndim) {
  intptr_t places = 1;
  for (int d = 0; d < ndim; d++) {
    if (!block.is_var(d)) {
      places = __builtin_mul_overflow(places, block.size()[d], &places) ? INTPTR_MAX : places;
    } else if (offsets_run rows = rows_of(block, block.slot_stream(d))) {
      places = rows.content();
    } else {
      return places > 0;
    }
  }
  return places > unlocked_from;
}

offsets_run contiguous_rows(const array_block &block) {
  int last = block.ndim - 1;
  bool rows = block.has_scalars() && block.type->var_count == 1 && block.is_var(last) &&
              block.streams()[0].kind == slot_kind::offsets64 &&
              block.value_strides()[last] == intptr_t(block.item_size());
  return rows ? rows_of(block, 0) : offsets_run();
}

int64_t length_of_rows(const offsets_run &run) {
  int64_t length = run.rows ? run[1] - run[0] : 0;
  bool equal = true;
  for (intptr_t r = 1; r < run.rows && equal; r++) {
    equal = run[r + 1] - run[r] == length;
  }
  return equal ? length : -1;
}

void widen(const offsets_run &run, int64_t *to) {
  if (run.kind == slot_kind::offsets64) {
    std::memcpy(to, run.address, run.bytes());
    return;
  }
  const int32_t *from = reinterpret_cast<const int32_t *>(run.address);
  for (intptr_t i = 0; i <= run.rows; i++) {
    to[i] = from[i];
  }
}

namespace {

template <class A, class B> bool equal_differences(const A *a, const B *b, intptr_t rows) {
  int64_t shift = int64_t(a[0]) - int64_t(b[0]);
  if (std::is_same_v<A, B> && shift == 0) {
    return std::memcmp(a, b, size_t(rows + 1) * sizeof(A)) == 0;
  }
  for (intptr_t i = 0; i <= rows;) {
    intptr_t end = i + 1024 <= rows ? i + 1024 : rows + 1;
    int64_t different = 0;
    for (; i < end; i++) {
      different |= (int64_t(a[i]) - int64_t(b[i])) ^ shift;
    }
    if (different) {
      return false;
    }
  }
  return true;
}

// Calls f with the offsets as a pointer to what they are.
template <class F> bool with_offsets(const offsets_run &run, F f) {
  return run.kind == slot_kind::offsets32 ? f(reinterpret_cast<const int32_t *>(run.address))
                                          : f(reinterpret_cast<const int64_t *>(run.address));
}

bool equal_differences(const offsets_run &a, const offsets_run &b) {
  return with_offsets(
      a, [&](auto *x) { return with_offsets(b, [&](auto *y) { return equal_differences(x, y, a.rows); }); });
}

// The buffer, where it holds these offsets and nothing else: only then is the answer a property of the buffer.
buffer *whole_buffer(const offsets_run &run, counted *owner) {
  buffer *memory = as_buffer(owner);
  return memory && run.address == memory->data && memory->size == run.bytes() ? memory : nullptr;
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
  auto start = [](const stream &slots) { return read_slot(slots.address, slots.kind).start; };
  return a.kind != slot_kind::pairs64 && b.kind == a.kind && first && second && a.address == first->data &&
         b.address == second->data && first->size == second->size && representative(first) == representative(second) &&
         start(a) == start(b);
}

bool same_row_lengths(const offsets_run &a, counted *a_owner, const offsets_run &b, counted *b_owner) {
  if (a.rows != b.rows) {
    return false;
  }
  if (a.address == b.address) {
    return true;
  }
  buffer *first = whole_buffer(a, a_owner), *second = whole_buffer(b, b_owner);
  if (first && second && representative(first) == representative(second)) {
    return true;
  }
  if (!equal_differences(a, b)) {
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

namespace {

// `same` compares the slots of both that have that number.
template <class Same> bool same_dims(const array_block &a, const array_block &b, int ndim, Same same) {
  bool all = a.ndim >= ndim && b.ndim >= ndim && std::equal(a.size(), a.size() + ndim, b.size()); // -1 for `var`
  for (int d = 0, s = 0; d < ndim && all; d++) {
    all = !a.is_var(d) || same(s++);
  }
  return all;
}

} // namespace

bool same_rows(const array_block &a, const array_block &b, int ndim) {
  return same_dims(a, b, ndim, [&](int s) {
    offsets_run rows = rows_of(a, s), others = rows_of(b, s);
    return rows && others && same_row_lengths(rows, a.streams()[s].owner, others, b.streams()[s].owner);
  });
}

bool known_same_rows(const array_block &a, const array_block &b, int ndim) {
  return same_dims(a, b, ndim, [&](int s) {
    return known_same_slots(a.streams()[s], b.streams()[s]) &&
           std::equal(a.strides(s), a.strides(s) + ndim, b.strides(s));
  });
}

} // namespace dynd
