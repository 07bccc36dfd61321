#include "dynd/kernel/chain.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "dynd/base/errors.h"
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

namespace {

constexpr size_t block = 64;         // elements of a flat block
constexpr size_t group = 128;        // elements of a block of whole rows
constexpr size_t reduce_block = 512; // elements of a flat block that ends in a reduction: a power of two of blocks
constexpr size_t register_padding = 64;

struct chain_step {
  block_fn function;
  uint32_t child; // offset from the chain of a foreign kernel, 0 for none
  uint8_t a, b, c, dst, dst2;
  uint8_t size[max_foreign_operands]; // foreign: of the elements of each operand
};

struct chain_port {
  chain_operand where;
  uint32_t scratch; // of its register
  uint8_t reg, log2;
};

// The kernel: this, then the ports (outputs, sources), the temporaries' (register, scratch) pairs, the steps, then
// foreign kernels.
struct chain_kernel {
  ckernel_prefix base;
  const reduce_functions *reduce;
  block_fn combine;
  intptr_t axis_size;
  uint32_t ports, temporaries, steps, panels; // offsets from the kernel; panels: scratch offset
  uint32_t prefetch_distance;                 // 0: sources are in the cache
  uint16_t shape_slots;
  uint16_t nstreams; // up to the highest that is looked at
  uint8_t noutputs, nsources, nsteps, ntemporaries;
  uint8_t reduced; // register that the reduction reads
  uint8_t reduced_log2;
  bool empty_fails;
  bool whole_calls; // one step: a contiguous call need not be cut into blocks

  template <class T> const T *at(uint32_t offset) const {
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(this) + offset);
  }
  const chain_port *outputs() const { return at<chain_port>(ports); }
  const chain_port *sources() const { return outputs() + noutputs; }
};

struct temporary {
  uint32_t scratch, reg;
};

int bad_value(dynd_frame *frame) {
  frame->kind = dynd_error_value;
  return dynd_error_value;
}

int foreign_step(const chain_kernel *k, const chain_step &step, char *const *reg, size_t n, dynd_frame *frame);

// Runs the steps on n elements; every register's pointer is set. Not zero: an error status.
inline int run_steps(const chain_kernel *k, char *const *reg, size_t n, dynd_frame *frame) {
  const chain_step *step = k->at<chain_step>(k->steps), *end = step + k->nsteps;
  uint32_t bad = 0;
  for (; step != end; step++) {
    if (step->function) [[likely]] {
      bad |= step->function(reg[step->dst], reg[step->a], reg[step->b], reg[step->c], n, reg[step->dst2]);
    } else if (int status = foreign_step(k, *step, reg, n, frame)) {
      return status;
    }
  }
  return bad ? bad_value(frame) : dynd_ok;
}

void set_temporaries(const chain_kernel *k, char **reg, dynd_frame *frame) {
  reg[no_register] = nullptr;
  const temporary *t = k->at<temporary>(k->temporaries);
  for (int i = 0; i < k->ntemporaries; i++) {
    reg[t[i].reg] = frame->scratch + t[i].scratch;
  }
}

const fetch_functions &fetch_of(const chain_port &port) { return level().fetch[port.log2]; }

bool cancelled(const dynd_frame *frame) { return frame->cancel && *static_cast<const volatile int *>(frame->cancel); }

// ---- flat ---------------------------------------------------------------------------------------------------------

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

