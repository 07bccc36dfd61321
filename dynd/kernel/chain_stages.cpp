// Staged programs: steps over elements and over whole rows, for rows that are in the cache, and for rows of any length
// part by part.
#include <algorithm>

#include "dynd/base/errors.h"
#include "dynd/kernel/chain_kernel.h"
#include "dynd/ops/logic.h"

namespace dynd::chain {

// ---- planning -------------------------------------------------------------------------------------------------------

step_extent extent_of(const program &p, const program_step &step) {
  switch (step.kind) {
  case step_kind::fold:
    return step_extent::fold;
  case step_kind::repeat:
    return step_extent::repeat;
  case step_kind::length:
    return step_extent::length;
  default:
    bool of_rows = step.nwrites && step.kind != step_kind::external && p.row[step.writes[0]];
    return of_rows ? step_extent::rows : step_extent::elements;
  }
}

stage_plan::stage_plan(const program &p) {
  if (!p.is_staged()) {
    return;
  }
  uint8_t stage_of[max_registers] = {}, needed[max_registers] = {}, stage[max_steps], folds[max_steps + 1] = {};
  for (int i = 0; i < p.nsteps; i++) {
    const program_step &step = p.steps[i];
    stage[i] = 0;
    p.for_reads(step, [&](uint8_t reg) { stage[i] = std::max(stage[i], stage_of[reg]); });
    stage[i] = uint8_t(stage[i] + (step.kind == step_kind::repeat));
    p.for_writes(step, [&](uint8_t reg) { stage_of[reg] = stage[i]; });
    count = std::max(count, uint8_t(stage[i] + 1));
    folds[stage[i]] = uint8_t(folds[stage[i]] + (step.kind == step_kind::fold));
  }
  if (count > max_stages || *std::max_element(folds, folds + count) > max_reductions) {
    fail(error_kind::internal, "chain: too many stages");
  }
  uint8_t last = uint8_t(1 << (count - 1));
  for (int o = 0; o < p.noutputs; o++) {
    needed[p.output[o].reg] = last;
  }
  for (int i = p.nsteps - 1; i >= 0; i--) {
    const program_step &step = p.steps[i];
    step_extent extent = extent_of(p, step);
    p.for_writes(step, [&](uint8_t reg) { needed_in[i] |= needed[reg]; });
    if (extent != step_extent::elements && extent != step_extent::repeat) {
      needed_in[i] = uint8_t(1 << stage[i]);
    } else if (needed_in[i] == 0) {
      needed_in[i] = last;
    }
    p.for_reads(step, [&](uint8_t reg) { needed[reg] |= needed_in[i]; });
  }
}

namespace {

int count_reads(const program &p, uint8_t reg) {
  auto count = std::count_if(p.output, p.output + p.noutputs, [&](const program_output &o) { return o.reg == reg; });
  for (int i = 0; i < p.nsteps; i++) {
    p.for_reads(p.steps[i], [&](uint8_t read) { count += read == reg; });
  }
  return int(count);
}

bool are_squares(const program &p, const program_step *at) {
  const program_step &repeat = at[0], &distance = at[1], &square = at[2], &fold = at[3];
  auto is = [](const program_step &step, op_id op) { return step.kind == step_kind::operation && step.op == op; };
  bool linked = repeat.kind == step_kind::repeat && is(distance, arithmetic::difference) &&
                is(square, arithmetic::square) && fold.kind == step_kind::fold &&
                distance.reads[1] == repeat.writes[0] && square.reads[0] == distance.writes[0] &&
                fold.reads[0] == square.writes[0];
  return linked && isa().reduce(fold.reduction, fold.type).squares.rows && count_reads(p, square.writes[0]) == 1;
}

} // namespace

void join_squares(const program &p, chain_step *steps) {
  for (int i = 3; i < p.nsteps; i++) {
    if (are_squares(p, p.steps + i - 3)) {
      steps[i - 1].joined = true; // and those before it, unless others read them
      steps[i - 2].joined = count_reads(p, p.steps[i - 2].writes[0]) == 1;
      steps[i - 3].joined = steps[i - 2].joined && count_reads(p, p.steps[i - 3].writes[0]) == 1;
      steps[i].b = p.steps[i - 3].reads[0];
      steps[i].c = p.steps[i - 2].reads[0];
    }
  }
}

// ---- whole rows -----------------------------------------------------------------------------------------------------

namespace {

void fold_rows(const chain_step &step, char *const *reg, const row_batch &batch, const char *next) {
  intptr_t item = intptr_t(1) << step.log2;
  if (step.b != no_register) {
    const char *origin = reg[step.c] - (batch.offsets[0] << step.log2);
    step.fold->squares.rows(reg[step.dst], origin, reg[step.b], batch.offsets, batch.rows);
  } else if (!batch.length) {
    const char *origin = reg[step.a] - (batch.offsets[0] << step.log2);
    intptr_t ahead = next ? reinterpret_cast<intptr_t>(next) - reinterpret_cast<intptr_t>(reg[step.a]) : 0;
    step.fold->rows(reg[step.dst], item, origin, batch.offsets, batch.rows, ahead); // empty rows: see ops/loops.h
  } else {
    step.fold->rows_fixed(reg[step.dst], item, reg[step.a], intptr_t(batch.length << step.log2), batch.length,
                          batch.rows);
  }
}

void repeat_rows(const chain_step &step, char *const *reg, const row_batch &batch) {
  const fetch_functions &fetch = isa().fetch(step.log2);
  intptr_t item = intptr_t(1) << step.log2;
  if (batch.length) {
    fetch.repeat_fixed(reg[step.dst], reg[step.a], item, batch.length, batch.rows);
  } else if (batch.elements) {
    const int64_t *offsets = batch.offsets;
    fetch.repeat(reg[step.dst], reg[step.a], item, {offsets, batch.rows, offsets[0], offsets[batch.rows]});
  }
}

void write_lengths(const chain_step &step, char *const *reg, const row_batch &batch) {
  if (!batch.length) {
    step.function(reg[step.dst], batch.offsets + 1, batch.offsets, nullptr, batch.rows, nullptr);
  } else {
    std::fill_n(reinterpret_cast<int64_t *>(reg[step.dst]), batch.rows, int64_t(batch.length));
  }
}

} // namespace

int run_whole_rows(const chain_kernel *k, char *const *reg, const row_batch &batch, dynd_frame *frame) {
  if (asks_after(frame, batch.elements)) {
    return dynd_error_cancelled;
  }
  const chain_step *step = k->at<chain_step>(k->steps), *end = step + k->nsteps;
  const char *next = batch.next;
  for (; step != end; step++) {
    if (step->joined) {
      continue;
    }
    switch (step->extent) {
    case step_extent::elements:
    case step_extent::rows:
      if (int status =
              run_step(k, *step, reg, step->extent == step_extent::rows ? batch.rows : batch.elements, frame)) {
        return status;
      }
      break;
    case step_extent::fold:
      fold_rows(*step, reg, batch, next);
      next = nullptr;
      break;
    case step_extent::repeat:
      repeat_rows(*step, reg, batch);
      break;
    case step_extent::length:
      write_lengths(*step, reg, batch);
      break;
    }
  }
  return dynd_ok;
}

void start_row_outputs(const chain_kernel *k, char **reg, char *const *stream, const intptr_t *stride, size_t r,
                       dynd_frame *frame) {
  for (const port &p : k->row_outputs()) {
    intptr_t step = stride[p.where.stream];
    reg[p.reg] = is_contiguous(p, step) ? stream[p.where.stream] + intptr_t(r) * step : frame->scratch + p.scratch;
  }
}

void store_row_outputs(const chain_kernel *k, char *const *reg, char *const *stream, const intptr_t *stride, size_t r,
                       size_t rows, dynd_frame *frame) {
  for (const port &p : k->row_outputs()) {
    intptr_t step = stride[p.where.stream];
    if (reg[p.reg] == frame->scratch + p.scratch) {
      fetch_of(p).store_strided(stream[p.where.stream] + intptr_t(r) * step, step, reg[p.reg], rows);
    }
  }
}

// ---- a long row -----------------------------------------------------------------------------------------------------

void long_row::start_stage() {
  for_steps([&](const chain_step &step, char *memory) {
    if (step.extent == step_extent::fold) {
      new (memory) lane_stack(*step.fold); // nothing to destroy
    }
    return int(dynd_ok);
  });
}

bool long_row::only_folds() {
  return !for_steps([](const chain_step &step, char *) {
    return int(step.extent == step_extent::elements || step.extent == step_extent::repeat);
  });
}

int long_row::run_part(size_t n) {
  if (asks_after(frame_, n)) {
    return dynd_error_cancelled;
  }
  return for_steps([&](const chain_step &step, char *memory) {
    switch (step.extent) {
    case step_extent::elements:
      return run_step(k_, step, reg_, n, frame_);
    case step_extent::repeat:
      isa().fetch(step.log2).splat(reg_[step.dst], reg_[step.a], n);
      break;
    case step_extent::fold: {
      auto *stack = reinterpret_cast<lane_stack *>(memory);
      if (step.b != no_register) {
        step.fold->squares.lanes(stack->top(), reg_[step.c], reg_[step.b], n);
      } else {
        step.fold->lanes(stack->top(), reg_[step.a], n);
      }
      stack->push(n == whole_ ? whole_ / batch : 1);
      break;
    }
    default:
      break;
    }
    return int(dynd_ok);
  });
}

// The folds are complete: what is computed of the row's values.
int long_row::end_stage() {
  return for_steps([&](const chain_step &step, char *memory) {
    alignas(64) char lanes[64];
    switch (step.extent) {
    case step_extent::fold:
      reinterpret_cast<lane_stack *>(memory)->finish(lanes);
      step.fold->fold(reg_[step.dst], lanes);
      break;
    case step_extent::length:
      write_lengths(step, reg_, {nullptr, length_, 1, length_});
      break;
    case step_extent::rows:
      return run_step(k_, step, reg_, 1, frame_);
    default:
      break;
    }
    return int(dynd_ok);
  });
}

// ---- rows of one length ---------------------------------------------------------------------------------------------

namespace {

// `stream` and `stride` are those of the call, along the rows; the elements of a row are `along` apart.
struct equal_rows_call {
  const chain_kernel *k;
  char *const *stream;
  const intptr_t *stride;
  const intptr_t *along; // by stream
  size_t length;
  dynd_frame *frame;
  bool one_row = false; // then the strides along the rows say nothing
  char *reg[256];
  int64_t offsets[reduce_batch + 1]; // of the rows of a batch

