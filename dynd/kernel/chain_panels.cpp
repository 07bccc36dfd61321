// How an ordered walk brings a source into panels or strips whose elements are side by side along an outer loop.
#include "dynd/kernel/chain_strips.h"
#include "dynd/kernel/chain_trees.h"

namespace dynd::chain {

namespace {

ordered_panel make_panel(ckernel_builder &out, const chain_layout &layout, const port &p, int loop, intptr_t row) {
  size_t line = size_t(64) >> p.log2, bytes = size_t(row) << p.log2; // of one iteration of the loop
  bool near = bytes * size_t(layout.loops->loops[loop].size) <= near_bytes;
  size_t rows = std::max(panel_bytes / bytes / line, near ? near_lines : panel_lines) * line;
  size_t most = rows * 3 / 2 + 1;
  size_t scratch = ckernel_builder_reserve_scratch(&out, most * bytes + (reduce_batch << p.log2));
  return {loop, int32_t(rows), uint32_t(scratch), panel_kind::whole};
}

ordered_panel make_strips(ckernel_builder &out, chain_kernel *k, const chain_layout &layout, const port &p, int loop,
                          intptr_t row, const ordered_panel *strips) {
  size_t size = size_t(layout.loops->loops[loop].size), few = panel_lines * 64 >> p.log2;
  if (sums_windows(k) && loop == layout.loops->loop_count - 2 && tree_sums::takes(p.log2, size_t(row), size)) {
    size_t rows = tree_sums::rows_at_once(p.log2, size_t(row), size);
    size_t scratch = ckernel_builder_reserve_scratch(&out, tree_sums::bytes(p.log2, size_t(row), rows));
    return {loop, int32_t(rows), uint32_t(scratch), panel_kind::trees};
  }
  if (sums_windows(k) && size << p.log2 >= 16) {
    size_t scratch = ckernel_builder_reserve_scratch(&out, strip_sums_bytes(p.log2, size_t(row)));
    return {loop, int32_t(window_rows), uint32_t(scratch), panel_kind::windows};
  }
  // A loop of some lines that would not be cut evenly is there whole: the CPU sees that they follow each other.
  bool whole = size << p.log2 <= strip_bytes && size <= most_strip_rows && size % few != 0;
  size_t rows = strips ? size_t(strips->rows) : whole ? size : few;
  size_t most = std::min(rows * 3 / 2, std::max(size, rows));
  if (!strips) {
    size_t bytes = most * k->nreductions * segment_bytes(segment_entries(size_t(row)));
    k->panels = uint32_t(ckernel_builder_reserve_scratch(&out, bytes));
  }
  size_t scratch = ckernel_builder_reserve_scratch(&out, most * size_t(strip_stride(p.log2)) + register_padding);
  return {loop, int32_t(rows), uint32_t(scratch), panel_kind::strips};
}

} // namespace

ordered_panel plan_panel(ckernel_builder &out, chain_kernel *k, const chain_layout &layout, const port &p,
                         const ordered_panel *strips) {
  const nest &n = *layout.loops;
  intptr_t item = intptr_t(1) << p.log2, row = n.innermost().size, inner = n.innermost().stride[p.where.stream];
  for (int i = n.loop_count - 2; i >= 0 && std::abs(inner) > item; i--) {
    bool is_long = row >= intptr_t(sums_windows(k) ? window_row : strip_row);
    if (n.loops[i].stride[p.where.stream] == item && (!is_long || !strips || strips->loop == i)) {
      return is_long ? make_strips(out, k, layout, p, i, row, strips) : make_panel(out, layout, p, i, row);
    }
    if (__builtin_mul_overflow(row, n.loops[i].size, &row)) {
      break;
    }
  }
  return {};
}

} // namespace dynd::chain
