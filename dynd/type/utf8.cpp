#include "dynd/type/utf8.h"

namespace dynd {

size_t utf8_size(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  unsigned first = byte(0);
  if (first < 0x80)
    return 1;
  size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  bool surrogate = first == 0xed && byte(1) >= 0xa0;
  bool too_large = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : size;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t size = utf8_size(text.substr(i));
    if (size == 0)
      return false;
    i += size;
  }
  return true;
}

void append_utf8(std::string &text, unsigned code) {
  if (code < 0x80) {
    text += char(code);
    return;
  }
  if (code < 0x800) {
    text += char(0xc0 | code >> 6);
  } else {
    text += char(0xe0 | code >> 12);
    text += char(0x80 | (code >> 6 & 0x3f));
  }
  text += char(0x80 | (code & 0x3f));
}

} // namespace dynd
