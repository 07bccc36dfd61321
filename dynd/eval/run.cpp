#include "dynd/eval/run.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <string_view>

#include "dynd/base/cache_lines.h"
#include "dynd/base/cpu.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/base/interruption.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/known.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/threads.h"
#include "dynd/eval/tree.h"
#include "dynd/kernel/chain.h"
#include "dynd/memory/pool.h"
#include "dynd/plan/pieces.h"
#include "dynd/plan/tile.h"

namespace dynd {

namespace {

constexpr intptr_t piece_elements = 1 << 16;
constexpr intptr_t lone_piece_elements = 1 << 22;     // one thread needs pieces only to ask whether to stop: some ms
constexpr intptr_t numbered_piece_elements = 1 << 24; // walks in another order than memory's read longer runs: some ms
constexpr intptr_t longest_piece_elements = 1 << 28;  // a tenth of a second of a plain reduction; steps ask themselves

// All the elements of the space. Rows that do not follow each other are counted where an operand has them.
intptr_t elements_of_task(const task &t) {
  intptr_t count = t.shape.count();
  interruptible_walk walk;
  for (int o = 0; o < t.operands.size() && count < 0; o++) {
    const space_operand &operand = t.operands[o];
    bool has_rows = operand.ndim == t.shape.ndim && operand.var_count() == t.shape.nvar;
    count = has_rows ? nd::count_elements(*operand.block, &walk) : count;
  }
  return count;
}

// How many numbers and bytes of texts an element holds, on average: what is inside of elements is work too.
intptr_t weight_of_element(const task &t, intptr_t elements) {
  intptr_t weight = 1;
  for (int o = 0; o < t.operands.size() && t.leaf && elements > 0; o++) {
    const array_block &block = *t.operands[o].block;
    auto in_content = [&](int s) { // all of what rows or texts are in, by elements
      const buffer *memory = as_buffer(block.streams()[s].owner);
      const row_pool *pool = as_pool(block.streams()[s].owner);
      intptr_t item = intptr_t(stream_item(block, s));
      return (memory ? intptr_t(memory->size) / item : pool ? pool->used() : 0) / elements;
    };
    for_each_part(part_at(block.type, t.operands[o].ndim), [&](const type_part &part, const dim_path *path) {
      intptr_t own = part.has_chars()                 ? in_content(part.stream + 1)
                     : is_fixed_text(part.type->kind) ? part.type->size
                                                      : 1;
      for (; path && part.has_stream(); path = path->outer) {
        intptr_t size = block.size()[path->dim];
        own = size < 0 ? in_content(part.stream) : __builtin_mul_overflow(own, size, &own) ? INTPTR_MAX : own;
      }
      weight = std::max(weight, own);
    });
  }
  return weight;
}

// All the work: the elements, or the rows where these have fewer, each with what is inside of it.
intptr_t work_of_task(const task &t, intptr_t elements) {
  intptr_t weight = weight_of_element(t, elements), rows = 1;
  bool fits = !__builtin_mul_overflow(weight, t.each, &weight);
  for (int d = 0; d < t.shape.ndim && !t.shape.is_var(d) && fits; d++) {
    fits = !__builtin_mul_overflow(rows, t.shape.size[d], &rows);
  }
  intptr_t work;
  fits = fits && !__builtin_mul_overflow(std::max(elements, rows), weight, &work);
  return fits ? work : INTPTR_MAX;
}

// The bytes of the ports that move with all axes.
size_t bytes_of_ports(const task &t, intptr_t elements) {
  size_t bytes = 0;
  for (int p = 0; p < t.ports.size(); p++) {
    if (t.ports[p].operand >= 0 && t.operands[t.ports[p].operand].ndim == t.shape.ndim && t.shape.ndim > 0) {
      bytes += size_t(elements) * size_t(t.port_stream(p).item);
    }
  }
  return bytes;
}

// What is read is in the cache when it is written.
bool reads_outputs(const task &t) {
  bool reads = false;
  for (int o = 0; o < t.p.noutputs; o++) {
    for (int p = t.p.noutputs; p < t.ports.size(); p++) {
      reads |= t.port_stream(p).address == t.port_stream(o).address;
    }
  }
  return reads;
}

void choose_for_memory(const task &t, intptr_t elements, tree_options &options) {
  size_t bytes = elements > 0 ? bytes_of_ports(t, elements) : 0;
  const cpu_tuning &cpu = this_cpu();
  options.streaming = !t.row_axes() && bytes > cpu.stream_from && !reads_outputs(t);
  options.prefetch_distance = bytes > cpu.prefetch_from ? uint32_t(cpu.prefetch_distance) : 0;
}

// Whether the error is about a value. The other kinds do not depend on the element.
bool is_about_an_element(error_kind kind) {
  return kind != error_kind::memory && kind != error_kind::internal && kind != error_kind::cancelled;
}

[[noreturn]] void fail_task(task &t, std::string text, int status) {
  error_kind kind = kind_of(status);
  std::string where;
  bool once = t.runs_once || (t.how.once && t.keep_lock);
  if (is_about_an_element(kind) && !t.nreduced && !once) {
    space_of(t.operands[0], t.shape); // planning has used it up
    lower(t);
    if (t.scans) {
      move_scanned_axis(t);
    }
    store_numbers(t);
    first_failure first = locate_failure(t);
    if (first.status) { // external code may fail only now and then
      kind = kind_of(first.status);
      text = first.text;
      where = first.where.empty() ? "" : " at index " + first.where; // one value has no index
    }
  }
  if (text.empty()) {
    text = std::string(t.name) + (kind == error_kind::cancelled ? ": interrupted" : ": failed");
  }
  fail(kind, text + where);
}

// Runs pieces of a call, each in a frame of its own. Of the failures that of the lowest piece is kept, as
// for_each_piece does.
class piece_runner {
public:
  piece_runner(const ckernel_builder &kernel, const root_call &call, bool streaming)
      : kernel_(kernel), call_(call), streaming_(streaming), interruption_(call.elements > unlocked_from) {}

