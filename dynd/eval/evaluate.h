// Evaluation: every computation ends as one task, a kernel that assigns an expression to concrete arrays.
//
// The functions here are what operators, methods and bindings call. Each is a list of named steps; the first tries the
// direct step (direct.h). Elementwise operations that cannot fail, over immutable arrays that the library allocated,
// may be lazy; everything else runs at once and absorbs the lazy operations below it.
#pragma once

#include <optional>

#include "dynd/array/array.h"
#include "dynd/eval/settings.h"
#include "dynd/kernel/external.h"
#include "dynd/ops/operation.h"
#include "dynd/type/error_mode.h"

namespace dynd {

/// Operands that are marked in `last_use` have no owner but the caller, which is about to drop them: if they are lazy,
/// their values need not be kept.
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

/// dst = op(dst, other) without memory for the result. False, and nothing has happened, where a value may be refused,
/// or where the result is not what dst holds, or reads what it has written: then the result is assigned. When it is
/// stopped (Ctrl-C), every element has its old or its new value.
bool evaluate_in_place(op_id op, array_block *dst, array_block *other);

/// An external kernel over arrays. The operands' types widen to the kernel's (the caller has checked). The result of a
/// pure and total kernel with one output may be lazy. Where the kernel needs the interpreter's lock, the caller has it.
void evaluate(const external_function &function, const call_operands &operands, ref<array_block> *results);

/// The array itself; where its elements are scalars behind pointers, a copy of these scalars.
ref<array_block> copies_to_scalars(array_block *operand);

/// A reduction over one axis (negative: from the end) or all; runs at once. `last_use` as above.
ref<array_block> evaluate(reduction_id reduction, array_block *operand, bool last_use, std::optional<int> axis,
                          bool keepdims);

/// The elements of an array of ?T as T, with the fill's, which broadcast to it, where one is missing; for elements of
/// any type.
ref<array_block> fill_elements(const char *name, array_block *source, array_block *fill, const settings &how);

/// Whether the operation is a comparison over elements that are neither scalars nor options of scalars.
bool compares_elements(op_id op, const call_operands &operands);
/// Compares two arrays of any element types, broadcast over the dimensions outside of their elements; runs at once. The
/// result is bool, or where either operand's elements are ?T, ?bool: missing where either is. Structs of numbers are
/// compared by a program of one step for each field; everything else by a kernel over elements (kernel/compare.h).
ref<array_block> compare_elements(op_id op, array_block *left, array_block *right, const settings &how);

/// dst[...] = src, with broadcasting, for any types. A value that the mode refuses is an error (overflow, or value)
/// that names the first such element. Then every element, a struct as a whole, has its old or its new value, and those
/// with refused values the old one. After any other error all have their old values. (Where there is no memory to
/// locate the element, the error is about memory.)
void assign(array_block *dst, array_block *src, error_mode mode = error_mode::fractional);

/// Values in C order with memory of its own; rows one after another. Converted to the element type.
ref<array_block> copy_values(array_block *source, access_mode access, ndt::type dtype,
                             error_mode mode = error_mode::fractional);
inline ref<array_block> copy_values(array_block *source, access_mode access) {
  return copy_values(source, access, ndt::type(source->type->dtype));
}

/// astype: the same to a whole type, whose dimensions may be of other kinds: rows of one length to `strided`, and so
/// on.
ref<array_block> convert_values(array_block *source, access_mode access, ndt::type type,
                                error_mode mode = error_mode::fractional);

} // namespace dynd
