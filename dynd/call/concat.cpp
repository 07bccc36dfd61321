// Arrays behind each other and side by side.
#include <algorithm>
#include <string>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/structure.h"
#include "dynd/call/written.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/select.h"
#include "dynd/eval/work.h"
#include "dynd/type/common.h"

namespace dynd::nd {

namespace {

constexpr uint64_t array_steps = 32; // what is done for an array takes as long as so many elements

// All with one element type.
std::vector<array> with_one_type(const char *name, std::span<const array> arrays) {
  if (arrays.empty()) {
    fail(error_kind::value, std::string(name) + ": no array is given");
  }
  const type_data *element = arrays[0]->type->dtype;
  for (const array &a : arrays) {
    const type_data *both = common_element(element, a->type->dtype);
    if (!both || a.ndim() != arrays[0].ndim()) {
      fail(error_kind::type, std::string(name) + ": arrays of " + std::string(arrays[0].type().str()) + " and of " +
                                 std::string(a.type().str()) + " cannot be joined");
    }
    element = both;
  }
  std::vector<array> converted;
  for (const array &a : arrays) {
    array one = one_size_outside(a);
    converted.push_back(
        one->type->dtype == element ? one : array(copy_values(one.get(), access_mode::immutable, ndt::type(element))));
  }
  return converted;
}

// Dimensions inside of the axis are `var` where they are in some of the arrays, else strided with equal sizes.
void make_inside_alike(const char *name, std::vector<array> &arrays, int axis) {
  ndt::type type = arrays[0].type().dtype();
  for (int d = arrays[0].ndim() - 1; d > axis; d--) {
    bool var = false;
    for (const array &a : arrays) {
      var |= a->is_var(d);
    }
    if (!var) {
      for (const array &a : arrays) {
        check_size(name, arrays[0], a, d);
      }
    }
    type = var ? ndt::make_var_dim(type) : ndt::make_strided_dim(type);
  }
  interruptible_walk walk;
  for (array &a : arrays) {
    walk.step(name, array_steps);
    ndt::type whole = type;
    for (int d = axis; d >= 0; d--) {
      whole = a->is_var(d) ? ndt::make_var_dim(whole) : ndt::make_strided_dim(whole);
    }
    if (a.type().at_depth(axis + 1) != type) {
      a = array(convert_values(a.get(), access_mode::immutable, whole));
    }
  }
}

// Row r of the result is row r of every array, one after another.
array join_rows(const char *name, const std::vector<array> &arrays, int axis, bool var) {
  intptr_t n = intptr_t(arrays.size()), count = 0, size = 0;
  std::vector<row_offsets> rows;
  std::vector<array> lists;
  interruptible_walk walk;
  for (const array &a : arrays) {
    walk.step(name, array_steps);
    rows.push_back(rows_at(a, axis));
    lists.push_back(list_of(a, axis));
    count = rows.back().count;
    size = var ? 0 : checked_sum(name, size, a.size(axis));
  }
  place_buffer start(count * n), which((count * n + 1) / 2);
  auto *source = reinterpret_cast<int32_t *>(which.fill());
  new_offsets runs(count * n);
  in_pieces(
      name, count,
      [&](intptr_t begin, intptr_t end) {
        for (intptr_t r = begin; r < end; r++) {
          for (intptr_t k = 0; k < n; k++) {
            start.fill()[r * n + k] = rows[size_t(k)].at[r];
            source[r * n + k] = int32_t(k);
            runs.fill()[r * n + k + 1] = rows[size_t(k)].length(r);
          }
        }
      },
      n);
  make_offsets(name, runs.fill(), count * n);
  array list = gather(name, lists, {start.data(), runs.at, count * n, source});
  return var ? assemble(arrays[0], axis, {offsets_at(name, count, [&](intptr_t r) { return runs.at[r * n]; })}, list)
             : assemble(arrays[0], axis, {size}, list);
}

// The order of the axes in memory. An axis of size 1 has any stride; it stays where it is.
axis_order order_in_memory(const array &a) {
  view_parts parts(a);
  for (int d = 0; d < parts.ndim; d++) {
    for (int s = 0; s < parts.nstreams && parts.size[d] == 1; s++) {
      parts.stride(s)[d] = d ? parts.stride(s)[d - 1] : INTPTR_MAX;
    }
  }
  array view = parts.build();
  array_block *block = view.get();
  return order_like(a.ndim(), a->size(), {&block, 1});
}

// Of numbers without rows; in the order of the axes that all of them have.
array join_numbers(const char *name, const std::vector<array> &arrays, int axis) {
  const array &first = arrays[0];
  std::vector<intptr_t> size(first->size(), first->size() + first.ndim());
  size[size_t(axis)] = 0;
  axis_order order = order_in_memory(first);
  interruptible_walk walk;
  for (const array &a : arrays) {
    walk.step(name, array_steps);
    axis_order own = order_in_memory(a);
    order.c_order |= own.c_order || !std::equal(own.axis, own.axis + a.ndim(), order.axis);
    size[size_t(axis)] = checked_sum(name, size[size_t(axis)], a.size(axis));
  }
  written_numbers result(first.type().dtype(), size, order);
  std::vector<index> part(size_t(axis) + 1, index{index::slice, 0, {}, {}, {}});
  intptr_t begin = 0;
  for (const array &a : arrays) {
    walk.step(name, array_steps);
    part[size_t(axis)].start = begin;
    part[size_t(axis)].stop = begin += a.size(axis);
    result.write(at(result.all(), part), a);
  }
  return result.finish();
}

array joined(const char *name, std::span<const array> given, int axis);

// Rows that may be missing are elements of the axis: so are those of arrays in which none can be.
array join_missing_rows(const char *name, std::span<const array> given, int axis) {
  int depth = max_ndim;
  for (const array &a : given) {
    depth = has_missing_rows(a->type) ? std::min(depth, a.ndim()) : depth;
  }
  std::vector<array> inside, valid;
  for (const array &a : given) {
    options own = split_options(name, a, std::min(depth, a.ndim()));
    inside.push_back(own.inside);
    valid.push_back(own.valid);
  }
  return join_options(joined(name, inside, axis), joined(name, valid, axis));
}

array joined(const char *name, std::span<const array> given, int axis) {
  if (has_missing_rows(given)) {
    int along = dynd::checked_axis(name, axis, rows_ndim(given[0]->type));
    if (!is_in_missing_rows(given, along)) { // what is joined may be missing itself
      return join_missing_rows(name, given, along);
    }
    missing_rows rows(name, given, along - 1);
    std::vector<array> own;
    for (const array &a : rows.operands()) { // a missing row adds no elements
      own.push_back(missing_rows(name, a, along).operand());
    }
    return rows.restored(joined(name, own, along));
  }
  std::vector<array> arrays = with_one_type(name, given);
  if (arrays[0].ndim() == 0) {
    fail(error_kind::value, std::string(name) + ": zero-dimensional arrays cannot be joined; nd.stack makes an axis");
  }
  axis = checked_axis(name, arrays[0], axis);
  make_inside_alike(name, arrays, axis);
  if (std::all_of(arrays.begin(), arrays.end(), has_numbers_of_one_size)) {
    check_outside(name, arrays, axis);
    return join_numbers(name, arrays, axis);
  }
  bool var = false;
  interruptible_walk walk;
  for (array &a : arrays) {
    walk.step(name, array_steps);
    a = compact(a, axis);
    var |= a->is_var(axis);
  }
  check_outside(name, arrays, axis);
  return join_rows(name, arrays, axis, var);
}

} // namespace

array concat(std::span<const array> arrays, int axis) { return joined("concat", arrays, axis); }

array stack(std::span<const array> arrays, int axis) {
  std::vector<array> wider;
  for (const array &a : arrays) {
    array one = one_size_outside(a);
    wider.push_back(expand_dims(one, dynd::checked_axis("stack", axis, rows_ndim(a->type) + 1)));
  }
  return joined("stack", wider, axis);
}

} // namespace dynd::nd
