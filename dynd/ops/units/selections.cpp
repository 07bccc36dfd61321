// The loops of selections, for one ISA level.
#include "dynd/ops/isa_unit.inc"

#include "dynd/ops/isa_stream.inc"

#include "dynd/ops/isa_select.inc"

namespace dynd::detail {
extern const select_loops DYND_OF_LEVEL(selections);
constinit const select_loops DYND_OF_LEVEL(selections) = make_selections();
} // namespace dynd::detail
