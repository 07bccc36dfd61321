// Memory while something is computed. Private to dynd/call/.
#pragma once

#include <cstdint>

#include "dynd/memory/buffer.h"

namespace dynd::nd {

/// Recycled memory for plain values, not zeroed.
template <class T> class scratch_values {
public:
  explicit scratch_values(intptr_t count = 0) : memory_(allocate_buffer(size_t(count) * sizeof(T))), size_(count) {}
  T *data() const { return reinterpret_cast<T *>(memory_->data); }
  intptr_t size() const { return size_; }
  T &operator[](intptr_t i) const { return data()[i]; }

private:
  ref<buffer> memory_;
  intptr_t size_;
};

} // namespace dynd::nd
