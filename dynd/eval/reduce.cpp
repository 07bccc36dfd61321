// Reductions: over everything in C order, or over one axis. The order of a summation depends only on the index within
// the logical row and its length, never on layout, threads or fusion.
#include <algorithm>
#include <cstring>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/observe.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

// Fails if a row is empty, naming the first. The operand's axis may have been another one before.
void fail_if_empty(const reduction &r, array_block *operand, int axis, int shown_axis) {
  stream_room room;
  for_each_place(cursor::over_rows(*operand, room), axis, [&](const cursor &row, const intptr_t *index) {
    if (row.size() == 0) {
      std::string where = operand->ndim == 1         ? "the array"
                          : row.is_var() && axis > 0 ? row_text({index, size_t(axis)})
                                                     : "axis " + std::to_string(shown_axis);
      fail(error_kind::value,
           std::string(r.name) + ": " + where + " is empty, and " + r.name + " of no elements is not defined");
    }
  });
}

// What a reduction computes in, and its result.
struct typed_reduction {
  const reduction &of;
  element_kind element;
  scalar_id accumulator;
  ndt::type result; ///< of the accumulators: what the task writes
  bool missing;     ///< the result is missing where nothing is left: of what has no value for no elements

  typed_reduction(reduction_id id, const array_block *operand) : of(reduction_of(id)) {
    if (!find_element_kind(operand->type->dtype, element)) {
      fail(error_kind::type,
           std::string(of.name) + ": there is no such operation for elements of type " + operand->type->dtype->text);
    }
    accumulator = accumulator_type(id, element.scalar);
    missing = element.option && of.empty == empty_rule::none;
    result = number_type(accumulator, missing);
  }
  bool empty_fails() const { return of.empty == empty_rule::none && !element.option; }
};

// The identity, which changes nothing that it is combined with: the fold of no elements.
uint8_t identity_of(fused_task &fused, const typed_reduction &typed) {
  const reduce_functions &functions = isa().reduce(typed.of.id, typed.accumulator);
  alignas(64) char lanes[64], value[max_scalar_size];
  functions.block(lanes, lanes, 0);
  functions.fold(value, lanes);
  return fused.constant(typed.accumulator, value);
}

// The program: the operand with what is lazy below it, missing elements as the identity, reduced to `place`.
void add_reduction(fused_task &fused, const typed_reduction &typed, array_block *operand, bool last_use,
                   array_block *place) {
  fused.claim({operand}, last_use ? 1 : 0, *operand, 1);
  fused.add_claimed();
  value_registers x = fused.registers_of(operand);
  program &p = fused.t.p;
  uint8_t value = p.converted(x.value, typed.accumulator);
  if (x.valid != no_register) {
    value = p.add_operation(logic::chosen, typed.accumulator, {x.valid, value, identity_of(fused, typed)});
  }
  fused.add_claimed_outputs();
  int stream = place->type->var_count;
  if (typed.missing) {
    fused.add_reduced(x.valid, logic::any, false, place, stream++);
  }
  fused.add_reduced(value, typed.of.id, typed.empty_fails(), place, stream);
}

// ---- one axis -----------------------------------------------------------------------------------------------------

// Moves the axis to the end: in the task, not in the arrays, so that lazy operands are absorbed.
void move_axis_to_end(task &t, int axis) {
  int axes[max_ndim];
  for (int d = 0, k = 0; d < t.shape.ndim; d++) {
    axes[d == axis ? t.shape.ndim - 1 : k] = d;
    k += d != axis;
  }
  permute(t, axes);
}

space without_axis(const space &shape, int axis) {
  space outside = shape;
  outside.for_each_axis_array(
      [&](auto *of_axis) { std::copy(of_axis + axis + 1, of_axis + shape.ndim, of_axis + axis); });
  outside.ndim--;
  if (shape.is_var(axis)) {
    int removed = shape.slot_index[axis];
    outside.nvar--;
    outside.slots.erase(outside.slots.begin() + removed);
    for (int d = 0; d < outside.ndim; d++) {
      outside.slot_index[d] -= outside.is_var(d) && outside.slot_index[d] > removed;
    }
  }
  return outside;
}

