// The loops of transcendental.def, for one ISA level.
#include "dynd/ops/vector_math.h"

#define DYND_FAMILY "dynd/ops/transcendental.def"
#include "dynd/ops/isa_family.inc"
