// The loops of logical.def, for one ISA level.
#define DYND_FAMILY "dynd/ops/logical.def"
#include "dynd/ops/isa_family.inc"
