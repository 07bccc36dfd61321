// The fetch functions against plain loops: results, nothing written beyond 128 bytes past the end, nothing read
// outside.
#include "isa_testing.h"

namespace dynd::testing {
namespace {

/// Scratch that may be written 128 bytes past its end and not a byte further.
struct scratch {
  explicit scratch(size_t bytes) : memory(bytes + 128) { std::memset(data(), 0x5a, bytes + 128); }
  char *data() const { return memory.at_end(); }
  guarded_memory memory;
};

using item16 = unsigned __int128;

template <class F> void for_each_fetch(F f) {
  for_each_level([&](const isa_table &table) {
    f(uint8_t{}, table.fetch(0));
    f(uint16_t{}, table.fetch(1));
    f(uint32_t{}, table.fetch(2));
    f(uint64_t{}, table.fetch(3));
    f(item16{}, table.fetch(4));
  });
}

template <class T> std::vector<T> numbered(size_t n) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i) {
    item16 value = i * 2654435761u + 17 * i;
    values[i] = T(~value << 64 | value);
  }
  return values;
}

template <class T> void expect_items(const char *got, const std::vector<T> &expected, const std::string &what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    T x;
    std::memcpy(&x, got + i * sizeof(T), sizeof(T));
    ASSERT_TRUE(x == expected[i]) << what << ", item " << i << " of size " << sizeof(T);
  }
}

TEST(Fetch, Splat) {
  for_each_fetch([]<class T>(T, const fetch_functions &fetch) {
    for (size_t n = 0; n < 200; ++n) {
      T value = T(0x123456789abcdefull);
      scratch to(n * sizeof(T));
      guarded_memory from(sizeof(T));
      std::memcpy(from.at_end(), &value, sizeof(T));
      fetch.splat(to.data(), from.at_end(), n);
      expect_items<T>(to.data(), std::vector<T>(n, value), "splat");
    }
  });
}

TEST(Fetch, LoadAndStoreStrided) {
  for_each_fetch([]<class T>(T, const fetch_functions &fetch) {
    for (intptr_t step : {1, 2, 3, 4, 5, 9, 0, -1, -2, -7}) {
      for (size_t n = 0; n < 140; n += 1 + n / 30) {
        size_t span = n == 0 ? 0 : (n - 1) * size_t(std::abs(step)) + 1;
        std::vector<T> values = numbered<T>(span), expected(n);
        guarded_memory from(span * sizeof(T));
        put(from.at_end(), values.data(), span * sizeof(T));
        size_t first = step < 0 && n ? span - 1 : 0;
        for (size_t i = 0; i < n; ++i) {
          expected[i] = values[size_t(intptr_t(first) + intptr_t(i) * step)];
        }
        scratch to(n * sizeof(T));
        fetch.load_strided(to.data(), from.at_end() + first * sizeof(T), step * intptr_t(sizeof(T)), n);
        expect_items<T>(to.data(), expected, "load_strided");
        if (step == 0) {
          continue;
        }
        // back: only the elements themselves may change
        std::memset(from.at_end(), 0x33, span * sizeof(T));
        fetch.store_strided(from.at_end() + first * sizeof(T), step * intptr_t(sizeof(T)), to.data(), n);
        T other;
        std::memset(&other, 0x33, sizeof(T));
        std::vector<T> stored(span, other);
        for (size_t i = 0; i < n; ++i) {
          stored[size_t(intptr_t(first) + intptr_t(i) * step)] = expected[i];
        }
        expect_items<T>(from.at_end(), stored, "store_strided");
      }
    }
  });
}

std::vector<int64_t> random_offsets(std::mt19937_64 &random, size_t rows, double mean) {
  std::poisson_distribution<int> length(mean);
  std::vector<int64_t> offsets{int64_t(random() % 50)};
  for (size_t r = 0; r < rows; ++r) {
    offsets.push_back(offsets.back() + length(random));
  }
  return offsets;
}

