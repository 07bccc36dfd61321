// Conversions between the scalar types, and bytes in the other order, for one ISA level.
#include "dynd/ops/isa_unit.inc"

#include "dynd/ops/isa_stream.inc"

#include "dynd/ops/isa_losses.inc"

#include "dynd/ops/isa_convert_groups.inc"

#include "dynd/ops/isa_convert.inc"

namespace dynd::detail {
extern const conversion_loops DYND_OF_LEVEL(conversions);
constinit const conversion_loops DYND_OF_LEVEL(conversions) = make_conversions();
} // namespace dynd::detail
