// Matching types with patterns: what the variables of a pattern are bound to, and a pattern with them put in.
//
//   match(3 * float64, N * T)          N = 3, T = float64
//   substitute(N * N * T, those)       3 * 3 * float64
//
// Rules. A pattern without variables matches itself. `T` matches an element type that is not an option, `?T` an option;
// `Float T` one of the family; `Any` any type. `N` matches one dimension of any kind, `fixed` one of one size,
// `Dims...` any number of them. A name that is there twice must be bound to the same each time. `{x: T, ...}` matches
// structs that have the field, whatever else they have and where; `(T, ...)` tuples that begin so. Sizes are those of
// the type: `strided` is a dimension like another, whatever sizes arrays have there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dynd/type/type.h"

namespace dynd::ndt {

/// A dimension without what is below it.
struct dimension {
  type_kind kind = type_kind::strided_dim; ///< fixed_dim, strided_dim, var_dim, or in patterns any other
  intptr_t size = -1;                      ///< of a fixed one
  std::string name = {};                   ///< of a variable

  bool operator==(const dimension &) const = default;
  std::string str() const;       ///< "3", "strided", "N"
  type over(type element) const; ///< this dimension over an element
};
dimension dimension_of(const type_data *type);

/// What a variable is bound to.
struct binding {
  enum class kind_t { type, dimension, dimensions };

  std::string name;
  kind_t kind;
  ndt::type type = {};              ///< of a type variable
  std::vector<dimension> dims = {}; ///< of a dimension variable, one; of an ellipsis, any number

  bool operator==(const binding &) const = default;
  std::string str() const; ///< "float64", "3", "(3, var)"
};

/// What a match found. False where the type does not match; `why` then says where and why.
struct bindings {
  bool matched = true;
  std::vector<binding> all = {};
  std::string why = {};

  explicit operator bool() const { return matched; }
  const binding *find(std::string_view name) const;
};

/// The type must have no variables itself.
bindings match(type concrete, type pattern);

/// The pattern with its variables replaced by what they are bound to; those that are not bound stay. A binding of
/// another kind than the variable (a type for a dimension), or outside of its family, is a type error.
type substitute(type pattern, const bindings &bound);

struct variable {
  std::string name;
  binding::kind_t kind;
};
/// The variables, in the order in which they first occur.
std::vector<variable> variables(type pattern);

} // namespace dynd::ndt
