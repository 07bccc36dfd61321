// Reductions: over everything in C order, or over one axis, which is made the innermost first. The order of a summation
// depends only on the index within the logical row and its length, never on layout, threads or fusion.
#include <algorithm>
#include <cstring>
#include <vector>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/group_task.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/run.h"

namespace dynd {

namespace {

const reduce_functions &functions_of(reduction_id reduction, scalar_id accumulator) {
  return isa().reduce(reduction, accumulator);
}

std::string index_text(const std::vector<intptr_t> &path) {
  std::string text;
  for (intptr_t i : path) {
    text += (text.empty() ? "" : ", ") + std::to_string(i);
  }
  return path.size() > 1 ? "(" + text + ")" : text;
}

// ---- moving an axis inside ----------------------------------------------------------------------------------------

// A copy in which the reduced axis is the innermost, for arrays that are ragged below it. What is below must have the
// same shape along the axis: rows are reduced element by element, so they have to be equally long.
class axis_mover {
public:
  axis_mover(const char *name, array_block *block, int axis) : name_(name), block_(block), axis_(axis) {}

  ref<array_block> run() {
    std::vector<char *> at(block_->nstreams);
    for (int s = 0; s < block_->nstreams; s++) {
      at[size_t(s)] = block_->streams()[s].address;
    }
    order();
    offsets_.assign(size_t(block_->ndim), {0});
    outside(0, at);
    return build();
  }

private:
  using cursor = std::vector<char *>; // where an operand's streams stand

  // New axis k is the old axis order_[k].
  void order() {
    for (int d = 0; d < block_->ndim; d++) {
      if (d != axis_) {
        order_.push_back(d);
      }
    }
    order_.push_back(axis_);
  }

  // The elements of `c` along `axis`.
  std::vector<cursor> elements(const cursor &c, int axis) const {
    dimension_walk dimension(*block_, axis, c.data());
    std::vector<cursor> result(size_t(dimension.size()), cursor(c.size()));
    for (int64_t i = 0; i < dimension.size(); i++) {
      dimension.enter(i, result[size_t(i)].data());
    }
    return result;
  }

  void note_length(int axis, size_t length) {
    if (block_->size()[axis] < 0) {
      std::vector<int64_t> &offsets = offsets_[size_t(axis)];
      offsets.push_back(offsets.back() + int64_t(length));
    }
  }

  void outside(int d, const cursor &at) {
    if (d == axis_) {
      below(d + 1, elements(at, axis_));
      return;
    }
    std::vector<cursor> inner = elements(at, d);
    note_length(d, inner.size());
    for (size_t i = 0; i < inner.size(); i++) {
      path_.push_back(intptr_t(i));
      outside(d + 1, inner[i]);
      path_.pop_back();
    }
  }

  // `row` stands at the same place in every element of the reduced axis.
  void below(int d, const std::vector<cursor> &row) {
    if (d == block_->ndim) {
      note_length(axis_, row.size());
      for (const cursor &c : row) {
        values_.insert(values_.end(), c.back(), c.back() + block_->item_size());
      }
      return;
    }
    std::vector<std::vector<cursor>> inner;
    size_t length = block_->size()[d] < 0 ? 0 : size_t(block_->size()[d]);
    for (size_t i = 0; i < row.size(); i++) {
      inner.push_back(elements(row[i], d));
      if (i > 0 && inner[i].size() != length) {
        fail(error_kind::broadcast, std::string(name_) + ": rows along axis " + std::to_string(axis_) +
                                        " must be equally long below it" +
                                        (path_.empty() ? "" : ", at " + index_text(path_)) + ": lengths " +
                                        std::to_string(length) + " and " + std::to_string(inner[i].size()));
      }
      length = inner[i].size();
    }
    note_length(d, length);
    for (size_t j = 0; j < length; j++) {
      std::vector<cursor> column;
      for (const std::vector<cursor> &one : inner) {
        column.push_back(one[j]);
      }
      path_.push_back(intptr_t(j));
      below(d + 1, column);
      path_.pop_back();
    }
  }

  ref<array_block> build() {
    space shape;
    shape.ndim = block_->ndim;
    std::vector<std::vector<int64_t>> offsets;
    for (int k = 0; k < shape.ndim; k++) {
      int axis = order_[size_t(k)];
      shape.size[k] = block_->size()[axis];
      shape.fixed[k] = ndt::type(block_->type).at_depth(axis)->kind == type_kind::fixed_dim;
      if (shape.size[k] < 0) {
        shape.slot_index[k] = int8_t(shape.nvar++);
        offsets.push_back(std::move(offsets_[size_t(axis)]));
      }
    }
    make_slots(shape, offsets);
    ref<array_block> result = new_result(shape, block_->scalar());
    allocate_values(result.get(), shape);
    if (!values_.empty()) {
      std::memcpy(result->values().address, values_.data(), values_.size());
    }
    return result;
  }

