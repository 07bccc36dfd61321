// A reduction as a specification: operands, the axes that are reduced, a program on their elements, and the folds of
// what the program gives. Everything else is the same for all: how the rows are walked, threads, what is lazy below,
// empty rows. What people call is put together from this in aggregate.cpp and statistics.cpp.
#pragma once

#include <functional>

#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"

namespace dynd {

/// The axes, in rising order, of an operand with so many dimensions.
struct axis_set {
  int ndim = 0, count = 0;
  bool has[max_ndim] = {};

  bool all() const { return count == ndim; }
  int first() const { return int(std::find(has, has + ndim, true) - has); }
};

/// An error where an axis is out of bounds, or twice there.
axis_set find_axes(const char *name, const reduced_axes &axes, int ndim);

/// One accumulator.
struct fold {
  reduction_id id;
  scalar_id type;           ///< of what is folded, and of the accumulator
  bool empty_fails = false; ///< a row without elements is an error
};

struct reduction_spec {
  const char *name;
  const settings &how;
  small_vector<array_block *, 4> operands = {}; ///< they broadcast to one space
  unsigned last_use = 0;                        ///< as in call_operands
  axis_set axes = {};
  int original_axis = -1; ///< for messages: what the axis was where the operands are copies with other axes
  small_vector<fold, 4> folds = {};
  /// The elements of the results. Their streams are the folds, one after another; of an option the validity is first.
  small_vector<const type_data *, 4> results = {};
  /// Adds the steps before the folds: from the registers of the operands to one register for each fold.
  std::function<void(fused_task &fused, const value_registers *operands, uint8_t *folded)> before = {};

  void add_result(const ndt::type &type, std::initializer_list<fold> own) {
    results.push_back(type.get());
    for (const fold &f : own) {
      folds.push_back(f);
    }
  }
};

inline constexpr int max_folds = 4;

/// `results` has a place for each; they lack the reduced axes.
void reduce(const reduction_spec &spec, ref<array_block> *results);

/// The one fold of what `value(fused, operands)` makes of the operands' registers.
template <class Value> ref<array_block> reduce(reduction_spec &&spec, ndt::type type, const fold &own, Value value) {
  spec.add_result(type, {own});
  spec.before = [&](fused_task &fused, const value_registers *in, uint8_t *folded) { folded[0] = value(fused, in); };
  ref<array_block> result;
  reduce(spec, &result);
  return result;
}

/// The result with the reduced axes as axes of size 1.
ref<array_block> with_axes_kept(ref<array_block> result, const axis_set &axes);

/// What a row without elements is folded to: 0 for a sum, 1 for a product, for others the identity.
void fold_of_nothing(const fold &f, void *value);

/// The register, but that value where `present` is false.
uint8_t present_or_nothing(fused_task &fused, uint8_t present, uint8_t reg, const fold &f);

} // namespace dynd
