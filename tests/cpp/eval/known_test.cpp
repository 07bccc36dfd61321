// Kernels that a thread keeps: which programs it knows, and that it runs them.
#include <thread>

#include <gtest/gtest.h>

#include "dynd/call/functions.h"
#include "dynd/eval/known.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::bits;
using testing::ramp;

// Whether this thread computes a + b by a kernel that it has; the sum is in `result` then.
bool adds_by_known(const nd::array &a, const nd::array &b, nd::array &result) {
  claimed_group nothing;
  element_operation add = {op_id::add, scalar_id::float64};
  array_block *operands[] = {a.get(), b.get()};
  ref<array_block> results[] = {new_dense(a->type, a->size())};
  known_program program;
  bool runs = program.describe(nothing, &add, operands, results) && program.run();
  result = nd::array(results[0]);
  return runs;
}

TEST(Known, AProgramThatRanIsRunAgain) {
  std::thread([] { // which knows nothing
    nd::array a = ramp("20000 * float64"), b = ramp("20000 * float64"), found;
    EXPECT_FALSE(adds_by_known(a, b, found));
    nd::array(a + b + a).eval(); // two operations: another program
    EXPECT_FALSE(adds_by_known(a, b, found));
    settings now;
    now.eager = true;
    nd::array sum(apply(op_id::add, {a.get(), b.get()}, now));
    EXPECT_TRUE(adds_by_known(a, b, found));
    EXPECT_EQ(bits(found), bits(sum));
    EXPECT_TRUE(adds_by_known(ramp("30000 * float64"), ramp("30000 * float64"), found)); // of any size
    EXPECT_FALSE(adds_by_known(a, ramp("20000 * float32"), found));
    EXPECT_FALSE(adds_by_known(a, nd::array(1.0), found));
    EXPECT_FALSE(adds_by_known(ramp("200000 * float64"), ramp("200000 * float64"), found)); // for several calls
  })
      .join();
}

} // namespace
} // namespace dynd
