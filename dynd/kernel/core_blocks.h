// The core blocks of a batch of outer elements: those that are not as the kernel wants them are brought into scratch,
// and rows that the kernel makes get their memory.
//
//   {x: int8, y: float64}, two columns in memory, as one struct of C      fields together, aligned
//   3 * 4 * float64 in C order, for a kernel that wants F order           element [i][j] at (i + j * 3) * 8
//
// Private to dynd/kernel/core.cpp and those who make its level.
#pragma once

#include <memory>
#include <vector>

#include "dynd/kernel/core.h"

namespace dynd {

inline constexpr size_t core_batch = 256; // outer elements whose slots are read at once
inline constexpr size_t packed_bytes =
    64 * 1024; // of blocks that are brought into scratch at once, if they are smaller

/// What one call of a kernel gets.
struct core_arguments {
  char *data[max_core_operands];
  intptr_t stride[max_core_operands];
  const int64_t *row[max_core_operands];
  const int64_t *dim[max_core_sizes];
  intptr_t dim_step[max_core_sizes];
  int64_t *made[max_core_operands];

  intptr_t size(int s, size_t i) const { return intptr_t(dim[s][intptr_t(i) * dim_step[s]]); }
};

/// The blocks of a batch in scratch, as long as the kernel is called.
class packed_blocks {
public:
  packed_blocks(const std::vector<packed_operand> &all, char *const *stream, const intptr_t *stride, char *scratch)
      : all_(all), stream_(stream), stride_(stride), scratch_(scratch) {}

  /// Copies what is read of the outer elements from `begin` on, at most `n` of them, and says in `at` where it is;
  /// `tables` has room for the rows of each operand. Returns how many elements it has taken; 0 where there is no
  /// memory.
  size_t take(core_arguments &at, size_t begin, size_t n, int64_t *tables);
  /// Copies what was written back.
  void give_back(const core_arguments &at) const;

private:
  bool is_once(const packed_operand &p) const; // the same block for all outer elements
  // `bytes`: those of all blocks of each operand.
  size_t count_that_fits(const core_arguments &at, size_t n, size_t *bytes) const;
  char *room(size_t bytes);
  void copy(const packed_operand &p, const core_arguments &at, bool back) const;
  void copy_block(const packed_operand &p, const core_arguments &at, size_t i, char *packed, bool back) const;
  void copy_all(const packed_operand &p, const core_arguments &at, char *packed, bool back) const;

  const std::vector<packed_operand> &all_;
  char *const *stream_;
  const intptr_t *stride_;
  char *scratch_;
  size_t begin_ = 0, taken_ = 0;
  std::unique_ptr<char[]> large_; // for blocks that are larger than scratch
  size_t large_size_ = 0;
};

} // namespace dynd
