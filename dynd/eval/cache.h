// When results leave the cache: from how many bytes an operation is better off with streaming stores.
#pragma once

#include <cstddef>

namespace dynd {

/// Bytes that an operation touches, from which its results are written with streaming stores. By CPU: on Intel what
/// leaves the L2 cache is already nearly as slow as memory, on AMD the L3 cache is worth keeping. The environment
/// variable DYND_STREAM_BYTES overrides it.
size_t streaming_threshold();

} // namespace dynd
