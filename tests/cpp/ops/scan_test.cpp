// The compiled scans against their operation called for one element after another, bit for bit, at every ISA level.
#include "isa_testing.h"

#include "dynd/ops/operation.h"

namespace dynd::testing {
namespace {

/// Calls f(type tag, functions, combine, type) for everything that is there, at every level.
template <class F> void for_each_scan(F f) {
  for_each_level([&](const isa_table &table) {
    for (size_t i = 0; i < scan_count; ++i) {
      const scan &s = scan_of(scan_id(i));
      SCOPED_TRACE(s.name);
      for_each_scalar([&]<class T>(tag<T> t, scalar_id type) {
        const scan_functions &functions = table.scan(s.id, type);
        if (functions.row && !::testing::Test::HasFatalFailure()) {
          SCOPED_TRACE(scalar_name[size_t(type)]);
          f(t, functions, table.loop(s.combine, type), type);
        }
      });
    }
  });
}

template <class T>
std::vector<T> reference(batch_fn combine, scalar_id type, const std::vector<T> &x, size_t begin, size_t end,
                         const T *before) {
  std::vector<T> result;
  result.reserve(end - begin); // `before` points into it
  for (size_t i = begin; i < end; ++i) {
    T next = x[i];
    if (before || type == scalar_id::bool_) { // a bool of any other byte becomes 1
      combine(&next, before ? before : &x[i], &x[i], nullptr, 1, nullptr);
    }
    result.push_back(next);
    before = &result.back();
  }
  return result;
}

TEST(Scan, ExistsForTheAccumulatorTypes) {
  for_each_level([&](const isa_table &table) {
    for (size_t i = 0; i < scan_count; ++i) {
      for_each_scalar([&]<class T>(tag<T>, scalar_id type) {
        bool wide = scan_of(scan_id(i)).accumulator == accumulator_rule::wide;
        bool expected =
            !is_half<T> && (wide || !is_complex_type<T>)&&(!wide || !std::is_integral_v<T> || sizeof(T) == 8);
        EXPECT_EQ(table.scan(scan_id(i), type).row != nullptr, expected);
      });
    }
  });
}

TEST(Scan, Row) {
  std::mt19937_64 random(1);
  for_each_scan([&]<class T>(tag<T>, const scan_functions &functions, batch_fn combine, scalar_id type) {
    for (size_t n : {1, 2, 3, 4, 5, 7, 8, 9, 16, 63, 64, 65, 200}) {
      std::vector<T> x = random_values<T>(random, type, n + 1), found(n);
      for (const T *before : {static_cast<const T *>(nullptr), static_cast<const T *>(&x[n])}) {
        functions.row(found.data(), x.data(), n, before);
        EXPECT_TRUE(same_bits(found, reference(combine, type, x, 0, n, before)));
      }
    }
  });
}

TEST(Scan, RowsOfOneLength) {
  std::mt19937_64 random(2);
  for_each_scan([&]<class T>(tag<T>, const scan_functions &functions, batch_fn combine, scalar_id type) {
    for (size_t rows : {1, 2, 4, 5, 9}) {
      for (size_t length : {1, 2, 4, 7}) {
        size_t apart = length + 2;
        std::vector<T> x = random_values<T>(random, type, rows * apart), found = x, expected = x;
        intptr_t stride = intptr_t(apart * sizeof(T));
        functions.rows_fixed(reinterpret_cast<char *>(found.data()), stride, reinterpret_cast<const char *>(x.data()),
                             stride, length, rows);
        for (size_t r = 0; r < rows; ++r) {
          std::vector<T> row = reference<T>(combine, type, x, r * apart, r * apart + length, nullptr);
          std::copy(row.begin(), row.end(), expected.begin() + intptr_t(r * apart));
        }
        EXPECT_TRUE(same_bits(found, expected));
      }
    }
  });
}

TEST(Scan, WindowsOfRaggedRows) {
  std::mt19937_64 random(3);
  for_each_scan([&]<class T>(tag<T>, const scan_functions &functions, batch_fn combine, scalar_id type) {
    for (int times = 0; times < 20; ++times) {
      std::vector<int64_t> offsets = {int64_t(random() % 5)};
      for (size_t r = 0, rows = 1 + random() % 12; r < rows; ++r) {
        offsets.push_back(offsets.back() + int64_t(random() % (times % 3 ? 6 : 30)));
      }
      auto total = size_t(offsets.back());
      std::vector<T> x = random_values<T>(random, type, total + 1), expected(total + 1), found(total + 1);
      for (size_t r = 0; r + 1 < offsets.size(); ++r) {
        std::vector<T> row = reference<T>(combine, type, x, size_t(offsets[r]), size_t(offsets[r + 1]), nullptr);
        std::copy(row.begin(), row.end(), expected.begin() + offsets[r]);
      }
      size_t r = 0;
      int64_t end;
      for (int64_t at = offsets[0]; at < offsets.back(); at = end) {
        end = std::min(offsets.back(), at + 1 + int64_t(random() % 20));
        std::vector<T> part(size_t(end - at) + 1, x[0]); // one more, which stays
        T before = at ? found[size_t(at) - 1] : T{};
        r += functions.rows(part.data(), &x[size_t(at)], {&offsets[r], offsets.size() - 1 - r, at, end}, &before);
        EXPECT_TRUE(same_bits(std::vector<T>{part.back()}, std::vector<T>{x[0]}));
        std::copy(part.begin(), part.end() - 1, found.begin() + at);
      }
      EXPECT_TRUE(same_bits(found, expected));
    }
  });
}

TEST(Scan, TheIdentityChangesNothing) {
  std::mt19937_64 random(4);
  for_each_scan([&]<class T>(tag<T>, const scan_functions &functions, batch_fn combine, scalar_id type) {
    if (is_complex_type<T>) { // of products: an infinite component
      return;
    }
    T identity[1], initial[1];
    functions.identity(identity);
    functions.initial(initial);
    std::vector<T> x = random_values<T>(random, type, 50);
    for (T value : x) {
      T joined[1];
      combine(joined, &value, identity, nullptr, 1, nullptr);
      T own[1];
      functions.row(own, &value, 1, nullptr); // a bool of any other byte becomes 1
      EXPECT_TRUE(same_bits(std::vector<T>{joined[0]}, std::vector<T>{own[0]}));
    }
    combine(identity, identity, initial, nullptr, 1, nullptr);
    EXPECT_TRUE(same_bits(std::vector<T>{identity[0]}, std::vector<T>{initial[0]}));
  });
}

} // namespace
} // namespace dynd::testing
