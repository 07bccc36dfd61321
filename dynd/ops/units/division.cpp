// The loops of division.def, for one ISA level: those of any family, and those that divide by one number.
#define DYND_FAMILY "dynd/ops/division.def"
#include "dynd/ops/isa_entries.inc"

#include "dynd/ops/isa_stream.inc"

#include "dynd/ops/isa_packed.inc"

#include "dynd/ops/isa_loops.inc"

#include "dynd/ops/isa_invariant.inc"

namespace dynd::detail {
#define DYND_OPERATION(name, ...)                                                                                      \
  extern const operation_loops DYND_OF_LEVEL(name);                                                                    \
  constinit const operation_loops DYND_OF_LEVEL(name) = with_invariant_loops<op_##name>(loops_of<op_##name>());
#include DYND_FAMILY
#undef DYND_OPERATION
} // namespace dynd::detail
