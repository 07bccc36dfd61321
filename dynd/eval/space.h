// The iteration space of an evaluation: the broadcast shape of its operands, ragged dimensions included.
//
// Broadcasting is right-justified. For one dimension: where all operands have one size, the rule is NumPy's. Where some
// are `var` and all other operands have size 1 or no such dimension, the result is `var`. Where some are `var` and one
// has a size N other than 1, the result has size N, and every row must have 1 or N elements. Two rows must have equal
// lengths, or one of them 1. Row lengths are compared here, before anything is written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynd/array/array.h"
#include "dynd/array/rows.h"
#include "dynd/base/small_vector.h"
#include "dynd/plan/nest.h"

namespace dynd {

/// One stream over the axes of a space.
struct lowered_stream {
  char *address;
  intptr_t item; ///< bytes of an element
  intptr_t stride[max_ndim];
};

/// The slots of a `var` axis: those of the first operand that has the result's rows, or new ones.
struct space_slots : lowered_stream {
  space_slots() {} // leaves the strides alone

  ref<counted> owner; ///< null where they are in memory that outlives the evaluation
  slot_kind kind;
  int32_t step = 1; ///< see stream::step
  offsets_run run;  ///< when they follow each other
};

struct space {
  int ndim = 0, nvar = 0;
  intptr_t size[max_ndim];        ///< -1: `var`
  bool fixed[max_ndim] = {};      ///< the size belongs to the type
  int8_t slot_index[max_ndim];    ///< of a `var` axis, in slots
  std::vector<space_slots> slots; ///< nvar of them

  bool is_var(int axis) const { return size[axis] < 0; }
  type_kind kind(int axis) const {
    return is_var(axis) ? type_kind::var_dim : fixed[axis] ? type_kind::fixed_dim : type_kind::strided_dim;
  }
  /// Calls f for everything that there is for each axis: arrays of ndim entries, the axis 0 first.
  template <class F> void for_each_axis_array(F f) {
    f(size);
    f(fixed);
    f(slot_index);
    for (space_slots &own : slots) {
      f(own.stride);
    }
  }
  /// Number of elements; -1 where rows do not follow each other.
  intptr_t count() const;
  /// The space without that axis.
  space without(int axis) const;
};

/// What is below all dimensions of an array.
inline type_part element_part(const array_block &block) {
  return {block.type->dtype, block.type->var_count, block.ndim};
}

/// An array over a space: its first `ndim` dimensions are lined up with the space's, at the last one. What is below
/// them is the element.
struct space_operand {
  array_block *block;
  int ndim;

  space_operand() = default;
  space_operand(array_block *b) : block(b), ndim(b->ndim) {} // NOLINT: an array is an operand
  space_operand(array_block *b, int n) : block(b), ndim(n) {}
  /// How many of its dimensions are `var`; their slots are its first streams.
  int var_count() const { return block->slot_stream(ndim); }
};
using space_operands = small_vector<space_operand, 8>;

/// The space that these operands broadcast to. Row lengths are compared; new slots are made where rows stretch, or do
/// not follow each other: all slots of the space have a run.
void broadcast_space(const char *operation, const space_operands &operands, space &result);

inline constexpr const char *one_value_for_each_row_hint =
    "; for one value for each row use x[:, None], or keepdims=True in the reduction that made it";

/// Compares the lengths of all rows: the offsets of the result's `var` axes, outermost first. Rows that do not fit are
/// an error that names the first.
std::vector<std::vector<int64_t>> measure_rows(const char *operation, const space_operands &operands,
                                               const space &shape);

/// Gives every `var` axis of the shape slots of its own, from the offsets of its rows (outermost axis first).
void make_slots(space &shape, const std::vector<std::vector<int64_t>> &row_offsets);

/// The space of an array that is already there.
void space_of(const space_operand &operand, space &result);

/// The order of the axes in memory, outermost first, for a result that is like its operands.
struct axis_order {
  bool c_order = true;
  int8_t axis[max_ndim];
};

/// The order that all operands of the whole shape have (a transposed plus a transposed array is transposed), else C
/// order; of ragged shapes always that.
axis_order order_like(int ndim, const intptr_t *size, std::span<array_block *const> operands);

/// An array of that space with its slots. The elements are scalars, options of them, or structs of these; `zeros` where
/// they are read before they are written.
ref<array_block> new_result(const space &shape, ndt::type dtype, bool zeros = false, const axis_order &order = {});
/// The same without memory for the elements; `extra` as in new_block.
ref<array_block> new_lazy_result(const space &shape, ndt::type dtype, size_t extra = 0, const axis_order &order = {});
/// Gives memory to the elements of such an array, which may have it from an attempt that failed.
void allocate_values(array_block *result, const space &shape);
size_t element_count(const space &shape);
/// Bytes of the elements, each counted as `least` at least; an error (memory) where they do not fit in memory.
size_t value_bytes(const space &shape, ndt::type dtype, size_t least = 0);

/// Both have the same sizes and, where ragged, the same slots (the same memory, or known to be equal).
bool same_space(const array_block &a, const array_block &b);

/// The error of a reduction that has no value for no elements. `why`: "row 2 is empty".
[[noreturn]] void fail_of_nothing(const char *name, const std::string &why);

/// "(3, var, 2)", for messages.
std::string space_text(const space_operand &operand);

} // namespace dynd
