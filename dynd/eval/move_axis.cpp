#include "dynd/eval/move_axis.h"

#include <cstring>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"
#include "dynd/eval/fusion.h"

namespace dynd {

namespace {

class axis_mover {
public:
  axis_mover(const char *name, array_block *block, int axis)
      : name_(name), block_(block), axis_(axis), values_(block->type->dtype->nstreams) {}

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
    if (block_->is_var(axis)) {
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
        for (size_t s = 0; s < values_.size(); s++) {
          const char *at = c[size_t(block_->type->var_count) + s];
          values_[s].insert(values_[s].end(), at, at + stream_item(block_->type->dtype, int(s)));
        }
      }
      return;
    }
    std::vector<std::vector<cursor>> inner;
    size_t length = block_->is_var(d) ? 0 : size_t(block_->size()[d]);
    for (size_t i = 0; i < row.size(); i++) {
      inner.push_back(elements(row[i], d));
      if (i > 0 && inner[i].size() != length) {
        fail(error_kind::broadcast, std::string(name_) + ": rows along axis " + std::to_string(axis_) +
                                        " must be equally long below it" +
                                        (path_.empty() ? "" : ", at " + row_text(path_).substr(4)) + ": lengths " +
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
      if (shape.is_var(k)) {
        shape.slot_index[k] = int8_t(shape.nvar++);
        offsets.push_back(std::move(offsets_[size_t(axis)]));
      }
    }
    make_slots(shape, offsets);
    ref<array_block> result = new_result(shape, ndt::type(block_->type->dtype));
    allocate_values(result.get(), shape);
    for (size_t s = 0; s < values_.size(); s++) {
      if (!values_[s].empty()) {
        std::memcpy(result->streams()[size_t(shape.nvar) + s].address, values_[s].data(), values_[s].size());
      }
    }
    return result;
  }

  const char *name_;
  array_block *block_;
  int axis_;
  std::vector<int> order_;
  std::vector<std::vector<int64_t>> offsets_; // by old axis
  std::vector<std::vector<char>> values_; // of each stream of the elements
  std::vector<intptr_t> path_;
};

} // namespace

ref<array_block> move_axis_inside(const char *operation, array_block *block, int axis) {
  force(block);
  return axis_mover(operation, block, axis).run();
}

} // namespace dynd
