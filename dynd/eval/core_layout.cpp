#include "dynd/eval/core_layout.h"

#include <cstring>

#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/type/c_layout.h"

namespace dynd {

namespace {

bool has_order(const core_function &f, const array_block &block, int ncore, intptr_t item) {
  bool c_order = f.has(dynd_callable_c_layout), f_order = f.has(dynd_callable_f_layout);
  const intptr_t *stride = block.strides(block.type->var_count), *size = block.size();
  for (int i = 0; i < ncore && (c_order || f_order); i++) {
    int d = block.ndim - (c_order ? i + 1 : ncore - i);
    if (size[d] != 1 && stride[d] != item) {
      return false;
    }
    item *= size[d] < 0 ? 1 : size[d];
  }
  return true;
}

} // namespace

bool is_usable(const core_function &f, const core_operand &own, const array_block &block) {
  int first = block.type->var_count;
  c_layout layout = c_layout_of(own.dtype.get());
  const stream *streams = block.streams();
  uintptr_t bits = 0; // of the alignment: what is not a multiple of it; above these: where fields are not as in C
  for (size_t s = 0; s < layout.offset.size(); s++) {
    bits |= uintptr_t(streams[first + int(s)].address - streams[first].address - layout.offset[s]) << 8;
    for (int d = 0; d < block.ndim; d++) {
      bits |= uintptr_t(block.strides(first + int(s))[d]) & uintptr_t(layout.alignment - 1);
      bits |= uintptr_t(block.strides(first + int(s))[d] != block.strides(first)[d]) << 8;
    }
  }
  bits |= reinterpret_cast<uintptr_t>(streams[first].address) & uintptr_t(layout.alignment - 1);
  return bits == 0 && has_order(f, block, int(own.sizes.size()), layout.size);
}

ref<array_block> new_core_result(const core_function &f, const core_operand &own, const space &whole) {
  axis_order order;
  int ncore = int(own.sizes.size()), nouter = whole.ndim - ncore;
  if ((f.has(dynd_callable_f_layout) || f.has(dynd_callable_f_results)) && ncore > 1 && whole.nvar == 0) {
    order.c_order = false;
    for (int d = 0; d < whole.ndim; d++) {
      order.axis[d] = int8_t(d < nouter ? d : whole.ndim - 1 - (d - nouter));
    }
  }
  if (own.dtype->kind == type_kind::scalar) {
    return new_result(whole, own.dtype, false, order);
  }
  ref<array_block> made = new_lazy_result(whole, own.dtype, 0, order);
  c_layout layout = c_layout_of(own.dtype.get());
  size_t count = element_count(whole), bytes;
  if (__builtin_mul_overflow(count, size_t(layout.size), &bytes)) {
    fail(error_kind::memory, std::string(f.kernel->name) + ": the result is too large");
  }
  ref<buffer> memory = allocate_buffer(bytes);
  std::memset(memory->data, 0, bytes);
  for (size_t s = 0; s < layout.offset.size(); s++) {
    int at = whole.nvar + int(s);
    intptr_t item = intptr_t(stream_item(own.dtype.get(), int(s)));
    retain(memory.get());
    made->streams()[at] = {memory->data + layout.offset[s], memory.get(), slot_kind::none};
    for (int d = 0; d < whole.ndim; d++) {
      made->strides(at)[d] = made->strides(at)[d] / item * layout.size;
    }
  }
  return made;
}

packed_operand packed_from(const core_function &f, int number, const core_stream &from, const kernel_operand &operand) {
  const core_operand &own = f.operands[size_t(number)];
  c_layout layout = c_layout_of(own.dtype.get());
  bool result = number < f.noutputs;
  packed_operand made{number,      from,      !result, result || own.inout, f.has(dynd_callable_f_layout),
                      layout.size, own.sizes, {}};
  int values = operand.part.stream + (from.slots >= 0);
  for (size_t s = 0; s < layout.offset.size(); s++) {
    packed_stream stream{int(stream_item(own.dtype.get(), int(s))), layout.offset[s], {}};
    for (size_t d = 0; d < own.sizes.size(); d++) {
      stream.stride.push_back(operand.stride(values + int(s), operand.part.dim + int(d)));
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

void dense_strides(const core_function &f, const core_operand &own, const intptr_t *size, intptr_t *stride) {
  intptr_t item = c_layout_of(own.dtype.get()).size;
  size_t ndim = own.sizes.size();
  for (size_t i = 0; i < ndim; i++) {
    size_t d = f.has(dynd_callable_f_layout) ? i : ndim - 1 - i;
    stride[d] = item;
    item *= std::max<intptr_t>(size[own.sizes[d]], 0);
  }
}

} // namespace dynd
