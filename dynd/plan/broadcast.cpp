#include "dynd/plan/broadcast.h"

#include <algorithm>

#include "dynd/base/errors.h"

namespace dynd {
namespace {

/// The operand's size at an axis of the result.
intptr_t size_at(sizes_view operand, int result_ndim, int axis) {
  int missing = result_ndim - static_cast<int>(operand.size());
  return axis < missing ? 1 : operand[axis - missing];
}

[[noreturn]] void fail_shapes(std::string_view operation, sizes_view first, const char *with, sizes_view second,
                              int axis) {
  fail(error_kind::broadcast, std::string(operation) + ": cannot broadcast " + shape_text(first) + with +
                                  shape_text(second) + " at axis " + std::to_string(axis));
}

/// `which` disagrees with an earlier operand: the first one that does not stretch at this axis.
[[noreturn]] void fail_pair(std::string_view operation, std::span<const sizes_view> operands, size_t which, int ndim,
                            int axis) {
  size_t first = 0;
  while (size_at(operands[first], ndim, axis) == 1)
    ++first;
  fail_shapes(operation, operands[first], " with ", operands[which], axis);
}

[[noreturn]] void fail_ndim(std::string_view operation, int ndim) {
  fail(error_kind::value,
       std::string(operation) + ": more than " + std::to_string(max_loops) + " axes: " + std::to_string(ndim));
}

[[noreturn]] void fail_count(std::string_view operation, sizes_view sizes, intptr_t item_size) {
  std::string unit = item_size > 1 ? " of " + std::to_string(item_size) + " bytes" : "";
  fail(error_kind::overflow, std::string(operation) + ": too many elements" + unit + ": " + shape_text(sizes));
}

} // namespace

std::string shape_text(sizes_view sizes) {
  std::string text = "(";
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + (sizes.size() == 1 ? ",)" : ")");
}

intptr_t count_elements(std::string_view operation, sizes_view sizes, intptr_t item_size) {
  intptr_t bytes = item_size > 0 ? item_size : 1;
  intptr_t count = 1;
  for (intptr_t size : sizes) {
    count = static_cast<intptr_t>(static_cast<uintptr_t>(count) * static_cast<uintptr_t>(size));
    if (size != 0 && __builtin_mul_overflow(bytes, size, &bytes))
      fail_count(operation, sizes, item_size);
  }
  return count;
}

int broadcast_shapes(std::string_view operation, std::span<const sizes_view> operands, intptr_t *result) {
  size_t longest = 0;
  for (sizes_view operand : operands)
    longest = std::max(longest, operand.size());
  int ndim = static_cast<int>(longest);
  if (ndim > max_loops)
    fail_ndim(operation, ndim);
  for (int axis = 0; axis < ndim; ++axis)
    result[axis] = 1;

  for (size_t which = 0; which < operands.size(); ++which) {
    sizes_view operand = operands[which];
    int missing = ndim - static_cast<int>(operand.size());
    for (int axis = missing; axis < ndim; ++axis) {
      intptr_t size = operand[axis - missing];
      if (size == result[axis] || size == 1)
        continue;
      if (result[axis] != 1)
        fail_pair(operation, operands, which, ndim, axis);
      result[axis] = size;
    }
  }
  count_elements(operation, sizes_view(result, longest));
  return ndim;
}

void check_broadcasts_to(std::string_view operation, sizes_view operand, sizes_view destination) {
  if (operand.size() > destination.size())
    fail(error_kind::broadcast, std::string(operation) + ": cannot broadcast " + std::to_string(operand.size()) +
                                    " axes to " + std::to_string(destination.size()) + ", " + shape_text(operand) +
                                    " to " + shape_text(destination));
  size_t missing = destination.size() - operand.size();
  for (size_t i = 0; i < operand.size(); ++i)
    if (operand[i] != 1 && operand[i] != destination[missing + i])
      fail_shapes(operation, operand, " to ", destination, static_cast<int>(missing + i));
}

} // namespace dynd
