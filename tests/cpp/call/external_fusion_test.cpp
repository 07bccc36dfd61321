// External kernels in one program with built-in operations: lazy ones, several of many operands, and missing values.
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/call/functions.h"
#include "dynd/call/wrap.h"
#include "dynd/eval/observe.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::bits;
using testing::failure;
using testing::parse;
using testing::ramp;
using testing::text;
using testing::type_text;

// 80 KB: enough to be lazy.
const char *const large = "100 * 100 * float64";

bool is_lazy(const nd::array &a) { return a->state.load() == array_state::lazy; }

template <class F> auto at_once(F f) {
  eager_scope eager;
  return f();
}

// How many kernels the evaluations of f built, and what explain says of them.
template <class F> observation explained(F f) {
  observation seen;
  observed_scope watched(&seen);
  f();
  return seen;
}

double half(double x) noexcept { return x / 2; }

// ---- lazy or eager --------------------------------------------------------------------------------------------------

TEST(LazyExternalKernel, PureAndTotalIsLazy) {
  nd::callable f = nd::callable(nd::make_kernel("half", half, dynd_callable_pure));
  nd::array a = ramp(large), result = f(a);
  EXPECT_TRUE(is_lazy(result));
  EXPECT_EQ(result->values().owner, nullptr) << "without memory before it is looked at";
  EXPECT_EQ(bits(result), bits(at_once([&] { return a / 2.0; })));
  EXPECT_FALSE(is_lazy(result));
  EXPECT_FALSE(is_lazy(f(ramp("100 * float64")))) << "small";
  EXPECT_FALSE(is_lazy(f(ramp(large, access_mode::readwrite)))) << "its operand can be written";
  EXPECT_FALSE(is_lazy(at_once([&] { return f(a); })));
}

std::atomic<bool> saw_alias = false;

int halve(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
          const ckernel_prefix *, dynd_frame *) {
  saw_alias = saw_alias || dst == src[0];
  for (size_t i = 0; i < count; i++) {
    double x;
    std::memcpy(&x, src[0] + intptr_t(i) * src_stride[0], sizeof(x));
    x /= 2;
    std::memcpy(dst + intptr_t(i) * dst_stride, &x, sizeof(x));
  }
  return dynd_ok;
}

intptr_t make_halve(const deferred_ckernel *, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *) {
  intptr_t end = offset + intptr_t(sizeof(ckernel_prefix));
  if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
    return dynd_error_memory;
  }
  reinterpret_cast<ckernel_prefix *>(out->data + offset)->function = reinterpret_cast<void *>(halve);
  return end;
}

TEST(LazyExternalKernel, MayAliasStoresTheResultOverItsOperand) {
  nd::array a = ramp(large);
  auto check = [&](uint32_t flags, bool aliased) {
    static deferred_ckernel kernels[2];
    deferred_ckernel &kernel = kernels[aliased];
    kernel = {sizeof(deferred_ckernel),
              DYND_ABI_VERSION,
              expr_operation_funcproto_id,
              flags,
              "halve",
              "(float64) -> float64",
              nullptr,
              nullptr,
              make_halve,
              nullptr,
              nullptr,
              nullptr,
              nullptr};
    nd::callable f(kernel);
    saw_alias = false;
    nd::array result;
    observation seen = explained([&] {
      result = f(a * 3.0) + 1.0;
      result.eval();
    });
    EXPECT_EQ(seen.kernels.size(), 1u);
    EXPECT_EQ(saw_alias, aliased);
    EXPECT_EQ(bits(result), bits(at_once([&] { return a * 3.0 / 2.0 + 1.0; })));
    nd::array kept = a * 3.0, both = f(kept) + kept; // it is read again
    EXPECT_EQ(bits(both), bits(at_once([&] { return a * 3.0 / 2.0 + a * 3.0; })));
  };
  check(dynd_callable_pure | dynd_callable_total, false);
  check(dynd_callable_pure | dynd_callable_total | dynd_callable_may_alias, true);
}

