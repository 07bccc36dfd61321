// Reducing an axis that is outside of ragged rows.
#include <algorithm>
#include <vector>

#include "dynd/array/cursor.h"
#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/space.h"

namespace dynd {

namespace {

class axis_mover {
public:
  axis_mover(const char *name, const array_block &block, int axis)
      : name_(name), block_(block), axis_(axis), offsets_(size_t(block.ndim), {0}),
        values_(block.type->dtype->nstreams) {}

  ref<array_block> run() {
    visit(0);
    return build();
  }

private:
  // The axes in their order, but the moved one last.
  int axis_at(int k) const { return k == block_.ndim - 1 ? axis_ : k + (k >= axis_); }

  // The place at index_ of the dimensions outside of `axis`.
  cursor find(int axis) {
    cursor at(block_, room_);
    for (int d = 0; d < axis; d++) {
      at = dimension(at).enter(index_[d], room_);
    }
    return at;
  }

  void visit(int k) {
    if (k == block_.ndim) {
      return add_value(find(k));
    }
    int axis = axis_at(k);
    int64_t length = axis > axis_ ? common_length(k) : find(axis).size();
    offsets_[size_t(axis)].push_back(offsets_[size_t(axis)].back() + length);
    for (int64_t i = 0; i < length; i++) {
      index_[axis] = i;
      visit(k + 1);
    }
  }

  // The length of the rows below all elements of the moved axis.
  int64_t common_length(int k) {
    int axis = axis_at(k);
    int64_t count = find(axis_).size(), length = std::max<int64_t>(block_.size()[axis], 0);
    for (int64_t i = 0; i < count; i++) {
      index_[axis_] = i;
      int64_t own = find(axis).size();
      length = i == 0 ? own : length;
      if (own != length) {
        std::vector<intptr_t> path;
        for (int outer = 0; outer < k; outer++) {
          path.push_back(index_[axis_at(outer)]);
        }
        fail(error_kind::broadcast, std::string(name_) + ": rows along axis " + std::to_string(axis_) +
                                        " must be equally long below it" +
                                        (path.empty() ? "" : ", at " + row_text(path).substr(4)) + ": lengths " +
                                        std::to_string(length) + " and " + std::to_string(own));
      }
    }
    return length;
  }

  void add_value(const cursor &at) {
    walk_.step(name_);
    for (size_t s = 0; s < values_.size(); s++) {
      const char *value = at.streams()[s];
      values_[s].insert(values_[s].end(), value, value + stream_item(block_.type->dtype, int(s)));
    }
  }

  ref<array_block> build() {
    space shape;
    shape.ndim = block_.ndim;
    std::vector<std::vector<int64_t>> offsets;
    for (int k = 0; k < shape.ndim; k++) {
      int axis = axis_at(k);
      shape.size[k] = block_.size()[axis];
      shape.fixed[k] = part_at(block_.type, axis).type->kind == type_kind::fixed_dim;
      if (shape.is_var(k)) {
        shape.slot_index[k] = int8_t(shape.nvar++);
        offsets.push_back(std::move(offsets_[size_t(axis)]));
      }
    }
    make_slots(shape, offsets);
    ref<array_block> result = new_result(shape, ndt::type(block_.type->dtype));
    for (size_t s = 0; s < values_.size(); s++) {
      std::copy(values_[s].begin(), values_[s].end(), result->streams()[size_t(shape.nvar) + s].address);
    }
    return result;
  }

  const char *name_;
  const array_block &block_;
  int axis_;
  std::vector<std::vector<int64_t>> offsets_; // of the axes
  std::vector<std::vector<char>> values_;     // of each stream of the elements
  intptr_t index_[max_ndim];
  stream_room room_;
  interruptible_walk walk_;
};

} // namespace

ref<array_block> move_axis_inside(const char *operation, array_block *block, int axis) {
  materialize(block);
  without_interpreter unlocked;
  return axis_mover(operation, *block, axis).run();
}

} // namespace dynd
