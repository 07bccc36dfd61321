#include "dynd/call/combinations.h"

#include <algorithm>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/call/joined.h"
#include "dynd/call/structure.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

namespace {

[[noreturn]] void fail_large(const char *name) {
  fail(error_kind::memory, std::string(name) + ": the result is too large");
}

// How many choices of n there are of so many elements; an error beyond 64 bits.
int64_t choices(const char *name, int64_t size, int n, bool replacement) {
  int64_t highest = replacement && size ? size + n - 1 : size;
  if (n > highest) {
    return n == 0;
  }
  unsigned __int128 count = 1;
  int64_t chosen = std::min<int64_t>(n, highest - n);
  for (int64_t k = 1; k <= chosen; k++) { // each product is one of binomial coefficients: it divides evenly
    count = count * static_cast<unsigned __int128>(highest - chosen + k) / static_cast<unsigned __int128>(k);
    if (count > static_cast<unsigned __int128>(INT64_MAX)) {
      fail_large(name);
    }
  }
  return int64_t(count);
}

// Places for each member of the result's records.
struct member_places {
  std::vector<place_buffer> start;

  member_places(size_t members, intptr_t count) {
    for (size_t k = 0; k < members; k++) {
      start.emplace_back(count);
    }
  }
  int64_t *fill(size_t k) { return start[k].fill(); }
};

// The next choice in order; false after the last.
bool advance(int64_t *at, int n, int64_t size, bool replacement) {
  int k = n - 1;
  while (k >= 0 && at[k] == (replacement ? size - 1 : size - n + k)) {
    k--;
  }
  if (k < 0) {
    return false;
  }
  at[k]++;
  for (int j = k + 1; j < n; j++) {
    at[j] = replacement ? at[k] : at[j - 1] + 1;
  }
  return true;
}

// Pairs of one row, without looking for the next choice.
void fill_pairs(int64_t *first, int64_t *second, int64_t begin, int64_t size, bool replacement) {
  for (int64_t i = 0; i < size; i++) {
    for (int64_t j = replacement ? i : i + 1; j < size; j++) {
      *first++ = begin + i;
      *second++ = begin + j;
    }
  }
}

constexpr int most_members = 64;

void fill_choices(member_places &places, int n, int64_t at, int64_t begin, int64_t size, bool replacement) {
  if (n == 2) {
    return fill_pairs(places.fill(0) + at, places.fill(1) + at, begin, size, replacement);
  }
  int64_t chosen[most_members];
  for (int k = 0; k < n; k++) {
    chosen[k] = replacement ? 0 : k;
  }
  do {
    for (int k = 0; k < n; k++) {
      places.fill(size_t(k))[at] = begin + chosen[k];
    }
    at++;
  } while (advance(chosen, n, size, replacement));
}

array combined(const char *name, const array &a, int n, int axis, bool replacement, std::span<const std::string> fields,
               bool positions) {
  if (n < 1 || n > most_members) {
    fail(error_kind::value,
         std::string(name) + ": n must be from 1 to " + std::to_string(most_members) + ", not " + std::to_string(n));
  }
  if (!fields.empty() && fields.size() != size_t(n)) {
    fail(error_kind::value,
         std::string(name) + ": " + std::to_string(fields.size()) + " names for " + std::to_string(n) + " fields");
  }
  array whole = one_size_outside(a);
  int along = checked_axis(name, whole, axis);
  whole = compact(whole, along);
  row_offsets rows = rows_at(whole, along);
  new_offsets counts(rows.count);
  in_pieces(name, rows.count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      counts.fill()[r + 1] = choices(name, rows.length(r), n, replacement);
    }
  });
  make_offsets(name, counts.fill(), rows.count);
  member_places places(size_t(n), counts.total());
  in_pieces_of_rows(name, counts.at, rows.count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t r = begin; r < end; r++) {
      if (counts.length(r)) {
        fill_choices(places, n, counts.at[r], positions ? 0 : rows.at[r], rows.length(r), replacement);
      }
    }
  });
  array list = list_of(whole, along);
  std::vector<array> members;
  for (int k = 0; k < n; k++) {
    members.push_back(positions ? list_of_places(places.start[size_t(k)])
                                : gather(name, list, {places.start[size_t(k)].data(), nullptr, counts.total()}));
  }
  array records = zip_lists(fields, members);
  return along == 0 ? records : assemble(whole, along, {counts}, records);
}

} // namespace

