// Making arrays of any type: strides in C order, arrays without values, and arrays from values that come one after
// another.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dynd/array/block.h"
#include "dynd/base/errors.h"
#include "dynd/type/part.h"

namespace dynd {

inline bool has_role(const type_data *type, stream_role role) {
  return std::find(type->roles, type->roles + type->nstreams, role) != type->roles + type->nstreams;
}
/// Whether what the stream leads to, of a writable array, gets its memory from a pool: rows, texts, behind pointers.
inline bool has_pool(stream_role role) {
  return role == stream_role::rows || role == stream_role::texts || role == stream_role::index;
}

/// Bytes of one element of a stream; of slots, of that kind.
size_t stream_item(const type_data *type, int stream, slot_kind kind = slot_kind::pairs64);
inline size_t stream_item(const array_block &block, int s) {
  return stream_item(block.type, s, block.streams()[s].kind);
}

/// Calls f with the size of an item as a constant, where it is a power of two up to 16; else with the size itself.
template <class F> auto with_item(size_t item, F f) {
  switch (item) {
  case 1:
    return f(std::integral_constant<size_t, 1>());
  case 2:
    return f(std::integral_constant<size_t, 2>());
  case 4:
    return f(std::integral_constant<size_t, 4>());
  case 8:
    return f(std::integral_constant<size_t, 8>());
  case 16:
    return f(std::integral_constant<size_t, 16>());
  default:
    return f(item);
  }
}

/// Calls f with an unsigned integer of that many bytes, a power of two up to 16: the size of a scalar.
template <class F> auto with_word(size_t item, F f) {
  switch (item) {
  case 1:
    return f(uint8_t());
  case 2:
    return f(uint16_t());
  case 4:
    return f(uint32_t());
  case 8:
    return f(uint64_t());
  case 16:
    return f((unsigned __int128)(0));
  default:
    fail(error_kind::internal, "no word has " + std::to_string(item) + " bytes");
  }
}

/// The strides of a stream whose items follow each other along the dimensions up to `last`, from the `var` one outside
/// of it (size -1) or the first on; 0 in those outside of that.
///   (2, var, 3), last 2, 16 bytes each: 0 48 16
inline void set_item_strides(intptr_t *stride, const intptr_t *size, int last, intptr_t item) {
  std::fill_n(stride, last + 1, 0);
  for (int d = last; d >= 0; d--) {
    stride[d] = item;
    if (size[d] < 0) {
      return;
    }
    item = intptr_t(size_t(item) * size_t(size[d]));
  }
}

/// Sets the strides of all streams as elements in C order without gaps have them. Sizes and kinds of slots are set.
void set_c_order(array_block &block);

/// A writable array of any type whose values are zero: rows, strings and pointers have no memory, and get it from the
/// assignment that first writes them. `size` has a size for each strided dimension of the type, inside of elements too.
ref<array_block> new_empty(const type_data *type, const intptr_t *size);

namespace nd {
/// The sizes of the dimensions outside of the elements: those given, or from the type alone. Those inside are -1. An
/// error of the operation where there is no type, or where a size is not known or does not fit the type.
void find_sizes(const char *name, ndt::type type, const intptr_t *given, intptr_t *size);
} // namespace nd

/// An array that new_empty made becomes immutable: what its pools hold goes to memory of its own size.
void settle(array_block &block);

/// Memory that grows as it is written, and then is a buffer.
class growing_buffer {
public:
  size_t size() const { return size_; }
  char *data() { return memory_->data; }
  /// Room for so many bytes more, not zeroed.
  char *add(size_t bytes) {
    if (bytes > capacity_ - size_) {
      reserve(std::max(size_ + bytes, 2 * capacity_));
    }
    size_ += bytes;
    return memory_->data + size_ - bytes;
  }
  void reserve(size_t bytes);
  ref<buffer> finish(); ///< of about its size

private:
  ref<buffer> memory_ = allocate_buffer(0);
  size_t size_ = 0, capacity_ = 0;
};

/// Collects the elements of a new array in C order, each stream's in memory of its own. The caller walks the type and
/// says what is at each part; sizes of strided dimensions are those that come first.
class array_writer {
public:
  explicit array_writer(ndt::type type);

  void add_value(int stream, const void *value, size_t size);
  /// Room for values that the caller writes, before anything else is added to the stream.
  char *add_space(int stream, size_t size);
  /// All that will be added to the stream, where the caller knows it.
  void expect(int stream, size_t size) { bytes_[size_t(stream)].reserve(size); }
  void add_text(int stream, std::string_view text); ///< the slots; the bytes go to the next stream
  void add_valid(int stream, bool valid);
  void add_row(int stream, intptr_t length); ///< its elements come next
  void add_pointer(int stream);              ///< its value comes next
  /// A dimension of one size begins; false where its size differs from the one before.
  bool add_size(int dim, intptr_t size);
  intptr_t size(int dim) const { return size_[size_t(dim)]; } ///< -1: not known yet
  /// The elements that a missing value has nevertheless: zeros, empty rows and texts.
  void add_nothing(const type_part &part);

  /// The array. Its rows, texts and pointers are as they came; a copy has others, which can be replaced.
  ref<array_block> finish(access_mode access);

private:
  ndt::type type_;
  std::vector<growing_buffer> bytes_; // of each stream; of slots, offsets
  std::vector<intptr_t> size_;        // of each dimension, -1 where it is not known or there is none
  std::vector<bool> strided_;
};

} // namespace dynd
