// Where the least and the largest element is.
#include "reduce_reference.h"

namespace dynd::testing {
namespace {

/// The first of equal ones, the first NaN if there is one.
template <class T> int64_t reference_index(reduction_id id, const T *x, size_t n) {
  size_t best = 0;
  if constexpr (std::is_arithmetic_v<T>) {
    for (size_t i = 1; i < n && x[best] == x[best]; ++i) {
      bool beyond = id == reduction_id::argmin ? x[i] < x[best] : x[i] > x[best];
      best = x[i] != x[i] || beyond ? i : best;
    }
  }
  return int64_t(best);
}

/// Few different values, so that some are equal; in some rows all are the identity, in some there are NaNs. Bools are 0
/// or 1.
template <class T>
std::vector<T> index_values(std::mt19937_64 &random, reduction_id id, scalar_id type, size_t n, size_t row) {
  std::vector<T> values(n);
  T identity = reference_identity<T>(id == reduction_id::argmin ? reduction_id::min : reduction_id::max);
  for (T &value : values) {
    value = row % 5 == 0 ? identity : make<T>(double(random() % (row % 3 ? 100 : 3)));
    if (std::is_floating_point_v<T> && row % 4 == 0 && random() % 8 == 0) {
      value = make<T>(row % 8 ? -0.0 : std::numeric_limits<double>::quiet_NaN());
    }
    if constexpr (sizeof(T) == 1) {
      value = type == scalar_id::bool_ ? T(value != 0) : value;
    }
  }
  return values;
}

TEST(Reduce, PositionsInRowsOfAllLengths) {
  auto test = []<class T>(tag<T>, reduction_id id, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(15);
    for (size_t n = 0; n < 300; ++n) {
      size_t length = n < 270 ? n : n * 17;
      std::vector<T> values = index_values<T>(random, id, type, length, n);
      guarded_memory memory(length * sizeof(T));
      put(memory.at_end(), values.data(), length * sizeof(T));
      alignas(64) char lanes[64], other[64];
      int64_t index = -1, wanted = reference_index(id, values.data(), length);
      functions.lanes(lanes, memory.at_end(), length);
      functions.fold(&index, lanes);
      ASSERT_EQ(index, wanted) << length;
      size_t half = length / 3; // in two parts
      functions.block(lanes, memory.at_end(), half);
      functions.lanes(other, memory.at_end() + half * sizeof(T), length - half);
      functions.combine(lanes, lanes, other, 1);
      functions.fold(&index, lanes);
      ASSERT_EQ(index, wanted) << length << " in two parts";
      const int64_t offsets[] = {0, int64_t(length)};
      ASSERT_EQ(functions.rows(reinterpret_cast<char *>(&index), 0, memory.at_end(), offsets, 1, 0), length == 0);
      ASSERT_EQ(index, wanted) << "a row of " << length;
    }
  };
  for_each_reduction(test, true);
}

TEST(Reduce, PositionsInManyRowsAndColumns) {
  auto test = []<class T>(tag<T>, reduction_id id, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(16);
    for (size_t length = 1; length <= 70; ++length) {
      size_t rows = random() % 40 + 1;
      std::vector<T> values = index_values<T>(random, id, type, rows * length, length);
      guarded_memory memory(rows * length * sizeof(T));
      put(memory.at_end(), values.data(), rows * length * sizeof(T));
      std::vector<int64_t> found(2 * rows), offsets;
      for (size_t r = 0; r <= rows; ++r) {
        offsets.push_back(int64_t(r * length));
      }
      functions.rows_fixed(reinterpret_cast<char *>(found.data()), 16, memory.at_end(), intptr_t(length * sizeof(T)),
                           length, rows);
      functions.rows(reinterpret_cast<char *>(found.data() + 1), 16, memory.at_end(), offsets.data(), rows, 0);
      for (size_t r = 0; r < rows; ++r) {
        int64_t wanted = reference_index(id, values.data() + r * length, length);
        ASSERT_EQ(found[2 * r], wanted) << length;
        ASSERT_EQ(found[2 * r + 1], wanted) << length;
      }
      alignas(64) char lanes[2][4096];
      for (size_t first = 0, n; first < rows; first += n) { // the same memory as columns
        n = std::min<size_t>(rows - first, 7);
        functions.columns({lanes[0], 4096, 2, 0, 0}, memory.at_end() + first * length * sizeof(T),
                          intptr_t(length * sizeof(T)), first, n, length, false);
      }
      for (size_t j = 0; j < length; ++j) {
        std::vector<T> column;
        for (size_t r = 0; r < rows; ++r) {
          column.push_back(values[r * length + j]);
        }
        int64_t index;
        std::memcpy(&index, lanes[1] + 8 * j, 8);
        ASSERT_EQ(index, reference_index(id, column.data(), rows)) << "column " << j;
      }
    }
  };
  for_each_reduction(test, true);
}

} // namespace
} // namespace dynd::testing
