// The levels of a kernel that walk one dimension each, all operands together.
//
// A level is called strided along the dimension outside of it and calls its child strided along its own. Each function
// here begins a level at `offset` and returns where its child has to be built, right behind it.
#pragma once

#include "dynd/kernel/builder.h"
#include "dynd/kernel/operand.h"

namespace dynd {

/// A dimension of one size: `stride` has a stride for each stream. `across`: its elements are independent, and too few
/// for a call of the child: that gets those of the call that are at one place of this dimension. `divides`: the child
/// gets long rows in parts, between which the evaluation may stop.
size_t begin_strided_dim(ckernel_builder &out, size_t offset, int nstreams, intptr_t size, const intptr_t *stride,
                         bool across = false, bool divides = false);

/// Rows of one operand, read from its slots.
struct var_slots {
  int stream; ///< of the slots
  slot_kind kind;
  intptr_t size = 0; ///< kind none: there are no slots, all rows have this size and begin where the streams are

  row_extent read(char *const *at) const {
    return kind == slot_kind::none ? row_extent{0, size} : read_slot(at[stream], kind);
  }
};

/// Of an operand that is at a dimension.
var_slots slots_of(const kernel_operand &dimension);
/// Of the streams inside of it, each at its place in the call: the strides along it, and where they are wanted the
/// units, in bytes, that the starts of its rows count in.
void find_content_strides(const kernel_operand &dimension, intptr_t *stride, intptr_t *unit = nullptr);

/// A dimension in which some operands have rows of their own. The rows of slots[0] decide its length; all others must
/// have that length, or 1.
struct var_dim_spec {
  int nstreams;
  int nslots; ///< different rows to read
  const var_slots *slots;
  const int16_t *follows; ///< for each stream: the index of the slots whose rows its elements are in, or -1
  const intptr_t *stride; ///< for each stream, along this dimension
  const intptr_t *unit;   ///< for each stream: what the starts of the rows count in, bytes
  /// An assignment: the stream that is the address of a row_pool. A row of slots[0] that has no memory gets as much as
  /// the row of slots[1] needs, and its slot is written after its elements.
  int pool = -1;
  bool exact = false; ///< no row stretches: one of slots[0] that has another length gets new memory, or it is an error
  bool divides = false; ///< as of a dimension of one size
};
size_t begin_var_dim(ckernel_builder &out, size_t offset, const var_dim_spec &spec);

/// Calls the level below for one element at a time and tells the frame's observer of every call. Where the frame has
/// none it finds the first element that fails: it calls the level for several elements `together`, and where these fail
/// for one after another.
size_t begin_observed(ckernel_builder &out, size_t offset, int nstreams, int level, int together = 1);

} // namespace dynd
