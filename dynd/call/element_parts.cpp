#include "dynd/call/element_parts.h"

#include <utility>

namespace dynd::nd {

void element_parts::add_up() {
  intptr_t blocks = (elements_ + block - 1) / block;
  int64_t before = 0;
  for (intptr_t part = 0; part < parts; part++) {
    begin_.push_back(before);
    for (intptr_t b = 0; b < blocks; b++) {
      before += std::exchange(next_[b * parts + part], before);
    }
  }
  begin_.push_back(before);
}

std::vector<int64_t> element_parts::from(intptr_t element) const {
  if (element >= elements_) {
    return {begin_.begin() + 1, begin_.end()};
  }
  intptr_t b = element / block;
  std::vector<int64_t> found(next_.data() + b * parts, next_.data() + (b + 1) * parts);
  for (intptr_t i = b * block; i < element; i++) {
    found[part_[i]]++;
  }
  return found;
}

} // namespace dynd::nd