// Brings what comes `distance` bytes later towards the cache; n bytes of it.
inline void prefetch(const char *at, uint32_t distance, size_t n) {
  for (size_t line = 0; line < n; line += 64) {
    __builtin_prefetch(at + distance + line);
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

int flat_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                 dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  char *reg[256];
  flat_moves moves;
  start_flat(k, stream, stride, reg, moves, std::min(count, block), frame);
  bool whole = k->whole_calls && moves.ndirect == k->noutputs + k->nsources;
  size_t step = whole ? count : block;
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
    uint32_t empty = k->reduce->rows(stream[output], 0, stream[output], nothing, 1);
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

// ---- rows of one size ---------------------------------------------------------------------------------------------

// A source's rows into scratch, `rows` of them from row `first`.
void fetch_small_rows(const chain_port &p, char *dst, const char *src, intptr_t row_stride, size_t row, size_t rows) {
  const fetch_functions &fetch = fetch_of(p);
  if (p.where.axis_stride == 0) {
    fetch.repeat_fixed(dst, src, row_stride, row, rows);
    return;
  }
  for (size_t r = 0; r < rows; r++) {
    fetch.load_strided(dst + ((r * row) << p.log2), src + intptr_t(r) * row_stride, p.where.axis_stride, row);
  }
}

// Does the operand's memory hold the rows one after another?
bool follows(const chain_port &p, intptr_t row_stride, intptr_t row) {
  intptr_t item = intptr_t(1) << p.log2;
  return p.where.axis_stride == item && row_stride == row * item;
}

int small_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                       dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  char *reg[256];
  set_temporaries(k, reg, frame);
  size_t row = size_t(k->axis_size), rows = std::min(count, std::max<size_t>(group / row, 1));
  // What does not move with the rows is fetched once.
  for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
    reg[p->reg] = frame->scratch + p->scratch;
    if (stride[p->where.stream] == 0) {
      fetch_small_rows(*p, reg[p->reg], stream[p->where.stream], 0, row, rows);
    }
  }
  for (size_t done = 0; done < count; done += rows) {
    size_t r = std::min(rows, count - done), n = r * row;
    for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
      intptr_t step = stride[p->where.stream];
      char *src = stream[p->where.stream] + intptr_t(done) * step;
      if (follows(*p, step, k->axis_size)) {
        reg[p->reg] = src;
      } else if (step != 0) {
        fetch_small_rows(*p, reg[p->reg], src, step, row, r);
      }
    }
    for (const chain_port *p = k->outputs(), *end = p + (k->reduce ? 0 : k->noutputs); p != end; p++) {
      intptr_t step = stride[p->where.stream];
      bool direct = follows(*p, step, k->axis_size);
      reg[p->reg] = direct ? stream[p->where.stream] + intptr_t(done) * step : frame->scratch + p->scratch;
    }
    if (int status = run_steps(k, reg, n, frame)) {
      return status;
    }
    for (const chain_port *p = k->outputs(), *end = p + k->noutputs; p != end; p++) {
      intptr_t step = stride[p->where.stream];
      char *dst = stream[p->where.stream] + intptr_t(done) * step;
      if (k->reduce) {
        k->reduce->rows_fixed(dst, step, reg[k->reduced], row, r);
      } else if (!follows(*p, step, k->axis_size)) {
        for (size_t i = 0; i < r; i++) {
          fetch_of(*p).store_strided(dst + intptr_t(i) * step, p->where.axis_stride,
                                     reg[p->reg] + ((i * row) << p->log2), row);
        }
      }
    }
  }
  return cancelled(frame) ? int(dynd_error_cancelled) : int(dynd_ok);
}

// Rows too long to be collected, each reduced to one value: the lanes of each, folded.
int long_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                      dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  const chain_port &dst = *k->outputs();
  alignas(64) char lanes[64];
  char *inner[max_streams];
  intptr_t inner_stride[max_streams] = {};
  inner[dst.where.stream] = lanes;
  for (size_t i = 0; i < count; i++) {
    for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
      inner[p->where.stream] = stream[p->where.stream] + intptr_t(i) * stride[p->where.stream];
      inner_stride[p->where.stream] = p->where.axis_stride;
    }
    if (int status = lanes_strided(inner, inner_stride, size_t(k->axis_size), self, frame)) {
      return status;
    }
    k->reduce->fold(stream[dst.where.stream] + intptr_t(i) * stride[dst.where.stream], lanes);
  }
  return dynd_ok;
}

// ---- columns ------------------------------------------------------------------------------------------------------

constexpr size_t columns_at_once = 128;

// Lanes of `width` columns side by side: lane l of column j at (l * columns_at_once + j). The same order as for one row
// (ops/level.h): lanes without an element are left out, which is what combining with the identity does.
class column_stack {
public:
  column_stack(const chain_kernel *k, char *scratch, size_t lanes) : k_(k), scratch_(scratch), lanes_(lanes) {}

