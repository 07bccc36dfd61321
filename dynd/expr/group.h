// Waiting arrays, and the groups in which they are computed.
//
// A waiting array holds the operation and its inputs. What is computed in one pass is collected and claimed whole under
// one lock: every waiting array below the root that has the root's space. Nobody waits while holding a claim: on
// meeting an array that somebody else is computing, or one that has to be computed first, the collector lets go and
// begins again. An array that others hold too becomes an extra output of the pass, so nothing is computed twice.
#pragma once

#include "dynd/array/array.h"

namespace dynd {

inline constexpr int max_group = 32;         // operations in one pass
inline constexpr int max_group_sources = 20; // arrays that one pass reads
inline constexpr int max_group_streams = 40; // of the arrays that one pass reads or writes, and of its space

/// Arrays that this thread is computing, inputs before what uses them.
struct claimed_group {
  int count = 0;
  array_block *node[max_group];
  bool output[max_group]; ///< somebody wants its values; the others are temporaries of the pass
};

/// Where to begin. `root` is a waiting array that is to be computed, or null: then the inputs are those of an operation
/// that runs now. An input marked in `dying` is held by nobody but the caller, who is about to drop it.
struct group_request {
  array_block *root = nullptr;
  array_block *const *inputs = nullptr;
  int ninputs = 0;
  unsigned dying = 0;
  int noutputs = 0; ///< of that operation
  /// Waiting inputs join the group if this says that they have its space.
  bool (*joins)(const array_block &node, const void *context) = nullptr;
  const void *context = nullptr;
};

/// Claims the group. Returns false if `root` is not waiting any more: its values are there.
bool claim_group(const group_request &request, claimed_group &group);

/// The values of the outputs are there (their streams are set): they become ready, what waited for them goes on, inputs
/// are let go of.
void finish_group(claimed_group &group);

/// Nothing was computed: everything waits again.
void abandon_group(claimed_group &group) noexcept;

} // namespace dynd
