// The memory in which a kernel is built (see dynd/abi/kernel.h for the rules kernels keep).
//
// Starts in a buffer of its own, so that building an ordinary kernel allocates nothing. Destroys the kernel with
// itself, also a half-built one. Not movable: the C struct points into it.
#pragma once

#include <cstddef>

#include "dynd/abi/kernel.h"

namespace dynd {

class ckernel_builder : public ckernel_builder_struct {
public:
  ckernel_builder();
  ~ckernel_builder();
  ckernel_builder(const ckernel_builder &) = delete;
  ckernel_builder &operator=(const ckernel_builder &) = delete;

  /// Room for `requested` bytes and the prefix of a child behind them. May move the kernel.
  void ensure_capacity(size_t requested) { check(ckernel_builder_ensure_capacity(this, requested)); }
  /// The same for a kernel without a child.
  void ensure_capacity_leaf(size_t requested) { check(ckernel_builder_ensure_capacity_leaf(this, requested)); }
  /// Valid until the next call that can grow the kernel.
  template <class T> T *get_at(size_t offset) { return reinterpret_cast<T *>(data + offset); }
  ckernel_prefix *root() { return get_at<ckernel_prefix>(0); }
  /// Destroys the kernel; the builder is as new.
  void reset();

private:
  static void check(int status) {
    if (status != dynd_ok) [[unlikely]] {
      no_memory();
    }
  }
  void start();
  [[noreturn]] static void no_memory();
  static int grow_block(ckernel_builder_struct *self, size_t requested);

  alignas(64) char inline_[1024];
};

/// A level of a kernel has its children right behind it; this destroys the one at `child`, if it was begun.
inline void destroy_child(ckernel_prefix *child) {
  if (child->destructor) {
    child->destructor(child);
  }
}

} // namespace dynd
