#include "dynd/kernel/chain.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "dynd/base/errors.h"
#include "dynd/kernel/chain_kernel.h"
#include "dynd/kernel/foreign.h"
#include "dynd/plan/tile.h"

namespace dynd {

void lane_stack::push(size_t blocks) {
  weight_[depth_++] = blocks;
  while (depth_ > 1 && weight_[depth_ - 1] == weight_[depth_ - 2]) {
    reduce_.combine(lanes_[depth_ - 2], lanes_[depth_ - 1]);
    weight_[depth_ - 2] *= 2;
    depth_--;
  }
}

void lane_stack::finish(void *lanes) {
  while (depth_ > 1) {
    reduce_.combine(lanes_[depth_ - 2], lanes_[depth_ - 1]);
    depth_--;
  }
  std::memcpy(lanes, lanes_[0], 64);
}

using namespace chain;

namespace {

// Is one foreign step all there is, from the sources to the outputs?
bool only_foreign(const program &p) {
  return p.nsteps == 1 && p.steps[0].foreign && !p.reduce && p.noutputs == p.foreign.noutputs;
}

void destroy_chain(ckernel_prefix *self) {
  auto *k = reinterpret_cast<chain_kernel *>(self);
  if (k->foreign) {
    destroy_child(const_cast<ckernel_prefix *>(k->at<foreign_operands>(k->foreign)->kernel()));
  }
}

streams_strided_t chain_function(chain_kind kind, bool reduces, intptr_t axis_size) {
  switch (kind) {
  case chain_kind::flat:
    return reduces ? lanes_strided : flat_strided;
  case chain_kind::small_rows:
    return reduces && axis_size > intptr_t(group / 2) ? long_rows_strided : small_rows_strided;
  case chain_kind::panel:
    return panel_strided;
  case chain_kind::var_rows:
    return var_rows_strided;
  case chain_kind::row:
    return row_strided;
  case chain_kind::columns:
    return columns_strided;
  }
  return nullptr;
}

// The last step that reads each register; a register's scratch can be used again after it.
void find_last_reads(const program &p, int *last_read) {
  std::fill(last_read, last_read + p.nregisters, -1);
  for (int i = 0; i < p.nsteps; i++) {
    p.for_reads(p.steps[i], [&](uint8_t reg) { last_read[reg] = i; });
  }
}

bool is_output(const program &p, uint8_t reg) {
  return std::find(p.output, p.output + p.noutputs, reg) != p.output + p.noutputs;
}

// The stranger's kernel of the chain at `offset`, `end` bytes into it; returns where it ends, from the chain on.
size_t make_foreign_step(ckernel_builder &out, size_t offset, size_t end, const program &p,
                         const deferred_ckernel &foreign) {
  size_t kernel = end + sizeof(foreign_operands);
  out.ensure_capacity(offset + kernel);
  auto *f = out.get_at<foreign_operands>(offset + end);
  foreign_types types;
  types.noutputs = p.foreign.noutputs;
  types.nsources = p.foreign.nsources;
  f->count = size_t(types.noutputs + types.nsources);
  for (size_t o = 0; o < f->count; o++) {
    uint8_t reg = p.foreign.reg[o];
    types.type[o] = p.type[reg];
    f->operand[o] = {reg, scalar_size[size_t(p.type[reg])]};
  }
  // There is room for the child's prefix, zero, so that the chain's destructor never finds a child that is not there.
  auto *k = out.get_at<chain_kernel>(offset);
  k->foreign = uint32_t(end);
  k->base.destructor = destroy_chain;
  end = make_foreign(out, offset + kernel, foreign, types) - offset;
  return (end + 7) / 8 * 8;
}

} // namespace

size_t make_chain(ckernel_builder &out, size_t offset, const program &p, const chain_layout &layout) {
  bool reduces = p.reduce != nullptr;
  bool flat = layout.kind == chain_kind::flat || layout.kind == chain_kind::row;
  size_t elements = flat && reduces ? reduce_block : group;
  if (layout.kind == chain_kind::small_rows) {
    elements = layout.axis_size > intptr_t(group / 2) ? reduce_block : group;
  } else if (layout.kind == chain_kind::var_rows) {
    elements = window;
  }
  auto register_bytes = [&](uint8_t reg) { return (elements << log2_size(p.type[reg])) + register_padding; };
  int nports = layout.noutputs + layout.nsources;
  uint32_t ports = sizeof(chain_kernel);
  uint32_t temporaries = ports + nports * sizeof(chain_port);
  uint32_t steps = temporaries + p.nregisters * sizeof(temporary);
  size_t end = steps + p.nsteps * sizeof(chain_step);
  out.ensure_capacity_leaf(offset + end);
  auto *k = out.get_at<chain_kernel>(offset);
  *k = {};
  bool flat_foreign = layout.kind == chain_kind::flat && only_foreign(p);
  streams_strided_t function = chain_function(layout.kind, reduces, layout.axis_size);
  k->base.function = reinterpret_cast<void *>(flat_foreign ? foreign_flat_strided : function);
  k->reduce = p.reduce;
  k->axis_size = layout.axis_size;
  k->ports = ports;
  k->temporaries = temporaries;
  k->steps = steps;
  k->prefetch_distance = layout.prefetch_distance;
  k->shape_slots = layout.shape_slots;
  k->noutputs = layout.noutputs;
  k->nsources = layout.nsources;
  k->nsteps = p.nsteps;
  k->whole_calls = p.nsteps == 1 && !p.steps[0].foreign && !reduces;
  if (reduces) {
    k->reduced = p.output[0];
    k->empty_fails = p.empty_fails;
    k->combine = p.combine;
    k->reduced_log2 = uint8_t(log2_size(p.type[p.output[0]]));
  }
  auto *port = out.get_at<chain_port>(offset + ports);
  for (int i = 0; i < nports; i++) {
    bool output = i < layout.noutputs;
    uint8_t reg = output ? p.output[i] : uint8_t(i - layout.noutputs);
    port[i].where = output ? layout.outputs[i] : layout.sources[i - layout.noutputs];
    port[i].reg = reg;
    k->nstreams = std::max<uint16_t>(k->nstreams, uint16_t(port[i].where.stream + 1));
    port[i].log2 = uint8_t(log2_size(p.type[reg]));
    // A reduction's output is no register: the program's last value stays a temporary or a source.
    if (!output || !reduces) {
      port[i].scratch = uint32_t(ckernel_builder_reserve_scratch(&out, register_bytes(reg)));
    }
  }
  // Temporaries: scratch is used again as soon as its value was read for the last time. Sizes differ by type, so only
  // within one size.
  int last_read[max_registers];
  find_last_reads(p, last_read);
  struct {
    uint32_t scratch;
    int log2, until;
  } slots[max_registers];
  int nslots = 0;
  auto *temp = out.get_at<temporary>(offset + temporaries);
  auto give_scratch = [&](uint8_t reg, int step) {
    int log2 = log2_size(p.type[reg]), until = std::max(last_read[reg], step);
    if (reduces && reg == p.output[0]) {
      until = p.nsteps;
    }
    uint32_t scratch = 0;
    bool found = false;
    for (int s = 0; s < nslots && !found; s++) {
      if (slots[s].log2 == log2 && slots[s].until < step) {
        found = true;
        scratch = slots[s].scratch;
        slots[s].until = until;
      }
    }
    if (!found) {
      scratch = uint32_t(ckernel_builder_reserve_scratch(&out, register_bytes(reg)));
      slots[nslots++] = {scratch, log2, until};
    }
    temp[k->ntemporaries++] = {scratch, reg};
  };
  auto *step = out.get_at<chain_step>(offset + steps);
  for (int i = 0; i < p.nsteps; i++) {
    const program_step &from = p.steps[i];
    bool leaves = !reduces && is_output(p, from.dst);
    bool streams = layout.streaming && leaves && last_read[from.dst] < 0 && from.stream_function;
    step[i].function = streams ? from.stream_function : from.function;
    step[i].a = from.a;
    step[i].b = from.b;
    step[i].c = from.c;
    step[i].dst = from.dst;
    step[i].dst2 = from.dst2;
    p.for_writes(from, [&](uint8_t reg) {
      if (reduces || !is_output(p, reg)) {
        give_scratch(reg, i);
      }
    });
  }
  if (layout.kind == chain_kind::columns) {
    // A level for each doubling of the number of blocks, and one to fill.
    int levels = 66 - __builtin_clzll(uint64_t(layout.axis_size / intptr_t(block)) | 1);
    k->panels = uint32_t(ckernel_builder_reserve_scratch(&out, size_t(levels) * 64 * columns_at_once));
  }
  if (layout.kind == chain_kind::panel) {
    bool lines = port[0].log2 == 2 || port[0].log2 == 3; // items of which tiles are made a line wide
    k->transposes = lines && layout.streaming && p.nsteps == 1 && nports == 2 && layout.sources[0].fetched &&
                    p.type[p.steps[0].a] == p.type[p.steps[0].dst] &&
                    p.steps[0].function == isa().convert(p.type[0], p.type[0]);
    size_t bytes = 0;
    for (int i = 0; i < nports; i++) {
      bytes += port[i].where.fetched ? size_t(panel_rows * panel_columns) << port[i].log2 : 0;
    }
    k->panels = uint32_t(ckernel_builder_reserve_scratch(&out, bytes));
  }
  for (int i = 0; i < p.nsteps; i++) {
    if (p.steps[i].foreign) {
      end = make_foreign_step(out, offset, end, p, *p.steps[i].foreign);
    }
  }
  return offset + end;
}

} // namespace dynd
