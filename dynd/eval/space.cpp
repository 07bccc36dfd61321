#include "dynd/eval/space.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dynd/base/errors.h"

namespace dynd {

int space::var_axis(int i) const {
  for (int d = 0; d < ndim; d++) {
    if (size[d] < 0 && slot_index[d] == i) {
      return d;
    }
  }
  return -1;
}

std::string space_text(const array_block &block) {
  std::string text = "(";
  for (int d = 0; d < block.ndim; d++) {
    text += d ? ", " : "";
    text += block.size()[d] < 0 ? "var" : std::to_string(block.size()[d]);
  }
  return text + (block.ndim == 1 ? ",)" : ")");
}

bool same_space(const array_block &a, const array_block &b) {
  if (a.ndim != b.ndim || a.nstreams != b.nstreams ||
      !std::equal(a.size(), a.size() + a.ndim, b.size())) { // -1 for `var`
    return false;
  }
  for (int s = 0; s < a.type->var_count; s++) {
    if (!known_same_slots(a.streams()[s], b.streams()[s]) ||
        !std::equal(a.strides(s), a.strides(s) + a.ndim, b.strides(s))) {
      return false;
    }
  }
  return true;
}

// ---- lowering -----------------------------------------------------------------------------------------------------

void lower_operands(const space &shape, array_block *const *operands, int noperands, lowered &result,
                    bool with_values) {
  result.noperands = noperands;
  result.nstreams = 0;
  for (int o = 0; o < noperands; o++) {
    array_block *block = operands[o];
    int count = block->type->var_count + 1; // its slots, and the values (of elements that are no scalars: the first)
    if (result.nstreams + count > max_streams) {
      fail_too_many_streams();
    }
    lowered_operand &operand = result.operand[o];
    operand.block = block;
    operand.first = result.nstreams;
    operand.count = count;
    operand.aligned_axis = -1;
    int missing = shape.ndim - block->ndim, var = 0;
    for (int d = 0; d < shape.ndim; d++) {
      operand.has_rows[d] = d >= missing && block->size()[d - missing] < 0;
      operand.slots[d] = -1;
      if (operand.has_rows[d]) {
        operand.slots[d] = int8_t(operand.first + var);
        operand.kind[d] = block->streams()[var].kind;
        operand.step[d] = block->streams()[var++].step;
      }
    }
    for (int s = 0; s < count; s++) {
      lowered_stream &stream = result.stream[result.nstreams++];
      stream.address = with_values || s + 1 < count ? block->streams()[s].address : nullptr;
      for (int d = 0; d < shape.ndim; d++) {
        stream.stride[d] =
            d < missing ? 0 : broadcast_stride(block->size()[d - missing], block->strides(s)[d - missing]);
      }
    }
  }
}

namespace {

// ---- the type-level part: sizes -----------------------------------------------------------------------------------

type_kind kind_of_axis(const array_block &block, int axis) {
  const type_data *t = block.type;
  while (axis--) {
    t = t->element;
  }
  return t->kind;
}

[[noreturn]] void cannot_broadcast(const char *operation, array_block *const *operands, int noperands, int axis) {
  std::string text = std::string(operation) + ": cannot broadcast ";
  bool ragged = false, flat = false;
  for (int o = 0; o < noperands; o++) {
    text += (o == 0 ? "" : o == 1 ? " with " : ", ") + space_text(*operands[o]);
    ragged |= operands[o]->type->var_count > 0;
    flat |= operands[o]->ndim == 1 && operands[o]->type->var_count == 0;
  }
  text += " at axis " + std::to_string(axis);
  if (ragged && flat) {
    text += "; for one value a row use x[:, None], or keepdims=True in the reduction that made it";
  }
  fail(error_kind::broadcast, text);
}

void broadcast_sizes(const char *operation, array_block *const *operands, int noperands, space &result) {
  int ndim = 0;
  for (int o = 0; o < noperands; o++) {
    ndim = std::max(ndim, int(operands[o]->ndim));
  }
  result.ndim = ndim;
  result.nvar = 0;
  for (int d = 0; d < ndim; d++) {
    intptr_t size = 1;
    bool var = false, fixed = false, present = false;
    for (int o = 0; o < noperands; o++) {
      int axis = d - (ndim - operands[o]->ndim);
      if (axis < 0) {
        continue;
      }
      intptr_t own = operands[o]->size()[axis];
      if (own < 0) {
        var = true;
        continue;
      }
      bool own_fixed = kind_of_axis(*operands[o], axis) == type_kind::fixed_dim;
      if (own != 1) {
        if (size != 1 && size != own) {
          cannot_broadcast(operation, operands, noperands, d);
        }
        fixed = size == own ? fixed || own_fixed : own_fixed;
        size = own;
      } else if (size == 1) {
        fixed = present ? fixed || own_fixed : own_fixed;
      }
      present = true;
    }
    bool result_var = var && size == 1;
    result.size[d] = result_var ? -1 : size;
    result.fixed[d] = !result_var && fixed;
    if (result_var) {
      result.slot_index[d] = int8_t(result.nvar++);
    }
  }
  result.slots.resize(size_t(result.nvar));
}

// ---- rows ---------------------------------------------------------------------------------------------------------

// Can the result of axis `axis` use the rows of operand o as they are? Every dimension outside must be the operand's
// own (nothing stretches), `var` ones aligned.
bool spans_outside(const space &shape, const array_block &block, int axis) {
  if (block.ndim != shape.ndim) {
    return false;
  }
  for (int d = 0; d < axis; d++) {
    if (block.size()[d] != shape.size[d]) {
      return false;
    }
  }
  return true;
}

int slot_stream_at(const array_block &block, int axis) {
  int s = 0;
  for (int d = 0; d < axis; d++) {
    s += block.size()[d] < 0;
  }
  return s;
}

// Uses the rows of the operands where all that have rows at a `var` axis have the same; false where they do not, or
// where rows stretch.
bool share_slots(array_block *const *operands, int noperands, space &shape) {
  for (int d = 0; d < shape.ndim; d++) {
    offsets_run first_run;
    const array_block *first = nullptr;
    for (int o = 0; o < noperands; o++) {
      const array_block &block = *operands[o];
      int axis = d - (shape.ndim - block.ndim);
      if (axis < 0 || block.size()[axis] >= 0) {
        continue;
      }
      if (shape.size[d] >= 0 || !spans_outside(shape, block, d)) {
        return false; // rows against one size, or rows that stretch over an outer dimension
      }
      int s = slot_stream_at(block, d);
      if (!first) {
        first = &block;
        first_run = rows_of(block, s);
        if (!first_run) {
          return false; // not one after another: the result gets rows of its own
        }
        space_slots &slots = shape.slots[shape.slot_index[d]];
        slots.address = block.streams()[s].address;
        slots.owner = ref<counted>::share(block.streams()[s].owner ? block.streams()[s].owner
                                                                   : const_cast<array_block *>(&block));
        slots.kind = block.streams()[s].kind;
        slots.run = first_run;
        std::copy_n(block.strides(s), shape.ndim, slots.stride);
        // The rows outside may come from another operand, whose content begins elsewhere.
        for (int u = 0, t = 0; u < d; u++) {
          if (shape.size[u] < 0) {
            offsets_run own = rows_of(block, t++), shared = shape.slots[shape.slot_index[u]].run;
            slots.address += (own.first() - shared.first()) * slots.stride[u];
          }
        }
        continue;
      }
      const stream &a = first->streams()[s], &b = block.streams()[s];
      bool identical = a.address == b.address && a.kind == b.kind &&
                       std::equal(first->strides(s), first->strides(s) + shape.ndim, block.strides(s));
      if (!identical) {
        offsets_run run = rows_of(block, s);
        if (!run || !same_row_lengths(first_run, a.owner, run, b.owner)) {
          return false;
        }
      }
    }
  }
  return true;
}

// Walks all rows of all operands together: compares their lengths, and makes the slots of the result's `var` axes.
class row_measure {
public:
  row_measure(const char *operation, array_block *const *operands, int noperands, const space &shape, bool to_shape)
      : operation_(operation), operands_(operands), shape_(shape), to_shape_(to_shape) {
    lower_operands(shape, operands, noperands, streams_, false);
    for (int d = 0; d < shape.ndim; d++) {
      bool rows = shape.size[d] < 0;
      for (int o = 0; o < noperands; o++) {
        rows |= streams_.operand[o].has_rows[d];
      }
      last_ = rows ? d : last_;
    }
    if (!to_shape) {
      offsets_.resize(size_t(shape.nvar), {0});
    }
  }

