// Lazy arrays, and the groups in which they are computed.
//
// A lazy array holds the operation and its inputs. What is computed in one pass is collected and claimed whole under
// one lock: every lazy array below the root that has the root's space. No thread waits while holding a claim: on
// meeting an array that another thread is computing, or one that has to be computed first, the collector lets go and
// begins again. An array with other owners becomes an extra output of the pass, so nothing is computed twice
// (but for members of choices, which are lazy until they are asked for alone).
#pragma once

#include <pthread.h>

#include <vector>

#include "dynd/array/array.h"
#include "dynd/eval/settings.h"
#include "dynd/kernel/program.h"
#include "dynd/plan/nest.h"

namespace dynd {

// What one pass takes, so that its program and its call have room for it: operations, different arrays that it reads,
// streams of the arrays that it reads or writes and of its space, and registers.
inline constexpr int max_group = 32, max_group_sources = 20, max_group_streams = 48, max_group_registers = 200;
// A number that may be missing is two sources, outputs and registers. The operation that asks needs some of its own.
static_assert(2 * max_group <= max_outputs && 2 * max_group_sources < max_sources);
static_assert(max_group_registers < max_registers && max_group_streams < max_streams);
// Functions of rows in one pass: each adds at most two stages, with at most two folds.
inline constexpr int max_group_rows = 3;
static_assert(2 * max_group_rows < max_stages && 2 * max_group_rows <= max_reductions);

/// What a lazy array, or an operation that runs now, computes.
struct element_operation {
  op_id op = {};
  scalar_id computation = {};                  ///< of `op`
  const external_function *external = nullptr; ///< instead of `op`
};

/// Arrays that this thread is computing, inputs before what uses them.
struct claimed_group {
  int count = 0;
  array_block *node[max_group];
  bool output[max_group]; ///< it has another owner; without one it is a temporary of the pass
  // For a fork: the child has only the thread that forks, so what others have claimed is lazy again there.
  pthread_t thread;
  claimed_group *next; ///< in the list of all that are claimed
};

/// Where to begin. `root` is a lazy array that is to be computed, or null: then the inputs are those of an operation
/// that runs now. An input marked in `last_use` has no owner but the caller, which is about to drop it.
struct group_request {
  array_block *root = nullptr;
  array_block *const *inputs = nullptr;
  int ninputs = 0;
  unsigned last_use = 0;
  int noutputs = 0;        ///< of that operation
  const array_block &like; ///< lazy inputs join the group if they have its space
  bool rows = false;       ///< and functions of its rows, which make the program a staged one
};

/// Whether the result of what cannot fail may be lazy: it is large enough, nothing writes its inputs any more, and
/// what lazy arrays keep alive stays bounded. Elements count as float64 at least, so that a < b may be lazy too.
bool may_be_lazy(array_block *const *inputs, int ninputs, size_t bytes, const settings &how, size_t &held_by_inputs);
/// Makes the array lazy: it has room for the operation behind it, and no values yet. Retains the inputs and `external`.
void make_lazy(array_block *result, const lazy_operation &operation, array_block *const *inputs);

/// The inputs of a lazy array, kept alive; empty where its values are there, or are being computed.
std::vector<ref<array_block>> inputs_of(array_block *block, ref<counted> &external);

/// Claims the group. Returns false if `root` is not lazy any more: its values are there.
bool claim_group(const group_request &request, claimed_group &group);

/// The values of the outputs are there (their streams are set): they become ready, threads that wait for them go on,
/// inputs are released.
void finish_group(claimed_group &group);

/// Nothing was computed: everything is lazy again.
void abandon_group(claimed_group &group) noexcept;

} // namespace dynd
