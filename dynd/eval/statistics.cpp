// Mean, variance and what else is made of several folds. The folds of one pass are together; what follows is computed
// from their results.
#include "dynd/eval/statistics.h"

#include <algorithm>
#include <cmath>

#include "dynd/base/errors.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/row_functions.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

// The type in which it is computed: integers and bool in float64, float16 in float32.
scalar_id computed_type(const reduction_call &call) {
  scalar_id own = call.element.scalar;
  return is_in(type_set::floats, own) ? (own == scalar_id::float16 ? scalar_id::float32 : own) : scalar_id::float64;
}

// How many elements each row has, where that is the same for all; else -1.
intptr_t known_count(const reduction_call &call) {
  intptr_t count = 1;
  for (int d = 0; d < call.axes.ndim; d++) {
    if (call.axes.has[d]) {
      if (call.operand->is_var(d)) {
        return -1;
      }
      count *= call.operand->size()[d];
    }
  }
  return call.skips() || call.keywords.weights ? -1 : count;
}

// A sum, and what it is divided by for a mean: how many elements, or the sum of their weights.
struct sum_and_count {
  ref<array_block> sum, count;
};

// `value` adds the steps from the registers of the operands to what is added up, a number of `type`.
template <class Value>
sum_and_count add_up(const reduction_call &call, reduction_spec &spec, scalar_id type, Value value) {
  fold sum{arithmetic::sum, type};
  intptr_t known = known_count(call);
  spec.add_result(ndt::make_scalar(type), {sum});
  if (known < 0) {
    spec.add_result(ndt::make_scalar(type), {sum});
  }
  spec.before = [&](fused_task &fused, const value_registers *in, uint8_t *folded) {
    program &p = fused.t.p;
    uint8_t present = call.present(fused, in), weight = call.weight(fused, in, type), x = value(p, in);
    x = weight == no_register ? x : p.add_operation(arithmetic::product, type, {x, weight});
    folded[0] = present_or_nothing(fused, present, x, sum);
    if (known < 0 && weight != no_register) {
      folded[1] = present_or_nothing(fused, present, weight, sum);
    } else if (known < 0) {
      folded[1] = p.converted(fused.valid_or_true({no_register, present}), type);
    }
  };
  ref<array_block> found[max_folds];
  reduce(spec, found);
  return {std::move(found[0]), known < 0 ? std::move(found[1]) : number_of(type, double(known))};
}

ref<array_block> mean_in(const reduction_call &call, scalar_id type, unsigned last_use) {
  reduction_spec spec = call.spec();
  spec.last_use = last_use;
  sum_and_count of =
      add_up(call, spec, type, [&](program &p, const value_registers *in) { return p.converted(in[0].value, type); });
  return apply(arithmetic::quotient, {of.sum.get(), of.count.get()}, call.how);
}

} // namespace

ref<array_block> try_rows(const reduction_call &call) {
  row_function function = call.what.kind == aggregate_kind::mean       ? row_function::mean
                          : call.what.kind == aggregate_kind::variance ? row_function::variance
                                                                       : row_function::deviation;
  bool known = function != row_function::deviation || call.what.kind == aggregate_kind::deviation;
  bool one_axis = call.axes.count == 1, all = call.axes.all() && call.axes.count > 1;
  if (!known || !(one_axis || all) || (all && call.element.scalar == scalar_id::float16)) {
    return {};
  }
  row_call rows{{call.what.name, function, call.keywords.correction}, call.operand, call.last_use};
  rows.axis = call.axes.first();
  rows.keepdims = call.keywords.keepdims && one_axis;
  rows.all = all;
  rows.where = call.keywords.where;
  rows.where_last_use = call.keywords.where && call.keywords.where_last_use;
  rows.weights = call.keywords.weights;
  rows.skips_nan = call.skips_nan();
  ref<array_block> result = evaluate_rows(rows, call.how);
  return result && call.keywords.keepdims && all ? with_axes_kept(std::move(result), call.axes) : std::move(result);
}

