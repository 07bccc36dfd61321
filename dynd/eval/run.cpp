#include "dynd/eval/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "dynd/base/cpu.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/threads.h"
#include "dynd/kernel/conversion.h"
#include "dynd/plan/pieces.h"

namespace dynd {

namespace {

constexpr intptr_t piece_elements = 1 << 16;
constexpr intptr_t lone_piece_elements = 1 << 22; // one thread needs pieces only to ask whether it shall go on: some ms
constexpr std::chrono::milliseconds poll_interval{50};

inline void store_fence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

size_t touched_bytes(const task &t, intptr_t elements) {
  size_t bytes = 0;
  for (int o = 0; o < t.operands.noperands; o++) {
    const array_block &block = *t.operands.operand[o].block;
    if (block.ndim == t.shape.ndim && block.ndim > 0) {
      bytes += size_t(elements) * block.item_size();
    }
  }
  return bytes;
}

void choose_for_memory(const task &t, intptr_t elements, tree_options &options) {
  size_t bytes = elements > 0 ? touched_bytes(t, elements) : 0;
  const cpu_tuning &cpu = this_cpu();
  options.streaming = !t.p.reduce && bytes > cpu.stream_from;
  options.prefetch_distance = bytes > cpu.prefetch_from ? uint32_t(cpu.prefetch_distance) : 0;
}

// What goes wrong with a value, wherever it stands; the others do not depend on the element.
bool is_about_an_element(error_kind kind) {
  return kind != error_kind::memory && kind != error_kind::internal && kind != error_kind::cancelled;
}

void lower_all(task &t, array_block *const *outputs, array_block *const *sources) {
  array_block *blocks[max_operands];
  std::copy(outputs, outputs + t.noutputs, blocks);
  std::copy(sources, sources + t.nsources, blocks + t.noutputs);
  lower_operands(t.shape, blocks, t.noutputs + t.nsources, t.operands);
}

// "(1, 2)", "(1,)"
[[noreturn]] void fail_at(task &t, const dynd_frame &frame, int status, array_block *const *outputs,
                          array_block *const *sources) {
  error_kind kind = kind_of(status);
  std::string what = frame.text;
  std::string where;
  if (is_about_an_element(kind) && !t.reduced && (kind == error_kind::value || t.foreign)) {
    // Which element is it? The unplanned kernel meets the first one first.
    space_of(outputs[0], t.shape);
    lower_all(t, outputs, sources);
    first_failure first = find_first_failure(t);
    if (first.status) { // a stranger's kernel may fail only now and then
      kind = kind_of(first.status);
      what = first.text;
      bool scalar = first.index.empty() && t.checks != error_mode::nocheck;
      where = scalar ? "" : " at index " + index_text(first.index);
      if (t.checks != error_mode::nocheck) {
        refusal why = why_refused(t.p.type[t.p.output[0]], t.p.type[0], first.source);
        fail(why.kind, why.text + where);
      }
    }
    if (what.empty() && t.failure) {
      what = t.failure;
    }
  }
  if (kind == error_kind::cancelled) {
    what = "interrupted";
  }
  fail(kind, std::string(t.name) + ": " + (what.empty() ? "failed" : what) + where);
}

// Calls the root for the elements [begin, end) of its own dimension.
int call_root(const ckernel_builder &kernel, const root_call &call, intptr_t begin, intptr_t end, dynd_frame &frame) {
  char *stream[max_streams];
  for (int s = 0; s < call.nstreams; s++) {
    stream[s] = call.stream[s] + begin * call.stride[s];
  }
  auto *root = reinterpret_cast<const ckernel_prefix *>(kernel.data);
  return reinterpret_cast<streams_strided_t>(root->function)(stream, call.stride, size_t(end - begin), root, &frame);
}

// Whether the user wants the evaluation to stop. The calling thread asks the host between its pieces; all threads see
// the answer, in the frames of their pieces too.
class interruption {
public:
  bool poll() {
    if (!stop_.load(std::memory_order_relaxed) && std::this_thread::get_id() == caller_) {
      auto now = std::chrono::steady_clock::now();
      if (now - asked_ >= poll_interval) {
        asked_ = now;
        stop_.store(ask_whether_to_stop(), std::memory_order_relaxed);
      }
    }
    return stop_.load(std::memory_order_relaxed);
  }
  const int *flag() const { return reinterpret_cast<const int *>(&stop_); }

private:
  std::atomic<int> stop_ = 0;
  std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};
static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);

// Runs one piece in a frame of its own; the text of the failure with the lowest index is kept.
class piece_runner {
public:
  piece_runner(const ckernel_builder &kernel, const root_call &call, bool streaming)
      : kernel_(kernel), call_(call), streaming_(streaming) {}

