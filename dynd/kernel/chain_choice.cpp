#include "dynd/kernel/chain_choice.h"

#include "dynd/ops/logic.h"

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
  if (p.noutputs == 1 && p.output[0].reduced) {
    leave_to_sum(layout);
  }
  // From the last on: what leaves the chain is best computed in one loop with something else.
  for (int i = count - 1; i > 0; i--) {
    for (int operand = 0; operand < p.steps[i].nreads && !join(steps[i], operand); operand++) {
    }
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

// What a sum reads is now what the step that it takes along read.
void step_choice::leave_to_sum(const chain_layout &layout) {
  const program_output &o = p_.output[0];
  const reduce_functions &functions = isa().reduce(o.reduction, p_.type[o.reg]);
  bool in_rows = layout.kind != chain_kind::columns && layout.kind != chain_kind::small_rows;
  terms.reg = o.reg;
  const program_step *fill = functions.valid.lanes && in_rows ? only_summed(o.reg) : nullptr;
  if (fill && fill->fills) {
    left_out_[fill - p_.steps] = true;
    terms.valid = fill->reads[0];
    terms.reg = fill->reads[1];
  }
  const program_step *product = functions.products.lanes ? only_summed(terms.reg) : nullptr;
  if (product && product->op == arithmetic::product) {
    left_out_[product - p_.steps] = true;
    terms.other = product->reads[1];
    terms.reg = product->reads[0];
  }
}

// The operation that computes a register which only the sum reads.
const program_step *step_choice::only_summed(uint8_t reg) const {
  const program_step *step = writer_[reg] == no_register ? nullptr : p_.steps + writer_[reg];
  bool computes = step && step->kind == step_kind::operation && step->nwrites == 1 && step->valid == no_register;
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
  case arithmetic::addition:
    return one ? pair_first::add_one : pair_first::add;
  case arithmetic::difference:
    return pair_first::subtract;
  case arithmetic::product:
  case arithmetic::square:
    return one ? pair_first::multiply_one : pair_first::multiply;
  default:
    return std::nullopt;
  }
}

// What is done with an operand of the step, by whose number.
std::optional<pair_second> second_of(const program_step &step, int operand) {
  switch (step.op) {
  case arithmetic::addition:
    return pair_second::add;
  case arithmetic::difference:
    return operand ? pair_second::subtract_from : pair_second::subtract;
  case arithmetic::product:
    return pair_second::multiply;
  case arithmetic::quotient:
    return operand ? pair_second::divide_into : pair_second::divide;
  case arithmetic::square:
    return pair_second::square;
  default:
    return std::nullopt;
  }
}

} // namespace

// A step takes the one before it along where only it needs that, and neither is a pair already.
bool step_choice::join(chosen_step &second, int operand) {
  const program_step &then = p_.steps[second.step];
  if (!may_join(then)) {
    return false;
  }
  uint8_t between = then.reads[operand], writer = writer_[between];
  if (left_out_[second.step] || writer == no_register || steps[writer].is_pair || !may_join(p_.steps[writer]) ||
      reads_[between] != 1 || terms.uses(between)) {
    return false;
  }
  const program_step &before = p_.steps[writer];
  uint8_t a = before.reads[0], b = before.reads[before.nreads - 1];
  if (one_value_[b] && before.op != arithmetic::difference) {
    std::swap(a, b);
  }
  auto first = first_of(before, one_value_[a] && !one_value_[b]);
  auto form = second_of(then, operand);
  if (!first || !form) {
    return false;
  }
  second.is_pair = true;
  second.nreads = uint8_t(1 + then.nreads);
  second.reads[0] = a;
  second.reads[1] = b;
  second.reads[2] = then.nreads == 2 ? then.reads[1 - operand] : no_register;
  second.pair = isa().pair(*first, *form, then.type, then.nreads == 2 && one_value_[second.reads[2]]);
  left_out_[writer] = true;
  return true;
}

} // namespace dynd::chain
