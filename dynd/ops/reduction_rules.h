// What an entry of reductions.def or scans.def says of its fold, for the tables and the compiled loops.
#pragma once

#include <cstdint>

namespace dynd {

/// The accumulator of a fold: of 64 bits for integers and bool (floating types stay), or of the type itself; `index`
/// keeps an element, and its result is where that was. For float16, in which nothing computes, it is always float32.
enum class accumulator_rule : uint8_t { wide, same, index };

/// What an empty row gives: 0, 1, or an error.
enum class empty_rule : uint8_t { zero, one, none };

} // namespace dynd
