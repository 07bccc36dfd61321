// Walks over rows of one size: short rows collected into batches, and a nest of loops as one logical row.
#include <algorithm>
#include <cstring>

#include "dynd/kernel/chain_kernel.h"

namespace dynd::chain {

// ---- small rows ---------------------------------------------------------------------------------------------------

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

bool follows(const port &p, intptr_t row_stride, intptr_t row) {
  intptr_t item = intptr_t(1) << p.log2;
  return p.where.axis_stride == item && row_stride == row * item;
}

namespace {

// Rows that make a batch; by eights where they are reduced, as segmented reductions take them.
size_t rows_of_group(const chain_kernel *k, size_t row) {
  if (k->nreductions) {
    return std::max<size_t>(reduce_batch / std::max<size_t>(row, 1) / 8 * 8, 1);
  }
  return std::max<size_t>(group / std::max<size_t>(row, 1), 1);
}

} // namespace

bool reduce_in_place(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t count) {
  bool in_place = k->nsteps == 0 && k->nstored == 0 && k->nreductions > 0 && k->axis_size > 0 && count > 0;
  char *at[256];
  intptr_t step[256];
  for (const port &p : k->sources()) {
    in_place &= is_contiguous(p, p.where.axis_stride);
    at[p.reg] = stream[p.where.stream];
    step[p.reg] = stride[p.where.stream];
  }
  for (size_t i = 0; in_place && i < k->reduced().size(); i++) {
    const reduced_output &o = k->reduced()[i];
    intptr_t other_step = o.other == no_register ? 0 : step[o.other];
    o.rows_fixed(stream[o.stream], stride[o.stream], at, step[o.reg], other_step, size_t(k->axis_size), count);
  }
  return in_place;
}

int small_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                       dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  if (reduce_in_place(k, stream, stride, count)) {
    return status_of(frame);
  }
  char *reg[256];
  set_temporaries(k, reg, frame);
  size_t row = size_t(k->axis_size); // 0 where a view took nothing of the rows
  size_t rows = std::min(count, rows_of_group(k, row));
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
      auto step = intptr_t(row << o.log2);
      o.rows_fixed(stream[o.stream] + intptr_t(done) * stride[o.stream], stride[o.stream], reg, step, step, row, r);
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

// ---- a nest of loops, as one logical row --------------------------------------------------------------------------

namespace {

// The nest in order is one logical row. Its elements begin .. end go through in batches, each of which is contiguous
// for the steps: in memory; or in scratch, collected a run of the innermost loop at a time, or from panels.
class ordered_row {
public:
  ordered_row(const chain_kernel *k, dynd_frame *frame) : k_(k), frame_(frame), nports_(k->all_ports().size()) {
    const intptr_t *nest = k->at<intptr_t>(k->nest);
    nloops_ = int(*nest);
    loops_ = nest + 1;
    panels_ = reinterpret_cast<const ordered_panel *>(loops_ + size_t(nloops_) * (1 + nports_));
    set_temporaries(k, reg_, frame);
  }

  size_t length() const { return inside(0); }

