#include "dynd/eval/tree.h"

#include <algorithm>

#include "dynd/eval/tree_levels.h"
#include "dynd/plan/tile.h"

namespace dynd {

namespace {

constexpr intptr_t offset_size = sizeof(int64_t); // what the walk over whole rows reads
constexpr intptr_t few_elements = 64;             // too few for a call of a chain

class planned_tree {
public:
  planned_tree(ckernel_builder &out, const task &t, const tree_options &options, root_call &call)
      : out_(out), t_(t), options_(options), call_(call), streams_(t) {
    for (int s = 0; s < streams_.count() && fits(); s++) {
      item_[s] = streams_.stream[s]->item;
    }
  }

  bool fits() const { return streams_.count() <= max_streams; }

  bool build() {
    for (const lowered_stream *stream : streams_.stream) {
      call_.stream.push_back(stream->address);
      call_.stride.push_back(0);
    }
    call_.elements = t_.shape.count();
    if (t_.one_row) {
      return build_one_row();
    }
    if (t_.p.is_staged() && !has_one_row_axis()) {
      return false;
    }
    below(0, 0, true);
    return true;
  }

private:
  // Axes begin .. end as loops.
  void plan(nest &loops, int begin, int end, loop_order order) {
    start_nest(loops, {t_.shape.size + begin, size_t(end - begin)});
    for (const lowered_stream *stream : streams_.stream) {
      add_stream(loops, {t_.shape.size + begin, size_t(end - begin)}, stream->stride + begin);
    }
    plan_loops(loops, item_, order);
  }

  chain_layout new_layout() const {
    chain_layout layout = layout_of(t_);
    layout.streaming = options_.streaming;
    layout.prefetch_distance = options_.prefetch_distance;
    return layout;
  }

  // Builds what walks the axes from d on. Not the root: called strided along axis d - 1. The root: called as call_
  // says.
  size_t below(size_t offset, int d, bool root) {
    int last = t_.shape.ndim - t_.row_axes(); // axes that are walked by loops
    int end = d;
    while (end < last && is_simple(t_, end)) {
      end++;
    }
    bool leaf = end == last && are_simple(last, t_.shape.ndim);
    nest loops;
    bool free = root && leaf;
    if (root || end > d) {
      plan(loops, d, end, free ? loop_order::free : loop_order::keep);
    }
    chain_layout layout = new_layout();
    if (root && !leaf && end == t_.shape.ndim - 1 && t_.shape.is_var(end)) {
      bring_inside(loops, [&](const loop &l) { return l.stride[streams_.shape_slots[end]] == offset_size; });
    }
    bool var_leaf = !leaf && !t_.leaf && end == t_.shape.ndim - 1 && rows_follow(loops, d, end);
    nest reduced;
    int taken = 0; // loops that the chain takes over
    if (leaf && t_.nreduced) {
      choose_reduction(loops, free, last, reduced, layout);
    } else if (leaf && t_.scans) {
      choose_scan(loops, free, layout);
    } else if (leaf && !t_.leaf) {
      taken = choose_walk(loops, root, free, layout);
    } else if (var_leaf) {
      lay_out_rows(layout, end);
    }
    for (chain_port &port : layout.ports) { // one value for each call is as good as one for all
      port.constant |= leaf && layout.kind == chain_kind::flat && !t_.scans && loops.loop_count > 0 &&
                       loops.innermost().stride[port.stream] == 0;
    }
    layout.streaming &= var_leaf ? rows_are_stored(layout) : leaf && stores_follow(loops, layout.kind);
    // Where this run of axes is called from: its outermost loop by the caller of the root, else by itself.
    int walked = loops.loop_count - taken;
    if (root) {
      start_call(loops, leaf && taken == 0 && !t_.row_axes() && walked == 1);
      call_.panels = layout.kind == chain_kind::panel && walked == 1;
      if (var_leaf && walked == 1) {
        call_.row_offsets = reinterpret_cast<const int64_t *>(call_.stream[streams_.shape_slots[end]]);
      }
    }
    for (int i = root ? 1 : 0; i < walked; i++) {
      bool few = free && leaf && i == walked - 1 && layout.kind == chain_kind::small_rows &&
                 loops.loops[i].size * layout.axis_size < few_elements;
      offset = begin_loop(offset, loops.loops[i], few);
    }
    if (leaf || var_leaf) {
      return make_leaf(out_, offset, t_, layout, kernel_request_strided_multistride, options_.explain);
    }
    size_t child = begin_rows(offset, end);
    if (end + 1 < t_.shape.ndim) {
      return below(child, end + 1, false);
    }
    layout.kind = t_.row_axes() ? chain_kind::row : chain_kind::flat;
    return make_leaf(out_, child, t_, layout, kernel_request_strided_multistride, options_.explain);
  }

