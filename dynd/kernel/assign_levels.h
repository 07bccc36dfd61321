// The levels and leaves that assignment is composed of. Each function puts one at `offset` and returns where its child
// begins, or for a leaf the offset past it. Streams are numbered as in the call (assign.h).
#pragma once

#include "dynd/kernel/builder.h"
#include "dynd/kernel/operand.h"
#include "dynd/ops/isa.h"
#include "dynd/type/error_mode.h"

namespace dynd {

// ---- leaves -------------------------------------------------------------------------------------------------------

/// Scalars, converted and checked.
size_t make_convert_leaf(ckernel_builder &out, size_t offset, int dst, scalar_id to, int src, scalar_id from,
                         error_mode mode);

/// The slots of texts; their bytes are in the next stream.
struct text_operand {
  int stream;
  slot_kind kind;
};
/// `pool`: the stream of the destination's pool. `checked`: the bytes must be UTF-8.
size_t make_text_leaf(ckernel_builder &out, size_t offset, text_operand dst, int pool, text_operand src, bool checked);
/// Numbers that texts are made of, or become.
struct number_operand {
  int stream;
  scalar_id scalar;
  bool swapped; ///< in the other order of bytes
};
size_t make_format_leaf(ckernel_builder &out, size_t offset, text_operand dst, int pool, number_operand src);
size_t make_parse_leaf(ckernel_builder &out, size_t offset, number_operand dst, text_operand src, error_mode mode);

// ---- levels -------------------------------------------------------------------------------------------------------

/// The child is called for runs of elements that are there.
enum class missing_rule : uint8_t { kept, refused, read_from_text };
struct option_spec {
  missing_rule rule;
  int nstreams;
  int dst = -1;      ///< the destination's validity, -1 where it has none
  int src = -1;      ///< the source's
  text_operand text; ///< read_from_text: the source's texts; "NA", "null" and "" are missing too
};
size_t begin_option(ckernel_builder &out, size_t offset, const option_spec &spec);

/// Some children, one after another. `set_field` says where the i-th begins and what it is called in messages.
size_t begin_fields(ckernel_builder &out, size_t offset, int count, int nstreams);
void set_field(ckernel_builder &out, size_t fields, int i, size_t child, const char *name);

/// The child sees what a pointer of the source points to, an element at a time. `dst`: the stream of the destination's
/// pointers, which become null where the source's are; -1 where it has none: then a null pointer is an error.
size_t begin_source_pointer(ckernel_builder &out, size_t offset, const kernel_operand &pointer, int nstreams, int dst);
/// The same for a pointer of the destination; a null one gets memory to point to.
size_t begin_pointer(ckernel_builder &out, size_t offset, const kernel_operand &pointer, int nstreams, int pool);

/// A dimension in which the source or the destination has rows.
struct rows_spec {
  int nstreams;
  const kernel_operand *dst; ///< at the dimension
  const kernel_operand *src; ///< at the dimension; null where the source has none
  int pool;                  ///< of the destination's rows
  bool exact;                ///< no row stretches: one of another length gets new memory, or fails
};
size_t begin_rows(ckernel_builder &out, size_t offset, const rows_spec &spec);

} // namespace dynd
