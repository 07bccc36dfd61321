#include "dynd/base/cpu.h"

#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

namespace dynd {

namespace {

constexpr size_t megabyte = size_t(1) << 20;

// The cache of this level that a core has; `name` is what sysconf calls it, which adds up the L3s of all dies of some
// CPUs (256 MB of 8 times 32).
size_t cache_size(unsigned level, int name, size_t otherwise) {
#if defined(__x86_64__)
  for (unsigned leaf : {0x4u, 0x8000001du}) { // the same layout; a CPU has one of them
    unsigned a, b, c, d;
    for (unsigned i = 0; i < 8 && __get_cpuid_count(leaf, i, &a, &b, &c, &d) && (a & 31) != 0; i++) {
      if (((a >> 5) & 7) == level) {
        return size_t((b >> 22) + 1) * (((b >> 12) & 1023) + 1) * ((b & 4095) + 1) * (size_t(c) + 1);
      }
    }
  }
#endif
  long size = sysconf(name);
  return size > 0 ? size_t(size) : otherwise;
}

// Bytes that the environment says, for experiments and tests.
void take_setting(const char *name, size_t &bytes) {
  const char *text = std::getenv(name);
  char *end = nullptr;
  unsigned long long given = text ? std::strtoull(text, &end, 10) : 0;
  if (text && end != text && *end == 0) {
    bytes = size_t(given);
  }
}

cpu_tuning tune() {
  size_t second = cache_size(2, _SC_LEVEL2_CACHE_SIZE, megabyte);
  size_t third = cache_size(3, _SC_LEVEL3_CACHE_SIZE, 32 * megabyte);
  bool intel = false;
#if defined(__x86_64__)
  __builtin_cpu_init();
  intel = __builtin_cpu_is("intel");
#endif
  // Intel: streaming pays from 1.5 MB touched alone and 6 MB when the result is used at once, with an L2 of 1.25 MB.
  // AMD: from 18 MB and 24 MB, with an L3 of 32 MB. The L3 that a virtual machine reports may be shared by many.
  cpu_tuning tuning;
  tuning.stream_from = intel ? 4 * second : third * 3 / 4;
  tuning.stream_from = tuning.stream_from < 64 * megabyte ? tuning.stream_from : 64 * megabyte;
  // Intel's prefetchers begin anew at every page: five streams gain 1.2 times. AMD's do not need help.
  tuning.prefetch_from = intel ? second : SIZE_MAX;
  tuning.prefetch_distance = 1024;
  take_setting("DYND_STREAM_BYTES", tuning.stream_from);
  take_setting("DYND_PREFETCH_BYTES", tuning.prefetch_from);
  return tuning;
}

} // namespace

const cpu_tuning &this_cpu() {
  static const cpu_tuning tuning = tune();
  return tuning;
}

} // namespace dynd