TEST(LazyExternalKernel, AllOthersAreEager) {
  nd::array a = ramp(large);
  auto lazy = [&](uint32_t flags) {
    return is_lazy(nd::callable(nd::make_kernel(
        "twice", [](double x) { return 2 * x; }, flags))(a));
  };
  EXPECT_TRUE(lazy(dynd_callable_pure | dynd_callable_total));
  EXPECT_TRUE(lazy(dynd_callable_pure | dynd_callable_total | dynd_callable_harmless));
  EXPECT_FALSE(lazy(0));
  EXPECT_FALSE(lazy(dynd_callable_pure)) << "it may fail";
  EXPECT_FALSE(lazy(dynd_callable_total)) << "it may see more than its operands";
  EXPECT_FALSE(lazy(dynd_callable_pure | dynd_callable_total | dynd_callable_one_thread));
  nd::callable two = nd::callable(nd::make_kernel(
      "two", [](double x) { return std::pair(x, -x); }, dynd_callable_pure | dynd_callable_total));
  for (const nd::array &result : two.call_all({&a, 1})) {
    EXPECT_FALSE(is_lazy(result)) << "several results";
  }
}

TEST(LazyExternalKernel, IsCalledWhenItIsLookedAtAndOnce) {
  static std::atomic<int> calls;
  calls = 0;
  auto counts = [](double x) noexcept { return calls++, x; };
  nd::array a = ramp(large);
  nd::array result = nd::callable(nd::make_kernel("counts", counts, dynd_callable_pure))(a);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(bits(result), bits(a));
  EXPECT_EQ(calls, 10000);
  EXPECT_EQ(bits(result), bits(a));
  EXPECT_EQ(calls, 10000);
}

TEST(LazyExternalKernel, FusesWithWhatIsBelowAndAbove) {
  nd::callable f = nd::callable(nd::make_kernel("half", half, dynd_callable_pure));
  nd::array a = ramp(large), b = ramp(large);
  auto compute = [&] { return f(f(a + b) * 3.0) - a; };
  nd::array result;
  observation seen = explained([&] {
    result = compute();
    result.eval();
  });
  ASSERT_EQ(seen.kernels.size(), 1u) << explanation_text(seen);
  EXPECT_NE(explanation_text(seen).find("half"), std::string::npos);
  EXPECT_EQ(bits(result), bits(at_once(compute)));
  seen = explained([&] { result = nd::sum(f(a) * b, 1); });
  EXPECT_EQ(seen.kernels.size(), 1u) << "a reduction absorbs it too";
  EXPECT_EQ(bits(result), bits(nd::sum(a / 2.0 * b, 1)));
  nd::array rows = ramp("9000 * var * float64");
  EXPECT_TRUE(is_lazy(f(rows)));
  EXPECT_EQ(bits(f(rows) + rows), bits(at_once([&] { return rows / 2.0 + rows; })));
}

TEST(LazyExternalKernel, IsKeptAliveByItsArray) {
  auto shared = std::make_shared<double>(3);
  nd::array a = ramp(large), result;
  {
    auto times = [shared](double x) noexcept { return x * *shared; };
    result = nd::callable(nd::make_kernel("times", times, dynd_callable_pure))(a);
  }
  EXPECT_EQ(shared.use_count(), 2) << "the array has it";
  EXPECT_EQ(bits(result), bits(at_once([&] { return a * 3.0; })));
  EXPECT_EQ(shared.use_count(), 1) << "and lets go of it when the values are there";
  {
    auto times = [shared](double x) noexcept { return x * *shared; };
    nd::array dropped = nd::callable(nd::make_kernel("times", std::move(times), dynd_callable_pure))(a);
    EXPECT_EQ(shared.use_count(), 2);
  }
  EXPECT_EQ(shared.use_count(), 1) << "or when it is dropped";
}

// ---- several in one program -----------------------------------------------------------------------------------------

constexpr uint32_t pure_and_total = dynd_callable_pure | dynd_callable_total;

