#include "dynd/call/innermost_axis.h"

#include <algorithm>
#include <string>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/eval/gather.h"

namespace dynd::nd {

namespace {

// The dimensions below the axis for each of its rows, which are those of the row's first element.
class rows_below {
public:
  rows_below(const char *name, const array &own, int axis) : name_(name), axis_(axis), rows_(rows_at(own, axis)) {
    std::vector<int64_t> groups(size_t(rows_.count), 1); // rows of the dimension that is next
    place_buffer begin(rows_.total() + 1);
    for (intptr_t e = 0; e <= rows_.total(); e++) {
      begin.fill()[e] = e;
    }
    for (int d = axis + 1; d < own.ndim(); d++) {
      row_offsets below = rows_at(own, d);
      add_dimension(own, d, below, begin, groups);
      for (intptr_t e = 0; e <= rows_.total(); e++) {
        begin.fill()[e] = below.at[begin[e]];
      }
    }
    begin_ = begin;
    columns_ = std::move(groups);
    add_axis(own);
  }

  const std::vector<new_dim> &dims() const { return dims_; }

  // Where the elements of the moved array are in the list of the own one.
  place_buffer order() const {
    place_buffer places(begin_[rows_.total()]);
    int64_t *to = places.fill();
    for (intptr_t r = 0; r < rows_.count; r++) {
      for (int64_t c = 0; rows_.length(r) && c < columns_[size_t(r)]; c++) {
        for (int64_t e = rows_.at[r]; e < rows_.at[r + 1]; e++) {
          *to++ = begin_[e] + c;
        }
      }
    }
    return places;
  }

private:
  // The lengths of the rows of a dimension below each first element; others along the axis have the same.
  void add_dimension(const array &own, int d, const row_offsets &below, const place_buffer &begin,
                     std::vector<int64_t> &groups) {
    bool var = own->is_var(d);
    std::vector<int64_t> offsets = {0};
    for (intptr_t r = 0; r < rows_.count; r++) {
      int64_t count = 0, first = rows_.length(r) ? begin[rows_.at[r]] : 0;
      for (int64_t g = 0; var && g < groups[size_t(r)]; g++) {
        int64_t length = rows_.length(r) ? below.length(first + g) : 0;
        for (int64_t e = rows_.at[r] + 1; e < rows_.at[r + 1]; e++) {
          check_length(length, below.length(begin[e] + g), e - rows_.at[r]);
        }
        offsets.push_back(offsets.back() + length);
        count += length;
      }
      groups[size_t(r)] = var ? count : groups[size_t(r)] * own.size(d);
    }
    if (var) {
      dims_.push_back(rows_from(offsets));
    } else {
      dims_.push_back(own.size(d));
    }
  }

  void add_axis(const array &own) {
    if (!own->is_var(axis_)) {
      return dims_.push_back(own.size(axis_));
    }
    std::vector<int64_t> offsets = {0};
    for (intptr_t r = 0; r < rows_.count; r++) {
      for (int64_t c = 0; c < columns_[size_t(r)]; c++) {
        offsets.push_back(offsets.back() + rows_.length(r));
      }
    }
    dims_.push_back(rows_from(offsets));
  }

  static row_offsets rows_from(const std::vector<int64_t> &offsets) {
    new_offsets rows(intptr_t(offsets.size()) - 1);
    std::copy(offsets.begin(), offsets.end(), rows.fill());
    return rows;
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
  place_buffer begin_;           // of each element of the axis, in the list of the last one
  std::vector<int64_t> columns_; // elements of the last axis in each element of a row of the axis
  std::vector<new_dim> dims_;
};

} // namespace

innermost_axis::innermost_axis(const char *name, const array &a, int axis) {
  int along = checked_axis(name, a, axis);
  own = moved = compact(a, a.ndim() - 1);
  if (along < a.ndim() - 1) {
    rows_below below(name, own, along);
    order = below.order();
    array list = gather(name, list_of(own, a.ndim() - 1), {order.data(), nullptr, order.size()});
    moved = assemble(own, along, below.dims(), list);
  }
}

array innermost_axis::restored(const char *name, const array &list) const {
  if (own.get() == moved.get()) {
    return assemble(own, own.ndim(), {}, list);
  }
  place_buffer back(order.size());
  for (intptr_t i = 0; i < order.size(); i++) {
    back.fill()[order[i]] = i;
  }
  return assemble(own, own.ndim(), {}, gather(name, list, {back.data(), nullptr, back.size()}));
}

} // namespace dynd::nd
