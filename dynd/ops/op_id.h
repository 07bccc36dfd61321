// The names of the operations. For the few sources that name one: whoever includes this is compiled again when an
// operation is added. The rest has the operation as data (operation.h), and the engine its own few by logic.h.
#pragma once

#include "dynd/ops/operation.h"

namespace dynd {

enum class op_id : uint8_t {
#define DYND_OPERATION_NAME(name, signature) name,
#include "dynd/ops/operation_names.h"
#undef DYND_OPERATION_NAME
};

inline constexpr size_t op_count = 0
#define DYND_OPERATION_NAME(name, signature) +1
#include "dynd/ops/operation_names.h"
#undef DYND_OPERATION_NAME
    ;

} // namespace dynd
