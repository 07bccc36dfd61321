// A task: what one evaluation computes. A space, operands, and a leaf.
//
// An operand is a part of an array: the array, and how many of its dimensions are the space's. What is below them is
// the element. The leaf sees the streams of the elements as ports. Everything else is done once for all leaves:
// lowering, alignment of rows, planned loops, pieces and threads, locating a failure, explain and trace.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dynd/base/small_vector.h"
#include "dynd/eval/settings.h"
#include "dynd/eval/space.h"
#include "dynd/kernel/level.h"
#include "dynd/kernel/operand.h"
#include "dynd/kernel/program.h"

namespace dynd {

/// A stream that the leaf reads or writes.
struct task_port {
  int operand;           ///< -1: a fixed address, the same for all elements
  int stream;            ///< of the operand's array
  char *fixed = nullptr; ///< of no operand
};

struct lowered_operand {
  int16_t slots[max_ndim];  ///< for each axis: its own slots among task::streams, or -1
  slot_kind kind[max_ndim]; ///< of those
  int32_t step[max_ndim];   ///< of those
  bool has_rows[max_ndim];  ///< it has a `var` dimension at this axis
};

/// A leaf that is not a program: a kernel over elements of any type, all of whose streams are ports, in the order of
/// the operands. The function puts a streams_strided_t at `offset`, for operands that are at their elements, and
/// returns the offset past it. With kernel_request_strided what is inside of an element is done in C order, with
/// kernel_request_strided_multistride it is planned. `levels`, if any, is told of every level.
using element_leaf = std::function<size_t(ckernel_builder &out, size_t offset, const kernel_operand *operands,
                                          kernel_request_t request, std::vector<explained_level> *levels)>;

class known_program; // known.h

struct task {
  const char *name = ""; ///< of the operation that asked, for messages
  settings how;
  space shape;             ///< reduced axes are the last
  int nreduced = 0;        ///< axes that are one logical row
  bool one_row = false;    ///< all axes are, and the row may be cut for threads
  bool scans = false;      ///< the last axis is walked in its order: the program has a scan
  int scanned = 0;         ///< the number of that axis before it became the last,
  int scanned_as = 0;      ///< and in the array that was asked for, for messages
  bool assigns = false;    ///< an assignment: traces name its levels by source and destination
  bool one_thread = false; ///< it must be called on this thread only
  intptr_t each = 1;       ///< how many numbers the leaf goes through for an element; when threads are worth it
  bool keep_lock = false;  ///< the caller holds the interpreter's lock, and keeps it
  bool runs_once = false;  ///< it changes what it reads: a failure is not located by a second run
  space_operands operands; ///< outputs, then sources
  int noutputs = 0;        ///< operands
  small_vector<task_port, 16> ports; ///< of the leaf: outputs, then sources
  program p;
  element_leaf leaf;                    ///< empty: the program
  bool divides = false;                 ///< the leaf takes elements one by one: a long row is stopped between them
  const known_program *known = nullptr; ///< keeps the kernel, where it is not null

  // Set by lower(): the slots of the operands, then the ports.
  small_vector<lowered_operand, 4> lowered;
  small_vector<lowered_stream, 12> streams;
  int first_port = 0;
  ref<counted> stored_numbers; ///< the memory of store_numbers
  int8_t axis_of[max_ndim];    ///< what number each axis had before permute()

  /// Adds an operand of an element_leaf, and all streams of its elements as ports.
  void add_operand(const space_operand &operand) {
    operands.push_back(operand);
    for (int s = operand.var_count(); s < operand.block->nstreams; s++) {
      ports.push_back({operands.size() - 1, s});
    }
  }
  /// The last axes, which the leaf walks itself.
  int row_axes() const { return scans ? 1 : nreduced; }
  lowered_stream &port_stream(int port) { return streams[first_port + port]; }
  const lowered_stream &port_stream(int port) const { return streams[first_port + port]; }
};

/// Calls f for everything that a lowered task has for each axis: arrays of shape.ndim entries, the axis 0 first.
template <class F> void for_each_axis_array(task &t, F f) {
  t.shape.for_each_axis_array(f);
  f(t.axis_of);
  for (lowered_operand &operand : t.lowered) {
    f(operand.slots);
    f(operand.kind);
    f(operand.step);
    f(operand.has_rows);
  }
  for (lowered_stream &stream : t.streams) {
    f(stream.stride);
  }
}

/// The axes from `by` on become the first. The empty asm keeps g++ from making a call of memmove out of each of the
/// many short loops.
inline void drop_axes(task &t, int by) {
  for_each_axis_array(t, [&](auto *of_axis) {
    for (int d = 0; d + by < t.shape.ndim; d++) {
      of_axis[d] = of_axis[d + by];
      asm volatile("");
    }
  });
  t.shape.ndim -= by;
}

/// Lowers the operands over the task's space: every stream with its strides, zero where an operand stretches.
void lower(task &t);

/// Whether the port's elements are numbers that are not in memory (flag_numbers); of a lowered task.
bool has_numbers(const task &t, int port);
/// Puts such numbers into memory, for walks that do not make them as they go.
void store_numbers(task &t);

/// Finds the operands whose rows are the space's rows: their own slots are not read any more.
void align(task &t);

/// Replaces `var` axes, with all axes outside of them, by the axis of their content where every operand has the space's
/// rows there or depends on none of these axes. A reduced axis stays, unless all axes are one logical row.
void flatten_rows(task &t);

/// Makes one `var` axis of the last two where no operand has a value for each row of the inner one: a * row[:, None,
/// None] has a row for each row of the outer one. Reduced axes stay, unless all axes are one logical row.
///   rows 0 2 3 of rows 0 4 4 7 -> rows 0 4 7
void join_rows(task &t);

/// A stream below rows of one length that follow each other: it moves along them, and all axes outside of them, as
/// along axes of one size each.
void enter_equal_rows(lowered_stream &stream, const offsets_run &run, int axis, intptr_t length, const space &shape);

/// Whether all rows of every `var` axis of the space have one length, and follow each other.
bool has_equal_rows(const space &shape);

/// Makes such axes axes of that size, where all operands have the space's rows; false where some do not. (N, var) with
/// rows of 3 becomes (N, 3).
bool make_rows_regular(task &t);

/// The walk over whole rows reads int64 offsets: those of the last axis, where they are of 32 bits, are converted.
void widen_rows(task &t);

/// The axes in another order: `axes[k]` is the old number of axis k. A `var` axis may move inwards, past axes of one
/// size: its rows do not depend on these.
void permute(task &t, const int *axes);
/// The axes for which `moved` is true become the last: in the task, not in the arrays, so that lazy operands are
/// absorbed.
void move_to_end(task &t, const bool *moved);
/// The scanned axis of a lowered task becomes the last. False where ragged rows below it are not all of one length.
bool move_scanned_axis(task &t);

} // namespace dynd
