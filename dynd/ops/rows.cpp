#include "dynd/ops/rows.h"

#include <cstring>
#include <string>

#include "dynd/base/errors.h"

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
  constexpr uint8_t arity[] = {1, 2, 2, 3, 2};
  constexpr const char *signature[] = {"(T) -> T", "(T, T) -> T", "(T, T) -> bool", "(bool, T, T) -> T",
                                       "(T, T) -> (T, T)"};
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

/// The kind of a storage type, asked of the type itself, so that a new row in scalars.def needs no second list.
template <class T> constexpr bool has_fraction = T(0.5) != T(0);
template <class T> constexpr bool has_sign = T(-1) < T(0);

constexpr bool floating[scalar_count] = {
#define DYND_SCALAR(id, name, ctype) has_fraction<ctype>,
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
};

constexpr bool negative[scalar_count] = {
#define DYND_SCALAR(id, name, ctype) has_sign<ctype>,
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
};

[[noreturn]] void fail_bool(const char *name) {
  fail(error_kind::type, std::string(name) + ": bool is not a number; nd.where(a, 1, 0) makes integers of it");
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
  const op_row &op = row(id);
  if (op.set == type_set::all) {
    return promoted;
  }
  if (promoted == scalar_id::bool_) {
    fail_bool(op.name);
  }
  return op.set == type_set::floats && !floating[size_t(promoted)] ? scalar_id::float64 : promoted;
}

scalar_id result_type(op_id id, scalar_id computation) {
  return row(id).kind == op_kind::compare ? scalar_id::bool_ : computation;
}

scalar_id accumulator_type(reduction_id id, scalar_id element) {
  const reduction_row &reduction = row(id);
  if (reduction.set != type_set::all && element == scalar_id::bool_) {
    fail_bool(reduction.name);
  }
  if (reduction.accumulator == accumulator_rule::same || floating[size_t(element)]) {
    return reduction.set == type_set::floats && !floating[size_t(element)] ? scalar_id::float64 : element;
  }
  return negative[size_t(element)] || element == scalar_id::bool_ ? scalar_id::int64 : scalar_id::uint64;
}

bool can_fail(op_id id, scalar_id computation) {
  const op_row &op = row(id);
  return !op.total && !(op.fallible_integers && floating[size_t(computation)]);
}

} // namespace dynd
