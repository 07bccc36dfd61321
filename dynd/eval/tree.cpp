#include "dynd/eval/tree.h"

#include <algorithm>

#include "dynd/kernel/dims.h"
#include "dynd/plan/tile.h"

namespace dynd {

namespace {

constexpr intptr_t offset_size = sizeof(int64_t); // what the walk over whole rows reads

// ---- flattening ---------------------------------------------------------------------------------------------------

// Can the first `var` axis v and everything outside be walked as one axis, the content's? Every operand must have the
// result's rows there, or not depend on any of these axes.
bool can_flatten(const space &shape, const lowered &operands, int v) {
  const offsets_run &run = shape.slots[shape.slot_index[v]].run;
  if (!run) {
    return false;
  }
  for (int o = 0; o < operands.noperands; o++) {
    const lowered_operand &operand = operands.operand[o];
    for (int d = 0; d <= v; d++) {
      if (operand.slots[d] >= 0) {
        return false;
      }
    }
    if (operand.has_rows[v]) {
      continue; // aligned, or its slots were still there
    }
    for (int s = operand.first; s < operand.first + operand.count; s++) {
      for (int d = 0; d <= v; d++) {
        if (operands.stream[s].stride[d] != 0) {
          return false;
        }
      }
    }
  }
  return true;
}

// (N, var, ...) becomes (content, ...): axes 0 .. v are replaced by one.
void flatten_axis(space &shape, lowered &operands, int v) {
  int index = shape.slot_index[v], removed = v;
  offsets_run run = shape.slots[index].run;
  int64_t first = run.first();
  auto shift = [&](char *&address, intptr_t *stride) {
    address += first * stride[v];
    std::copy(stride + v, stride + shape.ndim, stride);
  };
  for (int s = 0; s < operands.nstreams; s++) {
    shift(operands.stream[s].address, operands.stream[s].stride);
  }
  for (int i = index + 1; i < shape.nvar; i++) {
    shift(shape.slots[i].address, shape.slots[i].stride);
  }
  for (int o = 0; o < operands.noperands; o++) {
    lowered_operand &operand = operands.operand[o];
    std::copy(operand.slots + v, operand.slots + shape.ndim, operand.slots);
    std::copy(operand.kind + v, operand.kind + shape.ndim, operand.kind);
    std::copy(operand.step + v, operand.step + shape.ndim, operand.step);
    std::copy(operand.has_rows + v, operand.has_rows + shape.ndim, operand.has_rows);
    operand.has_rows[0] = false;
  }
  std::copy(shape.size + v, shape.size + shape.ndim, shape.size);
  std::copy(shape.slot_index + v, shape.slot_index + shape.ndim, shape.slot_index);
  shape.size[0] = run.content();
  shape.ndim -= removed;
}

int first_var(const space &shape) {
  for (int d = 0; d < shape.ndim; d++) {
    if (shape.size[d] < 0) {
      return d;
    }
  }
  return -1;
}

void flatten_rows(task &t) {
  for (int v; (v = first_var(t.shape)) >= 0;) {
    bool is_reduced = t.reduced && v == t.shape.ndim - 1;
    if (is_reduced || !can_flatten(t.shape, t.operands, v)) {
      return;
    }
    flatten_axis(t.shape, t.operands, v);
  }
}

// The walk over whole rows reads int64 offsets. Those of 32 bits are converted for it, once for the evaluation: a small
// part of the work on the rows themselves, while reading them row by row would cost a call each.
void widen_rows(task &t) {
  int last = t.shape.ndim - 1;
  if (last < 0 || t.shape.size[last] >= 0) {
    return;
  }
  space_slots &slots = t.shape.slots[t.shape.slot_index[last]];
  if (slots.kind != slot_kind::offsets32 || !slots.run) {
    return;
  }
  constexpr intptr_t times = sizeof(int64_t) / sizeof(int32_t);
  ref<buffer> memory = allocate_buffer(size_t(slots.run.rows + 1) * sizeof(int64_t));
  widen(slots.run, reinterpret_cast<int64_t *>(memory->data));
  slots.address = memory->data + (slots.address - slots.run.address) * times;
  slots.kind = slot_kind::offsets64;
  slots.run = {memory->data, slot_kind::offsets64, slots.run.rows};
  slots.owner = ref<counted>::adopt(memory.take());
  for (int d = 0; d < last; d++) {
    slots.stride[d] *= times;
  }
}

// ---- the streams of the calls -------------------------------------------------------------------------------------

// Only the streams that are looked at: outputs, sources' values, their own slots, the result's slots.
struct call_streams {
  int count = 0;
  char *address[max_streams];
  const intptr_t *stride[max_streams]; ///< over the axes
  intptr_t item[max_streams];
  int value[max_streams];                  ///< of each operand
  int8_t own_slots[max_streams][max_ndim]; ///< of each operand at each axis, or -1
  int shape_slots[max_ndim];               ///< of each `var` axis
};

int add(call_streams &streams, char *address, const intptr_t *stride, intptr_t item) {
  if (streams.count == max_streams) {
    fail_too_many_streams();
  }
  streams.address[streams.count] = address;
  streams.stride[streams.count] = stride;
  streams.item[streams.count] = item;
  return streams.count++;
}

void select_streams(const task &t, call_streams &streams) {
  const lowered &operands = t.operands;
  for (int o = 0; o < operands.noperands; o++) {
    const lowered_stream &values = operands.stream[operands.value_stream(o)];
    streams.value[o] = add(streams, values.address, values.stride, intptr_t(operands.operand[o].block->item_size()));
  }
  for (int o = 0; o < operands.noperands; o++) {
    for (int d = 0; d < t.shape.ndim; d++) {
      int s = operands.operand[o].slots[d];
      streams.own_slots[o][d] =
          s < 0 ? int8_t(-1) : int8_t(add(streams, operands.stream[s].address, operands.stream[s].stride, offset_size));
    }
  }
  for (int d = 0; d < t.shape.ndim; d++) {
    if (t.shape.size[d] < 0) {
      const space_slots &slots = t.shape.slots[t.shape.slot_index[d]];
      streams.shape_slots[d] = add(streams, slots.address, slots.stride, offset_size);
    }
  }
}

// Which rows each stream is in, at an axis where some operand has rows of its own.
struct var_axis_plan {
  int nslots = 0;
  var_slots slots[max_streams];
  int8_t follows[max_streams];
  intptr_t stride[max_streams], unit[max_streams];

