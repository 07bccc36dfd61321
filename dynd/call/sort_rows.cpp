#include "dynd/call/sort_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "dynd/call/select_long.h"
#include "dynd/ops/isa.h"

namespace dynd::nd {

namespace {

// ---- permutations ---------------------------------------------------------------------------------------------------

// Sorts positions of a row by the columns, the first first: runs that are equal in one are sorted by the next.
class row_sorter {
public:
  row_sorter(const char *name, const order_keys &keys, intptr_t longest)
      : name_(name), columns_(keys.columns()), packed_(longest), scratch_(longest), moved_(longest) {
    auto has_texts = [](const key_column &column) { return column.has_texts(); };
    if (std::any_of(columns_.begin(), columns_.end(), has_texts)) {
      words_ = scratch_values<uint64_t>(longest);
    }
  }

  // All positions of a row that begins at `first` in the list.
  void sort_row(int64_t first, int64_t *positions, intptr_t n) {
    in_pieces(name_, n, [&](intptr_t begin, intptr_t end) { std::iota(positions + begin, positions + end, begin); });
    row_ = positions;
    sort(first, positions, n, 0);
  }

private:
  // Some of the positions. Before the first column they are 0, 1, 2 ...
  void sort(int64_t first, int64_t *positions, intptr_t n, size_t c) {
    if (n < 2 || c == columns_.size()) {
      return;
    }
    const key_column &column = columns_[c];
    intptr_t there = n;
    if (column.may_be_missing()) {
      auto is_there = [&](int64_t i) { return !column.is_missing(first + i); };
      there = std::stable_partition(positions, positions + n, is_there) - positions;
      sort(first, positions + there, n - there, c + 1);
    }
    sort_by_keys([&](int64_t i) { return column.key(first + i); }, positions, there, c == 0 && there == n);
    if (column.has_texts() || c + 1 < columns_.size()) {
      sort_equal_keys(first, positions, there, c);
    }
  }

