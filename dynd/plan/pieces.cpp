#include "dynd/plan/pieces.h"

#include <algorithm>

namespace dynd {

even_pieces::even_pieces(intptr_t count, intptr_t target, intptr_t unit) : total_(count), size_(unit) {
  while (size_ <= target / 2)
    size_ *= 2;
}

content_pieces::content_pieces(const int64_t *offsets, intptr_t row_count, intptr_t target, intptr_t cost)
    : offsets_(offsets), row_count_(row_count), cost_(cost), count_(0) {
  if (row_count == 0)
    return;
  intptr_t wanted = std::max<intptr_t>(target, 1);
  intptr_t weight = weight_before(row_count);
  count_ = std::clamp<intptr_t>(weight / wanted + (weight % wanted != 0), 1, most_of_row * row_count);
}

intptr_t content_pieces::weight_before(intptr_t row) const { return offsets_[row] - offsets_[0] + cost_ * row; }

/// The first row that has at least i shares of the weight before it.
intptr_t content_pieces::boundary(intptr_t i) const {
  if (i == 0)
    return 0;
  if (i == count_)
    return row_count_; // and with it the empty rows at the end, which weigh nothing if cost is zero
  intptr_t weight = weight_before(row_count_);
  intptr_t before = weight / count_ * i + std::min(i, weight % count_);
  // Rows are about alike in most arrays: the search begins where it then would be, and reads few lines of memory.
  auto guess = intptr_t(double(before) / double(weight) * double(row_count_));
  intptr_t low = 0, high = row_count_;
  for (intptr_t step = 512; step < row_count_; step *= 8) {
    intptr_t left = std::max<intptr_t>(guess - step, 0), right = std::min(guess + step, row_count_);
    if ((left == 0 || weight_before(left) < before) && weight_before(right) >= before) {
      low = left;
      high = right;
      break;
    }
  }
  while (low < high) {
    intptr_t middle = low + (high - low) / 2;
    if (weight_before(middle) < before)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

} // namespace dynd