  char *lane(int level, size_t l) {
    return scratch_ + ((size_t(level) * lanes_ + l) * columns_at_once << k_->reduced_log2);
  }
  // Element i of its block, for `width` columns.
  void add(size_t i, const char *x, size_t width) {
    char *to = lane(depth_, i % lanes_);
    if (i < lanes_) {
      std::memcpy(to, x, width << k_->reduced_log2);
      used_[depth_] = i + 1;
    } else {
      k_->combine(to, to, x, nullptr, width, nullptr);
    }
  }
  void end_block(size_t width) {
    weight_[depth_++] = 1;
    while (depth_ > 1 && weight_[depth_ - 1] == weight_[depth_ - 2]) {
      merge(width);
    }
  }
  void finish(size_t width) {
    while (depth_ > 1) {
      merge(width);
    }
    for (size_t half = lanes_ / 2; half > 0; half /= 2) {
      for (size_t l = 0; l < half && l + half < used_[0]; l++) {
        k_->combine(lane(0, l), lane(0, l), lane(0, l + half), nullptr, width, nullptr);
      }
      used_[0] = std::min(used_[0], half);
    }
  }

private:
  void merge(size_t width) {
    int upper = --depth_;
    for (size_t l = 0; l < used_[upper]; l++) {
      k_->combine(lane(upper - 1, l), lane(upper - 1, l), lane(upper, l), nullptr, width, nullptr);
    }
    weight_[upper - 1] += weight_[upper];
  }

  const chain_kernel *k_;
  char *scratch_;
  size_t lanes_;
  int depth_ = 0;
  size_t weight_[64], used_[64];
};

int columns_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                    dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  const chain_port &dst = *k->outputs();
  char *reg[256];
  set_temporaries(k, reg, frame);
  size_t lanes = 64 >> k->reduced_log2;
  for (size_t j = 0; j < count; j += columns_at_once) {
    size_t width = std::min(columns_at_once, count - j);
    column_stack stack(k, frame->scratch + k->panels, lanes);
    for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
      reg[p->reg] = stream[p->where.stream] + intptr_t(j) * stride[p->where.stream];
    }
    for (size_t i = 0; i < size_t(k->axis_size); i++) {
      char *at[256];
      std::copy(reg, reg + k->nsources, at); // sources are the first registers
      for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
        if (stride[p->where.stream] == 0) {
          reg[p->reg] = frame->scratch + p->scratch;
          fetch_of(*p).splat(reg[p->reg], at[p->reg], width);
        }
      }
      if (int status = run_steps(k, reg, width, frame)) {
        return status;
      }
      stack.add(i % block, reg[k->reduced], width);
      if (i % block == block - 1) {
        stack.end_block(width);
      }
      for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
        reg[p->reg] = at[p->reg] + p->where.axis_stride;
      }
    }
    if (k->axis_size % intptr_t(block) != 0) {
      stack.end_block(width);
    }
    stack.finish(width);
    fetch_of(dst).store_strided(stream[dst.where.stream] + intptr_t(j) * stride[dst.where.stream],
                                stride[dst.where.stream], stack.lane(0, 0), width);
  }
  return dynd_ok;
}

// ---- panels -------------------------------------------------------------------------------------------------------

int panel_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
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

// ---- rows of a `var` dimension ------------------------------------------------------------------------------------

constexpr size_t window_rows = 128; // rows that a window of the content may touch, empty ones included

// One call's state: where each operand stands. `offsets` are the result's.
struct var_rows_call {
  const chain_kernel *k;
  char *const *stream;
  const intptr_t *stride;
  const int64_t *offsets;
  dynd_frame *frame;
  char *reg[256];