double weighted(double a, double b, double c, double d, double e, double f, double g, double h) noexcept {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

TEST(SeveralExternalKernels, OfEightOperandsAndEightResultsInOneProgram) {
  nd::callable w = nd::callable(nd::make_kernel("weighted", weighted, dynd_callable_pure));
  nd::callable rotate =
      nd::callable(nd::make_kernel("rotate", [](double a, double b, double c, double d, double e, double f, double g,
                                                double h) { return std::tuple(b, c, d, e, f, g, h, a); }));
  for (const char *shape : {"100 * 100 * ", "9000 * var * "}) {
    nd::array x = ramp(shape + std::string("float64")), i = ramp(shape + std::string("int32"));
    auto operands = [&] {
      nd::array y = x * x, first = w(x, y, i, y, x, y, i, y), second = w(x, i, i, x, x, x, i, i);
      nd::array third = w(second, x, second, x, i, i, x, x);
      return std::vector<nd::array>{first - x, x, second, third, y, x * y, second + i, i + i};
    };
    std::vector<nd::array> results;
    observation seen = explained([&] {
      std::vector<nd::array> list = operands();
      EXPECT_TRUE(is_lazy(list[0]) && is_lazy(list[2]));
      results = rotate.call_all(list);
    });
    EXPECT_EQ(seen.kernels.size(), 1u) << explanation_text(seen);
    std::vector<nd::array> expected = at_once(operands);
    ASSERT_EQ(results.size(), 8u);
    for (size_t k = 0; k < 8; k++) {
      EXPECT_EQ(bits(results[k]), bits(expected[(k + 1) % 8] * 1.0)) << shape << " result " << k;
    }
  }
}

TEST(SeveralExternalKernels, MoreThanOnePassTakes) {
  nd::callable w = nd::callable(nd::make_kernel("weighted", weighted, dynd_callable_pure));
  nd::callable mean = nd::callable(nd::make_kernel(
      "mean", [](double a, double b) noexcept { return (a + b) / 2; }, dynd_callable_pure));
  nd::array x = ramp(large);
  auto chain = [&](const nd::callable &f, int length, bool many) {
    nd::array y = x;
    for (int k = 0; k < length; k++) {
      y = many ? f(y, x, 1.0, y, x, 2.0, x, y) * 0.01 : f(y, x);
    }
    return y;
  };
  for (int length : {5, 14, 29, 60}) {
    EXPECT_EQ(bits(chain(mean, length, false)), bits(at_once([&] { return chain(mean, length, false); }))) << length;
    EXPECT_EQ(bits(chain(w, length, true)), bits(at_once([&] { return chain(w, length, true); }))) << length;
  }
}

TEST(SeveralExternalKernels, AFailureOfOneAboveIsItsOwn) {
  nd::callable f = nd::callable(nd::make_kernel("half", half, dynd_callable_pure));
  nd::callable positive = nd::callable(nd::make_kernel("positive", [](double x) {
    return x >= 0 ? x : throw std::domain_error("a number below zero, which is refused");
  }));
  nd::array a = ramp(large);
  EXPECT_EQ(failure([&] { positive(1000.0 - f(a)); }),
            "value: positive: a number below zero, which is refused at index (20, 1)");
}

// ---- missing values -------------------------------------------------------------------------------------------------

// Runs that the kernel was called for: "3 1" for one of three elements and one of one.
struct run_recorder {
  static inline std::string runs;
  static int strided(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                     const ckernel_prefix *, dynd_frame *) {
    runs += std::to_string(count) + " ";
    for (size_t i = 0; i < count; i++) {
      double a = *reinterpret_cast<const double *>(src[0] + intptr_t(i) * src_stride[0]);
      double b = *reinterpret_cast<const double *>(src[1] + intptr_t(i) * src_stride[1]);
      *reinterpret_cast<double *>(dst + intptr_t(i) * dst_stride) = a - b;
    }
    return dynd_ok;
  }
  static deferred_ckernel kernel(uint32_t flags) {
    return {sizeof(deferred_ckernel),
            DYND_ABI_VERSION,
            expr_operation_funcproto_id,
            flags,
            "difference",
            "(float64, float64) -> float64",
            nullptr,
            nullptr,
            [](const deferred_ckernel *, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *) -> intptr_t {
              intptr_t end = offset + intptr_t(sizeof(ckernel_prefix));
              if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
                return dynd_error_memory;
              }
              reinterpret_cast<ckernel_prefix *>(out->data + offset)->function = reinterpret_cast<void *>(strided);
              return end;
            },
            nullptr,
            nullptr,
            nullptr,
            nullptr};
  }
};

