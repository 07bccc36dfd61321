#include "dynd/plan/pieces.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

using namespace dynd;

namespace {

template <typename Pieces> std::vector<piece> all_of(const Pieces &pieces) {
  std::vector<piece> result;
  for (intptr_t i = 0; i < pieces.count(); ++i)
    result.push_back(pieces[i]);
  return result;
}

void expect_covers(const std::vector<piece> &pieces, intptr_t count) {
  intptr_t at = 0;
  for (const piece &p : pieces) {
    ASSERT_EQ(p.begin, at);
    ASSERT_GE(p.end, p.begin);
    at = p.end;
  }
  ASSERT_EQ(at, count);
}

template <typename Offset> std::vector<Offset> offsets_of(const std::vector<int> &lengths, Offset first = 0) {
  std::vector<Offset> offsets = {first};
  for (int length : lengths)
    offsets.push_back(offsets.back() + length);
  return offsets;
}

} // namespace

TEST(even_pieces, are_powers_of_two_of_blocks) {
  EXPECT_EQ(all_of(even_pieces(1000, 300)), (std::vector<piece>{{0, 256}, {256, 512}, {512, 768}, {768, 1000}}));
  EXPECT_EQ(even_pieces(1000, 256).piece_size(), 256);
  EXPECT_EQ(even_pieces(1000, 255).piece_size(), 128);
  EXPECT_EQ(even_pieces(1000, 1).piece_size(), 64);
  EXPECT_EQ(even_pieces(1000, 0).piece_size(), 64);
}

TEST(even_pieces, of_nothing_are_none_and_of_little_one) {
  EXPECT_EQ(even_pieces(0, 300).count(), 0);
  EXPECT_EQ(all_of(even_pieces(1, 300)), (std::vector<piece>{{0, 1}}));
  EXPECT_EQ(all_of(even_pieces(256, 300)), (std::vector<piece>{{0, 256}}));
}

