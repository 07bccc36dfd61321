// The loops of choices, for one ISA level.
#include "dynd/ops/isa_unit.inc"

#include "dynd/ops/isa_choices.inc"

namespace dynd::detail {
extern const choice_loops DYND_OF_LEVEL(choices);
constinit const choice_loops DYND_OF_LEVEL(choices) = make_choices();
} // namespace dynd::detail