  var_axis_plan(const task &t, const call_streams &streams, int d) {
    std::fill(follows, follows + streams.count, int8_t(-1));
    for (int s = 0; s < streams.count; s++) {
      stride[s] = unit[s] = streams.stride[s][d];
    }
    int32_t step[max_streams];
    auto follow = [&](int s, int8_t index) {
      follows[s] = index;
      unit[s] = start_unit(stride[s], step[index]);
    };
    bool shape_var = t.shape.size[d] < 0;
    if (shape_var) {
      const space_slots &own = t.shape.slots[t.shape.slot_index[d]];
      step[nslots] = own.step;
      slots[nslots++] = {streams.shape_slots[d], own.kind};
      for (int e = d + 1; e < t.shape.ndim; e++) {
        if (t.shape.size[e] < 0) {
          follow(streams.shape_slots[e], 0);
        }
      }
    }
    for (int o = 0; o < t.operands.noperands; o++) {
      const lowered_operand &operand = t.operands.operand[o];
      if (!operand.has_rows[d]) {
        continue;
      }
      int8_t index = 0; // the result's rows
      if (streams.own_slots[o][d] >= 0) {
        index = int8_t(nslots);
        step[nslots] = operand.step[d];
        slots[nslots++] = {streams.own_slots[o][d], operand.kind[d]};
      }
      follow(streams.value[o], index);
      for (int e = d + 1; e < t.shape.ndim; e++) {
        if (streams.own_slots[o][e] >= 0) {
          follow(streams.own_slots[o][e], index);
        }
      }
    }
  }
};

bool is_simple(const task &t, int d) {
  bool simple = t.shape.size[d] >= 0;
  for (int o = 0; o < t.operands.noperands; o++) {
    simple &= t.operands.operand[o].slots[d] < 0;
  }
  return simple;
}

// ---- planned ------------------------------------------------------------------------------------------------------

class planned_tree {
public:
  planned_tree(ckernel_builder &out, const task &t, const tree_options &options, root_call &call)
      : out_(out), t_(t), options_(options), call_(call) {
    select_streams(t, streams_);
  }

