// The levels of a kernel that walk one dimension each, all operands together.
//
// A level is called strided along the dimension outside of it and calls its child strided along its own. Each function
// here begins a level at `offset` and returns where its child has to be built, right behind it.
#pragma once

#include "dynd/kernel/builder.h"
#include "dynd/type/slots.h"

namespace dynd {

/// A dimension of one size: `stride` has a stride for each stream.
size_t begin_strided_dim(ckernel_builder &out, size_t offset, int nstreams, intptr_t size, const intptr_t *stride);

/// Rows of one operand, read from its slots.
struct var_slots {
  int stream; ///< of the slots
  slot_kind kind;
};

/// A dimension in which at least one operand has rows of its own length. Every row must have the row's length, or 1.
struct var_dim_spec {
  int nstreams;
  intptr_t size; ///< the length of every row, or -1: that of the rows of slots[0]
  int nslots;    ///< different rows to read
  const var_slots *slots;
  const int16_t *follows;         ///< for each stream: the index of the slots whose rows its elements are in, or -1
  const intptr_t *stride;         ///< for each stream, along this dimension
  const intptr_t *unit = nullptr; ///< for each stream: what the starts of the rows count in, bytes; null: the strides
};
size_t begin_var_dim(ckernel_builder &out, size_t offset, const var_dim_spec &spec);

/// Calls the level below for one element at a time and tells the frame's observer of every call. Where the frame has
/// none it finds the first element that fails: it calls the level for several elements `together`, and where these fail
/// for one after another.
size_t begin_observed(ckernel_builder &out, size_t offset, int nstreams, int level, int together = 1);

/// Moves the child's streams, where planning turned a dimension around.
size_t begin_shift(ckernel_builder &out, size_t offset, int nstreams, const intptr_t *by);

} // namespace dynd
