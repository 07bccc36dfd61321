// The rows of elementwise.def and reductions.def as data, for those who must know an operation only at run time: the
// registry, the Python functions, the documentation, the tests.
#pragma once

#include "dynd/ops/level.h"
#include "dynd/type/scalar.h"

namespace dynd {

/// The types that a row computes in: `numbers` are all but bool, `floats` those with a fraction, complex ones among
/// them; `ordered` is all but the complex types, `reals` the numbers but those.
enum class type_set : uint8_t { all, ordered, numbers, reals, floats };

/// What goes in and comes out; T is the computation type.
enum class op_kind : uint8_t {
  unary,     ///< (T) -> T
  magnitude, ///< (T) -> T, but of a complex T the type of its components
  binary,    ///< (T, T) -> T
  compare,   ///< (T, T) -> bool
  select,    ///< (bool, T, T) -> T
  binary2    ///< (T, T) -> (T, T)
};

struct op_row {
  const char *name;
  op_id id;
  op_kind kind;
  type_set set;
  bool total;             ///< cannot fail on values, whatever the type
  bool fallible_integers; ///< may fail when it computes in an integer type
  uint8_t arity;          ///< operands
  uint8_t outputs;
  const char *signature; ///< "(T, T) -> T"
  const char *doc;       ///< the first line is the summary
};

/// What the accumulator of a reduction is: 64 bits for integers and bool (floating types stay), or the type itself; but
/// of float16, in which nothing computes, always float32.
enum class accumulator_rule : uint8_t { wide, same };

/// What an empty row gives: 0, or an error.
enum class empty_rule : uint8_t { zero, none };

struct reduction_row {
  const char *name;
  reduction_id id;
  type_set set; ///< of the elements
  accumulator_rule accumulator;
  op_id combine;
  empty_rule empty;
  const char *doc;
};

const op_row &row(op_id id);
const reduction_row &row(reduction_id id);

/// The rows by name; null where there is none.
const op_row *find_op(const char *name);
const reduction_row *find_reduction(const char *name);

/// The type the operation computes in when its operands promote to `promoted`: that type where it is in the row's set,
/// float64 for an integer where only floating types are. A type error for bool and complex types outside their sets.
scalar_id computation_type(op_id id, scalar_id promoted);

/// The type of its results (of each, where there are two).
scalar_id result_type(op_id id, scalar_id computation);

/// The type in which elements of a type are reduced: for a sum of integers 64 bits. A type error where the reduction
/// does not take the element type.
scalar_id accumulator_type(reduction_id id, scalar_id element);

/// The type of its result: that of the accumulator, but float16 for float16, rounded once.
scalar_id result_type(reduction_id id, scalar_id element);

/// Whether the operation may fail on values when it computes in this type.
bool can_fail(op_id id, scalar_id computation);

} // namespace dynd
