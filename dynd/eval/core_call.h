// Calls with core dimensions: the space is what is left of the operands outside of them.
//
//   (N * T, N * T) -> T      on (5, 3) and (3,): the space is (5,), N is 3
//   (N * T) -> N * T         on (5, var): the space is (5,), N differs, the result is (5, var)
//
// Core dimensions never stretch. Sizes are compared, and results are given their memory, before the kernel is called.
#pragma once

#include "dynd/eval/evaluate.h"
#include "dynd/eval/space.h"
#include "dynd/kernel/core.h"
#include "dynd/type/c_layout.h"

namespace dynd {

/// Calls it at once; `results` has a place for each output. Operands are converted to the types of the function, which
/// the caller has found to be possible; those that are read and written must have them.
void evaluate(const core_function &function, const call_operands &operands, ref<array_block> *results,
              const settings &how = thread_settings());

/// Finds the sizes of results that no operand has, by the function's own kernel for them, over the space: `size` where
/// they are the same for all outer elements, else `measured`.
void compute_output_sizes(const core_function &function, const call_operands &operands, const space &shape,
                          const settings &how, intptr_t *size, ref<array_block> *measured);

} // namespace dynd
