#include "dynd/eval/observe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/eval/frame.h"
#include "dynd/kernel/dims.h"

namespace dynd {

observation *&current_observation() {
  static thread_local observation *current = nullptr;
  return current;
}

std::string index_text(const std::vector<std::string> &index) {
  std::string text;
  for (const std::string &i : index) {
    text += (text.empty() ? "" : ", ") + i;
  }
  return "(" + text + (index.size() == 1 ? ",)" : ")");
}

std::string index_text(const std::vector<intptr_t> &index) {
  std::vector<std::string> texts;
  for (intptr_t i : index) {
    texts.push_back(std::to_string(i));
  }
  return index_text(texts);
}

namespace {

const char *kind_name(const task &t, int operand, int axis) {
  const array_block &block = *t.operands.operand[operand].block;
  int own = axis - (t.shape.ndim - block.ndim);
  return own < 0 ? "scalar" : block.size()[own] < 0 ? "var" : "strided";
}

// An assignment is named by what it goes between; an operation by the dimension it walks, and by itself at the leaf.
std::string level_name(const task &t, int level) {
  bool leaf = level == t.shape.ndim - (t.reduced ? 1 : 0),
       assignment = t.p.nsteps == 1 && t.nsources == 1 && t.name == std::string("assign");
  if (assignment) {
    int source = t.noutputs;
    const char *from =
        leaf ? scalar_name[size_t(t.operands.operand[source].block->scalar())] : kind_name(t, source, level);
    const char *to = leaf ? scalar_name[size_t(t.operands.operand[0].block->scalar())] : kind_name(t, 0, level);
    return std::string(from) + " to " + to;
  }
  if (leaf) {
    return t.name;
  }
  bool var = false;
  for (int o = 0; o < t.operands.noperands; o++) {
    var |= std::string(kind_name(t, o, level)) == "var";
  }
  return var ? "var" : "strided";
}

// The sources as the operation has them: a source that is two operands twice. Conversions are looked through; where
// other steps are between, each source once.
std::vector<int> traced_sources(const task &t) {
  std::vector<int> sources;
  auto add = [&](uint8_t reg) {
    for (int i = t.p.nsteps - 1; i >= 0; i--) {
      const program_step &step = t.p.steps[i];
      if (step.dst == reg && step.function == isa().convert(t.p.type[reg], t.p.type[step.a])) {
        reg = step.a;
      }
    }
    sources.push_back(reg < t.nsources ? reg : -1);
  };
  const program_step *last = t.p.nsteps ? &t.p.steps[t.p.nsteps - 1] : nullptr;
  if (t.p.reduce || !last) {
    add(t.p.output[0]);
  } else {
    t.p.for_reads(*last, add);
  }
  if (std::find(sources.begin(), sources.end(), -1) != sources.end()) {
    sources.resize(size_t(t.nsources));
    std::iota(sources.begin(), sources.end(), 0);
  }
  return sources;
}

class value_recorder : public kernel_observer {
public:
  value_recorder(const task &t, const std::vector<std::vector<int>> &streams, observation &seen)
      : t_(t), streams_(streams), seen_(seen), sources_(traced_sources(t)) {
    for (int o = 0; o < t.noutputs; o++) {
      nd::array output(ref<array_block>::share(t.operands.operand[o].block));
      // A reduction writes to a place of size 1 in the reduced axis, which is no part of its result.
      const nd::index all{nd::index::ellipsis, 0, {}, {}, {}}, first{nd::index::integer, 0, {}, {}, {}};
      outputs_.push_back(t.reduced ? nd::at(output, std::array{all, first}) : output);
    }
  }

  void call(int level, intptr_t, char *const *stream) override {
    if (seen_.calls.size() == most_traced_calls) {
      seen_.more_calls++;
      return;
    }
    traced_call record{level, level_name(t_, level), {}, {}};
    for (int o = 0; o < t_.noutputs; o++) {
      record.destination += (o ? " " : "") + text_of(*outputs_[size_t(o)].get(), o, level, stream);
    }
    for (int source : sources_) {
      int o = t_.noutputs + source;
      record.sources.push_back(text_of(*t_.operands.operand[o].block, o, level, stream));
    }
    seen_.calls.push_back(std::move(record));
  }

private:
  std::string text_of(const array_block &block, int o, int level, char *const *stream) const {
    const std::vector<int> &streams = streams_[size_t(o)];
    char *own[max_streams];
    for (size_t i = 0; i < streams.size(); i++) {
      own[i] = stream[streams[i]];
    }
    // Where its dimensions begin among those of the space; a reduction's output lacks the last one.
    int missing = t_.shape.ndim - t_.operands.operand[o].block->ndim;
    return nd::values_text_at(block, std::clamp(level - missing, 0, int(block.ndim)), own);
  }

