#include "dynd/type/c_layout.h"

#include <algorithm>

namespace dynd {

namespace {

bool is_value(const type_data *type) { return type->kind == type_kind::scalar || is_fixed_text(type->kind); }

void add_fields(const type_data *type, intptr_t at, c_layout &all) {
  if (is_value(type)) {
    all.offset.push_back(at);
    return;
  }
  intptr_t inside = 0;
  for (int i = 0; i < type->nfields; i++) {
    c_layout own = c_layout_of(type->fields[i].type);
    inside = (inside + own.alignment - 1) / own.alignment * own.alignment;
    add_fields(type->fields[i].type, at + inside, all);
    inside += own.size;
  }
}

} // namespace

c_layout c_layout_of(const type_data *dtype) {
  c_layout all;
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
  } else if (is_fixed_text(dtype->kind)) { // char[N]
    all.size = dtype->size;
  }
  for (int i = 0; i < dtype->nfields; i++) {
    c_layout own = c_layout_of(dtype->fields[i].type);
    all.alignment = std::max(all.alignment, own.alignment);
    all.size = (all.size + own.alignment - 1) / own.alignment * own.alignment + own.size;
  }
  all.size = (all.size + all.alignment - 1) / all.alignment * all.alignment;
  add_fields(dtype, 0, all);
  return all;
}

bool has_c_layout(const type_data *dtype) {
  if (dtype->kind != type_kind::struct_ && dtype->kind != type_kind::tuple) {
    const type_data *value = dtype->kind == type_kind::option ? dtype->element : dtype;
    return is_value(value);
  }
  return std::all_of(dtype->fields, dtype->fields + dtype->nfields,
                     [](const type_field &f) { return f.type->kind != type_kind::option && has_c_layout(f.type); });
}

} // namespace dynd
