// How a reduction is walked. The order of a summation depends only on the index within the logical row and its length,
// never on layout, threads or fusion; several axes are one logical row in C order.
#include "dynd/eval/reduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/eval/merge_axes.h"
#include "dynd/eval/observe.h"
#include "dynd/ops/logic.h"

namespace dynd {

axis_set find_axes(const char *name, const reduced_axes &axes, int ndim) {
  axis_set found;
  found.ndim = ndim;
  for (int i = 0; i < (axes.all ? ndim : axes.count); i++) {
    int at = axes.all ? i : checked_axis(name, axes.axis[i], ndim);
    if (found.has[at]) {
      fail(error_kind::value, std::string(name) + ": axis " + std::to_string(at) + " is given twice");
    }
    found.has[at] = true;
    found.count++;
  }
  return found;
}

void fold_of_nothing(const fold &f, void *value) {
  const int64_t nothing[2] = {0, 0};
  isa().reduce(f.id, f.type).rows(static_cast<char *>(value), 0, value, nothing, 1, 0);
}

uint8_t present_or_nothing(fused_task &fused, uint8_t present, uint8_t reg, const fold &f) {
  if (present == no_register) {
    return reg;
  }
  alignas(16) char value[max_scalar_size];
  fold_of_nothing(f, value);
  program &p = fused.t.p;
  uint8_t filled = p.add_operation(logic::chosen, f.type, {present, reg, fused.constant(f.type, value)});
  program_step &last = p.steps[p.nsteps - 1];
  if (last.nwrites == 1 && last.writes[0] == filled) {
    last.fills = true;
    last.reduction = f.id;
  }
  return filled;
}

ref<array_block> with_axes_kept(ref<array_block> result, const axis_set &axes) {
  nd::array kept(std::move(result));
  for (int d = 0; d < axes.ndim; d++) {
    kept = axes.has[d] ? nd::with_unit_axis(kept, d) : kept;
  }
  return ref<array_block>::share(kept.get());
}

namespace {

// ---- spaces without the reduced axes ------------------------------------------------------------------------------

space without_axes(const space &shape, const axis_set &axes) {
  space outside = shape;
  for (int d = axes.ndim - 1; d >= 0; d--) {
    outside = axes.has[d] ? outside.without(d) : outside;
  }
  return outside;
}

// Rows of one length for every `var` axis: as many as the axes outside have.
void make_equal_rows(space &shape, const space &regular) {
  std::vector<std::vector<int64_t>> offsets(size_t(shape.nvar));
  without_interpreter unlocked(regular.count() > unlocked_from);
  int64_t rows = 1;
  for (int d = 0; d < shape.ndim; d++) {
    if (shape.is_var(d)) {
      std::vector<int64_t> &own = offsets[size_t(shape.slot_index[d])];
      own.resize(size_t(rows) + 1);
      for (int64_t r = 0; r <= rows; r++) {
        own[size_t(r)] = r * regular.size[d];
      }
    }
    rows *= regular.size[d];
  }
  make_slots(shape, offsets);
}

// ---- empty rows ---------------------------------------------------------------------------------------------------

// Fails if a row is empty, naming the first. Only its first axis may be of rows: what is inside has one size.
void fail_if_empty(const reduction_spec &spec) {
  const array_block &operand = *spec.operands[0];
  int first = spec.axes.first(), last = spec.axes.ndim - 1;
  while (!spec.axes.has[last]) {
    last--;
  }
  const intptr_t *inside = operand.size() + first + 1, *end = operand.size() + last + 1;
  bool none = std::find(inside, end, 0) != end;
  stream_room room;
  without_interpreter unlocked(has_many_places(operand, first));
  interruptible_walk walk;
  for_each_place(cursor::over_rows(operand, room), first, [&](const cursor &row, const intptr_t *index) {
    walk.step(spec.name);
    if (none || row.size() == 0) {
      bool var = operand.slot_stream(last + 1) > operand.slot_stream(first);
      std::string where = spec.axes.all() ? "the array"
                          : var && first > 0
                              ? row_text({index, size_t(first)})
                              : "axis " + std::to_string(spec.original_axis < 0 ? first : spec.original_axis);
      fail_of_nothing(spec.name, where + " is empty");
    }
  });
}

// What an empty row gives goes to all elements.
void fill_with_nothing(const reduction_spec &spec, const space &outside, const ref<array_block> *results) {
  for (int r = 0, f = 0; r < spec.results.size(); r++) {
    for (int s = 0; s < spec.results[r]->nstreams; s++, f++) {
      const stream &to = results[r]->streams()[outside.nvar + s];
      alignas(16) char value[max_scalar_size];
      fold_of_nothing(spec.folds[f], value);
      size_t item = stream_item(spec.results[r], s);
      int64_t first = outside.nvar ? outside.slots.back().run.first() : 0;
      for (intptr_t i = 0, count = outside.count(); i < count; i++) {
        std::memcpy(to.address + (first + i) * int64_t(item), value, item);
      }
    }
  }
}

// ---- one way after another ----------------------------------------------------------------------------------------

class reducer {
public:
  reducer(const reduction_spec &spec, ref<array_block> *results) : spec_(spec), results_(results) {}

