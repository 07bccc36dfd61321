// The walk over rows of a `var` dimension.
#include <algorithm>

#include "dynd/kernel/chain_kernel.h"
#include "dynd/type/slots.h"

namespace dynd::chain {

namespace {

// One call's state: where each operand stands. `offsets` are the result's, of `count` rows.
struct var_rows_call {
  const chain_kernel *k;
  char *const *stream;
  const intptr_t *stride;
  size_t count;
  const int64_t *offsets;
  dynd_frame *frame;
  size_t passed = 0; // rows that end in the window that was fetched last, if some source depends on the row
  char *reg[256];
  const chain_port *repeated = nullptr; // a source of one value a row; it is fetched last
  // What comes after this window of some source, for the segmented reduction to ask for as it goes.
  struct {
    bool possible = false;
    const char *next = nullptr;
  } asked_by_reduction;

  var_rows_call(const chain_kernel *kernel, char *const *streams, const intptr_t *strides, size_t rows, dynd_frame *f)
      : k(kernel), stream(streams), stride(strides), count(rows),
        offsets(reinterpret_cast<const int64_t *>(streams[kernel->shape_slots])), frame(f) {
    set_temporaries(k, reg, frame);
    for (const chain_port *p = k->sources(), *end = p + k->nsources; p != end; p++) {
      reg[p->reg] = frame->scratch + p->scratch;
      if (p->where.slots == slot_kind::none && p->where.axis_stride == 0 && stride[p->where.stream] == 0) {
        fetch_of(*p).splat(reg[p->reg], stream[p->where.stream], window);
      } else if (p->where.slots == slot_kind::none && p->where.axis_stride == 0) {
        repeated = p;
      }
    }
  }

  char *row_address(int stream_index, size_t r) const {
    return stream[stream_index] + intptr_t(r) * stride[stream_index];
  }

  // What comes after this window: asked for little by little, by the reduction and while a later source is repeated,
  // where there are such; else now.
  void ask_for_next(const chain_port &p, row_window &part, size_t bytes) {
    const char *next = reg[p.reg] + bytes;
    const char **free = part.ahead[0] ? part.ahead[1] ? nullptr : &part.ahead[1] : &part.ahead[0];
    if (asked_by_reduction.possible && !asked_by_reduction.next && p.log2 == k->reduced_log2) {
      asked_by_reduction.next = next;
    } else if (repeated && free && p.log2 == repeated->log2) {
      *free = next;
    } else {
      prefetch(reg[p.reg], k->prefetch_distance, bytes);
    }
  }

  // Brings the elements of a part into a source's register; its rows begin with r.
  void fetch(const chain_port &p, size_t r, row_window &part) {
    const fetch_functions &functions = fetch_of(p);
    intptr_t item = intptr_t(1) << p.log2;
    size_t n = size_t(part.end - part.begin);
    char *values = stream[p.where.stream];
    if (p.where.slots != slot_kind::none) {
      passed = functions.gather(reg[p.reg], part, values, p.where.axis_stride, p.where.start_unit,
                                row_address(p.where.slot_stream, r), stride[p.where.slot_stream], p.where.slots);
    } else if (p.where.axis_stride == item) {
      reg[p.reg] = values + part.begin * item;
      if (k->prefetch_distance) {
        ask_for_next(p, part, n << p.log2);
      }
    } else if (p.where.axis_stride != 0) {
      functions.load_strided(reg[p.reg], values + part.begin * p.where.axis_stride, p.where.axis_stride, n);
    } else if (stride[p.where.stream] != 0) {
      passed = functions.repeat(reg[p.reg], row_address(p.where.stream, r), stride[p.where.stream], part);
    }
  }

  // Computes the elements begin .. end of the result's content; they are in row r and following.
  int compute(size_t r, int64_t begin, int64_t end) {
    row_window part = {offsets + r, count - r, begin, end};
    asked_by_reduction.next = nullptr;
    for (const chain_port *p = k->sources(), *last = p + k->nsources; p != last; p++) {
      if (p != repeated) {
        fetch(*p, r, part);
      }
    }
    if (repeated) {
      fetch(*repeated, r, part);
    }
    return run_steps(k, reg, size_t(end - begin), frame);
  }

  // ---- results that are rows too: the content in windows that begin at cache lines, whatever rows they cut

