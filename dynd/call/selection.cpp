#include "dynd/call/selection.h"

#include <algorithm>
#include <string>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/axis_parts.h"
#include "dynd/call/creation.h"
#include "dynd/call/innermost_axis.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/mask_bits.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/work.h"
#include "dynd/ops/logic.h"

namespace dynd::nd {

array take(const array &a, const array &index, std::optional<int> axis) {
  if (!axis) {
    return take(flatten(a), index, 0);
  }
  if (int own = dynd::checked_axis("take", *axis, rows_ndim(a->type)); own >= a.ndim()) {
    return index->type->var_count || has_missing_rows(index->type) ? take_along_axis(a, index, own)
                                                                   : take_of_missing_rows("take", a, index, own);
  }
  int along = checked_axis("take", a, *axis);
  if (index->type->var_count == 0) {
    return select_points("take", a, along, {&index, 1});
  }
  array lined = one_size_outside(index);
  if (lined->type->var_count == 0) {
    return select_points("take", a, along, {&lined, 1});
  }
  if (lined.ndim() != along + 1) {
    fail(error_kind::index, "take: an index with rows of its own takes elements along its last axis, " +
                                std::to_string(lined.ndim() - 1) + ", not along axis " + std::to_string(along));
  }
  return select_in_rows("take", a, lined, along);
}

namespace {

// Some axis outside has one row in one of both, where the other may have more.
bool stretch(const array &a, const array &b, int axis) {
  bool found = false;
  for (int d = 0; d < axis; d++) {
    found |= (a.size(d) == 1) != (b.size(d) == 1) && !(a->is_var(d) && b->is_var(d));
  }
  return found;
}

// Array and index with the same axes outside of this one, as they broadcast: rows of the array are repeated.
array take_stretched(const array &a, const array &index, int axis) {
  array whole = compact(a, axis), rows = list_of(whole, axis - 1), lined = compact(index, axis);
  array none = counted_list(list_of(lined, axis - 1).size(0)); // for its shape
  const array outside[] = {assemble(whole, axis, {1}, counted_list(rows.size(0))), assemble(lined, axis, {1}, none)};
  const array both[] = {outside[0], lined};
  array taken = compact(broadcast_arrays(outside, "take_along_axis")[0], axis), places = list_of(taken, axis);
  places = array(copy_values(places.get(), access_mode::immutable));
  list_places at = {values_of<int64_t>(places), nullptr, places.size(0)};
  return select_in_rows("take_along_axis", assemble(taken, axis, {}, gather("take_along_axis", rows, at)),
                        broadcast_arrays(both, "take_along_axis")[1], axis);
}

} // namespace

array take_along_axis(const array &a, const array &index, int axis) {
  const array both[] = {a, index};
  if (int at = dynd::checked_axis("take_along_axis", axis, rows_ndim(a->type)); is_in_missing_rows(both, at)) {
    if (rows_ndim(index->type) != rows_ndim(a->type)) { // they are lined up at the last
      fail(error_kind::type, "take_along_axis: the index has " + std::to_string(rows_ndim(index->type)) +
                                 " dimension(s), an array whose rows may be missing " +
                                 std::to_string(rows_ndim(a->type)) + "; use a[index]");
    }
    missing_rows rows("take_along_axis", both, at);
    return rows.restored(take_along_axis(rows.operand(0), rows.operand(1), at));
  }
  int along = checked_axis("take_along_axis", a, axis);
  if (index.ndim() == along + 1) {
    array whole = one_size_outside(a), lined = one_size_outside(index);
    return stretch(whole, lined, along) ? take_stretched(whole, lined, along)
                                        : select_in_rows("take_along_axis", whole, lined, along);
  }
  if (index.ndim() != a.ndim()) {
    fail(error_kind::index, "take_along_axis: the index has " + std::to_string(index.ndim()) +
                                " dimension(s), the array " + std::to_string(a.ndim()));
  }
  int last = a.ndim() - 1;
  for (const array &one : both) {
    if (!can_move_axis(one, along, last)) {
      fail(error_kind::type, "take_along_axis: a ragged axis inside of axis " + std::to_string(along) + ": " +
                                 std::string(one.type().str()));
    }
  }
  array taken = take_along_axis(with_axis_moved(a, along, last), with_axis_moved(index, along, last), -1);
  return with_axis_moved(taken, last, along);
}

// ---- positions ------------------------------------------------------------------------------------------------------

namespace {

array is_nonzero(const array &a) {
  element_kind kind;
  if (!find_element_kind(a->type->dtype, kind)) {
    fail(error_kind::type,
         "nonzero: there is no such operation for elements of type " + std::string(a.type().dtype().str()));
  }
  if (kind.scalar == scalar_id::bool_) {
    return a;
  }
  const char zeros[max_scalar_size] = {};
  array zero = scalar_of(kind.scalar, zeros);
  array_block *const operands[] = {a.get(), zero.get()};
  return array(evaluate(logic::different, {operands, 2}));
}

// Places of an axis, rising, become positions within its rows, and the rows.
void split_places(const array &a, int axis, place_buffer &places, int64_t *position) {
  place_buffer rows(places.size());
  int64_t *row = rows.fill();
  if (!a->is_var(axis)) {
    intptr_t size = std::max<intptr_t>(1, a.size(axis));
    in_pieces("nonzero", places.size(), [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin, r = 0, first = 0; i < end; i++) {
        if (places[i] - first >= size) { // a division for each row, not for each element
          r = places[i] / size;
          first = r * size;
        }
        row[i] = r;
        position[i] = places[i] - first;
      }
    });
  } else {
    row_offsets offsets = rows_at(a, axis);
    in_pieces("nonzero", places.size(), [&](intptr_t begin, intptr_t end) {
      intptr_t r =
          begin < end ? std::upper_bound(offsets.at, offsets.at + offsets.count, places[begin]) - offsets.at - 1 : 0;
      for (intptr_t i = begin; i < end; i++) {
        while (places[i] >= offsets.at[r + 1]) {
          r++;
        }
        row[i] = r;
        position[i] = places[i] - offsets.at[r];
      }
    });
  }
  places = rows;
}

} // namespace

