#include "dynd/array/view.h"

#include <numeric>
#include <string>
#include <vector>

#include "dynd/array/view_parts.h"

namespace dynd::nd {

array transposed(const array &a, std::span<const int> axes) {
  materialize(a.get());
  if (a->type->var_count) {
    fail(error_kind::type, "transpose: a ragged array cannot be transposed: " + std::string(a.type().str()));
  }
  view_parts from(a), to(a);
  bool seen[max_ndim] = {};
  for (size_t d = 0; d < axes.size(); d++) {
    int axis = axes[d];
    if (axes.size() != size_t(from.ndim) || axis < 0 || axis >= from.ndim || seen[axis]) {
      fail(error_kind::value, "transpose: the axes are not a permutation of the dimensions");
    }
    seen[axis] = true;
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

array with_unit_axis(const array &a, int axis) {
  materialize(a.get());
  view_parts parts(a);
  parts.insert_axis(axis);
  return parts.build();
}

namespace {

// A field of the elements: its streams are the slots outside, those of options and pointers on the way, and its own; so
// are its dimensions.
struct field_parts {
  std::vector<int> streams, dims;
  std::vector<type_kind> around; // options and pointers, from the outside in
  ndt::type type;                // without what is around
};

field_parts find_field(const array &a, std::string_view name) {
  field_parts found;
  auto add = [](std::vector<int> &list, int first, int count) {
    list.resize(list.size() + size_t(count));
    std::iota(list.end() - count, list.end(), first);
  };
  add(found.streams, 0, a->type->var_count);
  add(found.dims, 0, a->ndim);
  type_part part = part_at(a->type, a->ndim);
  for (; part.type->kind == type_kind::option || part.type->kind == type_kind::pointer; part = part.element()) {
    found.around.push_back(part.type->kind);
    add(found.streams, part.stream, 1);
    add(found.dims, part.dim, part.restarts());
  }
  if (part.type->kind != type_kind::struct_) {
    fail(error_kind::type,
         "field: " + field_name_text(name) + " of " + std::string(a.type().str()) + ": the elements are not structs");
  }
  int i = 0;
  while (i < part.type->nfields && part.type->fields[i].name != name) {
    i++;
  }
  if (i == part.type->nfields) {
    fail(error_kind::index, "field: no field " + field_name_text(name) + " in " + std::string(a.type().str()));
  }
  part = part.field(i);
  add(found.streams, part.stream, part.type->nstreams);
  add(found.dims, part.dim, part.type->all_ndim);
  found.type = ndt::type(part.type);
  return found;
}

} // namespace

array field(const array &a, std::string_view name) {
  field_parts found = find_field(a, name);
  ndt::type type = found.type;
  for (size_t i = found.around.size(); i-- > 0;) {
    if (found.around[i] == type_kind::option && type->kind == type_kind::option) {
      fail(error_kind::type, "field: " + field_name_text(name) + " of " + std::string(a.type().str()) +
                                 " may be missing for two reasons; take the structs that are there first");
    }
    type = found.around[i] == type_kind::option ? ndt::make_option(type) : ndt::make_pointer(type);
  }
  type = ndt::with_dtype(a.type(), type);
  ref<array_block> block = new_block(type.get(), a->access, a->flags & flag_ours);
  for (size_t d = 0; d < found.dims.size(); d++) {
    block->size()[d] = a->size()[found.dims[d]];
  }
  for (size_t s = 0; s < found.streams.size(); s++) {
    block->streams()[s] = shared_stream(*a.get(), found.streams[s]);
    for (size_t d = 0; d < found.dims.size(); d++) {
      block->strides(int(s))[d] = a->strides(found.streams[s])[found.dims[d]];
    }
  }
  note_density(*block);
  return array(std::move(block));
}

} // namespace dynd::nd
