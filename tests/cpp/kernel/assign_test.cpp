// Assignment between all kinds of elements and dimensions: values, messages, and what stands there after an error.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "allocations.h"
#include "dynd/array/layout.h"
#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/eval/frame.h"
#include "dynd/kernel/assign.h"
#include "dynd/memory/pool.h"
#include "dynd/ops/isa.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::failure;
using testing::parse;
using testing::text;

nd::array empty_of(const char *type) {
  ndt::type t(type);
  intptr_t size[max_type_streams];
  std::fill_n(size, max_type_streams, -1);
  return nd::array(new_empty(t.get(), size));
}

/// The source's values in a new array of the whole type.
std::string converted(const char *to, const char *from, const char *values, error_mode mode = error_mode::fractional) {
  nd::array src = parse(from, values);
  return text(nd::array(convert_values(src.get(), access_mode::immutable, ndt::type(to), mode)));
}

std::string refused(const char *to, const char *from, const char *values, error_mode mode = error_mode::fractional) {
  return failure([&] { converted(to, from, values, mode); });
}

TEST(AssignElements, CopiesOfEveryType) {
  struct {
    const char *type, *values, *printed;
  } cases[] = {
      {"3 * string", R"(["a", "", "longer text"])", R"(["a", "", "longer text"])"},
      {"2 * bytes", R"(["a", "bc"])", R"([b"a", b"bc"])"},
      {"4 * ?int32", "[1, null, 3, null]", "[1, None, 3, None]"},
      {"2 * ?string", R"([null, "x"])", R"([None, "x"])"},
      {"2 * {x: int32, y: float64}", "[{x: 1, y: 0.5}, {x: 2, y: 1.5}]", R"([{"x": 1, "y": 0.5}, {"x": 2, "y": 1.5}])"},
      {"2 * (int32, string)", R"([(1, "one"), (2, "two")])", R"([(1, "one"), (2, "two")])"},
      {"2 * pointer[int32]", "[7, 8]", "[7, 8]"},
      {"2 * byteswap[int16]", "[1, -2]", "[1, -2]"},
      {"2 * var * string", R"([["a"], ["b", "cc"]])", R"([["a"], ["b", "cc"]])"},
      {"3 * {id: int32, hits: var * ?float32}", "[{id: 1, hits: [0.5, null]}, {id: 2, hits: []}, {id: 3, hits: [1]}]",
       R"([{"id": 1, "hits": [0.5, None]}, {"id": 2, "hits": []}, {"id": 3, "hits": [1.0]}])"},
      {"2 * ?{a: ?{b: var * pointer[string]}}", R"([null, {a: {b: ["x", "y"]}}])",
       R"([None, {"a": {"b": ["x", "y"]}}])"},
      {"var * var * (2 * int8, ?3 * string)", R"([[([1, 2], null)], []])", R"([[([1, 2], None)], []])"},
  };
  for (const auto &c : cases) {
    nd::array a = parse(c.type, c.values);
    EXPECT_EQ(text(a), c.printed) << c.type;
    nd::array copy = nd::copy(a, access_mode::immutable);
    EXPECT_EQ(text(copy), c.printed) << c.type;
    EXPECT_EQ(copy.type().str(), c.type);
    nd::array target = empty_of(c.type[0] == 'v' ? "var * var * (2 * int8, ?3 * string)" : c.type);
    nd::assign(target, a);
    EXPECT_EQ(text(target), c.printed) << c.type;
    nd::assign(target, a); // once more, into what has memory now
    EXPECT_EQ(text(target), c.printed) << c.type;
    nd::array strided = nd::at(a, {{nd::index{nd::index::slice, 0, {}, {}, -1}}});
    if (c.type[0] != 'v') {
      EXPECT_EQ(text(nd::at(nd::copy(strided, access_mode::immutable), {{nd::index{nd::index::slice, 0, {}, {}, -1}}})),
                c.printed);
    }
  }
}

