#include "dynd/eval/space.h"

#include <algorithm>
#include <cstring>

#include "dynd/base/errors.h"

namespace dynd {

std::string space_text(const space_operand &operand) {
  std::string text = "(";
  for (int d = 0; d < operand.ndim; d++) {
    text += d ? ", " : "";
    text += operand.block->is_var(d) ? "var" : std::to_string(operand.block->size()[d]);
  }
  return text + (operand.ndim == 1 ? ",)" : ")");
}

void fail_of_nothing(const char *name, const std::string &why) {
  fail(error_kind::value, std::string(name) + ": " + why + ", and " + name + " of no elements is not defined");
}

bool same_space(const array_block &a, const array_block &b) {
  return a.ndim == b.ndim && known_same_rows(a, b, a.ndim);
}

intptr_t space::count() const {
  intptr_t total = 1;
  for (int d = 0; d < ndim; d++) {
    if (!is_var(d)) {
      total = __builtin_mul_overflow(total, size[d], &total) ? INTPTR_MAX : total; // what has so many is refused later
    } else {
      const offsets_run &run = slots[size_t(slot_index[d])].run;
      if (!run) {
        return -1;
      }
      total = run.content();
    }
  }
  return total;
}

space space::without(int axis) const {
  space outside = *this;
  outside.for_each_axis_array([&](auto *of_axis) { std::copy(of_axis + axis + 1, of_axis + ndim, of_axis + axis); });
  outside.ndim--;
  if (is_var(axis)) {
    int removed = slot_index[axis];
    outside.nvar--;
    outside.slots.erase(outside.slots.begin() + removed);
    for (int d = 0; d < outside.ndim; d++) {
      outside.slot_index[d] -= outside.is_var(d) && outside.slot_index[d] > removed;
    }
  }
  return outside;
}

namespace {

// ---- sizes --------------------------------------------------------------------------------------------------------

bool is_fixed(const array_block &block, int axis) {
  return part_at(block.type, axis).type->kind == type_kind::fixed_dim;
}

[[noreturn]] void cannot_broadcast(const char *operation, const space_operands &operands, int axis) {
  std::string text = std::string(operation) + ": cannot broadcast ";
  bool ragged = false, flat = false;
  for (int o = 0; o < operands.size(); o++) {
    text += (o == 0 ? "" : o == 1 ? " with " : ", ") + space_text(operands[o]);
    ragged |= operands[o].var_count() > 0;
    flat |= operands[o].ndim == 1 && operands[o].var_count() == 0;
  }
  text += " at axis " + std::to_string(axis);
  fail(error_kind::broadcast, text + (ragged && flat ? one_value_for_each_row_hint : ""));
}

// One axis of the result: right-justified, sizes of 1 stretch. Its size belongs to the type where it does for an
// operand.
void broadcast_axis(const char *operation, const space_operands &operands, int d, space &result) {
  auto axis_of = [&](const space_operand &operand) { return d - (result.ndim - operand.ndim); };
  intptr_t size = 1;
  bool var = false;
  for (const space_operand &operand : operands) {
    intptr_t own = axis_of(operand) < 0 ? 1 : operand.block->size()[axis_of(operand)];
    var |= own < 0;
    if (own < 0 || own == 1) {
      continue;
    }
    if (size != 1 && size != own) {
      cannot_broadcast(operation, operands, d);
    }
    size = own;
  }
  bool result_var = var && size == 1;
  result.size[d] = result_var ? -1 : size;
  result.fixed[d] = std::any_of(operands.begin(), operands.end(), [&](const space_operand &operand) {
    int axis = axis_of(operand);
    return axis >= 0 && operand.block->size()[axis] == result.size[d] && is_fixed(*operand.block, axis);
  });
  if (result_var) {
    result.slot_index[d] = int8_t(result.nvar++);
  }
}

// ---- rows ---------------------------------------------------------------------------------------------------------

// Can the result of axis `axis` use the rows of operand o as they are? Every dimension outside must be the operand's
// own (nothing stretches), `var` ones aligned.
bool spans_outside(const space &shape, const space_operand &operand, int axis) {
  if (operand.ndim != shape.ndim) {
    return false;
  }
  for (int d = 0; d < axis; d++) {
    if (operand.block->size()[d] != shape.size[d]) {
      return false;
    }
  }
  return true;
}

// The slots that are stream s of an array, over its first `ndim` dimensions.
void take_slots(space_slots &slots, array_block &block, int s, int ndim) {
  const stream &own = block.streams()[s];
  slots.address = own.address;
  slots.item = slot_size(own.kind);
  slots.owner = ref<counted>::share(own.owner ? own.owner : &block);
  slots.kind = own.kind;
  slots.step = own.step;
  slots.run = rows_of(block, s);
  std::copy_n(block.strides(s), ndim, slots.stride);
}

// Uses the rows of the operands where all that have rows at a `var` axis have the same; false where they do not, or
// where rows stretch.
bool share_slots(const space_operands &operands, space &shape) {
  for (int d = 0; d < shape.ndim; d++) {
    const array_block *first = nullptr;
    for (const space_operand &operand : operands) {
      array_block &block = *operand.block;
      int axis = d - (shape.ndim - operand.ndim);
      if (axis < 0 || !block.is_var(axis)) {
        continue;
      }
      if (!shape.is_var(d) || !spans_outside(shape, operand, d)) {
        return false; // rows against one size, or rows that stretch over an outer dimension
      }
      int s = block.slot_stream(d);
      if (!first) {
        first = &block;
        space_slots &slots = shape.slots[shape.slot_index[d]];
        take_slots(slots, block, s, shape.ndim);
        if (!slots.run) {
          return false; // not one after another: the result gets rows of its own
        }
        // The rows outside may come from another operand, whose content begins elsewhere.
        for (int u = 0, t = 0; u < d; u++) {
          if (shape.is_var(u)) {
            offsets_run own = rows_of(block, t++), shared = shape.slots[shape.slot_index[u]].run;
            slots.address += (own.first() - shared.first()) * slots.stride[u];
          }
        }
        continue;
      }
      offsets_run run = rows_of(block, s), first_run = shape.slots[shape.slot_index[d]].run;
      if (!run || !same_row_lengths(first_run, first->streams()[s].owner, run, block.streams()[s].owner)) {
        return false;
      }
    }
  }
  return true;
}

// The usual case: nothing stretches, and there are no rows.
bool are_alike(const space_operands &operands) {
  if (operands.empty()) {
    return false;
  }
  const array_block &first = *operands[0].block;
  bool alike = first.type->var_count == 0 && operands[0].ndim == first.ndim;
  for (int i = 1; i < operands.size() && alike; i++) {
    const array_block &own = *operands[i].block;
    alike = own.type == first.type && operands[i].ndim == first.ndim &&
            std::equal(own.size(), own.size() + own.ndim, first.size());
  }
  return alike;
}

} // namespace

void make_slots(space &shape, const std::vector<std::vector<int64_t>> &row_offsets) {
  shape.slots.resize(size_t(shape.nvar));
  int outer = -1;
  for (int d = 0; d < shape.ndim; d++) {
    if (!shape.is_var(d)) {
      continue;
    }
    const std::vector<int64_t> &offsets = row_offsets[size_t(shape.slot_index[d])];
    size_t bytes = offsets.size() * sizeof(int64_t);
    ref<buffer> memory = allocate_buffer(bytes);
    std::memcpy(memory->data, offsets.data(), bytes);
    space_slots &slots = shape.slots[shape.slot_index[d]];
    slots.address = memory->data;
    slots.item = sizeof(int64_t);
    slots.kind = slot_kind::offsets64;
    slots.step = 1;
    slots.run = {memory->data, slot_kind::offsets64, intptr_t(offsets.size()) - 1};
    slots.owner = ref<counted>::adopt(memory.take());
    intptr_t stride = sizeof(int64_t);
    for (int e = shape.ndim - 1; e >= 0; e--) {
      slots.stride[e] = e >= d || e < outer ? 0 : stride;
      stride *= e < d && e > outer ? shape.size[e] : 1;
    }
    outer = d;
  }
}

void broadcast_space(const char *operation, const space_operands &operands, space &result) {
  if (are_alike(operands)) {
    return space_of(operands[0], result);
  }
  result.ndim = result.nvar = 0;
  bool ragged = false;
  for (const space_operand &operand : operands) {
    result.ndim = std::max(result.ndim, operand.ndim);
    ragged |= operand.var_count() > 0;
  }
  for (int d = 0; d < result.ndim; d++) {
    broadcast_axis(operation, operands, d, result);
  }
  if (result.nvar == 0) {
    checked_count(result.size, result.ndim, 1); // a view that stretches needs no memory, but its elements are counted
  }
  result.slots.resize(size_t(result.nvar));
  if (ragged && !share_slots(operands, result)) {
    make_slots(result, measure_rows(operation, operands, result));
  }
}

void space_of(const space_operand &operand, space &result) {
  array_block *block = operand.block;
  result.ndim = operand.ndim;
  result.nvar = 0;
  result.slots.resize(size_t(operand.var_count()));
  for (int d = 0; d < operand.ndim; d++) {
    result.size[d] = block->size()[d];
    result.fixed[d] = is_fixed(*block, d);
    if (result.is_var(d)) {
      int s = result.nvar;
      result.slot_index[d] = int8_t(result.nvar++);
      take_slots(result.slots[size_t(s)], *block, s, operand.ndim);
    }
  }
}

} // namespace dynd
