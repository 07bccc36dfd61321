/* A plug-in by macros: a kernel on scalars is one line. */
#include <math.h>

#include "dynd/abi/macros.h"

DYND_KERNEL_2(macro_hypot, double, double, double, sqrt(a *a + b * b))
DYND_KERNEL_3(macro_clamp, float, float, float, float, a<b ? b : a> c ? c : a)
DYND_KERNEL_1(macro_popcount, int8_t, uint64_t, __builtin_popcountll(a))
DYND_PLUGIN(macro_hypot, macro_clamp, macro_popcount)