  int operator()(intptr_t begin, intptr_t end) { return run(call_, begin, end); }

  int run(const root_call &call, intptr_t begin, intptr_t end) {
    if (interruption_.poll()) {
      return dynd_error_cancelled;
    }
    work_frame frame(kernel_.scratch_size);
    frame.cancel = interruption_.flag();
    frame.state.stop = &interruption_;
    int status = call_root(kernel_, call, begin, end, frame);
    if (streaming_) {
      store_fence();
    }
    if (status) {
      note_failure(begin, {frame.text, strnlen(frame.text, sizeof(frame.text))});
    }
    return status;
  }

  /// The user wants it to stop, whatever else has failed meanwhile.
  bool is_stopped() const { return __atomic_load_n(interruption_.flag(), __ATOMIC_RELAXED); }

  std::string failure;

private:
  void note_failure(intptr_t begin, std::string_view text) {
    std::lock_guard lock(mutex_);
    if (begin < failed_) {
      failed_ = begin;
      failure = text;
    }
  }

  const ckernel_builder &kernel_;
  const root_call &call_;
  bool streaming_;
  std::mutex mutex_;             // guards the failure
  intptr_t failed_ = INTPTR_MAX; // where its piece begins
  interruption interruption_;
};

bool calls_external(const task &t) {
  return std::any_of(t.p.steps, t.p.steps + t.p.nsteps,
                     [](const program_step &step) { return step.kind == step_kind::external; });
}

// Elements that are not made of numbers, or that external code computes, may take long each.
intptr_t elements_of_piece(const task &t) {
  bool quick = !t.leaf && !calls_external(t);
  return num_threads() == 1 && quick ? lone_piece_elements / std::max<intptr_t>(1, t.p.nsteps) : piece_elements;
}

// Columns are read in rows as long as the walk wants them, unless that takes too long to be stopped in time.
intptr_t columns_of_piece(intptr_t count, intptr_t rows, intptr_t share) {
  constexpr intptr_t least = 64;
  intptr_t most = std::clamp<intptr_t>(longest_piece_elements / rows, least, columns_at_once);
  return count < least ? count : std::min(most, std::max(least, share));
}

// Panels are read in the order of the source, of which a piece of few rows would have only a part of each line: rows as
// long as the walk wants them, in whole panels, but a share for each thread.
intptr_t rows_of_panels(intptr_t each, intptr_t share) {
  constexpr intptr_t wanted = 8 * panel_unit;
  return std::min(share, std::clamp<intptr_t>(longest_piece_elements / each, panel_unit, wanted));
}

int run_pieces(piece_runner &run, const task &t, const root_call &call) {
  if (call.elements < threads_from) {
    return run(0, call.count);
  }
  auto run_all = [&](const auto &pieces) {
    auto run_one = [&](intptr_t i) {
      piece part = pieces[i];
      return part.size() ? run(part.begin, part.end) : int(dynd_ok);
    };
    if (!call.in_order && !t.one_thread) {
      return for_each_piece(pieces.count(), run_one);
    }
    int status = dynd_ok;
    for (intptr_t i = 0; i < pieces.count() && !status; i++) {
      status = run_one(i);
    }
    return status;
  };
  intptr_t target = elements_of_piece(t);
  if (call.row_offsets) {
    return run_all(content_pieces(call.row_offsets, call.count, target));
  }
  intptr_t each = std::max<intptr_t>(1, call.elements / std::max<intptr_t>(1, call.count));
  intptr_t share = (call.count + num_threads() - 1) / num_threads();
  bool by_elements = (call.flat || call.in_order) && !t.leaf && t.each == 1;
  if (call.panels) {
    return run_all(even_pieces(call.count, rows_of_panels(each, share), panel_unit));
  }
  intptr_t unit = by_elements ? 64 : call.columns ? columns_of_piece(call.count, each, share) : 1;
  return run_all(even_pieces(call.count, by_elements ? target : std::max<intptr_t>(1, target / each), unit));
}

// ---- one logical row: pieces give lanes, which combine in their order ----------------------------------------------

struct alignas(64) lanes_of_piece {
  char bytes[64];
};

// The elements begin .. end of the row; the lanes of reduced output r go to lanes[r * stride].
int run_lanes(piece_runner &run, const task &t, const root_call &call, int first, intptr_t begin, intptr_t end,
              lanes_of_piece *lanes, size_t stride) {
  root_call part = call;
  for (int r = first; r < t.p.noutputs; r++) {
    part.stream[r] = lanes[size_t(r - first) * stride].bytes;
    part.stride[r] = 0;
  }
  return run.run(part, begin, end);
}

int run_one_row(piece_runner &run, const task &t, const root_call &call) {
  int first = 0; // of the reduced outputs
  while (!t.p.output[first].reduced) {
    first++;
  }
  auto functions_of = [&](int r) -> const reduce_functions & {
    return isa().reduce(t.p.output[r].reduction, t.p.type[t.p.output[r].reg]);
  };
  if (call.count < threads_from) {
    lanes_of_piece lanes[max_reductions];
    int status = run_lanes(run, t, call, first, 0, call.count, lanes, 1);
    for (int r = first; r < t.p.noutputs && !status; r++) {
      functions_of(r).fold(call.stream[r], lanes[r - first].bytes);
    }
    return status;
  }
  // Pieces of 2^k blocks, so that the pairwise tree is the same however they are cut. Few, where a line of memory may
  // have elements of several.
  intptr_t target = elements_of_piece(t);
  if (call.numbered) {
    intptr_t share = num_threads() == 1 ? numbered_piece_elements : call.count / num_threads();
    target = std::max(target, std::min(share, numbered_piece_elements));
  }
  if (target < call.together) {
    target = intptr_t(std::bit_ceil(size_t(std::min(call.together, longest_piece_elements))));
  }
  even_pieces pieces(call.count, target);
  size_t count = size_t(pieces.count());
  std::vector<lanes_of_piece> lanes(size_t(t.p.noutputs - first) * count);
  int status = for_each_piece(pieces.count(), [&](intptr_t i) {
    return run_lanes(run, t, call, first, pieces[i].begin, pieces[i].end, &lanes[size_t(i)], count);
  });
  for (int r = first; r < t.p.noutputs && !status; r++) {
    lane_stack stack(functions_of(r));
    for (size_t i = 0; i < count; i++) {
      std::memcpy(stack.top(), lanes[size_t(r - first) * count + i].bytes, 64);
      stack.push(i + 1 < count ? size_t(pieces.piece_size()) / 64 : 1);
    }
    alignas(64) char total[64];
    stack.finish(total);
    functions_of(r).fold(call.stream[r], total);
  }
  return status;
}

void keep_kernel(const task &t, const root_call &call, kept_kernel &to) {
  to.call = call;
  to.noutputs = t.leaf ? t.noutputs : t.p.noutputs;
  for (const space_operand &operand : t.operands) {
    to.operands.push_back(ref<array_block>::share(operand.block));
  }
  for (int p = 0; p < t.ports.size(); p++) {
    const task_port &port = t.ports[p];
    const char *begin = port.operand < 0 ? nullptr : t.operands[port.operand].block->streams()[port.stream].address;
    to.ports.push_back({port.operand, begin ? call.stream[p] - begin : 0});
  }
}

// An index in which that of the scanned axis is the last, as it is in the array that was asked for.
//   "4, 7, 2", the axis 1: "4, 2, 7"
std::string in_own_order(const task &t, const std::string &where) {
  size_t last = where.rfind(", "), to = 0;
  if (last == where.npos) {
    return where;
  }
  for (int d = 0; d < t.scanned_as; d++) {
    to = where.find(", ", to) + 2;
  }
  std::string others = where.substr(0, last) + ", ";
  std::string text = others.insert(to, where.substr(last + 2) + ", ");
  return text.substr(0, text.size() - 2);
}

} // namespace

first_failure locate_failure(const task &t) {
  ckernel_builder kernel;
  root_call call;
  // External code may not fail a second time: it is called for one element after another.
  tree_options options;
  options.together = calls_external(t) ? 1 : 512;
  build_in_order(kernel, t, false, options, call);
  work_frame frame(kernel.scratch_size);
  interruption stop(true);
  frame.cancel = stop.flag();
  frame.state.stop = &stop;
  first_failure found;
  found.status = call_root(kernel, call, 0, call.count, frame);
  found.text.assign(frame.text, strnlen(frame.text, sizeof(frame.text)));
  if (found.status == dynd_error_cancelled) {
    return found;
  }
  // The outermost loop is the call, or there is one call for all.
  const frame_state &failed = frame.state;
  if (failed.lacks_parts) {
    throw std::bad_alloc();
  }
  std::string where = call.is_outer_axis ? std::to_string(failed.index) + failed.path
                                         : failed.path.substr(std::min<size_t>(2, failed.path.size()));
  where = t.scans ? in_own_order(t, where) : where;
  bool one = where.find(", ") == where.npos;
  found.where = found.status && !where.empty() ? "(" + where + (one ? ",)" : ")") : "";
  return found;
}

bool run_task(task &t) {
  observation *watching = t.how.watching;
  if (is_tracing(t.how) && !t.one_row) {
    std::string failure;
    store_numbers(t);
    if (int status = run_traced(t, *watching, failure)) {
      fail_task(t, failure, status);
    }
    return true;
  }
  align(t);
  intptr_t elements = elements_of_task(t);
  if (elements == 0 && !t.nreduced) {
    return true;
  }
  ckernel_builder own;
  kept_kernel *keep = watching && watching->keep && watching->keep->operands.empty() ? watching->keep : nullptr;
  ckernel_builder &kernel = keep ? keep->kernel : own;
  root_call call;
  std::vector<explained_level> levels;
  tree_options options;
  choose_for_memory(t, elements, options);
  options.explain = watching ? &levels : nullptr;
  std::vector<std::string> operands = watching ? operand_texts(t) : std::vector<std::string>();
  if (!build_planned(kernel, t, options, call)) {
    return false;
  }
  if (watching) {
    explain(t, kernel, elements, std::move(operands), std::move(levels));
    if (t.one_row && watching->tracing) {
      trace_one_row(t, *watching);
    }
    if (keep) {
      keep_kernel(t, call, *keep);
      return true;
    }
  } else if (t.known && !options.streaming) {
    t.known->keep(kernel, call);
  }
  call.elements = work_of_task(t, elements);
  without_interpreter unlocked(call.elements > unlocked_from && !t.keep_lock);
  piece_runner run(kernel, call, options.streaming);
  if (int status = t.one_row ? run_one_row(run, t, call) : run_pieces(run, t, call)) {
    bool stopped = run.is_stopped();
    fail_task(t, stopped ? "" : run.failure, stopped ? int(dynd_error_cancelled) : status);
  }
  return true;
}

} // namespace dynd
