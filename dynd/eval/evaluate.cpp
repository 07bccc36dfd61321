#include "dynd/eval/evaluate.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "dynd/array/rows.h"
#include "dynd/base/cpu.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/compare.h"
#include "dynd/eval/elements.h"
#include "dynd/eval/group_task.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/run.h"
#include "dynd/memory/pool.h"
#include "dynd/plan/overlap.h"

namespace dynd {

namespace {

constexpr size_t waits_from = 64 << 10;            // bytes of the result: smaller ones are computed at once
constexpr size_t waiting_budget = size_t(1) << 32; // bytes that all waiting arrays of the process may keep alive

thread_local int eager_depth = 0;
std::atomic<bool> direct_enabled = [] {
  const char *text = std::getenv("DYND_DIRECT"); // 0: for tests that run everything the long way
  return !text || std::strcmp(text, "0") != 0;
}();

// ---- the direct step ----------------------------------------------------------------------------------------------

bool is_plain(const array_block *block) {
  return (block->flags & flag_dense) && block->state.load(std::memory_order_acquire) == array_state::ready;
}

// All operands and the one output of the type that it computes in, and it cannot fail.
bool keeps_type(op_id op, scalar_id scalar) {
  const operation &r = operation_of(op);
  for (int i = 0; i < r.noperands; i++) {
    if (r.operand[i] != value_rule::same) {
      return false;
    }
  }
  return r.noutputs == 1 && result_type(op, 0, scalar) == scalar && !can_fail(op, scalar);
}

// A number against a small dense array of its type: the loop for any stride takes both.
array_block *try_direct_scalar(op_id op, const call_operands &operands) {
  array_block *left = operands.block[0], *right = operands.block[1];
  array_block *shape = left->ndim ? left : right, *number = left->ndim ? right : left;
  if (!keeps_type(op, shape->scalar()) || operands.count != 2 || number->ndim != 0 || !is_plain(shape) ||
      shape->count > 512 || number->scalar() != shape->scalar()) {
    return nullptr;
  }
  strided_fn function = strided_loop(op, shape->scalar());
  if (!function || current_observation()) {
    return nullptr;
  }
  ref<array_block> result = new_dense(shape->type, shape->size());
  intptr_t item = intptr_t(shape->item_size());
  char *data[3] = {result->values().address, left->values().address, right->values().address};
  intptr_t stride[3] = {item, left == number ? 0 : item, right == number ? 0 : item};
  function(data, stride, size_t(shape->count));
  return result.take();
}

// Dense operands of one type and the same sizes, and little work: one call of the compiled loop. Null if it is not so.
array_block *try_direct(op_id op, const call_operands &operands) {
  array_block *first = operands.block[0];
  if (!is_plain(first) || operands.count > 3 || size_t(first->count) * 8 > waits_from ||
      !direct_enabled.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  const void *source[3] = {first->values().address, nullptr, nullptr};
  for (int i = 1; i < operands.count; i++) {
    array_block *other = operands.block[i];
    if (!is_plain(other)) {
      return nullptr;
    }
    if (other->type != first->type || !std::equal(first->size(), first->size() + first->ndim, other->size())) {
      return try_direct_scalar(op, operands);
    }
    source[i] = other->values().address;
  }
  block_fn function = isa().loop(op, first->scalar());
  if (!function || !keeps_type(op, first->scalar()) || current_observation()) {
    return nullptr;
  }
  ref<array_block> result = new_dense(first->type, first->size());
  function(result->values().address, source[0], source[1], source[2], size_t(first->count), nullptr);
  return result.take();
}

// A claimed array over dense operands of its own size, in the type it computes in, and little work: the same for what
// has waited. False if it is not so.
bool compute_directly(array_block *block) {
  const waiting_op &waiting = *block->waiting;
  if (!(block->flags & flag_dense) || block->count > unlocked_from || !direct_enabled.load(std::memory_order_relaxed) ||
      current_observation()) {
    return false;
  }
  const void *source[3] = {};
  for (int i = 0; i < waiting.ninputs; i++) {
    array_block *input = waiting.input[i];
    // It broadcasts to the block: with as many elements nothing stretches.
    if (!is_plain(input) || input->count != block->count || input->scalar() != waiting.computation) {
      return false;
    }
    source[i] = input->values().address;
  }
  if (!block->values().owner) { // memory from an attempt that failed is used again
    give_values(block, size_t(block->count) * block->item_size());
  }
  block_fn function = isa().loop(waiting.op, waiting.computation);
  function(block->values().address, source[0], source[1], source[2], size_t(block->count), nullptr);
  return true;
}

// ---- types and waiting --------------------------------------------------------------------------------------------

scalar_id computation_of(op_id op, const call_operands &operands) {
  const operation &r = operation_of(op);
  for (int i = 0; i < r.noperands; i++) {
    if (r.operand[i] == value_rule::optional || r.operand[i] == value_rule::presence) {
      fail(error_kind::type, std::string(r.name) + ": operand " + std::to_string(i) + " must be an option, ?T");
    }
  }
  int first = r.operand[0] == value_rule::boolean ? 1 : 0;
  if (first && operands.block[0]->scalar() != scalar_id::bool_) {
    fail(error_kind::type,
         std::string(r.name) + ": the condition must be bool, not " + scalar_name[size_t(operands.block[0]->scalar())]);
  }
  scalar_id promoted = operands.block[first]->scalar();
  for (int i = first + 1; i < operands.count; i++) {
    promoted = promote(promoted, operands.block[i]->scalar());
  }
  return computation_type(op, promoted);
}

// May the operation wait? Only what cannot fail, over memory that nobody can write, and not without bounds.
bool may_wait(op_id op, scalar_id computation, const call_operands &operands, size_t bytes, waiting_op &waiting) {
  if (bytes < waits_from || can_fail(op, computation) || eager_depth > 0) {
    return false;
  }
  size_t elements = bytes / scalar_size[size_t(result_type(op, 0, computation))];
  waiting.operations = 1;
  waiting.held = 0;
  for (int i = 0; i < operands.count; i++) {
    const array_block *block = operands.block[i];
    if (!(block->flags & flag_ours)) {
      return false;
    }
    if (std::find(operands.block, operands.block + i, block) != operands.block + i) {
      continue; // a * a holds one array
    }
    bool waits = block->state.load(std::memory_order_acquire) != array_state::ready;
    waiting.operations += waits ? block->waiting->operations : 0;
    waiting.held +=
        waits ? block->waiting->held : (block->count >= 0 ? size_t(block->count) : elements) * block->item_size();
  }
  return waiting.operations < max_group && waiting.held <= 4 * bytes &&
         size_t(waiting_bytes.load(std::memory_order_relaxed)) + waiting.held < waiting_budget;
}

ref<array_block> make_waiting(op_id op, scalar_id computation, const call_operands &operands, const space &shape,
                              const waiting_op &bounds) {
  ref<array_block> result = new_result(shape, result_type(op, 0, computation), sizeof(waiting_op),
                                       order_like(shape, operands.block, operands.count));
  auto *waiting = reinterpret_cast<waiting_op *>(small_data(result.get()));
  *waiting = bounds;
  waiting->op = op;
  waiting->computation = computation;
  waiting->ninputs = uint8_t(operands.count);
  for (int i = 0; i < operands.count; i++) {
    retain(operands.block[i]);
    waiting->input[i] = operands.block[i];
  }
  waiting_bytes.fetch_add(intptr_t(waiting->held), std::memory_order_relaxed);
  result->waiting = waiting;
  result->state.store(array_state::waiting, std::memory_order_release);
  return result;
}

void compute(array_block *block) {
  // The arrays below may be dropped by others while we work.
  ref<array_block> keep = ref<array_block>::share(block);
  group_task group;
  group.t.name = operation_of(block->waiting->op).name;
  if (!group.claim_root(block)) {
    return;
  }
  if (!compute_directly(block)) {
    space_of(block, group.t.shape);
    group.start_program(nullptr, 0);
    group.add_claimed_outputs();
    group.run();
  }
  group.finish();
}

[[maybe_unused]] const bool installed = (compute_waiting = compute, true);

// Runs an operation now, with what waits below it; the results have the group's space.
void run_now(op_id op, scalar_id computation, const call_operands &operands, group_task &group,
             ref<array_block> *results) {
  task &t = group.t;
  t.name = operation_of(op).name;
  t.failure = operation_of(op).failure;
  int count = operation_of(op).noutputs;
  axis_order order = order_like(t.shape, operands.block, operands.count);
  for (int i = 0; i < count; i++) {
    results[i] = new_result(t.shape, result_type(op, i, computation), 0, order);
    allocate_values(results[i].get(), t.shape);
    if (observation *watching = current_observation(); watching && watching->tracing) {
      // The trace shows what stands at the destination.
      buffer *memory = as_buffer(results[i]->values().owner);
      std::memset(memory->data, 0, memory->size);
    }
  }
  group.claim(operands.block, operands.count, operands.dying, *results[0], count);
  group.start_program(operands.block, operands.count);
  uint8_t regs[3], outputs[2];
  for (int i = 0; i < operands.count; i++) {
    regs[i] = group.register_of(operands.block[i]);
  }
  group.add_operation(op, computation, regs, operands.count, outputs);
  for (int i = 0; i < count; i++) {
    group.add_output(outputs[i], results[i].get());
  }
  group.add_claimed_outputs();
  group.run();
  group.finish();
}

void check_count(op_id op, const call_operands &operands) {
  const operation &r = operation_of(op);
  if (operands.count != r.noperands) {
    fail(error_kind::type, std::string(r.name) + ": takes " + std::to_string(r.noperands) + " operands, not " +
                               std::to_string(operands.count));
  }
}

} // namespace

bool have_scalars(const call_operands &operands) {
  auto has_scalars = [](const array_block *block) { return block->has_scalars(); };
  return std::all_of(operands.block, operands.block + operands.count, has_scalars);
}

ref<array_block> scalars_of(array_block *operand) {
  ndt::type dtype(operand->type->dtype);
  while (dtype->kind == type_kind::byteswap || dtype->kind == type_kind::pointer) {
    dtype = dtype.element();
  }
  bool read = dtype->kind == type_kind::scalar && !operand->has_scalars();
  return read ? copy_values(operand, access_mode::immutable, dtype) : ref<array_block>::share(operand);
}

read_operands::read_operands(const call_operands &operands) {
  for (int i = 0; i < operands.count; i++) {
    kept[i] = scalars_of(operands.block[i]);
    block[i] = kept[i].get();
  }
}

void need_scalars(const char *operation, array_block *const *operands, int count) {
  for (int i = 0; i < count; i++) {
    if (!operands[i]->has_scalars()) [[unlikely]] {
      fail(error_kind::type, std::string(operation) + ": there is no such operation for elements of type " +
                                 operands[i]->type->dtype->text);
    }
  }
}

ref<array_block> evaluate(op_id op, const call_operands &operands) {
  check_count(op, operands);
  if (!have_scalars(operands)) [[unlikely]] {
    if (compares_elements(op)) {
      return compare_elements(op, operands.block[0], operands.block[1]);
    }
    read_operands read(operands);
    need_scalars(operation_of(op).name, read.block, operands.count);
    return evaluate(op, {read.block, operands.count});
  }
  if (array_block *result = try_direct(op, operands)) [[likely]] {
    return ref<array_block>::adopt(result);
  }
  scalar_id computation = computation_of(op, operands);
  group_task group;
  broadcast_space(operation_of(op).name, operands.block, operands.count, group.t.shape);
  size_t bytes = value_bytes(group.t.shape, result_type(op, 0, computation));
  waiting_op bounds;
  if (may_wait(op, computation, operands, bytes, bounds)) {
    return make_waiting(op, computation, operands, group.t.shape, bounds);
  }
  ref<array_block> result;
  run_now(op, computation, operands, group, &result);
  return result;
}

void evaluate2(op_id op, const call_operands &operands, ref<array_block> *results) {
  check_count(op, operands);
  if (!have_scalars(operands)) [[unlikely]] {
    read_operands read(operands);
    need_scalars(operation_of(op).name, read.block, operands.count);
    return evaluate2(op, {read.block, operands.count}, results);
  }
  scalar_id computation = computation_of(op, operands);
  group_task group;
  broadcast_space(operation_of(op).name, operands.block, operands.count, group.t.shape);
  run_now(op, computation, operands, group, results);
}

namespace {

// The source as the values of `dst`'s type, into memory that is there. `name` is what messages and traces say.
void assign_values(const char *name, const space &shape, array_block *dst, array_block *src, error_mode mode) {
  group_task group;
  task &t = group.t;
  t.name = name;
  t.shape = shape;
  scalar_id to = dst->scalar(), from = src->scalar();
  const isa_table &functions = isa();
  block_fn convert = functions.convert_checked(mode, to, from);
  if (convert != functions.convert(to, from)) {
    t.checks = mode;
    force(src); // what waits below is no part of the conversion: its values are there to be named
  }
  group.claim(&src, 1, 0, *dst);
  group.start_program(&src, 1);
  uint8_t reg = group.register_of(src);
  program_step step = {
      convert,    functions.convert_stream(mode, to, from), nullptr, "copy", reg, no_register, no_register, 0,
      no_register};
  group.add_output(t.p.add_step(step, dst->scalar()), dst);
  group.add_claimed_outputs();
  group.run();
  group.finish();
}

// The bytes that the values from `axis` on may touch; rows are looked at.
void add_touched(const array_block &x, int axis, char *const *at, byte_interval &all) {
  bool rows = std::any_of(x.size() + axis, x.size() + x.ndim, [](intptr_t size) { return size < 0; });
  if (rows) {
    dimension_walk dimension(x, axis, at);
    char *inner[max_ndim + 1];
    for (int64_t i = 0; i < dimension.size(); i++) {
      dimension.enter(i, inner);
      add_touched(x, axis + 1, inner, all);
    }
    return;
  }
  byte_interval own = touched_bytes(at[x.nstreams - 1], {x.size() + axis, size_t(x.ndim - axis)},
                                    x.value_strides() + axis, intptr_t(x.item_size()));
  if (own.low != own.high) {
    all = all.low == all.high ? own : byte_interval{std::min(all.low, own.low), std::max(all.high, own.high)};
  }
}

byte_interval touched_by(const array_block &x) {
  char *at[max_ndim + 1];
  for (int s = 0; s < x.nstreams; s++) {
    at[s] = x.streams()[s].address;
  }
  byte_interval all = {0, 0};
  add_touched(x, 0, at, all);
  return all;
}

// Rows that may get their memory from an assignment.
bool has_pool(const array_block *block) {
  for (int s = 0; s < block->nstreams; s++) {
    if (as_pool(block->streams()[s].owner)) {
      return true;
    }
  }
  return false;
}

// By addresses: different owners may lend the same memory.
bool shares_memory(const array_block *a, const array_block *b) { return may_overlap(touched_by(*a), touched_by(*b)); }

} // namespace

namespace {

// Dense, of the same sizes, too little for threads and within the cache, and apart: one call of the compiled
// conversion. False if it is not so, or if a value is refused: then the general way says which.
bool try_direct_assign(array_block *dst, array_block *src, error_mode mode) {
  if (!is_plain(dst) || !is_plain(src) || dst->count >= threads_from || dst->ndim != src->ndim ||
      !std::equal(dst->size(), dst->size() + dst->ndim, src->size()) || current_observation() ||
      !direct_enabled.load(std::memory_order_relaxed)) {
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
  block_fn convert = isa().convert_checked(mode, dst->scalar(), src->scalar());
  return convert(to, from, nullptr, nullptr, count, nullptr) == 0;
}

} // namespace

void assign(array_block *dst, array_block *src, error_mode mode) {
  if (dst->access != access_mode::readwrite) {
    fail(error_kind::type, std::string("assign: the destination is ") +
                               (dst->access == access_mode::immutable ? "immutable" : "readonly") +
                               "; make it with access='rw'");
  }
  if (try_direct_assign(dst, src, mode)) {
    return;
  }
  if (!dst->has_scalars() || !src->has_scalars() || has_pool(dst)) {
    return assign_elements(dst, src, mode);
  }
  space shape;
  space_of(dst, shape);
  check_broadcasts_to("assign", &src, 1, shape);
  force(src);
  ref<array_block> apart; // on overlap the source is copied first
  if (shares_memory(dst, src)) {
    apart = copy_values(src, access_mode::immutable);
    src = apart.get();
  }
  assign_values("assign", shape, dst, src, mode);
}

ref<array_block> convert_values(array_block *source, access_mode access, ndt::type type, error_mode mode) {
  if (ndt::with_dtype(ndt::type(source->type), type.dtype()) == type) {
    return copy_values(source, access, type.dtype(), mode);
  }
  return convert_elements(source, type.get(), access, mode);
}

ref<array_block> copy_values(array_block *source, access_mode access, ndt::type dtype, error_mode mode) {
  if (!source->has_scalars() || dtype->kind != type_kind::scalar) {
    ndt::type type = ndt::with_dtype(ndt::type(source->type), dtype);
    return convert_elements(source, type.get(), access, mode);
  }
  scalar_id scalar = dtype->scalar;
  space shape;
  broadcast_space("copy", &source, 1, shape);
  for (int d = 0; d < source->ndim; d++) { // keep the kinds of dimensions, size 1 included
    shape.fixed[d] = ndt::type(source->type).at_depth(d)->kind == type_kind::fixed_dim;
  }
  ref<array_block> result = new_result(shape, scalar);
  allocate_values(result.get(), shape);
  result->access = access;
  if (access != access_mode::immutable) {
    result->flags &= uint8_t(~flag_ours);
  }
  unwatched_scope unwatched;
  assign_values("copy", shape, result.get(), source, mode);
  return result;
}

eager_scope::eager_scope() { eager_depth++; }
eager_scope::~eager_scope() { eager_depth--; }

bool is_direct() { return direct_enabled.load(std::memory_order_relaxed); }

void set_direct(bool on) { direct_enabled.store(on); }

} // namespace dynd
