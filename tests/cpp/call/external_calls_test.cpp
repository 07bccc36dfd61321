// What external kernels are promised in every call: aligned elements, and the flag that says to stop.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "dynd/array/block.h"
#include "dynd/array/view.h"
#include "dynd/base/interpreter.h"
#include "dynd/call/callable.h"
#include "dynd/call/functions.h"
#include "dynd/call/wrap_core.h"
#include "dynd/eval/threads.h"
#include "fixture.h"
#include "kernel_of.h"

namespace dynd {
namespace {

using testing::kernel_of;
using testing::ramp;
using testing::text;

// ---- alignment ------------------------------------------------------------------------------------------------------

// Reads doubles as a compiler does that was promised aligned ones.
int doubled(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count, const ckernel_prefix *,
            dynd_frame *frame) {
  for (size_t i = 0; i < count; i++, dst += dst_stride, src += src_stride) {
    if (reinterpret_cast<uintptr_t>(src) % 8 || reinterpret_cast<uintptr_t>(dst) % 8) {
      std::snprintf(frame->text, sizeof(frame->text), "element %zu is not aligned", i);
      return dynd_error_value;
    }
    *reinterpret_cast<double *>(dst) = 2 * *reinterpret_cast<const double *>(src);
  }
  return dynd_ok;
}

// `count` doubles that are `stride` bytes apart, the first at an address that is `odd` bytes off.
nd::array doubles_apart(intptr_t count, intptr_t stride, intptr_t odd) {
  ref<buffer> memory = allocate_buffer(size_t(count * stride + odd + 8));
  for (intptr_t i = 0; i < count; i++) {
    double value = double(i);
    std::memcpy(memory->data + odd + i * stride, &value, sizeof(value));
  }
  ref<array_block> block = new_block(ndt::type("strided * float64").get(), access_mode::readonly, 0);
  block->size()[0] = block->count = count;
  block->value_strides()[0] = stride;
  char *address = memory->data + odd;
  block->values() = {address, memory.take(), slot_kind::none};
  return nd::array(std::move(block));
}

TEST(ExternalCalls, EveryElementIsAligned) {
  nd::callable call = nd::callable(*kernel_of<doubled>());
  for (intptr_t stride : {8, 9, 12, 16, 20, 28}) { // packed records have strides such as 12
    for (intptr_t odd : {0, 1, 4}) {
      EXPECT_EQ(text(call(doubles_apart(5, stride, odd))), "[0.0, 2.0, 4.0, 6.0, 8.0]") << stride << ", " << odd;
      EXPECT_NE(text(call(doubles_apart(1000, stride, odd))).find("1998.0"), std::string::npos);
    }
  }
}

// ---- cancelling -----------------------------------------------------------------------------------------------------

std::thread::id caller;
std::atomic<int> waiting = 0, stopped = 0;

// On the calling thread it is slow; on others it works until it is told to stop, for some seconds at most.
int polls(char *, intptr_t, const char *, intptr_t, size_t, const ckernel_prefix *, dynd_frame *frame) {
  if (std::this_thread::get_id() == caller) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return dynd_ok;
  }
  waiting++;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < end) {
    if (frame->cancel && __atomic_load_n(frame->cancel, __ATOMIC_RELAXED)) {
      stopped++;
      return dynd_error_cancelled;
    }
  }
  return dynd_ok;
}

TEST(ExternalCalls, AKernelThatPollsIsToldToStop) {
  int before = num_threads();
  set_num_threads(4);
  caller = std::this_thread::get_id();
  the_interpreter.interrupted = [] { return waiting > 0; };
  bool cancelled = false;
  try {
    nd::callable (*kernel_of<polls>())(ramp("8000000 * float64"));
  } catch (const error &e) {
    cancelled = e.kind() == error_kind::cancelled;
  }
  the_interpreter.interrupted = nullptr;
  set_num_threads(before);
  EXPECT_TRUE(cancelled);
  EXPECT_GT(waiting, 0) << "no other thread took part";
  EXPECT_EQ(stopped, waiting);
}

int calls = 0, without_flag = 0;

// Only the first call fails. The others are those of the search, which takes a second.
int fails_once(char *, intptr_t, const char *, intptr_t, size_t, const ckernel_prefix *, dynd_frame *frame) {
  without_flag += frame->cancel == nullptr;
  if (calls++ == 0) {
    std::snprintf(frame->text, sizeof(frame->text), "the first call fails");
    return dynd_error_value;
  }
  if (calls % 1000 == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return dynd_ok;
}

TEST(ExternalCalls, TheSearchForAFailureStopsToo) {
  nd::callable call = nd::callable(*kernel_of<fails_once>());
  for (const nd::array &a : {ramp("1000000 * float64"), nd::transposed(ramp("1000 * 1000 * float64"))}) {
    calls = without_flag = 0;
    the_interpreter.interrupted = [] { return calls > 0; };
    error_kind kind = error_kind::internal;
    try {
      call(a);
    } catch (const error &e) {
      kind = e.kind();
    }
    the_interpreter.interrupted = nullptr;
    EXPECT_EQ(kind, error_kind::cancelled);
    EXPECT_EQ(without_flag, 0);
  }
}

std::atomic<size_t> most_at_once = 0;

int counts(char *, intptr_t, const char *, intptr_t, size_t count, const ckernel_prefix *, dynd_frame *) {
  most_at_once = std::max<size_t>(most_at_once, count);
  return dynd_ok;
}

TEST(ExternalCalls, OneThreadAsksWhetherToStopAsOftenAsSeveral) {
  int before = num_threads();
  for (int n : {1, 4}) {
    set_num_threads(n);
    most_at_once = 0;
    nd::callable (*kernel_of<counts>())(ramp("1000000 * float64"));
    EXPECT_LE(most_at_once, size_t(1) << 16) << n;
  }
  set_num_threads(before);
}

std::atomic<bool> wants_to_stop = false;

TEST(ExternalCalls, WhatAFailureUndoesIsUndoneWhoeverWantsToStop) {
  nd::callable negate(nd::make_kernel("negate", "(x: inout N * float64) -> void", [](std::span<double> x) {
    for (double &value : x) {
      wants_to_stop = wants_to_stop || value == 59999;
      value = value == 59999 ? throw std::domain_error("the last one") : -value;
    }
  }));
  const intptr_t size[] = {40'000, -1}; // rows that are asked about one after another
  nd::array rows = nd::empty(ndt::type("strided * var * float64"), size), arguments[] = {rows};
  nd::assign(rows, ramp("40000 * var * float64"));
  const std::string before = testing::bits(rows);
  the_interpreter.interrupted = [] { return bool(wants_to_stop); };
  std::string said = testing::failure([&] { negate.call_all(arguments); });
  the_interpreter.interrupted = nullptr;
  EXPECT_EQ(said, "value: negate: the last one");
  EXPECT_TRUE(testing::bits(rows) == before);
}

} // namespace
} // namespace dynd