array combinations(const array &a, int n, int axis, bool replacement, std::span<const std::string> fields) {
  return combined("combinations", a, n, axis, replacement, fields, false);
}

array argcombinations(const array &a, int n, int axis, bool replacement, std::span<const std::string> fields) {
  return combined("argcombinations", a, n, axis, replacement, fields, true);
}

// ---- products -------------------------------------------------------------------------------------------------------

namespace {

class product {
public:
  product(const char *name, std::span<const array> arrays, int axis) : name_(name) {
    if (arrays.empty()) {
      fail(error_kind::value, std::string(name) + ": no array is given");
    }
    for (const array &a : arrays) {
      array whole = one_size_outside(a);
      axis_ = checked_axis(name, whole, axis);
      arrays_.push_back(compact(whole, axis_));
      rows_.push_back(rows_at(arrays_.back(), axis_));
    }
    check_outside(name, arrays_, axis_);
  }

  array run(std::span<const std::string> fields, bool nested, bool positions) {
    if (!fields.empty() && fields.size() != arrays_.size()) {
      fail(error_kind::value, std::string(name_) + ": as many names as arrays");
    }
    row_offsets counts = count();
    member_places places(arrays_.size(), counts.total());
    in_pieces_of_rows(name_, counts.at, counts.count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        fill(places, counts.at[r], counts.length(r), r, positions);
      }
    });
    std::vector<array> members;
    for (size_t k = 0; k < arrays_.size(); k++) {
      const place_buffer &start = places.start[k];
      members.push_back(positions ? list_of_places(start)
                                  : gather(name_, list_of(arrays_[k], axis_), {start.data(), nullptr, start.size()}));
    }
    array records = zip_lists(fields, members);
    if (nested) {
      return with_inner_rows(counts, records);
    }
    return axis_ == 0 ? records : assemble(arrays_[0], axis_, {counts}, records);
  }

private:
  row_offsets count() const {
    new_offsets counts(rows_[0].count);
    for (intptr_t r = 0; r < counts.count; r++) {
      int64_t all = 1;
      for (const row_offsets &rows : rows_) {
        if (__builtin_mul_overflow(all, rows.length(r), &all)) {
          fail_large(name_);
        }
      }
      counts.fill()[r + 1] = all;
    }
    make_offsets(name_, counts.fill(), counts.count);
    return counts;
  }

  // Member k: each element so often as there are choices of those after it, and all that again for those before.
  void fill(member_places &places, int64_t at, int64_t count, intptr_t r, bool positions) const {
    int64_t inside = count;
    for (size_t k = 0; k < rows_.size() && count; k++) {
      int64_t size = rows_[k].length(r), begin = positions ? 0 : rows_[k].at[r], *to = places.fill(k) + at;
      inside /= size;
      for (int64_t i = 0; i < count;) {
        for (int64_t e = 0; e < size; e++) {
          for (int64_t n = 0; n < inside; n++) {
            to[i++] = begin + e;
          }
        }
      }
    }
  }

  // A row for each element of the first array.
  array with_inner_rows(const row_offsets &counts, const array &records) const {
    const row_offsets &first = rows_[0];
    new_offsets inner(first.total());
    for (intptr_t r = 0; r < first.count; r++) {
      for (int64_t i = first.at[r]; i < first.at[r + 1]; i++) {
        inner.fill()[i + 1] = counts.length(r) / first.length(r);
      }
    }
    make_offsets(name_, inner.fill(), inner.count);
    return assemble(arrays_[0], axis_ + 1, {inner}, records);
  }

  const char *name_;
  int axis_ = 0;
  std::vector<array> arrays_;
  std::vector<row_offsets> rows_;
};

} // namespace

array cartesian(std::span<const std::string> fields, std::span<const array> arrays, int axis, bool nested) {
  return product("cartesian", arrays, axis).run(fields, nested, false);
}

array argcartesian(std::span<const std::string> fields, std::span<const array> arrays, int axis, bool nested) {
  return product("argcartesian", arrays, axis).run(fields, nested, true);
}

} // namespace dynd::nd
