#include "dynd/eval/scan.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/eval/aggregate.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/move_axis.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/work.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

// What a scan computes, and in which type.
struct typed_scan {
  const char *name;
  op_id combine;
  element_kind element;
  scalar_id taken_as; ///< dtype=, or the type of the elements
  scalar_id accumulator;
  bool include_initial = false;
  array_block *identity = nullptr; ///< what a fold begins with, a value of the accumulator's type
  bool folds = false;              ///< only the last values are wanted: they are never missing
  int axis = 0;                    ///< that was asked for, also where another one is moved inside

  ndt::type result() const { return number_type(accumulator, element.option && !folds); }
};

uint8_t identity_of(fused_task &fused, const typed_scan &typed) {
  alignas(16) char value[max_scalar_size];
  isa().scan(scan_by(typed.combine)->id, typed.accumulator).identity(value);
  return fused.constant(typed.accumulator, value);
}

// The program: the operand with what is lazy below it, then its running values, to `place`. A missing element counts as
// the identity, but for complex numbers, which no product leaves alone, and in folds: there it is left out.
void add_scan(fused_task &fused, const typed_scan &typed, array_block *operand, bool last_use, array_block *place,
              int axis) {
  fused.claim({operand}, last_use ? 1 : 0, *operand, 1);
  fused.add_claimed();
  value_registers x = fused.registers_of(operand);
  program &p = fused.t.p;
  uint8_t value = p.converted(p.converted(x.value, typed.taken_as), typed.accumulator), valid = no_register;
  int stream = place->type->var_count;
  if (x.valid != no_register && (is_complex(typed.accumulator) || typed.folds)) {
    valid = x.valid;
  } else if (x.valid != no_register) {
    value = p.add_operation(logic::chosen, typed.accumulator, {x.valid, value, identity_of(fused, typed)});
  }
  fused.add_claimed_outputs();
  if (x.valid != no_register && !typed.folds) {
    fused.add_output(x.valid, place, stream++);
  }
  uint8_t initial = typed.identity ? fused.constant(typed.accumulator, typed.identity->values().address) : no_register;
  fused.add_output(p.scanned(typed.combine, value, initial, valid), place, stream);
  fused.t.scans = true;
  fused.t.scanned = axis;
  fused.t.scanned_as = typed.axis;
}

// ---- include_initial ----------------------------------------------------------------------------------------------

// The elements of the array from `start` to `stop` along an axis.
nd::array part_along(const nd::array &a, int axis, std::optional<intptr_t> start, std::optional<intptr_t> stop) {
  std::vector<nd::index> indices(size_t(axis), nd::index::whole());
  indices.push_back(nd::index::range(start, stop));
  return nd::at(a, indices);
}

// The value of no elements; of a fold without an identity anything.
nd::array initial_value(const typed_scan &typed) {
  alignas(16) char value[max_scalar_size] = {};
  if (typed.folds) {
    return nd::array(new_scalar(typed.accumulator, typed.identity ? typed.identity->values().address : value));
  }
  isa().scan(scan_by(typed.combine)->id, typed.accumulator).initial(value);
  return nd::array(new_scalar(typed.accumulator, value));
}

// The running values of ragged rows, one after another, with the value of no elements before each row.
ref<array_block> with_first(const typed_scan &typed, array_block *scanned, int axis) {
  space shape;
  space_of(scanned, shape);
  offsets_run run = rows_of(*scanned, shape.nvar - 1);
  without_interpreter unlocked(run.rows > unlocked_from);
  std::vector<std::vector<int64_t>> offsets(1);
  if (shape.nvar > 1 || !run) {
    offsets = measure_rows(typed.name, {scanned}, shape);
  } else {
    offsets[0].resize(size_t(run.rows) + 1);
    in_pieces(typed.name, run.rows + 1, [&, to = offsets[0].data()](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        to[r] = run[r] - run.first();
      }
    });
  }
  std::vector<int64_t> &own = offsets[size_t(shape.slot_index[axis])];
  auto rows = intptr_t(own.size()) - 1;
  in_pieces(typed.name, rows + 1, [to = own.data()](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      to[r] += r; // the first value of each row before it
    }
  });
  make_slots(shape, offsets);
  ref<array_block> result = new_result(shape, ndt::type(scanned->type->dtype));
  nd::array initial = initial_value(typed);
  const char there = 1;
  for (int s = shape.nvar; s < result->nstreams; s++) {
    bool value = s == result->nstreams - 1;
    size_t item = value ? scalar_size[size_t(typed.accumulator)] : 1, row = size_t(scanned->strides(s)[axis]);
    const char *first = value ? initial->values().address : &there, *from = scanned->streams()[s].address;
    from += run ? run.first() * intptr_t(row) : 0;
    char *to = result->streams()[s].address;
    in_pieces_of_rows(typed.name, own.data(), rows, [=, at = own.data()](intptr_t begin, intptr_t end) {
      char *next = to + size_t(at[begin]) * row;
      for (intptr_t r = begin; r < end; r++) {
        for (size_t done = 0; done < row; done += item, next += item) {
          std::memcpy(next, first, item);
        }
        size_t bytes = size_t(at[r + 1] - at[r] - 1) * row;
        std::memcpy(next, from + size_t(at[r] - r) * row, bytes);
        next += bytes;
      }
    });
  }
  return result;
}

