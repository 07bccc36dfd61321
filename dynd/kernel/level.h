// What the levels of kernels share: beginning one, finding and calling its child.
#pragma once

#include <cstdarg>
#include <cstdio>

#include "dynd/kernel/builder.h"
#include "dynd/type/type.h"

namespace dynd {

/// Streams of one call, at most: two operands and what they need besides.
inline constexpr int max_call_streams = 4 * (max_type_streams + 1);

inline int call_strided(const ckernel_prefix *kernel, char *const *stream, const intptr_t *stride, size_t count,
                        dynd_frame *frame) {
  return reinterpret_cast<streams_strided_t>(kernel->function)(stream, stride, count, kernel, frame);
}

/// A level with one child, at `child` bytes behind its own beginning, has these.
template <class Kernel> void destroy_with_child(ckernel_prefix *self) {
  auto *k = reinterpret_cast<Kernel *>(self);
  destroy_child(reinterpret_cast<ckernel_prefix *>(reinterpret_cast<char *>(k) + k->child));
}

template <class Kernel> const ckernel_prefix *child_of(const Kernel *k) {
  return reinterpret_cast<const ckernel_prefix *>(reinterpret_cast<const char *>(k) + k->child);
}

/// Room for a level of `size` bytes (a multiple of 8) and its child's prefix; the destructor is set last, when the
/// child's zeros are there.
template <class Kernel>
Kernel *begin_level(ckernel_builder &out, size_t offset, size_t size, streams_strided_t function) {
  out.ensure_capacity(offset + size);
  auto *k = out.get_at<Kernel>(offset);
  k->base.function = reinterpret_cast<void *>(function);
  k->child = uint32_t(size);
  k->base.destructor = destroy_with_child<Kernel>;
  return k;
}

/// Says what failed, and returns the status.
[[gnu::format(printf, 3, 4)]] inline int report(dynd_frame *frame, int status, const char *format, ...) {
  frame->kind = status;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(frame->text, sizeof(frame->text), format, arguments);
  va_end(arguments);
  return status;
}

} // namespace dynd
