#include "dynd/array/cursor.h"

#include "dynd/ops/isa.h"

namespace dynd {

intptr_t divided_unit(intptr_t stride, int32_t step) { return stride / step; }

const char *cursor::value(char *room) const {
  if (kind() == type_kind::scalar) {
    return at_[0];
  }
  isa().swap_bytes(scalar())(room, at_[0], nullptr, nullptr, 1, nullptr);
  return room;
}

std::string index_text(std::span<const intptr_t> index) {
  std::string text;
  for (intptr_t i : index) {
    text += (text.empty() ? "" : ", ") + std::to_string(i);
  }
  return index.size() > 1 ? "(" + text + ")" : text;
}

std::string row_text(std::span<const intptr_t> index) {
  return index.empty() ? "the rows" : "row " + index_text(index);
}

} // namespace dynd
