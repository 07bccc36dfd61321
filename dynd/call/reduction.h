// Reductions that a plug-in brings: four functions over a state of their own (dynd_reduction, abi/callable.h), as a
// kernel with core dimensions.
#pragma once

#include "dynd/call/callable.h"

namespace dynd::nd {

/// A kernel of the core prototype that reduces by a kernel of the reduction prototype, which it keeps alive. A struct
/// that is not whole, or another signature than `(N * T, ...) -> R` with types that are known, is a type error.
kernel reduction_kernel(const kernel &reduction);

} // namespace dynd::nd
