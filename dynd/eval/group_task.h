// From a claimed group to a task: its program, its sources and its outputs.
#pragma once

#include "dynd/eval/tree.h"
#include "dynd/expr/group.h"
#include "dynd/ops/operation.h"

namespace dynd {

/// A group while it is computed; what was claimed waits again if this is destroyed before finish().
class group_task {
  static_assert(max_group_streams <= max_operands && max_group_streams <= max_outputs, "an array has at least one");
  static_assert(max_group_streams <= max_streams);

public:
  group_task() = default;
  ~group_task() { abandon_group(claimed_); }
  group_task(const group_task &) = delete;
  group_task &operator=(const group_task &) = delete;

  task t;

  /// Claims what waits below the inputs of an operation with `noutputs` results, and has the space of `like`.
  void claim(array_block *const *inputs, int ninputs, unsigned dying, const array_block &like, int noutputs = 1);
  /// Claims `root`, a waiting array, and what waits below; false if it is ready by now.
  bool claim_root(array_block *root);

  /// Some waiting array of the group is wanted by others too.
  bool has_outputs() const;

  /// Registers for all sources (the inputs given here too), then the steps of the claimed operations.
  void start_program(array_block *const *inputs, int ninputs);
  /// The register that holds an input.
  uint8_t register_of(const array_block *block) const;
  /// Adds a step; `operands` are registers of any type.
  void add_operation(op_id op, scalar_id computation, const uint8_t *operands, int count, uint8_t *results);

  /// The program's register leaves it, to `result`.
  void add_output(uint8_t reg, array_block *result);
  /// So do the claimed arrays that are wanted; they get memory.
  void add_claimed_outputs();

  /// Runs it; claimed outputs are ready afterwards.
  void run();
  array_block *const *sources() const { return sources_; }
  void finish() { finish_group(claimed_); }
  /// What was claimed waits again.
  void give_up() { abandon_group(claimed_); }

private:
  uint8_t add_source(array_block *block);

  claimed_group claimed_;
  uint8_t node_register_[max_group];
  array_block *sources_[max_operands];
  array_block *outputs_[max_outputs];
};

} // namespace dynd
