// Reducing or scanning an axis that is outside of ragged rows: it is copied inside, and back.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "dynd/array/cursor.h"
#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/space.h"

namespace dynd {

namespace {

// The elements of a new array as they are found, in its C order.
struct found_elements {
  std::vector<std::vector<int64_t>> offsets; // of each axis
  std::vector<std::vector<char>> values;     // of each stream of the elements
  interruptible_walk walk;

  explicit found_elements(const array_block &block)
      : offsets(size_t(block.ndim), {0}), values(block.type->dtype->nstreams) {}

  void add_row(int axis, int64_t length) { offsets[size_t(axis)].push_back(offsets[size_t(axis)].back() + length); }

  void add_value(const cursor &at) {
    walk.step("move axis");
    for (size_t s = 0; s < values.size(); s++) {
      const char *value = at.streams()[s];
      values[s].insert(values[s].end(), value, value + stream_item(at.block().type->dtype, int(s)));
    }
  }

  // An array of these axes, numbered as in `like`; the one that is `axis` there has another size.
  template <class AxisAt>
  ref<array_block> build(const array_block &like, const type_data *dtype, int axis, intptr_t size, AxisAt axis_at) {
    space shape;
    shape.ndim = like.ndim;
    std::vector<std::vector<int64_t>> of_rows;
    for (int k = 0; k < shape.ndim; k++) {
      int d = axis_at(k);
      shape.size[k] = d == axis ? size : like.size()[d];
      shape.fixed[k] = part_at(like.type, d).type->kind == type_kind::fixed_dim;
      if (shape.is_var(k)) {
        shape.slot_index[k] = int8_t(shape.nvar++);
        of_rows.push_back(std::move(offsets[size_t(d)]));
      }
    }
    make_slots(shape, of_rows);
    ref<array_block> result = new_result(shape, ndt::type(dtype));
    for (size_t s = 0; s < values.size(); s++) {
      std::copy(values[s].begin(), values[s].end(), result->streams()[size_t(shape.nvar) + s].address);
    }
    return result;
  }
};

// Copies an array with one axis further inside, as number `to`. What is between is below all elements of the axis: it
// is equally long there.
class axis_mover {
public:
  axis_mover(const char *name, const array_block &block, int axis, int to)
      : name_(name), block_(block), axis_(axis), to_(to), found_(block) {}

  ref<array_block> run() {
    visit(0, {});
    return found_.build(block_, block_.type->dtype, axis_, block_.size()[axis_], [&](int k) { return axis_at(k); });
  }

private:
  // The axes in their order, but the moved one as number to_.
  int axis_at(int k) const { return k == to_ ? axis_ : k + (k >= axis_ && k < to_); }

  // The place at index_ of the dimensions outside of `axis`.
  cursor find(int axis) {
    cursor at(block_, room_);
    for (int d = 0; d < axis; d++) {
      at = dimension(at).enter(index_[d], room_);
    }
    return at;
  }

  // `elements` of the moved axis have the place at index_ of the axes outside of axis_at(k).
  void visit(int k, const std::vector<int64_t> &elements) {
    if (k == block_.ndim) {
      return found_.add_value(find(k));
    }
    if (k == axis_) {
      std::vector<int64_t> all(static_cast<size_t>(find(axis_).size()));
      std::iota(all.begin(), all.end(), 0);
      return visit_inside(k, all);
    }
    visit_inside(k, elements);
  }

  void visit_inside(int k, const std::vector<int64_t> &elements) {
    int axis = axis_at(k);
    bool moved = axis == axis_, between = axis > axis_ && axis <= to_;
    int64_t length = moved ? int64_t(elements.size()) : between ? length_between(k, elements) : find(axis).size();
    found_.add_row(axis, length);
    for (int64_t i = 0; i < length; i++) {
      index_[axis] = moved ? elements[size_t(i)] : i;
      visit(k + 1, elements);
    }
  }

  int64_t length_below(int64_t element, int axis) {
    index_[axis_] = element;
    return find(axis).size();
  }

  // The length of the rows below all elements of the moved axis.
  int64_t length_between(int k, const std::vector<int64_t> &elements) {
    int axis = axis_at(k);
    int64_t length = std::max<int64_t>(block_.size()[axis], 0);
    for (size_t i = 0; i < elements.size(); i++) {
      int64_t own = length_below(elements[i], axis);
      if (i > 0 && own != length) {
        fail_lengths(k, {elements[i - 1], elements[i]}, {length, own});
      }
      length = own;
    }
    return length;
  }

  [[noreturn]] void fail_lengths(int k, std::pair<int64_t, int64_t> rows, std::pair<int64_t, int64_t> lengths) const {
    std::vector<intptr_t> path;
    for (int outer = 0; outer < k; outer++) {
      path.push_back(index_[axis_at(outer)]);
    }
    fail(error_kind::broadcast, std::string(name_) + ": rows along axis " + std::to_string(axis_) +
                                    " must be equally long below it" +
                                    (path.empty() ? "" : ", at " + index_text(path)) + ": lengths " +
                                    std::to_string(lengths.first) + " and " + std::to_string(lengths.second) +
                                    " of rows " + std::to_string(rows.first) + " and " + std::to_string(rows.second));
  }

  const char *name_;
  const array_block &block_;
  int axis_, to_;
  found_elements found_;
  intptr_t index_[max_ndim];
  stream_room room_;
};

// Walks the places of an array, and finds their elements in one whose axis was moved inside.
class axis_returner {
public:
  axis_returner(const array_block &moved, const array_block &like, int axis, int longer)
      : moved_(moved), like_(like), axis_(axis), longer_(longer), found_(moved) {}

  ref<array_block> run() {
    visit(0);
    intptr_t size = like_.is_var(axis_) ? like_.size()[axis_] : std::max<intptr_t>(like_.size()[axis_] + longer_, 0);
    return found_.build(like_, moved_.type->dtype, axis_, size, [](int d) { return d; });
  }

private:
  void visit(int d) {
    if (d == like_.ndim) {
      return found_.add_value(find());
    }
    int64_t length = length_at(d);
    found_.add_row(d, length);
    for (int64_t i = 0; i < length; i++) {
      index_[d] = i;
      visit(d + 1);
    }
  }

  cursor find() {
    cursor at(moved_, room_);
    for (int d = 0; d < like_.ndim; d++) {
      bool last = d == like_.ndim - 1;
      at = dimension(at).enter(index_[last ? axis_ : d + (d >= axis_)], room_);
    }
    return at;
  }

  // At index_ of the dimensions outside of d. What is below the axis is the same for all of its elements.
  int64_t length_at(int d) {
    cursor at(like_, room_);
    for (int e = 0; e < d; e++) {
      dimension here(at);
      if (here.size() == 0) { // the axis, which is one longer now
        return std::max<int64_t>(like_.size()[d], 0);
      }
      at = here.enter(std::min<int64_t>(index_[e], here.size() - 1), room_);
    }
    return std::max<int64_t>(at.size() + (d == axis_ ? longer_ : 0), 0);
  }

  const array_block &moved_, &like_;
  int axis_, longer_;
  found_elements found_;
  intptr_t index_[max_ndim];
  stream_room room_;
};

} // namespace

ref<array_block> move_axis_inside(const char *operation, array_block *block, int axis, int to) {
  materialize(block);
  without_interpreter unlocked;
  return axis_mover(operation, *block, axis, to).run();
}

ref<array_block> move_axis_back(array_block *moved, const array_block &like, int axis, int longer) {
  without_interpreter unlocked;
  return axis_returner(*moved, like, axis, longer).run();
}

} // namespace dynd
