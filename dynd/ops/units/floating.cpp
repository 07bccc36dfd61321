// The loops of floating.def, for one ISA level.
#define DYND_FAMILY "dynd/ops/floating.def"
#include "dynd/ops/isa_family.inc"