  // Loops compute results that do not depend on each other: the innermost one that is `wanted` goes inside of the rest.
  template <class Wanted> static bool bring_inside(nest &loops, Wanted wanted) {
    for (int i = loops.loop_count - 1; i >= 0; i--) {
      if (wanted(loops.loops[i])) {
        move_loop(loops, i, loops.loop_count - 1);
        return true;
      }
    }
    return false;
  }

  bool are_simple(int begin, int end) const {
    bool simple = true;
    for (int d = begin; d < end; d++) {
      simple &= is_simple(t_, d);
    }
    return simple;
  }

  size_t begin_loop(size_t offset, const loop &l, bool across) {
    size_t child = begin_strided_dim(out_, offset, streams_.count(), l.size, l.stride, across, t_.divides);
    explain(offset, child, [&] {
      return "strided_dim size " + std::to_string(l.size) + strides(l.stride) + (across ? ", across" : "");
    });
    return child;
  }

  size_t begin_rows(size_t offset, int d) {
    var_axis_plan axis(t_, streams_, d);
    size_t child = axis.begin(out_, offset);
    explain(offset, child, [&] {
      int rows = axis.slots.size() - !t_.shape.is_var(d);
      return "var_dim rows of " + std::to_string(rows) + " operand(s)" + strides(axis.stride.data());
    });
    return child;
  }

  // The chain can take whole rows if the offsets of the loop it is called along follow each other.
  bool rows_follow(const nest &loops, int d, int axis) {
    if (!t_.shape.is_var(axis) || t_.shape.slots[size_t(t_.shape.slot_index[axis])].kind != slot_kind::offsets64) {
      return false;
    }
    for (int p = 0; p < t_.ports.size(); p++) {
      // A dimension of one size against rows: the chain knows only rows and values to repeat.
      bool rows = t_.ports[p].operand >= 0 && t_.lowered[t_.ports[p].operand].has_rows[axis];
      bool written_elsewhere = p < t_.p.noutputs && streams_.own(t_.ports[p].operand, axis) >= 0;
      if ((!rows && streams_.stride(p, axis) != 0) || written_elsewhere) {
        return false;
      }
    }
    int slots = streams_.shape_slots[axis];
    if (loops.loop_count == 0) {
      return d == 0 || streams_.stride(slots, d - 1) == offset_size;
    }
    const loop &inner = loops.innermost();
    return inner.size == 1 || inner.stride[slots] == offset_size;
  }

  void lay_out_rows(chain_layout &layout, int axis) {
    layout.kind = chain_kind::var_rows;
    layout.shape_slots = uint16_t(streams_.shape_slots[axis]);
    for (int p = 0; p < layout.ports.size(); p++) {
      chain_port &port = layout.ports[p];
      port.axis_stride = streams_.stride(p, axis);
      int o = t_.ports[p].operand, slots = o < 0 ? -1 : streams_.own(o, axis);
      if (slots >= 0) {
        port.slot_stream = uint16_t(slots);
        port.slots = t_.lowered[o].kind[axis];
        port.start_unit = start_unit(port.axis_stride, t_.lowered[o].step[axis]);
      }
    }
  }

  // Whether the reduced axes are one loop, or one `var` axis: what staged programs take.
  bool has_one_row_axis() {
    int first = t_.shape.ndim - t_.nreduced;
    nest reduced;
    if (t_.nreduced > 1 && are_simple(first, t_.shape.ndim)) {
      plan(reduced, first, t_.shape.ndim, loop_order::keep);
    }
    return t_.nreduced == 1 || reduced.loop_count == 1;
  }

  // How the reduced axes, from `first` on, are walked: one loop, or a nest of them in order.
  void choose_reduction(nest &loops, bool free, int first, nest &reduced, chain_layout &layout) {
    plan(reduced, first, t_.shape.ndim, loop_order::keep);
    if (reduced.loop_count > 1) {
      layout.kind = chain_kind::ordered;
      layout.loops = &reduced;
      return;
    }
    lay_out_axis(loops, free, reduced.loops[0], layout,
                 [&](const loop &l) { return side_by_side(l, reduced.loops[0]); });
  }

