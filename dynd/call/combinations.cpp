#include "dynd/call/combinations.h"

#include <algorithm>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/call/records.h"
#include "dynd/call/structure.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

namespace {

// The records of choices, in the shape of their numbers: of the elements of lists, or of positions in their rows.
array records_of(const char *name, std::span<const std::string> fields, const ref<choices> &which, const array &numbers,
                 std::span<const array> lists) {
  std::vector<record_field> members;
  for (int k = 0; k < which->members(); k++) {
    members.push_back({lists[lists.size() == 1 ? 0 : size_t(k)], k});
  }
  return choose_records(name, fields, members, which, numbers, thread_settings());
}

array positions_of(const char *name, std::span<const std::string> fields, const ref<choices> &which,
                   const array &numbers) {
  std::vector<array> lists;
  for (int k = 0; k < which->members(); k++) {
    array list = new_list<int64_t>(which->counts().total());
    in_pieces(name, list.size(0), [&](intptr_t begin, intptr_t end) {
      which->places(k, begin, end - begin, values_of<int64_t>(list) + begin, true);
    });
    lists.push_back(list);
  }
  return assemble(numbers, numbers.ndim(), {}, zip_lists(fields, lists));
}

array combined(const char *name, const array &a, intptr_t n, int axis, bool replacement,
               std::span<const std::string> fields, bool positions) {
  if (n < 1 || n > choices::most_members) {
    fail(error_kind::value, std::string(name) + ": n must be from 1 to " + std::to_string(choices::most_members) +
                                ", not " + std::to_string(n));
  }
  if (!fields.empty() && fields.size() != size_t(n)) {
    fail(error_kind::value,
         std::string(name) + ": " + std::to_string(fields.size()) + " names for " + std::to_string(n) + " fields");
  }
  if (array found = in_missing_rows(name, a, axis, [&](const array &rows, int at) {
        return combined(name, rows, n, at, replacement, fields, positions);
      })) {
    return found;
  }
  array whole = one_size_outside(a);
  int along = checked_axis(name, whole, axis);
  whole = compact(whole, along);
  ref<choices> which = choices::combined(name, rows_at(whole, along), int(n), replacement);
  array numbers = list_of_numbers(which->counts().total());
  numbers = along == 0 ? numbers : assemble(whole, along, {which->counts()}, numbers);
  array list = list_of(whole, along);
  return positions ? positions_of(name, fields, which, numbers) : records_of(name, fields, which, numbers, {&list, 1});
}

} // namespace

array combinations(const array &a, intptr_t n, int axis, bool replacement, std::span<const std::string> fields) {
  return combined("combinations", a, n, axis, replacement, fields, false);
}

array argcombinations(const array &a, intptr_t n, int axis, bool replacement, std::span<const std::string> fields) {
  return combined("argcombinations", a, n, axis, replacement, fields, true);
}

// ---- products -------------------------------------------------------------------------------------------------------

namespace {

// The choices of each row in rows, one for each element of the first array.
row_offsets nested_rows(const char *name, const choices &which, std::span<const row_offsets> rows) {
  const row_offsets &first = rows[0];
  new_offsets inner(first.total());
  inner.fill()[0] = 0;
  in_pieces_of_rows(name, first.at, first.count, [&](intptr_t begin, intptr_t end) {
    constexpr int64_t whole = 8;
    // Copies, which no store can change.
    const int64_t *counts = which.counts().at, *starts = first.at, *second = rows[rows.size() > 1].at;
    int64_t *all = inner.fill() + 1;
    for (intptr_t r = begin; r < end; r++) {
      int64_t size = starts[r + 1] - starts[r], *to = all + starts[r];
      uint64_t each = rows.size() > 1 ? uint64_t(second[r + 1] - second[r]) : 1;
      for (size_t k = 2; k < rows.size(); k++) {
        each *= uint64_t(rows[k].length(r)); // of no elements in the first row it may be anything
      }
      uint64_t at = uint64_t(counts[r]);
      // Short rows are written whole, past their end, which the next ones overwrite: no branch depends on the length.
      if (size <= whole && starts[r] + whole <= starts[end]) {
        for (int64_t i = 0; i < whole; i++) {
          to[i] = int64_t(at + uint64_t(i + 1) * each);
        }
        continue;
      }
      for (int64_t i = 0; i < size; i++) {
        to[i] = int64_t(at += each);
      }
    }
  });
  return inner;
}

array multiplied(const char *name, std::span<const std::string> fields, std::span<const array> arrays, int axis,
                 bool nested, bool positions) {
  if (arrays.empty()) {
    fail(error_kind::value, std::string(name) + ": no array is given");
  }
  if (!fields.empty() && fields.size() != arrays.size()) {
    fail(error_kind::value, std::string(name) + ": as many names as arrays");
  }
  int along = common_axis(name, arrays, axis);
  if (is_in_missing_rows(arrays, along)) {
    missing_rows there(name, arrays, along);
    return there.restored(multiplied(name, fields, there.operands(), along, nested, positions));
  }
  std::vector<array> whole, lists;
  std::vector<row_offsets> rows;
  for (const array &a : arrays) {
    whole.push_back(compact(one_size_outside(a), along));
    rows.push_back(rows_at(whole.back(), along));
    lists.push_back(list_of(whole.back(), along));
  }
  check_outside(name, whole, along);
  ref<choices> which = choices::product(name, rows);
  array numbers = list_of_numbers(which->counts().total());
  if (nested) {
    numbers = assemble(whole[0], along + 1, {nested_rows(name, *which, rows)}, numbers);
  } else if (along > 0) {
    numbers = assemble(whole[0], along, {which->counts()}, numbers);
  }
  return positions ? positions_of(name, fields, which, numbers) : records_of(name, fields, which, numbers, lists);
}

} // namespace

array cartesian(std::span<const std::string> fields, std::span<const array> arrays, int axis, bool nested) {
  return multiplied("cartesian", fields, arrays, axis, nested, false);
}

array argcartesian(std::span<const std::string> fields, std::span<const array> arrays, int axis, bool nested) {
  return multiplied("argcartesian", fields, arrays, axis, nested, true);
}

} // namespace dynd::nd
