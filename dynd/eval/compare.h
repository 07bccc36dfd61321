// The comparison operators over elements that are neither scalars nor options of scalars.
#pragma once

#include "dynd/eval/evaluate.h"

namespace dynd {

/// Whether the operation is a comparison, and some operand has such elements.
bool compares_elements(op_id op, const call_operands &operands);

/// Compares two arrays of any element types, broadcast over the dimensions outside of their elements; runs at once. The
/// result is bool, or where either operand's elements are ?T, ?bool: missing where either is. Structs of numbers are
/// compared by a program of one step for each field; everything else by a kernel over elements (kernel/compare.h).
ref<array_block> compare_elements(op_id op, array_block *left, array_block *right, const settings &how);

} // namespace dynd
