// The loops of arithmetic.def, for one ISA level.
#define DYND_FAMILY "dynd/ops/arithmetic.def"
#include "dynd/ops/isa_family.inc"
