// The scan of a program, and the walks for it: rows in order, rows of one size, columns side by side. Ragged rows are
// walked in windows (chain_var_rows.cpp).
#include <algorithm>
#include <cstring>

#include "dynd/kernel/chain_kernel.h"

namespace dynd::chain {

namespace {

constexpr size_t scanned_columns = 16384; // scanned side by side: the running values of one row stay in the L2

// One batch of the step.
class scan_batch {
public:
  scan_batch(const chain_kernel *k, const chain_step &step, char *const *reg, dynd_frame *frame)
      : k_(k), step_(step), frame_(frame), state_(scan_state_of(k, frame)), log2_(k->scan().log2), dst_(reg[step.dst]),
        x_(reg[step.a]), initial_(reg[step.b]), valid_(reg[step.valid]) {}

  int run(size_t n) {
    switch (state_.kind) {
    case scan_state::batch_kind::row:
      return run_row(n);
    case scan_state::batch_kind::rows:
      return run_rows(n);
    case scan_state::batch_kind::window:
      return run_window(n);
    case scan_state::batch_kind::columns:
      return run_columns(n);
    case scan_state::batch_kind::lines:
      return run_lines(n);
    }
    return dynd_error_internal;
  }

private:
  char *to(size_t i) const { return dst_ + (i << log2_); }
  const char *from(size_t i) const { return x_ + (i << log2_); }
  bool is_compiled() const { return k_->scan().functions.row && !valid_; }

  // The elements begin .. begin + n of a row; `running` is the value before them, or null, and then the one after.
  int scan(size_t begin, size_t n, const char *&running) {
    if (is_compiled() && n) {
      k_->scan().functions.row(to(begin), from(begin), n, running);
      running = to(begin + n - 1);
      return dynd_ok;
    }
    size_t size = size_t(1) << log2_;
    for (size_t i = begin; i < begin + n; i++) {
      bool missing = valid_ && !valid_[i];
      if (missing && running) {
        std::memcpy(to(i), running, size);
      } else if (missing) {
        std::memset(to(i), 0, size); // a missing value
      } else if (!running) {
        std::memcpy(to(i), from(i), size);
      } else if (k_->scan().combine(to(i), running, from(i), nullptr, 1, nullptr)) {
        return fail(i);
      }
      running = missing && !running ? nullptr : to(i);
    }
    return dynd_ok;
  }

  void keep(const char *running) {
    state_.begun = running;
    if (running) {
      std::memcpy(state_.running, running, size_t(1) << log2_);
    }
  }

  int run_row(size_t n) {
    const char *running = state_.begun ? state_.running : initial_;
    int status = scan(0, n, running);
    keep(running);
    return status;
  }

  int run_rows(size_t n) {
    if (is_compiled() && !initial_) {
      intptr_t stride = intptr_t(state_.length << log2_);
      k_->scan().functions.rows_fixed(dst_, stride, x_, stride, state_.length, n / state_.length);
      return dynd_ok;
    }
    for (size_t begin = 0; begin < n; begin += state_.length) {
      const char *running = initial_;
      if (int status = scan(begin, state_.length, running)) {
        return status;
      }
    }
    return dynd_ok;
  }

  int run_window(size_t n) {
    const row_window &window = *state_.window;
    if (is_compiled() && !initial_) {
      state_.passed = k_->scan().functions.rows(dst_, x_, window, state_.running);
      keep(to(n - 1));
      return dynd_ok;
    }
    int64_t at = window.begin;
    size_t r = 0;
    for (; r < window.rows; r++) {
      bool goes_on = at > window.offsets[r]; // only the first
      const char *running = !goes_on ? initial_ : state_.begun ? state_.running : nullptr;
      int64_t stop = std::min(window.offsets[r + 1], window.end);
      if (int status = at < stop ? scan(size_t(at - window.begin), size_t(stop - at), running) : int(dynd_ok)) {
        return status;
      }
      at = std::max(at, stop);
      if (window.offsets[r + 1] > window.end) {
        keep(running);
        break;
      }
    }
    state_.passed = r;
    return dynd_ok;
  }

  int run_columns(size_t n) {
    const char *before = state_.before ? state_.before : initial_;
    if (!before) {
      std::memcpy(dst_, x_, n << log2_);
      return dynd_ok;
    }
    return k_->scan().combine(dst_, before, x_, nullptr, n, nullptr) ? fail(0) : int(dynd_ok);
  }

