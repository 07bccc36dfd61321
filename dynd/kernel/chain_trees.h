// Sums of many rows side by side, each with its own part of the pairwise tree (tree_window, ops/loops.h): nothing is
// transposed but the few nodes that are left. Private to dynd/kernel/chain*.cpp.
#pragma once

#include "dynd/kernel/chain_kernel.h"

namespace dynd::chain {

class tree_sums {
public:
  tree_sums(const reduce_functions &functions, int log2, char *memory, size_t row);

  /// Whether rows of this length go this way, where the loop has so many. Of few rows the windows would be small.
  static bool takes(int log2, size_t row, size_t rows);
  /// How many rows at once, of so many; their scratch.
  static size_t rows_at_once(int log2, size_t row, size_t rows);
  static size_t bytes(int log2, size_t row, size_t rows);

  /// Row 0 is at `x` and begins at the element `begin` of the logical row, a multiple of the lanes. `tail`: the lanes
  /// of the elements before it that are in the same block. The blocks that end in the rows are pushed.
  void run(const char *x, intptr_t stride, size_t begin, size_t rows, const char *tail, row_lanes &lanes);

private:
  size_t lane_count() const { return size_t(64) >> log2_; }
  size_t block(size_t r) const { return (begin_ + r * row_) / batch; } // the first that ends in the row
  char *at(char *numbers, size_t lane, size_t r) const { return numbers + ((lane * rows_ + r) << log2_); }
  void start(size_t begin, size_t rows);
  template <class Function> void for_runs(size_t column, Function function);
  void push(char *numbers, size_t r, int level, row_lanes &lanes) const;
  void push_rows(row_lanes &lanes) const;

  const reduce_functions &functions_;
  int log2_;
  size_t row_, begin_ = 0, rows_ = 0;
  const char *x_ = nullptr;
  intptr_t stride_ = 0;
  char *memory_;
  tree_window all_{};
};

} // namespace dynd::chain
