// What a chain is in memory, and what all its walks share. Private to dynd/kernel/chain*.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

#include "dynd/kernel/chain.h"
#include "dynd/kernel/level.h"
#include "dynd/plan/tile.h"

namespace dynd::chain {

constexpr size_t batch = 64; // elements of a flat batch of 8 bytes each, and of a block of the summation
// The same, of a batch of whole rows; of rows of over 32, four rows at least (step_choice). Of smaller elements there
// are more of both.
constexpr size_t group = 128, longest_collected_scan = group / 2;
constexpr size_t scanned_batch = 512; // of columns that are computed
// One step has no temporaries: as long as its operands are in the L2 or near it, more elements at once cost less.
constexpr size_t lone_batch = 512, in_cache = size_t(1) << 17;
// Elements of a batch of ragged rows: a power of two of blocks; more where an external kernel's calls have a cost.
constexpr size_t window = 256, external_window = 1024;
// Elements of 8 bytes of a flat batch that ends in a reduction, a power of two of blocks; of smaller ones there are
// more.
constexpr size_t reduce_batch = 512;
constexpr size_t register_padding = 128;
// Columns that are reduced side by side: of operands as they are, rows of some pages at a time, which the CPU
// prefetches, or of few rows all that stays in the L1; else as many as stay there with the rows that are computed
// before they are reduced (these divide a block). Long rows in scratch are a line longer, or all of them would be in
// the same sets of the cache.
constexpr size_t computed_columns = 128, computed_rows = 16;
constexpr size_t few_rows = 16, few_columns = 128;
constexpr size_t node_blocks = 8; // of few columns or rows, which are read at once
constexpr size_t column_line = 64;
// Panels of an ordered walk are so small that the CPU fills the next one while the last one is added up, where the
// source is then read in runs of at least some lines: `near_lines` where all that is side by side stays in the L2, else
// `panel_lines`. Rows from strip_row elements on would make panels that are too large for the L2. Sums that need no
// panels have windows from window_row on: rows of some windows.
constexpr size_t panel_bytes = size_t(1) << 12, near_bytes = size_t(1) << 19;
constexpr size_t near_lines = 2, panel_lines = 4;
constexpr size_t strip_row = 1025, strip_columns = 512, strip_bytes = 1024, window_row = 256;
constexpr size_t most_strip_rows = panel_lines * 64 * 3 / 2; // of one byte each

// What a step of a staged program goes over: a batch's elements or its rows, or from the one to the other.
enum class step_extent : uint8_t { elements, rows, fold, repeat, length };

struct chain_step {
  union {
    batch_fn function; // its loop (of step_extent::length, of the offsets); null: an external kernel, or the scan
    const reduce_functions *fold; // of step_extent::fold; where it has b, squares of the distances c - b are folded
  };
  uint8_t a, b, c, dst, dst2, valid;
  uint16_t number;    // among the steps
  uint32_t child;     // offset of its external_operands from the chain; 0 before they are there
  step_extent extent; // elements, unless the program is staged
  uint8_t stages;     // a bit for each stage that needs its result; of rows: the stage that it is at the end of
  uint8_t log2;       // fold, repeat: of the size of what it writes
  bool joined;        // a later fold does the same: it is not run
};

// Used only when a step fails, or when its failures count only where a validity is true.
struct step_details {
  step_kind kind;
  op_id op;
  scalar_id type, from; // of what it writes and reads
  uint8_t size[5];      // of an element of a, b, c, dst, dst2
  const char *field;
};

// The operands of an external kernel, in the order of its streams, outputs first; its kernel is right behind.
struct external_operands {
  const char *name;
  size_t count;
  struct {
    uint8_t reg, size; // size: of an element
  } operand[max_external_operands];