TEST(AssignElements, StringsAndNumbers) {
  EXPECT_EQ(converted("3 * float32", "3 * string", R"(["3.25", "-1000", "1e5"])"), "[3.25, -1000.0, 100000.0]");
  EXPECT_EQ(converted("4 * int64", "4 * string", R"([" 172 ", "-139", "+12345", "-9223372036854775808"])"),
            "[172, -139, 12345, -9223372036854775808]");
  EXPECT_EQ(converted("3 * var * int32", "3 * var * string",
                      R"([["172", "-139", "12345", "-1111", "284"], ["989767"], ["1", "2", "4"]])"),
            "[[172, -139, 12345, -1111, 284], [989767], [1, 2, 4]]");
  EXPECT_EQ(converted("8 * bool", "8 * string", R"(["true", "False", "1", "0", "on", "off", "yes", "no"])"),
            "[True, False, True, False, True, False, True, False]");
  EXPECT_EQ(converted("3 * string", "3 * float64", "[0.5, nan, -1]"), R"(["0.5", "nan", "-1.0"])");
  EXPECT_EQ(converted("2 * string", "2 * bool", "[true, false]"), R"(["True", "False"])");
  EXPECT_EQ(converted("int32", "string", R"("-12356blarg")", error_mode::nocheck), "-12356");
  EXPECT_EQ(converted("3 * bool", "3 * string", R"(["flase", "", "false"])", error_mode::nocheck),
            "[True, False, False]");
  EXPECT_EQ(refused("2 * int32", "2 * string", R"(["1", "12X"])"),
            "value: cannot cast string \"12X\" to int32 at index (1,)");
  EXPECT_EQ(refused("int8", "string", R"("128")"), "overflow: overflow converting string \"128\" to int8");
  EXPECT_EQ(converted("int8", "string", R"("-128")"), "-128");
  EXPECT_EQ(refused("uint8", "string", R"("-1")"), "overflow: overflow converting string \"-1\" to uint8");
  for (const char *type : {"int8", "uint8", "float32"}) {
    for (const char *text : {"-+0", "+-0", "--0", "++0", "- 0", "-"}) {
      std::string quoted = '"' + std::string(text) + '"';
      EXPECT_EQ(refused(type, "string", quoted.c_str()), "value: cannot cast string " + quoted + " to " + type);
    }
  }
  EXPECT_EQ(refused("bool", "string", R"("maybe")"), "value: cannot cast string \"maybe\" to bool");
  EXPECT_EQ(refused("float64", "string", R"("1e400")"), "overflow: overflow converting string \"1e400\" to float64");
  EXPECT_EQ(converted("float64", "string", R"("1e-400")"), "0.0");
  EXPECT_EQ(converted("2 * bytes", "2 * string", R"(["a", "b"])"), R"([b"a", b"b"])");
  EXPECT_EQ(converted("2 * string", "2 * bytes", R"(["a", "b"])"), R"(["a", "b"])");
  EXPECT_EQ(refused("string", "bytes", "\"\xff\""), "value: the bytes are not UTF-8 text");
  EXPECT_EQ(refused("bytes", "int32", "1"), "type: astype: cannot assign int32 to bytes");
}

TEST(AssignElements, ComplexNumbersAsTheyArePrinted) {
  EXPECT_EQ(converted("6 * complex128", "6 * string",
                      R"-(["(1+2j)", "(1 + 2j)", "(1 + -2j)", " 1.5 - 2e-1j ", "-3j", "(nan + infj)"])-"),
            "[(1+2j), (1+2j), (1-2j), (1.5-0.2j), -3j, (nan+infj)]");
  EXPECT_EQ(converted("3 * complex64", "3 * string", R"-(["(-0.5 - 2j)", "( 7 )", "1e+2+1e+3j"])-"),
            "[(-0.5-2j), (7+0j), (100+1000j)]");
  for (const char *text : {"1 - -2j", "1 + + 2j", "(1 + 2j", "1 2j", "+-2j", "1 + j2"}) {
    std::string quoted = '"' + std::string(text) + '"';
    EXPECT_EQ(refused("complex128", "string", quoted.c_str()),
              "value: cannot cast string " + quoted + " to complex128");
  }
}

