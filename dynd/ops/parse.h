// Text to scalars and back: what a number looks like.
#pragma once

#include <string>
#include <string_view>

#include "dynd/type/error_mode.h"
#include "dynd/type/scalar.h"

namespace dynd {

enum class parsed : uint8_t { good, not_a_value, too_large };

/// The scalar that the text is, to `value`: numbers as Python and C++ write them, with white space around; true, false
/// and their kin for bool. Without checks a text that cannot be read gives the number that it begins with, wrapped
/// or infinite where the type does not hold it, else zero.
parsed parse_scalar(std::string_view text, scalar_id to, error_mode mode, char *value);

/// A scalar as it is printed, and as it is read back: "1", "0.5", "True".
void append_scalar(std::string &text, scalar_id scalar, const char *value);

} // namespace dynd
