#include "dynd/call/key_lists.h"

#include <string>

#include "dynd/base/errors.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

marked_list marked_list::inside(const char *name) const {
  array both = new_list<bool>(list.size(0));
  presence own = presence_of(list), outer = counts();
  bool *to = values_of<bool>(both);
  in_pieces(name, list.size(0), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = own(i) && outer(i);
    }
  });
  return {inside_of_options(list), both};
}

array own_keys(const char *name, const array &list) {
  bool texts = has_texts(list);
  element_kind kind{};
  bool number = find_element_kind(list->type->dtype, kind) && !kind.option && !is_complex(kind.scalar);
  if (list.ndim() != 1 || !(texts || number)) {
    fail(error_kind::type, std::string(name) + ": elements of type " + std::string(list.type().element().str()) +
                               " are no keys; real numbers, bools, texts, bytes and structs of these are");
  }
  if (!texts) {
    return native_list(list, kind.scalar);
  }
  return unshared(list);
}

text_reader::text_reader(const array &list) : texts_(list) {
  for (intptr_t i : {intptr_t(0), list.size(0) - 1}) { // where the last one ends, mostly all do
    if (i >= 0 && i < list.size(0) && !texts_[i].empty()) {
      limit_ = std::max(limit_, texts_[i].data() + texts_[i].size());
    }
  }
}

DYND_LOOKS()

} // namespace dynd::nd
