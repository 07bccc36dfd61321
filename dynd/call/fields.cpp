// Structs of arrays and arrays of structs: zip, unzip, fields that are added, dropped and renamed. Shapes: broadcast
// arrays, reshape, squeeze.
#include <algorithm>
#include <numeric>
#include <string>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/innermost_axis.h"
#include "dynd/call/records.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/space.h"

namespace dynd::nd {

namespace {

// The array in the shape of a space without rows.
array stretched(const array &a, const space &shape) {
  ndt::type type = a.type().dtype();
  for (int d = shape.ndim - 1; d >= 0; d--) {
    type = ndt::make_strided_dim(type);
  }
  array_block &from = *a.get();
  int added = shape.ndim - from.ndim;
  bool repeats = false; // an element that is at several places is not written
  for (int d = 0; d < shape.ndim; d++) {
    repeats |= shape.size[d] > 1 && (d < added || from.size()[d - added] != shape.size[d]);
  }
  access_mode access = repeats && from.access == access_mode::readwrite ? access_mode::readonly : from.access;
  ref<array_block> block = new_block(type.get(), access, from.flags & flag_ours);
  std::copy_n(shape.size, shape.ndim, block->size());
  std::copy(from.size() + from.ndim, from.size() + from.all_ndim, block->size() + shape.ndim);
  for (int s = 0; s < from.nstreams; s++) {
    block->streams()[s] = shared_stream(from, s);
    for (int d = 0; d < shape.ndim; d++) {
      bool own = d >= added && from.size()[d - added] == shape.size[d];
      block->strides(s)[d] = own ? from.strides(s)[d - added] : 0;
    }
    std::copy(from.strides(s) + from.ndim, from.strides(s) + from.all_ndim, block->strides(s) + shape.ndim);
  }
  note_density(*block);
  return array(std::move(block));
}

// The places of elements in the common shape, an array of int64: broadcast as numbers are.
array broadcast_places(const char *name, const array &whole, const space &shape) {
  array shaped = numbered(name, whole, whole.ndim());
  array places(new_result(shape, ndt::make_scalar(scalar_id::int64)));
  places->access = access_mode::readwrite;
  assign(places.get(), shaped.get());
  places->access = access_mode::immutable;
  return places;
}

// All arrays in their common shape, compact; where it has rows, with the rows of the first.
std::vector<array> in_common_shape(const char *name, std::span<const array> arrays) {
  space_operands operands;
  std::vector<array> evaluated;
  for (const array &a : arrays) {
    evaluated.push_back(one_size_outside(a.eval()));
    operands.push_back(evaluated.back().get());
  }
  space shape;
  broadcast_space(name, operands, shape);
  for (array &a : evaluated) {
    if (shape.nvar == 0 && a->slot_stream(a.ndim()) == 0) { // rows that meet one size become strided, as in a sum
      bool same = a.ndim() == shape.ndim && std::equal(shape.size, shape.size + shape.ndim, a->size());
      a = same ? a : stretched(a, shape);
      continue;
    }
    a = compact(a, a.ndim() - 1);
    if (has_rows_of(a, shape)) {
      continue;
    }
    array places = compact(broadcast_places(name, a, shape), shape.ndim - 1), start = list_of(places, shape.ndim - 1);
    a = assemble(places, shape.ndim, {}, gather(name, list_of(a, a.ndim() - 1), place_buffer(start)));
  }
  return evaluated;
}

} // namespace

std::vector<array> broadcast_arrays(std::span<const array> arrays, const char *name) {
  if (has_missing_rows(arrays)) {
    missing_rows rows(name, arrays);
    std::vector<array> found = broadcast_arrays(rows.operands(), name);
    for (array &one : found) {
      one = rows.restored(one);
    }
    return found;
  }
  return arrays.empty() ? std::vector<array>() : in_common_shape(name, arrays);
}

array zip(std::span<const std::string> names, std::span<const array> arrays) {
  if (arrays.empty()) {
    fail(error_kind::value, "zip: no array is given");
  }
  if (has_missing_rows(arrays)) {
    missing_rows rows("zip", arrays);
    return rows.restored(zip(names, rows.operands()));
  }
  std::vector<array> lists;
  array like;
  int last = 0;
  for (array &a : in_common_shape("zip", arrays)) {
    last = a.ndim() - 1;
    array whole = compact(a, last);
    like = like ? like : whole;
    lists.push_back(list_of(whole, last));
  }
  array list = zip_lists(names, lists);
  return last < 0 ? at(list, 0) : assemble(like, last + 1, {}, list);
}

namespace {

const type_data *record_of(const char *name, const array &a) {
  const type_data *record = without_options(elements_of_rows(a->type));
  if (record->nfields == 0) {
    fail(error_kind::type, std::string(name) + ": the elements have no fields: " + std::string(a.type().str()));
  }
  return record;
}

// Which of the names is this one; an index error where none is.
size_t place_of(const char *operation, std::span<const std::string> names, const std::string &name, const array &a) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    fail(error_kind::index,
         std::string(operation) + ": no field " + field_name_text(name) + " in " + std::string(a.type().str()));
  }
  return size_t(found - names.begin());
}

} // namespace

