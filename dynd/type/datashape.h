// Datashape text, the one notation for types:
//
//   type      = dimension "*" type | element
//   dimension = size | "strided" | "var"
//   size      = decimal digits, at most 2^63 - 1
//   element   = scalar | "string" | "bytes" | "fixed_string[" size "]" | "fixed_bytes[" size "]" | "?" type
//             | "{" name ":" type "," ... "}" | "(" type "," ... ")" | "option[" type "]" | "pointer[" type "]" |
//             "byteswap[" type "]"
//   scalar    = a name of scalars.def | "complex" "[" "float32" | "float64" "]"
//             | an alias: int = int32, real = float64, intptr = int64, uintptr = uint64, complex = complex128
//   name      = an identifier, or any text in double or single quotes, on one line, with the escapes \" \' \\ \n \t
//               \r and \u with four hexadecimal digits
//
// In a pattern also:
//
//   dimension = variable | "fixed" | [variable | "var" | "fixed"] "..."
//   element   = [family] variable | family | "void", and "..." at the end of a struct, tuple or list of parameters
//   variable  = an identifier that begins with a capital letter and is no family
//   family    = "Any" | "Scalar" | "Number" | "Real" | "Int" | "UInt" | "Float" | "Complex" | "Bool" | "Text"
//
// A signature:
//
//   signature = "(" parameter "," ... ["*" "," keywords] ")" "->" type
//   parameter = [name ":"] ["inout"] type ["=" value]           a keyword has a name
//   value     = a number, "True", "False", text in double quotes; for ?T also "None"
//
// In the result the name of an integer parameter may be a dimension: (N * T, k: int64) -> k * T. docs/datashape.md has
// the rules with examples, and the spellings of ndtypes and Blaze that are accepted.
//
// Whitespace and line ends may be between any two tokens; a comment goes from # to the end of its line. The
// canonical text, in which aliases are resolved, is type_data::text ("strided * var * int32"); parsing it gives the
// same type.
#pragma once

#include <string_view>

#include "dynd/type/type.h"

namespace dynd {

/// How deep types nest at most, a scalar and each dimension counted: the parser's stack has an end, and it must read
/// the text of every type.
inline constexpr int max_type_depth = 128;

/// The type that the text describes. Otherwise a type error with the place, the line and a caret:
///
///     datashape: unrecognized data type "blah" at line 1, column 5
///     3 * blah
///         ^
///
/// Columns count characters (UTF-8). Tabs are shown as a space, other unprintable bytes as U+FFFD.
ndt::type parse_datashape(std::string_view text);

} // namespace dynd