std::vector<array> nonzero(const array &a) {
  if (has_missing_rows(a->type)) {
    return nonzero(without_missing_rows("nonzero", a));
  }
  int ndim = a.ndim();
  if (ndim == 0) {
    fail(error_kind::type, "nonzero: a zero-dimensional array has no positions");
  }
  array whole = compact(is_nonzero(a), ndim - 1), bytes = mask_list("nonzero", whole, ndim - 1);
  place_buffer places = mask_bits("nonzero", bytes->values().address, bytes.size(0)).positions("nonzero");
  std::vector<array> along(static_cast<size_t>(ndim));
  for (int d = ndim - 1; d > 0 || (d == 0 && whole->is_var(0)); d--) {
    along[size_t(d)] = new_list<int64_t>(places.size());
    split_places(whole, d, places, values_of<int64_t>(along[size_t(d)]));
  }
  if (!along[0]) { // nothing is outside of it
    along[0] = list_of_places(places);
  }
  return along;
}

array argwhere(const array &a) {
  std::vector<array> along = rows_ndim(a->type) ? nonzero(a) : std::vector<array>();
  if (along.empty()) {
    fail(error_kind::type, "argwhere: a zero-dimensional array has no positions");
  }
  intptr_t count = along[0].size(0), ndim = intptr_t(along.size());
  if (ndim == 1) {
    return assemble({}, 0, {count, 1}, along[0]);
  }
  array all = new_list<int64_t>(count * ndim);
  int64_t *to = values_of<int64_t>(all);
  in_pieces("argwhere", count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      for (intptr_t d = 0; d < ndim; d++) {
        to[i * ndim + d] = values_of<int64_t>(along[size_t(d)])[i];
      }
    }
  });
  return assemble({}, 0, {count, ndim}, all);
}

// ---- missing values -------------------------------------------------------------------------------------------------

array drop_missing(const array &a, int axis) {
  if (axis >= a.ndim() && axis < rows_ndim(a->type)) {
    return in_missing_rows("drop_missing", a, axis, [](const array &rows, int at) { return drop_missing(rows, at); });
  }
  int along = dynd::checked_axis("drop_missing", axis, a.ndim()); // from the end: of rows that may be missing
  if (a.type().at_depth(along + 1)->kind != type_kind::option) {
    if (along < a.ndim() - 1) {
      fail(error_kind::type, "drop_missing: the elements of axis " + std::to_string(along) +
                                 " cannot be missing, but have dimensions: " + std::string(a.type().str()));
    }
    return immutable_of(a);
  }
  array whole = compact(a, along), list = list_of(whole, along);
  array bytes = mask_list("drop_missing", validity_of(list), 0);
  mask_bits bits("drop_missing", bytes->values().address, bytes.size(0));
  array kept = gather_masked("drop_missing", inside_of_options(list), bits);
  return along == 0 ? kept : assemble(whole, along, {bits.rows("drop_missing", rows_at(whole, along))}, kept);
}

