// Defaults of parameters: the value behind `=` in a signature. It is kept as text, which is read when a kernel is
// called.
#pragma once

#include <string>

#include "dynd/type/lexer.h"
#include "dynd/type/type.h"

namespace dynd {

/// The canonical text of the value that follows: of a bool, a number or a string, or None of what may be missing. An
/// error at its place where it is no value of the type; at `equals` where the type has no defaults.
std::string read_default_text(lexer &tokens, const token &equals, const type_data *type);

} // namespace dynd
