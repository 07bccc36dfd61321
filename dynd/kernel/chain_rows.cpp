// Walks over rows of one size: short rows collected into batches, columns reduced side by side, and a nest of loops as
// one logical row.
#include <algorithm>
#include <cstring>

#include "dynd/kernel/chain_kernel.h"

namespace dynd::chain {

// ---- small rows ---------------------------------------------------------------------------------------------------

namespace {

// A source's rows into scratch, `rows` of them.
void fetch_small_rows(const port &p, char *dst, const char *src, intptr_t row_stride, size_t row, size_t rows) {
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
bool follows(const port &p, intptr_t row_stride, intptr_t row) {
  intptr_t item = intptr_t(1) << p.log2;
  return p.where.axis_stride == item && row_stride == row * item;
}

} // namespace

int small_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                       dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  char *reg[256];
  set_temporaries(k, reg, frame);
  size_t row = size_t(k->axis_size); // 0 where a view took nothing of the rows
  size_t rows = std::min(count, std::max<size_t>(group / std::max<size_t>(row, 1), 1));
  // A source that does not move with the rows is fetched once.
  for (const port &p : k->sources()) {
    reg[p.reg] = frame->scratch + p.scratch;
    if (stride[p.where.stream] == 0) {
      fetch_small_rows(p, reg[p.reg], stream[p.where.stream], 0, row, rows);
    }
  }
  for (size_t done = 0; done < count; done += rows) {
    size_t r = std::min(rows, count - done), n = r * row;
    auto here = [&](const port &p) { return stream[p.where.stream] + intptr_t(done) * stride[p.where.stream]; };
    for (const port &p : k->sources()) {
      intptr_t step = stride[p.where.stream];
      if (follows(p, step, k->axis_size)) {
        reg[p.reg] = here(p);
      } else if (step != 0) {
        fetch_small_rows(p, reg[p.reg], here(p), step, row, r);
      }
    }
    for (const port &p : k->outputs()) {
      bool direct = follows(p, stride[p.where.stream], k->axis_size) && !k->stores_late;
      reg[p.reg] = direct ? here(p) : frame->scratch + p.scratch;
    }
    if (int status = run_steps(k, reg, n, frame)) {
      return status;
    }
    for (const reduced_output &o : k->reduced()) {
      o.functions->rows_fixed(stream[o.stream] + intptr_t(done) * stride[o.stream], stride[o.stream], reg[o.reg], row,
                              r);
    }
    for (const port &p : k->outputs()) {
      for (size_t i = 0; i < r && reg[p.reg] == frame->scratch + p.scratch; i++) {
        fetch_of(p).store_strided(here(p) + intptr_t(i) * stride[p.where.stream], p.where.axis_stride,
                                  reg[p.reg] + ((i * row) << p.log2), row);
      }
    }
  }
  return status_of(frame);
}

// ---- columns ------------------------------------------------------------------------------------------------------

namespace {

// Lanes of `width` columns side by side: lane l of column j at (l * columns_at_once + j). The same order as for one row
// (ops/loops.h): lanes without an element are left out, which is what combining with the identity does.
class column_stack {
public:
  void start(const reduced_output &reduced, char *scratch) {
    reduced_ = &reduced;
    scratch_ = scratch;
    lanes_ = size_t(64) >> reduced.log2;
    depth_ = 0;
  }

  char *lane(int level, size_t l) {
    return scratch_ + ((size_t(level) * lanes_ + l) * columns_at_once << reduced_->log2);
  }
  // Element i of its block, for `width` columns.
  void add(size_t i, const char *x, size_t width) {
    char *to = lane(depth_, i % lanes_);
    if (i < lanes_) {
      std::memcpy(to, x, width << reduced_->log2);
      used_[depth_] = i + 1;
    } else {
      reduced_->combine(to, to, x, nullptr, width, nullptr);
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
        reduced_->combine(lane(0, l), lane(0, l), lane(0, l + half), nullptr, width, nullptr);
      }
      used_[0] = std::min(used_[0], half);
    }
  }

private:
  void merge(size_t width) {
    int upper = --depth_;
    for (size_t l = 0; l < used_[upper]; l++) {
      reduced_->combine(lane(upper - 1, l), lane(upper - 1, l), lane(upper, l), nullptr, width, nullptr);
    }
    weight_[upper - 1] += weight_[upper];
  }

