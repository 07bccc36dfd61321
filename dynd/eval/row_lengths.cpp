// The lengths of rows that are evaluated together: compared, and made into the offsets of a result's rows, before
// anything is written.
#include <algorithm>

#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/run.h"

namespace dynd {

namespace {

// Walks all rows of all operands together.
class row_measure {
public:
  row_measure(const char *operation, const space_operands &operands, const space &shape)
      : offsets(size_t(shape.nvar), {0}), operation_(operation), operands_(operands), shape_(shape),
        rooms_(size_t(shape.ndim + 1) * size_t(operands.size()) * max_ndim) {
    for (int d = 0; d < shape.ndim; d++) {
      for (int o = 0; o < operands.size(); o++) {
        bool rows = axis_of(o, d) >= 0 && operands[o].block->is_var(axis_of(o, d));
        last_ = rows ? d : last_;
      }
    }
  }

  void run() {
    without_interpreter unlocked(has_many_rows());
    places whole;
    for (int o = 0; o < operands_.size(); o++) {
      whole.push_back(cursor::over_rows(*operands_[o].block, room(o, shape_.ndim)));
    }
    visit(whole, 0);
  }

  std::vector<std::vector<int64_t>> offsets;

private:
  using places = small_vector<cursor, 8>; // of the operands, at one element of the axes outside
  struct moving_place {
    dimension row;
    char **room;
  };

  bool has_many_rows() const {
    intptr_t rows = 1;
    for (int d = 0; d < last_ && !shape_.is_var(d); d++) {
      rows = __builtin_mul_overflow(rows, shape_.size[d], &rows) ? INTPTR_MAX : rows;
    }
    bool many = rows > unlocked_from;
    for (int o = 0; o < operands_.size() && !many; o++) {
      many = has_many_places(*operands_[o].block, std::max(0, axis_of(o, last_)));
    }
    return many;
  }

  void visit(const places &at, int d) {
    int64_t length = shape_.is_var(d) ? 1 : shape_.size[d];
    for (int o = 0; o < at.size(); o++) {
      length = length == 1 ? length_of(at, o, d) : length;
    }
    for (int o = 0; o < at.size(); o++) {
      if (length_of(at, o, d) != 1 && length_of(at, o, d) != length) {
        fail_row(at, d);
      }
    }
    if (shape_.is_var(d)) {
      std::vector<int64_t> &own = offsets[size_t(shape_.slot_index[d])];
      own.push_back(own.back() + length);
    }
    if (d == last_ || length == 0) { // an empty row has no first element whose rows could be looked at
      return;
    }
    places inner = at;
    small_vector<moving_place, 8> moving;
    for (int o = 0; o < at.size(); o++) {
      if (axis_of(o, d) >= 0) {
        dimension row(at[o]);
        inner[o] = row.enter(0, room(o, d));
        if (row.size() > 1) {
          moving.push_back({row, room(o, d)});
        }
      }
    }
    if (d + 1 == last_ && measure_last(inner, moving, d, length)) {
      return;
    }
    for (int64_t i = 0; i < length; i++) {
      path_[d] = i;
      walk_.step(operation_);
      visit(inner, d + 1);
      for (const moving_place &place : moving) {
        place.row.next(place.room);
      }
    }
  }

  // What visit() does for `count` neighbours in the last axis, which is nearly all of the work, as one loop over the
  // slots. False where some row does not fit: then the walk says which.
  bool measure_last(const places &at, const small_vector<moving_place, 8> &moving, int outside, int64_t count) {
    struct operand_rows {
      const char *slot; // null: they have one size
      intptr_t step;
      slot_kind kind;
      int64_t size;
    };
    small_vector<operand_rows, 8> rows;
    for (int o = 0; o < at.size(); o++) {
      operand_rows &own = rows.push_back({nullptr, 0, slot_kind::none, length_of(at, o, last_)});
      if (axis_of(o, last_) >= 0 && at[o].is_var()) {
        const array_block &block = at[o].block();
        int stream = at[o].part().stream;
        bool moves = std::any_of(moving.begin(), moving.end(),
                                 [&](const moving_place &place) { return place.room == at[o].streams(); });
        own = {at[o].address(), moves ? block.strides(stream)[axis_of(o, outside)] : 0, block.streams()[stream].kind,
               0};
        bool follow = own.kind != slot_kind::pairs64 && own.step == slot_size(own.kind);
        int64_t length = follow ? length_of_rows({own.slot, own.kind, count}) : -1;
        own = length >= 0 ? operand_rows{nullptr, 0, slot_kind::none, length} : own;
      }
    }
    bool var = shape_.is_var(last_), fits = true;
    std::vector<int64_t> *own = var ? &offsets[size_t(shape_.slot_index[last_])] : nullptr;
    // Where all operands have rows of one length, or one size, the first rows tell for all.
    bool alike = !var && std::none_of(rows.begin(), rows.end(), [](const operand_rows &row) { return row.slot; });
    for (int64_t i = 0, different = alike ? std::min<int64_t>(count, 1) : count; i < different && fits; i++) {
      walk_.step(operation_);
      int64_t length = var ? 1 : shape_.size[last_];
      for (operand_rows &row : rows) {
        if (row.slot) {
          row.size = read_slot(row.slot, row.kind).size;
          row.slot += row.step;
        }
        length = length == 1 ? row.size : length;
      }
      for (const operand_rows &row : rows) {
        fits &= row.size == 1 || row.size == length;
      }
      if (var) {
        own->push_back(own->back() + length);
      }
    }
    return fits;
  }

  // The axis of operand o that goes with axis d of the space; negative where it has none.
  int axis_of(int o, int d) const { return d - (shape_.ndim - operands_[o].ndim); }
  int64_t length_of(const places &at, int o, int d) const { return axis_of(o, d) < 0 ? 1 : at[o].size(); }
  char **room(int o, int d) { return &rooms_[size_t(d * operands_.size() + o) * max_ndim]; }

  [[noreturn]] void fail_row(const places &at, int d) const {
    std::string text = std::string(operation_) + ": cannot broadcast " + row_text({path_, size_t(d)}) + ": lengths ";
    for (int o = 0; o < at.size(); o++) {
      text += (o == 0 ? "" : o + 1 == at.size() ? " and " : ", ") + std::to_string(length_of(at, o, d));
    }
    // (N) against (N, var): probably one value for each row was meant.
    bool meant = std::any_of(operands_.begin(), operands_.end(), [&](const space_operand &operand) {
      return operand.ndim == 1 && !shape_.is_var(d) && operand.block->size()[0] == shape_.size[d];
    });
    fail(error_kind::broadcast, text + (meant ? one_value_for_each_row_hint : ""));
  }

  const char *operation_;
  const space_operands &operands_;
  const space &shape_;
  int last_ = -1; // the last axis with rows
  intptr_t path_[max_ndim];
  std::vector<char *> rooms_; // for the streams of each operand, in each axis
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
