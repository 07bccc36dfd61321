// Variances of long rows: each row is cut into blocks, whose sums combine in their order.
//
// Of a block of n elements there are the mean m, rounded; r, the sum of the deviations from m; s, the sum of their
// squares. About any other point M, with d = m - M, the squares of the block sum up to s + 2 d r + n d^2: exactly, so
// what m was rounded by costs nothing. M is the mean of the row. The cuts depend on the row's length only. Blocks are
// what threads share, also those of one row.
#include <algorithm>

#include "dynd/array/view.h"
#include "dynd/eval/row_functions.h"

namespace dynd {

using namespace arithmetic;

namespace {

bool has_longer_row(const offsets_run &run, intptr_t begin, intptr_t end) {
  if (run[end] - run[begin] <= block_elements) {
    return false;
  }
  intptr_t middle = begin + (end - begin) / 2;
  return end - begin == 1 || has_longer_row(run, begin, middle) || has_longer_row(run, middle, end);
}

// The blocks of all rows in their order. A row without elements has one, so that there are always more than rows.
struct row_cuts {
  std::vector<int64_t> elements, blocks; ///< where each block begins in the content, each row among the blocks

  void add_row(int64_t length) {
    int64_t end = elements.back() + length;
    do {
      elements.push_back(std::min(elements.back() + block_elements, end));
    } while (elements.back() < end);
    blocks.push_back(int64_t(elements.size()) - 1);
  }
};

// False where rows do not follow each other.
bool cut_rows(const char *name, const space &shape, bool all, row_cuts &cuts) {
  cuts = {{0}, {0}};
  int last = shape.ndim - 1;
  without_interpreter unlocked(shape.count() > unlocked_from);
  interruptible_walk walk;
  if (all) {
    cuts.add_row(std::max<intptr_t>(shape.count(), 0));
    return shape.count() >= 0;
  }
  if (!shape.is_var(last)) {
    for (intptr_t rows = shape.count() / shape.size[last]; rows > 0; rows--) {
      cuts.add_row(shape.size[last]);
      walk.step(name);
    }
    return true;
  }
  const offsets_run &run = shape.slots[size_t(shape.slot_index[last])].run;
  if (run) {
    cuts.elements.reserve(size_t(run.rows + run.content() / block_elements) + 1);
    cuts.blocks.reserve(size_t(run.rows) + 1);
  }
  for (intptr_t r = 0; run && r < run.rows; r++) {
    cuts.add_row(run[r + 1] - run[r]);
    walk.step(name);
  }
  return bool(run);
}

// (rows, var)
space rows_space(std::vector<int64_t> offsets) {
  space shape;
  shape.ndim = 2;
  shape.nvar = 1;
  shape.size[0] = intptr_t(offsets.size()) - 1;
  shape.size[1] = -1;
  shape.slot_index[1] = 0;
  shape.slots.resize(1);
  std::vector<std::vector<int64_t>> rows;
  rows.push_back(std::move(offsets));
  make_slots(shape, rows);
  return shape;
}

// The stride of an axis of size 1 says nothing.
int last_long_axis(const space &shape) {
  int last = shape.ndim - 1;
  while (last > 0 && shape.size[last] == 1) {
    last--;
  }
  return last;
}

// Makes one axis of all, where every stream goes through them as through one, in C order.
bool join_axes(task &t) {
  t.one_row = true;
  t.nreduced = t.shape.ndim;
  flatten_rows(t);
  t.one_row = false;
  bool joined = std::none_of(t.shape.size, t.shape.size + t.shape.ndim, [](intptr_t n) { return n < 0; });
  for (const lowered_operand &operand : t.lowered) {
    joined &= std::all_of(operand.slots, operand.slots + t.shape.ndim, [](int s) { return s < 0; });
  }
  int last = last_long_axis(t.shape);
  for (int p = 0; p < t.ports.size() && joined; p++) {
    const intptr_t *stride = t.port_stream(p).stride;
    intptr_t inside = stride[last];
    for (int d = last; d >= 0; d--) {
      joined &= t.shape.size[d] == 1 || stride[d] == inside;
      inside *= t.shape.size[d];
    }
  }
  return joined;
}

// The joined axis as rows, the blocks. Outputs have a value for each.
void cut_task(task &t, const space &blocks) {
  int last = last_long_axis(t.shape);
  for (int p = 0; p < t.ports.size(); p++) {
    lowered_stream &stream = t.port_stream(p);
    intptr_t along = stream.stride[last];
    stream.stride[0] = p < t.p.noutputs ? stream.item : 0;
    stream.stride[1] = p < t.p.noutputs ? 0 : along;
  }
  for (lowered_operand &operand : t.lowered) {
    operand.has_rows[0] = false;
    operand.has_rows[1] = true;
    operand.slots[0] = operand.slots[1] = -1;
  }
  t.shape = blocks;
  t.axis_of[0] = 0;
  t.axis_of[1] = 1;
  t.nreduced = 1;
}

// What is kept of each block, as rows of blocks.
struct block_sums {
  enum part { count, mean, sum, squares, parts };
  ref<array_block> of[parts];