// ---- the axis -----------------------------------------------------------------------------------------------------

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
  bool grows = typed.include_initial && !shape.is_var(axis);
  if (grows) {
    shape.size[axis] = checked_sum(typed.name, shape.size[axis], 1);
  }
  ref<array_block> result =
      new_result(shape, typed.result(), is_tracing(how), order_like(shape.ndim, shape.size, {&operand, 1}));
  nd::array place(result);
  if (grows) {
    result->access = access_mode::readwrite; // for the views: those below rows of an immutable array may be copies
    assign(part_along(place, axis, {}, 1).get(), initial_value(typed).get(), unwatched);
    place = part_along(place, axis, 1, {});
    result->access = access_mode::immutable;
  }
  add_scan(fused, typed, operand, last_use, place.get(), axis);
  fused.lower_operands();
  if (!move_scanned_axis(t)) {
    return {};
  }
  fused.run();
  fused.finish();
  return typed.include_initial && !grows ? with_first(typed, result.get(), axis) : std::move(result);
}

ref<array_block> run_scan(typed_scan typed, array_block *operand, bool last_use, int axis, const settings &how) {
  typed.axis = axis;
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

int scanned_axis(const char *name, int ndim, std::optional<int> axis) {
  int at = axis.value_or(0);
  if (!axis && ndim != 1) {
    fail(error_kind::value, std::string(name) + ": an array of " + std::to_string(ndim) + " dimensions needs axis=");
  }
  return checked_axis(name, at, ndim);
}

// Along rows that may be missing, or inside of them; not over them.
template <class F> nd::array scan_missing_rows(const char *name, const nd::array &a, std::optional<int> axis, F f) {
  missing_rows rows(name, a);
  int at = scanned_axis(name, rows.ndim(), axis);
  rows.check_inside(name, at);
  return rows.restored(f(rows.operand(), at));
}

// Small ragged rows that follow each other.
ref<array_block> try_direct_rows(const scan_functions &functions, array_block *operand, scalar_id accumulator) {
  intptr_t item = intptr_t(operand->item_size());
  offsets_run run = operand->scalar() == accumulator ? contiguous_rows(*operand) : offsets_run();
  if (!run || size_t(run.content()) * max_scalar_size >= lazy_from) {
    return {};
  }
  space shape;
  space_of(operand, shape);
  ref<array_block> result = new_result(shape, ndt::make_scalar(accumulator));
  intptr_t begin = run.first() * item;
  functions.rows(result->values().address + begin, operand->values().address + begin,
                 {reinterpret_cast<const int64_t *>(run.address), size_t(run.rows), run.first(), run.last()}, nullptr);
  return result;
}

// Small dense arrays.
ref<array_block> try_direct_dense(const scan_functions &functions, array_block *operand, scalar_id accumulator) {
  constexpr intptr_t most_converted = 128;
  bool converts = operand->scalar() != accumulator;
  if (!(operand->flags & flag_dense) || operand->count == 0 || size_t(operand->count) * max_scalar_size >= lazy_from ||
      (converts && operand->count > most_converted)) {
    return {};
  }
  size_t length = size_t(operand->size()[operand->ndim - 1]), count = size_t(operand->count);
  intptr_t stride = intptr_t(length * scalar_size[size_t(accumulator)]);
  alignas(64) char converted[size_t(most_converted) * max_scalar_size];
  const char *x = operand->values().address;
  ndt::type type(operand->type);
  if (converts) {
    isa().convert(accumulator, operand->scalar())(converted, x, nullptr, nullptr, count, nullptr);
    x = converted;
    type = ndt::with_dtype(type, ndt::make_scalar(accumulator));
  }
  ref<array_block> result = new_dense(type.get(), operand->size());
  functions.rows_fixed(result->values().address, stride, x, stride, length, count / length);
  return result;
}

// Small arrays, along the last axis: one call of the compiled loop.
ref<array_block> try_direct(const typed_scan &typed, array_block *operand, int axis, const settings &how) {
  bool rounded_twice = typed.taken_as == scalar_id::float16 && typed.element.scalar != typed.taken_as;
  if (!may_be_direct(how) || typed.include_initial || axis != operand->ndim - 1 || !operand->has_scalars() ||
      !operand->is_ready() || rounded_twice) {
    return {};
  }
  const scan_functions &functions = isa().scan(scan_by(typed.combine)->id, typed.accumulator);
  ref<array_block> packed;
  if (operand->ndim == 1 && !(operand->flags & flag_dense)) { // a few with gaps between them
    packed =
        try_direct_copy(operand, access_mode::immutable, ndt::type(operand->type->dtype), error_mode::nocheck, how);
    operand = packed ? packed.get() : operand;
  }
  return operand->is_var(axis) ? try_direct_rows(functions, operand, typed.accumulator)
                               : try_direct_dense(functions, operand, typed.accumulator);
}

} // namespace

