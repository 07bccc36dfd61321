// The loops that sort short rows, for one ISA level.
#include "dynd/ops/isa_unit.inc"

#include "dynd/ops/isa_row_sort.inc"

namespace dynd::detail {
extern const row_sort_loops DYND_OF_LEVEL(row_sorts);
constinit const row_sort_loops DYND_OF_LEVEL(row_sorts) = make_row_sorts();
} // namespace dynd::detail
