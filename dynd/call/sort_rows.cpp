#include "dynd/call/sort_rows.h"

#include <algorithm>
#include <cstring>

#include "dynd/call/sort_codes.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

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

// Sorts the positions of a row by the columns, the first first: runs that are equal in one are sorted by the next.
class row_sorter {
public:
  row_sorter(const order_keys &keys, int64_t first, keyed_position *scratch)
      : columns_(keys.columns()), first_(first), scratch_(scratch) {}

  void sort(keyed_position *items, intptr_t n, size_t c = 0) const {
    if (n < 2 || c == columns_.size()) {
      return;
    }
    const key_column &column = columns_[c];
    keyed_position *end = items + n;
    if (column.may_be_missing()) {
      end = std::stable_partition(items, end,
                                  [&](const keyed_position &i) { return !column.is_missing(first_ + i.position); });
      sort(end, items + n - end, c + 1);
    }
    for (keyed_position *i = items; i < end; i++) {
      i->key = column.key(first_ + i->position);
    }
    sort_items(items, end - items, scratch_);
    if (!column.has_texts() && c + 1 == columns_.size()) {
      return;
    }
    for_runs(items, end, [](const keyed_position &a, const keyed_position &b) { return a.key == b.key; },
             [&](keyed_position *begin, keyed_position *stop) { sort_equal_keys(begin, stop, c); });
  }

private:
  // Calls f for runs of two and more that are equal.
  template <class Equal, class F> static void for_runs(keyed_position *i, keyed_position *end, Equal equal, F f) {
    while (i < end) {
      keyed_position *stop = i + 1;
      while (stop < end && equal(*i, *stop)) {
        stop++;
      }
      if (stop - i > 1) {
        f(i, stop);
      }
      i = stop;
    }
  }

  void sort_equal_keys(keyed_position *begin, keyed_position *end, size_t c) const {
    const key_column &column = columns_[c];
    if (!column.has_texts()) {
      return sort(begin, end - begin, c + 1);
    }
    auto order = [&](const keyed_position &a, const keyed_position &b) {
      return key_column::compare_texts(column, first_ + a.position, column, first_ + b.position);
    };
    std::stable_sort(begin, end, [&](const keyed_position &a, const keyed_position &b) { return order(a, b) < 0; });
    if (c + 1 < columns_.size()) {
      for_runs(begin, end, [&](const keyed_position &a, const keyed_position &b) { return order(a, b) == 0; },
               [&](keyed_position *i, keyed_position *stop) { sort(i, stop - i, c + 1); });
    }
  }

  const std::vector<key_column> &columns_;
  int64_t first_; // of the row, in the list
  keyed_position *scratch_;
};

} // namespace

void argsort_rows(const char *name, const order_keys &keys, const row_offsets &rows, int64_t *to) {
  in_pieces_of_rows(name, rows.at, rows.count, [&](intptr_t begin, intptr_t end) {
    intptr_t longest = longest_row(rows, begin, end);
    scratch_items<keyed_position> items(longest), scratch(longest >= many_items ? longest : 0);
    for (intptr_t r = begin; r < end; r++) {
      int64_t n = rows.length(r);
      for (int64_t i = 0; i < n; i++) {
        items.data()[i].position = i;
      }
      row_sorter(keys, rows.at[r], scratch.data()).sort(items.data(), n);
      for (int64_t i = 0; i < n; i++) {
        to[rows.at[r] + i] = items.data()[i].position;
      }
    }
  });
}

namespace {

// The codes of a row's numbers, without those of NaNs; returns how many. NaNs are stored behind them as they are.
template <class Code, class U = typename Code::bits>
intptr_t encode_row(const char *from, intptr_t n, bool descending, U *to) {
  auto value = [from](intptr_t i) {
    U bits;
    std::memcpy(&bits, from + i * intptr_t(sizeof(U)), sizeof(U));
    return bits;
  };
  intptr_t nans = 0;
  for (intptr_t i = 0; i < n; i++) {
    to[i] = Code::encode(value(i), descending);
    nans += Code::is_nan(value(i));
  }
  if (nans == 0) {
    return n;
  }
  intptr_t number = 0, nan = n - nans;
  for (intptr_t i = 0; i < n; i++) {
    if (Code::is_nan(value(i))) {
      to[nan++] = value(i);
    } else {
      to[number++] = Code::encode(value(i), descending);
    }
  }
  return number;
}

} // namespace

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
      for (intptr_t r = begin; r < end; r++) {
        bits *row = to + rows.at[r];
        intptr_t n = encode_row<decltype(code)>(from + rows.at[r] * int64_t(sizeof(bits)), rows.length(r), descending, row);
        sort_items(row, n, scratch.data());
        for (intptr_t i = 0; i < n; i++) {
          row[i] = decltype(code)::decode(row[i], descending);
        }
      }
    });
  });
  return sorted;
}

} // namespace dynd::nd