  equal_rows_call(const ckernel_prefix *self, char *const *streams, const intptr_t *strides, const intptr_t *elements,
                  size_t row, dynd_frame *f)
      : k(chain_of(self)), stream(streams), stride(strides), along(elements), length(row), frame(f) {}

  char *address(const port &p, size_t r) const { return stream[p.where.stream] + intptr_t(r) * stride[p.where.stream]; }
  intptr_t along_of(const port &p) const { return along[p.where.stream]; }
  bool rows_follow(const port &p) const {
    return is_contiguous(p, along_of(p)) && stride[p.where.stream] == intptr_t(length << p.log2);
  }

  int run(size_t count) {
    one_row = count == 1;
    set_temporaries(k, reg, frame);
    size_t rows = length > reduce_batch ? 1 : std::min(count, reduce_batch / std::max<size_t>(length, 1));
    splat_constants(std::max(rows, std::min(length * rows, reduce_batch)));
    for (size_t r = 0; r <= rows; r++) {
      offsets[r] = int64_t(r * length);
    }
    for (size_t r = 0; r < count; r += rows) {
      size_t n = std::min(rows, count - r);
      start_row_outputs(k, reg, stream, stride, r, frame);
      if (int status = length > reduce_batch ? run_long(r) : run_rows(r, n)) {
        return status;
      }
      store_row_outputs(k, reg, stream, stride, r, n, frame);
    }
    return status_of(frame);
  }

private:
  bool is_constant(const port &p) const { return along_of(p) == 0 && (one_row || stride[p.where.stream] == 0); }