  var_rows_call(const chain_kernel *kernel, char *const *streams, const intptr_t *strides, dynd_frame *f)
      : k(kernel), stream(streams), stride(strides),
        offsets(reinterpret_cast<const int64_t *>(streams[kernel->shape_slots])), frame(f) {
    set_temporaries(k, reg, frame);
    for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
      reg[p->reg] = frame->scratch + p->scratch;
      if (p->where.slots == slot_kind::none && p->where.axis_stride == 0 && stride[p->where.stream] == 0) {
        fetch_of(*p).splat(reg[p->reg], stream[p->where.stream], group);
      }
    }
  }

  char *row_address(const chain_port &p, size_t r) const {
    return stream[p.where.stream] + intptr_t(r) * stride[p.where.stream];
  }

  // Rows from elsewhere, of which the first may have begun before.
  void gather(const chain_port &p, size_t r, size_t rows, const int64_t *cut) {
    const fetch_functions &functions = fetch_of(p);
    char *scratch = frame->scratch + p.scratch;
    const char *content = stream[p.where.stream];
    intptr_t slot_stride = stride[p.where.slot_stream];
    const char *slots = stream[p.where.slot_stream] + intptr_t(r) * slot_stride;
    if (cut[0] != offsets[r] || cut[1] != offsets[r + 1]) { // a part of a row; one element stretches as it is
      const int64_t *words = reinterpret_cast<const int64_t *>(slots);
      int64_t size = p.where.slots == slot_kind::offsets64 ? words[1] - words[0] : words[1];
      int64_t part[2] = {words[0] + (size == 1 ? 0 : cut[0] - offsets[r]), size == 1 ? 1 : cut[1] - cut[0]};
      functions.gather(scratch, cut, 1, content, p.where.axis_stride, reinterpret_cast<const char *>(part), 0,
                       slot_kind::pairs64);
      scratch += (cut[1] - cut[0]) << p.log2;
      slots += slot_stride;
      cut++;
      rows--;
    }
    functions.gather(scratch, cut, rows, content, p.where.axis_stride, slots, slot_stride, p.where.slots);
  }

  // Brings the elements cut[0] .. cut[rows] of the result's content into the register; they are in row r and following.
  void fetch(const chain_port &p, size_t r, size_t rows, const int64_t *cut) {
    const fetch_functions &functions = fetch_of(p);
    intptr_t item = intptr_t(1) << p.log2;
    if (p.where.slots != slot_kind::none) {
      gather(p, r, rows, cut);
    } else if (p.where.axis_stride == item) {
      reg[p.reg] = stream[p.where.stream] + cut[0] * item;
      if (k->prefetch_distance) {
        prefetch(reg[p.reg], k->prefetch_distance, size_t(cut[rows] - cut[0]) << p.log2);
      }
    } else if (p.where.axis_stride != 0) {
      functions.load_strided(reg[p.reg], stream[p.where.stream] + cut[0] * p.where.axis_stride, p.where.axis_stride,
                             size_t(cut[rows] - cut[0]));
    } else if (stride[p.where.stream] != 0) {
      functions.repeat(reg[p.reg], row_address(p, r), stride[p.where.stream], cut, rows);
    }
  }

  // Computes the elements cut[0] .. cut[rows] of the result's content; they are in row r and following.
  int compute(size_t r, size_t rows, const int64_t *cut) {
    for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
      fetch(*p, r, rows, cut);
    }
    return run_steps(k, reg, size_t(cut[rows] - cut[0]), frame);
  }

  // ---- results that are rows too: the content in windows that begin at cache lines, whatever rows they cut

  int store(size_t count) {
    const chain_port &first = *k->outputs();
    int64_t at = offsets[0], end = offsets[count];
    size_t misaligned = (reinterpret_cast<uintptr_t>(stream[first.where.stream]) + (size_t(at) << first.log2)) % 64;
    int64_t next = at + int64_t(group - (misaligned >> first.log2));
    int64_t cut[window_rows + 2];
    for (size_t r = 0; at < end; next = at + int64_t(group)) {
      while (offsets[r + 1] <= at) {
        r++;
      }
      int64_t stop = std::min(next, end);
      size_t rows = 0;
      cut[0] = at;
      while (offsets[r + rows + 1] < stop && rows < window_rows) {
        rows++;
        cut[rows] = offsets[r + rows];
      }
      if (rows < window_rows) {
        cut[++rows] = stop;
      }
      if (int status = store_window(r, rows, cut)) {
        return status;
      }
      at = cut[rows];
    }
    return dynd_ok;
  }

  int store_window(size_t r, size_t rows, const int64_t *cut) {
    for (const chain_port *p = k->outputs(), *end = p + k->noutputs; p != end; p++) {
      bool direct = p->where.axis_stride == intptr_t(1) << p->log2;
      reg[p->reg] = direct ? stream[p->where.stream] + (cut[0] << p->log2) : frame->scratch + p->scratch;
    }
    if (int status = compute(r, rows, cut)) {
      return status;
    }
    for (const chain_port *p = k->outputs(), *end = p + k->noutputs; p != end; p++) {
      if (p->where.axis_stride != intptr_t(1) << p->log2) {
        fetch_of(*p).store_strided(stream[p->where.stream] + cut[0] * p->where.axis_stride, p->where.axis_stride,
                                   reg[p->reg], size_t(cut[rows] - cut[0]));
      }
    }
    return dynd_ok;
  }

  // ---- results that are one value a row: groups of whole rows

  int reduce(size_t count) {
    const chain_port &dst = *k->outputs();
    for (size_t r = 0; r < count;) {
      size_t end = r;
      int64_t limit = offsets[r] + int64_t(group);
      while (end < count && offsets[end + 1] <= limit) {
        end++;
      }
      if (end == r) {
        if (int status = reduce_long_row(r++)) {
          return status;
        }
        continue;
      }
      if (end < count && end - r > 8) { // segmented reductions take eight rows at once
        end -= (end - r) % 8;
      }
      if (int status = compute(r, end - r, offsets + r)) {
        return status;
      }
      const char *origin = reg[k->reduced] - (offsets[r] << k->reduced_log2);
      uint32_t empty = k->reduce->rows(row_address(dst, r), stride[dst.where.stream], origin, offsets + r, end - r);
      if (empty && k->empty_fails) {
        return bad_value(frame);
      }
      r = end;
    }
    return dynd_ok;
  }

  // A row of more than a group: its parts one after another.
  int reduce_long_row(size_t r) {
    lane_stack stack(*k->reduce);
    int64_t begin = offsets[r], end = offsets[r + 1];
    for (int64_t at = begin; at < end; at += int64_t(group)) {
      int64_t cut[2] = {at, std::min(at + int64_t(group), end)};
      if (int status = compute(r, 1, cut)) {
        return status;
      }
      size_t n = size_t(cut[1] - cut[0]);
      k->reduce->lanes(stack.top(), reg[k->reduced], n);
      stack.push(n == group ? group / block : 1);
    }
    alignas(64) char lanes[64];
    stack.finish(lanes);
    k->reduce->fold(row_address(*k->outputs(), r), lanes);
    return dynd_ok;
  }
};

