// Equal elements: the different ones, how many of each, ranks, found in sorted rows or by a table of keys; and runs of
// them.
#include <algorithm>
#include <optional>
#include <string>

#include "dynd/array/view.h"
#include "dynd/call/group_folds.h"
#include "dynd/call/group_keys.h"
#include "dynd/call/innermost_axis.h"
#include "dynd/call/order.h"
#include "dynd/call/records.h"
#include "dynd/call/sort_codes.h"
#include "dynd/call/sort_rows.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/mask_bits.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/work.h"
#include "dynd/ops/logic.h"

namespace dynd::nd {

namespace {

// A list that was just made, with numbers of native types and without -0.0, in the fields of structs too.
array with_one_zero(const array &list) {
  if (const type_data *record = record_type_of(list->type->dtype)) {
    bool option = record != list->type->dtype;
    std::vector<array> columns;
    for (int i = 0; i < record->nfields; i++) {
      columns.push_back(with_one_zero(field(option ? inside_of_options(list) : list, i)));
    }
    array structs = zip_lists(field_names(record), columns);
    return option ? join_options(structs, validity_of(list)) : structs;
  }
  element_kind kind;
  if (!find_element_kind(list->type->dtype, kind)) {
    return list;
  }
  array own = kind.swapped ? array(copy_values(list.get(), access_mode::immutable,
                                               number_type(kind.scalar, kind.option), error_mode::nocheck))
                           : list;
  if (is_floating(kind.scalar)) {
    char *address = own->streams()[kind.option].address;
    with_code(kind.scalar, [&](auto code) {
      using bits = typename decltype(code)::bits;
      in_pieces("unique", own.size(0), [&](intptr_t begin, intptr_t end) {
        std::replace(reinterpret_cast<bits *>(address) + begin, reinterpret_cast<bits *>(address) + end,
                     decltype(code)::sign, bits(0));
      });
    });
  }
  return own;
}

// The elements of a list in the order of their rows, cut where an element differs from the one before.
class row_groups {
public:
  // `each_nan`: numbers that are NaN are equal to no other.
  row_groups(const char *name, const array &list, const row_offsets &rows, const ordering &order, bool with_positions,
             bool each_nan = false)
      : name_(name), rows_(rows), in_order_(list) {
    element_kind kind;
    bool numbers = find_element_kind(list->type->dtype, kind), plain = numbers && !kind.option;
    each_nan &= numbers && is_floating(kind.scalar);
    place_buffer begins(list.size(0) / 8 + 1); // a byte for each element
    char *to = reinterpret_cast<char *>(begins.fill());
    if (plain && !with_positions) {
      in_order_ = sorted_numbers(name, native_list(list, kind.scalar), kind.scalar, rows, false);
      mark_numbers(kind.scalar, to, each_nan);
    } else {
      order_keys keys(name, list, order);
      places_ = place_buffer(list.size(0));
      argsort_rows(name, keys, rows, places_.fill());
      add_row_starts(name_, rows_, places_.fill());
      const key_column &first = keys.columns()[0];
      auto is_nan = [&](int64_t i) { return !first.is_missing(i) && first.key(i) == ~uint64_t(0); };
      mark(to, [&](intptr_t i) {
        int64_t place = places_[i];
        return order_keys::compare(keys, places_[i - 1], keys, place) != 0 || (each_nan && is_nan(place));
      });
    }
    mask_bits bits(name, to, list.size(0));
    groups_ = bits.rows(name, rows);
    starts_ = bits.positions(name);
  }

  const row_offsets &groups() const { return groups_; } // their number for each row
  int64_t place(int64_t i) const { return places_.size() ? places_[i] : i; }

  // One element of each group; numbers are of native types, and a zero is 0.0.
  array values() const {
    place_buffer taken(starts_.size());
    for_groups([&](int64_t g, intptr_t, int64_t begin, int64_t) { taken.fill()[g] = place(begin); });
    return with_one_zero(gather(name_, in_order_, taken));
  }