  const ckernel_prefix *kernel() const { return reinterpret_cast<const ckernel_prefix *>(this + 1); }
};
static_assert(sizeof(external_operands) % 8 == 0);

struct port {
  chain_port where;
  uint32_t scratch; // of its register
  uint8_t reg, log2;
};

struct reduced_output {
  const reduce_functions *functions;
  uint16_t stream;
  uint8_t reg, log2;
  uint8_t other; // its products with reg are reduced; no_register: reg is
  uint8_t valid; // only where it is true; no_register: everywhere
  bool empty_fails;
  bool present; // whether any element is true, and all are one constant: that, where the row has elements
  // Of a fold that asks whether any element is true: the number of another fold, whose elements are those where this is
  // so. A value of it that differs from what no elements give tells that there is one. no_register: no such fold.
  uint8_t told_by;
  batch_fn finish; // of each row's value; null: nothing. Only ragged rows that follow each other have it

  bool uses(uint8_t r) const { return r == reg || r == other || r == valid; }
  // Whether these lanes have what decides the result, whatever comes after them. They are 64 bools, of which any byte
  // but 0 is true; of a fold that finds a position, the first byte is the element that is kept (index_state).
  bool is_decided(const char *lanes) const {
    auto decides = [&](char lane) { return (lane != 0) == (functions->decided_by != 0); };
    return std::any_of(lanes, lanes + (functions->index ? 1 : 64), decides);
  }
  void lanes(void *to, char *const *at, size_t n) const {
    if (valid != no_register) {
      functions->valid.lanes(to, at[reg], at[other], at[valid], n);
    } else if (other == no_register) {
      functions->lanes(to, at[reg], n);
    } else {
      functions->products.lanes(to, at[reg], at[other], n);
    }
  }
  // Calls f(registers, n, block, blocks) for each of the largest nodes of the pairwise tree that n elements from the
  // block on consist of. The end of the whole row is a node whatever its length.
  template <class F> void for_nodes(char *const *reg, size_t block, size_t n, F f) const {
    char *at[256];
    at[no_register] = nullptr;
    for (size_t done = 0; done < n;) {
      size_t left = (n - done) / batch, aligned = block ? block & -block : left;
      size_t blocks = left ? std::min(aligned, std::bit_floor(left)) : 1;
      size_t elements = std::min(blocks * batch, n - done);
      for (uint8_t r : {this->reg, other, valid}) {
        at[r] = r == no_register ? nullptr : reg[r] + (r == valid ? done : done << log2);
      }
      f(at, elements, block, blocks);
      done += elements;
      block += blocks;
    }
  }
  // Rows of one length, `step` bytes apart.
  void rows_fixed(char *dst, intptr_t stride, char *const *at, intptr_t step, intptr_t other_step, size_t length,
                  size_t rows) const {
    if (other == no_register) {
      functions->rows_fixed(dst, stride, at[reg], step, length, rows);
    } else {
      functions->products.rows_fixed(dst, stride, at[reg], step, at[other], other_step, length, rows);
    }
  }
  // Rows by offsets; the registers are where offset 0 points. at[no_register] is null.
  uint32_t rows(char *dst, intptr_t stride, char *const *at, const int64_t *offsets, size_t rows,
                intptr_t ahead) const {
    if (valid != no_register) {
      return functions->valid.rows(dst, stride, at[reg], at[other], at[valid], offsets, rows, ahead);
    }
    return other == no_register ? functions->rows(dst, stride, at[reg], offsets, rows, ahead)
                                : functions->products.rows(dst, stride, at[reg], at[other], offsets, rows, ahead);
  }
  void finish_rows(char *dst, intptr_t stride, size_t rows) const {
    size_t once = stride == intptr_t(1) << log2 ? rows : 1;
    for (size_t r = 0; finish && r < rows; r += once, dst += stride) {
      finish(dst, dst, nullptr, nullptr, once, nullptr);
    }
  }
};

struct temporary {
  uint32_t scratch, reg;
};

// ordered: iterations of a loop outside of the innermost one, along which a source's elements are side by side while
// they jump along the innermost; `rows` of them are transposed into scratch at once, whole or some columns at a time.
enum class panel_kind : uint8_t {
  whole,
  strips,  // some columns; all sources that have them have the same loop and rows
  windows, // nothing is transposed: a strip_sums takes the rows as they are
  trees    // or a tree_sums
};
struct ordered_panel {
  int32_t loop, rows; // rows 0: there is no such loop
  uint32_t scratch;
  panel_kind kind;
};

/// From one row of a strip's panel to the next: with room for what is left of a block before the columns, and another
/// line, or all rows would be in the same sets of the cache.
inline intptr_t strip_stride(int log2) { return intptr_t(((batch + strip_columns) << log2) + column_line); }
/// Levels of the pairwise tree over a row: one for each doubling of the number of blocks, and one to fill.
inline size_t tree_levels(size_t row) { return size_t(66 - __builtin_clzll(uint64_t(row / batch) | 1)); }
/// Scratch of columns with so many rows, for each reduced output: the lanes of these levels.
inline size_t column_scratch(size_t rows) { return tree_levels(rows) * 64 * (columns_at_once + column_line); }
/// The nodes of the pairwise tree that cover a row, at most, and the memory for their lanes and weights.
inline size_t segment_entries(size_t row) { return 2 * tree_levels(row); }
inline size_t segment_bytes(size_t entries) { return (entries * (64 + sizeof(size_t)) + 63) / 64 * 64; }

// The scan of a program; `combine` joins the running value with an element.
struct chain_scan {
  scan_functions functions; // null: there are no compiled loops, every element is combined by itself
  batch_fn combine;
  uint32_t state; // scratch offset of its scan_state
  uint8_t log2, output;
};

// What a walk says to the scan before it runs the steps: where the rows of the batch begin.
struct scan_state {
  enum class batch_kind : uint8_t {
    row,     // elements of one row
    rows,    // whole rows of `length` elements
    window,  // elements of ragged rows
    columns, // one element of each of several columns
    lines,   // all elements of `length` columns, line by line
  } kind;
  bool begun; // row, and the first row of a window: there is a running value; lines: that before the output's first
  size_t length;
  const row_window *window;
  size_t passed;      // window: how many rows ended in it
  const char *before; // columns: the running values, null: there are none yet
  char running[max_scalar_size];
};

// The kernel: this, then the ports (stored outputs, sources, outputs of rows), the reductions, the temporaries, the
// steps and their details, the nest of an ordered walk (loop count, then size and strides of each loop, a stride for
// each source and stored output, then an ordered_panel for each of those), then external kernels with their
// external_operands before them.
struct chain_kernel {
  ckernel_prefix base;
  intptr_t axis_size;
  uint32_t ports, reductions, temporaries, steps, details, nest; // offsets from the kernel
  uint32_t panels;                                               // scratch offset
  uint32_t prefetch_distance;                                    // 0: sources are in the cache
  uint16_t shape_slots, number_stream;
  uint16_t nstreams; // up to the highest that is used
  uint16_t window;   // elements of a batch: of ragged rows, of whole short rows; of a flat one at most
  panel_shape panel; // of each source that is transposed
  uint8_t narrower;  // a batch has 2^narrower times as many elements: its bytes are what matters
  uint8_t nstored, nsources, nreductions, nsteps, ntemporaries;
  uint8_t nrow_outputs, nstages; // of a staged program; else 0
  bool whole_calls;              // one step: a contiguous call need not be cut into batches
  bool whole_constant;           // the same where one of its operands is one value
  bool copies;                   // flat: only a copy, of which nothing is streamed
  bool transposes;               // panel: only a copy, past the cache
  bool panel_ahead;              // the sources beside panels come from memory
  bool scans;                    // its chain_scan is where the nest of an ordered walk would be
  bool stops_early;              // nothing fails or is stored, and of each fold one element may decide the result
  bool stores_late; // several outputs and a step that can fail: nothing is stored before all steps have passed

