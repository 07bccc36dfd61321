#include "dynd/plan/nest.h"

#include "dynd/base/errors.h"

namespace dynd {
namespace {

intptr_t magnitude(intptr_t stride) { return stride < 0 ? -stride : stride; }

/// Positive if `outer` should stay outside of `inner`, negative if they should change places, 0 if no stream decides.
int opinion(const loop &outer, const loop &inner, int stream_count) {
  for (int s = 0; s < stream_count; ++s) {
    intptr_t out = magnitude(outer.stride[s]);
    intptr_t in = magnitude(inner.stride[s]);
    if (out != 0 && in != 0 && out != in)
      return out > in ? 1 : -1;
  }
  return 0;
}

/// Where the loop at `from` belongs among those outside it, which are in order.
int place_of(const nest &n, int from) {
  int place = from;
  for (int i = from - 1; i >= 0; --i) {
    int decided = opinion(n.loops[i], n.loops[from], n.stream_count);
    if (decided > 0)
      break;
    if (decided < 0)
      place = i;
  }
  return place;
}

bool chains(const loop &outer, const loop &inner, int stream_count) {
  for (int s = 0; s < stream_count; ++s) {
    intptr_t whole;
    if (__builtin_mul_overflow(inner.stride[s], inner.size, &whole) || outer.stride[s] != whole)
      return false;
  }
  return true;
}

/// The one loop of what has no axis of its own.
void add_unit_loop(nest &n, const intptr_t *item_size) {
  n.loop_count = 1;
  n.loops[0].size = 1;
  for (int s = 0; s < n.stream_count; ++s)
    n.loops[0].stride[s] = item_size[s];
}

} // namespace

void fail_too_many_loops(size_t count) {
  fail(error_kind::internal,
       "plan: more than " + std::to_string(max_loops) + " loops in a nest: " + std::to_string(count));
}

void fail_too_many_streams() {
  fail(error_kind::internal, "plan: more than " + std::to_string(max_streams) + " streams in a nest");
}

void drop_unit_axes(nest &n) {
  int kept = 0;
  for (int i = 0; i < n.loop_count; ++i) {
    intptr_t size = n.loops[i].size;
    if (size == 1)
      continue;
    if (size == 0)
      kept = 0;
    if (kept != i)
      copy_loop(n.loops[kept], n.loops[i], n.stream_count);
    ++kept;
    if (size == 0)
      break;
  }
  n.loop_count = kept;
}

void flip_negative_axes(nest &n) {
  for (int i = 0; i < n.loop_count; ++i) {
    loop &l = n.loops[i];
    bool rises = false, falls = false;
    for (int s = 0; s < n.stream_count; ++s) {
      rises |= l.stride[s] > 0;
      falls |= l.stride[s] < 0;
    }
    if (rises || !falls || l.size == 0)
      continue;
    for (int s = 0; s < n.stream_count; ++s) {
      n.offset[s] += l.stride[s] * (l.size - 1);
      l.stride[s] = -l.stride[s];
    }
  }
}

void order_axes(nest &n) {
  for (int i = 1; i < n.loop_count; ++i) {
    int place = place_of(n, i);
    if (place != i)
      move_loop(n, i, place);
  }
}

void coalesce_axes(nest &n) {
  if (n.loop_count < 2)
    return;
  int last = 0; // the innermost loop of those joined so far
  for (int i = 1; i < n.loop_count; ++i) {
    intptr_t size;
    bool joined = chains(n.loops[last], n.loops[i], n.stream_count) &&
                  !__builtin_mul_overflow(n.loops[last].size, n.loops[i].size, &size);
    if (!joined)
      size = n.loops[i].size;
    last += joined ? 0 : 1;
    if (last != i)
      copy_loop(n.loops[last], n.loops[i], n.stream_count);
    n.loops[last].size = size;
  }
  n.loop_count = last + 1;
}

void move_loop(nest &n, int from, int to) {
  loop moved;
  copy_loop(moved, n.loops[from], n.stream_count);
  int step = from < to ? 1 : -1;
  for (int i = from; i != to; i += step)
    copy_loop(n.loops[i], n.loops[i + step], n.stream_count);
  copy_loop(n.loops[to], moved, n.stream_count);
}

void plan_loops(nest &n, const intptr_t *item_size, loop_order order) {
  drop_unit_axes(n);
  if (order == loop_order::free) {
    flip_negative_axes(n);
    order_axes(n);
  }
  coalesce_axes(n);
  if (n.loop_count == 0)
    add_unit_loop(n, item_size);
}

} // namespace dynd