/// Cuts the content into windows of random lengths, and fetches them one after another: each begins with the row that
/// the one before it returned. `fetch(to, first row, window)` returns that.
template <class T, class F>
void expect_windows(std::mt19937_64 &random, const std::vector<int64_t> &offsets, const std::vector<T> &expected,
                    F fetch, const std::string &what) {
  size_t rows = offsets.size() - 1, row = 0;
  size_t longest = random() % 3 == 0 ? expected.size() : 1 + random() % 150;
  for (int64_t at = offsets[0], end = offsets[rows]; at < end;) {
    int64_t stop = std::min(end, at + 1 + int64_t(random() % longest));
    scratch to(size_t(stop - at) * sizeof(T));
    size_t passed = fetch(to.data(), row, row_window{offsets.data() + row, rows - row, at, stop});
    auto first = expected.begin() + (at - offsets[0]);
    expect_items<T>(to.data(), std::vector<T>(first, first + (stop - at)), what);
    row += passed;
    ASSERT_LE(offsets[row], stop) << what << ": row " << row << " begins after the window's end";
    ASSERT_TRUE(row == rows ? stop == end : offsets[row + 1] >= stop) << what << ": row " << row << " ended before";
    at = stop;
  }
}

TEST(Fetch, RepeatRowValues) {
  for_each_fetch([]<class T>(T, const fetch_functions &fetch) {
    std::mt19937_64 random(3);
    for (int test = 0; test < 300; ++test) {
      size_t rows = test < 20 ? size_t(test) + 1 : 1 + random() % 60;
      double mean = test % 4 == 0 ? 0.7 : test % 4 == 1 ? 4 : test % 4 == 2 ? 10 : 60;
      intptr_t step = test % 3 == 2 ? -2 : 1 + test % 3;
      std::vector<int64_t> offsets = random_offsets(random, rows, mean);
      size_t span = (rows - 1) * size_t(std::abs(step)) + 1;
      std::vector<T> values = numbered<T>(span), expected;
      size_t first = step < 0 ? span - 1 : 0;
      for (size_t r = 0; r < rows; ++r) {
        expected.insert(expected.end(), size_t(offsets[r + 1] - offsets[r]),
                        values[size_t(intptr_t(first) + intptr_t(r) * step)]);
      }
      guarded_memory from(span * sizeof(T)), offset_memory(offsets.size() * 8);
      put(from.at_end(), values.data(), span * sizeof(T));
      put(offset_memory.at_end(), offsets.data(), offsets.size() * 8);
      intptr_t stride = step * intptr_t(sizeof(T));
      expect_windows<T>(
          random, offsets, expected,
          [&](char *to, size_t row, row_window window) {
            window.offsets = reinterpret_cast<const int64_t *>(offset_memory.at_end()) + row;
            return fetch.repeat(to, from.at_end() + first * sizeof(T) + intptr_t(row) * stride, stride, window);
          },
          "repeat");
    }
  });
}

TEST(Fetch, RowsWithoutElements) {
  for_each_fetch([]<class T>(T, const fetch_functions &fetch) {
    T value = 1;
    int64_t offsets[3] = {5, 5, 5}, slots[3] = {0, 1, 1};
    row_window window = {offsets, 2, 5, 5};
    scratch to(0);
    fetch.repeat(to.data(), reinterpret_cast<const char *>(&value), 0, window);
    fetch.gather(to.data(), window, reinterpret_cast<const char *>(&value), sizeof(T), sizeof(T),
                 reinterpret_cast<const char *>(slots), 8, slot_kind::offsets64);
  });
}

TEST(Fetch, RepeatRowValuesOfOneLength) {
  for_each_fetch([]<class T>(T, const fetch_functions &fetch) {
    for (size_t length = 0; length <= 40; ++length) {
      for (size_t rows = 0; rows < 50; rows += 1 + rows / 10) {
        for (intptr_t step : {1, 3, -1, 0}) {
          size_t span = rows == 0 ? 0 : (rows - 1) * size_t(std::abs(step)) + 1;
          std::vector<T> values = numbered<T>(span), expected;
          size_t first = step < 0 && rows ? span - 1 : 0;
          for (size_t r = 0; r < rows; ++r) {
            expected.insert(expected.end(), length, values[size_t(intptr_t(first) + intptr_t(r) * step)]);
          }
          guarded_memory from(span * sizeof(T));
          put(from.at_end(), values.data(), span * sizeof(T));
          scratch to(expected.size() * sizeof(T));
          fetch.repeat_fixed(to.data(), from.at_end() + first * sizeof(T), step * intptr_t(sizeof(T)), length, rows);
          expect_items<T>(to.data(), expected, "repeat_fixed");
        }
      }
    }
  });
}

