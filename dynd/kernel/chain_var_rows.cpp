// The walk over rows of a `var` dimension.
#include <algorithm>

#include "dynd/kernel/chain_kernel.h"
#include "dynd/ops/slots.h"

namespace dynd::chain {

namespace {

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
      row_extent row = read_slot(slots, p.where.slots);
      const char *part = content + (row.size == 1 ? 0 : cut[0] - offsets[r]) * p.where.axis_stride;
      row.size = row.size == 1 ? 1 : cut[1] - cut[0];
      functions.gather(scratch, cut, 1, part, p.where.axis_stride, p.where.start_unit,
                       reinterpret_cast<const char *>(&row), 0, slot_kind::pairs64);
      scratch += (cut[1] - cut[0]) << p.log2;
      slots += slot_stride;
      cut++;
      rows--;
    }
    functions.gather(scratch, cut, rows, content, p.where.axis_stride, p.where.start_unit, slots, slot_stride,
                     p.where.slots);
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

} // namespace

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

} // namespace dynd::chain
