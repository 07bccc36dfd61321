// The reductions that people call, as data: the entries of aggregates.def.
#pragma once

#include <concepts>
#include <string_view>

#include "dynd/ops/operation.h"

namespace dynd {

enum class aggregate_id : uint8_t {
#define DYND_AGGREGATE(name, ...) name,
#include "dynd/ops/aggregates.def"
#undef DYND_AGGREGATE
};

inline constexpr size_t aggregate_count = 0
#define DYND_AGGREGATE(name, ...) +1
#include "dynd/ops/aggregates.def"
#undef DYND_AGGREGATE
    ;

enum class aggregate_kind : uint8_t {
  fold,      ///< the fold itself
  index,     ///< the same; its result is a position
  count,     ///< how many
  mean,      ///< the sum divided by how many
  variance,  ///< the mean of the squared distances from the mean
  deviation, ///< its square root
  range,     ///< the largest minus the smallest
  norm       ///< the square root of the sum of the squares
};

/// What of an element is folded.
enum class folded_part : uint8_t { value, truth, presence };

enum class nan_rule : uint8_t { kept, skipped };

inline constexpr uint8_t takes_where = 1, takes_initial = 2, takes_empty = 4, takes_weights = 8, takes_correction = 16,
                         takes_dtype = 32;

struct aggregate {
  const char *name;
  aggregate_id id;
  aggregate_kind kind;
  folded_part part;
  reduction_id fold;
  nan_rule nan;
  uint8_t keywords; ///< takes_...
  bool method;
  const char *doc; ///< the first line is the summary
};

const aggregate &aggregate_of(aggregate_id id);

/// The first reduction of which `wanted` is true; null where there is none.
template <std::predicate<const aggregate &> Wanted> const aggregate *find_aggregate(Wanted wanted) {
  for (size_t i = 0; i < aggregate_count; i++) {
    const aggregate &a = aggregate_of(aggregate_id(i));
    if (wanted(a)) {
      return &a;
    }
  }
  return nullptr;
}
/// That of a name.
inline const aggregate *find_aggregate(std::string_view name) {
  return find_aggregate([=](const aggregate &a) { return name == a.name; });
}

} // namespace dynd
