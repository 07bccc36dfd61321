// Sums of elements of one or two bytes in 64 bits, at every level, against a plain loop; their memory ends at a page
// that cannot be read.
#include <limits>

#include "isa_testing.h"

namespace dynd::testing {
namespace {

template <class T> int64_t plain_sum(const T *x, size_t n, scalar_id type) {
  int64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += type == scalar_id::bool_ ? int64_t(x[i] != 0) : int64_t(x[i]);
  }
  return sum;
}

/// Random elements, every third array of the least and largest alone. Of bools every byte but 0 is true.
template <class T> std::vector<T> elements(std::mt19937_64 &random, scalar_id type, size_t n, size_t number) {
  std::vector<T> values(n);
  for (T &value : values) {
    T extreme = random() % 2 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    T any = type == scalar_id::bool_ && random() % 2 ? T(0) : T(random());
    value = number % 3 == 0 ? extreme : any;
  }
  return values;
}

/// Calls f(type tag, type, functions) for all that have sums of their own, at every level.
template <class F> void for_each_narrow(F f) {
  int found = 0;
  for_each_level([&](const isa_table &table) {
    for_each_scalar([&]<class T>(tag<T> t, scalar_id type) {
      if constexpr (std::is_integral_v<T>) {
        if (const reduce_functions *functions = table.sum_of(type)) {
          SCOPED_TRACE(scalar_name[size_t(type)]);
          found++;
          f(t, type, *functions);
        }
      } else {
        EXPECT_EQ(table.sum_of(type), nullptr);
      }
    });
  });
  EXPECT_GE(found, 5);
}

TEST(NarrowSums, OneRowOfAnyLength) {
  for_each_narrow([]<class T>(tag<T>, scalar_id type, const reduce_functions &functions) {
    std::mt19937_64 random(21);
    std::vector<size_t> sizes = {1000, 4096, 70000};
    for (size_t n = 1; n <= 300; ++n) {
      sizes.push_back(n);
    }
    for (size_t n : sizes) {
      std::vector<T> values = elements<T>(random, type, n, n);
      guarded_memory memory(n * sizeof(T));
      put(memory.at_end(), values.data(), n * sizeof(T));
      alignas(64) int64_t lanes[2][8];
      functions.lanes(lanes[0], memory.at_end(), n);
      functions.lanes(lanes[1], memory.at_end(), n);
      int64_t sum;
      functions.fold(&sum, lanes[0]);
      ASSERT_EQ(sum, plain_sum(values.data(), n, type)) << n;
      functions.combine(lanes[0], lanes[0], lanes[1], 1);
      functions.fold(&sum, lanes[0]);
      ASSERT_EQ(sum, 2 * plain_sum(values.data(), n, type)) << n;
    }
  });
}

TEST(NarrowSums, RaggedRows) {
  for_each_narrow([]<class T>(tag<T>, scalar_id type, const reduce_functions &functions) {
    std::mt19937_64 random(22);
    for (size_t test = 0; test < 60; ++test) {
      size_t rows = random() % 40;
      std::vector<int64_t> offsets = {int64_t(test % 2 * 5)};
      bool empty = false;
      for (size_t r = 0; r < rows; ++r) {
        int64_t n = int64_t(random() % (test % 4 ? 20 : 200)) + int64_t(test % 3 == 0);
        empty = empty || n == 0;
        offsets.push_back(offsets.back() + n);
      }
      size_t count = size_t(offsets.back());
      std::vector<T> values = elements<T>(random, type, count, test);
      guarded_memory memory(count * sizeof(T));
      put(memory.at_end(), values.data(), count * sizeof(T));
      size_t step = 1 + test % 3;
      std::vector<int64_t> sums(rows * step + 1, -7);
      uint32_t found = functions.rows(reinterpret_cast<char *>(sums.data()), intptr_t(8 * step), memory.at_end(),
                                      offsets.data(), rows, 0);
      EXPECT_EQ(found != 0, empty);
      for (size_t i = 0; i < sums.size(); ++i) {
        size_t r = i / step;
        bool written = i % step == 0 && r < rows;
        size_t n = written ? size_t(offsets[r + 1] - offsets[r]) : 0;
        ASSERT_EQ(sums[i], written ? plain_sum(values.data() + offsets[r], n, type) : -7) << "row " << r;
      }
    }
  });
}

TEST(NarrowSums, RowsOfOneLength) {
  for_each_narrow([]<class T>(tag<T>, scalar_id type, const reduce_functions &functions) {
    std::mt19937_64 random(23);
    for (size_t length : {1, 3, 8, 20, 31, 32, 33, 63, 64, 65, 130}) {
      for (size_t rows : {1, 7, 8, 9, 30}) {
        size_t step = length + random() % 3;
        size_t count = (rows - 1) * step + length;
        std::vector<T> values = elements<T>(random, type, count, length);
        guarded_memory memory(count * sizeof(T));
        put(memory.at_end(), values.data(), count * sizeof(T));
        for (bool backwards : {false, true}) {
          intptr_t stride = intptr_t(step * sizeof(T)) * (backwards ? -1 : 1);
          const char *first = memory.at_end() + (backwards ? (rows - 1) * step * sizeof(T) : 0);
          std::vector<int64_t> sums(rows);
          functions.rows_fixed(reinterpret_cast<char *>(sums.data()), 8, first, stride, length, rows);
          for (size_t r = 0; r < rows; ++r) {
            size_t at = (backwards ? rows - 1 - r : r) * step;
            ASSERT_EQ(sums[r], plain_sum(values.data() + at, length, type)) << "row " << r << " of " << length;
          }
        }
      }
    }
  });
}

} // namespace
} // namespace dynd::testing
