// Assignment kernels: from any type to any other that it can be assigned to, composed along the two types.
//
//   dimensions            strided, fixed and `var` to each other, broadcast as the seeds have it; rows of the
//                         destination that have no memory get it
//   scalars               all pairs, checked as the error mode says (type/error_mode.h)
//   string, bytes         copied; parsed to and formatted from scalars
//   fixed_string[N], fixed_bytes[N]
//                         the same; what is too long, or for fixed_bytes too short, is refused, with `nocheck` cut off
//                         or filled with zeros
//   ?T                    missing to missing; missing to anything else is an error
//   structs, tuples       by field name; by position
//   pointer[T]            what it points to
//   byteswap[T]           in the other order of bytes, through T where the other side is not T
//
// The streams of a call are the destination's, then the source's, then one for each part of the destination that can
// get new memory (`var`, string, bytes and pointer, in the order of their slots): the address of its row_pool, stride
// 0, or null where there is none.
#pragma once

#include <vector>

#include "dynd/kernel/builder.h"
#include "dynd/kernel/level.h"
#include "dynd/kernel/operand.h"
#include "dynd/type/error_mode.h"

namespace dynd {

/// What is assigned: the parts of two operands at which a kernel is called. Streams are numbered by the operands and,
/// from `first_pool` on, as above; those behind the last of these are not used.
struct element_assignment {
  kernel_operand dst, src;
  int first_pool;
  error_mode mode;
  bool skips_missing = false; ///< a missing element leaves a destination that is no option as it was
};

/// Puts a streams_strided_t at `offset` and returns the offset just past it. Where the two have no assignment it is a
/// type error; where their dimensions do not broadcast, a broadcast error; then the builder holds what can be
/// destroyed. Requests: with kernel_request_strided_multistride the strided dimensions are planned together
/// (plan/nest.h); with kernel_request_strided each is a level of its own, in the order of the type, as locating a
/// failure needs it. Another one is a value error. `levels`, if any, is told of every level.
size_t make_assignment_kernel(ckernel_builder &out, size_t offset, const element_assignment &what,
                              kernel_request_t request, std::vector<explained_level> *levels = nullptr);

/// Whether some value may be refused. What cannot be assigned at all is an error, as in make_assignment_kernel.
bool may_refuse(const element_assignment &what);

/// Whether the assignment goes through a pointer or option before the dimensions of the other side: where that has
/// none, or where as many dimensions are behind the pointer or option.
///   pointer[3 * T] to 3 * T: yes; ?(3 * T) to 2 * ?(3 * T): no, it broadcasts
bool goes_first(const type_data *outer, const type_data *other);

} // namespace dynd
