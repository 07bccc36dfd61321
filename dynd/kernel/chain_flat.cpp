// Flat walks: batches of contiguous elements, whole logical rows, panels of transposed sources.
#include <algorithm>
#include <cstring>

#include "dynd/base/cpu.h"
#include "dynd/kernel/chain_kernel.h"
#include "dynd/plan/tile.h"

namespace dynd::chain {

namespace {

// Which operands move with the call (direct), and which are loaded and stored batch by batch.
struct flat_moves {
  int ndirect = 0, nloads = 0, nstores = 0, noutputs = 0; // noutputs: of the direct ones, they come first
  uint8_t direct_reg[max_registers], direct_log2[max_registers];
  const port *load[max_registers], *store[max_outputs];

  void add_direct(const port &p) {
    direct_reg[ndirect] = p.reg;
    direct_log2[ndirect++] = p.log2;
  }
};

void start_flat(const chain_kernel *k, char *const *stream, const intptr_t *stride, char **reg, flat_moves &moves,
                size_t splat_count, dynd_frame *frame) {
  set_temporaries(k, reg, frame);
  for (const port &p : k->outputs()) {
    if (is_contiguous(p, stride[p.where.stream]) && !k->stores_late) {
      reg[p.reg] = stream[p.where.stream];
      moves.add_direct(p);
    } else {
      reg[p.reg] = frame->scratch + p.scratch;
      moves.store[moves.nstores++] = &p;
    }
  }
  moves.noutputs = moves.ndirect;
  for (const port &p : k->sources()) {
    intptr_t step = stride[p.where.stream];
    if (is_contiguous(p, step)) {
      reg[p.reg] = stream[p.where.stream];
      moves.add_direct(p);
    } else {
      reg[p.reg] = frame->scratch + p.scratch;
      if (step == 0) {
        fetch_of(p).splat(reg[p.reg], stream[p.where.stream], splat_count);
      } else {
        moves.load[moves.nloads++] = &p;
      }
    }
  }
}

inline void load_batch(const flat_moves &moves, char *const *stream, const intptr_t *stride, char *const *reg,
                       size_t done, size_t n) {
  for (int i = 0; i < moves.nloads; i++) {
    const port *p = moves.load[i];
    intptr_t step = stride[p->where.stream];
    load_elements(*p, reg[p->reg], stream[p->where.stream] + intptr_t(done) * step, step, n);
  }
}

inline void store_batch(const flat_moves &moves, char *const *stream, const intptr_t *stride, char *const *reg,
                        size_t done, size_t n) {
  for (int i = 0; i < moves.nstores; i++) {
    const port *p = moves.store[i];
    intptr_t step = stride[p->where.stream];
    fetch_of(*p).store_strided(stream[p->where.stream] + intptr_t(done) * step, step, reg[p->reg], n);
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

// Batches of `step` elements, each handed to `end` after its steps have run, until it says that it has enough.
template <class End>
int run_batches(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t count, size_t step,
                uint32_t ahead, char **reg, flat_moves &moves, dynd_frame *frame, End end) {
  for (size_t done = 0; done < count; done += step) {
    size_t n = std::min(step, count - done);
    load_batch(moves, stream, stride, reg, done, n);
    if (ahead) {
      prefetch_ahead(moves, reg, n, ahead);
    }
    if (int status = run_steps(k, reg, n, frame)) {
      add_to_failed_index(frame, done);
      return status;
    }
    store_batch(moves, stream, stride, reg, done, n);
    if (end(n)) {
      break;
    }
    advance(moves, reg, n);
  }
  return status_of(frame);
}

// One step whose operands are all where it can take them: of a constant it reads the first element only.
inline bool are_in_place(const chain_kernel *k, char *const *stream, const intptr_t *stride, char **reg) {
  for (const port &p : k->all_ports()) {
    intptr_t step = stride[p.where.stream];
    bool one_value = k->whole_constant && p.where.constant && step == 0;
    if (!is_contiguous(p, step) && !one_value) {
      return false;
    }
    reg[p.reg] = stream[p.where.stream];
  }
  return !k->stores_late;
}

// Rows may be as long as memory: so many elements are one call of a loop at most.
constexpr size_t longest_call = 1 << 22;
int call_in_runs(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                 dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  char *at[max_call_streams];
  for (size_t done = 0; done < count; done += longest_call) {
    for (uint16_t s = 0; s < k->nstreams; s++) {
      at[s] = stream[s] + intptr_t(done) * stride[s];
    }
    if (int status = flat_strided(at, stride, std::min(longest_call, count - done), self, frame)) {
      add_to_failed_index(frame, done);
      return status;
    }
  }
  return dynd_ok;
}

// A copy of elements with gaps to where they are contiguous, without scratch; false where it is none.
bool copy_strided(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t count, dynd_frame *frame) {
  const port &to = k->outputs()[0], &from = k->sources()[0];
  intptr_t step = stride[from.where.stream];
  if (from.where.numbers || step == 0 || is_contiguous(from, step) || !is_contiguous(to, stride[to.where.stream])) {
    return false; // of other strides the fetch writes no more than its elements
  }
  constexpr size_t run = 1 << 14;
  for (size_t done = 0; done < count && !asks_after(frame, run); done += run) {
    fetch_of(from).load_strided(stream[to.where.stream] + (done << to.log2),
                                stream[from.where.stream] + intptr_t(done) * step, step, std::min(run, count - done));
  }
  return true;
}

} // namespace

int flat_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                 dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  if (count > longest_call) {
    return call_in_runs(stream, stride, count, self, frame);
  }
  char *reg[256];
  if (k->whole_calls && count && are_in_place(k, stream, stride, reg)) { // nothing to prepare: rows may be short
    set_temporaries(k, reg, frame);
    int status = run_steps(k, reg, count, frame);
    return status ? status : status_of(frame);
  }
  if (k->copies && copy_strided(k, stream, stride, count, frame)) {
    return status_of(frame);
  }
  flat_moves moves;
  // Many steps take so long that memory does not wait for them; nor does it for two where the operands are near.
  bool near = count <= in_cache << k->narrower;
  bool large = k->nsteps == 1 || k->nsteps > 3 || (k->nsteps == 2 && near);
  size_t most = (large ? group : batch) << k->narrower;
  if (k->nsteps == 1 && near) {
    most = k->window;
  }
  start_flat(k, stream, stride, reg, moves, k->nsteps == 1 && k->whole_constant ? 1 : std::min(count, most), frame);
  return run_batches(k, stream, stride, count, most, k->prefetch_distance, reg, moves, frame,
                     [](size_t) { return false; });
}

namespace {

// The lanes of n contiguous elements, in parts that grow, until one of them decides. Only folds of bools come here,
// which are the same wherever parts end.
void reduce_until_decided(const reduced_output &r, char *lanes, char **reg, size_t n) {
  constexpr size_t first = 1024, longest = 1 << 15;
  alignas(64) char next[64];
  size_t done = std::min(n, first);
  r.lanes(lanes, reg, done);
  for (size_t part = done; done < n && !r.is_decided(lanes); done += part) {
    reg[r.reg] += part << r.log2;
    part = std::min({2 * part, longest, n - done});
    r.lanes(next, reg, part);
    r.functions->combine(lanes, lanes, next, 1);
  }
}

} // namespace

// Each reduced output is a place for 64 bytes of lanes; its stride is not used.
int lanes_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  char *reg[256];
  flat_moves moves;
  size_t most = reduce_batch << k->narrower;
  start_flat(k, stream, stride, reg, moves, std::min(count, most), frame);
  if (k->nsteps == 0 && k->nreductions == 1) {
    const reduced_output &r = k->reduced()[0];
    std::span<const port> sources = k->sources();
    bool in_place = std::all_of(sources.begin(), sources.end(), [&](const port &p) {
      return is_contiguous(p, stride[p.where.stream]) || !r.uses(p.reg);
    });
    if (in_place && k->stops_early) {
      reduce_until_decided(r, stream[r.stream], reg, count);
      return dynd_ok;
    } else if (in_place) {
      r.lanes(stream[r.stream], reg, count);
      return dynd_ok;
    }
  }
  // Elements that several folds read where they are need no scratch: longer batches still stay in the L1. Otherwise
  // several sources from memory are read in turns: in runs shorter than a page the CPU prefetches them.
  if (k->nsteps == 0 && moves.ndirect == k->nsources) {
    most *= 4;
  } else if (count > in_cache) {
    most /= 2;
  }
  row_lanes lanes(k);
  int status = run_batches(k, stream, stride, count, most, k->prefetch_distance, reg, moves, frame, [&](size_t n) {
    lanes.push(reg, n, most);
    return lanes.are_decided();
  });
  if (status == dynd_ok) {
    lanes.store_lanes(stream);
  }
  return status;
}

namespace {

// One logical row along the call: its lanes, then folded to the element `row` of each output.
int reduce_row(char *const *stream, const intptr_t *stride, size_t count, const chain_kernel *k, char *const *to,
               const intptr_t *to_stride, size_t row, dynd_frame *frame) {
  alignas(64) char lanes[max_reductions][64];
  char *at[max_call_streams];
  std::copy(stream, stream + k->nstreams, at);
  std::span<const reduced_output> reduced = k->reduced();
  for (size_t i = 0; i < reduced.size(); i++) {
    at[reduced[i].stream] = lanes[i];
  }
  if (int status = lanes_strided(at, stride, count, &k->base, frame)) {
    return status;
  }
  for (size_t i = 0; i < reduced.size(); i++) {
    uint16_t s = reduced[i].stream;
    reduced[i].functions->fold(to[s] + intptr_t(row) * to_stride[s], lanes[i]);
  }
  return dynd_ok;
}

} // namespace

int row_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  if (count == 0) {
    return reduce_nothing(k, stream, stride, 0, frame);
  }
  return reduce_row(stream, stride, count, k, stream, stride, 0, frame);
}

