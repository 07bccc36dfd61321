// The direct step of reductions over the rows of a small ragged array: the compiled loops take the rows as they are in
// memory, and no kernel is made.
#include <cmath>
#include <type_traits>

#include "dynd/array/rows.h"
#include "dynd/eval/aggregate.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

struct small_rows {
  const char *origin = nullptr; // where offset 0 points; null: the rows are not of this kind
  const int64_t *offsets;
  intptr_t count;
};

// The rows of the last axis of two, in a type; converted they are in `scratch`.
small_rows find_rows(const reduction_call &call, scalar_id type, char *scratch) {
  const array_block &x = *call.operand;
  const reduction_keywords &keywords = call.keywords;
  if (x.type->kind != type_kind::strided_dim || x.ndim != 2 || !x.is_var(1) || call.axes.count != 1 ||
      !call.axes.has[1] || !call.how.direct || call.how.watching || call.skips() || call.element.swapped ||
      keywords.initial || keywords.weights || keywords.empty_missing ||
      x.state.load(std::memory_order_acquire) != array_state::ready) {
    return {};
  }
  int slots = x.slot_stream(1);
  size_t item = scalar_size[size_t(call.element.scalar)];
  offsets_run run = rows_of(x, slots);
  if (!run || run.kind != slot_kind::offsets64 || run.rows > max_direct_elements ||
      run.content() > max_direct_elements || x.streams()[slots].step != 1 || x.value_strides()[1] != intptr_t(item)) {
    return {};
  }
  const char *origin = x.values().address;
  if (call.element.scalar != type) {
    size_t to = scalar_size[size_t(type)];
    isa().convert(type, call.element.scalar)(scratch, origin + run.first() * intptr_t(item), nullptr, nullptr,
                                             size_t(run.content()), nullptr);
    origin = scratch - run.first() * intptr_t(to);
  }
  return {origin, reinterpret_cast<const int64_t *>(run.address), run.rows};
}

ref<array_block> new_row_results(scalar_id type, intptr_t count) {
  return new_dense(ndt::make_strided_dim(ndt::make_scalar(type)).get(), &count);
}

// A sum, an extreme, a position. A row that has none is for the general way, which names it.
ref<array_block> fold_rows(const reduction_call &call, scalar_id type) {
  alignas(64) char scratch[max_direct_elements * max_scalar_size];
  bool bool_index = type == scalar_id::bool_ && call.what.kind == aggregate_kind::index;
  small_rows rows = bool_index ? small_rows() : find_rows(call, type, scratch);
  if (!rows.origin) {
    return {};
  }
  const reduce_functions &functions = isa().reduce(call.what.fold, type);
  ref<array_block> result = new_row_results(functions.index ? scalar_id::int64 : type, rows.count);
  bool empty = functions.rows(result->values().address, intptr_t(result->item_size()), rows.origin, rows.offsets,
                              size_t(rows.count), 0);
  bool none = reduction_of(call.what.fold).empty == empty_rule::none && call.what.part == folded_part::value;
  return empty && none ? ref<array_block>() : result;
}

// As row_functions.cpp has it.
template <class T> ref<array_block> statistic_of_rows(const reduction_call &call, scalar_id type) {
  alignas(64) char scratch[max_direct_elements * sizeof(T)];
  T about[max_direct_elements];
  small_rows rows = find_rows(call, type, scratch);
  if (!rows.origin) {
    return {};
  }
  const reduce_functions &sum = isa().reduce(arithmetic::sum, type);
  auto n = size_t(rows.count);
  auto length = [&](size_t r) { return T(rows.offsets[r + 1] - rows.offsets[r]); };
  sum.rows(reinterpret_cast<char *>(about), sizeof(T), rows.origin, rows.offsets, n, 0);
  for (size_t r = 0; r < n; r++) {
    about[r] /= length(r);
  }
  ref<array_block> result = new_row_results(type, rows.count);
  T *to = reinterpret_cast<T *>(result->values().address);
  if (call.what.kind == aggregate_kind::mean) {
    std::copy_n(about, n, to);
    return result;
  }
  sum.squares.rows(to, rows.origin, about, rows.offsets, n);
  for (size_t r = 0; r < n; r++) {
    T count = call.keywords.correction == 0 ? length(r) : std::max(length(r) - T(call.keywords.correction), T(0));
    T variance = to[r] / count;
    to[r] = call.what.kind == aggregate_kind::variance ? variance : std::sqrt(variance);
  }
  return result;
}

} // namespace

ref<array_block> try_direct_rows(const reduction_call &call) {
  scalar_id own = call.element.scalar;
  if (call.operand->ndim != 2 || own == scalar_id::float16) {
    return {};
  }
  switch (call.what.kind) {
  case aggregate_kind::fold:
  case aggregate_kind::index:
    return fold_rows(call, call.what.part == folded_part::truth
                               ? scalar_id::bool_
                               : accumulator_type(call.what.fold, own, call.what.name));
  case aggregate_kind::mean:
  case aggregate_kind::variance:
  case aggregate_kind::deviation:
    return is_complex(own)             ? ref<array_block>()
           : own == scalar_id::float32 ? statistic_of_rows<float>(call, own)
                                       : statistic_of_rows<double>(call, scalar_id::float64);
  default:
    return {};
  }
}

} // namespace dynd
