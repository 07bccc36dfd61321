#include "dynd/eval/nested.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <string>

#include "dynd/array/view_parts.h"
#include "dynd/base/errors.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/select.h"
#include "dynd/eval/space.h"
#include "dynd/kernel/chain.h"

namespace dynd {

place_buffer::place_buffer(intptr_t count) : count_(count) {
  ref<buffer> memory = allocate_buffer(size_t(checked_count(&count, 1, sizeof(int64_t))) * sizeof(int64_t));
  data_ = reinterpret_cast<const int64_t *>(memory->data);
  owner_ = ref<counted>::adopt(memory.take());
}

place_buffer::place_buffer(const nd::array &list)
    : owner_(ref<counted>::share(list.get())), data_(list.data<int64_t>()), count_(list->count) {}

place_buffer place_buffer::counting(intptr_t count) {
  place_buffer places(count);
  int64_t *to = places.fill();
  in_pieces("places", count, [&](intptr_t begin, intptr_t end) { std::iota(to + begin, to + end, int64_t(begin)); });
  return places;
}

new_offsets::new_offsets(intptr_t rows) {
  place_buffer memory(rows + 1);
  at = memory.data();
  count = rows;
  owner = memory.owner();
}

intptr_t first_other_row(const char *name, const row_offsets &a, const row_offsets &b) {
  std::atomic<intptr_t> first = a.count;
  if (a.at == b.at) {
    return -1;
  }
  in_pieces(name, a.count, [&](intptr_t begin, intptr_t end) {
    if (std::equal(a.at + begin, a.at + end + 1, b.at + begin)) { // no branch for each row
      return;
    }
    intptr_t r = begin, known = first;
    while (r < end && a.length(r) == b.length(r)) {
      r++;
    }
    while (r < end && r < known && !first.compare_exchange_weak(known, r)) {
    }
  });
  return first == a.count ? -1 : intptr_t(first);
}

int rows_ndim(const type_data *type) {
  int ndim = type->ndim;
  for (; has_missing_rows(type); ndim += type->ndim) {
    type = type->dtype->element;
  }
  return ndim;
}

int checked_axis(const char *name, const nd::array &a, int axis) {
  int along = checked_axis(name, axis, rows_ndim(a->type));
  if (along >= a.ndim()) {
    fail(error_kind::type, std::string(name) + ": axis " + std::to_string(along) +
                               " is inside of rows that may be missing, of " + a->type->text + "; " +
                               missing_rows_hint);
  }
  return along;
}

int common_axis(const char *name, std::span<const nd::array> arrays, int axis) {
  int along = checked_axis(name, axis, rows_ndim(arrays[0]->type));
  for (const nd::array &other : arrays.subspan(1)) {
    if (int own = checked_axis(name, axis, rows_ndim(other->type)); own != along) {
      fail(error_kind::value, std::string(name) + ": axis " + std::to_string(axis) + " is axis " +
                                  std::to_string(along) + " of one array and axis " + std::to_string(own) +
                                  " of another");
    }
  }
  return along;
}

std::vector<int> checked_axes(const char *name, std::span<const int> axes, int ndim) {
  std::vector<int> found;
  for (int axis : axes) {
    int own = checked_axis(name, axis, ndim);
    if (std::find(found.begin(), found.end(), own) != found.end()) {
      fail(error_kind::value, std::string(name) + ": axis " + std::to_string(own) + " is given twice");
    }
    found.push_back(own);
  }
  return found;
}

void check_outside(const char *name, std::span<const nd::array> arrays, int axis) {
  const nd::array &first = arrays[0];
  for (const nd::array &other : arrays.subspan(1)) {
    for (int d = 0; d < axis; d++) {
      if (!first->is_var(d) && !other->is_var(d)) {
        check_size(name, first, other, d);
        continue;
      }
      row_offsets own = rows_at(first, d), rows = rows_at(other, d);
      if (intptr_t r = first_other_row(name, own, rows); r >= 0) {
        fail(error_kind::value, std::string(name) + ": " + row_name(first, d, r) + " has " +
                                    std::to_string(own.length(r)) + " and " + std::to_string(rows.length(r)) +
                                    " elements");
      }
    }
  }
}

void check_size(const char *name, const nd::array &a, const nd::array &b, int axis) {
  if (a.size(axis) != b.size(axis)) {
    fail(error_kind::value, std::string(name) + ": sizes differ at axis " + std::to_string(axis) + ": " +
                                std::to_string(a.size(axis)) + " and " + std::to_string(b.size(axis)));
  }
}

namespace {

// The innermost `var` axis of those up to `axis`; -1: there is none.
int last_var(const array_block &block, int axis) {
  while (axis >= 0 && !block.is_var(axis)) {
    axis--;
  }
  return axis;
}

// The stride of a stream from one element of the axis to the next, over all axes from `first` on; false where they do
// not follow each other.
//   sizes (4, 3), strides (24, 8): 8
bool find_stride(const array_block &block, int s, int first, int axis, intptr_t &stride) {
  bool found = false;
  intptr_t chained = 0;
  for (int d = axis; d >= first; d--) {
    if (block.size()[d] == 1) {
      continue;
    }
    intptr_t own = block.strides(s)[d];
    if (found && own != chained) {
      return false;
    }
    stride = found ? stride : own;
    found = true;
    chained = intptr_t(size_t(own) * size_t(block.size()[d])); // of rows: not used
  }
  stride = found ? stride : block.strides(s)[axis];
  return true;
}

struct flat_axes {
  bool follow = true; ///< the elements of the axis follow each other
  int first;          ///< the axes from here on are one: the last `var` axis, or the first of all
  offsets_run run;    ///< of the `var` axis
};

flat_axes axes_down_to(const array_block &block, int axis) {
  int var = last_var(block, axis);
  flat_axes flat;
  flat.first = std::max(var, 0);
  int s = block.slot_stream(axis + 1);
  if (var >= 0) {
    flat.run = rows_of(block, s - 1);
    flat.follow = bool(flat.run) && block.streams()[s - 1].step == 1;
    flat.follow = flat.follow && (var == 0 || axes_down_to(block, var - 1).follow);
  }
  for (intptr_t stride; s < block.nstreams && flat.follow; s++) {
    flat.follow = find_stride(block, s, flat.first, axis, stride);
  }
  return flat;
}

} // namespace

bool is_compact(const nd::array &a, int axis) { return axis < 0 || axes_down_to(*a.get(), axis).follow; }

nd::array one_size_outside(const nd::array &a) {
  if (a.ndim() == 0 || !a->is_var(0)) {
    return a;
  }
  nd::view_parts parts(a.eval());
  parts.resolve_row();
  return parts.build();
}

nd::array compact(const nd::array &a, int axis) {
  a.eval();
  nd::array whole = one_size_outside(a);
  return is_compact(whole, axis) ? whole : compact_copy(whole);
}

nd::array compact_copy(const nd::array &a) {
  element_kind kind;
  return find_element_kind(a->type->dtype, kind) ? nd::array(copy_values(a.get(), access_mode::immutable))
                                                 : gather_whole(a);
}

bool has_rows_of(const nd::array &a, const space &shape) {
  bool same = a.ndim() >= shape.ndim && std::equal(shape.size, shape.size + shape.ndim, a->size());
  for (int d = 0; d < shape.ndim && same; d++) {
    if (shape.is_var(d)) {
      nd::array rows = rows_of(*a.get(), a->slot_stream(d)) ? a : compact(a, d); // then one size is outside
      const space_slots &slots = shape.slots[size_t(shape.slot_index[d])];
      int s = rows->slot_stream(d);
      same = rows->is_var(d)
                 ? same_row_lengths(slots.run, slots.owner.get(), rows_of(*rows.get(), s), rows->streams()[s].owner)
                 : slots.run.content() == rows.size(d);
    }
  }
  return same;
}

nd::array list_of(const nd::array &a, int axis) {
  if (axis < 0) {
    return nd::with_unit_axis(a, 0);
  }
  array_block &from = *a.get();
  flat_axes flat = axes_down_to(from, axis);
  intptr_t count = flat.run ? flat.run.content() : 1;
  for (int d = flat.first; d <= axis; d++) {
    count *= from.is_var(d) ? 1 : from.size()[d];
  }
  ndt::type type = ndt::make_strided_dim(a.type().at_depth(axis + 1));
  ref<array_block> list = new_block(type.get(), from.access, from.flags & flag_ours);
  list->size()[0] = count;
  std::copy(from.size() + axis + 1, from.size() + from.all_ndim, list->size() + 1);
  int outside = from.slot_stream(axis + 1);
  for (int s = 0; s < list->nstreams; s++) {
    stream &own = list->streams()[s] = shared_stream(from, outside + s);
    const intptr_t *strides = from.strides(outside + s);
    own.address += flat.run ? flat.run.first() * strides[flat.first] : 0;
    find_stride(from, outside + s, flat.first, axis, list->strides(s)[0]);
    std::copy(strides + axis + 1, strides + from.all_ndim, list->strides(s) + 1);
  }
  note_density(*list);
  return nd::array(std::move(list));
}

nd::array list_of_places(const place_buffer &places) {
  ndt::type type = ndt::make_strided_dim(ndt::make_scalar(scalar_id::int64));
  ref<array_block> block = new_block(type.get(), access_mode::immutable, flag_ours);
  block->size()[0] = places.size();
  block->value_strides()[0] = sizeof(int64_t);
  char *address = reinterpret_cast<char *>(const_cast<int64_t *>(places.data()));
  block->values() = {address, ref<counted>(places.owner()).take(), slot_kind::none};
  note_density(*block);
  return nd::array(std::move(block));
}

nd::array list_of_numbers(intptr_t count) {
  ref<array_block> list = new_block(ndt::make_strided_dim(ndt::make_scalar(scalar_id::int64)).get(),
                                    access_mode::immutable, flag_ours | flag_numbers);
  list->size()[0] = list->count = count;
  list->strides(0)[0] = 1;
  list->streams()[0] = {number_origin, nullptr, slot_kind::none};
  return nd::array(std::move(list));
}

nd::array inside_of_options(const nd::array &list) {
  type_part option = type_part{list->type}.element();
  ndt::type type = ndt::make_strided_dim(ndt::type(option.type->element));
  ref<array_block> block = new_block(type.get(), list->access, list->flags & flag_ours);
  std::copy_n(list->size(), list->all_ndim, block->size());
  for (int s = 0; s < block->nstreams; s++) {
    block->streams()[s] = shared_stream(*list.get(), s + 1);
    std::copy_n(list->strides(s + 1), list->all_ndim, block->strides(s));
  }
  note_density(*block);
  return nd::array(std::move(block));
}

nd::array validity_of(const nd::array &list) {
  ref<array_block> block =
      new_block(ndt::make_strided_dim(ndt::make_scalar(scalar_id::bool_)).get(), list->access, list->flags & flag_ours);
  block->size()[0] = list.size(0);
  block->streams()[0] = shared_stream(*list.get(), 0);
  block->strides(0)[0] = list->strides(0)[0];
  note_density(*block);
  return nd::array(std::move(block));
}

presence presence_of(const nd::array &list) {
  return list->type->element->kind == type_kind::option ? presence{list->streams()[0].address, list->strides(0)[0]}
                                                        : presence{};
}

namespace {

bool is_unshared(const nd::array &list) { return list->access == access_mode::immutable && (list->flags & flag_ours); }

} // namespace

nd::array unshared(const nd::array &list) { return is_unshared(list) ? list : gather_whole(list); }

nd::array native_list(const nd::array &list, scalar_id type, bool kept) {
  materialize(list.get());
  ndt::type element = ndt::make_scalar(type);
  bool stays = !kept || is_unshared(list);
  return stays && list->type->element == element.get() && list->value_strides()[0] == intptr_t(list->item_size())
             ? list
             : nd::array(copy_values(list.get(), access_mode::immutable, element, error_mode::nocheck));
}

nd::array new_list(ndt::type element, intptr_t count) {
  if (element->kind == type_kind::scalar) {
    return nd::array(new_dense(ndt::make_strided_dim(element).get(), &count));
  }
  space shape;
  shape.ndim = 1;
  shape.size[0] = count;
  return nd::array(new_result(shape, element));
}

nd::array rows_over(const nd::array &list, ref<buffer> slots, intptr_t count) {
  ndt::type type = ndt::make_strided_dim(ndt::make_var_dim(list.type().element()));
  ref<array_block> rows = new_block(type.get(), list->access, 0);
  rows->size()[0] = count;
  rows->size()[1] = -1;
  std::copy(list->size() + 1, list->size() + list->all_ndim, rows->size() + 2);
  std::fill_n(rows->strides(0), rows->all_ndim, 0);
  rows->strides(0)[0] = sizeof(row_extent);
  char *address = slots->data;
  rows->streams()[0] = {address, slots.take(), slot_kind::pairs64};
  for (int s = 0; s < list->nstreams; s++) {
    rows->streams()[s + 1] = shared_stream(*list.get(), s);
    rows->strides(s + 1)[0] = 0;
    std::copy_n(list->strides(s), list->all_ndim, rows->strides(s + 1) + 1);
  }
  return nd::array(std::move(rows));
}

bool list_of_content(const nd::array &a, int axis, nd::array &list, place_buffer &places) {
  array_block &from = *a.get();
  int var = last_var(from, axis), s = from.slot_stream(axis + 1);
  if (var < 0) {
    return false;
  }
  intptr_t inside = 1;
  for (int d = var + 1; d <= axis; d++) {
    inside = checked_product("assign", inside, from.size()[d]);
  }
  ref<array_block> content = new_block(ndt::make_strided_dim(a.type().at_depth(axis + 1)).get(), from.access, 0);
  std::copy(from.size() + axis + 1, from.size() + from.all_ndim, content->size() + 1);
  int32_t step = from.streams()[s - 1].step;
  for (int c = 0; c < content->nstreams; c++) {
    intptr_t unit = start_unit(from.strides(s + c)[var], step), stride = unit;
    if (inside != 1 && (!find_stride(from, s + c, var + 1, axis, stride) || stride * inside != unit)) {
      return false;
    }
    content->streams()[c] = shared_stream(from, s + c);
    content->strides(c)[0] = stride;
    std::copy(from.strides(s + c) + axis + 1, from.strides(s + c) + from.all_ndim, content->strides(c) + 1);
  }
  stream_room room;
  cursor rows = cursor::over_rows(from, room);
  intptr_t count = 0; // of the axis: an axis inside of it may have size 0
  without_interpreter unlocked(has_many_places(from, var));
  interruptible_walk walk;
  for_each_place(rows, var, [&](const cursor &place, const intptr_t *) {
    walk.step("assign");
    count = checked_sum("assign", count, checked_product("assign", place.row().size, inside));
  });
  places = place_buffer(count);
  int64_t *next = places.fill(), *last = next + count, end = 0;
  for_each_place(rows, var, [&](const cursor &place, const intptr_t *) {
    row_extent row = place.row();
    if (inside && row.size > (last - next) / inside) {
      fail(error_kind::value, "assign: another thread changed the rows meanwhile");
    }
    for (int64_t i = 0; i < row.size * inside; i++, next++) {
      walk.step("assign");
      *next = (row.start + i / inside * step) * inside + i % inside;
      end = std::max(end, *next + 1);
    }
    walk.step("assign");
  });
  pin(from.streams()[s - 1].owner);
  content->size()[0] = end;
  list = nd::array(std::move(content));
  return true;
}

row_offsets rows_at(const nd::array &a, int axis) {
  array_block &from = *a.get();
  if (!from.is_var(axis)) {
    intptr_t size = from.size()[axis];
    new_offsets regular(axis == 0 ? 1 : list_of(a, axis - 1).size(0));
    int64_t *to = regular.fill();
    in_pieces("rows", regular.count + 1, [&](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        to[r] = r * size;
      }
    });
    return regular;
  }
  int s = from.slot_stream(axis);
  offsets_run run = rows_of(from, s);
  if (run.kind == slot_kind::offsets64 && run.first() == 0) { // offsets are not written any more
    stream slots = shared_stream(from, s);
    row_offsets shared;
    shared.owner = ref<counted>::adopt(slots.owner);
    shared.at = reinterpret_cast<const int64_t *>(run.address);
    shared.count = run.rows;
    return shared;
  }
  new_offsets own(run.rows);
  int64_t *to = own.fill(), first = run.first();
  in_pieces("rows", run.rows + 1, [&](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      to[r] = run[r] - first;
    }
  });
  return own;
}

