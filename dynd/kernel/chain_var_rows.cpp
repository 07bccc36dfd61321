// The walk over rows of a `var` dimension.
#include <algorithm>

#include "dynd/kernel/chain_kernel.h"

namespace dynd::chain {

namespace {

// The folds of whole rows; the registers are where the offset `origin` points.
struct row_folds {
  const chain_kernel *k;
  char *const *stream;
  const intptr_t *stride;
  char *const *reg;
  int64_t origin;
  const int64_t *offsets;

  // Of rows r .. end; false where one is empty that must not be. What is prefetched meanwhile: `next`, or, where that
  // is null, what is `ahead` bytes further on.
  bool add(size_t r, size_t end, const char *next, intptr_t ahead) const {
    bool empty = false;
    for (const reduced_output &o : k->reduced()) {
      if (!o.present && o.told_by == no_register) {
        char *at[256];
        at[no_register] = nullptr;
        for (uint8_t used : {o.reg, o.other, o.valid}) {
          at[used] = used == no_register ? nullptr : reg[used] - (used == o.valid ? origin : origin << o.log2);
        }
        // What is next may be in another array.
        intptr_t here = reinterpret_cast<intptr_t>(at[o.reg] + (offsets[r] << o.log2));
        intptr_t distance = next ? reinterpret_cast<intptr_t>(next) - here : ahead;
        char *to = stream[o.stream] + intptr_t(r) * stride[o.stream];
        empty |= o.rows(to, stride[o.stream], at, offsets + r, end - r, distance) && o.empty_fails;
        o.finish_rows(to, stride[o.stream], end - r);
      }
    }
    for (const reduced_output &o : k->reduced()) { // the values that tell are there now, and the offsets in the L1
      if (o.present) {
        store_presence(o, r, end);
      } else if (o.told_by != no_register) {
        store_told(o, r, end);
      }
    }
    return !empty;
  }

private:
  void store_presence(const reduced_output &o, size_t r, size_t end) const {
    intptr_t step = stride[o.stream];
    char *to = stream[o.stream] + intptr_t(r) * step, value = *reg[o.reg];
    const int64_t *at = offsets;
    if (step == 1 && value) {
      isa().fetches->has_elements(to, at + r, end - r);
      return;
    }
    for (size_t i = r; i < end; i++, to += step) {
      *to = value & char(at[i + 1] != at[i]);
    }
  }

  void store_told(const reduced_output &o, size_t r, size_t end) const {
    if (k->reduced()[o.told_by].log2 == 3) {
      store_told_by<uint64_t>(o, r, end);
    } else {
      store_told_by<uint32_t>(o, r, end);
    }
  }

  template <class Bits> void store_told_by(const reduced_output &o, size_t r, size_t end) const {
    const reduced_output &by = k->reduced()[o.told_by];
    const int64_t none[2] = {0, 0};
    const char *valid = reg[o.reg] - origin;
    Bits nothing, value;
    by.functions->rows(reinterpret_cast<char *>(&nothing), 0, &nothing, none, 1, 0);
    const char *from = stream[by.stream] + intptr_t(r) * stride[by.stream];
    char *to = stream[o.stream] + intptr_t(r) * stride[o.stream];
    for (; r < end; r++, from += stride[by.stream], to += stride[o.stream]) {
      std::memcpy(&value, from, sizeof value);
      *to = value != nothing || std::any_of(valid + offsets[r], valid + offsets[r + 1], [](char v) { return v != 0; });
    }
  }
};

// The state of one call: where each operand is. `offsets` are the result's, of `count` rows.
struct var_rows_call {
  const chain_kernel *k;
  char *const *stream;
  const intptr_t *stride;
  size_t count;
  const int64_t *offsets;
  dynd_frame *frame;
  size_t passed = 0; // rows that end in the window that was fetched last, if some source depends on the row
  char *reg[256];
  const port *repeated = nullptr; // a source of one value for each row; it is fetched last
  long_row *part_of = nullptr;    // the windows are parts of it, of a staged program
  // What comes after this window of some source; the segmented reduction prefetches it as it goes.
  struct {
    bool possible = false;
    uint8_t log2 = 0; // of what it reads
    const char *next = nullptr;
  } asked_by_reduction;

