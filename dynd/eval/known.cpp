#include "dynd/eval/known.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "dynd/base/cpu.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/run.h"

namespace dynd {

struct kept_program {
  int key_size = 0;
  uint8_t key[known_program::max_key];
  ckernel_builder kernel;
};

namespace {

struct kept_programs {
  kept_program all[8];
  size_t next = 0; // to be replaced
};

thread_local std::unique_ptr<kept_programs> kept;

constexpr uint8_t of_source = 0x80, one_number = 0x80; // in the key: an input, a source

} // namespace

bool known_program::describe(const claimed_group &claimed, const element_operation *last,
                             std::span<array_block *const> operands, std::span<const ref<array_block>> results) {
  claimed_ = &claimed;
  count_ = last ? results[0]->count : claimed.node[claimed.count - 1]->count;
  bool known = count_ > 1 && count_ < threads_from && claimed.count <= max_claimed && (!last || !last->external);
  for (size_t i = 0; i < results.size() && known; i++) {
    known = add_output(results[i].get());
  }
  key_[key_size_++] = uint8_t(claimed.count);
  for (int i = 0; i < claimed.count && known; i++) {
    const lazy_operation &op = *claimed.node[i]->lazy;
    key_[key_size_++] = claimed.output[i];
    known = !op.external && (!claimed.output[i] || add_output(claimed.node[i])) &&
            add_operation(op.op, op.computation, op.input, op.ninputs);
  }
  if (last && known) {
    known = add_operation(last->op, last->computation, operands.data(), int(operands.size()));
  }
  return known && add_ends();
}

bool known_program::add_operation(op_id op, scalar_id computation, array_block *const *inputs, int ninputs) {
  key_[key_size_++] = uint8_t(op);
  key_[key_size_++] = uint8_t(computation);
  bool known = true;
  for (int i = 0; i < ninputs && known; i++) {
    known = add_input(inputs[i]);
  }
  return known;
}

// What is claimed, or a source: all in the order in which fused_task meets them.
bool known_program::add_input(array_block *block) {
  for (int i = 0; i < claimed_->count; i++) {
    if (claimed_->node[i] == block) {
      key_[key_size_++] = uint8_t(i);
      return true;
    }
  }
  int i = int(std::find(source_, source_ + nsources_, block) - source_);
  if (i == nsources_) {
    // It broadcasts to the result: with as many elements nothing stretches.
    bool fits = is_dense_and_ready(block) && (block->count == count_ || block->count == 1);
    if (!fits || (block->flags & flag_numbers) || nsources_ == max_ends) {
      return false;
    }
    source_[nsources_++] = block;
  }
  key_[key_size_++] = of_source | uint8_t(i);
  return true;
}

bool known_program::add_output(array_block *block) {
  if (!(block->flags & flag_dense) || block->count != count_ || noutputs_ == max_ends) {
    return false;
  }
  output_[noutputs_++] = block;
  return true;
}

// False where the task would store past the caches.
bool known_program::add_ends() {
  size_t bytes = 0;
  for (int i = 0; i < nsources_; i++) {
    bool one = source_[i]->count == 1;
    bytes += one ? 0 : source_[i]->item_size();
    key_[key_size_++] = uint8_t(source_[i]->scalar()) | (one ? one_number : 0);
  }
  for (int i = 0; i < noutputs_; i++) {
    bytes += output_[i]->item_size();
  }
  bytes *= size_t(count_);
  key_[key_size_++] = bytes > this_cpu().prefetch_from;
  return bytes <= this_cpu().stream_from;
}

// The streams of the call: those of the outputs, then of the sources.
int known_program::bind(char **stream, intptr_t *stride) const {
  auto add = [&](int s, const array_block &block) {
    stream[s] = block.values().address;
    stride[s] = block.count == 1 ? 0 : intptr_t(block.item_size());
  };
  for (int i = 0; i < noutputs_; i++) {
    add(i, *output_[i]);
  }
  for (int i = 0; i < nsources_; i++) {
    add(noutputs_ + i, *source_[i]);
  }
  return noutputs_ + nsources_;
}

bool known_program::run() {
  if (!kept) {
    return false;
  }
  auto is_this = [&](const kept_program &one) {
    return one.key_size == key_size_ && std::memcmp(one.key, key_, size_t(key_size_)) == 0;
  };
  auto *found = std::find_if(std::begin(kept->all), std::end(kept->all), is_this);
  if (found == std::end(kept->all)) {
    return false;
  }
  for (int i = 0; i < noutputs_; i++) {
    if (!output_[i]->values().address) { // claimed; memory from an attempt that failed is used again
      give_values(output_[i], size_t(count_) * output_[i]->item_size());
    }
  }
  char *stream[2 * max_ends];
  intptr_t stride[2 * max_ends];
  bind(stream, stride);
  without_interpreter unlocked(count_ > unlocked_from);
  work_frame frame(found->kernel.scratch_size);
  return call_strided(found->kernel.root(), stream, stride, size_t(count_), &frame) == dynd_ok;
}

void known_program::keep(const ckernel_builder &kernel, const root_call &call) const {
  char *stream[2 * max_ends];
  intptr_t stride[2 * max_ends];
  int count = bind(stream, stride);
  bool is_one_call = call.flat && call.count == count_ && call.stream.size() == count &&
                     std::equal(stream, stream + count, call.stream.data()) &&
                     std::equal(stride, stride + count, call.stride.data());
  if (!is_one_call || reinterpret_cast<const ckernel_prefix *>(kernel.data)->destructor) {
    return;
  }
  if (!kept) {
    kept = std::make_unique<kept_programs>();
  }
  kept_program &to = kept->all[kept->next++ % std::size(kept->all)];
  to.key_size = 0;
  to.kernel.reset();
  to.kernel.ensure_capacity_leaf(kernel.capacity);
  std::memcpy(to.kernel.data, kernel.data, kernel.capacity);
  to.kernel.scratch_size = kernel.scratch_size;
  std::memcpy(to.key, key_, size_t(key_size_));
  to.key_size = key_size_;
}

} // namespace dynd
