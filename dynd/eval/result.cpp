// Arrays for results: in the layout of their operands, with the rows of the space.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/eval/space.h"

namespace dynd {

namespace {

ndt::type type_over(const space &shape, ndt::type type) {
  for (int d = shape.ndim - 1; d >= 0; d--) {
    type = ndt::make_dim(shape.kind(d), shape.size[d], type);
  }
  return type;
}

// The elements below the innermost `var` axis: [first, last).
struct value_extent {
  int64_t first, last;
};

value_extent extent_of(const space &shape) {
  intptr_t below = 1;
  bool overflow = false;
  for (int d = shape.ndim - 1; d >= 0; d--) {
    if (shape.is_var(d)) {
      const offsets_run &run = shape.slots[size_t(shape.slot_index[d])].run;
      value_extent extent = {0, 0};
      overflow |= __builtin_mul_overflow(run.first(), below, &extent.first);
      overflow |= __builtin_mul_overflow(run.last(), below, &extent.last);
      if (overflow) {
        fail(error_kind::memory,
             "array is too large: rows of " + std::to_string(run.content()) + " elements of " + std::to_string(below));
      }
      return extent;
    }
    overflow |= __builtin_mul_overflow(below, shape.size[d], &below);
  }
  return {0, checked_count(shape.size, shape.ndim, max_scalar_size)};
}

intptr_t checked_bytes(const value_extent &extent, intptr_t item) {
  intptr_t bytes, lead;
  if (__builtin_mul_overflow(extent.last - extent.first, item, &bytes) ||
      __builtin_mul_overflow(extent.first, item, &lead)) {
    fail(error_kind::memory, "array is too large: " + std::to_string(extent.last - extent.first) + " elements of " +
                                 std::to_string(item) + " bytes");
  }
  return bytes;
}

// `small`: memory in the block for all streams, each 16-byte aligned; null: they get buffers.
void place_values(array_block *result, const space &shape, char *small, bool zeros) {
  value_extent extent = extent_of(shape);
  const type_data *dtype = result->type->dtype;
  for (int s = 0; s < dtype->nstreams; s++) {
    stream &own = result->streams()[shape.nvar + s];
    if (own.address) {
      continue;
    }
    intptr_t item = intptr_t(stream_item(dtype, s)), bytes = checked_bytes(extent, item);
    char *memory = small;
    if (small) {
      small += (bytes + 15) / 16 * 16;
    } else {
      ref<buffer> own_memory = allocate_buffer(size_t(bytes));
      memory = own_memory->data;
      own.owner = own_memory.take();
    }
    if (zeros) {
      std::memset(memory, 0, size_t(bytes));
    }
    own.address = memory - extent.first * item;
  }
}

// The axes of an array by falling stride; those of size 1 stay where they are.
axis_order order_of(int ndim, const intptr_t *size, const intptr_t *stride) {
  axis_order order;
  for (int d = 0; d < ndim; d++) { // insertion sort
    int at = d;
    while (at > 0 && size[d] > 1 && std::abs(stride[order.axis[at - 1]]) < std::abs(stride[d])) {
      order.axis[at] = order.axis[at - 1];
      at--;
      order.c_order = false;
    }
    order.axis[at] = int8_t(d);
  }
  return order;
}

} // namespace

size_t element_count(const space &shape) {
  value_extent extent = extent_of(shape);
  return size_t(extent.last - extent.first);
}

size_t value_bytes(const space &shape, ndt::type dtype, size_t least) {
  size_t item = 0;
  for (int s = 0; s < dtype->nstreams; s++) {
    item += stream_item(dtype.get(), s);
  }
  return size_t(checked_bytes(extent_of(shape), intptr_t(std::max(item, least))));
}

axis_order order_like(int ndim, const intptr_t *size, std::span<array_block *const> operands) {
  axis_order order;
  bool ragged = std::any_of(size, size + ndim, [](intptr_t n) { return n < 0; });
  for (const array_block *block : operands) {
    if (ragged || block->ndim != ndim || !std::equal(size, size + ndim, block->size())) {
      continue;
    }
    if (block->flags & flag_dense) { // in C order
      return {};
    }
    const intptr_t *stride = block->value_strides(); // of several streams the last: only time depends on it
    bool stretched = false;                          // such an axis has no place in memory
    for (int d = 0; d < ndim; d++) {
      stretched |= stride[d] == 0 && size[d] > 1;
    }
    if (stretched) {
      continue;
    }
    axis_order own = order_of(ndim, size, stride);
    if (own.c_order || (!order.c_order && !std::equal(own.axis, own.axis + ndim, order.axis))) {
      return {};
    }
    order = own;
  }
  return order;
}

ref<array_block> new_lazy_result(const space &shape, ndt::type dtype, size_t extra, const axis_order &order) {
  ndt::type type = type_over(shape, dtype);
  bool dense = shape.nvar == 0 && order.c_order && dtype->kind == type_kind::scalar;
  ref<array_block> result =
      new_block(type.get(), access_mode::immutable, uint8_t(flag_ours | (dense ? flag_dense : 0)), extra);
  std::copy_n(shape.size, shape.ndim, result->size());
  int innermost = -1;
  for (int d = 0; d < shape.ndim; d++) {
    if (!shape.is_var(d)) {
      continue;
    }
    int i = shape.slot_index[d];
    const space_slots &slots = shape.slots[size_t(i)];
    stream &own = result->streams()[i];
    own = {slots.address, nullptr, slots.kind, slots.step};
    if (slots.owner) {
      retain(slots.owner.get());
      own.owner = slots.owner.get();
    }
    std::copy_n(slots.stride, shape.ndim, result->strides(i));
    innermost = d;
  }
  for (int s = 0; s < dtype->nstreams; s++) {
    intptr_t stride = intptr_t(stream_item(dtype.get(), s));
    for (int i = shape.ndim - 1; i >= 0; i--) {
      int d = order.c_order ? i : order.axis[i];
      result->strides(shape.nvar + s)[d] = d < innermost ? 0 : stride;
      stride = intptr_t(size_t(stride) * size_t(shape.is_var(d) ? 1 : shape.size[d]));
    }
  }
  if (shape.nvar == 0) {
    result->count = checked_count(shape.size, shape.ndim, stream_item(dtype.get(), dtype->nstreams - 1));
  }
  return result;
}

void allocate_values(array_block *result, const space &shape) { place_values(result, shape, nullptr, false); }

ref<array_block> new_result(const space &shape, ndt::type dtype, bool zeros, const axis_order &order) {
  size_t bytes = value_bytes(shape, dtype);
  bool small = bytes <= inline_limit;
  ref<array_block> result = new_lazy_result(shape, dtype, small ? bytes + 16 * dtype->nstreams : 0, order);
  place_values(result.get(), shape, small ? small_data(result.get()) : nullptr, zeros);
  return result;
}

} // namespace dynd