  block_sums(const space &rows_of_blocks, scalar_id type) {
    for (ref<array_block> &part : of) {
      part = new_result(rows_of_blocks, number_type(type, false));
    }
  }
  /// Where a part's values begin, as an array without dimensions.
  ref<array_block> begin(part p, scalar_id type) {
    ref<array_block> first = new_lazy_result({}, number_type(type, false));
    first->values() = shared_stream(*of[p], 1);
    return first;
  }
};

bool sum_blocks(const row_call &call, scalar_id type, const settings &how, const space &blocks, block_sums &sums) {
  fused_task fused(call.what.name, how);
  broadcast_space(call.what.name, {call.operand}, fused.t.shape);
  fused.claim(call.operands(), call.last_uses(), *call.operand, block_sums::parts);
  fused.add_claimed();
  row_steps s(fused, type);
  take_operands(s, fused, call);
  uint8_t n = s.count();
  uint8_t m = s(quotient, s.fold(s.weighted(s.value), sum), s.one_if_zero(n)); // of no elements 0
  deviations d = add_deviations(s, m, true);
  fused.add_claimed_outputs();
  bool alone = fused.t.p.noutputs == 0; // claimed outputs would be cut as if they were sums
  const uint8_t registers[block_sums::parts] = {n, m, d.sum, d.squares};
  ref<array_block> place[block_sums::parts];
  for (int p = 0; p < block_sums::parts; p++) {
    place[p] = sums.begin(block_sums::part(p), type);
    fused.add_output(registers[p], place[p].get(), 0);
  }
  fused.lower_operands();
  align(fused.t);
  if (!alone || !join_axes(fused.t)) {
    return false;
  }
  cut_task(fused.t, blocks);
  fused.run();
  fused.finish();
  return true;
}

void combine_sums(const row_call &call, scalar_id type, const settings &how, const space &rows_of_blocks,
                  const block_sums &sums, array_block *flat) {
  fused_task fused(call.what.name, how);
  fused.t.shape = rows_of_blocks;
  row_steps s(fused, type);
  auto part = [&](block_sums::part p) { return fused.registers_of(sums.of[p].get()).value; };
  uint8_t n = part(block_sums::count), m = part(block_sums::mean), r = part(block_sums::sum);
  uint8_t count = s.fold(n, sum);
  uint8_t lowest = s.fold(m, least);
  uint8_t above = s.fold(s(product, n, s(difference, m, s.repeated(lowest))), sum);
  uint8_t mean = s(addition, lowest, s(quotient, above, s.one_if_zero(count)));
  uint8_t d = s(difference, m, s.repeated(mean));
  uint8_t moved = s(product, d, s(addition, s(addition, r, r), s(product, n, d)));
  uint8_t squares = s.fold(s(addition, part(block_sums::squares), moved), sum);
  squares = s.chosen_if_one(s.fold(part(block_sums::squares), sum), squares);
  nd::array place = nd::with_unit_axis(nd::array(ref<array_block>::share(flat)), 1);
  fused.add_output(finish_variance(s, call.what, squares, count), place.get(), 0);
  fused.lower_operands();
  fused.t.nreduced = 1;
  fused.run();
}

} // namespace

bool has_long_rows(const space &shape) {
  int last = shape.ndim - 1;
  if (!shape.is_var(last)) {
    return shape.size[last] > block_elements;
  }
  const offsets_run &run = shape.slots[size_t(shape.slot_index[last])].run;
  return run.rows > 0 && has_longer_row(run, 0, run.rows);
}

bool combine_blocks(const row_call &call, scalar_id type, const settings &how, array_block *flat) {
  space shape;
  broadcast_space(call.what.name, {call.operand}, shape);
  row_cuts cuts;
  if (!cut_rows(call.what.name, shape, call.all, cuts)) {
    return false;
  }
  space blocks = rows_space(std::move(cuts.elements)), rows_of_blocks = rows_space(std::move(cuts.blocks));
  block_sums sums(rows_of_blocks, type);
  if (!sum_blocks(call, type, how, blocks, sums)) {
    return false;
  }
  combine_sums(call, type, how, rows_of_blocks, sums, flat);
  return true;
}

} // namespace dynd
