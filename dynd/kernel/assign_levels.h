// The levels and leaves that assignment is composed of. Each function puts one at `offset` and returns where its child
// begins, or for a leaf the offset past it. Streams are numbered as in the call (assign.h).
#pragma once

#include "dynd/kernel/builder.h"
#include "dynd/kernel/operand.h"
#include "dynd/type/error_mode.h"

namespace dynd {

// ---- leaves -------------------------------------------------------------------------------------------------------

/// Scalars, converted and checked.
size_t make_convert_leaf(ckernel_builder &out, size_t offset, const kernel_operand &dst, const kernel_operand &src,
                         error_mode mode);
/// Whether bytes are to be checked for UTF-8: texts of a fixed length may be a view of any memory.
bool checks_utf8(const type_data *to, const type_data *from);
/// Whether every text of the one type has a length that the other takes.
bool always_fits(const type_data *to, const type_data *from);
/// Text to text, a number to a string, a string to a number. `pool`: the stream of the destination's pool, where its
/// texts have no fixed length.
size_t make_text_leaf(ckernel_builder &out, size_t offset, const kernel_operand &dst, int pool,
                      const kernel_operand &src, error_mode mode);

// ---- levels -------------------------------------------------------------------------------------------------------

/// The child is called for runs of elements that are there in all sources. (Comparison uses this level too.)
struct option_spec {
  int nstreams;
  int dst = -1;                           ///< the stream of the destination's validity; -1: it has none
  int src[2] = {-1, -1};                  ///< of the sources' validities
  int zeroed = -1;                        ///< a stream of bytes that become 0 where an element is missing
  text_slots text = {0, slot_kind::none}; ///< texts of the source of which "NA", "null" and "" are missing too
  bool refuses = false;                   ///< a missing element is an error
};
size_t begin_option(ckernel_builder &out, size_t offset, const option_spec &spec);

/// Some children, one after another. `set_field` says where the i-th begins and what it is called in messages.
size_t begin_fields(ckernel_builder &out, size_t offset, int count, int nstreams);
void set_field(ckernel_builder &out, size_t fields, int i, size_t child, const char *name);

/// The child sees what a pointer points to, an element at a time.
struct pointer_spec {
  int nstreams;
  int pool = -1; ///< of the destination's pointers: where a null one gets memory to point to, and gives it back
  int null = -1; ///< of the source's: the destination's pointers, which become null where it is; -1: that is an error
};
size_t begin_pointer(ckernel_builder &out, size_t offset, const kernel_operand &operand, const pointer_spec &spec);

} // namespace dynd
