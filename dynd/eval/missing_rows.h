// Rows that may be missing themselves, `strided * ?var * T`, in functions of what is in the rows (docs/decisions/0036).
//
// Such an array is taken apart into the rows, where a missing one is a row without elements, and validities, which say
// for each row whether it is there. The function gets arrays of plain rows; its results get the validities again.
//
//   [[1, 2], None, [3]]: the rows [[1, 2], [], [3]], whose validity is [true, false, true]
//
// Of several operands that broadcast, the validities of their rows are joined, and all of them have an empty row where
// one is missing. Values are never copied: a row that is not empty in memory gets other slots.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "dynd/eval/evaluate.h"
#include "dynd/eval/nested.h"

namespace dynd {

/// Whether some of these (which may be null) may miss rows.
inline bool has_missing_rows(std::span<array_block *const> blocks) {
  return std::any_of(blocks.begin(), blocks.end(), [](const array_block *b) { return b && has_missing_rows(b->type); });
}
inline bool has_missing_rows(std::span<const nd::array> arrays) {
  return std::any_of(arrays.begin(), arrays.end(), [](const nd::array &a) { return a && has_missing_rows(a->type); });
}

/// Whether the axis, counted with the dimensions inside of rows that may be missing, is inside of such rows of some.
inline bool is_in_missing_rows(std::span<const nd::array> arrays, int axis) {
  return std::any_of(arrays.begin(), arrays.end(),
                     [&](const nd::array &a) { return a && has_missing_rows(a->type) && a.ndim() <= axis; });
}

class missing_rows {
public:
  /// The operands (some may be null) for a function of the axis, counted with the dimensions inside of rows that may be
  /// missing: rows inside of it are its elements, which may be missing. Without one, for a function of all elements.
  missing_rows(const char *name, std::span<const nd::array> operands, int axis = max_ndim);
  missing_rows(const char *name, const nd::array &operand, int axis = max_ndim)
      : missing_rows(name, std::span(&operand, 1), axis) {}

  const nd::array &operand(int i = 0) const { return operands_[size_t(i)]; }
  const std::vector<nd::array> &operands() const { return operands_; }
  array_block *block(int i = 0) const { return operands_[size_t(i)].get(); }
  int ndim() const { return ndim_; } ///< of what the operands broadcast to

  /// A result with the dimensions outside of the rows, whatever it has inside: missing where a row is. Of a reduction,
  /// rows inside of the axis are gone.
  nd::array restored(const nd::array &result, int axis = max_ndim) const;
  ref<array_block> restored(ref<array_block> result, int axis = max_ndim) const;
  /// That of a function of an axis, checked, or of all elements as one row.
  nd::array of_axis(const nd::array &result, std::optional<int> axis) const {
    return restored(result, axis ? *axis + (*axis < 0 ? ndim_ : 0) : 0);
  }

  /// Which of the rows that are the axis are there; null where all are.
  const nd::array *validity(int axis) const;
  /// An error where rows that may be missing are inside of the axis, of a function of all elements that goes over them.
  void check_inside(const char *name, int axis) const;
  /// Whether the axis is inside of rows that may be missing.
  bool has_inside(int axis) const { return !levels_.empty() && levels_.front().ndim() <= axis; }
  /// Where rows that may be missing are the elements of the axis: only those that are there.
  void drop(const char *name, int axis);
  /// Where a reduction's result is missing of a row that is there, that was empty: the error that the row has none.
  void check_results(const char *name, const nd::array &result, int axis, const char *empty) const;

private:
  void add_level(const char *name, int inside);
  void empty_rows(const char *name, nd::array &a, int depth);

  const char *type_; ///< for messages
  std::vector<nd::array> operands_;
  std::vector<nd::array> levels_; ///< the validities of rows, outermost first: their dimensions are outside of the rows
  int ndim_ = 0;
};

/// A function of an axis that is inside of rows that may be missing: f(rows, axis), whose result has what is outside of
/// them. Null where the axis is not: such rows are elements then.
template <class F> nd::array in_missing_rows(const char *name, const nd::array &a, int axis, F f) {
  if (!has_missing_rows(a->type)) {
    return {};
  }
  int along = checked_axis(name, axis, rows_ndim(a->type));
  if (along < a.ndim()) {
    return {};
  }
  missing_rows rows(name, a, along);
  return rows.restored(f(rows.operand(), along));
}

/// The array with a row without elements where one may be missing, for functions that take all elements.
inline nd::array without_missing_rows(const char *name, const nd::array &a) {
  return has_missing_rows(a->type) ? missing_rows(name, a).operand() : a;
}

/// The elements of `depth` dimensions, and whether they are there.
struct options {
  nd::array inside, valid;
};
options split_options(const char *name, const nd::array &a, int depth);
/// The reverse. What is missing already is so.
nd::array join_options(const nd::array &inside, const nd::array &valid);

/// Elementwise: calls `call` with operands whose rows are all there. False where none can be missing.
template <class Call>
bool in_missing_rows(const char *name, const call_operands &operands, int noutputs, ref<array_block> *results,
                     Call call) {
  if (!has_missing_rows({operands.block, size_t(operands.count)})) {
    return false;
  }
  std::vector<nd::array> arrays;
  for (int i = 0; i < operands.count; i++) {
    arrays.emplace_back(ref<array_block>::share(operands.block[i]));
  }
  missing_rows rows(name, arrays);
  std::vector<array_block *> blocks;
  for (int i = 0; i < operands.count; i++) {
    blocks.push_back(rows.block(i));
  }
  call(call_operands{blocks.data(), operands.count});
  for (int i = 0; i < noutputs && results[i]; i++) {
    results[i] = rows.restored(std::move(results[i]));
  }
  return true;
}

} // namespace dynd
