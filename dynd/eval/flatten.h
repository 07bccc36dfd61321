// Rows that coincide are walked as one axis, the content's.
#pragma once

#include "dynd/eval/task.h"

namespace dynd {

/// Replaces `var` axes, with all axes outside of them, by the axis of their content where every operand has the space's
/// rows there or depends on none of these axes. A reduced axis stays, unless all axes are one logical row.
void flatten_rows(task &t);

/// Whether all rows of every `var` axis of the space have one length, and follow each other.
bool has_equal_rows(const space &shape);

/// Makes such axes axes of that size, where all operands have the space's rows; false where some do not. (N, var) with
/// rows of 3 becomes (N, 3).
bool make_rows_regular(task &t);

/// The walk over whole rows reads int64 offsets: those of the last axis, where they are of 32 bits, are converted.
void widen_rows(task &t);

} // namespace dynd