  void run() {
    if (spec_.axes.all() ? run_all() : spec_.axes.count == 0 ? false : run_axes()) {
      return;
    }
    run_merged();
  }

private:
  bool empty_fails() const {
    return std::any_of(spec_.folds.begin(), spec_.folds.end(), [](const fold &f) { return f.empty_fails; });
  }
  bool is_traced() const { return is_tracing(spec_.how); }

  space_operands operands() const {
    space_operands list;
    for (array_block *block : spec_.operands) {
      list.push_back(block);
    }
    return list;
  }

  // Which sizes belong to the type is said by the array that is reduced.
  void make_space(space &shape) const {
    broadcast_space(spec_.name, operands(), shape);
    const array_block &operand = *spec_.operands[0];
    for (int d = 0; d < shape.ndim && operand.ndim == shape.ndim; d++) {
      shape.fixed[d] = part_at(operand.type, d).type->kind == type_kind::fixed_dim;
    }
  }

  // The program: the operands with what is lazy below them, reduced to the places; of one element each, stored there.
  void add_program(fused_task &fused, array_block *const *places, bool one_each) {
    fused.claim(operands(), spec_.last_use, *spec_.operands[0], spec_.folds.size());
    fused.add_claimed();
    small_vector<value_registers, 4> registers;
    for (array_block *block : spec_.operands) {
      registers.push_back(fused.registers_of(block));
    }
    uint8_t folded[max_folds];
    spec_.before(fused, registers.data(), folded);
    fused.add_claimed_outputs();
    for (int r = 0, f = 0; r < spec_.results.size(); r++) {
      int stream = places[r]->type->var_count;
      for (int s = 0; s < spec_.results[r]->nstreams; s++, f++, stream++) {
        program &p = fused.t.p;
        if (one_each) {
          fused.add_output(p.assigned(folded[f], p.type[folded[f]], error_mode::nocheck), places[r], stream);
        } else {
          fused.add_reduced(folded[f], spec_.folds[f].id, spec_.folds[f].empty_fails, places[r], stream);
        }
      }
    }
  }

  void run_task(fused_task &fused) {
    try {
      fused.run();
    } catch (const error &e) {
      if (e.kind() == error_kind::value && empty_fails()) { // an empty row, most likely: which one?
        fail_if_empty(spec_);
      }
      throw;
    }
    fused.finish();
  }

  void make_results(const space &outside, bool zeros) {
    for (int r = 0; r < spec_.results.size(); r++) {
      results_[r] = new_result(outside, ndt::type(spec_.results[r]), zeros);
    }
  }

  // ---- all axes

  bool run_all() {
    fused_task fused(spec_.name, spec_.how);
    make_space(fused.t.shape);
    make_results({}, false);
    bool nothing = fused.t.shape.count() == 0;
    if (nothing && empty_fails()) {
      fail_of_nothing(spec_.name, "the array is empty");
    }
    if (nothing) {
      fill_with_nothing(spec_, {}, results_);
      return true;
    }
    array_block *places[max_folds];
    for (int r = 0; r < spec_.results.size(); r++) {
      places[r] = results_[r].get();
    }
    add_program(fused, places, false);
    fused.t.nreduced = fused.t.shape.ndim;
    fused.t.one_row = true;
    fused.lower_operands();
    if (!fused.run()) {
      return false;
    }
    fused.finish();
    return true;
  }

  // ---- some axes

  // One `var` axis with nothing ragged below it, or axes of one size each.
  bool is_one_row(const space &shape) const {
    int first = spec_.axes.first();
    bool ragged_below = std::any_of(shape.size + first + 1, shape.size + shape.ndim, [](intptr_t n) { return n < 0; });
    return !ragged_below && (spec_.axes.count == 1 || !shape.is_var(first));
  }

  // A trace shows the rows that are reduced.
  bool is_shown(const space &shape) const {
    return is_traced() && (spec_.axes.count > 1 || !spec_.axes.has[shape.ndim - 1]);
  }

