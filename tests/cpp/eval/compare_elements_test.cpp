// The comparison operators over elements that are not scalars: broadcast over strided and ragged dimensions.
#include <string>

#include <gtest/gtest.h>

#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "fixture.h"

namespace dynd::testing {
namespace {

nd::array strings(const char *datashape, const char *values) { return parse(datashape, values); }

/// a[::step] along one axis of two.
nd::array sliced(const nd::array &a, int axis, intptr_t step) {
  nd::index all{nd::index::slice, 0, {}, {}, {}}, every{nd::index::slice, 0, {}, {}, step};
  nd::index indices[2] = {axis ? all : every, axis ? every : all};
  return nd::at(a, indices);
}

TEST(CompareElements, StridedStrings) {
  nd::array a = strings("2 * 3 * string", R"([["a", "b", ""], ["c", "bb", "a"]])");
  nd::array b = strings("2 * 3 * string", R"([["a", "a", "b"], ["cc", "b", "a"]])");
  EXPECT_EQ(text(nd::equal(a, b)), "[[True, False, False], [False, False, True]]");
  EXPECT_EQ(text(nd::not_equal(a, b)), "[[False, True, True], [True, True, False]]");
  EXPECT_EQ(text(nd::less(a, b)), "[[False, False, True], [True, False, False]]");
  EXPECT_EQ(text(nd::less_equal(a, b)), "[[True, False, True], [True, False, True]]");
  EXPECT_EQ(text(nd::greater(a, b)), "[[False, True, False], [False, True, False]]");
  EXPECT_EQ(text(nd::greater_equal(a, b)), "[[True, True, False], [False, True, True]]");
  EXPECT_EQ(type_text(nd::less(a, b)), "2 * 3 * bool");
  nd::array t = nd::transposed(a);
  EXPECT_EQ(text(nd::equal(t, nd::transposed(b))), "[[True, False], [False, False], [False, True]]");
}

TEST(CompareElements, RaggedStringsAgainstRowsAndOneOfEach) {
  nd::array a = strings("3 * var * string", R"([["a", "b"], [], ["c", "a", "b"]])");
  EXPECT_EQ(text(nd::less(a, strings("3 * 1 * string", R"([["b"], ["b"], ["b"]])"))),
            "[[True, False], [], [False, True, False]]");
  EXPECT_EQ(text(nd::equal(a, strings("3 * var * string", R"([["a"], [], ["c", "b", "b"]])"))),
            "[[True, False], [], [True, False, True]]");
  EXPECT_EQ(text(nd::equal(strings("string", R"("a")"), a)), "[[True, False], [], [False, True, False]]");
  EXPECT_EQ(type_text(nd::equal(a, a)), "3 * var * bool");
  EXPECT_EQ(failure([&] { nd::equal(a, strings("3 * var * string", R"([["a"], [], ["c", "b"]])")); }),
            "broadcast: equal: cannot broadcast row 2: lengths 3 and 2");
}

TEST(CompareElements, SlicesOfRowsAndInsideOfRows) {
  nd::array a = strings("3 * var * string", R"([["a", "b", "c"], ["d"], ["e", "f", "g", "h"]])");
  EXPECT_EQ(text(nd::equal(sliced(a, 0, -1), sliced(a, 0, -1))),
            "[[True, True, True, True], [True], [True, True, True]]");
  EXPECT_EQ(text(nd::equal(sliced(a, 1, 2), strings("3 * var * string", R"([["a", "c"], ["d"], ["e", "f"]])"))),
            "[[True, True], [True], [True, False]]");
  EXPECT_EQ(text(nd::equal(sliced(a, 1, -1),
                           strings("3 * var * string", R"([["c", "b", "c"], ["d"], ["h", "g", "f", "f"]])"))),
            "[[True, True, False], [True], [True, True, True, False]]");
}

TEST(CompareElements, MissingWhereEitherIs) {
  nd::array a = parse("2 * var * ?int32", "[[1, null, 3], [null]]"), b = parse("2 * 1 * float64", "[[3], [4]]");
  EXPECT_EQ(nd::equal(a, b).str(), "nd.array([[False, None, True], [None]], type=\"2 * var * ?bool\")");
  EXPECT_EQ(text(nd::less(b, a)), "[[False, None, False], [None]]");
  nd::array words = parse("3 * ?string", R"(["x", null, "y"])");
  EXPECT_EQ(nd::not_equal(words, parse("?string", "\"x\"")).str(), "nd.array([False, None, True], type=\"3 * ?bool\")");
  EXPECT_EQ(text(nd::equal(words, parse("?string", "null"))), "[None, None, None]");
  EXPECT_EQ(text(nd::equal(parse("?string", "null"), parse("string", "\"x\""))), "None");
}

TEST(CompareElements, StructsTuplesAndLists) {
  nd::array a = parse("2 * {x: int32, y: ?string}", R"([{x: 1, y: "a"}, {x: 2, y: null}])");
  EXPECT_EQ(text(nd::equal(a, parse("{y: ?string, x: float64}", "{y: null, x: 2.0}"))), "[False, True]");
  EXPECT_EQ(text(nd::less(a, parse("{x: int64, y: ?string}", "{x: 1, y: null}"))), "[True, False]");
  nd::array t = parse("3 * (var * float64, int8)", "[([1, 2], 0), ([1], 9), ([nan], 1)]");
  EXPECT_EQ(text(nd::less(t, t)), "[False, False, False]");
  EXPECT_EQ(text(nd::equal(t, t)), "[True, True, False]");
  EXPECT_EQ(text(nd::greater(t, parse("(2 * int64, int8)", "([1, 1], 0)"))), "[True, False, False]");
}

TEST(CompareElements, SwappedBytesAndPointersAgainstScalars) {
  nd::array a = parse("3 * byteswap[int32]", "[1, -2, 3]"), p = parse("3 * pointer[int64]", "[1, 5, 3]");
  EXPECT_EQ(text(nd::less(a, parse("3 * float32", "[1.5, -2, nan]"))), "[True, False, False]");
  EXPECT_EQ(text(nd::equal(a, p)), "[True, False, True]");
}

TEST(CompareElements, ALazyArrayAgainstMissingValues) {
  nd::array numbers = ramp("100 * 100 * float64"), sum = numbers + numbers; // lazy
  nd::array missing = parse("?float64", "20");
  nd::array found = nd::equal(sum, missing);
  EXPECT_EQ(type_text(found), "100 * 100 * ?bool");
  found.eval(); // it may be lazy itself
  intptr_t trues = 0;
  for (intptr_t i = 0; i < 10000; i++) {
    trues += found->streams()[1].address[i];
  }
  EXPECT_EQ(trues, 1);
  EXPECT_EQ(int(found->streams()[1].address[10]), 1);
}

TEST(CompareElements, NothingToCompare) {
  nd::array none = parse("0 * string", "[]");
  EXPECT_EQ(nd::equal(none, parse("string", "\"a\"")).str(), "nd.array([], type=\"0 * bool\")");
  EXPECT_EQ(text(nd::less(parse("2 * var * ?bytes", "[[], []]"), parse("bytes", "\"a\""))), "[[], []]");
}

TEST(CompareElements, ErrorsNameBothTypes) {
  nd::array a = parse("2 * string", R"(["a", "b"])");
  EXPECT_EQ(failure([&] { nd::equal(a, nd::array(3)); }), "type: equal: cannot compare string with int32");
  EXPECT_EQ(failure([&] { nd::less(parse("?int32", "1"), a); }), "type: less: cannot compare int32 with string");
  EXPECT_EQ(failure([&] { nd::equal(a, parse("3 * string", R"(["a", "b", "c"])")); }),
            "broadcast: equal: cannot broadcast (2,) with (3,) at axis 0");
  EXPECT_EQ(failure([&] { a + a; }), "type: add: there is no such operation for elements of type string");
}

} // namespace
} // namespace dynd::testing
