// Assignment kernels: from any type to any other for which that has a meaning, composed along the two types.
//
//   dimensions            strided, fixed and `var` to each other, broadcast as the seeds have it; rows of the
//                         destination that have no memory get it
//   scalars               all pairs, checked as the error mode says (ops/loops.h)
//   string, bytes         copied; parsed to and formatted from scalars
//   ?T                    missing to missing; missing to anything else is an error
//   structs, tuples       by field name; by position
//   pointer[T]            what it points to
//   byteswap[T]           in the other order of bytes, through T where the other side is not T
//
// The streams of a call are the destination's, then the source's, then one for each part of the destination that can
// get new memory (`var`, string, bytes and pointer, in the order of their slots): the address of its row_pool, stride
// 0, or null where there is none.
#pragma once

#include <string>
#include <vector>

#include "dynd/kernel/builder.h"
#include "dynd/kernel/operand.h"
#include "dynd/ops/isa.h"

namespace dynd {

/// Puts the kernel at `offset` and returns the offset just past it. Where the two have no assignment it is a type
/// error; where their dimensions do not broadcast, a broadcast error; then the builder holds what can be destroyed. A
/// request or mode that is none is a value error.
///
/// The function is a streams_single_t or streams_strided_t, by the request; for operands of one stream each a
/// unary_single_operation_t or unary_strided_operation_t, as the seeds have them. With the multistride requests the
/// strided dimensions are planned together (plan/nest.h); without, each is a level of its own, in the order of the
/// type.
size_t make_assignment_kernel(ckernel_builder &out, size_t offset, ndt::type dst, const dynd_arrmeta *dst_meta,
                              ndt::type src, const dynd_arrmeta *src_meta, kernel_request_t request, error_mode mode);

/// A part of an assignment: the whole, an element of a dimension of its parent, or a field of it.
struct assign_part {
  int parent;         ///< its place in the list; -1: this is the whole
  std::string field;  ///< as an index has it, "x" in quotes or the place in a tuple; empty: no field
  type_part dst, src; ///< what is left of the two types
};

/// What explain shows of a level: where it is in the kernel, and what it does.
struct assign_level {
  size_t offset, size;
  std::string text;
  int depth; ///< below how many others
};

/// What the engine runs: a streams_strided_t at offset 0, whatever the operands are. Planned; or, with a list of
/// `parts` to fill, observed: element by element in C order, and a level around every part tells frame->engine of its
/// calls (kernel/dims.h), by the number of the part. The first parts are the dimensions of the destination, from the
/// outside in. Returns whether some value may be refused.
bool make_whole_assignment(ckernel_builder &out, ndt::type dst, const dynd_arrmeta *dst_meta, ndt::type src,
                           const dynd_arrmeta *src_meta, error_mode mode, std::vector<assign_part> *parts,
                           std::vector<assign_level> *levels = nullptr);

/// Whether the assignment goes through a pointer or option before the dimensions of the other side: where that has
/// none, or where as many dimensions stand behind the pointer or option.
///   pointer[3 * T] to 3 * T: yes; ?(3 * T) to 2 * ?(3 * T): no, it broadcasts
bool goes_first(const type_data *outer, const type_data *other);

/// Streams of a call that stand for pools of the destination.
int pool_count(const type_data *dst);

} // namespace dynd
