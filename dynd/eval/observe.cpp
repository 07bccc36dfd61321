#include "dynd/eval/observe.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "dynd/array/view.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/run.h"

namespace dynd {

namespace {

const char *kind_name(const task &t, int operand, int axis) {
  const space_operand &own = t.operands[operand];
  int own_axis = axis - (t.shape.ndim - own.ndim);
  return own_axis < 0 ? "scalar" : own.block->is_var(own_axis) ? "var" : "strided";
}

const char *element_name(const space_operand &operand) { return part_at(operand.block->type, operand.ndim).type->text; }

// An assignment is named by what it goes between; an operation by the dimension it walks, and by itself at the leaf.
std::string level_name(const task &t, int level) {
  bool leaf = level == t.shape.ndim - t.row_axes();
  if (t.assigns) {
    const char *from = leaf ? element_name(t.operands[1]) : kind_name(t, 1, level);
    const char *to = leaf ? element_name(t.operands[0]) : kind_name(t, 0, level);
    return std::string(from) + " to " + to;
  }
  if (leaf) {
    return t.name;
  }
  bool var = std::any_of(t.lowered.begin(), t.lowered.end(), [&](const auto &own) { return own.has_rows[level]; });
  return var ? "var" : "strided";
}

// The source operands as the operation has them: one that is two operands twice. Conversions are looked through; where
// other steps are between, or several operands of an element are registers of their own, each source once.
std::vector<int> traced_sources(const task &t) {
  std::vector<int> sources;
  const program &p = t.p;
  auto add = [&](uint8_t reg) {
    for (int i = p.nsteps - 1; i >= 0; i--) {
      const program_step &step = p.steps[i];
      bool passes = step.kind == step_kind::conversion || step.kind == step_kind::swap_bytes;
      reg = passes && step.writes[0] == reg ? step.reads[0] : reg;
    }
    int source = p.source_of(reg), o = source < 0 ? -1 : t.ports[p.noutputs + source].operand;
    sources.push_back(o >= 0 && t.operands[o].block->has_scalars() ? o : -1);
  };
  if (!t.leaf && p.nsteps && !p.reduces()) {
    p.for_reads(p.steps[p.nsteps - 1], add);
  } else if (!t.leaf) {
    add(p.output[p.noutputs - 1].reg);
  }
  if (t.leaf || std::find(sources.begin(), sources.end(), -1) != sources.end()) {
    sources.resize(size_t(t.operands.size() - t.noutputs));
    std::iota(sources.begin(), sources.end(), t.noutputs);
  }
  return sources;
}

class value_recorder : public kernel_observer {
public:
  value_recorder(const task &t, observation &seen) : t_(t), seen_(seen), sources_(traced_sources(t)) {
    int next = t.ports.size();
    for (int o = 0; o < t.operands.size(); o++) { // all their streams are in the call
      std::vector<int> &own = streams_.emplace_back(t.operands[o].block->nstreams);
      for (int s = 0; s < t.operands[o].var_count(); s++) {
        own[size_t(s)] = next++;
      }
      for (int p = 0; p < t.ports.size(); p++) {
        if (t.ports[p].operand == o) {
          own[size_t(t.ports[p].stream)] = p;
        }
      }
    }
    for (int o = 0; o < t.noutputs; o++) {
      nd::array output(ref<array_block>::share(t.operands[o].block));
      // A reduction writes to a place of size 1 in the reduced axis, which is no part of its result.
      const nd::index all{nd::index::ellipsis, 0, {}, {}, {}}, first = nd::index::number(0);
      outputs_.push_back(t.nreduced ? nd::at(output, std::array{all, first}) : output);
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
    for (int o : sources_) {
      record.sources.push_back(text_of(*t_.operands[o].block, o, level, stream));
    }
    seen_.calls.push_back(std::move(record));
  }

private:
  std::string text_of(const array_block &block, int o, int level, char *const *stream) const {
    char *own[max_type_streams];
    for (size_t i = 0; i < streams_[size_t(o)].size(); i++) {
      own[i] = stream[streams_[size_t(o)][i]];
    }
    // Where its dimensions begin among those of the space; a reduction's output lacks the last one.
    int missing = t_.shape.ndim - t_.operands[o].ndim;
    int most = std::min(t_.operands[o].ndim, int(block.ndim));
    return nd::values_text_at(block, std::clamp(level - missing, 0, most), own);
  }

  const task &t_;
  observation &seen_;
  std::vector<int> sources_;
  std::vector<std::vector<int>> streams_; // of each operand's array, among those of the call
  std::vector<nd::array> outputs_;
};

// Of the operand's values, along the axis that had that number before they were permuted.
intptr_t stride_of(const task &t, int o, int axis) {
  for (int p = 0; p < t.ports.size(); p++) {
    for (int d = 0; d < t.shape.ndim && t.ports[p].operand == o; d++) {
      if (t.axis_of[d] == axis) {
        return t.port_stream(p).stride[d];
      }
    }
  }
  return 0;
}

// Values are shown whole: the streams that the leaf does not need are ports too.
void add_unused_ports(task &t) {
  for (int o = 0; o < t.operands.size(); o++) {
    const array_block &block = *t.operands[o].block;
    for (int s = t.operands[o].var_count(); s < block.nstreams; s++) {
      auto is_it = [&](const task_port &port) { return port.operand == o && port.stream == s; };
      if (std::none_of(t.ports.begin(), t.ports.end(), is_it)) {
        t.ports.push_back({o, s});
      }
    }
  }
}

} // namespace

int run_traced(task &t, observation &seen, std::string &failure) {
  add_unused_ports(t);
  lower(t);
  ckernel_builder kernel;
  root_call call;
  build_in_order(kernel, t, true, {}, call);
  value_recorder recorder(t, seen);
  work_frame own(kernel.scratch_size);
  own.state.observer = &recorder;
  interruption stop(call.elements > unlocked_from);
  own.cancel = stop.flag();
  own.state.stop = &stop;
  without_interpreter unlocked(call.elements > unlocked_from && !t.keep_lock);
  int status = call_root(kernel, call, 0, call.count, own);
  failure = own.text;
  return status;
}

void trace_one_row(const task &t, observation &seen) {
  traced_call record{0, t.name, {}, ""};
  for (int o = t.noutputs; o < t.operands.size(); o++) {
    record.sources.push_back(nd::values_text(nd::array(ref<array_block>::share(t.operands[o].block))));
  }
  seen.calls.push_back(std::move(record));
}

// "from strided * int32 (4,), strides (0, 0, 4)": over the axes of the space, 0 where it stretches.
std::vector<std::string> operand_texts(const task &t) {
  std::vector<std::string> texts;
  for (int o = 0; o < t.operands.size(); o++) {
    const space_operand &operand = t.operands[o];
    std::string text =
        std::string(o < t.noutputs ? "to   " : "from ") + operand.block->type->text + " " + space_text(operand);
    if (operand.block->has_scalars()) {
      text += ", strides (";
      for (int d = 0; d < t.shape.ndim; d++) {
        text += (d ? ", " : "") + std::to_string(stride_of(t, o, d));
      }
      text += t.shape.ndim == 1 ? ",)" : ")";
    }
    texts.push_back(text);
  }
  return texts;
}

void explain(const task &t, const ckernel_builder &kernel, intptr_t elements, std::vector<std::string> operands,
             std::vector<explained_level> levels) {
  explained_kernel seen{t.name, std::move(operands), 0, kernel.scratch_size, elements, std::move(levels)};
  for (const explained_level &level : seen.levels) {
    seen.kernel_bytes = std::max(seen.kernel_bytes, level.offset + level.size);
  }
  t.how.watching->kernels.push_back(std::move(seen));
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
  // As the tables of the seeds: what the call gets, the call indented by its level, what is at the destination.
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