ref<array_block> evaluate(scan_id id, array_block *operand, bool last_use, std::optional<int> axis,
                          bool include_initial, std::optional<scalar_id> dtype, const settings &how) {
  const scan &what = scan_of(id);
  if (has_missing_rows(operand->type)) {
    nd::array a(ref<array_block>::share(operand));
    nd::array result = scan_missing_rows(what.name, a, axis, [&](const nd::array &rows, int at) {
      return nd::array(evaluate(id, rows.get(), false, at, include_initial, dtype, how));
    });
    return ref<array_block>::share(result.get());
  }
  number_operand x(what.name, operand, last_use);
  take_as(what.name, x, dtype);
  scalar_id taken_as = dtype.value_or(x.element.scalar), accumulator = accumulator_type(id, taken_as);
  typed_scan typed{what.name, what.combine, x.element, taken_as, accumulator, include_initial, nullptr, false};
  int at = scanned_axis(typed.name, x.block->ndim, axis);
  ref<array_block> result = try_direct(typed, x.block, at, how);
  result = result ? std::move(result) : run_scan(typed, x.block, x.last_use, at, how);
  return narrowed(std::move(result), taken_as, dtype);
}

// ---- folds --------------------------------------------------------------------------------------------------------

namespace {

// The type that the operation takes and gives; an error where it is no operation of two that gives what it takes.
scalar_id folded_type(op_id op, scalar_id element) {
  const operation &o = operation_of(op);
  auto takes_elements = [](value_rule rule) { return rule == value_rule::same || rule == value_rule::truth; };
  if (o.noperands != 2 || o.noutputs != 1 || !takes_elements(o.operand[0]) || !takes_elements(o.operand[1])) {
    fail(error_kind::type, std::string("reduce: ") + o.name + " is no operation (T, T) -> T, but " + o.signature);
  }
  scalar_id computation = computation_type(op, element), result = result_type(op, 0, computation);
  if (result != computation) {
    fail(error_kind::type, std::string("reduce: ") + o.name + " of " + scalar_name[size_t(computation)] + " gives " +
                               scalar_name[size_t(result)] + ", which it cannot go on with");
  }
  return computation;
}

// What people call that folds by the operation, in the order of reductions; null where there is no such thing.
const aggregate *aggregate_by(op_id combine) {
  return find_aggregate([&](const aggregate &a) {
    return a.kind == aggregate_kind::fold && a.part == folded_part::value && a.nan == nan_rule::kept &&
           reduction_of(a.fold).combine == combine;
  });
}

} // namespace

ref<array_block> as_one_row(array_block *operand) {
  nd::array a(ref<array_block>::share(operand));
  nd::array row = list_of(compact(a, a.ndim() - 1), a.ndim() - 1);
  return ref<array_block>::share(row.get());
}

