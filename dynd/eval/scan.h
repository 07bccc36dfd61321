// Scans: an array of running values, as long as the operand; and left folds, which are the last of them.
#pragma once

#include <optional>

#include "dynd/array/array.h"
#include "dynd/eval/settings.h"
#include "dynd/ops/operation.h"

namespace dynd {

/// The running values along an axis (negative: from the end; only an array of one dimension needs none), strictly in
/// the order of the index. Runs at once. A missing element's value is missing, and is left out of those after it. With
/// include_initial each row begins with the value of no elements, and is one longer. dtype: what the elements are taken
/// as, and the type of the values. `last_use` as in call_operands.
ref<array_block> evaluate(scan_id id, array_block *operand, bool last_use, std::optional<int> axis,
                          bool include_initial, std::optional<scalar_id> dtype = {},
                          const settings &how = thread_settings());

/// The left fold of each row by an operation (T, T) -> T, in its type: f(f(f(identity, a), b), c). Along an axis, or
/// over everything in C order. Where a reduction combines by the operation, it is that one, in its order. Missing
/// elements are left out; of no elements it is the identity, or missing for ?T, or an error that names the row.
ref<array_block> fold_left(op_id op, array_block *operand, bool last_use, std::optional<int> axis,
                           array_block *identity, const settings &how = thread_settings());

/// All elements as one row, in C order; a view where they follow each other.
ref<array_block> as_one_row(array_block *operand);

/// The differences of neighbours along an axis, n times: a[1:] - a[:-1]. A row without elements stays so.
nd::array differences(const nd::array &a, int n, int axis, const settings &how = thread_settings());

} // namespace dynd
