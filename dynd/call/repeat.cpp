// Elements and rows several times.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dynd/array/layout.h"
#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/call/axis_parts.h"
#include "dynd/call/creation.h"
#include "dynd/call/structure.h"
#include "dynd/call/written.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/ops/isa.h"

namespace dynd::nd {

namespace {

// So many bytes several times: what is there already is copied, as much of it as stays in the L1.
void repeat_bytes(const char *from, intptr_t bytes, intptr_t times, char *to) {
  std::memcpy(to, from, size_t(bytes));
  intptr_t most = std::max<intptr_t>(1, (8 << 10) / bytes);
  for (intptr_t done = 1, more; done < times; done += more) {
    more = std::min({done, times - done, most});
    std::memcpy(to + done * bytes, to, size_t(more * bytes));
  }
}

// Parts of so many bytes, each several times.
void repeat_parts(const char *name, const char *from, size_t bytes, intptr_t count, intptr_t times, char *to) {
  intptr_t item = intptr_t(bytes), item_work = std::clamp<intptr_t>(item / 8, 1, work_piece);
  if (item_work * times > work_piece || item * times > 8 * work_piece) { // a piece has some of the times
    in_pieces(
        name, count * times,
        [&](intptr_t begin, intptr_t end) {
          for (intptr_t i = begin, some; i < end; i += some) {
            some = std::min(end - i, times - i % times);
            repeat_bytes(from + i / times * item, item, some, to + i * item);
          }
        },
        item_work);
    return;
  }
  in_pieces(
      name, count,
      [&](intptr_t begin, intptr_t end) {
        intptr_t size = intptr_t(bytes), each = size * times;
        intptr_t together = std::max<intptr_t>(1, (8 << 10) / std::max<intptr_t>(1, each)); // in the L1 for all times
        for (intptr_t i = begin; i < end; i += together) {
          for (intptr_t k = 0; k < times; k++) {
            isa().fetches->move_rows(to + i * each + k * size, each, from + i * size, size, bytes,
                                     size_t(std::min(together, end - i)));
          }
        }
      },
      std::clamp<intptr_t>(intptr_t(bytes) * times / 8, 1, work_piece));
}

// Numbers without rows: each element of the axis several times, or all of them behind each other.
array repeat_numbers(const char *name, const array &a, intptr_t times, int axis, bool each) {
  std::vector<intptr_t> size(a->size(), a->size() + a.ndim());
  intptr_t own = size[size_t(axis)], part = each ? 1 : own;
  for (int d = axis + 1; d < a.ndim(); d++) {
    part *= size[size_t(d)];
  }
  size[size_t(axis)] = checked_product(name, own, times);
  intptr_t bytes = 1;
  for (int s = 0; s < a->nstreams; s++) {
    bytes = std::max(bytes, intptr_t(stream_item(*a.get(), s)));
  }
  for (intptr_t one : size) {
    bytes = checked_product(name, bytes, one);
  }
  written_numbers result(a.type().dtype(), size);
  array whole = compact(a, a.ndim() - 1), list = list_of(whole, a.ndim() - 1);
  bool gaps = false;
  for (int s = 0; s < list->nstreams; s++) {
    gaps |= list->strides(s)[0] != intptr_t(stream_item(*list.get(), s));
  }
  list = gaps ? compact_copy(list) : list;
  intptr_t count = part ? list.size(0) / part : 0;
  for (int s = 0; s < list->nstreams; s++) {
    size_t bytes = size_t(part) * stream_item(*list.get(), s);
    repeat_parts(name, list->streams()[s].address, bytes, count, times, result.all()->streams()[s].address);
  }
  return result.finish();
}

} // namespace

array repeat(const array &a, const array &repeats, std::optional<int> axis) {
  if (!axis) {
    return repeat(flatten(a), repeats, 0);
  }
  if (int own = dynd::checked_axis("repeat", *axis, rows_ndim(a->type)); own >= a.ndim()) {
    const array both[] = {a, repeats};
    missing_rows rows("repeat", both, own);
    return rows.restored(repeat(rows.operand(0), rows.operand(1), own));
  }
  if (repeats.ndim() == 0 && has_numbers_of_one_size(a)) {
    array times = int_list("repeat", "repeats", with_unit_axis(repeats, 0));
    check_not_negative("repeat", "the number", times);
    return repeat_numbers("repeat", a, values_of<int64_t>(times)[0], checked_axis("repeat", a, *axis), true);
  }
  axis_parts parts("repeat", one_size_outside(a), *axis);
  array own = repeats.ndim() ? one_size_outside(repeats) : with_unit_axis(repeats, 0);
  array list = int_list("repeat", "repeats", own);
  const int64_t *times = values_of<int64_t>(list);
  check_not_negative("repeat", "the number", list);
  intptr_t total = parts.rows.total(), n = list.size(0);
  bool in_rows = own.ndim() == parts.axis + 1 && parts.axis > 0;
  if (in_rows) {
    in_rows = same_rows("repeat", rows_at(compact(own, parts.axis), parts.axis), parts.rows);
  }
  bool one_each = own.ndim() == 1 && !parts.is_var() && n == parts.whole.size(parts.axis);
  if (n != 1 && !in_rows && !one_each) {
    fail(error_kind::value,
         "repeat: the numbers have neither the size nor the rows of axis " + std::to_string(parts.axis));
  }
  bool each_own = in_rows || n == total;
  auto times_of = [=](intptr_t i) { return times[n == 1 ? 0 : each_own ? i : i % n]; };
  row_offsets runs = offsets_of("repeat", total, times_of);
  place_buffer start(runs.total());
  in_pieces_of_content("repeat", runs.at, total,
                       [to = start.fill(), at = runs.at](intptr_t first, intptr_t last, int64_t begin, int64_t end) {
                         for (intptr_t i = first; i < last; i++) {
                           fill_onward<int64_t>(to + (i == first ? begin : at[i]),
                                                to + (i == last - 1 ? end : at[i + 1]), to + end, i);
                         }
                       });
  array taken = gather("repeat", parts.list(), start);
  bool one_size = !parts.is_var() && !(in_rows && n != 1);
  intptr_t size = 0;
  for (intptr_t i = 0; one_size && i < parts.whole.size(parts.axis); i++) {
    size = checked_sum("repeat", size, times[n == 1 ? 0 : i]);
  }
  if (one_size) {
    return assemble(parts.whole, parts.axis, {size}, taken);
  }
  auto begin_of = [&](intptr_t r) { return runs.at[parts.rows.at[r]]; };
  return assemble(parts.whole, parts.axis, {offsets_at("repeat", parts.rows.count, begin_of)}, taken);
}

namespace {

array tile_axis(const array &a, intptr_t times, int axis) {
  if (times == 1) {
    return a;
  }
  if (array found =
          in_missing_rows("tile", a, axis, [&](const array &rows, int at) { return tile_axis(rows, times, at); })) {
    return found;
  }
  if (has_numbers_of_one_size(a)) {
    return repeat_numbers("tile", a, times, axis, false);
  }
  axis_parts parts("tile", a, axis);
  row_offsets rows = offsets_of("tile", parts.rows.count,
                                [&](intptr_t r) { return checked_product("tile", parts.rows.length(r), times); });
  intptr_t count = checked_product("tile", parts.rows.count, times);
  row_offsets runs = offsets_of("tile", count, [&](intptr_t i) { return parts.rows.length(i / times); });
  place_buffer start(count);
  for_rows("tile", runs, [&](intptr_t i) { start.fill()[i] = parts.rows.at[i / times]; });
  array taken = gather("tile", parts.list(), {start.data(), runs.at, count});
  return parts.is_var()
             ? assemble(parts.whole, parts.axis, {rows}, taken)
             : assemble(parts.whole, parts.axis, {checked_product("tile", parts.whole.size(parts.axis), times)}, taken);
}

} // namespace

array tile(const array &a, std::span<const intptr_t> reps) {
  array result = one_size_outside(a);
  while (rows_ndim(result->type) < int(reps.size())) {
    result = with_unit_axis(result, 0);
  }
  for (size_t i = 0; i < reps.size(); i++) {
    if (reps[i] < 0) {
      fail(error_kind::value, "tile: a number of repetitions is negative: " + std::to_string(reps[i]));
    }
    result = tile_axis(result, reps[i], rows_ndim(result->type) - int(reps.size() - i));
  }
  return immutable_of(result);
}

} // namespace dynd::nd
