#include "dynd/eval/row_lengths.h"

#include <algorithm>

#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/task.h"

namespace dynd {

namespace {

// Walks all rows of all operands together.
class row_measure {
public:
  row_measure(const char *operation, const space_operands &operands, const space &shape)
      : operation_(operation), shape_(shape) {
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
    offsets.resize(size_t(shape.nvar), {0});
    levels_.resize(size_t(last_) + 2);
    for (level &own : levels_) {
      own.at.resize(size_t(t_.streams.size()));
      own.step.resize(own.at.size());
      own.row.resize(size_t(operands.size()));
    }
  }

  void run() {
    for (int s = 0; s < t_.streams.size(); s++) {
      levels_[0].at[size_t(s)] = t_.streams[s].address;
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

  void visit(int d) {
    if (d > last_) {
      return;
    }
    level &here = levels_[size_t(d)];
    for (int o = 0; o < t_.operands.size(); o++) {
      int slots = t_.lowered[o].slots[d];
      here.row[size_t(o)] = slots < 0 ? row_extent{0, -1} : read_slot(here.at[size_t(slots)], t_.lowered[o].kind[d]);
    }
    int64_t length = common_length(d);
    for (int o = 0; o < t_.operands.size(); o++) {
      if (length_of(d, o) != 1 && length_of(d, o) != length) {
        fail_row(d);
      }
    }
    if (d == last_) {
      return;
    }
    enter(d, length);
    level &inner = levels_[size_t(d) + 1];
    for (int64_t i = 0; i < length; i++) {
      path_[d] = i;
      walk_.step(operation_);
      visit(d + 1);
      for (size_t s = 0; s < inner.at.size(); s++) {
        inner.at[s] += here.step[s];
      }
    }
  }

  // The shape's size, or the length that the operands' rows give.
  int64_t common_length(int d) {
    if (!shape_.is_var(d)) {
      return shape_.size[d];
    }
    int64_t length = 1;
    for (const row_extent &row : levels_[size_t(d)].row) {
      length = row.size >= 0 && length == 1 ? row.size : length;
    }
    std::vector<int64_t> &own = offsets[size_t(shape_.slot_index[d])];
    own.push_back(own.back() + length);
    return length;
  }

  // The streams of the dimension below at its first element, and their steps.
  void enter(int d, int64_t length) {
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
        here.step[size_t(s)] = row.size < 0 || row.size == length ? stride : 0;
        inner.at[size_t(s)] += row.size < 0 ? 0 : row.start * start_unit(stride, t_.lowered[o].step[d]);
      }
    }
  }

  // Of a dimension of one size its size; 1 where the operand has none.
  int64_t length_of(int d, int o) const {
    const row_extent &row = levels_[size_t(d)].row[size_t(o)];
    int axis = d - (shape_.ndim - t_.operands[o].ndim);
    return row.size >= 0 ? row.size : axis < 0 ? 1 : t_.operands[o].block->size()[axis];
  }

  [[noreturn]] void fail_row(int d) {
    std::string text = std::string(operation_) + ": cannot broadcast " + row_text({path_, size_t(d)});
    text += ": lengths ";
    for (int o = 0; o < t_.operands.size(); o++) {
      text += (o == 0 ? "" : o + 1 == t_.operands.size() ? " and " : ", ") + std::to_string(length_of(d, o));
    }
    // (N) against (N, var): probably one value for each row was meant.
    bool meant = std::any_of(t_.operands.begin(), t_.operands.end(), [&](const space_operand &operand) {
      return operand.ndim == 1 && !shape_.is_var(d) && operand.block->size()[0] == shape_.size[d];
    });
    fail(error_kind::broadcast, text + (meant ? one_value_for_each_row_hint : ""));
  }

  const char *operation_;
  const space &shape_;
  task t_; // for its lowered slots; it has no ports
  int last_ = -1;
  intptr_t path_[max_ndim];
  std::vector<level> levels_;
  interruptible_walk walk_;
};

} // namespace

std::vector<std::vector<int64_t>> measure_rows(const char *operation, const space_operands &operands,
                                               const space &shape) {
  row_measure measure(operation, operands, shape);
  measure.run();
  return std::move(measure.offsets);
}

} // namespace dynd
