// Which rows of two sides have equal keys. Private to dynd/call/.
#pragma once

#include <cstdint>
#include <span>

#include "dynd/array/array.h"
#include "dynd/call/slot_table.h"

namespace dynd::nd {

/// Slots of the right side's keys, and of the left side's that are equal to one of them. Where the right side has no
/// key twice and none that is missing, the slot of a key is its row.
struct matched_slots {
  static constexpr uint32_t none = slot_table<number_key>::none;

  array left, right;      ///< uint32 of each row; none where it has no slot
  intptr_t slots = 0;     ///< all are below it
  intptr_t different = 0; ///< how many there are
};

/// By keys that are lists of one type each on both sides; a row that lacks one has no slot.
matched_slots match_keys(std::span<const array> left, std::span<const array> right);

} // namespace dynd::nd
