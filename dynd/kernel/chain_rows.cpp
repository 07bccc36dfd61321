// The walk over rows of one size that are short: some of them are collected into a batch.
#include <algorithm>

#include "dynd/kernel/chain_kernel.h"

namespace dynd::chain {

void fetch_small_rows(const port &p, char *dst, const char *src, intptr_t row_stride, size_t row, size_t rows) {
  if (p.where.axis_stride == 0) {
    fetch_of(p).repeat_fixed(dst, src, row_stride, row, rows);
    return;
  }
  if (is_contiguous(p, p.where.axis_stride) && !p.where.numbers) {
    size_t bytes = row << p.log2;
    isa().fetches->move_rows(dst, intptr_t(bytes), src, row_stride, bytes, rows);
    return;
  }
  for (size_t r = 0; r < rows; r++) {
    load_elements(p, dst + ((r * row) << p.log2), src + intptr_t(r) * row_stride, p.where.axis_stride, row);
  }
}

bool follows(const port &p, intptr_t row_stride, intptr_t row) {
  intptr_t item = intptr_t(1) << p.log2;
  return p.where.axis_stride == item && row_stride == row * item;
}

namespace {

void store_small_rows(const port &p, char *dst, intptr_t row_stride, const char *src, size_t row, size_t rows) {
  size_t bytes = row << p.log2;
  if (is_contiguous(p, p.where.axis_stride)) {
    isa().fetches->move_rows(dst, row_stride, src, intptr_t(bytes), bytes, rows);
    return;
  }
  for (size_t r = 0; r < rows; r++) {
    fetch_of(p).store_strided(dst + intptr_t(r) * row_stride, p.where.axis_stride, src + r * bytes, row);
  }
}

// Rows that make a batch; by eights where they are reduced, as segmented reductions take them.
size_t rows_of_group(const chain_kernel *k, size_t row) {
  if (k->nreductions) {
    return std::max<size_t>(reduce_batch / std::max<size_t>(row, 1) / 8 * 8, 1);
  }
  return std::max<size_t>(k->window / std::max<size_t>(row, 1), 1);
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
      if (reg[p.reg] == frame->scratch + p.scratch) {
        store_small_rows(p, here(p), stride[p.where.stream], reg[p.reg], row, r);
      }
    }
  }
  return status_of(frame);
}

} // namespace dynd::chain
