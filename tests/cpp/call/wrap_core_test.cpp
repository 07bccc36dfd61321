// C++ functions on spans and views as kernels with core dimensions.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <gtest/gtest.h>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/fold.h"
#include "dynd/call/functions.h"
#include "dynd/call/linear.h"
#include "dynd/call/wrap_core.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::message;
using testing::parse;
using testing::ramp;
using testing::text;

nd::callable dot() {
  return nd::callable(nd::make_kernel("dot", "(N * float64, N * float64) -> float64",
                                      [](std::span<const double> a, std::span<const double> b) {
                                        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
                                      }));
}

TEST(WrapCore, Spans) {
  nd::callable f = dot();
  nd::array a = parse("2 * var * float64", "[[1, 2], [3]]");
  EXPECT_EQ(text(f(a, a)), "[5.0, 9.0]");
  EXPECT_EQ(text(f(nd::transposed(parse("2 * 3 * float64", "[[1, 2, 3], [4, 5, 6]]")), nd::array{1.0, 10.0})),
            "[41.0, 52.0, 63.0]")
      << "blocks with gaps are copied for spans";
  EXPECT_EQ(message([&] { f(nd::array{1.0}, nd::array{1.0, 2.0}); }), "dot: N is 1 in operand 0 and 2 in operand 1");
}

TEST(WrapCore, ViewsAndKeywords) {
  nd::callable turned(
      nd::make_kernel("turned", "(M * N * int32, *, times: int64 = 1) -> N * M * int32",
                      [](nd::view<int32_t, 2> to, nd::view<const int32_t, 2> from, const nd::given_keywords &k) {
                        for (intptr_t i = 0; i < from.size[0]; i++)
                          for (intptr_t j = 0; j < from.size[1]; j++)
                            to(j, i) = int32_t(from(i, j) * k.get<int64_t>("times"));
                      }));
  nd::array a = parse("2 * 3 * int32", "[[1, 2, 3], [4, 5, 6]]"), operands[] = {a};
  EXPECT_EQ(text(turned(a)), "[[1, 4], [2, 5], [3, 6]]");
  nd::keyword ten[] = {{"times", nd::array(10)}};
  EXPECT_EQ(text(turned.call(operands, ten)), "[[10, 40], [20, 50], [30, 60]]");
}

TEST(WrapCore, NumbersDestinationsAndInout) {
  nd::callable extremes(nd::make_kernel("extremes", "(N * float64, float64) -> (float64, int64)",
                                        [](double &sum, int64_t &count, std::span<const double> row, double start) {
                                          sum = std::accumulate(row.begin(), row.end(), start);
                                          count = int64_t(row.size());
                                        }));
  nd::array all[] = {parse("2 * var * float64", "[[1, 2], [3]]"), nd::array(10.0)};
  std::vector<nd::array> results = extremes.call_all(all);
  EXPECT_EQ(text(results[0]) + text(results[1]), "[13.0, 13.0][2, 1]");
  nd::callable scale(
      nd::make_kernel("scale", "(f: float64, x: inout N * float64) -> void", [](double f, std::span<double> x) {
        for (double &value : x)
          value *= f;
      }));
  intptr_t size = 3;
  nd::array x = nd::empty(ndt::type("strided * float64"), &size);
  nd::assign(x, nd::array{1.0, 2.0, 3.0});
  nd::array arguments[] = {nd::array(2.0), x};
  EXPECT_TRUE(scale.call_all(arguments).empty());
  EXPECT_EQ(text(x), "[2.0, 4.0, 6.0]");
}

TEST(WrapCore, RowsThatTheFunctionMakes) {
  auto keep = [](nd::made_row<double> to, std::span<const double> row, const nd::given_keywords &k) {
    double least = k.get<double>("least");
    auto kept = to.make(size_t(std::count_if(row.begin(), row.end(), [&](double x) { return x >= least; })));
    std::copy_if(row.begin(), row.end(), kept.begin(), [&](double x) { return x >= least; });
  };
  const char *signature = "(N * float64, *, least: float64 = 2) -> var * float64";
  nd::callable f(nd::make_kernel("keep", signature, keep));
  EXPECT_EQ(text(f(parse("3 * var * float64", "[[1, 2, 3], [], [1]]"))), "[[2.0, 3.0], [], []]");
  EXPECT_EQ(text(f(parse("1 * var * var * float64", "[[[1, 2], [3]]]"))), "[[[2.0], [3.0]]]");
  auto both = [](std::span<double> same, nd::made_row<int32_t> twice, std::span<const double> row) {
    std::copy(row.begin(), row.end(), same.begin());
    twice.make(2 * row.size())[0] = 7;
  };
  nd::callable g(nd::make_kernel("both", "(N * float64) -> (N * float64, var * int32)", both));
  nd::array one[] = {nd::array{1.0, 2.0}};
  std::vector<nd::array> results = g.call_all(one);
  EXPECT_EQ(text(results[0]) + text(results[1]), "[1.0, 2.0][7, 0, 0, 0]");
  auto huge = [](nd::made_row<double> to, double) { to.make(size_t(1) << 60); };
  EXPECT_NE(message([&] { nd::callable(nd::make_kernel("huge", "(float64) -> var * float64", huge))(1.0); }),
            "no error");
  auto fill = [](std::span<double> to, std::span<const double>) { std::fill(to.begin(), to.end(), 1); };
  EXPECT_EQ(message([&] { nd::make_kernel("f", "(N * float64) -> var * float64", fill); }),
            "f: signature \"(N * float64) -> var * float64\" has a result of var rows, which the function takes as "
            "nd::made_row");
  EXPECT_EQ(
      message([&] { nd::make_kernel("f", "(N * float64, *, least: float64 = 2) -> N * float64", keep); }),
      "f: signature \"(N * float64, *, least: float64 = 2) -> N * float64\" has no var rows, and the function makes "
      "some");
}