  // The scanned axis is the last. One row without missing values can be called in parts, one after another: what comes
  // before a part was stored.
  void choose_scan(nest &loops, bool free, chain_layout &layout) {
    nest axis;
    plan(axis, t_.shape.ndim - 1, t_.shape.ndim, loop_order::keep);
    const program_step &scan = t_.p.steps[t_.p.nsteps - 1];
    if (t_.shape.ndim == 1 && scan.valid == no_register) {
      loops = axis;
      add_number_stream(layout);
      call_.in_order = true;
      return;
    }
    bool together = scan.valid == no_register && (t_.p.noutputs == 1 || !t_.p.can_fail(scan));
    lay_out_axis(loops, free, axis.loops[0], layout,
                 [&](const loop &l) { return together && side_by_side(l, axis.loops[0]) && stores_follow(l); });
  }

  template <class Neighbours>
  void lay_out_axis(nest &loops, bool free, const loop &row, chain_layout &layout, Neighbours neighbours) {
    bool columns = free ? bring_inside(loops, neighbours) : loops.loop_count && neighbours(loops.innermost());
    columns &= !t_.p.is_staged();
    layout.kind = columns ? chain_kind::columns : chain_kind::small_rows;
    call_.columns = columns && loops.loop_count == 1;
    layout.axis_size = row.size;
    for (chain_port &port : layout.ports) {
      port.axis_stride = row.stride[port.stream];
    }
  }

  // Reducing along the row jumps in memory while another loop does not: reduce neighbours together.
  bool side_by_side(const loop &inner, const loop &row) const {
    bool jumps = false, follow = inner.size > 1; // follow: memory holds the neighbours of one row after another
    for (int s = t_.p.noutputs; s < t_.ports.size(); s++) {
      if (inner.stride[s] != item_[s] && inner.stride[s] != 0) {
        return false;
      }
      jumps |= row.stride[s] != 0 && row.stride[s] != item_[s];
      follow &= inner.stride[s] == item_[s] && row.stride[s] == inner.size * item_[s];
    }
    return jumps && (inner.size >= 8 || follow) && row.size > 0;
  }

  // Streaming stores are for outputs that are written where they are; others are collected in scratch first.
  bool stores_follow(const loop &innermost) const {
    bool follow = true;
    for (int s = 0; s < t_.p.noutputs; s++) {
      follow &= innermost.stride[s] == item_[s];
    }
    return follow;
  }

  // Whether the chain writes its results where they are stored: short rows that it collects must follow each other.
  bool stores_follow(const nest &loops, chain_kind kind) const {
    bool follow = loops.loop_count > 0 && stores_follow(loops.innermost());
    for (int s = 0; follow && kind == chain_kind::small_rows && s < t_.p.noutputs; s++) {
      const loop &rows = loops.loops[loops.loop_count - 2];
      follow = rows.stride[s] == loops.innermost().size * item_[s];
    }
    return follow;
  }

  bool rows_are_stored(const chain_layout &layout) const {
    bool stored = true;
    for (int p = 0; p < t_.p.noutputs; p++) {
      stored &= layout.ports[p].axis_stride == item_[p];
    }
    return stored;
  }

  // How the innermost loops are walked; returns how many of them the chain takes over.
  int choose_walk(nest &loops, bool root, bool free, chain_layout &layout) {
    walk how = {walk_kind::flat, 0};
    if (loops.loop_count == 0 || (root && loops.loop_count == 1)) {
      return 0;
    }
    if (free) {
      how = plan_walk(loops, item_);
    } else if (loops.innermost().size < small_row) {
      how.kind = walk_kind::small_rows;
    }
    if (how.kind == walk_kind::flat) {
      return 0;
    }
    layout.kind = how.kind == walk_kind::panel ? chain_kind::panel : chain_kind::small_rows;
    const loop &inner = loops.innermost();
    layout.axis_size = inner.size;
    for (chain_port &port : layout.ports) {
      port.axis_stride = inner.stride[port.stream];
      bool source = port.stream >= t_.p.noutputs; // the planner takes every stream but the first for a source
      port.fetched = how.kind == walk_kind::panel && source && (how.fetched >> port.stream & 1);
    }
    return 1;
  }

  void start_call(const nest &loops, bool flat) {
    const loop &outer = loops.loops[0];
    call_.count = outer.size;
    for (int s = 0; s < streams_.count(); s++) {
      call_.stride[s] = outer.stride[s];
      call_.stream[s] += loops.offset[s];
    }
    call_.flat = flat;
  }

