// Selections inside of rows that may be missing: what is taken of a missing row is missing, and nothing is assigned to
// it.
#include <algorithm>
#include <array>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/select_parts.h"
#include "dynd/eval/space.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

bool takes_axis(const selector &s) { return s.array || axes_of(s) > 0; }

std::vector<selector> whole_axes(int count) {
  return std::vector<selector>(size_t(count), selector{nd::index::whole(), {}});
}

std::vector<selector> joined(std::vector<selector> first, std::span<const selector> rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// `...` as the slices that it stands for.
std::vector<selector> without_ellipsis(const nd::array &a, std::span<const selector> selectors) {
  auto is_ellipsis = [](const selector &s) { return !s.array && s.plain.kind == nd::index::ellipsis; };
  int taken = int(std::count_if(selectors.begin(), selectors.end(), takes_axis));
  int ellipses = int(std::count_if(selectors.begin(), selectors.end(), is_ellipsis));
  nd::check_index_counts(ellipses, taken, rows_ndim(a->type));
  std::vector<selector> plain;
  for (const selector &s : selectors) {
    plain = joined(std::move(plain), is_ellipsis(s) ? whole_axes(rows_ndim(a->type) - taken) : std::vector{s});
  }
  return plain;
}

// Element i of each row of the axis, missing where the row is, and what is selected of it.
nd::array take_integer(const nd::array &a, int axis, std::span<const selector> selectors) {
  missing_rows rows("index", a, axis);
  const nd::array *valid = rows.validity(axis);
  if (!valid) {
    return rows.restored(select(rows.operand(), joined(whole_axes(axis), selectors)));
  }
  nd::array number = selectors[0].plain.at, missing(new_result({}, number_type(scalar_id::int64, true), true));
  nd::array index(apply(logic::chosen, {valid->get(), number.get(), missing.get()}, unwatched));
  nd::array taken = select_in_rows("index", rows.operand(), nd::with_unit_axis(index, axis), axis);
  std::vector<selector> first = whole_axes(axis);
  first.push_back({nd::index::number(0), {}});
  taken = rows.restored(select(taken, first), axis - 1);
  return selectors.size() == 1 ? taken : select(taken, joined(whole_axes(axis), selectors.subspan(1)));
}

} // namespace

// The same elements of each row: an index for each, missing where the row is.
nd::array take_of_missing_rows(const char *name, const nd::array &a, const nd::array &index, int axis) {
  missing_rows rows(name, a, axis);
  const nd::array *valid = rows.validity(axis);
  if (!valid || index.ndim() != 1) {
    return rows.restored(select_points(name, rows.operand(), axis, {&index, 1}));
  }
  nd::array missing(new_result({}, number_type(scalar_id::int64, true), true)),
      of_row = nd::with_unit_axis(*valid, axis);
  nd::array chosen(apply(logic::chosen, {of_row.get(), index.get(), missing.get()}, unwatched));
  nd::array taken = select_in_rows(name, rows.operand(), chosen, axis);
  element_kind kind;
  bool some_missing = find_element_kind(index->type->dtype, kind) && kind.option;
  bool option = some_missing || rows.operand().type().at_depth(axis + 1)->kind == type_kind::option;
  return rows.restored(option ? taken : split_options(name, taken, axis + 1).inside);
}

namespace {

// Selectors of which those of the axes outside of the rows take all.
nd::array select_inside(const nd::array &a, std::span<const selector> selectors) {
  auto is_integer = [](const selector &s) { return s.array || s.plain.kind == nd::index::integer; };
  auto integer = std::find_if(selectors.begin(), selectors.end(), is_integer);
  auto slices = selectors.first(size_t(integer - selectors.begin()));
  nd::array from = a;
  int axis = a.ndim();
  for (const selector &s : slices) { // one after another: rows inside of the axis are elements
    missing_rows rows("index", from, takes_axis(s) ? axis : axis - 1);
    from = rows.restored(select(rows.operand(), joined(whole_axes(axis++), {&s, 1})));
  }
  return integer == selectors.end() ? from
         : integer->array           ? take_of_missing_rows("index", from, integer->array, axis)
                                    : take_integer(from, axis, selectors.subspan(slices.size()));
}

// An array, and a mask or index with its rows down to an axis: lined up at the first axis, by axes of size 1 at the
// end.
struct lined_up {
  missing_rows rows;
  selector only;

