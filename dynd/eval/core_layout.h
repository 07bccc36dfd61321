// How core blocks are in memory: whether an array's are as a kernel wants them, and arrays for results that are.
#pragma once

#include "dynd/eval/space.h"
#include "dynd/kernel/core.h"

namespace dynd {

/// Whether the blocks of an operand can be used where they are: aligned, a struct's fields as in C, and in the order of
/// the flags.
bool is_usable(const core_function &f, const core_operand &own, const array_block &block);

/// An array for a result over that space, the last axes of which are its core dimensions. Of blocks in F order below or
/// with rows, the array is in C order: its blocks are not usable.
ref<array_block> new_core_result(const core_function &f, const core_operand &own, const space &whole);

/// How the blocks of an operand of the leaf are copied.
packed_operand packed_from(const core_function &f, int number, const core_stream &from, const kernel_operand &operand);

/// The layout of such a block, for the kernel: one stream without slots.
inline dynd_arrmeta core_arrmeta(int ndim, const intptr_t *size, const intptr_t *stride) {
  static constexpr uint32_t no_slots = dynd_slots_none;
  static constexpr int32_t one = 1;
  return {sizeof(dynd_arrmeta), DYND_ABI_VERSION, uint32_t(ndim), 1, size, stride, &no_slots, &one};
}

/// The strides of dense blocks with these sizes, in the order of the flags; 0 where they depend on one that is -1.
void dense_strides(const core_function &f, const core_operand &own, const intptr_t *size, intptr_t *stride);

} // namespace dynd
