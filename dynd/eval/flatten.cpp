// Rows that coincide are walked as one axis, the content's.
#include <algorithm>

#include "dynd/eval/task.h"

namespace dynd {

namespace {

// Whether the first `var` axis v and everything outside of it can be walked as one axis, the content's.
bool can_flatten(const task &t, int v) {
  if (!t.shape.slots[size_t(t.shape.slot_index[v])].run) {
    return false;
  }
  auto moves = [&](const lowered_stream &stream) {
    return std::any_of(stream.stride, stream.stride + v + 1, [](intptr_t step) { return step != 0; });
  };
  bool can = true;
  for (const lowered_operand &operand : t.lowered) {
    for (int d = 0; d < t.shape.ndim; d++) { // slots further inside move along too
      int slots = operand.slots[d];
      can &= slots < 0 || (d > v && (operand.has_rows[v] || !moves(t.streams[slots])));
    }
  }
  for (int p = 0; p < t.ports.size() && can; p++) {
    bool aligned = t.ports[p].operand >= 0 && t.lowered[t.ports[p].operand].has_rows[v]; // its slots were dropped
    can = aligned || !moves(t.port_stream(p));
  }
  return can;
}

// (N, var, ...) becomes (content, ...): axes 0 .. v are replaced by one.
void flatten_axis(task &t, int v) {
  space &shape = t.shape;
  int index = shape.slot_index[v];
  offsets_run run = shape.slots[size_t(index)].run;
  for (lowered_stream &stream : t.streams) {
    stream.address += run.first() * stream.stride[v];
  }
  for (int i = index + 1; i < shape.nvar; i++) {
    shape.slots[size_t(i)].address += run.first() * shape.slots[size_t(i)].stride[v];
  }
  drop_axes(t, v);
  for (lowered_operand &operand : t.lowered) {
    operand.has_rows[0] = false;
  }
  shape.size[0] = run.content();
  t.nreduced = t.one_row ? shape.ndim : t.nreduced;
}

int first_var(const space &shape) {
  for (int d = 0; d < shape.ndim; d++) {
    if (shape.is_var(d)) {
      return d;
    }
  }
  return -1;
}

} // namespace

void flatten_rows(task &t) {
  for (int v; (v = first_var(t.shape)) >= 0;) {
    bool is_reduced = v >= t.shape.ndim - t.row_axes() && !t.one_row;
    if (is_reduced || !can_flatten(t, v)) {
      return;
    }
    flatten_axis(t, v);
  }
}

namespace {

// Whether the last two axes are rows that follow each other, and every operand has both of them or neither.
bool can_join(const task &t) {
  int w = t.shape.ndim - 1, v = w - 1;
  auto follow = [&](int d) { return t.shape.is_var(d) && t.shape.slots[size_t(t.shape.slot_index[d])].run; };
  if (v < 0 || t.leaf || (t.row_axes() && !t.one_row) || !follow(v) || !follow(w)) {
    return false;
  }
  bool can = true;
  for (const lowered_operand &operand : t.lowered) {
    can &= operand.slots[v] < 0 && operand.slots[w] < 0;
  }
  for (int p = 0; p < t.ports.size() && can; p++) {
    const lowered_stream &stream = t.port_stream(p);
    const lowered_operand *own = t.ports[p].operand < 0 ? nullptr : &t.lowered[t.ports[p].operand];
    bool both = own && own->has_rows[v] && own->has_rows[w];
    can = both || (stream.stride[v] == 0 && stream.stride[w] == 0);
  }
  return can;
}

// Offsets of 64 bits take the place of slots, which are at the same rows; `from` are slots that have as many.
void set_offsets(space_slots &slots, ref<buffer> memory, const space_slots &from, int ndim) {
  intptr_t times = intptr_t(sizeof(int64_t)) / slot_size(from.kind);
  slots.address = memory->data + (from.address - from.run.address) * times;
  for (int d = 0; d < ndim; d++) {
    slots.stride[d] = from.stride[d] * times;
  }
  slots.run = {memory->data, slot_kind::offsets64, from.run.rows}; // `from` may be these slots
  slots.item = sizeof(int64_t);
  slots.kind = slot_kind::offsets64;
  slots.owner = ref<counted>::adopt(memory.take());
}

// The slots of rows 0 2 3 (outer) and 0 4 4 7 (inner) become 0 4 7, in the inner ones' place.
void join_slots(const space_slots &outer, space_slots &inner, int v) {
  ref<buffer> memory = allocate_buffer(size_t(outer.run.rows + 1) * sizeof(int64_t));
  auto *offsets = reinterpret_cast<int64_t *>(memory->data);
  for (intptr_t r = 0; r <= outer.run.rows; r++) {
    const char *at = inner.address + outer.run[r] * inner.stride[v];
    offsets[r] = offsets_run{at, inner.kind, 0}.first();
  }
  set_offsets(inner, std::move(memory), outer, v);
}

} // namespace

void join_rows(task &t) {
  while (can_join(t)) {
    space &shape = t.shape;
    int w = shape.ndim - 1, v = w - 1, index = shape.slot_index[v];
    join_slots(shape.slots[size_t(index)], shape.slots[size_t(shape.slot_index[w])], v);
    shape.slots.erase(shape.slots.begin() + index);
    shape.nvar--;
    for_each_axis_array(t, [&](auto *of_axis) { of_axis[v] = of_axis[w]; });
    shape.ndim--;
    for (int d = 0; d < shape.ndim; d++) {
      shape.slot_index[d] -= shape.is_var(d) && shape.slot_index[d] > index;
    }
    t.nreduced = t.one_row ? shape.ndim : t.nreduced;
  }
}

bool has_equal_rows(const space &shape) {
  return std::all_of(shape.slots.begin(), shape.slots.end(),
                     [](const space_slots &slots) { return slots.run && length_of_rows(slots.run) >= 0; });
}

bool move_scanned_axis(task &t) {
  bool ragged = false, moved[max_ndim] = {};
  for (int d = t.scanned + 1; d < t.shape.ndim; d++) {
    ragged |= t.shape.is_var(d);
  }
  if (ragged) {
    align(t);
    if (!make_rows_regular(t)) {
      return false;
    }
  }
  moved[t.scanned] = true;
  move_to_end(t, moved);
  return true;
}

bool make_rows_regular(task &t) {
  for (const lowered_operand &operand : t.lowered) {
    if (std::any_of(operand.slots, operand.slots + t.shape.ndim, [](int s) { return s >= 0; })) {
      return false;
    }
  }
  for (int v; (v = first_var(t.shape)) >= 0;) { // the axes outside have one size each
    offsets_run run = t.shape.slots[size_t(t.shape.slot_index[v])].run;
    int64_t length = length_of_rows(run);
    auto enter = [&](lowered_stream &stream) { enter_equal_rows(stream, run, v, length, t.shape); };
    for (int p = 0; p < t.ports.size(); p++) {
      int o = t.ports[p].operand;
      if (o >= 0 && t.lowered[o].has_rows[v]) {
        enter(t.port_stream(p));
      }
    }
    for (int d = v + 1; d < t.shape.ndim; d++) { // of the rows further inside only the number matters
      if (t.shape.is_var(d)) {
        enter(t.shape.slots[size_t(t.shape.slot_index[d])]);
      }
    }
    for (lowered_operand &operand : t.lowered) {
      operand.has_rows[v] = false;
    }
    t.shape.size[v] = length;
  }
  t.shape.nvar = 0;
  return true;
}

// Once for the evaluation: a small part of the work on the rows themselves, while reading narrow offsets row by row
// would cost a call each.
void widen_rows(task &t) {
  int last = t.shape.ndim - 1;
  if (last < 0 || !t.shape.is_var(last)) {
    return;
  }
  space_slots &slots = t.shape.slots[size_t(t.shape.slot_index[last])];
  if (slots.kind != slot_kind::offsets32 || !slots.run) {
    return;
  }
  ref<buffer> memory = allocate_buffer(size_t(slots.run.rows + 1) * sizeof(int64_t));
  widen(slots.run, reinterpret_cast<int64_t *>(memory->data));
  set_offsets(slots, std::move(memory), slots, last);
}

} // namespace dynd
