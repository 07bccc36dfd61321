// Programs that this thread knows: it has run them before, and kept their kernels. Of some thousand elements, putting a
// task together takes as long as computing it, and loops evaluate one expression again and again.
//
// Known are operations that cannot fail, over arrays of one size without gaps and single numbers, so few elements that
// they are one call: nothing else runs on this thread meanwhile. Their kernel depends on nothing but the operations,
// what each is computed of, and the types of the arrays, which are the key.
#pragma once

#include <span>

#include "dynd/eval/group.h"
#include "dynd/eval/tree.h"

namespace dynd {

class known_program {
public:
  /// What is claimed, and an operation above it, if any, with its operands and results. False where a kernel of it is
  /// not kept.
  bool describe(const claimed_group &claimed, const element_operation *last, std::span<array_block *const> operands,
                std::span<const ref<array_block>> results);
  /// Computes it by the kernel that this thread has; false where it has none.
  bool run();
  /// Keeps the kernel of the task that computes it.
  void keep(const ckernel_builder &kernel, const root_call &call) const;

private:
  static constexpr int max_claimed = 16, max_ends = 16; // outputs, and sources
  static constexpr int max_key = 2 + (max_claimed + 1) * (3 + max_operation_operands) + max_ends;
  friend struct kept_program;

  bool add_operation(op_id op, scalar_id computation, array_block *const *inputs, int ninputs);
  bool add_input(array_block *block);
  bool add_output(array_block *block);
  bool add_ends();
  int bind(char **stream, intptr_t *stride) const;

  const claimed_group *claimed_;
  intptr_t count_;
  array_block *output_[max_ends], *source_[max_ends];
  int noutputs_ = 0, nsources_ = 0, key_size_ = 0;
  uint8_t key_[max_key];
};

} // namespace dynd
