// Comparison of elements of any type: kernels that say whether a relation holds between two elements.
//
// Elements are compared by value: numbers of any two types exactly, never rounded to a common one;
// strings and bytes by their bytes (of UTF-8 that is by code points); tuples and lists like Python's, element by
// element and then by length; structs by field name, in order only where both have the same fields in the same order;
// pointers by what they point to. Inside an element, missing equals missing and comes last. For elements that are
// missing themselves see make_comparison_operator.
//
// The operators follow IEEE: NaN equals nothing and is in no order. `order` is for sorting: a strict weak order over
// all values, NaN after the other numbers, -0.0 equal to 0.0, complex numbers by their real components, then the
// imaginary.
#pragma once

#include "dynd/kernel/builder.h"
#include "dynd/kernel/operand.h"
#include "dynd/ops/operation.h"

namespace dynd {

/// A kernel over the streams of two operands, at `offset`; returns where it ends. Comparing cannot fail on values;
/// types that cannot be compared are a type error, other requests a value error.
///   single   a streams_predicate_t
///   strided  a streams_strided_t that writes a bool to stream 0 for each pair of elements
/// The caller chooses where the operands' streams are in the call, by their `first`.
size_t make_comparison_kernel(ckernel_builder &out, size_t offset, const kernel_operand &left,
                              const kernel_operand &right, comparison which, kernel_request_t request);

/// The kernel of a comparison operator, strided; the result's streams come first. The result is a bool; where either
/// operand is an option it is a ?bool, missing where either is.
size_t make_comparison_operator(ckernel_builder &out, size_t offset, const kernel_operand &result,
                                const kernel_operand &left, const kernel_operand &right, comparison which);

} // namespace dynd
