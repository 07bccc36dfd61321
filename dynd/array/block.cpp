#include "dynd/array/block.h"

#include <cstring>
#include <new>

#include "dynd/base/errors.h"

namespace dynd {

void (*materialize_lazy)(array_block *block) = nullptr;
ref<array_block> (*field_of_lazy)(array_block *block, int i) = nullptr;
std::atomic<intptr_t> lazy_bytes = 0;

namespace {

size_t block_size(size_t ndim, size_t nstreams) {
  size_t size = sizeof(array_block) + ndim * sizeof(intptr_t) + nstreams * (sizeof(stream) + ndim * sizeof(intptr_t));
  return (size + 15) / 16 * 16;
}

// ---- memory for blocks --------------------------------------------------------------------------------------------

// Small blocks are kept by the thread that drops them, to be used again: malloc and free cost 18 ns, of a 35 ns budget
// for a[i] from Python. Class c holds blocks of 128 << c bytes.
constexpr int class_count = 2;
constexpr uint8_t no_class = 255;
constexpr int most_kept = 32;

struct kept_blocks {
  void *block[class_count][most_kept];
  int count[class_count];
  int room; // for each class: 0 until the thread is known to end in end_of_thread, and after that
  bool registered;
};
__attribute__((tls_model("initial-exec"))) thread_local kept_blocks kept;

// Its destructor runs when the thread ends; `kept` itself has none, so that reaching it costs nothing.
struct end_of_thread {
  ~end_of_thread() {
    kept.room = 0;
    trim_blocks();
  }
};

void register_thread() {
  static thread_local end_of_thread end;
  (void)&end;
  kept.registered = true;
  kept.room = poisoning ? 0 : most_kept;
}

void *new_memory(size_t bytes) {
  void *memory = ::operator new(bytes, std::nothrow);
  if (memory && poisoning) {
    poison(memory, bytes);
  }
  return memory;
}

void *take_memory(size_t bytes, uint8_t *size_class) {
  int c = bytes <= 128 ? 0 : 1;
  if (!recycling || bytes > 256) {
    *size_class = no_class;
    return new_memory(bytes);
  }
  *size_class = uint8_t(c);
  if (kept.count[c] > 0) [[likely]] {
    return kept.block[c][--kept.count[c]];
  }
  return new_memory(size_t(128) << c);
}

void give_memory_back(void *memory, uint8_t c) {
  if (!kept.registered) [[unlikely]] {
    register_thread();
  }
  if (c == no_class || kept.count[c] >= kept.room) {
    ::operator delete(memory);
    return;
  }
  kept.block[c][kept.count[c]++] = memory;
}

// ---- destruction --------------------------------------------------------------------------------------------------

void drop_inputs(lazy_operation *op, array_block *&list);

// Destruction is iterative: a chain of a thousand lazy operations must not need a thousand stack frames. Blocks
// whose references drop to zero are put on `list`, linked through `count`.
void free_block(array_block *block, array_block *&list) {
  if (block->lazy && block->lazy->ninputs) {
    lazy_bytes.fetch_sub(intptr_t(block->lazy->held), std::memory_order_relaxed);
    drop_inputs(block->lazy, list);
    if (block->lazy->external) {
      release(block->lazy->external);
    }
  }
  for (int s = 0; s < block->nstreams; s++) {
    if (counted *owner = block->streams()[s].owner) {
      release(owner);
    }
  }
  give_memory_back(block, block->size_class);
}

void drop_inputs(lazy_operation *op, array_block *&list) {
  for (int i = 0; i < op->ninputs; i++) {
    array_block *input = op->input[i];
    if (input && input->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      // `count` is free to use now: this block has no other owner.
      input->count = reinterpret_cast<intptr_t>(list);
      list = input;
    }
  }
}

void destroy_block(counted *self) noexcept {
  array_block *list = nullptr;
  free_block(static_cast<array_block *>(self), list);
  while (list) {
    array_block *block = list;
    list = reinterpret_cast<array_block *>(block->count);
    free_block(block, list);
  }
}

// Memory of that size with the header filled in.
inline array_block *start_block(size_t bytes, const type_data *type, access_mode access, uint8_t flags) {
  uint8_t size_class;
  void *memory = take_memory(bytes, &size_class);
  if (!memory) {
    fail(error_kind::memory, "cannot allocate an array");
  }
  auto *block = static_cast<array_block *>(memory);
  new (&block->refs) std::atomic<intptr_t>(1);
  new (&block->state) std::atomic<array_state>(array_state::ready);
  block->destroy = destroy_block;
  block->ndim = type->ndim;
  block->nstreams = type->nstreams;
  block->all_ndim = type->all_ndim;
  block->access = access;
  block->flags = flags;
  block->type = type;
  block->count = -1;
  block->lazy = nullptr;
  block->size_class = size_class;
  return block;
}

} // namespace

int array_block::var_axis(int s) const {
  const type_data *t = type;
  for (int axis = 0;; axis++, t = t->element) {
    if (t->kind == type_kind::var_dim && s-- == 0) {
      return axis;
    }
  }
}

int array_block::slot_stream(int axis) const {
  int s = 0;
  for (int d = 0; d < axis; d++) {
    s += is_var(d);
  }
  return s;
}

array_block *as_block(counted *owner) {
  return owner && owner->destroy == destroy_block ? static_cast<array_block *>(owner) : nullptr;
}

ref<array_block> new_block(const type_data *type, access_mode access, uint8_t flags, size_t extra) {
  array_block *block = start_block(block_size(type->all_ndim, type->nstreams) + extra, type, access, flags);
  for (int s = 0; s < type->nstreams; s++) {
    block->streams()[s] = {nullptr, nullptr, slot_kind::none};
  }
  return ref<array_block>::adopt(block);
}

void note_density(array_block &block) {
  if (!block.has_scalars() || block.nstreams != 1) {
    return;
  }
  intptr_t chained = intptr_t(block.item_size()), count = 1;
  bool dense = true;
  for (int d = block.ndim - 1; d >= 0; d--) {
    intptr_t size = block.size()[d];
    dense &= size == 1 || block.value_strides()[d] == chained;
    chained = intptr_t(size_t(chained) * size_t(size));
    count *= size;
  }
  block.count = count;
  block.flags |= dense || count == 0 ? flag_dense : 0;
}

stream shared_stream(array_block &block, int s) {
  stream shared = block.streams()[s];
  shared.owner = shared.owner ? shared.owner : &block;
  retain(shared.owner);
  return shared;
}

void trim_blocks() {
  for (int c = 0; c < class_count; c++) {
    while (kept.count[c] > 0) {
      ::operator delete(kept.block[c][--kept.count[c]]);
    }
  }
}

char *small_data(array_block *block) {
  return reinterpret_cast<char *>(block) + block_size(block->all_ndim, block->nstreams);
}

namespace {

// Apart from the count, which is inlined where a small array is made.
[[noreturn, gnu::cold, gnu::noinline]] void fail_too_large(const intptr_t *size, int ndim) {
  std::string text = "array is too large: sizes (";
  for (int d = 0; d < ndim; d++) {
    text += (d ? ", " : "") + std::to_string(size[d]);
  }
  fail(error_kind::memory, text + ")");
}

} // namespace

intptr_t checked_count(const intptr_t *size, int ndim, size_t item_size) {
  // With a zero size somewhere the product is 0, whatever the other sizes are.
  intptr_t count = 1;
  bool overflow = false;
  for (int d = 0; d < ndim; d++) {
    if (size[d] == 0) {
      return 0;
    }
    overflow |= __builtin_mul_overflow(count, size[d], &count);
  }
  intptr_t bytes;
  if (overflow || __builtin_mul_overflow(count, intptr_t(item_size), &bytes)) {
    fail_too_large(size, ndim);
  }
  return count;
}

ref<array_block> new_scalar(scalar_id scalar, const void *value) {
  // a[i] and Python numbers come this way: everything is known but the item.
  constexpr size_t header = (sizeof(array_block) + sizeof(stream) + 15) / 16 * 16;
  array_block *block = start_block(header + max_scalar_size, ndt::make_scalar(scalar).get(), access_mode::immutable,
                                   flag_dense | flag_ours);
  block->count = 1;
  char *data = reinterpret_cast<char *>(block) + header;
  block->streams()[0] = {data, nullptr, slot_kind::none};
  switch (scalar_size[size_t(scalar)]) { // a memcpy of unknown size costs 20 ns
  case 16:
    std::memcpy(data, value, 16);
    break;
  case 8:
    std::memcpy(data, value, 8);
    break;
  case 4:
    std::memcpy(data, value, 4);
    break;
  case 2:
    std::memcpy(data, value, 2);
    break;
  default:
    *data = *static_cast<const char *>(value);
  }
  return ref<array_block>::adopt(block);
}

void give_values(array_block *block, size_t bytes) {
  ref<buffer> memory = allocate_buffer(bytes);
  block->values().address = memory->data;
  block->values().owner = memory.take();
}

ref<array_block> new_dense(const type_data *type, const intptr_t *size, access_mode access) {
  size_t item = scalar_size[size_t(type->scalar)];
  int ndim = type->ndim;
  intptr_t count = checked_count(size, ndim, item);
  size_t bytes = size_t(count) * item;
  bool small = bytes <= inline_limit;
  ref<array_block> block =
      new_block(type, access, flag_dense | (access == access_mode::immutable ? flag_ours : 0), small ? bytes : 0);
  intptr_t stride = intptr_t(item);
  intptr_t *strides = block->value_strides();
  for (int d = ndim - 1; d >= 0; d--) {
    block->size()[d] = size[d];
    strides[d] = stride;
    stride = intptr_t(size_t(stride) * size_t(size[d])); // wraps harmlessly when some size is 0
  }
  block->count = count;
  if (small) {
    block->values().address = small_data(block.get());
  } else {
    give_values(block.get(), bytes);
  }
  return block;
}

} // namespace dynd
