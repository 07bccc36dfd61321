// Loops over items whose size the compiler knows.
#pragma once

#include <cstddef>
#include <type_traits>

namespace dynd {

/// Calls f with the size of an item as a constant, where it is a power of two up to 16; else with the size itself.
template <class F> void with_item(size_t item, F f) {
  switch (item) {
  case 1:
    return f(std::integral_constant<size_t, 1>());
  case 2:
    return f(std::integral_constant<size_t, 2>());
  case 4:
    return f(std::integral_constant<size_t, 4>());
  case 8:
    return f(std::integral_constant<size_t, 8>());
  case 16:
    return f(std::integral_constant<size_t, 16>());
  default:
    return f(item);
  }
}

} // namespace dynd
