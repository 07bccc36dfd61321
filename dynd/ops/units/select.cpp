// The loops of select.def, for one ISA level.
#define DYND_FAMILY "dynd/ops/select.def"
#include "dynd/ops/isa_family.inc"
