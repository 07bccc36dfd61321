// Lengths and numbers of rows; axes that are joined, split, padded, moved.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "dynd/array/layout.h"
#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/array/view_parts.h"
#include "dynd/base/errors.h"
#include "dynd/call/axis_parts.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/select.h"
#include "dynd/eval/space.h"
#include "dynd/eval/work.h"
#include "dynd/ops/logic.h"

namespace dynd::nd {

array num(const array &a, int axis) {
  if (array found = in_missing_rows("num", a, axis, [&](const array &rows, int at) { return num(rows, at); })) {
    return found;
  }
  axis_parts parts("num", one_size_outside(a), axis);
  return lengths_at("num", parts.whole, parts.axis);
}

namespace {

template <class F> array index_of_elements(const char *name, const array &a, int axis, F number) {
  axis_parts parts(name, a, axis);
  array index = new_list<int64_t>(parts.rows.total());
  int64_t *to = values_of<int64_t>(index);
  for_parts_of_rows(name, parts.rows, [&](intptr_t r, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      to[i] = number(r, i - parts.rows.at[r]);
    }
  });
  return assemble(parts.whole, parts.axis + 1, {}, index);
}

} // namespace

array local_index(const array &a, int axis) {
  if (array found =
          in_missing_rows("local_index", a, axis, [&](const array &rows, int at) { return local_index(rows, at); })) {
    return found;
  }
  return index_of_elements("local_index", a, axis, [](intptr_t, int64_t i) { return i; });
}

array row_index(const array &a, int axis) {
  if (array found =
          in_missing_rows("row_index", a, axis, [&](const array &rows, int at) { return row_index(rows, at); })) {
    return found;
  }
  return index_of_elements("row_index", a, axis, [](intptr_t r, int64_t) { return r; });
}

// ---- joining and splitting axes -------------------------------------------------------------------------------------

array flatten(const array &a, std::optional<int> axis) {
  if (!axis) {
    array all = without_missing_rows("flatten", a);
    return list_of(compact(all, all.ndim() - 1), all.ndim() - 1);
  }
  if (int own = dynd::checked_axis("flatten", *axis, rows_ndim(a->type)); own >= a.ndim()) {
    missing_rows rows("flatten", a, own);
    return rows.restored(flatten(rows.operand(), own), own - 1); // the elements of the outer axis are skipped
  }
  array from = one_size_outside(a);
  int joined = checked_axis("flatten", from, *axis);
  if (joined == 0) {
    fail(error_kind::index, "flatten: nothing is outside of axis 0 to join it with");
  }
  array whole = compact(from, joined), list = list_of(whole, joined);
  if (joined == 1) {
    return list;
  }
  if (!whole->is_var(joined) && !whole->is_var(joined - 1)) {
    intptr_t both = checked_product("flatten", whole.size(joined), whole.size(joined - 1));
    return assemble(whole, joined - 1, {both}, list);
  }
  row_offsets outer = rows_at(whole, joined - 1), inner = rows_at(whole, joined);
  auto begin_of = [&](intptr_t r) { return inner.at[outer.at[r]]; };
  return assemble(whole, joined - 1, {offsets_at("flatten", outer.count, begin_of)}, list);
}

namespace {

array rows_of_one_length(const axis_parts &parts, int64_t each) {
  for_rows("unflatten", parts.rows, [&](intptr_t r) {
    int64_t length = parts.rows.length(r);
    if (each == 0 || length % each) {
      std::string where = parts.axis ? " of " + row_name(parts.whole, parts.axis, r) : "";
      fail(error_kind::value, "unflatten: the " + std::to_string(length) + " elements" + where + " are no rows of " +
                                  std::to_string(each));
    }
  });
  if (parts.axis > 0 && parts.whole->is_var(parts.axis)) {
    auto begin_of = [&](intptr_t r) { return each ? parts.rows.at[r] / each : 0; };
    row_offsets fewer = offsets_at("unflatten", parts.rows.count, begin_of);
    return assemble(parts.whole, parts.axis, {fewer, intptr_t(each)}, parts.list());
  }
  intptr_t size = parts.axis ? parts.whole.size(parts.axis) : parts.rows.total();
  return assemble(parts.whole, parts.axis, {each ? size / each : 0, intptr_t(each)}, parts.list());
}

} // namespace

