#include "dynd/eval/elements.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/observe.h"
#include "dynd/kernel/level.h"
#include "dynd/memory/buffer.h"

namespace dynd {

namespace {

// All streams of all operands over the axes of the shape, and the levels that walk these.
class element_call {
public:
  element_call(const space &shape, array_block *const *operands, int noperands) : shape_(shape) {
    for (int o = 0; o < noperands; o++) {
      const array_block &block = *operands[o];
      metas_.push_back(std::make_unique<arrmeta_of>(block));
      int var = block.type->var_count, missing = shape.ndim - block.ndim;
      operands_.push_back({{block.type->dtype, var, block.ndim}, metas_.back()->get(), int(stream_.size())});
      for (int s = 0; s < block.nstreams; s++) {
        stream_.push_back(block.streams()[s].address);
        for (int d = 0; d < shape.ndim; d++) {
          intptr_t own = d < missing ? 1 : block.size()[d - missing];
          stride_.push_back(d < missing ? 0 : broadcast_stride(own, block.strides(s)[d - missing]));
        }
      }
      blocks_.push_back(&block);
    }
    if (stream_.size() > size_t(max_call_streams)) {
      fail_too_many_streams();
    }
  }

  /// Returns the kernel's size. `levels`, if any, is told of those outside of the elements, and of the elements' as
  /// one.
  size_t build(ckernel_builder &out, const element_kernel &make, bool observed,
               std::vector<explained_level> *levels = nullptr) {
    size_t offset = 0;
    for (int d = 0; d < shape_.ndim; d++) {
      offset = observed ? begin_observed(out, offset, count(), d) : offset;
      size_t end = dimension(out, offset, d);
      if (levels) {
        levels->push_back({offset, end - offset, dimension_text(d), d});
      }
      offset = end;
    }
    offset = observed ? begin_observed(out, offset, count(), shape_.ndim) : offset;
    size_t end = make(out, offset, operands_.data());
    if (levels) {
      levels->push_back({offset, end - offset, elements_text(), shape_.ndim});
    }
    return end;
  }

  int run(const ckernel_builder &kernel, dynd_frame &frame) {
    std::vector<intptr_t> stride(stream_.size(), 0);
    auto *root = reinterpret_cast<const ckernel_prefix *>(kernel.data);
    return reinterpret_cast<streams_strided_t>(root->function)(stream_.data(), stride.data(), 1, root, &frame);
  }

private:
  int count() const { return int(stream_.size()); }

  std::string dimension_text(int d) const {
    return shape_.size[d] < 0 ? "var_dim" : "strided_dim size " + std::to_string(shape_.size[d]);
  }

  // "string, string to bool"
  std::string elements_text() const {
    std::string text;
    for (size_t o = 1; o < blocks_.size(); o++) {
      text += (o > 1 ? ", " : "") + std::string(blocks_[o]->type->dtype->text);
    }
    return text + " to " + blocks_[0]->type->dtype->text;
  }

  size_t dimension(ckernel_builder &out, size_t offset, int d) {
    std::vector<intptr_t> stride;
    for (size_t s = 0; s < stream_.size(); s++) {
      stride.push_back(stride_[s * size_t(shape_.ndim) + size_t(d)]);
    }
    std::vector<var_slots> slots;
    std::vector<int8_t> follows(stream_.size(), -1);
    std::vector<intptr_t> unit = stride; // what the starts of rows count in
    for (size_t o = 0; o < blocks_.size(); o++) {
      const array_block &block = *blocks_[o];
      int axis = d - (shape_.ndim - block.ndim);
      if (axis < 0 || block.size()[axis] >= 0) {
        continue;
      }
      int s = 0;
      for (int e = 0; e < axis; e++) {
        s += block.size()[e] < 0;
      }
      for (int below = s + 1; below < block.nstreams; below++) {
        size_t at = size_t(operands_[o].first + below);
        follows[at] = int8_t(slots.size());
        unit[at] = start_unit(stride[at], block.streams()[s].step);
      }
      slots.push_back({operands_[o].first + s, block.streams()[s].kind});
    }
    if (slots.empty()) {
      return begin_strided_dim(out, offset, count(), shape_.size[d], stride.data());
    }
    // The outputs come first and have the shape's rows: theirs is the length.
    return begin_var_dim(
        out, offset,
        {count(), shape_.size[d], int(slots.size()), slots.data(), follows.data(), stride.data(), unit.data()});
  }

