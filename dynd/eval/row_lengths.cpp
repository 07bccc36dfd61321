#include "dynd/eval/row_lengths.h"

#include <algorithm>

#include "dynd/base/errors.h"
#include "dynd/eval/task.h"

namespace dynd {

namespace {

// Walks all rows of all operands together. `to_shape`: the shape's rows are there, and all must fit them; else they are
// made here.
class row_measure {
public:
  row_measure(const char *operation, const space_operands &operands, const space &shape, bool to_shape)
      : operation_(operation), shape_(shape), to_shape_(to_shape) {
    t_.operands = operands;
    t_.shape = shape;
    lower(t_);
    for (int d = 0; d < shape.ndim; d++) {
      bool rows = shape.is_var(d);
      for (const lowered_operand &operand : t_.lowered) {
        rows |= operand.has_rows[d];
      }
      last_ = rows ? d : last_;
    }
    if (!to_shape) {
      offsets.resize(size_t(shape.nvar), {0});
    }
    levels_.resize(size_t(last_) + 2);
    for (level &own : levels_) {
      own.at.resize(size_t(t_.streams.size() + shape.nvar));
      own.step.resize(own.at.size());
      own.row.resize(size_t(operands.size()));
    }
  }

  void run() {
    for (int s = 0; s < t_.streams.size(); s++) {
      levels_[0].at[size_t(s)] = t_.streams[s].address;
    }
    for (int i = 0; i < shape_.nvar && to_shape_; i++) {
      shape_at(0, i) = shape_.slots[size_t(i)].address;
    }
    visit(0);
  }

  std::vector<std::vector<int64_t>> offsets;

private:
  // Where the streams are at one element of the dimensions outside, how far they go to the next, and the rows there.
  struct level {
    std::vector<char *> at;
    std::vector<intptr_t> step;
    std::vector<row_extent> row; // of each operand; size -1: it has none here
  };
  char *&shape_at(int d, int i) { return levels_[size_t(d)].at[size_t(t_.streams.size() + i)]; }

  void visit(int d) {
    if (d > last_) {
      return;
    }
    level &here = levels_[size_t(d)];
    for (int o = 0; o < t_.operands.size(); o++) {
      int slots = t_.lowered[o].slots[d];
      here.row[size_t(o)] =
          slots < 0 ? row_extent{0, -1} : read_slot(here.at[size_t(slots)], t_.lowered[o].kind[d]);
    }
    row_extent own = shape_row(d);
    for (int o = 0; o < t_.operands.size(); o++) {
      int64_t length = length_of(d, o);
      if (length != 1 && length != own.size) {
        fail_row(d, own.size);
      }
    }
    if (d == last_) {
      return;
    }
    enter(d, own);
    level &inner = levels_[size_t(d) + 1];
    for (int64_t i = 0; i < own.size; i++) {
      path_[d] = i;
      visit(d + 1);
      for (size_t s = 0; s < inner.at.size(); s++) {
        inner.at[s] += here.step[s];
      }
    }
  }

  // The shape's row: the one that is there, or the length that the operands' rows give.
  row_extent shape_row(int d) {
    if (!shape_.is_var(d)) {
      return {0, shape_.size[d]};
    }
    int i = shape_.slot_index[d];
    if (to_shape_) {
      return read_slot(shape_at(d, i), shape_.slots[size_t(i)].kind);
    }
    int64_t length = 1;
    for (const row_extent &row : levels_[size_t(d)].row) {
      length = row.size >= 0 && length == 1 ? row.size : length;
    }
    offsets[size_t(i)].push_back(offsets[size_t(i)].back() + length);
    return {0, length};
  }

  // The streams of the dimension below at its first element, and their steps.
  void enter(int d, const row_extent &own) {
    level &here = levels_[size_t(d)], &inner = levels_[size_t(d) + 1];
    std::copy(here.at.begin(), here.at.end(), inner.at.begin());
    std::fill(here.step.begin(), here.step.end(), 0);
    for (int o = 0; o < t_.operands.size(); o++) {
      const row_extent &row = here.row[size_t(o)];
      for (int e = d + 1; e < shape_.ndim; e++) {
        int s = t_.lowered[o].slots[e];
        if (s < 0) {
          continue;
        }
        intptr_t stride = t_.streams[s].stride[d];
        here.step[size_t(s)] = row.size < 0 || row.size == own.size ? stride : 0;
        inner.at[size_t(s)] += row.size < 0 ? 0 : row.start * start_unit(stride, t_.lowered[o].step[d]);
      }
    }
    for (int i = 0; i < shape_.nvar && to_shape_; i++) {
      intptr_t stride = shape_.slots[size_t(i)].stride[d];
      here.step[size_t(t_.streams.size() + i)] = stride;
      if (shape_.is_var(d) && i > shape_.slot_index[d]) {
        shape_at(d + 1, i) += own.start * start_unit(stride, shape_.slots[size_t(shape_.slot_index[d])].step);
      }
    }
  }

  // Of a dimension of one size its size; 1 where the operand has none.
  int64_t length_of(int d, int o) const {
    const row_extent &row = levels_[size_t(d)].row[size_t(o)];
    int axis = d - (shape_.ndim - t_.operands[o].ndim);
    return row.size >= 0 ? row.size : axis < 0 ? 1 : t_.operands[o].block->size()[axis];
  }

  [[noreturn]] void fail_row(int d, int64_t length) {
    std::string text = std::string(operation_) + ": cannot broadcast ";
    if (d == 0) {
      text += "the rows";
    } else {
      text += "row ";
      for (int i = 0; i < d; i++) {
        text += (i ? ", " : d > 1 ? "(" : "") + std::to_string(path_[i]);
      }
      text += d > 1 ? ")" : "";
    }
    // The operands' lengths in their order, then the destination's.
    std::vector<int64_t> lengths;
    for (int o = 0; o < t_.operands.size(); o++) {
      lengths.push_back(length_of(d, o));
    }
    if (to_shape_) {
      lengths.push_back(length);
    }
    text += ": lengths ";
    for (size_t i = 0; i < lengths.size(); i++) {
      text += (i == 0 ? "" : i + 1 == lengths.size() ? " and " : ", ") + std::to_string(lengths[i]);
    }
    // (N) against (N, var): probably one value for each row was meant.
    bool meant = std::any_of(t_.operands.begin(), t_.operands.end(), [&](const space_operand &operand) {
      return operand.ndim == 1 && !shape_.is_var(d) && operand.block->size()[0] == shape_.size[d];
    });
    fail(error_kind::broadcast, text + (meant ? one_value_a_row_hint : ""));
  }

  const char *operation_;
  const space &shape_;
  bool to_shape_;
  task t_; // for its lowered slots; it has no ports
  int last_ = -1;
  intptr_t path_[max_ndim];
  std::vector<level> levels_;
};

} // namespace

std::vector<std::vector<int64_t>> measure_rows(const char *operation, const space_operands &operands,
                                               const space &shape) {
  row_measure measure(operation, operands, shape, false);
  measure.run();
  return std::move(measure.offsets);
}

void check_rows(const char *operation, const space_operand &operand, const space &destination) {
  space_operands operands;
  operands.push_back(operand);
  row_measure(operation, operands, destination, true).run();
}

} // namespace dynd
