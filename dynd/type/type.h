// Types: interned and immortal, so that equality is a pointer comparison and a type costs nothing to hold.
//
// A type is an element type (a scalar, a string, a struct, ...) or a dimension over one. Datashape text is the one
// notation for them. Patterns (types with variables in them, `N * T`) and signatures (`(N * T) -> T`) are types too,
// but no array has them: `abstract` says so, and only dynd/type/ and what matches types (pattern.h) look inside.
//
// An array of a type is sizes and streams (dynd/array/block.h). Both are numbered by walking the type from the outside
// in, the fields of a struct in their order; the position of a part of a type is (first stream, first dimension).
//
//   strided * {id: int32, hits: var * ?float32}     dimensions: 0 strided, 1 var
//                                                   streams: 0 id, 1 rows of hits, 2 validity, 3 values
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynd/type/scalar.h"

namespace dynd {

enum class type_kind : uint8_t {
  scalar,
  string,       ///< UTF-8 text
  bytes,        ///< any bytes
  fixed_string, ///< fixed_string[N]: UTF-8 text of at most N bytes; zeros behind it are not part of it
  fixed_bytes,  ///< fixed_bytes[N]: N bytes
  option,       ///< ?T: a T, or missing
  tuple,        ///< (T, U)
  struct_,      ///< {x: T, y: U}
  pointer,      ///< pointer[T]: a T that is stored elsewhere
  byteswap,     ///< byteswap[T]: a scalar with its bytes in the other order
  variable,     ///< T: in a pattern, any element type, of a family if it has one (`Float T`)
  family,       ///< Float: in a pattern, any type of the family; it binds nothing
  function,     ///< (T, U) -> R: a signature
  nothing,      ///< void: the result of a signature that has none
  fixed_dim,    // the dimensions are the last
  strided_dim,
  var_dim,
  any_fixed_dim, ///< fixed: in a pattern, a dimension of one size, fixed or strided
  dim_variable,  ///< N: in a pattern, any dimension
  ellipsis       ///< Dims...: in a pattern, any number of dimensions, of none included
};
inline constexpr int type_kind_count = int(type_kind::ellipsis) + 1;

/// Texts and bytes, of a fixed length or not.
inline constexpr bool is_fixed_text(type_kind kind) {
  return kind == type_kind::fixed_string || kind == type_kind::fixed_bytes;
}
inline constexpr bool is_text(type_kind kind) {
  return kind == type_kind::string || kind == type_kind::bytes || is_fixed_text(kind);
}
/// Texts in UTF-8.
inline constexpr bool is_string(type_kind kind) { return kind == type_kind::string || kind == type_kind::fixed_string; }
inline constexpr intptr_t max_fixed_text = INT32_MAX; ///< bytes of one

/// The families of types that patterns name.
enum class type_family : uint8_t {
  any,
  scalar,
  number,
  real,
  integer,
  unsigned_integer,
  floating,
  complex,
  boolean,
  text
};
inline constexpr const char *family_name[] = {"Any",  "Scalar", "Number",  "Real", "Int",
                                              "UInt", "Float",  "Complex", "Bool", "Text"};
inline constexpr size_t family_count = std::size(family_name);

/// Why no array has a type; bits of type_data::abstract.
inline constexpr uint8_t abstract_pattern = 1, abstract_signature = 2;

inline constexpr int max_ndim = 32;
inline constexpr int max_type_streams = 255; ///< of one type; as many dimensions, those inside elements included
/// A value error of the operation where there are more dimensions than an array may have.
void check_ndim(const char *name, int ndim);
/// An error where a type would have more. A struct of n fields has n streams at least.
void check_counts(size_t nstreams, size_t ndim);

/// type_data::scalar of elements that are not scalars.
inline constexpr scalar_id not_scalar = scalar_id(scalar_count);

struct type_data;

/// A field of a struct or tuple, and its position in it; or a parameter of a signature.
struct type_field {
  const char *name; ///< null in a tuple, and for a parameter without one
  const type_data *type;
  uint8_t stream, dim;
  bool inout = false;          ///< a parameter that is read and written
  const char *value = nullptr; ///< the default of a parameter, as text; null where there is none
};

/// What a stream holds.
enum class stream_role : uint8_t {
  values, ///< scalars, fixed_string and fixed_bytes
  rows,   ///< where the rows of a `var` dimension are in its content
  texts,  ///< the same for strings and bytes
  chars,  ///< the bytes of strings
  valid,  ///< of an option: a byte, 1 where there is a value
  index   ///< of a pointer: the number of its element in the content
};

/// What a type is. Made only by the functions below; never destroyed.
struct type_data {
  type_kind kind;
  scalar_id scalar;         ///< of the elements at the bottom; not_scalar where they are something else
  uint8_t ndim;             ///< dimensions from here down
  uint8_t var_count;        ///< how many of them are `var`
  uint32_t id;              ///< never reused; of a scalar, the number of its scalar_id
  intptr_t size;            ///< of a fixed dimension; bytes of a fixed_string or fixed_bytes; else -1
  const type_data *element; ///< of a dimension, option, pointer or byteswap, else null
  const char *text;         ///< datashape, zero-terminated
  const type_data *dtype;   ///< what is below the dimensions; itself where there are none
  const type_field *fields; ///< of a struct or tuple
  uint8_t nfields;
  uint8_t nstreams;         ///< of an array of this type
  uint8_t all_ndim;         ///< dimensions, those inside elements included; a pointer's content is one
  const stream_role *roles; ///< of the streams
  // Of patterns and signatures.
  uint8_t abstract = 0;                  ///< not zero: no array has this type
  bool open = false;                     ///< a struct, tuple or signature that ends with `...`
  uint8_t nkeywords = 0;                 ///< of a signature: its last parameters, given by name only
  type_family family = type_family::any; ///< of a variable or a family
  const char *name = nullptr;            ///< of a variable; of an ellipsis also "var" and "fixed"; null without one
};

namespace ndt {

/// A handle to a type: one pointer, copied freely, compared by address.
class type {
public:
  type() = default; ///< no type
  explicit type(const type_data *data) : data_(data) {}
  explicit type(std::string_view datashape); ///< parses; the error shows line, column and a caret

