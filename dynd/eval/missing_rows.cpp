#include "dynd/eval/missing_rows.h"

#include <algorithm>
#include <cstring>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/eval/select.h"
#include "dynd/eval/space.h"
#include "dynd/eval/work.h"
#include "dynd/memory/pool.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

nd::array both(const nd::array &a, const nd::array &b) {
  return nd::array(apply(logic::both, {a.get(), b.get()}, unwatched));
}

// All elements down to `depth` dimensions, as a list; the array is compact there.
nd::array list_at(const nd::array &whole, int depth) { return list_of(whole, depth - 1); }

// A list of something for each place outside of `depth` dimensions, in these.
nd::array over_places(const nd::array &whole, int depth, const nd::array &list) {
  return assemble(whole, depth, {}, list);
}

// A list of bools as what it says.
presence presence_in(const nd::array &bools) { return {bools->values().address, bools->value_strides()[0]}; }

// ---- rows without elements ------------------------------------------------------------------------------------------

// A list of rows, which all have one size, as `var` rows.
nd::array with_slots(const char *name, const nd::array &rows) {
  nd::array whole = compact(rows, 1);
  intptr_t count = whole.size(0), size = whole.size(1);
  ref<buffer> slots = allocate_buffer(size_t(count) * sizeof(row_extent));
  auto *to = reinterpret_cast<row_extent *>(slots->data);
  in_pieces(name, count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = {i * size, size};
    }
  });
  return rows_over(list_of(whole, 1), std::move(slots), count);
}

row_extent slot_at(const nd::array &rows, intptr_t i) {
  const stream &slots = rows->streams()[0];
  return read_slot(slots.address + i * rows->strides(0)[0], slots.kind);
}

// A list of `count` of its rows, by their places; at a negative one is a row without elements.
template <class F> nd::array picked_rows(const char *name, const nd::array &rows, intptr_t count, F place) {
  pin(rows->streams()[0].owner);
  ref<buffer> memory = allocate_buffer(size_t(count) * sizeof(row_extent));
  auto *to = reinterpret_cast<row_extent *>(memory->data);
  in_pieces(name, count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      int64_t at = place(i);
      to[i] = at < 0 ? row_extent{0, 0} : slot_at(rows, at);
    }
  });
  ref<array_block> picked = new_block(rows->type, rows->access, 0);
  std::copy_n(rows->size(), rows->all_ndim, picked->size());
  picked->size()[0] = count;
  for (int s = 0; s < rows->nstreams; s++) {
    std::copy_n(rows->strides(s), rows->all_ndim, picked->strides(s));
    if (s > 0) {
      picked->streams()[s] = shared_stream(*rows.get(), s);
    }
  }
  picked->strides(0)[0] = sizeof(row_extent);
  char *address = memory->data;
  picked->streams()[0] = {address, memory.take(), slot_kind::pairs64, rows->streams()[0].step};
  return nd::array(std::move(picked));
}

// Of a writable array they may have no memory yet: then an assignment would give them some.
bool are_empty(const char *name, const nd::array &rows, presence valid) {
  bool empty = true;
  in_order(name, rows.size(0), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end && empty; i++) {
      row_extent row = slot_at(rows, i);
      empty = valid(i) || (row.size == 0 && !has_no_memory(row));
    }
  });
  return empty;
}

// ---- dimensions outside of the rows ---------------------------------------------------------------------------------

// Whether all dimensions of the one are the first of the other, rows that are known to be the same included.
bool begins_with(const nd::array &a, const nd::array &outside) {
  return known_same_rows(*a.get(), *outside.get(), outside.ndim());
}

// One row of that size for all rows: it becomes a row for each, so what the engine says of them has no hint.
void check_lengths(const char *name, const nd::array &a, int depth, const nd::array &valid, intptr_t size) {
  nd::array whole = compact(a, depth - 1), rows = list_at(whole, depth), bytes = list_at(valid, valid.ndim());
  if (depth != valid.ndim() || !begins_with(whole, valid) || !rows->is_var(1)) {
    return;
  }
  presence there = presence_in(bytes);
  in_order(name, rows.size(0), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      int64_t own = slot_at(rows, i).size;
      if (there(i) && own != 1 && own != size) {
        fail(error_kind::broadcast, std::string(name) + ": cannot broadcast " + row_name(whole, depth, i) +
                                        ": lengths " + std::to_string(own) + " and " + std::to_string(size) +
                                        one_value_for_each_row_hint);
      }
    }
  });
}

// True for each place outside of `depth` dimensions of an array.
nd::array all_there(const char *name, const nd::array &a, int depth) {
  nd::array whole = compact(a, depth - 1), list = new_list<bool>(list_at(whole, depth).size(0));
  in_pieces(name, list.size(0),
            [to = values_of<bool>(list)](intptr_t begin, intptr_t end) { std::fill(to + begin, to + end, true); });
  return over_places(whole, depth, list);
}

