// Rows of `var` dimensions: reading a slot, and telling whether two arrays have the same rows.
#pragma once

#include "dynd/array/layout.h"

namespace dynd {

struct row_extent {
  int64_t start, size;
};

inline row_extent read_slot(const char *slot, slot_kind kind) {
  const int64_t *words = reinterpret_cast<const int64_t *>(slot);
  return kind == slot_kind::offsets64 ? row_extent{words[0], words[1] - words[0]} : row_extent{words[0], words[1]};
}

/// The streams of `part`, from where they stand for the dimension `dim` outside of it (at[0] is the part's first), to
/// element i of that dimension.
inline void move_streams(const array_block &block, const type_part &part, int dim, int64_t i, char *const *at,
                         char **inner) {
  for (int s = 0; s < part.type->nstreams; s++) {
    inner[s] = at[s] + i * block.strides(part.stream + s)[dim];
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
    }
  }
  int64_t size() const { return row_.size; }
  /// Where the streams stand at element i; those above the rows' own slots stay.
  void enter(int64_t i, char **inner) const {
    for (int s = 0; s < nstreams_; s++) {
      inner[s] = at_[s] + (s > slots_ ? row_.start + i : 0) * block_.strides(s)[axis_];
    }
  }

private:
  const array_block &block_;
  int axis_, nstreams_;
  char *const *at_;
  row_extent row_;
  int slots_ = -1; // the stream of its slots, if it has rows
};

/// rows + 1 offsets, one after another: the rows of one `var` dimension of a whole array, as flat evaluation needs
/// them.
struct offsets_run {
  const int64_t *offsets = nullptr; ///< null: the rows do not follow each other
  intptr_t rows = 0;
  int64_t content() const { return offsets[rows] - offsets[0]; }
};

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
