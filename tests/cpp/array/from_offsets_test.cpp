// Rows over content: without a copy where no owner can write the offsets, never out of bounds.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "fixture.h"

namespace dynd {
namespace {

using nd::from_offsets;
using testing::failure;
using testing::parse;
using testing::ramp;
using testing::text;
using testing::type_text;

nd::array offsets(const char *values, access_mode access = access_mode::immutable) {
  return parse("strided * int64", values, access);
}

std::string wrong(const char *values, const nd::array &content = ramp("6 * int32")) {
  return failure([&] { from_offsets(offsets(values), content); });
}

TEST(FromOffsets, SharesOffsetsAndContent) {
  nd::array o = offsets("[0, 2, 2, 5]"), content = ramp("6 * float64"), a = from_offsets(o, content);
  EXPECT_EQ(text(a), "[[0.0, 1.0], [], [2.0, 3.0, 4.0]]");
  EXPECT_EQ(type_text(a), "strided * var * float64");
  EXPECT_EQ(a->streams()[0].address, o.data<char>());
  EXPECT_EQ(a->values().address, content.data<char>());
  EXPECT_TRUE(a->flags & flag_ours);
  o = content = nd::array();
  EXPECT_EQ(text(a), "[[0.0, 1.0], [], [2.0, 3.0, 4.0]]") << "it keeps what it shares alive";
}

TEST(FromOffsets, CopiesOffsetsThatAnotherOwnerCanWrite) {
  nd::array o = offsets("[0, 2, 5]", access_mode::readwrite), a = from_offsets(o, ramp("6 * int32"));
  EXPECT_NE(a->streams()[0].address, o.data<char>());
  const_cast<int64_t *>(o.data<int64_t>())[2] = 1'000'000;
  EXPECT_EQ(text(a), "[[0, 1], [2, 3, 4]]");
}

TEST(FromOffsets, CopiesOffsetsWithGaps) {
  nd::index every_second{nd::index::slice, 0, {}, {}, 2};
  nd::array o = nd::at(offsets("[0, -1, 2, -1, 6]"), {&every_second, 1});
  EXPECT_EQ(text(from_offsets(o, ramp("6 * int32"))), "[[0, 1], [2, 3, 4, 5]]");
}

TEST(FromOffsets, TheAccessIsThatOfTheContent) {
  nd::array a = from_offsets(offsets("[0, 1]"), ramp("1 * int32", access_mode::readwrite));
  EXPECT_EQ(a->access, access_mode::readwrite);
  EXPECT_FALSE(a->flags & flag_ours);
}

TEST(FromOffsets, ContentOfMoreDimensions) {
  EXPECT_EQ(text(from_offsets(offsets("[1, 2, 3]"), ramp("3 * 2 * int8"))), "[[[2, 3]], [[4, 5]]]");
  nd::array rows = from_offsets(offsets("[0, 2, 2, 3]"), ramp("3 * int8"));
  nd::array deep = from_offsets(offsets("[0, 1, 3]"), rows);
  EXPECT_EQ(text(deep), "[[[0, 1]], [[], [2]]]");
  EXPECT_EQ(type_text(deep), "strided * var * var * int8");
}

TEST(FromOffsets, NoRowsAndNoContent) {
  EXPECT_EQ(text(from_offsets(offsets("[0]"), ramp("0 * int32"))), "[]");
  EXPECT_EQ(text(from_offsets(offsets("[3]"), ramp("6 * int32"))), "[]");
  EXPECT_EQ(text(from_offsets(offsets("[0, 0, 0]"), ramp("0 * int32"))), "[[], []]");
}

TEST(FromOffsets, WrongOffsetsAreErrors) {
  EXPECT_EQ(wrong("[]"), "value: from_offsets: offsets must have at least one element, the start of the first row");
  EXPECT_EQ(wrong("[-1, 2]"), "value: from_offsets: offset 0 is negative: -1");
  EXPECT_EQ(wrong("[0, 3, 2]"), "value: from_offsets: offsets decrease at row 1: 3 then 2");
  EXPECT_EQ(wrong("[0, 3, 7]"), "value: from_offsets: row 1 ends at 7, past the content's 6 elements");
  EXPECT_EQ(wrong("[7]"), "value: from_offsets: the rows begin at 7, past the content's 6 elements");
  EXPECT_EQ(wrong("[8, 9]"), "value: from_offsets: the rows begin at 8, past the content's 6 elements");
  EXPECT_EQ(failure([] { from_offsets(ramp("3 * int16"), ramp("6 * int32")); }),
            "type: from_offsets: offsets must be one-dimensional int64 or int32, not 3 * int16");
  EXPECT_EQ(wrong("[0, 1]", ramp("var * int32")),
            "type: from_offsets: content must have a strided dimension, not var * int32");
  EXPECT_EQ(wrong("[0, 1]", nd::array(1)), "type: from_offsets: content must have a strided dimension, not int32");
}

TEST(FromOffsets, TakesNarrowOffsetsAsTheyAre) {
  nd::array offsets{1, 3, 3, 6}, content = ramp("6 * int32");
  nd::array a = from_offsets(offsets, content);
  EXPECT_EQ(a->streams()[0].address, offsets->values().address) << "no copy";
  EXPECT_EQ(a->streams()[0].kind, slot_kind::offsets32);
  EXPECT_EQ(nd::values_text(a), "[[1, 2], [], [3, 4, 5]]");
  offsets_run run = rows_of(*a.get(), 0);
  ASSERT_TRUE(run);
  EXPECT_EQ(run.first(), 1);
  EXPECT_EQ(run.content(), 5);
  nd::array wide = parse("3 * var * int32", "[[7, 8], [], [1, 2, 3]]"),
            longer = parse("3 * var * int32", "[[7], [], [1]]");
  auto same = [&](const nd::array &b) {
    return same_row_lengths(run, a->streams()[0].owner, rows_of(*b.get(), 0), b->streams()[0].owner);
  };
  EXPECT_TRUE(same(wide));
  EXPECT_FALSE(same(longer));
  EXPECT_FALSE(known_same_slots(a->streams()[0], wide->streams()[0])) << "of another width";
}

TEST(Rows, AreTheSameWhereTheirLengthsAre) {
  nd::array a = parse("3 * var * int32", "[[1, 2], [], [3]]"), b = parse("3 * var * float64", "[[1, 2], [], [3]]");
  nd::array other = parse("3 * var * int32", "[[1], [2], [3]]");
  auto same = [](const nd::array &x, const nd::array &y) {
    return same_row_lengths(rows_of(*x.get(), 0), x->streams()[0].owner, rows_of(*y.get(), 0), y->streams()[0].owner);
  };
  EXPECT_TRUE(same(a, a));
  EXPECT_TRUE(same(a, b));
  EXPECT_FALSE(same(a, other));
  buffer *first = as_buffer(a->streams()[0].owner), *second = as_buffer(b->streams()[0].owner);
  EXPECT_TRUE(first->same_rows.load() == second || second->same_rows.load() == first) << "found once, remembered";
  EXPECT_TRUE(same(b, a));
  EXPECT_FALSE(same(b, other));
}

// The first rows, the last ones and some in between are alike; all of them are not.
TEST(Rows, WhatIsFoundOfSomeIsNotRememberedOfAll) {
  nd::array a = parse("4 * var * int32", "[[1, 2], [3], [4, 5, 6], [7]]");
  nd::array b = parse("4 * var * int32", "[[1, 2], [3], [4], [5]]"), c = parse("4 * var * int32", "[[], [3], [], [4]]");
  auto same = [](const nd::array &x, const nd::array &y) {
    return same_row_lengths(rows_of(*x.get(), 0), x->streams()[0].owner, rows_of(*y.get(), 0), y->streams()[0].owner);
  };
  auto rows = [](const nd::array &x, intptr_t begin, intptr_t end) {
    nd::index part{nd::index::slice, 0, begin, end, {}};
    return nd::at(x, {&part, 1});
  };
  EXPECT_TRUE(same(rows(a, 0, 2), rows(b, 0, 2)));
  EXPECT_FALSE(same(a, b));
  EXPECT_TRUE(same(rows(a, 3, 4), rows(b, 3, 4)) && same(rows(a, 1, 2), rows(c, 1, 2)));
  EXPECT_TRUE(same(rows(b, 3, 4), rows(c, 3, 4)) && same(rows(a, 0, 0), rows(c, 0, 0)));
  EXPECT_FALSE(same(b, a) || same(a, c) || same(c, b));
  EXPECT_FALSE(same(rows(a, 0, 3), rows(b, 0, 3)));
}

// total = total + chunk, again and again: what is remembered must not keep every chunk's offsets alive.
TEST(Rows, RememberingKeepsLittleAlive) {
  std::vector<nd::array> chunks; // alive all at once, so that they have different addresses
  for (int i = 0; i < 20; i++) {
    chunks.push_back(ramp("100 * var * int32"));
  }
  auto slots = [](const nd::array &x) { return x->streams()[0].owner; };
  auto compare = [&](const nd::array &x, const nd::array &y) {
    EXPECT_TRUE(same_row_lengths(rows_of(*x.get(), 0), slots(x), rows_of(*y.get(), 0), slots(y)));
  };
  auto by_falling_address = [&](const nd::array &x, const nd::array &y) {
    return x->streams()[0].address > y->streams()[0].address;
  };
  std::sort(chunks.begin(), chunks.end(), by_falling_address);
  nd::array total = chunks[0];
  chunks.erase(chunks.begin());
  for (const nd::array &chunk : chunks) {
    compare(total, chunk);
  }
  int kept = 0;
  for (const nd::array &chunk : chunks) {
    kept += as_buffer(slots(chunk))->refs.load() > 1;
  }
  EXPECT_LE(kept, 1);
}

} // namespace
} // namespace dynd
