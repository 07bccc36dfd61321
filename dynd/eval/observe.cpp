#include "dynd/eval/observe.h"

#include <algorithm>
#include <cstring>

#include "dynd/base/errors.h"
#include "dynd/eval/frame.h"
#include "dynd/kernel/dims.h"

namespace dynd {

observation *&current_observation() {
  static thread_local observation *current = nullptr;
  return current;
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

class value_recorder : public kernel_observer {
public:
  value_recorder(const task &t, const std::vector<std::vector<int>> &streams, observation &seen)
      : t_(t), streams_(streams), seen_(seen) {}

  void call(int level, intptr_t, char *const *stream) override {
    traced_call record{level, level_name(t_, level), {}, {}};
    for (int o = 0; o < t_.operands.noperands; o++) {
      const array_block &block = *t_.operands.operand[o].block;
      char *own[max_streams];
      for (size_t i = 0; i < streams_[size_t(o)].size(); i++) {
        own[i] = stream[streams_[size_t(o)][i]];
      }
      int axis = std::max(0, level - (t_.shape.ndim - block.ndim));
      std::string text = nd::values_text_at(block, axis, own);
      if (o < t_.noutputs) {
        record.destination += (o ? " " : "") + text;
      } else {
        record.sources.push_back(text);
      }
    }
    seen_.calls.push_back(std::move(record));
  }

private:
  const task &t_;
  const std::vector<std::vector<int>> &streams_;
  observation &seen_;
};

class path_recorder : public kernel_observer {
public:
  path_recorder(int ndim, int source_stream) : index(size_t(ndim)), source_stream_(source_stream) {}
  void call(int level, intptr_t at, char *const *stream) override {
    if (level > 0) {
      index[size_t(level) - 1] = at;
    }
    source = stream[source_stream_];
  }
  std::vector<intptr_t> index;
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

first_failure find_first_failure(const task &t) {
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

std::string explanation_text(const observation &seen) {
  std::string text;
  for (const explained_kernel &kernel : seen.kernels) {
    text += kernel.operation + ": one kernel of " + std::to_string(kernel.kernel_bytes) + " bytes, " +
            std::to_string(kernel.scratch_bytes) + " bytes of scratch, " + std::to_string(kernel.elements) +
            " elements\n";
    for (const std::string &operand : kernel.operands) {
      text += "  " + operand + "\n";
    }
    int depth = 1;
    for (const explained_level &level : kernel.levels) {
      text += "  offset " + std::to_string(level.offset) + ", " + std::to_string(level.size) + " bytes" +
              std::string(size_t(depth++) * 2, ' ') + level.text + "\n";
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
  return text;
}

} // namespace dynd
