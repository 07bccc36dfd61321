// The test program's own operator new: counts what lives, and fails when it is told to. The library allocates through
// it too (but for array data of 4 MB and more, which is mapped).
#pragma once

#include <cstdint>
#include <functional>

namespace dynd::testing {

/// Blocks that were allocated and not given back yet, in the whole process.
int64_t live_allocations();

/// How many allocations were asked for since the program started, in the whole process.
int64_t allocation_count();

/// While one lives, allocations fail: the n-th from now (0 is the next one), and with `all_after` every one after it.
/// One at a time in the process. `meanwhile` is called just before the n-th fails.
class failing_allocation {
public:
  explicit failing_allocation(int64_t n, bool all_after = false, std::function<void()> meanwhile = nullptr);
  ~failing_allocation();
  failing_allocation(const failing_allocation &) = delete;
  failing_allocation &operator=(const failing_allocation &) = delete;
  /// Whether some allocation was made to fail.
  bool happened() const;
};

} // namespace dynd::testing
