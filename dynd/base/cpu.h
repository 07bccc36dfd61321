// When streaming stores and prefetching pay: measured, because a CPU does not say. By vendor; the figures behind the
// choices are in docs/decisions.
#pragma once

#include <cstddef>

namespace dynd {

struct cpu_tuning {
  /// Bytes an operation touches from which its results are written with streaming stores. On Intel what leaves the L2
  /// cache is nearly as slow as memory, on AMD the L3 cache is worth keeping. DYND_STREAM_BYTES overrides it.
  size_t stream_from;
  /// Bytes an operation touches from which its sources are prefetched, and how far ahead. DYND_PREFETCH_BYTES overrides
  /// the first.
  size_t prefetch_from, prefetch_distance;
};

const cpu_tuning &this_cpu();

} // namespace dynd
