#include "dynd/call/order.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/innermost_axis.h"
#include "dynd/call/sort_codes.h"
#include "dynd/call/sort_rows.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/select.h"
#include "dynd/eval/work.h"
#include "dynd/ops/isa.h"
#include "dynd/ops/row_sort.h"

namespace dynd::nd {

namespace {

array sorted_list(const char *name, const array &list, const row_offsets &rows, const ordering &order) {
  element_kind kind;
  if (find_element_kind(list->type->dtype, kind) && !kind.option) {
    return sorted_numbers(name, native_list(list, kind.scalar), kind.scalar, rows, order.descending);
  }
  place_buffer places(list.size(0));
  argsort_rows(name, order_keys(name, list, order), rows, places.fill());
  add_row_starts(name, rows, places.fill());
  return gather(name, list, places);
}

// The first elements of rows in order, as many of each as `taken` has.
array top_list(const char *name, const array &list, const row_offsets &rows, const row_offsets &taken,
               const ordering &order) {
  element_kind kind;
  if (find_element_kind(list->type->dtype, kind) && !kind.option) {
    return first_numbers(name, native_list(list, kind.scalar), kind.scalar, rows, taken, order.descending);
  }
  place_buffer places(taken.total());
  first_of_rows(name, order_keys(name, list, order), rows, taken, places.fill());
  return gather(name, list, places);
}

} // namespace

array sort(const array &a, int axis, bool descending, const std::vector<std::string> &by) {
  if (array found =
          in_missing_rows("sort", a, axis, [&](const array &rows, int at) { return sort(rows, at, descending, by); })) {
    return found;
  }
  check_order("sort", a, by);
  innermost_axis inner("sort", a, axis);
  array list = inner.list();
  if (list.size(0) > 0) {
    list = sorted_list("sort", list, inner.rows(), {.descending = descending, .by = by});
  }
  return inner.restored("sort", list);
}

array argsort(const array &a, int axis, bool descending, const std::vector<std::string> &by) {
  if (array found = in_missing_rows("argsort", a, axis,
                                    [&](const array &rows, int at) { return argsort(rows, at, descending, by); })) {
    return found;
  }
  check_order("argsort", a, by);
  innermost_axis inner("argsort", a, axis);
  array list = inner.list(), positions = new_list<int64_t>(list.size(0));
  if (list.size(0) > 0) {
    order_keys keys("argsort", list, {.descending = descending, .by = by});
    argsort_rows("argsort", keys, inner.rows(), values_of<int64_t>(positions));
  }
  return inner.restored("argsort", positions);
}

namespace {

// For each row, whether in_order(begin, end) is true of its elements. Threads share long rows: what they find is false
// for the whole row.
template <class F> array rows_in_order(const char *name, const row_offsets &rows, F in_order) {
  array found = new_list<bool>(rows.count);
  bool *to = values_of<bool>(found);
  std::fill_n(to, rows.count, true);
  for_parts_of_rows(name, rows, [&](intptr_t r, int64_t begin, int64_t end) {
    int64_t first = std::max(begin - 1, rows.at[r]);
    if (__atomic_load_n(to + r, __ATOMIC_RELAXED) && !in_order(first, end)) {
      __atomic_store_n(to + r, false, __ATOMIC_RELAXED);
    }
  });
  return found;
}

array list_in_order(const char *name, const array &list, const row_offsets &rows, const ordering &order) {
  element_kind kind;
  if (find_element_kind(list->type->dtype, kind) && !kind.option) {
    array numbers = native_list(list, kind.scalar);
    const char *from = numbers->values().address;
    return with_code(kind.scalar, [&](auto code) {
      using bits = typename decltype(code)::bits;
      sort_code compiled = decltype(code)::compiled(order.descending);
      auto *loop = isa().row_sorts->in_order[std::countr_zero(sizeof(bits))];
      return rows_in_order(name, rows, [&](int64_t begin, int64_t end) {
        return loop(from + begin * int64_t(sizeof(bits)), size_t(end - begin), compiled);
      });
    });
  }
  order_keys keys(name, list, order);
  return rows_in_order(name, rows, [&](int64_t begin, int64_t end) {
    bool sorted = true;
    for (int64_t i = begin + 1; sorted && i < end; i++) {
      sorted = order_keys::compare(keys, i - 1, keys, i) <= 0;
    }
    return sorted;
  });
}

} // namespace

array is_sorted(const array &a, int axis, bool descending, const std::vector<std::string> &by) {
  if (array found = in_missing_rows("is_sorted", a, axis,
                                    [&](const array &rows, int at) { return is_sorted(rows, at, descending, by); })) {
    return found;
  }
  check_order("is_sorted", a, by);
  innermost_axis inner("is_sorted", a, axis);
  array found = list_in_order("is_sorted", inner.list(), inner.rows(), {.descending = descending, .by = by});
  return assemble(inner.moved, a.ndim() - 1, {}, found);
}

array top_k(const array &a, intptr_t k, int axis, const std::vector<std::string> &by) {
  if (array found =
          in_missing_rows("top_k", a, axis, [&](const array &rows, int at) { return top_k(rows, k, at, by); })) {
    return found;
  }
  check_order("top_k", a, by);
  array whole = one_size_outside(a);
  int along = checked_axis("top_k", whole, axis);
  if (k < 0) {
    fail(error_kind::value, "top_k: k is negative: " + std::to_string(k));
  }
  if (!whole->is_var(along) && k > whole.size(along)) {
    fail(error_kind::value, "top_k: k is " + std::to_string(k) + ", but axis " + std::to_string(along) + " has size " +
                                std::to_string(whole.size(along)));
  }
  if (along < whole.ndim() - 1) { // what is above k is cut where the axis is
    std::vector<index> slices(size_t(along), index{index::slice, 0, {}, {}, {}});
    slices.push_back({index::slice, 0, 0, k, {}});
    return compact_copy(at(sort(whole, along, true, by), slices));
  }
  whole = compact(whole, along);
  row_offsets rows = rows_at(whole, along);
  row_offsets taken = offsets_of("top_k", rows.count, [&](intptr_t r) { return std::min<int64_t>(k, rows.length(r)); });
  array found = top_list("top_k", list_of(whole, along), rows, taken, {.descending = true, .by = by});
  return whole->is_var(along) ? assemble(whole, along, {taken}, found) : assemble(whole, along, {k}, found);
}

// ---- search ---------------------------------------------------------------------------------------------------------

namespace {

// The list with numbers of a type; an error where one of them would be another number.
array converted(const array &list, const ordered_kind &own, scalar_id to) {
  if (!own.number || (*own.number == to && !own.swapped)) {
    return list;
  }
  try {
    return array(copy_values(list.get(), access_mode::immutable, number_type(to, own.option), error_mode::inexact));
  } catch (const error &e) {
    fail(e.kind(), std::string("searchsorted: ") + e.what());
  }
}

// Both lists with numbers of one type, or as they are. No type has all int64 and uint64: it is one of these that has
// those at hand.
std::pair<array, array> comparable(const array &sorted, const array &values) {
  if (sorted->type->dtype == values->type->dtype) {
    check_order("searchsorted", sorted);
    return {sorted, values};
  }
  auto refuse = [&] {
    fail(error_kind::type,
         "searchsorted: " + std::string(values.type().dtype().str()) + " in " + std::string(sorted.type().str()));
  };
  if (record_type_of(sorted->type->dtype) || record_type_of(values->type->dtype)) {
    refuse();
  }
  ordered_kind own("searchsorted", sorted), other("searchsorted", values);
  if (are_like_texts(sorted->type->dtype, values->type->dtype)) {
    return {sorted, values};
  }
  if (!own.number || !other.number) {
    refuse();
  }
  scalar_id common = promote(*own.number, *other.number);
  if (is_integer(*own.number) && is_integer(*other.number) && !is_integer(common)) {
    try {
      return {converted(sorted, own, scalar_id::uint64), converted(values, other, scalar_id::uint64)};
    } catch (const error &e) {
      if (e.kind() != error_kind::overflow) {
        throw;
      }
      common = scalar_id::int64; // some are negative
    }
  }
  return {converted(sorted, own, common), converted(values, other, common)};
}

int64_t place_in_row(const order_keys &sorted, int64_t first, int64_t size, const order_keys &values, int64_t value,
                     bool right) {
  int64_t begin = first;
  while (size > 0) {
    int64_t half = size / 2;
    int order = order_keys::compare(sorted, begin + half, values, value);
    bool before = right ? order <= 0 : order < 0;
    begin += before ? half + 1 : 0;
    size = before ? size - half - 1 : half;
  }
  return begin - first;
}

// The same where keys say all. Without a branch that depends on them: it would be mispredicted every other time.
template <class Key> int64_t place_of_key(Key key, int64_t first, int64_t size, uint64_t value, bool right) {
  uint64_t below = value + right; // keys less than this are before
  if (below < value) {
    return size;
  }
  int64_t begin = first;
  for (; size > 1; size -= size / 2) {
    begin += key(begin + size / 2 - 1) < below ? size / 2 : 0;
  }
  return begin - first + (size == 1 && key(begin) < below);
}

// The keys of a list of numbers, which are read where they are: for few values few are looked at.
template <class Code> auto keys_of_numbers(const array &list) {
  materialize(list.get());
  return [at = list->values().address, step = list->value_strides()[0]](int64_t i) {
    typename Code::bits value;
    std::memcpy(&value, at + i * step, sizeof value);
    return Code::key(value, false, true);
  };
}

bool are_native_numbers(const array &a, const array &b) {
  element_kind kind, other;
  return find_element_kind(a->type->dtype, kind) && find_element_kind(b->type->dtype, other) && !kind.option &&
         !other.option && !kind.swapped && !other.swapped && kind.scalar == other.scalar;
}

// Calls find(place), where place(i, r) is that of value i in row r of what is sorted.
template <class Find>
void with_place(const array &sorted, const array &values, const row_offsets &rows, bool right, Find find) {
  constexpr intptr_t looks = 8; // at keys that are made once cost less
  if (values.size(0) < sorted.size(0) / looks && are_native_numbers(sorted, values)) {
    return with_code(sorted->scalar(), [&](auto code) {
      auto key = keys_of_numbers<decltype(code)>(sorted), wanted = keys_of_numbers<decltype(code)>(values);
      find([&](int64_t i, intptr_t r) { return place_of_key(key, rows.at[r], rows.length(r), wanted(i), right); });
    });
  }
  order_keys keys("searchsorted", sorted, {.one_zero = true}), wanted("searchsorted", values, {.one_zero = true});
  const key_column &column = keys.columns()[0], &value = wanted.columns()[0];
  bool numbers =
      keys.columns().size() == 1 && !column.has_texts() && !column.may_be_missing() && !value.may_be_missing();
  auto key = [&](int64_t i) { return column.key(i); };
  find([&](int64_t i, intptr_t r) {
    return numbers ? place_of_key(key, rows.at[r], rows.length(r), value.key(i), right)
                   : place_in_row(keys, rows.at[r], rows.length(r), wanted, i, right);
  });
}

} // namespace

array searchsorted(const array &sorted, const array &values, bool right) {
  const array both[] = {sorted, values};
  if (has_missing_rows(both)) {
    bool one_row = sorted.ndim() == 1 && !has_missing_rows(sorted->type);
    missing_rows rows("searchsorted", std::span(both).subspan(one_row));
    return rows.restored(searchsorted(one_row ? sorted : rows.operand(0), rows.operand(!one_row), right));
  }
  if (sorted.ndim() == 0) {
    fail(error_kind::type, "searchsorted: one value is no sorted array: " + std::string(sorted.type().str()));
  }
  array whole = compact(sorted, sorted.ndim() - 1), from = compact(values, values.ndim() - 1);
  row_offsets rows = rows_at(whole, sorted.ndim() - 1);
  array list = list_of(from, values.ndim() - 1);
  bool one_row = sorted.ndim() == 1; // else row r of the values is searched in row r of what is sorted
  if (!one_row && sorted.ndim() != values.ndim()) {
    fail(error_kind::value, "searchsorted: values of " + std::to_string(values.ndim()) +
                                " dimension(s) in rows of an array of " + std::to_string(sorted.ndim()));
  }
  if (!one_row) {
    check_outside("searchsorted", {whole, from}, sorted.ndim() - 1);
  }
  auto [in, searched] = comparable(list_of(whole, sorted.ndim() - 1), list);
  array found = new_list<int64_t>(list.size(0));
  int64_t *to = values_of<int64_t>(found);
  auto find_all = [&](auto place) { // place(i, r): that of value i in row r
    if (one_row) {
      in_pieces("searchsorted", list.size(0), [&](intptr_t begin, intptr_t end) {
        for (intptr_t i = begin; i < end; i++) {
          to[i] = place(i, 0);
        }
      });
      return;
    }
    row_offsets own = rows_at(from, values.ndim() - 1);
    in_pieces_of_rows("searchsorted", own.at, own.count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        for (int64_t i = own.at[r]; i < own.at[r + 1]; i++) {
          to[i] = place(i, r);
        }
      }
    });
  };
  with_place(in, searched, rows, right, find_all);
  return values.ndim() ? assemble(from, values.ndim(), {}, found) : at(found, 0);
}

} // namespace dynd::nd
