#include "dynd/type/common.h"

#include <string>
#include <string_view>
#include <vector>

namespace dynd {

namespace {

const type_data *common_fields(const type_data *a, const type_data *b) {
  std::vector<std::string> names;
  std::vector<ndt::type> types;
  bool named = a->kind == type_kind::struct_;
  for (int i = 0; i < a->nfields; i++) {
    const type_field &one = a->fields[i], &other = b->fields[i];
    const type_data *both = common_element(one.type, other.type);
    if (!both || (named && std::string_view(one.name) != other.name)) {
      return nullptr;
    }
    names.emplace_back(named ? one.name : "");
    types.emplace_back(both);
  }
  return (named ? ndt::make_struct(names, types) : ndt::make_tuple(types)).get();
}

const type_data *common_value(const type_data *a, const type_data *b) {
  element_kind one, other;
  if (find_element_kind(a, one) && find_element_kind(b, other)) {
    return ndt::make_scalar(promote(one.scalar, other.scalar)).get();
  }
  if (is_text(a->kind) && is_text(b->kind) && is_string(a->kind) == is_string(b->kind)) {
    return (is_string(a->kind) ? ndt::make_string() : ndt::make_bytes()).get();
  }
  if (a->kind == type_kind::var_dim && b->kind == type_kind::var_dim) {
    const type_data *element = common_element(a->element, b->element);
    return element ? ndt::make_var_dim(ndt::type(element)).get() : nullptr;
  }
  return a->nfields && a->kind == b->kind && a->nfields == b->nfields ? common_fields(a, b) : nullptr;
}

} // namespace

const type_data *common_element(const type_data *a, const type_data *b) {
  if (a == b) {
    return a;
  }
  bool option = a->kind == type_kind::option || b->kind == type_kind::option;
  a = a->kind == type_kind::option ? a->element : a;
  b = b->kind == type_kind::option ? b->element : b;
  const type_data *both = a == b ? a : common_value(a, b);
  return both && option ? ndt::make_option(ndt::type(both)).get() : both;
}

} // namespace dynd
