// What explain and trace report.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/call/functions.h"
#include "dynd/eval/observe.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::bits;
using testing::parse;
using testing::ramp;

template <class F> observation observe(bool tracing, F f) {
  observation seen;
  seen.tracing = tracing;
  observed_scope watched(&seen);
  f();
  return seen;
}

template <class F> std::string explain(F f) {
  return explanation_text(observe(false, [&] { f().eval(); }));
}

bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

#define EXPECT_CONTAINS(text, part) EXPECT_TRUE(contains(text, part)) << text

TEST(Explain, ShowsOperandsLevelsAndSizes) {
  observation seen = observe(false, [] { ramp("3 * 1 * 4 * int32") + ramp("5 * 1 * int32") + ramp("4 * int32"); });
  ASSERT_EQ(seen.kernels.size(), 2u);
  const explained_kernel &first = seen.kernels[0];
  EXPECT_EQ(first.operation, "add");
  EXPECT_EQ(first.elements, 60);
  ASSERT_EQ(first.operands.size(), 3u);
  EXPECT_EQ(first.operands[1], "from 3 * 1 * 4 * int32 (3, 1, 4), strides (16, 0, 4)");
  EXPECT_EQ(first.operands[2], "from 5 * 1 * int32 (5, 1), strides (0, 4, 0)");
  ASSERT_FALSE(first.levels.empty());
  EXPECT_EQ(first.levels[0].offset, 0u);
  size_t end = 0;
  for (const explained_level &level : first.levels) {
    EXPECT_EQ(level.offset, end) << "each level stands right behind the one outside of it";
    end = level.offset + level.size;
  }
  EXPECT_EQ(first.kernel_bytes, end);
}

TEST(Explain, EveryWalkHasItsName) {
  nd::array rows = ramp("1000 * var * float64"), other = ramp("1000 * var * float64");
  nd::array square = ramp("100 * 100 * float64");
  EXPECT_CONTAINS(explain([&] { return square + square; }), "chain flat");
  EXPECT_CONTAINS(explain([&] { return ramp("400 * 1 * float64") + ramp("1 * 4 * float64"); }),
                  "chain small_rows of 4");
  EXPECT_CONTAINS(explain([&] { return square + nd::transposed(square); }), "chain panel");
  EXPECT_CONTAINS(explain([&] { return rows * ramp("1000 * 1 * float64"); }), "chain var_rows");
  EXPECT_CONTAINS(explain([&] { return nd::sum(rows, 1); }), "chain var_rows");
  EXPECT_CONTAINS(explain([&] { return rows + other; }), "chain flat");
  EXPECT_CONTAINS(explain([&] { return ramp("2 * 50 * 60 * float64") + ramp("50 * 1 * float64"); }),
                  "strided_dim size");
}

TEST(Explain, NothingEvaluatedIsSaid) { EXPECT_EQ(explanation_text(observation()), "nothing was evaluated\n"); }

TEST(Trace, ListsTheCallsLevelByLevel) {
  nd::array a = parse("2 * var * int32", "[[1, 2], [3]]");
  observation seen = observe(true, [&] { a + parse("2 * var * int32", "[[4, 5], [6, 7]]"); });
  std::vector<std::string> calls;
  for (const traced_call &call : seen.calls) {
    std::string line = std::string(size_t(call.level), ' ') + call.name;
    for (const std::string &source : call.sources) {
      line += " " + source;
    }
    calls.push_back(line);
  }
  EXPECT_EQ(calls, (std::vector<std::string>{"strided [[1, 2], [3]] [[4, 5], [6, 7]]", " var [1, 2] [4, 5]",
                                             "  add 1 4", "  add 2 5", " var [3] [6, 7]", "  add 3 6", "  add 3 7"}));
}

TEST(Trace, AssignmentsAreNamedByWhatTheyGoBetween) {
  nd::array dst = parse("2 * 3 * int32", "[[1, 2, 3], [4, 5, 6]]", access_mode::readwrite);
  observation seen = observe(true, [&] { nd::assign(dst, parse("2 * var * int32", "[[7], [8, 9, 10]]")); });
  ASSERT_EQ(seen.calls.size(), 9u);
  EXPECT_EQ(seen.calls[0].name, "strided to strided");
  EXPECT_EQ(seen.calls[0].destination, "[[1, 2, 3], [4, 5, 6]]");
  EXPECT_EQ(seen.calls[1].name, "var to strided");
  EXPECT_EQ(seen.calls[2].name, "int32 to int32");
  EXPECT_EQ(seen.calls[3].destination, "2") << "what stands there before the call";
  EXPECT_EQ(testing::text(dst), "[[7, 7, 7], [8, 9, 10]]");
}

TEST(Trace, ATracedResultHasTheSameBits) {
  nd::array a = ramp("20 * var * float64"), b = ramp("20 * 1 * float32");
  nd::array plain = nd::sqrt(a) * b, traced;
  observe(true, [&] { traced = nd::sqrt(a) * b; });
  EXPECT_EQ(bits(traced), bits(plain));
}

TEST(Trace, TheTableHasAColumnForEach) {
  observation seen = observe(true, [] { ramp("2 * int32") + 1; });
  std::string table = trace_text(seen);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4) << table;
  EXPECT_EQ(table.substr(0, table.find('\n')), "sources   | call    | destination before it") << table;
}

TEST(Observation, BelongsToTheThread) {
  observation seen = observe(false, [] {
    ramp("2 * int32") + 1;
    EXPECT_NE(thread_settings().watching, nullptr);
  });
  EXPECT_EQ(thread_settings().watching, nullptr);
  EXPECT_EQ(seen.kernels.size(), 1u);
}

} // namespace
} // namespace dynd
