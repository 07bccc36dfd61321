// Blocks of lanes combine in one order, however the row is cut: pushed one by one, in pieces of 2^k, or reduced whole.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/kernel/chain.h"
#include "dynd/ops/operation.h"

namespace dynd {
namespace {

const reduce_functions &sum64() { return isa().reduce(reduction_id::sum, scalar_id::float64); }

std::vector<double> random_row(size_t n) {
  std::mt19937_64 random(n);
  std::vector<double> row(n);
  for (double &x : row) {
    x = std::ldexp(double(int64_t(random())), int(random() % 60) - 100);
  }
  return row;
}

struct lanes {
  alignas(64) char bytes[64];
  bool operator==(const lanes &other) const { return std::memcmp(bytes, other.bytes, 64) == 0; }
};

lanes whole(const std::vector<double> &row) {
  lanes result;
  sum64().lanes(result.bytes, row.data(), row.size());
  return result;
}

// The row in pieces of 64 * 2^k elements, the last one shorter.
lanes in_pieces(const std::vector<double> &row, size_t blocks) {
  lane_stack stack(sum64());
  size_t piece = 64 * blocks;
  for (size_t i = 0; i < row.size(); i += piece) {
    size_t n = std::min(piece, row.size() - i);
    sum64().lanes(stack.top(), row.data() + i, n);
    stack.push(n == piece ? blocks : 1);
  }
  lanes result;
  stack.finish(result.bytes);
  return result;
}

TEST(LaneStack, OnePieceIsItself) {
  std::vector<double> row = random_row(40);
  EXPECT_EQ(in_pieces(row, 1), whole(row));
}

TEST(LaneStack, AnyCutAtPowersOfTwoGivesTheSameBits) {
  for (size_t n : {1, 63, 64, 65, 128, 129, 192, 200, 640, 1000, 4095, 4096, 4097, 10000}) {
    std::vector<double> row = random_row(n);
    lanes expected = whole(row);
    for (size_t blocks : {1, 2, 4, 8, 64}) {
      EXPECT_EQ(in_pieces(row, blocks), expected) << n << " elements in pieces of " << blocks << " blocks";
    }
  }
}

TEST(LaneStack, PiecesOfDifferentPowersOfTwo) {
  // 8 blocks, then 4, 2, 1 and 20 elements: each begins at a multiple of its size.
  std::vector<double> row = random_row(15 * 64 + 20);
  lane_stack stack(sum64());
  size_t at = 0;
  for (size_t blocks : {8, 4, 2, 1}) {
    sum64().lanes(stack.top(), row.data() + at, blocks * 64);
    stack.push(blocks);
    at += blocks * 64;
  }
  sum64().lanes(stack.top(), row.data() + at, 20);
  stack.push(1);
  lanes result;
  stack.finish(result.bytes);
  EXPECT_EQ(result, whole(row));
}

TEST(LaneStack, ManyBlocksNeedLittleRoom) {
  // A million pieces: the stack is as deep as a binary counter is wide.
  double one[64];
  std::fill(one, one + 64, 1.0);
  lane_stack stack(sum64());
  for (int i = 0; i < 1'000'003; i++) {
    sum64().lanes(stack.top(), one, 64);
    stack.push(1);
  }
  lanes result;
  stack.finish(result.bytes);
  double total;
  sum64().fold(&total, result.bytes);
  EXPECT_EQ(total, 64.0 * 1'000'003);
}

} // namespace
} // namespace dynd
