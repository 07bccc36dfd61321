#include "dynd/kernel/core_blocks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "dynd/kernel/level.h"
#include "dynd/type/slots.h"

namespace dynd {

namespace {

constexpr size_t block_alignment = 16;
constexpr intptr_t tile = 8; // columns of a transposed copy that are written side by side

/// A copy between two layouts of the same elements.
struct block_walk {
  int ndim = 0;
  intptr_t size[max_ndim + 2], to[max_ndim + 2], from[max_ndim + 2]; // outer elements, core dimensions, bytes

  void add(intptr_t n, intptr_t to_stride, intptr_t from_stride) {
    size[ndim] = n;
    to[ndim] = to_stride;
    from[ndim++] = from_stride;
  }
};

struct sixteen_bytes {
  char bytes[16];
};

template <class T> void copy_line(char *to, intptr_t to_stride, const char *from, intptr_t from_stride, intptr_t n) {
  if (to_stride == sizeof(T) && from_stride == sizeof(T)) {
    std::memcpy(to, from, size_t(n) * sizeof(T));
    return;
  }
  for (intptr_t i = 0; i < n; i++, to += to_stride, from += from_stride) {
    std::memcpy(to, from, sizeof(T));
  }
}

// Along the two last dimensions; where they are near each other in another order, some columns at a time.
template <class T> void copy_plane(const block_walk &w, char *to, const char *from) {
  int d = w.ndim - 2;
  bool turned = std::abs(w.from[d]) < std::abs(w.from[d + 1]) || std::abs(w.to[d]) < std::abs(w.to[d + 1]);
  if (!turned) {
    for (intptr_t i = 0; i < w.size[d]; i++) {
      copy_line<T>(to + i * w.to[d], w.to[d + 1], from + i * w.from[d], w.from[d + 1], w.size[d + 1]);
    }
    return;
  }
  for (intptr_t begin = 0; begin < w.size[d]; begin += tile) {
    intptr_t columns = std::min(tile, w.size[d] - begin);
    for (intptr_t j = 0; j < w.size[d + 1]; j++) {
      copy_line<T>(to + begin * w.to[d] + j * w.to[d + 1], w.to[d], from + begin * w.from[d] + j * w.from[d + 1],
                   w.from[d], columns);
    }
  }
}

template <class T> void copy_dims(const block_walk &w, int dim, char *to, const char *from) {
  if (w.ndim == 0) {
    std::memcpy(to, from, sizeof(T));
  } else if (w.ndim == 1) {
    copy_line<T>(to, w.to[0], from, w.from[0], w.size[0]);
  } else if (dim == w.ndim - 2) {
    copy_plane<T>(w, to, from);
  } else {
    for (intptr_t i = 0; i < w.size[dim]; i++) {
      copy_dims<T>(w, dim + 1, to + i * w.to[dim], from + i * w.from[dim]);
    }
  }
}

void copy_elements(const block_walk &w, int width, char *to, const char *from) {
  switch (width) {
  case 1:
    return copy_dims<uint8_t>(w, 0, to, from);
  case 2:
    return copy_dims<uint16_t>(w, 0, to, from);
  case 4:
    return copy_dims<uint32_t>(w, 0, to, from);
  case 8:
    return copy_dims<uint64_t>(w, 0, to, from);
  case 16:
    return copy_dims<sixteen_bytes>(w, 0, to, from);
  default: { // a text of a fixed length: its bytes are one more dimension
    block_walk bytes = w;
    bytes.add(width, 1, 1);
    return copy_dims<uint8_t>(bytes, 0, to, from);
  }
  }
}

// The bytes of one block, rounded so that the next one is aligned; false where they are too many to be counted.
bool bytes_of(const packed_operand &p, const core_arguments &at, size_t i, size_t &bytes) {
  bytes = size_t(p.item);
  bool overflow = false;
  for (int8_t s : p.sizes) {
    overflow |= __builtin_mul_overflow(bytes, size_t(at.size(s, i)), &bytes);
  }
  overflow |= __builtin_add_overflow(bytes, block_alignment - 1, &bytes);
  bytes &= ~(block_alignment - 1);
  return !overflow;
}

// The core dimensions of a block: its strides in the array, and in scratch.
void add_dims(block_walk &w, const packed_operand &p, const packed_stream &s, const core_arguments &at, size_t i,
              bool back) {
  intptr_t packed[max_ndim], step = p.item;
  int ndim = int(p.sizes.size());
  for (int k = 0; k < ndim; k++) {
    int d = p.f_order ? k : ndim - 1 - k;
    packed[d] = step;
    step *= at.size(p.sizes[size_t(d)], i);
  }
  for (int d = 0; d < ndim; d++) {
    w.add(at.size(p.sizes[size_t(d)], i), back ? s.stride[d] : packed[d], back ? packed[d] : s.stride[d]);
  }
}

void copy_stream(const block_walk &w, const packed_stream &s, char *array, char *packed, bool back) {
  for (int d = 0; d < w.ndim; d++) {
    if (w.size[d] == 0) {
      return;
    }
  }
  copy_elements(w, s.width, back ? array : packed + s.offset, back ? packed + s.offset : array);
}

} // namespace

bool packed_blocks::is_once(const packed_operand &p) const {
  const intptr_t *own = stride_ + p.from.stream;
  return p.from.slots < 0 && !p.written && std::all_of(own, own + p.streams.size(), [](intptr_t s) { return s == 0; });
}

size_t packed_blocks::count_that_fits(const core_arguments &at, size_t n, size_t *bytes) const {
  size_t total = 0, fits = 0;
  for (; fits < n; fits++) {
    size_t more = 0, own[max_core_operands] = {};
    for (size_t k = 0; k < all_.size(); k++) {
      if (fits && is_once(all_[k])) {
        continue;
      }
      if (!bytes_of(all_[k], at, fits, own[k]) || __builtin_add_overflow(more, own[k], &more)) {
        return 0;
      }
    }
    if (fits && total + more > packed_bytes) {
      break;
    }
    total += more;
    for (size_t k = 0; k < all_.size(); k++) {
      bytes[k] += own[k];
    }
  }
  return fits;
}

char *packed_blocks::room(size_t bytes) {
  if (bytes <= packed_bytes) {
    return scratch_;
  }
  if (bytes > large_size_) {
    large_.reset(new (std::nothrow) char[bytes]);
    large_size_ = large_ ? bytes : 0;
  }
  return large_.get();
}

size_t packed_blocks::take(core_arguments &at, size_t begin, size_t n, int64_t *tables) {
  size_t all_bytes[max_core_operands] = {};
  begin_ = begin;
  taken_ = count_that_fits(at, n, all_bytes);
  size_t total = 0;
  for (size_t k = 0; k < all_.size(); k++) {
    total += all_bytes[k];
  }
  char *memory = taken_ ? room(total) : nullptr;
  for (size_t k = 0; memory && k < all_.size(); k++) {
    const packed_operand &p = all_[k];
    size_t bytes = 0;
    if (p.from.slots < 0) {
      bytes_of(p, at, 0, bytes);
      at.stride[p.operand] = is_once(p) ? 0 : intptr_t(bytes);
      at.row[p.operand] = nullptr;
    } else {
      int64_t *rows = tables + size_t(p.operand) * core_batch, next = 0;
      for (size_t i = 0; i < taken_; i++, next += int64_t(bytes)) {
        rows[i] = next;
        bytes_of(p, at, i, bytes);
      }
      at.row[p.operand] = rows;
    }
    at.data[p.operand] = memory;
    memory += all_bytes[k];
    if (p.read) {
      copy(p, at, false);
    }
  }
  return memory ? taken_ : 0;
}

void packed_blocks::give_back(const core_arguments &at) const {
  for (const packed_operand &p : all_) {
    if (p.written) {
      copy(p, at, true);
    }
  }
}

void packed_blocks::copy(const packed_operand &p, const core_arguments &at, bool back) const {
  char *packed = at.data[p.operand];
  if (p.from.slots < 0) {
    return copy_all(p, at, packed, back);
  }
  for (size_t i = 0; i < taken_; i++) {
    copy_block(p, at, i, packed + at.row[p.operand][i], back);
  }
}

// A ragged row.
void packed_blocks::copy_block(const packed_operand &p, const core_arguments &at, size_t i, char *packed,
                               bool back) const {
  intptr_t outer = intptr_t(begin_ + i);
  row_extent row = read_slot(stream_[p.from.slots] + outer * stride_[p.from.slots], p.from.kind);
  for (size_t k = 0; row.size && k < p.streams.size(); k++) {
    const packed_stream &s = p.streams[k];
    int own = p.from.stream + int(k);
    block_walk w;
    add_dims(w, p, s, at, i, back);
    copy_stream(w, s, stream_[own] + outer * stride_[own] + row.start * (s.stride[0] / p.from.step), packed, back);
  }
}

// Blocks of one size: the outer elements are one more dimension.
void packed_blocks::copy_all(const packed_operand &p, const core_arguments &at, char *packed, bool back) const {
  for (size_t k = 0; k < p.streams.size(); k++) {
    const packed_stream &s = p.streams[k];
    int own = p.from.stream + int(k);
    intptr_t outer = at.stride[p.operand], count = is_once(p) ? 1 : intptr_t(taken_);
    block_walk w;
    w.add(count, back ? stride_[own] : outer, back ? outer : stride_[own]);
    add_dims(w, p, s, at, 0, back);
    copy_stream(w, s, stream_[own] + intptr_t(begin_) * stride_[own], packed, back);
  }
}

char *row_memory::take(size_t bytes) {
  constexpr size_t chunk = 256 * 1024, behind = 4096; // a kernel that writes too much is found out before it does harm
  std::lock_guard lock(mutex_);
  size_t rounded = (bytes + block_alignment - 1) / block_alignment * block_alignment;
  if (chunks_.empty() || left_ < rounded) {
    chunks_.push_back(allocate_buffer(std::max(chunk, rounded) + behind));
    left_ = std::max(chunk, rounded);
    next_ = chunks_.back()->data;
  }
  char *taken = next_;
  next_ += rounded;
  left_ -= rounded;
  std::memset(taken, 0, rounded);
  return taken;
}

} // namespace dynd
