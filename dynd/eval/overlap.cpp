#include "dynd/eval/overlap.h"

#include <algorithm>

#include "dynd/array/layout.h"
#include "dynd/memory/pool.h"
#include "dynd/plan/overlap.h"

namespace dynd {

namespace {

// What a stream may touch: below rows, texts and pointers anywhere in its owner's memory, else what its strides reach.
byte_interval touched_by(const array_block &block, int s) {
  const stream &own = block.streams()[s];
  intptr_t size[max_type_streams];
  bool below = block.type->roles[s] == stream_role::chars;
  for (int d = 0; d < block.all_ndim; d++) {
    bool content = block.size()[d] < 0 && block.strides(s)[d] != 0; // a `var` dimension's, or a pointer's
    below |= content;
    size[d] = block.size()[d] < 0 ? 1 : block.size()[d];
  }
  if (!below) {
    return touched_bytes(own.address, {size, size_t(block.all_ndim)}, block.strides(s),
                         intptr_t(stream_item(block, s)));
  }
  if (buffer *memory = as_buffer(own.owner)) {
    auto low = reinterpret_cast<uintptr_t>(memory->data);
    return {low, low + memory->size};
  }
  return as_pool(own.owner) ? byte_interval{0, 0} : byte_interval{0, UINTPTR_MAX}; // a pool has memory of its own
}

// Slots are written only where rows, texts or pointers get memory from a pool.
bool is_written(const array_block &block, int s) {
  stream_role role = block.type->roles[s];
  bool slots = role == stream_role::rows || role == stream_role::texts || role == stream_role::index;
  return !slots || as_pool(block.streams()[s].owner);
}

} // namespace

bool may_write_to(const array_block &dst, const array_block &src) {
  for (int s = 0; s < dst.nstreams; s++) {
    for (int t = 0; t < src.nstreams && is_written(dst, s); t++) {
      const counted *first = dst.streams()[s].owner, *second = src.streams()[t].owner;
      bool one_pool = first && first == second && as_pool(dst.streams()[s].owner);
      if (one_pool || may_overlap(touched_by(dst, s), touched_by(src, t))) {
        return true;
      }
    }
  }
  return false;
}

} // namespace dynd
