// Comparison of elements of any type: kernels that say whether a relation holds between two elements.
//
// Elements are compared by value: numbers of any two types exactly, never rounded to a common one;
// strings and bytes by their bytes (of UTF-8 that is by code points); tuples and lists like Python's, element by
// element and then by length; structs by field name, in order only where both have the same fields in the same order;
// pointers by what they point to. Inside an element, missing equals missing and comes last. For elements that are
// missing themselves see make_comparison_kernel.
//
// The operators follow IEEE: NaN equals nothing and is in no order. `order` is for sorting: a strict weak order over
// all values, NaN after the other numbers, -0.0 equal to 0.0, complex numbers by their real components, then the
// imaginary.
#pragma once

#include "dynd/kernel/builder.h"
#include "dynd/kernel/operand.h"
#include "dynd/ops/operation.h"

namespace dynd {

/// Puts a streams_strided_t at `offset` that writes to the result for each pair of elements; returns where it ends. The
/// result is a bool; where either operand is an option it is a ?bool, missing where either is. Comparing cannot fail on
/// values; types that cannot be compared are a type error. The caller chooses where the operands' streams are in the
/// call, by their `first`; the result's come before them.
size_t make_comparison_kernel(ckernel_builder &out, size_t offset, const kernel_operand &result,
                              const kernel_operand &left, const kernel_operand &right, comparison which);

} // namespace dynd
