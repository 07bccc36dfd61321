// A stranger's kernel as a level of ours: it is called with streams, whatever its own prototype is.
//
// The level keeps the deferred kernel alive and gives the stranger what a C programmer expects: elements at addresses
// that are multiples of their size. Where an operand is not aligned, blocks of it go through aligned copies.
#pragma once

#include "dynd/abi/callable.h"
#include "dynd/kernel/builder.h"
#include "dynd/type/scalar.h"

namespace dynd {

inline constexpr int max_foreign_outputs = 8, max_foreign_sources = 8;
inline constexpr int max_foreign_operands = max_foreign_outputs + max_foreign_sources;

/// What a deferred kernel takes and gives, from its signature: outputs first, then sources.
struct foreign_types {
  int noutputs = 0, nsources = 0;
  scalar_id type[max_foreign_operands];
};

/// Puts the level and the stranger's kernel behind it at `offset`; returns the offset past both. The level's function
/// is a streams_strided_t; its streams are the outputs and the sources in the signature's order.
size_t make_foreign(ckernel_builder &out, size_t offset, const deferred_ckernel &kernel, const foreign_types &types);

} // namespace dynd