  var_rows_call(const chain_kernel *kernel, char *const *streams, const intptr_t *strides, size_t rows, dynd_frame *f)
      : k(kernel), stream(streams), stride(strides), count(rows),
        offsets(reinterpret_cast<const int64_t *>(streams[kernel->shape_slots])), frame(f) {
    set_temporaries(k, reg, frame);
    for (const port &p : k->sources()) {
      reg[p.reg] = frame->scratch + p.scratch;
      if (p.where.slots == slot_kind::none && p.where.axis_stride == 0 && stride[p.where.stream] == 0) {
        fetch_of(p).splat(reg[p.reg], stream[p.where.stream], k->window);
      } else if (p.where.slots == slot_kind::none && p.where.axis_stride == 0) {
        repeated = &p;
      }
    }
  }

  char *row_address(int stream_index, size_t r) const {
    return stream[stream_index] + intptr_t(r) * stride[stream_index];
  }

  // Whether every operand is read as it is in memory.
  bool reads_in_place() const {
    auto in_place = [&](const port &p) {
      bool constant = p.where.axis_stride == 0 && stride[p.where.stream] == 0 && !is_folded(k, p.reg);
      return p.where.slots == slot_kind::none && (constant || is_contiguous(p, p.where.axis_stride));
    };
    std::span<const port> sources = k->sources();
    return k->nstored == 0 && std::all_of(sources.begin(), sources.end(), in_place);
  }

  // Prefetches what comes after this window: little by little, in the reduction or while a later source is repeated,
  // where there are such; else now.
  void ask_for_next(const port &p, row_window &part, size_t bytes) {
    const char *next = reg[p.reg] + bytes;
    const char **free = part.ahead[0] ? part.ahead[1] ? nullptr : &part.ahead[1] : &part.ahead[0];
    if (asked_by_reduction.possible && !asked_by_reduction.next && p.log2 == asked_by_reduction.log2) {
      asked_by_reduction.next = next;
    } else if (repeated && free && p.log2 == repeated->log2) {
      *free = next;
    } else {
      prefetch(reg[p.reg], k->prefetch_distance, bytes);
    }
  }

  // Brings the elements of a part into a source's register; its rows begin with r.
  void fetch(const port &p, size_t r, row_window &part) {
    const fetch_functions &functions = fetch_of(p);
    intptr_t item = intptr_t(1) << p.log2;
    size_t n = size_t(part.end - part.begin);
    char *values = stream[p.where.stream];
    if (p.where.slots != slot_kind::none) {
      passed = functions.gather(reg[p.reg], part, values, p.where.axis_stride, p.where.start_unit,
                                row_address(p.where.slot_stream, r), stride[p.where.slot_stream], p.where.slots);
    } else if (p.where.axis_stride == item) {
      reg[p.reg] = values + part.begin * item;
      if (k->prefetch_distance && n <= k->window) {
        ask_for_next(p, part, n << p.log2);
      }
    } else if (p.where.axis_stride != 0) {
      load_elements(p, reg[p.reg], values + part.begin * p.where.axis_stride, p.where.axis_stride, n);
    } else if (stride[p.where.stream] != 0) {
      passed = functions.repeat(reg[p.reg], row_address(p.where.stream, r), stride[p.where.stream], part);
    }
  }