TEST(Fetch, MovesRowsAndNothingElse) {
  for_each_level([](const isa_table &table) {
    for (size_t bytes = 0; bytes < 700; bytes += 1 + bytes / 90) {
      for (intptr_t gap : {0, 1, 13}) {
        for (bool backwards : {false, true}) {
          constexpr size_t rows = 5;
          intptr_t step = intptr_t(bytes) + gap, whole = step * intptr_t(rows - 1) + intptr_t(bytes);
          guarded_memory from{size_t(whole)}, to{size_t(whole)};
          for (intptr_t i = 0; i < whole; i++) {
            from.at_end()[i] = char(i * 7 + 1);
            to.at_end()[i] = 0x5a;
          }
          intptr_t first = backwards ? step * intptr_t(rows - 1) : 0;
          table.fetches->move_rows(to.at_end(), step, from.at_end() + first, backwards ? -step : step, bytes, rows);
          for (intptr_t i = 0; i < whole; i++) {
            intptr_t row = step ? i / step : 0, at = i - row * step,
                     source = backwards ? intptr_t(rows) - 1 - row : row;
            char expected = at < intptr_t(bytes) ? char((source * step + at) * 7 + 1) : char(0x5a);
            ASSERT_EQ(to.at_end()[i], expected) << bytes << " bytes, gap " << gap << ", byte " << i;
          }
        }
      }
    }
  });
}

TEST(Fetch, SaysWhichRowsHaveElements) {
  for_each_level([](const isa_table &table) {
    std::mt19937_64 random(11);
    for (size_t rows = 0; rows < 70; rows++) {
      std::vector<int64_t> offsets = random_offsets(random, rows, 2);
      guarded_memory to{rows}, at{(rows + 1) * sizeof(int64_t)};
      std::memcpy(at.at_end(), offsets.data(), (rows + 1) * sizeof(int64_t));
      table.fetches->has_elements(to.at_end(), reinterpret_cast<const int64_t *>(at.at_end()), rows);
      for (size_t r = 0; r < rows; r++) {
        ASSERT_EQ(to.at_end()[r], offsets[r + 1] > offsets[r]) << rows << " rows, row " << r;
      }
    }
  });
}

TEST(Fetch, GatherRowsFromElsewhere) {
  for_each_fetch([]<class T>(T, const fetch_functions &fetch) {
    std::mt19937_64 random(4);
    for (int test = 0; test < 300; ++test) {
      size_t rows = 1 + random() % 40;
      std::vector<int64_t> offsets = random_offsets(random, rows, test % 2 ? 4 : 20);
      intptr_t step = test % 5 == 4 ? -1 : test % 5 == 3 ? 2 : 1;
      const slot_kind kinds[] = {slot_kind::pairs64, slot_kind::offsets64, slot_kind::offsets32};
      slot_kind kind = kinds[test % 3];
      // source rows: the length of the result's row, or 1, one after another in memory; backwards from their last
      // element
      std::vector<int64_t> sizes, starts; // in elements that are taken
      int64_t total = 0;
      for (size_t r = 0; r < rows; ++r) {
        sizes.push_back(random() % 3 == 0 ? 1 : offsets[r + 1] - offsets[r]);
        starts.push_back(total);
        total += sizes.back();
      }
      starts.push_back(total);
      size_t span = total == 0 ? 0 : size_t(total - 1) * size_t(std::abs(step)) + 1;
      std::vector<T> values = numbered<T>(span), expected;
      size_t first = step < 0 && total ? span - 1 : 0;
      for (size_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < offsets[r + 1] - offsets[r]; ++j) {
          int64_t element = starts[r] + (sizes[r] == 1 ? 0 : j);
          expected.push_back(values[size_t(intptr_t(first) + element * step)]);
        }
      }
      intptr_t unit = kind == slot_kind::pairs64 && test % 7 < 3 ? 1 : step; // starts may count what is not taken
      std::vector<int64_t> pairs;
      std::vector<int32_t> narrow(starts.begin(), starts.end());
      for (size_t r = 0; r < rows; ++r) {
        pairs.insert(pairs.end(), {starts[r] * step / unit, sizes[r]});
      }
      const void *slots[] = {pairs.data(), starts.data(), narrow.data()};
      size_t slot_bytes[] = {pairs.size() * 8, starts.size() * 8, narrow.size() * 4};
      intptr_t slot_strides[] = {16, 8, 4};
      guarded_memory from(span * sizeof(T)), slot_memory(slot_bytes[test % 3]);
      put(from.at_end(), values.data(), span * sizeof(T));
      put(slot_memory.at_end(), slots[test % 3], slot_bytes[test % 3]);
      intptr_t slot_stride = slot_strides[test % 3];
      expect_windows<T>(
          random, offsets, expected,
          [&](char *to, size_t row, const row_window &window) {
            return fetch.gather(to, window, from.at_end() + first * sizeof(T), step * intptr_t(sizeof(T)),
                                unit * intptr_t(sizeof(T)), slot_memory.at_end() + intptr_t(row) * slot_stride,
                                slot_stride, kind);
          },
          "gather");
    }
  });
}

