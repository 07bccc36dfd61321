// The direct step of reductions: the rows of a small array are in memory as the compiled loops take them, or are
// brought together, and no kernel is made. All elements of a dense array are one row, or there is one along an axis; a
// ragged array has its own.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "dynd/array/layout.h"
#include "dynd/array/rows.h"
#include "dynd/eval/aggregate.h"
#include "dynd/eval/direct.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

/// The rows of an operand in a type; converted they are in memory of the caller.
class small_rows {
public:
  small_rows(const reduction_call &call, scalar_id type, char *scratch) {
    const array_block &x = without_gaps(call);
    const reduction_keywords &keywords = call.keywords;
    if (!may_be_direct(call.how) || call.skips() || call.element.swapped || keywords.initial || keywords.weights ||
        keywords.empty_missing || !x.is_ready() || !(find(x, call.axes) || find_axis(x, call.axes))) {
      return;
    }
    origin = origin ? origin : x.values().address;
    if (call.element.scalar != type) {
      intptr_t from = offsets[0] * intptr_t(x.item_size()), to = offsets[0] * scalar_size[size_t(type)];
      isa().convert(type, call.element.scalar)(scratch, origin + from, nullptr, nullptr,
                                               size_t(offsets[count] - offsets[0]), nullptr);
      origin = scratch - to;
    }
  }
  small_rows(const small_rows &) = delete;

  const char *origin = nullptr; ///< where offset 0 points; null: the call is not of this kind
  const int64_t *offsets = nullptr;
  intptr_t count = 1;
  bool everything = false; ///< the result has no dimension

  ref<array_block> new_result(scalar_id type) const {
    alignas(16) const char zero[max_scalar_size] = {};
    if (everything) {
      return new_scalar(type, zero);
    }
    ndt::type all = ndt::make_scalar(type);
    for (int d = 0; d < ndim_; d++) {
      all = ndt::make_strided_dim(all);
    }
    return new_dense(all.get(), shape_);
  }

private:
  // A few numbers with gaps between them are brought together first.
  const array_block &without_gaps(const reduction_call &call) {
    array_block *x = call.operand;
    if (x->ndim == 1 && !(x->flags & flag_dense) && x->has_scalars() && x->size()[0] <= max_direct_elements) {
      ndt::type dtype(x->type->dtype);
      packed_ = try_direct_copy(x, access_mode::immutable, dtype, error_mode::nocheck, call.how);
    }
    return packed_ ? *packed_ : *x;
  }

  bool find(const array_block &x, const axis_set &axes) {
    if (axes.all() && (x.flags & flag_dense) && x.count >= 1) {
      everything = true;
      one_row_[1] = x.count;
      offsets = one_row_;
      return x.count <= max_direct_elements;
    }
    bool last = x.ndim == 2 && axes.count == 1 && axes.has[1] && x.type->kind == type_kind::strided_dim;
    offsets_run run = last ? contiguous_rows(x) : offsets_run();
    offsets = reinterpret_cast<const int64_t *>(run.address);
    shape_[0] = count = run.rows;
    return run && std::max(run.rows, intptr_t(run.content())) <= max_direct_elements;
  }

  // One axis of a dense array: the rows along it follow each other, or are brought together.
  bool find_axis(const array_block &x, const axis_set &axes) {
    bool small = axes.count == 1 && (x.flags & flag_dense) && x.count >= 1 && x.count <= max_direct_elements;
    for (const type_data *t = x.type; small && t->ndim; t = t->element) {
      small = t->kind == type_kind::strided_dim;
    }
    if (!small) {
      return false;
    }
    int axis = axes.first();
    intptr_t length = x.size()[axis], inside = 1;
    ndim_ = 0;
    for (int d = 0; d < x.ndim; d++) {
      inside *= d > axis ? x.size()[d] : 1;
      if (d != axis) {
        shape_[ndim_++] = x.size()[d];
      }
    }
    count = x.count / length;
    for (intptr_t r = 0; r <= count; r++) {
      regular_[r] = r * length;
    }
    offsets = regular_;
    if (inside > 1) {
      turn(x.values().address, x.item_size(), length, inside);
    }
    return true;
  }

  // (outside, length, inside) becomes (outside, inside, length).
  void turn(const char *from, size_t item, intptr_t length, intptr_t inside) {
    with_word(item, [&](auto word) {
      constexpr intptr_t size = sizeof(word);
      for (intptr_t r = 0; r < count; r++) {
        const char *at = from + (r / inside * length * inside + r % inside) * size;
        for (intptr_t k = 0; k < length; k++) {
          std::memcpy(turned_ + (r * length + k) * size, at + k * inside * size, size);
        }
      }
    });
    origin = turned_;
  }

  int64_t one_row_[2] = {};
  ref<array_block> packed_;
  int ndim_ = 1; // of the result
  intptr_t shape_[max_ndim];
  int64_t regular_[max_direct_elements + 1];
  alignas(64) char turned_[max_direct_elements * max_scalar_size];
};

