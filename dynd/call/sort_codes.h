// Numbers as unsigned integers in the order of the numbers. Private to dynd/call/.
#pragma once

#include <cstdint>
#include <cstring>

#include "dynd/base/errors.h"
#include "dynd/ops/row_sort.h"
#include "dynd/type/type.h"

namespace dynd::nd {

enum class key_kind { unsigned_integer, signed_integer, floating };

/// The code of a number of that many bits: an unsigned integer, each number's own, so that numbers can be sorted as
/// their codes and made of these again. NaNs have no code that is in order.
template <class U, key_kind kind, int mantissa = 0> struct number_code {
  using bits = U;
  static constexpr bool is_integer = kind != key_kind::floating;
  static constexpr U sign = U(U(1) << (8 * sizeof(U) - 1));
  static constexpr U infinity = U(U(~sign) & ~((U(1) << mantissa) - 1)); // its bits

  static bool is_nan(U value) { return kind == key_kind::floating && U(value & U(~sign)) > infinity; }

  // Without a branch: the signs of numbers cannot be foreseen.
  static U encode(U value, bool descending) { return U(flipped(value, value) ^ (descending ? U(~U(0)) : U(0))); }
  static U decode(U code, bool descending) {
    U plain = U(code ^ (descending ? U(~U(0)) : U(0)));
    return flipped(plain, U(~plain));
  }

  /// As 64 bits, equal for all NaNs, which are the last; and for both zeros, where that is asked.
  static uint64_t key(U value, bool descending, bool one_zero) {
    uint64_t key = encode(kind == key_kind::floating && one_zero && value == sign ? U(0) : value, descending);
    return is_nan(value) ? ~uint64_t(0) : key;
  }

  /// The same for compiled loops, as signed integers.
  static sort_code compiled(bool descending) {
    bool floating = kind == key_kind::floating, is_unsigned = kind == key_kind::unsigned_integer;
    return {floating ? int64_t(U(~sign)) : 0, int64_t(is_unsigned ? sign : U(0)) ^ (descending ? -1 : 0),
            int64_t(floating ? infinity : U(~sign))};
  }

private:
  // Floating-point numbers: with the sign bit of `negative` all bits are flipped, else the sign.
  static U flipped(U value, U negative) {
    switch (kind) {
    case key_kind::floating:
      return U(value ^ (U(U(0) - U(negative >> (8 * sizeof(U) - 1))) | sign));
    case key_kind::signed_integer:
      return U(value ^ sign);
    case key_kind::unsigned_integer:
      return value;
    }
  }
};

/// Calls f with the code of a real number's type.
template <class F> auto with_code(scalar_id scalar, F f) {
  switch (scalar) {
  case scalar_id::bool_:
  case scalar_id::uint8:
    return f(number_code<uint8_t, key_kind::unsigned_integer>());
  case scalar_id::uint16:
    return f(number_code<uint16_t, key_kind::unsigned_integer>());
  case scalar_id::uint32:
    return f(number_code<uint32_t, key_kind::unsigned_integer>());
  case scalar_id::uint64:
    return f(number_code<uint64_t, key_kind::unsigned_integer>());
  case scalar_id::int8:
    return f(number_code<uint8_t, key_kind::signed_integer>());
  case scalar_id::int16:
    return f(number_code<uint16_t, key_kind::signed_integer>());
  case scalar_id::int32:
    return f(number_code<uint32_t, key_kind::signed_integer>());
  case scalar_id::int64:
    return f(number_code<uint64_t, key_kind::signed_integer>());
  case scalar_id::float16:
    return f(number_code<uint16_t, key_kind::floating, 10>());
  case scalar_id::float32:
    return f(number_code<uint32_t, key_kind::floating, 23>());
  case scalar_id::float64:
    return f(number_code<uint64_t, key_kind::floating, 52>());
  default:
    fail(error_kind::internal, "order: a type without an order");
  }
}

} // namespace dynd::nd
