// The scalar types of C++'s own: which one has the values of a C++ type. Integers go by their size, so that long and
// long long both have one.
#pragma once

#include <complex>
#include <type_traits>

#include "dynd/type/scalar.h"

namespace dynd {

template <class T>
inline constexpr bool is_native_complex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// bool, an integer, float, double or std::complex of these two; no pointer, which would become a bool.
template <class T>
concept native_scalar = std::is_same_v<T, float> || std::is_same_v<T, double> || is_native_complex<T> ||
    (std::is_integral_v<T> && sizeof(T) <= 8);

/// float is float32, int64_t int64.
template <native_scalar T> constexpr scalar_id native_scalar_id() {
  if constexpr (std::is_same_v<T, bool>) {
    return scalar_id::bool_;
  } else if constexpr (is_native_complex<T>) {
    return sizeof(T) == 8 ? scalar_id::complex64 : scalar_id::complex128;
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? scalar_id::float32 : scalar_id::float64;
  } else {
    constexpr scalar_id ids[2][4] = {{scalar_id::uint8, scalar_id::uint16, scalar_id::uint32, scalar_id::uint64},
                                     {scalar_id::int8, scalar_id::int16, scalar_id::int32, scalar_id::int64}};
    return ids[std::is_signed_v<T>][sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
  }
}

} // namespace dynd
