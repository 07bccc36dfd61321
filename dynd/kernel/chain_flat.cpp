// Flat walks: blocks of contiguous elements, whole logical rows, panels of transposed sources, and strangers' kernels.
#include <algorithm>
#include <cstring>

#include "dynd/base/cpu.h"
#include "dynd/kernel/chain_kernel.h"
#include "dynd/plan/nest.h"
#include "dynd/plan/tile.h"

namespace dynd::chain {

namespace {

// Which operands move with the call (direct), and which are loaded and stored block by block (strided).
struct flat_moves {
  int ndirect = 0, nloads = 0, nstores = 0, noutputs = 0; // noutputs: of the direct ones, they come first
  uint8_t direct_reg[max_operands], direct_log2[max_operands];
  const chain_port *load[max_operands], *store[max_outputs];
};

void start_flat(const chain_kernel *k, char *const *stream, const intptr_t *stride, char **reg, flat_moves &moves,
                size_t splat_count, dynd_frame *frame) {
  set_temporaries(k, reg, frame);
  // A reduction's output is no register.
  for (const chain_port *p = k->outputs(), *end = p + (k->reduce ? 0 : k->noutputs); p != end; p++) {
    if (stride[p->where.stream] == intptr_t(1) << p->log2) {
      reg[p->reg] = stream[p->where.stream];
      moves.direct_reg[moves.ndirect] = p->reg;
      moves.direct_log2[moves.ndirect++] = p->log2;
      moves.noutputs++;
    } else {
      reg[p->reg] = frame->scratch + p->scratch;
      moves.store[moves.nstores++] = p;
    }
  }
  for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
    intptr_t step = stride[p->where.stream];
    if (step == intptr_t(1) << p->log2) {
      reg[p->reg] = stream[p->where.stream];
      moves.direct_reg[moves.ndirect] = p->reg;
      moves.direct_log2[moves.ndirect++] = p->log2;
    } else {
      reg[p->reg] = frame->scratch + p->scratch;
      if (step == 0) {
        fetch_of(*p).splat(reg[p->reg], stream[p->where.stream], splat_count);
      } else {
        moves.load[moves.nloads++] = p;
      }
    }
  }
}

inline void load_block(const flat_moves &moves, char *const *stream, const intptr_t *stride, char *const *reg,
                       size_t done, size_t n) {
  for (int i = 0; i < moves.nloads; i++) {
    const chain_port *p = moves.load[i];
    intptr_t step = stride[p->where.stream];
    fetch_of(*p).load_strided(reg[p->reg], stream[p->where.stream] + intptr_t(done) * step, step, n);
  }
}

inline void prefetch_ahead(const flat_moves &moves, char *const *reg, size_t n, uint32_t distance) {
  for (int i = moves.noutputs; i < moves.ndirect; i++) {
    prefetch(reg[moves.direct_reg[i]], distance, n << moves.direct_log2[i]);
  }
}

inline void advance(const flat_moves &moves, char **reg, size_t n) {
  for (int i = 0; i < moves.ndirect; i++) {
    reg[moves.direct_reg[i]] += n << moves.direct_log2[i];
  }
}

} // namespace

int flat_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                 dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  char *reg[256];
  flat_moves moves;
  size_t most = k->nsteps == 1 ? group : block; // one step has no temporaries to keep in the cache
  start_flat(k, stream, stride, reg, moves, std::min(count, most), frame);
  bool whole = k->whole_calls && moves.ndirect == k->noutputs + k->nsources;
  size_t step = whole ? count : most;
  uint32_t ahead = whole ? 0 : k->prefetch_distance;
  for (size_t done = 0; done < count; done += step) {
    size_t n = std::min(step, count - done);
    load_block(moves, stream, stride, reg, done, n);
    if (ahead) {
      prefetch_ahead(moves, reg, n, ahead);
    }
    if (int status = run_steps(k, reg, n, frame)) {
      return status;
    }
    for (int i = 0; i < moves.nstores; i++) {
      const chain_port *p = moves.store[i];
      intptr_t jump = stride[p->where.stream];
      fetch_of(*p).store_strided(stream[p->where.stream] + intptr_t(done) * jump, jump, reg[p->reg], n);
    }
    advance(moves, reg, n);
  }
  return cancelled(frame) ? int(dynd_error_cancelled) : int(dynd_ok);
}

// The one output is a place for 64 bytes of lanes; its stride is not looked at.
int lanes_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  char *reg[256];
  flat_moves moves;
  char *lanes = stream[k->outputs()->where.stream];
  start_flat(k, stream, stride, reg, moves, std::min(count, reduce_block), frame);
  if (k->nsteps == 0 && moves.nloads == 0 && moves.ndirect == 1) {
    k->reduce->lanes(lanes, reg[k->reduced], count);
    return dynd_ok;
  }
  lane_stack stack(*k->reduce);
  for (size_t done = 0; done < count; done += reduce_block) {
    size_t n = std::min(reduce_block, count - done);
    load_block(moves, stream, stride, reg, done, n);
    if (k->prefetch_distance) {
      prefetch_ahead(moves, reg, n, k->prefetch_distance);
    }
    if (int status = run_steps(k, reg, n, frame)) {
      return status;
    }
    k->reduce->lanes(stack.top(), reg[k->reduced], n);
    stack.push(n == reduce_block ? reduce_block / block : 1);
    advance(moves, reg, n);
  }
  stack.finish(lanes);
  return cancelled(frame) ? int(dynd_error_cancelled) : int(dynd_ok);
}

