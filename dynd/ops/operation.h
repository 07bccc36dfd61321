// The operations and reductions as data, for code that knows one only at run time: the engine, the registry, the
// Python functions, the documentation, the tests. The entries are in operations.def and reductions.def.
#pragma once

#include <span>

#include "dynd/ops/reduction_rules.h"
#include "dynd/ops/signature.h"
#include "dynd/type/scalar.h"

namespace dynd {

enum class mixed_pair : uint8_t; // loops.h

enum class op_id : uint8_t; // op_id.h has their names
inline constexpr size_t max_operations = 256;

enum class reduction_id : uint8_t {
#define DYND_REDUCTION(name, ...) name,
#include "dynd/ops/reductions.def"
#undef DYND_REDUCTION
};

inline constexpr size_t reduction_count = 0
#define DYND_REDUCTION(name, ...) +1
#include "dynd/ops/reductions.def"
#undef DYND_REDUCTION
    ;

enum class scan_id : uint8_t {
#define DYND_SCAN(name, set, accumulator, combine, identity, doc) name,
#include "dynd/ops/scans.def"
#undef DYND_SCAN
};

inline constexpr size_t scan_count = 0
#define DYND_SCAN(name, set, accumulator, combine, identity, doc) +1
#include "dynd/ops/scans.def"
#undef DYND_SCAN
    ;

/// What is asked of two elements: the outcomes (order.h) for which it is true. `order` is for sorting: NaN has a place
/// in it.
enum class comparison : uint8_t {
  none = 0, ///< the operation is something else
  less = 1,
  equal = 2,
  less_equal = 1 | 2,
  greater = 4,
  greater_equal = 4 | 2,
  not_equal = 1 | 4 | 8,
  order = 16 | 1
};

/// Which value of one bool operand gives the result whatever the other is, also where that is missing.
enum class decision : uint8_t { none, by_false, by_true };

struct operation {
  const char *name;
  op_id id;
  type_set set;
  uint8_t noperands, noutputs;
  value_rule operand[max_operation_operands], output[max_operation_outputs];
  bool compares;         ///< (T, T) -> bool: exact between 64-bit types that no common type holds (mixed_pair)
  comparison relation;   ///< of an entry of comparison.def: how it compares elements that are not numbers
  decision decided;      ///< by one of two operands that are bools
  const char *failure;   ///< what it says when it fails on values; null: it cannot
  type_set fails_in;     ///< where it has a failure: the types in which it may fail
  const char *signature; ///< "(T, T) -> T"
  const char *doc;       ///< the first line is the summary
};

const operation &operation_of(op_id id);
/// All, in the order of their ids.
std::span<const operation> all_operations();
/// The operation that asks this; null for the sorting order.
const operation *operation_for(comparison relation);

/// The type itself where it is in the set, float64 for an integer where only types with a fraction are. Other types are
/// a type error of the operation with that name.
scalar_id in_set(const char *name, type_set set, scalar_id id);

/// The type the operation computes in when its operands of type T promote to `promoted`: as in_set.
scalar_id computation_type(op_id id, scalar_id promoted);

/// Whether operand i, where it has a type of its own (has_own_type), may be of this one.
bool takes_operand(op_id id, int i, scalar_id scalar);

/// What operand i is converted to: where it has no type of its own, the computation type (for ?T: of its values).
scalar_id operand_type(op_id id, int i, scalar_id computation);

/// The type of output i.
scalar_id result_type(op_id id, int i, scalar_id computation);

/// Whether the operation may fail on values when it computes in this type.
bool can_fail(op_id id, scalar_id computation);

/// Two types of 64 bits that no common type holds, compared exactly.
struct mixed_comparison {
  scalar_id left, right;
  mixed_pair pair;
};
/// What two operands of a comparison are converted to where the type of the computation would round them; null where it
/// would not.
const mixed_comparison *find_mixed_comparison(scalar_id computation, scalar_id left, scalar_id right);
/// Of the types that it converts to.
mixed_pair mixed_pair_of(scalar_id left, scalar_id right);

struct reduction {
  const char *name;
  reduction_id id;
  type_set set; ///< of the elements
  accumulator_rule accumulator;
  op_id combine;
  empty_rule empty;
};

const reduction &reduction_of(reduction_id id);

/// The type in which elements of a type are reduced: for a sum of integers 64 bits. A type error, by the name if one is
/// given, where the reduction does not take the element type.
scalar_id accumulator_type(reduction_id id, scalar_id element, const char *name = nullptr);

/// The type of its result: that of the accumulator, but float16 for float16, rounded once, and int64 for an index.
scalar_id result_type(reduction_id id, scalar_id element);

struct scan {
  const char *name;
  scan_id id;
  type_set set; ///< of the elements
  accumulator_rule accumulator;
  op_id combine;
  const char *doc;
};

const scan &scan_of(scan_id id);
/// The scan whose running values combine by that operation; null where it has no compiled loops.
const scan *scan_by(op_id combine);
/// As of a reduction: the type of the running values, which for float16 are rounded once, each.
scalar_id accumulator_type(scan_id id, scalar_id element);

} // namespace dynd
