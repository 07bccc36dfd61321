// The direct step: small dense operands take one call of the compiled loop, without a task. It is what the whole engine
// would do for them, and gives the same bits; tests turn it off (set_direct).
#pragma once

#include <cstring>

#include "dynd/eval/evaluate.h"
#include "dynd/eval/settings.h"
#include "dynd/kernel/core.h"

namespace dynd {

/// Results from this size on, in bytes, may be lazy and are computed by a task.
inline constexpr size_t lazy_from = 64 << 10;

inline bool may_be_direct(const settings &how) {
  return !how.watching && direct_enabled.load(std::memory_order_relaxed);
}
inline bool is_dense_and_ready(const array_block *block) { return (block->flags & flag_dense) && block->is_ready(); }

// Each is false where the operands are not of this kind, or where a value fails: then the task says which.
bool try_direct(op_id op, const call_operands &operands, const settings &how, ref<array_block> *results);
/// What an external kernel failed with: it may not fail a second time, when the task looks for the element.
struct direct_failure {
  int status = dynd_ok;
  char text[sizeof(dynd_frame::text)]; ///< set where the status is not dynd_ok

  /// What the call has left in its frame.
  void take(int of_call, const dynd_frame &frame) {
    status = of_call;
    if (status) [[unlikely]] {
      std::memcpy(text, frame.text, sizeof(text));
      text[sizeof(text) - 1] = 0;
    }
  }
  /// The error, if there was a failure: the kernel has failed the first time, and not again.
  void raise(const char *name) const;
  /// Whether no second call looks for the element.
  bool is_final(const settings &how) const { return status && (how.once || status == dynd_error_cancelled); }
};
bool try_direct(const external_function &function, const call_operands &operands, const settings &how,
                ref<array_block> *results, direct_failure &failure);
/// One outer element, of operands that are as the kernel wants them.
bool try_direct(const core_function &function, const call_operands &operands, const settings &how,
                ref<array_block> *results, direct_failure &failure);
bool try_direct_assign(array_block *dst, array_block *src, error_mode mode, const settings &how);
/// One number to where an element of that type is.
bool try_direct_number(char *to, scalar_id type, const array_block &value, error_mode mode, const settings &how);
/// A copy with elements of another type; nothing where it is not of this kind.
ref<array_block> try_direct_copy(array_block *src, access_mode access, ndt::type dtype, error_mode mode,
                                 const settings &how);
/// The values of a claimed lazy array.
bool try_direct_compute(array_block *block, const settings &how);

} // namespace dynd
