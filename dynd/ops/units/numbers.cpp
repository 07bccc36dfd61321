// The loops of numbers.def, for one ISA level.
#define DYND_FAMILY "dynd/ops/numbers.def"
#include "dynd/ops/isa_family.inc"
