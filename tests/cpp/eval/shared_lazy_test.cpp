// Several threads materialize the same lazy arrays at once, while others make new operations on them and drop handles.
// The bits do not depend on it, nothing deadlocks, and a failure stays with the thread that met it.
#include <chrono>
#include <future>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "allocations.h"
#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/call/wrap.h"
#include "dynd/memory/buffer.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::at_once;
using testing::bits;
using testing::failing_allocation;
using testing::failure;
using testing::on_threads;
using testing::ramp;

array_state state_of(const nd::array &a) { return a->state.load(); }

// ---- random graphs --------------------------------------------------------------------------------------------------

struct operation {
  unsigned kind, left, right;
};

// 65.6 KB and more, so that everything is lazy.
const std::vector<std::vector<nd::array>> &source_sets() {
  static const std::vector<std::vector<nd::array>> sets = {
      {ramp("8200 * float64"), ramp("8200 * float64") * 0.5, nd::array(3.0)},
      {ramp("8200 * 1 * float64"), ramp("8200 * 2 * float64"), ramp("2 * float64")},
      {ramp("6000 * var * float64"), ramp("6000 * var * int64"), ramp("6000 * 1 * float64")}};
  return sets;
}

nd::array computed(const operation &o, const std::vector<nd::array> &values) {
  const nd::array &a = values[o.left % values.size()], &b = values[o.right % values.size()];
  switch (o.kind % 6) {
  case 0:
    return a + b;
  case 1:
    return a * b;
  case 2:
    return nd::maximum(a, b);
  case 3:
    return nd::sqrt(nd::abs(a));
  case 4:
    return (a - b) * 0.25; // a temporary that only the graph holds
  default:
    return nd::where(nd::less(a, b), a, b);
  }
}

std::vector<operation> random_operations(std::mt19937 &random, int count) {
  std::vector<operation> result;
  for (int i = 0; i < count; i++) {
    result.push_back({unsigned(random()), unsigned(random()), unsigned(random())});
  }
  return result;
}

std::vector<nd::array> compute_all(const std::vector<operation> &operations, std::vector<nd::array> values) {
  for (const operation &o : operations) {
    values.push_back(computed(o, values));
  }
  return values;
}

std::vector<std::string> all_bits(const std::vector<nd::array> &values) {
  std::vector<std::string> result;
  for (const nd::array &a : values) {
    result.push_back(bits(a));
  }
  return result;
}

// What one thread does with the shared values: looks at some in its own order, computes with others, drops the rest.
void use(std::vector<nd::array> values, const std::vector<std::string> &expected, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<operation> more = random_operations(random, 6);
  std::vector<nd::array> own = values;
  for (size_t i = 0; i < more.size(); i++) {
    own.push_back(computed(more[i], own));
    size_t at = random() % values.size();
    switch (random() % 4) {
    case 0:
      own[random() % own.size()].eval();
      break;
    case 1:
      values[at] = nd::array();
      break;
    case 2:
      nd::sum(own[at]);
      break;
    default:
      if (values[at]) {
        ASSERT_TRUE(bits(values[at]) == expected[at]);
      }
    }
  }
  std::vector<std::string> found = all_bits(own);
  std::vector<std::string> again = at_once([&] {
    own.resize(values.size());
    return all_bits(compute_all(more, own));
  });
  ASSERT_TRUE(found == again);
}

TEST(SharedLazy, RandomGraphsHaveTheBitsOfEagerOnes) {
  for (unsigned round = 0; round < 12; round++) {
    for (size_t set = 0; set < source_sets().size(); set++) {
      std::mt19937 random(100 * round + unsigned(set));
      std::vector<operation> operations = random_operations(random, 12);
      const std::vector<nd::array> &sources = source_sets()[set];
      std::vector<std::string> expected = at_once([&] { return all_bits(compute_all(operations, sources)); });
      std::vector<nd::array> values = compute_all(operations, sources);
      on_threads(4, [&](int i) { use(values, expected, 1000 * round + unsigned(i)); });
      ASSERT_TRUE(all_bits(values) == expected) << "round " << round << ", sources " << set;
    }
  }
  EXPECT_EQ(lazy_bytes.load(), 0);
}

TEST(SharedLazy, AllThreadsSeeTheSameMemory) {
  for (int round = 0; round < 20; round++) {
    nd::array a = ramp("8200 * float64"), value = nd::sqrt(a * a + a);
    const char *seen[4];
    on_threads(4, [&](int i) { seen[i] = value.data<char>(); });
    for (const char *address : seen) {
      ASSERT_EQ(address, seen[0]);
    }
  }
}