int var_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                     dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  auto *offsets = reinterpret_cast<const int64_t *>(stream[k->shape_slots]);
  if (k->reduce && k->nsteps == 0 && k->sources()->where.slots == slot_kind::none &&
      k->sources()->where.axis_stride == intptr_t(1) << k->reduced_log2) {
    const chain_port &dst = *k->outputs();
    uint32_t empty = k->reduce->rows(stream[dst.where.stream], stride[dst.where.stream],
                                     stream[k->sources()->where.stream], offsets, count);
    return empty && k->empty_fails ? bad_value(frame) : int(dynd_ok);
  }
  var_rows_call call(k, stream, stride, frame);
  int status = k->reduce ? call.reduce(count) : call.store(count);
  return status == dynd_ok && cancelled(frame) ? int(dynd_error_cancelled) : status;
}

// ---- foreign kernels ----------------------------------------------------------------------------------------------

constexpr int foreign_ports = max_foreign_operands;

// The registers of a foreign step in the order of its streams, outputs first; returns how many.
inline int foreign_registers(const chain_step &step, uint8_t *regs) {
  int n = 0;
  for (uint8_t reg : {step.dst, step.dst2, step.a, step.b, step.c}) {
    if (reg != no_register) {
      regs[n++] = reg;
    }
  }
  return n;
}

int call_foreign(const chain_kernel *k, const chain_step &step, char *const *stream, const intptr_t *stride, size_t n,
                 dynd_frame *frame) {
  auto *foreign = k->at<ckernel_prefix>(step.child);
  return reinterpret_cast<streams_strided_t>(foreign->function)(stream, stride, n, foreign, frame);
}

int foreign_step(const chain_kernel *k, const chain_step &step, char *const *reg, size_t n, dynd_frame *frame) {
  uint8_t regs[foreign_ports];
  char *stream[foreign_ports];
  intptr_t stride[foreign_ports];
  int count = foreign_registers(step, regs);
  for (int i = 0; i < count; i++) {
    stream[i] = reg[regs[i]];
    stride[i] = step.size[i];
  }
  return call_foreign(k, step, stream, stride, n, frame);
}

