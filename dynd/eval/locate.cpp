#include "dynd/eval/locate.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dynd/eval/frame.h"
#include "dynd/eval/tree.h"

namespace dynd {

namespace {

// Moves the streams to element `i` of the outermost axis, which has one size.
void move_to(task &t, intptr_t i) {
  for (lowered_stream &stream : t.streams) {
    stream.address += i * stream.stride[0];
  }
  for (space_slots &slots : t.shape.slots) {
    slots.address += i * slots.stride[0];
  }
}

// The outermost axis is a row, or some operand has one there: everything that is in rows moves to the row, and the axis
// has one size. Rows were compared before: each has the length, or one element.
void enter_row(task &t) {
  space &shape = t.shape;
  if (shape.is_var(0)) {
    const space_slots &own = shape.slots[size_t(shape.slot_index[0])];
    row_extent row = read_slot(own.address, own.kind);
    for (int d = 1; d < shape.ndim; d++) {
      if (shape.is_var(d)) {
        space_slots &below = shape.slots[size_t(shape.slot_index[d])];
        below.address += row.start * start_unit(below.stride[0], own.step);
      }
    }
    shape.size[0] = row.size;
  }
  for (int o = 0; o < t.operands.size(); o++) {
    lowered_operand &operand = t.lowered[o];
    int slots = operand.slots[0];
    if (slots < 0) {
      continue;
    }
    row_extent row = read_slot(t.streams[slots].address, operand.kind[0]);
    auto enter = [&](lowered_stream &stream) {
      stream.address += row.start * start_unit(stream.stride[0], operand.step[0]);
      stream.stride[0] = row.size == shape.size[0] ? stream.stride[0] : 0;
    };
    for (int d = 1; d < shape.ndim; d++) {
      if (operand.slots[d] >= 0) {
        enter(t.streams[operand.slots[d]]);
      }
    }
    for (int p = 0; p < t.ports.size(); p++) {
      if (t.ports[p].operand == o) {
        enter(t.port_stream(p));
      }
    }
    operand.slots[0] = -1;
    operand.has_rows[0] = false;
  }
}

// Does an element in the first `count` of the outermost axis fail?
bool fails_within(const task &t, intptr_t count) {
  task part = t;
  part.shape.size[0] = count;
  ckernel_builder kernel;
  root_call call;
  build_planned(kernel, part, {}, call);
  work_frame frame(kernel.scratch_size);
  return call_root(kernel, call, 0, call.count, frame) != dynd_ok;
}

// The index of the first failing element of the outermost axis; the streams are there then. -1: none fails.
intptr_t find_on_axis(task &t) {
  intptr_t first = 0, size = t.shape.size[0];
  while (t.flaky && first < size && !fails_within(t, 1)) {
    move_to(t, 1);
    first++;
  }
  if (first == size) {
    return -1;
  }
  while (!t.flaky && size > 1) {
    bool before = fails_within(t, size / 2);
    move_to(t, before ? 0 : size / 2);
    first += before ? 0 : size / 2;
    size = before ? size / 2 : size - size / 2;
  }
  return first;
}

} // namespace

first_failure locate_failure(task t) {
  for (space_slots &slots : t.shape.slots) {
    slots.run = {}; // of the whole, not of the parts
  }
  std::string where;
  int ndim = t.shape.ndim;
  while (t.shape.ndim > 0) {
    enter_row(t);
    intptr_t index = find_on_axis(t);
    if (index < 0) {
      return {};
    }
    where += (where.empty() ? "" : ", ") + std::to_string(index);
    drop_axes(t, 1); // the streams are at one element of it
  }
  ckernel_builder kernel;
  root_call call;
  build_in_order(kernel, t, false, {}, call);
  work_frame frame(kernel.scratch_size);
  first_failure found;
  found.status = call_root(kernel, call, 0, call.count, frame);
  found.text.assign(frame.text, strnlen(frame.text, sizeof(frame.text)));
  const std::string &path = frame.state.path;
  where += where.empty() && !path.empty() ? path.substr(2) : path;
  bool one = ndim == 1 ? path.empty() : ndim == 0 && path.find(", ", 2) == path.npos;
  found.where = where.empty() ? "" : "(" + where + (one ? ",)" : ")");
  return found;
}

} // namespace dynd
