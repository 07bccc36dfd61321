#include "dynd/kernel/chain_choice.h"

#include "dynd/ops/logic.h"
#include "dynd/ops/op_id.h"

namespace dynd::chain {

step_choice::step_choice(const program &p, const chain_layout &layout) : p_(p) {
  bool plain = !p.is_staged(); // else the steps of the chain are those of the program
  for (int i = 0; i < p.nsteps; i++) {
    steps[i] = {uint8_t(i), false, 0, {}, {}};
    plain &= p.steps[i].kind != step_kind::scan;
  }
  count = p.nsteps;
  if (!plain || count + p.reduces() < 2) {
    return;
  }
  look_at_registers(layout);
  for (int i = 0; i < p.noutputs && terms.output < 0; i++) {
    if (p.output[i].reduced && !leave_conversion(i, layout) && !leave_root(i, layout)) {
      leave_to_fold(i, layout);
    }
  }
  // From the last on: what leaves the chain is best computed in one loop with something else.
  for (int i = count - 1; i > 0; i--) {
    join(i);
  }
  count = int(std::remove_if(steps, steps + count, [&](const auto &s) { return left_out_[s.step]; }) - steps);
}

void step_choice::look_at_registers(const chain_layout &layout) {
  std::fill_n(writer_, p_.nregisters, no_register);
  for (int i = 0; i < p_.nsteps; i++) {
    p_.for_reads(p_.steps[i], [&](uint8_t reg) { reads_[reg]++; });
    p_.for_writes(p_.steps[i], [&](uint8_t reg) { writer_[reg] = uint8_t(i); });
  }
  for (int i = 0; i < p_.noutputs; i++) {
    reads_[p_.output[i].reg]++;
  }
  for (int i = 0; i < p_.nsources; i++) {
    one_value_[p_.source[i]] = layout.ports[p_.noutputs + i].constant;
  }
}

// What a fold reads is now what the step that it takes along read.
void step_choice::leave_to_fold(int output, const chain_layout &layout) {
  const program_output &o = p_.output[output];
  const reduce_functions &functions = isa().reduce(o.reduction, p_.type[o.reg]);
  bool in_rows = layout.kind != chain_kind::columns && layout.kind != chain_kind::small_rows;
  folded_terms found = {output, o.reg};
  const program_step *fill = functions.valid.lanes && in_rows ? only_folded(o.reg) : nullptr;
  if (fill && fill->fills && fill->reduction == o.reduction) {
    left_out_[fill - p_.steps] = true;
    found.valid = fill->reads[0];
    found.reg = fill->reads[1];
  }
  const program_step *product = functions.products.lanes && p_.noutputs == 1 ? only_folded(found.reg) : nullptr;
  if (product && product->op == arithmetic::product) {
    left_out_[product - p_.steps] = true;
    found.other = product->reads[1];
    found.reg = product->reads[0];
  }
  if (found.reg != o.reg) {
    terms = found;
  }
}

// Small integers are added up as they are. False where these are none.
bool step_choice::leave_conversion(int output, const chain_layout &layout) {
  const program_output &o = p_.output[output];
  const program_step *widened = o.reduction == arithmetic::sum ? only_folded(o.reg, step_kind::conversion) : nullptr;
  scalar_id to = p_.type[o.reg];
  if (!widened || p_.can_fail(*widened) || (to != scalar_id::int64 && to != scalar_id::uint64)) {
    return false;
  }
  uint8_t reg = widened->reads[0];
  bool few = layout.kind == chain_kind::small_rows && layout.axis_size << log2_size(p_.type[reg]) <= 8;
  bool in_rows = layout.kind != chain_kind::columns && layout.kind != chain_kind::ordered && !few;
  const reduce_functions *functions = in_rows ? isa().sum_of(p_.type[reg]) : nullptr;
  if (functions) {
    left_out_[widened - p_.steps] = true;
    terms = {output, reg, no_register, no_register, functions};
  }
  return functions != nullptr;
}

// The least root is that of the least element, to the bit: rounding keeps the order, and one element below zero, like
// NaN, makes both NaN (which NaN is not promised). So a root for each short row is enough. False where there is none.
bool step_choice::leave_root(int output, const chain_layout &layout) {
  const program_output &o = p_.output[output];
  bool in_short_rows = layout.kind == chain_kind::var_rows && !layout.lanes;
  const program_step *root = o.reduction == arithmetic::least && in_short_rows ? only_folded(o.reg) : nullptr;
  if (!root || root->op != arithmetic::root) {
    return false;
  }
  left_out_[root - p_.steps] = true;
  terms = {output, root->reads[0], no_register, no_register, nullptr, p_.loop_of(*root)};
  return true;
}

// The step of a kind that computes a register which only the fold reads.
const program_step *step_choice::only_folded(uint8_t reg, step_kind kind) const {
  const program_step *step = writer_[reg] == no_register ? nullptr : p_.steps + writer_[reg];
  bool computes = step && step->kind == kind && step->nwrites == 1 && step->valid == no_register;
  return computes && reads_[reg] == 1 ? step : nullptr;
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

namespace {

bool may_join(const program_step &step) {
  bool floating = step.type == scalar_id::float32 || step.type == scalar_id::float64;
  return step.kind == step_kind::operation && floating && step.valid == no_register;
}

// With `one` the operation is symmetric and one of its operands is one value.
std::optional<pair_first> first_of(const program_step &step, bool one) {
  switch (step.op) {
  case op_id::add:
    return one ? pair_first::add_one : pair_first::add;
  case op_id::subtract:
    return pair_first::subtract;
  case op_id::multiply:
  case op_id::square:
    return one ? pair_first::multiply_one : pair_first::multiply;
  case op_id::divide:
    return pair_first::divide;
  default:
    return std::nullopt;
  }
}

// What is done with an operand of the step, by whose number.
std::optional<pair_second> second_of(const program_step &step, int operand) {
  switch (step.op) {
  case op_id::add:
    return pair_second::add;
  case op_id::subtract:
    return operand ? pair_second::subtract_from : pair_second::subtract;
  case op_id::multiply:
    return pair_second::multiply;
  case op_id::divide:
    return operand ? pair_second::divide_into : pair_second::divide;
  case op_id::square:
    return pair_second::square;
  default:
    return std::nullopt;
  }
}

} // namespace

// The step whose result an operand is, where both can be one loop: only this one needs it, and neither is in a pair.
uint8_t step_choice::joinable(int step, int operand) const {
  const program_step &then = p_.steps[step];
  if (left_out_[step] || !may_join(then) || !second_of(then, operand)) {
    return no_register;
  }
  uint8_t between = then.reads[operand], writer = writer_[between];
  bool free = writer != no_register && !steps[writer].is_pair && reads_[between] == 1 && !terms.uses(between);
  return free && may_join(p_.steps[writer]) && first_of(p_.steps[writer], false) ? writer : no_register;
}

// A step takes one before it along: better one that has none itself, or a * b + c - d / e would be three loops.
void step_choice::join(int step) {
  int operand = -1;
  for (int i = p_.steps[step].nreads - 1; i >= 0; i--) {
    uint8_t writer = joinable(step, i);
    if (writer == no_register) {
      continue;
    }
    bool has_none = true;
    for (int j = 0; j < p_.steps[writer].nreads; j++) {
      has_none &= joinable(writer, j) == no_register;
    }
    operand = operand < 0 || has_none ? i : operand;
  }
  if (operand >= 0) {
    join(steps[step], operand);
  }
}

void step_choice::join(chosen_step &second, int operand) {
  const program_step &then = p_.steps[second.step];
  uint8_t writer = writer_[then.reads[operand]];
  const program_step &before = p_.steps[writer];
  uint8_t a = before.reads[0], b = before.reads[before.nreads - 1];
  bool symmetric = before.op != arithmetic::difference && before.op != arithmetic::quotient;
  if (one_value_[b] && symmetric) {
    std::swap(a, b);
  }
  second.is_pair = true;
  second.nreads = uint8_t(1 + then.nreads);
  second.reads[0] = a;
  second.reads[1] = b;
  second.reads[2] = then.nreads == 2 ? then.reads[1 - operand] : no_register;
  second.pair = isa().pair(*first_of(before, one_value_[a] && !one_value_[b]), *second_of(then, operand), then.type,
                           then.nreads == 2 && one_value_[second.reads[2]]);
  left_out_[writer] = true;
}

} // namespace dynd::chain
