#include "dynd/array/cursor.h"

namespace dynd {

intptr_t divided_unit(intptr_t stride, int32_t step) { return stride / step; }

void swap_bytes(char *value, scalar_id scalar) {
  size_t components = component_count(scalar), size = scalar_size[size_t(scalar)] / components;
  for (char *component = value; components > 0; components--, component += size) {
    std::reverse(component, component + size);
  }
}

std::string row_text(std::span<const intptr_t> index) {
  std::string text;
  for (intptr_t i : index) {
    text += (text.empty() ? "" : ", ") + std::to_string(i);
  }
  return index.empty() ? "the rows" : "row " + (index.size() > 1 ? "(" + text + ")" : text);
}

} // namespace dynd
