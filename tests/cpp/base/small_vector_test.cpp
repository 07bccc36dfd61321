// The vector of plain values: inside of itself while it is short, on the heap when it grows.
#include "dynd/base/small_vector.h"

#include <gtest/gtest.h>

#include "allocations.h"

namespace dynd {
namespace {

using testing::allocation_count;
using testing::failing_allocation;
using testing::live_allocations;

using vector = small_vector<int, 4>;

vector count_to(int n) {
  vector v;
  for (int i = 0; i < n; i++) {
    v.push_back(i);
  }
  return v;
}

void expect_count(const vector &v, int n) {
  ASSERT_EQ(v.size(), n);
  ASSERT_EQ(v.end() - v.begin(), n);
  EXPECT_EQ(v.empty(), n == 0);
  for (int i = 0; i < n; i++) {
    EXPECT_EQ(v[i], i);
    EXPECT_EQ(v.data()[i], i);
  }
}

TEST(SmallVector, NeedsTheHeapOnlyAboveItsOwnRoom) {
  int64_t before = allocation_count();
  vector v = count_to(4);
  expect_count(v, 4);
  EXPECT_EQ(allocation_count(), before);
  v.push_back(4);
  EXPECT_EQ(allocation_count(), before + 1);
  expect_count(v, 5);
}

TEST(SmallVector, GrowsAndGivesItsMemoryBack) {
  int64_t before = live_allocations();
  {
    vector v = count_to(1000);
    expect_count(v, 1000);
    EXPECT_EQ(v.back(), 999);
    v.clear();
    expect_count(v, 0);
    v.push_back(0);
    expect_count(v, 1);
  }
  EXPECT_EQ(live_allocations(), before);
}

TEST(SmallVector, CopiesAreTheirOwn) {
  for (int from : {0, 3, 4, 5, 100}) {
    vector source = count_to(from), copy = source;
    expect_count(copy, from);
    copy.push_back(7);
    expect_count(source, from);
    for (int to : {0, 4, 5, 200}) {
      vector v = count_to(to);
      v = source;
      expect_count(v, from);
      v = *&v;
      expect_count(v, from);
    }
  }
}

TEST(SmallVector, AnElementOfItsOwnCanBePushed) {
  vector v;
  v.push_back(42);
  for (int i = 1; i < 100; i++) {
    EXPECT_EQ(v.push_back(v[0]), 42);
  }
  for (int x : v) {
    EXPECT_EQ(x, 42);
  }
}

TEST(SmallVector, AddGivesAPlaceToFill) {
  vector v;
  for (int i = 0; i < 50; i++) {
    v.add() = i;
  }
  expect_count(v, 50);
}

TEST(SmallVector, IsAsBeforeWhereThereIsNoMemory) {
  for (bool pushes : {true, false}) {
    vector v = count_to(4), large = count_to(20);
    failing_allocation next(0);
    EXPECT_THROW(pushes ? void(v.push_back(9)) : void(v.add()), std::bad_alloc);
    expect_count(v, 4);
  }
}

} // namespace
} // namespace dynd
