#include "dynd/eval/move_axis.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dynd/array/cursor.h"
#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/eval/space.h"

namespace dynd {

namespace {

class axis_mover {
public:
  axis_mover(const char *name, array_block *block, int axis)
      : name_(name), block_(*block), axis_(axis), columns_(size_t(block->ndim) + 1), offsets_(size_t(block->ndim), {0}),
        values_(block->type->dtype->nstreams) {}

  ref<array_block> run() {
    stream_room room;
    outside(cursor(block_, room), 0);
    return build();
  }

private:
  // The same place in every element of the axis.
  struct column {
    std::vector<char *> rooms; // of the cursors
    std::vector<cursor> at;

    void enter(size_t k, const cursor &outer, int64_t i) {
      size_t width = outer.block().nstreams;
      if (k == at.size()) {
        rooms.resize((k + 1) * width);
        at.push_back(outer);
      }
      at[k] = dimension(outer).enter(i, rooms.data() + k * width);
    }
  };

  void note_length(int axis, int64_t length) {
    if (block_.is_var(axis)) {
      offsets_[size_t(axis)].push_back(offsets_[size_t(axis)].back() + length);
    }
  }

  void outside(const cursor &at, int d) {
    int64_t size = at.size();
    if (d == axis_) {
      column &all = columns_[size_t(d) + 1];
      all = {};
      all.rooms.resize(size_t(size) * block_.nstreams); // before there are cursors into it
      for (int64_t i = 0; i < size; i++) {
        all.enter(size_t(i), at, i);
      }
      return below(d + 1, all);
    }
    note_length(d, size);
    stream_room room;
    for (int64_t i = 0; i < size; i++) {
      path_.push_back(i);
      outside(dimension(at).enter(i, room), d + 1);
      path_.pop_back();
    }
  }

  void below(int d, const column &row) {
    if (d == block_.ndim) {
      return add_values(row);
    }
    int64_t length = row.at.empty() ? std::max<int64_t>(block_.size()[d], 0) : row.at[0].size();
    for (const cursor &at : row.at) {
      if (at.size() != length) {
        fail(error_kind::broadcast, std::string(name_) + ": rows along axis " + std::to_string(axis_) +
                                        " must be equally long below it" +
                                        (path_.empty() ? "" : ", at " + row_text(path_).substr(4)) + ": lengths " +
                                        std::to_string(length) + " and " + std::to_string(at.size()));
      }
    }
    note_length(d, length);
    column &inner = columns_[size_t(d) + 1];
    inner = {};
    inner.rooms.resize(row.at.size() * block_.nstreams);
    for (int64_t j = 0; j < length; j++) {
      for (size_t k = 0; k < row.at.size(); k++) {
        inner.enter(k, row.at[k], j);
      }
      path_.push_back(j);
      below(d + 1, inner);
      path_.pop_back();
    }
  }

  void add_values(const column &row) {
    note_length(axis_, int64_t(row.at.size()));
    for (const cursor &at : row.at) {
      for (size_t s = 0; s < values_.size(); s++) {
        const char *value = at.streams()[s];
        values_[s].insert(values_[s].end(), value, value + stream_item(block_.type->dtype, int(s)));
      }
    }
  }

  // The axes in their order, but the moved one last.
  ref<array_block> build() {
    space shape;
    shape.ndim = block_.ndim;
    std::vector<std::vector<int64_t>> offsets;
    for (int k = 0; k < shape.ndim; k++) {
      int axis = k == shape.ndim - 1 ? axis_ : k + (k >= axis_);
      shape.size[k] = block_.size()[axis];
      shape.fixed[k] = part_at(block_.type, axis).type->kind == type_kind::fixed_dim;
      if (shape.is_var(k)) {
        shape.slot_index[k] = int8_t(shape.nvar++);
        offsets.push_back(std::move(offsets_[size_t(axis)]));
      }
    }
    make_slots(shape, offsets);
    ref<array_block> result = new_result(shape, ndt::type(block_.type->dtype));
    allocate_values(result.get(), shape);
    for (size_t s = 0; s < values_.size(); s++) {
      if (!values_[s].empty()) {
        std::memcpy(result->streams()[size_t(shape.nvar) + s].address, values_[s].data(), values_[s].size());
      }
    }
    return result;
  }

  const char *name_;
  const array_block &block_;
  int axis_;
  std::vector<column> columns_;               // of each depth
  std::vector<std::vector<int64_t>> offsets_; // of the axes
  std::vector<std::vector<char>> values_;     // of each stream of the elements
  std::vector<intptr_t> path_;
};

} // namespace

ref<array_block> move_axis_inside(const char *operation, array_block *block, int axis) {
  materialize(block);
  return axis_mover(operation, block, axis).run();
}

} // namespace dynd
