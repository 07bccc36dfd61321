#include "dynd/eval/group_task.h"

#include <optional>

#include "dynd/eval/run.h"

namespace dynd {

namespace {

// What an operand is compared as, where the type of the computation would round it.
scalar_id compared_as(scalar_id own, scalar_id other) {
  return is_floating(own)                                 ? scalar_id::float64
         : own == scalar_id::uint64 || is_floating(other) ? own
                                                          : scalar_id::int64;
}

struct mixed_comparison {
  scalar_id left, right;
  mixed_pair pair;
};

// uint64 with a signed integer, or a number that may have a fraction with 64 bits: compared, they are not rounded.
std::optional<mixed_comparison> mixed_comparison_of(const operation &r, scalar_id computation, scalar_id left,
                                                    scalar_id right) {
  if (!r.compares || !is_floating(computation)) {
    return std::nullopt;
  }
  scalar_id first = compared_as(left, right), second = compared_as(right, left);
  static constexpr mixed_comparison all[] = {
      {scalar_id::int64, scalar_id::uint64, mixed_pair::int64_uint64},
      {scalar_id::uint64, scalar_id::int64, mixed_pair::uint64_int64},
      {scalar_id::int64, scalar_id::float64, mixed_pair::int64_float64},
      {scalar_id::float64, scalar_id::int64, mixed_pair::float64_int64},
      {scalar_id::uint64, scalar_id::float64, mixed_pair::uint64_float64},
      {scalar_id::float64, scalar_id::uint64, mixed_pair::float64_uint64},
  };
  static_assert(std::size(all) == mixed_pair_count);
  for (const mixed_comparison &m : all) {
    if (m.left == first && m.right == second) {
      return m;
    }
  }
  return std::nullopt;
}

bool has_space_of(const array_block &node, const void *like) {
  return same_space(node, *static_cast<const array_block *>(like));
}

} // namespace

void group_task::claim(array_block *const *inputs, int ninputs, unsigned dying, const array_block &like, int noutputs) {
  bool any = false;
  for (int i = 0; i < ninputs; i++) {
    any |= inputs[i]->state.load(std::memory_order_acquire) != array_state::ready;
  }
  if (any) {
    claim_group({nullptr, inputs, ninputs, dying, noutputs, has_space_of, &like}, claimed_);
  }
}

bool group_task::claim_root(array_block *root) {
  return claim_group({root, nullptr, 0, 0, 0, has_space_of, root}, claimed_);
}

bool group_task::has_outputs() const {
  for (int i = 0; i < claimed_.count; i++) {
    if (claimed_.output[i]) {
      return true;
    }
  }
  return false;
}

uint8_t group_task::add_source(array_block *block) {
  for (int i = 0; i < claimed_.count; i++) {
    if (claimed_.node[i] == block) {
      return no_register;
    }
  }
  for (int i = 0; i < t.nsources; i++) {
    if (sources_[i] == block) {
      return uint8_t(i);
    }
  }
  sources_[t.nsources++] = block;
  return t.p.add_source(block->scalar());
}

void group_task::start_program(array_block *const *inputs, int ninputs) {
  for (int i = 0; i < claimed_.count; i++) {
    const waiting_op &op = *claimed_.node[i]->waiting;
    for (int j = 0; j < op.ninputs; j++) {
      add_source(op.input[j]);
    }
  }
  for (int i = 0; i < ninputs; i++) {
    add_source(inputs[i]);
  }
  for (int i = 0; i < claimed_.count; i++) {
    const waiting_op &op = *claimed_.node[i]->waiting;
    uint8_t operands[3];
    for (int j = 0; j < op.ninputs; j++) {
      operands[j] = register_of(op.input[j]);
    }
    add_operation(op.op, op.computation, operands, op.ninputs, &node_register_[i]);
  }
}

uint8_t group_task::register_of(const array_block *block) const {
  for (int i = 0; i < claimed_.count; i++) {
    if (claimed_.node[i] == block) {
      return node_register_[i];
    }
  }
  for (int i = 0; i < t.nsources; i++) {
    if (sources_[i] == block) {
      return uint8_t(i);
    }
  }
  return no_register;
}

void group_task::add_operation(op_id op, scalar_id computation, const uint8_t *operands, int count, uint8_t *results) {
  const operation &r = operation_of(op);
  const isa_table &functions = isa();
  block_fn function = functions.loop(op, computation);
  block_fn streaming = functions.stream_loop(op, computation);
  uint8_t regs[3] = {no_register, no_register, no_register};
  std::optional<mixed_comparison> mixed =
      count == 2 ? mixed_comparison_of(r, computation, t.p.type[operands[0]], t.p.type[operands[1]]) : std::nullopt;
  if (mixed) {
    regs[0] = t.p.converted(operands[0], mixed->left);
    regs[1] = t.p.converted(operands[1], mixed->right);
    function = functions.mixed_loop(op, mixed->pair);
    streaming = nullptr;
  } else {
    for (int i = 0; i < count; i++) {
      regs[i] = t.p.converted(operands[i], operand_type(op, i, computation));
    }
  }
  program_step step = {function, streaming, nullptr, r.name, regs[0], regs[1], regs[2], 0, no_register};
  results[0] = t.p.add_step(step, result_type(op, 0, computation));
  if (r.noutputs == 2) {
    results[1] = t.p.nregisters;
    t.p.type[t.p.nregisters++] = result_type(op, 1, computation);
    t.p.steps[t.p.nsteps - 1].dst2 = results[1];
  }
}

void group_task::add_output(uint8_t reg, array_block *result) {
  t.p.output[t.p.noutputs++] = reg;
  outputs_[t.noutputs++] = result;
}

void group_task::add_claimed_outputs() {
  for (int i = 0; i < claimed_.count; i++) {
    array_block *node = claimed_.node[i];
    if (claimed_.output[i]) {
      if (!node->values().owner) { // memory from an attempt that failed is used again
        allocate_values(node, t.shape);
      }
      add_output(node_register_[i], node);
    }
  }
}

void group_task::run() { run_task(t, outputs_, sources_); }

} // namespace dynd
