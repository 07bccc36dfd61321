#include "dynd/eval/merge_axes.h"

#include <numeric>
#include <vector>

#include "dynd/array/layout.h"
#include "dynd/array/view.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/move_axis.h"

namespace dynd {

ref<array_block> spread_copy(const char *name, array_block *operand, const space &shape) {
  element_kind kind;
  find_element_kind(operand->type->dtype, kind);
  fused_task fused(name, unwatched);
  fused.t.shape = shape;
  ref<array_block> result = new_result(shape, number_type(kind.scalar, kind.option));
  fused.claim({operand}, 0, *result, 1);
  fused.add_claimed();
  fused.add_output(fused.registers_of(operand), result.get());
  fused.add_claimed_outputs();
  fused.lower_operands();
  fused.run();
  fused.finish();
  return result;
}

namespace {

// A view in which the axes from `first` on, in C order, are one: [[[1, 2], [3]], [[4]]] from 1 on is [[1, 2, 3], [4]].
ref<array_block> merge_from(const ref<array_block> &block, int first) {
  space shape;
  space_of(block.get(), shape);
  space merged;
  merged.ndim = first + 1;
  std::vector<std::vector<int64_t>> offsets;
  int64_t places = 1, origin = 0, size = 1;
  std::vector<int64_t> bounds; // of the merged rows, counted in elements
  without_interpreter unlocked(shape.count() > unlocked_from);
  auto rows_at = [&](int d) { return shape.slots[size_t(shape.slot_index[d])].run; };
  for (int d = 0; d < first; d++) {
    merged.size[d] = shape.size[d];
    merged.fixed[d] = shape.fixed[d];
    if (shape.is_var(d)) {
      merged.slot_index[d] = int8_t(merged.nvar++);
      std::vector<int64_t> &own = offsets.emplace_back();
      for (intptr_t r = 0; r <= rows_at(d).rows; r++) {
        own.push_back(rows_at(d)[r] - rows_at(d).first());
      }
      places = rows_at(d).content();
      origin = rows_at(d).first();
    } else {
      places *= shape.size[d];
      origin *= shape.size[d];
    }
  }
  bounds.resize(size_t(places) + 1);
  std::iota(bounds.begin(), bounds.end(), 0);
  bool var = false;
  for (int d = first; d < shape.ndim; d++) {
    var |= shape.is_var(d);
    size = shape.is_var(d) ? 1 : size * shape.size[d];
    origin = shape.is_var(d) ? rows_at(d).first() : origin * shape.size[d];
    for (int64_t &bound : bounds) {
      bound = shape.is_var(d) ? rows_at(d)[bound] - rows_at(d).first() : bound * shape.size[d];
    }
  }
  merged.size[first] = !var ? size : first == 0 ? bounds[1] : -1;
  if (merged.is_var(first)) {
    merged.slot_index[first] = int8_t(merged.nvar++);
    offsets.push_back(std::move(bounds));
  }
  make_slots(merged, offsets);
  ndt::type dtype(block->type->dtype);
  ref<array_block> result = new_lazy_result(merged, dtype);
  for (int s = 0; s < dtype->nstreams; s++) {
    stream &own = result->streams()[merged.nvar + s];
    own = shared_stream(*block, shape.nvar + s);
    own.address += origin * int64_t(stream_item(dtype.get(), s));
  }
  return result;
}

} // namespace

ref<array_block> merged_copy(const char *name, array_block *operand, const space &shape, const bool *reduced) {
  ref<array_block> copy = spread_copy(name, operand, shape);
  int to = shape.ndim; // where the reduced axes begin
  for (int d = shape.ndim - 1; d >= 0; d--) {
    if (reduced[d] && d != --to) {
      copy = move_axis_inside(name, copy.get(), d, to);
    }
  }
  if (to == shape.ndim) { // none: each element is a row
    nd::array unit = nd::with_unit_axis(nd::array(std::move(copy)), to);
    return ref<array_block>::share(unit.get());
  }
  return merge_from(copy, to);
}

} // namespace dynd
