// The reductions, for one ISA level. They combine by the expressions of arithmetic.def.
#define DYND_FAMILY "dynd/ops/arithmetic.def"
#include "dynd/ops/isa_entries.inc"

#include "dynd/ops/isa_vector.inc"

#include "dynd/ops/isa_reduce.inc"

#include "dynd/ops/isa_rows_reduce.inc"

#include "dynd/ops/isa_columns_reduce.inc"

#include "dynd/ops/isa_index_reduce.inc"

#include "dynd/ops/isa_strip_reduce.inc"

#include "dynd/ops/isa_tree_reduce.inc"

#include "dynd/ops/isa_few_reduce.inc"

#include "dynd/ops/isa_terms_reduce.inc"

#include "dynd/ops/isa_narrow_reduce.inc"

#include "dynd/ops/isa_reduce_tables.inc"

namespace dynd::detail {
extern const narrow_sums DYND_OF_LEVEL(narrow);
constinit const narrow_sums DYND_OF_LEVEL(narrow) = make_narrow_sums();
#define DYND_REDUCTION(name, ...)                                                                                      \
  extern const reduction_loops DYND_OF_LEVEL(reduce_##name);                                                           \
  constinit const reduction_loops DYND_OF_LEVEL(reduce_##name) =                                                       \
      with_terms<reduction_##name>(reductions_of<reduction_##name>());
#include "dynd/ops/reductions.def"
#undef DYND_REDUCTION
} // namespace dynd::detail