std::vector<array> unzip(const array &a) {
  std::vector<array> parts;
  for (int i = 0; i < record_of("unzip", a)->nfields; i++) {
    parts.push_back(field(a, i));
  }
  return parts;
}

namespace {

// The values for each of the elements, as a list: broadcast to the array's dimensions; dimensions that they have
// besides are inside of the field.
array field_list(const array &whole, const array &values) {
  int last = whole.ndim() - 1;
  array own = values;
  if (values.ndim() <= whole.ndim()) {
    const array both[] = {whole, values};
    own = in_common_shape("with_field", both)[1];
  }
  own = compact(own, std::min(last, own.ndim() - 1));
  if (!same_rows(*own.get(), *whole.get(), last + 1)) {
    fail(error_kind::broadcast, "with_field: values of " + std::string(values.type().str()) + " do not broadcast to " +
                                    std::string(whole.type().str()));
  }
  return list_of(own, last);
}

} // namespace

array with_field(const array &a, const std::string &name, const array &values) {
  const array both[] = {a, values};
  if (has_missing_rows(a->type)) {
    missing_rows rows("with_field", both);
    return rows.restored(with_field(rows.operand(0), name, rows.operand(1)));
  }
  const type_data *record = without_option(a->type->dtype);
  bool option = record != a->type->dtype;
  if (record->kind != type_kind::struct_) {
    fail(error_kind::type, "with_field: the elements are not structs: " + std::string(a.type().str()));
  }
  array whole = compact(a, a.ndim() - 1), list = list_of(whole, a.ndim() - 1);
  array structs = option ? inside_of_options(list) : list;
  std::vector<std::string> names = field_names(record);
  std::vector<array> lists;
  for (int i = 0; i < int(names.size()); i++) {
    lists.push_back(field(structs, i));
  }
  size_t at_name = size_t(std::find(names.begin(), names.end(), name) - names.begin());
  if (at_name == names.size()) {
    names.push_back(name);
    lists.emplace_back();
  }
  lists[at_name] = field_list(whole, values);
  array zipped = zip_lists(names, lists);
  zipped = option ? join_options(zipped, validity_of(list)) : zipped;
  return a.ndim() ? assemble(whole, a.ndim(), {}, zipped) : at(zipped, 0);
}

array without_field(const array &a, std::span<const std::string> names) {
  std::vector<std::string> left = field_names(record_of("without_field", a));
  for (const std::string &name : names) {
    left.erase(left.begin() + ptrdiff_t(place_of("without_field", left, name, a)));
  }
  if (names.empty()) {
    return a;
  }
  if (left.empty()) {
    fail(error_kind::value, "without_field: no field would be left");
  }
  return fields(a, left);
}

namespace {

ndt::type renamed(const type_data *type, std::span<const std::string> names) {
  if (type->kind == type_kind::option || type->kind == type_kind::pointer) {
    ndt::type inside = renamed(type->element, names);
    return type->kind == type_kind::option ? ndt::make_option(inside) : ndt::make_pointer(inside);
  }
  if (type->ndim > 0) { // rows that may be missing
    return ndt::make_dim(type->kind, type->size, renamed(type->element, names));
  }
  std::vector<ndt::type> types;
  for (int i = 0; i < type->nfields; i++) {
    types.push_back(ndt::type(type->fields[i].type));
  }
  return ndt::make_record(names, types);
}

} // namespace

