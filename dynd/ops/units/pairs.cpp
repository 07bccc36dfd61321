// Pairs of operations, for one ISA level, by the expressions of arithmetic.def.
#define DYND_FAMILY "dynd/ops/arithmetic.def"
#include "dynd/ops/isa_entries.inc"

#include "dynd/ops/isa_stream.inc"

#include "dynd/ops/isa_pairs.inc"

namespace dynd::detail {
extern const pair_loops DYND_OF_LEVEL(pairs);
constinit const pair_loops DYND_OF_LEVEL(pairs) = make_pairs();
} // namespace dynd::detail