// A sum, an extreme, a position. A row that has none is for the general way, which names it.
ref<array_block> fold_rows(const reduction_call &call, scalar_id type) {
  alignas(64) char scratch[max_direct_elements * max_scalar_size];
  if (type == scalar_id::bool_ && call.what.kind == aggregate_kind::index) {
    return {};
  }
  small_rows rows(call, type, scratch);
  if (!rows.origin) {
    return {};
  }
  const reduce_functions &functions = isa().reduce(call.what.fold, type);
  ref<array_block> result = rows.new_result(functions.index ? scalar_id::int64 : type);
  bool empty = functions.rows(result->values().address, intptr_t(result->item_size()), rows.origin, rows.offsets,
                              size_t(rows.count), 0);
  bool values = call.what.part == folded_part::value;
  if (empty && values && reduction_of(call.what.fold).empty == empty_rule::none) {
    return {};
  }
  return values && !functions.index ? narrowed(std::move(result), call.taken_as(), call.dtype()) : std::move(result);
}

// Whether some or all of many bools are true is often decided by the first ones: they are looked at before the others.
ref<array_block> decided_early(const reduction_call &call) {
  constexpr intptr_t chunk = 4096, most = 16 * chunk;
  const array_block &x = *call.operand;
  if (call.element.scalar != scalar_id::bool_ || call.skips() || !may_be_direct(call.how) || !is_dense_and_ready(&x) ||
      !call.axes.all()) {
    return {};
  }
  const bool decides = reduction_of(call.what.fold).combine == arithmetic::larger; // of any(); of all() it is false
  const int64_t offsets[] = {0, chunk};
  for (intptr_t at = 0; at + chunk <= std::min(x.count / 4, most); at += chunk) {
    char found = 0; // of a bool in memory any byte but 0 is true
    isa().reduce(call.what.fold, scalar_id::bool_).rows(&found, 1, x.values().address + at, offsets, 1, 0);
    if ((found != 0) == decides) {
      return new_scalar(scalar_id::bool_, reinterpret_cast<const char *>(&decides));
    }
  }
  return {};
}

ref<array_block> count_true(const reduction_call &call) {
  alignas(64) char scratch[max_direct_elements];
  small_rows rows(call, scalar_id::bool_, scratch);
  if (!rows.origin) {
    return {};
  }
  ref<array_block> result = rows.new_result(scalar_id::int64);
  auto *to = reinterpret_cast<int64_t *>(result->values().address);
  for (intptr_t r = 0; r < rows.count; r++) {
    to[r] =
        std::count_if(rows.origin + rows.offsets[r], rows.origin + rows.offsets[r + 1], [](char c) { return c != 0; });
  }
  return result;
}

// mean, var and std of each row: the steps of add_row_function (row_functions.cpp), so that the bits are the same.
template <class T> ref<array_block> statistic_of_rows(const reduction_call &call, scalar_id type) {
  alignas(64) char scratch[max_direct_elements * sizeof(T)];
  T about[max_direct_elements];
  small_rows rows(call, type, scratch);
  if (!rows.origin) {
    return {};
  }
  const reduce_functions &sum = isa().reduce(arithmetic::sum, type);
  aggregate_kind kind = call.what.kind;
  auto n = size_t(rows.count);
  auto length = [&](size_t r) { return T(rows.offsets[r + 1] - rows.offsets[r]); };
  std::fill_n(about, n, T(0));
  if (kind != aggregate_kind::norm) {
    sum.rows(reinterpret_cast<char *>(about), sizeof(T), rows.origin, rows.offsets, n, 0);
    for (size_t r = 0; r < n; r++) {
      about[r] /= length(r);
    }
  }
  ref<array_block> result = rows.new_result(type);
  T *to = reinterpret_cast<T *>(result->values().address);
  if (kind == aggregate_kind::mean) {
    std::copy_n(about, n, to);
    return result;
  }
  sum.squares.rows(to, rows.origin, about, rows.offsets, n);
  for (size_t r = 0; r < n; r++) {
    T left = call.keywords.correction == 0 ? length(r) : std::max(length(r) - T(call.keywords.correction), T(0));
    T mean_square = kind == aggregate_kind::norm ? to[r] : to[r] / left;
    to[r] = kind == aggregate_kind::variance ? mean_square : std::sqrt(mean_square);
  }
  return result;
}

} // namespace

ref<array_block> try_direct_reduction(const reduction_call &call) {
  scalar_id own = call.taken_as();
  if (own == scalar_id::float16 && call.element.scalar != own) { // rounded twice
    return {};
  }
  switch (call.what.kind) {
  case aggregate_kind::fold:
    if (call.what.part == folded_part::truth && !call.keywords.initial) {
      if (ref<array_block> decided = decided_early(call)) {
        return decided;
      }
    }
    [[fallthrough]];
  case aggregate_kind::index:
    return fold_rows(call, call.what.part == folded_part::truth ? scalar_id::bool_
                           : own == call.element.scalar         ? call.accumulator
                                                        : accumulator_type(call.what.fold, own, call.what.name));
  case aggregate_kind::count:
    return call.what.part == folded_part::truth ? count_true(call) : ref<array_block>();
  case aggregate_kind::mean:
  case aggregate_kind::variance:
  case aggregate_kind::deviation:
  case aggregate_kind::norm:
    return is_complex(own) || own == scalar_id::float16 ? ref<array_block>()
           : own == scalar_id::float32                  ? statistic_of_rows<float>(call, own)
                                                        : statistic_of_rows<double>(call, scalar_id::float64);
  default:
    return {};
  }
}

} // namespace dynd
