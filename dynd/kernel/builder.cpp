#include "dynd/kernel/builder.h"

#include <cstring>
#include <new>

#include "dynd/base/errors.h"

namespace dynd {

namespace {

constexpr size_t alignment = 64, inline_step = 256;

} // namespace

ckernel_builder::ckernel_builder() {
  ckernel_builder_struct::size = sizeof(ckernel_builder_struct);
  version = DYND_ABI_VERSION;
  grow = grow_block;
  start();
}

ckernel_builder::~ckernel_builder() { reset(); }

void ckernel_builder::reset() {
  destroy_child(root());
  if (data != inline_) {
    ::operator delete(data, std::align_val_t(alignment));
  }
  start();
}

void ckernel_builder::start() {
  data = inline_;
  capacity = sizeof(ckernel_prefix);
  scratch_size = 0;
  std::memset(data, 0, capacity);
}

void ckernel_builder::no_memory() { fail(error_kind::memory, "cannot allocate memory for a kernel"); }

int ckernel_builder::grow_block(ckernel_builder_struct *base, size_t requested) {
  auto *self = static_cast<ckernel_builder *>(base);
  size_t used = self->capacity;
  if (self->data == self->inline_ && requested <= sizeof(inline_)) {
    // Zeroed in steps: an ordinary kernel needs one.
    size_t step = (requested + inline_step - 1) / inline_step * inline_step;
    std::memset(self->data + used, 0, step - used);
    self->capacity = step;
    return dynd_ok;
  }
  size_t larger = requested > used * 3 / 2 ? requested : used * 3 / 2;
  auto *moved = static_cast<char *>(::operator new(larger, std::align_val_t(alignment), std::nothrow));
  if (!moved) {
    return dynd_error_memory;
  }
  std::memcpy(moved, self->data, used);
  std::memset(moved + used, 0, larger - used);
  if (self->data != self->inline_) {
    ::operator delete(self->data, std::align_val_t(alignment));
  }
  self->data = moved;
  self->capacity = larger;
  return dynd_ok;
}

} // namespace dynd