namespace {

struct outer_dims {
  int count = 0;
  intptr_t size[max_ndim];
  const type_data *fixed[max_ndim]; ///< where the size belongs to the type
  row_offsets rows[max_ndim];

  void add(intptr_t n, const type_data *type, row_offsets r) {
    check_ndim("array", count + 1);
    size[count] = n;
    fixed[count] = type && type->kind == type_kind::fixed_dim ? type : nullptr;
    rows[count++] = std::move(r);
  }
};

} // namespace

nd::array assemble(const nd::array &like, int keep, std::span<const new_dim> dims, const nd::array &list) {
  outer_dims outer;
  const type_data *own = keep ? like->type : nullptr;
  for (int d = 0; d < keep; d++, own = own->element) {
    outer.add(like.size(d), own, like->is_var(d) ? rows_at(like, d) : row_offsets());
  }
  for (const new_dim &dim : dims) {
    outer.add(dim.size, nullptr, dim.rows);
  }
  ndt::type type = list.type().element();
  for (int d = outer.count - 1; d >= 0; d--) {
    type = outer.size[d] < 0 ? ndt::make_var_dim(type)
           : outer.fixed[d]  ? ndt::make_fixed_dim(outer.size[d], type)
                             : ndt::make_strided_dim(type);
  }
  ref<array_block> block = new_block(type.get(), list->access, list->flags & (flag_ours | flag_numbers));
  std::copy_n(outer.size, outer.count, block->size());
  std::copy(list->size() + 1, list->size() + list->all_ndim, block->size() + outer.count);
  int slots = 0;
  for (int d = 0; d < outer.count; d++) {
    if (outer.size[d] < 0) {
      std::fill_n(block->strides(slots), block->all_ndim, 0);
      set_item_strides(block->strides(slots), outer.size, d - 1, sizeof(int64_t));
      char *address = reinterpret_cast<char *>(const_cast<int64_t *>(outer.rows[d].at));
      block->streams()[slots++] = {address, outer.rows[d].owner.take(), slot_kind::offsets64};
    }
  }
  for (int s = 0; s < list->nstreams; s++) {
    block->streams()[slots + s] = shared_stream(*list.get(), s);
    set_item_strides(block->strides(slots + s), outer.size, outer.count - 1, list->strides(s)[0]);
    std::copy_n(list->strides(s) + 1, list->all_ndim - 1, block->strides(slots + s) + outer.count);
  }
  note_density(*block);
  return nd::array(std::move(block));
}

nd::array lengths_at(const char *name, const nd::array &a, int axis) {
  row_offsets rows = rows_at(a, axis);
  nd::array lengths = new_list<int64_t>(rows.count);
  int64_t *to = values_of<int64_t>(lengths);
  in_pieces(name, rows.count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      to[r] = rows.length(r);
    }
  });
  return assemble(a, axis, {}, lengths);
}

nd::array numbered(const char *name, const nd::array &a, int depth, int64_t first) {
  nd::array numbers = new_list<int64_t>(list_of(a, depth - 1).size(0));
  in_pieces(name, numbers.size(0), [first, to = values_of<int64_t>(numbers)](intptr_t begin, intptr_t end) {
    std::iota(to + begin, to + end, first + begin);
  });
  return assemble(a, depth, {}, numbers);
}

} // namespace dynd
