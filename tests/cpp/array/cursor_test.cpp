// A cursor is at one place of an array: it enters dimensions, fields, options and pointers, and walks rows in C order.
#include "dynd/array/cursor.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/array/array.h"
#include "dynd/array/view.h"
#include "dynd/eval/evaluate.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::parse;
using testing::ramp;

int32_t int_at(const cursor &at) {
  EXPECT_EQ(at.scalar(), scalar_id::int32);
  return *reinterpret_cast<const int32_t *>(at.address());
}

// "0: 2, 1: 1" for the lengths of all rows of an axis, each with its index.
std::string lengths(const cursor &array, int axis) {
  std::string text;
  for_each_place(array, axis, [&](const cursor &row, const intptr_t *index) {
    text += (text.empty() ? "" : ", ") + row_text({index, size_t(axis)}) + ": " + std::to_string(row.size());
  });
  return text;
}

TEST(Cursor, EntersFieldsRowsAndScalars) {
  nd::array a = parse("2 * {id: int32, hits: var * int32}", "[{id: 7, hits: [1, 2]}, {id: 8, hits: []}]");
  stream_room outer, inner, innermost;
  dimension structs(cursor(*a.get(), outer));
  ASSERT_EQ(structs.size(), 2);
  cursor first = structs.enter(0, inner);
  EXPECT_EQ(first.kind(), type_kind::struct_);
  EXPECT_EQ(int_at(first.field(0)), 7);
  EXPECT_TRUE(first.field(1).is_dim() && first.field(1).is_var());
  dimension hits(first.field(1));
  EXPECT_EQ(hits.size(), 2);
  EXPECT_EQ(int_at(hits.enter(1, innermost)), 2);
  EXPECT_EQ(hits.stride(), 4);
  EXPECT_EQ(*reinterpret_cast<int32_t *>(hits.first()), 1);
  structs.next(inner); // `first` is at the second struct now
  EXPECT_EQ(int_at(first.field(0)), 8);
  EXPECT_EQ(first.field(1).size(), 0);
}

TEST(Cursor, KnowsWhatIsMissingAndReadsText) {
  nd::array a = parse("3 * ?string", "[\"ab\", null, \"\"]");
  stream_room outer, inner;
  dimension texts(cursor(*a.get(), outer));
  EXPECT_EQ(texts.enter(0, inner).inside().text(), "ab");
  EXPECT_FALSE(texts.enter(1, inner).is_there());
  EXPECT_TRUE(texts.enter(2, inner).is_there());
  EXPECT_EQ(texts.enter(2, inner).inside().text(), "");
}

TEST(Cursor, FollowsPointers) {
  nd::array a = nd::empty(ndt::type("2 * pointer[int32]"));
  stream_room outer, inner, content;
  dimension pointers(cursor(*a.get(), outer));
  EXPECT_TRUE(pointers.enter(1, inner).is_null());
  assign(a.get(), parse("2 * int32", "[5, 6]").get());
  cursor second = pointers.enter(1, inner);
  ASSERT_FALSE(second.is_null());
  EXPECT_EQ(int_at(second.target(content)), 6);
}

TEST(Cursor, SwapsBytes) {
  nd::array a = nd::empty(ndt::type("byteswap[int32]"));
  assign(a.get(), nd::array(0x01020304).get());
  stream_room room;
  char swapped[max_scalar_size];
  cursor at(*a.get(), room);
  EXPECT_EQ(*at.address(), 1);
  EXPECT_EQ(*reinterpret_cast<const int32_t *>(at.value(swapped)), 0x01020304);
}

TEST(Cursor, WalksRowsWithTheirIndices) {
  nd::array a = parse("2 * var * var * int32", "[[[1, 2], [3]], [[4, 5, 6]]]");
  stream_room room;
  cursor whole(*a.get(), room);
  EXPECT_EQ(lengths(whole, 0), "the rows: 2");
  EXPECT_EQ(lengths(whole, 1), "row 0: 2, row 1: 1");
  EXPECT_EQ(lengths(whole, 2), "row (0, 0): 2, row (0, 1): 1, row (1, 0): 3");
  std::vector<int32_t> values;
  for_each_place(whole, 3, [&](const cursor &at, const intptr_t *) { values.push_back(int_at(at)); });
  EXPECT_EQ(values, (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Cursor, StopsWhereItIsTold) {
  nd::array a = parse("3 * var * int32", "[[1], [2, 3], [4]]");
  stream_room room;
  int seen = 0;
  EXPECT_FALSE(for_each_place(cursor(*a.get(), room), 1, [&](const cursor &row, const intptr_t *) {
    seen++;
    return row.size() == 1;
  }));
  EXPECT_EQ(seen, 2);
}

TEST(Cursor, StepsThroughSlicesInsideRows) {
  nd::array a = parse("2 * var * int32", "[[1, 2, 3, 4], [5]]");
  nd::index all{nd::index::slice, 0, {}, {}, {}}, back{nd::index::slice, 0, {}, {}, -2};
  std::vector<nd::index> indices = {all, back};
  nd::array view = nd::at(a, indices);
  stream_room room;
  std::vector<int32_t> values;
  for_each_place(cursor(*view.get(), room), 2,
                 [&](const cursor &at, const intptr_t *) { values.push_back(int_at(at)); });
  EXPECT_EQ(values, (std::vector<int32_t>{4, 2, 5}));
}

TEST(Cursor, KnowsRowsWithoutMemory) {
  nd::array a = nd::empty(ndt::type("2 * var * int32"));
  stream_room outer, inner;
  dimension rows(cursor(*a.get(), outer));
  EXPECT_FALSE(rows.enter(0, inner).has_memory());
  assign(a.get(), parse("2 * var * int32", "[[], [1]]").get());
  EXPECT_TRUE(rows.enter(1, inner).has_memory());
}

TEST(Cursor, ReadsOnlyTheRowsOfALazyArray) {
  nd::array a = ramp("4 * var * float64");
  array_block *block = a.get();
  char *values = std::exchange(block->values().address, nullptr); // as a lazy array has it
  stream_room room;
  cursor rows = cursor::over_rows(*block, room);
  int64_t total = 0;
  for_each_place(rows, 1, [&](const cursor &row, const intptr_t *) { total += row.size(); });
  EXPECT_EQ(total, nd::count_elements(*block));
  block->values().address = values;
  EXPECT_GT(total, 0);
}

TEST(Cursor, CountsWhatDoesNotFollowEachOther) {
  nd::array a = parse("3 * var * 2 * int32", "[[[1, 2]], [[3, 4], [5, 6]], []]");
  EXPECT_EQ(a.element_count(), 6);
  nd::index back{nd::index::slice, 0, {}, {}, -1};
  EXPECT_EQ(nd::at(a, {&back, 1}).element_count(), 6);
  EXPECT_EQ(nd::empty(ndt::type("3 * {x: int32}")).element_count(), 3);
}

} // namespace
} // namespace dynd
