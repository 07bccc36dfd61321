// Numbers as unsigned integers in the order of the numbers, and sorting of these: the loops below sort and argsort.
// Private to dynd/call/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "dynd/base/errors.h"
#include "dynd/type/type.h"

namespace dynd::nd {

enum class key_kind { unsigned_integer, signed_integer, floating };

/// The code of a number of that many bits: an unsigned integer, each number's own, so that numbers can be sorted as
/// their codes and made of these again. NaNs have no code that is in order.
template <class U, key_kind kind, int mantissa = 0> struct number_code {
  using bits = U;
  static constexpr U sign = U(U(1) << (8 * sizeof(U) - 1));
  static constexpr U infinity = U(U(~sign) & ~((U(1) << mantissa) - 1)); // its bits

  static bool is_nan(U value) { return kind == key_kind::floating && U(value & U(~sign)) > infinity; }

  static U encode(U value, bool descending) {
    U flipped = kind == key_kind::floating         ? U(value ^ (value & sign ? U(~U(0)) : sign))
                : kind == key_kind::signed_integer ? U(value ^ sign)
                                                   : value;
    return descending ? U(~flipped) : flipped;
  }

  static U decode(U code, bool descending) {
    U flipped = descending ? U(~code) : code;
    return kind == key_kind::floating         ? U(flipped ^ (flipped & sign ? sign : U(~U(0))))
           : kind == key_kind::signed_integer ? U(flipped ^ sign)
                                              : flipped;
  }

  /// As 64 bits, equal for all NaNs, which are the last; and for both zeros, where that is asked.
  static uint64_t key(U value, bool descending, bool one_zero) {
    if constexpr (kind == key_kind::floating) {
      if (is_nan(value)) {
        return ~uint64_t(0);
      }
    }
    return encode(kind == key_kind::floating && one_zero && value == sign ? U(0) : value, descending);
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

/// A key and the position that it is of: sorted by the key alone.
struct keyed_position {
  uint64_t key;
  int64_t position;
};

inline uint64_t sort_key(const keyed_position &item) { return item.key; }
template <class U> U sort_key(const U &code) { return code; }

inline constexpr intptr_t few_items = 20, many_items = 256;

/// Each item is counted to its place: no branch depends on the values.
template <class T> void sort_few(T *items, intptr_t n) {
  T from[few_items];
  uint32_t rank[few_items];
  for (intptr_t i = 0; i < n; i++) {
    from[i] = items[i];
    rank[i] = 0;
  }
  for (intptr_t i = 1; i < n; i++) {
    auto key = sort_key(from[i]);
    uint32_t below = 0;
    for (intptr_t j = 0; j < i; j++) {
      uint32_t before = key < sort_key(from[j]);
      rank[j] += before;
      below += 1 - before;
    }
    rank[i] = below;
  }
  for (intptr_t i = 0; i < n; i++) {
    items[rank[i]] = from[i];
  }
}

/// By the digits of the key, the last first; a digit that is the same in all is passed over.
template <class T> void sort_many(T *items, intptr_t n, T *scratch) {
  constexpr int digits = sizeof(sort_key(*items)), values = 256;
  intptr_t counts[digits][values];
  std::memset(counts, 0, sizeof counts);
  for (intptr_t i = 0; i < n; i++) {
    auto key = sort_key(items[i]);
    for (int d = 0; d < digits; d++) {
      counts[d][(key >> (8 * d)) & 255]++;
    }
  }
  T *from = items, *to = scratch;
  for (int d = 0; d < digits; d++) {
    intptr_t *next = counts[d], sum = 0;
    if (next[(sort_key(from[0]) >> (8 * d)) & 255] == n) {
      continue;
    }
    for (int v = 0; v < values; v++) {
      intptr_t count = next[v];
      next[v] = sum;
      sum += count;
    }
    for (intptr_t i = 0; i < n; i++) {
      to[next[(sort_key(from[i]) >> (8 * d)) & 255]++] = from[i];
    }
    std::swap(from, to);
  }
  if (from != items) {
    std::copy_n(from, n, items);
  }
}

/// Sorts one row; stable. The scratch is as long as the row where that has many_items or more, else not used.
template <class T> void sort_items(T *items, intptr_t n, T *scratch) {
  if (n <= few_items) {
    sort_few(items, n);
  } else if (n < many_items) {
    std::sort(items, items + n, [](const T &a, const T &b) {
      if constexpr (sizeof(T) == sizeof(keyed_position)) {
        return a.key != b.key ? a.key < b.key : a.position < b.position;
      } else {
        return a < b;
      }
    });
  } else {
    sort_many(items, n, scratch);
  }
}

} // namespace dynd::nd