// Rows are compared, and elements counted, while another thread computes the values.
TEST(SharedLazy, ShapesAreLookedAtWhileValuesAreComputed) {
  nd::array a = ramp("6000 * var * float64"), ones = nd::from_offsets(ramp("6001 * int64"), ramp("6000 * float64"));
  std::string expected = at_once([&] { return bits((a + a) * ones) + bits(nd::sum(a + a)); });
  for (int round = 0; round < 20; round++) {
    nd::array value = a + a;
    on_threads(4, [&](int i) {
      if (i % 2) {
        value.eval();
      }
      EXPECT_TRUE(bits(value * ones) + bits(nd::sum(value)) == expected);
    });
  }
}

// It lets go of the values before it tells: what is released later would be memory that the next test finds.
void look_in_thread(nd::array value, std::promise<std::string> found) {
  std::thread([value = std::move(value), found = std::move(found)]() mutable {
    std::string seen = bits(value);
    value = nd::array();
    found.set_value(std::move(seen));
  }).detach();
}

// One thread computes, and three wait for it. (They have their own handles: where one is never woken up, the test fails
// and leaves it.)
TEST(SharedLazy, AllThreadsThatWaitGoOn) {
  std::vector<std::future<std::string>> results;
  nd::array value;
  std::once_flag first;
  auto wait = [&] {
    for (int i = 0; i < 3; i++) {
      std::promise<std::string> found;
      results.push_back(found.get_future());
      look_in_thread(value, std::move(found));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // until they wait
  };
  auto twice = [&](double x) noexcept {
    std::call_once(first, wait);
    return 2 * x;
  };
  nd::array a = ramp("8200 * float64");
  value = nd::callable(nd::make_kernel("twice", twice, dynd_callable_pure))(a);
  ASSERT_EQ(state_of(value), array_state::lazy);
  value.eval();
  for (std::future<std::string> &result : results) {
    ASSERT_EQ(result.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_TRUE(result.get() == at_once([&] { return bits(a + a); }));
  }
}

// ---- failures -------------------------------------------------------------------------------------------------------

// Before `right` is computed for `left + right` (another shape, so first and by itself), memory runs out; meanwhile
// another thread computes `left`. That stays computed.
TEST(SharedLazy, WhatAnotherThreadComputedStaysReady) {
  nd::array a = ramp("9000 * 2 * float64"), b = ramp("9000 * 1 * float64");
  nd::array left = a * a, right = nd::sqrt(b), result = left + right;
  ASSERT_EQ(state_of(left), array_state::lazy);
  ASSERT_EQ(state_of(right), array_state::lazy);
  ASSERT_EQ(state_of(result), array_state::lazy);
  trim_memory();
  auto compute_left = [&] { std::thread([&] { left.eval(); }).join(); };
  {
    failing_allocation next(0, false, compute_left);
    EXPECT_EQ(failure([&] { result.eval(); }).substr(0, 7), "memory:");
  }
  EXPECT_EQ(state_of(left), array_state::ready);
  EXPECT_EQ(bits(left), at_once([&] { return bits(a * a); }));
  EXPECT_EQ(bits(result), at_once([&] { return bits(a * a + nd::sqrt(b)); }));
}

// A thread that computes runs out of memory, while another waits for it: that one computes the values itself. (It has
// its own handles: where it is never woken up, the test fails and leaves it.)
TEST(SharedLazy, AFailureLetsTheThreadThatWaitsGoOn) {
  nd::array a = ramp("8200 * float64"), b = ramp("8200 * float64");
  std::string expected = at_once([&] { return bits(nd::sqrt(a * b + a)); });
  int waited = 0;
  for (int n = 0; n < 12; n++) {
    nd::array product = a * b, value = nd::sqrt(product + a);
    trim_memory();
    std::promise<std::string> found;
    std::future<std::string> result = found.get_future();
    auto look = [&] {
      waited += state_of(value) == array_state::running;
      look_in_thread(value, std::move(found));
      std::this_thread::sleep_for(std::chrono::milliseconds(30)); // until it waits
    };
    {
      failing_allocation failing(n, false, look);
      std::string failed = failure([&] { value.eval(); });
      if (!failing.happened()) {
        EXPECT_EQ(failed, "no error");
        break;
      }
    }
    ASSERT_EQ(result.wait_for(std::chrono::seconds(20)), std::future_status::ready) << "allocation " << n;
    EXPECT_TRUE(result.get() == expected);
    EXPECT_TRUE(bits(value) == expected);
    EXPECT_EQ(state_of(product), array_state::ready);
  }
  EXPECT_GT(waited, 0) << "no failure after the group was claimed";
}

} // namespace
} // namespace dynd