array unflatten(const array &a, const array &lengths, int axis) {
  axis_parts parts("unflatten", one_size_outside(a), axis);
  array own = lengths;
  if (lengths.ndim() == 0) { // rows of one length
    array each = int_list("unflatten", "lengths", with_unit_axis(lengths, 0));
    check_not_negative("unflatten", "length", each);
    return rows_of_one_length(parts, values_of<int64_t>(each)[0]);
  }
  own = compact(one_size_outside(own), own.ndim() - 1);
  if (own.ndim() != parts.axis + 1) {
    fail(error_kind::index, "unflatten: lengths for axis " + std::to_string(parts.axis) + " have " +
                                std::to_string(parts.axis + 1) + " dimension(s), not " + std::to_string(own.ndim()));
  }
  array list = int_list("unflatten", "lengths", own);
  const int64_t *length = values_of<int64_t>(list);
  check_not_negative("unflatten", "length", list);
  row_offsets rows = offsets_of("unflatten", list.size(0), [&](intptr_t i) { return length[i]; });
  row_offsets outer = rows_at(own, parts.axis);
  if (outer.count != parts.rows.count) {
    fail(error_kind::value,
         "unflatten: lengths for " + std::to_string(outer.count) + " rows, not " + std::to_string(parts.rows.count));
  }
  for_rows("unflatten", outer, [&](intptr_t r) {
    int64_t sum = rows.at[outer.at[r + 1]] - rows.at[outer.at[r]];
    if (sum != parts.rows.length(r)) {
      std::string where = parts.axis ? " of " + row_name(parts.whole, parts.axis, r) : "";
      fail(error_kind::value, "unflatten: the lengths" + where + " add up to " + std::to_string(sum) + ", not to " +
                                  std::to_string(parts.rows.length(r)));
    }
  });
  return assemble(own, own.ndim(), {rows}, parts.list());
}

// ---- longer and shorter rows ----------------------------------------------------------------------------------------

namespace {

// Numbers that follow each other, at any address. Four places of a row are read and written at once, without asking
// whether they are the row's, where list and result have them: the next row overwrites what was too much.
//   rows of 2 and 1 as rows of 3: x x 0 y, then y 0 0 over the last of these
template <class Word>
void fill_rows(const axis_parts &parts, const row_offsets &rows, const char *list, const char *value, char *result,
               intptr_t begin, intptr_t end) {
  constexpr int64_t item = sizeof(Word);
  Word fill;
  std::memcpy(&fill, value, sizeof(fill));
  const int64_t read_end = parts.rows.total(), written_end = rows.at[end];
  for (intptr_t r = begin; r < end; r++) {
    int64_t own = parts.rows.length(r), size = rows.length(r), first = parts.rows.at[r], reach = (size + 3) / 4 * 4;
    const char *from = list + first * item;
    char *row = result + rows.at[r] * item;
    if (first + reach <= read_end && rows.at[r] + reach <= written_end) {
      for (int64_t i = 0; i < size; i += 4) {
        for (int64_t k = i; k < i + 4; k++) {
          Word read;
          std::memcpy(&read, from + k * item, sizeof(read));
          read = k < own ? read : fill;
          std::memcpy(row + k * item, &read, sizeof(read));
        }
      }
    } else {
      int64_t some = std::min(own, size);
      std::memcpy(row, from, size_t(some * item));
      for (int64_t k = some; k < size; k++) {
        std::memcpy(row + k * item, &fill, sizeof(fill));
      }
    }
  }
}

// Null where the elements are no numbers that follow each other.
array resized_numbers(const char *name, const axis_parts &parts, const row_offsets &rows, const array &value) {
  array list = parts.list();
  size_t item = list->has_scalars() && list.ndim() == 1 ? list->item_size() : 0;
  if (item == 0 || list->value_strides()[0] != intptr_t(item)) {
    return {};
  }
  array result = new_list(value ? list.type().element() : ndt::make_option(list.type().element()), rows.total());
  alignas(16) const char zeros[max_scalar_size] = {};
  const char *from = list->values().address, *with = value ? value->values().address : zeros;
  with_word(item, [&](auto word) {
    in_pieces_of_rows(name, rows.at, rows.count, [&](intptr_t begin, intptr_t end) {
      fill_rows<decltype(word)>(parts, rows, from, with, result->values().address, begin, end);
    });
  });
  if (!value) {
    char *valid = result->streams()[0].address;
    in_pieces_of_rows(name, rows.at, rows.count, [=, own = parts.rows.at, at = rows.at](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        char *there = valid + at[r], *ends = std::min(there + (own[r + 1] - own[r]), valid + at[r + 1]);
        fill_onward<char>(there, ends, valid + at[end], 1);
        fill_onward<char>(ends, valid + at[r + 1], valid + at[end], 0);
      }
    });
  }
  return result;
}

