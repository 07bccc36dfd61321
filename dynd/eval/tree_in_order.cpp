// The tree in C order, one level for each axis, and the leaf of both trees.
#include <deque>

#include "dynd/eval/tree.h"
#include "dynd/eval/tree_levels.h"

namespace dynd {

chain_layout layout_of(const task &t) {
  chain_layout layout;
  for (int p = 0; p < t.p.noutputs + t.p.nsources; p++) {
    const intptr_t *stride = t.port_stream(p).stride;
    chain_port &port = layout.ports.push_back({});
    port.stream = uint16_t(p);
    port.constant = std::all_of(stride, stride + t.shape.ndim, [](intptr_t step) { return step == 0; });
    port.numbers = has_numbers(t, p);
  }
  return layout;
}

namespace {

size_t make_element_leaf(ckernel_builder &out, size_t offset, const task &t, kernel_request_t request,
                         std::vector<explained_level> *levels) {
  std::deque<arrmeta_of> metas; // which stay where they are
  small_vector<kernel_operand, 4> operands;
  for (int o = 0; o < t.operands.size(); o++) {
    const space_operand &operand = t.operands[o];
    metas.emplace_back(*operand.block);
    type_part part = part_at(operand.block->type, operand.ndim);
    int first = 0;
    while (t.ports[first].operand != o) {
      first++;
    }
    operands.push_back({part, metas.back().get(), first - part.stream});
  }
  return t.leaf(out, offset, operands.data(), request, levels);
}

} // namespace

size_t make_leaf(ckernel_builder &out, size_t offset, const task &t, const chain_layout &layout,
                 kernel_request_t request, std::vector<explained_level> *levels) {
  if (t.leaf) {
    return make_element_leaf(out, offset, t, request, levels);
  }
  size_t past = make_chain(out, offset, t.p, layout);
  if (levels) {
    levels->push_back({offset, past - offset, chain_text(t.p, layout)});
  }
  return past;
}

void build_in_order(ckernel_builder &out, const task &t, bool observed, const tree_options &options, root_call &call) {
  call_streams streams(t);
  bool cut = !observed && t.shape.ndim > t.row_axes() && is_simple(t, 0); // the outermost loop is the call
  for (int s = 0; s < streams.count(); s++) {
    call.stream.push_back(streams.stream[s]->address);
    call.stride.push_back(cut ? streams.stride(s, 0) : 0);
  }
  call.is_outer_axis = cut;
  call.count = cut ? t.shape.size[0] : 1;
  call.elements = t.shape.count();
  size_t offset = 0;
  int last = t.shape.ndim - std::max(0, t.nreduced - 1); // a reduction's leaf takes a whole row
  for (int d = cut ? 1 : 0; d < last; d++) {
    offset = observed ? begin_observed(out, offset, streams.count(), d) : offset;
    if (is_simple(t, d)) {
      small_vector<intptr_t, 16> stride;
      for (int s = 0; s < streams.count(); s++) {
        stride.push_back(streams.stride(s, d));
      }
      offset = begin_strided_dim(out, offset, streams.count(), t.shape.size[d], stride.data());
    } else {
      offset = var_axis_plan(t, streams, d).begin(out, offset);
    }
  }
  chain_layout layout = layout_of(t);
  layout.kind = t.row_axes() ? chain_kind::row : chain_kind::flat;
  if ((observed || options.together) && !t.row_axes()) {
    offset = begin_observed(out, offset, streams.count(), t.shape.ndim, options.together);
  }
  make_leaf(out, offset, t, layout, kernel_request_strided, options.explain);
}

} // namespace dynd
