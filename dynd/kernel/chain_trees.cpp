#include "dynd/kernel/chain_trees.h"

#include <bit>

namespace dynd::chain {

namespace {

// Columns of fewer bytes are not taken: a strip_sums is as fast or faster; if all blocks are whole, up to more of them.
// The scratch stays in the L3.
constexpr size_t least_bytes = 4096, least_whole_bytes = 16384, most_scratch = size_t(4) << 20;
constexpr size_t most_row = size_t(1) << 30; // numbers are of 32 bits

int levels_of(size_t row) { return std::bit_width(row / batch) - 1; }
size_t lines_of(size_t row) { return 1 + 2 * size_t(levels_of(row)) + (row / batch >> levels_of(row)) + 1; }
size_t pitch_of(size_t rows) { return 64 * rows + 9 * 64; } // not all in the same sets of the cache

} // namespace

bool tree_sums::takes(int log2, size_t row, size_t rows) {
  return row % (size_t(64) >> log2) == 0 && row >= 2 * batch && row < most_row &&
         rows << log2 >= (row % batch == 0 ? least_whole_bytes : least_bytes);
}

size_t tree_sums::rows_at_once(int log2, size_t row, size_t rows) {
  size_t most = most_scratch / (lines_of(row) * 64 + (256 >> log2)), parts = (rows + most - 1) / most;
  return std::min(rows, ((rows + parts - 1) / parts + 63) / 64 * 64);
}

size_t tree_sums::bytes(int log2, size_t row, size_t rows) {
  return 64 + lines_of(row) * pitch_of(rows) + (rows * 256 >> log2) + 64;
}

tree_sums::tree_sums(const reduce_functions &functions, int log2, char *memory, size_t row)
    : functions_(functions), log2_(log2), row_(row), memory_(memory) {
  all_.levels = levels_of(row);
  all_.length = row;
}

void tree_sums::start(size_t begin, size_t rows) {
  begin_ = begin;
  rows_ = rows;
  all_.open = memory_ + 64; // one number before it is read
  all_.pitch = pitch_of(rows);
  all_.unit = std::min(batch, (begin | row_) & -(begin | row_));
  auto *first = reinterpret_cast<int32_t *>(all_.open + lines_of(row_) * all_.pitch);
  all_.first = first;
  for (size_t r = 0, number = begin; r < rows; r++, number += row_) {
    first[r] = int32_t(number & ((batch << all_.levels) - 1));
  }
  for (size_t l = 1; l < lane_count(); l++) {
    std::copy_n(first, rows, first + l * rows);
  }
}

// Columns that follow each other are one run of all lanes.
template <class Function> void tree_sums::for_runs(size_t column, Function function) {
  tree_window w = all_;
  w.column = column;
  w.x = x_ + intptr_t(column) * stride_;
  w.jump = intptr_t(lane_count()) * stride_;
  bool follow = stride_ == intptr_t(rows_ << log2_);
  size_t runs = follow ? 1 : lane_count();
  w.count = lane_count() * rows_ / runs;
  for (size_t l = 0; l < runs; l++) {
    function(w);
    w.x += stride_;
    w.first += rows_;
    w.open += rows_ << log2_;
  }
}

void tree_sums::run(const char *x, intptr_t stride, size_t begin, size_t rows, const char *tail, row_lanes &lanes) {
  x_ = x;
  stride_ = stride;
  start(begin, rows);
  const tree_functions &trees = functions_.trees;
  if (all_.unit != batch) {
    for_runs(row_ - batch, trees.tails);
    for (size_t l = 0; l < lane_count(); l++) {
      std::memcpy(at(all_.open, l, 0), tail + (l << log2_), size_t(1) << log2_);
    }
  }
  size_t end = row_ / batch * batch;
  for (size_t column = 0; column < end; column += batch) {
    for_runs(column, trees.window);
  }
  for_runs(end, trees.rest);
  for_runs(0, trees.join);
  push_rows(lanes);
}

void tree_sums::push(char *numbers, size_t r, int level, row_lanes &lanes) const {
  alignas(64) char node[64];
  auto gather = [&]<class Word>(Word) {
    for (size_t l = 0; l < lane_count(); l++) {
      std::memcpy(node + l * sizeof(Word), at(numbers, l, r), sizeof(Word));
    }
  };
  log2_ == 3 ? gather(int64_t()) : gather(int32_t());
  lanes.push_lanes(0, node, size_t(1) << level);
}

// Before row 0 nothing waits here: its heads are pushed as they are. Nor is there a row after the last one.
void tree_sums::push_rows(row_lanes &lanes) const {
  int levels = all_.levels;
  for (int k = 0; k < levels; k++) {
    if ((block(0) + (size_t(1) << k) - 1) >> k & 1) {
      push(all_.head(k), 0, k, lanes);
    }
  }
  for (size_t r = 0; r < rows_; r++) {
    bool inside = r == 0 && block(0) % (size_t(1) << levels) != 0;
    for (size_t u = inside, n = (block(r + 1) >> levels) - (block(r) >> levels); u < n; u++) {
      push(all_.top(u), r, levels, lanes);
    }
  }
  for (int k = levels - 1; k >= 0; k--) {
    if (block(rows_) >> k & 1) {
      push(all_.wait(k), rows_ - 1, k, lanes);
    }
  }
}

} // namespace dynd::chain