  void run() {
    char *at[max_streams];
    for (int s = 0; s < streams_.nstreams; s++) {
      at[s] = streams_.stream[s].address;
    }
    char *shape_at[max_ndim];
    for (int i = 0; i < shape_.nvar && to_shape_; i++) {
      shape_at[i] = shape_.slots[i].address;
    }
    visit(0, at, shape_at);
  }

  /// Of the result's `var` axes, outermost first.
  const std::vector<std::vector<int64_t>> &offsets() const { return offsets_; }

private:
  void visit(int d, char *const *at, char *const *shape_at) {
    if (d > last_) {
      return;
    }
    intptr_t length = shape_.size[d];
    int64_t start[max_streams], size[max_streams];
    for (int o = 0; o < streams_.noperands; o++) {
      const lowered_operand &operand = streams_.operand[o];
      size[o] = -1;
      if (operand.slots[d] >= 0) {
        row_extent row = read_slot(at[operand.slots[d]], operand.kind[d]);
        start[o] = row.start;
        size[o] = row.size;
      }
    }
    row_extent own = {0, 0};
    if (length < 0) {
      if (to_shape_) {
        int i = shape_.slot_index[d];
        own = read_slot(shape_at[i], shape_.slots[i].kind);
        length = own.size;
      } else {
        length = 1;
        for (int o = 0; o < streams_.noperands; o++) {
          length = size[o] >= 0 && size[o] != 1 && length == 1 ? size[o] : length;
        }
        std::vector<int64_t> &offsets = offsets_[size_t(shape_.slot_index[d])];
        offsets.push_back(offsets.back() + length);
      }
    }
    for (int o = 0; o < streams_.noperands; o++) {
      int64_t own = size[o] >= 0 ? size[o] : strided_size(o, d);
      if (own != 1 && own != length) {
        fail_row(d, size, length);
      }
    }
    if (d == last_) {
      return;
    }
    char *inner[max_streams], *inner_shape[max_ndim];
    intptr_t step[max_streams];
    for (int o = 0; o < streams_.noperands; o++) {
      const lowered_operand &operand = streams_.operand[o];
      int values = operand.first + operand.count - 1;
      inner[values] = nullptr;
      step[values] = 0;
      for (int s = operand.first; s < values; s++) {
        inner[s] = at[s];
        step[s] = streams_.stream[s].stride[d];
        // Only the streams below the slots move to the row.
        if (size[o] >= 0 && s > operand.slots[d]) {
          inner[s] += start[o] * start_unit(step[s], operand.step[d]);
          step[s] = size[o] == length ? step[s] : 0;
        }
      }
    }
    for (int i = 0; i < shape_.nvar && to_shape_; i++) {
      inner_shape[i] = shape_at[i];
      if (shape_.size[d] < 0 && i > shape_.slot_index[d]) {
        inner_shape[i] += own.start * start_unit(shape_.slots[i].stride[d], shape_.slots[shape_.slot_index[d]].step);
      }
    }
    for (intptr_t i = 0; i < length; i++) {
      path_[d] = i;
      visit(d + 1, inner, inner_shape);
      for (int s = 0; s < streams_.nstreams; s++) {
        inner[s] += step[s];
      }
      for (int j = 0; j < shape_.nvar && to_shape_; j++) {
        inner_shape[j] += shape_.slots[j].stride[d];
      }
    }
  }

