#include "dynd/call/choices.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/eval/work.h"
#include "dynd/ops/isa.h"

namespace dynd::nd {

namespace {

// How many choices of n different ones there are of so many elements; -1: beyond 64 bits.
int64_t count_of(int64_t size, int n) {
  if (n > size) {
    return 0;
  }
  unsigned __int128 count = 1;
  int64_t chosen = std::min<int64_t>(n, size - n);
  for (int64_t k = 1; k <= chosen; k++) { // each product is one of binomial coefficients: it divides evenly
    count = count * static_cast<unsigned __int128>(size - chosen + k) / static_cast<unsigned __int128>(k);
    if (count > static_cast<unsigned __int128>(INT64_MAX)) {
      return -1;
    }
  }
  return int64_t(count);
}

// With replacement: n different ones of n - 1 more, from each of which its number among the members is taken.
int64_t size_for(int64_t size, int n, bool replacement) { return replacement && size ? size + n - 1 : size; }

// The choice of n different ones of `size` that has this number, in their order.
void find_choice(int64_t number, int64_t size, int n, int64_t *chosen) {
  int64_t low = 0;
  for (int k = 0; k < n; k++) {
    int64_t all = count_of(size - low, n - k), first = low, last = size - (n - k); // the k-th member is first .. last
    auto before = [&](int64_t member) { return all - count_of(size - member, n - k); };
    while (first < last) {
      int64_t middle = first + (last - first + 1) / 2;
      if (before(middle) <= number) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    number -= before(first);
    chosen[k] = first;
    low = first + 1;
  }
}

// The next of them; false after the last.
bool advance(int64_t *chosen, int n, int64_t size) {
  int k = n - 1;
  while (k >= 0 && chosen[k] == size - n + k) {
    k--;
  }
  if (k < 0) {
    return false;
  }
  chosen[k]++;
  for (int j = k + 1; j < n; j++) {
    chosen[j] = chosen[j - 1] + 1;
  }
  return true;
}

// ---- patterns of short rows -----------------------------------------------------------------------------------------

struct pattern_table {
  choice_rows::pattern of[choice_rows::most + 1] = {}; // by length

  constexpr pattern_table() { of[0].in_fours = true; } // of no choices, which are stored all the same
};

// The places once more, by fours; those that no choice needs are where the last one's is.
constexpr void find_fours(choice_rows::pattern &pattern, int used) {
  for (int n = used; n < choice_rows::most; n++) {
    pattern.place[n] = pattern.place[used - 1];
  }
  pattern.in_fours = true;
  for (int k = 0; k < 4; k++) {
    const uint64_t *place = pattern.place + 4 * k;
    uint64_t start = std::min({place[0], place[1], place[2], place[3], uint64_t(choice_rows::most - 4)});
    pattern.start[k] = uint32_t(start);
    for (int i = 0; i < 4; i++) {
      uint64_t inside = place[i] - start;
      pattern.in_fours &= inside < 4;
      pattern.words[k][2 * i] = uint32_t(2 * inside);
      pattern.words[k][2 * i + 1] = uint32_t(2 * inside + 1);
    }
  }
}

constexpr pattern_table product_patterns(bool second) {
  pattern_table made;
  for (int each = 1; each <= choice_rows::most; each++) {
    for (int n = 0; n < choice_rows::most; n++) {
      made.of[each].place[n] = uint64_t(second ? n % each : n / each);
    }
    int elements = choice_rows::most / each; // of the first member
    made.of[each].choices = elements * each;
    made.of[each].elements = second ? 0 : elements;
    find_fours(made.of[each], elements * each);
  }
  return made;
}

constexpr pattern_table pair_patterns(bool second, bool replacement) {
  pattern_table made;
  for (int size = 1; size <= choice_rows::most; size++) {
    int n = 0;
    for (int i = 0; i < size; i++) {
      for (int j = replacement ? i : i + 1; j < size && n < choice_rows::most; j++) {
        made.of[size].place[n++] = uint64_t(second ? j : i);
      }
    }
    int all = size * (replacement ? size + 1 : size - 1) / 2;
    made.of[size].choices = all <= choice_rows::most ? all : 0;
    find_fours(made.of[size], std::max(n, 1));
  }
  return made;
}

constexpr pattern_table products[] = {product_patterns(false), product_patterns(true)};
constexpr pattern_table pairs[2][2] = {{pair_patterns(false, false), pair_patterns(true, false)},
                                       {pair_patterns(false, true), pair_patterns(true, true)}};

void fill_numbers(int64_t *to, int64_t count, int64_t first) {
  for (int64_t i = 0; i < count; i++) {
    to[i] = first + i;
  }
}

} // namespace

// ---- how many -------------------------------------------------------------------------------------------------------

choices::choices(std::span<const row_offsets> rows, int members) : rows_(rows.begin(), rows.end()), members_(members) {
  refs = 1;
  destroy = [](counted *self) noexcept { delete static_cast<choices *>(self); };
}

template <class Count> void choices::count_rows(const char *name, Count count) {
  counts_ = offsets_of(name, rows_[0].count, count);
  far_rows_ = count_far_rows();
}

ref<choices> choices::combined(const char *name, const row_offsets &rows, int n, bool replacement) {
  auto made = ref<choices>::adopt(new choices({&rows, 1}, n));
  made->replacement_ = replacement;
  made->count_rows(name, [&](intptr_t r) {
    int64_t count = count_of(size_for(rows.length(r), n, replacement), n);
    return count < 0 ? checked_product(name, INT64_MAX, 2) : count; // which fails
  });
  return made;
}

ref<choices> choices::product(const char *name, std::span<const row_offsets> rows) {
  auto made = ref<choices>::adopt(new choices(rows, int(rows.size())));
  made->is_product_ = true;
  // Copies, which no store can change.
  made->count_rows(name, [name, first = rows[0], second = rows[rows.size() > 1], rows](intptr_t r) {
    int64_t all = rows.size() > 1 ? checked_product(name, first.length(r), second.length(r)) : first.length(r);
    for (size_t k = 2; k < rows.size(); k++) {
      all = checked_product(name, all, rows[k].length(r));
    }
    return all;
  });
  return made;
}

// ---- which ----------------------------------------------------------------------------------------------------------

intptr_t choices::row_of(int64_t number) const {
  return std::upper_bound(counts_.at, counts_.at + counts_.count + 1, number) - counts_.at - 1;
}

// Each element so often as there are choices of those after it, and all that again for those before.
void choices::product_places(int member, intptr_t row, int64_t first, int64_t count, int64_t *to, int64_t begin) const {
  int64_t size = rows_of(member).length(row), inside = 1;
  for (int k = member + 1; k < members_; k++) {
    inside *= rows_of(k).length(row);
  }
  int64_t at = first / inside % size, left = inside == 1 ? size - at : inside - first % inside;
  for (int64_t run; count > 0; count -= run, to += run) {
    run = std::min(left, count);
    if (inside == 1) {
      fill_numbers(to, run, begin + at);
      at = 0;
      left = size;
    } else {
      std::fill_n(to, run, begin + at);
      at = at + 1 == size ? 0 : at + 1;
      left = inside;
    }
  }
}

void choices::combined_places(int member, intptr_t row, int64_t first, int64_t count, int64_t *to,
                              int64_t begin) const {
  int64_t size = size_for(rows_[0].length(row), members_, replacement_), chosen[most_members];
  find_choice(first, size, members_, chosen);
  begin -= replacement_ ? member : 0;
  if (members_ > 2) {
    for (int64_t i = 0; i < count; i++) {
      to[i] = begin + chosen[member];
      advance(chosen, members_, size);
    }
    return;
  }
  // The last member goes through all that are left, the one before it stays meanwhile.
  for (int64_t run; count > 0; count -= run, to += run) {
    run = std::min(size - chosen[members_ - 1], count);
    if (member == members_ - 1) {
      fill_numbers(to, run, begin + chosen[member]);
    } else {
      std::fill_n(to, run, begin + chosen[member]);
    }
    chosen[members_ - 1] = ++chosen[0] + 1;
  }
}

void choices::row_places(int member, intptr_t row, int64_t first, int64_t count, int64_t *to, int64_t begin) const {
  (this->*(is_product_ ? &choices::product_places : &choices::combined_places))(member, row, first, count, to, begin);
}

void choices::places(int member, int64_t first, int64_t count, int64_t *to, bool in_rows) const {
  for (intptr_t row = count ? row_of(first) : 0; count > 0; row++) {
    int64_t run = std::min(counts_.at[row + 1] - first, count);
    if (run > 0) {
      row_places(member, row, first - counts_.at[row], run, to, in_rows ? 0 : rows_of(member).at[row]);
    }
    first += run;
    count -= run;
    to += run;
  }
}

// How many rows there are before the last elements of each member.
intptr_t choices::count_far_rows() const {
  intptr_t count = counts_.count;
  for (const row_offsets &rows : rows_) {
    const int64_t *end = std::upper_bound(rows.at, rows.at + count + 1, rows.at[rows.count] - choice_rows::most);
    count = std::max<intptr_t>(end - rows.at - 1, 0);
  }
  return count;
}

// The lists of the first member come first; so do, in `take`, what is made of them.
choice_rows choices::patterns_of(std::span<const record_field> fields) const {
  choice_rows made{counts_.at, {}, {}, is_product_, replacement_ ? 0 : 1};
  int count = 0;
  for (int member = 0; member < 2; member++) {
    const pattern_table &table = is_product_ ? products[member] : pairs[replacement_][member];
    choice_rows::member &of = made.members[member] = {rows_of(member).at, table.of, 0};
    for (const record_field &field : fields) {
      if (field.member == member) {
        made.from[count++] = field.list->values().address;
        of.fields++;
      }
    }
  }
  return made;
}

// A part of a row.
template <size_t Item>
void choices::take_one(const record_field &field, intptr_t row, int64_t skipped, int64_t count, char *to) const {
  const char *from = field.list->values().address;
  intptr_t stride = field.list->value_strides()[0];
  int64_t place[256];
  for (int64_t run; count > 0; skipped += run, count -= run) {
    run = std::min(count, int64_t(std::size(place)));
    row_places(field.member, row, skipped, run, place, rows_of(field.member).at[row]);
    for (int64_t i = 0; i < run; i++, to += Item) {
      std::memcpy(to, from + place[i] * stride, Item);
    }
  }
}

template <size_t Item>
void choices::take(std::span<const record_field> fields, int64_t first, int64_t count, char *const *to) const {
  constexpr int64_t some = 6 * choice_rows::most;
  bool short_rows = members_ == 2 && (Item == 4 || Item == 8) &&
                    std::all_of(fields.begin(), fields.end(), [](const record_field &field) {
                      return field.list->value_strides()[0] == intptr_t(Item);
                    });
  choice_rows patterns = short_rows ? patterns_of(fields) : choice_rows();
  char *at[choice_rows::most_fields], *rest[choice_rows::most_fields], whole[choice_rows::most_fields][some * Item];
  size_t number[choice_rows::most_fields], found = 0; // of the fields, in the order of the patterns
  for (int member = 0; member < members_; member++) {
    for (size_t f = 0; f < fields.size(); f++) {
      if (fields[f].member == member) {
        number[found] = f;
        rest[found] = whole[found];
        at[found++] = to[f];
      }
    }
  }
  intptr_t row = count ? row_of(first) : 0;
  auto choose = [&](char *const *where, int64_t room, intptr_t stop) {
    return intptr_t(isa().choices->choose[Item == 8](patterns, where, room, size_t(row), size_t(stop)));
  };
  while (count > 0) {
    int64_t skipped = first - counts_.at[row], done = 0;
    intptr_t next = row;
    if (short_rows && skipped == 0) {
      next = choose(at, count, far_rows_);
      done = counts_.at[next] - first;
    }
    if (short_rows && next == row) { // a part of a row, or what is written would be too much
      intptr_t stop = std::min(row + 1, far_rows_);
      while (skipped == 0 && stop < far_rows_ && counts_.at[stop] < first + count) {
        stop++;
      }
      next = choose(rest, some, std::max(stop, row));
      done = next > row ? std::min(counts_.at[next] - first, count) : 0;
      for (size_t f = 0; f < found && next > row; f++) {
        std::memcpy(at[f], whole[f] + skipped * int64_t(Item), size_t(done) * Item);
      }
    }
    if (next == row) {
      done = std::min(counts_.at[row + 1] - first, count);
      for (size_t f = 0; f < found; f++) {
        take_one<Item>(fields[number[f]], row, skipped, done, at[f]);
      }
      next = first + done == counts_.at[row + 1] ? row + 1 : row;
    }
    row = next;
    first += done;
    count -= done;
    for (size_t f = 0; f < found; f++) {
      at[f] += done * int64_t(Item);
    }
  }
}

template void choices::take<1>(std::span<const record_field>, int64_t, int64_t, char *const *) const;
template void choices::take<2>(std::span<const record_field>, int64_t, int64_t, char *const *) const;
template void choices::take<4>(std::span<const record_field>, int64_t, int64_t, char *const *) const;
template void choices::take<8>(std::span<const record_field>, int64_t, int64_t, char *const *) const;
template void choices::take<16>(std::span<const record_field>, int64_t, int64_t, char *const *) const;

} // namespace dynd::nd
