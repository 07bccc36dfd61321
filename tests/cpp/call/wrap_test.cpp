// Wrapped C++ functions as kernels: their signatures, exceptions, threads, and Python's lock.
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "dynd/base/interpreter.h"
#include "dynd/call/functions.h"
#include "dynd/call/wrap.h"
#include "dynd/kernel/builder.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::failure;
using testing::parse;
using testing::ramp;
using testing::text;

double product(double a, double b) { return a * b; }

struct scale {
  int32_t by;
  int32_t operator()(int32_t x) const noexcept { return by * x; }
};

TEST(Wrap, SignaturesAreDeduced) {
  EXPECT_STREQ(nd::make_kernel("f", product)->signature, "(float64, float64) -> float64");
  EXPECT_STREQ(nd::make_kernel("f", scale{3})->signature, "(int32) -> int32");
  EXPECT_STREQ(
      nd::make_kernel("f", [](bool a, const uint8_t &b, long long c) { return a ? float(b) : float(c); })->signature,
      "(bool, uint8, int64) -> float32");
  EXPECT_STREQ(nd::make_kernel("f", [](int16_t a) { return std::pair(a > 0, a); })->signature,
               "(int16) -> (bool, int16)");
  EXPECT_STREQ(nd::make_kernel("f", [](int16_t a, bool b) { return std::tuple(a, b, 1.5f, 2.5, a); })->signature,
               "(int16, bool) -> (int16, bool, float32, float64, int16)");
  EXPECT_EQ(nd::make_kernel("f", scale{3})->flags, uint32_t(dynd_callable_total));
  EXPECT_EQ(nd::make_kernel("f", product, dynd_callable_pure)->flags, uint32_t(dynd_callable_pure));
}

TEST(Wrap, TakesAnyOuterDimensions) {
  nd::array rows = parse("2 * var * float64", "[[1, 2], [3]]");
  EXPECT_EQ(text(nd::callable(nd::make_kernel("product", product))(rows, parse("2 * 1 * int32", "[[10], [100]]"))),
            "[[10.0, 20.0], [300.0]]");
  EXPECT_EQ(text(nd::callable(nd::make_kernel("scale", scale{13}))(parse("3 * int32", "[12, -5, 3]"))),
            "[156, -65, 39]");
  nd::callable fma = nd::callable(nd::make_kernel("fma", [](double a, double b, double c) { return a * b + c; }));
  EXPECT_EQ(text(fma(ramp("3 * float64"), 2, 0.5)), "[0.5, 2.5, 4.5]");
  const nd::array number[] = {nd::array(7)};
  nd::callable halves = nd::callable(nd::make_kernel("halves", [](int32_t a) { return std::pair(a / 2, a % 2 == 1); }));
  EXPECT_EQ(text(halves.call_all(number)[0]), "3");
  EXPECT_EQ(text(halves.call_all(number)[1]), "True");
}

TEST(Wrap, TakesAValueOfTheTypeOfItsParameter) {
  nd::callable half = nd::callable(nd::make_kernel("half", [](float x) { return x / 2; }));
  EXPECT_EQ(half(0.5f).str(), "nd.array(0.25, type=\"float32\")");
}

TEST(Wrap, CanBeInstantiatedAgainAndAgain) {
  nd::kernel k = nd::make_kernel("times", [](int32_t a, int32_t b) { return a * b; });
  const char *types[] = {"int32", "int32", "int32"};
  const dynd_arrmeta *arrmeta[3] = {};
  char text[64];
  for (kernel_request_t request : {kernel_request_single, kernel_request_strided, kernel_request_single}) {
    ckernel_builder built;
    dynd_bind bind = {sizeof(dynd_bind), DYND_ABI_VERSION,        request, 3,      types, arrmeta, text,
                      sizeof(text),      assign_error_fractional, 0,       nullptr};
    ASSERT_GT(k->instantiate(k.get(), &built, 0, &bind), 0);
    int32_t result[2] = {0, 0}, a[2] = {12, -5}, b = 13;
    char *data[3] = {reinterpret_cast<char *>(result), reinterpret_cast<char *>(a), reinterpret_cast<char *>(&b)};
    const intptr_t stride[3] = {4, 4, 0};
    dynd_frame frame = {};
    void *function = built.root()->function;
    bool single = request == kernel_request_single;
    int status = single ? reinterpret_cast<multi_single_operation_t>(function)(data, built.root(), &frame)
                        : reinterpret_cast<multi_strided_operation_t>(function)(data, stride, 2, built.root(), &frame);
    EXPECT_EQ(status, dynd_ok);
    EXPECT_EQ(result[0], 156);
    EXPECT_EQ(result[1], single ? 0 : -65);
  }
}

