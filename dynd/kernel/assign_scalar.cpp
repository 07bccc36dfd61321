// The leaf of assignment for scalars.
#include <algorithm>
#include <cstring>
#include <new>

#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/level.h"
#include "dynd/ops/refusal.h"

namespace dynd {

namespace {

constexpr size_t batch = 128; // elements that are gathered at once

int log2_size(size_t item) { return __builtin_ctzl(item); }

// ---- convert ------------------------------------------------------------------------------------------------------

struct convert_leaf {
  ckernel_prefix base;
  batch_fn convert;
  uint16_t dst, src;
  scalar_id to, from;
};

// One batch, at most 512 elements. It is written whole or not at all; then the status says why.
int convert_batch(const convert_leaf *k, char *dst, const char *src, size_t n, dynd_frame *frame) {
  if (k->convert(dst, src, nullptr, nullptr, n, nullptr) == 0) [[likely]] {
    return dynd_ok;
  }
  size_t item = scalar_size[size_t(k->from)], first = 0;
  alignas(16) char value[16];
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
  size_t to = scalar_size[size_t(k->to)], from = scalar_size[size_t(k->from)];
  const isa_table &functions = isa();
  alignas(64) char gathered[batch * 16 + 64], converted[batch * 16 + 64];
  for (size_t done = 0; done < count; done += batch) {
    size_t n = std::min(batch, count - done);
    functions.fetch(log2_size(from)).load_strided(gathered, src + intptr_t(done) * src_stride, src_stride, n);
    if (int status = convert_batch(k, converted, gathered, n, frame)) {
      add_to_failed_index(frame, done);
      return status;
    }
    functions.fetch(log2_size(to)).store_strided(dst + intptr_t(done) * dst_stride, dst_stride, converted, n);
  }
  return dynd_ok;
}

int convert(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const convert_leaf *>(self);
  char *dst = stream[k->dst], *src = stream[k->src];
  intptr_t dst_stride = stride[k->dst], src_stride = stride[k->src];
  intptr_t to = intptr_t(scalar_size[size_t(k->to)]), from = intptr_t(scalar_size[size_t(k->from)]);
  if (count != 1 && (dst_stride != to || src_stride != from)) {
    return convert_strided(k, dst, dst_stride, src, src_stride, count, frame);
  }
  for (size_t done = 0; done < count; done += 512) {
    size_t n = std::min<size_t>(512, count - done);
    if (int status = convert_batch(k, dst + intptr_t(done) * to, src + intptr_t(done) * from, n, frame)) {
      add_to_failed_index(frame, done);
      return status;
    }
  }
  return dynd_ok;
}

} // namespace

size_t make_convert_leaf(ckernel_builder &out, size_t offset, int dst, scalar_id to, int src, scalar_id from,
                         error_mode mode) {
  out.ensure_capacity_leaf(offset + sizeof(convert_leaf));
  auto *k = out.get_at<convert_leaf>(offset);
  k->convert = isa().convert_checked(mode, to, from);
  k->dst = uint16_t(dst);
  k->src = uint16_t(src);
  k->to = to;
  k->from = from;
  k->base.function = reinterpret_cast<void *>(convert);
  return offset + sizeof(convert_leaf);
}

} // namespace dynd
