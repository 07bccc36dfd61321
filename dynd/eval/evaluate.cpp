#include "dynd/eval/evaluate.h"

#include <algorithm>
#include <cstdlib>

#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/eval/assign_rows.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/row_functions.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

space_operands operands_of(const call_operands &operands) {
  space_operands list;
  for (int i = 0; i < operands.count; i++) {
    list.push_back(operands.block[i]);
  }
  return list;
}

// ---- what is computed, and in which types -------------------------------------------------------------------------

struct typed_operation {
  element_operation what;
  const char *name;
  bool total; ///< cannot fail on values
  bool pure = true;
  int noutputs;
  ndt::type result[max_external_outputs];
};

void check_count(op_id op, const call_operands &operands) {
  const operation &o = operation_of(op);
  if (operands.count != o.noperands) {
    fail(error_kind::type, std::string(o.name) + ": takes " + std::to_string(o.noperands) + " operands, not " +
                               std::to_string(operands.count));
  }
}

// A missing value of an operand makes the result missing, unless the operation takes that operand's validity itself.
typed_operation type_operation(op_id op, const call_operands &operands) {
  const operation &o = operation_of(op);
  typed_operation typed{{op, scalar_id::bool_, nullptr}, o.name, false, true, o.noutputs, {}};
  if (o.operand[0] == value_rule::presence) {
    typed.total = true;
    typed.result[0] = ndt::make_scalar(scalar_id::bool_);
    return typed;
  }
  std::optional<scalar_id> promoted;
  bool option = false;
  for (int i = 0; i < operands.count; i++) {
    element_kind kind = kind_of_numbers(o.name, operands.block[i]->type);
    option |= kind.option && o.operand[i] != value_rule::optional;
    if (!takes_operand(op, i, kind.scalar)) {
      const char *wanted = o.operand[i] == value_rule::boolean ? ": the condition must be bool, not "
                                                               : ": the exponent must be an int64 or smaller, not ";
      fail(error_kind::type, std::string(o.name) + wanted + scalar_name[size_t(kind.scalar)]);
    }
    if (has_own_type(o.operand[i])) {
      continue;
    }
    promoted = promoted ? promote(*promoted, kind.scalar) : kind.scalar;
  }
  typed.what.computation = computation_type(op, *promoted);
  typed.total = !can_fail(op, typed.what.computation);
  for (int i = 0; i < o.noutputs; i++) {
    typed.result[i] = number_type(result_type(op, i, typed.what.computation), option);
  }
  return typed;
}

typed_operation type_operation(const external_function &function, const call_operands &operands) {
  const external_types &types = function.types;
  typed_operation typed{{{}, {}, &function}, function.kernel->name, false, false, types.noutputs, {}};
  typed.total = function.has(dynd_callable_total);
  typed.pure = function.has(dynd_callable_pure) && !function.has(dynd_callable_python_lock) &&
               !function.has(dynd_callable_one_thread);
  bool option = false;
  for (int i = 0; i < operands.count; i++) {
    option |= kind_of_numbers(typed.name, operands.block[i]->type).option;
  }
  for (int i = 0; i < types.noutputs; i++) {
    typed.result[i] = number_type(types.type[i], option);
  }
  return typed;
}

// ---- lazy results -------------------------------------------------------------------------------------------------

// Whether the result may be lazy, where the operation cannot fail.
bool may_be_lazy(const typed_operation &typed, const call_operands &operands, const space &shape, const settings &how,
                 size_t &held) {
  if (typed.noutputs != 1 || !typed.total || !typed.pure || size_t(shape.count()) * max_scalar_size < lazy_from) {
    return false;
  }
  return may_be_lazy(operands.block, operands.count, value_bytes(shape, typed.result[0], sizeof(double)), how, held);
}

