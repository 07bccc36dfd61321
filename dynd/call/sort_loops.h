// Sorting and selecting unsigned integers in memory that fits a cache: the loops below all functions of order
// (docs/decisions/0034). Private to dynd/call/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "dynd/call/sort_codes.h"
#include "dynd/ops/isa.h"
#include "dynd/ops/row_sort.h"

namespace dynd::nd {

inline constexpr intptr_t few_items = 24; ///< up to so many are compared with each other

template <class U> int width_of(U x) { return x ? 64 - __builtin_clzll(x) : 0; }

/// The place of each item among all, where equal ones keep their order: no branch depends on the values.
template <class U> void rank_few(const U *items, intptr_t n, uint32_t *rank) {
  for (intptr_t i = 0; i < n; i++) {
    uint32_t below = 0;
    for (intptr_t j = 0; j < i; j++) {
      uint32_t after = items[i] < items[j];
      rank[j] += after;
      below += 1 - after;
    }
    rank[i] = below;
  }
}

template <class U> void sort_few(U *items, intptr_t n) {
  U from[few_items];
  uint32_t rank[few_items];
  std::copy_n(items, n, from);
  rank_few(from, n, rank);
  for (intptr_t i = 0; i < n; i++) {
    items[rank[i]] = from[i];
  }
}

/// The smallest item, and the number of bits in which the others differ from it as numbers.
template <class U> struct item_range {
  U low;
  int width;

  item_range(const U *items, intptr_t n) : low(items[0]) {
    U high = items[0];
    for (intptr_t i = 1; i < n; i++) {
      low = std::min(low, items[i]);
      high = std::max(high, items[i]);
    }
    width = width_of(U(high - low));
  }
};

template <class U> void sort_digits(const U *from, intptr_t n, U *scratch, U *to);

// By two digits of `bits` bits each of (item - low) >> shift, the lower digit first.
template <int bits, class U> void sort_two_digits(const U *from, intptr_t n, U low, int shift, U *scratch, U *to) {
  constexpr int values = 1 << bits;
  uint32_t first[values] = {}, second[values] = {};
  auto digits = [low, shift](U item) { return U(U(item - low) >> shift); };
  for (intptr_t i = 0; i < n; i++) {
    U both = digits(from[i]);
    first[both & (values - 1)]++;
    second[U(both >> bits) & (values - 1)]++;
  }
  uint32_t before[2] = {0, 0};
  for (int v = 0; v < values; v++) {
    before[0] += std::exchange(first[v], before[0]);
    before[1] += std::exchange(second[v], before[1]);
  }
  for (intptr_t i = 0; i < n; i++) {
    scratch[first[digits(from[i]) & (values - 1)]++] = from[i];
  }
  for (intptr_t i = 0; i < n; i++) {
    to[second[U(digits(scratch[i]) >> bits) & (values - 1)]++] = scratch[i];
  }
}

// Items that are in order but for the bits below `shift`: what is equal above these is sorted by itself.
template <class U> void sort_equal_digits(U *items, intptr_t n, U low, int shift, U *scratch) {
  auto digits = [low, shift](U item) { return U(U(item - low) >> shift); };
  for (intptr_t i = 1; i < n; i++) {
    if (items[i] >= items[i - 1]) {
      continue;
    }
    U equal = digits(items[i]);
    intptr_t begin = i - 1, end = i + 1;
    while (begin > 0 && digits(items[begin - 1]) == equal) {
      begin--;
    }
    while (end < n && digits(items[end]) == equal) {
      end++;
    }
    sort_digits(items + begin, end - begin, scratch, items + begin);
    i = end - 1;
  }
}

/// Sorts `from` into `to`, which may be the same; the scratch is as long. The leading bits in which the items differ
/// are two digits, enough to tell nearly all of them apart; the few that are not are sorted by the bits below.
template <class U> void sort_digits(const U *from, intptr_t n, U *scratch, U *to) {
  if (n <= few_items || n > INT32_MAX) {
    if (to != from) {
      std::copy_n(from, n, to);
    }
    return n <= few_items ? sort_few(to, n) : std::sort(to, to + n);
  }
  item_range<U> range(from, n);
  bool short_row = n <= 1200; // measured: where clearing the larger counts costs more than it saves
  int shift = std::max(0, range.width - (short_row ? 16 : 22));
  if (range.width == 0) {
    std::copy_n(from, to == from ? 0 : n, to);
    return;
  }
  if constexpr (sizeof(U) == 1) {
    return sort_two_digits<4>(from, n, range.low, 0, scratch, to);
  }
  if (short_row) {
    sort_two_digits<8>(from, n, range.low, shift, scratch, to);
  } else {
    sort_two_digits<11>(from, n, range.low, shift, scratch, to);
  }
  if (shift > 0) {
    sort_equal_digits(to, n, range.low, shift, scratch);
  }
}

/// Numbers without NaN, sorted into `to`, which may be where they are; the scratch is as long.
template <class Code>
void sort_numbers(const char *from, intptr_t n, bool descending, typename Code::bits *scratch,
                  typename Code::bits *to) {
  using bits = typename Code::bits;
  if constexpr (sizeof(bits) >= 4) {
    if (auto *loop = isa().row_sorts->rows[sizeof(bits) == 8]) {
      int64_t offsets[2] = {0, n};
      loop(reinterpret_cast<char *>(to), from, offsets, 0, 1, Code::compiled(descending));
      return;
    }
  }
  for (intptr_t i = 0; i < n; i++) {
    bits own;
    std::memcpy(&own, from + i * intptr_t(sizeof(bits)), sizeof(bits));
    to[i] = Code::encode(own, descending);
  }
  sort_digits(to, n, scratch, to);
  for (intptr_t i = 0; i < n; i++) {
    to[i] = Code::decode(to[i], descending);
  }
}
template <class U> void sort_items(U *items, intptr_t n, U *scratch) {
  using code = number_code<U, key_kind::unsigned_integer>;
  sort_numbers<code>(reinterpret_cast<const char *>(items), n, false, scratch, items);
}

/// Items k and k + 1 of so many in order, the same one twice where there is none after it. The items are moved.
/// Digit by digit from the highest, only those with the digit of item k are kept.
template <class U> std::pair<U, U> select_two(U *items, intptr_t n, intptr_t k) {
  if (n > INT32_MAX) {
    std::nth_element(items, items + k, items + n);
    return {items[k], k + 1 < n ? *std::min_element(items + k + 1, items + n) : items[k]};
  }
  U above = 0; // the smallest of those behind the ones that are kept
  bool has_above = false;
  while (n > few_items) {
    item_range<U> range(items, n);
    int bits = n < 1200 ? 8 : 11, shift = std::max(0, range.width - bits);
    auto digit = [&](U item) { return U(U(item - range.low) >> shift); };
    uint32_t counts[1 << 11];
    std::memset(counts, 0, sizeof(uint32_t) << bits);
    for (intptr_t i = 0; i < n; i++) {
      counts[digit(items[i])]++;
    }
    intptr_t before = 0;
    U wanted = 0;
    for (; k >= before + intptr_t(counts[wanted]); wanted++) {
      before += counts[wanted];
    }
    intptr_t kept = 0;
    U smallest = U(~U(0));
    for (intptr_t i = 0; i < n; i++) {
      U item = items[i], own = digit(item);
      items[kept] = item;
      kept += own == wanted;
      smallest = own > wanted && item < smallest ? item : smallest;
    }
    if (before + kept < n) {
      above = smallest;
      has_above = true;
    }
    n = kept;
    k -= before;
    if (shift == 0) { // those that are kept are equal
      return {items[0], k + 1 < n || !has_above ? items[0] : above};
    }
  }
  sort_few(items, n);
  return {items[k], k + 1 < n ? items[k + 1] : has_above ? above : items[k]};
}

/// The k smallest items in order, at the beginning of the items; `moved` has the same items, which are moved.
template <class U> U *smallest_of(U *items, intptr_t n, intptr_t k, U *moved) {
  if (k > n / 4) {
    sort_items(items, n, moved);
    return items;
  }
  if (k == 0) {
    return items;
  }
  U last = select_two(moved, n, k - 1).first;
  intptr_t below = 0;
  for (intptr_t i = 0; i < n; i++) {
    U item = items[i];
    items[below] = item;
    below += item < last;
  }
  std::fill(items + below, items + k, last);
  sort_items(items, k, moved);
  return items;
}

} // namespace dynd::nd