TEST(AssignElements, NumbersOutOfRange) {
  const char *texts = R"(["1e400", "-1e400", "1e-400", "0.1e400", "100e-400"])";
  EXPECT_EQ(converted("5 * float64", "5 * string", texts, error_mode::nocheck), "[inf, -inf, 0.0, inf, 0.0]");
  EXPECT_EQ(converted("5 * float32", "5 * string", texts, error_mode::nocheck), "[inf, -inf, 0.0, inf, 0.0]");
  EXPECT_EQ(converted("5 * float16", "5 * string", texts, error_mode::nocheck), "[inf, -inf, 0.0, inf, 0.0]");
  EXPECT_EQ(converted("2 * float16", "2 * string", R"(["1e5", "-7e4x"])", error_mode::nocheck), "[inf, -inf]");
  EXPECT_EQ(converted("2 * complex128", "2 * string", R"(["1e400", "1-1e400j"])", error_mode::nocheck),
            "[(inf+0j), (1-infj)]");
  EXPECT_EQ(converted("2 * float64", "2 * string", R"(["1e-99999999999", "0e99999999999"])"), "[0.0, 0.0]");
  EXPECT_EQ(refused("float64", "string", R"("0.1e400")"),
            "overflow: overflow converting string \"0.1e400\" to float64");
  const char *integers = R"(["128", "99999999999999999999", "-99999999999999999999", "18446744073709551616"])";
  EXPECT_EQ(converted("4 * int8", "4 * string", integers, error_mode::nocheck), "[-128, -1, 1, 0]");
  EXPECT_EQ(converted("4 * int64", "4 * string", integers, error_mode::nocheck),
            "[128, 7766279631452241919, -7766279631452241919, 0]");
  EXPECT_EQ(converted("4 * uint64", "4 * string", integers, error_mode::nocheck),
            "[128, 7766279631452241919, 10680464442257309697, 0]");
  EXPECT_EQ(refused("int64", "string", R"("18446744073709551616")"),
            "overflow: overflow converting string \"18446744073709551616\" to int64");
}

TEST(AssignElements, MissingValues) {
  EXPECT_EQ(converted("3 * ?float64", "3 * ?int32", "[1, null, 3]"), "[1.0, None, 3.0]");
  EXPECT_EQ(converted("3 * ?int32", "3 * int8", "[1, 2, 3]"), "[1, 2, 3]");
  EXPECT_EQ(converted("2 * int32", "2 * ?int32", "[1, 2]"), "[1, 2]");
  EXPECT_EQ(refused("3 * int32", "3 * ?int32", "[1, null, 3]"),
            "overflow: cannot assign an NA value to a non-option type at index (1,)");
  EXPECT_EQ(converted("4 * ?int32", "4 * string", R"(["1", "NA", "", "null"])"), "[1, None, None, None]");
  EXPECT_EQ(converted("4 * ?int32", "4 * ?string", R"(["1", "NA", null, ""])"), "[1, None, None, None]");
  EXPECT_EQ(converted("2 * var * ?int32", "2 * var * ?string", R"([["1", null], ["null"]])"), "[[1, None], [None]]");
  EXPECT_EQ(converted("3 * ?string", "3 * string", R"(["1", "NA", ""])"), R"(["1", "NA", ""])");
  EXPECT_EQ(converted("3 * ?string", "3 * ?string", R"(["1", "NA", null])"), R"(["1", "NA", None])");
  EXPECT_EQ(refused("2 * int32", "2 * ?string", R"(["1", "NA"])"),
            "value: cannot cast string \"NA\" to int32 at index (1,)");
  EXPECT_EQ(converted("3 * ?string", "3 * ?int32", "[1, null, 3]"), R"(["1", None, "3"])");
}

