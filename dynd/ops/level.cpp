// The choice of a level: once, at first use.
#include "dynd/ops/level.h"

#include <cstdlib>
#include <cstring>

namespace dynd {

namespace detail {
extern const level_table level_table_baseline;
extern const level_table level_table_avx2;
extern const level_table level_table_avx512;
} // namespace detail

namespace {

/// What the CPU, and the operating system, can run; in rising order.
struct level_list {
  const level_table *tables[4] = {};

  level_list() {
    const level_table **next = tables;
    *next++ = &detail::level_table_baseline;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
      *next++ = &detail::level_table_avx2;
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        *next++ = &detail::level_table_avx512;
      }
    }
#endif
  }
};

const level_list &levels() {
  static const level_list list;
  return list;
}

/// The one that DYND_CPU_LEVEL names; the best where it names none that this CPU can run.
const level_table *choose() {
  const char *name = std::getenv("DYND_CPU_LEVEL");
  const level_table *best = nullptr;
  for (const level_table *const *table = levels().tables; *table; ++table) {
    best = *table;
    if (name && std::strcmp(name, best->name) == 0) {
      break;
    }
  }
  return best;
}

} // namespace

const level_table &level() {
  static const level_table *const chosen = choose();
  return *chosen;
}

const level_table *const *runnable_levels() { return levels().tables; }

} // namespace dynd
