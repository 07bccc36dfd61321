// The texts of a list, read one by one. Private to dynd/call/.
#pragma once

#include <string_view>

#include "dynd/array/array.h"
#include "dynd/type/fixed_text.h"
#include "dynd/type/slots.h"

namespace dynd::nd {

/// Whether elements of both types are texts, or of both bytes; they may be missing.
inline bool are_like_texts(const type_data *a, const type_data *b) {
  type_kind own = without_option(a)->kind, other = without_option(b)->kind;
  return is_text(own) && is_text(other) && is_string(own) == is_string(other);
}

/// The texts of a list, which holds them or bytes, of a fixed length or not.
class list_texts {
public:
  list_texts() = default;
  explicit list_texts(const array &list)
      : slots_(list->streams()[0].address), stride_(list->strides(0)[0]), kind_(list->streams()[0].kind) {
    const type_data *type = list->type->element;
    fixed_ = is_fixed_text(type->kind) ? type : nullptr;
    content_ = fixed_ ? nullptr : list->streams()[1].address;
  }

  explicit operator bool() const { return slots_ != nullptr; }
  std::string_view operator[](int64_t i) const {
    const char *slot = slots_ + i * stride_;
    if (fixed_) {
      return read_fixed_text(slot, fixed_);
    }
    row_extent row = read_slot(slot, kind_);
    return row.size > 0 ? std::string_view(content_ + row.start, size_t(row.size)) : std::string_view("");
  }

private:
  const char *slots_ = nullptr, *content_ = nullptr;
  intptr_t stride_ = 0;
  slot_kind kind_ = slot_kind::none;
  const type_data *fixed_ = nullptr; // their type, where the length is fixed
};

} // namespace dynd::nd
