// The lengths of rows that are evaluated together: compared, and made into the offsets of a result's rows, before
// anything is written.
#pragma once

#include "dynd/eval/space.h"

namespace dynd {

inline constexpr const char *one_value_for_each_row_hint =
    "; for one value for each row use x[:, None], or keepdims=True in the reduction that made it";

/// The offsets of the result's `var` axes, outermost first. Rows that do not fit are an error that names the first.
std::vector<std::vector<int64_t>> measure_rows(const char *operation, const space_operands &operands,
                                               const space &shape);

} // namespace dynd
