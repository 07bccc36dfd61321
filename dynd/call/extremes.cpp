// min, max, argmin and argmax of elements that are no numbers and have an order: texts, and structs of what has one.
#include <algorithm>
#include <string>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/innermost_axis.h"
#include "dynd/call/sort_rows.h"
#include "dynd/call/structure.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/reduce.h"
#include "dynd/eval/select.h"
#include "dynd/eval/work.h"
#include "dynd/ops/logic.h"

namespace dynd::nd {

namespace {

// The place of the first element in order of each row, -1 where there is none: what is missing is last in any order.
place_buffer first_places(const char *name, const innermost_axis &inner, bool largest, bool may_be_missing) {
  array list = inner.list();
  row_offsets rows = inner.rows();
  row_offsets taken = offsets_of(name, rows.count, [&](intptr_t r) {
    if (rows.length(r) == 0 && !may_be_missing) {
      std::string where = inner.moved.ndim() > 1 ? row_name(inner.moved, inner.moved.ndim() - 1, r) : "the array";
      fail(error_kind::value,
           std::string(name) + ": " + where + " is empty, and " + name + " of no elements is not defined");
    }
    return std::min<int64_t>(1, rows.length(r));
  });
  place_buffer found(taken.total()), places(rows.count);
  if (found.size() > 0) {
    first_of_rows(name, order_keys(name, list, {.descending = largest}), rows, taken, found.fill());
  }
  for_rows(name, rows, [&, is_there = presence_of(list)](intptr_t r) {
    int64_t at = taken.length(r) ? found[taken.at[r]] : -1;
    places.fill()[r] = at >= 0 && is_there(at) ? at : -1;
  });
  return places;
}

// Positions within the rows, missing where there is no place.
array positions_of(const char *name, const place_buffer &places, const row_offsets &rows, bool may_be_missing) {
  array positions = new_list<int64_t>(rows.count);
  place_buffer own(rows.count);
  for_rows(name, rows, [&](intptr_t r) {
    values_of<int64_t>(positions)[r] = places[r] - rows.at[r];
    own.fill()[r] = places[r] < 0 ? -1 : r;
  });
  return may_be_missing ? gather_or_missing(name, positions, own) : positions;
}

ref<array_block> extreme(aggregate_id id, array_block *operand, const reduced_axes &axes,
                         const reduction_keywords &keywords) {
  const aggregate &what = aggregate_of(id);
  array a(ref<array_block>::share(operand));
  check_order(what.name, a);
  axis_set found = find_axes(what.name, axes, a.ndim());
  bool all = found.all();
  if (keywords.where || keywords.initial || keywords.align_left || (found.count != 1 && !all)) {
    fail(error_kind::type, std::string(what.name) + ": of " + operand->type->dtype->text +
                               " along one axis or all, without where=, initial= and align=");
  }
  innermost_axis inner(what.name, a, all ? std::nullopt : std::optional(found.first()));
  bool may_be_missing = keywords.empty_missing || operand->type->dtype->kind == type_kind::option;
  bool largest = reduction_of(what.fold).combine == arithmetic::larger;
  place_buffer places = first_places(what.name, inner, largest, may_be_missing);
  array list = what.kind == aggregate_kind::index ? positions_of(what.name, places, inner.rows(), may_be_missing)
                                                  : (may_be_missing ? gather_or_missing(what.name, inner.list(), places)
                                                                    : gather(what.name, inner.list(), places));
  array result = assemble(inner.moved, inner.moved.ndim() - 1, {}, list);
  return keywords.keepdims ? with_axes_kept(ref<array_block>::share(result.get()), found)
                           : ref<array_block>::share(result.get());
}

[[maybe_unused]] const bool installed = (reduce_ordered = extreme, true);

} // namespace

} // namespace dynd::nd