  const reduced_output *reduced_;
  char *scratch_;
  size_t lanes_;
  int depth_;
  size_t weight_[64], used_[64];
};

// The columns j .. j + width of a call.
struct column_group {
  const chain_kernel *k;
  char *const *stream;
  const intptr_t *stride;
  dynd_frame *frame;
  char *reg[256];
  column_stack stacks[max_reductions];

  int run(size_t j, size_t width) {
    std::span<const reduced_output> reduced = k->reduced();
    size_t levels = size_t(66 - __builtin_clzll(uint64_t(k->axis_size / intptr_t(batch)) | 1));
    for (size_t o = 0; o < reduced.size(); o++) {
      stacks[o].start(reduced[o], frame->scratch + k->panels + o * levels * 64 * columns_at_once);
    }
    for (size_t i = 0; i < size_t(k->axis_size); i++) {
      if (int status = run_row(i, j, width)) {
        return status;
      }
      for (size_t o = 0; o < reduced.size(); o++) {
        stacks[o].add(i % batch, reg[reduced[o].reg], width);
        if (i % batch == batch - 1 || i + 1 == size_t(k->axis_size)) {
          stacks[o].end_block(width);
        }
      }
    }
    for (size_t o = 0; o < reduced.size(); o++) {
      uint16_t s = reduced[o].stream;
      stacks[o].finish(width);
      isa()
          .fetch(reduced[o].log2)
          .store_strided(stream[s] + intptr_t(j) * stride[s], stride[s], stacks[o].lane(0, 0), width);
    }
    return dynd_ok;
  }

  // Element i of the reduced axis, of all columns.
  int run_row(size_t i, size_t j, size_t width) {
    for (const port &p : k->all_ports()) {
      intptr_t step = stride[p.where.stream];
      char *at = stream[p.where.stream] + intptr_t(j) * step + intptr_t(i) * p.where.axis_stride;
      reg[p.reg] = is_contiguous(p, step) ? at : frame->scratch + p.scratch;
      if (step == 0 && &p >= k->sources().data()) {
        fetch_of(p).splat(reg[p.reg], at, width);
      }
    }
    if (int status = run_steps(k, reg, width, frame)) {
      return status;
    }
    for (const port &p : k->outputs()) {
      intptr_t step = stride[p.where.stream];
      if (!is_contiguous(p, step)) {
        char *at = stream[p.where.stream] + intptr_t(j) * step + intptr_t(i) * p.where.axis_stride;
        fetch_of(p).store_strided(at, step, reg[p.reg], width);
      }
    }
    return dynd_ok;
  }
};

} // namespace

int columns_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                    dynd_frame *frame) {
  column_group columns = {chain_of(self), stream, stride, frame, {}, {}};
  set_temporaries(columns.k, columns.reg, frame);
  for (size_t j = 0; j < count; j += columns_at_once) {
    if (int status = columns.run(j, std::min(columns_at_once, count - j))) {
      return status;
    }
  }
  return status_of(frame);
}

// ---- a nest of loops, as one logical row --------------------------------------------------------------------------

namespace {

// The nest in C order is one logical row. Its elements begin .. end go through in batches, which are collected in
// scratch, a run of the innermost loop at a time. (A nest that is one run in memory is walked flat.)
class ordered_row {
public:
  ordered_row(const chain_kernel *k, dynd_frame *frame) : k_(k), frame_(frame), nports_(k->all_ports().size()) {
    const intptr_t *nest = k->at<intptr_t>(k->nest);
    nloops_ = int(*nest);
    loops_ = nest + 1;
    set_temporaries(k, reg_, frame);
  }

  size_t length() const {
    size_t n = 1;
    for (int i = 0; i < nloops_; i++) {
      n *= size_t(size(i));
    }
    return n;
  }

  int run(char *const *stream, size_t begin, size_t end, row_lanes &lanes) {
    stream_ = stream;
    splat();
    go_to(begin);
    for (size_t done = begin; done < end; done += reduce_batch) {
      size_t n = std::min(reduce_batch, end - done);
      load(n);
      if (int status = run_steps(k_, reg_, n, frame_)) {
        return status;
      }
      store(n);
      advance(n);
      lanes.push(reg_, n, reduce_batch);
    }
    return status_of(frame_);
  }

private:
  intptr_t size(int loop) const { return loops_[size_t(loop) * (1 + nports_)]; }
  intptr_t stride(int loop, size_t port) const { return loops_[size_t(loop) * (1 + nports_) + 1 + port]; }

