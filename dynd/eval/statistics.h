// Mean, variance and what else is made of several folds and of operations on their results.
#pragma once

#include "dynd/eval/aggregate.h"

namespace dynd {

/// Mean, variance and deviation of rows that are walked one after another: one pass over memory, the result as it is
/// asked for (row_functions.h). Else null: then compose, as the functions below do.
ref<array_block> try_rows(const reduction_call &call);
ref<array_block> mean(const reduction_call &call);
ref<array_block> variance(const reduction_call &call);
ref<array_block> norm(const reduction_call &call);
/// The largest minus the smallest.
ref<array_block> range(const reduction_call &call);

} // namespace dynd
