// The names of the operations and their signatures, in the order of the ids: define DYND_OPERATION_NAME(name,
// signature) first. No include guard: included many times. The build makes a list of them alone
// (tools/operation_names.cmake), so that a changed expression rebuilds its family and not every file that knows the
// names; elsewhere the entries have them.
#if __has_include("dynd/ops/operation_names.inc")
#include "dynd/ops/operation_names.inc"
#else
#define DYND_OPERATION(name, signature, ...) DYND_OPERATION_NAME(name, signature)
#include "dynd/ops/operations.def"
#undef DYND_OPERATION
#endif
