// The array handle: what it holds, who shares it, where its data is.
#include <complex>
#include <cstring>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include "allocations.h"
#include "dynd/call/functions.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::bits;
using testing::failure;
using testing::parse;
using testing::ramp;
using testing::text;
using testing::type_text;

intptr_t references(const nd::array &a) { return a->refs.load(); }

nd::array new_array(const char *type, std::vector<intptr_t> size, access_mode access) {
  return nd::empty(ndt::type(type), size.data(), access);
}

TEST(Fixture, ReadsWhatItPrints) {
  for (auto [type, values] : {std::pair{"int32", "7"},
                              {"3 * float64", "[1.5, -0.25, 1000000.0]"},
                              {"strided * strided * int8", "[[1, -2], [3, 4]]"},
                              {"strided * var * uint64", "[[18446744073709551615], [], [1, 2]]"},
                              {"var * 2 * var * bool", "[[[True], []], [[], [False, True]]]"},
                              {"2 * var * var * int16", "[[[1, 2], []], [[3]]]"},
                              {"0 * var * int32", "[]"}}) {
    std::string json = values;
    for (char &c : json) {
      c = c == 'T' ? 't' : c == 'F' ? 'f' : c;
    }
    nd::array a = parse(type, json);
    EXPECT_EQ(text(a), values);
    EXPECT_EQ(type_text(a), type);
  }
  EXPECT_EQ(text(parse("2 * float32", "[nan, -inf]")), "[nan, -inf]");
  EXPECT_EQ(text(ramp("2 * var * 2 * int32")), "[[[0, 1], [2, 3]], []]");
  EXPECT_THROW(parse("2 * int32", "[1]"), std::runtime_error);
  EXPECT_THROW(parse("2 * int32", "[1, 2] 3"), std::runtime_error);
  EXPECT_THROW(parse("strided * strided * int32", "[[1], [2, 3]]"), std::runtime_error);
  EXPECT_NE(bits(parse("float64", "0")), bits(parse("float64", "-0.0")));
}

TEST(ArrayHandle, FromValues) {
  EXPECT_EQ(nd::array(3).str(), "nd.array(3, type=\"int32\")");
  EXPECT_EQ(nd::array(2.5).str(), "nd.array(2.5, type=\"float64\")");
  EXPECT_EQ(nd::array(true).str(), "nd.array(True, type=\"bool\")");
  EXPECT_EQ((nd::array{1, 2, 3}).str(), "nd.array([1, 2, 3], type=\"strided * int32\")");
  EXPECT_EQ((nd::array{1.0, 2.5}).str(), "nd.array([1.0, 2.5], type=\"strided * float64\")");
}

TEST(ArrayHandle, AValueHasItsOwnType) {
  EXPECT_EQ(nd::array(0.5f).str(), "nd.array(0.5, type=\"float32\")");
  EXPECT_EQ(nd::array(int8_t(-3)).str(), "nd.array(-3, type=\"int8\")");
  EXPECT_EQ(nd::array(3u).str(), "nd.array(3, type=\"uint32\")");
  EXPECT_EQ(nd::array(int64_t(1) << 40).str(), "nd.array(1099511627776, type=\"int64\")");
  EXPECT_EQ(nd::array(1ll).str(), "nd.array(1, type=\"int64\")");
  EXPECT_EQ(nd::array(~size_t(0)).str(), "nd.array(18446744073709551615, type=\"uint64\")");
  EXPECT_EQ(nd::array(std::complex<float>(1, 2)).str(), "nd.array((1+2j), type=\"complex64\")");
  EXPECT_EQ(nd::array(std::complex<double>(0, 2)).str(), "nd.array(2j, type=\"complex128\")");
  EXPECT_EQ((nd::array{1.5f, 2.5f}).str(), "nd.array([1.5, 2.5], type=\"strided * float32\")");
  EXPECT_EQ((nd::array{true, false}).str(), "nd.array([True, False], type=\"strided * bool\")");
  EXPECT_EQ(nd::array({3, 6, 9}).str(), "nd.array([3, 6, 9], type=\"strided * int32\")");
}

