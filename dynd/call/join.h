// Joins of two lists of structs by keys.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dynd/array/array.h"

namespace dynd::nd {

/// The rows of two lists of structs whose fields `on` are equal, in the left side's order, then in the right one's:
/// structs of the left fields and of the right ones that are no keys. left: also left rows without an equal one, whose
/// right fields are missing. outer: also right rows without one, at the end. semi and anti: the left rows that have an
/// equal one, and those that have none. A missing key is equal to no other.
enum class join_kind : uint8_t { inner, left, outer, semi, anti };
array join(const array &left, const array &right, std::span<const std::string> on, join_kind how);

} // namespace dynd::nd
