// The scans, for one ISA level. They combine by the expressions of arithmetic.def.
#define DYND_FAMILY "dynd/ops/arithmetic.def"
#include "dynd/ops/isa_entries.inc"

#include "dynd/ops/isa_scan.inc"

namespace dynd::detail {
#define DYND_SCAN(name, ...)                                                                                           \
  extern const scan_loops DYND_OF_LEVEL(scan_##name);                                                                  \
  constinit const scan_loops DYND_OF_LEVEL(scan_##name) = scans_of<scan_##name>();
#include "dynd/ops/scans.def"
#undef DYND_SCAN
} // namespace dynd::detail
