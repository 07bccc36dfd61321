// Elements grouped by keys: a ragged array with a row for each key that is made only when it is asked for, and
// reductions of its rows in one pass over the values, without it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynd/array/array.h"
#include "dynd/ops/aggregate.h"

namespace dynd::nd {

struct key_groups;

/// A reduction of values by groups.
struct group_reduction {
  aggregate_id what;
  array values; ///< null, of count: all elements
  double correction = 0;
};

/// The groups of elements along an axis, within the rows of that axis. Keys are real numbers, bools, texts, bytes,
/// structs of these, and options; there is one NaN and one zero. Groups are in the order of their keys, what is missing
/// is last.
class groups {
public:
  /// By one array of keys; or by several of the same rows, with names for them or without. `several`: one may be that
  /// too.
  groups(std::span<const array> by, std::span<const std::string> names, bool several, int axis = 0);

  int axis() const;
  /// The keys of the groups; of an axis within rows, rows of them.
  array keys() const;
  /// The number of groups, of all rows.
  intptr_t count() const;

  /// An error where values do not have the rows of the keys.
  void check(const array &values) const { values_list(values); }
  /// Values with the rows of the keys, as rows of groups: inside of the axis, which has the groups then.
  array rows(const array &values) const;
  /// Whether `reduce` knows the reduction and the values; else rows have to be reduced.
  static bool takes(aggregate_id what, const array &values, int axis);
  /// Several at once, each with the groups in place of the axis. Missing values are skipped. Sums are in an order that
  /// depends only on the number of values and groups.
  std::vector<array> reduce(std::span<const group_reduction> reductions) const;
  /// A value of each group, in the shape of `keys`, for each element; in the order of the elements.
  array spread(const array &of_groups) const;
  /// The elements of `rows`, or others in their place, in their own order.
  array restored(const array &rows) const;

private:
  struct state;
  array values_list(const array &values) const;
  const key_groups &by_slots() const;
  array shaped(const array &list) const;
  array in_rows(const array &result) const;
  array plain_rows(const array &a) const;
  std::shared_ptr<state> state_;
};

} // namespace dynd::nd
