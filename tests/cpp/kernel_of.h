// An external kernel of one C function, for tests.
#pragma once

#include "dynd/abi/callable.h"

namespace dynd::testing {

using unary_function = int (*)(char *, intptr_t, const char *, intptr_t, size_t, const ckernel_prefix *, dynd_frame *);

/// A kernel of one function, without state.
template <unary_function function> const deferred_ckernel *kernel_of() {
  static const deferred_ckernel made = {
      sizeof(deferred_ckernel),
      DYND_ABI_VERSION,
      unary_operation_funcproto_id,
      0,
      "tested",
      "(float64) -> float64",
      nullptr,
      nullptr,
      [](const deferred_ckernel *, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *) -> intptr_t {
        intptr_t end = offset + intptr_t(sizeof(ckernel_prefix));
        int status = ckernel_builder_ensure_capacity_leaf(out, size_t(end));
        if (status == dynd_ok) {
          reinterpret_cast<ckernel_prefix *>(out->data + offset)->function = reinterpret_cast<void *>(function);
        }
        return status ? status : end;
      },
      nullptr,
      nullptr,
      nullptr,
      nullptr};
  return &made;
}

} // namespace dynd::testing