TEST(AssignElements, StructsByNameTuplesByPlace) {
  EXPECT_EQ(converted("2 * {y: float64, x: int64}", "2 * {x: int32, y: int8}", "[{x: 1, y: 2}, {x: 3, y: 4}]"),
            R"([{"y": 2.0, "x": 1}, {"y": 4.0, "x": 3}])");
  EXPECT_EQ(converted("(float64, string)", "(int32, int32)", "(1, 2)"), R"((1.0, "2"))");
  EXPECT_EQ(converted("{a: int8, b: int8}", "(int32, int32)", "(1, 2)"), R"({"a": 1, "b": 2})");
  EXPECT_EQ(refused("{x: int32, z: int32}", "{x: int32, y: int32}", "{x: 1, y: 2}"),
            "type: astype: cannot assign {x: int32, y: int32} to {x: int32, z: int32}: there is no field z");
  EXPECT_EQ(refused("{x: int32}", "{x: int32, y: int32}", "{x: 1, y: 2}"),
            "type: astype: cannot assign {x: int32, y: int32} to {x: int32}: 2 field(s) for 1");
  EXPECT_EQ(refused("int32", "{x: int32}", "{x: 1}"), "type: astype: cannot assign {x: int32} to int32");
  EXPECT_EQ(refused("2 * {x: int8, y: int8}", "2 * {x: int32, y: int32}", "[{x: 1, y: 2}, {x: 3, y: 400}]"),
            "overflow: overflow while assigning int32 value 400 to int8 at index (1, \"y\")");
}

TEST(AssignElements, PointersAndBytesInTheOtherOrder) {
  EXPECT_EQ(converted("3 * int64", "3 * pointer[int32]", "[1, 2, 3]"), "[1, 2, 3]");
  EXPECT_EQ(converted("3 * pointer[string]", "3 * float64", "[1, 2, 3]"), R"(["1.0", "2.0", "3.0"])");
  EXPECT_EQ(converted("3 * float64", "3 * byteswap[int16]", "[1, -2, 300]"), "[1.0, -2.0, 300.0]");
  EXPECT_EQ(converted("3 * byteswap[float32]", "3 * int16", "[1, -2, 300]"), "[1.0, -2.0, 300.0]");
  EXPECT_EQ(converted("3 * byteswap[int64]", "3 * byteswap[float32]", "[1, -2, 300]"), "[1, -2, 300]");
  EXPECT_EQ(converted("3 * string", "3 * byteswap[int32]", "[1, -2, 300]"), R"(["1", "-2", "300"])");
  EXPECT_EQ(converted("3 * int32", "3 * byteswap[int32]", "[1, -2, 300]"), "[1, -2, 300]");
  EXPECT_EQ(refused("3 * int8", "3 * byteswap[int16]", "[1, -2, 300]"),
            "overflow: overflow while assigning int16 value 300 to int8 at index (2,)");
  EXPECT_EQ(refused("2 * int32", "2 * ?pointer[int32]", "[1, null]"),
            "overflow: cannot assign an NA value to a non-option type at index (1,)");
}

TEST(AssignElements, PointersToNothing) {
  nd::array null = empty_of("2 * pointer[int32]");
  EXPECT_EQ(text(nd::copy(null, access_mode::immutable)), "[None, None]");
  nd::array target = empty_of("2 * pointer[int64]");
  nd::assign(target, nd::array(5));
  nd::assign(target, null);
  EXPECT_EQ(text(target), "[None, None]");
  EXPECT_EQ(failure([&] { nd::assign(testing::ramp("2 * int32", access_mode::readwrite), null); }),
            "value: a pointer points to nothing at index (0,)");
  nd::array optional = parse("3 * pointer[?int32]", "[1, null, 3]");
  EXPECT_EQ(text(nd::copy(optional, access_mode::immutable)), "[1, None, 3]");
  EXPECT_EQ(converted("3 * ?int64", "3 * pointer[?int32]", "[1, null, 3]"), "[1, None, 3]");
}