  void splat_constants(size_t n) {
    for (const port &p : k->sources()) {
      if (is_constant(p)) {
        reg[p.reg] = frame->scratch + p.scratch;
        fetch_of(p).splat(reg[p.reg], stream[p.where.stream], n);
      }
    }
  }

  int run_rows(size_t r, size_t rows) {
    for (const port &p : k->sources()) {
      if (rows_follow(p)) {
        reg[p.reg] = address(p, r);
      } else if (!is_constant(p)) {
        reg[p.reg] = frame->scratch + p.scratch;
        port as_walked = p;
        as_walked.where.axis_stride = along_of(p);
        fetch_small_rows(as_walked, reg[p.reg], address(p, r), stride[p.where.stream], length, rows);
      }
    }
    for (const port &p : k->outputs()) {
      reg[p.reg] = rows_follow(p) && !k->stores_late ? address(p, r) : frame->scratch + p.scratch;
    }
    if (int status = run_whole_rows(k, reg, {offsets, length, rows, length * rows}, frame)) {
      return status;
    }
    for (const port &p : k->outputs()) {
      for (size_t i = 0; i < rows && reg[p.reg] == frame->scratch + p.scratch; i++) {
        fetch_of(p).store_strided(address(p, r + i), along_of(p), reg[p.reg] + ((i * length) << p.log2), length);
      }
    }
    return dynd_ok;
  }