  const task &t_;
  const std::vector<std::vector<int>> &streams_;
  observation &seen_;
  std::vector<int> sources_;
  std::vector<nd::array> outputs_;
};

class path_recorder : public place_recorder {
public:
  path_recorder(int ndim, int source_stream) : place_recorder(ndim), source_stream_(source_stream) {}
  void call(int level, intptr_t at, char *const *stream) override {
    place_recorder::call(level, at, stream);
    source = stream[source_stream_];
  }
  const char *source = nullptr;

private:
  int source_stream_;
};

int run_observed(const ckernel_builder &kernel, const root_call &call, kernel_observer &observer,
                 std::string *error = nullptr) {
  work_frame frame(kernel.scratch_size);
  frame.engine = &observer;
  auto *root = reinterpret_cast<const ckernel_prefix *>(kernel.data);
  auto function = reinterpret_cast<streams_strided_t>(root->function);
  int status = function(call.stream, call.stride, size_t(call.count), root, &frame);
  if (status && error) {
    error->assign(frame.text, strnlen(frame.text, sizeof(frame.text)));
  }
  return status;
}

} // namespace

int run_traced(const task &t, observation &seen) {
  ckernel_builder kernel;
  root_call call;
  std::vector<std::vector<int>> streams;
  build_unplanned(kernel, t, call, streams);
  value_recorder recorder(t, streams, seen);
  return run_observed(kernel, call, recorder, nullptr);
}

namespace {

first_failure find_by_element(const task &t) {
  ckernel_builder kernel;
  root_call call;
  std::vector<std::vector<int>> streams;
  build_unplanned(kernel, t, call, streams);
  path_recorder recorder(t.shape.ndim, streams[size_t(t.noutputs)].back());
  first_failure found;
  found.status = run_observed(kernel, call, recorder, &found.text);
  found.index = std::move(recorder.index);
  found.source = recorder.source;
  return found;
}

// Moves the streams to element `i` of the outermost axis, which has one size.
void move_to(task &t, intptr_t i) {
  for (int s = 0; s < t.operands.nstreams; s++) {
    t.operands.stream[s].address += i * t.operands.stream[s].stride[0];
  }
  for (space_slots &slots : t.shape.slots) {
    slots.address += i * slots.stride[0];
  }
}

// The outermost axis is a row, or some operand has one there: everything that is in rows moves to the row, and the axis
// has one size. Rows were compared before: each has the length, or one element.
void enter_row(task &t) {
  space &shape = t.shape;
  if (shape.size[0] < 0) {
    const space_slots &own = shape.slots[shape.slot_index[0]];
    row_extent row = read_slot(own.address, own.kind);
    for (int d = 1; d < shape.ndim; d++) {
      if (shape.size[d] < 0) {
        space_slots &below = shape.slots[shape.slot_index[d]];
        below.address += row.start * start_unit(below.stride[0], own.step);
      }
    }
    shape.size[0] = row.size;
  }
  for (int o = 0; o < t.operands.noperands; o++) {
    lowered_operand &operand = t.operands.operand[o];
    int slots = operand.slots[0];
    if (slots < 0) {
      continue;
    }
    row_extent row = read_slot(t.operands.stream[slots].address, operand.kind[0]);
    for (int s = slots + 1; s < operand.first + operand.count; s++) {
      lowered_stream &stream = t.operands.stream[s];
      stream.address += row.start * start_unit(stream.stride[0], operand.step[0]);
      stream.stride[0] = row.size == shape.size[0] ? stream.stride[0] : 0;
    }
    operand.slots[0] = -1;
    operand.has_rows[0] = false;
  }
}

// The streams stand at one element of the outermost axis: what is left of the task there.
void drop_axis(task &t) {
  int ndim = t.shape.ndim;
  auto drop = [&](auto *of_axis) { std::copy(of_axis + 1, of_axis + ndim, of_axis); };
  for (int s = 0; s < t.operands.nstreams; s++) {
    drop(t.operands.stream[s].stride);
  }
  for (space_slots &slots : t.shape.slots) {
    drop(slots.stride);
  }
  for (int o = 0; o < t.operands.noperands; o++) {
    lowered_operand &operand = t.operands.operand[o];
    drop(operand.slots);
    drop(operand.kind);
    drop(operand.step);
    drop(operand.has_rows);
  }
  drop(t.shape.size);
  drop(t.shape.slot_index);
  t.shape.ndim--;
}

int run_planned(task t, std::string *error = nullptr) { // a copy: planning uses it up
  ckernel_builder kernel;
  root_call call;
  build_planned(kernel, t, {}, call);
  work_frame frame(kernel.scratch_size);
  auto *root = reinterpret_cast<const ckernel_prefix *>(kernel.data);
  auto function = reinterpret_cast<streams_strided_t>(root->function);
  int status = function(call.stream, call.stride, size_t(call.count), root, &frame);
  if (status && error) {
    error->assign(frame.text, strnlen(frame.text, sizeof(frame.text)));
  }
  return status;
}

// Does an element in the first `count` of the outermost axis fail?
bool fails_within(const task &t, intptr_t count) {
  task part = t;
  part.shape.size[0] = count;
  return run_planned(std::move(part)) != dynd_ok;
}

// Axis by axis from the outside, the range in which the first bad element is gets halved until it is one index. All
// that is run again adds up to less than three times the whole.
first_failure find_by_halving(task t) {
  first_failure found;
  for (space_slots &slots : t.shape.slots) {
    slots.run = {}; // of the whole, not of the parts
  }
  while (t.shape.ndim > 0) {
    enter_row(t);
    intptr_t first = 0, size = t.shape.size[0];
    if (size == 0) {
      return {};
    }
    while (size > 1) {
      if (fails_within(t, size / 2)) {
        size /= 2;
      } else {
        move_to(t, size / 2);
        first += size / 2;
        size -= size / 2;
      }
    }
    found.index.push_back(first);
    drop_axis(t);
  }
  found.source = t.operands.stream[t.operands.value_stream(t.noutputs)].address;
  found.status = run_planned(std::move(t), &found.text);
  return found;
}

} // namespace

first_failure find_first_failure(const task &t) { return t.foreign ? find_by_element(t) : find_by_halving(t); }

std::string explanation_text(const observation &seen) {
  std::string text;
  for (const explained_kernel &kernel : seen.kernels) {
    text += kernel.operation + ": one kernel of " + std::to_string(kernel.kernel_bytes) + " bytes, " +
            std::to_string(kernel.scratch_bytes) + " bytes of scratch, " + std::to_string(kernel.elements) +
            " elements\n";
    for (const std::string &operand : kernel.operands) {
      text += "  " + operand + "\n";
    }
    int depth = 0;
    for (const explained_level &level : kernel.levels) {
      depth = level.depth < 0 ? depth + 1 : level.depth + 1;
      text += "  offset " + std::to_string(level.offset) + ", " + std::to_string(level.size) + " bytes" +
              std::string(size_t(depth) * 2, ' ') + level.text + "\n";
    }
  }
  return text.empty() ? "nothing was evaluated\n" : text;
}

std::string trace_text(const observation &seen) {
  // As the tables of the seeds: what the call gets, the call indented by its level, what stands at the destination.
  size_t sources = 7, names = 4;
  std::vector<std::string> source_texts;
  for (const traced_call &call : seen.calls) {
    std::string text;
    for (const std::string &source : call.sources) {
      text += (text.empty() ? "" : "  ") + source;
    }
    sources = std::max(sources, text.size());
    names = std::max(names, size_t(call.level) * 3 + call.name.size());
    source_texts.push_back(std::move(text));
  }
  auto line = [&](const std::string &source, const std::string &name, const std::string &destination) {
    return source + std::string(sources - source.size(), ' ') + " | " + name + std::string(names - name.size(), ' ') +
           " | " + destination + "\n";
  };
  std::string text = line("sources", "call", "destination before it");
  for (size_t i = 0; i < seen.calls.size(); i++) {
    const traced_call &call = seen.calls[i];
    text += line(source_texts[i], std::string(size_t(call.level) * 3, ' ') + call.name, call.destination);
  }
  if (seen.more_calls) {
    text += "... and " + std::to_string(seen.more_calls) + " more calls\n";
  }
  return text;
}

} // namespace dynd
