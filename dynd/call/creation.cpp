#include "dynd/call/creation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/call/axis_parts.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/space.h"
#include "dynd/eval/work.h"
#include "dynd/ops/isa.h"

namespace dynd::nd {

namespace {

constexpr size_t shared_from = 64 << 10; // bytes from which one value is stored for all

// All elements are one value in memory: every stride is 0.
array sharing(const type_data *type, const intptr_t *size, const array &value) {
  ref<array_block> block = new_block(type, access_mode::immutable, flag_ours);
  std::copy_n(size, block->ndim, block->size());
  std::fill_n(block->value_strides(), block->ndim, 0);
  block->values() = shared_stream(*value.get(), value->nstreams - 1);
  note_density(*block);
  return array(std::move(block));
}

array dense(const type_data *type, const intptr_t *size, const array &value, access_mode access) {
  ref<array_block> block = new_dense(type, size, access);
  const char *one = value->values().address;
  size_t item = block->item_size();
  bool same_bytes = std::all_of(one, one + item, [&](char c) { return c == *one; });
  in_pieces("full", block->count, [&](intptr_t begin, intptr_t end) {
    char *to = block->values().address + size_t(begin) * item;
    size_t bytes = size_t(end - begin) * item, done = std::min(bytes, item);
    if (same_bytes) {
      std::memset(to, *one, bytes);
      return;
    }
    std::memcpy(to, one, done);
    while (done < bytes) { // from what is there already, by parts that stay in the cache
      size_t part = std::min({done, bytes - done, size_t(1) << 14});
      std::memcpy(to + done, to, part);
      done += part;
    }
  });
  return array(std::move(block));
}

// Each number in a struct; texts and rows stay without elements.
void fill_numbers(const array &element, const array &value) {
  for (int i = 0; i < element.type().dtype()->nfields; i++) {
    array one = field(element, i);
    element_kind kind;
    if (find_element_kind(one->type->dtype, kind) && one->type->var_count == 0) {
      assign(one.get(), value.get());
    } else {
      fill_numbers(one, value);
    }
  }
}

// The value as it is assigned to elements of the type: a number to a struct is one to all of its numbers.
array value_for(ndt::type dtype, const array &value) {
  ndt::type element(without_options(dtype.get()));
  element_kind kind;
  if (element->nfields == 0 || value.ndim() > 0 || !find_element_kind(value->type->dtype, kind) || kind.option) {
    return value;
  }
  array made = empty(element, nullptr);
  fill_numbers(made, value);
  return made;
}

// What was made to be written, with the value in all its elements.
array assigned(const array &made, const array &value, access_mode access) {
  array own = value_for(made.type().dtype(), value);
  assign(made.get(), own.get());
  return access == access_mode::readwrite ? made : array(copy_values(made.get(), access));
}

// One value as an element, so that it is checked where there are no elements too; what has dimensions as it is.
array as_element(ndt::type dtype, const array &value) {
  if (value.ndim() > 0) {
    return value;
  }
  return dtype->kind == type_kind::scalar ? array(copy_values(value.get(), access_mode::immutable, dtype))
                                          : assigned(empty(dtype, nullptr), value, access_mode::immutable);
}

} // namespace

array with_access(const array &made, access_mode access) {
  element_kind kind;
  if (access == access_mode::immutable) {
    return made;
  }
  if (made->type->var_count > 0 || !find_element_kind(made->type->dtype, kind)) { // rows and texts may be replaced
    return array(copy_values(made.get(), access));
  }
  made->access = access;
  made->flags &= uint8_t(~flag_ours);
  return made;
}

array immutable_of(const array &a) {
  return a->access == access_mode::immutable ? a : array(copy_values(a.get(), access_mode::immutable));
}

std::vector<intptr_t> sizes_with_element(const char *name, std::span<const intptr_t> outer, ndt::type element) {
  std::vector<intptr_t> sizes(outer.begin(), outer.end());
  for (const type_data *t = element.get(); t->ndim > 0; t = t->element) {
    if (t->kind == type_kind::strided_dim) {
      fail(error_kind::type, std::string(name) +
                                 ": expected elements with the size of every dimension (\"3 * float64\"), not " +
                                 std::string(element.str()));
    }
    sizes.push_back(t->size); // -1: rows without elements
  }
  return sizes;
}

array full(ndt::type type, const intptr_t *size, const array &value, access_mode access) {
  intptr_t sizes[max_type_streams];
  find_sizes("full", type, size, sizes);
  array one = as_element(ndt::type(type->dtype), value);
  if (type->var_count > 0 && value.ndim() == 0) { // rows without elements
    return empty(type, size, access);
  }
  if (type->scalar == not_scalar || type->var_count > 0 || value.ndim() > 0) {
    return assigned(empty(type, size), one, access);
  }
  size_t item = scalar_size[size_t(type->scalar)];
  bool shares =
      access == access_mode::immutable && size_t(checked_count(sizes, type->ndim, item)) * item >= shared_from;
  return shares ? sharing(type.get(), sizes, one) : dense(type.get(), sizes, one, access);
}

array empty_like(const array &like, ndt::type dtype, access_mode access) {
  if (has_missing_rows(like->type)) {
    missing_rows rows("empty_like", like);
    array made = rows.restored(empty_like(rows.operand(), dtype, access_mode::immutable));
    return with_access(made, access);
  }
  element_kind kind;
  if (like->type->var_count == 0) {
    std::vector<intptr_t> sizes = sizes_with_element("empty_like", {like->size(), size_t(like.ndim())}, dtype);
    return empty(ndt::with_dtype(like.type(), dtype), sizes.data(), access);
  }
  if (!find_element_kind(dtype.get(), kind)) {
    array rows = compact(like, like.ndim() - 1);
    std::vector<intptr_t> sizes = sizes_with_element("empty_like", {{list_of(rows, rows.ndim() - 1).size(0)}}, dtype);
    array list = empty(ndt::make_strided_dim(dtype), sizes.data(), access_mode::immutable);
    array made = assemble(rows, rows.ndim(), {}, list);
    return with_access(made, access);
  }
  space shape;
  space_of(like.get(), shape);
  if (!std::all_of(shape.slots.begin(), shape.slots.end(), [](const space_slots &s) { return bool(s.run); })) {
    make_slots(shape, measure_rows("empty_like", {like.get()}, shape)); // rows one after another
  }
  array made(new_result(shape, dtype, kind.option));
  return with_access(made, access);
}

array full_like(const array &like, ndt::type dtype, const array &value, access_mode access) {
  if (has_missing_rows(like->type)) {
    missing_rows rows("full_like", like);
    array made = rows.restored(full_like(rows.operand(), dtype, value));
    return with_access(made, access);
  }
  if (like->type->var_count == 0) {
    std::vector<intptr_t> sizes = sizes_with_element("full_like", {like->size(), size_t(like.ndim())}, dtype);
    return full(ndt::with_dtype(like.type(), dtype), sizes.data(), value, access);
  }
  array one = as_element(ndt::type(dtype->dtype), value);
  if (dtype->var_count > 0 && value.ndim() == 0) { // rows without elements
    return empty_like(like, dtype, access);
  }
  if (int last = like.ndim() - 1;
      dtype->kind == type_kind::scalar && value.ndim() == 0 && like->is_ready() && is_compact(like, last)) {
    intptr_t count = list_of(like, last).size(0);
    array list = dense(ndt::make_strided_dim(dtype).get(), &count, one, access_mode::immutable);
    array made = assemble(like, last + 1, {}, list);
    return with_access(made, access);
  }
  return assigned(empty_like(like, dtype), one, access);
}

// ---- ranges -------------------------------------------------------------------------------------------------------

namespace {

[[noreturn]] void fail_size(double count) {
  fail(error_kind::memory, "arange: " + values_text(array(count)) + " elements are too many");
}

intptr_t count_of(double start, double stop, double step) {
  double length = (stop - start) / step;
  if (length == 0 && stop != start) { // it vanished
    return std::signbit(length) ? 0 : 1;
  }
  length = std::ceil(length);
  if (std::isnan(length)) {
    fail(error_kind::value, "arange: how many elements there are is not a number");
  }
  if (length > 0x1p62) {
    fail_size(length);
  }
  return intptr_t(std::max(length, 0.0));
}

intptr_t count_of(int64_t start, int64_t stop, int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) {
    return 0;
  }
  uint64_t distance = step > 0 ? uint64_t(stop) - uint64_t(start) : uint64_t(start) - uint64_t(stop);
  uint64_t by = step > 0 ? uint64_t(step) : -uint64_t(step);
  uint64_t count = distance / by + (distance % by != 0);
  if (count >> 62) {
    fail_size(double(count));
  }
  return intptr_t(count);
}

void check_step(bool zero) {
  if (zero) {
    fail(error_kind::value, "arange: step must not be 0");
  }
}

// What the type makes of a number.
double rounded(double x, scalar_id type) {
  alignas(16) char value[max_scalar_size];
  isa().convert(type, scalar_id::float64)(value, &x, nullptr, nullptr, 1, nullptr);
  isa().convert(scalar_id::float64, type)(&x, value, nullptr, nullptr, 1, nullptr);
  return x;
}

// In float16 and float32 the first two values are rounded, and then all are computed in float32.
template <class T> array range_of(scalar_id stored, scalar_id type, double start, double step, intptr_t count) {
  array made = new_list(ndt::make_scalar(stored), count);
  T first = T(rounded(start, type)), second = T(rounded(start + step, type)), apart = second - first;
  T *to = values_of<T>(made);
  in_pieces("arange", count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = first + T(i) * apart;
    }
  });
  if (count > 0) { // the second may be infinite
    to[0] = first;
  }
  if (count > 1) {
    to[1] = second;
  }
  return native_list(made, type, false);
}

