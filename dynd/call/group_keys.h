// Which group each element is in, by keys of any type: numbers, bools, texts, bytes, structs of these, options of all.
// Private to dynd/call/. What slots are: docs/decisions/0035.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynd/array/array.h"
#include "dynd/call/element_parts.h"
#include "dynd/call/slot_table.h"
#include "dynd/eval/nested.h"

namespace dynd::nd {

/// Elements in parts, each of which has slots of its own that follow each other.
struct slot_parts {
  element_parts elements;
  std::vector<int64_t> first; ///< slot of each part, and their number
};

/// The slots of elements, and the groups, whose keys rise; what is missing is the last one.
struct key_groups {
  array numbers; ///< integers of 4 or 8 bytes: the slot of element i is numbers[i] - base
  uint64_t base = 0;
  intptr_t elements = 0;
  intptr_t slots = 0;                      ///< all are below it
  place_buffer slot_of;                    ///< of each group; those that no group has are of no element
  array keys;                              ///< a list, of each group
  std::shared_ptr<const slot_parts> parts; ///< where it is not null, `numbers` are in the order of the parts, and a
                                           ///< part's slots are counted from its first one

  intptr_t count() const { return slot_of.size(); }
  bool wide() const { return numbers->item_size() == 8; }
  /// The same with the numbers in the order of the elements.
  key_groups in_order() const;
  /// Calls f with the slots, as something that has them by the number of the element; not of parts.
  template <class F> auto with_slots(F f) const {
    if (wide()) {
      return f([at = values_of<uint64_t>(numbers), base = base](intptr_t i) { return at[i] - base; });
    }
    return f([at = values_of<uint32_t>(numbers), base = uint32_t(base)](intptr_t i) { return uint64_t(at[i] - base); });
  }
  /// The group of each slot.
  scratch_values<uint32_t> group_of_slots() const;
};

key_groups group_keys(const char *name, const array &list);
/// By several lists of one length, the first one first; the keys are structs, or without names tuples.
key_groups group_keys(const char *name, std::span<const std::string> names, std::span<const array> lists);
/// By the row of each element, then by its group in others; `first` has where each row's groups begin. The keys are
/// those of the others.
key_groups group_in_rows(const char *name, const row_offsets &rows, const key_groups &inside, new_offsets &first);

} // namespace dynd::nd