  // Key and position in 64 bits, the position below: then equal keys stay in their order. Where both do not fit, the
  // lower bits of the key are left out, and what is equal without them is sorted by the whole key. Scratch is used
  // where the positions are in the row, so that runs can be sorted at the same time.
  template <class Key> void sort_by_keys(Key key, int64_t *positions, intptr_t n, bool all) {
    if (n < 2) {
      return;
    }
    if (n <= few_items) {
      return sort_few_by_keys(key, positions, n);
    }
    uint64_t low = ~uint64_t(0), high = 0, *packed = packed_.data() + (positions - row_);
    std::mutex joining;
    in_pieces(name_, n, [&](intptr_t begin, intptr_t end) {
      uint64_t own[2] = {~uint64_t(0), 0};
      for (intptr_t i = begin; i < end; i++) {
        own[0] = std::min(own[0], key(positions[i]));
        own[1] = std::max(own[1], key(positions[i]));
      }
      std::lock_guard lock(joining);
      low = std::min(low, own[0]);
      high = std::max(high, own[1]);
    });
    if (high - low < std::min<uint64_t>(most_counted, uint64_t(n) / 4)) {
      return count_by_keys([&](int64_t i) { return key(i) - low; }, intptr_t(high - low) + 1, positions, n);
    }
    int position_bits = width_of(uint64_t(n - 1)), left_out = std::max(0, width_of(high - low) + position_bits - 64);
    in_pieces(name_, n, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        packed[i] = ((key(positions[i]) - low) >> left_out) << position_bits | uint64_t(i);
      }
    });
    packed = sorted(packed, scratch_.data() + (positions - row_), n);
    uint64_t mask = (uint64_t(1) << position_bits) - 1;
    int64_t *moved = moved_.data() + (positions - row_);
    in_pieces(name_, n, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        (all ? positions : moved)[i] = all ? int64_t(packed[i] & mask) : positions[packed[i] & mask];
      }
    });
    if (!all) {
      in_pieces(name_, n,
                [&](intptr_t begin, intptr_t end) { std::copy(moved + begin, moved + end, positions + begin); });
    }
    if (left_out > 0) {
      sort_left_out(key, packed, position_bits, positions, n);
    }
  }

  // Keys below `range`, which is small: the positions are counted to their places. Chunks are taken in their order, so
  // equal keys stay in theirs.
  template <class Key> void count_by_keys(Key key, intptr_t range, int64_t *positions, intptr_t n) {
    intptr_t chunks = n < long_row ? 1 : num_threads();
    std::vector<int64_t> next(size_t(chunks * range)); // of each chunk, a place for each key
    in_chunks(name_, n, chunks, [&](intptr_t c, intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        next[size_t(c * range) + key(positions[i])]++;
      }
    });
    int64_t place = 0;
    for (intptr_t k = 0; k < range; k++) {
      for (intptr_t c = 0; c < chunks; c++) {
        place += std::exchange(next[size_t(c * range + k)], place);
      }
    }
    int64_t *moved = moved_.data() + (positions - row_);
    in_chunks(name_, n, chunks, [&](intptr_t c, intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        moved[next[size_t(c * range) + key(positions[i])]++] = positions[i];
      }
    });
    in_pieces(name_, n,
              [&](intptr_t begin, intptr_t end) { std::copy(moved + begin, moved + end, positions + begin); });
  }

  // Runs of positions whose keys are equal but for the bits that were left out. A piece has the runs that begin in it.
  template <class Key>
  void sort_left_out(Key key, const uint64_t *packed, int position_bits, int64_t *positions, intptr_t n) {
    auto same = [&](intptr_t i, intptr_t j) { return packed[i] >> position_bits == packed[j] >> position_bits; };
    auto by_key = [&](int64_t a, int64_t b) { return key(a) < key(b); };
    std::vector<std::pair<intptr_t, intptr_t>> unsorted; // long runs
    std::mutex adding;
    in_pieces(name_, n, [&](intptr_t begin, intptr_t end) {
      while (begin > 0 && begin < end && same(begin - 1, begin)) {
        begin++;
      }
      for (intptr_t i = begin, stop; i < end; i = stop) {
        for (stop = i + 1; stop < n && same(i, stop);) {
          stop++;
        }
        if (stop - i == 1 || std::is_sorted(positions + i, positions + stop, by_key)) {
          continue;
        }
        if (stop - i <= few_items) {
          std::stable_sort(positions + i, positions + stop, by_key);
        } else {
          std::lock_guard lock(adding);
          unsorted.emplace_back(i, stop);
        }
      }
    });
    for (auto [begin, end] : unsorted) {
      sort_by_keys(key, positions + begin, end - begin, false);
    }
  }

  template <class Key> static void sort_few_by_keys(Key key, int64_t *positions, intptr_t n) {
    uint64_t keys[few_items];
    int64_t from[few_items];
    uint32_t rank[few_items];
    for (intptr_t i = 0; i < n; i++) {
      from[i] = positions[i];
      keys[i] = key(positions[i]);
    }
    rank_few(keys, n, rank);
    for (intptr_t i = 0; i < n; i++) {
      positions[rank[i]] = from[i];
    }
  }

  uint64_t *sorted(uint64_t *packed, uint64_t *scratch, intptr_t n) {
    if (n < long_row) {
      sort_items(packed, n, scratch);
      return packed;
    }
    using code = number_code<uint64_t, key_kind::unsigned_integer>;
    sort_long_row<code>(name_, reinterpret_cast<const char *>(packed), n, false, scratch);
    return scratch;
  }

  void sort_equal_keys(int64_t first, int64_t *positions, intptr_t n, size_t c) {
    const key_column &column = columns_[c];
    auto equal_keys = [&](int64_t a, int64_t b) { return column.key(first + a) == column.key(first + b); };
    auto equal_texts = [&](int64_t a, int64_t b) { return column.text(first + a) == column.text(first + b); };
    in_runs(positions, n, equal_keys, [&](int64_t *begin, int64_t *end) {
      if (!column.has_texts()) {
        return sort(first, begin, end - begin, c + 1);
      }
      sort_texts(column, first, begin, end - begin, sizeof(uint64_t));
      if (c + 1 < columns_.size()) {
        for_runs(begin, end, equal_texts, [&](int64_t *i, int64_t *stop) { sort(first, i, stop - i, c + 1); });
      }
    });
  }

  // Texts that are equal before byte `from`, those that end there included: by the eight bytes that follow, then those
  // that are equal there by the next ones.
  void sort_texts(const key_column &column, int64_t first, int64_t *positions, intptr_t n, size_t from) {
    auto is_before = [&](int64_t a, int64_t b) {
      return key_column::compare_texts(column, first + a, column, first + b) < 0;
    };
    if (n <= few_items) {
      return std::stable_sort(positions, positions + n, is_before);
    }
    uint64_t *words = words_.data();
    for (;; from = std::max(from + sizeof(uint64_t), common_bytes(column, first, positions, n))) {
      std::atomic<bool> differ = false, go_on = false;
      in_pieces(name_, n, [&](intptr_t begin, intptr_t end) {
        bool longer = false, other = false;
        uint64_t one = column.key_from(column.text(first + positions[0]), from);
        for (intptr_t i = begin; i < end; i++) {
          std::string_view text = column.text(first + positions[i]);
          words[positions[i]] = column.key_from(text, from);
          longer |= text.size() > from;
          other |= words[positions[i]] != one;
        }
        if (longer) {
          go_on = true;
        }
        if (other) {
          differ = true;
        }
      });
      if (!go_on) { // zeros at their ends may make a difference
        bool sorted = true;
        in_order(name_, n, [&](intptr_t begin, intptr_t end) {
          sorted = sorted && std::is_sorted(positions + std::max<intptr_t>(begin - 1, 0), positions + end, is_before);
        });
        return sorted ? void() : std::stable_sort(positions, positions + n, is_before);
      }
      if (differ) {
        break;
      }
    }
    auto word = [&](int64_t i) { return words[i]; };
    sort_by_keys(word, positions, n, false);
    in_runs(
        positions, n, [&](int64_t a, int64_t b) { return word(a) == word(b); },
        [&](int64_t *begin, int64_t *end) { sort_texts(column, first, begin, end - begin, from + sizeof(uint64_t)); });
  }

  // How many bytes all the texts begin with.
  size_t common_bytes(const key_column &column, int64_t first, const int64_t *positions, intptr_t n) const {
    std::string_view one = column.text(first + positions[0]);
    in_order(name_, n, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        std::string_view other = column.text(first + positions[i]);
        one = one.substr(0, other.size());
        if (std::memcmp(one.data(), other.data(), one.size()) != 0) {
          one = one.substr(0, size_t(std::mismatch(one.begin(), one.end(), other.begin()).first - one.begin()));
        }
      }
    });
    return one.size();
  }

  // The same as for_runs, on several threads where there is much to do: runs that are long by themselves.
  template <class Equal, class F> void in_runs(int64_t *positions, intptr_t n, Equal equal, F f) {
    if (n < long_row) {
      return for_runs(positions, positions + n, equal, f);
    }
    std::vector<std::pair<int64_t *, int64_t *>> alone;
    std::vector<int64_t *> runs;
    std::vector<int64_t> offsets = {0};
    auto note = [&](int64_t *begin, int64_t *end) {
      if (end - begin >= long_row) {
        alone.push_back({begin, end});
      } else if (end - begin > 1) {
        runs.push_back(begin);
        offsets.push_back(offsets.back() + (end - begin));
      }
    };
    int64_t *run = positions;
    in_order(name_, n, [&](intptr_t begin, intptr_t end) {
      for (int64_t *i = positions + std::max<intptr_t>(begin, 1); i < positions + end; i++) {
        if (!equal(i[-1], *i)) {
          note(std::exchange(run, i), i);
        }
      }
    });
    note(run, positions + n);
    for (auto [begin, end] : alone) {
      f(begin, end);
    }
    in_pieces_of_rows(name_, offsets.data(), intptr_t(runs.size()), [&](intptr_t begin, intptr_t end) {
      for (auto r = size_t(begin); r < size_t(end); r++) {
        f(runs[r], runs[r] + (offsets[r + 1] - offsets[r]));
      }
    });
  }

  // Calls f for runs of two and more that are equal.
  template <class Equal, class F> static void for_runs(int64_t *i, int64_t *end, Equal equal, F f) {
    while (i < end) {
      int64_t *stop = i + 1;
      while (stop < end && equal(*i, *stop)) {
        stop++;
      }
      if (stop - i > 1) {
        f(i, stop);
      }
      i = stop;
    }
  }

  static constexpr uint64_t most_counted = 4096; // so that the places are in the first cache

  const char *name_;
  const std::vector<key_column> &columns_;
  scratch_values<uint64_t> packed_, scratch_;
  scratch_values<int64_t> moved_;
  scratch_values<uint64_t> words_; // of each position, eight bytes of its text
  const int64_t *row_ = nullptr;   // where the row's positions begin
};

} // namespace