// A list of options, from what is inside of them and whether it is there.
nd::array option_list(const nd::array &list, const nd::array &valid) {
  if (list.type().element()->kind == type_kind::option) {
    nd::array own = validity_of(list);
    return option_list(inside_of_options(list), both(own, valid));
  }
  if (list->access == access_mode::immutable && valid->access != access_mode::immutable) { // what is written later
    return option_list(list, nd::array(copy_values(valid.get(), access_mode::immutable)));
  }
  ndt::type type = ndt::make_strided_dim(ndt::make_option(list.type().element()));
  // Where the validity is a new one, what is assigned to it would be lost.
  bool lost = list->access == access_mode::readwrite && valid->access != access_mode::readwrite;
  access_mode access = lost ? access_mode::readonly : list->access;
  ref<array_block> block = new_block(type.get(), access, list->flags & valid->flags & flag_ours);
  std::copy_n(list->size(), list->all_ndim, block->size());
  std::fill_n(block->strides(0), block->all_ndim, 0);
  block->strides(0)[0] = valid->value_strides()[0];
  block->streams()[0] = shared_stream(*valid.get(), valid->nstreams - 1);
  for (int s = 0; s < list->nstreams; s++) {
    block->streams()[s + 1] = shared_stream(*list.get(), s);
    std::copy_n(list->strides(s), list->all_ndim, block->strides(s + 1));
  }
  return nd::array(std::move(block));
}

} // namespace

options split_options(const char *name, const nd::array &a, int depth) {
  nd::array whole = compact(a, depth - 1), list = list_at(whole, depth);
  if (list.type().element()->kind != type_kind::option) {
    return {whole, all_there(name, whole, depth)};
  }
  return {over_places(whole, depth, inside_of_options(list)), over_places(whole, depth, validity_of(list))};
}

nd::array join_options(const nd::array &inside, const nd::array &valid) {
  int depth = valid.ndim();
  nd::array whole = compact(inside, depth - 1), own = compact(valid, depth - 1);
  return over_places(whole, depth, option_list(list_at(whole, depth), list_at(own, depth)));
}

namespace {

nd::array field_of_structs(const nd::array &a, int i) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("field", a);
    return rows.restored(nd::field(rows.operand(), i));
  }
  if (a.type().dtype().element()->nfields == 0) {
    fail(error_kind::type, "field: number " + std::to_string(i) + " of " + std::string(a.type().str()) +
                               " may be missing for two reasons; take the structs that are there first");
  }
  options structs = split_options("field", a, a.ndim());
  return join_options(nd::field(structs.inside, i), structs.valid);
}

[[maybe_unused]] const bool field_hook_installed = (nd::field_of_options = field_of_structs, true);

} // namespace

missing_rows::missing_rows(const char *name, std::span<const nd::array> operands, int axis)
    : type_(""), operands_(operands.begin(), operands.end()) {
  for (const nd::array &a : operands) {
    if (a) {
      ndim_ = std::max(ndim_, rows_ndim(a->type));
      type_ = has_missing_rows(a->type) ? a->type->text : type_;
    }
  }
  for (int inside = ndim_; inside >= std::max(ndim_ - axis, 1); inside--) {
    bool found = std::any_of(operands_.begin(), operands_.end(), [&](const nd::array &a) {
      return a && has_missing_rows(a->type) && rows_ndim(a->type) - a.ndim() == inside;
    });
    if (found) {
      add_level(name, inside);
    }
  }
}

// Rows with `inside` dimensions, their own included.
void missing_rows::add_level(const char *name, int inside) {
  nd::array valid;
  space_operands outside;
  auto depth_of = [&](const nd::array &a) { return a ? rows_ndim(a->type) - inside : -1; };
  for (const nd::array &a : operands_) {
    if (depth_of(a) > 0) {
      a.eval();
      outside.push_back({a.get(), depth_of(a)});
    }
  }
  space shape;
  broadcast_space(name, outside, shape); // says where they do not
  for (nd::array &a : operands_) {
    if (a && has_missing_rows(a->type) && a.ndim() == depth_of(a)) {
      options own = split_options(name, a, a.ndim());
      a = own.inside;
      valid = valid ? both(valid, own.valid) : own.valid;
    }
  }
  for (const nd::array &a : operands_) {
    int depth = depth_of(a);
    if (depth > 0 && (depth != valid.ndim() || !begins_with(a, valid))) {
      nd::array all = all_there(name, a, depth);
      valid = both(valid, all);
    }
  }
  levels_.push_back(compact(valid, valid.ndim() - 1));
  for (const nd::array &row : operands_) {
    bool flat = depth_of(row) == 0 && row.ndim() == 1 && row.size(0) > 1;
    for (const nd::array &a : operands_) {
      if (flat && depth_of(a) > 0) {
        check_lengths(name, a, depth_of(a), levels_.back(), row.size(0));
      }
    }
  }
  for (nd::array &a : operands_) {
    if (depth_of(a) >= 0 && a.size(depth_of(a)) != 1) { // a row of one element stretches to none
      empty_rows(name, a, depth_of(a));
    }
  }
}