void check_element_type(const char *name, scalar_id type) {
  if (type == scalar_id::bool_) {
    fail(error_kind::type, std::string(name) + ": bool is not a number");
  }
}

int64_t integer_of(double x) {
  if (std::trunc(x) != x || std::fabs(x) >= 0x1p63) {
    fail(error_kind::value, "arange: an integer type needs integers, got " + values_text(array(x)));
  }
  return int64_t(x);
}

} // namespace

array arange(double start, double stop, double step, scalar_id type) {
  check_step(step == 0);
  check_element_type("arange", type);
  intptr_t count = count_of(start, stop, step);
  if (is_integer(type)) {
    int64_t first = integer_of(start), by = integer_of(step), past;
    if (__builtin_mul_overflow(by, count, &past) || __builtin_add_overflow(first, past, &past)) {
      fail(error_kind::overflow, "arange: the values do not fit int64");
    }
    return arange(first, past, by, type);
  }
  scalar_id own = is_complex(type) ? real_type(type) : type;
  checked_count(&count, 1, scalar_size[size_t(type)]);
  array made = own == scalar_id::float64 ? range_of<double>(own, own, start, step, count)
                                         : range_of<float>(scalar_id::float32, own, start, step, count);
  return native_list(made, type, false);
}

array arange(int64_t start, int64_t stop, int64_t step, scalar_id type) {
  check_step(step == 0);
  check_element_type("arange", type);
  if (!is_integer(type)) {
    return arange(double(start), double(stop), double(step), type);
  }
  intptr_t count = count_of(start, stop, step);
  checked_count(&count, 1, sizeof(int64_t));
  if (count > 0 && type != scalar_id::int64) {
    int64_t ends[] = {start, int64_t(uint64_t(start) + uint64_t(count - 1) * uint64_t(step))};
    char room[2 * sizeof(int64_t)];
    if (isa().convert_checked(error_mode::overflow, type, scalar_id::int64)(room, ends, nullptr, nullptr, 2, nullptr)) {
      fail(error_kind::overflow, "arange: " + std::to_string(ends[0]) + " to " + std::to_string(ends[1]) +
                                     " do not fit " + scalar_name[size_t(type)]);
    }
  }
  array made = new_list(ndt::make_scalar(scalar_id::int64), count);
  int64_t *to = values_of<int64_t>(made);
  in_pieces("arange", count, [&](intptr_t begin, intptr_t end) {
    uint64_t value = uint64_t(start) + uint64_t(begin) * uint64_t(step); // begin * step may be beyond int64
    for (intptr_t i = begin; i < end; i++, value += uint64_t(step)) {
      to[i] = int64_t(value);
    }
  });
  return native_list(made, type, false);
}

