// The loops of integers.def, for one ISA level.
#define DYND_FAMILY "dynd/ops/integers.def"
#include "dynd/ops/isa_family.inc"