  int operator()(intptr_t begin, intptr_t end) {
    if (interruption_.poll()) {
      return dynd_error_cancelled;
    }
    work_frame frame(kernel_.scratch_size);
    frame.cancel = interruption_.flag();
    int status = call_root(kernel_, call_, begin, end, frame);
    if (streaming_) {
      store_fence();
    }
    if (status && !failed_.exchange(true)) {
      std::memcpy(failure.text, frame.text, sizeof(failure.text));
      failure.text[sizeof(failure.text) - 1] = 0;
    }
    return status;
  }

  dynd_frame failure = {};

private:
  const ckernel_builder &kernel_;
  const root_call &call_;
  bool streaming_;
  std::atomic<bool> failed_ = false;
  interruption interruption_;
};

intptr_t elements_of_piece() { return num_threads() == 1 ? lone_piece_elements : piece_elements; }

int run_pieces(piece_runner &run, const root_call &call, bool one_thread) {
  if (call.elements < threads_from || one_thread) {
    return run(0, call.count);
  }
  intptr_t target = elements_of_piece();
  if (call.row_offsets) {
    content_pieces<int64_t> pieces(call.row_offsets, call.count, target);
    return for_each_piece(pieces.count(), [&](intptr_t i) {
      auto part = pieces[i];
      return part.begin == part.end ? int(dynd_ok) : run(part.begin, part.end);
    });
  }
  intptr_t each = std::max<intptr_t>(1, call.elements / std::max<intptr_t>(1, call.count));
  even_pieces pieces(call.count, call.flat ? target : std::max<intptr_t>(1, target / each), call.flat ? 64 : 1);
  return for_each_piece(pieces.count(), [&](intptr_t i) {
    auto part = pieces[i];
    return run(part.begin, part.end);
  });
}

// "from strided * int32 (4,), strides (0, 0, 4)": over the axes of the iteration space, 0 where it stretches.
std::vector<std::string> operand_texts(const task &t) {
  std::vector<std::string> texts;
  for (int o = 0; o < t.operands.noperands; o++) {
    const array_block &block = *t.operands.operand[o].block;
    std::string text = std::string(o < t.noutputs ? "to   " : "from ") + block.type->text + " " + space_text(block);
    text += ", strides (";
    for (int d = 0; d < t.shape.ndim; d++) {
      text += (d ? ", " : "") + std::to_string(t.operands.stream[t.operands.value_stream(o)].stride[d]);
    }
    texts.push_back(text + (t.shape.ndim == 1 ? ",)" : ")"));
  }
  return texts;
}

void explain(const task &t, const ckernel_builder &kernel, const root_call &call, observation *watching,
             std::vector<std::string> operands, std::vector<explained_level> levels) {
  explained_kernel seen{t.name, std::move(operands), 0, kernel.scratch_size, call.elements, std::move(levels)};
  seen.kernel_bytes = seen.levels.empty() ? 0 : seen.levels.back().offset + seen.levels.back().size;
  watching->kernels.push_back(std::move(seen));
}

} // namespace