// Rows too long to be collected, each reduced to one value.
int long_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                      dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  constexpr intptr_t worth_stopping = 4096; // in shorter rows a call for each takes longer than reading to the end
  bool stops_early = k->stops_early && k->axis_size > worth_stopping;
  if (!stops_early && reduce_in_place(k, stream, stride, count)) {
    return status_of(frame);
  }
  return for_each_row(k, stream, stride, count, [&](char *const *row, const intptr_t *along, size_t i) {
    return reduce_row(row, along, size_t(k->axis_size), k, stream, stride, i, frame);
  });
}

// ---- panels -------------------------------------------------------------------------------------------------------

namespace {

// A copy in another order of the axes goes from memory to memory, without scratch. It goes back and forth over many
// rows of the destination, so that the source is read in its own order, which every CPU wants.
constexpr size_t transposed_rows = 512;
void transpose_strided(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t count,
                       dynd_frame *frame) {
  const port &to = k->outputs()[0], &from = k->sources()[0];
  int d = to.where.stream, s = from.where.stream;
  for (size_t i = 0; i < count && !asks_after(frame, transposed_rows * size_t(k->axis_size)); i += transposed_rows) {
    fetch_of(from).transpose_stream(stream[d] + intptr_t(i) * stride[d], stride[d], stream[s] + intptr_t(i) * stride[s],
                                    from.where.axis_stride, std::min(transposed_rows, count - i), size_t(k->axis_size));
  }
}

// Of the rows of a source beside a panel, so many bytes are asked for before their turn.
constexpr size_t panel_ahead_bytes = 8192;

// One panel: transposed sources in scratch, then a call for each row of it.
class panel_walk {
public:
  // rows and width: of this panel, which may be at an end of the array.
  panel_walk(const chain_kernel *k, panel_shape shape, size_t rows, size_t width, dynd_frame *frame)
      : k_(k), shape_(shape), rows_(rows), width_(width), frame_(frame), panel_(frame->scratch + k->panels) {}

