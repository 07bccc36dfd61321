// From a lowered task to a kernel and the one call that runs it.
//
// Planned: coinciding rows are flattened, strided dimensions ordered, coalesced and tiled, and the chain takes over the
// innermost. In order, for trace, for locating a failure, and where there are more streams than planning takes: one
// level for each dimension, in C order.
#pragma once

#include "dynd/eval/task.h"
#include "dynd/kernel/builder.h"

namespace dynd {

/// How the root kernel is called, and what can be said for cutting the call into pieces.
struct root_call {
  small_vector<char *, 16> stream;
  small_vector<intptr_t, 16> stride;
  intptr_t count = 0;
  intptr_t elements = 0;                ///< all the work
  bool flat = false;                    ///< along elements: cut at multiples of 64
  bool is_outer_axis = false;           ///< in order: along axis 0 of the space
  bool numbered = false;                ///< the last stream counts elements, and it alone moves with them
  intptr_t together = 0;                ///< elements that share lines of memory, or all of them: cut into no fewer
  bool columns = false;                 ///< along columns that are reduced side by side: cut as few times as possible
  bool panels = false;                  ///< along the rows of panels
  bool in_order = false;                ///< along the elements of one row, each of which needs those before it
  const int64_t *row_offsets = nullptr; ///< along rows of these: cut by content
};

struct tree_options {
  bool streaming = false;
  int together = 0; ///< in order: elements of one call of the leaf, until some fail; 0: all
  uint32_t prefetch_distance = 0;
  std::vector<explained_level> *explain = nullptr;
};

/// Consumes the task's lowered operands (flattening rewrites them). False where the task is one logical row, and its
/// operands are ragged in a way that cannot be walked as one: the task is then used up.
bool build_planned(ckernel_builder &out, task &t, const tree_options &options, root_call &call);

/// One level for each axis and the leaf. Observed: with a level around each that tells the frame's observer of every
/// single call, level 0 for the outermost. The streams of the call are the ports, then the operands' own slots, then
/// the space's.
void build_in_order(ckernel_builder &out, const task &t, bool observed, const tree_options &options, root_call &call);

/// Runs the kernel for the elements begin .. end of its call.
int call_root(const ckernel_builder &kernel, const root_call &call, intptr_t begin, intptr_t end, dynd_frame &frame);

} // namespace dynd
