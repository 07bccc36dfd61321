#include "dynd/call/combinations.h"

#include <algorithm>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/call/joined.h"
#include "dynd/call/structure.h"
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

// The positions of each member of the records: in its list as int32, or in its row as int64.
template <class Index> struct member_places {
  std::vector<array> lists;
  std::vector<Index *> to; ///< their numbers, to be filled in

  member_places(size_t members, intptr_t count) {
    for (size_t k = 0; k < members; k++) {
      lists.push_back(new_list<Index>(count));
      to.push_back(values_of<Index>(lists[k]));
    }
  }
};

void check_list(const char *name, const array &list) {
  if (list.size(0) > INT32_MAX) {
    fail(error_kind::memory, std::string(name) + ": more than 2^31 elements: " + std::to_string(list.size(0)));
  }
}

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

// One number of the first member with `count` neighbours of the second. Short runs are written whole, past their end,
// which the next ones overwrite: no branch depends on their length. Nothing is written from `end` on.
template <class Index>
void fill_run(Index *a, Index *b, int64_t first, int64_t second, int64_t count, const Index *end) {
  constexpr int64_t whole = 8;
  if (count <= whole && end - a >= whole) {
    for (int64_t n = 0; n < whole; n++) {
      a[n] = Index(first);
      b[n] = Index(second + n);
    }
    return;
  }
  for (int64_t n = 0; n < count; n++) {
    a[n] = Index(first);
    b[n] = Index(second + n);
  }
}

// The quotients and remainders of small numbers: which of two short rows' elements make the pairs.
constexpr int small_product = 16;
struct small_pairs {
  uint8_t first[small_product], second[small_product];
};
constexpr auto pairs_by_length = [] {
  struct {
    small_pairs of[small_product + 1]; // by the length of the second row
  } made = {};
  for (int each = 1; each <= small_product; each++) {
    for (int n = 0; n < small_product; n++) {
      made.of[each].first[n] = uint8_t(n / each);
      made.of[each].second[n] = uint8_t(n % each);
    }
  }
  return made;
}();

// All pairs of two rows. Short ones are written whole, as in fill_run.
template <class Index>
void fill_product(Index *a, Index *b, int64_t first, int64_t size, int64_t second, int64_t each, const Index *end) {
  if (size * each <= small_product && each <= small_product && end - a >= small_product) {
    const small_pairs &pairs = pairs_by_length.of[each];
    for (int n = 0; n < small_product; n++) {
      a[n] = Index(first + pairs.first[n]);
      b[n] = Index(second + pairs.second[n]);
    }
    return;
  }
  for (int64_t e = 0; e < size; e++, a += each, b += each) {
    fill_run(a, b, first + e, second, each, end);
  }
}

// Pairs of one row, without looking for the next choice.
template <class Index>
void fill_pairs(Index *a, Index *b, int64_t begin, int64_t size, bool replacement, const Index *end) {
  for (int64_t i = 0, count; i < size; i++, a += count, b += count) {
    count = size - i - (replacement ? 0 : 1);
    fill_run(a, b, begin + i, begin + size - count, count, end);
  }
}

constexpr int most_members = 64;

