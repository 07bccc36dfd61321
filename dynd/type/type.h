// Types: interned and immortal, so that equality is a pointer comparison and a type costs nothing to hold.
//
// A type is a scalar or a dimension over an element type. Datashape text is the one notation for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dynd/type/scalar.h"

namespace dynd {

enum class type_kind : uint8_t { scalar, fixed_dim, strided_dim, var_dim };

inline constexpr int max_ndim = 32;

/// What a type is. Made only by the functions below; never destroyed.
struct type_data {
  type_kind kind;
  scalar_id scalar;         ///< of the elements at the bottom
  uint8_t ndim;             ///< dimensions from here down
  uint8_t var_count;        ///< how many of them are `var`
  uint32_t id;              ///< never reused; of a scalar, the number of its scalar_id
  intptr_t size;            ///< of a fixed dimension, else -1
  const type_data *element; ///< of a dimension, else null
  const char *text;         ///< datashape, zero-terminated
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
  type scalar() const;        ///< the type at the bottom
  type at_depth(int n) const; ///< n dimensions removed; an index error where there are fewer

private:
  const type_data *data_ = nullptr;
};

// The same arguments give the same type, from any thread. A scalar costs an address, a strided or var dimension one
// atomic load after its first use, a fixed dimension a look-up under a lock. Types are never released: a program that
// makes ever new sizes should use strided dimensions. More than max_ndim dimensions, or a negative size, is a value
// error; an element without a type is a type error.
type make_scalar(scalar_id id);
type make_fixed_dim(intptr_t size, type element);
type make_strided_dim(type element);
type make_var_dim(type element);

} // namespace ndt

/// The type that operands of these two types are converted to: the array API standard's promotion. Integers of mixed
/// signs go to the next larger signed one; bool gives way to anything. Where the standard leaves it open, as in NumPy:
/// uint64 with a signed integer goes to float64; an integer with a floating type goes to the floating type, but not
/// below the smallest that holds its values (int16 and float32: float32; int32 and float32: float64), and float64 is
/// enough for 64 bits. A complex type's components promote like the floating type they are; complex64 is the smallest.
///
/// Symmetric. Not associative where two integer types of mixed signs promote beyond what a floating type next to them
/// holds: (uint16, int16), float32 gives float64 by way of int32; uint16, (int16, float32) gives float32.
scalar_id promote(scalar_id a, scalar_id b);

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