  template <class T> const T *at(uint32_t offset) const {
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(this) + offset);
  }
  std::span<const port> outputs() const { return {at<port>(ports), nstored}; }
  std::span<const port> sources() const { return {at<port>(ports) + nstored, nsources}; }
  std::span<const port> row_outputs() const { return {at<port>(ports) + nstored + nsources, nrow_outputs}; }
  std::span<const port> all_ports() const { return {at<port>(ports), size_t(nstored) + nsources}; }
  const chain_scan &scan() const { return *at<chain_scan>(nest); }
  std::span<const reduced_output> reduced() const { return {at<reduced_output>(reductions), nreductions}; }
};

/// A panel of an ordered walk: lines of memory give all their elements to it. Strips are like those of another source.
ordered_panel plan_panel(ckernel_builder &out, chain_kernel *k, const chain_layout &layout, const port &p,
                         const ordered_panel *strips);

inline const chain_kernel *chain_of(const ckernel_prefix *self) { return reinterpret_cast<const chain_kernel *>(self); }

int run_external(const chain_kernel *k, const chain_step &step, char *const *reg, size_t n, dynd_frame *frame);
/// For a step that reported a failure: checks the elements that are there, and says what is wrong with the first.
int explain_failure(const chain_kernel *k, const chain_step &step, char *const *reg, size_t n, dynd_frame *frame);