  // The size of a dimension that is the same in all rows; 1 where there is none or it has rows.
  int64_t strided_size(int o, int d) const {
    int axis = d - (shape_.ndim - operands_[o]->ndim);
    return axis < 0 || operands_[o]->size()[axis] < 0 ? 1 : operands_[o]->size()[axis];
  }

  [[noreturn]] void fail_row(int d, const int64_t *size, int64_t length) {
    std::string text = std::string(operation_) + ": cannot broadcast ";
    if (d == 0) {
      text += "the rows";
    } else {
      text += "row ";
      for (int i = 0; i < d; i++) {
        text += (i ? ", " : d > 1 ? "(" : "") + std::to_string(path_[i]);
      }
      text += d > 1 ? ")" : "";
    }
    // The operands' lengths in their order, then the destination's.
    std::vector<int64_t> lengths;
    for (int o = 0; o < streams_.noperands; o++) {
      lengths.push_back(size[o] >= 0 ? size[o] : strided_size(o, d));
    }
    if (to_shape_) {
      lengths.push_back(length);
    }
    text += ": lengths ";
    for (size_t i = 0; i < lengths.size(); i++) {
      text += (i == 0 ? "" : i + 1 == lengths.size() ? " and " : ", ") + std::to_string(lengths[i]);
    }
    // (N) against (N, var): probably one value a row was meant.
    for (int o = 0; o < streams_.noperands; o++) {
      const array_block &block = *operands_[o];
      if (block.ndim == 1 && block.size()[0] == shape_.size[d] && shape_.size[d] >= 0) {
        text += "; for one value a row use x[:, None], or keepdims=True in the reduction that made it";
        break;
      }
    }
    fail(error_kind::broadcast, text);
  }

