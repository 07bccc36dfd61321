#include "dynd/array/view.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "dynd/array/view_parts.h"

namespace dynd {

int checked_axis(const char *operation, int axis, int ndim) {
  if (axis < -ndim || axis >= ndim) {
    fail(error_kind::index, std::string(operation) + ": axis " + std::to_string(axis) + " is out of bounds for " +
                                std::to_string(ndim) + " dimension(s)");
  }
  return axis < 0 ? axis + ndim : axis;
}

namespace nd {

// Rows stay where they are, and with the same axes outside of them: each axis is between the same rows as before.
bool can_transpose(const array &a, std::span<const int> axes) {
  const array_block &block = *a.get();
  auto rows_outside = [&](int axis) { return block.slot_stream(axis + 1); };
  bool keep = int(axes.size()) == block.ndim;
  for (int d = 0; d < block.ndim && keep; d++) {
    bool inside = axes[size_t(d)] >= 0 && axes[size_t(d)] < block.ndim;
    keep = inside && rows_outside(d) == rows_outside(axes[size_t(d)]) && (axes[size_t(d)] == d || !block.is_var(d));
  }
  return keep;
}

array transposed(const array &a, std::span<const int> axes) {
  materialize(a.get());
  if (a->type->var_count && !can_transpose(a, axes)) {
    fail(error_kind::type, "transpose: a ragged array cannot be transposed: " + std::string(a.type().str()));
  }
  view_parts from(a), to(a);
  bool seen[max_ndim] = {}, permutes = axes.size() == size_t(from.ndim);
  for (size_t d = 0; d < axes.size() && permutes; d++) {
    permutes = axes[d] >= 0 && axes[d] < from.ndim && !std::exchange(seen[axes[d]], true);
  }
  if (!permutes) {
    fail(error_kind::value, "transpose: the axes are not a permutation of the dimensions");
  }
  for (size_t d = 0; d < axes.size(); d++) {
    int axis = axes[d];
    to.size[d] = from.size[axis];
    if (from.kind[axis] != to.kind[d] || from.kind[axis] == type_kind::fixed_dim) {
      to.set_kind(int(d), from.kind[axis]);
    }
    for (int s = 0; s < from.nstreams; s++) {
      to.stride(s)[d] = from.stride(s)[axis];
    }
  }
  return to.build();
}

array transposed(const array &a) {
  int axes[max_ndim];
  for (int d = 0; d < a.ndim(); d++) {
    axes[d] = a.ndim() - 1 - d;
  }
  return transposed(a, {axes, size_t(a.ndim())});
}

namespace {

std::span<const int> order_with_moved(int (&axes)[max_ndim], int ndim, int from, int to) {
  std::iota(axes, axes + ndim, 0);
  if (from < to) {
    std::rotate(axes + from, axes + from + 1, axes + to + 1);
  } else {
    std::rotate(axes + to, axes + from, axes + from + 1);
  }
  return {axes, size_t(ndim)};
}

} // namespace

bool can_move_axis(const array &a, int from, int to) {
  int axes[max_ndim];
  return can_transpose(a, order_with_moved(axes, a.ndim(), from, to));
}

array with_axis_moved(const array &a, int from, int to) {
  int axes[max_ndim];
  return transposed(a, order_with_moved(axes, a.ndim(), from, to));
}

array with_unit_axis(const array &a, int axis) {
  materialize(a.get());
  view_parts parts(a);
  parts.insert_axis(axis);
  return parts.build();
}

namespace {

// Parts of the elements as elements: their streams are the slots outside, those of options and pointers on the way (of
// rows that may be missing too), and their own; so are their dimensions.
struct element_parts {
  const array &from;
  std::vector<int> streams, dims;
  std::vector<const type_data *> around; // options, pointers and dimensions, from the outside in
  type_part inside;                      // of these

  explicit element_parts(const array &a) : from(a), inside(part_at(a->type, a->ndim)) {
    materialize(a.get());
    add(streams, 0, a->type->var_count);
    add(dims, 0, a->ndim);
    for (; inside.type->kind == type_kind::option || inside.type->kind == type_kind::pointer || inside.is_dim();
         inside = inside.element()) {
      around.push_back(inside.type);
      add(streams, inside.stream, inside.has_stream());
      add(dims, inside.dim, inside.restarts() || inside.is_dim());
    }
  }

  const type_field &take(std::string_view name) {
    std::string text = field_name_text(name), type(from.type().str());
    if (inside.type->kind != type_kind::struct_) {
      fail(error_kind::type, "field: " + text + " of " + type + ": the elements are not structs");
    }
    for (int i = 0; i < inside.type->nfields; i++) {
      if (inside.type->fields[i].name == name) {
        return take(i);
      }
    }
    fail(error_kind::index, "field: no field " + text + " in " + type);
  }

