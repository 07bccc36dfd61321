#include <algorithm>
#include <numeric>

#include "dynd/array/layout.h"
#include "dynd/eval/task.h"
#include "dynd/kernel/chain.h"
#include "dynd/memory/buffer.h"

namespace dynd {

namespace {

void add_stream(task &t, const space_operand &operand, int s) {
  const array_block &block = *operand.block;
  int missing = t.shape.ndim - operand.ndim;
  lowered_stream &stream = t.streams.add();
  stream.address = block.streams()[s].address;
  stream.item = intptr_t(stream_item(block, s));
  for (int d = 0; d < t.shape.ndim; d++) {
    stream.stride[d] = d < missing ? 0 : broadcast_stride(block.size()[d - missing], block.strides(s)[d - missing]);
  }
}

/// The streams of operand o that are below its rows at axis d: later slots, and the ports.
template <class F> void for_streams_below(task &t, int o, int d, F f) {
  for (int e = d + 1; e < t.shape.ndim; e++) {
    if (t.lowered[o].slots[e] >= 0) {
      f(t.streams[t.lowered[o].slots[e]]);
    }
  }
  for (int p = 0; p < t.ports.size(); p++) {
    if (t.ports[p].operand == o) {
      f(t.port_stream(p));
    }
  }
}

// Rows that all have the size of the shape's axis, which follow each other: the axis is one of the operand's then.
bool make_regular(task &t, int o, int d, const offsets_run &run) {
  intptr_t size = t.shape.size[d];
  if (!run || length_of_rows(run) != size ||
      std::any_of(t.shape.size, t.shape.size + d, [](intptr_t n) { return n < 0; })) {
    return false;
  }
  for_streams_below(t, o, d, [&](lowered_stream &stream) { enter_equal_rows(stream, run, d, size, t.shape); });
  t.lowered[o].has_rows[d] = false;
  t.lowered[o].slots[d] = -1;
  return true;
}

void align_operand(task &t, int o) {
  const space_operand &operand = t.operands[o];
  const array_block &block = *operand.block;
  if (operand.ndim != t.shape.ndim) {
    return;
  }
  for (int d = 0, s = 0; d < t.shape.ndim; d++) {
    if (!t.lowered[o].has_rows[d]) {
      if (block.size()[d] != t.shape.size[d]) {
        return; // stretches here: the rows below are not the result's
      }
      continue;
    }
    if (t.lowered[o].slots[d] < 0) { // dropped already
      s++;
      continue;
    }
    if (!t.shape.is_var(d)) {
      if (!make_regular(t, o, d, rows_of(block, s++))) {
        return;
      }
      continue;
    }
    const space_slots &slots = t.shape.slots[size_t(t.shape.slot_index[d])];
    const stream &own = block.streams()[s];
    // The address with the shifts of the rows outside: a[1:] and a[:-1] share the slots of the rows in their rows.
    bool identical = t.streams[t.lowered[o].slots[d]].address == slots.address && own.kind == slots.kind &&
                     std::equal(block.strides(s), block.strides(s) + t.shape.ndim, slots.stride);
    int64_t shift = 0;
    if (!identical) {
      offsets_run run = slots.run ? rows_of(block, s) : offsets_run();
      if (!run || !same_row_lengths(run, own.owner, slots.run, slots.owner.get())) {
        return;
      }
      shift = run.rows ? run.first() - slots.run.first() : 0;
    }
    // The result's row starts serve this operand too, shifted by where its own content begins.
    for_streams_below(t, o, d, [&](lowered_stream &stream) { stream.address += shift * stream.stride[d]; });
    t.lowered[o].slots[d] = -1;
    s++;
  }
}

} // namespace

void lower(task &t) {
  t.lowered.clear();
  t.streams.clear();
  t.stored_numbers = {};
  std::iota(t.axis_of, t.axis_of + t.shape.ndim, int8_t(0));
  for (const space_operand &operand : t.operands) {
    const array_block &block = *operand.block;
    lowered_operand &own = t.lowered.add();
    int missing = t.shape.ndim - operand.ndim, var = 0;
    for (int d = 0; d < t.shape.ndim; d++) {
      own.has_rows[d] = d >= missing && block.is_var(d - missing);
      own.slots[d] = -1;
      own.step[d] = 1;
      own.kind[d] = slot_kind::none;
      if (own.has_rows[d]) {
        own.slots[d] = int16_t(t.streams.size());
        own.kind[d] = block.streams()[var].kind;
        own.step[d] = block.streams()[var].step;
        add_stream(t, operand, var++);
      }
    }
  }
  t.first_port = t.streams.size();
  for (const task_port &port : t.ports) {
    if (port.operand >= 0) {
      add_stream(t, t.operands[port.operand], port.stream);
    } else {
      lowered_stream &stream = t.streams.add();
      stream = {port.fixed, 1, {}};
    }
  }
}

bool has_numbers(const task &t, int port) {
  int o = t.ports[port].operand;
  return o >= 0 && (t.operands[o].block->flags & flag_numbers) && !t.stored_numbers;
}

void store_numbers(task &t) {
  intptr_t count = 0;
  for (int p = 0; p < t.ports.size(); p++) {
    count = has_numbers(t, p) ? std::max(count, nd::count_elements(*t.operands[t.ports[p].operand].block)) : count;
  }
  if (count == 0) {
    return;
  }
  ref<buffer> memory = allocate_buffer(size_t(checked_count(&count, 1, sizeof(int64_t))) * sizeof(int64_t));
  auto *number = reinterpret_cast<int64_t *>(memory->data);
  std::iota(number, number + count, int64_t(0));
  for (int p = 0; p < t.ports.size(); p++) {
    if (has_numbers(t, p)) {
      lowered_stream &stream = t.port_stream(p);
      stream.address = memory->data + (stream.address - number_origin) * intptr_t(sizeof(int64_t));
      std::for_each_n(stream.stride, t.shape.ndim, [](intptr_t &step) { step *= intptr_t(sizeof(int64_t)); });
    }
  }
  t.stored_numbers = ref<counted>::adopt(memory.take());
}

void enter_equal_rows(lowered_stream &stream, const offsets_run &run, int axis, intptr_t length, const space &shape) {
  stream.address += run.first() * stream.stride[axis];
  intptr_t outer = length * stream.stride[axis];
  for (int d = axis - 1; d >= 0; d--) {
    stream.stride[d] = outer;
    outer *= shape.size[d];
  }
}

void align(task &t) {
  for (int o = 0; o < t.operands.size(); o++) {
    align_operand(t, o);
  }
}

void permute(task &t, const int *axes) {
  auto reorder = [&](auto *of_axis) {
    std::remove_reference_t<decltype(*of_axis)> before[max_ndim];
    std::copy_n(of_axis, t.shape.ndim, before);
    for (int k = 0; k < t.shape.ndim; k++) {
      of_axis[k] = before[axes[k]];
    }
  };
  for_each_axis_array(t, reorder);
}

void move_to_end(task &t, const bool *moved) {
  int order[max_ndim];
  std::iota(order, order + t.shape.ndim, 0);
  std::stable_partition(order, order + t.shape.ndim, [&](int d) { return !moved[d]; });
  if (!std::is_sorted(order, order + t.shape.ndim)) {
    permute(t, order);
  }
}

} // namespace dynd