  // Computes the elements begin .. end of the result's content; they are in row r and following.
  int compute(size_t r, int64_t begin, int64_t end, size_t rows = 0) {
    row_window part = {offsets + r, count - r, begin, end};
    asked_by_reduction.next = nullptr;
    for (const port &p : k->outputs()) {
      bool direct = is_contiguous(p, p.where.axis_stride) && !k->stores_late;
      reg[p.reg] = direct ? stream[p.where.stream] + (begin << p.log2) : frame->scratch + p.scratch;
    }
    for (const port &p : k->sources()) {
      if (&p != repeated) {
        fetch(p, r, part);
      }
    }
    if (repeated) {
      fetch(*repeated, r, part);
    }
    if (k->scans) {
      scan_state_of(k, frame).window = &part;
    }
    size_t n = size_t(end - begin);
    if (int status = part_of      ? part_of->run_part(n)
                     : k->nstages ? run_whole_rows(k, reg, {offsets + r, 0, rows, n, asked_by_reduction.next}, frame)
                                  : run_steps(k, reg, n, frame)) {
      return status;
    }
    passed = k->scans ? scan_state_of(k, frame).passed : passed;
    for (const port &p : k->outputs()) {
      if (reg[p.reg] == frame->scratch + p.scratch && (!part_of || part_of->stores())) {
        fetch_of(p).store_strided(stream[p.where.stream] + begin * p.where.axis_stride, p.where.axis_stride, reg[p.reg],
                                  n);
      }
    }
    return dynd_ok;
  }

  // ---- results that are rows too: the content in windows that begin at cache lines, whatever rows they cut

  int store() {
    const port &first = k->outputs()[0];
    int64_t at = offsets[0], end = offsets[count];
    size_t misaligned = (reinterpret_cast<uintptr_t>(stream[first.where.stream]) + (size_t(at) << first.log2)) % 64;
    int64_t next = at + int64_t(k->window - (misaligned >> first.log2));
    for (size_t r = 0; at < end; r += passed, at = next, next += int64_t(k->window)) {
      next = std::min(next, end);
      if (int status = compute(r, at, next)) {
        return status;
      }
    }
    return dynd_ok;
  }

  // ---- results that are one value for each row: groups of whole rows

  int reduce() {
    asked_by_reduction.log2 = k->nstages ? first_fold(k)->log2 : widest_folded();
    for (size_t r = 0; r < count;) {
      size_t end = rows_that_fit(r);
      if (end == r) {
        if (int status = reduce_long_row(r++)) {
          return status;
        }
        continue;
      }
      asked_by_reduction.possible = true;
      start_row_outputs(k, reg, stream, stride, r, frame);
      if (int status = compute(r, offsets[r], offsets[end], end - r)) {
        return status;
      }
      store_row_outputs(k, reg, stream, stride, r, end - r, frame);
      row_folds folds = {k, stream, stride, reg, offsets[r], offsets};
      if (!folds.add(r, end, asked_by_reduction.next, 0)) {
        return fail_empty(frame);
      }
      r = end;
    }
    return dynd_ok;
  }

  // What is folded beside whether there is any of it.
  uint8_t widest_folded() const {
    uint8_t widest = 0;
    for (const reduced_output &o : k->reduced()) {
      widest = std::max(widest, o.log2);
    }
    return widest;
  }

  // The row before which the rows from r on fit into a window; by eights, as segmented reductions take them.
  size_t rows_that_fit(size_t r) const {
    size_t end = r;
    int64_t limit = offsets[r] + int64_t(k->window);
    auto advance = [&](size_t step) {
      while (end + step <= count && end + step - r <= k->window && offsets[end + step] <= limit) {
        end += step;
      }
    };
    if (k->window > window) { // of few rows, reading offsets so far ahead costs more than it saves
      advance(64);
    }
    advance(8);
    while (end - r < 8 && end < count && offsets[end + 1] <= limit) {
      end++;
    }
    return end;
  }