void argsort_rows(const char *name, const order_keys &keys, const row_offsets &rows, int64_t *to) {
  for_short_and_long_rows(
      name, rows,
      [&](intptr_t begin, intptr_t end, intptr_t longest) {
        row_sorter sorter(name, keys, longest);
        for (intptr_t r = begin; r < end; r++) {
          sorter.sort_row(rows.at[r], to + rows.at[r], rows.length(r));
        }
      },
      [&](intptr_t r) {
        row_sorter(name, keys, rows.length(r)).sort_row(rows.at[r], to + rows.at[r], rows.length(r));
      });
}

// ---- numbers --------------------------------------------------------------------------------------------------------

namespace {

template <class Code> struct number_sorter {
  using bits = typename Code::bits;

  const char *from;
  bool descending;

  bits value(int64_t i) const {
    bits own;
    std::memcpy(&own, from + i * int64_t(sizeof(bits)), sizeof(bits));
    return own;
  }

  // As many rows as the compiled loop sorts, up to `end`; returns the next.
  intptr_t sort_compiled(const int64_t *offsets, intptr_t begin, intptr_t end, bits *to) const {
    if constexpr (sizeof(bits) < 4) {
      return begin;
    } else {
      auto loop = isa().row_sorts->rows[sizeof(bits) == 8];
      return loop ? loop(reinterpret_cast<char *>(to), from, offsets, begin, end, Code::compiled(descending)) : begin;
    }
  }

  // A row that begins at `first`, sorted into `to`.
  void sort(int64_t first, intptr_t n, bits *scratch, bits *to) const {
    intptr_t numbers = move_apart(first, n, to, [](bits own) { return own; });
    sort_numbers<Code>(reinterpret_cast<const char *>(to), numbers, descending, scratch, to);
  }

  // The codes of a row's numbers, without those of NaNs; returns how many. NaNs are stored behind them as they are.
  intptr_t encode(int64_t first, intptr_t n, bits *to) const {
    intptr_t nans = 0;
    for (intptr_t i = 0; i < n; i++) {
      to[i] = Code::encode(value(first + i), descending);
      nans += Code::is_nan(value(first + i));
    }
    return nans == 0 ? n : move_apart(first, n, to, [&](bits own) { return Code::encode(own, descending); });
  }

private:
  // Numbers first, as f makes them, then NaNs as they are, both in their order; returns how many numbers there are.
  template <class F> intptr_t move_apart(int64_t first, intptr_t n, bits *to, F f) const {
    intptr_t number = 0, nan = 0;
    for (intptr_t i = 0; i < n; i++) {
      nan += Code::is_nan(value(first + i));
    }
    nan = n - nan;
    for (intptr_t i = 0; i < n; i++) {
      bits own = value(first + i);
      bool is_nan = Code::is_nan(own);
      to[is_nan ? nan : number] = is_nan ? own : f(own);
      nan += is_nan;
      number += !is_nan;
    }
    return number;
  }
};

} // namespace

