// A stranger's kernel on scalars, applied to arrays: strided, ragged, broadcast, on several threads if it allows that.
#pragma once

#include "dynd/eval/evaluate.h"
#include "dynd/kernel/foreign.h"

namespace dynd {

struct foreign_function {
  const deferred_ckernel *kernel;
  foreign_types types;
  /// The kernel built alone (make_foreign at offset 0): a kernel on scalars depends on no arrmeta, so that one serves
  /// every small call. May be null.
  const ckernel_builder *leaf;
};

/// Runs at once. The operands' types widen to the kernel's (the caller has checked); `results` has noutputs places. Of
/// a kernel that needs the interpreter's lock the caller has it.
void evaluate(const foreign_function &function, const call_operands &operands, ref<array_block> *results);

} // namespace dynd