inline scan_state &scan_state_of(const chain_kernel *k, dynd_frame *frame) {
  return *reinterpret_cast<scan_state *>(frame->scratch + k->scan().state);
}
int run_scan(const chain_kernel *k, const chain_step &step, char *const *reg, size_t n, dynd_frame *frame);
/// Whether the compiled scan can read the only source and write the only output where they are; both are contiguous
/// along the axis.
bool scans_in_place(const chain_kernel *k);

inline int run_step(const chain_kernel *k, const chain_step &step, char *const *reg, size_t n, dynd_frame *frame) {
  if (step.function) [[likely]] {
    if (step.function(reg[step.dst], reg[step.a], reg[step.b], reg[step.c], n, reg[step.dst2])) [[unlikely]] {
      return explain_failure(k, step, reg, n, frame);
    }
    return dynd_ok;
  }
  return step.child ? run_external(k, step, reg, n, frame) : run_scan(k, step, reg, n, frame);
}

// Runs the steps on n elements; every register's pointer is set. Not zero: an error status, or the user wants it to
// stop, before any step of these.
inline int run_steps(const chain_kernel *k, char *const *reg, size_t n, dynd_frame *frame) {
  if (asks_after(frame, n)) [[unlikely]] {
    return dynd_error_cancelled;
  }
  const chain_step *step = k->at<chain_step>(k->steps), *end = step + k->nsteps;
  for (; step != end; step++) {
    if (int status = run_step(k, *step, reg, n, frame)) {
      return status;
    }
  }
  return dynd_ok;
}

inline void set_temporaries(const chain_kernel *k, char **reg, dynd_frame *frame) {
  reg[no_register] = nullptr;
  const temporary *t = k->at<temporary>(k->temporaries);
  for (int i = 0; i < k->ntemporaries; i++) {
    reg[t[i].reg] = frame->scratch + t[i].scratch;
  }
}

inline const fetch_functions &fetch_of(const port &p) { return isa().fetch(p.log2); }

// Elements that are not contiguous, into scratch.
inline void load_elements(const port &p, char *dst, const char *src, intptr_t stride, size_t n) {
  if (!p.where.numbers) {
    return fetch_of(p).load_strided(dst, src, stride, n);
  }
  auto *to = reinterpret_cast<int64_t *>(dst);
  int64_t number = src - number_origin;
  for (size_t i = 0; i < n; i++, number += stride) {
    to[i] = number;
  }
}

// Is the operand, of that stride, contiguous?
inline bool is_contiguous(const port &p, intptr_t stride) { return stride == intptr_t(1) << p.log2; }

// Brings what comes `distance` bytes later towards the cache; n bytes of it. As a function of its own it would have no
// effect that the compiler knows of, and calls of it would go.
template <int Locality = 3> [[gnu::always_inline]] inline void prefetch(const char *at, uint32_t distance, size_t n) {
  for (size_t line = 0; line < n; line += 64) {
    __builtin_prefetch(at + distance + line, 0, Locality);
  }
}

// Rows of one size whose elements are reduced as they are in memory: true if that was done.
bool reduce_in_place(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t count);
// Writes the result of an empty row to every reduced output.
int reduce_nothing(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t row, dynd_frame *frame);
int fail_empty(dynd_frame *frame);

