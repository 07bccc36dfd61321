// From an operation and the lazy operations below it to one task: its program, its sources and its outputs.
#pragma once

#include <vector>

#include "dynd/eval/group.h"
#include "dynd/eval/known.h"
#include "dynd/eval/task.h"
#include "dynd/kernel/external.h"

namespace dynd {

/// The registers of a number that may be missing.
struct value_registers {
  uint8_t value = no_register;
  uint8_t valid = no_register; ///< no_register: it is never missing
};

/// A task while it is put together and run. What it has claimed becomes lazy again if it is destroyed before finish().
class fused_task {
public:
  fused_task(const char *name, const settings &how) {
    t.name = name;
    t.how = how;
  }
  ~fused_task() { abandon_group(claimed_); }
  fused_task(const fused_task &) = delete;
  fused_task &operator=(const fused_task &) = delete;

  task t;

  /// Claims what is lazy below the inputs of an operation with `noutputs` results that has the space of `like`; with
  /// `rows` also functions of the space's rows.
  void claim(const space_operands &inputs, unsigned last_use, const array_block &like, int noutputs, bool rows = false);
  /// Claims `root`, a lazy array, and what is lazy below; false if it is ready by now.
  bool claim_root(array_block *root);

  /// Computes what is claimed, and an operation above it, if any, by a kernel that this thread knows; false where it
  /// has to be put together. Then run() may keep its kernel.
  bool run_known(const element_operation *last = nullptr, std::span<array_block *const> operands = {},
                 std::span<const ref<array_block>> results = {});

  /// Adds the steps of the claimed operations.
  void add_claimed();
  /// The registers of an array's elements: those that a claimed operation computes, else sources.
  value_registers registers_of(array_block *block);
  /// The registers of a part of an array's elements: a number that may be missing, or the validity of anything else.
  value_registers read(array_block *block, const type_part &part);
  /// The validity; of what is never missing, a register that is true.
  uint8_t valid_or_true(const value_registers &registers);
  /// A register that reads one stream of an array.
  uint8_t source(array_block *block, int stream, scalar_id scalar);
  /// A register that holds one value.
  uint8_t constant(scalar_id scalar, const void *value);
  /// True where both are; no_register is always true.
  uint8_t both(uint8_t a, uint8_t b);
  void add(const element_operation &operation, const value_registers *operands, int count, value_registers *results);

  /// The registers leave the program, to the elements of `result`.
  void add_output(const value_registers &registers, array_block *result);
  /// One register, to one stream of `result`.
  void add_output(uint8_t reg, array_block *result, int stream);
  /// The claimed arrays that have other owners become outputs too; they get memory.
  void add_claimed_outputs();
  /// A register that is reduced to one stream of `place`, of size 1 in the reduced axes. Comes after the outputs.
  void add_reduced(uint8_t reg, reduction_id reduction, bool empty_fails, array_block *place, int stream);

  /// Lowers the operands over the task's space; then it can run.
  void lower_operands();
  /// As run_task.
  bool run();
  /// Claimed outputs are ready.
  void finish() { finish_group(claimed_); }

private:
  struct bound_register { // a stream that a register of the program is read from or written to
    array_block *block;
    int stream;
  };

  uint8_t either(uint8_t a, uint8_t b);
  uint8_t all_valid(const value_registers *operands, int count);
  void add_propagating(op_id op, scalar_id computation, const value_registers *operands, int count,
                       value_registers *results);
  uint8_t kleene_valid(const operation &o, const value_registers &a, const value_registers &b);
  void add_select(op_id op, scalar_id computation, const value_registers *operands, value_registers *results);
  void add_external(const external_function &function, const value_registers *operands, int count,
                    value_registers *results);
  void add_joined(int node, const external_function &function, const value_registers *operands);
  int operand_of(array_block *block, int begin);

  claimed_group claimed_;
  known_program known_;
  value_registers node_registers_[max_group];
  small_vector<bound_register, 16> outputs_, sources_; // in the order of the program
  std::vector<ref<array_block>> constants_;
  std::vector<ref<external_function>> joined_;
};

} // namespace dynd
