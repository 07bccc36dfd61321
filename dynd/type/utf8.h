// UTF-8: the one encoding of strings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dynd {

/// Bytes of the character at the beginning of `text`, which is not empty; 0 if it is not a valid one.
size_t utf8_size(std::string_view text);

bool is_utf8(std::string_view text);

/// Appends a character of the basic plane: a code below 0x10000 that is no surrogate.
void append_utf8(std::string &text, unsigned code);

} // namespace dynd