namespace {

void check_value_count(int64_t count) {
  if (count < 0) {
    fail(error_kind::value, "linspace: the number of values must not be negative, got " + std::to_string(count));
  }
  checked_count(&count, 1, max_scalar_size);
}

} // namespace

array linspace(double start, double stop, int64_t count, bool endpoint, scalar_id type) {
  check_element_type("linspace", type);
  check_value_count(count);
  array made = new_list(ndt::make_scalar(scalar_id::float64), count);
  auto *to = values_of<double>(made);
  auto parts = double(endpoint ? count - 1 : count);
  double distance = stop - start, step = distance / parts;
  in_pieces("linspace", count, [&](intptr_t begin, intptr_t end) {
    if (parts > 0 && step != 0) {
      for (intptr_t i = begin; i < end; i++) {
        to[i] = double(i) * step + start;
      }
    } else { // one value, or a step that vanished
      for (intptr_t i = begin; i < end; i++) {
        to[i] = (parts > 0 ? double(i) / parts : double(i)) * distance + start;
      }
    }
    if (endpoint && count > 1 && end == count) {
      to[count - 1] = stop;
    }
    for (intptr_t i = begin; i < end && is_integer(type); i++) {
      to[i] = std::floor(to[i]);
    }
  });
  return is_integer(type) ? converted_for("linspace", "the values", made, ndt::make_scalar(type))
                          : native_list(made, type, false);
}

array linspace(std::complex<double> start, std::complex<double> stop, int64_t count, bool endpoint, scalar_id type) {
  if (!is_complex(type)) {
    fail(error_kind::type, std::string("linspace: complex numbers are no ") + scalar_name[size_t(type)]);
  }
  check_value_count(count);
  array made = new_list(ndt::make_scalar(scalar_id::complex128), count);
  auto *to = values_of<std::complex<double>>(made);
  auto parts = double(endpoint ? count - 1 : count);
  double part = parts > 0 ? 1 / parts : 1; // a complex number is divided by multiplying
  std::complex<double> distance = stop - start, step = {distance.real() * part, distance.imag() * part};
  in_pieces("linspace", count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      auto component = [&](double from, double far, double near) {
        return (step != 0.0 ? double(i) * near : double(i) * part * far) + from;
      };
      to[i] = {component(start.real(), distance.real(), step.real()),
               component(start.imag(), distance.imag(), step.imag())};
    }
    if (endpoint && count > 1 && end == count) {
      to[count - 1] = stop;
    }
  });
  return native_list(made, type, false);
}

} // namespace dynd::nd