// Nothing but one foreign step: it gets the call's own streams and strides, however long and whatever they are.
int foreign_flat_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                         dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  const chain_step &step = *k->at<chain_step>(k->steps);
  uint8_t regs[foreign_ports];
  char *at[foreign_ports];
  intptr_t jump[foreign_ports];
  int n = foreign_registers(step, regs);
  for (int i = 0; i < n; i++) {
    for (const chain_port *p = k->outputs(), *end = p + k->noutputs + k->nsources; p != end; p++) {
      if (p->reg == regs[i]) {
        at[i] = stream[p->where.stream];
        jump[i] = stride[p->where.stream];
      }
    }
  }
  int status = call_foreign(k, step, at, jump, count, frame);
  return status == dynd_ok && cancelled(frame) ? int(dynd_error_cancelled) : status;
}

// Is one foreign step all there is, from the sources to the outputs?
bool only_foreign(const program &p) {
  return p.nsteps == 1 && p.steps[0].foreign && !p.reduce && p.noutputs == (p.steps[0].dst2 == no_register ? 1 : 2);
}

// ---- construction -------------------------------------------------------------------------------------------------

void destroy_chain(ckernel_prefix *self) {
  auto *k = reinterpret_cast<chain_kernel *>(self);
  auto *step = k->at<chain_step>(k->steps);
  for (int i = 0; i < k->nsteps; i++) {
    if (step[i].child) {
      destroy_child(reinterpret_cast<ckernel_prefix *>(reinterpret_cast<char *>(k) + step[i].child));
    }
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
    for (uint8_t reg : {p.steps[i].a, p.steps[i].b, p.steps[i].c}) {
      if (reg != no_register) {
        last_read[reg] = i;
      }
    }
  }
}

bool is_output(const program &p, uint8_t reg) {
  return std::find(p.output, p.output + p.noutputs, reg) != p.output + p.noutputs;
}

} // namespace

size_t make_chain(ckernel_builder &out, size_t offset, const program &p, const chain_layout &layout) {
  bool reduces = p.reduce != nullptr;
  bool flat = layout.kind == chain_kind::flat || layout.kind == chain_kind::row;
  size_t elements = flat && reduces ? reduce_block : group;
  if (layout.kind == chain_kind::small_rows) {
    elements = layout.axis_size > intptr_t(group / 2) ? reduce_block : group;
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
  bool foreign = false;
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
    foreign |= from.foreign != nullptr;
    for (uint8_t reg : {from.dst, from.dst2}) {
      if (reg != no_register && (reduces || !is_output(p, reg))) {
        give_scratch(reg, i);
      }
    }
  }
  if (layout.kind == chain_kind::columns) {
    // A level for each doubling of the number of blocks, and one to fill.
    int levels = 66 - __builtin_clzll(uint64_t(layout.axis_size / intptr_t(block)) | 1);
    k->panels = uint32_t(ckernel_builder_reserve_scratch(&out, size_t(levels) * 64 * columns_at_once));
  }
  if (layout.kind == chain_kind::panel) {
    size_t bytes = 0;
    for (int i = 0; i < nports; i++) {
      bytes += port[i].where.fetched ? size_t(panel_rows * panel_columns) << port[i].log2 : 0;
    }
    k->panels = uint32_t(ckernel_builder_reserve_scratch(&out, bytes));
  }
  if (foreign) {
    k->base.destructor = destroy_chain;
    for (int i = 0; i < p.nsteps; i++) {
      if (p.steps[i].foreign) {
        // Room first: the chain's destructor must never find a child that is not there.
        out.ensure_capacity(offset + end);
        out.get_at<chain_step>(offset + steps)[i].child = uint32_t(end);
        foreign_types types;
        types.noutputs = p.steps[i].dst2 == no_register ? 1 : 2;
        uint8_t regs[foreign_ports];
        auto *step = out.get_at<chain_step>(offset + steps) + i;
        int count = foreign_registers(*step, regs);
        types.nsources = count - types.noutputs;
        for (int o = 0; o < count; o++) {
          types.type[o] = p.type[regs[o]];
          step->size[o] = scalar_size[size_t(p.type[regs[o]])];
        }
        end = make_foreign(out, offset + end, *p.steps[i].foreign, types) - offset;
        end = (end + 7) / 8 * 8;
      }
    }
  }
  return offset + end;
}

} // namespace dynd
