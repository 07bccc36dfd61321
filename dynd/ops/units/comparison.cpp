// The loops of comparison.def, for one ISA level.
#define DYND_FAMILY "dynd/ops/comparison.def"
#include "dynd/ops/isa_family.inc"
