#include "dynd/eval/direct.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dynd/base/cpu.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/run.h"
#include "dynd/ops/isa.h"

namespace dynd {

namespace {

constexpr intptr_t strided_up_to = 512; // elements with numbers beside them that the loop for any stride takes

bool is_dense_and_ready(const array_block *block) {
  return (block->flags & flag_dense) && block->state.load(std::memory_order_acquire) == array_state::ready;
}

bool may_be_direct(const settings &how) { return how.direct && !how.watching; }

// The same sizes, and the same kinds of dimensions.
bool same_shape(const array_block *a, const array_block *b) {
  return a->ndim == b->ndim && std::equal(a->size(), a->size() + a->ndim, b->size()) &&
         (a->type == b->type || ndt::with_dtype(ndt::type(b->type), ndt::type(a->type->dtype)).get() == a->type);
}

const type_data *with_scalar(const type_data *type, scalar_id scalar) {
  return type->scalar == scalar ? type : ndt::with_dtype(ndt::type(type), ndt::make_scalar(scalar)).get();
}

// (T) -> T, (T, T) -> T, (T, T, T) -> T.
const std::array<bool, op_count> keeps_type = [] {
  std::array<bool, op_count> keeps{};
  for (size_t i = 0; i < op_count; i++) {
    const operation &o = operation_of(op_id(i));
    keeps[i] = o.noutputs == 1 && o.output[0] == value_rule::same &&
               std::all_of(o.operand, o.operand + o.noperands, [](value_rule r) { return r == value_rule::same; });
  }
  return keeps;
}();

// The usual case, without the questions of the general one: all of one type and the same sizes.
bool try_one_type(op_id op, const call_operands &operands, ref<array_block> *results) {
  const array_block *first = operands.block[0];
  const void *source[3] = {first->values().address, nullptr, nullptr};
  for (int i = 1; i < operands.count; i++) {
    const array_block *own = operands.block[i];
    if (own->type != first->type || !is_dense_and_ready(own) ||
        !std::equal(own->size(), own->size() + own->ndim, first->size())) {
      return false;
    }
    source[i] = own->values().address;
  }
  batch_fn loop = isa().loop(op, first->scalar());
  if (!loop) {
    return false;
  }
  *results = new_dense(first->type, first->size());
  return loop((*results)->values().address, source[0], source[1], source[2], size_t(first->count), nullptr) == 0;
}

} // namespace

bool try_direct(op_id op, const call_operands &operands, const settings &how, ref<array_block> *results) {
  array_block *const *block = operands.block;
  if (keeps_type[size_t(op)] && may_be_direct(how) && is_dense_and_ready(block[0]) &&
      size_t(block[0]->count) * 8 <= lazy_from && try_one_type(op, operands, results)) [[likely]] {
    return true;
  }
  const array_block *shape = block[0]->ndim || operands.count == 1 ? block[0] : block[operands.count - 1];
  const operation &o = operation_of(op);
  scalar_id computation = block[operands.count - 1]->scalar(); // a condition is the first
  if (!may_be_direct(how) || !is_dense_and_ready(shape) || size_t(shape->count) * 8 > lazy_from ||
      o.operand[0] >= value_rule::optional) {
    return false;
  }
  bool number = false;
  char *data[5];
  intptr_t stride[5];
  for (int i = 0; i < operands.count; i++) {
    const array_block *own = block[i];
    if (!is_dense_and_ready(own) || own->scalar() != operand_type(op, i, computation)) {
      return false;
    }
    bool single = own->ndim == 0 && shape->ndim > 0;
    if (!single && own != shape && !same_shape(shape, own)) {
      return false;
    }
    number |= single;
    data[o.noutputs + i] = own->values().address;
    stride[o.noutputs + i] = single ? 0 : intptr_t(own->item_size());
  }
  batch_fn loop = isa().loop(op, computation);
  if (!loop) {
    return false;
  }
  if (number) { // null: the loop for any stride takes the number
    loop = operands.count == 2 ? isa().constant_loop(op, stride[o.noutputs + 1] == 0, computation) : nullptr;
  }
  if (!loop && shape->count > strided_up_to) {
    return false;
  }
  for (int i = 0; i < o.noutputs; i++) {
    scalar_id to = result_type(op, i, computation);
    results[i] = new_dense(with_scalar(shape->type, to), shape->size());
    data[i] = results[i]->values().address;
    stride[i] = scalar_size[size_t(to)];
  }
  size_t count = size_t(shape->count);
  if (!loop) {
    return strided_loop(op, computation)(data, stride, count) == 0;
  }
  char **source = data + o.noutputs;
  return loop(data[0], source[0], operands.count > 1 ? source[1] : nullptr, operands.count > 2 ? source[2] : nullptr,
              count, o.noutputs > 1 ? data[1] : nullptr) == 0;
}

bool try_direct(const external_function &f, const call_operands &operands, const settings &how,
                ref<array_block> *results, direct_failure &failure) {
  if (!f.leaf || !may_be_direct(how)) {
    return false;
  }
  const array_block *shape = nullptr;
  char *data[max_external_operands];
  intptr_t stride[max_external_operands];
  alignas(16) char number[max_external_sources][max_scalar_size]; // a single value of another type
  for (int i = 0; i < operands.count; i++) {
    const array_block *block = operands.block[i];
    int o = f.types.noutputs + i;
    if (!is_dense_and_ready(block) || (block->ndim > 0 && block->scalar() != f.types.type[o])) {
      return false;
    }
    if (block->ndim > 0 && shape && !same_shape(shape, block)) {
      return false;
    }
    shape = block->ndim > 0 ? block : shape;
    data[o] = block->values().address;
    stride[o] = block->ndim ? intptr_t(block->item_size()) : 0;
    if (block->scalar() != f.types.type[o]) {
      isa().convert(f.types.type[o], block->scalar())(number[i], data[o], nullptr, nullptr, 1, nullptr);
      data[o] = number[i];
    }
  }
  shape = shape ? shape : operands.block[0];
  size_t item = std::max<size_t>(scalar_size[size_t(f.types.type[0])], sizeof(double));
  bool large = size_t(shape->count) * item >= lazy_from;
  if (shape->count >= threads_from || (large && f.has(dynd_callable_pure | dynd_callable_total))) {
    return false; // pure and total: it may be lazy
  }
  for (int o = 0; o < f.types.noutputs; o++) {
    results[o] = new_dense(with_scalar(shape->type, f.types.type[o]), shape->size());
    data[o] = results[o]->values().address;
    stride[o] = scalar_size[size_t(f.types.type[o])];
  }
  if (shape->count == 0) {
    return true;
  }
  without_interpreter unlocked(shape->count > unlocked_from && !f.has(dynd_callable_python_lock));
  work_frame frame(f.leaf->scratch_size);
  auto *root = reinterpret_cast<const ckernel_prefix *>(f.leaf->data);
  failure.status = call_strided(root, data, stride, size_t(shape->count), &frame);
  if (failure.status) [[unlikely]] {
    std::memcpy(failure.text, frame.text, sizeof(failure.text));
    failure.text[sizeof(failure.text) - 1] = 0;
  }
  return failure.status == dynd_ok;
}

// For a claimed array over dense operands of its own size, in the type it computes in, with little work.
bool try_direct_compute(array_block *block, const settings &how) {
  const lazy_operation &op = *block->lazy;
  if (!(block->flags & flag_dense) || block->count > unlocked_from || op.external || !may_be_direct(how) ||
      operation_of(op.op).operand[0] >= value_rule::optional) {
    return false;
  }
  const void *source[3] = {};
  for (int i = 0; i < op.ninputs; i++) {
    array_block *input = op.input[i];
    // It broadcasts to the block: with as many elements nothing stretches.
    if (!is_dense_and_ready(input) || input->count != block->count ||
        input->scalar() != operand_type(op.op, i, op.computation)) {
      return false;
    }
    source[i] = input->values().address;
  }
  if (!block->values().owner) { // memory from an attempt that failed is used again
    give_values(block, size_t(block->count) * block->item_size());
  }
  isa().loop(op.op, op.computation)(block->values().address, source[0], source[1], source[2], size_t(block->count),
                                    nullptr);
  return true;
}

// For dense arrays of the same sizes that do not overlap, too small for threads and within the cache.
bool try_direct_assign(array_block *dst, array_block *src, error_mode mode, const settings &how) {
  if (!is_dense_and_ready(dst) || !is_dense_and_ready(src) || dst->count >= threads_from || dst->ndim != src->ndim ||
      !std::equal(dst->size(), dst->size() + dst->ndim, src->size()) || !may_be_direct(how)) {
    return false;
  }
  char *to = dst->values().address;
  const char *from = src->values().address;
  size_t count = size_t(dst->count), to_bytes = count * dst->item_size(), from_bytes = count * src->item_size();
  const cpu_tuning &cpu = this_cpu();
  if ((to < from + from_bytes && from < to + to_bytes) ||
      to_bytes + from_bytes > std::min(cpu.prefetch_from, cpu.stream_from)) {
    return false;
  }
  without_interpreter unlocked(dst->count > unlocked_from);
  return isa().convert_checked(mode, dst->scalar(), src->scalar())(to, from, nullptr, nullptr, count, nullptr) == 0;
}

ref<array_block> try_direct_copy(array_block *src, access_mode access, ndt::type dtype, error_mode mode,
                                 const settings &how) {
  if (dtype->kind != type_kind::scalar || !is_dense_and_ready(src) || src->count >= threads_from) {
    return {};
  }
  ref<array_block> result = new_dense(with_scalar(src->type, dtype->scalar), src->size(), access);
  return try_direct_assign(result.get(), src, mode, how) ? std::move(result) : ref<array_block>();
}

} // namespace dynd