  bool is_constant(size_t p) const {
    bool still = true;
    for (int i = 0; i < nloops_; i++) {
      still &= stride(i, p) == 0 || size(i) == 1;
    }
    return still;
  }

  void splat() {
    for (size_t i = k_->nstored; i < nports_; i++) {
      const port &p = k_->all_ports()[i];
      reg_[p.reg] = frame_->scratch + p.scratch;
      if (is_constant(i)) {
        fetch_of(p).splat(reg_[p.reg], stream_[p.where.stream], reduce_batch);
      }
    }
  }

  void go_to(size_t element) {
    for (int i = nloops_ - 1; i >= 0; i--) {
      at_[i] = intptr_t(element % size_t(size(i)));
      element /= size_t(size(i));
    }
  }

  void advance(size_t n) {
    size_t carry = n;
    for (int i = nloops_ - 1; i >= 0 && carry; i--) {
      size_t sum = size_t(at_[i]) + carry;
      at_[i] = intptr_t(sum % size_t(size(i)));
      carry = sum / size_t(size(i));
    }
  }

  void load(size_t n) {
    for (size_t i = k_->nstored; i < nports_; i++) {
      if (!is_constant(i)) {
        move_port(k_->all_ports()[i], i, n, true);
      }
    }
    for (const port &p : k_->outputs()) {
      reg_[p.reg] = frame_->scratch + p.scratch;
    }
  }

  void store(size_t n) {
    for (size_t i = 0; i < k_->nstored; i++) {
      move_port(k_->all_ports()[i], i, n, false);
    }
  }

  void move_port(const port &p, size_t number, size_t n, bool source) {
    intptr_t index[max_loops];
    std::copy_n(at_, nloops_, index);
    int last = nloops_ - 1;
    intptr_t step = stride(last, number);
    char *batch_at = frame_->scratch + p.scratch;
    for (size_t done = 0; done < n;) {
      size_t run = std::min(n - done, size_t(size(last) - index[last]));
      char *at = stream_[p.where.stream];
      for (int i = 0; i < nloops_; i++) {
        at += index[i] * stride(i, number);
      }
      if (source) {
        fetch_of(p).load_strided(batch_at + (done << p.log2), at, step, run);
      } else {
        fetch_of(p).store_strided(at, step, batch_at + (done << p.log2), run);
      }
      done += run;
      index[last] += intptr_t(run);
      for (int i = last; i > 0 && index[i] == size(i); i--) {
        index[i] = 0;
        index[i - 1]++;
      }
    }
  }

  const chain_kernel *k_;
  dynd_frame *frame_;
  size_t nports_;
  int nloops_;
  const intptr_t *loops_;
  char *const *stream_ = nullptr;
  intptr_t at_[max_loops];
  char *reg_[256];
};

} // namespace

int ordered_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                    dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  ordered_row row(k, frame);
  size_t length = row.length();
  char *at[max_call_streams];
  std::copy_n(stream, k->nstreams, at);
  for (size_t i = 0; i < count; i++) {
    int status;
    if (length == 0) {
      status = reduce_nothing(k, stream, stride, i, frame);
    } else {
      row_lanes lanes(k);
      status = row.run(at, 0, length, lanes);
      if (status == dynd_ok) {
        lanes.store_folded(stream, stride, i);
      }
    }
    if (status) {
      return status;
    }
    for (uint16_t s = 0; s < k->nstreams; s++) {
      at[s] += stride[s];
    }
  }
  return dynd_ok;
}

int ordered_lanes_strided(char *const *stream, const intptr_t *, size_t count, const ckernel_prefix *self,
                          dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  size_t begin = size_t(stream[k->number_stream] - number_origin);
  ordered_row row(k, frame);
  row_lanes lanes(k);
  int status = row.run(stream, begin, begin + count, lanes);
  if (status == dynd_ok) {
    lanes.store_lanes(stream);
  }
  return status;
}

} // namespace dynd::chain
