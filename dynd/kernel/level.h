// What the levels of kernels share: beginning one, finding and calling its child, saying what failed and where.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

#include "dynd/base/interruption.h"
#include "dynd/kernel/builder.h"
#include "dynd/type/type.h"

namespace dynd {

/// Streams of one call, at most: all those of a task's operands, and what walks their rows.
inline constexpr int max_call_streams = 4 * (max_type_streams + 1);

inline constexpr intptr_t no_stride[max_call_streams] = {};

inline int call_strided(const ckernel_prefix *kernel, char *const *stream, const intptr_t *stride, size_t count,
                        dynd_frame *frame) {
  return reinterpret_cast<streams_strided_t>(kernel->function)(stream, stride, count, kernel, frame);
}

inline const ckernel_prefix *child_at(const ckernel_prefix *self, size_t offset) {
  return reinterpret_cast<const ckernel_prefix *>(reinterpret_cast<const char *>(self) + offset);
}

/// For a level with one child, `child` bytes behind its own beginning.
template <class Kernel> const ckernel_prefix *child_of(const Kernel *k) { return child_at(&k->base, k->child); }

template <class Kernel> void destroy_with_child(ckernel_prefix *self) {
  destroy_child(const_cast<ckernel_prefix *>(child_of(reinterpret_cast<Kernel *>(self))));
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

/// Room for a leaf, or a level that has nothing to release, of `size` bytes.
template <class Kernel>
Kernel *make_leaf(ckernel_builder &out, size_t offset, streams_strided_t function, size_t size = sizeof(Kernel)) {
  out.ensure_capacity_leaf(offset + size);
  auto *k = out.get_at<Kernel>(offset);
  k->base.set_function(function);
  return k;
}

/// Moves the streams of a call by one element.
inline void advance(char **at, const intptr_t *stride, size_t nstreams) {
  for (size_t s = 0; s < nstreams; s++) {
    at[s] += stride[s];
  }
}

/// A line of explain: a level of the kernel.
struct explained_level {
  size_t offset, size;
  std::string text;
  int depth = -1; ///< how many levels are outside of it; -1: all before it
};

// ---- failures -------------------------------------------------------------------------------------------------------

/// Watches a kernel that runs element by element: what trace shows.
class kernel_observer {
public:
  virtual ~kernel_observer() = default;
  /// The level `level` is about to be called for its `index`-th element.
  virtual void call(int level, intptr_t index, char *const *stream) = 0;
};

/// What the engine keeps beside a frame of its own, in dynd_frame::engine; a frame of user code has none.
///
/// A failing kernel says which element of its call failed. On the way out every level that is a dimension puts that
/// index before the path so far, and says in which of its own elements it was. So the path of the failure inside of an
/// element, as in a[3]["hits"][2], is known without a second run.
struct frame_state {
  kernel_observer *observer = nullptr;
  interruption *stop = nullptr; ///< asked between elements, where these are long or are called one after another
  size_t since_asked = 0;       ///< elements that went through steps since asks_after asked
  size_t index = 0;             ///< of the element of the call that failed
  std::string path;             ///< below it: `, "hits", 2`
  bool lacks_parts = false;     ///< there was no memory for the path
};

inline frame_state *state_of(dynd_frame *frame) { return static_cast<frame_state *>(frame->engine); }

/// Says what failed, and returns the status.
[[gnu::format(printf, 3, 4)]] inline int report(dynd_frame *frame, int status, const char *format, ...) {
  frame->kind = status;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(frame->text, sizeof(frame->text), format, arguments);
  va_end(arguments);
  return status;
}

/// Says why a conversion refused the value.
int report_refusal(dynd_frame *frame, scalar_id to, scalar_id from, const char *value);

/// A leaf: the element `index` of the call failed, in a field of it if it has one (as the path shows it).
void fail_element(dynd_frame *frame, size_t index, const char *field = nullptr);
/// A level that calls its child in parts: the child was at the element `done` of the call.
inline void add_to_failed_index(dynd_frame *frame, size_t done) {
  if (frame_state *state = state_of(frame)) {
    state->index += done;
  }
}
/// A level that is a dimension: the child failed in its element `index`.
void fail_in_dimension(dynd_frame *frame, size_t index);
/// A level of fields; the index stays.
void fail_in_field(dynd_frame *frame, const char *field);

/// Another thread may set it.
inline bool is_cancelled(const dynd_frame *frame) {
  return frame->cancel && __atomic_load_n(frame->cancel, __ATOMIC_RELAXED);
}
/// The same, asked by the calling thread itself where it may.
inline bool asks_to_stop(dynd_frame *frame) {
  frame_state *state = state_of(frame);
  return is_cancelled(frame) || (state && state->stop && state->stop->poll());
}
/// The same, once in so many elements: for what goes from batch to batch.
inline bool asks_after(dynd_frame *frame, size_t elements) {
  constexpr size_t between = 1 << 16;
  frame_state *state = state_of(frame);
  if (!state || (state->since_asked += elements) < between) {
    return false;
  }
  state->since_asked = 0;
  return asks_to_stop(frame);
}
/// What a kernel returns that has not failed itself.
inline int status_of(const dynd_frame *frame) { return is_cancelled(frame) ? int(dynd_error_cancelled) : int(dynd_ok); }

} // namespace dynd
