#include "dynd/kernel/program.h"

#include <algorithm>

#include "dynd/base/errors.h"
#include "dynd/ops/logic.h"
#include "dynd/type/type.h"

namespace dynd {

namespace {

// The tasks that are put together keep to the limits: a lazy group by what it takes, an assignment by its numbers.
void check_room(int count, int most, const char *what) {
  if (count >= most) {
    fail(error_kind::internal, "program: more than " + std::to_string(most) + " " + what);
  }
}

} // namespace

program_step &program::add_step(step_kind kind, scalar_id type) {
  check_room(nsteps, max_steps, "steps");
  program_step &step = steps[nsteps++];
  step = {kind, {}, {}, type, error_mode::nocheck, 0, 0, no_register, false, 0, {}, {}, nullptr, nullptr};
  return step;
}

uint8_t program::add_register(scalar_id scalar, bool of_rows) {
  check_room(nregisters, max_registers, "registers");
  type[nregisters] = scalar;
  row[nregisters] = of_rows;
  return nregisters++;
}

uint8_t program::add_source(scalar_id scalar) {
  check_room(nsources, max_sources, "sources");
  return source[nsources++] = add_register(scalar);
}

void program::add_output(const program_output &o) {
  check_room(noutputs, max_outputs, "outputs");
  output[noutputs++] = o;
}

template <class Same>
const program_step *program::find_step(step_kind kind, const uint8_t *reads, int count, Same same) const {
  const program_step *found = std::find_if(steps, steps + nsteps, [&](const program_step &step) {
    return step.kind == kind && step.nreads == count && std::equal(reads, reads + count, step.reads) && same(step);
  });
  return found == steps + nsteps ? nullptr : found;
}

program_step &program::add_unary(step_kind kind, scalar_id to, uint8_t reg, bool of_rows) {
  program_step &step = add_step(kind, to);
  step.nreads = step.nwrites = 1;
  step.reads[0] = reg;
  step.writes[0] = add_register(to, of_rows);
  return step;
}

void program::add_operation(op_id op, scalar_id computation, const uint8_t *operands, int count, uint8_t *results,
                            uint8_t valid) {
  const program_step *before = find_step(step_kind::operation, operands, count, [&](const program_step &step) {
    return step.op == op && step.type == computation && step.valid == no_register;
  });
  if (before) {
    std::copy_n(before->writes, before->nwrites, results);
    return;
  }
  program_step &step = add_step(step_kind::operation, computation);
  step.op = op;
  step.valid = can_fail(step) ? valid : no_register;
  step.nreads = uint8_t(count);
  std::copy_n(operands, count, step.reads);
  step.nwrites = operation_of(op).noutputs;
  bool of_rows = std::any_of(operands, operands + count, [&](uint8_t reg) { return row[reg]; });
  for (int i = 0; i < step.nwrites; i++) {
    results[i] = step.writes[i] = add_register(result_type(op, i, computation), of_rows);
  }
}

uint8_t program::add_operation(op_id op, scalar_id computation, std::initializer_list<uint8_t> operands,
                               uint8_t valid) {
  uint8_t results[2];
  add_operation(op, computation, operands.begin(), int(operands.size()), results, valid);
  return results[0];
}

void program::add_external(const external_function &function, const uint8_t *sources, uint8_t *results, uint8_t valid) {
  const external_types &types = function.types;
  int count = types.noutputs + types.nsources;
  check_room(nexternal + count, max_registers + 1, "operands of external kernels");
  program_step &step = add_step(step_kind::external, types.type[0]);
  step.external = &function;
  step.valid = valid;
  step.first_operand = nexternal;
  step.nwrites = uint8_t(types.noutputs);
  step.nreads = uint8_t(types.nsources);
  uint8_t *reg = external_registers + nexternal;
  for (int o = 0; o < types.noutputs; o++) {
    results[o] = reg[o] = add_register(types.type[o]);
  }
  std::copy_n(sources, types.nsources, reg + types.noutputs);
  nexternal = uint8_t(nexternal + count);
}

uint8_t program::converted(uint8_t reg, scalar_id to) {
  if (type[reg] == to) {
    return reg;
  }
  const program_step *before = find_step(step_kind::conversion, &reg, 1, [&](const program_step &step) {
    return step.mode == error_mode::nocheck && step.type == to;
  });
  return before ? before->writes[0] : assigned(reg, to, error_mode::nocheck);
}

uint8_t program::assigned(uint8_t reg, scalar_id to, error_mode mode, uint8_t valid, const char *field) {
  bool leaves = std::any_of(output, output + noutputs, [&](const program_output &o) { return o.reg == reg; });
  if (nsteps && steps[nsteps - 1].kind == step_kind::swap_bytes && steps[nsteps - 1].writes[0] == reg &&
      type[reg] == to && !leaves) {
    return reg; // a copy already, which nothing else reads
  }
  program_step &step = add_unary(step_kind::conversion, to, reg, row[reg]);
  step.mode = mode;
  step.field = field;
  step.valid = can_fail(step) ? valid : no_register;
  return step.writes[0];
}

uint8_t program::swapped(uint8_t reg) { return add_unary(step_kind::swap_bytes, type[reg], reg, false).writes[0]; }

void program::require(uint8_t valid, const char *field) {
  program_step &step = add_step(step_kind::require, scalar_id::bool_);
  step.nreads = 1;
  step.reads[0] = valid;
  step.field = field;
}

uint8_t program::scanned(op_id op, uint8_t reg, uint8_t initial, uint8_t valid) {
  program_step &step = add_step(step_kind::scan, type[reg]);
  step.op = op;
  step.valid = valid;
  step.nreads = initial == no_register ? 1 : 2;
  step.reads[0] = reg;
  step.reads[1] = initial;
  step.nwrites = 1;
  return step.writes[0] = add_register(type[reg]);
}

uint8_t program::folded(uint8_t reg, reduction_id reduction) {
  if (auto *before = find_step(step_kind::fold, &reg, 1, [&](auto &step) { return step.reduction == reduction; })) {
    return before->writes[0];
  }
  program_step &step = add_unary(step_kind::fold, type[reg], reg, true);
  step.reduction = reduction;
  return step.writes[0];
}

uint8_t program::repeated(uint8_t row_reg) {
  auto *before = find_step(step_kind::repeat, &row_reg, 1, [](auto &) { return true; });
  return before ? before->writes[0] : add_unary(step_kind::repeat, type[row_reg], row_reg, false).writes[0];
}

uint8_t program::row_length() {
  if (auto *before = find_step(step_kind::length, nullptr, 0, [](auto &) { return true; })) {
    return before->writes[0];
  }
  program_step &step = add_step(step_kind::length, scalar_id::int64);
  step.nwrites = 1;
  return step.writes[0] = add_register(scalar_id::int64, true);
}

const char *program::name_of(const program_step &step) const {
  switch (step.kind) {
  case step_kind::operation:
    return operation_of(step.op).name;
  case step_kind::conversion:
    return type[step.reads[0]] == step.type ? "copy" : scalar_name[size_t(step.type)];
  case step_kind::swap_bytes:
    return "swap_bytes";
  case step_kind::require:
    return "require";
  case step_kind::scan:
    return scan_by(step.op) ? scan_by(step.op)->name : operation_of(step.op).name;
  case step_kind::external:
    return step.external->kernel->name;
  case step_kind::fold:
    return reduction_of(step.reduction).name;
  case step_kind::repeat:
    return "repeat";
  case step_kind::length:
    return "length";
  }
  return "";
}

bool program::can_fail(const program_step &step) const {
  switch (step.kind) {
  case step_kind::operation:
  case step_kind::scan:
    return dynd::can_fail(step.op, step.type);
  case step_kind::conversion:
    return isa().refuses(step.mode, step.type, type[step.reads[0]]);
  case step_kind::swap_bytes:
  case step_kind::fold:
  case step_kind::repeat:
  case step_kind::length:
    return false;
  case step_kind::require:
    return true;
  case step_kind::external:
    return !(step.external->kernel->flags & dynd_callable_total);
  }
  return true;
}

namespace {

/// 1 where some element of a batch of validities is missing. One byte for each element: not worth a loop in ops/.
uint32_t require_all(void *, const void *a, const void *, const void *, size_t n, void *) {
  return std::find(static_cast<const char *>(a), static_cast<const char *>(a) + n, 0) !=
         static_cast<const char *>(a) + n;
}

} // namespace

batch_fn program::loop_of(const program_step &step, int constant) const {
  switch (step.kind) {
  case step_kind::operation:
    if (operation_of(step.op).compares && type[step.reads[0]] != type[step.reads[1]]) {
      return isa().mixed_loop(step.op, mixed_pair_of(type[step.reads[0]], type[step.reads[1]]));
    }
    if (batch_fn loop = constant < 0 ? nullptr : isa().constant_loop(step.op, constant, step.type)) {
      return loop;
    }
    return isa().loop(step.op, step.type);
  case step_kind::conversion:
    return isa().convert_checked(step.mode, step.type, type[step.reads[0]]);
  case step_kind::swap_bytes:
    return isa().swap_bytes(step.type);
  case step_kind::require:
    return require_all;
  case step_kind::length:
    return isa().loop(arithmetic::difference, scalar_id::int64);
  case step_kind::scan:
  case step_kind::external:
  case step_kind::fold:
  case step_kind::repeat:
    break;
  }
  return nullptr;
}

batch_fn program::stream_loop_of(const program_step &step) const {
  if (step.kind == step_kind::conversion) {
    return isa().convert_stream(step.mode, step.type, type[step.reads[0]]);
  }
  bool plain = step.kind == step_kind::operation &&
               (step.nreads < 2 || !operation_of(step.op).compares || type[step.reads[0]] == type[step.reads[1]]);
  return plain ? isa().stream_loop(step.op, step.type) : nullptr;
}

} // namespace dynd
