#include "dynd/eval/fusion.h"

#include <algorithm>

#include "dynd/eval/direct.h"
#include "dynd/eval/row_functions.h"
#include "dynd/eval/run.h"
#include "dynd/ops/logic.h"

namespace dynd {

// ---- claiming -----------------------------------------------------------------------------------------------------

void fused_task::claim(const space_operands &inputs, unsigned last_use, const array_block &like, int noutputs,
                       bool rows) {
  small_vector<array_block *, 8> blocks;
  bool any = false;
  for (const space_operand &input : inputs) {
    blocks.push_back(input.block);
    any |= !input.block->is_ready();
  }
  if (any) {
    claim_group({nullptr, blocks.data(), blocks.size(), last_use, noutputs, like, rows}, claimed_);
  }
}

bool fused_task::claim_root(array_block *root) {
  // Another thread may compute it meanwhile and drop its input, which is not looked at then.
  const array_block *like = root->lazy->of_rows ? root->lazy->input[0] : root;
  return claim_group({root, nullptr, 0, 0, 0, *like, true}, claimed_);
}

bool fused_task::run_known(const element_operation *last, std::span<array_block *const> operands,
                           std::span<const ref<array_block>> results) {
  if (!may_be_direct(t.how) || !known_.describe(claimed_, last, operands, results)) {
    return false;
  }
  bool done = known_.run();
  t.known = done ? nullptr : &known_;
  return done;
}

void fused_task::add_claimed() {
  for (int i = 0; i < claimed_.count; i++) {
    const lazy_operation &op = *claimed_.node[i]->lazy;
    if (node_registers_[i].value != no_register) {
      continue; // an earlier one computes it too
    }
    if (op.of_rows) {
      const row_operation &function = static_cast<const lazy_row_operation *>(op.external)->what;
      node_registers_[i] = {add_row_function(*this, function, op.computation, registers_of(op.input[0])), no_register};
      t.nreduced = 1;
      continue;
    }
    value_registers operands[max_external_sources];
    for (int j = 0; j < op.ninputs; j++) {
      operands[j] = registers_of(op.input[j]);
    }
    auto *external = static_cast<const external_function *>(op.external);
    if (external && external->family) {
      add_joined(i, *external, operands);
    } else {
      add({op.op, op.computation, external}, operands, op.ninputs, &node_registers_[i]);
    }
  }
}

// A claimed external function of one output, and those after it that are computed of the same inputs and can be joined
// with it: one step.
void fused_task::add_joined(int node, const external_function &function, const value_registers *operands) {
  const lazy_operation &op = *claimed_.node[node]->lazy;
  const external_function *all = &function;
  int nodes[max_external_outputs] = {node}, count = 1;
  for (int i = node + 1; i < claimed_.count && count < max_external_outputs; i++) {
    const lazy_operation &other = *claimed_.node[i]->lazy;
    if (other.of_rows || !other.external ||
        !std::equal(op.input, op.input + op.ninputs, other.input, other.input + other.ninputs)) {
      continue;
    }
    auto *external = static_cast<const external_function *>(other.external);
    ref<external_function> joined;
    if (external->family == all->family) {
      joined = all->family->join(*all, *external);
    }
    if (joined) {
      all = joined.get();
      joined_.push_back(std::move(joined));
      nodes[count++] = i;
    }
  }
  value_registers results[max_external_outputs];
  add_external(*all, operands, op.ninputs, results);
  for (int i = 0; i < count; i++) {
    node_registers_[nodes[i]] = results[i];
  }
}

void fused_task::add_claimed_outputs() {
  for (int i = 0; i < claimed_.count; i++) {
    if (!claimed_.output[i]) {
      continue;
    }
    space rows;
    bool of_rows = claimed_.node[i]->lazy->of_rows;
    if (of_rows) {
      space_of(claimed_.node[i], rows);
    }
    allocate_values(claimed_.node[i], of_rows ? rows : t.shape);
    add_output(node_registers_[i], claimed_.node[i]);
  }
}

// ---- registers ----------------------------------------------------------------------------------------------------

uint8_t fused_task::source(array_block *block, int stream, scalar_id scalar) {
  for (int i = 0; i < sources_.size(); i++) {
    if (sources_[i].block == block && sources_[i].stream == stream) {
      return t.p.source[i];
    }
  }
  sources_.push_back({block, stream});
  return t.p.add_source(scalar);
}

value_registers fused_task::registers_of(array_block *block) {
  for (int i = 0; i < claimed_.count; i++) {
    if (claimed_.node[i] == block) {
      value_registers own = node_registers_[i];
      own.value = t.p.row[own.value] ? t.p.repeated(own.value) : own.value;
      return own;
    }
  }
  return read(block, element_part(*block));
}

value_registers fused_task::read(array_block *block, const type_part &part) {
  element_kind kind;
  bool has_value = find_element_kind(part.type, kind); // of anything that may be missing the validity is enough
  value_registers registers;
  if (kind.option) {
    registers.valid = source(block, part.stream, scalar_id::bool_);
  }
  if (has_value) {
    registers.value = source(block, part.stream + kind.option, kind.scalar);
    registers.value = kind.swapped ? t.p.swapped(registers.value) : registers.value;
  }
  return registers;
}

uint8_t fused_task::valid_or_true(const value_registers &registers) {
  const char yes = 1;
  return registers.valid == no_register ? constant(scalar_id::bool_, &yes) : registers.valid;
}

uint8_t fused_task::constant(scalar_id scalar, const void *value) {
  constants_.push_back(new_scalar(scalar, value));
  return source(constants_.back().get(), 0, scalar);
}

// ---- operations ---------------------------------------------------------------------------------------------------

uint8_t fused_task::both(uint8_t a, uint8_t b) {
  return a == no_register || a == b ? b
         : b == no_register         ? a
                                    : t.p.add_operation(logic::both, scalar_id::bool_, {a, b});
}

uint8_t fused_task::either(uint8_t a, uint8_t b) { return t.p.add_operation(logic::either, scalar_id::bool_, {a, b}); }

uint8_t fused_task::all_valid(const value_registers *operands, int count) {
  uint8_t valid = no_register;
  for (int i = 0; i < count; i++) {
    valid = both(valid, operands[i].valid);
  }
  return valid;
}

void fused_task::add(const element_operation &what, const value_registers *operands, int count,
                     value_registers *results) {
  if (what.external) {
    return add_external(*what.external, operands, count, results);
  }
  const operation &o = operation_of(what.op);
  if (o.operand[0] == value_rule::presence) {
    results[0].value = t.p.add_operation(what.op, scalar_id::bool_, {valid_or_true(operands[0])});
  } else if (o.operand[0] == value_rule::optional) {
    uint8_t value = t.p.converted(operands[0].value, what.computation);
    uint8_t fill = t.p.converted(operands[1].value, what.computation);
    uint8_t valid = valid_or_true(operands[0]);
    results[0].value = t.p.add_operation(what.op, what.computation, {valid, value, fill});
    results[0].valid = operands[1].valid == no_register ? no_register : either(valid, operands[1].valid);
  } else if (o.operand[0] == value_rule::boolean) {
    add_select(what.op, what.computation, operands, results);
  } else {
    add_propagating(what.op, what.computation, operands, count, results);
  }
}

// The result is missing where an operand is. Except for bools: where one operand decides alone, it is not.
void fused_task::add_propagating(op_id op, scalar_id computation, const value_registers *operands, int count,
                                 value_registers *results) {
  const operation &o = operation_of(op);
  program &p = t.p;
  uint8_t regs[3], values[2];
  const mixed_comparison *mixed =
      o.compares ? find_mixed_comparison(computation, p.type[operands[0].value], p.type[operands[1].value]) : nullptr;
  for (int i = 0; i < count; i++) {
    scalar_id to = mixed ? (i ? mixed->right : mixed->left) : operand_type(op, i, computation);
    regs[i] = p.converted(operands[i].value, to);
  }
  bool kleene = o.decided != decision::none && (o.operand[0] == value_rule::truth || computation == scalar_id::bool_);
  uint8_t valid =
      kleene ? kleene_valid(o, {regs[0], operands[0].valid}, {regs[1], operands[1].valid}) : all_valid(operands, count);
  p.add_operation(op, computation, regs, count, values, valid);
  for (int i = 0; i < o.noutputs; i++) {
    results[i] = {values[i], valid};
  }
}

// Both are there, or one that decides alone is.
uint8_t fused_task::kleene_valid(const operation &o, const value_registers &a, const value_registers &b) {
  if (a.valid == no_register && b.valid == no_register) {
    return no_register;
  }
  auto decides = [&](const value_registers &x) {
    uint8_t value = t.p.converted(x.value, scalar_id::bool_);
    bool inverts = o.decided == decision::by_false;
    return both(x.valid, inverts ? t.p.add_operation(logic::inverted, scalar_id::bool_, {value}) : value);
  };
  uint8_t all = both(a.valid, b.valid);
  return either(all, either(decides(a), decides(b)));
}

void fused_task::add_select(op_id op, scalar_id computation, const value_registers *operands,
                            value_registers *results) {
  program &p = t.p;
  uint8_t condition = operands[0].value, regs[2];
  for (int i = 0; i < 2; i++) {
    regs[i] = p.converted(operands[i + 1].value, computation);
  }
  results[0] = {p.add_operation(op, computation, {condition, regs[0], regs[1]}), operands[0].valid};
  if (operands[1].valid != no_register || operands[2].valid != no_register) {
    for (int i = 0; i < 2; i++) {
      regs[i] = valid_or_true(operands[i + 1]);
    }
    results[0].valid = both(results[0].valid, p.add_operation(op, scalar_id::bool_, {condition, regs[0], regs[1]}));
  }
}

void fused_task::add_external(const external_function &function, const value_registers *operands, int count,
                              value_registers *results) {
  uint8_t sources[max_external_sources], values[max_external_outputs];
  for (int i = 0; i < count; i++) {
    sources[i] = t.p.converted(operands[i].value, function.types.type[function.types.noutputs + i]);
  }
  uint8_t valid = all_valid(operands, count);
  bool harmless = function.has(dynd_callable_harmless | dynd_callable_total); // it may be called on missing values too
  t.p.add_external(function, sources, values, harmless ? no_register : valid);
  for (int i = 0; i < function.types.noutputs; i++) {
    results[i] = {values[i], valid};
  }
}

// ---- outputs ------------------------------------------------------------------------------------------------------

void fused_task::add_output(uint8_t reg, array_block *result, int stream) {
  // A step writes straight to the output. For a source, or a register that is an output already, that is a copy.
  auto is_output = [&](const program_output &o) { return o.reg == reg; };
  if (t.p.source_of(reg) >= 0 || std::any_of(t.p.output, t.p.output + t.p.noutputs, is_output)) {
    reg = t.p.assigned(reg, t.p.type[reg], error_mode::nocheck);
  }
  t.p.add_output(reg);
  outputs_.push_back({result, stream});
}

void fused_task::add_output(const value_registers &registers, array_block *result) {
  int stream = result->type->var_count;
  if (result->type->dtype->kind == type_kind::option) {
    add_output(valid_or_true(registers), result, stream++);
  }
  add_output(registers.value, result, stream);
}

void fused_task::add_reduced(uint8_t reg, reduction_id reduction, bool empty_fails, array_block *place, int stream) {
  t.p.add_reduced(reg, reduction, empty_fails);
  outputs_.push_back({place, stream});
}

// The number of the array among the operands from `begin` on; it is added where it is not there.
int fused_task::operand_of(array_block *block, int begin) {
  for (int o = begin; o < t.operands.size(); o++) {
    if (t.operands[o].block == block) {
      return o;
    }
  }
  t.operands.push_back(block);
  return t.operands.size() - 1;
}

void fused_task::lower_operands() {
  t.operands.clear();
  t.ports.clear();
  for (const bound_register &output : outputs_) {
    t.ports.push_back({operand_of(output.block, 0), output.stream});
  }
  t.noutputs = t.operands.size();
  for (const bound_register &source : sources_) {
    auto is_it = [&](const ref<array_block> &constant) { return constant.get() == source.block; };
    if (std::any_of(constants_.begin(), constants_.end(), is_it)) { // the engine's own: no operand of the operation
      t.ports.push_back({-1, 0, source.block->values().address});
    } else {
      t.ports.push_back({operand_of(source.block, t.noutputs), source.stream});
    }
  }
  lower(t);
}

bool fused_task::run() { return run_task(t); }

} // namespace dynd