void add_row_starts(const char *name, const row_offsets &rows, int64_t *positions) {
  for_parts_of_rows(name, rows, [&](intptr_t r, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      positions[i] += rows.at[r];
    }
  });
}

array sorted_numbers(const char *name, const array &list, scalar_id scalar, const row_offsets &rows, bool descending) {
  array sorted = new_list(ndt::make_scalar(scalar), list.size(0));
  with_code(scalar, [&](auto code) {
    using bits = typename decltype(code)::bits;
    number_sorter<decltype(code)> sorter{list->values().address, descending};
    auto *to = reinterpret_cast<bits *>(sorted->values().address);
    for_short_and_long_rows(
        name, rows,
        [&](intptr_t begin, intptr_t end, intptr_t longest) {
          scratch_values<bits> scratch(longest);
          for (intptr_t r = begin; r < end; r++) {
            r = sorter.sort_compiled(rows.at, r, end, to);
            if (r < end) {
              sorter.sort(rows.at[r], rows.length(r), scratch.data(), to + rows.at[r]);
            }
          }
        },
        [&](intptr_t r) {
          const char *from = sorter.from + rows.at[r] * int64_t(sizeof(bits));
          sort_long_row<decltype(code)>(name, from, rows.length(r), descending, to + rows.at[r]);
        });
  });
  return sorted;
}

// ---- the first ------------------------------------------------------------------------------------------------------