  const type_data *operator->() const { return data_; }
  const type_data *get() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }
  bool operator==(const type &other) const = default;

  std::string_view str() const { return data_->text; }
  type element() const { return type(data_->element); }
  type dtype() const { return type(data_->dtype); } ///< the type below the dimensions
  type at_depth(int n) const;                       ///< n dimensions removed; an index error where there are fewer

private:
  const type_data *data_ = nullptr;
};

// The same arguments give the same type, from any thread. A scalar costs an address, a strided or var dimension one
// atomic load after its first use, a fixed dimension a look-up under a lock. Types are never released: a program that
// makes ever new sizes should use strided dimensions. More than max_ndim dimensions, or a negative size, is a value
// error; an element without a type is a type error.
type make_scalar(scalar_id id);
type make_dim(type_kind kind, intptr_t size, type element); ///< the size: of a fixed one
type make_fixed_dim(intptr_t size, type element);
type make_strided_dim(type element);
type make_var_dim(type element);

// The element types. An option of an option is a type error, as is a byteswap of anything but a scalar of two or more
// bytes; so are two fields of one name, and a struct or tuple without any.
type make_string();
type make_bytes();
type make_fixed_string(intptr_t size); ///< bytes, at least one; so of fixed_bytes
type make_fixed_bytes(intptr_t size);
type make_option(type element);
type make_pointer(type element);
type make_byteswap(type element);
type make_tuple(std::span<const type> fields, bool open = false);
type make_struct(std::span<const std::string> names, std::span<const type> fields, bool open = false);
/// A struct, or without names a tuple.
type make_record(std::span<const std::string> names, std::span<const type> fields);

// Patterns and signatures. `open` ends with `...`: there may be more fields or parameters. A name is an identifier.
type make_family(type_family family);
type make_variable(std::string_view name, type_family family = type_family::any);
type make_dim_variable(std::string_view name, type element);
type make_any_fixed_dim(type element);
/// Without a name, any dimensions; `var` and `fixed` are the dimensions of that kind.
type make_ellipsis(std::string_view name, type element);
type make_void();

struct parameter {
  std::string name; ///< may be empty
  ndt::type type;
  bool inout = false, keyword = false;
  std::string value = {}; ///< the default as canonical text, empty where there is none
};
/// The keywords are the last parameters. The result of several is a tuple.
type make_function(std::span<const parameter> parameters, type result, bool open = false);

/// The same dimensions over another element type.
type with_dtype(type dims, type dtype);

} // namespace ndt