  // `corner` gives the panel's first element of each operand, `next` that of the panel after it.
  template <class Corner> int run(const intptr_t *stride, Corner corner, Corner next) {
    for (const port &p : k_->all_ports()) {
      add(p, corner(p), next(p), stride[p.where.stream]);
    }
    char *reg[256];
    bool in_place = k_->whole_calls && are_in_place(k_, at_, along_, reg); // nothing to prepare: rows are short
    if (in_place) {
      set_temporaries(k_, reg, frame_);
    }
    size_t ahead = k_->panel_ahead ? panel_ahead_bytes / (size_t(shape_.columns) << k_->outputs()[0].log2) : rows_;
    for (size_t i = 0; i < rows_; i++) {
      if (i + ahead < rows_) { // first: what is asked for later waits longer
        ask_for_row(ahead);
      }
      if (k_->panel_ahead) {
        ask_for_next(i);
      }
      int status = in_place ? run_steps(k_, reg, width_, frame_) : flat_strided(at_, along_, width_, &k_->base, frame_);
      if (status) {
        return status;
      }
      for (const port &p : k_->all_ports()) {
        at_[p.where.stream] += step_[p.where.stream];
        reg[p.reg] = at_[p.where.stream];
      }
    }
    return status_of(frame_);
  }

private:
  void add(const port &p, char *corner, char *next, intptr_t stride) {
    int s = p.where.stream;
    at_[s] = corner;
    along_[s] = p.where.axis_stride;
    step_[s] = stride;
    if (p.where.fetched) {
      step_[s] = shape_.stride(p.log2);
      fetch_of(p).transpose(panel_, step_[s], corner, p.where.axis_stride, rows_, width_);
      at_[s] = panel_;
      along_[s] = intptr_t(1) << p.log2;
      panel_ += shape_.rows * step_[s];
      next_[nfetched_] = next;
      fetched_[nfetched_++] = &p;
    } else if (&p >= k_->sources().data() && is_contiguous(p, along_[s])) {
      beside_[nbeside_++] = &p;
    }
  }
  // What is read beside panels, some rows before its turn: rows are too short for the CPU's own prefetching. To the L2,
  // which takes more at a time; and in the L1, rows some KB apart would be in one set.
  [[gnu::always_inline]] void ask_for_row(size_t ahead) const {
    for (int i = 0; i < nbeside_; i++) {
      int s = beside_[i]->where.stream;
      prefetch<2>(at_[s] + intptr_t(ahead) * step_[s], 0, width_ << beside_[i]->log2);
    }
  }

