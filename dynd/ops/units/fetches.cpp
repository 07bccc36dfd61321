// How operands are brought into scratch, for one ISA level.
#include "dynd/ops/isa_unit.inc"

#include "dynd/ops/isa_stream.inc"

#include "dynd/ops/isa_vector.inc"

#include "dynd/ops/isa_fetch.inc"

#include "dynd/ops/isa_transpose.inc"

namespace dynd::detail {
extern const fetch_loops DYND_OF_LEVEL(fetches);
constinit const fetch_loops DYND_OF_LEVEL(fetches) = make_fetches();
} // namespace dynd::detail