  const char *name_;
  array_block *block_;
  int axis_;
  std::vector<int> order_;
  std::vector<std::vector<int64_t>> offsets_; // by old axis
  std::vector<char> values_;
  std::vector<intptr_t> path_;
};

nd::array move_axis_inside(const char *name, array_block *block, int axis) {
  nd::array a(ref<array_block>::share(block));
  if (axis == block->ndim - 1) {
    return a;
  }
  force(block);
  if (block->nstreams > 1) {
    return nd::array(axis_mover(name, block, axis).run());
  }
  std::vector<int> axes;
  for (int d = 0; d < block->ndim; d++) {
    if (d != axis) {
      axes.push_back(d);
    }
  }
  axes.push_back(axis);
  return nd::transposed(a, axes);
}

// ---- one axis -----------------------------------------------------------------------------------------------------

// The index, over the axes outside the last one, of its `row`-th row; rows of all `var` axes follow each other.
std::vector<intptr_t> index_of_row(const space &shape, intptr_t row) {
  std::vector<intptr_t> index;
  for (int d = shape.ndim - 2; d >= 0; d--) {
    if (shape.size[d] >= 0) {
      index.insert(index.begin(), row % shape.size[d]);
      row /= shape.size[d];
      continue;
    }
    const offsets_run &run = shape.slots[shape.slot_index[d]].run;
    int64_t at = row + run.first();
    intptr_t outer = run.row_of(at);
    index.insert(index.begin(), at - run[outer]);
    row = outer;
  }
  return index;
}

// The first row that is empty, for a message; the last axis is the reduced one.
[[noreturn]] void fail_empty(const reduction &r, array_block *operand, int axis) {
  ref<array_block> ordered = copy_values(operand, access_mode::immutable); // rows that follow each other
  space shape;
  space_of(ordered.get(), shape);
  std::string where = shape.ndim == 1 ? "the array is empty" : "axis " + std::to_string(axis) + " is empty";
  if (shape.size[shape.ndim - 1] < 0 && shape.ndim > 1) {
    const offsets_run &run = shape.slots[shape.slot_index[shape.ndim - 1]].run;
    intptr_t row = 0;
    while (row < run.rows && run[row + 1] > run[row]) {
      row++;
    }
    where = "row " + index_text(index_of_row(shape, row)) + " is empty";
  }
  fail(error_kind::value, std::string(r.name) + ": " + where + ", and " + r.name + " of no elements is not defined");
}

// The operand's program up to the value that is reduced; a waiting operand is absorbed if nobody else wants it.
void start_reduction(group_task &group, reduction_id reduction, array_block *operand, bool dying) {
  group.claim(&operand, 1, dying ? 1 : 0, *operand);
  if (group.has_outputs()) { // others want values on the way: they are computed first, then read
    group.give_up();
    force(operand);
  }
  task &t = group.t;
  t.name = reduction_of(reduction).name;
  group.start_program(&operand, 1);
  scalar_id accumulator = accumulator_type(reduction, operand->scalar());
  uint8_t reg = t.p.converted(group.register_of(operand), accumulator);
  t.p.output[0] = reg;
  t.p.noutputs = 1;
  t.p.reduce = &functions_of(reduction, accumulator);
  t.p.combine = isa().loop(reduction_of(reduction).combine, accumulator);
  t.p.empty_fails = reduction_of(reduction).empty == empty_rule::none;
}

void fill_zero(array_block *result) {
  if (buffer *memory = as_buffer(result->values().owner)) {
    std::memset(memory->data, 0, memory->size);
  } else {
    std::memset(result->values().address, 0, size_t(result->count) * result->item_size());
  }
}

// The result without the last axis, of the operand's space.
ref<array_block> reduce_last(reduction_id reduction, array_block *operand, bool dying, int shown_axis) {
  const auto &r = reduction_of(reduction);
  scalar_id accumulator = accumulator_type(reduction, operand->scalar());
  group_task group;
  space_of(operand, group.t.shape);
  space outside = group.t.shape;
  outside.ndim--;
  if (outside.size[outside.ndim] < 0) {
    outside.nvar--;
  }
  for (int i = 0; i < outside.nvar; i++) {
    if (!outside.slots[i].run) { // the result needs rows that follow each other
      return reduce_last(reduction, copy_values(operand, access_mode::immutable).get(), false, shown_axis);
    }
  }
  ref<array_block> result = new_result(outside, accumulator);
  allocate_values(result.get(), outside);
  intptr_t length = group.t.shape.size[outside.ndim];
  intptr_t rows = outside.count();
  if (rows == 0) {
    return result;
  }
  if (length == 0) {
    if (r.empty == empty_rule::none) {
      fail_empty(r, operand, shown_axis);
    }
    fill_zero(result.get());
    return result;
  }
  if (observation *watching = current_observation(); watching && watching->tracing) {
    fill_zero(result.get()); // the trace shows what stands at the destination
  }
  start_reduction(group, reduction, operand, dying);
  task &t = group.t;
  t.shape.ndim = 0;
  space_of(operand, t.shape);
  t.reduced = true;
  t.noutputs = 1;
  nd::array place = nd::with_unit_axis(nd::array(result), outside.ndim);
  array_block *output = place.get();
  try {
    run_task(t, &output, group.sources());
  } catch (const error &e) {
    if (e.kind() == error_kind::value) { // an empty row: which one?
      fail_empty(r, operand, shown_axis);
    }
    throw;
  }
  return result;
}

// ---- everything ---------------------------------------------------------------------------------------------------

ref<array_block> reduce_all(reduction_id reduction, array_block *operand, bool dying) {
  const auto &r = reduction_of(reduction);
  scalar_id accumulator = accumulator_type(reduction, operand->scalar());
  ref<array_block> result = new_dense(ndt::make_scalar(accumulator).get(), nullptr);
  if (nd::count_elements(*operand) == 0) {
    if (r.empty == empty_rule::none) {
      fail(error_kind::value, std::string(r.name) + ": the array is empty, and nothing has no " + r.name);
    }
    fill_zero(result.get());
    return result;
  }
  // No handle of ours here: it would count as somebody who wants the values of a waiting operand.
  ref<array_block> copied;
  for (;;) {
    {
      group_task group;
      start_reduction(group, reduction, operand, dying && !copied);
      space_of(operand, group.t.shape);
      if (run_reduce_all(group.t, group.sources(), result->values().address)) {
        return result;
      }
    }
    if (copied) {
      fail(error_kind::internal, std::string(r.name) + ": a copy in C order is not one run");
    }
    // Not one run in C order: the order of the summation asks for a copy.
    copied = copy_values(operand, access_mode::immutable);
    operand = copied.get();
  }
}

ref<array_block> reduce(reduction_id reduction, array_block *operand, bool dying, int axis, bool keepdims) {
  const auto &r = reduction_of(reduction);
  int ndim = operand->ndim;
  if (axis == all_axes) {
    nd::array result(reduce_all(reduction, operand, dying));
    for (int d = 0; keepdims && d < ndim; d++) {
      result = nd::with_unit_axis(result, 0);
    }
    return ref<array_block>::share(result.get());
  }
  if (axis < -ndim || axis >= ndim) {
    fail(error_kind::index, std::string(r.name) + ": axis " + std::to_string(axis) + " is out of bounds for " +
                                std::to_string(ndim) + " dimension(s)");
  }
  axis += axis < 0 ? ndim : 0;
  nd::array moved = move_axis_inside(r.name, operand, axis);
  bool untouched = moved.get() == operand;
  // Our own handle must not count as somebody who wants the values of a waiting operand.
  if (untouched) {
    moved = nd::array();
  }
  nd::array result(reduce_last(reduction, untouched ? operand : moved.get(), dying && untouched, axis));
  if (keepdims) {
    result = nd::with_unit_axis(result, axis);
  }
  return ref<array_block>::share(result.get());
}

} // namespace

ref<array_block> evaluate(reduction_id reduction, array_block *operand, bool dying, int axis, bool keepdims) {
  ref<array_block> read;
  if (!operand->has_scalars()) [[unlikely]] {
    read = scalars_of(operand);
    operand = read.get();
    dying = false;
  }
  need_scalars(reduction_of(reduction).name, &operand, 1);
  scalar_id to = result_type(reduction, operand->scalar());
  ref<array_block> result = reduce(reduction, operand, dying, axis, keepdims);
  if (result->scalar() == to) {
    return result;
  }
  return copy_values(result.get(), access_mode::immutable, ndt::make_scalar(to), error_mode::nocheck);
}

} // namespace dynd