// The lanes of one logical row of every reduced output, as its batches come.
class row_lanes {
public:
  explicit row_lanes(const chain_kernel *k) : reduced_(k->reduced()), stops_early_(k->stops_early) {
    for (size_t i = 0; i < reduced_.size(); i++) {
      new (&stack(i)) lane_stack(*reduced_[i].functions); // nothing to destroy
    }
  }
  // n elements of the reduced registers; all batches but the last have `whole` elements.
  void push(char *const *reg, size_t n, size_t whole) {
    for (size_t i = 0; i < reduced_.size(); i++) {
      add(i, reg, n, n == whole ? whole / batch : 1);
    }
  }
  // n elements of the reduced registers, from a block of the row on; the end of the row has what is left.
  void push_from(size_t block, char *const *reg, size_t n) {
    for (size_t i = 0; i < reduced_.size(); i++) {
      reduced_[i].for_nodes(reg, block, n, [&](char *const *at, size_t elements, size_t, size_t blocks) {
        add(i, at, elements, blocks);
      });
    }
  }
  /// The lanes of a node of one output.
  void push_lanes(size_t output, const char *lanes, size_t blocks) {
    std::memcpy(stack(output).top(), lanes, 64);
    stack(output).push(blocks);
  }
  /// Whether what comes after changes nothing.
  bool are_decided() const { return stops_early_ && decided_.count() == reduced_.size(); }
  /// The lanes of the whole, to where each output's are wanted.
  void store_lanes(char *const *stream) {
    for (size_t i = 0; i < reduced_.size(); i++) {
      stack(i).finish(stream[reduced_[i].stream]);
    }
  }
  /// Folded, to the element `row` of each output.
  void store_folded(char *const *stream, const intptr_t *stride, size_t row) {
    alignas(64) char lanes[64];
    for (size_t i = 0; i < reduced_.size(); i++) {
      const reduced_output &r = reduced_[i];
      stack(i).finish(lanes);
      r.functions->fold(stream[r.stream] + intptr_t(row) * stride[r.stream], lanes);
    }
  }

private:
  // n elements at the registers, which are so many blocks.
  void add(size_t i, char *const *at, size_t n, size_t blocks) {
    reduced_[i].lanes(stack(i).top(), at, n);
    if (stops_early_ && reduced_[i].is_decided(static_cast<const char *>(stack(i).top()))) {
      decided_.set(i);
    }
    stack(i).push(blocks);
  }
  lane_stack &stack(size_t i) { return *reinterpret_cast<lane_stack *>(memory_ + i * sizeof(lane_stack)); }

  std::span<const reduced_output> reduced_;
  bool stops_early_;
  std::bitset<max_reductions> decided_;
  alignas(64) char memory_[max_reductions * sizeof(lane_stack)];
};

// ---- staged programs ------------------------------------------------------------------------------------------------

// In which stages each step is computed where rows go through part by part. A fold ends its stage; what repeats its
// value is in the next one.
struct stage_plan {
  uint8_t count = 0;                 // 0: the program is not staged
  uint8_t needed_in[max_steps] = {}; // chain_step::stages

  explicit stage_plan(const program &p);
};
step_extent extent_of(const program &p, const program_step &step);
/// repeat, subtract, square and fold are one step; what else is read of the first two is still computed.
void join_squares(const program &p, chain_step *steps);

// Whole rows, `rows` of them. The first element of the batch is offsets[0].
struct row_batch {
  const int64_t *offsets;
  size_t length; // of each; 0: as the offsets say
  size_t rows, elements;
  const char *next = nullptr; // of some source, where that is in memory: the first fold prefetches it as it goes
};

inline const chain_step *first_fold(const chain_kernel *k) {
  const chain_step *step = k->at<chain_step>(k->steps);
  while (step->extent != step_extent::fold) {
    step++;
  }
  return step;
}

/// Whether a fold reads the register itself. Of one value for all elements there is only a batch.
inline bool is_folded(const chain_kernel *k, uint8_t reg) {
  const chain_step *step = k->at<chain_step>(k->steps);
  return std::any_of(step, step + k->nsteps, [reg](const chain_step &s) {
    return s.extent == step_extent::fold && (s.b == no_register ? s.a : s.c) == reg;
  });
}

