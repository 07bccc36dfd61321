// The loop nest that walks several strided streams together, and the planning that makes it short: usually one flat
// loop remains. Pure arithmetic on sizes and byte strides: it knows no addresses and no types, allocates nothing.
//
//   nest n;                                     // a + b.T into c, doubles, 3 by 4, all three C-contiguous
//   start_nest(n, result_sizes);                // (3, 4)
//   add_stream(n, c_sizes, c_strides);          // the destination is stream 0
//   add_stream(n, a_sizes, a_strides);
//   add_stream(n, b_sizes, b_strides);          // broadcasts: sizes and strides are the operand's own
//   plan_loops(n, item_sizes);                  // outermost first: 3 * (32, 32, 8), 4 * (8, 8, 24)
//
// The element at (i, j, ...) of stream s is then at address[s] + offset[s] + i * loops[0].stride[s] + j * ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dynd {

/// The most axes an array has, and so the most loops of a nest.
inline constexpr int max_loops = 32;

using sizes_view = std::span<const intptr_t>;

/// The stride of one axis of an operand in the result: where it stretches, one element is found at the same place again
/// and again. Axes line up at the last one.
///   sizes  (3, 1, 4), (5, 1), (4)  ->  (3, 5, 4)
///   strides (16, 16, 4) -> (16, 0, 4)     of the operand (3, 1, 4)
///               (8, 40) -> (0, 8, 0)      of the operand (5, 1)
inline intptr_t broadcast_stride(intptr_t size, intptr_t stride) { return size == 1 ? 0 : stride; }

/// Streams that planning takes; what has more is walked in C order.
inline constexpr int max_streams = 64;

/// One loop; `stride` can be handed to a strided kernel as it is.
struct loop {
  intptr_t size;
  intptr_t stride[max_streams]; ///< bytes; the first stream_count are set
};

/// Loops, outermost first. Only the part in use is ever written: the whole is many KB.
struct nest {
  int loop_count;
  int stream_count;
  intptr_t offset[max_streams]; ///< bytes to add to each stream's address, from flipped axes; set by add_stream
  loop loops[max_loops];

  nest() : loop_count(0), stream_count(0) {} // leaves the arrays alone, also in nest{}

  loop &innermost() { return loops[loop_count - 1]; }
  const loop &innermost() const { return loops[loop_count - 1]; }
};

/// The empty asm keeps g++ from turning the loop into a call of memcpy, which for the usual three strides costs more
/// than it saves.
inline void copy_loop(loop &to, const loop &from, int stream_count) {
  to.size = from.size;
  for (int s = 0; s < stream_count; ++s) {
    to.stride[s] = from.stride[s];
    asm volatile("");
  }
}

[[noreturn]] void fail_too_many_loops(size_t count);
[[noreturn]] void fail_too_many_streams();

/// One loop for each axis, no streams yet.
inline void start_nest(nest &n, sizes_view sizes) {
  if (sizes.size() > max_loops)
    fail_too_many_loops(sizes.size());
  n.loop_count = static_cast<int>(sizes.size());
  n.stream_count = 0;
  for (int i = 0; i < n.loop_count; ++i)
    n.loops[i].size = sizes[i];
}

/// The next stream, of an operand whose sizes broadcast to the nest's. The caller has checked that they do.
inline void add_stream(nest &n, sizes_view sizes, const intptr_t *strides) {
  if (n.stream_count == max_streams)
    fail_too_many_streams();
  int s = n.stream_count++;
  int ndim = static_cast<int>(sizes.size());
  int missing = n.loop_count - ndim;
  n.offset[s] = 0;
  for (int i = 0; i < missing; ++i)
    n.loops[i].stride[s] = 0;
  for (int i = 0; i < ndim; ++i)
    n.loops[missing + i].stride[s] = broadcast_stride(sizes[i], strides[i]);
}

/// The next loop, inside of those so far, with the strides of all streams.
inline void add_loop(nest &n, intptr_t size, const intptr_t *strides) {
  if (n.loop_count == max_loops)
    fail_too_many_loops(max_loops + 1);
  loop &l = n.loops[n.loop_count++];
  l.size = size;
  for (int s = 0; s < n.stream_count; ++s)
    l.stride[s] = strides[s];
}

/// `keep`: the elements are visited in C order, as a summation needs it.
enum class loop_order : uint8_t { free, keep };

/// The steps below, in their order. Afterwards there is at least one loop, so that no caller needs a case for
/// scalars: it has size one and the item sizes as strides, as if contiguous.
///   C-contiguous (2, 3, 4) into the same, 8 bytes     -> 24 * (8, 8)
///   both transposed                                   -> 24 * (8, 8)
///   (N, 1) + (1, M) into (N, M)                       -> N * (8M, 8, 0), M * (8, 0, 8)
///   reversed into reversed, N                         -> N * (8, 8), offset (-8(N-1), -8(N-1))
/// Each stream's extent in bytes has to fit in intptr_t, as that of anything in memory does.
void plan_loops(nest &n, const intptr_t *item_size, loop_order order = loop_order::free);

/// Removes loops of size one; if some loop has size zero, nothing else remains.
///   3 * (8), 1 * (99), 4 * (2) -> 3 * (8), 4 * (2)     3 * (8), 0 * (4) -> 0 * (4)
void drop_unit_axes(nest &n);

/// Turns a loop around where all strides are <= 0 and one is negative; the streams then start at their last element.
///   5 * (-8, 0) -> 5 * (8, 0), offset (-32, 0)         5 * (-8, 8) stays
void flip_negative_axes(nest &n);

/// Sorts by falling stride, in absolute value. Of two loops the first stream that has an opinion decides: the
/// destination first, then the sources in order. A stream with stride zero in one of the loops, or with the same stride
/// in both, has none. Where no stream has an opinion the order stays. (Opinions need not be transitive; the result is
/// still an order of the same loops, and always the same one.)
///   3 * (8, 32), 4 * (24, 8) -> 4 * (24, 8), 3 * (8, 32)     a transposed destination
///   3 * (0, 8), 4 * (8, 24)  -> 4 * (8, 24), 3 * (0, 8)      stride zero in one: the source decides
void order_axes(nest &n);

/// Joins neighbours where every stream's strides chain: outer stride == inner stride * inner size.
///   3 * (32, 32), 4 * (8, 8) -> 12 * (8, 8)            3 * (32, 0), 4 * (8, 8) stays
void coalesce_axes(nest &n);

/// Takes the loop at `from` out and puts it at `to`; those between move up by one.
///   loops a, b, c, d: from 0 to 2 -> b, c, a, d
void move_loop(nest &n, int from, int to);

} // namespace dynd
