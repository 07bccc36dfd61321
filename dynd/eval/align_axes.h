// Copies of operands for reductions along axes outside of rows of any length: align="left".
#pragma once

#include <vector>

#include "dynd/base/interpreter.h"
#include "dynd/eval/reduce.h"

namespace dynd {

/// At each place of the axes that stay, what the rows have that reach it, in C order of the reduced axes, as a row:
/// [[1, 2, 3], [], [4, 5]] along axis 0 is [[1, 4], [2, 5], [3]].
class aligned_rows {
public:
  aligned_rows(const char *name, array_block *operand, const axis_set &axes);

  /// The rows of an array that broadcasts to the operand.
  ref<array_block> rows_of(array_block *block) const;
  /// Positions within these rows as positions within those of the operand: of [[1, 4], [2, 5], [3]] the 4 is at 1, and
  /// of [1, [], 4] at 2. The values are changed.
  void restore_positions(array_block *positions) const;

private:
  struct axis_rows { // what is below a place of the axes outside
    intptr_t size = -1;
    offsets_run run; // where size is -1

    int64_t first(int64_t place) const { return size < 0 ? run[place] - run.first() : place * size; }
    int64_t length(int64_t place) const { return size < 0 ? run[place + 1] - run[place] : size; }
  };
  struct element { // an element of the operand, or a row below one
    int64_t place, position;
  };
  using elements = std::vector<element>;

  void append(elements &to, const elements &from);
  void visit(int axis, const elements &found);
  void visit_reduced(int axis, const elements &found);
  void visit_kept(int axis, const elements &found);

  const char *name_;
  const axis_set &axes_;
  space operand_shape_, shape_; // of the operand, with its rows one after another; of the rows here
  int64_t origin_ = 0;          // the first element of the operand's shape
  std::vector<axis_rows> below_;
  std::vector<std::vector<int64_t>> offsets_; // of each axis that stays, then of the rows
  elements found_;
  interruptible_walk walk_;
};

} // namespace dynd
