#include "dynd/eval/scan.h"

#include <algorithm>
#include <array>
#include <vector>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/observe.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

// What a scan computes, and in which type.
struct typed_scan {
  const char *name;
  op_id combine;
  element_kind element;
  scalar_id accumulator;
  bool include_initial;

  ndt::type result() const { return number_type(accumulator, element.option); }
};

uint8_t identity_of(fused_task &fused, const typed_scan &typed) {
  alignas(16) char value[max_scalar_size];
  isa().scan(scan_by(typed.combine)->id, typed.accumulator).identity(value);
  return fused.constant(typed.accumulator, value);
}

// The program: the operand with what is lazy below it, then its running values, to `place`. A missing element counts as
// the identity, but for complex numbers, which no product leaves alone: there it is left out.
void add_scan(fused_task &fused, const typed_scan &typed, array_block *operand, bool last_use, array_block *place) {
  fused.claim({operand}, last_use ? 1 : 0, *operand, 1);
  fused.add_claimed();
  value_registers x = fused.registers_of(operand);
  program &p = fused.t.p;
  uint8_t value = p.converted(x.value, typed.accumulator), valid = no_register;
  int stream = place->type->var_count;
  if (x.valid != no_register && is_complex(typed.accumulator)) {
    valid = x.valid;
  } else if (x.valid != no_register) {
    value = p.add_operation(logic::chosen, typed.accumulator, {x.valid, value, identity_of(fused, typed)});
  }
  fused.add_claimed_outputs();
  if (x.valid != no_register) {
    fused.add_output(x.valid, place, stream++);
  }
  fused.add_output(p.scanned(typed.combine, value, no_register, valid), place, stream);
  fused.t.scans = true;
}

// ---- include_initial ----------------------------------------------------------------------------------------------

// The space with one more element along the axis. Nothing below the axis is `var`.
void grow_axis(const char *name, array_block *operand, int axis, space &shape) {
  if (!shape.is_var(axis)) {
    if (__builtin_add_overflow(shape.size[axis], 1, &shape.size[axis])) {
      fail(error_kind::memory, std::string(name) + ": the result is too large");
    }
    return;
  }
  std::vector<std::vector<int64_t>> offsets = measure_rows(name, {operand}, shape);
  std::vector<int64_t> &own = offsets[size_t(shape.slot_index[axis])];
  for (size_t r = 0; r < own.size(); r++) {
    own[r] += int64_t(r);
  }
  make_slots(shape, offsets);
}

// The elements of the array from `start` to `stop` along an axis.
nd::array part_along(const nd::array &a, int axis, std::optional<intptr_t> start, std::optional<intptr_t> stop) {
  std::vector<nd::index> indices(size_t(axis), {nd::index::slice, 0, {}, {}, {}});
  indices.push_back({nd::index::slice, 0, start, stop, {}});
  return nd::at(a, indices);
}

// The value of no elements.
nd::array initial_value(const typed_scan &typed) {
  alignas(16) char value[max_scalar_size];
  isa().scan(scan_by(typed.combine)->id, typed.accumulator).initial(value);
  return nd::array(new_scalar(typed.accumulator, value));
}

// ---- the axis -----------------------------------------------------------------------------------------------------

// Moves the axis to the end: in the task, not in the arrays, so that lazy operands are absorbed.
void move_axis_to_end(task &t, int axis) {
  int axes[max_ndim];
  for (int d = 0, k = 0; d < t.shape.ndim; d++) {
    axes[d == axis ? t.shape.ndim - 1 : k] = d;
    k += d != axis;
  }
  permute(t, axes);
}

// Null where rows below the axis are not all of one length.
ref<array_block> try_scan(const typed_scan &typed, array_block *operand, bool last_use, int axis, bool ragged_below,
                          const settings &how) {
  fused_task fused(typed.name, how);
  task &t = fused.t;
  broadcast_space(typed.name, {operand}, t.shape);
  if (ragged_below && (!has_equal_rows(t.shape) || typed.include_initial)) {
    return {};
  }
  space shape = t.shape;
  if (typed.include_initial) {
    grow_axis(typed.name, operand, axis, shape);
  }
  ref<array_block> result = new_result(shape, typed.result(), is_tracing(how), order_like(shape, {operand}));
  nd::array place(result);
  if (typed.include_initial) {
    result->access = access_mode::readwrite; // for the views: those of rows of an immutable array may be copies
    assign(part_along(place, axis, {}, 1).get(), initial_value(typed).get());
    place = part_along(place, axis, 1, {});
    result->access = access_mode::immutable;
  }
  add_scan(fused, typed, operand, last_use, place.get());
  fused.lower_operands();
  if (ragged_below) {
    align(t);
    if (!make_rows_regular(t)) {
      return {};
    }
  }
  if (axis != t.shape.ndim - 1) {
    move_axis_to_end(t, axis);
  }
  fused.run();
  fused.finish();
  return result;
}