  const char *operation_;
  array_block *const *operands_;
  const space &shape_;
  bool to_shape_;
  lowered streams_;
  int last_ = -1;
  intptr_t path_[max_ndim];
  std::vector<std::vector<int64_t>> offsets_;
};

} // namespace

void make_slots(space &shape, const std::vector<std::vector<int64_t>> &row_offsets) {
  shape.slots.resize(size_t(shape.nvar));
  int outer = -1;
  for (int d = 0; d < shape.ndim; d++) {
    if (shape.size[d] >= 0) {
      continue;
    }
    const std::vector<int64_t> &offsets = row_offsets[size_t(shape.slot_index[d])];
    size_t bytes = offsets.size() * sizeof(int64_t);
    ref<buffer> memory = allocate_buffer(bytes);
    std::memcpy(memory->data, offsets.data(), bytes);
    space_slots &slots = shape.slots[shape.slot_index[d]];
    slots.address = memory->data;
    slots.kind = slot_kind::offsets64;
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

void broadcast_space(const char *operation, array_block *const *operands, int noperands, space &result) {
  broadcast_sizes(operation, operands, noperands, result);
  bool ragged = false;
  for (int o = 0; o < noperands; o++) {
    ragged |= operands[o]->type->var_count > 0;
  }
  if (ragged && !share_slots(operands, noperands, result)) {
    row_measure measure(operation, operands, noperands, result, false);
    measure.run();
    make_slots(result, measure.offsets());
  }
}

void space_of(array_block *block, space &result) {
  result.ndim = block->ndim;
  result.nvar = 0;
  result.slots.resize(block->type->var_count);
  for (int d = 0; d < block->ndim; d++) {
    result.size[d] = block->size()[d];
    result.fixed[d] = kind_of_axis(*block, d) == type_kind::fixed_dim;
    if (result.size[d] < 0) {
      int s = result.nvar;
      result.slot_index[d] = int8_t(result.nvar++);
      space_slots &slots = result.slots[s];
      slots.address = block->streams()[s].address;
      slots.owner = ref<counted>::share(block->streams()[s].owner ? block->streams()[s].owner : block);
      slots.kind = block->streams()[s].kind;
      slots.step = block->streams()[s].step;
      slots.run = rows_of(*block, s);
      std::copy_n(block->strides(s), block->ndim, slots.stride);
    }
  }
}

void check_broadcasts_to(const char *operation, array_block *const *operands, int noperands, const space &destination) {
  bool ragged = destination.nvar > 0;
  for (int o = 0; o < noperands; o++) {
    const array_block &block = *operands[o];
    bool fits = block.ndim <= destination.ndim;
    for (int d = 0; d < block.ndim && fits; d++) {
      intptr_t own = block.size()[d], size = destination.size[destination.ndim - block.ndim + d];
      fits = own < 0 || own == 1 || own == size || size < 0;
    }
    if (!fits) {
      std::string shape;
      for (int d = 0; d < destination.ndim; d++) {
        shape += (d ? ", " : "") + (destination.size[d] < 0 ? "var" : std::to_string(destination.size[d]));
      }
      fail(error_kind::broadcast, std::string(operation) + ": cannot broadcast " + space_text(block) + " to (" + shape +
                                      (destination.ndim == 1 ? ",)" : ")"));
    }
    ragged |= block.type->var_count > 0;
  }
  if (!ragged) {
    return;
  }
  bool shared = true; // the very same rows need no look at their lengths
  for (int o = 0; o < noperands && shared; o++) {
    const array_block &block = *operands[o];
    shared = block.ndim == 0 || (block.ndim == destination.ndim && block.type->var_count == destination.nvar &&
                                 std::equal(block.size(), block.size() + block.ndim, destination.size));
    for (int s = 0; s < block.type->var_count && shared; s++) {
      const stream &own = block.streams()[s];
      const space_slots &slots = destination.slots[size_t(s)];
      shared = own.address == slots.address && own.kind == slots.kind &&
               std::equal(block.strides(s), block.strides(s) + block.ndim, slots.stride);
    }
  }
  if (!shared) {
    row_measure(operation, operands, noperands, destination, true).run();
  }
}

void align_operands(const space &shape, lowered &operands) {
  for (int o = 0; o < operands.noperands; o++) {
    lowered_operand &operand = operands.operand[o];
    const array_block &block = *operand.block;
    if (block.ndim != shape.ndim || block.nstreams == 1) {
      continue;
    }
    int s = 0;
    for (int d = 0; d < shape.ndim; d++) {
      if (!operand.has_rows[d]) {
        if (block.size()[d] != shape.size[d]) {
          break; // stretches here: the rows below are not the result's
        }
        continue;
      }
      if (shape.size[d] >= 0) {
        break;
      }
      const space_slots &slots = shape.slots[shape.slot_index[d]];
      const stream &own = block.streams()[s];
      bool identical = own.address == slots.address && own.kind == slots.kind &&
                       std::equal(block.strides(s), block.strides(s) + shape.ndim, slots.stride);
      int64_t shift = 0;
      if (!identical) {
        offsets_run run = slots.run ? rows_of(block, s) : offsets_run();
        if (!run || !same_row_lengths(run, own.owner, slots.run, slots.owner.get())) {
          break;
        }
        shift = run.rows ? run.first() - slots.run.first() : 0;
      }
      // The result's row starts serve this operand too, shifted by where its own content begins.
      for (int t = s + 1; t < block.nstreams; t++) {
        lowered_stream &stream = operands.stream[operand.first + t];
        stream.address += shift * stream.stride[d];
      }
      operand.slots[d] = -1;
      operand.aligned_axis = int8_t(d);
      s++;
    }
  }
}

intptr_t space::count() const {
  intptr_t total = 1;
  for (int d = 0; d < ndim; d++) {
    if (size[d] >= 0) {
      total *= size[d];
    } else {
      const offsets_run &run = slots[slot_index[d]].run;
      if (!run) {
        return -1;
      }
      total = run.content();
    }
  }
  return total;
}

namespace {

const type_data *result_type(const space &shape, scalar_id scalar) {
  ndt::type type = ndt::make_scalar(scalar);
  for (int d = shape.ndim - 1; d >= 0; d--) {
    type = shape.size[d] < 0 ? ndt::make_var_dim(type)
           : shape.fixed[d]  ? ndt::make_fixed_dim(shape.size[d], type)
                             : ndt::make_strided_dim(type);
  }
  return type.get();
}

// The extent of the values below the innermost `var` axis: [first, last) in elements, and the axis (-1: none).
struct value_extent {
  int64_t first, last;
  int axis;
};

value_extent extent_of(const space &shape) {
  value_extent extent = {0, 1, -1};
  intptr_t below = 1;
  for (int d = shape.ndim - 1; d >= 0; d--) {
    if (shape.size[d] < 0) {
      const offsets_run &run = shape.slots[shape.slot_index[d]].run;
      return {run.first() * below, run.last() * below, d};
    }
    below *= shape.size[d];
  }
  extent.last = below;
  return extent;
}

} // namespace

size_t value_bytes(const space &shape, scalar_id scalar) {
  size_t item = scalar_size[size_t(scalar)];
  if (shape.nvar == 0) {
    return size_t(checked_count(shape.size, shape.ndim, item)) * item;
  }
  value_extent extent = extent_of(shape);
  return size_t(extent.last - extent.first) * item;
}

axis_order order_like(const space &shape, array_block *const *operands, int noperands) {
  axis_order order;
  bool found = false;
  for (int o = 0; o < noperands; o++) {
    const array_block &block = *operands[o];
    if (block.ndim != shape.ndim || shape.nvar > 0 || !std::equal(shape.size, shape.size + shape.ndim, block.size())) {
      continue;
    }
    int8_t axis[max_ndim];
    const intptr_t *stride = block.value_strides();
    bool c_order = true;
    for (int d = 0; d < shape.ndim; d++) { // insertion sort by falling stride, axes of size 1 stay
      int at = d;
      while (at > 0 && shape.size[d] > 1 && std::abs(stride[axis[at - 1]]) < std::abs(stride[d])) {
        axis[at] = axis[at - 1];
        at--;
        c_order = false;
      }
      axis[at] = int8_t(d);
    }
    if (c_order || (found && !std::equal(axis, axis + shape.ndim, order.axis))) {
      return {};
    }
    found = true;
    order.c_order = false;
    std::copy_n(axis, shape.ndim, order.axis);
  }
  return order;
}

ref<array_block> new_result(const space &shape, scalar_id scalar, size_t extra, const axis_order &order) {
  const type_data *type = result_type(shape, scalar);
  bool dense = shape.nvar == 0 && order.c_order;
  ref<array_block> result =
      new_block(type, access_mode::immutable, uint8_t(flag_ours | (dense ? flag_dense : 0)), extra);
  std::copy_n(shape.size, shape.ndim, result->size());
  int innermost = -1;
  for (int i = 0; i < shape.nvar; i++) {
    const space_slots &slots = shape.slots[i];
    stream &own = result->streams()[i];
    own = {slots.address, nullptr, slots.kind, slots.step};
    if (slots.owner) {
      retain(slots.owner.get());
      own.owner = slots.owner.get();
    }
    std::copy_n(slots.stride, shape.ndim, result->strides(i));
    innermost = std::max(innermost, shape.var_axis(i));
  }
  intptr_t stride = intptr_t(scalar_size[size_t(scalar)]);
  for (int i = shape.ndim - 1; i >= 0; i--) {
    int d = order.c_order ? i : order.axis[i];
    result->value_strides()[d] = d < innermost ? 0 : stride;
    stride = intptr_t(size_t(stride) * size_t(shape.size[d] < 0 ? 1 : shape.size[d]));
  }
  if (shape.nvar == 0) {
    result->count = checked_count(shape.size, shape.ndim, scalar_size[size_t(scalar)]);
  }
  return result;
}

void allocate_values(array_block *result, const space &shape) {
  size_t item = result->item_size();
  if (shape.nvar == 0) {
    give_values(result, size_t(result->count) * item);
    return;
  }
  value_extent extent = extent_of(shape);
  give_values(result, size_t(extent.last - extent.first) * item, -extent.first * intptr_t(item));
}

} // namespace dynd
