// The loops of division.def, for one ISA level.
#define DYND_FAMILY "dynd/ops/division.def"
#include "dynd/ops/isa_family.inc"