namespace {

void fail_if_empty(const char *name, array_block *operand, int axis) {
  stream_room room;
  without_interpreter unlocked(has_many_places(*operand, axis));
  interruptible_walk walk;
  for_each_place(cursor::over_rows(*operand, room), axis, [&](const cursor &row, const intptr_t *index) {
    walk.step("reduce");
    if (row.size() == 0) {
      std::string where = row.is_var() && axis > 0 ? row_text({index, size_t(axis)}) : "axis " + std::to_string(axis);
      fail(error_kind::value, "reduce: " + where + " is empty, and " + name + " of no elements needs identity=");
    }
  });
}

// The values, but missing where the elements of their row all are.
ref<array_block> missing_of_nothing(const ref<array_block> &value, array_block *operand, int axis,
                                    const settings &how) {
  const aggregate *how_many = find_aggregate(
      [](const aggregate &a) { return a.kind == aggregate_kind::count && a.part == folded_part::presence; });
  ref<array_block> count = evaluate(how_many->id, operand, false, axis, {}, how);
  ref<array_block> some = apply(logic::different, {count.get(), number_of(scalar_id::int64, 0).get()}, how);
  return missing_where_not(some.get(), value.get(), how);
}

nd::array last_along(const nd::array &a, int axis) {
  std::vector<nd::index> indices(size_t(axis), nd::index::whole());
  indices.push_back(nd::index::number(-1));
  return nd::at(a, indices);
}

// The identity in the type that is folded.
ref<array_block> fold_start(array_block *identity, scalar_id type) {
  if (identity->ndim > 0) {
    fail(error_kind::type, "reduce: identity must be one value");
  }
  try {
    return copy_values(identity, access_mode::immutable, ndt::make_scalar(type));
  } catch (const error &e) {
    fail(e.kind(), std::string("reduce: identity: ") + e.what());
  }
}

// Elements that may be missing: then a row without them is no error, and those that are there are found afterwards.
ref<array_block> fold_missing_rows(op_id op, const nd::array &a, std::optional<int> axis, array_block *identity,
                                   const settings &how) {
  missing_rows rows("reduce", a);
  int at = axis ? checked_axis("reduce", *axis, rows.ndim()) : 0;
  nd::array plain = rows.operand();
  const char *name = operation_of(op).name;
  element_kind own = kind_of_numbers(name, plain->type);
  bool checks = axis && !identity && !own.option && rows.has_inside(at);
  if (checks) {
    plain = nd::array(copy_values(plain.get(), access_mode::immutable, number_type(own.scalar, true)));
  }
  nd::array result(fold_left(op, plain.get(), false, axis, identity, how));
  if (checks) {
    rows.check_results(name, result, at, " is empty");
  }
  return ref<array_block>::share(rows.restored(result, at).get());
}

} // namespace

ref<array_block> fold_left(op_id op, array_block *operand, bool last_use, std::optional<int> axis,
                           array_block *identity, const settings &how) {
  const char *name = operation_of(op).name;
  if (has_missing_rows(operand->type)) {
    return fold_missing_rows(op, nd::array(ref<array_block>::share(operand)), axis, identity, how);
  }
  number_operand x((std::string("reduce: ") + name).c_str(), operand, last_use);
  scalar_id own = x.element.scalar;
  typed_scan typed{name, op, x.element, own, folded_type(op, own), false, nullptr, true};
  if (const aggregate *a = aggregate_by(op); a && !identity) {
    return as_type(evaluate(a->id, x.block, x.last_use, axis, {}, how), typed.accumulator);
  }
  ref<array_block> row, value;
  if (identity) {
    value = fold_start(identity, typed.accumulator);
    typed.identity = value.get();
  }
  if (!axis) {
    row = as_one_row(x.block);
    x.block = row.get();
    x.last_use = false;
  }
  int at = scanned_axis("reduce", x.block->ndim, axis ? axis : 0);
  typed.include_initial = identity || typed.element.option;
  if (!typed.include_initial) {
    fail_if_empty(name, x.block, at);
  }
  bool read_again = typed.element.option || operation_of(op).failure; // afterwards, or to find what failed
  ref<array_block> running = run_scan(typed, x.block, x.last_use && !read_again, at, how);
  nd::array last = last_along(nd::array(std::move(running)), at);
  ref<array_block> result = copy_values(last.get(), access_mode::immutable);
  return identity || !typed.element.option ? result : missing_of_nothing(result, x.block, at, how);
}

// ---- differences --------------------------------------------------------------------------------------------------

namespace {

// Whether the axis of a new array has no elements in any row.
bool is_empty_along(const nd::array &a, int axis) {
  if (!a->is_var(axis)) {
    return a.size(axis) == 0;
  }
  offsets_run run = rows_of(*a.get(), a->slot_stream(axis));
  return run && run.content() == 0;
}

} // namespace

nd::array differences(const nd::array &a, int n, int axis, const settings &how) {
  if (n < 0) {
    fail(error_kind::value, "diff: n must not be negative, got " + std::to_string(n));
  }
  if (has_missing_rows(a->type)) {
    return scan_missing_rows("diff", a, axis,
                             [&](const nd::array &rows, int at) { return differences(rows, n, at, how); });
  }
  int at = scanned_axis("diff", a.ndim(), axis);
  nd::array result = a;
  for (int i = 0; i < n && !(i && is_empty_along(result, at)); i++) {
    nd::array from = result;
    space shape;
    space_of(from.get(), shape);
    bool ragged = from->slot_stream(at + 1) < from->type->var_count && !has_equal_rows(shape); // below the axis
    if (ragged) { // rows of one element would stretch
      from = nd::array(move_axis_inside("diff", result.get(), at, result.ndim() - 1));
    }
    int along = ragged ? from.ndim() - 1 : at;
    nd::array after = part_along(from, along, 1, {}), before = part_along(from, along, {}, -1);
    ref<array_block> moved = apply(arithmetic::difference, {after.get(), before.get()}, how);
    materialize(moved.get());
    result = nd::array(ragged ? move_axis_back(moved.get(), *result.get(), at, -1) : std::move(moved));
  }
  return result;
}

} // namespace dynd