// What an assignment has taken for its values is given back where one of them is refused.
TEST(AssignElements, RefusedValuesKeepNoPlaces) {
  struct {
    const char *type, *source, *value;
    int stream; // whose owner is the pool
  } cases[] = {{"2 * pointer[int8]", "2 * int32", "[300, 300]", 0},
               {"1 * ?var * int8", "1 * ?var * int32", "[[1, 300]]", 1}};
  for (auto &c : cases) {
    nd::array dst = empty_of(c.type), src = parse(c.source, c.value);
    for (int i = 0; i < 100; i++) {
      EXPECT_NE(failure([&] { nd::assign(dst, src); }), "");
    }
    EXPECT_LE(as_pool(dst->streams()[c.stream].owner)->used(), 8) << c.type;
  }
}

// Rows that have no memory get it from the assignment; those that have it keep their length.
TEST(AssignElements, RowsGetMemory) {
  nd::array a = empty_of("2 * var * int32");
  EXPECT_EQ(text(a), "[[], []]");
  nd::assign(a, nd::array(9));
  EXPECT_EQ(text(a), "[[9], [9]]");
  nd::array b = empty_of("2 * var * int32");
  nd::assign(b, parse("2 * var * int32", "[[1, 2], [4]]"));
  EXPECT_EQ(text(b), "[[1, 2], [4]]");
  nd::assign(b, nd::array(9));
  EXPECT_EQ(text(b), "[[9, 9], [9]]");
  EXPECT_EQ(failure([&] { nd::assign(b, parse("2 * var * int32", "[[1, 2], [4, 5]]")); }),
            "broadcast: assign: cannot broadcast row 1: lengths 2 and 1");
  EXPECT_EQ(text(b), "[[9, 9], [9]]");
  nd::array c = empty_of("3 * var * var * string");
  nd::assign(c, parse("3 * var * 2 * int8", "[[[1, 2]], [], [[3, 4], [5, 6]]]"));
  EXPECT_EQ(text(c), R"([[["1", "2"]], [], [["3", "4"], ["5", "6"]]])");
  nd::array d = empty_of("2 * 3 * float64");
  nd::assign(d, parse("2 * var * string", R"([["1", "2", "3"], ["4"]])"));
  EXPECT_EQ(text(d), "[[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]]");
}

TEST(AssignElements, ViewsShareTheMemoryOfRows) {
  nd::array a = empty_of("3 * var * {x: int32, s: string}");
  // A row taken out of an array is a view of what it has: nothing.
  EXPECT_EQ(
      failure([&] {
        nd::assign(nd::at(a, 1), parse("2 * {x: int32, s: string}", R"([{x: 1, s: "one"}, {x: 2, s: "two"}])"));
      }),
      "broadcast: assign: cannot broadcast 2 * {x: int32, s: string} (2,) to strided * {x: int32, s: string} (0,)");
  nd::array rows = nd::at(a, {{nd::index{nd::index::slice, 0, 1, 2, {}}}});
  nd::assign(rows, parse("1 * var * {x: int32, s: string}", R"([[{x: 1, s: "one"}, {x: 2, s: "two"}]])"));
  EXPECT_EQ(text(a), R"([[], [{"x": 1, "s": "one"}, {"x": 2, "s": "two"}], []])");
  nd::assign(nd::field(rows, "s"), parse("string", "\"longer than before\""));
  EXPECT_EQ(text(nd::field(a, "s")), R"([[], ["longer than before", "longer than before"], []])");
}