array rename(const array &a, std::span<const std::string> from, std::span<const std::string> to) {
  std::vector<std::string> old = field_names(record_of("rename", a)), names = old;
  for (size_t i = 0; i < from.size(); i++) {
    names[place_of("rename", old, from[i], a)] = to[i];
  }
  materialize(a.get());
  ndt::type type = ndt::with_dtype(a.type(), renamed(a->type->dtype, names));
  array_block &own = *a.get();
  ref<array_block> block = new_block(type.get(), own.access, own.flags & flag_ours);
  std::copy_n(own.size(), own.all_ndim, block->size());
  std::copy_n(own.strides(0), own.nstreams * own.all_ndim, block->strides(0));
  for (int s = 0; s < own.nstreams; s++) {
    block->streams()[s] = shared_stream(own, s);
  }
  return array(std::move(block));
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

namespace {

std::string shape_text(std::span<const intptr_t> shape) {
  std::string text;
  for (size_t d = 0; d < shape.size(); d++) {
    text += (d ? ", " : "") + (shape[d] == ragged_size ? "None" : std::to_string(shape[d]));
  }
  return "(" + text + ")";
}

// Some axes of one size each, `count` elements together, in another shape, of which one size may be -1.
void add_sizes(std::span<const intptr_t> shape, intptr_t count, std::span<const intptr_t> whole,
               std::vector<new_dim> &dims) {
  intptr_t known = 1, unknown = 0;
  for (intptr_t size : shape) {
    unknown += size == -1;
    if (size < -1 || unknown > 1 || (size >= 0 && __builtin_mul_overflow(known, size, &known))) {
      fail(error_kind::value, "reshape: there is no shape " + shape_text(whole));
    }
  }
  if ((unknown == 0 ? known : known && count % known == 0 ? count : -1) != count) {
    fail(error_kind::value, "reshape: " + std::to_string(count) + " elements have no shape " + shape_text(whole));
  }
  for (intptr_t size : shape) {
    dims.push_back(size == -1 ? count / known : size);
  }
}

} // namespace

// Between ragged axes, which stay, the axes are one, and cut again.
array reshape(const array &a, std::span<const intptr_t> shape) {
  if (has_missing_rows(a->type)) {
    fail(error_kind::type, "reshape: rows may be missing, of " + std::string(a.type().str()) +
                               "; use fill_missing(a, []) or drop_missing(a) first");
  }
  array whole = one_size_outside(a);
  if (std::count(shape.begin(), shape.end(), ragged_size) != whole->type->var_count) {
    fail(error_kind::type, "reshape: " + std::to_string(whole->type->var_count) +
                               " ragged axes stay, and are None in the shape, not " + shape_text(shape) +
                               "; nd.flatten and nd.unflatten join and split them: " + std::string(a.type().str()));
  }
  whole = compact(whole, whole.ndim() - 1);
  std::vector<new_dim> dims;
  int axis = 0;
  for (size_t begin = 0; begin <= shape.size(); begin++, axis++) {
    auto end = size_t(std::find(shape.begin() + ptrdiff_t(begin), shape.end(), ragged_size) - shape.begin());
    intptr_t count = 1;
    for (; axis < whole.ndim() && !whole->is_var(axis); axis++) {
      count *= whole.size(axis);
    }
    add_sizes(shape.subspan(begin, end - begin), count, shape, dims);
    if (end < shape.size()) {
      dims.push_back(rows_at(whole, axis));
    }
    begin = end;
  }
  check_ndim("reshape", int(dims.size()));
  array list = list_of(whole, whole.ndim() - 1);
  return dims.empty() ? at(list, 0) : assemble({}, 0, dims, list);
}

array permute_dims(const array &a, std::span<const int> axes) {
  array moved = one_size_outside(a);
  std::vector<int> order, own(size_t(a.ndim()));
  std::iota(own.begin(), own.end(), 0);
  for (int axis : axes) {
    order.push_back(checked_axis("permute_dims", a, axis));
  }
  if (!std::is_permutation(order.begin(), order.end(), own.begin(), own.end())) {
    fail(error_kind::value,
         "permute_dims: the axes are not a permutation of the " + std::to_string(a.ndim()) + " dimension(s)");
  }
  if (can_transpose(moved, order)) {
    return transposed(moved, order);
  }
  if (list_of(compact(moved, moved.ndim() - 1), moved.ndim() - 1).size(0) == 0) {
    fail(error_kind::value, "permute_dims: rows without elements cannot be moved: " + std::string(a.type().str()));
  }
  std::vector<int> now(order.size()); // which axis each one is
  std::iota(now.begin(), now.end(), 0);
  size_t same = 0;
  while (now[same] == order[same]) {
    same++;
  }
  for (size_t k = same; k < order.size(); k++) { // one after another to the end
    auto at = std::find(now.begin(), now.end(), order[k]);
    moved = innermost_axis("permute_dims", moved, int(at - now.begin())).moved;
    std::rotate(at, at + 1, now.end());
  }
  return moved;
}

array squeeze(const array &a, std::optional<std::span<const int>> axes) {
  array whole = one_size_outside(a);
  std::vector<index> indices(size_t(a.ndim()), index{index::slice, 0, {}, {}, {}});
  for (int d = 0; d < a.ndim(); d++) {
    if (!axes && whole.size(d) == 1) {
      indices[size_t(d)] = {index::integer, 0, {}, {}, {}};
    }
  }
  for (int axis : checked_axes("squeeze", axes.value_or(std::span<const int>()), rows_ndim(a->type))) {
    int d = checked_axis("squeeze", a, axis);
    if (whole.size(d) != 1) {
      fail(error_kind::value, "squeeze: axis " + std::to_string(d) + " has not size 1");
    }
    indices[size_t(d)] = {index::integer, 0, {}, {}, {}};
  }
  return at(whole, indices);
}

array expand_dims(const array &a, int axis) {
  int own = dynd::checked_axis("expand_dims", axis, rows_ndim(a->type) + 1);
  if (own <= a.ndim()) {
    return with_unit_axis(a, own);
  }
  missing_rows rows("expand_dims", a, own - 1);
  return rows.restored(with_unit_axis(rows.operand(), own));
}

} // namespace dynd::nd
