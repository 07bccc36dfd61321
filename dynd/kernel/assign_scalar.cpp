// The leaf of assignment for scalars. A chain of one step would do the same; making one costs as much as a whole small
// assignment, and a call three times as much: rows inside of elements are short.
#include <algorithm>
#include <new>

#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/level.h"
#include "dynd/kernel/program.h"
#include "dynd/ops/refusal.h"

namespace dynd {

namespace {

constexpr size_t batch = 128; // elements that are gathered at once

struct convert_leaf {
  ckernel_prefix base;
  batch_fn convert;
  uint16_t dst, src;
  scalar_id to, from;
};

int convert_contiguous(const convert_leaf *k, char *dst, const char *src, size_t n, dynd_frame *frame) {
  if (k->convert(dst, src, nullptr, nullptr, n, nullptr) == 0) [[likely]] {
    return dynd_ok;
  }
  size_t item = scalar_size[size_t(k->from)], first = 0;
  alignas(16) char value[max_scalar_size];
  while (first + 1 < n && k->convert(value, src + first * item, nullptr, nullptr, 1, nullptr) == 0) {
    first++;
  }
  fail_element(frame, first);
  try {
    refusal why = why_refused(k->to, k->from, src + first * item);
    return report(frame, int(why.kind), "%s", why.text.c_str());
  } catch (const std::bad_alloc &) {
    return report(frame, dynd_error_memory, "no memory to say which value was refused");
  }
}

// Elements that are not contiguous: gathered and scattered. Not inline, so that `convert` does not pay for the buffers.
[[gnu::noinline]] int convert_strided(const convert_leaf *k, char *dst, intptr_t dst_stride, const char *src,
                                      intptr_t src_stride, size_t count, dynd_frame *frame) {
  const fetch_functions &to = isa().fetch(log2_size(k->to)), &from = isa().fetch(log2_size(k->from));
  alignas(64) char gathered[batch * max_scalar_size + 64], converted[batch * max_scalar_size + 64];
  for (size_t done = 0; done < count; done += batch) {
    size_t n = std::min(batch, count - done);
    from.load_strided(gathered, src + intptr_t(done) * src_stride, src_stride, n);
    if (int status = convert_contiguous(k, converted, gathered, n, frame)) {
      add_to_failed_index(frame, done);
      return status;
    }
    to.store_strided(dst + intptr_t(done) * dst_stride, dst_stride, converted, n);
  }
  return dynd_ok;
}

int convert(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const convert_leaf *>(self);
  intptr_t dst_stride = stride[k->dst], src_stride = stride[k->src];
  bool contiguous = dst_stride == scalar_size[size_t(k->to)] && src_stride == scalar_size[size_t(k->from)];
  return contiguous || count == 1
             ? convert_contiguous(k, stream[k->dst], stream[k->src], count, frame)
             : convert_strided(k, stream[k->dst], dst_stride, stream[k->src], src_stride, count, frame);
}

} // namespace

size_t make_convert_leaf(ckernel_builder &out, size_t offset, const kernel_operand &dst, const kernel_operand &src,
                         error_mode mode) {
  out.ensure_capacity_leaf(offset + sizeof(convert_leaf));
  auto *k = out.get_at<convert_leaf>(offset);
  k->to = dst.part.scalar();
  k->from = src.part.scalar();
  k->convert = isa().convert_checked(mode, k->to, k->from);
  k->dst = uint16_t(dst.stream());
  k->src = uint16_t(src.stream());
  k->base.set_function(convert);
  return offset + sizeof(convert_leaf);
}

} // namespace dynd
