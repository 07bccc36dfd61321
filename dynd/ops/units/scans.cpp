// The scans, for one ISA level. They combine by the expressions of arithmetic.def.
#include "dynd/ops/isa_unit.inc"

#include "dynd/ops/isa_operations.inc"

namespace dynd {
namespace {
#include "dynd/ops/arithmetic.def"
} // namespace
} // namespace dynd
#undef DYND_OPERATION

#include "dynd/ops/isa_scan.inc"

namespace dynd::detail {
#define DYND_SCAN(name, ...)                                                                                           \
  extern const scan_loops DYND_OF_LEVEL(scan_##name);                                                                  \
  constinit const scan_loops DYND_OF_LEVEL(scan_##name) = scans_of<scan_##name>();
#include "dynd/ops/scans.def"
#undef DYND_SCAN
} // namespace dynd::detail
