#include "dynd/eval/evaluate.h"

#include <algorithm>

#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/eval/compare.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/observe.h"

namespace dynd {

namespace {

constexpr size_t lazy_budget = size_t(1) << 32; // bytes that all lazy arrays of the process may keep alive

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

element_kind kind_of_operand(const char *operation, const array_block *block) {
  element_kind kind;
  if (!find_element_kind(block->type->dtype, kind)) {
    fail(error_kind::type,
         std::string(operation) + ": there is no such operation for elements of type " + block->type->dtype->text);
  }
  return kind;
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
    element_kind kind = kind_of_operand(o.name, operands.block[i]);
    option |= kind.option && o.operand[i] != value_rule::optional;
    if (o.operand[i] == value_rule::boolean) {
      if (kind.scalar != scalar_id::bool_) {
        fail(error_kind::type,
             std::string(o.name) + ": the condition must be bool, not " + scalar_name[size_t(kind.scalar)]);
      }
      continue;
    }
    promoted = promoted ? promote(*promoted, kind.scalar) : kind.scalar;
  }
  typed.what.computation = computation_type(op, *promoted);
  typed.total = !can_fail(op, typed.what.computation);
  for (int i = 0; i < o.noutputs; i++) {
    ndt::type scalar = ndt::make_scalar(result_type(op, i, typed.what.computation));
    typed.result[i] = option ? ndt::make_option(scalar) : scalar;
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
    option |= kind_of_operand(typed.name, operands.block[i]).option;
  }
  for (int i = 0; i < types.noutputs; i++) {
    ndt::type scalar = ndt::make_scalar(types.type[i]);
    typed.result[i] = option ? ndt::make_option(scalar) : scalar;
  }
  return typed;
}

// ---- lazy results -------------------------------------------------------------------------------------------------

size_t bytes_of(const array_block &block) {
  size_t item = 0;
  for (int s = block.type->var_count; s < block.nstreams; s++) {
    item += stream_item(block, s);
  }
  return size_t(nd::count_elements(block)) * item;
}

// Whether the result may be lazy: the operation cannot fail, its memory is not written any more, and what lazy arrays
// keep alive stays bounded.
bool may_be_lazy(const typed_operation &typed, const call_operands &operands, const space &shape, const settings &how,
                 lazy_cost &cost) {
  if (typed.noutputs != 1 || !typed.total || !typed.pure || how.eager ||
      size_t(shape.count()) * max_scalar_size < lazy_from) {
    return false;
  }
  for (int i = 0; i < operands.count; i++) {
    if (!(operands.block[i]->flags & flag_ours)) {
      return false;
    }
  }
  size_t elements = value_bytes(shape, ndt::make_scalar(scalar_id::bool_));
  // As if float64, so that a < b may be lazy too.
  size_t bytes = std::max(value_bytes(shape, typed.result[0]), elements * sizeof(double));
  if (bytes < lazy_from) {
    return false;
  }
  cost = cost_of(operands.block, operands.count, bytes_of);
  cost.operations++;
  return cost.operations < max_group && cost.held <= 4 * bytes &&
         size_t(lazy_bytes.load(std::memory_order_relaxed)) + cost.held_by_inputs < lazy_budget;
}

ref<array_block> make_lazy(const typed_operation &typed, const call_operands &operands, const space &shape,
                           const axis_order &order, const lazy_cost &bounds) {
  ref<array_block> result = new_result(shape, typed.result[0], lazy_operation::bytes(operands.count), order);
  auto *lazy = reinterpret_cast<lazy_operation *>(small_data(result.get()));
  *lazy = {typed.what.op,           typed.what.computation,
           uint8_t(operands.count), uint16_t(bounds.operations),
           bounds.held_by_inputs,   nullptr};
  if (typed.what.external) {
    lazy->external = const_cast<external_function *>(typed.what.external);
    retain(lazy->external);
  }
  for (int i = 0; i < operands.count; i++) {
    retain(operands.block[i]);
    lazy->input[i] = operands.block[i];
  }
  lazy_bytes.fetch_add(intptr_t(lazy->held), std::memory_order_relaxed);
  result->lazy = lazy;
  result->state.store(array_state::lazy, std::memory_order_release);
  return result;
}

const char *name_of(const lazy_operation &op) {
  return op.external ? static_cast<const external_function *>(op.external)->kernel->name : operation_of(op.op).name;
}

// Computes a lazy array, and what is lazy below it.
void materialize_group(array_block *block) {
  settings how = thread_settings();
  ref<array_block> keep = ref<array_block>::share(block); // other owners may drop it meanwhile
  fused_task fused(name_of(*block->lazy), how);
  if (!fused.claim_root(block)) {
    return;
  }
  if (!try_direct_compute(block, how)) {
    space_of(block, fused.t.shape);
    fused.add_claimed();
    fused.add_claimed_outputs();
    fused.lower_operands();
    fused.run();
  }
  fused.finish();
}

[[maybe_unused]] const bool installed = (materialize_lazy = materialize_group, true);

// ---- at once ------------------------------------------------------------------------------------------------------

// Runs an operation now, with what is lazy below it; `fused` has its space.
void run_now(const typed_operation &typed, const call_operands &operands, const space_operands &list,
             const axis_order &order, fused_task &fused, ref<array_block> *results) {
  task &t = fused.t;
  for (int i = 0; i < typed.noutputs; i++) {
    results[i] = new_result(t.shape, typed.result[i], 0, order);
    allocate_values(results[i].get(), t.shape, t.how.watching && t.how.watching->tracing);
  }
  fused.claim(list, operands.last_use, *results[0], typed.noutputs);
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

void run_or_delay(const typed_operation &typed, const call_operands &operands, const settings &how, fused_task &fused,
                  ref<array_block> *results) {
  space_operands list = operands_of(operands);
  broadcast_space(typed.name, list, fused.t.shape);
  axis_order order = order_like(fused.t.shape, list);
  lazy_cost bounds;
  if (may_be_lazy(typed, operands, fused.t.shape, how, bounds)) {
    *results = make_lazy(typed, operands, fused.t.shape, order, bounds);
    return;
  }
  run_now(typed, operands, list, order, fused, results);
}

// ---- other elements -----------------------------------------------------------------------------------------------

bool are_behind_pointers(const array_block *block) {
  const type_data *dtype = block->type->dtype;
  element_kind kind;
  bool pointer = dtype->kind == type_kind::pointer;
  while (dtype->kind == type_kind::pointer) {
    dtype = dtype->element;
  }
  return pointer && dtype->ndim == 0 && find_element_kind(dtype, kind);
}

// Copies operands whose scalars are behind pointers, and calls `call` with the copies. False where there are none.
template <class Call> bool without_pointers(const call_operands &operands, Call call) {
  bool any = std::any_of(operands.block, operands.block + operands.count, are_behind_pointers);
  if (!any) {
    return false;
  }
  ref<array_block> kept[max_external_sources];
  array_block *block[max_external_sources];
  for (int i = 0; i < operands.count; i++) {
    kept[i] = copies_to_scalars(operands.block[i]);
    block[i] = kept[i].get();
  }
  call(call_operands{block, operands.count});
  return true;
}

bool asks_validity_of_none(op_id op, const call_operands &operands) {
  return operation_of(op).operand[0] == value_rule::presence &&
         operands.block[0]->type->dtype->kind != type_kind::option;
}

bool fills_elements(op_id op, const call_operands &operands) {
  element_kind kind;
  const type_data *dtype = operands.block[0]->type->dtype;
  return operation_of(op).operand[0] == value_rule::optional && dtype->kind == type_kind::option &&
         !find_element_kind(dtype, kind);
}

// No element can be missing: the test for validity is False everywhere.
ref<array_block> answer_without_missing(op_id op, const call_operands &operands) {
  space shape;
  broadcast_space(operation_of(op).name, operands_of(operands), shape);
  ref<array_block> result = new_result(shape, ndt::make_scalar(scalar_id::bool_));
  allocate_values(result.get(), shape, true);
  return result;
}

} // namespace

ref<array_block> copies_to_scalars(array_block *operand) {
  if (!are_behind_pointers(operand)) {
    return ref<array_block>::share(operand);
  }
  ndt::type dtype(operand->type->dtype);
  while (dtype->kind == type_kind::pointer) {
    dtype = dtype.element();
  }
  return copy_values(operand, access_mode::immutable, dtype);
}

void evaluate(op_id op, const call_operands &operands, ref<array_block> *results) {
  check_count(op, operands);
  const settings &how = thread_settings();
  if (try_direct(op, operands, how, results)) [[likely]] {
    return;
  }
  if (compares_elements(op, operands)) {
    *results = compare_elements(op, operands.block[0], operands.block[1], how);
    return;
  }
  if (without_pointers(operands, [&](const call_operands &read) { evaluate(op, read, results); })) {
    return;
  }
  if (fills_elements(op, operands)) {
    *results = fill_elements(operation_of(op).name, operands.block[0], operands.block[1], how);
    return;
  }
  if (asks_validity_of_none(op, operands)) {
    *results = answer_without_missing(op, operands);
    return;
  }
  typed_operation typed = type_operation(op, operands);
  fused_task fused(typed.name, how);
  run_or_delay(typed, operands, how, fused, results);
}

void evaluate(const external_function &function, const call_operands &operands, ref<array_block> *results) {
  const settings &how = thread_settings();
  direct_failure failure;
  if (try_direct(function, operands, how, results, failure)) {
    return;
  }
  if (without_pointers(operands, [&](const call_operands &read) { evaluate(function, read, results); })) {
    return;
  }
  typed_operation typed = type_operation(function, operands);
  fused_task fused(typed.name, how);
  fused.t.flaky = true;
  fused.t.keep_lock = function.has(dynd_callable_python_lock);
  fused.t.one_thread = fused.t.keep_lock || function.has(dynd_callable_one_thread);
  run_or_delay(typed, operands, how, fused, results);
  if (failure.status) { // it failed the first time, and not again
    fail(kind_of(failure.status), std::string(typed.name) + ": " + (failure.text[0] ? failure.text : "failed"));
  }
}

} // namespace dynd
