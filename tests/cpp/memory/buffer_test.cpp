// Buffers: aligned, recycled, given back; another owner's memory goes back to its owner.
#include <cstdio>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "allocations.h"
#include "dynd/memory/buffer.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::failing_allocation;
using testing::failure;
using testing::live_allocations;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool recycling = false; // it would hide bugs
#else
constexpr bool recycling = true;
#endif

TEST(Buffer, IsAlignedAndAsLargeAsAsked) {
  for (size_t size : {size_t(0), size_t(1), size_t(191), size_t(192), size_t(193), size_t(1000), size_t(1) << 20,
                      (size_t(4) << 20) - 64, (size_t(4) << 20) + 1, size_t(9'000'001)}) {
    ref<buffer> memory = allocate_buffer(size);
    EXPECT_EQ(memory->size, size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data) % 64, 0u);
    std::memset(memory->data, 1, size);
    EXPECT_EQ(as_buffer(memory.get()), memory.get());
  }
  EXPECT_EQ(as_buffer(nullptr), nullptr);
}

TEST(Buffer, EverySizeHasItsClass) {
  // Around every limit of a class the last byte is there (the address sanitizer looks).
  for (size_t limit = 256; limit < size_t(1) << 16; limit += limit / 4) {
    for (size_t size = limit - 66; size <= limit - 62; size++) {
      ref<buffer> memory = allocate_buffer(size);
      memory->data[size - 1] = 1;
    }
  }
}

TEST(Buffer, IsKeptForReuseUntilTrimmed) {
  trim_memory();
  EXPECT_EQ(recycled_bytes(), 0u);
  int64_t live = live_allocations();
  char *address = allocate_buffer(5000)->data;
  if (recycling) {
    EXPECT_GE(recycled_bytes(), 5000u);
    ref<buffer> again = allocate_buffer(4900); // of the same class
    EXPECT_EQ(again->data, address);
    EXPECT_EQ(recycled_bytes(), 0u);
  }
  trim_memory();
  EXPECT_EQ(recycled_bytes(), 0u);
  EXPECT_EQ(live_allocations(), live);
}

// Memory that is not touched costs nothing: of each buffer only the first page is.
TEST(Buffer, WhatIsKeptIsBounded) {
  trim_memory();
  {
    std::vector<ref<buffer>> all;
    for (int i = 0; i < 40; i++) {
      all.push_back(allocate_buffer(size_t(64) << 20));
    }
  }
  EXPECT_LE(recycled_bytes(), size_t(2) << 30) << "of 2.5 GB";
  EXPECT_EQ(recycled_bytes() > 0, recycling);
  trim_memory();
}

TEST(Buffer, ForeignMemoryGoesBackOnce) {
  int given_back = 0;
  std::vector<char> memory(10);
  {
    ref<buffer> adopted = adopt_memory(
        memory.data(), memory.size(), [](void *count) { ++*static_cast<int *>(count); }, &given_back);
    EXPECT_EQ(adopted->data, memory.data());
    ref<buffer> shared = adopted;
    adopted = ref<buffer>();
    EXPECT_EQ(given_back, 0);
  }
  EXPECT_EQ(given_back, 1);
}

TEST(Buffer, WithoutMemoryForeignMemoryGoesBackToo) {
  int given_back = 0;
  char memory[10];
  failing_allocation next(0);
  EXPECT_EQ(failure([&] {
              adopt_memory(
                  memory, sizeof(memory), [](void *count) { ++*static_cast<int *>(count); }, &given_back);
            }),
            "memory: cannot allocate a buffer header");
  EXPECT_EQ(given_back, 1);
}

// Beyond what is kept a part goes at once: cutting a block each time would look at all that are kept each time.
TEST(Buffer, BeyondTheLimitAPartIsCut) {
  trim_memory();
  std::vector<ref<buffer>> blocks;
  for (int i = 0; i < 40; i++) {
    blocks.push_back(allocate_buffer(size_t(60) << 20));
  }
  int cuts = 0;
  for (size_t kept = 0; !blocks.empty(); kept = recycled_bytes()) {
    blocks.pop_back();
    cuts += recycled_bytes() <= kept;
  }
  EXPECT_EQ(cuts, recycling ? 1 : 40);
  trim_memory();
}

TEST(Buffer, WholeMappingsGoBackToTheSystem) { // blocks of 5 and 7 MB are no whole huge pages
  auto pages = [] {
    long count = 0;
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(file, "%ld", &count), 1);
    std::fclose(file);
    return count;
  };
  auto once = [] {
    for (size_t bytes : {size_t(9) << 19, size_t(13) << 19}) {
      allocate_buffer(bytes);
    }
    trim_memory();
  };
  once();
  long before = pages();
  for (int i = 0; i < 50; i++) {
    once();
  }
  EXPECT_LT(pages() - before, 256);
}

TEST(Buffer, TooLargeIsAnError) {
  EXPECT_EQ(failure([] { allocate_buffer(SIZE_MAX); }), "memory: cannot allocate 18446744073709551615 bytes");
  EXPECT_EQ(failure([] { allocate_buffer(size_t(1) << 46); }), "memory: cannot allocate 70368744177664 bytes");
  trim_memory();
  failing_allocation next(0);
  EXPECT_EQ(failure([] { allocate_buffer(1000); }), "memory: cannot allocate 1000 bytes");
}

} // namespace
} // namespace dynd
