// The iteration space of an evaluation: the broadcast shape of its operands, ragged dimensions included, and every
// operand lowered to streams over that space.
//
// Broadcasting is right-justified. In one dimension: all of one size each: as NumPy. Some `var`, the others of size 1
// or absent: the result is `var`. Some `var` and a size N other than 1: the result is N, every row must have 1 or N
// elements. Two rows: equal lengths, or one of them 1. Row lengths are compared here, before anything is written.
//
// Rows that coincide with the result's at all levels are found here too: such an operand is then said to be aligned,
// its slots are not looked at again.
#pragma once

#include <string>
#include <vector>

#include "dynd/array/array.h"
#include "dynd/array/rows.h"
#include "dynd/plan/nest.h"

namespace dynd {

/// The slots of a `var` axis: those of the first operand that has the result's rows, or new ones.
struct space_slots {
  char *address;
  ref<counted> owner; ///< null where they stand in memory that outlives the evaluation
  slot_kind kind;
  int32_t step = 1; ///< see stream::step
  offsets_run run;  ///< when they follow each other
  intptr_t stride[max_ndim];
};

struct space {
  int ndim = 0, nvar = 0;
  intptr_t size[max_ndim];        ///< -1: `var`
  bool fixed[max_ndim] = {};      ///< the size belongs to the type
  int8_t slot_index[max_ndim];    ///< of a `var` axis, in slots
  std::vector<space_slots> slots; ///< nvar of them

  /// Axis of slots[i].
  int var_axis(int i) const;
  /// Number of elements; the slots of `var` axes are looked at.
  intptr_t count() const;
};

/// One stream of an operand over the axes of a space.
struct lowered_stream {
  char *address;
  intptr_t stride[max_ndim];
};

struct lowered_operand {
  array_block *block;
  int first, count;         ///< its streams: the slots that are its own, then the values
  int8_t slots[max_ndim];   ///< for each axis: the stream of its own slots, or -1
  slot_kind kind[max_ndim]; ///< of those
  int32_t step[max_ndim];   ///< of those
  int8_t aligned_axis;      ///< the innermost `var` axis at which it has the result's rows, or -1
  bool has_rows[max_ndim];  ///< it has a `var` dimension at this axis
};

/// The operands of an evaluation (sources; destinations that are already there come first).
struct lowered {
  int noperands = 0, nstreams = 0;
  lowered_operand operand[max_streams];
  lowered_stream stream[max_streams];
  int value_stream(int o) const { return operand[o].first + operand[o].count - 1; }
};

/// The space that these operands broadcast to. Row lengths are compared; new slots are made where rows stretch.
void broadcast_space(const char *operation, array_block *const *operands, int noperands, space &result);

/// Gives every `var` axis of the shape slots of its own, from the offsets of its rows (outermost axis first).
void make_slots(space &shape, const std::vector<std::vector<int64_t>> &row_offsets);

/// The space of an array that is already there.
void space_of(array_block *block, space &result);

/// That the operands can be assigned to the space of `destination`; row lengths are compared.
void check_broadcasts_to(const char *operation, array_block *const *operands, int noperands, const space &destination);

/// Lowers the operands, which broadcast to the space. Forces nothing: where values may be waiting, or somebody computes
/// them now, their addresses must be left out.
void lower_operands(const space &shape, array_block *const *operands, int noperands, lowered &result,
                    bool with_values = true);

/// Marks the operands whose rows are the space's rows, and drops their slots.
void align_operands(const space &shape, lowered &operands);

/// The order of the axes in memory, outermost first, for a result that is like its operands.
struct axis_order {
  bool c_order = true;
  int8_t axis[max_ndim];
};

/// The order that all operands of the whole shape have (a transposed plus a transposed array is transposed), else C
/// order.
axis_order order_like(const space &shape, array_block *const *operands, int noperands);

/// An array of that space with its slots, its values' memory not yet there (strides are set).
ref<array_block> new_result(const space &shape, scalar_id scalar, size_t extra = 0, const axis_order &order = {});
/// Gives it memory.
void allocate_values(array_block *result, const space &shape);
/// Bytes of its values.
size_t value_bytes(const space &shape, scalar_id scalar);

/// Both have the same sizes and, where ragged, the same slots (the same memory, or known to be equal).
bool same_space(const array_block &a, const array_block &b);

/// "(3, var, 2)", for messages.
std::string space_text(const array_block &block);

} // namespace dynd
