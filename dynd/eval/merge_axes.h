// Copies of operands for reductions that cannot be walked where they are.
#pragma once

#include "dynd/eval/space.h"

namespace dynd {

/// The operand over the whole space, in C order.
ref<array_block> spread_copy(const char *name, array_block *operand, const space &shape);

/// The operand over the whole space, in C order, with the reduced axes as its last one: one logical row each. Its
/// elements are scalars that may be missing. Where an axis that stays is inside of a reduced one, it must have the same
/// lengths along that: rows are reduced element by element; else it is an error that names the operation.
ref<array_block> merged_copy(const char *name, array_block *operand, const space &shape, const bool *reduced);

} // namespace dynd
