// Sums of rows side by side: the elements of an ordered walk's row as they are in memory, while each row is its own
// part of the logical row (strip_window, ops/loops.h). Private to dynd/kernel/chain*.cpp.
#pragma once

#include "dynd/kernel/chain_kernel.h"

namespace dynd::chain {

// The lanes of some following blocks of a logical row, from any block on: nodes of the pairwise tree as long as their
// halves are not both there. They go to a row_lanes when it has come to the first of them.
class row_segment {
public:
  row_segment(char *memory, size_t entries)
      : lanes_(memory), weight_(reinterpret_cast<size_t *>(memory + 64 * entries)) {}

  /// Of a segment that has `depth` nodes, before the block `end`: the lanes at top() are of `blocks` more, of which
  /// there is a node.
  char *top(size_t depth) { return lanes_ + 64 * depth; }
  void push(const reduce_functions &functions, size_t &depth, size_t blocks, size_t end) {
    weight_[depth++] = blocks;
    for (; depth > 1 && weight_[depth - 1] == weight_[depth - 2] && end % (2 * weight_[depth - 1]) == 0; depth--) {
      functions.combine(top(depth - 2), top(depth - 2), top(depth - 1), 1);
      weight_[depth - 2] *= 2;
    }
  }
  size_t weight(size_t i) const { return weight_[i]; }

private:
  char *lanes_;
  size_t *weight_;
};

/// Whether the chain is nothing but the sum of its source, of a type whose sums have such loops.
bool sums_windows(const chain_kernel *k);
/// The scratch of a strip_sums, for rows of so many elements.
size_t strip_sums_bytes(int log2, size_t row);

// Where the columns of a strip's rows are: a nest of loops, the last one innermost.
struct row_columns {
  const char *first; // of row 0
  int nloops;
  intptr_t size[max_loops], stride[max_loops];

  const char *address(size_t column) const;
  /// n of them, from one on.
  void addresses(size_t column, size_t n, const char **to) const;
};

// The rows of one strip after another. What is left of a row's last block goes to the next row.
class strip_sums {
public:
  strip_sums(const reduce_functions &functions, int log2, char *memory, size_t row);

  /// Rows as few as this are not taken.
  size_t fewest_rows() const { return 16 >> log2_; }
  /// Row 0 begins at the element `begin` of the logical row. `follows`: it continues the last one of the strip before;
  /// else the blocks are pushed from the first on that begins in it.
  void run(const row_columns &columns, size_t begin, size_t rows, bool follows, row_lanes &lanes);

private:
  size_t lane_count() const { return size_t(64) >> log2_; }
  size_t phase(size_t r, size_t position) const { return (offset(r) + position) >> (6 - log2_); }
  size_t offset(size_t r) const { return (begin_ + r * row_) % batch; }
  size_t first_block(size_t r) const { return (begin_ + r * row_ + batch - 1) / batch; }
  size_t end_block(size_t r) const { return (begin_ + (r + 1) * row_) / batch; }
  // In which window a block of the row is finished.
  size_t window_of(size_t r, size_t block) const { return block - first_block(r) + (offset(r) != 0); }
  row_segment segment(size_t r) const { return {segments_ + r * segment_bytes(entries_), entries_}; }
  char *open(int half, size_t position) const { return open_[half] + position * line_; }

  void start();
  template <class Word> void fill_phases();
  size_t run_few(const row_columns &columns);
  void run_window(const row_columns &columns, size_t number);
  void push_blocks(size_t window);
  template <class Word> void keep_open();
  void pass_on(bool follows);
  void push_row(size_t r, row_lanes &lanes, bool boundary);

  const reduce_functions &functions_;
  int log2_;
  size_t row_, entries_, line_;
  char *open_[2], *phase_, *identity_, *slots_, *segments_;
  size_t begin_ = 0, rows_ = 0;
  int half_ = 0;                                           // of the lines that are open
  alignas(64) char passed_[64];                            // what the last row left open, by position
  size_t depth_[most_window_rows], due_[most_window_rows]; // of each row; due: the window after which nodes are made
};

} // namespace dynd::chain
