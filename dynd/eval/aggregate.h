// One call of a reduction, its arguments checked, and what all kinds of them share.
#pragma once

#include "dynd/eval/reduce.h"

namespace dynd {

struct reduction_call {
  const aggregate &what;
  const settings &how;
  array_block *operand;
  bool last_use;
  const reduction_keywords &keywords;
  element_kind element;
  axis_set axes;
  scalar_id accumulator = scalar_id::bool_; ///< of the elements as they are, where values are folded

  /// The operand, then where= and weights= if they are given; no folds yet.
  reduction_spec spec() const;
  /// The number of the first operand after those.
  int noperands() const { return 1 + !!keywords.where + !!keywords.weights; }

  /// The type that the elements are folded as, before what the fold widens.
  scalar_id taken_as() const { return dtype().value_or(element.scalar); }
  std::optional<scalar_id> dtype() const {
    return what.keywords & takes_dtype ? keywords.dtype : std::optional<scalar_id>();
  }
  bool skips_nan() const { return what.nan == nan_rule::skipped && is_floating(real_type(element.scalar)); }
  /// Whether some elements may be skipped; else present() is no_register.
  bool skips() const;
  /// The register that says which elements are reduced: those that are there, where= allows, and that are no NaN where
  /// these are skipped.
  uint8_t present(fused_task &fused, const value_registers *operands) const;
  /// The weights as numbers of a type; no_register without them.
  uint8_t weight(fused_task &fused, const value_registers *operands, scalar_id type) const;
};

/// where= has to be bool and to broadcast to what the operands broadcast to.
void check_mask(const char *name, const space_operands &operands, array_block *where);

/// dtype= of a sum or a scan: the operand itself where the program converts it, as NumPy does, else a copy that was
/// checked: of numbers with a fraction as integers, of complex ones as real ones. The result is converted at the end.
void take_as(const char *name, number_operand &x, std::optional<scalar_id> dtype);

/// The direct step, of a small array: all elements of a dense one, or the rows of a ragged one; the reduced axes are
/// not kept. Null where the call is not of this kind.
ref<array_block> try_direct_reduction(const reduction_call &call);
inline constexpr intptr_t max_direct_elements = 512;

/// The folds of an operand's values, a result for each. Those of min and max (empty_rule::none) where nothing is left:
/// an error that names the row, or missing, or as NaN is skipped NaN.
void fold_values(const reduction_call &call, std::initializer_list<reduction_id> ids, ref<array_block> *results);

/// One number.
ref<array_block> number_of(scalar_id type, double value);
/// The values, missing where `any` is not true.
ref<array_block> missing_where_not(array_block *any, array_block *value, const settings &how);
/// The numbers converted, unchecked.
ref<array_block> as_type(ref<array_block> result, scalar_id to);
/// What was folded or scanned in a wider type, as dtype= or float16 has it.
ref<array_block> narrowed(ref<array_block> result, scalar_id element, std::optional<scalar_id> dtype);

} // namespace dynd