  // A row of more than a window: its parts one after another.
  int reduce_long_row(size_t r) {
    asked_by_reduction.possible = false;
    if (k->nstages) {
      long_row row(k, reg, size_t(offsets[r + 1] - offsets[r]), frame);
      part_of = &row;
      start_row_outputs(k, reg, stream, stride, r, frame);
      int status = row.run(k->window, reads_in_place(), [&](size_t at, size_t n) {
        return compute(r, offsets[r] + int64_t(at), offsets[r] + int64_t(at + n));
      });
      store_row_outputs(k, reg, stream, stride, r, 1, frame);
      part_of = nullptr;
      return status;
    }
    row_lanes lanes(k);
    if (int status = add_lanes(lanes, r, offsets[r], offsets[r + 1])) {
      return status;
    }
    lanes.store_folded(stream, stride, r);
    for (const reduced_output &o : k->reduced()) {
      o.finish_rows(row_address(o.stream, r), stride[o.stream], 1);
    }
    return dynd_ok;
  }

  // The elements begin .. end of the content, in row r and following.
  int add_lanes(row_lanes &lanes, size_t r, int64_t begin, int64_t end) {
    asked_by_reduction.possible = false;
    for (int64_t at = begin; at < end; at += int64_t(k->window)) {
      int64_t stop = std::min(at + int64_t(k->window), end);
      passed = 0;
      if (int status = compute(r, at, stop)) {
        return status;
      }
      r += passed;
      lanes.push(reg, size_t(stop - at), k->window);
    }
    return dynd_ok;
  }
};

// Where the sources are, if all that are reduced are read as they are in memory.
bool find_sources(const chain_kernel *k, char *const *stream, char **reg) {
  bool in_place = true;
  reg[no_register] = nullptr;
  for (const port &p : k->sources()) {
    reg[p.reg] = stream[p.where.stream];
    bool direct = p.where.slots == slot_kind::none && is_contiguous(p, p.where.axis_stride);
    for (const reduced_output &o : k->reduced()) {
      in_place &= direct || !o.uses(p.reg);
    }
  }
  return in_place;
}

} // namespace

int var_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                     dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  auto *offsets = reinterpret_cast<const int64_t *>(stream[k->shape_slots]);
  const port &source = k->sources()[0];
  char *reg[256];
  if (k->nsteps == 0 && k->nstored == 0 && k->nreductions > 0 && find_sources(k, stream, reg)) {
    row_folds folds = {k, stream, stride, reg, 0, offsets};
    size_t most = k->nreductions == 1 ? count : window; // several folds read rows that are in the cache
    for (size_t r = 0; r < count; r += most) {
      if (!folds.add(r, std::min(count, r + most), nullptr, row_prefetch_distance)) {
        return fail_empty(frame);
      }
    }
    return dynd_ok;
  }
  if (scans_in_place(k) && source.where.slots == slot_kind::none) {
    const port &output = k->outputs()[0];
    size_t begin = size_t(offsets[0]) << source.log2;
    k->scan().functions.rows(stream[output.where.stream] + begin, stream[source.where.stream] + begin,
                             {offsets, count, offsets[0], offsets[count]}, nullptr);
    return status_of(frame);
  }
  if (k->scans) {
    scan_state_of(k, frame).kind = scan_state::batch_kind::window;
  }
  var_rows_call call(k, stream, stride, count, frame);
  int status = k->nreductions || k->nstages ? call.reduce() : call.store();
  return status ? status : status_of(frame);
}

// All rows are one logical row, the content; the call is a part of it.
int var_lanes_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                      dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  var_rows_call call(k, stream, stride, size_t(k->axis_size), frame);
  int64_t begin = call.offsets[0] + (stream[k->number_stream] - number_origin);
  const int64_t *row = std::upper_bound(call.offsets, call.offsets + k->axis_size + 1, begin) - 1;
  row_lanes lanes(k);
  int status = call.add_lanes(lanes, size_t(row - call.offsets), begin, begin + int64_t(count));
  if (status == dynd_ok) {
    lanes.store_lanes(stream);
  }
  return status ? status : status_of(frame);
}

} // namespace dynd::chain
