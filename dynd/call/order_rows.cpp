#include "dynd/call/order_rows.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/call/sort_keys.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

// ---- an axis as the last one ----------------------------------------------------------------------------------------

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
          check_length(length, below.length(begin[e] + g));
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

  void check_length(int64_t length, int64_t other) const {
    if (length != other) {
      fail(error_kind::broadcast, std::string(name_) + ": rows along axis " + std::to_string(axis_) +
                                      " must be equally long below it: lengths " + std::to_string(length) + " and " +
                                      std::to_string(other));
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

// ---- keys -----------------------------------------------------------------------------------------------------------

ordered_kind::ordered_kind(const char *name, const array &a) {
  const type_data *dtype = a->type->dtype;
  element_kind kind;
  if (find_element_kind(dtype, kind) && !is_complex(kind.scalar)) {
    option = kind.option;
    swapped = kind.swapped;
    number = kind.scalar;
    return;
  }
  option = dtype->kind == type_kind::option;
  const type_data *inside = option ? dtype->element : dtype;
  if (inside->kind != type_kind::string && inside->kind != type_kind::bytes) {
    fail(error_kind::type, std::string(name) + ": elements of type " + std::string(a.type().dtype().str()) +
                               " have no order; real numbers, bools, texts and bytes have");
  }
}

array dense_numbers(const array &list, const ordered_kind &kind) {
  if (kind.swapped || list->value_strides()[0] != intptr_t(list->item_size())) {
    return array(copy_values(list.get(), access_mode::immutable, ndt::make_scalar(*kind.number), error_mode::nocheck));
  }
  return list;
}

order_keys::order_keys(const char *name, const array &list, bool descending, bool one_zero)
    : list_(list), keys_(list.size(0)), descending_(descending) {
  ordered_kind kind(name, list);
  intptr_t count = list.size(0);
  int64_t *to = keys_.fill();
  if (!kind.number && list->access != access_mode::immutable) { // texts are compared more than once
    list_ = gather_whole(list);
  }
  array inside = kind.option ? inside_of_options(list_) : list_;
  if (kind.option) {
    valid_ = list_->streams()[0].address;
    valid_stride_ = list_->strides(0)[0];
  }
  if (kind.number) {
    floating_ = is_floating(*kind.number);
    array numbers = dense_numbers(inside, kind);
    const char *from = numbers->values().address;
    with_code(*kind.number, [&](auto code) {
      using bits = typename decltype(code)::bits;
      in_pieces(name, count, [&](intptr_t begin, intptr_t end) {
        for (intptr_t i = begin; i < end; i++) {
          bits value;
          std::memcpy(&value, from + i * intptr_t(sizeof(bits)), sizeof(bits));
          to[i] = int64_t(decltype(code)::key(value, descending, one_zero));
        }
      });
    });
    return;
  }
  texts_ = inside;
  in_pieces(name, count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      std::string_view own = is_missing(i) ? std::string_view() : text(i);
      unsigned char bytes[8] = {};
      std::copy_n(own.data(), std::min<size_t>(own.size(), 8), bytes);
      uint64_t key = 0;
      for (unsigned char byte : bytes) {
        key = key << 8 | byte;
      }
      to[i] = int64_t(descending ? ~key : key);
    }
  });
}

std::string_view order_keys::text(int64_t i) const {
  const stream *streams = texts_->streams();
  row_extent row = read_slot(streams[0].address + i * texts_->strides(0)[0], streams[0].kind);
  return row.size > 0 ? std::string_view(streams[1].address + row.start, size_t(row.size)) : std::string_view("");
}

int order_keys::compare_texts(const order_keys &a, int64_t i, const order_keys &b, int64_t j) {
  int order = a.text(i).compare(b.text(j));
  return a.descending_ ? -order : order;
}

int order_keys::compare(const order_keys &a, int64_t i, const order_keys &b, int64_t j) {
  bool missing = a.is_missing(i), other = b.is_missing(j);
  if (missing || other) {
    return int(missing) - int(other);
  }
  if (a.key(i) != b.key(j)) {
    return a.key(i) < b.key(j) ? -1 : 1;
  }
  return a.has_texts() ? compare_texts(a, i, b, j) : 0;
}