TEST(AssignElements, NothingIsLostWhereItFails) {
  nd::array a = parse("3 * {x: int8, y: ?string}", R"([{x: 1, y: "a"}, {x: 2, y: null}, {x: 3, y: "c"}])",
                      access_mode::readwrite);
  std::string before = text(a);
  nd::array b = parse("3 * {y: ?string, x: int32}", R"([{y: "b", x: 9}, {y: "b", x: 300}, {y: "b", x: 9}])");
  EXPECT_EQ(failure([&] { nd::assign(a, b); }),
            "overflow: overflow while assigning int32 value 300 to int8 at index (1, \"x\")");
  EXPECT_EQ(text(a), before);
  EXPECT_EQ(failure([&] { nd::assign(a, parse("2 * {x: int8, y: string}", R"([{x: 1, y: "a"}, {x: 1, y: "a"}])")); }),
            "broadcast: assign: cannot broadcast 2 * {x: int8, y: string} (2,) to 3 * {x: int8, y: ?string} (3,)");
  EXPECT_EQ(text(a), before);
  nd::array c = parse("2 * {h: var * int8}", "[{h: [1, 2]}, {h: [3]}]", access_mode::readwrite);
  EXPECT_EQ(failure([&] { nd::assign(c, parse("2 * {h: var * int8}", "[{h: [5, 6]}, {h: [7, 8]}]")); }),
            "broadcast: assign: cannot broadcast row 1: lengths 2 and 1");
  EXPECT_EQ(text(c), R"([{"h": [1, 2]}, {"h": [3]}])");
}

TEST(AssignElements, OverlapGivesWhatACopyWould) {
  nd::array a = parse("4 * string", R"(["a", "b", "c", "d"])", access_mode::readwrite);
  nd::array to = nd::at(a, {{nd::index{nd::index::slice, 0, 1, 4, {}}}});
  nd::array from = nd::at(a, {{nd::index{nd::index::slice, 0, 0, 3, {}}}});
  nd::assign(to, from);
  EXPECT_EQ(text(a), R"(["a", "a", "b", "c"])");
  nd::array s = parse("3 * {x: int32, y: int32}", "[{x: 1, y: 2}, {x: 3, y: 4}, {x: 5, y: 6}]", access_mode::readwrite);
  nd::assign(s, nd::at(s, {{nd::index{nd::index::slice, 0, {}, {}, -1}}}));
  EXPECT_EQ(text(nd::field(s, "x")), "[5, 3, 1]");
}

// ---- the factory itself -------------------------------------------------------------------------------------------

/// What is assigned where a kernel is called at whole operands: numbers of one stream each.
element_assignment whole_operands(ndt::type to, const dynd_arrmeta *to_meta, ndt::type from,
                                  const dynd_arrmeta *from_meta) {
  return {{{to.get()}, to_meta, 0}, {{from.get()}, from_meta, 1}, 2, error_mode::fractional};
}

int call(const ckernel_builder &kernel, void *dst, intptr_t dst_stride, const void *src, intptr_t src_stride,
         size_t count, dynd_frame &frame) {
  char *stream[] = {static_cast<char *>(dst), static_cast<char *>(const_cast<void *>(src))};
  intptr_t stride[] = {dst_stride, src_stride};
  auto *root = reinterpret_cast<const ckernel_prefix *>(kernel.data);
  return reinterpret_cast<streams_strided_t>(root->function)(stream, stride, count, root, &frame);
}

TEST(AssignFactory, NumbersNeedNoLayout) {
  ckernel_builder kernel;
  make_assignment_kernel(kernel, 0, whole_operands(ndt::type("float32"), nullptr, ndt::type("int64"), nullptr),
                         kernel_request_strided);
  work_frame frame(kernel.scratch_size);
  int64_t src = 1234;
  float dst = 0;
  EXPECT_EQ(call(kernel, &dst, 0, &src, 0, 1, frame), 0);
  EXPECT_EQ(dst, 1234.0f);
  kernel.reset();
  make_assignment_kernel(kernel, 0, whole_operands(ndt::type("int8"), nullptr, ndt::type("int32"), nullptr),
                         kernel_request_strided);
  int32_t values[3] = {1, 300, 3};
  int8_t bytes[3] = {};
  EXPECT_EQ(call(kernel, bytes, 1, values, 4, 3, frame), dynd_error_overflow);
  EXPECT_EQ(std::string(frame.text), "overflow while assigning int32 value 300 to int8");
  EXPECT_EQ(frame.state.index, 1u);
}

