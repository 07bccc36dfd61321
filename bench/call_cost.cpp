// What `a + b` of three float64 costs in C++: seconds for each call, and how often it asks for memory.
// Prints one line of JSON for run.py. Calls of malloc and its kin are counted in the whole process, the library's
// too: they come here first.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>

#include "dynd/call/functions.h"

namespace {

std::atomic<long> allocations{0};

/// Counts without a locked instruction, which would cost as much as what is measured; one thread works here.
void count_one() { allocations.store(allocations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

double seconds_for(const dynd::nd::array &a, const dynd::nd::array &b, long calls) {
  auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < calls; ++i) {
    dynd::nd::array c = a + b;
    asm volatile("" : : "r"(c.get()) : "memory"); // the result is wanted
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

extern "C" {

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  count_one();
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  count_one();
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  count_one();
  return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  count_one();
  *result = __libc_memalign(alignment, size);
  return *result ? 0 : 12; // ENOMEM
}

} // extern "C"

int main() {
  dynd::nd::array a = {1.0, 2.0, 3.0}, b = {4.0, 5.0, 6.0};
  dynd::nd::array c = a + b;
  const double *sum = c.data<double>();
  if (sum[0] != 5 || sum[1] != 7 || sum[2] != 9) {
    std::fprintf(stderr, "a + b is wrong\n");
    return 1;
  }

  constexpr long calls = 10000;
  constexpr int rounds = 200;
  seconds_for(a, b, calls); // warm
  double best = 1;
  for (int round = 0; round < rounds; ++round) {
    double seconds = seconds_for(a, b, calls) / calls;
    best = seconds < best ? seconds : best;
  }

  long before = allocations;
  seconds_for(a, b, calls);
  std::printf("{\"seconds\": %.4g, \"allocations\": %g}\n", best, double(allocations - before) / calls);
  return 0;
}
