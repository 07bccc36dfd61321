// The levels that walk one dimension each, run directly over a leaf that records its calls.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/eval/frame.h"
#include "dynd/kernel/dims.h"
#include "dynd/kernel/level.h"

namespace dynd {
namespace {

// ---- the leaf -------------------------------------------------------------------------------------------------------

// Copies int32 from stream 1 to stream 0, and writes down every call: "count(stride, stride)".
struct recorder {
  std::vector<std::string> calls;
  int fail_at = -1; // the call that fails
  int destroyed = 0;
};

struct leaf_kernel {
  ckernel_prefix base;
  recorder *notes;
};

int leaf(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  recorder &notes = *reinterpret_cast<const leaf_kernel *>(self)->notes;
  notes.calls.push_back(std::to_string(count) + "(" + std::to_string(stride[0]) + ", " + std::to_string(stride[1]) +
                        ")");
  if (int(notes.calls.size()) - 1 == notes.fail_at) {
    std::strcpy(frame->text, "the leaf failed");
    return dynd_error_value;
  }
  for (size_t i = 0; i < count; i++) {
    std::memcpy(stream[0] + intptr_t(i) * stride[0], stream[1] + intptr_t(i) * stride[1], sizeof(int32_t));
  }
  return dynd_ok;
}

void destroy_leaf(ckernel_prefix *self) { reinterpret_cast<leaf_kernel *>(self)->notes->destroyed++; }

void make_leaf(ckernel_builder &out, size_t offset, recorder &notes) {
  out.ensure_capacity_leaf(offset + sizeof(leaf_kernel));
  auto *k = out.get_at<leaf_kernel>(offset);
  k->notes = &notes;
  k->base.function = reinterpret_cast<void *>(static_cast<streams_strided_t>(leaf));
  k->base.destructor = destroy_leaf;
}

int run(ckernel_builder &kernel, std::vector<void *> stream, std::vector<intptr_t> stride, size_t count,
        dynd_frame &frame) {
  std::vector<char *> address;
  for (void *s : stream) {
    address.push_back(static_cast<char *>(s));
  }
  auto function = reinterpret_cast<streams_strided_t>(kernel.root()->function);
  return function(address.data(), stride.data(), count, kernel.root(), &frame);
}

using numbers = std::vector<int32_t>;
using calls = std::vector<std::string>;

// ---- strided --------------------------------------------------------------------------------------------------------

TEST(StridedDim, CallsItsChildOncePerElementOutside) {
  recorder notes;
  ckernel_builder kernel;
  intptr_t inner[] = {4, 8};
  make_leaf(kernel, begin_strided_dim(kernel, 0, 2, 2, inner), notes);
  numbers to(6), from = {0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5, -1};
  work_frame frame(kernel.scratch_size);
  EXPECT_EQ(run(kernel, {to.data(), from.data()}, {8, 16}, 3, frame), 0);
  EXPECT_EQ(to, (numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(notes.calls, (calls{"2(4, 8)", "2(4, 8)", "2(4, 8)"}));
}

TEST(StridedDim, NestsBroadcastsAndReverses) {
  recorder notes;
  ckernel_builder kernel;
  intptr_t middle[] = {8, 0}, inner[] = {4, -4};
  size_t offset = begin_strided_dim(kernel, 0, 2, 2, middle);
  make_leaf(kernel, begin_strided_dim(kernel, offset, 2, 2, inner), notes);
  numbers to(8), from = {1, 2, 3, 4};
  work_frame frame(kernel.scratch_size);
  EXPECT_EQ(run(kernel, {to.data(), from.data() + 1}, {16, 8}, 2, frame), 0);
  EXPECT_EQ(to, (numbers{2, 1, 2, 1, 4, 3, 4, 3}));
}

TEST(StridedDim, NothingOutsideMeansNoCall) {
  recorder notes;
  ckernel_builder kernel;
  intptr_t inner[] = {4, 4};
  make_leaf(kernel, begin_strided_dim(kernel, 0, 2, 2, inner), notes);
  work_frame frame(kernel.scratch_size);
  EXPECT_EQ(run(kernel, {nullptr, nullptr}, {8, 8}, 0, frame), 0);
  EXPECT_TRUE(notes.calls.empty());
}

TEST(StridedDim, StopsAtTheFirstFailure) {
  recorder notes;
  notes.fail_at = 1;
  ckernel_builder kernel;
  intptr_t inner[] = {4, 4};
  make_leaf(kernel, begin_strided_dim(kernel, 0, 2, 2, inner), notes);
  numbers to(6), from(6, 7);
  work_frame frame(kernel.scratch_size);
  EXPECT_EQ(run(kernel, {to.data(), from.data()}, {8, 8}, 3, frame), int(dynd_error_value));
  EXPECT_EQ(notes.calls.size(), 2u);
  EXPECT_EQ(to, (numbers{7, 7, 0, 0, 0, 0}));
  EXPECT_STREQ(frame.text, "the leaf failed");
}

TEST(Dims, AreDestroyedWithTheirChildren) {
  recorder notes;
  {
    ckernel_builder kernel;
    intptr_t stride[] = {4, 4};
    size_t offset = begin_strided_dim(kernel, 0, 2, 2, stride);
    offset = begin_observed(kernel, offset, 2, 1);
    for (int i = 0; i < 40; i++) { // more than fits in the builder itself
      offset = begin_strided_dim(kernel, offset, 2, 1, stride);
    }
    make_leaf(kernel, offset, notes);
  }
  EXPECT_EQ(notes.destroyed, 1);
  ckernel_builder begun; // no child yet
  intptr_t stride[] = {4, 4};
  begin_strided_dim(begun, 0, 2, 2, stride);
}

// ---- var ------------------------------------------------------------------------------------------------------------

// Streams: destination values, source values, the result's offsets, the source's slots.
struct var_case {
  recorder notes;
  ckernel_builder kernel;
  std::optional<work_frame> frame;

  void build(intptr_t size, slot_kind kind, intptr_t step = 1) {
    const intptr_t stride[] = {4, 4 * step, 0, 0}, unit[] = {4, 4, 0, 0};
    const var_slots slots[] = {{2, size < 0 ? slot_kind::offsets64 : slot_kind::none, size}, {3, kind}};
    const int16_t follows[] = {0, 1, -1, -1};
    make_leaf(kernel, begin_var_dim(kernel, 0, {4, 2, slots, follows, stride, unit}), notes);
    frame.emplace(kernel.scratch_size);
  }
};

TEST(VarDim, MovesEachStreamToItsOwnRow) {
  var_case c;
  c.build(-1, slot_kind::offsets64);
  numbers to(6), from = {-1, 1, 2, 3, 4, 5, 6};
  int64_t result[] = {0, 3, 3, 6}, source[] = {1, 4, 4, 7};
  EXPECT_EQ(run(c.kernel, {to.data(), from.data(), result, source}, {0, 0, 8, 8}, 3, *c.frame), 0);
  EXPECT_EQ(to, (numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(c.notes.calls, (calls{"3(4, 4)", "0(4, 4)", "3(4, 4)"}));
}

TEST(VarDim, ReadsRowsOutOfOrder) {
  var_case c;
  c.build(-1, slot_kind::pairs64);
  numbers to(4), from = {1, 2, 3, 4};
  int64_t result[] = {0, 1, 4}, source[] = {3, 1, 0, 3};
  EXPECT_EQ(run(c.kernel, {to.data(), from.data(), result, source}, {0, 0, 8, 16}, 2, *c.frame), 0);
  EXPECT_EQ(to, (numbers{4, 1, 2, 3}));
}

TEST(VarDim, ReadsNarrowOffsets) {
  var_case c;
  c.build(-1, slot_kind::offsets32);
  numbers to(4), from = {9, 1, 2, 3, 4};
  int64_t result[] = {0, 1, 4};
  int32_t source[] = {1, 2, 5};
  EXPECT_EQ(run(c.kernel, {to.data(), from.data(), result, source}, {0, 0, 8, 4}, 2, *c.frame), 0);
  EXPECT_EQ(to, (numbers{1, 2, 3, 4}));
}

TEST(VarDim, StartsCountInTheirOwnUnit) { // every second element backwards, from the last of each row
  var_case c;
  c.build(-1, slot_kind::pairs64, -2);
  numbers to(5), from = {1, 2, 3, 4, 5, 6, 7, 8};
  int64_t result[] = {0, 3, 5}, source[] = {4, 3, 7, 2};
  EXPECT_EQ(run(c.kernel, {to.data(), from.data(), result, source}, {0, 0, 8, 16}, 2, *c.frame), 0);
  EXPECT_EQ(to, (numbers{5, 3, 1, 8, 6}));
}

TEST(VarDim, StretchesARowOfOne) {
  var_case c;
  c.build(-1, slot_kind::offsets64);
  numbers to(5), from = {7, 8};
  int64_t result[] = {0, 3, 3, 5}, source[] = {0, 1, 2, 2}; // the middle row stretches to nothing
  EXPECT_EQ(run(c.kernel, {to.data(), from.data(), result, source}, {0, 0, 8, 8}, 2, *c.frame), 0);
  EXPECT_EQ(to, (numbers{7, 7, 7, 0, 0}));
  EXPECT_EQ(c.notes.calls, (calls{"3(4, 0)", "0(4, 0)"}));
}

TEST(VarDim, RowsIntoADimensionOfOneSize) {
  var_case c;
  c.build(3, slot_kind::offsets64);
  numbers to(6), from = {1, 2, 3, 9};
  int64_t source[] = {0, 3, 4};
  EXPECT_EQ(run(c.kernel, {to.data(), from.data(), nullptr, source}, {12, 0, 0, 8}, 2, *c.frame), 0);
  EXPECT_EQ(to, (numbers{1, 2, 3, 9, 9, 9}));
}

TEST(VarDim, AWrongLengthIsAnErrorThatNamesBoth) {
  var_case c;
  c.build(3, slot_kind::offsets64);
  numbers to(6), from = {1, 2, 3, 4, 5};
  int64_t source[] = {0, 3, 5};
  EXPECT_EQ(run(c.kernel, {to.data(), from.data(), nullptr, source}, {12, 0, 0, 8}, 2, *c.frame),
            int(dynd_error_broadcast));
  EXPECT_EQ(c.frame->kind, int(dynd_error_broadcast));
  EXPECT_STREQ(c.frame->text, "cannot broadcast a row of 2 to a row of 3");
}

TEST(VarDim, StopsAtTheFirstFailure) {
  var_case c;
  c.notes.fail_at = 0;
  c.build(-1, slot_kind::offsets64);
  numbers to(2), from = {1, 2};
  int64_t offsets[] = {0, 1, 2};
  EXPECT_EQ(run(c.kernel, {to.data(), from.data(), offsets, offsets}, {0, 0, 8, 8}, 2, *c.frame),
            int(dynd_error_value));
  EXPECT_EQ(c.notes.calls.size(), 1u);
}

// ---- observed -------------------------------------------------------------------------------------------------------

class call_list : public kernel_observer {
public:
  void call(int level, intptr_t index, char *const *stream) override {
    int32_t value;
    std::memcpy(&value, stream[1], sizeof(value));
    seen.push_back(std::to_string(level) + " " + std::to_string(index) + " at " + std::to_string(value));
  }
  calls seen;
};

TEST(Observed, TellsOfEveryCallBeforeItIsMade) {
  recorder notes;
  ckernel_builder kernel;
  intptr_t inner[] = {4, 4};
  size_t offset = begin_observed(kernel, 0, 2, 0);
  offset = begin_strided_dim(kernel, offset, 2, 2, inner);
  make_leaf(kernel, begin_observed(kernel, offset, 2, 1), notes);
  numbers to(4), from = {10, 11, 12, 13};
  call_list observer;
  work_frame frame(kernel.scratch_size);
  frame.state.observer = &observer;
  EXPECT_EQ(run(kernel, {to.data(), from.data()}, {8, 8}, 2, frame), 0);
  EXPECT_EQ(to, from);
  EXPECT_EQ(observer.seen, (calls{"0 0 at 10", "1 0 at 10", "1 1 at 11", "0 1 at 12", "1 0 at 12", "1 1 at 13"}));
  EXPECT_EQ(notes.calls, (calls{"1(0, 0)", "1(0, 0)", "1(0, 0)", "1(0, 0)"})) << "one call for each element";
}

TEST(Observed, TheLastCallSeenIsTheOneThatFailed) {
  recorder notes;
  notes.fail_at = 2;
  ckernel_builder kernel;
  make_leaf(kernel, begin_observed(kernel, 0, 2, 0), notes);
  numbers to(4), from = {10, 11, 12, 13};
  call_list observer;
  work_frame frame(kernel.scratch_size);
  frame.state.observer = &observer;
  EXPECT_EQ(run(kernel, {to.data(), from.data()}, {4, 4}, 4, frame), int(dynd_error_value));
  EXPECT_EQ(observer.seen.back(), "0 2 at 12");
}

} // namespace
} // namespace dynd
