// The leaf of every evaluation: a chain runs a program over blocks of elements.
//
// Blocks are small (64 elements, 128 where whole rows are collected, 256 where they are ragged), so that temporaries
// stay in the L1 cache and all streams advance together: measured, that makes the interpreter equal to the hand-fused
// loop outside the cache and 1.2 times it inside; blocks of 1,000 cost 1.4 to 2 times. What is not contiguous is
// fetched into scratch first.
//
// A chain is called strided, along the loop outside of what it takes over:
//   flat        nothing: the call's own loop is the block's
//   small_rows  an inner loop shorter than 32 elements: whole rows make a block
//   panel       an inner loop along which some sources jump: 64 x 256 panels of them are transposed into scratch
//   row         nothing, but with a reduction: the call is one logical row, its result goes to the first element
//   columns     an axis that is reduced, along which the sources jump, while they are contiguous along the call: some
//               columns are reduced side by side
//   var_rows    the rows of a `var` dimension: whole rows make a block, operands without that dimension are repeated,
//               operands with other rows are gathered
// With a reduction at its end, a chain writes one value (flat: the lanes) for each logical row.
#pragma once

#include "dynd/kernel/builder.h"
#include "dynd/kernel/program.h"

namespace dynd {

inline constexpr int max_operands = 40; // outputs and sources of one group

enum class chain_kind : uint8_t { flat, small_rows, panel, var_rows, row, columns };

/// Where an operand's elements are, for the axis that the chain takes over.
struct chain_operand {
  uint16_t stream;      ///< index of its values among the call's streams
  uint16_t slot_stream; ///< var_rows: its own slots where its rows are not the result's
  slot_kind slots;      ///< none: its rows are the result's, or it has no such dimension
  bool fetched;         ///< panel: to be transposed
  intptr_t axis_stride; ///< along the axis that the chain takes over; 0 where it has none
  intptr_t start_unit;  ///< var_rows, with slots of its own: what the starts of its rows count in, bytes
};

struct chain_layout {
  chain_kind kind = chain_kind::flat;
  uint8_t noutputs = 0, nsources = 0;
  bool streaming = false;         ///< results leave the cache: use streaming stores
  uint32_t prefetch_distance = 0; ///< sources come from memory: fetch that many bytes ahead
  uint16_t shape_slots = 0;       ///< var_rows: the stream of the result's offsets (int64, following each other)
  intptr_t axis_size = 0;         ///< small_rows, panel: the size of the inner loop
  chain_operand outputs[max_outputs];
  chain_operand sources[max_operands];
};

/// Puts a chain at `offset`, request strided; returns the offset past it.
size_t make_chain(ckernel_builder &out, size_t offset, const program &p, const chain_layout &layout);

/// Lanes of blocks that are combined pairwise as they come (see ops/loops.h). A piece that stands for 2^k blocks may be
/// pushed whole, if it begins at a multiple of 2^k blocks.
class lane_stack {
public:
  explicit lane_stack(const reduce_functions &reduce) : reduce_(reduce) {}
  /// Where the next piece's lanes are to be written.
  void *top() { return lanes_[depth_]; }
  /// They are there, and stand for `blocks` blocks, a power of two (the last piece: any number).
  void push(size_t blocks);
  /// Combines what is left into `lanes`; at least one piece was pushed.
  void finish(void *lanes);

private:
  const reduce_functions &reduce_;
  int depth_ = 0;
  size_t weight_[64];
  alignas(64) char lanes_[64][64];
};

} // namespace dynd