TEST(WrapCore, ExceptionsNameTheElement) {
  nd::callable f(nd::make_kernel("mean", "(N * float64) -> float64", [](std::span<const double> row) {
    return row.empty() ? throw std::domain_error("no elements")
                       : std::accumulate(row.begin(), row.end(), 0.0) / double(row.size());
  }));
  EXPECT_EQ(text(f(parse("2 * var * float64", "[[1, 2], [3]]"))), "[1.5, 3.0]");
  EXPECT_EQ(message([&] { f(parse("3 * var * float64", "[[1, 2], [], [3]]")); }), "mean: no elements at index (1,)");
}

TEST(WrapCore, TheSignatureMustFitTheFunction) {
  auto one = [](std::span<const double> a) { return a[0]; };
  EXPECT_EQ(message([&] { nd::make_kernel("f", "(N * float32) -> float64", one); }),
            "f: signature \"(N * float32) -> float64\" says that operand 1 has 1 dimensions of float32, the function "
            "takes 1 of "
            "float64");
  EXPECT_EQ(message([&] { nd::make_kernel("f", "(N * float64, float64) -> float64", one); }),
            "f: signature \"(N * float64, float64) -> float64\" has 3 operands and results, the function 2");
  EXPECT_EQ(message([&] { nd::make_kernel("f", "(x: inout N * float64) -> float64", one); }),
            "f: signature \"(x: inout N * float64) -> float64\" says that operand 1 is written, the function says the "
            "opposite");
  EXPECT_EQ(message([&] { nd::make_kernel("f", "(N * float64 -> float64", one); }).substr(0, 57),
            "f: signature \"(N * float64 -> float64\" does not parse:\nda");
}

TEST(WrapCore, BytesOfAnArrayAreNotBools) {
  auto both = [](const bool &a, std::span<const double> row) { return a ? row[0] : -1; };
  nd::callable f(nd::make_kernel("f", "(bool, N * float64) -> float64", both));
  char bytes[] = {2, 0, 1};
  array_block *a = nullptr;
  nd::array flags = nd::empty(ndt::type("3 * bool"), nullptr);
  a = flags.get();
  std::memcpy(a->values().address, bytes, sizeof(bytes));
  EXPECT_EQ(text(f(flags, nd::array{1.0})), "[1.0, -1.0, 1.0]");
  auto written = [](bool &a) { a = !a; };
  EXPECT_EQ(
      message([&] { nd::make_kernel("g", "(x: inout bool) -> void", written); }),
      "g: signature \"(x: inout bool) -> void\" says that operand 0 is read and written, and bytes of an array are "
      "not C++ bools");
}

TEST(WrapCore, Folds) {
  nd::callable minus(nd::make_kernel("minus", [](double a, double b) { return 2 * a - b; }));
  nd::array a = parse("2 * var * float64", "[[1, 2, 3], [4]]");
  EXPECT_EQ(text(nd::fold(minus, a, 1)), "[-3.0, 4.0]");
  EXPECT_EQ(text(nd::fold(minus, a, std::nullopt, nd::array(0))), "-26.0");
  EXPECT_EQ(message([&] { nd::fold(minus, parse("2 * var * float64", "[[], [4]]"), 1); }),
            "reduce: minus: a row is empty, and there is no identity at index (0,)");
  EXPECT_NE(message([&] { nd::fold(nd::callable(), a); }), ""); // that of a name that is not known
}

TEST(WrapCore, Products) {
  nd::array a = parse("2 * 2 * float64", "[[1, 2], [3, 4]]"), operands[] = {a, a};
  EXPECT_EQ(text(nd::matmul(a, a)), "[[7.0, 10.0], [15.0, 22.0]]");
  EXPECT_EQ(text(nd::matmul(a, nd::array{1.0, 10.0})), "[21.0, 43.0]");
  const int last[] = {1}, first[] = {0};
  EXPECT_EQ(text(nd::tensordot(a, a, last, first)), "[[7.0, 10.0], [15.0, 22.0]]");
  EXPECT_EQ(text(nd::einsum("ij,kj->ki", operands)), "[[5.0, 11.0], [11.0, 25.0]]");
}

} // namespace
} // namespace dynd
