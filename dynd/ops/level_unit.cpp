// One table of compiled loops. This unit is compiled once for each CPU level, with -DDYND_LEVEL=<name> and that level's
// machine flags, and -fwrapv -ffp-contract=off -fno-math-errno -fno-trapping-math. It exports the table and nothing
// else (the baseline also the strided tables): no weak symbol, so nothing inline, nothing of the standard library.
#include "dynd/ops/level.h"

#include <immintrin.h>

#include <utility>

#include "dynd/ops/scalar_math.h"

#pragma GCC diagnostic ignored "-Wpsabi"

#define DYND_LEVEL_NAME_(level) #level
#define DYND_LEVEL_NAME(level) DYND_LEVEL_NAME_(level)
#define DYND_LEVEL_TABLE_(level) level_table_##level
#define DYND_LEVEL_TABLE(level) DYND_LEVEL_TABLE_(level)

// the level that also has the strided tables
#define DYND_HAS_STRIDED_baseline 1
#define DYND_HAS_STRIDED_(level) DYND_HAS_STRIDED_##level
#define DYND_HAS_STRIDED(level) DYND_HAS_STRIDED_(level)

#include "dynd/ops/level_rows.inc"

#include "dynd/ops/level_elementwise.inc"

#include "dynd/ops/level_convert.inc"

#include "dynd/ops/level_vector.inc"

#include "dynd/ops/level_reduce.inc"

#include "dynd/ops/level_rows_reduce.inc"

#include "dynd/ops/level_fetch.inc"

#include "dynd/ops/level_transpose.inc"

namespace dynd {
namespace {

constexpr level_table make_level_table() {
  level_table table{};
  table.name = DYND_LEVEL_NAME(DYND_LEVEL);
  fill_elementwise(table);
  fill_conversions(table);
  fill_reductions(table);
  fill_fetch(table);
  return table;
}

} // namespace

namespace detail {
extern const level_table DYND_LEVEL_TABLE(DYND_LEVEL);
constinit const level_table DYND_LEVEL_TABLE(DYND_LEVEL) = make_level_table();
} // namespace detail

} // namespace dynd

#if DYND_HAS_STRIDED(DYND_LEVEL)
#include "dynd/ops/level_strided.inc"
#endif