TEST(even_pieces, of_an_outer_loop_are_powers_of_two_of_rows) {
  EXPECT_EQ(all_of(even_pieces(5, 2, 1)), (std::vector<piece>{{0, 2}, {2, 4}, {4, 5}}));
  EXPECT_EQ(all_of(even_pieces(3, 0, 1)), (std::vector<piece>{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(even_pieces, do_not_overflow) {
  even_pieces one(INTPTR_MAX, INTPTR_MAX);
  EXPECT_EQ(one.count(), 2); // 2^62 and what remains
  EXPECT_EQ(one[1], (piece{intptr_t(1) << 62, INTPTR_MAX}));
  even_pieces many(INTPTR_MAX, 64);
  EXPECT_EQ(many[many.count() - 1].end, INTPTR_MAX);
}

TEST(even_pieces, cover_everything_once) {
  for (intptr_t count = 0; count < 700; count += 13)
    for (intptr_t target = 0; target < 800; target += 37)
      expect_covers(all_of(even_pieces(count, target)), count);
}

TEST(content_pieces, cut_by_content) {
  std::vector<int64_t> offsets = offsets_of<int64_t>({10, 10, 10, 10, 10, 10});
  content_pieces pieces(offsets.data(), 6, 20, 0);
  EXPECT_EQ(all_of(pieces), (std::vector<piece>{{0, 2}, {2, 4}, {4, 6}}));
}

TEST(content_pieces, a_long_row_is_not_cut) {
  std::vector<int64_t> offsets = offsets_of<int64_t>({1, 1, 100, 1, 1});
  content_pieces pieces(offsets.data(), 5, 50, 0);
  EXPECT_EQ(all_of(pieces), (std::vector<piece>{{0, 3}, {3, 3}, {3, 5}}));
}

TEST(content_pieces, of_a_row_of_any_length_are_few) {
  std::vector<int64_t> offsets = {0, 3, 3 + (int64_t(1) << 62), 5 + (int64_t(1) << 62)};
  content_pieces pieces(offsets.data(), 3, 1 << 16);
  EXPECT_LE(pieces.count(), 3 * most_of_row);
  expect_covers(all_of(pieces), 3);
}

TEST(content_pieces, of_no_rows_are_none) {
  std::vector<int64_t> offsets = {7};
  EXPECT_EQ(content_pieces(offsets.data(), 0, 50).count(), 0);
}

TEST(content_pieces, empty_rows_are_work_too) {
  std::vector<int64_t> offsets(1001, 5);
  content_pieces weighed(offsets.data(), 1000, 1000);
  EXPECT_EQ(weighed.count(), 8);
  EXPECT_EQ(weighed[0], (piece{0, 125}));
  content_pieces not_weighed(offsets.data(), 1000, 1000, 0);
  EXPECT_EQ(all_of(not_weighed), (std::vector<piece>{{0, 1000}}));
}

TEST(content_pieces, empty_rows_at_the_ends_belong_to_a_piece) {
  std::vector<int64_t> offsets = offsets_of<int64_t>({0, 0, 5, 5, 0, 0});
  expect_covers(all_of(content_pieces(offsets.data(), 6, 5, 0)), 6);
}

TEST(content_pieces, offsets_may_start_anywhere) {
  std::vector<int64_t> from_zero = offsets_of<int64_t>({4, 0, 9, 3, 3, 8});
  std::vector<int64_t> later = offsets_of<int64_t>({4, 0, 9, 3, 3, 8}, 1000000);
  EXPECT_EQ(all_of(content_pieces(from_zero.data(), 6, 20)), all_of(content_pieces(later.data(), 6, 20)));
}

TEST(content_pieces, random_rows_are_covered_once_and_evenly) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    std::vector<int> lengths(random() % 50 + 1);
    int longest = 0;
    for (int &length : lengths)
      longest = std::max(longest, length = random() % 3 == 0 ? 0 : static_cast<int>(random() % 40));
    std::vector<int64_t> offsets = offsets_of<int64_t>(lengths, random() % 100);
    intptr_t target = random() % 200, cost = random() % 10, row_count = static_cast<intptr_t>(lengths.size());
    std::vector<piece> pieces = all_of(content_pieces(offsets.data(), row_count, target, cost));
    expect_covers(pieces, row_count);
    for (const piece &p : pieces) {
      intptr_t weight = offsets[p.end] - offsets[p.begin] + cost * (p.end - p.begin);
      ASSERT_LE(weight, std::max<intptr_t>(target, 1) + longest + cost) << "seed " << seed;
    }
  }
}

namespace {

// Row lengths of many rows, for which a guess from their mean is far off: all the content is at one end, in the middle,
// in rows far apart, or grows from row to row.
std::vector<int> uneven_lengths(std::mt19937 &random, int count) {
  std::vector<int> lengths;
  int kind = static_cast<int>(random() % 6), heavy = static_cast<int>(random() % 1000 + 1);
  for (int i = 0; i < count; ++i) {
    int few = static_cast<int>(random() % 3);
    int of_kind[] = {i < count / 50 ? heavy : 0,
                     i >= count - count / 50 ? heavy : few,
                     i / 16 == count / 32 ? heavy : few,
                     i / 8,
                     (count - i) / 8,
                     random() % 500 == 0 ? 50 * heavy : 0};
    lengths.push_back(of_kind[kind]);
  }
  return lengths;
}

} // namespace

TEST(content_pieces, many_uneven_rows_are_covered_once_and_evenly) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto row_count = static_cast<intptr_t>(random() % 12000 + 1);
    std::vector<int> lengths = uneven_lengths(random, static_cast<int>(row_count));
    int longest = *std::max_element(lengths.begin(), lengths.end());
    std::vector<int64_t> offsets = offsets_of<int64_t>(lengths, random() % 100);
    intptr_t cost = random() % 3 * 4, weight = offsets.back() - offsets[0] + cost * row_count;
    intptr_t target = weight / static_cast<intptr_t>(random() % 40 + 1) + 1;
    std::vector<piece> pieces = all_of(content_pieces(offsets.data(), row_count, target, cost));
    expect_covers(pieces, row_count);
    for (const piece &p : pieces) {
      intptr_t own = offsets[p.end] - offsets[p.begin] + cost * p.size();
      ASSERT_LE(own, target + longest + cost) << "seed " << seed;
    }
  }
}
