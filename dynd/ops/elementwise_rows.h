// Includes elementwise.def for its names only: define DYND_ROW(name) first. No include guard: included many times.
#define DYND_UNARY(name, ...) DYND_ROW(name)
#define DYND_MAGNITUDE(name, ...) DYND_ROW(name)
#define DYND_BINARY(name, ...) DYND_ROW(name)
#define DYND_COMPARE(name, ...) DYND_ROW(name)
#define DYND_SELECT(name, ...) DYND_ROW(name)
#define DYND_BINARY2(name, ...) DYND_ROW(name)
#include "dynd/ops/elementwise.def"
#undef DYND_UNARY
#undef DYND_MAGNITUDE
#undef DYND_BINARY
#undef DYND_COMPARE
#undef DYND_SELECT
#undef DYND_BINARY2
