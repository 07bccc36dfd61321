#include "dynd/eval/foreign.h"

#include <algorithm>
#include <cstring>

#include "dynd/base/interpreter.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/group_task.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/run.h"
#include "dynd/memory/buffer.h"

namespace dynd {

namespace {

// ---- the direct step ------------------------------------------------------------------------------------------------

bool is_plain(const array_block *block) {
  return (block->flags & flag_dense) && block->state.load(std::memory_order_acquire) == array_state::ready;
}

const type_data *with_scalar(const type_data *type, scalar_id scalar) {
  return type->scalar == scalar ? type : ndt::with_dtype(ndt::type(type), ndt::make_scalar(scalar)).get();
}

// Dense operands of the kernel's types with the same sizes, or single values, and too little work for threads: one call
// of the kernel. False if it is not so, or if the kernel failed: the long way finds out where.
bool try_direct(const foreign_function &f, const call_operands &operands, bool keep_lock, ref<array_block> *results) {
  if (!f.leaf || current_observation() || !is_direct()) {
    return false;
  }
  const array_block *shape = nullptr;
  char *data[max_foreign_operands];
  intptr_t stride[max_foreign_operands];
  alignas(16) char number[max_foreign_sources][max_scalar_size]; // a single value of another type
  for (int i = 0; i < operands.count; i++) {
    const array_block *block = operands.block[i];
    int o = f.types.noutputs + i;
    scalar_id from = block->scalar(), to = f.types.type[o];
    if (!is_plain(block) || (from != to && block->ndim > 0)) {
      return false;
    }
    if (block->ndim > 0) {
      if (!shape) {
        shape = block;
      } else if (shape->ndim != block->ndim || !std::equal(shape->size(), shape->size() + shape->ndim, block->size()) ||
                 (shape->type != block->type && with_scalar(block->type, shape->scalar()) != shape->type)) {
        return false;
      }
    }
    data[o] = block->values().address;
    stride[o] = block->ndim ? intptr_t(block->item_size()) : 0;
    if (from != to) {
      isa().convert(to, from)(number[i], data[o], nullptr, nullptr, 1, nullptr);
      data[o] = number[i];
    }
  }
  shape = shape ? shape : operands.block[0];
  if (shape->count >= threads_from) {
    return false;
  }
  for (int o = 0; o < f.types.noutputs; o++) {
    results[o] = new_dense(with_scalar(shape->type, f.types.type[o]), shape->size());
    data[o] = results[o]->values().address;
    stride[o] = scalar_size[size_t(f.types.type[o])];
  }
  if (shape->count == 0) {
    return true;
  }
  without_interpreter unlocked(shape->count > unlocked_from && !keep_lock);
  work_frame frame(f.leaf->scratch_size);
  auto *root = reinterpret_cast<const ckernel_prefix *>(f.leaf->data);
  return reinterpret_cast<streams_strided_t>(root->function)(data, stride, size_t(shape->count), root, &frame) == 0;
}

} // namespace

void evaluate(const foreign_function &f, const call_operands &operands, ref<array_block> *results) {
  need_scalars(f.kernel->name, operands.block, operands.count);
  bool keep_lock = f.kernel->flags & dynd_callable_python_lock;
  if (try_direct(f, operands, keep_lock, results)) {
    return;
  }
  group_task group;
  task &t = group.t;
  t.name = f.kernel->name;
  t.foreign = true;
  t.keep_lock = keep_lock;
  t.one_thread = keep_lock || (f.kernel->flags & dynd_callable_one_thread);
  broadcast_space(t.name, operands.block, operands.count, t.shape);
  axis_order order = order_like(t.shape, operands.block, operands.count);
  for (int o = 0; o < f.types.noutputs; o++) {
    results[o] = new_result(t.shape, f.types.type[o], 0, order);
    allocate_values(results[o].get(), t.shape);
    if (observation *watching = current_observation(); watching && watching->tracing) {
      buffer *memory = as_buffer(results[o]->values().owner); // the trace shows what stands at the destination
      std::memset(memory->data, 0, memory->size);
    }
  }
  group.claim(operands.block, operands.count, operands.dying, *results[0], f.types.noutputs);
  group.start_program(operands.block, operands.count);
  uint8_t sources[max_foreign_sources];
  for (int i = 0; i < operands.count; i++) {
    sources[i] = t.p.converted(group.register_of(operands.block[i]), f.types.type[f.types.noutputs + i]);
  }
  t.p.add_foreign(*f.kernel, f.types, sources);
  for (int o = 0; o < f.types.noutputs; o++) {
    group.add_output(t.p.foreign.reg[o], results[o].get());
  }
  group.add_claimed_outputs();
  group.run();
  group.finish();
}

} // namespace dynd