// ---- sorting --------------------------------------------------------------------------------------------------------

namespace {

intptr_t longest_row(const row_offsets &rows, intptr_t begin, intptr_t end) {
  int64_t longest = 0;
  for (intptr_t r = begin; r < end; r++) {
    longest = std::max(longest, rows.length(r));
  }
  return longest;
}

// Memory for items while they are sorted.
template <class T> class scratch_items {
public:
  explicit scratch_items(intptr_t count) : memory_(count * intptr_t(sizeof(T)) / 8 + 1) {}
  T *data() { return reinterpret_cast<T *>(memory_.fill()); }

private:
  place_buffer memory_;
};

// Texts with equal keys follow each other: each such run is sorted by the whole texts.
void sort_equal_keys(const order_keys &keys, int64_t first, keyed_position *items, intptr_t n) {
  for (intptr_t i = 0; i < n;) {
    intptr_t end = i + 1;
    while (end < n && items[end].key == items[i].key) {
      end++;
    }
    std::stable_sort(items + i, items + end, [&](const keyed_position &a, const keyed_position &b) {
      return order_keys::compare_texts(keys, first + a.position, keys, first + b.position) < 0;
    });
    i = end;
  }
}

void argsort_row(const order_keys &keys, int64_t first, int64_t n, keyed_position *items, keyed_position *scratch,
                 int64_t *to) {
  intptr_t there = 0;
  int64_t *missing = to + n;
  for (int64_t i = 0; i < n; i++) {
    items[there] = {keys.key(first + i), i};
    there += !keys.is_missing(first + i);
  }
  for (int64_t i = n; there < n && i-- > 0;) {
    if (keys.is_missing(first + i)) {
      *--missing = i;
    }
  }
  sort_items(items, there, scratch);
  if (keys.has_texts()) {
    sort_equal_keys(keys, first, items, there);
  }
  for (intptr_t i = 0; i < there; i++) {
    to[i] = items[i].position;
  }
}

} // namespace

void argsort_rows(const char *name, const order_keys &keys, const row_offsets &rows, int64_t *to) {
  in_pieces_of_rows(name, rows.at, rows.count, [&](intptr_t begin, intptr_t end) {
    intptr_t longest = longest_row(rows, begin, end);
    scratch_items<keyed_position> items(longest), scratch(longest >= many_items ? longest : 0);
    for (intptr_t r = begin; r < end; r++) {
      argsort_row(keys, rows.at[r], rows.length(r), items.data(), scratch.data(), to + rows.at[r]);
    }
  });
}

array sorted_numbers(const char *name, const array &list, scalar_id scalar, const row_offsets &rows, bool descending) {
  intptr_t count = list.size(0);
  array sorted(new_dense(ndt::make_strided_dim(ndt::make_scalar(scalar)).get(), &count));
  const char *from = list->values().address;
  with_code(scalar, [&](auto code) {
    using bits = typename decltype(code)::bits;
    auto *to = reinterpret_cast<bits *>(sorted->values().address);
    in_pieces_of_rows(name, rows.at, rows.count, [&](intptr_t begin, intptr_t end) {
      intptr_t longest = longest_row(rows, begin, end);
      scratch_items<bits> scratch(longest >= many_items ? longest : 0);
      for (int64_t i = rows.at[begin]; i < rows.at[end]; i++) {
        bits value;
        std::memcpy(&value, from + i * int64_t(sizeof(bits)), sizeof(bits));
        to[i] = decltype(code)::encode(value, descending);
      }
      for (intptr_t r = begin; r < end; r++) {
        sort_items(to + rows.at[r], rows.length(r), scratch.data());
      }
      for (int64_t i = rows.at[begin]; i < rows.at[end]; i++) {
        to[i] = decltype(code)::decode(to[i], descending);
      }
    });
  });
  return sorted;
}

} // namespace dynd::nd
