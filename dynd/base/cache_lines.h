// Memory in cache lines: what is stored past the cache, and what is fetched into it before it is needed.
#pragma once

#include <cstddef>
#include <cstring>

namespace dynd {

inline constexpr size_t line_bytes = 64;

/// Stores a whole line past the cache: it is not read first, and evicts nothing. Both are aligned to a line. Such
/// stores are weakly ordered: a store_fence comes after the last one, before another thread reads them.
inline void stream_line(void *to, const void *from) {
#if defined(__x86_64__)
  typedef long long part __attribute__((vector_size(16), may_alias));
  for (size_t k = 0; k < line_bytes / sizeof(part); k++) {
    part *at = static_cast<part *>(to) + k, own = static_cast<const part *>(from)[k];
#if defined(__clang__)
    __builtin_nontemporal_store(own, at);
#else
    __builtin_ia32_movntdq(at, own);
#endif
  }
#else
  std::memcpy(to, from, line_bytes);
#endif
}

inline void store_fence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

/// Fetches what a walk in the order of memory reads some hundred steps later: what the processor fetches by itself ends
/// with a page, and does not keep up with a short loop. Memory that is not there is not an error.
inline void fetch_ahead(const void *at) { __builtin_prefetch(static_cast<const char *>(at) + 4096); }

} // namespace dynd