/// All steps on whole rows.
int run_whole_rows(const chain_kernel *k, char *const *reg, const row_batch &batch, dynd_frame *frame);

/// Where the rows from r on go; outputs that are not contiguous are stored when the steps have run.
void start_row_outputs(const chain_kernel *k, char **reg, char *const *stream, const intptr_t *stride, size_t r,
                       dynd_frame *frame);
void store_row_outputs(const chain_kernel *k, char *const *reg, char *const *stream, const intptr_t *stride, size_t r,
                       size_t rows, dynd_frame *frame);

// A row that is longer than a batch: part by part, all parts for each stage. What a later stage needs of an earlier
// one's elements is computed again.
class long_row {
public:
  long_row(const chain_kernel *k, char *const *reg, size_t length, dynd_frame *frame)
      : k_(k), reg_(reg), length_(length), frame_(frame) {}

  /// Calls compute(at, n) for each part of each stage, which brings the operands into registers and calls run_part.
  /// `in_place`: the operands are read where they are, so a stage that only folds them takes the row as one part.
  template <class Compute> int run(size_t part, bool in_place, Compute compute) {
    for (; stage_ < k_->nstages; stage_++) {
      whole_ = in_place && only_folds() ? length_ : part;
      start_stage();
      for (size_t at = 0; at < length_; at += whole_) {
        if (int status = compute(at, std::min(whole_, length_ - at))) {
          return status;
        }
      }
      if (int status = end_stage()) {
        return status;
      }
    }
    return dynd_ok;
  }
  int run_part(size_t n);
  /// Elements are stored in the last stage.
  bool stores() const { return stage_ + 1 == k_->nstages; }

private:
  void start_stage();
  int end_stage();
  bool only_folds();
  // Calls f(step, the memory of its lane_stack) for the steps of this stage; stops at a status that is not zero.
  template <class F> int for_steps(F f) {
    const chain_step *step = k_->at<chain_step>(k_->steps), *end = step + k_->nsteps;
    char *memory = memory_;
    for (; step != end; step++) {
      if ((step->stages >> stage_ & 1) && !step->joined) {
        if (int status = f(*step, memory)) {
          return status;
        }
        memory += step->extent == step_extent::fold ? sizeof(lane_stack) : 0;
      }
    }
    return dynd_ok;
  }

  const chain_kernel *k_;
  char *const *reg_;
  size_t length_, whole_ = 0;
  int stage_ = 0;
  dynd_frame *frame_;
  alignas(64) char memory_[max_reductions * sizeof(lane_stack)]; // one lane_stack for each fold of the stage
};

/// Rows of one size: calls f(streams, strides, i) for row i, along it, up to a status that is not zero.
template <class F>
int for_each_row(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t count, F f) {
  char *at[max_call_streams];
  intptr_t along[max_call_streams] = {};
  for (size_t i = 0; i < count; i++) {
    for (const port &p : k->all_ports()) {
      at[p.where.stream] = stream[p.where.stream] + intptr_t(i) * stride[p.where.stream];
      along[p.where.stream] = p.where.axis_stride;
    }
    if (int status = f(at, along, i)) {
      return status;
    }
  }
  return dynd_ok;
}

/// A source's rows into scratch, `rows` of them.
void fetch_small_rows(const port &p, char *dst, const char *src, intptr_t row_stride, size_t row, size_t rows);
/// Does the operand's memory hold the rows one after another?
bool follows(const port &p, intptr_t row_stride, intptr_t row);

// The walks, by chain_kind; requests strided.
using walk = std::remove_pointer_t<streams_strided_t>;
walk flat_strided, flat_external_strided, lanes_strided, row_strided, small_rows_strided, long_rows_strided;
walk columns_strided, panel_strided, var_rows_strided, var_lanes_strided, ordered_strided, ordered_lanes_strided;
walk scan_row_strided, scan_part_strided, scan_rows_strided, scan_columns_strided, staged_row_strided;
walk staged_rows_strided;

} // namespace dynd::chain
