// What a configuration says, resolved and checked: modules, kernels, overloads, arguments. What is emitted is made of
// it alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "kernelgen/expression.h"

namespace kernelgen {

enum class intent_kind { input, inplace, inout, output, hide };
enum class argument_form {
  value,   ///< by value
  pointer, ///< a pointer to one value
  array,   ///< a pointer to the first element
  rows,    ///< T **: a pointer to pointers to rows
  opaque   ///< of a type that arrays do not have: hidden, with a value
};
enum class layout_kind { c, fortran, strided, xnd }; ///< in the order in which they are tried

/// The size of a dimension: a number, or one of the sizes of the overload.
struct core_dim {
  int64_t fixed = -1;
  int symbol = -1;
};

/// The bytes of a `fixed_string[16]` or `fixed_bytes[16]`; 0 of everything else.
size_t fixed_text_size(std::string_view element);
inline bool is_fixed_string(std::string_view element) { return element.substr(0, 12) == "fixed_string"; }

struct argument {
  std::string name;
  c_type type;
  place at;
  intent_kind intent = intent_kind::input;
  bool is_result = false; ///< `output`, alone or with another intent
  argument_form form = argument_form::value;
  std::string element;   ///< the type in datashape
  std::string c_element; ///< the same in C; of a fixed_string or fixed_bytes, one byte
  std::vector<expression> dims;
  std::vector<core_dim> core; ///< of an array in the signature: of each of `dims`
  std::optional<expression> value;
  bool is_optional = false; ///< its operand may be missing: then it is `value`
  bool may_miss = false;    ///< elements of operand and result are ?T: where one is missing, so are all results
  bool is_omitted = false;  ///< no operand: it is `value`
  bool fortran = false;     ///< wanted in F order
  bool trusted = false;     ///< an input that the function does not write, though it is not const
  bool fully_written = false;
  int operand = -1, result = -1; ///< its number among the operands, and among the results, of the signature

  /// One text or some bytes of a fixed length: a variable of the wrapper has them.
  bool is_fixed_text() const { return form == argument_form::pointer && fixed_text_size(element) > 0; }
  bool is_array() const { return form == argument_form::array || form == argument_form::rows; }
  bool is_given() const { return intent != intent_kind::output && intent != intent_kind::hide; }
  bool is_written_operand() const { return intent == intent_kind::inplace || intent == intent_kind::inout; }
  /// A parameter that the function cannot write.
  bool is_read_only() const { return trusted || type.is_const; }
};

enum class return_kind { none, output, hide, array };

/// What becomes of the value that the function returns.
struct returned {
  return_kind kind = return_kind::none;
  argument value; ///< of `output` and `array`
};

/// What the function says about a failure: `condition => kind: message`.
struct failure_rule {
  std::string condition, status; ///< C; a dynd_status
  std::string format;            ///< of printf
  std::vector<std::string> values;
  place at;
};

/// Something that a library wants made before it is called, and released: a plan, a workspace.
struct resource {
  std::string name, type, make, release;
  std::vector<expression> key;
  bool is_shared = false; ///< one for the kernel, used by all threads at once
  place at;
};

/// A size of the signature, in the order of dynd_core_call.
struct size_symbol {
  std::string name;
  std::optional<expression> computed; ///< of a result's size that no operand has
};

/// How an overload is called for operands of one layout.
struct variant {
  layout_kind kind = layout_kind::xnd;
  prototype function;
  std::vector<argument> arguments; ///< in the order of the function's parameters
  returned result;
  std::vector<size_symbol> sizes;
  bool skips = false; ///< elements of rows that are missing are left out
  std::string signature;
  const argument *find(std::string_view name) const;
};

struct overload {
  std::string symbol; ///< what its functions in C are called after
  std::vector<variant> variants;
  const variant &main() const { return variants.back(); } ///< the most general one
};

struct kernel {
  std::string name, registered, description; ///< registered: with the module's prefix
  place at;
  bool threadsafe = false, pure = false, debug = false, propagates = true;
  bool propagates_in_arrays = false;      ///< with operands that have dimensions, or are texts, too
  bool skips_missing = false;             ///< `propagates_in_arrays`, and what is missing in rows is left out
  bool returns_status = false;            ///< what is not zero is an error
  std::vector<std::string> before, after; ///< C
  std::vector<failure_rule> failures;
  std::vector<const resource *> resources;
  std::vector<overload> overloads;
};

struct typemap {
  std::string c_type, element;
  place at;
};

struct module_model {
  std::string name, path, prefix; ///< of the configuration; of the names of kernels
  std::vector<std::string> includes, include_dirs, sources, libraries, library_dirs, header_code;
  std::vector<typemap> typemaps;
  std::map<std::string, typemap> used_types; ///< those whose sizes are checked in C
  std::vector<std::unique_ptr<resource>> resources;
  std::vector<kernel> kernels;
  std::vector<std::string> notes; ///< what is not wrong, and a person should know
};

/// A value of a struct: `x`, and `p.x` of a struct inside of it.
struct struct_field {
  std::string path, element;
  size_t offset = 0;
};
struct struct_layout {
  std::vector<struct_field> fields;
  size_t size = 0, alignment = 1;
};
/// The fields of `{x: float64, p: {x: int32}}`, as C has them; a problem at `at` where it is no struct of values.
struct_layout read_struct(const std::string &element, place at);

/// What datashape calls a type of C, or nothing.
std::string element_type(const std::vector<typemap> &typemaps, const std::string &c_type);
bool is_scalar_type(std::string_view element);
/// The bytes of a number.
size_t size_of(std::string_view element);
} // namespace kernelgen