template <class Index>
void fill_choices(member_places<Index> &places, int n, int64_t at, int64_t begin, int64_t size, bool replacement,
                  int64_t end) {
  if (n == 2) {
    return fill_pairs(places.to[0] + at, places.to[1] + at, begin, size, replacement, places.to[0] + end);
  }
  int64_t chosen[most_members];
  for (int k = 0; k < n; k++) {
    chosen[k] = replacement ? 0 : k;
  }
  do {
    for (int k = 0; k < n; k++) {
      places.to[size_t(k)][at] = Index(begin + chosen[k]);
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
  auto fill = [&](auto &places) {
    in_pieces_of_rows(name, counts.at, rows.count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        if (counts.length(r)) {
          fill_choices(places, n, counts.at[r], positions ? 0 : rows.at[r], rows.length(r), replacement,
                       counts.at[end]);
        }
      }
    });
  };
  auto in_rows = [&](const array &list) { return along == 0 ? list : assemble(whole, along, {counts}, list); };
  if (positions) {
    member_places<int64_t> places(size_t(n), counts.total());
    fill(places);
    return in_rows(zip_lists(fields, places.lists));
  }
  array list = list_of(whole, along);
  check_list(name, list);
  member_places<int32_t> places(size_t(n), counts.total());
  fill(places);
  std::vector<record_field> members;
  for (const array &index : places.lists) {
    members.push_back({list, in_rows(index)});
  }
  return gather_records(name, fields, members);
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
    if (positions) {
      member_places<int64_t> places = filled<int64_t>(counts, false);
      return in_rows(counts, nested, zip_lists(fields, places.lists));
    }
    member_places<int32_t> places = filled<int32_t>(counts, true);
    std::vector<record_field> members;
    for (size_t k = 0; k < arrays_.size(); k++) {
      array list = list_of(arrays_[k], axis_);
      check_list(name_, list);
      members.push_back({list, k == 0 ? in_rows(counts, nested, places.lists[0])
                                      : assemble(members[0].index, members[0].index.ndim(), {}, places.lists[k])});
    }
    return gather_records(name_, fields, members);
  }

private:
  row_offsets count() const {
    new_offsets counts(rows_[0].count);
    in_pieces(name_, counts.count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        int64_t all = 1;
        for (const row_offsets &rows : rows_) {
          if (__builtin_mul_overflow(all, rows.length(r), &all)) {
            fail_large(name_);
          }
        }
        counts.fill()[r + 1] = all;
      }
    });
    make_offsets(name_, counts.fill(), counts.count);
    return counts;
  }

  template <class Index> member_places<Index> filled(const row_offsets &counts, bool in_list) const {
    member_places<Index> places(arrays_.size(), counts.total());
    in_pieces_of_rows(name_, counts.at, counts.count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        fill(places, counts.at[r], counts.length(r), r, in_list, counts.at[end]);
      }
    });
    return places;
  }

  // Member k: each element so often as there are choices of those after it, and all that again for those before.
  template <class Index>
  void fill(member_places<Index> &places, int64_t at, int64_t count, intptr_t r, bool in_list, int64_t end) const {
    if (rows_.size() == 2) {
      int64_t first = in_list ? rows_[0].at[r] : 0, second = in_list ? rows_[1].at[r] : 0;
      return fill_product(places.to[0] + at, places.to[1] + at, first, rows_[0].length(r), second, rows_[1].length(r),
                          places.to[0] + end);
    }
    int64_t inside = count;
    for (size_t k = 0; k < rows_.size() && count; k++) {
      int64_t size = rows_[k].length(r), begin = in_list ? rows_[k].at[r] : 0;
      Index *to = places.to[k] + at, *stop = to + count;
      inside = k + 1 == rows_.size() ? 1 : inside / size;
      while (to < stop) {
        for (int64_t e = 0; e < size; e++) {
          for (int64_t n = 0; n < inside; n++) {
            *to++ = Index(begin + e);
          }
        }
      }
    }
  }

  // The list in the rows of the result; nested, a row for each element of the first array.
  array in_rows(const row_offsets &counts, bool nested, const array &list) const {
    if (!nested) {
      return axis_ == 0 ? list : assemble(arrays_[0], axis_, {counts}, list);
    }
    const row_offsets &first = rows_[0];
    new_offsets inner(first.total());
    inner.fill()[0] = 0;
    in_pieces_of_rows(name_, first.at, first.count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        int64_t at = counts.at[r];
        uint64_t each = 1;
        for (size_t k = 1; k < rows_.size(); k++) {
          each *= uint64_t(rows_[k].length(r)); // of no elements in the first row it may be anything
        }
        for (int64_t i = first.at[r]; i < first.at[r + 1]; i++) {
          inner.fill()[i + 1] = at += int64_t(each);
        }
      }
    });
    return assemble(arrays_[0], axis_ + 1, {inner}, list);
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
