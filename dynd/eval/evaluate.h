// Evaluation: every computation ends as one task, a kernel that assigns an expression to concrete arrays.
//
// The functions here are what operators, methods and bindings call. Each is a list of named steps; the first tries the
// direct step (direct.h). Elementwise operations that cannot fail, over immutable arrays that the library allocated,
// may be lazy; everything else runs at once and absorbs the lazy operations below it.
#pragma once

#include <atomic>
#include <initializer_list>
#include <optional>

#include "dynd/array/array.h"
#include "dynd/eval/settings.h"
#include "dynd/kernel/external.h"
#include "dynd/ops/aggregate.h"
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
void evaluate(op_id op, const call_operands &operands, const settings &how, ref<array_block> *results);
inline ref<array_block> evaluate(op_id op, const call_operands &operands) {
  ref<array_block> result;
  evaluate(op, operands, &result);
  return result;
}

/// The same as a step of something else, whose settings it takes; one output.
inline ref<array_block> apply(op_id op, std::initializer_list<array_block *> operands, const settings &how) {
  ref<array_block> result;
  evaluate(op, {operands.begin(), int(operands.size())}, how, &result);
  return result;
}

/// Calls an overload that was added to an operation, for elements that are no numbers; false where none fits. call/
/// sets it when there is one: this layer does not know callables.
using added_overload_t = bool (*)(op_id op, const call_operands &operands, ref<array_block> *results);
extern std::atomic<added_overload_t> call_added_overload;

/// dst = op(dst, other) without memory for the result. False, and nothing has happened, where a value may be refused,
/// or where the result is not what dst holds, or reads what it has written: then the result is assigned. When it is
/// stopped (Ctrl-C), every element has its old or its new value.
bool evaluate_in_place(op_id op, array_block *dst, array_block *other);

/// An external kernel over arrays. The operands' types widen to the kernel's (the caller has checked). The result of a
/// pure and total kernel with one output may be lazy. Where the kernel needs the interpreter's lock, the caller has it.
void evaluate(const external_function &function, const call_operands &operands, ref<array_block> *results);

/// An operand whose elements must be numbers that may be missing; where these are behind pointers, a copy of them. Else
/// no reference is added: it would count as another owner of a lazy operand.
struct number_operand {
  number_operand(const char *operation, array_block *operand, bool last_use);

  array_block *block;
  bool last_use; ///< as in call_operands
  element_kind element;
  ref<array_block> copy;
};

/// The axes of a reduction, negative ones from the end: all, one, or several, which are one logical row in C order.
struct reduced_axes {
  bool all = true;
  int count = 0;
  int axis[max_ndim];

  reduced_axes() {} // leaves the places of axes alone: to clear them takes longer than a small reduction's call
  reduced_axes(std::nullopt_t) {}                                                               // NOLINT: all
  reduced_axes(int one) : all(false), count(1), axis{one} {}                                    // NOLINT: one axis
  reduced_axes(std::optional<int> one) : all(!one), count(one ? 1 : 0), axis{one ? *one : 0} {} // NOLINT
  reduced_axes(std::initializer_list<int> axes) : reduced_axes(axes.begin(), int(axes.size())) {}
  reduced_axes(const int *axes, int count);
};

/// What else a reduction is told. The arrays are borrowed.
struct reduction_keywords {
  bool keepdims = false;          ///< the reduced axes stay, with size 1
  array_block *where = nullptr;   ///< bools that broadcast to the operand: what is not true is skipped
  array_block *initial = nullptr; ///< one value, which joins last
  array_block *weights = nullptr; ///< numbers that broadcast to the operand
  double correction = 0;          ///< how much less than the number of elements a variance is divided by
  bool align_left = false;     ///< rows below the axis need not be equally long: those that reach a place are reduced
  bool empty_missing = false;  ///< what has no value for no elements is missing then, not an error
  bool where_last_use = false; ///< as in call_operands
  std::optional<scalar_id> dtype = {}; ///< what the elements are taken as, and the type of the result
};

/// A reduction; runs at once. `last_use` as above. Keywords that the entry does not take are ignored.
ref<array_block> evaluate(aggregate_id id, array_block *operand, bool last_use, const reduced_axes &axes = {},
                          const reduction_keywords &keywords = {}, const settings &how = thread_settings());

/// min, max, argmin and argmax of elements that are no numbers and have an order. call/ sets it: this layer does not
/// know the order.
extern ref<array_block> (*reduce_ordered)(aggregate_id id, array_block *operand, const reduced_axes &axes,
                                          const reduction_keywords &keywords);

/// The sum of the products of two arrays that broadcast together; of complex numbers with the first one's conjugate. Of
/// the keywords it takes keepdims and where, which broadcasts to both together.
ref<array_block> vecdot(array_block *a, array_block *b, const reduced_axes &axes = -1,
                        const reduction_keywords &keywords = {}, const settings &how = thread_settings());

/// The elements of an array of ?T as T, with the fill's, which broadcast to it, where one is missing; for elements of
/// any type.
ref<array_block> fill_elements(const char *name, array_block *source, array_block *fill, const settings &how);

/// where(condition, a, b) of elements of any type, which are both copied; runs at once.
ref<array_block> choose_elements(array_block *condition, array_block *a, array_block *b, const settings &how);

/// Whether the operation is a comparison over elements that are neither scalars nor options of scalars.
bool compares_elements(op_id op, const call_operands &operands);
/// Compares two arrays of any element types, broadcast over the dimensions outside of their elements; runs at once. The
/// result is bool, or where either operand's elements are ?T, ?bool: missing where either is. Structs of numbers are
/// compared by a program of one step for each field; everything else by a kernel over elements (kernel/compare.h).
ref<array_block> compare_elements(op_id op, array_block *left, array_block *right, const settings &how);

/// dst[...] = src, with broadcasting, for any types. A value that the mode refuses is an error (overflow, or value)
/// that names the first such element. Then every element, a struct as a whole, has its old or its new value, and those
/// with refused values the old one. When it is stopped (Ctrl-C), every element has its old or its new value. After any
/// other error all have their old values. (Where there is no memory to locate the element, the error is about memory.)
void assign(array_block *dst, array_block *src, error_mode mode = error_mode::fractional);
void assign(array_block *dst, array_block *src, const settings &how, error_mode mode = error_mode::fractional);
/// A type error where an array cannot be assigned to.
void check_writable(const array_block &dst);

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
