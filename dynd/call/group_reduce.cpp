// Reductions by groups, made of the folds of group_folds.h: which folds each needs, and its result from their
// accumulators.
#include <algorithm>
#include <cmath>
#include <complex>

#include "dynd/base/errors.h"
#include "dynd/call/group_folds.h"
#include "dynd/call/groups.h"
#include "dynd/call/key_lists.h"
#include "dynd/eval/aggregate.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

namespace {

bool is_spread(aggregate_id what) { return what == aggregate_id::var || what == aggregate_id::std; }

// One reduction while it is computed.
struct reduction_step {
  group_reduction asked;
  array list;             // null: elements are counted
  element_kind element{}; // where it is of numbers
  bool option = false;
  size_t fold = 0, present = 0, squares = 0; // numbers of folds; `present` of how many there are

  // The folds of the first pass.
  void add(group_folds &folds) {
    switch (asked.what) {
    case aggregate_id::sum:
      fold = folds.add(group_fold::sum, list);
      break;
    case aggregate_id::prod:
      fold = folds.add(group_fold::prod, list);
      break;
    case aggregate_id::min:
      fold = folds.add(group_fold::least, list);
      break;
    case aggregate_id::max:
      fold = folds.add(group_fold::greatest, list);
      break;
    case aggregate_id::mean:
    case aggregate_id::var:
    case aggregate_id::std:
      fold = folds.add(group_fold::mean, list);
      break;
    case aggregate_id::count:
      break;
    default:
      fold = folds.add(group_fold::truth, list);
    }
    bool counts = asked.what == aggregate_id::count || asked.what == aggregate_id::mean ||
                  asked.what == aggregate_id::all || is_spread(asked.what);
    if (counts || option) {
      present = folds.add(group_fold::count, option ? list : array());
    }
  }
};

// Results from the accumulators, in the order of the groups.
class group_results {
public:
  group_results(const key_groups &groups, group_folds &folds, const group_folds &squares)
      : groups_(groups), folds_(folds), squares_(squares) {}

  array of(const reduction_step &step) const {
    const uint64_t *present = folds_.of_slots<uint64_t>(step.present), *truth = folds_.of_slots<uint64_t>(step.fold);
    switch (step.asked.what) {
    case aggregate_id::count:
      return list<int64_t>([&](int64_t s) { return int64_t(present[s]); });
    case aggregate_id::count_nonzero:
      return list<int64_t>([&](int64_t s) { return int64_t(truth[s]); });
    case aggregate_id::any:
      return list<bool>([&](int64_t s) { return truth[s] > 0; });
    case aggregate_id::all:
      return list<bool>([&](int64_t s) { return truth[s] == present[s]; });
    case aggregate_id::min:
      return extreme(step, true);
    case aggregate_id::max:
      return extreme(step, false);
    case aggregate_id::mean:
      return mean(step);
    case aggregate_id::var:
    case aggregate_id::std:
      return distances(step);
    default:
      return total(step);
    }
  }

private:
  template <class T, class F> array list(F of_slot) const {
    array made = new_list<T>(groups_.count());
    in_pieces("groupby", groups_.count(), [&](intptr_t begin, intptr_t end) {
      for (intptr_t g = begin; g < end; g++) {
        values_of<T>(made)[g] = of_slot(groups_.slot_of[g]);
      }
    });
    return made;
  }

  // Sums and products; of nothing they are 0 and 1.
  array total(const reduction_step &step) const {
    scalar_id type = result_type(aggregate_of(step.asked.what).fold, step.element.scalar);
    const uint64_t *present = step.option ? folds_.of_slots<uint64_t>(step.present) : nullptr;
    double nothing = step.asked.what == aggregate_id::prod;
    auto made = [&]<class T>(const T *of) {
      return list<T>([&](int64_t s) { return present && !present[s] ? T(nothing) : of[s]; });
    };
    if (type == scalar_id::uint64) {
      return made(folds_.of_slots<uint64_t>(step.fold));
    }
    if (is_integer(type)) {
      return native_list(made(folds_.of_slots<int64_t>(step.fold)), type);
    }
    return native_list(is_complex(type) ? made(folds_.of_slots<std::complex<double>>(step.fold))
                                        : made(folds_.of_slots<double>(step.fold)),
                       type);
  }

  array extreme(const reduction_step &step, bool descending) const {
    intptr_t count = groups_.count();
    array made = new_list(ndt::make_scalar(step.element.scalar), count);
    const uint64_t *codes = folds_.of_slots<uint64_t>(step.fold);
    with_code(step.element.scalar, [&](auto code) {
      using bits = typename decltype(code)::bits;
      auto *to = reinterpret_cast<bits *>(made->values().address);
      in_pieces("groupby", count, [&](intptr_t begin, intptr_t end) {
        for (intptr_t g = begin; g < end; g++) {
          to[g] = number_of<decltype(code)>(codes[groups_.slot_of[g]], descending);
        }
      });
    });
    if (!step.option) {
      return made;
    }
    const uint64_t *present = folds_.of_slots<uint64_t>(step.present);
    array any = list<bool>([&](int64_t s) { return present[s] > 0; });
    return array(missing_where_not(any.get(), made.get(), unwatched));
  }

