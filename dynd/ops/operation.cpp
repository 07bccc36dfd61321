#include "dynd/ops/aggregate.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/ops/logic.h"
#include "dynd/ops/loops.h"
#include "dynd/ops/op_id.h"
#include "dynd/type/type.h"

namespace dynd {

namespace {

/// `total`, `decided(value)` or `fails(condition, types, message)`, as an entry writes it; only what is known at run
/// time.
struct failure_rule {
  const char *message;
  type_set types;
  decision decided = decision::none;
};
#define DYND_RULE_total                                                                                                \
  failure_rule { nullptr, type_set::all }
#define DYND_RULE_decided(value)                                                                                       \
  failure_rule { nullptr, type_set::all, decision::by_##value }
#define DYND_RULE_fails(condition, types, message)                                                                     \
  failure_rule { message, type_set::types }

constexpr struct {
  op_id id;
  comparison relation;
} comparisons[] = {
#define DYND_OPERATION(name, ...) {op_id::name, comparison::name},
#include "dynd/ops/comparison.def"
#undef DYND_OPERATION
};

constexpr comparison relation_of(op_id id) {
  for (auto &entry : comparisons) {
    if (entry.id == id) {
      return entry.relation;
    }
  }
  return comparison::none;
}

consteval operation make_operation(const char *name, op_id id, const char *signature, type_set set,
                                   failure_rule failure, const char *doc) {
  operation_shape shape = parse_signature(signature);
  operation made = {name,
                    id,
                    set,
                    shape.noperands,
                    shape.noutputs,
                    {},
                    {},
                    shape.compares(),
                    relation_of(id),
                    failure.decided,
                    failure.message,
                    failure.types,
                    signature,
                    doc};
  for (int i = 0; i < shape.noperands; i++) {
    made.operand[i] = shape.operand[i];
  }
  for (int i = 0; i < shape.noutputs; i++) {
    made.output[i] = shape.output[i];
  }
  return made;
}

constexpr operation operations[] = {
#define DYND_OPERATION(name, signature, set, loops, failure, results, doc)                                             \
  make_operation(#name, op_id::name, signature, type_set::set, DYND_RULE_##failure, doc),
#include "dynd/ops/operations.def"
#undef DYND_OPERATION
};

constexpr reduction reductions[] = {
#define DYND_REDUCTION(name, set, accumulator, combine, identity, empty)                                               \
  {#name, reduction_id::name, type_set::set, accumulator_rule::accumulator, op_id::combine, empty_rule::empty},
#include "dynd/ops/reductions.def"
#undef DYND_REDUCTION
};

constexpr scan scans[] = {
#define DYND_SCAN(name, set, accumulator, combine, identity, doc)                                                      \
  {#name, scan_id::name, type_set::set, accumulator_rule::accumulator, op_id::combine, doc},
#include "dynd/ops/scans.def"
#undef DYND_SCAN
};

constexpr aggregate aggregates[] = {
#define DYND_AGGREGATE(name, kind, part, fold, nan, keywords, method, doc)                                             \
  {#name,                                                                                                              \
   aggregate_id::name,                                                                                                 \
   aggregate_kind::kind,                                                                                               \
   folded_part::part,                                                                                                  \
   reduction_id::fold,                                                                                                 \
   nan_rule::nan,                                                                                                      \
   keywords,                                                                                                           \
   method,                                                                                                             \
   doc},
#include "dynd/ops/aggregates.def"
#undef DYND_AGGREGATE
};

/// The list of names (operation_names.h) is that of the entries.
consteval bool ids_are_in_order() {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    if (operations[i].id != op_id(i)) {
      return false;
    }
  }
  return true;
}
static_assert(std::size(operations) == op_count && op_count <= max_operations && ids_are_in_order());
static_assert(sizeof reductions / sizeof *reductions == reduction_count);

constexpr mixed_comparison mixed_comparisons[] = {
    {scalar_id::int64, scalar_id::uint64, mixed_pair::int64_uint64},
    {scalar_id::uint64, scalar_id::int64, mixed_pair::uint64_int64},
    {scalar_id::int64, scalar_id::float64, mixed_pair::int64_float64},
    {scalar_id::float64, scalar_id::int64, mixed_pair::float64_int64},
    {scalar_id::uint64, scalar_id::float64, mixed_pair::uint64_float64},
    {scalar_id::float64, scalar_id::uint64, mixed_pair::float64_uint64},
};
static_assert(std::size(mixed_comparisons) == mixed_pair_count);

const mixed_comparison *find_pair(scalar_id left, scalar_id right) {
  for (const mixed_comparison &m : mixed_comparisons) {
    if (m.left == left && m.right == right) {
      return &m;
    }
  }
  return nullptr;
}

// What an operand is compared as, where the type of the computation would round it.
scalar_id compared_as(scalar_id own, scalar_id other) {
  return is_floating(own)                                 ? scalar_id::float64
         : own == scalar_id::uint64 || is_floating(other) ? own
                                                          : scalar_id::int64;
}

bool has_fraction(scalar_id id) { return is_in(type_set::floats, id); }

scalar_id type_by(value_rule rule, scalar_id computation) {
  switch (rule) {
  case value_rule::boolean:
    return scalar_id::bool_;
  case value_rule::int64:
    return scalar_id::int64;
  case value_rule::uint8:
    return scalar_id::uint8;
  case value_rule::int32:
    return scalar_id::int32;
  case value_rule::real:
    return real_type(computation);
  case value_rule::complex:
    return complex_type(computation);
  default:
    return computation;
  }
}

scalar_id accumulator_by(const char *name, type_set set, accumulator_rule rule, scalar_id element) {
  scalar_id own = in_set(name, set, element);
  if (element == scalar_id::float16) {
    return scalar_id::float32;
  }
  if (rule != accumulator_rule::wide || has_fraction(element)) {
    return own;
  }
  return scalar_kind[size_t(element)] == number_kind::unsigned_integer ? scalar_id::uint64 : scalar_id::int64;
}

} // namespace

namespace logic {
const op_id both = op_id::bitwise_and, either = op_id::bitwise_or, inverted = op_id::bitwise_invert;
const op_id chosen = op_id::where, filled = op_id::fill_missing, missing = op_id::is_missing;
const op_id finite = op_id::isfinite, different = op_id::not_equal;
} // namespace logic

namespace arithmetic {
const op_id addition = op_id::add, difference = op_id::subtract, product = op_id::multiply, quotient = op_id::divide;
const op_id square = op_id::square, root = op_id::sqrt, magnitude = op_id::abs, larger = op_id::maximum;
const op_id equal = op_id::equal, conjugate = op_id::conj;
const op_id smaller_number = op_id::fmin, larger_number = op_id::fmax;
} // namespace arithmetic

const operation &operation_of(op_id id) { return operations[size_t(id)]; }
std::span<const operation> all_operations() { return operations; }

const operation *operation_for(comparison relation) {
  for (auto &entry : comparisons) {
    if (entry.relation == relation) {
      return &operation_of(entry.id);
    }
  }
  return nullptr;
}
const reduction &reduction_of(reduction_id id) { return reductions[size_t(id)]; }
const aggregate &aggregate_of(aggregate_id id) { return aggregates[size_t(id)]; }

scalar_id in_set(const char *name, type_set set, scalar_id id) {
  if (is_in(set, id)) {
    return id;
  }
  if (is_in(type_set::integers, id) && (set == type_set::floats || set == type_set::real_floats)) {
    return scalar_id::float64;
  }
  std::string text = name;
  if (id == scalar_id::bool_) {
    text += ": bool is not a number; nd.where(a, 1, 0) makes integers of it";
  } else if (is_complex(id)) {
    text += std::string(": not defined for complex numbers, got ") + scalar_name[size_t(id)];
  } else {
    text += std::string(": defined for integers") + (set == type_set::bits ? " and bool" : "") + " only, got " +
            scalar_name[size_t(id)];
  }
  fail(error_kind::type, text);
}

scalar_id computation_type(op_id id, scalar_id promoted) {
  return in_set(operation_of(id).name, operation_of(id).set, promoted);
}

bool takes_operand(op_id id, int i, scalar_id scalar) {
  value_rule rule = operation_of(id).operand[i];
  return rule == value_rule::boolean ? scalar == scalar_id::bool_
         : rule == value_rule::int64 ? is_integer(scalar) && is_widening(scalar, scalar_id::int64)
                                     : true;
}

scalar_id operand_type(op_id id, int i, scalar_id computation) {
  return type_by(operation_of(id).operand[i], computation);
}

scalar_id result_type(op_id id, int i, scalar_id computation) {
  return type_by(operation_of(id).output[i], computation);
}

bool can_fail(op_id id, scalar_id computation) {
  const operation &op = operation_of(id);
  return op.failure && is_in(op.fails_in, computation);
}

scalar_id accumulator_type(reduction_id id, scalar_id element, const char *name) {
  const reduction &r = reduction_of(id);
  return accumulator_by(name ? name : r.name, r.set, r.accumulator, element);
}

const scan &scan_of(scan_id id) { return scans[size_t(id)]; }

const scan *scan_by(op_id combine) {
  auto *found = std::find_if(std::begin(scans), std::end(scans), [&](const scan &s) { return s.combine == combine; });
  return found == std::end(scans) ? nullptr : found;
}

scalar_id accumulator_type(scan_id id, scalar_id element) {
  const scan &s = scan_of(id);
  return accumulator_by(s.name, s.set, s.accumulator, element);
}

scalar_id result_type(reduction_id id, scalar_id element) {
  scalar_id accumulator = accumulator_type(id, element);
  return reduction_of(id).accumulator == accumulator_rule::index ? scalar_id::int64
         : element == scalar_id::float16                         ? element
                                                                 : accumulator;
}

const mixed_comparison *find_mixed_comparison(scalar_id computation, scalar_id left, scalar_id right) {
  return is_floating(computation) ? find_pair(compared_as(left, right), compared_as(right, left)) : nullptr;
}

mixed_pair mixed_pair_of(scalar_id left, scalar_id right) { return find_pair(left, right)->pair; }

} // namespace dynd
