// Reductions against the order that loops.h lays down, written here the straightforward way, bit for bit.
#include "reduce_reference.h"

namespace dynd::testing {
namespace {

TEST(Reduce, AccumulatorTypesAreThoseOfTheRows) {
  for_each_level([&](const isa_table &table) {
    for (size_t reduction = 0; reduction < reduction_count; ++reduction) {
      for_each_scalar([&]<class T>(tag<T>, scalar_id type) {
        bool wide = reduction_of(reduction_id(reduction)).accumulator == accumulator_rule::wide;
        bool expected =
            !is_half<T> && (wide || !is_complex_type<T>)&&(!wide || !std::is_integral_v<T> || sizeof(T) == 8);
        EXPECT_EQ(table.reduce(reduction_id(reduction), type).lanes != nullptr, expected);
      });
    }
  });
}

TEST(Reduce, LanesInTheOrderOfTheContract) {
  for_each_reduction([]<class T>(tag<T>, reduction_id id, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(11);
    std::vector<size_t> sizes = {4096, 5000, 12345, 65536, 100001};
    for (size_t n = 1; n <= 1000; ++n) {
      sizes.push_back(n);
    }
    for (size_t n : sizes) {
      std::vector<T> values = reduction_values<T>(random, type, n, n);
      guarded_memory memory(n * sizeof(T));
      put(memory.at_end(), values.data(), n * sizeof(T));
      alignas(64) T lanes[64 / sizeof(T)];
      functions.lanes(lanes, memory.at_end(), n);
      lane_vector<T> expected = reference_lanes(id, values.data(), n);
      for (size_t j = 0; j < expected.size(); ++j) {
        ASSERT_TRUE(same_bits(lanes[j], expected[j])) << "n " << n << " lane " << j << ": " << show(lanes[j]);
      }
      if (n <= 64) {
        T block[64 / sizeof(T)];
        functions.block(block, memory.at_end(), n);
        for (size_t j = 0; j < expected.size(); ++j) {
          ASSERT_TRUE(same_bits(block[j], lanes[j])) << "n " << n << " lane " << j;
        }
      }
      T result;
      functions.fold(&result, lanes);
      ASSERT_TRUE(same_bits(result, reference_fold(id, expected))) << "n " << n;
    }
  });
}

TEST(Reduce, BlockOfNothingIsTheIdentity) {
  for_each_reduction([]<class T>(tag<T>, reduction_id id, const reduce_functions &functions, scalar_id) {
    T lanes[64 / sizeof(T)] = {};
    functions.block(lanes, lanes, 0);
    for (T lane : lanes) {
      T identity = reference_identity<T>(id);
      EXPECT_EQ(std::memcmp(&lane, &identity, sizeof(T)), 0);
    }
  });
}

TEST(Reduce, CombineIsLaneByLane) {
  for_each_reduction([]<class T>(tag<T>, reduction_id id, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(12);
    constexpr size_t count = 64 / sizeof(T);
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<T> a = random_values<T>(random, type, count), b = random_values<T>(random, type, count), d = a;
      functions.combine(d.data(), d.data(), b.data(), 1);
      std::vector<T> twice = a, both = b;
      twice.insert(twice.end(), b.begin(), b.end());
      both.insert(both.end(), a.begin(), a.end());
      functions.combine(twice.data(), twice.data(), both.data(), 2);
      for (size_t j = 0; j < count; ++j) {
        ASSERT_TRUE(same_bits(d[j], reference_combine(id, a[j], b[j])));
        ASSERT_TRUE(same_bits(twice[j], d[j]));
        ASSERT_TRUE(same_bits(twice[count + j], reference_combine(id, b[j], a[j])));
      }
    }
  });
}

TEST(Reduce, RowsOfAllLengths) {
  for_each_reduction([]<class T>(tag<T>, reduction_id id, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(13);
    for (int test = 0; test < 120; ++test) {
      size_t rows = test < 20 ? size_t(test) : random() % 100;
      double mean = test % 6 == 0 ? 1 : test % 6 == 1 ? 4 : test % 6 == 2 ? 10 : test % 6 == 3 ? 30 : 100;
      std::poisson_distribution<int> length(mean);
      int64_t first = test % 2 ? 3 : 0; // offsets need not start at 0
      std::vector<int64_t> offsets{first};
      bool empty = false;
      for (size_t r = 0; r < rows; ++r) {
        int n = test % 7 == 0 ? std::max(1, length(random)) : length(random);
        empty = empty || n == 0;
        offsets.push_back(offsets.back() + n);
      }
      size_t n = size_t(offsets.back());
      std::vector<T> values = reduction_values<T>(random, type, n, size_t(test));
      guarded_memory memory(n * sizeof(T)), index(offsets.size() * 8), target(rows * sizeof(T) * 3);
      put(memory.at_end(), values.data(), n * sizeof(T));
      put(index.at_end(), offsets.data(), offsets.size() * 8);
      for (size_t step : {1, 3}) {
        char *d = target.at_end() + (3 - step) * rows * sizeof(T);
        std::memset(d, 0x5a, step * rows * sizeof(T));
        uint32_t flag = functions.rows(d, intptr_t(step * sizeof(T)), memory.at_end(),
                                       reinterpret_cast<int64_t *>(index.at_end()), rows, 0);
        ASSERT_EQ(flag, empty ? 1u : 0u);
        for (size_t r = 0; r < rows; ++r) {
          T got, wanted = reference_reduce(id, values.data() + offsets[r], size_t(offsets[r + 1] - offsets[r]));
          std::memcpy(&got, d + r * step * sizeof(T), sizeof(T));
          ASSERT_TRUE(same_bits(got, wanted)) << "row " << r << " of length " << offsets[r + 1] - offsets[r] << ": "
                                              << show(got) << ", not " << show(wanted);
        }
      }
    }
  });
}

TEST(Reduce, RowsOfOneLength) {
  for_each_reduction([]<class T>(tag<T>, reduction_id id, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(14);
    for (size_t length = 1; length <= 150; ++length) {
      size_t rows = random() % 40;
      std::vector<T> values = reduction_values<T>(random, type, rows * length, length);
      guarded_memory memory(rows * length * sizeof(T)), target(rows * sizeof(T) * 2);
      put(memory.at_end(), values.data(), rows * length * sizeof(T));
      for (size_t step : {1, 2}) {
        char *d = target.at_end() + (2 - step) * rows * sizeof(T);
        functions.rows_fixed(d, intptr_t(step * sizeof(T)), memory.at_end(), intptr_t(length * sizeof(T)), length,
                             rows);
        for (size_t r = 0; r < rows; ++r) {
          T got, wanted = reference_reduce(id, values.data() + r * length, length);
          std::memcpy(&got, d + r * step * sizeof(T), sizeof(T));
          ASSERT_TRUE(same_bits(got, wanted)) << "row " << r << " of length " << length << ": " << show(got);
        }
      }
    }
  });
}

// ---- what is computed of two operands on the way -----------------------------------------------------------------

/// Calls f(type tag, functions, type) for the folds that have such loops.
template <class F> void for_each_sum_of_terms(F f) {
  int found = 0;
  for_each_reduction([&]<class T>(tag<T> t, reduction_id id, const reduce_functions &functions, scalar_id type) {
    if constexpr (std::is_floating_point_v<T>) {
      if (functions.products.lanes) {
        ASSERT_EQ(id, reduction_id::sum);
        f(t, functions, type);
        ++found;
      }
    }
  });
  EXPECT_GT(found, 0);
}

template <class T> std::vector<T> products_of(const std::vector<T> &x, const std::vector<T> &y) {
  std::vector<T> result;
  for (size_t i = 0; i < x.size(); ++i) {
    result.push_back(x[i] * y[i]);
  }
  return result;
}

TEST(Reduce, ProductsAreAddedAsIfTheyHadBeenStored) {
  for_each_sum_of_terms([]<class T>(tag<T>, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(15);
    for (size_t length = 1; length <= 150; ++length) {
      size_t rows = random() % 40 + 1, n = rows * length;
      std::vector<T> x = reduction_values<T>(random, type, n, length), y = reduction_values<T>(random, type, n, 2);
      std::vector<T> products = products_of(x, y);
      guarded_memory left(n * sizeof(T)), right(n * sizeof(T));
      put(left.at_end(), x.data(), n * sizeof(T));
      put(right.at_end(), y.data(), n * sizeof(T));
      alignas(64) T lanes[64 / sizeof(T)];
      T got;
      functions.products.lanes(lanes, left.at_end(), right.at_end(), n);
      functions.fold(&got, lanes);
      ASSERT_TRUE(same_bits(got, reference_reduce(reduction_id::sum, products.data(), n))) << n << " elements";
      std::vector<T> fixed(rows), ragged(rows);
      std::vector<int64_t> offsets{0};
      for (size_t r = 0; r < rows; ++r) { // the ragged rows end where they may
        offsets.push_back(r + 1 == rows ? int64_t(n)
                                        : std::min(int64_t(n), offsets.back() + int64_t(random() % (2 * length))));
      }
      auto item = intptr_t(sizeof(T)), step = intptr_t(length) * item;
      functions.products.rows_fixed(reinterpret_cast<char *>(fixed.data()), item, left.at_end(), step, right.at_end(),
                                    step, length, rows);
      functions.products.rows(reinterpret_cast<char *>(ragged.data()), item, left.at_end(), right.at_end(),
                              offsets.data(), rows, 0);
      for (size_t r = 0; r < rows; ++r) {
        ASSERT_TRUE(same_bits(fixed[r], reference_reduce(reduction_id::sum, products.data() + r * length, length)));
        ASSERT_TRUE(same_bits(ragged[r], reference_reduce(reduction_id::sum, products.data() + offsets[r],
                                                          size_t(offsets[r + 1] - offsets[r]))));
      }
    }
  });
}

// An element that is not valid counts as 0, wherever it is; what its memory holds does not matter.
TEST(Reduce, ValidElementsAndProducts) {
  for_each_sum_of_terms([]<class T>(tag<T>, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(18);
    for (int test = 0; test < 300; ++test) {
      std::vector<int64_t> offsets{0};
      for (size_t r = 0, rows = random() % 30 + 1; r < rows; ++r) {
        offsets.push_back(offsets.back() + int64_t(random() % (test % 5 == 0 ? 200 : test % 5 == 1 ? 70 : 20)));
      }
      auto n = size_t(offsets.back()), rows = offsets.size() - 1;
      std::vector<T> x = reduction_values<T>(random, type, n, size_t(test)),
                     y = reduction_values<T>(random, type, n, 2);
      std::vector<uint8_t> valid(n);
      bool multiplies = test % 2;
      std::vector<T> terms = multiplies ? products_of(x, y) : x;
      for (size_t i = 0; i < n; ++i) {
        valid[i] = random() % 4 != 0;
        terms[i] = valid[i] ? terms[i] : T(0);
      }
      guarded_memory left(n * sizeof(T)), right(n * sizeof(T)), bytes(n);
      put(left.at_end(), x.data(), n * sizeof(T));
      put(right.at_end(), y.data(), n * sizeof(T));
      put(bytes.at_end(), valid.data(), n);
      const char *other = multiplies ? right.at_end() : nullptr;
      std::vector<T> got(rows);
      functions.valid.rows(reinterpret_cast<char *>(got.data()), sizeof(T), left.at_end(), other, bytes.at_end(),
                           offsets.data(), rows, 0);
      for (size_t r = 0; r < rows; ++r) {
        T wanted = reference_reduce(reduction_id::sum, terms.data() + offsets[r], size_t(offsets[r + 1] - offsets[r]));
        ASSERT_TRUE(same_bits(got[r], wanted)) << "row " << r << " of " << offsets[r + 1] - offsets[r];
      }
      if (n > 0) {
        alignas(64) T lanes[64 / sizeof(T)];
        T all;
        functions.valid.lanes(lanes, left.at_end(), other, bytes.at_end(), n);
        functions.fold(&all, lanes);
        ASSERT_TRUE(same_bits(all, reference_reduce(reduction_id::sum, terms.data(), n))) << n << " elements";
      }
    }
  });
}

// The lanes of products, which join up to two nodes before them, and those of elements, combined afterwards.
TEST(Reduce, ColumnsOfProducts) {
  for_each_sum_of_terms([]<class T>(tag<T>, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(16);
    constexpr size_t count = 64 / sizeof(T), node = count * 64;
    auto bytes = [](T *p) { return reinterpret_cast<char *>(p); };
    for (size_t width = 1; width <= 40; ++width) {
      size_t rows = width % 4 == 0 ? 64 : random() % 64 + 1, joins = random() % 3;
      std::vector<T> x = reduction_values<T>(random, type, rows * width, width);
      std::vector<T> y = reduction_values<T>(random, type, rows * width, 2), products = products_of(x, y);
      std::vector<T> got = reduction_values<T>(random, type, 3 * node, 3), wanted = got;
      auto stride = intptr_t(width * sizeof(T)), lane = intptr_t(64 * sizeof(T)), level = intptr_t(node * sizeof(T));
      functions.products.columns({bytes(&got[joins * node]), lane, count, joins, level}, bytes(x.data()), stride,
                                 bytes(y.data()), stride, 0, rows, width);
      functions.columns({bytes(&wanted[joins * node]), lane, count, 0, 0}, bytes(products.data()), stride, 0, rows,
                        width, false);
      for (size_t k = joins; k > 0; --k) {
        functions.combine(&wanted[(k - 1) * node], &wanted[(k - 1) * node], &wanted[k * node], 64);
      }
      for (size_t i = 0; i < std::min(rows, count) * 64; ++i) {
        ASSERT_TRUE(i % 64 >= width || same_bits(got[i], wanted[i])) << "lane " << i / 64 << ", column " << i % 64;
      }
    }
  });
}

// Few rows or columns: the memory is one run, every logical row in it the sum that it is by itself.
TEST(Reduce, FewRowsAndColumns) {
  for_each_sum_of_terms([]<class T>(tag<T>, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(21);
    constexpr size_t count = 64 / sizeof(T);
    auto sum_of = [](const std::vector<T> &x) { return reference_lanes(reduction_id::sum, x.data(), x.size()); };
    auto expect_lanes = [](const T *found, size_t stride, const std::vector<T> &expected) {
      for (size_t l = 0; l < expected.size(); ++l) {
        ASSERT_TRUE(same_bits(found[l * stride], expected[l])) << "lane " << l;
      }
    };
    for (size_t few = 2; few <= few_functions::most; ++few) {
      for (size_t blocks : {1, 2, 4, 8}) {
        SCOPED_TRACE(std::to_string(few) + " of " + std::to_string(blocks) + " blocks");
        size_t length = 64 * blocks;
        std::vector<T> x = reduction_values<T>(random, type, few * length, blocks), mixed(few * count);
        std::vector<T> slots(few * 8 * count), node(count);
        const char *memory = reinterpret_cast<char *>(x.data());
        functions.few.columns[few](reinterpret_cast<char *>(mixed.data()), memory, blocks);
        functions.few.rows[few](reinterpret_cast<char *>(slots.data()), 8 * 64, 5, memory, blocks);
        for (size_t r = 0; r < few; ++r) {
          std::vector<T> row(length);
          for (size_t i = 0; i < length; ++i) {
            row[i] = x[i * few + r];
          }
          expect_lanes(mixed.data() + r, few, sum_of(row));
          for (size_t b = 0; b < blocks; ++b) {
            std::vector<T> block(row.begin() + ptrdiff_t(b) * 64, row.begin() + ptrdiff_t(b) * 64 + 64);
            expect_lanes(slots.data() + (r * 8 + (5 + b) % 8) * count, 1, sum_of(block));
          }
        }
        if (functions.few.turned[few]) { // the columns are contiguous, a little apart; the row goes over all of them
          size_t rows = length / few;
          std::vector<T> columns(few * (rows + 3)), all(length);
          for (size_t i = 0; i < length; ++i) {
            all[i] = columns[i % few * (rows + 3) + i / few] = x[i];
          }
          functions.few.turned[few](reinterpret_cast<char *>(node.data()), reinterpret_cast<char *>(columns.data()),
                                    intptr_t((rows + 3) * sizeof(T)), blocks);
          expect_lanes(node.data(), 1, sum_of(all));
        }
      }
    }
    for (size_t rows = 3; rows <= 2 * few_functions::most; ++rows) {
      std::vector<T> x = reduction_values<T>(random, type, rows * 4 * count, rows), dst(3 * count);
      const char *at[2 * few_functions::most];
      for (size_t r = 0; r < rows; ++r) {
        at[r] = reinterpret_cast<char *>(x.data() + r * 4 * count);
      }
      functions.few.fold[rows](reinterpret_cast<char *>(dst.data()), at, 3);
      for (size_t j = 0; j < dst.size(); ++j) {
        std::vector<T> column(rows);
        for (size_t r = 0; r < rows; ++r) {
          column[r] = x[r * 4 * count + j];
        }
        ASSERT_TRUE(same_bits(dst[j], reference_reduce(reduction_id::sum, column.data(), rows))) << rows << " rows";
      }
    }
  });
}

TEST(Reduce, SquaredDistances) {
  for_each_sum_of_terms([]<class T>(tag<T>, const reduce_functions &functions, scalar_id type) {
    std::mt19937_64 random(17);
    for (int test = 0; test < 200; ++test) {
      size_t rows = random() % 30 + 1;
      std::vector<int64_t> offsets{0};
      for (size_t r = 0; r < rows; ++r) {
        offsets.push_back(offsets.back() + int64_t(random() % (test % 5 == 0 ? 200 : test % 5 == 1 ? 70 : 20)));
      }
      auto n = size_t(offsets.back());
      std::vector<T> x = reduction_values<T>(random, type, n, 2), about = reduction_values<T>(random, type, rows, 2);
      about[0] = std::numeric_limits<T>::infinity(); // does not reach lanes without an element
      guarded_memory memory(n * sizeof(T));
      put(memory.at_end(), x.data(), n * sizeof(T));
      std::vector<T> got(rows);
      functions.squares.rows(got.data(), memory.at_end(), about.data(), offsets.data(), rows);
      for (size_t r = 0; r < rows; ++r) {
        std::vector<T> squares;
        for (int64_t i = offsets[r]; i < offsets[r + 1]; ++i) {
          squares.push_back((x[size_t(i)] - about[r]) * (x[size_t(i)] - about[r]));
        }
        T wanted = reference_reduce(reduction_id::sum, squares.data(), squares.size()), of_lanes = wanted;
        ASSERT_TRUE(same_bits(got[r], wanted)) << "row " << r << " of " << squares.size();
        if (!squares.empty()) {
          alignas(64) T lanes[64 / sizeof(T)];
          functions.squares.lanes(lanes, memory.at_end() + size_t(offsets[r]) * sizeof(T), &about[r], squares.size());
          functions.fold(&of_lanes, lanes);
        }
        ASSERT_TRUE(same_bits(of_lanes, wanted)) << "row " << r << " of " << squares.size();
      }
    }
  });
}

} // namespace
} // namespace dynd::testing