// The rows as long as `rows` says, the places behind their ends filled.
array resized(const char *name, const axis_parts &parts, const row_offsets &rows, const array &given) {
  array list = parts.list(), value = given ? element_from(name, "value", given, list) : array();
  if (array numbers = resized_numbers(name, parts, rows, value)) {
    return numbers;
  }
  place_buffer start(rows.total());
  for_parts_of_rows(name, rows, [&](intptr_t r, int64_t begin, int64_t end) {
    int64_t own = parts.rows.length(r), first = parts.rows.at[r];
    for (int64_t i = begin; i < end; i++) {
      start.fill()[i] = i - rows.at[r] < own ? first + i - rows.at[r] : -1;
    }
  });
  return value ? gather_or_fill(name, list, start, value) : gather_or_missing(name, list, start);
}

void check_width(const char *name, intptr_t width) {
  if (width < 0) {
    fail(error_kind::value, std::string(name) + ": the width is negative: " + std::to_string(width));
  }
}

} // namespace

array pad(const array &a, intptr_t width, const array &value, bool clip, int axis) {
  if (array found = in_missing_rows("pad", a, axis,
                                    [&](const array &rows, int at) { return pad(rows, width, value, clip, at); })) {
    return found;
  }
  check_width("pad", width);
  axis_parts parts("pad", one_size_outside(a), axis);
  row_offsets rows = offsets_of("pad", parts.rows.count, [&](intptr_t r) {
    return clip ? width : std::max<int64_t>(width, parts.rows.length(r));
  });
  array list = resized("pad", parts, rows, value);
  if (parts.axis == 0 || !parts.is_var()) { // with no row there is the size that it would have
    intptr_t size = clip ? width : std::max<intptr_t>(width, parts.whole.size(parts.axis));
    return assemble(parts.whole, parts.axis, {size}, list);
  }
  return assemble(parts.whole, parts.axis, {rows}, list);
}

array to_dense(const array &a, intptr_t width, const array &value, int axis) {
  if (array found = in_missing_rows("to_dense", a, axis,
                                    [&](const array &rows, int at) { return to_dense(rows, width, value, at); })) {
    return found;
  }
  check_width("to_dense", width);
  axis_parts parts("to_dense", one_size_outside(a), axis);
  row_offsets rows = offsets_of("to_dense", parts.rows.count, [&](intptr_t) { return width; });
  return assemble(parts.whole, parts.axis, {width}, resized("to_dense", parts, rows, value));
}