ref<array_block> new_lazy(const typed_operation &typed, const call_operands &operands, const space &shape,
                          const axis_order &order, size_t held) {
  ref<array_block> result = new_lazy_result(shape, typed.result[0], lazy_operation::bytes(operands.count), order);
  auto *external = const_cast<external_function *>(typed.what.external);
  make_lazy(result.get(), {typed.what.op, typed.what.computation, uint8_t(operands.count), false, held, external},
            operands.block);
  return result;
}

// Of an operation that the caller has claimed: what is computed meanwhile drops its external function.
const char *name_of(const lazy_operation &op) {
  return op.of_rows    ? static_cast<const lazy_row_operation *>(op.external)->what.name
         : op.external ? static_cast<const external_function *>(op.external)->kernel->name
                       : operation_of(op.op).name;
}

// Computes a lazy array, and what is lazy below it.
void materialize_group(array_block *block) {
  settings how = thread_settings();
  ref<array_block> keep = ref<array_block>::share(block); // other owners may drop it meanwhile
  fused_task fused("", how);
  if (!fused.claim_root(block)) {
    return;
  }
  if (block->lazy->of_elements) {
    auto *elements = static_cast<lazy_elements *>(block->lazy->external);
    elements->compute(*elements, block);
    fused.finish();
    return;
  }
  fused.t.name = name_of(*block->lazy);
  if (!try_direct_compute(block, how) && !fused.run_known()) {
    space_of(block->lazy->of_rows ? block->lazy->input[0] : block, fused.t.shape);
    fused.add_claimed();
    fused.add_claimed_outputs();
    fused.lower_operands();
    fused.run();
  }
  fused.finish();
}

ref<array_block> field_of_elements(array_block *block, int i) {
  ref<counted> external;
  std::vector<ref<array_block>> inputs = inputs_of(block, external);
  if (inputs.empty()) {
    return {};
  }
  std::vector<array_block *> blocks;
  for (const ref<array_block> &input : inputs) {
    blocks.push_back(input.get());
  }
  auto *elements = static_cast<lazy_elements *>(external.get());
  return elements->field(*elements, blocks.data(), i);
}

[[maybe_unused]] const bool lazy_hooks_installed =
    (materialize_lazy = materialize_group, field_of_lazy = field_of_elements, true);

// ---- at once ------------------------------------------------------------------------------------------------------

// Runs an operation now, with what is lazy below it; `fused` has its space, and the results have memory.
void run_now(const typed_operation &typed, const call_operands &operands, const space_operands &list, fused_task &fused,
             const ref<array_block> *results) {
  fused.claim(list, operands.last_use, *results[0], typed.noutputs, typed.total);
  if (typed.total &&
      fused.run_known(&typed.what, {operands.block, size_t(operands.count)}, {results, size_t(typed.noutputs)})) {
    fused.finish();
    return;
  }
  fused.add_claimed();
  value_registers registers[max_external_sources], computed[max_external_outputs];
  for (int i = 0; i < operands.count; i++) {
    registers[i] = fused.registers_of(operands.block[i]);
  }
  fused.add(typed.what, registers, operands.count, computed);
  for (int i = 0; i < typed.noutputs; i++) {
    fused.add_output(computed[i], results[i].get());
  }
  fused.add_claimed_outputs();
  fused.lower_operands();
  fused.run();
  fused.finish();
}

void run_or_delay(const typed_operation &typed, const call_operands &operands, const settings &how,
                  ref<array_block> *results) {
  space_operands list = operands_of(operands);
  space shape;
  broadcast_space(typed.name, list, shape);
  axis_order order = order_like(shape.ndim, shape.size, {operands.block, size_t(operands.count)});
  size_t held;
  if (may_be_lazy(typed, operands, shape, how, held)) {
    *results = new_lazy(typed, operands, shape, order, held);
    return;
  }
  fused_task fused(typed.name, how);
  fused.t.shape = std::move(shape);
  if (const external_function *function = typed.what.external) {
    fused.t.keep_lock = function->has(dynd_callable_python_lock);
    fused.t.one_thread = fused.t.keep_lock || function->has(dynd_callable_one_thread);
  }
  for (int i = 0; i < typed.noutputs; i++) {
    results[i] = new_result(fused.t.shape, typed.result[i], is_tracing(how), order);
  }
  run_now(typed, operands, list, fused, results);
}