void run_task(task &t, array_block *const *outputs, array_block *const *sources) {
  lower_all(t, outputs, sources);
  observation *watching = current_observation();
  if (watching && watching->tracing) {
    if (int status = run_traced(t, *watching)) {
      fail_at(t, {}, status, outputs, sources);
    }
    return;
  }
  align_operands(t.shape, t.operands);
  intptr_t elements = t.shape.count();
  if (elements == 0 && !t.reduced) {
    return;
  }
  ckernel_builder kernel;
  root_call call;
  std::vector<explained_level> levels;
  tree_options options;
  choose_for_memory(t, elements, options);
  options.explain = watching ? &levels : nullptr;
  std::vector<std::string> operands = watching ? operand_texts(t) : std::vector<std::string>();
  build_planned(kernel, t, options, call);
  if (watching) {
    explain(t, kernel, call, watching, std::move(operands), std::move(levels));
  }
  without_interpreter unlocked(elements > unlocked_from && !t.keep_lock);
  piece_runner run(kernel, call, options.streaming);
  if (int status = run_pieces(run, call, t.one_thread)) {
    fail_at(t, run.failure, status, outputs, sources);
  }
}

bool run_reduce_all(task &t, array_block *const *sources, void *dst) {
  // The output is a place for lanes: a scalar that every element goes to.
  const array_block *like = sources[0];
  ref<array_block> place = new_dense(ndt::make_scalar(like->scalar()).get(), nullptr);
  array_block *output = place.get();
  t.noutputs = 1;
  lower_all(t, &output, sources);
  align_operands(t.shape, t.operands);
  ckernel_builder kernel;
  root_call call;
  observation *watching = current_observation();
  std::vector<explained_level> levels;
  tree_options options;
  choose_for_memory(t, t.shape.count(), options);
  options.explain = watching ? &levels : nullptr;
  std::vector<std::string> operands = watching ? operand_texts(t) : std::vector<std::string>();
  if (!build_lanes(kernel, t, options, call)) {
    return false;
  }
  if (watching) {
    explain(t, kernel, call, watching, std::move(operands), std::move(levels));
  }
  without_interpreter unlocked(call.count > unlocked_from);
  interruption interruption;
  auto lanes_of = [&](intptr_t begin, intptr_t end, char *lanes) {
    if (interruption.poll()) {
      return int(dynd_error_cancelled);
    }
    work_frame frame(kernel.scratch_size);
    frame.cancel = interruption.flag();
    char *stream[max_streams];
    for (int s = 0; s < call.nstreams; s++) {
      stream[s] = call.stream[s] + begin * call.stride[s];
    }
    stream[0] = lanes;
    auto *root = reinterpret_cast<const ckernel_prefix *>(kernel.data);
    auto function = reinterpret_cast<streams_strided_t>(root->function);
    return function(stream, call.stride, size_t(end - begin), root, &frame);
  };
  alignas(64) char total[64];
  int status;
  if (call.count < threads_from) {
    status = lanes_of(0, call.count, total);
  } else {
    // Pieces of 2^k blocks, so that the pairwise tree is the same however they are cut.
    even_pieces pieces(call.count, elements_of_piece());
    struct alignas(64) lanes_of_piece {
      char bytes[64];
    };
    std::vector<lanes_of_piece> lanes(static_cast<size_t>(pieces.count()));
    status = for_each_piece(
        pieces.count(), [&](intptr_t i) { return lanes_of(pieces[i].begin, pieces[i].end, lanes[size_t(i)].bytes); });
    lane_stack stack(*t.p.reduce);
    for (intptr_t i = 0; i < pieces.count(); i++) {
      std::memcpy(stack.top(), lanes[size_t(i)].bytes, 64);
      stack.push(i + 1 < pieces.count() ? size_t(pieces.piece_size()) / 64 : 1);
    }
    stack.finish(total);
  }
  if (status) {
    fail_at(t, {}, status, &output, sources);
  }
  t.p.reduce->fold(dst, total);
  if (watching && watching->tracing) {
    traced_call record{0, t.name, {}, ""};
    for (int i = 0; i < t.nsources; i++) {
      record.sources.push_back(nd::values_text(nd::array(ref<array_block>::share(sources[i]))));
    }
    watching->calls.push_back(std::move(record));
  }
  return true;
}

} // namespace dynd
