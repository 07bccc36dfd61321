#include "dynd/eval/overlap.h"

#include <algorithm>

#include "dynd/array/layout.h"
#include "dynd/array/rows.h"
#include "dynd/plan/overlap.h"

namespace dynd {

namespace {

// ---- elements of one size each: the values themselves, rows looked at

// The bytes that the values from `axis` on may touch.
void add_touched(const array_block &x, int stream, int axis, char *const *at, byte_interval &all) {
  bool rows = false;
  for (int d = axis; d < x.ndim; d++) {
    rows |= x.is_var(d);
  }
  if (rows) {
    dimension_walk dimension(x, axis, at);
    char *inner[max_type_streams];
    for (int64_t i = 0; i < dimension.size(); i++) {
      dimension.enter(i, inner);
      add_touched(x, stream, axis + 1, inner, all);
    }
    return;
  }
  byte_interval own = touched_bytes(at[stream], {x.size() + axis, size_t(x.ndim - axis)}, x.strides(stream) + axis,
                                    intptr_t(max_scalar_size));
  if (x.has_scalars()) {
    own = touched_bytes(at[stream], {x.size() + axis, size_t(x.ndim - axis)}, x.strides(stream) + axis,
                        intptr_t(x.item_size()));
  }
  if (own.low != own.high) {
    all = all.low == all.high ? own : byte_interval{std::min(all.low, own.low), std::max(all.high, own.high)};
  }
}

byte_interval touched_by(const array_block &x, int stream) {
  char *at[max_type_streams];
  for (int s = 0; s < x.nstreams; s++) {
    at[s] = x.streams()[s].address;
  }
  byte_interval all = {0, 0};
  add_touched(x, stream, 0, at, all);
  return all;
}

bool has_content(const array_block &x) {
  const type_data *t = x.type->dtype;
  return std::any_of(t->roles, t->roles + t->nstreams, [](stream_role role) {
    return role == stream_role::rows || role == stream_role::texts || role == stream_role::index;
  });
}

// ---- elements with something inside: by owners, and by what does not depend on rows

byte_interval touched_outside_rows(const array_block &block, int s) {
  intptr_t size[max_type_streams];
  for (int d = 0; d < block.all_ndim; d++) {
    size[d] = std::max<intptr_t>(block.size()[d], 1);
  }
  return touched_bytes(block.streams()[s].address, {size, size_t(block.all_ndim)}, block.strides(s), 16);
}

bool may_share_content(const array_block &a, const array_block &b) {
  for (int s = 0; s < a.nstreams; s++) {
    for (int t = 0; t < b.nstreams; t++) {
      const counted *first = a.streams()[s].owner, *second = b.streams()[t].owner;
      if (first == second && (first || &a == &b)) {
        return true;
      }
      if (may_overlap(touched_outside_rows(a, s), touched_outside_rows(b, t))) {
        return true;
      }
    }
  }
  return false;
}

} // namespace

bool may_share_memory(const array_block &a, const array_block &b) {
  if (has_content(a) || has_content(b)) {
    return may_share_content(a, b);
  }
  for (int s = a.type->var_count; s < a.nstreams; s++) {
    for (int t = b.type->var_count; t < b.nstreams; t++) {
      if (may_overlap(touched_by(a, s), touched_by(b, t))) {
        return true;
      }
    }
  }
  return false;
}

} // namespace dynd
