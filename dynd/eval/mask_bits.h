// A mask as bits, counted: where those are that are set, and what of a list they keep.
#pragma once

#include "dynd/array/array.h"
#include "dynd/eval/nested.h"

namespace dynd {

class mask_bits {
public:
  /// Of `count` bytes: where those are that are not 0.
  mask_bits(const char *name, const char *mask, intptr_t count);
  /// Of count / 64 + 1 words; bits from `count` on are 0.
  mask_bits(const char *name, place_buffer words, intptr_t count);

  int64_t kept() const { return before_.total(); }
  /// Rows of the masked list, as rows of what is kept.
  row_offsets rows(const char *name, const row_offsets &rows) const;
  /// The places that are kept.
  place_buffer positions(const char *name) const;

private:
  friend nd::array gather_masked(const char *name, const nd::array &list, const mask_bits &mask);
  const uint64_t *words() const { return reinterpret_cast<const uint64_t *>(words_.data()); }
  int64_t before(intptr_t word) const { return before_.at[word]; }
  template <class F> void in_words(const char *name, F f) const;

  place_buffer words_;
  new_offsets before_{0};
};

/// The elements of a list that a mask of its length keeps.
nd::array gather_masked(const char *name, const nd::array &list, const mask_bits &mask);

} // namespace dynd
