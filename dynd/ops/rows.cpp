#include "dynd/ops/rows.h"

#include <cstring>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/type/type.h"

namespace dynd {

namespace {

/// The flags of a row, by the names they have there.
struct row_flags {
  bool total;
  bool fallible_integers;
};
constexpr row_flags total{true, false};
constexpr row_flags fallible_integers{false, true};

constexpr op_row make_row(const char *name, op_id id, op_kind kind, type_set set, row_flags flags, const char *doc) {
  constexpr uint8_t arity[] = {1, 1, 2, 2, 3, 2};
  constexpr const char *signature[] = {"(T) -> T",       "(T) -> real T",     "(T, T) -> T",
                                       "(T, T) -> bool", "(bool, T, T) -> T", "(T, T) -> (T, T)"};
  return {name,
          id,
          kind,
          set,
          flags.total,
          flags.fallible_integers,
          arity[size_t(kind)],
          uint8_t(kind == op_kind::binary2 ? 2 : 1),
          signature[size_t(kind)],
          doc};
}

constexpr op_row op_rows[] = {
#define DYND_UNARY(name, set, flags, expression, doc)                                                                  \
  make_row(#name, op_id::name, op_kind::unary, type_set::set, flags, doc),
#define DYND_MAGNITUDE(name, set, flags, expression, doc)                                                              \
  make_row(#name, op_id::name, op_kind::magnitude, type_set::set, flags, doc),
#define DYND_BINARY(name, set, flags, expression, doc)                                                                 \
  make_row(#name, op_id::name, op_kind::binary, type_set::set, flags, doc),
#define DYND_COMPARE(name, set, flags, expression, doc)                                                                \
  make_row(#name, op_id::name, op_kind::compare, type_set::set, flags, doc),
#define DYND_SELECT(name, set, flags, expression, doc)                                                                 \
  make_row(#name, op_id::name, op_kind::select, type_set::set, flags, doc),
#define DYND_BINARY2(name, set, flags, bad, expression1, expression2, doc)                                             \
  make_row(#name, op_id::name, op_kind::binary2, type_set::set, flags, doc),
#include "dynd/ops/elementwise.def"
#undef DYND_UNARY
#undef DYND_MAGNITUDE
#undef DYND_BINARY
#undef DYND_COMPARE
#undef DYND_SELECT
#undef DYND_BINARY2
};

constexpr reduction_row reduction_rows[] = {
#define DYND_REDUCTION(name, set, accumulator, combine, identity, empty, doc)                                          \
  {#name, reduction_id::name, type_set::set, accumulator_rule::accumulator, op_id::combine, empty_rule::empty, doc},
#include "dynd/ops/reductions.def"
#undef DYND_REDUCTION
};

static_assert(sizeof op_rows / sizeof *op_rows == op_count);
static_assert(sizeof reduction_rows / sizeof *reduction_rows == reduction_count);

bool is_bool(scalar_id id) { return scalar_kind[size_t(id)] == number_kind::boolean; }
bool has_fraction(scalar_id id) { return scalar_kind[size_t(id)] == number_kind::floating || is_complex(id); }

/// A type error where a set without bool or without complex types meets one.
void check_set(const char *name, type_set set, scalar_id id) {
  if (is_bool(id) && set != type_set::all && set != type_set::ordered) {
    fail(error_kind::type, std::string(name) + ": bool is not a number; nd.where(a, 1, 0) makes integers of it");
  }
  if (is_complex(id) && (set == type_set::ordered || set == type_set::reals)) {
    fail(error_kind::type, std::string(name) + ": not defined for complex numbers, got " + scalar_name[size_t(id)]);
  }
}

/// float64 for an integer where only types with a fraction are.
scalar_id in_set(type_set set, scalar_id id) {
  return set == type_set::floats && !has_fraction(id) ? scalar_id::float64 : id;
}

template <class Row, size_t Count> const Row *find(const Row (&rows)[Count], const char *name) {
  for (const Row &candidate : rows) {
    if (std::strcmp(candidate.name, name) == 0) {
      return &candidate;
    }
  }
  return nullptr;
}

} // namespace

const op_row &row(op_id id) { return op_rows[size_t(id)]; }
const reduction_row &row(reduction_id id) { return reduction_rows[size_t(id)]; }

const op_row *find_op(const char *name) { return find(op_rows, name); }
const reduction_row *find_reduction(const char *name) { return find(reduction_rows, name); }

scalar_id computation_type(op_id id, scalar_id promoted) {
  check_set(row(id).name, row(id).set, promoted);
  return in_set(row(id).set, promoted);
}

scalar_id result_type(op_id id, scalar_id computation) {
  switch (row(id).kind) {
  case op_kind::compare:
    return scalar_id::bool_;
  case op_kind::magnitude:
    return real_type(computation);
  default:
    return computation;
  }
}

scalar_id accumulator_type(reduction_id id, scalar_id element) {
  const reduction_row &reduction = row(id);
  check_set(reduction.name, reduction.set, element);
  if (element == scalar_id::float16) {
    return scalar_id::float32;
  }
  if (reduction.accumulator == accumulator_rule::same || has_fraction(element)) {
    return in_set(reduction.set, element);
  }
  return scalar_kind[size_t(element)] == number_kind::unsigned_integer ? scalar_id::uint64 : scalar_id::int64;
}

scalar_id result_type(reduction_id id, scalar_id element) {
  return element == scalar_id::float16 ? element : accumulator_type(id, element);
}

bool can_fail(op_id id, scalar_id computation) {
  const op_row &op = row(id);
  return !op.total && !(op.fallible_integers && has_fraction(computation));
}

} // namespace dynd
