// Evaluation over elements that are not scalars: assignment, and any kernel over elements, broadcast over dimensions.
// Runs at once, on the calling thread.
#pragma once

#include <functional>

#include "dynd/eval/space.h"
#include "dynd/kernel/builder.h"
#include "dynd/kernel/operand.h"
#include "dynd/type/error_mode.h"

namespace dynd {

/// dst[...] = src for any types: elements that are not scalars, and rows that have no memory yet. Type, shape and
/// broadcast errors leave the destination as it was; so does a value that is refused inside of structs, elsewhere every
/// element is as before or new.
void assign_elements(array_block *dst, array_block *src, error_mode mode);

/// A new immutable (or writable) array of that whole type with the source's values.
ref<array_block> convert_elements(array_block *src, const type_data *type, access_mode access, error_mode mode);

/// Makes a kernel over elements at `offset`, a streams_strided_t, and returns the offset past it. The operands are at
/// their elements: the dimensions outside are walked by the caller.
using element_kernel = std::function<size_t(ckernel_builder &out, size_t offset, const kernel_operand *operands)>;

/// Runs the kernel for every element of the shape; the operands (outputs, then sources) broadcast to it.
void run_elements(const char *name, const space &shape, array_block *const *operands, int noperands,
                  const element_kernel &make);

/// A new array over the shape's dimensions whose elements are scalars, options of them, or structs of these.
ref<array_block> new_elements(const space &shape, ndt::type dtype);

} // namespace dynd