int row_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  int output = k->outputs()->where.stream;
  if (count == 0) {
    const int64_t nothing[2] = {0, 0};
    uint32_t empty = k->reduce->rows(stream[output], 0, stream[output], nothing, 1, 0);
    return empty && k->empty_fails ? bad_value(frame) : int(dynd_ok);
  }
  alignas(64) char lanes[64];
  char *at[max_streams];
  std::copy(stream, stream + k->nstreams, at);
  at[output] = lanes;
  if (int status = lanes_strided(at, stride, count, self, frame)) {
    return status;
  }
  k->reduce->fold(stream[output], lanes);
  return dynd_ok;
}

// ---- panels -------------------------------------------------------------------------------------------------------

namespace {

// A copy in another order of the axes goes from memory to memory, without scratch.
void transpose_strided(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t count) {
  const chain_port &to = *k->outputs(), &from = *k->sources();
  int d = to.where.stream, s = from.where.stream;
  size_t panel = this_cpu().transpose_rows;
  for (size_t i = 0; i < count; i += panel) {
    fetch_of(from).transpose_stream(stream[d] + intptr_t(i) * stride[d], stride[d], stream[s] + intptr_t(i) * stride[s],
                                    from.where.axis_stride, std::min(panel, count - i), size_t(k->axis_size));
  }
}

} // namespace

int panel_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  if (k->transposes && k->outputs()->where.axis_stride == intptr_t(1) << k->outputs()->log2 &&
      stride[k->sources()->where.stream] == intptr_t(1) << k->sources()->log2) {
    transpose_strided(k, stream, stride, count);
    return cancelled(frame) ? int(dynd_error_cancelled) : int(dynd_ok);
  }
  char *inner[max_streams];
  intptr_t inner_stride[max_streams];
  size_t columns = size_t(k->axis_size);
  int nports = k->noutputs + k->nsources;
  for (size_t i0 = 0; i0 < count; i0 += panel_rows) {
    size_t rows = std::min(size_t(panel_rows), count - i0);
    for (size_t j0 = 0; j0 < columns; j0 += panel_columns) {
      size_t width = std::min(size_t(panel_columns), columns - j0);
      char *panel = frame->scratch + k->panels;
      for (const chain_port *p = k->outputs(), *end = p + nports; p != end; p++) {
        int s = p->where.stream;
        char *corner = stream[s] + intptr_t(i0) * stride[s] + intptr_t(j0) * p->where.axis_stride;
        inner[s] = corner;
        inner_stride[s] = p->where.axis_stride;
        if (p->where.fetched) {
          fetch_of(*p).transpose(panel, panel_columns << p->log2, corner, p->where.axis_stride, rows, width);
          inner[s] = panel;
          inner_stride[s] = intptr_t(1) << p->log2;
          panel += (panel_rows * panel_columns) << p->log2;
        }
      }
      for (size_t i = 0; i < rows; i++) {
        if (k->prefetch_distance && i + 2 < rows) { // rows are too short for the CPU's own prefetching
          for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
            int s = p->where.stream;
            if (!p->where.fetched && p->where.axis_stride == intptr_t(1) << p->log2) {
              prefetch(inner[s] + 2 * stride[s], 0, width << p->log2);
            }
          }
        }
        if (int status = flat_strided(inner, inner_stride, width, self, frame)) {
          return status;
        }
        for (const chain_port *p = k->outputs(), *end = p + nports; p != end; p++) {
          int s = p->where.stream;
          inner[s] += p->where.fetched ? panel_columns << p->log2 : stride[s];
        }
      }
    }
  }
  return dynd_ok;
}

// ---- foreign kernels ----------------------------------------------------------------------------------------------

namespace {

int call_foreign(const foreign_operands &f, char *const *stream, const intptr_t *stride, size_t n, dynd_frame *frame) {
  const ckernel_prefix *kernel = f.kernel();
  return reinterpret_cast<streams_strided_t>(kernel->function)(stream, stride, n, kernel, frame);
}

} // namespace

int run_foreign(const chain_kernel *k, char *const *reg, size_t n, dynd_frame *frame) {
  const auto &f = *k->at<foreign_operands>(k->foreign);
  char *stream[max_foreign_operands];
  intptr_t stride[max_foreign_operands];
  for (size_t i = 0; i < f.count; i++) {
    stream[i] = reg[f.operand[i].reg];
    stride[i] = f.operand[i].size;
  }
  return call_foreign(f, stream, stride, n, frame);
}

// Nothing but one foreign step: it gets the call's own streams and strides, however long and whatever they are.
int foreign_flat_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                         dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  const auto &f = *k->at<foreign_operands>(k->foreign);
  char *at[max_foreign_operands];
  intptr_t jump[max_foreign_operands];
  for (size_t i = 0; i < f.count; i++) {
    for (const chain_port *p = k->outputs(), *end = p + k->noutputs + k->nsources; p != end; p++) {
      if (p->reg == f.operand[i].reg) {
        at[i] = stream[p->where.stream];
        jump[i] = stride[p->where.stream];
      }
    }
  }
  int status = call_foreign(f, at, jump, count, frame);
  return status == dynd_ok && cancelled(frame) ? int(dynd_error_cancelled) : status;
}

} // namespace dynd::chain
