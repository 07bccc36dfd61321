// What an operation takes and gives, parsed from text such as "(T, T) -> bool" when the library is compiled, and the
// sets of types that T may be from. Everything here is evaluated at compile time, so the units that are compiled for
// one ISA level may use it.
#pragma once

#include "dynd/type/scalar.h"

namespace dynd {

/// The types that T may be. `real_floats` are the floating-point types, `floats` the complex ones too.
enum class type_set : uint8_t {
  all,
  ordered, ///< all but the complex types
  numbers, ///< all but bool
  reals,   ///< numbers but the complex types
  floats,
  real_floats,
  integers,
  signed_integers,
  bits ///< integers and bool
};

// A bit for each number_kind, for each set. (In is_in, g++ would build the table in every call.)
constexpr auto kinds_of_set = [] {
  constexpr unsigned boolean = 1, unsigned_integer = 2, signed_integer = 4, floating = 8, complex = 16;
  constexpr unsigned integer = unsigned_integer | signed_integer, any = boolean | integer | floating | complex;
  struct {
    unsigned bits[9];
  } table = {{any, any & ~complex, any & ~boolean, integer | floating, floating | complex, floating, integer,
              signed_integer, integer | boolean}};
  return table;
}();
constexpr bool is_in(type_set set, scalar_id id) {
  return kinds_of_set.bits[size_t(set)] >> unsigned(scalar_kind[size_t(id)]) & 1;
}
static_assert(unsigned(number_kind::boolean) == 0 && unsigned(number_kind::unsigned_integer) == 1 &&
              unsigned(number_kind::signed_integer) == 2 && unsigned(number_kind::floating) == 3 &&
              unsigned(number_kind::complex) == 4);

/// What one operand or output is, as the signature writes it; T is the type that the operation computes in.
enum class value_rule : uint8_t {
  same,     ///< T
  boolean,  ///< bool
  truth,    ///< truth: an operand of type T of which only matters whether it is 0
  int64,    ///< int64: an operand of any integer type that it holds
  uint8,    ///< uint8
  int32,    ///< int32
  real,     ///< real T: the type of the components of a complex T, else T
  complex,  ///< complex T: the complex type whose components hold T
  optional, ///< ?T: its validity (bool) and its value (T) are two registers of the loop
  presence  ///< ?: of an option of any type its validity, one register
};

/// Whether an operand has no part in what T is.
constexpr bool has_own_type(value_rule operand) {
  return operand == value_rule::boolean || operand == value_rule::int64;
}

inline constexpr int max_operation_operands = 3, max_operation_outputs = 2;

/// A parsed signature. A loop has one register for each operand, but two for a ?T.
struct operation_shape {
  uint8_t noperands = 0, noutputs = 0, nregisters = 0;
  value_rule operand[max_operation_operands] = {};
  value_rule output[max_operation_outputs] = {};
  value_rule reg[max_operation_operands] = {}; ///< same, boolean or int64

  /// Whether some register holds a T.
  constexpr bool has_values() const {
    for (int i = 0; i < nregisters; i++) {
      if (reg[i] == value_rule::same) {
        return true;
      }
    }
    return false;
  }

  /// (T, T) -> bool
  constexpr bool compares() const {
    return noperands == 2 && operand[0] == value_rule::same && operand[1] == value_rule::same && noutputs == 1 &&
           output[0] == value_rule::boolean;
  }
};

namespace detail {

/// Reads a signature from left to right. A `throw` here is an error of the compiler.
struct signature_reader {
  const char *at;

  consteval bool skip(const char *word) {
    const char *next = at;
    while (*next == ' ') {
      next++;
    }
    for (; *word; word++, next++) {
      if (*next != *word) {
        return false;
      }
    }
    at = next;
    return true;
  }
  consteval value_rule value() {
    return skip("real T")      ? value_rule::real
           : skip("complex T") ? value_rule::complex
           : skip("bool")      ? value_rule::boolean
           : skip("truth")     ? value_rule::truth
           : skip("int64")     ? value_rule::int64
           : skip("uint8")     ? value_rule::uint8
           : skip("int32")     ? value_rule::int32
           : skip("?T")        ? value_rule::optional
           : skip("?")         ? value_rule::presence
           : skip("T")         ? value_rule::same
                               : throw "no such value of a signature";
  }
  /// Values in parentheses; returns how many.
  consteval uint8_t values(value_rule *to, int most) {
    uint8_t count = 0;
    for (bool more = true; more; more = skip(",")) {
      if (count == most) {
        throw "more values in a signature than an operation can have";
      }
      to[count++] = value();
    }
    return skip(")") ? count : throw "a signature lacks a )";
  }
};

} // namespace detail

consteval operation_shape parse_signature(const char *text) {
  operation_shape shape;
  detail::signature_reader reader{text};
  if (!reader.skip("(")) {
    throw "a signature begins with (";
  }
  shape.noperands = reader.values(shape.operand, max_operation_operands);
  if (!reader.skip("->")) {
    throw "a signature lacks ->";
  }
  if (reader.skip("(")) {
    shape.noutputs = reader.values(shape.output, max_operation_outputs);
  } else {
    shape.output[shape.noutputs++] = reader.value();
  }
  for (int i = 0; i < shape.noutputs; i++) {
    value_rule rule = shape.output[i];
    if (rule == value_rule::optional || rule == value_rule::presence) {
      throw "an operation gives no option: the engine gives its results their validity";
    }
    if (rule == value_rule::truth || rule == value_rule::int64) {
      throw "an output is T, real T, complex T, bool, uint8 or int32";
    }
  }
  for (int i = 0; i < shape.noperands; i++) {
    value_rule rule = shape.operand[i];
    bool truth = rule == value_rule::boolean || rule == value_rule::presence || rule == value_rule::optional;
    rule = rule == value_rule::truth ? value_rule::same : rule;
    if (!truth && rule != value_rule::same && rule != value_rule::int64) {
      throw "an operand is T, bool, truth, int64, ?T or ?";
    }
    if (shape.nregisters + (rule == value_rule::optional ? 2 : 1) > max_operation_operands) {
      throw "more registers than a loop has";
    }
    shape.reg[shape.nregisters++] = truth ? value_rule::boolean : rule;
    if (rule == value_rule::optional) {
      shape.reg[shape.nregisters++] = value_rule::same;
    }
  }
  return *reader.at == 0 ? shape : throw "something follows the signature";
}

} // namespace dynd
