// The memory in which kernels are built: zeroed, at first its own, kept when it grows, destroyed when half-built.
#include <cstring>

#include <gtest/gtest.h>

#include "allocations.h"
#include "dynd/base/errors.h"
#include "dynd/kernel/builder.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::allocation_count;
using testing::failing_allocation;
using testing::failure;
using testing::live_allocations;

bool is_zero(const char *memory, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    if (memory[i] != 0) {
      return false;
    }
  }
  return true;
}

bool is_inline(const ckernel_builder &builder) {
  auto *self = reinterpret_cast<const char *>(&builder);
  return builder.data >= self && builder.data < self + sizeof(builder);
}

// Counts how often it is destroyed.
struct counted_kernel {
  ckernel_prefix base;
  int *destroyed;
  ckernel_prefix *child() { return &(this + 1)->base; }
};

void count_destruction(ckernel_prefix *self) {
  auto *k = reinterpret_cast<counted_kernel *>(self);
  if (k->destroyed) {
    ++*k->destroyed;
  }
  destroy_child(k->child());
}

size_t add_counted(ckernel_builder &out, size_t offset, int *destroyed) {
  out.ensure_capacity(offset + sizeof(counted_kernel));
  auto *k = out.get_at<counted_kernel>(offset);
  k->destroyed = destroyed;
  k->base.destructor = count_destruction;
  return offset + sizeof(counted_kernel);
}

TEST(KernelBuilder, StartsInMemoryOfItsOwn) {
  int64_t before = allocation_count();
  ckernel_builder builder;
  EXPECT_TRUE(is_inline(builder));
  EXPECT_EQ(builder.size, sizeof(ckernel_builder_struct));
  EXPECT_EQ(builder.version, uint32_t(DYND_ABI_VERSION));
  EXPECT_EQ(builder.scratch_size, 0u);
  EXPECT_TRUE(is_zero(builder.data, sizeof(ckernel_prefix))) << "an empty builder can be destroyed";
  builder.ensure_capacity_leaf(512);
  EXPECT_TRUE(is_inline(builder));
  EXPECT_EQ(allocation_count(), before);
}

TEST(KernelBuilder, HandsOutZeros) {
  alignas(ckernel_builder) char memory[sizeof(ckernel_builder)];
  std::memset(memory, 0x5a, sizeof(memory));
  auto *builder = new (memory) ckernel_builder;
  for (size_t bytes : {16, 100, 500, 1024, 1025, 3000, 70000}) {
    builder->ensure_capacity_leaf(bytes);
    ASSERT_GE(builder->capacity, bytes);
    ASSERT_TRUE(is_zero(builder->data, bytes)) << bytes;
  }
  builder->~ckernel_builder();
}

TEST(KernelBuilder, GrowthKeepsWhatWasBuilt) {
  ckernel_builder builder;
  builder.ensure_capacity_leaf(1000);
  for (size_t i = 16; i < 1000; i++) {
    builder.data[i] = char(i);
  }
  for (size_t bytes : {2000, 2001, 9000, 200000}) {
    builder.ensure_capacity_leaf(bytes);
    EXPECT_FALSE(is_inline(builder));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(builder.data) % 64, 0u);
    for (size_t i = 16; i < 1000; i++) {
      ASSERT_EQ(builder.data[i], char(i));
    }
    ASSERT_TRUE(is_zero(builder.data + 1000, bytes - 1000));
  }
}

TEST(KernelBuilder, EnsureCapacityReservesThePrefixOfTheChild) {
  for (size_t bytes : {16, 256, 1024 - 16, 1024 - 15, 1024, 5000}) {
    ckernel_builder builder;
    builder.ensure_capacity(bytes);
    EXPECT_GE(builder.capacity, bytes + sizeof(ckernel_prefix));
    EXPECT_TRUE(is_zero(builder.data + bytes, sizeof(ckernel_prefix)));
    ckernel_builder leaf;
    leaf.ensure_capacity_leaf(bytes);
    EXPECT_GE(leaf.capacity, bytes);
    if (bytes % 256 == 0 || bytes > 1024) { // inside of the builder's own buffer, in steps
      EXPECT_LT(leaf.capacity, bytes + sizeof(ckernel_prefix)) << "no more than was asked for";
    }
  }
}

TEST(KernelBuilder, DestroysTheWholeTree) {
  int destroyed[3] = {};
  {
    ckernel_builder builder;
    size_t offset = 0;
    for (int &count : destroyed) {
      offset = add_counted(builder, offset, &count);
    }
  }
  EXPECT_EQ(destroyed[0], 1);
  EXPECT_EQ(destroyed[1], 1);
  EXPECT_EQ(destroyed[2], 1);
}

