// Pools: places that are taken and replaced never overlap, are filled as told, and are used again.
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/memory/pool.h"

namespace dynd {
namespace {

struct slot {
  int64_t start = -1, size = 0;
};

ref<row_pool> make_pool(pool_stream &stream) { return row_pool::make({&stream, 1}, {}); }

// The elements of a slot are its number; each place is written and looked at again later.
void write(const pool_stream &stream, const slot &at, char value) {
  std::fill_n(stream.address + at.start, at.size, value);
}

bool shows(const pool_stream &stream, const slot &at, char value) {
  const char *begin = stream.address + at.start;
  return at.size == 0 || std::all_of(begin, begin + at.size, [&](char c) { return c == value; });
}

void replace_many(row_pool &pool, const pool_stream &stream, char first, unsigned seed, bool pinned = false) {
  std::mt19937 random(seed);
  slot slots[16];
  if (pinned) {
    pool.pin();
  }
  for (int step = 0; step < 20000; step++) {
    size_t i = random() % 16;
    int64_t size = random() % 3 ? random() % 40 : random() % 3000;
    slot &at = slots[i];
    at.start = pool.replace(at.start, at.size, size);
    at.size = size;
    ASSERT_GE(at.start, 0);
    write(stream, at, char(first + i));
    for (size_t j = 0; j < 16; j++) {
      ASSERT_TRUE(shows(stream, slots[j], char(first + j))) << "step " << step;
    }
  }
}

TEST(Pool, ReplacedPlacesNeverOverlap) {
  pool_stream stream{1, pool_fill::zeros};
  ref<row_pool> pool = make_pool(stream);
  replace_many(*pool, stream, 1, 1);
}

TEST(Pool, NorDoPlacesOfSeveralThreads) {
  pool_stream stream{1, pool_fill::zeros};
  ref<row_pool> pool = make_pool(stream);
  std::thread other([&] { replace_many(*pool, stream, 1, 2); });
  replace_many(*pool, stream, 50, 3);
  other.join();
}

TEST(Pool, APinnedPoolUsesNoPlaceAgain) {
  pool_stream stream{1, pool_fill::zeros};
  ref<row_pool> pool = make_pool(stream);
  pool->pin();
  slot at;
  std::map<int64_t, int64_t> places; // start and end
  for (int64_t size = 1; size < 300; size++) {
    at.start = pool->replace(at.start, at.size, size % 7 ? size : 1);
    at.size = size % 7 ? size : 1;
    auto [place, is_new] = places.emplace(at.start, at.start + at.size);
    ASSERT_TRUE(is_new);
    ASSERT_TRUE(place == places.begin() || std::prev(place)->second <= at.start);
    ASSERT_TRUE(std::next(place) == places.end() || std::next(place)->first >= at.start + at.size);
  }
}

TEST(Pool, NewPlacesAreFilled) {
  pool_stream stream{16, pool_fill::rows};
  ref<row_pool> pool = make_pool(stream);
  int64_t start = pool->take(3), next = pool->replace(start, 3, 5);
  for (int64_t at : {start, next}) {
    auto *pair = reinterpret_cast<const int64_t *>(stream.address + at * 16);
    EXPECT_EQ(pair[0], -1);
    EXPECT_EQ(pair[1], 0);
  }
}

// Texts keep their places; rows are new again, because the next ones may have other lengths.
TEST(Pool, WhatIsGivenBackIsTakenAgain) {
  pool_stream streams[] = {{16, pool_fill::texts}, {16, pool_fill::rows}};
  ref<row_pool> pool = row_pool::make(streams, {});
  int64_t first = pool->take(3), second = pool->take(5);
  auto word = [&](int s, int64_t i) { return reinterpret_cast<int64_t *>(streams[s].address)[2 * i]; };
  for (const pool_stream &stream : streams) {
    reinterpret_cast<int64_t *>(stream.address)[2 * first] = 7;
  }
  pool->give_back(second, 5);
  pool->give_back(first, 3);
  int64_t other = pool->take(4);
  EXPECT_TRUE(other != first && other != second) << "a place has its size";
  EXPECT_EQ(pool->take(3), first);
  EXPECT_EQ(word(0, first), 7);
  EXPECT_EQ(word(1, first), -1);
  EXPECT_EQ(pool->take(5), second);
  EXPECT_NE(pool->take(5), second);
  pool->pin();
  pool->give_back(first, 3);
  EXPECT_NE(pool->take(3), first) << "a view may show it";
}

TEST(Pool, BeginsWithZerosAgainWhereAnotherEnded) {
  trim_pools();
  char *before = nullptr;
  for (int round = 0; round < 3; round++) {
    pool_stream streams[] = {{1, pool_fill::zeros}, {8, pool_fill::zeros}}; // the small one has room that none reaches
    ref<row_pool> pool = row_pool::make(streams, {});
    int64_t low = pool->take(100), high = pool->replace(low, 100, 1000);
    ASSERT_LT(low, high);
    for (const pool_stream &stream : streams) {
      char *content = stream.address;
      for (int64_t start : {low, high}) {
        size_t at = size_t(start) * stream.item, count = stream.item * (start == low ? 100 : 1000);
        ASSERT_TRUE(std::all_of(content + at, content + at + count, [](char c) { return c == 0; })) << round;
        std::fill_n(content + at, count, char(7));
      }
    }
    if (recycling) {
      EXPECT_TRUE(!before || before == streams[0].address || before == streams[1].address);
    }
    before = streams[0].address;
  }
  trim_pools();
}

TEST(Pool, IsUsedUpFromBothEnds) {
  pool_stream stream{size_t(1) << 22, pool_fill::zeros}; // few elements fit; no page is touched
  ref<row_pool> pool = make_pool(stream);
  int64_t capacity = int64_t(stream.reserved >> 22), low = pool->take(capacity / 2), high = 0;
  EXPECT_EQ(low, 0);
  EXPECT_EQ(pool->take(capacity), -1);
  EXPECT_EQ(pool->replace(0, 1, INT64_MAX), -1);
  std::vector<int64_t> places;
  while ((high = pool->replace(0, 1, 2)) >= 0) {
    EXPECT_GE(high, capacity / 2);
    places.push_back(high);
  }
  EXPECT_EQ(int64_t(places.size()), (capacity - capacity / 2 - 1) / 2);
  while (pool->take(1) >= 0) {
    EXPECT_LE(pool->used(), places.back());
  }
  EXPECT_EQ(pool->take(0), 0) << "nothing always has a place";
  EXPECT_EQ(pool->replace(places[0], 2, 5), -1);
  EXPECT_EQ(pool->replace(places[0], 2, 0), 0);
  EXPECT_EQ(pool->replace(0, 1, 2), places[0]) << "which is free again";
}

} // namespace
} // namespace dynd