  int run_long(size_t r) {
    long_row row(k, reg, length, frame);
    std::span<const port> sources = k->sources();
    bool in_place = k->nstored == 0 && std::all_of(sources.begin(), sources.end(), [&](const port &p) {
                      return is_contiguous(p, along_of(p)) || (is_constant(p) && !is_folded(k, p.reg));
                    });
    return row.run(reduce_batch, in_place, [&](size_t at, size_t n) {
      for (const port &p : k->sources()) {
        intptr_t step = along_of(p);
        if (is_contiguous(p, step)) {
          reg[p.reg] = address(p, r) + (at << p.log2);
        } else if (!is_constant(p)) {
          reg[p.reg] = frame->scratch + p.scratch;
          fetch_of(p).load_strided(reg[p.reg], address(p, r) + intptr_t(at) * step, step, n);
        }
      }
      for (const port &p : k->outputs()) {
        bool direct = is_contiguous(p, along_of(p)) && !k->stores_late;
        reg[p.reg] = direct ? address(p, r) + (at << p.log2) : frame->scratch + p.scratch;
      }
      if (int status = row.run_part(n)) {
        return status;
      }
      for (const port &p : k->outputs()) {
        if (row.stores() && reg[p.reg] == frame->scratch + p.scratch) {
          fetch_of(p).store_strided(address(p, r) + intptr_t(at) * along_of(p), along_of(p), reg[p.reg], n);
        }
      }
      return int(dynd_ok);
    });
  }
};

} // namespace

int staged_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                        dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  intptr_t along[max_call_streams] = {};
  for (const port &p : k->all_ports()) {
    along[p.where.stream] = p.where.axis_stride;
  }
  return equal_rows_call(self, stream, stride, along, size_t(k->axis_size), frame).run(count);
}

// The call is along the elements of one row.
int staged_row_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                       dynd_frame *frame) {
  return equal_rows_call(self, stream, no_stride, stride, count, frame).run(1);
}

} // namespace dynd::chain