  int store() {
    const chain_port &first = *k->outputs();
    int64_t at = offsets[0], end = offsets[count];
    size_t misaligned = (reinterpret_cast<uintptr_t>(stream[first.where.stream]) + (size_t(at) << first.log2)) % 64;
    int64_t next = at + int64_t(window - (misaligned >> first.log2));
    for (size_t r = 0; at < end; r += passed, at = next, next += int64_t(window)) {
      next = std::min(next, end);
      if (int status = store_window(r, at, next)) {
        return status;
      }
    }
    return dynd_ok;
  }

  int store_window(size_t r, int64_t begin, int64_t end) {
    for (const chain_port *p = k->outputs(), *last = p + k->noutputs; p != last; p++) {
      bool direct = p->where.axis_stride == intptr_t(1) << p->log2;
      reg[p->reg] = direct ? stream[p->where.stream] + (begin << p->log2) : frame->scratch + p->scratch;
    }
    if (int status = compute(r, begin, end)) {
      return status;
    }
    for (const chain_port *p = k->outputs(), *last = p + k->noutputs; p != last; p++) {
      if (p->where.axis_stride != intptr_t(1) << p->log2) {
        fetch_of(*p).store_strided(stream[p->where.stream] + begin * p->where.axis_stride, p->where.axis_stride,
                                   reg[p->reg], size_t(end - begin));
      }
    }
    return dynd_ok;
  }

  // ---- results that are one value a row: groups of whole rows

  int reduce() {
    const chain_port &dst = *k->outputs();
    for (size_t r = 0; r < count;) {
      size_t end = rows_that_fit(r);
      if (end == r) {
        if (int status = reduce_long_row(r++)) {
          return status;
        }
        continue;
      }
      asked_by_reduction.possible = true;
      if (int status = compute(r, offsets[r], offsets[end])) {
        return status;
      }
      const char *origin = reg[k->reduced] - (offsets[r] << k->reduced_log2);
      const char *next = asked_by_reduction.next;
      intptr_t ahead = next ? reinterpret_cast<intptr_t>(next) - reinterpret_cast<intptr_t>(reg[k->reduced]) : 0;
      uint32_t empty = k->reduce->rows(row_address(dst.where.stream, r), stride[dst.where.stream], origin, offsets + r,
                                       end - r, ahead);
      if (empty && k->empty_fails) {
        return bad_value(frame);
      }
      r = end;
    }
    return dynd_ok;
  }

  // The row before which the rows from r on fit into a window; by eights, as segmented reductions take them.
  size_t rows_that_fit(size_t r) const {
    size_t end = r;
    int64_t limit = offsets[r] + int64_t(window);
    while (end + 8 <= count && offsets[end + 8] <= limit) {
      end += 8;
    }
    while (end - r < 8 && end < count && offsets[end + 1] <= limit) {
      end++;
    }
    return end;
  }

  // A row of more than a window: its parts one after another.
  int reduce_long_row(size_t r) {
    lane_stack stack(*k->reduce);
    asked_by_reduction.possible = false;
    for (int64_t at = offsets[r], end = offsets[r + 1]; at < end; at += int64_t(window)) {
      int64_t stop = std::min(at + int64_t(window), end);
      if (int status = compute(r, at, stop)) {
        return status;
      }
      size_t n = size_t(stop - at);
      k->reduce->lanes(stack.top(), reg[k->reduced], n);
      stack.push(n == window ? window / block : 1);
    }
    alignas(64) char lanes[64];
    stack.finish(lanes);
    k->reduce->fold(row_address(k->outputs()->where.stream, r), lanes);
    return dynd_ok;
  }
};

} // namespace

int var_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                     dynd_frame *frame) {
  auto *k = reinterpret_cast<const chain_kernel *>(self);
  auto *offsets = reinterpret_cast<const int64_t *>(stream[k->shape_slots]);
  if (k->reduce && k->nsteps == 0 && k->sources()->where.slots == slot_kind::none &&
      k->sources()->where.axis_stride == intptr_t(1) << k->reduced_log2) {
    const chain_port &dst = *k->outputs();
    uint32_t empty = k->reduce->rows(stream[dst.where.stream], stride[dst.where.stream],
                                     stream[k->sources()->where.stream], offsets, count, row_prefetch_distance);
    return empty && k->empty_fails ? bad_value(frame) : int(dynd_ok);
  }
  var_rows_call call(k, stream, stride, count, frame);
  int status = k->reduce ? call.reduce() : call.store();
  return status == dynd_ok && cancelled(frame) ? int(dynd_error_cancelled) : status;
}

} // namespace dynd::chain