// ---- in place -----------------------------------------------------------------------------------------------------

// Whether both arrays are the same elements, at the same places.
bool is_same_view(const array_block &a, const array_block &b) {
  bool same = a.type == b.type && same_space(a, b);
  for (int s = a.type->var_count; s < a.nstreams && same; s++) {
    same = a.streams()[s].address == b.streams()[s].address &&
           std::equal(a.strides(s), a.strides(s) + a.ndim, b.strides(s));
  }
  return same;
}

// Whether no element of dst is read for another one. A lazy operand has no memory, or one of its own.
bool can_write_in_place(const array_block &dst, const call_operands &operands) {
  if (!has_own_places(dst)) {
    return false;
  }
  for (int i = 0; i < operands.count; i++) {
    const array_block &own = *operands.block[i];
    if (own.is_ready() && !is_same_view(dst, own) && may_write_to(dst, own)) {
      return false;
    }
  }
  return true;
}

// Whether the operands broadcast to what dst is.
bool has_space(const space &shape, const array_block &dst) {
  bool same = shape.ndim == dst.ndim && std::equal(shape.size, shape.size + shape.ndim, dst.size());
  for (int i = 0; i < shape.nvar && same; i++) {
    same = shape.slots[size_t(i)].address == dst.streams()[i].address;
  }
  return same;
}

// ---- other elements -----------------------------------------------------------------------------------------------

// The array itself; where its elements are scalars behind pointers, a copy of these scalars.
ref<array_block> copies_to_scalars(array_block *operand) {
  ndt::type dtype(operand->type->dtype);
  while (dtype->kind == type_kind::pointer) {
    dtype = dtype.element();
  }
  element_kind kind;
  bool copies = dtype.get() != operand->type->dtype && find_element_kind(dtype.get(), kind);
  return copies ? copy_values(operand, access_mode::immutable, dtype) : ref<array_block>::share(operand);
}

// Copies operands whose scalars are behind pointers, and calls `call` with the copies. False where there are none.
template <class Call> bool without_pointers(const call_operands &operands, Call call) {
  auto is_pointer = [](const array_block *block) { return block->type->dtype->kind == type_kind::pointer; };
  if (std::none_of(operands.block, operands.block + operands.count, is_pointer)) {
    return false;
  }
  ref<array_block> kept[max_external_sources];
  array_block *block[max_external_sources];
  for (int i = 0; i < operands.count; i++) {
    kept[i] = copies_to_scalars(operands.block[i]);
    block[i] = kept[i].get();
  }
  bool copied = !std::equal(block, block + operands.count, operands.block);
  if (copied) {
    call(call_operands{block, operands.count});
  }
  return copied;
}

bool has_other_elements(const call_operands &operands) {
  element_kind kind;
  return std::any_of(operands.block, operands.block + operands.count,
                     [&](const array_block *block) { return !find_element_kind(block->type->dtype, kind); });
}

bool fills_elements(op_id op, const call_operands &operands) {
  element_kind kind;
  const type_data *dtype = operands.block[0]->type->dtype;
  return operation_of(op).operand[0] == value_rule::optional && dtype->kind == type_kind::option &&
         !find_element_kind(dtype, kind);
}

// is_missing and fill_missing look at the elements whose validity they take, which rows are too.
bool takes_rows(const operation &o, const call_operands &operands) {
  return o.operand[0] == value_rule::presence ||
         (o.operand[0] == value_rule::optional && has_missing_rows(operands.block[0]->type));
}

bool are_scalars(const call_operands &operands) {
  return std::all_of(operands.block, operands.block + operands.count,
                     [](const array_block *block) { return block->has_scalars(); });
}

