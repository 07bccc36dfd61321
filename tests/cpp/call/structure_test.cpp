// Selection and structure from C++; what they give for every kind of array is tested in Python
// (tests/python/test_selection.py, test_structure.py).
#include "dynd/call/selection.h"
#include "dynd/call/structure.h"
#include "fixture.h"

using namespace dynd;
using namespace dynd::testing;

namespace {

nd::array three_rows() { return parse("3 * var * int32", "[[1, 2, 3], [], [4, 5]]"); }

} // namespace

TEST(selection, MasksAndIndices) {
  nd::array mask = parse("3 * var * bool", "[[true, false, true], [], [false, true]]");
  selector by_mask{{}, mask}, by_index{{}, parse("2 * int64", "[2, -3]")};
  EXPECT_EQ(text(select(three_rows(), {&by_mask, 1})), "[[1, 3], [], [5]]");
  EXPECT_EQ(text(select(three_rows(), {&by_index, 1})), "[[4, 5], [1, 2, 3]]");
  nd::array writable = parse("3 * var * int32", "[[1, 2, 3], [], [4, 5]]", access_mode::readwrite);
  assign_selected(writable, {&by_mask, 1}, nd::array(0));
  EXPECT_EQ(text(writable), "[[0, 2, 0], [], [4, 0]]");
}

TEST(selection, Functions) {
  EXPECT_EQ(text(nd::take(three_rows(), parse("2 * int8", "[0, 2]"), 0)), "[[1, 2, 3], [4, 5]]");
  EXPECT_EQ(text(nd::nth(three_rows(), -1)), "[3, None, 5]");
  EXPECT_EQ(text(nd::nth(three_rows(), -1, -1, nd::array(7))), "[3, 7, 5]");
  EXPECT_EQ(text(nd::argwhere(three_rows())), "[[0, 0], [0, 1], [0, 2], [2, 0], [2, 1]]");
  EXPECT_EQ(text(nd::isin(three_rows(), nd::array{2, 5})), "[[False, True, False], [], [False, True]]");
  EXPECT_EQ(failure([] { nd::take(three_rows(), nd::array{3}, 0); }),
            "index: index 3 is out of bounds for axis 0 with size 3");
}

TEST(structure, RowsAreCutAndJoined) {
  EXPECT_EQ(text(nd::num(three_rows())), "[3, 0, 2]");
  EXPECT_EQ(text(nd::flatten(three_rows())), "[1, 2, 3, 4, 5]");
  EXPECT_EQ(text(nd::unflatten(nd::flatten(three_rows()), nd::array{1, 4})), "[[1], [2, 3, 4, 5]]");
  EXPECT_EQ(text(nd::to_dense(three_rows(), 2, nd::array(0))), "[[1, 2], [0, 0], [4, 5]]");
  nd::array both[] = {three_rows(), three_rows()};
  EXPECT_EQ(text(nd::concat(both, 1)), "[[1, 2, 3, 1, 2, 3], [], [4, 5, 4, 5]]");
  EXPECT_EQ(type_text(nd::stack(both)), "strided * strided * var * int32");
  EXPECT_EQ(failure([] {
              nd::unflatten(nd::array{1, 2}, nd::array{3});
            }),
            "value: unflatten: the lengths add up to 3, not to 2");
}

TEST(structure, FieldsAreViews) {
  std::string names[] = {"x", "y"};
  nd::array parts[] = {three_rows(), nd::local_index(three_rows())};
  nd::array structs = nd::zip(names, parts);
  EXPECT_EQ(type_text(structs), "3 * var * {x: int32, y: int64}");
  EXPECT_EQ(nd::unzip(structs)[0].data<int32_t>(), parts[0].data<int32_t>());
  EXPECT_EQ(text(nd::without_field(structs, {names, 1})),
            R"([[{"y": 0}, {"y": 1}, {"y": 2}], [], [{"y": 0}, {"y": 1}]])");
}