  const type_field &take(int i) {
    type_part part = inside.field(i);
    add(streams, part.stream, part.type->nstreams);
    add(dims, part.dim, part.type->all_ndim);
    return inside.type->fields[i];
  }

  // A view of what was taken, which is of that type.
  array view(ndt::type type) {
    for (size_t i = around.size(); i-- > 0;) {
      type = around[i]->kind == type_kind::option    ? ndt::make_option(type)
             : around[i]->kind == type_kind::pointer ? ndt::make_pointer(type)
                                                     : ndt::make_dim(around[i]->kind, around[i]->size, type);
    }
    type = ndt::with_dtype(from.type(), type);
    ref<array_block> block = new_block(type.get(), from->access, from->flags & flag_ours);
    for (size_t d = 0; d < dims.size(); d++) {
      block->size()[d] = from->size()[dims[d]];
    }
    for (size_t s = 0; s < streams.size(); s++) {
      block->streams()[s] = shared_stream(*from.get(), streams[s]);
      for (size_t d = 0; d < dims.size(); d++) {
        block->strides(int(s))[d] = from->strides(streams[s])[dims[d]];
      }
    }
    note_density(*block);
    return array(std::move(block));
  }

private:
  static void add(std::vector<int> &list, int first, int count) {
    list.resize(list.size() + size_t(count));
    std::iota(list.end() - count, list.end(), first);
  }
};

array field_of(element_parts &parts, const type_field &taken) {
  bool option = false; // of the structs, not of rows of them
  for (const type_data *type : parts.around) {
    option = type->kind == type_kind::option || (option && type->kind == type_kind::pointer);
  }
  if (option && taken.type->kind == type_kind::option) {
    return field_of_options(parts.from, int(&taken - parts.inside.type->fields));
  }
  return parts.view(ndt::type(taken.type));
}

// A field of what is lazy is computed without the others.
array lazy_field(const array &a, int i) { return a->is_ready() ? array() : array(field_of_lazy(a.get(), i)); }

} // namespace

array (*field_of_options)(const array &a, int i) = nullptr;

array field(const array &a, std::string_view name) {
  const type_data *structs = a->type->dtype;
  for (int i = 0; i < structs->nfields && structs->kind == type_kind::struct_; i++) {
    if (structs->fields[i].name == name) {
      if (array found = lazy_field(a, i)) {
        return found;
      }
    }
  }
  element_parts parts(a);
  const type_field &taken = parts.take(name);
  return field_of(parts, taken);
}

array field(const array &a, int i) {
  if (i >= 0 && i < a->type->dtype->nfields) {
    if (array found = lazy_field(a, i)) {
      return found;
    }
  }
  element_parts parts(a);
  if (i < 0 || i >= parts.inside.type->nfields) {
    fail(error_kind::index, "field: no field number " + std::to_string(i) + " in " + std::string(a.type().str()));
  }
  const type_field &taken = parts.take(i);
  return field_of(parts, taken);
}

array byte_rows(const array &a) {
  array_block &from = *a.get();
  materialize(&from);
  ndt::type byte = ndt::make_scalar(scalar_id::uint8);
  int last = from.ndim;
  if (last == 0) { // a row by itself is strided
    row_extent row = read_slot(from.streams()[0].address, from.streams()[0].kind);
    ref<array_block> one = new_block(ndt::make_strided_dim(byte).get(), from.access, from.flags & flag_ours);
    one->size()[0] = row.size;
    one->strides(0)[0] = 1;
    one->streams()[0] = shared_stream(from, 1);
    one->streams()[0].address += row.size ? row.start : 0;
    note_density(*one);
    return array(std::move(one));
  }
  ndt::type type = ndt::with_dtype(a.type(), ndt::make_var_dim(byte));
  ref<array_block> block = new_block(type.get(), from.access, from.flags & flag_ours);
  std::copy_n(from.size(), last, block->size());
  block->size()[last] = -1;
  for (int s = 0; s < from.nstreams; s++) { // slots of outer rows, slots of the elements, bytes
    block->streams()[s] = shared_stream(from, s);
    std::copy_n(from.strides(s), last, block->strides(s));
    block->strides(s)[last] = s == from.nstreams - 1;
  }
  return array(std::move(block));
}

array fields(const array &a, std::span<const std::string> names) {
  element_parts parts(a);
  std::vector<ndt::type> types;
  for (const std::string &name : names) {
    types.push_back(ndt::type(parts.take(name).type));
  }
  return parts.view(ndt::make_struct(names, types));
}

} // namespace nd

} // namespace dynd
