// Evaluation: every computation ends as one kernel that assigns an expression to a concrete array.
//
// The functions here are what operators, methods and bindings call. Each is a list of named steps; the first tries the
// direct case (dense, one type, small: call the compiled loop), which set_direct(false) turns off for tests.
// Elementwise operations over immutable arrays of ours may wait; everything else runs at once and absorbs what waits.
#pragma once

#include "dynd/array/array.h"
#include "dynd/kernel/foreign.h"
#include "dynd/ops/operation.h"
#include "dynd/type/error_mode.h"

namespace dynd {

/// Operands that are marked in `dying` are held by nobody but the caller, who is about to drop them: their values need
/// not be kept if they are waiting.
struct call_operands {
  array_block *const *block;
  int count;
  unsigned dying = 0;
};

/// An elementwise operation with one output. The result may be waiting.
ref<array_block> evaluate(op_id op, const call_operands &operands);

/// An elementwise operation with two outputs; runs at once.
void evaluate2(op_id op, const call_operands &operands, ref<array_block> *results);

/// The array itself; where its elements are scalars in the other order of bytes or behind pointers, these as they are.
ref<array_block> scalars_of(array_block *operand);

bool have_scalars(const call_operands &operands);

/// The operands, each what scalars_of makes of it.
struct read_operands {
  ref<array_block> kept[max_foreign_sources];
  array_block *block[max_foreign_sources];

  explicit read_operands(const call_operands &operands);
};

/// A type error that names the operation where some operand's elements are not scalars.
void need_scalars(const char *operation, array_block *const *operands, int count);

inline constexpr int all_axes = -1000;

/// A reduction over one axis (negative: from the end) or all; runs at once.
ref<array_block> evaluate(reduction_id reduction, array_block *operand, bool dying, int axis, bool keepdims);

/// dst[...] = src, with broadcasting. What the mode checks and does not hold is an error that names the first bad
/// element (overflow, or value); every element is then as before or new, the bad ones as before. After any other error
/// all are as before.
void assign(array_block *dst, array_block *src, error_mode mode = error_mode::fractional);

/// Values in C order with memory of its own; rows one after another. Converted to the element type.
ref<array_block> copy_values(array_block *source, access_mode access, ndt::type dtype,
                             error_mode mode = error_mode::fractional);
inline ref<array_block> copy_values(array_block *source, access_mode access) {
  return copy_values(source, access, ndt::type(source->type->dtype));
}

/// The same to a whole type, whose dimensions may be of other kinds: rows of one length to `strided`, and so on.
ref<array_block> convert_values(array_block *source, access_mode access, ndt::type type,
                                error_mode mode = error_mode::fractional);

/// While one lives, operations of this thread do not wait.
class eager_scope {
public:
  eager_scope();
  ~eager_scope();
  eager_scope(const eager_scope &) = delete;
  eager_scope &operator=(const eager_scope &) = delete;
};

/// For tests: turns the direct step off, in the whole process.
void set_direct(bool on);
bool is_direct();

} // namespace dynd