TEST(Wrap, TheSameWithAndWithoutTheDirectStep) {
  nd::callable f = nd::callable(nd::make_kernel("f", [](int32_t a, double b) { return a > b; }));
  nd::array a = ramp("3 * 5 * int32"), b = ramp("3 * 5 * float64");
  nd::array direct = f(a, b), one = f(a, 7);
  testing::with_direct off(false);
  nd::array planned = f(a, b), planned_one = f(a, 7);
  EXPECT_EQ(testing::bits(direct), testing::bits(planned));
  EXPECT_EQ(testing::bits(one), testing::bits(planned_one));
}

TEST(Wrap, AbsorbsLazyOperations) {
  nd::array a = ramp("20000 * float64");
  nd::array b = nd::callable(nd::make_kernel("half", [](double x) { return x / 2; }))(a + a);
  EXPECT_EQ(testing::bits(a), testing::bits(b));
}

TEST(Wrap, AnExceptionNamesKernelAndElement) {
  auto root = [](double x) {
    return x >= 0 ? std::sqrt(x) : throw std::domain_error("square root of a negative number");
  };
  nd::callable f = nd::callable(nd::make_kernel("root", root));
  EXPECT_EQ(failure([&] { f(parse("2 * var * float64", "[[1, 4], [9, -1, -2]]")); }),
            "value: root: square root of a negative number at index (1, 1)");
  auto narrow = [](int32_t x) { return x < 300 ? x : (fail(error_kind::overflow, "too much"), 0); };
  nd::callable g = nd::callable(nd::make_kernel("narrow", narrow));
  EXPECT_EQ(failure([&] { g(ramp("3 * 400000 * int32")); }), "overflow: narrow: too much at index (0, 300)");
}