  int run(char *const *stream, size_t begin, size_t end, row_lanes &lanes) {
    stream_ = stream;
    start(begin);
    for (size_t done = begin; done < end; done += reduce_batch) {
      size_t n = std::min(reduce_batch, end - done);
      load(done, n);
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
  enum class way : uint8_t { constant, direct, panel, collected };
  struct panel_state {
    size_t begin, end; // elements that are in the panel
  };

  intptr_t size(int loop) const { return loops_[size_t(loop) * (1 + nports_)]; }
  intptr_t stride(int loop, size_t port) const { return loops_[size_t(loop) * (1 + nports_) + 1 + port]; }
  // The elements of one iteration of the loop outside of `loop`.
  size_t inside(int loop) const {
    size_t n = 1;
    for (int i = loop; i < nloops_; i++) {
      n *= size_t(size(i));
    }
    return n;
  }

  way way_of(size_t p) const {
    const port &source = k_->all_ports()[p];
    bool constant = true, direct = true;
    for (int i = 0; i < nloops_; i++) {
      constant &= stride(i, p) == 0 || size(i) == 1;
      direct &= stride(i, p) == intptr_t(inside(i + 1) << source.log2);
    }
    return constant ? way::constant : direct ? way::direct : panels_[p].rows ? way::panel : way::collected;
  }

  void start(size_t begin) {
    size_t element = begin;
    for (int i = nloops_ - 1; i >= 0; i--) {
      at_[i] = intptr_t(element % size_t(size(i)));
      element /= size_t(size(i));
    }
    for (size_t i = k_->nstored; i < nports_; i++) {
      const port &p = k_->all_ports()[i];
      way_[i] = way_of(i);
      reg_[p.reg] = frame_->scratch + p.scratch;
      if (way_[i] == way::constant) {
        fetch_of(p).splat(reg_[p.reg], stream_[p.where.stream], reduce_batch);
      } else if (way_[i] == way::panel) {
        size_t row = inside(panels_[i].loop + 1);
        panel_[i] = {begin / row * row, begin / row * row};
      }
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

  void load(size_t done, size_t n) {
    for (size_t i = k_->nstored; i < nports_; i++) {
      const port &p = k_->all_ports()[i];
      if (way_[i] == way::direct) {
        reg_[p.reg] = stream_[p.where.stream] + (done << p.log2);
      } else if (way_[i] == way::panel) {
        reg_[p.reg] = load_panel(p, i, done, n);
      } else if (way_[i] == way::collected) {
        move_port(p, i, n, true);
      }
    }
    for (const port &p : k_->outputs()) {
      reg_[p.reg] = frame_->scratch + p.scratch;
    }
  }

  // Where the elements done .. done + n are in the port's panel, after those that are not there yet were transposed
  // into it: some iterations of its loop at once, of which each line of memory holds several. They follow each other in
  // order; what is left of the last ones moves to the front.
  char *load_panel(const port &p, size_t number, size_t done, size_t n) {
    char *panel = frame_->scratch + panels_[number].scratch;
    panel_state &state = panel_[number];
    if (done + n > state.end && done > state.begin && done < state.end) {
      std::memmove(panel, panel + ((done - state.begin) << p.log2), (state.end - done) << p.log2);
      state.begin = done;
    } else if (done + n > state.end && done == state.end) {
      state.begin = done;
    }
    while (state.end < done + n) {
      state.end += transpose_rows(p, number, state.end, panel + ((state.end - state.begin) << p.log2));
    }
    return panel + ((done - state.begin) << p.log2);
  }

  // From the element `at` on, where an iteration of the panel's loop begins; returns how many elements that were.
  size_t transpose_rows(const port &p, size_t number, size_t at, char *to) {
    int loop = panels_[number].loop, last = nloops_ - 1;
    size_t row = inside(loop + 1), line = size_t(size(last)), first = at / row, rest = first;
    const char *from = stream_[p.where.stream];
    for (int i = loop; i >= 0; i--) {
      from += intptr_t(rest % size_t(size(i))) * stride(i, number);
      rest /= size_t(size(i));
    }
    size_t lane = (reinterpret_cast<uintptr_t>(from) & 63) >> p.log2; // so that the next rows begin at a line
    size_t rows = std::min(size_t(panels_[number].rows) - lane, size_t(size(loop)) - first % size_t(size(loop)));
    for (size_t done = 0; done < row; done += line) {
      const char *part = from;
      size_t index = done / line;
      for (int i = last - 1; i > loop; i--) {
        part += intptr_t(index % size_t(size(i))) * stride(i, number);
        index /= size_t(size(i));
      }
      fetch_of(p).transpose(to + (done << p.log2), intptr_t(row << p.log2), part, stride(last, number), rows, line);
    }
    return rows * row;
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
  const ordered_panel *panels_;
  char *const *stream_ = nullptr;
  intptr_t at_[max_loops];
  way way_[max_registers];
  panel_state panel_[max_registers];
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
