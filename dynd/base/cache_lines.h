// Memory in cache lines: what is stored past the cache, and what is fetched into it before it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dynd {

/// Stores words past the cache: their lines are not read first, and evict nothing. Such stores are weakly ordered: a
/// store_fence comes after the last one, before another thread reads them.
inline void stream_word(char *to, uint32_t value) {
#if defined(__x86_64__) && !defined(__clang__)
  __builtin_ia32_movnti(reinterpret_cast<int *>(to), int(value));
#elif defined(__x86_64__)
  typedef uint32_t word __attribute__((may_alias));
  __builtin_nontemporal_store(value, reinterpret_cast<word *>(to));
#else
  std::memcpy(to, &value, sizeof(value));
#endif
}

inline void stream_word(char *to, uint64_t value) {
#if defined(__x86_64__) && !defined(__clang__)
  __builtin_ia32_movnti64(reinterpret_cast<long long *>(to), static_cast<long long>(value));
#elif defined(__x86_64__)
  typedef uint64_t word __attribute__((may_alias));
  __builtin_nontemporal_store(value, reinterpret_cast<word *>(to));
#else
  std::memcpy(to, &value, sizeof(value));
#endif
}

/// The same for values of several bytes; narrow ones are copied.
template <class T> inline void stream_values(T *to, const T *from, intptr_t count) {
  size_t bytes = size_t(count) * sizeof(T);
  if constexpr (sizeof(T) % 4 == 0) {
    std::conditional_t<sizeof(T) % 8 == 0, uint64_t, uint32_t> word;
    for (size_t at = 0; at < bytes; at += sizeof(word)) {
      std::memcpy(&word, reinterpret_cast<const char *>(from) + at, sizeof(word));
      stream_word(reinterpret_cast<char *>(to) + at, word);
    }
  } else {
    std::memcpy(static_cast<void *>(to), from, bytes);
  }
}

inline void store_fence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

/// Fetches what a walk in the order of memory reads some hundred steps later: what the processor fetches by itself ends
/// with a page, and does not keep up with a short loop. Memory that is not there is not an error.
inline void fetch_ahead(const void *at) { __builtin_prefetch(static_cast<const char *>(at) + 4096); }

/// Calls f(i) for begin to end, and fetch(i), which fetches ahead, once for every eight of them: a line of 8 bytes
/// each.
template <class Fetch, class F> inline void in_eights(intptr_t begin, intptr_t end, Fetch fetch, F f) {
  for (; begin + 8 <= end; begin += 8) {
    fetch(begin);
    for (intptr_t k = 0; k < 8; k++) {
      f(begin + k);
    }
  }
  for (; begin < end; begin++) {
    f(begin);
  }
}

} // namespace dynd