TEST(ArrayHandle, TextIsAString) {
  EXPECT_EQ(nd::array("text").str(), "nd.array(\"text\", type=\"string\")");
  EXPECT_EQ(nd::array(std::string("a\0b", 3)).str(), "nd.array(\"a\\x00b\", type=\"string\")");
  EXPECT_EQ(nd::array(std::string_view()).str(), "nd.array(\"\", type=\"string\")");
  const char *pointer = "\xc3\xa9";
  EXPECT_EQ(nd::array(pointer).str(), "nd.array(\"\xc3\xa9\", type=\"string\")");
  EXPECT_EQ(failure([] { nd::array("\xff"); }), "value: array: the text is not UTF-8");
}

// A pointer would become a bool.
static_assert(!std::is_constructible_v<nd::array, int *> && !std::is_constructible_v<nd::array, void *> &&
              !std::is_constructible_v<nd::array, std::nullptr_t> && !std::is_constructible_v<nd::array, long double>);

TEST(ArrayHandle, CopyingSharesTheArray) {
  nd::array a{1, 2, 3};
  EXPECT_EQ(references(a), 1);
  {
    nd::array b = a;
    EXPECT_EQ(b.get(), a.get());
    EXPECT_EQ(references(a), 2);
    nd::array c = std::move(b);
    EXPECT_EQ(references(a), 2);
    EXPECT_FALSE(b);
    c = a;
    EXPECT_EQ(references(a), 2);
  }
  EXPECT_EQ(references(a), 1);
  EXPECT_FALSE(nd::array());
}

TEST(ArrayHandle, AccessDecidesWhatMayBeLazyAndBeWritten) {
  for (access_mode access : {access_mode::immutable, access_mode::readonly, access_mode::readwrite}) {
    nd::array a = new_array("2 * int32", {2}, access);
    EXPECT_EQ(a->access, access);
    EXPECT_EQ(bool(a->flags & flag_ours), access == access_mode::immutable);
    EXPECT_TRUE(a->flags & flag_dense);
  }
}

TEST(ArrayHandle, SmallDataIsInTheBlockLargeDataIsAligned) {
  for (intptr_t n : {0, 1, 5, 32}) {
    nd::array small = new_array("strided * float64", {n}, access_mode::readwrite);
    EXPECT_EQ(small->values().owner, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(small.data<char>()) % 16, 0u);
  }
  for (intptr_t n : {33, 1000, 100000}) {
    nd::array large = new_array("strided * float64", {n}, access_mode::readwrite);
    ASSERT_NE(large->values().owner, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(large.data<char>()) % 64, 0u);
    std::memset(const_cast<char *>(large.data<char>()), 1, size_t(n) * 8);
  }
}

// A thread keeps the memory of small arrays, and gives it back when it ends; what goes later goes to the system.
TEST(ArrayHandle, AnArrayMayOutliveTheMemoryOfItsThread) {
  int64_t live = testing::live_allocations();
  std::thread([] {
    static thread_local nd::array last; // destroyed after all that is made below
    last = nd::array();
    nd::array(1.0);
    last = nd::array(2.0);
  }).join();
  EXPECT_EQ(testing::live_allocations(), live);
}

TEST(ArrayHandle, SizesAndStrides) {
  nd::array a = new_array("strided * 3 * int16", {4, 3}, access_mode::immutable);
  EXPECT_EQ(a.ndim(), 2);
  EXPECT_EQ(a.size(0), 4);
  EXPECT_EQ(a.size(1), 3);
  EXPECT_EQ(a->value_strides()[0], 6);
  EXPECT_EQ(a->value_strides()[1], 2);
  EXPECT_EQ(a.element_count(), 12);
  nd::array ragged = ramp("5 * var * int32");
  EXPECT_EQ(ragged.size(1), -1);
  EXPECT_EQ(ragged.element_count(), 8);
  EXPECT_EQ(ramp("2 * var * 3 * var * int8").element_count(), 8);
  EXPECT_EQ(parse("var * var * int8", "[[1], [], [2, 3]]").element_count(), 3);
}

