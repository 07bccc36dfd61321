// Rows of whole `var` dimensions that follow each other, and telling whether two arrays have the same rows.
#pragma once

#include "dynd/array/cursor.h"
#include "dynd/array/layout.h"

namespace dynd {

/// rows + 1 offsets, one after another: the rows of one `var` dimension of a whole array, as flat evaluation needs
/// them.
struct offsets_run {
  const char *address = nullptr; ///< null: the rows do not follow each other
  slot_kind kind = slot_kind::offsets64;
  intptr_t rows = 0;

  explicit operator bool() const { return address != nullptr; }
  int64_t operator[](intptr_t i) const {
    return kind == slot_kind::offsets32 ? reinterpret_cast<const int32_t *>(address)[i]
                                        : reinterpret_cast<const int64_t *>(address)[i];
  }
  int64_t first() const { return (*this)[0]; }
  int64_t last() const { return (*this)[rows]; }
  int64_t content() const { return last() - first(); }
  size_t bytes() const { return size_t(rows + 1) * size_t(slot_size(kind)); }
};

/// The one length of all rows; -1 where they differ. Without any row it is 0.
int64_t length_of_rows(const offsets_run &run);

/// The offsets as int64, `rows + 1` of them.
void widen(const offsets_run &run, int64_t *to);

/// The rows of the `var` dimension whose slots are stream s, over everything outside of it.
///   [[[1, 2], [3]], [[4]]], s = 1: offsets 0 2 3 4, 3 rows
offsets_run rows_of(const array_block &block, int s);

/// Whether the first `ndim` dimensions have so many places that a walk over them goes without the host's lock. Where
/// rows do not follow each other only a walk could tell: they count as many.
bool has_many_places(const array_block &block, int ndim);

/// The rows of numbers as compiled loops take them: the last dimension is the only `var` one, its offsets have 64 bits,
/// and the numbers are without gaps; values() is where offset 0 points.
offsets_run contiguous_rows(const array_block &block);

/// Whether two runs describe rows of the same lengths. Found once for two buffers of offsets and remembered there;
/// the owners are those of the slot streams.
bool same_row_lengths(const offsets_run &a, counted *a_owner, const offsets_run &b, counted *b_owner);

/// Whether two streams of slots are known to hold the same offsets: the same memory, or buffers for which the question
/// was answered before. The offsets are not read.
bool known_same_slots(const stream &a, const stream &b);

/// Whether the first `ndim` dimensions of two arrays have the same sizes and rows.
bool same_rows(const array_block &a, const array_block &b, int ndim);
/// The same without a look at the rows: whether it is known.
bool known_same_rows(const array_block &a, const array_block &b, int ndim);

} // namespace dynd
