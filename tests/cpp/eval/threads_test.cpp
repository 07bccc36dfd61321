// Threads: pieces of work, one kernel run by many threads at once, and results that do not depend on any of it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "allocations.h"
#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/call/wrap.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/threads.h"
#include "dynd/eval/tree.h"
#include "fixture.h"
#include "kernel_of.h"

namespace dynd {
namespace {

using testing::bits;
using testing::failure;
using testing::on_threads;
using testing::parse;
using testing::ramp;
using testing::with_threads;

// ---- pieces ---------------------------------------------------------------------------------------------------------

TEST(Pieces, EachIsRunOnce) {
  for (int threads : {1, 2, 4}) {
    with_threads some(threads);
    std::vector<int> runs(1000);
    EXPECT_EQ(for_each_piece(1000, [&](intptr_t i) { return runs[size_t(i)]++, 0; }), 0);
    EXPECT_EQ(std::count(runs.begin(), runs.end(), 1), 1000);
    EXPECT_EQ(for_each_piece(0, [](intptr_t) { return -1; }), 0);
  }
}

// Whether it came true, in a second at most.
bool comes_true(const std::atomic<bool> &condition) {
  for (int i = 0; i < 1000 && !condition; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition;
}

TEST(Pieces, TheLowestThatFailsIsReported) {
  for (int threads : {1, 4}) {
    with_threads some(threads);
    for (int round = 0; round < 20; round++) {
      EXPECT_EQ(for_each_piece(100, [](intptr_t i) { return i >= 30 ? -int(i) : 0; }), -30);
    }
  }
}

// Whichever fails first. Of two pieces, each of which waits for the other to begin, one fails before the other ends.
TEST(Pieces, TheLowestThatFailsIsReportedInAnyOrder) {
  with_threads some(4);
  for (bool lower_first : {true, false}) {
    std::atomic<bool> begun[2] = {false, false}, failed[2] = {false, false};
    int met = 0;
    int status = for_each_piece(2, [&](intptr_t i) {
      begun[i] = true;
      bool both = comes_true(begun[1 - i]);
      if (both && (i == 0) != lower_first) {
        met += comes_true(failed[1 - i]);
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it was reported, too
      }
      failed[i] = true;
      return -1 - int(i);
    });
    EXPECT_EQ(status, -1);
    EXPECT_EQ(met, 1) << "the pieces did not run at once";
  }
}

// Also where it has failed before they begin.
TEST(Pieces, ThoseBelowOneThatFailedAreRun) {
  with_threads some(2);
  for (bool throws : {true, false}) {
    std::atomic<bool> failed = false;
    std::vector<int> runs(100);
    auto run = [&](intptr_t i) -> int {
      runs[size_t(i)]++;
      if (i == 0 && comes_true(failed)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it was reported, too
      }
      failed = failed || i >= 50;
      if (throws && (i >= 50 || i == 20)) {
        fail(error_kind::value, "piece " + std::to_string(i));
      }
      return i >= 50 || i == 20 ? -int(i) : 0;
    };
    if (throws) {
      EXPECT_EQ(failure([&] { for_each_piece(100, run); }), "value: piece 20");
    } else {
      EXPECT_EQ(for_each_piece(100, run), -20);
    }
    EXPECT_TRUE(failed) << "the pieces did not run at once";
    EXPECT_EQ(std::count(runs.begin(), runs.begin() + 21, 1), 21);
  }
}

// Of two pieces that fail, the higher one first. Each does so once, so that no second run says what the failure is.
TEST(Pieces, TheTextOfAFailureIsThatOfTheLowest) {
  with_threads some(2);
  std::atomic<bool> low = false, high = false;
  nd::kernel kernel = nd::make_kernel("moody", [&](int64_t x) {
    if (x == 0 && !low.exchange(true)) {
      EXPECT_TRUE(comes_true(high)) << "the pieces did not run at once";
      std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it was reported, too
      throw std::runtime_error("not 0");
    }
    return x == 300'000 && !high.exchange(true) ? throw std::runtime_error("not 300000") : x;
  });
  nd::array numbers = ramp("400000 * int64");
  EXPECT_EQ(failure([&] { nd::call(*kernel.get(), {&numbers, 1}).eval(); }), "value: moody: not 0");
}

TEST(Pieces, ExceptionsArriveAtTheCaller) {
  for (int threads : {1, 4}) {
    with_threads some(threads);
    std::string thrown = failure([] {
      for_each_piece(100, [](intptr_t i) -> int {
        if (i >= 30) {
          fail(error_kind::memory, "piece " + std::to_string(i));
        }
        return 0;
      });
    });
    EXPECT_EQ(thrown, "memory: piece 30");
    EXPECT_THROW(for_each_piece(9, [](intptr_t) -> int { throw std::runtime_error("any"); }), std::runtime_error);
    EXPECT_EQ(for_each_piece(100, [](intptr_t) { return 0; }), 0) << "and the pool goes on";
  }
}

TEST(Pieces, TheNumberOfThreadsIsChecked) {
  EXPECT_EQ(failure([] { set_num_threads(0); }), "value: set_num_threads: the number must be from 1 to 255, not 0");
  EXPECT_GE(num_threads(), 1);
}

// ---- frames ---------------------------------------------------------------------------------------------------------

TEST(WorkFrame, ScratchBelongsToTheThreadAndNests) {
  work_frame outer(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(outer.scratch) % 64, 0u);
  std::memset(outer.scratch, 1, 1000);
  {
    work_frame inner(5000); // a kernel that evaluates something itself
    EXPECT_NE(inner.scratch, outer.scratch);
    std::memset(inner.scratch, 2, 5000);
  }
  EXPECT_EQ(outer.scratch[999], 1);
  work_frame next(1000); // the end of the one before has not given the outer one's back
  EXPECT_NE(next.scratch, outer.scratch);
  std::thread([&] {
    work_frame other(1000);
    EXPECT_NE(other.scratch, outer.scratch);
  }).join();
}

TEST(WorkFrame, TempMemoryIsAlignedAndGivenBack) {
  work_frame(0); // the thread has its scratch now
  int64_t live = testing::live_allocations();
  {
    work_frame frame(0);
    for (size_t size : {size_t(0), size_t(1), size_t(100), size_t(100000)}) {
      auto *memory = static_cast<char *>(frame.temp(&frame, size));
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
      std::memset(memory, 3, size);
    }
    EXPECT_EQ(frame.temp(&frame, SIZE_MAX), nullptr);
    EXPECT_EQ(testing::live_allocations(), live + 4);
  }
  EXPECT_EQ(testing::live_allocations(), live);
}

// ---- one kernel, many threads ---------------------------------------------------------------------------------------

int triple(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count, const ckernel_prefix *,
           dynd_frame *) {
  for (size_t i = 0; i < count; i++) {
    double value;
    std::memcpy(&value, src + intptr_t(i) * src_stride, sizeof(value));
    value *= 3;
    std::memcpy(dst + intptr_t(i) * dst_stride, &value, sizeof(value));
  }
  return dynd_ok;
}

// triple(a) * b + a over doubles, built once; every thread runs it whole, into memory of its own.
void run_on_many_threads(const nd::array &a, const nd::array &b, const char *kind) {
  task t;
  t.name = "test";
  space_operands sources;
  sources.push_back(a.get());
  sources.push_back(b.get());
  broadcast_space(t.name, sources, t.shape);
  ref<array_block> result = new_lazy_result(t.shape, ndt::make_scalar(scalar_id::float64));
  allocate_values(result.get(), t.shape); // in a buffer, however small
  for (array_block *block : {result.get(), a.get(), b.get()}) {
    t.ports.push_back({t.operands.size(), block->nstreams - 1});
    t.operands.push_back(block);
  }
  t.noutputs = 1;
  external_function function;
  function.kernel = testing::kernel_of<triple>();
  function.types = {1, 1, {scalar_id::float64, scalar_id::float64}};
  uint8_t x = t.p.add_source(scalar_id::float64), y = t.p.add_source(scalar_id::float64), tripled;
  t.p.add_external(function, &x, &tripled);
  uint8_t product = t.p.add_operation(op_id::multiply, scalar_id::float64, {tripled, y});
  t.p.add_output(t.p.add_operation(op_id::add, scalar_id::float64, {product, x}));
  lower(t);
  align(t);
  ckernel_builder kernel;
  root_call call;
  std::vector<explained_level> levels;
  tree_options options;
  options.explain = &levels;
  ASSERT_TRUE(build_planned(kernel, t, options, call));
  std::string text;
  for (const explained_level &level : levels) {
    text += level.text + "\n";
  }
  EXPECT_NE(text.find(kind), std::string::npos) << text;

  buffer *memory = as_buffer(result->values().owner);
  std::vector<std::vector<char>> own(4, std::vector<char>(memory->size));
  std::vector<char> block(kernel.data, kernel.data + kernel.capacity);
  on_threads(4, [&](int i) {
    for (int round = 0; round < 3; round++) {
      work_frame frame(kernel.scratch_size);
      root_call mine = call;
      mine.stream[0] += own[size_t(i)].data() - memory->data; // the ports are the first streams
      EXPECT_EQ(call_root(kernel, mine, 0, mine.count, frame), 0);
    }
  });
  EXPECT_TRUE(std::equal(block.begin(), block.end(), kernel.data)) << "a kernel is constant while it runs";
  for (const std::vector<char> &bytes : own) {
    std::memcpy(memory->data, bytes.data(), memory->size);
    EXPECT_EQ(bits(nd::array(result)), bits(a * 3.0 * b + a)) << kind;
  }
}

TEST(OneKernel, IsRunByManyThreads) {
  nd::array square = ramp("80 * 90 * float64"), rows = ramp("500 * var * float64");
  run_on_many_threads(square, square, "chain flat");
  run_on_many_threads(ramp("300 * 1 * float64"), ramp("1 * 5 * float64"), "chain small_rows");
  run_on_many_threads(ramp("90 * 80 * float64"), nd::transposed(square), "chain panel");
  run_on_many_threads(ramp("3 * 4 * 50 * float64"), ramp("4 * 1 * float64"), "strided_dim");
  run_on_many_threads(rows, rows, "chain flat");
  run_on_many_threads(rows, ramp("500 * 1 * float64"), "chain var_rows");
  run_on_many_threads(parse("3 * var * var * float64", "[[[1, 2], [3]], [[4]], [[], [5, 6, 7]]]"),
                      parse("3 * var * var * float64", "[[[1], [2]], [[3]], [[4]]]"), "var_dim");
}

// ---- any number of threads ------------------------------------------------------------------------------------------

std::vector<std::string> large_results() {
  nd::array a = ramp("300 * 1000 * float64"), b = nd::transposed(ramp("1000 * 300 * float64"));
  nd::array rows = ramp("150000 * var * float32");
  std::vector<std::string> results;
  for (const nd::array &result :
       {a * 0.1 + b, nd::sum(nd::sqrt(a)), nd::sum(a * b, 1), nd::sum(b, 0), nd::sqrt(rows) * 0.3 + rows,
        nd::sum(nd::sqrt(rows)), nd::sum(nd::sqrt(rows), 1), nd::max(rows), rows * ramp("150000 * 1 * float32"),
        nd::sum(nd::transposed(a * 0.1)), nd::call(*testing::kernel_of<triple>(), {&b, 1})}) {
    results.push_back(bits(result));
  }
  return results;
}

TEST(Threads, AnyNumberGivesTheSameBits) {
  std::vector<std::string> expected;
  {
    with_threads one(1);
    expected = large_results();
  }
  for (int threads : {2, 3, 8}) {
    with_threads some(threads);
    std::vector<std::string> results = large_results();
    for (size_t i = 0; i < expected.size(); i++) {
      EXPECT_TRUE(results[i] == expected[i]) << "result " << i << " on " << threads << " threads";
    }
  }
}

TEST(Threads, ManyCallersShareThePool) {
  with_threads some(3);
  std::vector<std::string> expected = large_results();
  on_threads(3, [&](int) { EXPECT_TRUE(large_results() == expected); });
}

TEST(Threads, TheFirstBadElementIsNamedWhicheverThreadFindsOne) {
  with_threads some(4);
  nd::array divisor = nd::less(ramp("400000 * int32"), nd::array(150000)); // false from 150000 on
  nd::array by = nd::where(divisor, nd::array(1), nd::array(0));
  for (int round = 0; round < 5; round++) {
    EXPECT_EQ(failure([&] { nd::divmod(nd::array(7), by); }),
              "value: divmod: integer division by zero at index (150000,)");
  }
}

// A kernel that must stay on the thread of its caller, and says so.
std::atomic<int> elsewhere = 0;
std::thread::id caller;

TEST(Threads, AKernelForOneThreadStaysOnIt) {
  with_threads some(4);
  deferred_ckernel kernel = *testing::kernel_of<triple>();
  kernel.flags |= dynd_callable_one_thread;
  kernel.instantiate = [](const deferred_ckernel *, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *) {
    intptr_t end = offset + intptr_t(sizeof(ckernel_prefix));
    if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) == dynd_ok) {
      unary_strided_operation_t function = [](char *dst, intptr_t to, const char *src, intptr_t from, size_t n,
                                              const ckernel_prefix *self, dynd_frame *frame) {
        elsewhere += std::this_thread::get_id() != caller;
        return triple(dst, to, src, from, n, self, frame);
      };
      reinterpret_cast<ckernel_prefix *>(out->data + offset)->function = reinterpret_cast<void *>(function);
    }
    return end;
  };
  caller = std::this_thread::get_id();
  nd::array a = ramp("1000000 * float64");
  EXPECT_EQ(bits(nd::call(kernel, {&a, 1})), bits(a * 3.0));
  EXPECT_EQ(elsewhere, 0);
}

} // namespace
} // namespace dynd