  int run_lines(size_t n) {
    auto stride = intptr_t(state_.length << log2_);
    k_->scan().functions.columns(dst_, stride, x_, stride, state_.length, n / state_.length, state_.begun);
    return dynd_ok;
  }

  /// i: of the batch, where that is a row or a part of one, as it is when a failure is located.
  int fail(size_t i) {
    const operation &o = operation_of(k_->at<step_details>(k_->details)[step_.number].op);
    fail_element(frame_, i, nullptr);
    return report(frame_, dynd_error_value, "%s: %s", o.name, o.failure);
  }

  const chain_kernel *k_;
  const chain_step &step_;
  dynd_frame *frame_;
  scan_state &state_;
  int log2_;
  char *dst_;
  const char *x_, *initial_, *valid_;
};

} // namespace

int run_scan(const chain_kernel *k, const chain_step &step, char *const *reg, size_t n, dynd_frame *frame) {
  return scan_batch(k, step, reg, frame).run(n);
}

bool scans_in_place(const chain_kernel *k) {
  const chain_step &step = *k->at<chain_step>(k->steps);
  return k->scans && k->nsteps == 1 && k->nstored == 1 && k->nsources == 1 && k->scan().functions.row &&
         step.valid == no_register && step.b == no_register &&
         is_contiguous(k->outputs()[0], k->outputs()[0].where.axis_stride) &&
         is_contiguous(k->sources()[0], k->sources()[0].where.axis_stride);
}

// The call is one row.
int scan_row_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                     dynd_frame *frame) {
  scan_state &state = scan_state_of(chain_of(self), frame);
  state.kind = scan_state::batch_kind::row;
  state.begun = false;
  return flat_strided(stream, stride, count, self, frame);
}

// The call is a part of one row, from the element on that the number stream counts. The value before it was stored.
int scan_part_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                      dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  scan_state &state = scan_state_of(k, frame);
  state.kind = scan_state::batch_kind::row;
  state.begun = stream[k->number_stream] != number_origin;
  if (state.begun) {
    uint16_t output = k->outputs()[k->scan().output].where.stream;
    std::memcpy(state.running, stream[output] - stride[output], size_t(1) << k->scan().log2);
  }
  return flat_strided(stream, stride, count, self, frame);
}

// Longer rows are scanned in batches, between which the user may stop them.
constexpr size_t longest_row = 1 << 22;

int scan_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                      dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  size_t length = size_t(k->axis_size);
  if (scans_in_place(k) && length <= longest_row) {
    uint16_t dst = k->outputs()[0].where.stream, src = k->sources()[0].where.stream;
    k->scan().functions.rows_fixed(stream[dst], stride[dst], stream[src], stride[src], length, count);
    return status_of(frame);
  }
  if (length <= longest_collected_scan) {
    scan_state &state = scan_state_of(k, frame);
    state.kind = scan_state::batch_kind::rows;
    state.length = length;
    return small_rows_strided(stream, stride, count, self, frame);
  }
  return for_each_row(k, stream, stride, count, [&](char *const *row, const intptr_t *along, size_t) {
    return scan_row_strided(row, along, length, self, frame);
  });
}

// A few columns, as they are in memory: many lines in one call of the compiled loop.
int scan_columns_in_registers(const chain_kernel *k, char *const *stream, size_t count, dynd_frame *frame) {
  constexpr size_t lines_of_call = 1 << 14;
  const port &output = k->outputs()[0], &source = k->sources()[0];
  intptr_t to = output.where.axis_stride, from = source.where.axis_stride;
  for (size_t i = 0, rows = size_t(k->axis_size); i < rows; i += lines_of_call) {
    k->scan().functions.columns(stream[output.where.stream] + intptr_t(i) * to, to,
                                stream[source.where.stream] + intptr_t(i) * from, from, count,
                                std::min(lines_of_call, rows - i), i != 0);
    if (asks_after(frame, lines_of_call * count)) {
      return dynd_error_cancelled;
    }
  }
  return status_of(frame);
}

// Whether lines of a few columns make a batch: they follow each other, and a compiled loop takes what is computed.
bool has_lines(const chain_kernel *k, const intptr_t *stride, size_t count) {
  auto follows = [&](const port &p) { // or is one value for all
    intptr_t step = stride[p.where.stream];
    return is_contiguous(p, step) ? p.where.axis_stride == step * intptr_t(count) : !step && !p.where.axis_stride;
  };
  auto is_scan = [&](const chain_step &s) { return k->at<step_details>(k->details)[s.number].kind == step_kind::scan; };
  const chain_step *steps = k->at<chain_step>(k->steps), *scan = std::find_if(steps, steps + k->nsteps, is_scan);
  std::span<const port> ports = k->all_ports();
  return scan->valid == no_register && scan->b == no_register && std::all_of(ports.begin(), ports.end(), follows);
}

