#include "dynd/kernel/chain_choice.h"

#include <algorithm>
#include <bit>

#include "dynd/kernel/chain_kernel.h"
#include "dynd/ops/logic.h"
#include "dynd/ops/op_id.h"

namespace dynd::chain {

step_choice::step_choice(const program &p, const chain_layout &layout) : p_(p), layout_(layout) {
  bool plain = !p.is_staged(); // else the steps of the chain are those of the program
  for (int i = 0; i < p.nsteps; i++) {
    steps[i] = {uint8_t(i), false, 0, {}, {}};
    plain &= p.steps[i].kind != step_kind::scan;
  }
  count = p.nsteps;
  if (!plain || count + p.reduces() < 2) {
    return;
  }
  look_at_registers();
  for (int i = 0; i < p.noutputs && terms.output < 0; i++) {
    if (p.output[i].reduced && !leave_conversion(i) && !leave_root(i)) {
      leave_to_fold(i);
    }
  }
  // From the last on: what leaves the chain is best computed in one loop with something else.
  for (int i = count - 1; i > 0; i--) {
    join(i);
  }
  count = int(std::remove_if(steps, steps + count, [&](const auto &s) { return left_out_[s.step]; }) - steps);
}

void step_choice::look_at_registers() {
  std::fill_n(writer_, p_.nregisters, no_register);
  for (int i = 0; i < p_.nsteps; i++) {
    p_.for_reads(p_.steps[i], [&](uint8_t reg) { reads_[reg]++; });
    p_.for_writes(p_.steps[i], [&](uint8_t reg) { writer_[reg] = uint8_t(i); });
  }
  for (int i = 0; i < p_.noutputs; i++) {
    reads_[p_.output[i].reg]++;
  }
  for (int i = 0; i < p_.nsources; i++) {
    one_value_[p_.source[i]] = layout_.ports[p_.noutputs + i].constant;
  }
}

// What a fold reads is now what the step that it takes along read.
void step_choice::leave_to_fold(int output) {
  const program_output &o = p_.output[output];
  const reduce_functions &functions = isa().reduce(o.reduction, p_.type[o.reg]);
  bool in_rows = layout_.kind != chain_kind::columns && layout_.kind != chain_kind::small_rows;
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
bool step_choice::leave_conversion(int output) {
  const program_output &o = p_.output[output];
  const program_step *widened = o.reduction == arithmetic::sum ? only_folded(o.reg, step_kind::conversion) : nullptr;
  scalar_id to = p_.type[o.reg];
  if (!widened || p_.can_fail(*widened) || (to != scalar_id::int64 && to != scalar_id::uint64)) {
    return false;
  }
  uint8_t reg = widened->reads[0];
  bool few = layout_.kind == chain_kind::small_rows && layout_.axis_size << log2_size(p_.type[reg]) <= 8;
  bool in_rows = layout_.kind != chain_kind::columns && layout_.kind != chain_kind::ordered && !few;
  const reduce_functions *functions = in_rows ? isa().sum_of(p_.type[reg]) : nullptr;
  if (functions) {
    left_out_[widened - p_.steps] = true;
    terms = {output, reg, no_register, no_register, functions};
  }
  return functions != nullptr;
}

// The least root is that of the least element, to the bit: rounding keeps the order, and one element below zero, like
// NaN, makes both NaN (which NaN is not promised). So a root for each short row is enough. False where there is none.
bool step_choice::leave_root(int output) {
  const program_output &o = p_.output[output];
  bool in_short_rows = layout_.kind == chain_kind::var_rows && !layout_.lanes;
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

// ---- batches --------------------------------------------------------------------------------------------------------

// By the registers that are needed: of a number that is widened in the loop of its fold, the wide one is not.
int step_choice::narrower() const {
  uint8_t folded = terms.output < 0 ? no_register : p_.output[terms.output].reg;
  int widest = 0;
  for (uint8_t r = 0; r < p_.nregisters; r++) {
    widest = r == folded && !terms.uses(r) ? widest : std::max(widest, log2_size(p_.type[r]));
  }
  return std::max(0, log2_size(scalar_id::float64) - widest);
}

bool step_choice::scans() const {
  return std::any_of(p_.steps, p_.steps + p_.nsteps, [](const auto &s) { return s.kind == step_kind::scan; });
}

size_t step_choice::elements_of_batch() const {
  bool reduces = p_.reduces();
  switch (layout_.kind) {
  case chain_kind::var_rows:
    return p_.nexternal ? external_window : window;
  case chain_kind::columns:
    return reduces ? computed_rows * (computed_columns + column_line) : scans() ? scanned_batch : group;
  case chain_kind::flat:
    return (reduces ? reduce_batch : p_.nsteps == 1 ? lone_batch : group) << narrower();
  case chain_kind::small_rows:
    return reduces ? reduce_batch << narrower() : elements_of_short_rows();
  default:
    return (reduces ? reduce_batch : group) << narrower();
  }
}

// Whole rows. Of results they are whole cache lines, where not too many rows are: a line that two batches share is
// written twice. Staged programs and scans have this walk for long rows too, of which a batch is a part.
//   of 100 int16: 8 rows, 25 lines; of 50 float64: 4 rows, 25 lines; of 3: 40 rows, 15 lines
size_t step_choice::elements_of_short_rows() const {
  size_t usual = group << narrower(), row = size_t(layout_.axis_size);
  if (row == 0 || p_.is_staged() || (scans() && row > longest_collected_scan)) {
    return usual;
  }
  size_t rows = std::max<size_t>(usual / row, 4);
  int ends = std::countr_zero(row << log2_size(p_.type[p_.output[0].reg]));
  size_t of_lines = size_t(64) >> std::min(ends, 6);
  if (rows >= of_lines) {
    rows -= rows % of_lines;
  } else if (of_lines * row <= 8 * usual) {
    rows = of_lines;
  }
  return rows * row;
}

} // namespace dynd::chain
