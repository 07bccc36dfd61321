// Sizes and values: expressions over arguments, in C's notation, with len(a), shape(a, k), ndim(a), size(a), nbytes(a),
// itemsize(a), stride(a, k), min and max besides. A text in backquotes is C as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "kernelgen/prototype.h"

namespace kernelgen {

struct expression {
  enum kind_t { integer, name, text, call, unary, binary, conditional, cast } kind = integer;
  std::string spelling; ///< the number, name, operator, function or C text
  std::vector<expression> parts;
  place at;

  /// The whole as it was written, without superfluous spaces: what tells two sizes apart.
  std::string str() const;
  bool is_name(std::string_view name_) const { return kind == name && spelling == name_; }
};

expression parse_expression(const text_line &line);

/// An argument as an intent list has it: `x`, `x = value`, `x(n, m)`.
struct argument_text {
  std::string name;
  place at;
  std::vector<expression> dims;
  bool has_dims = false, has_value = false;
  expression value;
};
argument_text parse_argument(const text_line &line);

/// Calls `visit` for every name that is used, and for len(a) and the like with the name of the function.
void visit_names(const expression &e,
                 const std::function<void(const expression &name, const std::string &function)> &visit);

/// The value of an expression of integers alone, or nothing; a problem where it overflows or is divided by zero.
std::optional<int64_t> constant(const expression &e);

/// Whether it is one of the functions of arrays: len, shape, ndim, size, nbytes, itemsize, stride.
bool is_array_function(std::string_view name);

} // namespace kernelgen
