#include "dynd/eval/row_functions.h"

#include <algorithm>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/merge_axes.h"
#include "dynd/eval/observe.h"

namespace dynd {

using namespace arithmetic;

deviations add_deviations(row_steps &s, uint8_t mean, bool with_sum) {
  uint8_t d = s(difference, s.value, s.repeated(mean));
  return {with_sum ? s.fold(s.weighted(d), sum) : no_register, s.fold(s.weighted(s(square, d)), sum)};
}

uint8_t finish_variance(row_steps &s, const row_operation &what, uint8_t squares, uint8_t count) {
  if (what.correction != 0) {
    count = s(larger, s(difference, count, s.constant(what.correction)), s.constant(0));
  }
  uint8_t variance = s(quotient, squares, count);
  return what.function == row_function::deviation ? s(root, variance) : variance;
}

space_operands row_call::operands() const {
  space_operands list{operand};
  for (array_block *other : {where, weights}) {
    if (other) {
      list.push_back(other);
    }
  }
  return list;
}

void take_operands(row_steps &s, fused_task &fused, const row_call &call) {
  value_registers x = fused.registers_of(call.operand);
  s.take(x);
  if (call.where) {
    value_registers mask = fused.registers_of(call.where);
    s.skip_where_not(mask.valid);
    s.skip_where_not(mask.value);
  }
  if (call.weights) {
    s.weigh(fused.registers_of(call.weights));
  }
  if (call.skips_nan) {
    program &p = fused.t.p;
    s.skip_where_not(p.add_operation(equal, p.type[x.value], {x.value, x.value}));
  }
}

uint8_t add_row_function(fused_task &fused, const row_operation &what, scalar_id type, const value_registers &x) {
  row_steps s(fused, type);
  s.take(x);
  return add_row_function(s, what);
}

uint8_t add_row_function(row_steps &s, const row_operation &what) {
  if (what.function == row_function::largest) {
    return s.finite_or_zero(s.fold(s.value, largest));
  }
  if (what.function == row_function::total) {
    return s.fold(s.value, sum);
  }
  uint8_t count = s.count();
  uint8_t mean = s(quotient, s.fold(s.weighted(s.value), sum), count);
  return what.function == row_function::mean ? mean
                                             : finish_variance(s, what, add_deviations(s, mean, false).squares, count);
}

namespace {

space without_last(const space &shape) { return shape.without(shape.ndim - 1); }

// Whether the rows along the axis are read one after another as they are in memory: no other axis jumps less. Of ?T the
// values are asked: only time depends on it.
bool are_rows_inside(const array_block &block, int axis) {
  const intptr_t *stride = block.value_strides();
  for (int d = 0; d < block.ndim; d++) {
    if (d != axis && block.size()[d] > 1 && block.size()[axis] > 1 && std::abs(stride[d]) < std::abs(stride[axis])) {
      return false;
    }
  }
  return true;
}

// A view with so many dimensions, one of them last.
nd::array with_axis_last(array_block *block, int axis, int ndim) {
  nd::array a(ref<array_block>::share(block));
  while (a.ndim() < ndim) {
    a = nd::with_unit_axis(a, 0);
  }
  return nd::with_axis_moved(a, axis, ndim - 1);
}

// All rows are short: one kernel.
ref<array_block> run_rows(const row_call &call, fused_task &fused, scalar_id type) {
  task &t = fused.t;
  ref<array_block> result = new_result(without_last(t.shape), number_type(type, false), is_tracing(t.how));
  nd::array place = nd::with_unit_axis(nd::array(result), t.shape.ndim - 1);
  fused.claim(call.operands(), call.last_uses(), *call.operand, 1);
  fused.add_claimed();
  row_steps s(fused, type);
  take_operands(s, fused, call);
  uint8_t reg = add_row_function(s, call.what);
  fused.add_claimed_outputs();
  fused.add_output(reg, place.get(), place.get()->type->var_count);
  fused.lower_operands();
  t.nreduced = 1;
  fused.run();
  fused.finish();
  return result;
}

ref<array_block> run_long_rows(const row_call &call, const space &shape, scalar_id type, const settings &how) {
  space outside = call.all ? space() : without_last(shape), rows;
  ref<array_block> result = new_result(outside, number_type(type, false));
  rows.ndim = 1; // without the dimensions of the result
  rows.size[0] = outside.count();
  ref<array_block> flat = new_lazy_result(rows, number_type(type, false));
  flat->values() = shared_stream(*result, outside.nvar);
  if (combine_blocks(call, type, how, flat.get())) {
    return result;
  }
  ref<array_block> in_c_order = copy_values(call.operand, access_mode::immutable);
  row_call again = call;
  again.operand = in_c_order.get();
  again.last_use = again.where_last_use = false;
  space all;
  broadcast_space(call.what.name, {again.operand}, all);
  ref<array_block> spread[2];
  if (call.where) {
    again.where = (spread[0] = spread_copy(call.what.name, call.where, all)).get();
  }
  if (call.weights) {
    again.weights = (spread[1] = spread_copy(call.what.name, call.weights, all)).get();
  }
  if (!combine_blocks(again, type, how, flat.get())) {
    fail(error_kind::internal, std::string(call.what.name) + ": a copy in C order has no blocks");
  }
  return result;
}

// The type that elements are computed in; false where there is none.
bool find_computation(const array_block &operand, scalar_id &type) {
  element_kind kind;
  bool found = find_element_kind(operand.type->dtype, kind) && is_in(type_set::ordered, kind.scalar);
  type = !found || !is_in(type_set::floats, kind.scalar) ? scalar_id::float64
         : kind.scalar == scalar_id::float16             ? scalar_id::float32
                                                         : kind.scalar;
  return found;
}

space with_one_last(const space &shape) {
  space kept = without_last(shape);
  int last = kept.ndim++;
  kept.size[last] = 1;
  kept.fixed[last] = false;
  for (space_slots &slots : kept.slots) {
    slots.stride[last] = 0;
  }
  return kept;
}

// A lazy result, where it may be. Functions of rows cannot fail.
ref<array_block> try_delay(const row_call &call, scalar_id type, const space &shape, const settings &how) {
  intptr_t count = shape.count();
  size_t bytes = size_t(count) * sizeof(double), held;
  if (!call.keepdims || !call.takes_all() || count < 0 || !may_be_lazy(&call.operand, 1, bytes, how, held)) {
    return {};
  }
  ref<array_block> result = new_lazy_result(with_one_last(shape), number_type(type, false), lazy_operation::bytes(1));
  auto destroy = [](counted *self) noexcept { delete static_cast<lazy_row_operation *>(self); };
  auto what = ref<counted>::adopt(new lazy_row_operation{{1, destroy}, call.what});
  make_lazy(result.get(), {{}, type, 1, true, held, what.get()}, &call.operand);
  return result;
}

ref<array_block> evaluate_last_axis(const row_call &call, scalar_id type, const settings &how) {
  fused_task fused(call.what.name, how);
  broadcast_space(call.what.name, {call.operand}, fused.t.shape);
  bool in_blocks = is_variance(call.what.function) && has_long_rows(fused.t.shape);
  if (ref<array_block> lazy = in_blocks ? ref<array_block>() : try_delay(call, type, fused.t.shape, how)) {
    return lazy;
  }
  ref<array_block> result = in_blocks ? run_long_rows(call, fused.t.shape, type, how) : run_rows(call, fused, type);
  int last = call.operand->ndim - 1;
  return call.keepdims ? ref<array_block>::share(nd::with_unit_axis(nd::array(result), last).get()) : std::move(result);
}

ref<array_block> evaluate_all(const row_call &call, scalar_id type, const settings &how) {
  space shape;
  broadcast_space(call.what.name, {call.operand}, shape);
  bool in_blocks = is_variance(call.what.function) && nd::count_elements(*call.operand) > block_elements;
  return in_blocks ? run_long_rows(call, shape, type, how) : ref<array_block>();
}

} // namespace

ref<array_block> evaluate_rows(const row_call &call, const settings &how) {
  int ndim = call.operand->ndim, axis = call.axis + (call.axis < 0 ? ndim : 0);
  scalar_id type;
  bool last = axis == ndim - 1;
  auto is_ragged = [](const space_operand &x) { return x.block->type->var_count > 0; };
  space_operands all = call.operands();
  if (!find_computation(*call.operand, type) ||
      (!last && !call.all && std::any_of(all.begin(), all.end(), is_ragged))) {
    return {};
  }
  if (call.all) {
    return evaluate_all(call, type, how);
  }
  bool inside = call.operand->type->var_count > 0 || are_rows_inside(*call.operand, axis);
  bool long_rows = is_variance(call.what.function) && call.operand->size()[axis] > block_elements;
  if (!inside && !long_rows) {
    return {};
  }
  ref<array_block> result;
  if (last) {
    result = evaluate_last_axis(call, type, how);
  } else {
    nd::array moved = with_axis_last(call.operand, axis, ndim), where, weights;
    row_call inner = call;
    inner.operand = moved.get();
    inner.last_use = inner.where_last_use = inner.keepdims = false;
    if (call.where) {
      inner.where = (where = with_axis_last(call.where, axis, ndim)).get();
    }
    if (call.weights) {
      inner.weights = (weights = with_axis_last(call.weights, axis, ndim)).get();
    }
    result = evaluate_last_axis(inner, type, how);
  }
  element_kind kind;
  find_element_kind(call.operand->type->dtype, kind);
  if (kind.scalar == scalar_id::float16) {
    result = copy_values(result.get(), access_mode::immutable, ndt::make_scalar(kind.scalar), error_mode::nocheck);
  }
  bool keep = call.keepdims && !last;
  return keep ? ref<array_block>::share(nd::with_unit_axis(nd::array(result), axis).get()) : std::move(result);
}

} // namespace dynd