  array mean(const reduction_step &step) const {
    scalar_id own = step.element.scalar;
    if (is_complex(own)) {
      return native_list(list<std::complex<double>>(
                             [of = folds_.of_slots<std::complex<double>>(step.fold)](int64_t s) { return of[s]; }),
                         own);
    }
    array made = list<double>([of = folds_.of_slots<double>(step.fold)](int64_t s) { return of[s]; });
    return native_list(made, is_floating(own) ? own : scalar_id::float64);
  }

  array distances(const reduction_step &step) const {
    scalar_id own = real_type(step.element.scalar);
    const double *of = squares_.of_slots<double>(step.squares);
    const uint64_t *present = folds_.of_slots<uint64_t>(step.present);
    bool root = step.asked.what == aggregate_id::std;
    array made = list<double>([&](int64_t s) {
      double variance = of[s] / std::max(double(present[s]) - step.asked.correction, 0.0);
      return root ? std::sqrt(variance) : variance;
    });
    return native_list(made, is_floating(own) ? own : scalar_id::float64);
  }

  const key_groups &groups_;
  group_folds &folds_;
  const group_folds &squares_;
};

template <class T> void divide(T *sums, const uint64_t *counts, intptr_t slots) {
  for (intptr_t s = 0; s < slots; s++) {
    sums[s] /= double(counts[s]);
  }
}

// Sums become means, each fold once.
void make_means(std::span<const reduction_step> steps, group_folds &folds, intptr_t slots) {
  std::vector<size_t> made;
  for (const reduction_step &step : steps) {
    bool divides = step.asked.what == aggregate_id::mean || is_spread(step.asked.what);
    if (!divides || std::find(made.begin(), made.end(), step.fold) != made.end()) {
      continue;
    }
    made.push_back(step.fold);
    const uint64_t *counts = folds.of_slots<uint64_t>(step.present);
    if (is_complex(step.element.scalar)) {
      divide(folds.of_slots<std::complex<double>>(step.fold), counts, slots);
    } else {
      divide(folds.of_slots<double>(step.fold), counts, slots);
    }
  }
}

} // namespace

bool groups::takes(aggregate_id what, const array &values, int axis) {
  const type_data *type = values ? values->type : nullptr;
  int ndim = type ? type->ndim : axis + 1;
  for (; type && ndim <= axis && has_missing_rows(type); ndim += type->ndim) { // the rows of the keys are
    type = type->dtype->element;
  }
  switch (what) {
  case aggregate_id::count:
    return ndim == axis + 1;
  case aggregate_id::sum:
  case aggregate_id::prod:
  case aggregate_id::min:
  case aggregate_id::max:
  case aggregate_id::any:
  case aggregate_id::all:
  case aggregate_id::count_nonzero:
  case aggregate_id::mean:
  case aggregate_id::var:
  case aggregate_id::std:
    break;
  default:
    return false;
  }
  element_kind kind;
  bool ordered = what == aggregate_id::min || what == aggregate_id::max;
  return ndim == axis + 1 && find_element_kind(type->dtype, kind) && !(ordered && is_complex(kind.scalar));
}

std::vector<array> groups::reduce(std::span<const group_reduction> reductions) const {
  const key_groups &keys = by_slots();
  group_folds folds("groupby", keys), squares("groupby", keys);
  std::vector<reduction_step> steps;
  std::vector<std::pair<array_block *, array>> lists; // of the same values, one: folds of it are found again
  for (const group_reduction &asked : reductions) {
    reduction_step step{asked, {}, {}};
    if (asked.values) {
      auto known = std::find_if(lists.begin(), lists.end(), [&](auto &l) { return l.first == asked.values.get(); });
      if (known == lists.end()) {
        lists.emplace_back(asked.values.get(), values_list(asked.values));
        known = lists.end() - 1;
      }
      step.list = known->second;
      step.option = step.list->type->element->kind == type_kind::option;
      find_element_kind(step.list->type->dtype, step.element);
    }
    step.add(folds);
    steps.push_back(std::move(step));
  }
  folds.run();
  make_means(steps, folds, keys.slots);
  bool again = false;
  for (reduction_step &step : steps) {
    if (is_spread(step.asked.what)) {
      step.squares = squares.add(group_fold::squares, step.list, &folds, step.fold);
      again = true;
    }
  }
  if (again) {
    squares.run();
  }
  std::vector<array> results;
  for (const reduction_step &step : steps) {
    results.push_back(shaped(group_results(keys, folds, squares).of(step)));
  }
  return results;
}

} // namespace dynd::nd
