#include "dynd/plan/tile.h"

#include <algorithm>
#include <bit>

namespace dynd {
namespace {

static_assert(max_streams <= 64, "a walk has one bit for each stream");

/// The outer loop along which the items of a source are side by side while the innermost loop jumps, or -1. A source
/// with stride zero in the innermost loop does not jump: its value is repeated.
int side_by_side_loop(const nest &n, int stream, intptr_t item_size) {
  intptr_t inner = n.innermost().stride[stream];
  if (inner >= -item_size && inner <= item_size)
    return -1;
  for (int i = n.loop_count - 2; i >= 0; --i)
    if (n.loops[i].stride[stream] == item_size)
      return i;
  return -1;
}

/// The outer loop that most sources want as partner of the innermost (of equals, the first source's), and which do.
struct pairing {
  int loop; ///< -1: no source wants one
  uint64_t streams;
};

pairing choose_pairing(const nest &n, const intptr_t *item_size) {
  int wanted[max_streams];
  int votes[max_loops];
  for (int i = 0; i < n.loop_count; ++i)
    votes[i] = 0;
  for (int s = 1; s < n.stream_count; ++s) {
    wanted[s] = side_by_side_loop(n, s, item_size[s]);
    if (wanted[s] >= 0)
      ++votes[wanted[s]];
  }
  int chosen = -1;
  for (int s = 1; s < n.stream_count; ++s)
    if (wanted[s] >= 0 && (chosen < 0 || votes[wanted[s]] > votes[chosen]))
      chosen = wanted[s];
  uint64_t streams = 0;
  for (int s = 1; s < n.stream_count; ++s)
    if (wanted[s] >= 0 && wanted[s] == chosen)
      streams |= uint64_t(1) << s;
  return {chosen, streams};
}

// Whether rows are collected: there are some, so short that most of a call would be its end, which is not whole
// vectors. Rows with gaps between them are copied for that, so their limit is lower than that of rows that follow each
// other, or are the same each time. Numbers of 16 bytes count as 8.
bool are_small(const nest &n, const intptr_t *item_size) {
  const loop &row = n.innermost(), &outside = n.loops[n.loop_count - 2];
  constexpr intptr_t fewest = 8;
  intptr_t widest = 0, limit = outside.size < fewest ? small_row_bytes : following_row_bytes;
  for (int s = 0; s < n.stream_count; ++s) {
    if (row.stride[s] != item_size[s] && row.stride[s] != 0)
      return false;
    if (row.stride[s] != 0 && outside.stride[s] != 0 && outside.stride[s] != row.size * item_size[s])
      limit = small_row_bytes;
    widest = std::max(widest, std::min<intptr_t>(item_size[s], 8));
  }
  return row.size * widest < limit;
}

} // namespace

panel_shape far_panel(int dst_log2, size_t fetched_bytes) {
  constexpr size_t bytes = size_t(1) << 18, least = size_t(panel_unit);
  fetched_bytes = std::max<size_t>(fetched_bytes, 1);
  size_t square = 512 >> (dst_log2 / 2); // of one operand like the destination, or twice as long as wide
  size_t columns = std::clamp(std::bit_floor(bytes / (least * fetched_bytes)), least, square);
  size_t rows = std::clamp(std::bit_floor(bytes / (columns * fetched_bytes)), least, size_t(512));
  return {uint16_t(rows), uint16_t(columns)};
}

walk plan_walk(nest &n, const intptr_t *item_size) {
  if (n.loop_count < 2)
    return {walk_kind::flat, 0};
  if (n.innermost().size < small_row)
    return {walk_kind::small_rows, 0};
  if (n.stream_count == 0 || n.innermost().stride[0] != item_size[0])
    return {walk_kind::flat, 0};
  pairing chosen = choose_pairing(n, item_size);
  if (chosen.loop < 0)
    return {are_small(n, item_size) ? walk_kind::small_rows : walk_kind::flat, 0};
  if (chosen.loop != n.loop_count - 2)
    move_loop(n, chosen.loop, n.loop_count - 2);
  return {walk_kind::panel, chosen.streams};
}

} // namespace dynd