  // ---- all axes are one logical row: a call along its elements that writes lanes

  bool build_one_row() {
    chain_layout layout = new_layout();
    layout.lanes = true;
    nest loops;
    int last = t_.shape.ndim - 1;
    if (are_simple(0, t_.shape.ndim)) {
      plan(loops, 0, t_.shape.ndim, needs_order() ? loop_order::keep : loop_order::free);
      start_call(loops, true);
      if (loops.loop_count > 1) {
        layout.kind = chain_kind::ordered;
        layout.loops = &loops;
        call_.together = elements_together(loops);
      }
    } else if (last == 1 && is_simple(t_, 0)) {
      plan(loops, 0, 1, loop_order::keep);
      if (!rows_follow(loops, 0, last)) {
        return false;
      }
      lay_out_rows(layout, last);
      layout.axis_size = t_.shape.size[0];
      std::copy_n(loops.loops[0].stride, streams_.count(), call_.stride.data());
    } else {
      return false;
    }
    if (layout.kind != chain_kind::flat) {
      add_number_stream(layout);
      call_.numbered = true;
      call_.count = call_.elements;
      call_.flat = true;
    }
    make_leaf(out_, 0, t_, layout, kernel_request_strided_multistride, options_.explain);
    return true;
  }

  bool needs_order() const {
    return std::any_of(t_.p.output, t_.p.output + t_.p.noutputs, [&](const program_output &out) {
      return out.reduced && isa().reduce(out.reduction, t_.p.type[out.reg]).in_order;
    });
  }

  // Where iterations of an outer loop share lines of memory, the elements of so many of them: fewer are read in short
  // runs, and by several threads the same lines.
  intptr_t elements_together(const nest &loops) const {
    constexpr intptr_t iterations = 2048;
    intptr_t inside = 1, together = 0;
    for (int l = loops.loop_count - 1; l >= 0; l--) {
      for (int s = t_.p.noutputs; s < streams_.count(); s++) {
        intptr_t own = std::abs(loops.loops[l].stride[s]), inner = std::abs(loops.innermost().stride[s]);
        if (own > 0 && own < 64 && own < inner) {
          together = __builtin_mul_overflow(iterations, inside, &together) ? INTPTR_MAX : together;
        }
      }
      inside *= loops.loops[l].size;
    }
    return together;
  }

  // It says where a part of the row begins.
  void add_number_stream(chain_layout &layout) {
    layout.number_stream = uint16_t(call_.stream.size());
    call_.stream.push_back(number_origin);
    call_.stride.push_back(1);
  }

  std::string strides(const intptr_t *stride) const {
    std::string text = ", strides";
    for (int s = 0; s < streams_.count(); s++) {
      text += " " + std::to_string(stride[s]);
    }
    return text;
  }

  template <class Text> void explain(size_t offset, size_t end, Text text) {
    if (options_.explain) {
      options_.explain->push_back({offset, end - offset, text()});
    }
  }

  ckernel_builder &out_;
  const task &t_;
  const tree_options &options_;
  root_call &call_;
  call_streams streams_;
  intptr_t item_[max_streams];
};

} // namespace

// One axis, or rows: the walks that number elements as they go.
static bool walks_in_order(const task &t) {
  int last = t.shape.ndim - 1;
  bool one_axis = last == 0 && !t.shape.is_var(0), rows = last == 1 && !t.shape.is_var(0) && t.shape.is_var(1);
  return (one_axis || rows) && !t.scans && !t.p.is_staged();
}

bool build_planned(ckernel_builder &out, task &t, const tree_options &options, root_call &call) {
  flatten_rows(t);
  join_rows(t);
  widen_rows(t);
  if (!walks_in_order(t)) {
    store_numbers(t);
  }
  planned_tree tree(out, t, options, call);
  if (tree.fits()) {
    return tree.build();
  }
  store_numbers(t);
  build_in_order(out, t, false, options, call);
  return !t.one_row;
}

int call_root(const ckernel_builder &kernel, const root_call &call, intptr_t begin, intptr_t end, dynd_frame &frame) {
  char *stream[max_call_streams];
  for (int s = 0; s < call.stream.size(); s++) {
    bool moves = !call.numbered || s == call.stream.size() - 1;
    stream[s] = call.stream[s] + (moves ? begin * call.stride[s] : 0);
  }
  return call_strided(reinterpret_cast<const ckernel_prefix *>(kernel.data), stream, call.stride.data(),
                      size_t(end - begin), &frame);
}

} // namespace dynd