TEST(ExternalKernelOfMissingValues, IsCalledOnRunsOfValidElements) {
  nd::array a = parse("9 * ?float64", "[1, 2, null, null, 5, null, 7, 8, 9]");
  nd::array b = parse("9 * ?int32", "[null, 1, 1, 1, 1, 1, 1, 1, null]");
  deferred_ckernel careful = run_recorder::kernel(pure_and_total);
  for (uint32_t flags : {uint32_t(0), uint32_t(dynd_callable_pure), pure_and_total, uint32_t(dynd_callable_harmless)}) {
    careful.flags = flags;
    run_recorder::runs = "";
    nd::array result = nd::callable(careful)(a, b);
    EXPECT_EQ(text(result), "[None, 1.0, None, None, 4.0, None, 6.0, 7.0, None]");
    EXPECT_EQ(type_text(result), "9 * ?float64");
    EXPECT_EQ(run_recorder::runs, "1 1 2 ") << flags;
  }
  run_recorder::runs = "";
  nd::array rows = parse("3 * var * ?float64", "[[1, null], [], [null, 4, 5]]");
  EXPECT_EQ(text(nd::callable(careful)(rows, 1.0)), "[[0.0, None], [], [None, 3.0, 4.0]]");
  EXPECT_EQ(run_recorder::runs.substr(0, 4), "1 2 ");
}

TEST(ExternalKernelOfMissingValues, HarmlessIsCalledOnAll) {
  deferred_ckernel harmless = run_recorder::kernel(pure_and_total | dynd_callable_harmless);
  run_recorder::runs = "";
  nd::array a = parse("5 * ?float64", "[1, null, 3, null, 5]");
  EXPECT_EQ(text(nd::callable(harmless)(a, 1.0)), "[0.0, None, 2.0, None, 4.0]");
  EXPECT_EQ(run_recorder::runs, "5 ");
}

TEST(ExternalKernelOfMissingValues, IsLazyAndFusesToo) {
  nd::array numbers = ramp(large), some = nd::where(nd::less(numbers, 5000.0), numbers, parse("?float64", "null"));
  ASSERT_EQ(type_text(some), "100 * 100 * ?float64");
  some.eval();
  nd::callable f = nd::callable(nd::make_kernel("half", half, dynd_callable_pure));
  nd::array result = f(some + 1.0) * 2.0;
  EXPECT_TRUE(is_lazy(result));
  EXPECT_EQ(text(result), text(at_once([&] { return some + 1.0; })));
  EXPECT_EQ(text(nd::sum(f(some))), text(nd::sum(some / 2.0)));
}

TEST(ExternalKernelOfMissingValues, AFailureIsThatOfAValidElement) {
  auto root = [](double x) { return x > 0 ? x : throw std::domain_error("not above zero"); };
  nd::callable f = nd::callable(nd::make_kernel("root", root));
  EXPECT_EQ(text(f(parse("3 * ?float64", "[1, null, 3]"))), "[1.0, None, 3.0]") << "nothing is asked of a missing one";
  EXPECT_EQ(failure([&] { f(parse("2 * var * ?float64", "[[1, null], [2, null, -1, -2]]")); }),
            "value: root: not above zero at index (1, 2)");
}

} // namespace
} // namespace dynd