// The operand with a row without elements where one is missing: where it has other dimensions outside of its rows than
// the validity, a row for each of these.
void missing_rows::empty_rows(const char *name, nd::array &a, int depth) {
  const nd::array &valid = levels_.back();
  nd::array whole = compact(a, depth - 1), rows = list_at(whole, depth);
  bool same = depth == valid.ndim() && begins_with(whole, valid);
  nd::array bytes = list_at(valid, valid.ndim());
  presence there = presence_in(bytes);
  if (same && rows->is_var(1) && are_empty(name, rows, there)) {
    return;
  }
  rows = rows->is_var(1) ? rows : with_slots(name, rows);
  if (same) {
    auto place = [&](intptr_t i) { return there(i) ? i : intptr_t(-1); };
    a = over_places(whole, depth, picked_rows(name, rows, rows.size(0), place));
    return;
  }
  nd::array numbers = numbered(name, whole, depth), none = int64_t(-1);
  nd::array chosen(apply(logic::chosen, {valid.get(), numbers.get(), none.get()}, unwatched));
  chosen = compact(chosen, valid.ndim() - 1);
  const int64_t *at = values_of<int64_t>(list_at(chosen, valid.ndim()));
  auto place = [&](intptr_t i) { return at[i]; };
  a = over_places(valid, valid.ndim(), picked_rows(name, rows, bytes.size(0), place));
}

nd::array missing_rows::restored(const nd::array &result, int axis) const {
  nd::array to = result;
  for (size_t i = levels_.size(); i-- > 0;) {
    to = levels_[i].ndim() <= axis ? join_options(to, levels_[i]) : to;
  }
  return to;
}

ref<array_block> missing_rows::restored(ref<array_block> result, int axis) const {
  return ref<array_block>::share(restored(nd::array(std::move(result)), axis).get());
}

const nd::array *missing_rows::validity(int axis) const {
  for (const nd::array &valid : levels_) {
    if (valid.ndim() == axis) {
      return &valid;
    }
  }
  return nullptr;
}

void missing_rows::check_inside(const char *name, int axis) const {
  if (levels_.back().ndim() > axis) {
    fail(error_kind::type, std::string(name) + ": axis " + std::to_string(axis) +
                               " is outside of rows that may be missing, of " + type_ + "; " + missing_rows_hint);
  }
}

void missing_rows::drop(const char *name, int axis) {
  nd::array valid = levels_.back();
  if (valid.ndim() != axis + 1) {
    return;
  }
  for (nd::array &a : operands_) {
    if (a && a.ndim() > axis + 1 && begins_with(a, valid)) {
      a = filter_rows(name, a, valid, axis);
    }
  }
  levels_.pop_back();
}

namespace {

// The first true one of bools in rows, in C order, some of which may be missing.
bool find_true(const char *name, const cursor &at, std::vector<intptr_t> &index, interruptible_walk &walk) {
  walk.step(name);
  if (at.kind() == type_kind::option) {
    return at.is_there() && find_true(name, at.inside(), index, walk);
  }
  if (!at.is_dim()) {
    return *at.address();
  }
  dimension elements(at);
  stream_room room;
  for (int64_t i = 0; i < elements.size(); i++) {
    index.push_back(i);
    if (find_true(name, elements.enter(i, room), index, walk)) {
      return true;
    }
    index.pop_back();
  }
  return false;
}

} // namespace

void missing_rows::check_results(const char *name, const nd::array &result, int axis, const char *empty) const {
  int depth = result.ndim();
  nd::array whole = compact(result, depth - 1), valid = validity_of(list_at(whole, depth));
  nd::array inverted(apply(logic::inverted, {valid.get()}, unwatched));
  nd::array missing = restored(over_places(whole, depth, inverted), axis);
  std::vector<intptr_t> index;
  stream_room room;
  auto find = [&] {
    without_interpreter unlocked(has_many_places(*missing.get(), missing.ndim()));
    interruptible_walk walk;
    return find_true(name, cursor(*missing.get(), room), index, walk);
  };
  if (find()) {
    index.resize(std::min(index.size(), size_t(axis)));
    std::string where = index.empty() ? "the array" : row_text(index);
    fail_of_nothing(name, where + empty);
  }
}

} // namespace dynd