  void build() {
    call_.nstreams = streams_.count;
    std::copy(streams_.address, streams_.address + streams_.count, call_.stream);
    below(0, 0, true);
  }

private:
  // Builds what walks the axes from d on. Not the root: called strided along axis d - 1. The root: called as call_
  // says.
  size_t below(size_t offset, int d, bool root) {
    int last = t_.reduced ? t_.shape.ndim - 1 : t_.shape.ndim; // axes that are walked by loops
    int end = d;
    while (end < last && is_simple(t_, end)) {
      end++;
    }
    bool leaf = end == t_.shape.ndim || (end == last && is_simple(t_, end));
    nest loops;
    start_nest(loops, {t_.shape.size + d, size_t(end - d)});
    for (int s = 0; s < streams_.count; s++) {
      add_stream(loops, {t_.shape.size + d, size_t(end - d)}, streams_.stride[s] + d);
    }
    bool in_order = t_.p.reduce && !t_.reduced; // lanes of everything: the order is the contract
    bool free = root && leaf && !in_order;
    if (root || end > d) {
      plan_loops(loops, streams_.item, free ? loop_order::free : loop_order::keep);
    }
    chain_layout layout;
    layout.streaming = options_.streaming;
    layout.prefetch_distance = options_.prefetch_distance;
    layout.noutputs = uint8_t(t_.noutputs);
    layout.nsources = uint8_t(t_.nsources);
    for (int o = 0; o < t_.operands.noperands; o++) {
      chain_operand &operand = o < t_.noutputs ? layout.outputs[o] : layout.sources[o - t_.noutputs];
      operand = {uint16_t(streams_.value[o]), 0, slot_kind::none, false, 0, 0};
    }
    bool var_leaf = !leaf && end == t_.shape.ndim - 1 && rows_follow(loops, d, end);
    int taken = 0; // loops that the chain takes over
    if (leaf && t_.reduced) {
      layout.kind = side_by_side(loops, end) ? chain_kind::columns : chain_kind::small_rows;
      layout.axis_size = t_.shape.size[end];
      for_ports(layout, [&](chain_operand &port, int) { port.axis_stride = streams_.stride[port.stream][end]; });
    } else if (leaf) {
      taken = choose_walk(loops, root, free, layout);
    } else if (var_leaf) {
      layout.kind = chain_kind::var_rows;
      layout.shape_slots = uint16_t(streams_.shape_slots[end]);
      for_ports(layout, [&](chain_operand &port, int o) {
        port.axis_stride = streams_.stride[port.stream][end];
        if (streams_.own_slots[o][end] >= 0) {
          port.slot_stream = uint16_t(streams_.own_slots[o][end]);
          port.slots = t_.operands.operand[o].kind[end];
          port.start_unit = start_unit(port.axis_stride, t_.operands.operand[o].step[end]);
        }
      });
    }
    // Where this run of axes is called from: its outermost loop by the caller of the root, else by itself.
    int first = root ? 1 : 0, walked = loops.loop_count - taken;
    if (root) {
      start_call(loops, leaf && taken == 0 && !t_.reduced && walked == 1);
      if (var_leaf && walked == 1) {
        call_.row_offsets = reinterpret_cast<const int64_t *>(call_.stream[streams_.shape_slots[end]]);
      }
    }
    for (int i = first; i < walked; i++) {
      size_t child = begin_strided_dim(out_, offset, streams_.count, loops.loops[i].size, loops.loops[i].stride);
      explain(offset, child, [&] {
        return "strided_dim size " + std::to_string(loops.loops[i].size) + strides(loops.loops[i].stride);
      });
      offset = child;
    }
    if (leaf || var_leaf) {
      return finish_chain(offset, layout);
    }
    var_axis_plan axis(t_, streams_, end);
    size_t child = begin_var_dim(
        out_, offset,
        {streams_.count, t_.shape.size[end], axis.nslots, axis.slots, axis.follows, axis.stride, axis.unit});
    explain(offset, child,
            [&] { return "var_dim rows of " + std::to_string(axis.nslots) + " operand(s)" + strides(axis.stride); });
    if (end + 1 < t_.shape.ndim) {
      return below(child, end + 1, false);
    }
    layout.kind = t_.reduced ? chain_kind::row : chain_kind::flat;
    return finish_chain(child, layout);
  }