TEST(Fetch, TransposePanels) {
  for_each_fetch([]<class T>(T, const fetch_functions &fetch) {
    std::mt19937_64 random(6);
    for (int test = 0; test < 250; ++test) {
      size_t rows = 1 + random() % (test % 2 ? 20 : 150);
      size_t columns = 1 + random() % (test % 2 ? 150 : 40);
      size_t padding = test % 3 ? random() % 5 : (64 / sizeof(T) - rows % (64 / sizeof(T))) % (64 / sizeof(T));
      size_t source_row = rows + padding;
      size_t span = source_row * (columns - 1) + rows;
      bool backward = test % 5 == 0;
      std::vector<T> values = numbered<T>(span);
      guarded_memory from(span * sizeof(T));
      char *base = test % 4 == 1 ? from.at_begin() : from.at_end();
      put(base, values.data(), span * sizeof(T));
      size_t dst_row = columns + (test % 2 ? 0 : 3);
      scratch to(((rows - 1) * dst_row + columns) * sizeof(T));
      intptr_t stride = intptr_t(source_row * sizeof(T));
      const char *start = backward ? base + stride * intptr_t(columns - 1) : base;
      fetch.transpose(to.data(), intptr_t(dst_row * sizeof(T)), start, backward ? -stride : stride, rows, columns);
      for (size_t i = 0; i < rows; ++i) {
        std::vector<T> expected(columns);
        for (size_t j = 0; j < columns; ++j) {
          expected[j] = values[(backward ? columns - 1 - j : j) * source_row + i];
        }
        expect_items<T>(to.data() + i * dst_row * sizeof(T), expected, "transpose");
      }
    }
  });
}

// Into array memory: nothing beside the rows is written, whatever the alignment of their beginning is.
TEST(Fetch, TransposeWithStreamingStores) {
  for_each_fetch([]<class T>(T, const fetch_functions &fetch) {
    std::mt19937_64 random(7);
    for (int test = 0; test < 60; ++test) {
      size_t rows = 1 + random() % 70, columns = 1 + random() % 90, line = 64 / sizeof(T);
      size_t dst_row = test % 3 ? (columns + 2 * line) / line * line : columns + random() % 5;
      std::vector<T> values = numbered<T>(rows * columns);
      std::vector<char> memory((rows * dst_row + 2 * line) * sizeof(T) + 64, char(0x5a));
      char *dst = memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) & 63) + random() % line * sizeof(T);
      std::vector<char> expected = memory;
      char *expected_dst = expected.data() + (dst - memory.data());
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          put(expected_dst + (i * dst_row + j) * sizeof(T), &values[j * rows + i], sizeof(T));
        }
      }
      fetch.transpose_stream(dst, intptr_t(dst_row * sizeof(T)), reinterpret_cast<const char *>(values.data()),
                             intptr_t(rows * sizeof(T)), rows, columns);
      __builtin_ia32_sfence();
      ASSERT_TRUE(memory == expected) << rows << " x " << columns;
    }
  });
}

} // namespace
} // namespace dynd::testing
