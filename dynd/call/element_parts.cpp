#include "dynd/call/element_parts.h"

#include <algorithm>
#include <utility>

namespace dynd::nd {

void element_parts::add_up() {
  std::vector<int64_t> next(parts);
  for (intptr_t b = 0; b < blocks(); b++) { // block by block: those of one part are far from each other
    for (intptr_t part = 0; part < parts; part++) {
      next[size_t(part)] += next_[b * parts + part];
    }
  }
  begin_.push_back(0);
  for (int64_t &count : next) {
    begin_.push_back(begin_.back() + count);
    count = begin_[begin_.size() - 2];
  }
  for (intptr_t b = 0; b < blocks(); b++) {
    for (intptr_t part = 0; part < parts; part++) {
      next[size_t(part)] += std::exchange(next_[b * parts + part], next[size_t(part)]);
    }
  }
  std::copy(next.begin(), next.end(), next_.data() + blocks() * parts);
}

std::vector<int64_t> element_parts::from(intptr_t element) const {
  intptr_t b = element / block;
  std::vector<int64_t> found(next_.data() + b * parts, next_.data() + (b + 1) * parts);
  for (intptr_t i = b * block; i < element; i++) {
    found[part_[i]]++;
  }
  return found;
}

} // namespace dynd::nd
