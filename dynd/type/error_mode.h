// What a conversion of values checks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynd {

/// Each mode also checks what those before it do.
///   nocheck     nothing: integers wrap, a fraction is cut off, anything but 0 is true
///   overflow    the value is in the range of the type: of floating-point types, what is finite stays so; of bool, 0, 1
///   fractional  a floating-point value that becomes an integer has no fraction
///   inexact     a floating-point type holds exactly the value
enum class error_mode : uint8_t { nocheck, overflow, fractional, inexact };

inline constexpr size_t error_mode_count = 4;

} // namespace dynd
