// Mean, variance and what else is made of several folds and of operations on their results.
#pragma once

#include "dynd/eval/aggregate.h"

namespace dynd {

ref<array_block> mean(const reduction_call &call);
ref<array_block> variance(const reduction_call &call);
ref<array_block> norm(const reduction_call &call);
/// The largest minus the smallest.
ref<array_block> range(const reduction_call &call);

} // namespace dynd
