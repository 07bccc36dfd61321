// The leaf of an evaluation over scalars: a chain runs a program over batches of elements.
//
// Batches are small, so that temporaries stay in the L1 cache and all streams advance together:
// measured, that makes the interpreter equal to the hand-fused loop outside the cache and 1.2 times it inside; batches
// of 1,000 cost 1.4 to 2 times. Of 8-byte numbers they have 64 elements of two or three steps that wait for memory, 128
// of more steps, and 512 of one step near the cache; of smaller numbers as many bytes (flat_strided); of ragged rows
// 256, or 1024 with an external kernel. What is not contiguous is fetched into scratch first.
//
// A chain is called strided, along the loop outside of what it takes over:
//   flat        nothing: the call's own loop is the batch's
//   small_rows  an inner loop shorter than 32 elements: whole rows make a batch
//   panel       an inner loop along which some sources jump: panels of them are transposed into scratch
//   row         nothing, but with a reduction: the call is one logical row, its result goes to the first element
//   columns     an axis that is reduced, along which the sources jump, while they are contiguous along the call: some
//               columns are reduced side by side
//   var_rows    the rows of a `var` dimension: whole rows make a batch, operands without that dimension are repeated,
//               operands with other rows are gathered
//   ordered     a nest of reduced loops, walked in its order as one logical row
// With a scan, rows are walked in their order: one, a part of one (flat), rows of one size (small_rows), columns,
// var_rows. With a reduction at its end a chain writes one value for each logical row. With `lanes` the call is a part
// of one logical row, and 64 bytes of lanes are written (ops/loops.h): flat along the call's stride; ordered and
// var_rows from the element on that the number stream counts.
#pragma once

#include <string>

#include "dynd/base/small_vector.h"
#include "dynd/kernel/builder.h"
#include "dynd/kernel/program.h"
#include "dynd/plan/nest.h"
#include "dynd/type/slots.h"

namespace dynd {

/// Columns that are reduced side by side, at most.
inline constexpr size_t columns_at_once = 2048;

enum class chain_kind : uint8_t { flat, small_rows, panel, var_rows, row, columns, ordered };

/// Where the elements of an output or source are, for the axis that the chain takes over.
struct chain_port {
  uint16_t stream = 0;               ///< index among the call's streams
  uint16_t slot_stream = 0;          ///< var_rows: its own slots where its rows are not the result's
  slot_kind slots = slot_kind::none; ///< none: its rows are the result's, or it has no such dimension
  bool fetched = false;              ///< panel: to be transposed
  bool constant = false;             ///< one value for all elements of a call
  bool numbers = false;              ///< the elements are their own numbers, int64, which the addresses count
  intptr_t axis_stride = 0;          ///< along the axis that the chain takes over; 0 where it has none
  intptr_t start_unit = 0;           ///< var_rows, with slots of its own: what the starts of its rows count in, bytes
};

struct chain_layout {
  chain_kind kind = chain_kind::flat;
  bool lanes = false;
  bool streaming = false;         ///< results leave the cache: use streaming stores
  uint32_t prefetch_distance = 0; ///< sources come from memory: fetch that many bytes ahead
  uint16_t shape_slots = 0;       ///< var_rows: the stream of the result's offsets (int64, following each other)
  uint16_t number_stream = 0;     ///< lanes of ordered and var_rows: its address counts elements, from number_origin
  intptr_t axis_size = 0; ///< small_rows, panel, columns, rows that are reduced or scanned: the size of the loop that
                          ///< the chain takes over; var_rows with lanes: the rows
  const nest *loops = nullptr;        ///< ordered: the reduced loops, strides of the call's streams
  small_vector<chain_port, 16> ports; ///< the program's outputs, then its sources
};

/// The address of element 0 in a number stream, and of an array of numbers (flag_numbers).
inline char *const number_origin = reinterpret_cast<char *>(uintptr_t(4096));

/// Puts a chain at `offset`, request strided; returns the offset past it.
size_t make_chain(ckernel_builder &out, size_t offset, const program &p, const chain_layout &layout);

/// Its walk and its steps, for explain.
std::string chain_text(const program &p, const chain_layout &layout);

/// Lanes of batches that are combined pairwise as they come (see ops/loops.h). A piece of 2^k blocks of the
/// summation may be pushed whole, if it begins at a multiple of 2^k blocks.
class lane_stack {
public:
  explicit lane_stack(const reduce_functions &reduce) : reduce_(reduce) {}
  /// Where the next piece's lanes are to be written.
  void *top() { return lanes_[depth_]; }
  /// The lanes at top() are those of `blocks` blocks, a power of two (the last piece: any number).
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