ref<array_block> mean(const reduction_call &call) { return mean_in(call, computed_type(call), call.spec().last_use); }

// Two passes: the mean, then the squared distances from it.
ref<array_block> variance(const reduction_call &call) {
  scalar_id type = computed_type(call), real = real_type(type);
  ref<array_block> mean = with_axes_kept(mean_in(call, type, 0), call.axes);
  reduction_spec spec = call.spec();
  int at = spec.operands.size();
  spec.operands.push_back(mean.get());
  sum_and_count of = add_up(call, spec, real, [&](program &p, const value_registers *in) {
    uint8_t distance = p.add_operation(arithmetic::difference, type, {p.converted(in[0].value, type), in[at].value});
    distance = type == real ? distance : p.add_operation(arithmetic::magnitude, type, {distance});
    return p.add_operation(arithmetic::square, real, {distance});
  });
  if (call.keywords.correction != 0) {
    ref<array_block> correction = number_of(real, call.keywords.correction), zero = number_of(real, 0);
    of.count = apply(arithmetic::difference, {of.count.get(), correction.get()}, call.how);
    of.count = apply(arithmetic::larger, {of.count.get(), zero.get()}, call.how);
  }
  return apply(arithmetic::quotient, {of.sum.get(), of.count.get()}, call.how);
}

ref<array_block> norm(const reduction_call &call) {
  scalar_id type = computed_type(call), real = real_type(type);
  fold sum{arithmetic::sum, real};
  auto squared = [&](fused_task &fused, const value_registers *in) {
    program &p = fused.t.p;
    uint8_t x = p.converted(in[0].value, type);
    x = type == real ? x : p.add_operation(arithmetic::magnitude, type, {x});
    x = p.add_operation(arithmetic::square, real, {x});
    return present_or_nothing(fused, call.present(fused, in), x, sum);
  };
  return apply(arithmetic::root, {reduce(call.spec(), ndt::make_scalar(real), sum, squared).get()}, call.how);
}

namespace {

// The direct step of a product of vectors.
ref<array_block> try_direct_products(array_block *a, array_block *b, scalar_id type, const settings &how) {
  const reduce_functions &sum = isa().reduce(arithmetic::sum, type);
  auto is_plain = [&](const array_block &x) {
    return x.ndim == 1 && is_dense_and_ready(&x) && x.scalar() == type && x.count > 0 && x.count <= max_direct_elements;
  };
  if (!may_be_direct(how) || !sum.products.lanes || !is_plain(*a) || !is_plain(*b) || a->count != b->count) {
    return {};
  }
  alignas(64) char lanes[64], value[max_scalar_size];
  sum.products.lanes(lanes, a->values().address, b->values().address, size_t(a->count));
  sum.fold(value, lanes);
  return new_scalar(type, value);
}

// The array, or a copy of it whose rows along the axis follow each other.
nd::array with_rows(array_block *block, int axis) {
  nd::array a(ref<array_block>::share(block));
  return !a->is_var(axis) || rows_of(*block, block->slot_stream(axis)) ? a : compact(a, axis);
}

// How many elements such an array has along the axis; -1 where its rows differ.
int64_t length_along(const nd::array &a, int axis) {
  return a->is_var(axis) ? length_of_rows(rows_of(*a.get(), a->slot_stream(axis))) : a.size(axis);
}

// Whether all rows that meet have the same lengths.
bool rows_agree(const nd::array &x, int one, const nd::array &y, int other) {
  nd::array lengths = lengths_at("vecdot", compact(x, one), one);
  nd::array others = lengths_at("vecdot", compact(y, other), other);
  nd::array differ = compact_copy(nd::array(apply(arithmetic::difference, {lengths.get(), others.get()}, unwatched)));
  const int64_t *all = values_of<int64_t>(differ);
  return std::all_of(all, all + list_of(differ, differ.ndim() - 1).size(0), [](int64_t d) { return d == 0; });
}

// What is added up does not stretch.
void check_contracted(const char *name, array_block *a, array_block *b, const axis_set &axes) {
  for (int d = 0; d < axes.ndim; d++) {
    int one = d - (axes.ndim - a->ndim), other = d - (axes.ndim - b->ndim);
    if (!axes.has[d]) {
      continue;
    }
    if (one < 0 || other < 0) {
      fail(error_kind::broadcast,
           std::string(name) + ": both operands must have axis " + std::to_string(d - axes.ndim));
    }
    nd::array x = with_rows(a, one), y = with_rows(b, other);
    int64_t left = length_along(x, one), right = length_along(y, other);
    if (left == right && (left >= 0 || (one == other && same_rows(*x.get(), *y.get(), one + 1)))) {
      continue;
    }
    space shape;
    broadcast_space(name, {a, b}, shape); // what does not fit at all has its own error
    if (left != right || !rows_agree(x, one, y, other)) {
      auto text = [](int64_t n) { return n < 0 ? std::string("rows of several lengths") : std::to_string(n); };
      fail(error_kind::broadcast, std::string(name) + ": along axis " + std::to_string(d - axes.ndim) + " there are " +
                                      text(left) + " in one operand and " + text(right) +
                                      " in the other; what is added up does not stretch");
    }
  }
}

ref<array_block> vecdot_of_rows(const char *name, const nd::array (&operands)[3], const reduced_axes &axes,
                                reduction_keywords keywords, const settings &how) {
  missing_rows rows(name, operands);
  axis_set found = find_axes(name, axes, rows.ndim());
  keywords.where = rows.block(2);
  return rows.restored(vecdot(rows.block(0), rows.block(1), axes, keywords, how), found.first());
}

} // namespace

