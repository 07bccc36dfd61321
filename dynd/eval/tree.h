// From a program over lowered operands to a kernel and the one call that runs it.
//
// Planned: coinciding rows are flattened, strided dimensions ordered, coalesced and tiled, and the chain takes over the
// innermost. Unplanned, for trace and for finding the first bad element: one observed level for each dimension, in C
// order, and a chain that sees one element at a time.
#pragma once

#include <string>
#include <vector>

#include "dynd/eval/space.h"
#include "dynd/kernel/builder.h"
#include "dynd/kernel/chain.h"

namespace dynd {

/// What an evaluation computes: a program from sources to outputs. Operands are the outputs, then the sources.
struct task {
  const char *name = "";         ///< of the operation that asked, for messages
  const char *failure = nullptr; ///< what it says of an element on which it fails
  program p;
  space shape;             ///< with the reduced axis, which is then the last
  bool reduced = false;    ///< the program ends in a reduction over the last axis
  bool foreign = false;    ///< a stranger's kernel is among the steps
  bool one_thread = false; ///< it must be called on this thread only
  bool keep_lock = false;  ///< and holding the interpreter's lock, which the caller has
  /// What an assignment checks: its program is then one conversion of one source. nocheck for everything else.
  error_mode checks = error_mode::nocheck;
  int noutputs = 0, nsources = 0;
  lowered operands;
};

/// How the root kernel is called, and what can be said for cutting the call into pieces.
struct root_call {
  int nstreams = 0;
  char *stream[max_streams];
  intptr_t stride[max_streams];
  intptr_t count = 0;
  intptr_t elements = 0;                ///< all the work
  bool flat = false;                    ///< along elements: cut at multiples of 64
  const int64_t *row_offsets = nullptr; ///< along rows of these: cut by content
};

/// A line of explain: a level of the kernel.
struct explained_level {
  size_t offset, size;
  std::string text;
  int depth = -1; ///< below how many others; -1: below all before it
};

struct tree_options {
  bool streaming = false;
  uint32_t prefetch_distance = 0;
  std::vector<explained_level> *explain = nullptr;
};

/// Consumes the task's lowered operands (flattening rewrites them).
void build_planned(ckernel_builder &out, task &t, const tree_options &options, root_call &call);

/// One observed level for each axis and the leaf: level 0 is the outermost. The operands must not be aligned;
/// `operand_streams` tells where each operand's streams are among the call's.
void build_unplanned(ckernel_builder &out, const task &t, root_call &call,
                     std::vector<std::vector<int>> &operand_streams);

/// For a reduction over all axes: a call along all elements in C order that writes 64 bytes of lanes to its first
/// stream. False where the space is not one run of elements in C order; the task is then used up.
bool build_lanes(ckernel_builder &out, task &t, const tree_options &options, root_call &call);

} // namespace dynd
