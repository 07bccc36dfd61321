// The tables of the ISA levels, put together from those of the units, and the choice of one.
#include "dynd/ops/isa.h"

#include <cstdlib>
#include <cstring>

#include "dynd/base/errors.h"
#include "dynd/ops/choice_rows.h"
#include "dynd/ops/op_id.h"
#include "dynd/ops/row_sort.h"

namespace dynd {

// Which levels there are is the build's choice (DYND_LEVELS).
#ifdef DYND_HAS_baseline
#define DYND_LEVEL baseline
#include "dynd/ops/isa_table.inc"
#endif
#ifdef DYND_HAS_avx2
#define DYND_LEVEL avx2
#include "dynd/ops/isa_table.inc"
#endif
#ifdef DYND_HAS_avx512
#define DYND_LEVEL avx512
#include "dynd/ops/isa_table.inc"
#endif

namespace {

/// What the CPU, and the operating system, can run; in rising order.
struct table_list {
  const isa_table *tables[4] = {};

  table_list() {
    [[maybe_unused]] const isa_table **next = tables;
#ifdef DYND_HAS_baseline
    *next++ = &isa_baseline;
#endif
#ifdef DYND_HAS_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")) {
      *next++ = &isa_avx2;
    }
#endif
#ifdef DYND_HAS_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      *next++ = &isa_avx512;
    }
#endif
    if (!tables[0]) {
      fail(error_kind::internal, "dynd was built for a CPU that can do more than this one (DYND_LEVELS=native)");
    }
  }
};

const table_list &runnable() {
  static const table_list list;
  return list;
}

/// The one that DYND_CPU_LEVEL names; the best where it names none that this CPU can run.
const isa_table *choose() {
  const char *name = std::getenv("DYND_CPU_LEVEL");
  const isa_table *best = nullptr;
  for (const isa_table *const *table = runnable().tables; *table; ++table) {
    best = *table;
    if (name && std::strcmp(name, best->name) == 0) {
      break;
    }
  }
  return best;
}

} // namespace

const isa_table &isa() {
  static const isa_table *const chosen = choose();
  return *chosen;
}

const isa_table *const *runnable_isa_tables() { return runnable().tables; }

} // namespace dynd
