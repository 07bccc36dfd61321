// What an array is in memory: a type, sizes, and streams (an address with one stride for each dimension).
//
//   array_block | size[all_ndim] | stream[nstreams] | stride[nstreams][all_ndim] | lazy_operation, small data, or
//   neither
//
// Of an array of scalars: one stream for each `var` dimension (its slots, outermost first), then one for the values.
// Slots are absolute: a stream that belongs below a `var` dimension has stride 0 in the dimensions outside of it and
// starts again at the content. `strided * var * T` with three rows of int64 offsets: size {3, -1}; slots {stride 8, 0};
// values {0, 8}. Elements that are not scalars have several streams, and may have dimensions inside: their numbering is
// the type's (type.h). `ndim` counts the dimensions outside of the elements only, and values() is for scalars.
//
// A slice inside the rows, a[:, ::2], has slots of its own with step 2: the streams below take strides of two elements,
// while the rows' starts go on counting single ones (stride / step).
#pragma once

#include "dynd/base/counted.h"
#include "dynd/memory/buffer.h"
#include "dynd/type/slots.h"
#include "dynd/type/type.h"

namespace dynd {

enum class op_id : uint8_t; // ops/op_id.h

enum class access_mode : uint8_t {
  immutable, ///< never written any more
  readonly,  ///< not written through this array; another owner of the memory may write it
  readwrite
};

/// lazy: the values are still to be computed; running: a thread computes them now.
enum class array_state : uint8_t { ready, lazy, running };

enum array_flags : uint8_t {
  flag_ours = 1,  ///< immutable memory that the library allocated: an operation on it may be lazy
  flag_dense = 2, ///< no `var` dimension, values in C order without gaps
  /// int64 that are not in memory: addresses and strides count the elements (number_origin, kernel/chain.h), which are
  /// their own numbers. Such arrays are inputs of lazy operations only; a chain makes the values as it goes.
  flag_numbers = 4
};

struct stream {
  char *address;
  counted *owner;   ///< null: the data is in this block
  slot_kind kind;   ///< of the rows' slots; none for values
  int32_t step = 1; ///< of slots: the rows are every step-th element of the content, in which the starts count
};

struct array_block;

/// How a lazy array is computed whose elements are no numbers.
struct lazy_elements : counted {
  /// Sets the streams of the elements; the caller has claimed the block, so that its inputs are there.
  void (*compute)(const lazy_elements &self, array_block *block);
  /// A field of the elements as an array of its own, which may be lazy again: nothing else is computed. The block's
  /// inputs, which are there while it runs.
  ref<array_block> (*field)(const lazy_elements &self, array_block *const *input, int i);
};

/// How the values of a lazy array are computed: by an operation, an external function, a function of whole rows, or,
/// where its elements are no numbers, as lazy_elements says.
struct lazy_operation {
  op_id op;
  scalar_id computation; ///< what the operands are converted to
  uint8_t ninputs;
  bool of_rows;             ///< one value for each row of its input, with size 1 in the last dimension
  size_t held;              ///< bytes of the ready arrays among its inputs
  counted *external;        ///< an external_function, of rows a lazy_row_operation, owned; null: the operation
  bool of_elements = false; ///< `external` is a lazy_elements
  array_block *input[];     ///< owned

  static size_t bytes(int ninputs) { return sizeof(lazy_operation) + size_t(ninputs) * sizeof(array_block *); }
};

struct array_block : counted {
  uint8_t ndim, nstreams, all_ndim;
  access_mode access;
  uint8_t flags;
  std::atomic<array_state> state;
  uint8_t size_class; ///< of the memory of this block, see block.cpp
  const type_data *type;
  intptr_t count;       ///< elements, -1 for a ragged array
  lazy_operation *lazy; ///< in this block; null where it was never lazy

  intptr_t *size() { return reinterpret_cast<intptr_t *>(this + 1); }
  const intptr_t *size() const { return reinterpret_cast<const intptr_t *>(this + 1); }
  stream *streams() { return reinterpret_cast<stream *>(size() + all_ndim); }
  const stream *streams() const { return reinterpret_cast<const stream *>(size() + all_ndim); }
  intptr_t *strides(int s) { return reinterpret_cast<intptr_t *>(streams() + nstreams) + s * all_ndim; }
  const intptr_t *strides(int s) const {
    return reinterpret_cast<const intptr_t *>(streams() + nstreams) + s * all_ndim;
  }
  stream &values() { return streams()[nstreams - 1]; }
  const stream &values() const { return streams()[nstreams - 1]; }
  intptr_t *value_strides() { return strides(nstreams - 1); }
  const intptr_t *value_strides() const { return strides(nstreams - 1); }
  bool is_ready() const { return state.load(std::memory_order_acquire) == array_state::ready; }
  scalar_id scalar() const { return type->scalar; }
  bool has_scalars() const { return type->scalar != not_scalar; }
  size_t item_size() const { return scalar_size[size_t(type->scalar)]; }
  /// Whether the rows of this dimension outside of the elements have lengths of their own.
  bool is_var(int axis) const { return size()[axis] < 0; }
  /// Which dimension the slots of stream s belong to: the s-th `var` dimension outside of the elements.
  int var_axis(int s) const;
  /// The reverse: the stream with the slots of a `var` dimension.
  int slot_stream(int axis) const;
};

/// A block of that type with only the header filled in: the caller writes sizes, streams and strides before anything
/// else can fail (owners are null, so it can be dropped). `extra` bytes of small data or a lazy_operation follow it,
/// 16-byte aligned, at `small_data`.
ref<array_block> new_block(const type_data *type, access_mode access, uint8_t flags, size_t extra = 0);
char *small_data(array_block *block);
inline constexpr size_t inline_limit = 256; ///< bytes of small data; more gets its own, 64-byte aligned memory
/// The owner as a block that holds small data, null when it is something else.
array_block *as_block(counted *owner);

/// A dense array of that type (no `var` in it) and these sizes, its values not set.
ref<array_block> new_dense(const type_data *type, const intptr_t *size, access_mode access = access_mode::immutable);

/// A zero-dimensional array that holds the element at `value`.
ref<array_block> new_scalar(scalar_id scalar, const void *value);

/// Gives the block's values memory for `bytes`.
void give_values(array_block *block, size_t bytes);

/// A stream of a block, for another block that shares its data: it has an owner, which is retained.
stream shared_stream(array_block &block, int s);

/// Sets the count and flag_dense of a block of scalars without rows, whose sizes and strides are set.
void note_density(array_block &block);

/// Gives blocks that this thread keeps for reuse back to the system.
void trim_blocks();

/// Number of elements; an error (kind memory) when it does not fit.
intptr_t checked_count(const intptr_t *size, int ndim, size_t item_size);

/// Bytes that lazy arrays keep alive, in the whole process.
extern std::atomic<intptr_t> lazy_bytes;

/// Computes a lazy array. eval/ sets it: this layer does not know operations.
extern void (*materialize_lazy)(array_block *block);

/// A field of a lazy array whose elements are no numbers; null where it is not lazy any more. eval/ sets it.
extern ref<array_block> (*field_of_lazy)(array_block *block, int i);

/// The values are there when this returns; throws when they cannot be computed.
inline void materialize(array_block *block) {
  if (!block->is_ready()) [[unlikely]] {
    materialize_lazy(block);
  }
}

} // namespace dynd