namespace {

// A missing row has no elements, whatever its length is.
array from_dense_rows(const array &a, const array &lengths, int along) {
  missing_rows rows("from_dense", a, along);
  const array *valid = rows.validity(along);
  array own = lengths;
  if (valid && lengths.ndim() == along && lengths.element_count() == valid->element_count()) {
    array none = int64_t(0);
    array_block *const operands[] = {valid->get(), lengths.get(), none.get()};
    own = converted_for("from_dense", "lengths", array(evaluate(logic::chosen, {operands, 3})),
                        ndt::make_scalar(scalar_id::int64));
  }
  return rows.restored(from_dense(rows.operand(), own, along));
}

} // namespace

array from_dense(const array &a, const array &lengths, int axis) {
  if (int own = dynd::checked_axis("from_dense", axis, rows_ndim(a->type)); is_in_missing_rows({&a, 1}, own)) {
    return from_dense_rows(a, lengths, own);
  }
  axis_parts parts("from_dense", one_size_outside(a), axis);
  array list = int_list("from_dense", "lengths", lengths.ndim() ? lengths : with_unit_axis(lengths, 0));
  if (lengths.ndim() != parts.axis || list.size(0) != parts.rows.count) {
    fail(error_kind::value, "from_dense: " + std::to_string(list.size(0)) + " lengths in " +
                                std::to_string(lengths.ndim()) + " dimension(s) for " +
                                std::to_string(parts.rows.count) + " rows of axis " + std::to_string(parts.axis));
  }
  const int64_t *length = values_of<int64_t>(list);
  for_rows("from_dense", parts.rows, [&](intptr_t r) {
    if (length[r] < 0 || length[r] > parts.rows.length(r)) {
      fail(error_kind::value, "from_dense: " + row_name(parts.whole, parts.axis, r) + " has " +
                                  std::to_string(parts.rows.length(r)) + " elements, not " + std::to_string(length[r]));
    }
  });
  row_offsets rows = offsets_of("from_dense", parts.rows.count, [&](intptr_t r) { return length[r]; });
  array taken = gather("from_dense", parts.list(), {parts.rows.at, rows.at, rows.count});
  return parts.axis == 0 ? taken : assemble(parts.whole, parts.axis, {rows}, taken);
}

// ---- order ----------------------------------------------------------------------------------------------------------

namespace {

// With rows that may be missing: one axis after another.
array flip_rows(const array &a, std::span<const int> axes) {
  array flipped = a;
  for (int axis : axes) {
    missing_rows rows("flip", flipped, axis);
    std::vector<index> indices(size_t(axis), index{index::slice, 0, {}, {}, {}});
    indices.push_back({index::slice, 0, {}, {}, -1});
    flipped = rows.restored(at(rows.operand(), indices));
  }
  return flipped;
}

} // namespace

array flip(const array &a, std::optional<std::span<const int>> axes) {
  std::vector<int> own(size_t(rows_ndim(a->type)));
  std::iota(own.begin(), own.end(), 0);
  own = axes ? checked_axes("flip", *axes, int(own.size())) : own;
  if (has_missing_rows(a->type)) {
    return flip_rows(a, own);
  }
  std::vector<index> indices(size_t(a.ndim()), index{index::slice, 0, {}, {}, {}});
  for (int axis : own) {
    indices[size_t(axis)].step = -1;
  }
  return at(a, indices);
}

namespace {

// Numbers without rows: two parts of the axis change places, each by one assignment.
array roll_strided(const array &a, intptr_t shift, int axis) {
  intptr_t size = a.size(axis), moved = (shift % size + size) % size;
  array to(new_dense(a->type, a->size(), access_mode::readwrite));
  auto part = [axis](const array &of, intptr_t begin, intptr_t end) {
    std::vector<index> indices(size_t(axis), index::whole());
    indices.push_back({index::slice, 0, begin, end, {}});
    return at(of, indices);
  };
  assign(part(to, 0, moved).get(), part(a, size - moved, size).get(), unwatched);
  assign(part(to, moved, size).get(), part(a, 0, size - moved).get(), unwatched);
  to->access = access_mode::immutable; // no caller has it yet
  to->flags |= flag_ours;
  return to;
}

} // namespace