// Rows of one length for every `var` axis: as many as the axes outside have.
void make_equal_rows(space &shape, const space &regular) {
  std::vector<std::vector<int64_t>> offsets(size_t(shape.nvar));
  int64_t rows = 1;
  for (int d = 0; d < shape.ndim; d++) {
    for (int64_t r = 0; shape.is_var(d) && r <= rows; r++) {
      offsets[size_t(shape.slot_index[d])].push_back(r * regular.size[d]);
    }
    rows *= regular.size[d];
  }
  make_slots(shape, offsets);
}

// The task of a reduction along `axis`, lowered and run.
void run_reduction(fused_task &fused, const typed_reduction &typed, array_block *operand, int axis, int shown_axis) {
  task &t = fused.t;
  if (axis != t.shape.ndim - 1) {
    move_axis_to_end(t, axis);
  }
  t.nreduced = 1;
  try {
    fused.run();
  } catch (const error &e) {
    if (e.kind() == error_kind::value) { // an empty row, most likely: which one?
      fail_if_empty(typed.of, operand, axis, shown_axis);
    }
    throw;
  }
  fused.finish();
}

ref<array_block> reduce_axis(const typed_reduction &typed, array_block *operand, bool last_use, int axis,
                             int shown_axis, const settings &how) {
  fused_task fused(typed.of.name, how);
  task &t = fused.t;
  broadcast_space(typed.of.name, {operand}, t.shape);
  space outside = without_axis(t.shape, axis);
  bool nothing = t.shape.size[axis] == 0; // of rows without elements: zeros, or missing
  ref<array_block> result = new_result(outside, typed.result, nothing || is_tracing(how));
  if (outside.count() == 0) {
    return result;
  }
  if (nothing && typed.empty_fails()) {
    fail_if_empty(typed.of, operand, axis, shown_axis);
  }
  if (nothing) {
    return result;
  }
  nd::array place = nd::with_unit_axis(nd::array(result), axis);
  add_reduction(fused, typed, operand, last_use, place.get());
  fused.lower_operands();
  run_reduction(fused, typed, operand, axis, shown_axis);
  return result;
}

// For an axis outside of rows that all have one length: the rows are taken as axes of that size. Else null.
ref<array_block> try_reduce_regular(const typed_reduction &typed, array_block *operand, bool last_use, int axis,
                                    const settings &how) {
  fused_task fused(typed.of.name, how);
  task &t = fused.t;
  broadcast_space(typed.of.name, {operand}, t.shape);
  if (!has_equal_rows(t.shape) || t.shape.count() == 0) {
    return {};
  }
  space regular = t.shape;
  for (int d = 0; d < regular.ndim; d++) {
    if (regular.is_var(d)) {
      const offsets_run &run = t.shape.slots[size_t(t.shape.slot_index[d])].run;
      regular.size[d] = run[1] - run[0];
    }
  }
  regular.nvar = 0;
  regular.slots.clear();
  space outside = without_axis(t.shape, axis);
  make_equal_rows(outside, without_axis(regular, axis));
  ref<array_block> result = new_result(outside, typed.result);
  // The values of the result with one size in every axis.
  ref<array_block> flat = new_lazy_result(without_axis(regular, axis), typed.result);
  for (int s = 0; s < typed.result->nstreams; s++) {
    flat->streams()[s] = shared_stream(*result, outside.nvar + s);
  }
  nd::array place = nd::with_unit_axis(nd::array(flat), axis);
  add_reduction(fused, typed, operand, last_use, place.get());
  fused.lower_operands();
  align(t);
  if (!make_rows_regular(t)) {
    return {};
  }
  run_reduction(fused, typed, operand, axis, axis);
  return result;
}