/// A type error, that begins with the caller's name, where no array can have the type.
void check_data_type(const type_data *type, const char *caller);

/// Whether a type is of the family; of Any everything is, of the others no option and no dimension.
bool is_of_family(const type_data *type, type_family family);

/// The dimensions that broadcasting aligns: all on the way down through options and pointers, up to what is not one of
/// the three.
///   2 * ?var * pointer[3 * {x: 4 * int32}]: 3
int path_ndim(const type_data *type);

/// Elements that programs compute with, numbers: scalars, in either order of bytes, that may be missing.
struct alignas(4) element_kind { // copied as one word
  scalar_id scalar;
  bool option, swapped;
};
/// False where the type is something else.
bool find_element_kind(const type_data *dtype, element_kind &kind);
/// The same for the elements of an operand; where they are something else, an error of the operation.
element_kind kind_of_numbers(const char *operation, const type_data *operand);
/// The scalar, or where it may be missing an option of it.
inline ndt::type number_type(scalar_id scalar, bool option) {
  return option ? ndt::make_option(ndt::make_scalar(scalar)) : ndt::make_scalar(scalar);
}

/// What is inside of an option, or of several options and pointers; other types as they are.
inline const type_data *without_option(const type_data *type) {
  return type->kind == type_kind::option ? type->element : type;
}
const type_data *without_options(const type_data *type);

/// The names of a struct's fields; none of a tuple.
std::vector<std::string> field_names(const type_data *record);
/// The field of a struct that has the name; -1 where there is none.
int find_field(const type_data *record, std::string_view name);
/// The field of `other` that goes with field i of `type`: that of its name, where both are structs, else that at its
/// place; -1 where there is none.
int partner_field(const type_data *type, const type_data *other, int i);

/// A field's name as datashape text has it: quoted where it is not an identifier, on one line whatever it is.
std::string field_name_text(std::string_view name);

/// The type that operands of these two types are converted to: the array API standard's promotion. Integers of mixed
/// signs go to the next larger signed one; bool gives way to anything. Where the standard leaves it open, as in NumPy:
/// uint64 with a signed integer goes to float64; an integer with a floating type goes to the floating type, but not
/// below the smallest that holds its values (int16 and float32: float32; int32 and float32: float64), and float64 is
/// enough for 64 bits. A complex type's components promote like the floating type they are; complex64 is the smallest.
///
/// Symmetric. Not associative where two integer types of mixed signs promote beyond what a floating type next to them
/// holds: (uint16, int16), float32 gives float64 by way of int32; uint16, (int16, float32) gives float32.
scalar_id promote(scalar_id a, scalar_id b);

/// Numbers that a scalar is made of: two of a complex one.
inline constexpr size_t component_count(scalar_id id) {
  return scalar_kind[size_t(id)] == number_kind::complex ? 2 : 1;
}
inline constexpr size_t scalar_alignment(scalar_id id) { return scalar_size[size_t(id)] / component_count(id); }

bool is_integer(scalar_id id); ///< bool is not
bool is_signed_integer(scalar_id id);
bool is_floating(scalar_id id); ///< complex is not
bool is_complex(scalar_id id);

scalar_id real_type(scalar_id id);    ///< of a complex type, that of its components; else the type itself
scalar_id complex_type(scalar_id id); ///< the smallest complex type that holds the values as well as floating types do

/// Every value of `from` is a value of `to`, or `to` is a floating or complex type and `from` an integer (as in
/// promotion). The second is about range and fraction, not precision: int64 to float32 is widening, although it may
/// round; int16 to float16 is not, because float16 ends at 65504.
bool is_widening(scalar_id from, scalar_id to);

} // namespace dynd