TEST(Wrap, KernelsAreCounted) {
  auto shared = std::make_shared<int>(7);
  {
    nd::callable f;
    {
      nd::kernel k = nd::make_kernel("f", [shared](int32_t x) { return x + *shared; });
      f = nd::callable(k);
    }
    EXPECT_EQ(text(f(1)), "8");
    EXPECT_EQ(shared.use_count(), 2);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(Wrap, OneThreadMeansThisThread) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  auto note = [&](int32_t x) {
    if (x % 4096 == 0) {
      std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    return x;
  };
  int before = num_threads();
  set_num_threads(4);
  nd::callable(nd::make_kernel("note", note, dynd_callable_one_thread))(ramp("1000000 * int32"));
  set_num_threads(before);
  EXPECT_EQ(seen, std::set<std::thread::id>{std::this_thread::get_id()});
}

// A host with a lock, as Python has one: how deep this thread is in it.
struct fake_interpreter {
  static inline thread_local int depth = 0;
  static inline std::atomic<int> entered = 0;
  interpreter_hooks before = the_interpreter;
  fake_interpreter() {
    entered = 0;
    the_interpreter.let_go = []() -> void * {
      return depth ? reinterpret_cast<void *>(intptr_t(std::exchange(depth, 0))) : nullptr;
    };
    the_interpreter.take_back = [](void *state) { depth = int(reinterpret_cast<intptr_t>(state)); };
    the_interpreter.enter = [] {
      entered++;
      return depth++;
    };
    the_interpreter.leave = [](int outside) { depth = outside; };
  }
  ~fake_interpreter() { the_interpreter = before; }
};

TEST(Wrap, NeedsPythonsLock) {
  std::thread::id here = std::this_thread::get_id();
  std::atomic<int> calls = 0, wrong = 0;
  auto note = [&](int32_t x) {
    if (x % 4096 == 0) {
      calls++;
      wrong += std::this_thread::get_id() != here || fake_interpreter::depth == 0;
    }
    return x;
  };
  nd::array large = ramp("1000000 * int32"), rows = ramp("300000 * var * int32"), small = ramp("5 * int32");
  int before = num_threads();
  set_num_threads(4);
  {
    nd::callable f = nd::callable(nd::make_kernel("note", note, dynd_callable_python_lock));
    EXPECT_EQ(failure([&] { f(small); }), "type: note: needs Python's lock, and the Python package is not loaded");
    fake_interpreter host;
    for (const nd::array &a : {small, ramp("100000 * int32"), large, rows, large + large}) { // with and without a task
      f(a);
      EXPECT_EQ(fake_interpreter::depth, 0) << "given back";
    }
    EXPECT_GE(fake_interpreter::entered.load(), 4);
    {
      nd::callable own = f;
      f = nd::callable();
    }
    EXPECT_EQ(fake_interpreter::depth, 0);
  }
  set_num_threads(before);
  EXPECT_GT(calls, 500);
  EXPECT_EQ(wrong, 0);
}

// A host whose lock is one.
struct locking_interpreter {
  static inline std::mutex lock;
  static inline thread_local int depth = 0;
  interpreter_hooks before = the_interpreter;
  locking_interpreter() {
    the_interpreter.let_go = []() -> void * {
      if (!depth) {
        return nullptr;
      }
      auto *state = reinterpret_cast<void *>(intptr_t(std::exchange(depth, 0)));
      lock.unlock();
      return state;
    };
    the_interpreter.take_back = [](void *state) {
      lock.lock();
      depth = int(reinterpret_cast<intptr_t>(state));
    };
    the_interpreter.enter = [] {
      if (!depth) {
        lock.lock();
      }
      return depth++;
    };
    the_interpreter.leave = [](int outside) {
      depth = outside;
      if (!depth) {
        lock.unlock();
      }
    };
  }
  ~locking_interpreter() { the_interpreter = before; }
};

// While a kernel is made the host may let other threads run, as Python does. These must not wait for the kernel with
// the host's lock, which the thread that makes it wants back.
TEST(Wrap, ThreadsWaitForAKernelThatIsMadeWithoutTheLock) {
  static nd::kernel same = nd::make_kernel("same", [](int32_t x) { return x; });
  static deferred_ckernel slow = *same;
  slow.flags = dynd_callable_python_lock;
  slow.retain = slow.release = nullptr;
  slow.instantiate = [](const deferred_ckernel *, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *bind) {
    without_interpreter others;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return same->instantiate(same.get(), out, offset, bind);
  };
  locking_interpreter host;
  nd::callable f = nd::callable(nd::kernel(slow));
  std::vector<std::future<bool>> right;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    std::promise<bool> found;
    right.push_back(found.get_future());
    threads.emplace_back([f, found = std::move(found)]() mutable {
      with_interpreter locked;
      found.set_value(text(f(parse("2 * int32", "[1, 2]"))) == "[1, 2]");
    });
  }
  for (std::future<bool> &one : right) {
    bool done = one.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    EXPECT_TRUE(done && one.get());
    if (!done) { // they wait for each other, for ever
      std::_Exit(1);
    }
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
}

TEST(Wrap, ManyThreadsCallOneKernel) {
  nd::callable f = nd::callable(nd::make_kernel("f", [](int32_t x) { return 3 * x; }));
  nd::array a = parse("3 * int32", "[1, 2, 3]"), rows = parse("2 * var * int32", "[[1, 2], [3]]");
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; i++) {
        right += text(f(a)) == "[3, 6, 9]" && text(f(rows)) == "[[3, 6], [9]]";
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 400);
}

} // namespace
} // namespace dynd
