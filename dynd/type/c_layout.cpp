#include "dynd/type/c_layout.h"

#include <algorithm>
#include <string>

#include "dynd/base/errors.h"

namespace dynd {

c_layout c_layout_of(const type_data *dtype) {
  c_layout all;
  bool of_struct = dtype->kind == type_kind::option && dtype->element->nfields > 0;
  if (of_struct || (dtype->nfields == 0 && !has_c_layout(dtype))) {
    fail(error_kind::type, std::string("kernel: elements of type ") + dtype->text + " have no layout in C");
  }
  if (dtype->kind == type_kind::option) {
    c_layout value = c_layout_of(dtype->element);
    all.alignment = value.alignment;
    all.size = value.alignment + value.size;
    all.offset = {0, value.alignment};
    return all;
  }
  if (dtype->kind == type_kind::scalar) {
    all.size = scalar_size[size_t(dtype->scalar)];
    all.alignment = intptr_t(scalar_alignment(dtype->scalar));
    all.offset = {0};
    return all;
  }
  if (is_fixed_text(dtype->kind)) { // char[N]
    all.size = dtype->size;
    all.offset = {0};
    return all;
  }
  auto aligned = [](intptr_t at, intptr_t alignment) { return (at + alignment - 1) / alignment * alignment; };
  for (int i = 0; i < dtype->nfields; i++) {
    c_layout own = c_layout_of(dtype->fields[i].type);
    intptr_t at = aligned(all.size, own.alignment);
    for (intptr_t inside : own.offset) {
      all.offset.push_back(at + inside);
    }
    all.alignment = std::max(all.alignment, own.alignment);
    all.size = at + own.size;
  }
  all.size = aligned(all.size, all.alignment);
  return all;
}

bool has_c_layout(const type_data *dtype) {
  if (dtype->kind != type_kind::struct_ && dtype->kind != type_kind::tuple) {
    const type_data *value = dtype->kind == type_kind::option ? dtype->element : dtype;
    return value->kind == type_kind::scalar || is_fixed_text(value->kind);
  }
  return std::all_of(dtype->fields, dtype->fields + dtype->nfields,
                     [](const type_field &f) { return f.type->kind != type_kind::option && has_c_layout(f.type); });
}

} // namespace dynd