  // Calls f(group, its row, begin, end), which are in the order of the rows, on threads.
  template <class F> void for_groups(F f) const {
    in_pieces(name_, groups_.total(), [&](intptr_t begin, intptr_t end) {
      const int64_t *above = std::upper_bound(groups_.at, groups_.at + groups_.count + 1, begin);
      intptr_t row = above - groups_.at - 1;
      for (intptr_t g = begin; g < end; g++) {
        while (groups_.at[row + 1] <= g) {
          row++;
        }
        f(int64_t(g), row, begin_of(g), end_of(g));
      }
    });
  }

  // The same for parts of a group, of which a large one has several.
  template <class F> void for_parts(F f) const {
    in_pieces(name_, rows_.total(), [&](intptr_t begin, intptr_t end) {
      const int64_t *starts = starts_.data();
      intptr_t g = std::upper_bound(starts, starts + starts_.size(), begin) - starts - 1;
      intptr_t row = std::upper_bound(groups_.at, groups_.at + groups_.count + 1, g) - groups_.at - 1;
      for (int64_t i = begin, stop; i < end; i = stop, g++) {
        while (groups_.at[row + 1] <= g) {
          row++;
        }
        stop = std::min<int64_t>(end, end_of(g));
        f(int64_t(g), row, i, stop);
      }
    });
  }

  int64_t begin_of(int64_t g) const { return starts_[g]; }
  int64_t end_of(int64_t g) const { return g + 1 < starts_.size() ? starts_[g + 1] : rows_.total(); }

private:
  template <class Differs> void mark(char *to, Differs differs) const {
    in_pieces(name_, rows_.total(), [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        to[i] = i == 0 || differs(i);
      }
    });
    for_rows(name_, rows_, [&](intptr_t r) {
      if (rows_.length(r)) {
        to[rows_.at[r]] = 1;
      }
    });
  }

  void mark_numbers(scalar_id scalar, char *to, bool each_nan) const {
    const char *address = in_order_->values().address;
    with_code(scalar, [&](auto code) {
      using bits = typename decltype(code)::bits;
      const auto *values = reinterpret_cast<const bits *>(address);
      mark(to, [&](intptr_t i) {
        return code.key(values[i - 1], false, true) != code.key(values[i], false, true) ||
               (each_nan && code.is_nan(values[i]));
      });
    });
  }

  const char *name_;
  row_offsets rows_, groups_;
  array in_order_;      // what `place` counts in: the list, or where there are no places the sorted one
  place_buffer places_; // in the list, for each element in order
  place_buffer starts_; // of the groups
};

// Rows whose different elements are wanted: of an axis, or all elements as one.
struct unique_rows {
  innermost_axis inner;
  array list;
  row_offsets rows;
  row_groups groups;

  unique_rows(const char *name, const array &a, std::optional<int> axis, bool with_positions, bool each_nan)
      : inner(name, a, axis), list(inner.list()), rows(inner.rows()),
        groups(name, list, rows, {.one_zero = true}, with_positions, each_nan) {}

