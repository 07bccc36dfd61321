// Order and distribution from C++; what they give for every kind of array is tested in Python
// (tests/python/test_order.py, test_unique.py, test_distribution.py).
#include "dynd/call/distribution.h"
#include "dynd/call/order.h"
#include "fixture.h"

using namespace dynd;
using namespace dynd::testing;

namespace {

nd::array rows() { return parse("3 * var * int32", "[[3, 1, 3], [], [5, 4]]"); }

} // namespace

TEST(order, Rows) {
  EXPECT_EQ(text(nd::sort(rows())), "[[1, 3, 3], [], [4, 5]]");
  EXPECT_EQ(text(nd::sort(rows(), 1, true)), "[[3, 3, 1], [], [5, 4]]");
  EXPECT_EQ(text(nd::argsort(rows())), "[[1, 0, 2], [], [1, 0]]");
  EXPECT_EQ(text(nd::is_sorted(rows())), "[False, True, False]");
  EXPECT_EQ(text(nd::top_k(rows(), 1)), "[[3], [], [5]]");
  EXPECT_EQ(text(nd::rank(rows(), 1, nd::rank_of_equals::smallest)), "[[2, 1, 2], [], [2, 1]]");
  EXPECT_EQ(text(nd::searchsorted(nd::array{1, 3}, rows())), "[[1, 0, 1], [], [2, 2]]");
  EXPECT_EQ(failure([] { nd::top_k(rows(), -1); }), "value: top_k: k is negative: -1");
}

TEST(order, StructsByTheirFields) {
  nd::array a = parse("3 * {x: int32, y: string}", "[{x: 1, y: \"b\"}, {x: 2, y: \"a\"}, {x: 1, y: \"c\"}]");
  EXPECT_EQ(text(nd::argsort(a, 0, false, {"x", "-y"})), "[2, 0, 1]");
  EXPECT_EQ(text(nd::argsort(a, 0, true)), "[1, 2, 0]");
  EXPECT_EQ(failure([&] { nd::sort(a, 0, false, {"z"}); }),
            "index: sort: no field z to order by in {x: int32, y: string}");
}

TEST(order, Unique) {
  EXPECT_EQ(text(nd::unique(rows())), "[1, 3, 4, 5]");
  EXPECT_EQ(text(nd::unique_counts(rows(), 1).counts), "[[1, 2], [], [1, 1]]");
  EXPECT_EQ(text(nd::unique_inverse(rows()).inverse), "[[1, 0, 1], [], [3, 2]]");
}

TEST(distribution, OfRows) {
  EXPECT_EQ(text(nd::median(rows(), 1)), "[3.0, nan, 4.5]");
  EXPECT_EQ(text(nd::quantile(rows(), nd::array{0.0, 1.0}, 1)), "[[1.0, nan, 4.0], [3.0, nan, 5.0]]");
  EXPECT_EQ(text(nd::quantile(rows(), nd::array(0.5), std::nullopt, nd::quantile_method::lower)), "3.0");
  EXPECT_EQ(text(nd::histogram(rows(), 2, std::pair(0.0, 6.0), 1).counts), "[[1, 2], [0, 0], [0, 2]]");
  EXPECT_EQ(text(nd::histogram(rows(), nd::array{1, 4, 9}).counts), "[3, 2]");
  EXPECT_EQ(failure([] { nd::quantile(rows(), nd::array(1.5)); }), "value: quantile: q must be from 0 to 1, not 1.5");
}
