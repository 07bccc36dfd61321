// The comparison operators over elements that are not scalars.
#pragma once

#include "dynd/array/array.h"
#include "dynd/ops/operation.h"

namespace dynd {

/// Whether the row is one that make_comparison_operator has for elements of any type.
bool compares_elements(op_id op);

/// Compares two arrays of any element types, broadcast over the dimensions outside of their elements; runs at once. The
/// result is bool, or where either operand's elements are ?T, ?bool: missing where either is.
ref<array_block> compare_elements(op_id op, array_block *left, array_block *right);

} // namespace dynd