namespace {

// A mask may stretch to the array, not the array to the mask.
void check_mask_shape(const array &a, const array &mask) {
  space shape;
  broadcast_space("mask", {mask.get(), a.get()}, shape);
  if (!has_rows_of(a, shape)) {
    fail(error_kind::broadcast, "mask: a mask of " + std::string(mask.type().str()) + " does not fit an array of " +
                                    std::string(a.type().str()) + ": it would stretch the array");
  }
}

array mask_along(const array &a, const array &mask, int axis) {
  int depth = checked_axis("mask", a, axis) + 1;
  if (mask.ndim() != depth) {
    fail(error_kind::value, "mask: a mask for axis " + std::to_string(depth - 1) + " has " + std::to_string(depth) +
                                " dimension(s), not " + std::to_string(mask.ndim()));
  }
  bool kept = mask->access == access_mode::immutable; // else it may change
  array own(kept ? ref<array_block>::share(mask.get()) : copy_values(mask.get(), access_mode::immutable));
  array whole = compact(a, depth - 1);
  own = compact(own, depth - 1);
  check_outside("mask", {whole, own}, depth);
  return join_options(whole, assemble(own, depth, {}, mask_list("mask", own, depth - 1)));
}

} // namespace

array mask(const array &a, const array &mask, std::optional<int> axis) {
  if (axis) {
    return mask_along(a, mask, *axis);
  }
  const array both[] = {a, mask};
  if (has_missing_rows(both)) {
    missing_rows rows("mask", both);
    return rows.restored(nd::mask(rows.operand(0), rows.operand(1)));
  }
  element_kind kind, of_mask;
  if (!find_element_kind(mask->type->dtype, of_mask) || of_mask.scalar != scalar_id::bool_) {
    fail(error_kind::type, "mask: the mask must be of bool, not " + std::string(mask.type().str()));
  }
  check_mask_shape(a, mask);
  if (find_element_kind(a->type->dtype, kind)) { // what is chosen by nothing is missing too
    array nothing(new_result({}, number_type(kind.scalar, true), true));
    array_block *const operands[] = {mask.get(), a.get(), nothing.get()};
    return array(evaluate(logic::chosen, {operands, 3}));
  }
  array condition = mask;
  if (of_mask.option) { // where the mask is missing, it is not true
    array no(false);
    array_block *const operands[] = {mask.get(), no.get()};
    condition = array(evaluate(logic::filled, {operands, 2}));
  }
  array whole = compact(a, a.ndim() - 1), numbers = numbered("mask", whole, whole.ndim()), none(int64_t(-1));
  array_block *const operands[] = {condition.get(), numbers.get(), none.get()};
  array places(evaluate(logic::chosen, {operands, 3}));
  places = compact(places, places.ndim() - 1);
  array start = list_of(places, places.ndim() - 1);
  return assemble(places, places.ndim(), {},
                  gather_or_missing("mask", list_of(whole, a.ndim() - 1), place_buffer(start)));
}

array nth(const array &a, intptr_t i, int axis, const array &empty) {
  if (array found =
          in_missing_rows("nth", a, axis, [&](const array &rows, int at) { return nth(rows, i, at, empty); })) {
    return found;
  }
  int along = checked_axis("nth", a, axis);
  array whole = compact(a, along);
  row_offsets rows = rows_at(whole, along);
  place_buffer start(rows.count);
  int64_t *to = start.fill();
  in_pieces("nth", rows.count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      int64_t size = rows.length(r), at = i < 0 ? i + size : i;
      to[r] = at >= 0 && at < size ? rows.at[r] + at : -1;
    }
  });
  array list = list_of(whole, along);
  if (!empty) {
    return assemble(whole, along, {}, gather_or_missing("nth", list, start));
  }
  return assemble(whole, along, {}, gather_or_fill("nth", list, start, element_from("nth", "empty", empty, list)));
}

} // namespace dynd::nd