  // The sources of the next panel are asked for while the rows of this one run, as many lines of them by each:
  // otherwise memory would bring them while nothing is written, and nothing else while they come.
  [[gnu::always_inline]] void ask_for_next(size_t row) const {
    size_t end = (row + 1) * shape_.columns / rows_;
    for (int i = 0; i < nfetched_; i++) {
      for (size_t line = row * shape_.columns / rows_; line < end; line++) {
        prefetch<2>(next_[i] + intptr_t(line) * fetched_[i]->where.axis_stride, 0, rows_ << fetched_[i]->log2);
      }
    }
  }

  const chain_kernel *k_;
  panel_shape shape_;
  size_t rows_, width_;
  dynd_frame *frame_;
  char *panel_; // where the next one is
  char *at_[max_call_streams];
  intptr_t along_[max_call_streams], step_[max_call_streams];
  const port *beside_[max_registers], *fetched_[max_registers];
  const char *next_[max_registers]; // of each fetched one
  int nbeside_ = 0, nfetched_ = 0;
};

} // namespace

int panel_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  if (k->transposes && is_contiguous(k->outputs()[0], k->outputs()[0].where.axis_stride) &&
      is_contiguous(k->sources()[0], stride[k->sources()[0].where.stream])) {
    transpose_strided(k, stream, stride, count, frame);
    return status_of(frame);
  }
  bool whole_lines = stride[k->outputs()[0].where.stream] % 64 == 0;
  panel_shape shape = whole_lines ? k->panel : k->panel.wider();
  size_t columns = size_t(k->axis_size);
  for (size_t i = 0; i < count; i += shape.rows) {
    size_t rows = std::min<size_t>(shape.rows, count - i);
    for (size_t j = 0; j < columns; j += shape.columns) {
      auto corner_at = [=](size_t row, size_t column) {
        return [=](const port &p) {
          int s = p.where.stream;
          return stream[s] + intptr_t(row) * stride[s] + intptr_t(column) * p.where.axis_stride;
        };
      };
      bool more = j + shape.columns < columns; // after the last panel of all, some other memory is asked for
      panel_walk walk(k, shape, rows, std::min<size_t>(shape.columns, columns - j), frame);
      int status = walk.run(stride, corner_at(i, j), more ? corner_at(i, j + shape.columns) : corner_at(i + rows, 0));
      if (status) {
        return status;
      }
    }
  }
  return dynd_ok;
}

} // namespace dynd::chain