int scan_lines(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t count, char **reg,
               dynd_frame *frame) {
  std::span<const port> ports = k->all_ports();
  size_t rows = size_t(k->axis_size), lines = scanned_batch / count;
  scan_state &state = scan_state_of(k, frame);
  state.kind = scan_state::batch_kind::lines;
  state.length = count;
  for (const port &p : ports) {
    reg[p.reg] = frame->scratch + p.scratch;
    if (!stride[p.where.stream]) {
      fetch_of(p).splat(reg[p.reg], stream[p.where.stream], std::min(rows, lines) * count);
    }
  }
  for (size_t i = 0; i < rows; i += lines) {
    for (const port &p : ports) {
      if (stride[p.where.stream]) {
        reg[p.reg] = stream[p.where.stream] + intptr_t(i) * p.where.axis_stride;
      }
    }
    state.begun = i != 0;
    if (int status = run_steps(k, reg, std::min(lines, rows - i) * count, frame)) {
      return status;
    }
  }
  return status_of(frame);
}

// More columns, as they are in memory: a line is one call of the loop that combines it with the one before.
int scan_columns_by_lines(const chain_kernel *k, char *const *stream, size_t count, dynd_frame *frame) {
  const port &output = k->outputs()[0], &source = k->sources()[0];
  char *to = stream[output.where.stream];
  const char *from = stream[source.where.stream];
  std::memcpy(to, from, count << k->scan().log2);
  for (size_t i = 1, rows = size_t(k->axis_size); i < rows; i++) {
    const char *before = to;
    to += output.where.axis_stride;
    from += source.where.axis_stride;
    k->scan().combine(to, before, from, nullptr, count, nullptr);
    if (asks_after(frame, count)) {
      return dynd_error_cancelled;
    }
  }
  return status_of(frame);
}

// Each row of the axis combines with the one before it, all columns at once. Outputs are contiguous along the columns.
int scan_columns_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                         dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  char *reg[256];
  set_temporaries(k, reg, frame);
  scan_state &state = scan_state_of(k, frame);
  state.kind = scan_state::batch_kind::columns;
  auto is_direct = [&](const port &p) { return is_contiguous(p, stride[p.where.stream]); };
  auto address = [&](const port &p, size_t i, size_t j) {
    return stream[p.where.stream] + intptr_t(j) * stride[p.where.stream] + intptr_t(i) * p.where.axis_stride;
  };
  std::span<const port> ports = k->all_ports();
  bool whole = k->nsteps == 1 && std::all_of(ports.begin(), ports.end(), is_direct);
  const chain_step &only = *k->at<chain_step>(k->steps);
  bool plain = whole && k->nstored == 1 && k->nsources == 1 && only.valid == no_register && only.b == no_register;
  bool compiled = k->axis_size > 0 && k->scan().functions.row, in_registers = count <= scan_functions::most_columns;
  if (compiled && plain && count <= few_columns) {
    return in_registers ? scan_columns_in_registers(k, stream, count, frame)
                        : scan_columns_by_lines(k, stream, count, frame);
  }
  if (compiled && in_registers && has_lines(k, stride, count)) {
    return scan_lines(k, stream, stride, count, reg, frame);
  }
  const port &running = k->outputs()[k->scan().output];
  for (size_t first = 0; first < count; first += scanned_columns) {
    size_t past = std::min(first + scanned_columns, count), step = whole ? scanned_columns : group;
    for (size_t i = 0; i < size_t(k->axis_size); i++) {
      for (size_t j = first; j < past; j += step) {
        size_t n = std::min(step, past - j);
        for (const port &p : ports) {
          reg[p.reg] = is_direct(p) ? address(p, i, j) : frame->scratch + p.scratch;
          if (!is_direct(p)) { // one value for all columns
            fetch_of(p).splat(reg[p.reg], address(p, i, j), n);
          }
        }
        state.before = i ? address(running, i - 1, j) : nullptr;
        if (int status = run_steps(k, reg, n, frame)) {
          return status;
        }
      }
    }
    if (is_cancelled(frame)) {
      break;
    }
  }
  return status_of(frame);
}

} // namespace dynd::chain