// ---- everything ---------------------------------------------------------------------------------------------------

bool try_reduce_all(const typed_reduction &typed, array_block *operand, bool last_use, array_block *result,
                    const settings &how) {
  fused_task fused(typed.of.name, how);
  broadcast_space(typed.of.name, {operand}, fused.t.shape);
  add_reduction(fused, typed, operand, last_use, result);
  fused.t.nreduced = fused.t.shape.ndim;
  fused.t.one_row = true;
  fused.lower_operands();
  if (!fused.run()) {
    return false;
  }
  fused.finish();
  return true;
}

ref<array_block> reduce_all(const typed_reduction &typed, array_block *operand, bool last_use, const settings &how) {
  const char zero[max_scalar_size] = {};
  ref<array_block> result = typed.missing ? new_result({}, typed.result, true) : new_scalar(typed.accumulator, zero);
  if (nd::count_elements(*operand) == 0) {
    if (typed.empty_fails()) {
      fail(error_kind::value, std::string(typed.of.name) + ": the array is empty, and nothing has no " + typed.of.name);
    }
    return result;
  }
  if (!try_reduce_all(typed, operand, last_use, result.get(), how)) {
    // Ragged in a way that cannot be walked as one row.
    ref<array_block> copied = copy_values(operand, access_mode::immutable);
    if (!try_reduce_all(typed, copied.get(), false, result.get(), how)) {
      fail(error_kind::internal, std::string(typed.of.name) + ": a copy in C order is not one row");
    }
  }
  return result;
}

ref<array_block> reduce(const typed_reduction &typed, array_block *operand, bool last_use, std::optional<int> axis,
                        bool keepdims, const settings &how) {
  int ndim = operand->ndim;
  if (!axis) {
    nd::array result(reduce_all(typed, operand, last_use, how));
    for (int d = 0; keepdims && d < ndim; d++) {
      result = nd::with_unit_axis(result, 0);
    }
    return ref<array_block>::share(result.get());
  }
  int at = *axis;
  if (at < -ndim || at >= ndim) {
    fail(error_kind::index, std::string(typed.of.name) + ": axis " + std::to_string(at) + " is out of bounds for " +
                                std::to_string(ndim) + " dimension(s)");
  }
  at += at < 0 ? ndim : 0;
  ref<array_block> result;
  bool ragged = operand->slot_stream(at + 1) < operand->type->var_count; // below the axis
  bool shown = is_tracing(how) && at < ndim - 1;                         // a trace shows the rows that are reduced
  if (ragged && !shown) {
    result = try_reduce_regular(typed, operand, last_use, at, how);
  }
  if ((ragged || shown) && !result) {
    ref<array_block> moved = move_axis_inside(typed.of.name, operand, at);
    result = reduce_axis(typed, moved.get(), false, ndim - 1, at, how);
  } else if (!ragged) {
    result = reduce_axis(typed, operand, last_use, at, at, how);
  }
  if (keepdims) {
    nd::array kept = nd::with_unit_axis(nd::array(result), at);
    return ref<array_block>::share(kept.get());
  }
  return result;
}

} // namespace

ref<array_block> evaluate(reduction_id id, array_block *operand, bool last_use, std::optional<int> axis,
                          bool keepdims) {
  settings how = thread_settings();
  ref<array_block> read; // else no reference is added: it would count as another owner of a lazy operand
  if (operand->type->dtype->kind == type_kind::pointer) {
    read = copies_to_scalars(operand);
    operand = read.get();
    last_use = false;
  }
  typed_reduction typed(id, operand);
  ref<array_block> result = reduce(typed, operand, last_use, axis, keepdims, how);
  scalar_id to = result_type(id, typed.element.scalar);
  if (to == typed.accumulator) {
    return result;
  }
  return copy_values(result.get(), access_mode::immutable, number_type(to, typed.missing), error_mode::nocheck);
}

} // namespace dynd
