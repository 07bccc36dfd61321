// Cutting work into pieces for threads, and to stop in between. Results do not depend on where the cuts are.
// Pieces are computed when asked for: nothing is stored, any thread may ask for any piece.
#pragma once

#include <cstdint>

namespace dynd {

struct piece {
  intptr_t begin;
  intptr_t end;
  intptr_t size() const { return end - begin; }
  bool operator==(const piece &) const = default;
};

/// Pieces of equal size for work that is flat: unit * 2^k elements, the most that is not above `target` (but at least
/// one unit); the last one has what remains. With the unit of 64, the block of a summation, a cut is where the order of
/// summation allows one. Unit 1 is for cutting an outer loop, with a target in rows.
///   1000 elements, target 300 -> [0, 256) [256, 512) [512, 768) [768, 1000)     0 elements -> no pieces
class even_pieces {
public:
  even_pieces(intptr_t count, intptr_t target, intptr_t unit = 64);
  intptr_t count() const { return total_ / size_ + (total_ % size_ != 0); }
  intptr_t piece_size() const { return size_; }
  piece operator[](intptr_t i) const {
    intptr_t begin = i * size_;
    return {begin, total_ - begin < size_ ? total_ : begin + size_};
  }

private:
  intptr_t total_;
  intptr_t size_;
};

/// What a row costs beside its elements, in elements: a million empty rows are work too.
inline constexpr intptr_t row_cost = 8;

/// As many pieces as there may be for each row: a row that a view repeats may have any length.
inline constexpr intptr_t most_of_row = 16;

/// Rows cut so that pieces have about equal content, found by binary search in the row_count + 1 offsets, which rise
/// and may start anywhere. There are ceil(weight / target) pieces, where weight is elements + row_cost * rows, but at
/// most `most_of_row` for each row; every row is in exactly one, and none is above its share by more than one row.
/// Pieces that a long row covers are empty.
///   row lengths 1, 1, 100, 1, 1, target 50, row_cost 0 (104, so 3 pieces) -> rows [0, 3) [3, 3) [3, 5)
class content_pieces {
public:
  content_pieces(const int64_t *offsets, intptr_t row_count, intptr_t target, intptr_t cost = row_cost);
  intptr_t count() const { return count_; }
  piece operator[](intptr_t i) const { return {boundary(i), boundary(i + 1)}; }

private:
  intptr_t weight_before(intptr_t row) const;
  intptr_t boundary(intptr_t i) const;

  const int64_t *offsets_;
  intptr_t row_count_;
  intptr_t cost_;
  intptr_t count_;
};

} // namespace dynd