ref<array_block> run_scan(const typed_scan &typed, array_block *operand, bool last_use, int axis, const settings &how) {
  bool ragged = operand->slot_stream(axis + 1) < operand->type->var_count; // below the axis
  bool shown = is_tracing(how) && axis < operand->ndim - 1;                // a trace shows the rows that are scanned
  if (!shown) {
    if (ref<array_block> result = try_scan(typed, operand, last_use, axis, ragged, how)) {
      return result;
    }
  }
  ref<array_block> moved = move_axis_inside(typed.name, operand, axis, operand->ndim - 1);
  ref<array_block> scanned = try_scan(typed, moved.get(), false, operand->ndim - 1, false, how);
  return move_axis_back(scanned.get(), *operand, axis, typed.include_initial);
}

int checked_axis(const char *name, const array_block &operand, std::optional<int> axis) {
  int ndim = operand.ndim;
  if (!axis && ndim != 1) {
    fail(error_kind::value, std::string(name) + ": an array of " + std::to_string(ndim) + " dimensions needs axis=");
  }
  int at = axis.value_or(0);
  if (at < -ndim || at >= ndim) {
    fail(error_kind::index, std::string(name) + ": axis " + std::to_string(at) + " is out of bounds for " +
                                std::to_string(ndim) + " dimension(s)");
  }
  return at < 0 ? at + ndim : at;
}

// Small dense arrays, along the last axis: one call of the compiled loop.
ref<array_block> try_direct_scan(const typed_scan &typed, array_block *operand, int axis, const settings &how) {
  constexpr intptr_t most_converted = 128;
  bool dense = (operand->flags & flag_dense) && operand->has_scalars() &&
               operand->state.load(std::memory_order_acquire) == array_state::ready;
  if (!how.direct || how.watching || !dense || typed.include_initial || axis != operand->ndim - 1 ||
      operand->count == 0 || size_t(operand->count) * max_scalar_size >= lazy_from ||
      (operand->scalar() != typed.accumulator && operand->count > most_converted)) {
    return {};
  }
  size_t length = size_t(operand->size()[axis]), count = size_t(operand->count);
  intptr_t stride = intptr_t(length * scalar_size[size_t(typed.accumulator)]);
  alignas(64) char converted[size_t(most_converted) * max_scalar_size];
  const char *x = operand->values().address;
  const type_data *type = operand->type;
  if (operand->scalar() != typed.accumulator) {
    isa().convert(typed.accumulator, operand->scalar())(converted, x, nullptr, nullptr, count, nullptr);
    x = converted;
    type = ndt::with_dtype(ndt::type(type), ndt::make_scalar(typed.accumulator)).get();
  }
  ref<array_block> result = new_dense(type, operand->size());
  isa()
      .scan(scan_by(typed.combine)->id, typed.accumulator)
      .rows_fixed(result->values().address, stride, x, stride, length, count / length);
  return result;
}

} // namespace

ref<array_block> evaluate(scan_id id, array_block *operand, bool last_use, std::optional<int> axis,
                          bool include_initial) {
  settings how = thread_settings();
  ref<array_block> read; // else no reference is added: it would count as another owner of a lazy operand
  if (operand->type->dtype->kind == type_kind::pointer) {
    read = copies_to_scalars(operand);
    operand = read.get();
    last_use = false;
  }
  typed_scan typed{scan_of(id).name, scan_of(id).combine, {}, {}, include_initial};
  if (!find_element_kind(operand->type->dtype, typed.element)) {
    fail(error_kind::type,
         std::string(typed.name) + ": there is no such operation for elements of type " + operand->type->dtype->text);
  }
  typed.accumulator = accumulator_type(id, typed.element.scalar);
  int at = checked_axis(typed.name, *operand, axis);
  ref<array_block> result = try_direct_scan(typed, operand, at, how);
  result = result ? std::move(result) : run_scan(typed, operand, last_use, at, how);
  if (typed.element.scalar != scalar_id::float16) {
    return result;
  }
  return copy_values(result.get(), access_mode::immutable, number_type(scalar_id::float16, typed.element.option),
                     error_mode::nocheck);
}

} // namespace dynd
