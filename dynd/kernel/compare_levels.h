// What the levels of a comparison share. Private to dynd/kernel/compare*.cpp.
//
// A predicate is above a tree of levels along the types of both operands; numbers and texts are its leaves. No
// level has anything to release, so none has a destructor, and parents need not know whether a child was begun.
#pragma once

#include <algorithm>
#include <string_view>

#include "dynd/kernel/compare.h"
#include "dynd/kernel/level.h"
#include "dynd/ops/order.h"
#include "dynd/type/slots.h"

namespace dynd::compare {

// Every level returns an outcome (ops/order.h). Its function is a streams_strided_t that compares `count` pairs, one
// after another, and returns the outcome of the first pair that is not equal: a list's elements are one call. Where
// only equality is asked for, any other outcome may be `unordered`. Nothing in a comparison fails at run time.

/// Builds the levels for two operands at `offset`; returns where they end.
size_t build_levels(ckernel_builder &out, size_t offset, const kernel_operand &left, const kernel_operand &right,
                    comparison which);

/// The texts of one operand.
struct text_source {
  uint16_t stream;
  slot_kind kind;

  std::string_view read(const char *slot, const char *bytes) const {
    row_extent row = read_slot(slot, kind);
    return row.size ? std::string_view(bytes + row.start, size_t(row.size)) : std::string_view();
  }
};

inline int call_one(const ckernel_prefix *kernel, char *const *stream, dynd_frame *frame) {
  return call_strided(kernel, stream, no_stride, 1, frame);
}

inline const ckernel_prefix *child_at(const ckernel_prefix *self, size_t offset) {
  return reinterpret_cast<const ckernel_prefix *>(reinterpret_cast<const char *>(self) + offset);
}

/// Room for a level of `size` bytes at `offset`.
template <class Kernel> Kernel *begin(ckernel_builder &out, size_t offset, size_t size, streams_strided_t function) {
  out.ensure_capacity_leaf(offset + size);
  auto *k = out.get_at<Kernel>(offset);
  k->base.function = reinterpret_cast<void *>(function);
  return k;
}

/// The number of streams from the call's first up to the last of both parts.
inline uint32_t streams_up_to(const kernel_operand &left, const kernel_operand &right) {
  return uint32_t(std::max(left.stream() + left.type()->nstreams, right.stream() + right.type()->nstreams));
}

/// The same part, in a call in which its first stream is number `position`.
inline kernel_operand placed(const kernel_operand &operand, int position) {
  return {operand.part, operand.meta, position - operand.part.stream};
}

inline bool is_text(const type_data *t) { return t->kind == type_kind::string || t->kind == type_kind::bytes; }
inline bool is_number(const type_data *t) { return t->kind == type_kind::scalar || t->kind == type_kind::byteswap; }

} // namespace dynd::compare
