// What is said of a value that a checked conversion refuses.
#pragma once

#include <string>

#include "dynd/ops/level.h"

namespace dynd {

/// `value`, of type `from`, does not become a `to`: throws the error that says why ("overflow while assigning int32
/// value 300 to int8"), followed by `where`. Of several reasons it is the one that the mildest mode checks.
[[noreturn]] void fail_conversion(scalar_id to, scalar_id from, const char *value, const std::string &where);

} // namespace dynd