  template <class F> void for_ports(chain_layout &layout, F f) {
    for (int o = 0; o < t_.operands.noperands; o++) {
      f(o < t_.noutputs ? layout.outputs[o] : layout.sources[o - t_.noutputs], o);
    }
  }

  // The chain can take whole rows if the offsets of the loop it is called along follow each other.
  bool rows_follow(const nest &loops, int d, int axis) {
    if (t_.shape.size[axis] >= 0 || t_.shape.slots[t_.shape.slot_index[axis]].kind != slot_kind::offsets64) {
      return false;
    }
    for (int o = 0; o < t_.operands.noperands; o++) {
      // A dimension of one size against rows: the chain knows only rows and values to repeat.
      if (!t_.operands.operand[o].has_rows[axis] && streams_.stride[streams_.value[o]][axis] != 0) {
        return false;
      }
    }
    int slots = streams_.shape_slots[axis];
    if (loops.loop_count == 0) {
      return streams_.stride[slots][d - 1] == offset_size;
    }
    const loop &inner = loops.innermost();
    return inner.size == 1 || inner.stride[slots] == offset_size;
  }

  // Reducing along `axis` jumps in memory while the innermost loop does not: reduce neighbours together.
  bool side_by_side(const nest &loops, int axis) {
    if (loops.loop_count == 0 || loops.innermost().size < 8) {
      return false;
    }
    bool jumps = false;
    for (int o = t_.noutputs; o < t_.operands.noperands; o++) {
      int s = streams_.value[o];
      intptr_t along = loops.innermost().stride[s], across = streams_.stride[s][axis];
      if (along != streams_.item[s] && along != 0) {
        return false;
      }
      jumps |= across != 0 && across != streams_.item[s];
    }
    return jumps;
  }

  // How the innermost loops are walked; returns how many of them the chain takes over.
  int choose_walk(nest &loops, bool root, bool free, chain_layout &layout) {
    walk how = {walk_kind::flat, 0};
    if (loops.loop_count == 0 || (root && loops.loop_count == 1)) {
      return 0;
    }
    if (free) {
      how = plan_walk(loops, streams_.item);
    } else if (loops.innermost().size < small_row) {
      how.kind = walk_kind::small_rows;
    }
    if (how.kind == walk_kind::flat) {
      return 0;
    }
    layout.kind = how.kind == walk_kind::panel ? chain_kind::panel : chain_kind::small_rows;
    const loop &inner = loops.innermost();
    layout.axis_size = inner.size;
    for_ports(layout, [&](chain_operand &port, int o) {
      port.axis_stride = inner.stride[port.stream];
      bool source = o >= t_.noutputs; // to the planner every stream but the first is one
      port.fetched = how.kind == walk_kind::panel && source && (how.fetched >> port.stream & 1);
    });
    return 1;
  }

  void start_call(const nest &loops, bool flat) {
    const loop &outer = loops.loops[0];
    call_.count = outer.size;
    std::copy(outer.stride, outer.stride + streams_.count, call_.stride);
    for (int s = 0; s < streams_.count; s++) {
      call_.stream[s] += loops.offset[s];
    }
    call_.flat = flat;
    call_.elements = t_.shape.count();
  }

  std::string strides(const intptr_t *stride) const {
    std::string text = ", strides";
    for (int s = 0; s < streams_.count; s++) {
      text += " " + std::to_string(stride[s]);
    }
    return text;
  }

