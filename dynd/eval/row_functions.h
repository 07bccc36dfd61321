// Functions of whole rows that need several passes over each: mean and variance; and what softmax takes of rows, so
// that its passes are such too. All passes are stages of one program (docs/decisions/0030), run while the row is in the
// cache, fused with what is lazy below.
#pragma once

#include "dynd/array/array.h"
#include "dynd/eval/row_steps.h"

namespace dynd {

/// largest: 0 where that is not finite
enum class row_function : uint8_t { mean, variance, deviation, largest, total };

inline bool is_variance(row_function f) { return f == row_function::variance || f == row_function::deviation; }

struct row_operation {
  const char *name;
  row_function function;
  double correction = 0; ///< of variance and deviation
};

/// What a lazy array of rows holds as its lazy_operation::external.
struct lazy_row_operation : counted {
  row_operation what;
};

struct row_call {
  row_operation what;
  array_block *operand;
  bool last_use = false; ///< as in evaluate.h
  int axis = -1;
  bool keepdims = false;
  bool all = false;                                 ///< all axes are one row in C order
  array_block *where = nullptr, *weights = nullptr; ///< as in reduction_keywords
  bool where_last_use = false, skips_nan = false;

  bool takes_all() const { return !where && !weights && !skips_nan; }
  /// The operand, then where= and weights= if they are given.
  space_operands operands() const;
  unsigned last_uses() const { return unsigned(last_use) | unsigned(where_last_use) << 1; }
};

/// The function of each row along an axis, for elements that are real numbers. Floating types stay what they are,
/// integers give float64; a row without elements gives NaN. Null, and nothing has happened, where the elements are
/// complex, or where another axis is inside of the rows in memory; and of all axes, unless it is the variance of more
/// than a block: then compose.
/// With keepdims the result may be lazy: what is computed of the rows and of their values together, as in
/// x - mean(x, axis=1, keepdims=True), is then one pass.
ref<array_block> evaluate_rows(const row_call &call, const settings &how);

/// Reads the elements of the operands, and which of them count how often.
void take_operands(row_steps &s, fused_task &fused, const row_call &call);

/// Adds the steps; returns the register of rows.
uint8_t add_row_function(row_steps &s, const row_operation &function);
uint8_t add_row_function(fused_task &fused, const row_operation &function, scalar_id type, const value_registers &x);

// ---- the parts of it, for rows that are long ------------------------------------------------------------------------

/// Rows of variances that are longer are cut into blocks of that many elements, which combine: so that both passes over
/// a block find it in the L2 cache. It is part of what the result is, bit for bit.
inline constexpr int64_t block_elements = 32768;

/// The sums of the deviations of a row's elements from its mean, a register of rows.
struct deviations {
  uint8_t sum; ///< how far the mean was rounded, times the number of elements; only where it is wanted
  uint8_t squares;
};
deviations add_deviations(row_steps &s, uint8_t mean, bool with_sum);
/// The variance or deviation, of the sum of the squares.
uint8_t finish_variance(row_steps &s, const row_operation &what, uint8_t squares, uint8_t count);

/// Whether some row along the last axis is longer than a block.
bool has_long_rows(const space &shape);
/// The variances of the rows along the last axis, or of all as one row, to `flat`, one after another. False, and
/// nothing has happened, where the elements of all operands do not follow each other in C order.
bool combine_blocks(const row_call &call, scalar_id type, const settings &how, array_block *flat);

} // namespace dynd