// What is not done number by number; false where it is.
bool evaluate_elements(op_id op, const call_operands &operands, const settings &how, ref<array_block> *results) {
  const operation &o = operation_of(op);
  auto again = [&](const call_operands &others) { evaluate(op, others, how, results); };
  if (!takes_rows(o, operands) && in_missing_rows(o.name, operands, o.noutputs, results, again)) {
    return true;
  }
  added_overload_t added = call_added_overload.load(std::memory_order_acquire);
  if (added && has_other_elements(operands) && added(op, operands, results)) {
    return true;
  }
  if (compares_elements(op, operands)) {
    *results = compare_elements(op, operands.block[0], operands.block[1], how);
    return true;
  }
  if (without_pointers(operands, again)) {
    return true;
  }
  if (fills_elements(op, operands)) {
    *results = fill_elements(o.name, operands.block[0], operands.block[1], how);
    return true;
  }
  if (op == logic::chosen && has_other_elements({operands.block + 1, 2})) {
    *results = choose_elements(operands.block[0], operands.block[1], operands.block[2], how);
    return true;
  }
  return false;
}

} // namespace

std::atomic<added_overload_t> call_added_overload = nullptr;

number_operand::number_operand(const char *operation, array_block *operand, bool last)
    : block(operand), last_use(last) {
  if (operand->type->dtype->kind == type_kind::pointer) {
    copy = copies_to_scalars(operand);
    block = copy.get();
    last_use = false;
  }
  element = kind_of_numbers(operation, block->type);
}

void evaluate(op_id op, const call_operands &operands, ref<array_block> *results) {
  evaluate(op, operands, thread_settings(), results);
}

void evaluate(op_id op, const call_operands &operands, const settings &how, ref<array_block> *results) {
  check_count(op, operands);
  if (try_direct(op, operands, how, results)) [[likely]] {
    return;
  }
  if (are_scalars(operands) || !evaluate_elements(op, operands, how, results)) {
    run_or_delay(type_operation(op, operands), operands, how, results);
  }
}

bool evaluate_in_place(op_id op, array_block *dst, array_block *other) {
  array_block *const blocks[] = {dst, other};
  const call_operands operands{blocks, 2};
  const settings &how = thread_settings();
  element_kind kind;
  bool small = dst->count >= 0 && size_t(dst->count) * max_scalar_size < lazy_from; // the direct steps are as fast
  if (small || how.watching || !find_element_kind(dst->type->dtype, kind) ||
      !find_element_kind(other->type->dtype, kind)) {
    return false;
  }
  typed_operation typed = type_operation(op, operands);
  if (!typed.total || typed.result[0].get() != dst->type->dtype || !can_write_in_place(*dst, operands)) {
    return false;
  }
  space_operands list = operands_of(operands);
  fused_task fused(typed.name, how);
  broadcast_space(typed.name, list, fused.t.shape);
  if (!has_space(fused.t.shape, *dst)) {
    return false;
  }
  ref<array_block> result = ref<array_block>::share(dst);
  run_now(typed, operands, list, fused, &result);
  return true;
}

namespace {

void call_external(const external_function &function, const call_operands &operands, const settings &how,
                   ref<array_block> *results) {
  direct_failure failure;
  bool numbers = operands.count == 1 && (operands.block[0]->flags & flag_numbers); // these have no memory
  if (!numbers && try_direct(function, operands, how, results, failure)) {
    return;
  }
  auto again = [&](const call_operands &others) { call_external(function, others, how, results); };
  if (without_pointers(operands, again) ||
      in_missing_rows(function.kernel->name, operands, function.types.noutputs, results, again)) {
    return;
  }
  typed_operation typed = type_operation(function, operands);
  if (!failure.is_final(how)) {
    run_or_delay(typed, operands, how, results);
  }
  failure.raise(typed.name);
}

} // namespace

void evaluate(const external_function &function, const call_operands &operands, ref<array_block> *results) {
  call_external(function, operands, thread_settings(), results);
}

} // namespace dynd
