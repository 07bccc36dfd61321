// Scans: an array of running values, as long as the operand; and left folds, which are the last of them.
#pragma once

#include <optional>

#include "dynd/array/array.h"
#include "dynd/eval/settings.h"
#include "dynd/ops/operation.h"

namespace dynd {

/// The running values along an axis (negative: from the end; only an array of one dimension needs none), strictly in
/// the order of the index. Runs at once. A missing element's value is missing, and is left out of those after it. With
/// include_initial each row begins with the value of no elements, and is one longer. `last_use` as in call_operands.
ref<array_block> evaluate(scan_id id, array_block *operand, bool last_use, std::optional<int> axis,
                          bool include_initial);

} // namespace dynd
