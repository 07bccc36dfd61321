#include "dynd/call/groups.h"

#include <algorithm>
#include <mutex>

#include "dynd/base/errors.h"
#include "dynd/call/group_keys.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

// The elements in the order of their groups.
struct group_order {
  new_offsets offsets{0}; // of each group
  place_buffer places;    // of its elements, rising
};

namespace {

group_order order_of(const key_groups &keys) {
  key_groups groups = keys.in_order();
  scratch_values<uint32_t> rank = groups.group_of_slots();
  group_order order{new_offsets(groups.count()), place_buffer(groups.elements)};
  int64_t *sizes = order.offsets.fill() + 1, *to = order.places.fill();
  std::fill_n(sizes, groups.count(), 0);
  groups.with_slots([&](auto slot) {
    in_order("groupby", groups.elements, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        sizes[rank[intptr_t(slot(i))]]++;
      }
    });
    make_offsets("groupby", order.offsets.fill(), groups.count());
    scratch_values<int64_t> next(groups.count());
    std::copy_n(order.offsets.at, groups.count(), next.data());
    in_order("groupby", groups.elements, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        to[next[rank[intptr_t(slot(i))]]++] = i;
      }
    });
  });
  return order;
}

} // namespace

struct groups::state {
  array like; // compact down to the axis: what the groups are of
  int axis = 0;
  key_groups keys;
  new_offsets first{0};                        // of each row of the axis, its first group; within rows only
  std::unique_ptr<const missing_rows> missing; // where rows of the keys may be that
  std::mutex lock;
  std::shared_ptr<const group_order> order; // once it is asked for; changed with the lock

  // The lock is not held while it is computed, which gives Python's lock away.
  std::shared_ptr<const group_order> ordered() {
    {
      std::lock_guard locked(lock);
      if (order) {
        return order;
      }
    }
    auto found = std::make_shared<const group_order>(order_of(keys));
    std::lock_guard locked(lock);
    return order = found;
  }
};

groups::groups(std::span<const array> by, std::span<const std::string> names, bool several, int axis)
    : state_(std::make_shared<state>()) {
  if (by.empty()) {
    fail(error_kind::value, "groupby: no keys are given");
  }
  std::vector<array> given(by.begin(), by.end()), columns, lists;
  state_->axis = common_axis("groupby", given, axis);
  if (is_in_missing_rows(given, state_->axis)) {
    state_->missing = std::make_unique<const missing_rows>("groupby", given, state_->axis);
    given = state_->missing->operands();
  }
  for (const array &keys : given) {
    columns.push_back(compact(keys, state_->axis));
    if (keys.ndim() != state_->axis + 1) {
      fail(error_kind::value, "groupby: keys of " + std::to_string(keys.ndim()) + " dimension(s) for axis " +
                                  std::to_string(axis) + ": an element has one key");
    }
    lists.push_back(list_of(columns.back(), state_->axis));
  }
  check_outside("groupby", columns, state_->axis + 1);
  state_->like = columns[0];
  state_->keys = several ? group_keys("groupby", names, lists) : group_keys("groupby", lists[0]);
  if (state_->axis > 0) {
    row_offsets rows = rows_at(columns[0], state_->axis);
    state_->first = new_offsets(rows.count);
    state_->keys = group_in_rows("groupby", rows, state_->keys, state_->first);
  }
}

int groups::axis() const { return state_->axis; }
intptr_t groups::count() const { return state_->keys.count(); }
array groups::keys() const { return shaped(state_->keys.keys); }

array groups::shaped(const array &list) const {
  return state_->axis == 0 ? list : in_rows(assemble(state_->like, state_->axis, {state_->first}, list));
}

// A result, missing where a row of the keys is.
array groups::in_rows(const array &result) const {
  return state_->missing ? state_->missing->restored(result) : result;
}

// The reverse: without elements where a row is missing.
array groups::plain_rows(const array &a) const {
  return is_in_missing_rows({&a, 1}, state_->axis) ? missing_rows("groupby", a, state_->axis).operand() : a;
}

array groups::values_list(const array &given) const {
  array values = plain_rows(given);
  if (values.ndim() <= state_->axis) {
    fail(error_kind::value, "groupby: values of " + std::to_string(values.ndim()) +
                                " dimension(s) are grouped along axis " + std::to_string(state_->axis));
  }
  std::vector<array> both = {state_->like, compact(values, state_->axis)};
  check_outside("groupby", both, state_->axis + 1);
  return list_of(both[1], state_->axis);
}

array groups::rows(const array &values) const {
  array list = values_list(values);
  std::shared_ptr<const group_order> order = state_->ordered();
  array sorted = gather("groupby", list, order->places);
  if (state_->axis == 0) {
    return assemble({}, 0, {count(), order->offsets}, sorted);
  }
  return in_rows(assemble(state_->like, state_->axis, {state_->first, order->offsets}, sorted));
}

array groups::spread(const array &of_groups) const {
  array values = plain_rows(of_groups);
  array whole = compact(values, checked_axis("groupby", values, state_->axis)), list = list_of(whole, state_->axis);
  if (state_->axis > 0) {
    check_outside("groupby", {plain_rows(keys()), whole}, state_->axis + 1);
  }
  if (list.size(0) != count()) {
    fail(error_kind::value,
         "groupby: " + std::to_string(list.size(0)) + " values for " + std::to_string(count()) + " groups");
  }
  key_groups keys = state_->keys.in_order();
  scratch_values<uint32_t> rank = keys.group_of_slots();
  place_buffer places(keys.elements);
  keys.with_slots([&](auto slot) {
    in_pieces("groupby", keys.elements, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        places.fill()[i] = rank[intptr_t(slot(i))];
      }
    });
  });
  array spread = gather("groupby", list, places);
  return in_rows(assemble(state_->like, state_->axis + 1, {}, spread));
}

array groups::restored(const array &given) const {
  array rows = plain_rows(given);
  int inside = state_->axis + 1;
  array whole = compact(rows, checked_axis("groupby", rows, inside));
  std::shared_ptr<const group_order> order = state_->ordered();
  if (!same_rows("groupby", rows_at(whole, inside), order->offsets)) {
    fail(error_kind::value, "groupby: the rows have other lengths than the groups");
  }
  place_buffer places(order->places.size());
  in_pieces("groupby", places.size(), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      places.fill()[order->places[i]] = i;
    }
  });
  array list = gather("groupby", list_of(whole, inside), places);
  return in_rows(assemble(state_->like, inside, {}, list));
}

const key_groups &groups::by_slots() const { return state_->keys; }

} // namespace dynd::nd
