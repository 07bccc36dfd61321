// Rows of `var` dimensions: reading a slot, and telling whether two arrays have the same rows.
#pragma once

#include "dynd/array/layout.h"
#include "dynd/type/slots.h"

namespace dynd {

/// A row of a writable array that gets its memory, and with it its length, from the first assignment.
inline bool has_no_memory(const row_extent &row) { return row.start == -1 && row.size == 0; }

/// How far apart, in a stream of that stride, the elements are in which the rows' starts count.
inline intptr_t start_unit(intptr_t stride, int32_t step) { return step == 1 ? stride : stride / step; }

/// The streams of `part`, from where they stand for the dimension `dim` outside of it (at[0] is the part's first), to
/// element i of that dimension, of a row that begins at `start` where it has rows (of that step).
inline void move_streams(const array_block &block, const type_part &part, int dim, int64_t i, char *const *at,
                         char **inner, int64_t start = 0, int32_t step = 1) {
  for (int s = 0; s < part.type->nstreams; s++) {
    intptr_t stride = block.strides(part.stream + s)[dim];
    inner[s] = at[s] + start * start_unit(stride, step) + i * stride;
  }
}

/// One dimension of an array, entered from streams that stand at an element of what is outside: its length, and how the
/// streams move to its elements. Of a waiting array only the slots can be walked: all streams but the last.
class dimension_walk {
public:
  dimension_walk(const array_block &block, int axis, char *const *at)
      : dimension_walk(block, axis, at, block.nstreams) {}
  dimension_walk(const array_block &block, int axis, char *const *at, int nstreams)
      : block_(block), axis_(axis), nstreams_(nstreams), at_(at) {
    row_ = {0, block.size()[axis]};
    if (row_.size < 0) {
      slots_ = 0;
      for (int d = 0; d < axis; d++) {
        slots_ += block.size()[d] < 0;
      }
      row_ = read_slot(at[slots_], block.streams()[slots_].kind);
      step_ = block.streams()[slots_].step;
    }
  }
  int64_t size() const { return row_.size; }
  /// Where the streams stand at element i; those above the rows' own slots stay.
  void enter(int64_t i, char **inner) const {
    for (int s = 0; s < nstreams_; s++) {
      intptr_t stride = block_.strides(s)[axis_];
      inner[s] = s > slots_ ? at_[s] + row_.start * start_unit(stride, step_) + i * stride : at_[s];
    }
  }

private:
  const array_block &block_;
  int axis_, nstreams_;
  char *const *at_;
  row_extent row_;
  int slots_ = -1; // the stream of its slots, if it has rows
  int32_t step_ = 1;
};

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
  /// The last row that begins at or before the place `at` of the content; -1 where none does.
  intptr_t row_of(int64_t at) const;
  size_t bytes() const { return size_t(rows + 1) * size_t(slot_size(kind)); }
};

/// The offsets as int64, `rows + 1` of them.
void widen(const offsets_run &run, int64_t *to);

/// The rows of the `var` dimension whose slots are stream s, over everything outside of it.
///   [[[1, 2], [3]], [[4]]], s = 1: offsets 0 2 3 4, 3 rows
offsets_run rows_of(const array_block &block, int s);

/// Whether two runs describe rows of the same lengths. Found once for two buffers of offsets and remembered there;
/// the owners are those of the slot streams.
bool same_row_lengths(const offsets_run &a, counted *a_owner, const offsets_run &b, counted *b_owner);

/// Whether two streams of slots are known to hold the same offsets: the same memory, or buffers for which the question
/// was answered before. Looks at nothing else.
bool known_same_slots(const stream &a, const stream &b);

} // namespace dynd