  const space &shape_;
  std::vector<const array_block *> blocks_;
  std::vector<std::unique_ptr<arrmeta_of>> metas_;
  std::vector<kernel_operand> operands_;
  std::vector<char *> stream_;
  std::vector<intptr_t> stride_; // of each stream, ndim of them
};

/// An operation, as explain and trace show it; the first operand is its destination.
class operation_recorder : public kernel_observer {
public:
  operation_recorder(const char *name, array_block *const *operands, int noperands, int ndim, observation &seen)
      : name_(name), operands_(operands), noperands_(noperands), ndim_(ndim), seen_(seen) {}

  void explain(size_t bytes, size_t scratch, intptr_t elements, std::vector<explained_level> levels) {
    std::vector<std::string> texts;
    for (int o = 0; o < noperands_; o++) {
      texts.push_back((o ? "from " : "to   ") + std::string(operands_[o]->type->text) + " " +
                      space_text(*operands_[o]));
    }
    seen_.kernels.push_back({name_, std::move(texts), bytes, scratch, elements, std::move(levels)});
  }

  void call(int level, intptr_t, char *const *stream) override {
    if (seen_.calls.size() == most_traced_calls) {
      seen_.more_calls++;
      return;
    }
    traced_call record{level, level == ndim_ ? name_ : "strided", {}, {}};
    for (int o = 0; o < noperands_; o++) {
      const array_block &block = *operands_[o];
      int axis = level - (ndim_ - block.ndim);
      if (level < ndim_ && axis >= 0 && block.size()[axis] < 0) {
        record.name = "var";
      }
      std::string text = nd::values_text_at(block, std::max(axis, 0), stream);
      o ? record.sources.push_back(std::move(text)) : record.destination.swap(text);
      stream += block.nstreams;
    }
    seen_.calls.push_back(std::move(record));
  }

private:
  const char *name_;
  array_block *const *operands_;
  int noperands_, ndim_;
  observation &seen_;
};

} // namespace

void run_elements(const char *name, const space &shape, array_block *const *operands, int noperands,
                  const element_kernel &make) {
  for (int o = 0; o < noperands; o++) {
    force(operands[o]);
  }
  element_call call(shape, operands, noperands);
  ckernel_builder kernel;
  observation *watching = current_observation();
  std::vector<explained_level> levels;
  size_t bytes = call.build(kernel, make, watching && watching->tracing, watching ? &levels : nullptr);
  work_frame frame(kernel.scratch_size);
  std::optional<operation_recorder> recorder;
  if (watching) {
    frame.engine = &recorder.emplace(name, operands, noperands, shape.ndim, *watching);
    recorder->explain(bytes, kernel.scratch_size, shape.count(), std::move(levels));
  }
  int status = call.run(kernel, frame);
  if (!status) {
    return;
  }
  ckernel_builder observed;
  call.build(observed, make, true);
  work_frame again(observed.scratch_size);
  place_recorder places(shape.ndim);
  again.engine = &places;
  std::string text = frame.text, where;
  if (int second = call.run(observed, again)) {
    status = second;
    text = again.text;
    where = places.where();
  }
  fail(kind_of(status), std::string(name) + ": " + (text.empty() ? "failed" : text) + where);
}

ref<array_block> new_elements(const space &shape, ndt::type dtype) {
  // A stream at a time: each is that of an array of scalars of its size.
  ref<array_block> result;
  for (int s = 0; s < dtype->nstreams; s++) {
    bool value = dtype->roles[s] == stream_role::values;
    ref<array_block> column = new_result(shape, value ? stream_scalar(dtype.get(), s) : scalar_id::bool_);
    allocate_values(column.get(), shape);
    if (current_observation()) { // the trace shows what stands at the destination
      buffer *memory = as_buffer(column->values().owner);
      memory ? std::memset(memory->data, 0, memory->size)
             : std::memset(column->values().address, 0, size_t(column->count) * column->item_size());
    }
    if (!result) {
      ndt::type type = ndt::with_dtype(ndt::type(column->type), dtype);
      result = new_block(type.get(), access_mode::immutable, flag_ours);
      std::copy_n(column->size(), shape.ndim, result->size());
    }
    for (int from = s == 0 ? 0 : column->nstreams - 1; from < column->nstreams; from++) {
      int to = from + s;
      result->streams()[to] = column->streams()[from];
      counted *owner = column->streams()[from].owner;
      retain(owner ? owner : column.get());
      result->streams()[to].owner = owner ? owner : column.get();
      std::copy_n(column->strides(from), shape.ndim, result->strides(to));
    }
  }
  note_density(*result);
  return result;
}

} // namespace dynd