// It has scratch and what the kernel asks for, and nothing of the engine's own.
TEST(AssignFactory, AFrameOfUserCode) {
  ckernel_builder kernel;
  ndt::type to("{x: int8}"), from("{x: int32}");
  make_assignment_kernel(kernel, 0, whole_operands(to, nullptr, from, nullptr), kernel_request_strided);
  dynd_frame frame;
  ASSERT_EQ(dynd_frame_construct(&frame, &kernel), dynd_ok);
  EXPECT_NE(frame.temp(&frame, 100), nullptr);
  int32_t values[3] = {1, 300, 3};
  int8_t bytes[3] = {};
  EXPECT_EQ(call(kernel, bytes, 1, values, 4, 3, frame), dynd_error_overflow);
  EXPECT_EQ(std::string(frame.text), "field x: overflow while assigning int32 value 300 to int8");
  dynd_frame_destruct(&frame);
}

TEST(AssignFactory, InvalidRequests) {
  for (int request : {int(kernel_request_single), int(kernel_request_single_multistride), 9, -1}) {
    EXPECT_EQ(failure([&] {
                ckernel_builder kernel;
                make_assignment_kernel(kernel, 0,
                                       whole_operands(ndt::type("int8"), nullptr, ndt::type("int32"), nullptr),
                                       kernel_request_t(request));
              }),
              "value: assignment: a kernel is made for strided calls, not for request " + std::to_string(request));
  }
}

// Every request gives the same values, for every order of the axes.
TEST(AssignFactory, RequestsAgree) {
  int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (auto &order : orders) {
    for (bool backwards : {false, true}) {
      nd::array base = testing::ramp("40 * 3 * 50 * int32");
      nd::array src = nd::transposed(base, order);
      if (backwards) {
        nd::index back{nd::index::slice, 0, {}, {}, -1};
        nd::index all[] = {back, back, back};
        src = nd::at(src, all);
      }
      nd::array expected = nd::copy(src, access_mode::immutable);
      for (kernel_request_t request : {kernel_request_strided, kernel_request_strided_multistride}) {
        intptr_t size[3] = {src.size(0), src.size(1), src.size(2)};
        nd::array dst = nd::empty(ndt::type("strided * strided * strided * int32"), size);
        ckernel_builder kernel;
        arrmeta_of to(*dst.get()), from(*src.get());
        // It is called along one more dimension, outside of the type's.
        make_assignment_kernel(kernel, 0, whole_operands(dst.type(), to.get(), src.type(), from.get()), request);
        work_frame frame(kernel.scratch_size);
        ASSERT_EQ(call(kernel, dst->values().address, 0, src->values().address, 0, 1, frame), dynd_ok);
        EXPECT_EQ(text(dst), text(expected)) << request;
      }
    }
  }
}

// Dimensions of one size are ordered and joined where the request allows it; else each is a level.
TEST(AssignFactory, PlansWhatIsStrided) {
  nd::array a = testing::ramp("4 * 3 * 5 * int32");
  int order[3] = {2, 0, 1};
  nd::array src = nd::transposed(a, order);
  arrmeta_of meta(*src.get());
  element_assignment what = whole_operands(src.type(), meta.get(), src.type(), meta.get());
  auto levels = [&](kernel_request_t request) {
    ckernel_builder kernel;
    std::vector<explained_level> found;
    make_assignment_kernel(kernel, 0, what, request, &found);
    std::string texts;
    for (const explained_level &level : found) {
      texts += std::to_string(level.depth) + " " + level.text + "; ";
    }
    return texts;
  };
  EXPECT_EQ(levels(kernel_request_strided_multistride), "0 strided_dim size 60; 1 convert int32 to int32; ");
  EXPECT_EQ(levels(kernel_request_strided),
            "0 strided_dim size 5; 1 strided_dim size 4; 2 strided_dim size 3; 3 convert int32 to int32; ");
}

