#include "dynd/call/innermost_axis.h"

#include <tuple>

#include "dynd/call/structure.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/move_axis.h"

namespace dynd::nd {

innermost_axis::innermost_axis(const char *name, const array &a, std::optional<int> along)
    : own(along ? a : flatten(a)), axis(checked_axis(name, own, along.value_or(0))) {
  int last = own.ndim() - 1;
  if (axis < last && can_move_axis(own, axis, last)) {
    moved = compact(with_axis_moved(own, axis, last), last);
    return;
  }
  own = moved = compact(own, last);
  if (axis < last) {
    std::tie(moved, order_) = move_axis(name, own, axis, last);
  }
}

array innermost_axis::restored(const char *name, const array &list) const {
  if (own.get() == moved.get()) {
    return assemble(own, own.ndim(), {}, list);
  }
  if (!order_) {
    return with_axis_moved(assemble(moved, moved.ndim(), {}, list), own.ndim() - 1, axis);
  }
  place_buffer back(order_->size());
  in_pieces(name, back.size(), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      back.fill()[(*order_)[i]] = i;
    }
  });
  return assemble(own, own.ndim(), {}, gather(name, list, back));
}

array with_axis_last(const char *name, const array &a, int axis) {
  int own = checked_axis(name, a, axis);
  int last = a.ndim() - 1;
  return own == last                   ? a
         : can_move_axis(a, own, last) ? with_axis_moved(a, own, last)
                                       : innermost_axis(name, a, own).moved;
}

} // namespace dynd::nd