  lined_up(const nd::array &a, const nd::array &index)
      : rows("index", std::array{a, widened(index, rows_ndim(a->type))}, rows_ndim(index->type) - 1) {
    std::vector<selector> first = whole_axes(rows_ndim(index->type));
    first.resize(std::max(first.size(), size_t(rows_ndim(a->type))), {nd::index::number(0), {}});
    only.array = select(rows.operand(1), first);
  }

private:
  static nd::array widened(const nd::array &index, int ndim) {
    missing_rows own("index", index);
    nd::array wide = own.operand();
    while (wide.ndim() < ndim) {
      wide = nd::with_unit_axis(wide, wide.ndim());
    }
    return own.restored(wide);
  }
};

} // namespace

bool selects_in_missing_rows(const nd::array &a, std::span<const selector> selectors) {
  int taken = 0;
  bool ellipsis = false, at_the_end = false, may_be_missing = has_missing_rows(a->type);
  for (const selector &s : selectors) {
    if (s.array && has_missing_rows(s.array->type)) {
      return true;
    }
    at_the_end |= ellipsis;
    ellipsis |= !s.array && s.plain.kind == nd::index::ellipsis;
    taken += axes_of(s);
  }
  return may_be_missing && (at_the_end || taken > a.ndim());
}

namespace {

// What is outside of the rows, applied, and the selectors of what is inside.
struct entered_rows {
  nd::array rows;
  std::vector<selector> inside;

  /// may_take: the last may be an array of integers.
  entered_rows(const nd::array &a, std::span<const selector> given, bool may_take) : rows(a) {
    auto is_array = [](const selector &s) { return bool(s.array); };
    bool flat = given.back().array && !is_mask(given.back().array->type) && given.back().array->type->var_count == 0;
    if (std::any_of(given.begin(), given.end() - (may_take && flat), is_array)) {
      fail(error_kind::type, "index: an index array beside others, inside of rows that may be missing, of " +
                                 std::string(a.type().str()) + "; select in two steps, or " + missing_rows_hint);
    }
    inside = without_ellipsis(a, given);
    size_t outside = 0;
    for (int taken = 0; outside < inside.size(); outside++) {
      taken += takes_axis(inside[outside]);
      if (taken > a.ndim()) {
        break;
      }
    }
    rows = outside ? select(a, std::span(inside).first(outside)) : a;
    inside.erase(inside.begin(), inside.begin() + ptrdiff_t(outside));
  }
};

void check_view(const nd::array &a) {
  if (a->access != access_mode::readwrite) {
    refuse_view(a);
  }
}

} // namespace

nd::array select_in_missing_rows(const nd::array &a, std::span<const selector> given) {
  if (given.size() == 1 && given[0].array) {
    lined_up both(a, given[0].array);
    return both.rows.restored(select(both.rows.operand(), {&both.only, 1}));
  }
  entered_rows entered(a, given, true);
  return entered.inside.empty() ? entered.rows : select_inside(entered.rows, entered.inside);
}

void assign_in_missing_rows(const nd::array &a, std::span<const selector> given, const nd::array &value,
                            const settings &how) {
  if (given.size() == 1 && given[0].array) {
    lined_up both(a, given[0].array);
    check_view(both.rows.operand());
    return assign_to_selected(both.rows.operand(), {&both.only, 1}, value, how);
  }
  select(a, given); // an integer that is out of bounds
  entered_rows entered(a, given, false);
  missing_rows rows("assign", entered.rows, entered.rows.ndim());
  int axis = entered.rows.ndim();
  nd::array to = rows.operand(), from = value;
  check_view(to);
  nd::index &first = entered.inside[0].plain;
  if (first.kind == nd::index::integer && axis > 0) { // a missing row has none: as a slice
    first = nd::index::range(first.at, first.at == -1 ? std::nullopt : std::optional(first.at + 1));
    auto taken = int(std::count_if(entered.inside.begin(), entered.inside.end(), takes_axis));
    from = with_row_axis(value, rows_ndim(to->type) - axis - taken);
  }
  std::vector<selector> selectors = joined(whole_axes(axis), entered.inside);
  if (selects_in_missing_rows(to, selectors)) {
    return assign_in_missing_rows(to, selectors, from, how);
  }
  nd::array target = select(to, selectors);
  check_view(target);
  assign(target.get(), from.get(), how);
}

} // namespace dynd