  std::string chain_text(const chain_layout &layout) const {
    static const char *const names[] = {"flat", "small_rows", "panel", "var_rows", "row", "columns"};
    std::string text = std::string("chain ") + names[int(layout.kind)];
    if (layout.axis_size) {
      text += " of " + std::to_string(layout.axis_size);
    }
    text += layout.streaming ? ", streaming stores:" : ":";
    for (int i = 0; i < t_.p.nsteps; i++) {
      const program_step &step = t_.p.steps[i];
      std::string reads;
      t_.p.for_reads(step, [&](uint8_t reg) { reads += (reads.empty() ? "r" : ", r") + std::to_string(reg); });
      text += std::string(" r") + std::to_string(step.dst) + "=" + step.name + "(" + reads + ") ";
      text += std::string(scalar_name[size_t(t_.p.type[step.dst])]) + (i + 1 < t_.p.nsteps ? ";" : "");
    }
    if (t_.p.reduce) {
      text += " reduce r" + std::to_string(t_.p.output[0]);
    }
    return text;
  }

  size_t finish_chain(size_t offset, const chain_layout &layout) {
    size_t past = make_chain(out_, offset, t_.p, layout);
    explain(offset, past, [&] { return chain_text(layout); });
    return past;
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
};

} // namespace

void build_planned(ckernel_builder &out, task &t, const tree_options &options, root_call &call) {
  flatten_rows(t);
  widen_rows(t);
  planned_tree(out, t, options, call).build();
}

void build_unplanned(ckernel_builder &out, const task &t, root_call &call,
                     std::vector<std::vector<int>> &operand_streams) {
  call_streams streams;
  select_streams(t, streams);
  for (int o = 0; o < t.operands.noperands; o++) {
    std::vector<int> &own = operand_streams.emplace_back();
    for (int d = 0; d < t.shape.ndim; d++) {
      if (streams.own_slots[o][d] >= 0) {
        own.push_back(streams.own_slots[o][d]);
      }
    }
    own.push_back(streams.value[o]);
  }
  call.nstreams = streams.count;
  std::copy(streams.address, streams.address + streams.count, call.stream);
  std::fill(call.stride, call.stride + streams.count, 0);
  call.count = 1;
  size_t offset = 0;
  for (int d = 0; d < t.shape.ndim; d++) { // a reduction's last level takes a whole row
    offset = begin_observed(out, offset, streams.count, d);
    if (is_simple(t, d)) {
      intptr_t stride[max_streams];
      for (int s = 0; s < streams.count; s++) {
        stride[s] = streams.stride[s][d];
      }
      offset = begin_strided_dim(out, offset, streams.count, t.shape.size[d], stride);
    } else {
      var_axis_plan axis(t, streams, d);
      offset = begin_var_dim(
          out, offset, {streams.count, t.shape.size[d], axis.nslots, axis.slots, axis.follows, axis.stride, axis.unit});
    }
  }
  chain_layout layout;
  if (t.reduced) {
    layout.kind = chain_kind::row;
  } else {
    offset = begin_observed(out, offset, streams.count, t.shape.ndim);
  }
  layout.noutputs = uint8_t(t.noutputs);
  layout.nsources = uint8_t(t.nsources);
  for (int o = 0; o < t.operands.noperands; o++) {
    (o < t.noutputs ? layout.outputs[o]
                    : layout.sources[o - t.noutputs]) = {uint16_t(streams.value[o]), 0, slot_kind::none, false, 0, 0};
  }
  make_chain(out, offset, t.p, layout);
}

bool build_lanes(ckernel_builder &out, task &t, const tree_options &options, root_call &call) {
  flatten_rows(t);
  for (int d = 0; d < t.shape.ndim; d++) {
    if (!is_simple(t, d)) {
      return false;
    }
  }
  call_streams streams;
  select_streams(t, streams);
  nest loops;
  start_nest(loops, {t.shape.size, size_t(t.shape.ndim)});
  for (int s = 0; s < streams.count; s++) {
    add_stream(loops, {t.shape.size, size_t(t.shape.ndim)}, streams.stride[s]);
  }
  plan_loops(loops, streams.item, loop_order::keep);
  if (loops.loop_count != 1) {
    return false;
  }
  planned_tree(out, t, options, call).build();
  return true;
}

} // namespace dynd