TEST(ArrayHandle, WrongSizesAreErrors) {
  auto make = [](const char *type, std::vector<intptr_t> size) {
    return failure([&] { new_array(type, size, access_mode::readwrite); });
  };
  EXPECT_EQ(make("3 * int32", {4}), "value: empty: size 4 of axis 0 does not fit 3 * int32");
  EXPECT_EQ(make("strided * int32", {-1}), "value: empty: size -1 of axis 0 does not fit strided * int32");
  EXPECT_EQ(make("strided * var * int32", {-1, 1}),
            "value: empty: size -1 of axis 0 does not fit strided * var * int32");
  EXPECT_EQ(failure([] { nd::empty(ndt::type("3 * strided * string")); }),
            "type: empty: expected a type with the size of every dimension (\"3 * 4 * float64\"), not 3 * strided * "
            "string");
  EXPECT_EQ(failure([] { nd::empty(ndt::type("{x: strided * int8}")); }),
            "value: empty: the size of a strided dimension is not known: {x: strided * int8}");
  EXPECT_EQ(failure([] { nd::empty(ndt::type()); }), "type: empty: expected a type, not None");
  intptr_t huge = intptr_t(1) << 40;
  EXPECT_EQ(make("strided * strided * int32", {huge, huge}),
            "memory: array is too large: sizes (1099511627776, 1099511627776)");
  EXPECT_EQ(make("strided * int64", {intptr_t(1) << 61}), "memory: array is too large: sizes (2305843009213693952)");
  EXPECT_EQ(make("strided * strided * strided * int32", {huge, 0, huge}), "no error") << "nothing is in it";
  EXPECT_NE(make("strided * int8", {intptr_t(1) << 60}).find("memory: cannot allocate"), std::string::npos);
}

TEST(ArrayHandle, EmptyOfAnyType) {
  EXPECT_EQ(nd::empty(ndt::type("2 * 3 * int8")).element_count(), 6);
  EXPECT_EQ(nd::empty(ndt::type("int8"), nullptr, access_mode::immutable)->access, access_mode::immutable);
  nd::array fields = new_array("strided * {s: string, x: strided * ?int8}", {2, 1}, access_mode::readwrite);
  EXPECT_EQ(text(fields), "[{\"s\": \"\", \"x\": [None]}, {\"s\": \"\", \"x\": [None]}]");
  for (access_mode access : {access_mode::immutable, access_mode::readonly}) {
    nd::array texts = new_array("strided * string", {2}, access);
    EXPECT_EQ(text(texts), "[\"\", \"\"]");
    EXPECT_EQ(texts->access, access);
  }
}

TEST(ArrayHandle, WhatIsEmptyCanBeAssigned) {
  nd::array texts = new_array("strided * string", {2}, access_mode::readwrite);
  nd::assign(texts, parse("2 * string", "[\"one\", \"two\"]"));
  nd::assign(texts, "longer than before");
  EXPECT_EQ(text(texts), "[\"longer than before\", \"longer than before\"]");
  nd::array rows = nd::empty(ndt::type("2 * var * int32"));
  EXPECT_EQ(text(rows), "[[], []]");
  nd::assign(rows, parse("2 * var * int32", "[[1, 2], [3]]"));
  EXPECT_EQ(text(rows), "[[1, 2], [3]]");
}

TEST(ArrayHandle, LongArraysArePrintedShort) {
  EXPECT_EQ(text(ramp("1000 * int32")).find("..."), std::string::npos);
  EXPECT_EQ(text(ramp("1001 * int32")), "[0, 1, 2, ..., 998, 999, 1000]");
  EXPECT_EQ(text(nd::empty(ndt::type("1001 * 0 * int32"))), "[[], [], [], ..., [], [], []]") << "by what is printed";
  EXPECT_EQ(text(nd::empty(ndt::type("4611686018427387904 * 0 * int32"))), "[[], [], [], ..., [], [], []]");
  EXPECT_EQ(text(nd::empty(ndt::type("1000 * 0 * int32"))).find("..."), std::string::npos);
  EXPECT_EQ(text(nd::empty(ndt::type("(2000 * ?int32)"))), "([None, None, None, ..., None, None, None],)");
}

TEST(ArrayHandle, FloatsPrintAsPythonPrintsThem) {
  EXPECT_EQ(text(parse("5 * float64", "[0.1, 1e16, 1e-5, -0.0, 123456789012345]")),
            "[0.1, 1e+16, 1e-05, -0.0, 123456789012345.0]");
  EXPECT_EQ(text(parse("2 * float32", "[0.1, 16777216]")), "[0.1, 16777216.0]");
}

} // namespace
} // namespace dynd