// Promoted like the operands of a product, but in the type of the sum, so that no product overflows.
ref<array_block> vecdot(array_block *a, array_block *b, const reduced_axes &axes, const reduction_keywords &keywords,
                        const settings &how) {
  const char *name = "vecdot";
  if (has_missing_rows(a->type) || has_missing_rows(b->type) ||
      (keywords.where && has_missing_rows(keywords.where->type))) {
    auto share = [](array_block *block) { return block ? nd::array(ref<array_block>::share(block)) : nd::array(); };
    return vecdot_of_rows(name, {share(a), share(b), share(keywords.where)}, axes, keywords, how);
  }
  scalar_id own = promote(kind_of_numbers(name, a->type).scalar, kind_of_numbers(name, b->type).scalar);
  own = in_set(name, operation_of(arithmetic::product).set, own);
  scalar_id type = accumulator_type(arithmetic::sum, own);
  fold sum{arithmetic::sum, type};
  reduction_spec spec{name, how};
  spec.operands = {a, b};
  axis_set found = spec.axes = find_axes(name, axes, std::max(a->ndim, b->ndim));
  check_contracted(name, a, b, found);
  if (keywords.where) {
    check_mask(name, {a, b}, keywords.where);
    spec.operands.push_back(keywords.where);
  }
  bool plain = found.all() && !keywords.where;
  ref<array_block> result = plain ? try_direct_products(a, b, type, how) : ref<array_block>();
  if (!result) {
    result = reduce(std::move(spec), ndt::make_scalar(type), sum, [&](fused_task &fused, const value_registers *in) {
      program &p = fused.t.p;
      uint8_t x = p.converted(in[0].value, type), y = p.converted(in[1].value, type);
      x = is_complex(type) ? p.add_operation(arithmetic::conjugate, type, {x}) : x;
      x = p.add_operation(arithmetic::product, type, {x, y});
      uint8_t present = fused.both(in[0].valid, in[1].valid);
      present = keywords.where ? fused.both(present, fused.both(in[2].valid, in[2].value)) : present;
      return present_or_nothing(fused, present, x, sum);
    });
  }
  return keywords.keepdims ? with_axes_kept(std::move(result), found) : std::move(result);
}

ref<array_block> range(const reduction_call &call) {
  ref<array_block> ends[2];
  fold_values(call, {arithmetic::largest, arithmetic::least}, ends);
  return apply(arithmetic::difference, {ends[0].get(), ends[1].get()}, call.how);
}

} // namespace dynd
