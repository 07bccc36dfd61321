// Walks over rows of one size: short rows collected into blocks, long rows reduced one by one, columns side by side.
#include <algorithm>
#include <cstring>

#include "dynd/kernel/chain_kernel.h"
#include "dynd/plan/nest.h"

namespace dynd::chain {

namespace {

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

} // namespace

int small_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                       dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  char *reg[256];
  set_temporaries(k, reg, frame);
  size_t row = size_t(k->axis_size); // 0 where a view took nothing of the rows
  size_t rows = std::min(count, std::max<size_t>(group / std::max<size_t>(row, 1), 1));
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

namespace {

// Lanes of `width` columns side by side: lane l of column j at (l * columns_at_once + j). The same order as for one row
// (ops/loops.h): lanes without an element are left out, which is what combining with the identity does.
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

} // namespace

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

} // namespace dynd::chain
