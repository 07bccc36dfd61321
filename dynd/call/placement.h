// Operands that are given by name: where an overload has them.
#pragma once

#include <span>
#include <vector>

#include "dynd/call/resolve.h"

namespace dynd::nd {

/// As many as a kernel can have; with more the call is refused before they are read.
struct block_list {
  array_block *block[max_external_sources];
  int count;
};

/// The operands in their order, those that were given by name included; `left` are the keywords. A type error where the
/// overload that takes operands of these types has none of these names.
block_list place(callable_state &state, std::span<const array> operands, std::span<const keyword> given,
                 std::vector<keyword> &left);

} // namespace dynd::nd
