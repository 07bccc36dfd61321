// The loops of rounding.def, for one ISA level.
#define DYND_FAMILY "dynd/ops/rounding.def"
#include "dynd/ops/isa_family.inc"
