// Views share the memory of another array: only addresses, sizes and strides change.
#include <vector>

#include <gtest/gtest.h>

#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/eval/evaluate.h"
#include "fixture.h"

namespace dynd {
namespace {

using nd::index;
using testing::failure;
using testing::parse;
using testing::ramp;
using testing::text;
using testing::type_text;

constexpr auto none = std::nullopt;

index at(intptr_t i) { return {index::integer, i, {}, {}, {}}; }
index cut(std::optional<intptr_t> start, std::optional<intptr_t> stop, std::optional<intptr_t> step = none) {
  return {index::slice, 0, start, stop, step};
}
const index all = {index::slice, 0, {}, {}, {}};
const index dots = {index::ellipsis, 0, {}, {}, {}};
const index unit = {index::new_axis, 0, {}, {}, {}};

nd::array view(const nd::array &a, std::vector<index> indices) { return nd::at(a, indices); }
std::string shown(const nd::array &a, std::vector<index> indices) { return text(view(a, std::move(indices))); }

TEST(View, OfAStridedArray) {
  nd::array a = ramp("3 * 4 * int32");
  EXPECT_EQ(shown(a, {at(1)}), "[4, 5, 6, 7]");
  EXPECT_EQ(shown(a, {at(-1), at(-1)}), "11");
  EXPECT_EQ(shown(a, {all, at(1)}), "[1, 5, 9]");
  EXPECT_EQ(shown(a, {cut(none, none, -1), cut(1, 3)}), "[[9, 10], [5, 6], [1, 2]]");
  EXPECT_EQ(shown(a, {dots, at(0)}), "[0, 4, 8]");
  EXPECT_EQ(shown(a, {at(0), unit, cut(0, 2)}), "[[0, 1]]");
  EXPECT_EQ(shown(a, {}), text(a));
  EXPECT_EQ(shown(a, {cut(5, 9)}), "[]");
  EXPECT_EQ(shown(a, {cut(2, 0, -1), at(0)}), "[8, 4]");
  EXPECT_EQ(shown(a, {cut(none, none, INTPTR_MIN), at(0)}), "[8]");
}

TEST(View, KeepsTheTypeOfWhatItDoesNotCut) {
  nd::array a = ramp("3 * 4 * int32");
  EXPECT_EQ(type_text(view(a, {at(0)})), "4 * int32");
  EXPECT_EQ(type_text(view(a, {all, cut(1, 3)})), "3 * strided * int32");
  EXPECT_EQ(type_text(view(a, {cut(none, none, -1)})), "3 * 4 * int32");
  EXPECT_EQ(type_text(view(a, {unit, dots})), "strided * 3 * 4 * int32");
}

TEST(View, SharesMemoryAndKeepsItAlive) {
  nd::array a = ramp("100 * int32", access_mode::readwrite), row = view(a, {cut(10, none, 2)});
  EXPECT_EQ(row.data<int32_t>(), a.data<int32_t>() + 10);
  EXPECT_EQ(row->access, access_mode::readwrite);
  const_cast<int32_t *>(a.data<int32_t>())[12] = -5;
  a = nd::array();
  EXPECT_EQ(text(view(row, {cut(0, 3)})), "[10, -5, 14]");
  nd::array small{1, 2, 3}; // its data is in its block
  nd::array last = nd::at(small, 2);
  small = nd::array();
  EXPECT_EQ(text(last), "3");
}

TEST(View, KnowsWhetherItIsDense) {
  nd::array a = ramp("3 * 4 * int32");
  auto dense = [](const nd::array &v) { return bool(v->flags & flag_dense); };
  EXPECT_TRUE(dense(view(a, {at(1)})));
  EXPECT_TRUE(dense(view(a, {cut(1, 3)})));
  EXPECT_FALSE(dense(view(a, {all, cut(1, 3)})));
  EXPECT_FALSE(dense(nd::transposed(a)));
  EXPECT_TRUE(dense(view(a, {all, cut(1, 1)}))) << "nothing is in it";
  EXPECT_FALSE(dense(view(ramp("2 * var * int32"), {all})));
}

TEST(View, OfARaggedArray) {
  nd::array a = parse("3 * var * int32", "[[1, 2], [], [3, 4, 5]]");
  EXPECT_EQ(shown(a, {at(2)}), "[3, 4, 5]");
  EXPECT_EQ(type_text(nd::at(a, 2)), "strided * int32");
  EXPECT_EQ(shown(a, {at(-1), at(-1)}), "5");
  EXPECT_EQ(shown(a, {at(2), cut(none, none, -2)}), "[5, 3]");
  EXPECT_EQ(shown(a, {cut(none, none, -1)}), "[[3, 4, 5], [], [1, 2]]");
  EXPECT_EQ(shown(a, {cut(1, none)}), "[[], [3, 4, 5]]");
  EXPECT_EQ(shown(a, {at(0), unit}), "[[1, 2]]");
  nd::array deep = parse("2 * var * var * int8", "[[[1], [2, 3]], [[4, 5, 6]]]");
  EXPECT_EQ(shown(deep, {at(0)}), "[[1], [2, 3]]");
  EXPECT_EQ(shown(deep, {at(0), at(1), at(1)}), "3");
  EXPECT_EQ(shown(deep, {at(0), cut(none, none, -1)}), "[[2, 3], [1]]");
}

TEST(View, InsideRaggedRows) {
  nd::array a = parse("3 * var * int32", "[[1, 2], [6], [3, 4, 5]]");
  EXPECT_EQ(shown(a, {all, at(0)}), "[1, 6, 3]");
  EXPECT_EQ(shown(a, {all, at(-1)}), "[2, 6, 5]");
  EXPECT_EQ(shown(a, {all, cut(1, none)}), "[[2], [], [4, 5]]");
  EXPECT_EQ(shown(a, {all, cut(none, none, -1)}), "[[2, 1], [6], [5, 4, 3]]");
  nd::array writable(copy_values(a.get(), access_mode::readwrite)), tails = view(writable, {all, cut(-2, none)});
  EXPECT_EQ(text(tails), "[[1, 2], [6], [4, 5]]");
  EXPECT_EQ(tails->values().address, writable->values().address) << "new slots, the same content";
}

TEST(View, SlicesOfShortImmutableRowsAreCopied) {
  nd::array a = parse("3 * var * int32", "[[1, 2], [6], [3, 4, 5]]"), tails = view(a, {all, cut(-2, none)});
  EXPECT_EQ(text(tails), "[[1, 2], [6], [4, 5]]");
  EXPECT_TRUE(rows_of(*tails.get(), 0)) << "they follow each other";
  nd::array ragged = nd::from_offsets(parse("3 * int64", "[0, 1000, 2000]"), ramp("2000 * int32"));
  EXPECT_EQ(view(ragged, {all, cut(1, none)})->values().address, ragged->values().address) << "long rows are not";
}

TEST(View, TransposedAndUnitAxes) {
  nd::array a = ramp("2 * 3 * int8");
  EXPECT_EQ(text(nd::transposed(a)), "[[0, 3], [1, 4], [2, 5]]");
  EXPECT_EQ(type_text(nd::transposed(a)), "3 * 2 * int8");
  int axes[] = {2, 0, 1};
  EXPECT_EQ(text(nd::transposed(ramp("1 * 2 * 3 * int8"), axes)), "[[[0, 3]], [[1, 4]], [[2, 5]]]");
  EXPECT_EQ(text(nd::with_unit_axis(a, 1)), "[[[0, 1, 2]], [[3, 4, 5]]]");
  EXPECT_EQ(failure([] { nd::transposed(ramp("2 * var * int8")); }),
            "type: transpose: a ragged array cannot be transposed: 2 * var * int8");
  int twice[] = {0, 0}, one[] = {0};
  for (std::span<const int> wrong : {std::span<const int>(twice), std::span<const int>(one), std::span<const int>()}) {
    EXPECT_EQ(failure([&] { nd::transposed(a, wrong); }),
              "value: transpose: the axes are not a permutation of the dimensions");
  }
  EXPECT_EQ(text(nd::with_axis_moved(ramp("1 * 2 * 3 * int8"), 0, 2)), "[[[0], [1], [2]], [[3], [4], [5]]]");
  EXPECT_EQ(text(nd::with_axis_moved(ramp("1 * 2 * 3 * int8"), 2, 0)),
            text(nd::transposed(ramp("1 * 2 * 3 * int8"), axes)));
}

TEST(View, ASliceInsideRowsKeepsTheContent) {
  nd::array a(copy_values(parse("2 * var * int32", "[[1, 2, 3, 4, 5], [6, 7]]").get(), access_mode::readwrite));
  nd::array odd = view(a, {all, cut(none, none, 2)}), back = view(odd, {all, cut(none, none, -2)});
  EXPECT_EQ(nd::values_text(odd), "[[1, 3, 5], [6]]");
  EXPECT_EQ(nd::values_text(back), "[[5, 1], [6]]");
  EXPECT_EQ(odd->values().address, a->values().address);
  EXPECT_EQ(back->streams()[0].step, -4);
  EXPECT_EQ(back->value_strides()[1], -16);
}

TEST(View, WrongIndicesNameAxisAndRow) {
  nd::array a = ramp("3 * 4 * int32"), ragged = parse("2 * var * int32", "[[1, 2], [3]]");
  auto wrong = [](const nd::array &x, std::vector<index> indices) { return failure([&] { view(x, indices); }); };
  EXPECT_EQ(wrong(a, {at(3)}), "index: index 3 is out of bounds for axis 0 with size 3");
  EXPECT_EQ(wrong(a, {all, at(-5)}), "index: index -5 is out of bounds for axis 1 with size 4");
  EXPECT_EQ(wrong(a, {at(0), at(0), at(0)}), "index: index: too many indices: 3 for 2 dimension(s)");
  EXPECT_EQ(wrong(a, {dots, dots}), "index: index: more than one ellipsis");
  EXPECT_EQ(wrong(a, {cut(none, none, 0)}), "value: index: slice step cannot be zero");
  EXPECT_EQ(wrong(ragged, {at(1), at(1)}), "index: index 1 is out of bounds for axis 1 of row 1 with size 1");
  EXPECT_EQ(wrong(ragged, {all, at(1)}), "index: index 1 is out of bounds for axis 1 of row 1 with size 1");
}

} // namespace
} // namespace dynd