array first_numbers(const char *name, const array &list, scalar_id scalar, const row_offsets &rows,
                    const row_offsets &taken, bool descending) {
  array found = new_list(ndt::make_scalar(scalar), taken.total());
  with_code(scalar, [&](auto code) {
    using bits = typename decltype(code)::bits;
    number_sorter<decltype(code)> sorter{list->values().address, descending};
    auto *to = reinterpret_cast<bits *>(found->values().address);
    auto take = [&](intptr_t r, bits *memory) {
      intptr_t n = rows.length(r), k = taken.length(r), numbers = sorter.encode(rows.at[r], n, memory);
      intptr_t first = std::min(k, numbers); // then come NaNs
      bits *sorted = memory, *moved = memory + n;
      if (numbers < long_row) {
        std::copy_n(memory, numbers, moved);
        smallest_of(memory, numbers, first, moved);
      } else if (2 * first >= numbers) {
        using plain = number_code<bits, key_kind::unsigned_integer>;
        sort_long_row<plain>(name, reinterpret_cast<const char *>(memory), numbers, false, moved);
        sorted = moved;
      } else if (first > 0) {
        long_selection<bits> selection(name, memory, numbers);
        std::copy_n(selection.smallest(first), first, memory);
      }
      for (intptr_t i = 0; i < k; i++) {
        to[taken.at[r] + i] = i < first ? decltype(code)::decode(sorted[i], descending) : memory[numbers + i - first];
      }
    };
    for_short_and_long_rows(
        name, rows,
        [&](intptr_t begin, intptr_t end, intptr_t longest) {
          scratch_values<bits> memory(2 * longest);
          for (intptr_t r = begin; r < end; r++) {
            take(r, memory.data());
          }
        },
        [&](intptr_t r) { take(r, scratch_values<bits>(2 * rows.length(r)).data()); });
  });
  return found;
}

namespace {

/// The places of the first elements of a row, the smallest first.
class first_places {
public:
  first_places(const char *name, const order_keys &keys) : name_(name), keys_(keys) {}

  /// The first k of n, that begin at place `first`; `memory` has n.
  void select(int64_t first, intptr_t n, intptr_t k, int64_t *memory, int64_t *to) const {
    std::iota(memory, memory + n, first);
    select(memory, n, k);
    std::copy_n(memory, k, to);
  }

  /// The same of a long row, on threads: the first of each part, then of those that are left.
  void select_long(int64_t first, intptr_t n, intptr_t k, int64_t *to) const {
    scratch_values<int64_t> places(n);
    in_pieces(name_, n, [&](intptr_t begin, intptr_t end) {
      std::iota(places.data() + begin, places.data() + end, first + begin);
    });
    while (n > long_row) { // k is a quarter of a part at most
      intptr_t parts = (n + long_row - 1) / long_row, left = 0;
      auto size = [&](intptr_t p) { return std::min(long_row, n - p * long_row); };
      in_pieces(
          name_, parts,
          [&](intptr_t begin, intptr_t end) {
            for (intptr_t p = begin; p < end; p++) {
              select(places.data() + p * long_row, size(p), k);
            }
          },
          long_row);
      for (intptr_t p = 0; p < parts; p++) {
        intptr_t kept = std::min(k, size(p));
        std::copy_n(places.data() + p * long_row, kept, places.data() + left);
        left += kept;
      }
      n = left;
    }
    select(places.data(), n, k);
    std::copy_n(places.data(), k, to);
  }

private:
  void select(int64_t *places, intptr_t n, intptr_t k) const {
    std::partial_sort(places, places + std::min(k, n), places + n, [&](int64_t a, int64_t b) {
      int order = order_keys::compare(keys_, a, keys_, b);
      return order != 0 ? order < 0 : a < b;
    });
  }

  const char *name_;
  const order_keys &keys_;
};

} // namespace

void first_of_rows(const char *name, const order_keys &keys, const row_offsets &rows, const row_offsets &taken,
                   int64_t *to) {
  first_places places(name, keys);
  auto sort = [&](row_sorter &sorter, intptr_t r, int64_t *memory) {
    sorter.sort_row(rows.at[r], memory, rows.length(r));
    std::transform(memory, memory + taken.length(r), to + taken.at[r], [&](int64_t i) { return rows.at[r] + i; });
  };
  for_short_and_long_rows(
      name, rows,
      [&](intptr_t begin, intptr_t end, intptr_t longest) {
        scratch_values<int64_t> memory(longest);
        std::optional<row_sorter> sorter;
        for (intptr_t r = begin; r < end; r++) {
          if (taken.length(r) > few_items && 2 * taken.length(r) >= rows.length(r)) {
            sort(sorter ? *sorter : sorter.emplace(name, keys, longest), r, memory.data());
          } else {
            places.select(rows.at[r], rows.length(r), taken.length(r), memory.data(), to + taken.at[r]);
          }
        }
      },
      [&](intptr_t r) {
        if (4 * taken.length(r) <= long_row) {
          return places.select_long(rows.at[r], rows.length(r), taken.length(r), to + taken.at[r]);
        }
        row_sorter sorter(name, keys, rows.length(r));
        sort(sorter, r, scratch_values<int64_t>(rows.length(r)).data());
      });
}

} // namespace dynd::nd