  bool run_axes() {
    fused_task fused(spec_.name, spec_.how);
    make_space(fused.t.shape);
    if (is_shown(fused.t.shape)) {
      return false;
    }
    if (!is_one_row(fused.t.shape)) {
      return run_regular(fused);
    }
    space outside = without_axes(fused.t.shape, spec_.axes);
    intptr_t length = 1;
    for (int d = 0; d < spec_.axes.ndim; d++) {
      length *= spec_.axes.has[d] ? fused.t.shape.size[d] : 1;
    }
    make_results(outside, is_traced());
    if (outside.count() == 0) {
      return true;
    }
    if (length == 0 && empty_fails()) {
      fail_if_empty(spec_);
    }
    if (length == 0) {
      fill_with_nothing(spec_, outside, results_);
      return true;
    }
    bool index = std::any_of(spec_.folds.begin(), spec_.folds.end(),
                             [](const fold &f) { return isa().reduce(f.id, f.type).index; });
    return run_places(fused, results_, length == 1 && !is_traced() && !index);
  }

  // The results with the reduced axes as axes of size 1 are where the task writes.
  bool run_places(fused_task &fused, ref<array_block> *results, bool one_each, bool regular = false) {
    ref<array_block> kept[max_folds];
    array_block *places[max_folds];
    for (int r = 0; r < spec_.results.size(); r++) {
      kept[r] = with_axes_kept(ref<array_block>::share(results[r].get()), spec_.axes);
      places[r] = kept[r].get();
    }
    add_program(fused, places, one_each);
    fused.lower_operands();
    align(fused.t);
    if (regular ? !make_rows_regular(fused.t) : has_own_rows(fused.t)) {
      return false;
    }
    if (!one_each) {
      move_to_end(fused.t, spec_.axes.has);
      fused.t.one_row = !is_traced() && is_all_of_it(fused.t);
      fused.t.nreduced = fused.t.one_row ? fused.t.shape.ndim : spec_.axes.count;
    }
    run_task(fused);
    return true;
  }

  // Whether there is one result, the reduced axes being the last ones, and no rows: a long row is cut for threads.
  bool is_all_of_it(const task &t) const {
    const space &shape = t.shape;
    bool rows = shape.nvar > 0;
    for (const lowered_operand &operand : t.lowered) {
      rows |= std::any_of(operand.slots, operand.slots + shape.ndim, [](int slot) { return slot >= 0; });
    }
    return !rows &&
           std::all_of(shape.size, shape.size + shape.ndim - spec_.axes.count, [](intptr_t n) { return n == 1; });
  }

  // Whether an operand has rows of its own inside of a reduced axis: these cannot be walked in another order of the
  // axes, or as one row.
  bool has_own_rows(const task &t) const {
    bool own = false;
    for (const lowered_operand &operand : t.lowered) {
      for (int d = spec_.axes.first() + (spec_.axes.count == 1); d < t.shape.ndim; d++) {
        own |= operand.slots[d] >= 0;
      }
    }
    return own;
  }

  // Rows that all have one length are taken as axes of that size. False where they have not, or where an operand has
  // others.
  bool run_regular(fused_task &fused) {
    const space &shape = fused.t.shape;
    if (!has_equal_rows(shape) || shape.count() == 0) {
      return false;
    }
    space regular = shape;
    for (int d = 0; d < regular.ndim; d++) {
      if (regular.is_var(d)) {
        const offsets_run &run = shape.slots[size_t(shape.slot_index[d])].run;
        regular.size[d] = run[1] - run[0];
      }
    }
    regular.nvar = 0;
    regular.slots.clear();
    space outside = without_axes(shape, spec_.axes);
    make_equal_rows(outside, without_axes(regular, spec_.axes));
    make_results(outside, false);
    // The values of the results with one size in every axis.
    ref<array_block> flat[max_folds];
    for (int r = 0; r < spec_.results.size(); r++) {
      ndt::type type(spec_.results[r]);
      flat[r] = new_lazy_result(without_axes(regular, spec_.axes), type);
      for (int s = 0; s < type->nstreams; s++) {
        flat[r]->streams()[s] = shared_stream(*results_[r], outside.nvar + s);
      }
    }
    return run_places(fused, flat, false, true);
  }

  // ---- in any other case: a copy of each operand, with the reduced axes inside and as one

  void run_merged() {
    space shape;
    make_space(shape);
    reduction_spec merged = spec_;
    std::vector<ref<array_block>> copies;
    for (int i = 0; i < spec_.operands.size(); i++) {
      copies.push_back(merged_copy(spec_.name, spec_.operands[i], shape, spec_.axes.has));
      merged.operands[i] = copies.back().get();
    }
    merged.last_use = 0;
    merged.axes = find_axes(spec_.name, reduced_axes(-1), merged.operands[0]->ndim);
    merged.original_axis = spec_.axes.first();
    if (spec_.axes.all()) {
      reducer(merged, results_).run_all();
    } else {
      reducer(merged, results_).run_axes();
    }
  }

  const reduction_spec &spec_;
  ref<array_block> *results_;
};

} // namespace

void reduce(const reduction_spec &spec, ref<array_block> *results) { reducer(spec, results).run(); }

} // namespace dynd
