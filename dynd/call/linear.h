// Products of matrices and tensors, by BLAS where it has the type.
#pragma once

#include <span>
#include <string_view>

#include "dynd/array/array.h"

namespace dynd::nd {

/// The product of matrices, which are the last two dimensions; those outside broadcast, ragged ones included. An
/// operand of one dimension is a row on the left and a column on the right, as in NumPy. float16 is computed in
/// float32.
array matmul(const array &a, const array &b);

/// The sum of products over pairs of axes; the result has the other axes of a, then those of b. Strided arrays.
array tensordot(const array &a, const array &b, std::span<const int> a_axes, std::span<const int> b_axes);

/// Einstein's summation, "ij,jk->ik"; without "->" the labels that occur once are the result's, in alphabetical order.
/// A label may occur twice in an operand (its diagonal). "..." are dimensions that broadcast. Strided arrays. Operands
/// are taken from left to right, two at a time, each pair as a product of matrices.
array einsum(std::string_view subscripts, std::span<const array> operands);

} // namespace dynd::nd
