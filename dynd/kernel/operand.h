// An operand of a kernel over elements of any type: a part of its type, its layout, and where its streams are among
// those of the call.
#pragma once

#include <string_view>

#include "dynd/abi/callable.h"
#include "dynd/array/layout.h"
#include "dynd/base/small_vector.h"
#include "dynd/type/error_mode.h"
#include "dynd/type/fixed_text.h"

namespace dynd {

/// Texts of an operand: the stream of their slots, and their bytes in the next; or the stream of texts of a fixed
/// length.
struct text_slots {
  uint16_t stream;
  slot_kind kind;
  const type_data *fixed = nullptr; ///< their type, where the length is fixed

  bool is_text() const { return kind != slot_kind::none || fixed; }
  std::string_view read(char *const *streams, const char *slot) const {
    if (fixed) {
      return read_fixed_text(slot, fixed);
    }
    row_extent row = read_slot(slot, kind);
    return row.size ? std::string_view(streams[stream + 1] + row.start, size_t(row.size)) : std::string_view("");
  }
};

// What layouts say in C, and error modes, are numbered as in C++.
static_assert(uint32_t(slot_kind::none) == dynd_slots_none && uint32_t(slot_kind::offsets64) == dynd_slots_offsets64 &&
              uint32_t(slot_kind::pairs64) == dynd_slots_pairs64 &&
              uint32_t(slot_kind::offsets32) == dynd_slots_offsets32);
static_assert(int(error_mode::nocheck) == assign_error_nocheck && int(error_mode::overflow) == assign_error_overflow &&
              int(error_mode::fractional) == assign_error_fractional &&
              int(error_mode::inexact) == assign_error_inexact);

struct kernel_operand {
  type_part part;           ///< what is left of the type; streams and dimensions are numbered as in `meta`
  const dynd_arrmeta *meta; ///< of the whole operand
  int first;                ///< the stream of the call that is the operand's stream 0

  const type_data *type() const { return part.type; }
  /// The first stream of the part, in the call.
  int stream() const { return first + part.stream; }
  slot_kind slots() const { return slot_kind(meta->kind[part.stream]); }
  /// Of what is no text: its stream alone.
  text_slots texts() const {
    return {uint16_t(stream()), part.has_chars() ? slots() : slot_kind::none,
            is_fixed_text(type()->kind) ? type() : nullptr};
  }
  intptr_t size() const { return meta->dim_size[part.dim]; }
  /// The stride along dimension `dim` of the meta's stream s.
  intptr_t stride(int s, int dim) const { return meta->stride[size_t(s) * meta->ndim + size_t(dim)]; }
  /// A dimension, option or pointer entered.
  kernel_operand element() const { return {part.element(), meta, first}; }
  kernel_operand field(int i) const { return {part.field(i), meta, first}; }
};

/// The layout of an array; valid as long as the array.
class arrmeta_of {
public:
  explicit arrmeta_of(const array_block &block) {
    for (int s = 0; s < block.nstreams; s++) {
      kind_.push_back(uint32_t(block.streams()[s].kind));
      step_.push_back(block.streams()[s].step);
    }
    meta_ = {sizeof(dynd_arrmeta), DYND_ABI_VERSION, block.all_ndim, block.nstreams,
             block.size(),         block.strides(0), kind_.data(),   step_.data()};
  }
  arrmeta_of(const arrmeta_of &) = delete;
  arrmeta_of &operator=(const arrmeta_of &) = delete;
  const dynd_arrmeta *get() const { return &meta_; }

private:
  small_vector<uint32_t, 8> kind_;
  small_vector<int32_t, 8> step_;
  dynd_arrmeta meta_;
};

} // namespace dynd
