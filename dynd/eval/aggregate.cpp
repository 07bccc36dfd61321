// From the call of a reduction to its specification, and from the folds to its result.
#include "dynd/eval/aggregate.h"

#include <cstring>
#include <limits>
#include <utility>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"
#include "dynd/eval/align_axes.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/statistics.h"
#include "dynd/ops/logic.h"

namespace dynd {

ref<array_block> (*reduce_ordered)(aggregate_id id, array_block *operand, const reduced_axes &axes,
                                   const reduction_keywords &keywords) = nullptr;

reduced_axes::reduced_axes(const int *axes, int n) : all(false), count(n) {
  if (n > max_ndim) {
    fail(error_kind::value, "a reduction takes at most " + std::to_string(max_ndim) + " axes");
  }
  std::copy_n(axes, n, axis);
}

// ---- what the kinds share -----------------------------------------------------------------------------------------

reduction_spec reduction_call::spec() const {
  reduction_spec spec{what.name, how};
  spec.operands.push_back(operand);
  spec.last_use = last_use;
  spec.axes = axes;
  if (keywords.where) {
    spec.last_use |= unsigned(keywords.where_last_use) << spec.operands.size();
    spec.operands.push_back(keywords.where);
  }
  if (keywords.weights) {
    spec.operands.push_back(keywords.weights);
  }
  return spec;
}

bool reduction_call::skips() const {
  bool missing_weights = keywords.weights && keywords.weights->type->dtype->kind == type_kind::option;
  return element.option || keywords.where || skips_nan() || missing_weights;
}

uint8_t reduction_call::present(fused_task &fused, const value_registers *operands) const {
  uint8_t present = operands[0].valid;
  for (int i = 1; i < noperands(); i++) {
    present = fused.both(present, operands[i].valid);
  }
  if (keywords.where) {
    present = fused.both(present, operands[1].value);
  }
  if (skips_nan()) {
    uint8_t x = operands[0].value;
    present = fused.both(present, fused.t.p.add_operation(arithmetic::equal, element.scalar, {x, x}));
  }
  return present;
}

uint8_t reduction_call::weight(fused_task &fused, const value_registers *operands, scalar_id type) const {
  return keywords.weights ? fused.t.p.converted(operands[noperands() - 1].value, type) : no_register;
}

namespace {

// What is told by an array of its own must broadcast to the operands, and not the other way round.
void check_broadcasts(const char *name, const space_operands &operands, const char *keyword, array_block *own) {
  space shape, before;
  broadcast_space(name, operands, before);
  space_operands all = operands;
  all.push_back(own);
  broadcast_space(name, all, shape);
  bool same = shape.ndim == before.ndim && std::equal(shape.size, shape.size + shape.ndim, before.size);
  for (int s = 0; s < shape.nvar && same; s++) {
    const space_slots &rows = before.slots[size_t(s)], &all_rows = shape.slots[size_t(s)];
    same = same_row_lengths(rows.run, rows.owner.get(), all_rows.run, all_rows.owner.get());
  }
  if (!same) {
    fail(error_kind::broadcast, std::string(name) + ": " + keyword + " of shape " + space_text(own) +
                                    " does not broadcast to " + space_text(operands[0]));
  }
}

} // namespace

void check_mask(const char *name, const space_operands &operands, array_block *where) {
  if (!is_mask(where->type)) {
    fail(error_kind::type, std::string(name) + ": where must be bool, not " + where->type->dtype->text);
  }
  check_broadcasts(name, operands, "where", where);
}

ref<array_block> as_type(ref<array_block> result, scalar_id to) {
  element_kind own;
  find_element_kind(result->type->dtype, own);
  return own.scalar == to
             ? std::move(result)
             : copy_values(result.get(), access_mode::immutable, number_type(to, own.option), error_mode::nocheck);
}

ref<array_block> narrowed(ref<array_block> result, scalar_id element, std::optional<scalar_id> dtype) {
  bool half = element == scalar_id::float16;
  return dtype || half ? as_type(std::move(result), dtype.value_or(element)) : std::move(result);
}

void take_as(const char *name, number_operand &x, std::optional<scalar_id> dtype) {
  if (!dtype) {
    return;
  }
  if (*dtype == scalar_id::bool_) {
    fail(error_kind::type, std::string(name) + ": dtype must be a number's type, not bool");
  }
  scalar_id own = x.element.scalar;
  if ((is_integer(*dtype) && !is_integer(own) && own != scalar_id::bool_) || (is_complex(own) && !is_complex(*dtype))) {
    try {
      x.copy = copy_values(x.block, access_mode::immutable, number_type(*dtype, x.element.option));
    } catch (const error &e) {
      fail(e.kind(), std::string(name) + ": dtype: " + e.what());
    }
    x.block = x.copy.get();
    x.last_use = true;
    find_element_kind(x.block->type->dtype, x.element);
  }
}

ref<array_block> missing_where_not(array_block *any, array_block *value, const settings &how) {
  ref<array_block> missing = new_result({}, ndt::make_option(ndt::type(value->type->dtype)), true);
  return apply(logic::chosen, {any, value, missing.get()}, how);
}

ref<array_block> number_of(scalar_id type, double value) {
  ref<array_block> number = new_scalar(scalar_id::float64, &value);
  return copy_values(number.get(), access_mode::immutable, ndt::make_scalar(type), error_mode::nocheck);
}

namespace {

// Of what has no value for no elements: fails where nothing was folded, naming the first such row.
void fail_where_not(const reduction_call &call, array_block *any) {
  materialize(any);
  stream_room room;
  for_each_place(cursor(*any, room), any->ndim, [&](const cursor &at, const intptr_t *index) {
    if (!*at.streams()[0]) {
      std::string where = any->ndim ? row_text({index, size_t(any->ndim)}) : "the array";
      fail_of_nothing(call.what.name, where + " has no element that where= takes");
    }
  });
}

// What is folded of an element, in the type of the fold.
uint8_t folded_value(const reduction_call &call, fused_task &fused, const value_registers &x, scalar_id type) {
  program &p = fused.t.p;
  if (call.what.part == folded_part::truth) {
    return p.converted(p.converted(x.value, scalar_id::bool_), type);
  }
  bool any_byte = type == scalar_id::bool_ && call.what.kind == aggregate_kind::index; // of a bool, but 0, is true
  return any_byte ? p.add_operation(logic::both, type, {x.value, x.value})
                  : p.converted(p.converted(x.value, call.taken_as()), type);
}

// What happens where nothing is left to fold.
enum class nothing_left { has_value, fails_by_row, missing, fails_by_mask, nan };

nothing_left rule_of(const reduction_call &call, reduction_id id) {
  bool none = reduction_of(id).empty == empty_rule::none && call.what.part == folded_part::value;
  return !none || call.keywords.initial                       ? nothing_left::has_value
         : call.element.option || call.keywords.empty_missing ? nothing_left::missing
         : call.skips_nan()                                   ? nothing_left::nan
         : call.skips()                                       ? nothing_left::fails_by_mask
                                                              : nothing_left::fails_by_row;
}

scalar_id fold_type(const reduction_call &call, reduction_id id) {
  return call.what.part == folded_part::truth ? scalar_id::bool_
                                              : accumulator_type(id, call.taken_as(), call.what.name);
}

// Whether some element of a result is that one.
bool has_value(array_block *result, array_block *value, const settings &how) {
  if (result->ndim == 0) {
    materialize(result);
    size_t item = scalar_size[size_t(value->type->dtype->scalar)];
    return std::memcmp(result->values().address, value->values().address, item) == 0;
  }
  const aggregate *any_true =
      find_aggregate([](const aggregate &a) { return a.part == folded_part::truth && a.fold == logic::any; });
  ref<array_block> same = apply(arithmetic::equal, {result, value}, how);
  ref<array_block> any = evaluate(any_true->id, same.get(), true, reduced_axes(), {}, how);
  return *any->values().address != 0;
}

// Where only NaN is skipped: by the operation that takes the other operand, one step and nothing beside the fold. False
// where some result is what is folded instead of NaN: then all elements may have been NaN. (Elements that have yet to
// be computed are not read twice.)
bool fold_numbers(const reduction_call &call, fold own, ref<array_block> &result) {
  if (call.element.option || call.keywords.where || !call.operand->is_ready()) {
    return false;
  }
  bool largest = reduction_of(own.id).combine == arithmetic::larger;
  op_id other = largest ? arithmetic::larger_number : arithmetic::smaller_number;
  alignas(16) char nothing[max_scalar_size];
  fold_of_nothing(own, nothing);
  result = reduce(call.spec(), ndt::make_scalar(own.type), own, [&](fused_task &fused, const value_registers *in) {
    uint8_t value = folded_value(call, fused, in[0], own.type);
    return fused.t.p.add_operation(other, own.type, {value, fused.constant(own.type, nothing)});
  });
  return !has_value(result.get(), new_scalar(own.type, nothing).get(), without_watching(call.how));
}

} // namespace

void fold_values(const reduction_call &call, std::initializer_list<reduction_id> ids, ref<array_block> *results) {
  scalar_id type = fold_type(call, *ids.begin());
  nothing_left rule = rule_of(call, *ids.begin());
  if (rule == nothing_left::nan && ids.size() == 1 && fold_numbers(call, {*ids.begin(), type, true}, results[0])) {
    return;
  }
  ndt::type scalar = ndt::make_scalar(type);
  reduction_spec spec = call.spec();
  fold any{logic::any, scalar_id::bool_};
  bool reads_any = rule == nothing_left::fails_by_mask || rule == nothing_left::nan;
  for (reduction_id id : ids) {
    fold own{id, type, rule == nothing_left::fails_by_row || rule == nothing_left::nan};
    if (rule == nothing_left::missing) {
      spec.add_result(ndt::make_option(scalar), {any, own});
    } else {
      spec.add_result(scalar, {own});
    }
  }
  if (reads_any) {
    spec.add_result(ndt::make_scalar(scalar_id::bool_), {any});
  }
  spec.before = [&](fused_task &fused, const value_registers *in, uint8_t *folded) {
    uint8_t present = call.present(fused, in);
    uint8_t value = folded_value(call, fused, in[0], type);
    for (int f = 0; f < spec.folds.size(); f++) {
      bool is_any = spec.folds[f].id == logic::any && spec.folds[f].type == scalar_id::bool_ &&
                    (rule == nothing_left::missing ? f % 2 == 0 : reads_any && f == spec.folds.size() - 1);
      folded[f] = is_any ? fused.valid_or_true({no_register, present})
                         : present_or_nothing(fused, present, value, spec.folds[f]);
    }
  };
  ref<array_block> found[max_folds];
  reduce(spec, found);
  for (size_t i = 0; i < ids.size(); i++) {
    results[i] = std::move(found[i]);
    if (rule == nothing_left::fails_by_mask) {
      fail_where_not(call, found[ids.size()].get());
    } else if (rule == nothing_left::nan) {
      ref<array_block> nan = number_of(type, __builtin_nan(""));
      results[i] = apply(logic::chosen, {found[ids.size()].get(), results[i].get(), nan.get()}, call.how);
    }
  }
}

namespace {

// ---- the kinds ----------------------------------------------------------------------------------------------------

// initial= as the result's type.
ref<array_block> initial_value(const reduction_call &call, scalar_id type) {
  array_block *given = call.keywords.initial;
  element_kind kind;
  if (given->ndim != 0 || !find_element_kind(given->type->dtype, kind) || kind.option) {
    fail(error_kind::type,
         std::string(call.what.name) + ": initial must be one number, not " + std::string(given->type->text));
  }
  try {
    return copy_values(given, access_mode::immutable, ndt::make_scalar(type));
  } catch (const error &e) {
    fail(e.kind(), std::string(call.what.name) + ": initial: " + e.what());
  }
}

ref<array_block> folded(const reduction_call &call) {
  ref<array_block> result;
  fold_values(call, {call.what.fold}, &result);
  if (call.keywords.initial) {
    ref<array_block> initial = initial_value(call, fold_type(call, call.what.fold));
    result = apply(reduction_of(call.what.fold).combine, {result.get(), initial.get()}, call.how);
  }
  bool values = call.what.part == folded_part::value;
  return values ? narrowed(std::move(result), call.taken_as(), call.dtype()) : std::move(result);
}

// Where an element is skipped the identity is folded, which may be what the others are too: then the first element that
// is not skipped is it.
ref<array_block> index_of_present(const reduction_call &call, scalar_id type, bool missing) {
  const reduction &r = reduction_of(call.what.fold);
  fold index{r.id, type}, any{logic::any, scalar_id::bool_}, first_of{logic::first_true, scalar_id::bool_};
  fold extreme{r.combine == arithmetic::larger ? arithmetic::largest : arithmetic::least, type};
  ndt::type boolean = ndt::make_scalar(scalar_id::bool_), position = ndt::make_scalar(scalar_id::int64);
  reduction_spec spec = call.spec();
  spec.add_result(position, {index});
  spec.add_result(ndt::make_scalar(type), {extreme});
  spec.add_result(position, {first_of});
  spec.add_result(boolean, {any});
  spec.before = [&](fused_task &fused, const value_registers *in, uint8_t *folded) {
    uint8_t present = fused.valid_or_true({no_register, call.present(fused, in)});
    folded[0] = folded[1] = present_or_nothing(fused, present, folded_value(call, fused, in[0], type), extreme);
    folded[2] = folded[3] = present;
  };
  ref<array_block> found[max_folds];
  reduce(spec, found);
  alignas(16) char value[max_scalar_size];
  fold_of_nothing(extreme, value);
  ref<array_block> identity = new_scalar(type, value);
  ref<array_block> is_identity = apply(arithmetic::equal, {found[1].get(), identity.get()}, call.how);
  ref<array_block> result = apply(logic::chosen, {is_identity.get(), found[2].get(), found[0].get()}, call.how);
  if (missing) {
    return missing_where_not(found[3].get(), result.get(), call.how);
  }
  fail_where_not(call, found[3].get());
  return result;
}

ref<array_block> index_of(const reduction_call &call) {
  scalar_id type = fold_type(call, call.what.fold);
  bool missing = call.element.option || call.keywords.empty_missing;
  if (missing || call.skips()) {
    return index_of_present(call, type, missing);
  }
  return reduce(call.spec(), ndt::make_scalar(scalar_id::int64), {call.what.fold, type, true},
                [&](fused_task &fused, const value_registers *in) { return folded_value(call, fused, in[0], type); });
}

ref<array_block> count_of(const reduction_call &call) {
  fold sum{call.what.fold, scalar_id::int64};
  return reduce(call.spec(), ndt::make_scalar(sum.type), sum, [&](fused_task &fused, const value_registers *in) {
    uint8_t present = call.present(fused, in);
    return call.what.part == folded_part::truth
               ? present_or_nothing(fused, present, folded_value(call, fused, in[0], sum.type), sum)
               : fused.t.p.converted(fused.valid_or_true({no_register, present}), sum.type);
  });
}

ref<array_block> result_of(const reduction_call &call) {
  scalar_id own = real_type(call.element.scalar), half = scalar_id::float16;
  auto rounded = [&](ref<array_block> result) {
    return own == half ? as_type(std::move(result), half) : std::move(result);
  };
  switch (call.what.kind) {
  case aggregate_kind::fold:
    return folded(call);
  case aggregate_kind::index:
    return index_of(call);
  case aggregate_kind::count:
    return count_of(call);
  case aggregate_kind::mean:
    return rounded(mean(call));
  case aggregate_kind::variance:
    return rounded(variance(call));
  case aggregate_kind::deviation:
    return rounded(apply(arithmetic::root, {variance(call).get()}, call.how));
  case aggregate_kind::range:
    return rounded(range(call));
  case aggregate_kind::norm:
    return rounded(norm(call));
  }
  return {};
}

// ---- arguments ----------------------------------------------------------------------------------------------------

void check_type(reduction_call &call) {
  if (call.what.part == folded_part::value) {
    call.accumulator = accumulator_type(call.what.fold, call.element.scalar, call.what.name);
  }
  if (call.what.kind == aggregate_kind::range && call.element.scalar == scalar_id::bool_) {
    fail(error_kind::type,
         std::string(call.what.name) + ": bool is not a number; nd.where(a, 1, 0) makes integers of it");
  }
}

void check_keywords(const reduction_call &call) {
  element_kind kind;
  if (call.keywords.where) {
    check_mask(call.what.name, {call.operand}, call.keywords.where);
  }
  if (array_block *weights = call.keywords.weights) {
    if (!find_element_kind(weights->type->dtype, kind) || !is_in(type_set::reals, kind.scalar)) {
      fail(error_kind::type,
           std::string(call.what.name) + ": weights must be real numbers, not " + weights->type->dtype->text);
    }
    check_broadcasts(call.what.name, {call.operand}, "weights", weights);
  }
}

// Whether rows are below a reduced axis that stay.
bool is_ragged_below(const array_block &operand, const axis_set &axes) {
  for (int d = axes.first() + 1; d < axes.ndim; d++) {
    if (!axes.has[d] && operand.is_var(d)) {
      return true;
    }
  }
  return false;
}

// Along axes outside of rows of any length: at each place what the rows have that reach it.
ref<array_block> reduce_aligned(const reduction_call &call) {
  aligned_rows aligned(call.what.name, call.operand, call.axes);
  reduction_keywords keywords = call.keywords;
  keywords.keepdims = keywords.align_left = keywords.where_last_use = false;
  ref<array_block> rows = aligned.rows_of(call.operand), where, weights;
  if (keywords.where) {
    where = aligned.rows_of(keywords.where);
    keywords.where = where.get();
  }
  if (keywords.weights) {
    weights = aligned.rows_of(keywords.weights);
    keywords.weights = weights.get();
  }
  ref<array_block> result = evaluate(call.what.id, rows.get(), false, rows->ndim - 1, keywords, call.how);
  if (call.what.kind == aggregate_kind::index) {
    result = copy_values(result.get(), access_mode::immutable); // to be changed
    aligned.restore_positions(result.get());
  }
  return call.keywords.keepdims ? with_axes_kept(std::move(result), call.axes) : std::move(result);
}

bool may_miss_rows(array_block *operand, const reduction_keywords &keywords) {
  return has_missing_rows(operand->type) || (keywords.where && has_missing_rows(keywords.where->type)) ||
         (keywords.weights && has_missing_rows(keywords.weights->type));
}

// Where only NaN was skipped in a row, NaN is the value, as in rows that cannot be missing.
nd::array nan_of_nothing_else(const aggregate &what, const nd::array &result, array_block *operand,
                              const reduced_axes &axes, const reduction_keywords &keywords, const settings &how) {
  element_kind kind = kind_of_numbers(what.name, result->type);
  const aggregate *how_many = find_aggregate(
      [](const aggregate &a) { return a.kind == aggregate_kind::count && a.part == folded_part::presence; });
  reduction_keywords same{.keepdims = keywords.keepdims, .where = keywords.where, .align_left = keywords.align_left};
  ref<array_block> count = evaluate(how_many->id, operand, false, axes, same, how);
  ref<array_block> some = apply(logic::different, {count.get(), number_of(scalar_id::int64, 0).get()}, how);
  ref<array_block> missing = apply(logic::missing, {result.get()}, how);
  ref<array_block> only_nan = apply(logic::both, {missing.get(), some.get()}, how);
  ref<array_block> value = number_of(kind.scalar, std::numeric_limits<double>::quiet_NaN());
  return nd::array(apply(logic::chosen, {only_nan.get(), value.get(), result.get()}, how));
}

// Rows that are missing give what is missing, or are skipped where the axis is outside of them. What has no value for a
// row without elements has none for a missing one; those that are there and empty are found afterwards.
ref<array_block> reduce_missing_rows(const aggregate &what, array_block *operand, const reduced_axes &axes,
                                     reduction_keywords keywords, const settings &how) {
  auto share = [](array_block *block) { return block ? nd::array(ref<array_block>::share(block)) : nd::array(); };
  const nd::array operands[] = {share(operand), share(keywords.where), share(keywords.weights)};
  missing_rows rows(what.name, operands);
  axis_set found = find_axes(what.name, axes, rows.operand().ndim());
  if (found.count == 1 && !keywords.align_left) {
    rows.drop(what.name, found.first());
  }
  keywords.where = rows.block(1);
  keywords.weights = rows.block(2);
  keywords.where_last_use = false;
  bool asked = keywords.empty_missing || rows.operand().type().dtype()->kind == type_kind::option;
  keywords.empty_missing |= rows.has_inside(found.first());
  nd::array result(evaluate(what.id, rows.block(), false, axes, keywords, how));
  if (!asked && keywords.empty_missing && result.type().dtype()->kind == type_kind::option) {
    element_kind kind;
    if (what.nan == nan_rule::skipped && find_element_kind(rows.operand()->type->dtype, kind) &&
        is_floating(kind.scalar)) {
      result = nan_of_nothing_else(what, result, rows.block(), axes, keywords, how);
    }
    const char *empty = keywords.where ? " has no element that where= takes" : " is empty";
    rows.check_results(what.name, result, found.first(), empty);
  }
  return ref<array_block>::share(rows.restored(result, found.first()).get());
}

// How many elements are there that are no numbers: how many are not missing.
bool counts_elements(const aggregate &what, const array_block &operand) {
  element_kind kind;
  return what.kind == aggregate_kind::count && what.part == folded_part::presence &&
         !find_element_kind(operand.type->dtype, kind);
}

// Whether a reduction is the first or last of elements in order, and these are no numbers.
bool is_extreme_element(const aggregate &what, const array_block &operand) {
  element_kind kind;
  const type_data *dtype = operand.type->dtype, *element = dtype->kind == type_kind::option ? dtype->element : dtype;
  bool extreme = (what.kind == aggregate_kind::fold || what.kind == aggregate_kind::index) &&
                 what.part == folded_part::value && reduction_of(what.fold).empty == empty_rule::none;
  return extreme && what.nan == nan_rule::kept && (is_text(element->kind) || element->nfields > 0) &&
         !find_element_kind(dtype, kind);
}

ref<array_block> count_present(array_block *operand, const reduced_axes &axes, const reduction_keywords &keywords,
                               const settings &how) {
  const aggregate *of_true = find_aggregate(
      [](const aggregate &a) { return a.kind == aggregate_kind::count && a.part == folded_part::truth; });
  ref<array_block> missing = apply(logic::missing, {operand}, how);
  return evaluate(of_true->id, apply(logic::inverted, {missing.get()}, how).get(), true, axes, keywords, how);
}

} // namespace

ref<array_block> evaluate(aggregate_id id, array_block *operand, bool last_use, const reduced_axes &axes,
                          const reduction_keywords &keywords, const settings &how) {
  const aggregate &what = aggregate_of(id);
  if (may_miss_rows(operand, keywords)) [[unlikely]] {
    return reduce_missing_rows(what, operand, axes, keywords, how);
  }
  if (counts_elements(what, *operand)) {
    return count_present(operand, axes, keywords, how);
  }
  if (is_extreme_element(what, *operand)) {
    return reduce_ordered(id, operand, axes, keywords);
  }
  number_operand x(what.name, operand, last_use);
  if (what.keywords & takes_dtype) {
    take_as(what.name, x, keywords.dtype);
  }
  reduction_call call{what, how, x.block, x.last_use, keywords, x.element, find_axes(what.name, axes, x.block->ndim)};
  check_type(call);
  check_keywords(call);
  if (keywords.align_left && is_ragged_below(*x.block, call.axes)) {
    return reduce_aligned(call);
  }
  if (ref<array_block> result = try_direct_reduction(call)) {
    return keywords.keepdims ? with_axes_kept(std::move(result), call.axes) : std::move(result);
  }
  if (ref<array_block> result = try_rows(call)) {
    return result;
  }
  ref<array_block> result = result_of(call);
  return keywords.keepdims ? with_axes_kept(std::move(result), call.axes) : std::move(result);
}

} // namespace dynd
