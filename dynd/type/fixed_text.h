// Texts and bytes of a fixed length, as they are in memory.
#pragma once

#include <cstring>
#include <string_view>

#include "dynd/type/type.h"

namespace dynd {

/// A text without the zeros behind it.
inline std::string_view without_zeros(std::string_view text) {
  size_t size = text.size();
  for (uint64_t word = 0; size >= sizeof(word); size -= sizeof(word)) { // its last bytes are the high ones
    std::memcpy(&word, text.data() + size - sizeof(word), sizeof(word));
    if (word) {
      return text.substr(0, size - size_t(__builtin_clzll(word)) / 8);
    }
  }
  while (size > 0 && text[size - 1] == 0) {
    size--;
  }
  return text.substr(0, size);
}

/// The value of the fixed_string or fixed_bytes that is stored at `at`.
inline std::string_view read_fixed_text(const char *at, const type_data *type) {
  std::string_view whole(at, size_t(type->size));
  return type->kind == type_kind::fixed_string ? without_zeros(whole) : whole;
}

/// As many bytes of a text as there is room for, not ending in the middle of a character.
inline size_t whole_characters(std::string_view text, size_t room) {
  size_t size = text.size() < room ? text.size() : room;
  while (size < text.size() && size > 0 && (text[size] & 0xc0) == 0x80) {
    size--;
  }
  return size;
}

/// Stores a text, with zeros behind it. One whose length does not fit (a text that is longer, bytes that are not as
/// many) is cut off, and bytes filled with zeros, where `cut`; else nothing is stored, and the result is false.
inline bool store_fixed_text(char *to, const type_data *type, std::string_view text, bool cut) {
  bool is_text = type->kind == type_kind::fixed_string;
  size_t room = size_t(type->size);
  text = is_text ? without_zeros(text) : text;
  if (text.size() > room || (text.size() < room && !is_text)) {
    if (!cut) {
      return false;
    }
    text = text.substr(0, is_text ? whole_characters(text, room) : room);
  }
  std::memmove(to, text.data(), text.size()); // it may be assigned to itself
  std::memset(to + text.size(), 0, room - text.size());
  return true;
}

} // namespace dynd
