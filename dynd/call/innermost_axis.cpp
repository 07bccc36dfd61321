#include "dynd/call/innermost_axis.h"

#include <numeric>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/call/structure.h"
#include "dynd/eval/gather.h"

namespace dynd::nd {

namespace {

// The dimensions below the axis for each of its rows, which are those of the row's first element.
class rows_below {
public:
  rows_below(const char *name, const array &own, int axis)
      : name_(name), axis_(axis), rows_(rows_at(own, axis)), begin_(place_buffer::counting(rows_.total() + 1)),
        inside_(offsets_at(name, rows_.count, [](intptr_t r) { return r; })) {
    for (int d = axis + 1; d < own.ndim(); d++) {
      row_offsets below = rows_at(own, d);
      own->is_var(d) ? add_rows(below) : add_size(own.size(d));
      in_pieces(name, begin_.size(), [&](intptr_t begin, intptr_t end) {
        for (intptr_t e = begin; e < end; e++) {
          begin_.fill()[e] = below.at[begin_[e]];
        }
      });
    }
    add_axis(own);
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
          check_length(length, below.length(begin_[e] + g), e - rows_.at[r]);
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

  void add_axis(const array &own) {
    if (!own->is_var(axis_)) {
      return dims_.push_back(own.size(axis_));
    }
    new_offsets rows(inside_.total());
    for_rows(name_, inside_, [&](intptr_t r) {
      std::fill(rows.fill() + inside_.at[r] + 1, rows.fill() + inside_.at[r + 1] + 1, rows_.length(r));
    });
    make_offsets(name_, rows.fill(), rows.count);
    dims_.push_back(rows);
  }

  // Of what is at 0 and at `row` along the axis.
  void check_length(int64_t length, int64_t other, int64_t row) const {
    if (length != other) {
      fail(error_kind::broadcast, std::string(name_) + ": rows along axis " + std::to_string(axis_) +
                                      " must be equally long below it: lengths " + std::to_string(length) + " and " +
                                      std::to_string(other) + " of rows 0 and " + std::to_string(row));
    }
  }

  const char *name_;
  int axis_;
  row_offsets rows_;
  place_buffer begin_; // of each element of the axis, in the list of the dimension that was added last
  row_offsets inside_; // of each row of the axis: the elements of that dimension in one of its elements
  std::vector<new_dim> dims_;
};

} // namespace

innermost_axis::innermost_axis(const char *name, const array &a, std::optional<int> along)
    : own(along ? a : flatten(a)), axis(checked_axis(name, own, along.value_or(0))) {
  int last = own.ndim() - 1;
  if (axis < last && can_move_axis(own, axis, last)) {
    moved = compact(with_axis_moved(own, axis, last), last);
    return;
  }
  own = moved = compact(own, last);
  if (axis < last) {
    rows_below below(name, own, axis);
    order_ = below.order();
    moved = assemble(own, axis, below.dims(), gather(name, list_of(own, last), *order_));
  }
}

array innermost_axis::restored(const char *name, const array &list) const {
  if (own.get() == moved.get()) {
    return assemble(own, own.ndim(), {}, list);
  }
  if (!order_) {
    return with_axis_moved(assemble(moved, moved.ndim(), {}, list), own.ndim() - 1, axis);
  }
  place_buffer back(order_->size());
  in_pieces(name, back.size(), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      back.fill()[(*order_)[i]] = i;
    }
  });
  return assemble(own, own.ndim(), {}, gather(name, list, back));
}

array with_axis_last(const char *name, const array &a, int axis) {
  int own = checked_axis(name, a, axis);
  int last = a.ndim() - 1;
  return own == last                   ? a
         : can_move_axis(a, own, last) ? with_axis_moved(a, own, last)
                                       : innermost_axis(name, a, own).moved;
}

} // namespace dynd::nd
