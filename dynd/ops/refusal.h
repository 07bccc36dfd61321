// What is said of a value that a checked conversion refuses.
#pragma once

#include <string>

#include "dynd/base/errors.h"
#include "dynd/type/scalar.h"

namespace dynd {

/// Why `value`, of type `from`, does not become a `to`: "overflow while assigning int32 value 300 to int8". Of several
/// reasons it is the one that the mildest mode checks.
struct refusal {
  error_kind kind;
  std::string text;
};
refusal why_refused(scalar_id to, scalar_id from, const char *value);

} // namespace dynd