// Building and running an ordinary assignment asks for no memory.
TEST(AssignFactory, AllocatesNothing) {
  ndt::type to("4 * 3 * float64"), from("3 * int32");
  intptr_t to_size[] = {4, 3}, to_stride[] = {24, 8}, from_size[] = {3}, from_stride[] = {4};
  uint32_t kind = 0;
  int32_t step = 1;
  constexpr uint32_t bytes = sizeof(dynd_arrmeta);
  dynd_arrmeta to_meta = {bytes, DYND_ABI_VERSION, 2, 1, to_size, to_stride, &kind, &step},
               from_meta = {bytes, DYND_ABI_VERSION, 1, 1, from_size, from_stride, &kind, &step};
  double dst[12];
  int32_t src[3] = {1, 2, 3};
  work_frame frame(1 << 16); // a thread has one and uses it again
  isa();                     // the ISA level is chosen at first use
  int64_t before = testing::allocation_count();
  for (kernel_request_t request : {kernel_request_strided, kernel_request_strided_multistride}) {
    ckernel_builder kernel;
    make_assignment_kernel(kernel, 0, whole_operands(to, &to_meta, from, &from_meta), request);
    EXPECT_EQ(call(kernel, dst, 0, src, 0, 1, frame), dynd_ok);
  }
  EXPECT_EQ(testing::allocation_count(), before);
  EXPECT_EQ(dst[11], 3);
}

// One kernel, many threads, each with a frame of its own; the conversion goes through scratch.
TEST(AssignFactory, OneKernelOnManyThreads) {
  nd::array src = parse("1000 * byteswap[int16]", [] {
    std::string text = "[0";
    for (int i = 1; i < 1000; i++) {
      text += "," + std::to_string(i);
    }
    return text + "]";
  }());
  intptr_t size = 1000;
  ckernel_builder kernel;
  arrmeta_of from(*src.get());
  nd::array like = nd::empty(ndt::type("1000 * float64"), &size);
  arrmeta_of to(*like.get());
  make_assignment_kernel(kernel, 0, whole_operands(like.type(), to.get(), src.type(), from.get()),
                         kernel_request_strided_multistride);
  EXPECT_GT(kernel.scratch_size, 0u);
  std::vector<std::thread> threads;
  std::vector<std::vector<double>> results(4, std::vector<double>(1000));
  for (auto &result : results) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; round++) {
        work_frame frame(kernel.scratch_size);
        EXPECT_EQ(call(kernel, result.data(), 0, src->streams()[0].address, 0, 1, frame), dynd_ok);
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  for (const auto &result : results) {
    for (int i = 0; i < 1000; i++) {
      ASSERT_EQ(result[size_t(i)], i);
    }
  }
}

TEST(AssignElements, NumbersInTheOtherOrderTakePartInOperations) {
  nd::array a = parse("3 * byteswap[int16]", "[1, 2, 3]"), p = parse("3 * pointer[float64]", "[1, 2, 3]");
  EXPECT_EQ(text(a + nd::array(1)), "[2, 3, 4]");
  EXPECT_EQ(text(a * p), "[1.0, 4.0, 9.0]");
  EXPECT_EQ(text(nd::sum(a)), "6");
  EXPECT_EQ(failure([&] { parse("2 * string", R"(["a", "b"])") + a; }),
            "type: add: there is no such operation for elements of type string");
}

} // namespace
} // namespace dynd