  array assembled(const array &found) const {
    return inner.moved.ndim() == 1 ? found : assemble(inner.moved, inner.moved.ndim() - 1, {groups.groups()}, found);
  }
};

// Whether the last number is NaN, where NaNs are.
bool ends_with_nan(const array &numbers) {
  intptr_t count = numbers.size(0);
  return count != 0 && with_code(numbers->scalar(), [&](auto code) {
           using bits = typename decltype(code)::bits;
           return code.is_nan(reinterpret_cast<const bits *>(numbers->values().address)[count - 1]);
         });
}

// Plain numbers of 4 or 8 bytes: sorting them all takes less than a table of the different ones.
bool is_sorted_fast(const array &list) {
  element_kind kind;
  return find_element_kind(list->type->dtype, kind) && !kind.option && scalar_size[size_t(kind.scalar)] >= 4;
}

// The elements of a list by a table of the different ones, of which only these are sorted. `each_nan`: nothing where
// numbers may be NaN.
std::optional<key_groups> groups_by_table(const char *name, const array &list, bool each_nan) {
  element_kind kind;
  bool floating = find_element_kind(list->type->dtype, kind) && is_floating(kind.scalar);
  if ((each_nan && floating && (kind.option || kind.swapped)) || list.size(0) > INT32_MAX) {
    return {};
  }
  key_groups groups = group_keys(name, list);
  if (each_nan && floating && ends_with_nan(groups.keys)) {
    return {};
  }
  return groups;
}

array counts_of(const char *name, const key_groups &groups) {
  group_folds folds(name, groups);
  size_t fold = folds.add(group_fold::count, array());
  folds.run();
  array counts = new_list<int64_t>(groups.count());
  const int64_t *of_slots = folds.of_slots<int64_t>(fold);
  in_pieces(name, groups.count(), [&, to = values_of<int64_t>(counts)](intptr_t begin, intptr_t end) {
    for (intptr_t g = begin; g < end; g++) {
      to[g] = of_slots[groups.slot_of[g]];
    }
  });
  return counts;
}

// unique_inverse of all elements as one row.
std::optional<indexed_values> inverse_by_table(const array &a) {
  const char *name = "unique_inverse";
  array list = flatten(a);
  std::optional<key_groups> by_table = groups_by_table(name, list, true);
  if (!by_table) {
    return {};
  }
  key_groups groups = by_table->in_order();
  scratch_values<uint32_t> group_of = groups.group_of_slots();
  array found = new_list<int64_t>(list.size(0));
  groups.with_slots([&](auto slot) {
    in_pieces(name, list.size(0), [&, to = values_of<int64_t>(found)](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        to[i] = group_of[slot(i)];
      }
    });
  });
  return indexed_values{groups.keys, assemble(compact(a, a.ndim() - 1), a.ndim(), {}, found)};
}

} // namespace

array unique(const array &a, std::optional<int> axis) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("unique", a);
    return rows.of_axis(unique(rows.operand(), axis), axis);
  }
  check_order("unique", a);
  array list = axis ? array() : flatten(a);
  if (list && !is_sorted_fast(list)) {
    if (std::optional<key_groups> groups = groups_by_table("unique", list, false)) {
      return groups->keys;
    }
  }
  unique_rows found("unique", a, axis, false, false);
  return found.assembled(found.groups.values());
}

counted_values unique_counts(const array &a, std::optional<int> axis) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("unique_counts", a);
    counted_values found = unique_counts(rows.operand(), axis);
    return {rows.of_axis(found.values, axis), rows.of_axis(found.counts, axis)};
  }
  check_order("unique_counts", a);
  array list = axis ? array() : flatten(a);
  if (list && !is_sorted_fast(list)) {
    if (std::optional<key_groups> groups = groups_by_table("unique_counts", list, true)) {
      return {groups->keys, counts_of("unique_counts", *groups)};
    }
  }
  unique_rows found("unique_counts", a, axis, false, true);
  array counts = new_list<int64_t>(found.groups.groups().total());
  int64_t *to = values_of<int64_t>(counts);
  found.groups.for_groups([&](int64_t g, intptr_t, int64_t begin, int64_t end) { to[g] = end - begin; });
  return {found.assembled(found.groups.values()), found.assembled(counts)};
}

indexed_values unique_inverse(const array &a, std::optional<int> axis) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("unique_inverse", a);
    indexed_values found = unique_inverse(rows.operand(), axis);
    return {rows.of_axis(found.values, axis), rows.restored(found.inverse)};
  }
  check_order("unique_inverse", a);
  if (std::optional<indexed_values> found = axis ? std::nullopt : inverse_by_table(a)) {
    return *found;
  }
  unique_rows found("unique_inverse", a, axis, true, true);
  const row_groups &groups = found.groups;
  array numbers = new_list<int64_t>(found.rows.total());
  int64_t *to = values_of<int64_t>(numbers);
  groups.for_parts([&](int64_t g, intptr_t row, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      to[groups.place(i)] = g - groups.groups().at[row];
    }
  });
  array whole = axis ? array() : compact(a, a.ndim() - 1);
  array inverse = axis ? found.inner.restored("unique_inverse", numbers) : assemble(whole, a.ndim(), {}, numbers);
  return {found.assembled(groups.values()), inverse};
}

