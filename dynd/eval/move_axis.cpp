#include "dynd/eval/move_axis.h"

#include <algorithm>
#include <string>
#include <vector>

#include "dynd/array/cursor.h"
#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/gather.h"
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

// The dimensions below the axis, down to number `to`, for each of its rows: those of the row's first element.
class rows_below {
public:
  rows_below(const char *name, const nd::array &own, int axis, int to)
      : name_(name), own_(own), axis_(axis), rows_(rows_at(own, axis)),
        begin_(place_buffer::counting(rows_.total() + 1)),
        inside_(offsets_at(name, rows_.count, [](intptr_t r) { return r; })) {
    for (int d = axis + 1; d <= to; d++) {
      row_offsets below = rows_at(own, d);
      own->is_var(d) ? add_rows(below) : add_size(own.size(d));
      in_pieces(name, begin_.size(), [&](intptr_t begin, intptr_t end) {
        for (intptr_t e = begin; e < end; e++) {
          begin_.fill()[e] = below.at[begin_[e]];
        }
      });
    }
    add_axis();
  }

  const std::vector<new_dim> &dims() const { return dims_; }

  // Where the elements of the moved array are in the list of the own one.
  place_buffer order() const {
    place_buffer places(begin_[rows_.total()]);
    row_offsets all = offsets_at(name_, rows_.count, [&](intptr_t r) { return begin_[rows_.at[r]]; });
    for_rows(name_, all, [&](intptr_t r) {
      int64_t *to = places.fill() + all.at[r];
      for (int64_t c = 0; rows_.length(r) && c < inside_.length(r); c++) {
        for (int64_t e = rows_.at[r]; e < rows_.at[r + 1]; e++) {
          *to++ = begin_[e] + c;
        }
      }
    });
    return places;
  }

private:
  // The lengths of the rows of a dimension below each first element; others along the axis have the same.
  void add_rows(const row_offsets &below) {
    new_offsets rows(inside_.total());
    for_rows(name_, inside_, [&](intptr_t r) {
      for (int64_t g = 0; g < inside_.length(r); g++) {
        int64_t length = rows_.length(r) ? below.length(begin_[rows_.at[r]] + g) : 0;
        for (int64_t e = rows_.at[r] + 1; e < rows_.at[r + 1]; e++) {
          check_length(r, length, below.length(begin_[e] + g), e - rows_.at[r]);
        }
        rows.fill()[inside_.at[r] + g + 1] = length;
      }
    });
    make_offsets(name_, rows.fill(), rows.count);
    inside_ = offsets_at(name_, rows_.count, [&](intptr_t r) { return rows.at[inside_.at[r]]; });
    dims_.push_back(rows);
  }

  void add_size(intptr_t size) {
    checked_product(name_, inside_.total(), size);
    inside_ = offsets_at(name_, rows_.count, [&](intptr_t r) { return inside_.at[r] * size; });
    dims_.push_back(size);
  }

  void add_axis() {
    if (!own_->is_var(axis_)) {
      return dims_.push_back(own_.size(axis_));
    }
    new_offsets rows(inside_.total());
    for_rows(name_, inside_, [&](intptr_t r) {
      std::fill(rows.fill() + inside_.at[r] + 1, rows.fill() + inside_.at[r + 1] + 1, rows_.length(r));
    });
    make_offsets(name_, rows.fill(), rows.count);
    dims_.push_back(rows);
  }

  // Of what is before `place` and at it, along the axis, in its row r.
  void check_length(intptr_t r, int64_t length, int64_t other, int64_t place) const {
    if (length != other) {
      std::string where = axis_ ? ", in " + row_name(own_, axis_, r) : "";
      fail(error_kind::broadcast, std::string(name_) + ": rows along axis " + std::to_string(axis_) +
                                      " must be equally long below it" + where + ": lengths " + std::to_string(length) +
                                      " and " + std::to_string(other) + " of rows " + std::to_string(place - 1) +
                                      " and " + std::to_string(place));
    }
  }

  const char *name_;
  const nd::array &own_;
  int axis_;
  row_offsets rows_;
  place_buffer begin_; // of each element of the axis, in the list of the dimension that was added last
  row_offsets inside_; // of each row of the axis: the elements of that dimension in one of its elements
  std::vector<new_dim> dims_;
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

std::pair<nd::array, place_buffer> move_axis(const char *name, const nd::array &own, int axis, int to) {
  rows_below below(name, own, axis, to);
  place_buffer order = below.order();
  nd::array list = gather(name, list_of(own, to), order);
  return {assemble(own, axis, below.dims(), list), std::move(order)};
}

ref<array_block> move_axis_inside(const char *operation, array_block *block, int axis, int to) {
  materialize(block);
  nd::array own = compact(nd::array(ref<array_block>::share(block)), to);
  rows_below below(operation, own, axis, to);
  std::vector<new_dim> dims;
  for (int d = 0; d < axis; d++) { // the first one may be `var`, of which `own` has a size
    dims.push_back(block->is_var(d) ? new_dim(rows_at(own, d)) : new_dim(own.size(d)));
  }
  dims.insert(dims.end(), below.dims().begin(), below.dims().end());
  nd::array moved = assemble(own, 0, dims, gather(operation, list_of(own, to), below.order()));
  space shape;
  space_of(moved.get(), shape);
  for (int k = 0; k < shape.ndim; k++) {
    int d = k == to ? axis : k + (k >= axis && k < to);
    shape.fixed[k] = part_at(block->type, d).type->kind == type_kind::fixed_dim;
  }
  ndt::type dtype(block->type->dtype);
  ref<array_block> result = new_lazy_result(shape, dtype);
  for (int s = 0; s < dtype->nstreams; s++) {
    result->streams()[shape.nvar + s] = shared_stream(*moved.get(), shape.nvar + s);
  }
  return result;
}

ref<array_block> move_axis_back(array_block *moved, const array_block &like, int axis, int longer) {
  without_interpreter unlocked;
  return axis_returner(*moved, like, axis, longer).run();
}

} // namespace dynd
