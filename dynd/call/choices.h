// Choices of elements of rows, numbered: which elements the records of combinations and products are made of. A
// choice's members are computed from its number when they are wanted; none is stored.
#pragma once

#include <span>
#include <vector>

#include "dynd/array/array.h"
#include "dynd/eval/nested.h"
#include "dynd/ops/choice_rows.h"

namespace dynd::nd {

/// A field of records that are made of choices: a member's elements, which are in a list.
struct record_field {
  array list;
  int member;
};

class choices : public counted {
public:
  static constexpr int most_members = 64; ///< of combinations
  /// Choices of n elements of each row, most_members at most, in their order; with `replacement` also of the same
  /// element several times.
  static ref<choices> combined(const char *name, const row_offsets &rows, int n, bool replacement);
  /// Choices of one element of a row of each, the last one's changing first.
  static ref<choices> product(const char *name, std::span<const row_offsets> rows);

  /// Where each row's choices begin.
  const row_offsets &counts() const { return counts_; }
  int members() const { return members_; }

  /// Where a member's elements are, of `count` choices from number `first` on: in the member's list, or in their rows.
  void places(int member, int64_t first, int64_t count, int64_t *to, bool in_rows = false) const;
  /// The same elements themselves, of lists of numbers with items of that size: most_fields at most, at once.
  template <size_t Item>
  void take(std::span<const record_field> fields, int64_t first, int64_t count, char *const *to) const;

private:
  choices(std::span<const row_offsets> rows, int members);
  template <class Count> void count_rows(const char *name, Count count);
  intptr_t row_of(int64_t number) const;
  const row_offsets &rows_of(int member) const { return rows_[is_product_ ? size_t(member) : 0]; }
  void product_places(int member, intptr_t row, int64_t first, int64_t count, int64_t *to, int64_t begin) const;
  void combined_places(int member, intptr_t row, int64_t first, int64_t count, int64_t *to, int64_t begin) const;
  void row_places(int member, intptr_t row, int64_t first, int64_t count, int64_t *to, int64_t begin) const;
  template <size_t Item>
  void take_one(const record_field &field, intptr_t row, int64_t skipped, int64_t count, char *to) const;
  intptr_t count_far_rows() const;
  choice_rows patterns_of(std::span<const record_field> fields) const;

  std::vector<row_offsets> rows_; ///< of each member of a product; of combinations those of all
  row_offsets counts_;
  intptr_t far_rows_ = 0; ///< after each of them, the lists have more elements than a pattern
  int members_;
  bool is_product_ = false, replacement_ = false;
};

} // namespace dynd::nd