// ---- ranks ----------------------------------------------------------------------------------------------------------

namespace {

// The rank of the elements begin .. end of a row, which are equal and the group of that number in it.
double shared_rank(rank_of_equals equals, int64_t begin, int64_t end, int64_t group) {
  switch (equals) {
  case rank_of_equals::average:
    return double(begin + 1 + end) / 2;
  case rank_of_equals::smallest:
    return double(begin + 1);
  case rank_of_equals::largest:
    return double(end);
  default:
    return double(group + 1);
  }
}

} // namespace

array rank(const array &a, int axis, rank_of_equals equals, bool descending, const std::vector<std::string> &by) {
  if (array found = in_missing_rows(
          "rank", a, axis, [&](const array &rows, int at) { return rank(rows, at, equals, descending, by); })) {
    return found;
  }
  check_order("rank", a, by);
  innermost_axis inner("rank", a, axis);
  array list = inner.list();
  row_offsets rows = inner.rows();
  row_groups groups("rank", list, rows, {.descending = descending, .one_zero = true, .by = by}, true);
  bool option = list->type->dtype->kind == type_kind::option, average = equals == rank_of_equals::average;
  array ranks = new_list(ndt::make_scalar(average ? scalar_id::float64 : scalar_id::int64), list.size(0));
  char *to = ranks->values().address;
  groups.for_parts([&](int64_t g, intptr_t row, int64_t begin, int64_t end) {
    int64_t first = rows.at[row], group = g - groups.groups().at[row];
    double shared = shared_rank(equals, groups.begin_of(g) - first, groups.end_of(g) - first, group);
    for (int64_t i = begin; i < end; i++) {
      int64_t place = groups.place(i);
      if (average) {
        reinterpret_cast<double *>(to)[place] = shared;
      } else {
        reinterpret_cast<int64_t *>(to)[place] = equals == rank_of_equals::ordinal ? i - first + 1 : int64_t(shared);
      }
    }
  });
  return inner.restored("rank", option ? join_options(ranks, native_list(validity_of(list), scalar_id::bool_)) : ranks);
}

// ---- runs -----------------------------------------------------------------------------------------------------------

array run_lengths(const array &a, int along) {
  auto of_rows = [](const array &rows, int at) { return run_lengths(rows, at); };
  if (array found = in_missing_rows("run_lengths", a, along, of_rows)) {
    return found;
  }
  int axis = checked_axis("run_lengths", a, along);
  array whole = compact(a, axis), list = list_of(whole, axis);
  row_offsets rows = rows_at(whole, axis);
  intptr_t count = list.size(0);
  array begins = new_list<bool>(count);
  char *mark = begins->values().address;
  if (count > 0) {
    // Inside of a struct what is missing is equal to what is missing, and rows are one value.
    const std::string name = "x";
    bool whole_values = list.ndim() > 1 || list->type->dtype->kind == type_kind::option;
    array one = whole_values ? zip_lists({&name, 1}, {&list, 1}) : list;
    index after{index::slice, 0, 1, {}, {}}, before{index::slice, 0, {}, -1, {}};
    array right = at(one, {&after, 1}), left = at(one, {&before, 1});
    array_block *const both[] = {left.get(), right.get()};
    array differs = mask_list("run_lengths", array(evaluate(logic::different, {both, 2})).eval(), 0);
    std::copy_n(differs->values().address, count - 1, mark + 1);
  }
  in_pieces("run_lengths", rows.count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      if (rows.length(r)) {
        mark[rows.at[r]] = 1;
      }
    }
  });
  mask_bits bits("run_lengths", mark, count);
  place_buffer start = bits.positions("run_lengths");
  array lengths = new_list<int64_t>(start.size());
  auto *to = values_of<int64_t>(lengths);
  in_pieces("run_lengths", start.size(), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = (i + 1 < start.size() ? start[i + 1] : count) - start[i];
    }
  });
  return axis == 0 ? lengths : assemble(whole, axis, {bits.rows("run_lengths", rows)}, lengths);
}

} // namespace dynd::nd
