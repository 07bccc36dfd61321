// A part of a type, and where its streams and dimensions begin in an array of the whole type (type.h has the
// numbering).
#pragma once

#include "dynd/type/type.h"

namespace dynd {

struct type_part {
  const type_data *type;
  int stream = 0, dim = 0;

  /// What is inside: of a dimension, option or pointer.
  type_part element() const {
    bool has_slots = type->kind == type_kind::option || restarts();
    return {type->element, stream + has_slots, dim + (type->kind != type_kind::option)};
  }
  type_part field(int i) const {
    const type_field &f = type->fields[i];
    return {f.type, stream + f.stream, dim + f.dim};
  }
  bool is_dim() const { return type->kind >= type_kind::fixed_dim; }
  bool is_var() const { return type->kind == type_kind::var_dim; }
  /// Texts and bytes, of a fixed length too.
  bool is_text() const { return dynd::is_text(type->kind); }
  /// Those whose length differs: slots, and their bytes in the next stream.
  bool has_chars() const { return is_text() && !is_fixed_text(type->kind); }
  /// A `var` dimension or pointer: the streams inside begin again at its content, and do not move along the dimensions
  /// outside.
  bool restarts() const { return is_var() || type->kind == type_kind::pointer; }
  /// A scalar, in either byte order: its type. Not a scalar: not_scalar.
  scalar_id scalar() const {
    const type_data *t = type->kind == type_kind::byteswap ? type->element : type;
    return t->kind == type_kind::scalar ? t->scalar : not_scalar;
  }
  /// The stream `stream` is the part's own, not that of something inside.
  bool has_stream() const { return !type->nfields && (!is_dim() || is_var()); }
};

/// The part inside of the first `axis` dimensions.
inline type_part part_at(const type_data *type, int axis) {
  type_part part{type};
  while (axis-- > 0) {
    part = part.element();
  }
  return part;
}

/// Dimensions on the way to a part, innermost first.
struct dim_path {
  int dim;
  const dim_path *outer;
};

/// Calls visit(part, path) for a part and all parts inside, from the outside in. `path` has the dimensions that the
/// part's streams move along: those from the last `var` dimension or pointer outside, itself included; null for none.
///   (2, var, 3) * int32: the slots move along 0, the values along 1 and 2
template <class Visit> void for_each_part(const type_part &part, const Visit &visit, const dim_path *path = nullptr) {
  visit(part, path);
  for (int i = 0; i < part.type->nfields; i++) {
    for_each_part(part.field(i), visit, path);
  }
  if (part.type->kind == type_kind::option) {
    for_each_part(part.element(), visit, path);
  } else if (part.is_dim() || part.restarts()) {
    dim_path inner{part.dim, part.restarts() ? nullptr : path};
    for_each_part(part.element(), visit, &inner);
  }
}

} // namespace dynd