TEST(KernelBuilder, DestroysATreeThatMoved) {
  int destroyed[200] = {};
  {
    ckernel_builder builder;
    size_t offset = 0;
    for (int &count : destroyed) {
      offset = add_counted(builder, offset, &count);
    }
    EXPECT_FALSE(is_inline(builder));
  }
  for (int count : destroyed) {
    ASSERT_EQ(count, 1);
  }
}

TEST(KernelBuilder, DestroysAHalfBuiltTree) {
  int first = 0, second = 0;
  {
    ckernel_builder builder;
    size_t child = add_counted(builder, 0, &first);
    // The child was begun: its destructor is set, what it would release is still zero.
    builder.ensure_capacity(child + sizeof(counted_kernel));
    builder.get_at<counted_kernel>(child)->base.destructor = count_destruction;
  }
  EXPECT_EQ(first, 1);
  {
    ckernel_builder builder;
    add_counted(builder, 0, &second); // a child was to follow and never came
  }
  EXPECT_EQ(second, 1);
}

TEST(KernelBuilder, ResetDestroysAndStartsAgain) {
  int destroyed = 0;
  int64_t before = live_allocations();
  ckernel_builder builder;
  add_counted(builder, 0, &destroyed);
  builder.ensure_capacity_leaf(5000);
  ckernel_builder_reserve_scratch(&builder, 100);
  builder.reset();
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(live_allocations(), before);
  EXPECT_TRUE(is_inline(builder));
  EXPECT_EQ(builder.scratch_size, 0u);
  EXPECT_TRUE(is_zero(builder.data, builder.capacity));
  builder.reset();
  EXPECT_EQ(destroyed, 1);
}

TEST(KernelBuilder, ScratchIsReservedInWholeCacheLines) {
  ckernel_builder builder;
  EXPECT_EQ(ckernel_builder_reserve_scratch(&builder, 1), 0u);
  EXPECT_EQ(ckernel_builder_reserve_scratch(&builder, 64), 64u);
  EXPECT_EQ(ckernel_builder_reserve_scratch(&builder, 65), 128u);
  EXPECT_EQ(ckernel_builder_reserve_scratch(&builder, 0), 256u);
  EXPECT_EQ(builder.scratch_size, 256u);
}

TEST(KernelBuilder, WithoutMemoryTheKernelStaysAsItWas) {
  int destroyed = 0;
  int64_t before = live_allocations();
  {
    ckernel_builder builder;
    add_counted(builder, 0, &destroyed);
    size_t capacity = builder.capacity;
    char *data = builder.data;
    {
      failing_allocation none(0, true);
      EXPECT_EQ(ckernel_builder_ensure_capacity(&builder, 5000), int(dynd_error_memory));
    }
    EXPECT_EQ(builder.capacity, capacity);
    EXPECT_EQ(builder.data, data);
    failing_allocation next(0);
    EXPECT_EQ(failure([&] { builder.ensure_capacity_leaf(5000); }), "memory: cannot allocate memory for a kernel");
  }
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(live_allocations(), before);
}

// ---- what C code sees -----------------------------------------------------------------------------------------------

int add_one(char *dst, const char *const *src, const ckernel_prefix *, dynd_frame *) {
  int value;
  std::memcpy(&value, src[0], sizeof(value));
  value++;
  std::memcpy(dst, &value, sizeof(value));
  return dynd_ok;
}

// A factory as a plug-in has it: nothing but the C struct.
intptr_t make_add_one(ckernel_builder_struct *out, intptr_t offset) {
  intptr_t end = offset + intptr_t(sizeof(ckernel_prefix)) + 2000;
  if (int status = ckernel_builder_ensure_capacity_leaf(out, size_t(end))) {
    return status;
  }
  auto *kernel = reinterpret_cast<ckernel_prefix *>(out->data + offset);
  kernel->function = reinterpret_cast<void *>(add_one);
  return end;
}

TEST(KernelBuilder, TheCInterfaceBuildsAKernel) {
  ckernel_builder builder;
  ckernel_builder_struct *c = &builder;
  ASSERT_EQ(make_add_one(c, 0), 2016);
  auto *root = reinterpret_cast<ckernel_prefix *>(c->data);
  int in = 41, out = 0;
  const char *src = reinterpret_cast<const char *>(&in);
  auto function = reinterpret_cast<expr_single_operation_t>(root->function);
  EXPECT_EQ(function(reinterpret_cast<char *>(&out), &src, root, nullptr), int(dynd_ok));
  EXPECT_EQ(out, 42);
}

TEST(KernelBuilder, TheCInterfaceReportsThatThereIsNoMemory) {
  ckernel_builder builder;
  failing_allocation next(0);
  EXPECT_EQ(make_add_one(&builder, 0), dynd_error_memory);
  EXPECT_TRUE(next.happened());
}

} // namespace
} // namespace dynd
