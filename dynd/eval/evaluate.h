// Evaluation: every computation ends as one task, a kernel that assigns an expression to concrete arrays.
//
// The functions here are what operators, methods and bindings call. Each is a list of named steps; the first tries the
// direct step (direct.h). Elementwise operations that cannot fail, over immutable arrays of ours, may be lazy;
// everything else runs at once and absorbs the lazy operations below it.
#pragma once

#include <optional>

#include "dynd/array/array.h"
#include "dynd/eval/settings.h"
#include "dynd/kernel/external.h"
#include "dynd/ops/operation.h"
#include "dynd/type/error_mode.h"

namespace dynd {

/// Operands that are marked in `last_use` have no owner but the caller, who is about to drop them: their values need not
/// be kept if they are lazy.
struct call_operands {
  array_block *const *block;
  int count;
  unsigned last_use = 0;
};

/// An elementwise operation; `results` has a place for each output. A single result may be lazy.
void evaluate(op_id op, const call_operands &operands, ref<array_block> *results);
inline ref<array_block> evaluate(op_id op, const call_operands &operands) {
  ref<array_block> result;
  evaluate(op, operands, &result);
  return result;
}

/// An external kernel, lifted over arrays. The operands' types widen to the kernel's (the caller has checked); a pure and
/// total one with one result may be lazy. Of a kernel that needs the interpreter's lock the caller has it.
void evaluate(const external_function &function, const call_operands &operands, ref<array_block> *results);

/// The array itself; of one whose elements are scalars behind pointers, a copy of these.
ref<array_block> copies_to_scalars(array_block *operand);

/// A reduction over one axis (negative: from the end) or all; runs at once. `last_use` as above.
ref<array_block> evaluate(reduction_id reduction, array_block *operand, bool last_use, std::optional<int> axis,
                          bool keepdims);

/// The elements of an array of ?T as T, with the fill's, which broadcast to it, where one is missing; for elements of any
/// type.
ref<array_block> fill_elements(const char *name, array_block *source, array_block *fill, const settings &how);

/// dst[...] = src, with broadcasting, for any types. What the mode checks and does not hold is an error that names the
/// first bad element (overflow, or value); every element is then as before or new, the bad ones as before, a struct
/// whole. After any other error all are as before, but that there may be no memory to find that element.
void assign(array_block *dst, array_block *src, error_mode mode = error_mode::fractional);

/// Values in C order with memory of its own; rows one after another. Converted to the element type.
ref<array_block> copy_values(array_block *source, access_mode access, ndt::type dtype,
                             error_mode mode = error_mode::fractional);
inline ref<array_block> copy_values(array_block *source, access_mode access) {
  return copy_values(source, access, ndt::type(source->type->dtype));
}

/// astype: the same to a whole type, whose dimensions may be of other kinds: rows of one length to `strided`, and so on.
ref<array_block> convert_values(array_block *source, access_mode access, ndt::type type,
                                error_mode mode = error_mode::fractional);

} // namespace dynd
