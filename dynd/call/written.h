// New arrays of numbers that are written by assignments to views of them: the parts of a result where everything has
// one size. The engine then does the rest, whatever the layout of what is assigned. Private to dynd/call/.
#pragma once

#include <span>

#include "dynd/array/view_parts.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/space.h"

namespace dynd::nd {

/// Whether it has no rows and its elements are numbers, which may be missing.
inline bool has_numbers_of_one_size(const array &a) {
  element_kind kind;
  return a->type->var_count == 0 && find_element_kind(a->type->dtype, kind) && !kind.swapped;
}

class written_numbers {
public:
  written_numbers(ndt::type element, std::span<const intptr_t> size, const axis_order &order = {}) {
    space shape;
    shape.ndim = int(size.size());
    std::copy(size.begin(), size.end(), shape.size);
    all_ = array(new_result(shape, element, false, order));
    all_->access = access_mode::readwrite;
  }
  const array &all() const { return all_; }
  void write(const array &view, const array &from) { assign(view.get(), from.get()); }
  /// All is written.
  array finish() {
    all_->access = access_mode::immutable;
    return all_;
  }

private:
  array all_;
};

} // namespace dynd::nd
