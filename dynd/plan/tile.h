// How the two innermost loops of a planned nest are walked, so that no call is too short and every stream is read in
// whole cache lines. This only decides; the chain (kernel/) fetches batches and panels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dynd/plan/nest.h"

namespace dynd {

/// An innermost loop below this is not worth a call of its own: 32 elements make the cost of a call disappear.
inline constexpr intptr_t small_row = 32;
/// Rows of fewer bytes are collected too, where everything they are computed of is contiguous along them or one value;
/// of rows that follow each other, where nothing has to be copied but that value, those of fewer than the second.
inline constexpr intptr_t small_row_bytes = 512, following_row_bytes = 1280;

/// A panel is some rows of the second innermost loop by some columns of the innermost.
struct panel_shape {
  uint16_t rows, columns;

  /// From one row of a panel to the next: another line, or all rows would be in the same sets of the cache.
  intptr_t stride(int log2) const { return (intptr_t(columns) << log2) + 64; }
  /// Rows up to four times as long, and as many fewer of them, but no fewer than 64: no more elements.
  panel_shape wider() const {
    int by = rows >= 512 ? 4 : rows >= 256 ? 2 : 1;
    return {uint16_t(rows / by), uint16_t(columns * by)};
  }
};

/// What is in the cache: 64 rows use up whole cache lines of the source even for items of one byte; 256 columns are
/// long calls for the leaf; and 64 * 256 items of eight bytes, 128 KB, stay in the L2 cache.
inline constexpr panel_shape near_panel = {64, 256};
/// What is in memory goes through panels of some 256 KB (fetched_bytes: an element of each operand that is transposed,
/// added up) that are as square as powers of two allow: 1 KB of a row of the source and 2 KB of one of the destination
/// at once for items of eight bytes. Where the rows of the destination do not begin in a line alike, each such piece
/// has two lines that are not whole: `wider` is better.
panel_shape far_panel(int dst_log2, size_t fetched_bytes);
/// Pieces that are cut from the rows of panels have whole lines of the source: a multiple of this.
inline constexpr intptr_t panel_unit = 64;

enum class walk_kind : uint8_t {
  flat,       ///< a strided call on the innermost loop, as it is
  small_rows, ///< the innermost loop is short: collect whole rows into a batch, then one call for the batch
  panel       ///< transpose panels of some sources into scratch, then a call for each row of the panel
};

struct walk {
  walk_kind kind;
  /// Bit s for stream s. panel: the sources to transpose, whose items are side by side along the second innermost loop;
  /// otherwise none.
  uint64_t fetched;
};

/// For a nest that plan_loops made in free order. A nest whose order has to be kept must not come here: where the walk
/// is by panels, the loop that pairs with the innermost is moved to the second innermost place.
///   n * (8, 8)                                     -> flat
///   N * (32, 32), 3 * (8, 8)                       -> small_rows
///   N * (512, 8), 63 * (8, 0)                      -> small_rows, and N * (520, 8), 64 * (8, 0)   -> flat
///   N * (1272, 8), 159 * (8, 0)                    -> small_rows, and N * (1280, 8), 160 * (8, 0) -> flat
///   N * (8M, 8M, 8), M * (8, 8, 8N)                -> panel, fetched {2}: a + b.T, M >= 32
///   K * (8NM, 8), N * (8M, 8K), M * (8, 8KN)       -> panel, fetched {1}, and the loops become N, K, M
walk plan_walk(nest &n, const intptr_t *item_size);

} // namespace dynd