array roll(const array &a, intptr_t shift, std::optional<int> axis) {
  if (int own = dynd::checked_axis("roll", axis.value_or(-1), rows_ndim(a->type)); own >= a.ndim() && a.ndim()) {
    missing_rows rows("roll", a, own);
    return rows.restored(roll(rows.operand(), shift, axis));
  }
  if (!axis) {
    array whole = compact(a, a.ndim() - 1);
    array rolled = roll(list_of(whole, a.ndim() - 1), shift, 0);
    return assemble(whole, a.ndim(), {}, rolled);
  }
  if (int along = checked_axis("roll", a, *axis); a->has_scalars() && a->type->var_count == 0 && a.size(along) > 0) {
    return roll_strided(a.eval(), shift, along);
  }
  axis_parts parts("roll", one_size_outside(a), *axis);
  place_buffer start(parts.rows.count * 2);
  new_offsets runs(parts.rows.count * 2);
  for_rows("roll", parts.rows, [&](intptr_t r) { // the end of the row, then its beginning
    int64_t size = parts.rows.length(r), moved = size ? (shift % size + size) % size : 0;
    start.fill()[2 * r] = parts.rows.at[r + 1] - moved;
    start.fill()[2 * r + 1] = parts.rows.at[r];
    runs.fill()[2 * r + 1] = moved;
    runs.fill()[2 * r + 2] = size - moved;
  });
  make_offsets("roll", runs.fill(), runs.count);
  return assemble(parts.whole, parts.axis + 1, {}, gather("roll", parts.list(), {start.data(), runs.at, runs.count}));
}

namespace {

// The elements of each row at which a window begins.
array window_starts(const array &whole, intptr_t window, int axis) {
  if (!whole->is_var(axis)) {
    std::vector<index> indices(size_t(axis), index{index::slice, 0, {}, {}, {}});
    intptr_t count = std::max<intptr_t>(0, whole.size(axis) - window + 1);
    indices.push_back({index::slice, 0, 0, count, {}});
    return at(whole, indices);
  }
  row_offsets rows = rows_at(whole, axis);
  ref<buffer> slots = allocate_buffer(size_t(rows.count) * sizeof(row_extent));
  auto *row = reinterpret_cast<row_extent *>(slots->data);
  for_rows("rolling", rows, [&](intptr_t r) {
    row[r] = {rows.at[r], std::max<int64_t>(0, rows.length(r) - window + 1)};
  });
  return assemble(whole, axis, {}, rows_over(list_of(whole, axis), std::move(slots), rows.count));
}

} // namespace

array rolling(const array &a, intptr_t window, int axis) {
  if (array found =
          in_missing_rows("rolling", a, axis, [&](const array &rows, int at) { return rolling(rows, window, at); })) {
    return found;
  }
  array whole = one_size_outside(a);
  int along = checked_axis("rolling", whole, axis);
  if (window < 1) {
    fail(error_kind::value, "rolling: the window must be at least 1, not " + std::to_string(window));
  }
  whole = whole->is_var(along) ? compact(whole, along) : whole.eval();
  array starts = window_starts(whole, window, along);
  view_parts parts(starts);
  parts.insert_axis(along + 1);
  parts.size[along + 1] = window;
  if (window > 1 && parts.access == access_mode::readwrite) { // an element that is in several windows is not written
    parts.access = access_mode::readonly;
  }
  for (int s = whole->slot_stream(along + 1); s < parts.nstreams; s++) {
    parts.stride(s)[along + 1] = parts.stride(s)[along];
  }
  return parts.build();
}

} // namespace dynd::nd
