// The rows of an assignment, those inside of elements too: compared before anything is written, and given memory.
// `name` is what messages say: assign, astype.
#pragma once

#include <vector>

#include "dynd/array/rows.h"
#include "dynd/memory/pool.h"

namespace dynd {

/// Whether either side has rows to check, or the destination has pointers.
bool has_rows_to_check(const type_data *dst, const type_data *src);

/// Whether the sizes of the dimensions outside of the elements broadcast to those of the destination; a broadcast error
/// where they do not. Rows are not checked.
void check_sizes(const char *name, const array_block *dst, const array_block *src);

/// Compares the lengths of all rows, those inside of elements too, and looks for rows and pointers of the destination
/// that have no memory and can get none. What does not fit is an error that names the row.
void check_rows(const char *name, array_block *dst, array_block *src);

/// A row of the destination that was given memory: its slot, and the pool.
struct given_row {
  char *slot;
  row_pool *pool;
};

/// Rows of the destination, outside of its elements, that have no memory get it, and with it their lengths. After a
/// failure they are taken back.
class given_rows {
public:
  given_rows() = default;
  ~given_rows();
  given_rows(const given_rows &) = delete;
  given_rows &operator=(const given_rows &) = delete;

  void give(const char *name, array_block *dst, array_block *src);
  /// The values are there.
  void keep() { rows_.clear(); }

private:
  std::vector<given_row> rows_;
};

/// Whether an assignment between the two would read what it writes, judged by the addresses that the streams of both
/// may touch: different owners may lend the same memory. Where that is not known the answer is yes, and the price is a
/// copy.
bool may_write_to(const array_block &dst, const array_block &src);
/// Whether no two elements have the same place.
bool has_own_places(const array_block &block);

/// The sizes of an array of `type` that takes the values of `src`: strided dimensions have those of the source.
void sizes_like(const type_data *type, const array_block &src, intptr_t *size);

} // namespace dynd
