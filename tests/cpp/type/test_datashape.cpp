// Datashape text: what is accepted, what is printed, and every error with its exact text.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "dynd/base/errors.h"
#include "dynd/type/datashape.h"

using namespace dynd;

namespace {

std::string printed(std::string_view text) { return std::string(parse_datashape(text).str()); }

/// A size that is too large is an overflow, too many dimensions or levels are a wrong value, everything else is a wrong
/// type.
error_kind kind_of_parse_error(const std::string &message) {
  if (message.find("more than") != message.npos) {
    return error_kind::value;
  }
  return message.find("does not fit") != message.npos ? error_kind::overflow : error_kind::type;
}

void expect_parse_error(std::string_view text, const std::string &message) {
  try {
    ndt::type t(text);
    ADD_FAILURE() << "parsed as " << t.str() << ", expected: " << message;
  } catch (const error &e) {
    EXPECT_EQ(e.kind(), kind_of_parse_error(message));
    EXPECT_EQ(std::string(e.what()), message);
  }
}

std::string repeated(int count, std::string_view text) {
  std::string result;
  for (int i = 0; i < count; ++i)
    result += text;
  return result;
}

TEST(datashape, scalars_by_name) {
  for (size_t i = 0; i < scalar_count; ++i)
    EXPECT_TRUE(parse_datashape(scalar_name[i]) == ndt::make_scalar(scalar_id(i))) << scalar_name[i];
}

TEST(datashape, aliases) {
  EXPECT_TRUE(parse_datashape("int") == ndt::make_scalar(scalar_id::int32));
  EXPECT_TRUE(parse_datashape("real") == ndt::make_scalar(scalar_id::float64));
  EXPECT_TRUE(parse_datashape("intptr") == ndt::make_scalar(scalar_id::int64));
  EXPECT_TRUE(parse_datashape("complex") == ndt::make_scalar(scalar_id::complex128));
  EXPECT_EQ(printed("strided*var*int"), "strided * var * int32");
}

TEST(datashape, dimensions) {
  ndt::type i32 = ndt::make_scalar(scalar_id::int32);
  ndt::type f64 = ndt::make_scalar(scalar_id::float64);
  ndt::type boolean = ndt::make_scalar(scalar_id::bool_);
  EXPECT_TRUE(parse_datashape("3 * int32") == ndt::make_fixed_dim(3, i32));
  EXPECT_TRUE(parse_datashape("strided * var * float64") == ndt::make_strided_dim(ndt::make_var_dim(f64)));
  EXPECT_TRUE(parse_datashape("var * 2 * bool") == ndt::make_var_dim(ndt::make_fixed_dim(2, boolean)));
  EXPECT_TRUE(ndt::type("0 * int32") == ndt::make_fixed_dim(0, i32));
  EXPECT_TRUE(ndt::type("9223372036854775807 * int32") == ndt::make_fixed_dim(INT64_MAX, i32));
}

TEST(datashape, whitespace_and_comments_anywhere) {
  const char *canonical = "3 * var * int32";
  EXPECT_EQ(printed("3*var*int32"), canonical);
  EXPECT_EQ(printed("  3  *\tvar\v*\f int32 \n"), canonical);
  EXPECT_EQ(printed("3\n*\nvar\n*\nint32\n"), canonical);
  EXPECT_EQ(printed("3 *\r\nvar *\r\nint32\r\n"), canonical);
  EXPECT_EQ(printed("# events\n3 * # of them\n  var # particles\n* int32# end"), canonical);
  EXPECT_EQ(printed("#\n##\n3*var*int32#"), canonical);
}

TEST(datashape, leading_zeros_are_not_kept) {
  EXPECT_EQ(printed("003 * int32"), "3 * int32");
  EXPECT_EQ(printed("00000000000000000000009223372036854775807 * int8"), "9223372036854775807 * int8");
}

TEST(datashape, canonical_text_is_zero_terminated) {
  ndt::type t("strided * 12 * uint16");
  EXPECT_EQ(std::string(t->text), "strided * 12 * uint16");
}

TEST(datashape, only_the_view_is_read) {
  std::string_view longer = "3 * int16 * 7";
  EXPECT_EQ(printed(longer.substr(0, 9)), "3 * int16");
  EXPECT_EQ(printed(longer.substr(4, 5)), "int16");
}

TEST(datashape, at_most_32_dimensions) {
  EXPECT_EQ(parse_datashape(repeated(32, "var*") + "int8")->ndim, 32);
  std::string text = repeated(33, "var*") + "int8";
  expect_parse_error(text, "datashape: more than 32 dimensions at line 1, column 129\n" + text + "\n" +
                               std::string(128, ' ') + "^");
  text = repeated(32, "1 * ") + "\n7 * int8";
  expect_parse_error(text, "datashape: more than 32 dimensions at line 2, column 1\n7 * int8\n^");
}

TEST(datashape, a_long_text_does_not_recurse_deeply) {
  std::string text = repeated(1000000, "\n1 *") + " int8";
  expect_parse_error(text, "datashape: more than 32 dimensions at line 34, column 1\n1 *\n^");
}

TEST(datashape_error, empty_text) {
  expect_parse_error("", "datashape: expected a data type, found the end of the text at line 1, column 1\n\n^");
  expect_parse_error("  \n ", "datashape: expected a data type, found the end of the text at line 1, column 1\n  \n^");
  expect_parse_error("# nothing", "datashape: expected a data type, found the end of the text at line 1, column 1\n"
                                  "# nothing\n^");
}

TEST(datashape_error, unknown_name) {
  expect_parse_error("3 * blah", "datashape: unrecognized data type \"blah\" at line 1, column 5\n3 * blah\n    ^");
  expect_parse_error("int32_t", "datashape: unrecognized data type \"int32_t\" at line 1, column 1\nint32_t\n^");
  expect_parse_error("flexible * int8",
                     "datashape: unrecognized dimension \"flexible\" at line 1, column 1\nflexible * int8\n^");
}

TEST(datashape, complex_by_its_components) {
  EXPECT_TRUE(parse_datashape("complex[float32]") == ndt::make_scalar(scalar_id::complex64));
  EXPECT_TRUE(parse_datashape("3 * complex [ float64 ] # two of them") ==
              ndt::make_fixed_dim(3, ndt::make_scalar(scalar_id::complex128)));
  EXPECT_EQ(parse_datashape("var * complex[real]").str(), "var * complex128");
  expect_parse_error("complex[int32]", "datashape: the components of a complex number are float32 or float64, found "
                                       "\"int32\" at line 1, column 9\ncomplex[int32]\n        ^");
  expect_parse_error("complex[float16]", "datashape: the components of a complex number are float32 or float64, found "
                                         "\"float16\" at line 1, column 9\ncomplex[float16]\n        ^");
  expect_parse_error("complex[", "datashape: the components of a complex number are float32 or float64, found "
                                 "the end of the text at line 1, column 9\ncomplex[\n        ^");
  expect_parse_error("complex[float32", "datashape: expected \"]\" after \"float32\", found the end of the text at "
                                        "line 1, column 16\ncomplex[float32\n               ^");
  expect_parse_error("complex[float32] * int8", "datashape: data type \"complex\" is not a dimension at line 1, "
                                                "column 1\ncomplex[float32] * int8\n^");
}

TEST(datashape, elements) {
  for (const char *text :
       {"string", "bytes", "?int32", "?string", "?3 * int32", "pointer[int32]", "pointer[var * ?string]",
        "byteswap[float64]", "{x: int32}", "{x: int32, y: {z: string, w: var * float64}}", "(int8, 3 * string)",
        "strided * var * ?{x: int32, \"odd name\": bytes}", "{\"quote \\\" and \\\\\": bool}"})
    EXPECT_EQ(printed(text), text);
  EXPECT_EQ(printed("option[int]"), "?int32");
  EXPECT_EQ(printed(" { x:int ,\n  \"y\": real, } # a comment"), "{x: int32, y: float64}");
  EXPECT_TRUE(ndt::type("{x: int32}") == ndt::type("{\"x\" : int}"));
  EXPECT_FALSE(ndt::type("{x: int32}") == ndt::type("(int32)"));
}

// What is printed is read back as the same name, whatever characters are in it.
TEST(datashape, names_of_fields) {
  for (const char *name : {"a\nb", "\t\r", "\"\\", "\x01\x1f\x7f", "\xc3\xa9 \xf0\x9f\x98\x80", "", "\\n", "u0041"}) {
    std::string names[] = {name};
    ndt::type fields[] = {ndt::make_scalar(scalar_id::int8)};
    ndt::type made = ndt::make_struct(names, fields);
    EXPECT_TRUE(ndt::type(made.str()) == made) << made.str();
    EXPECT_EQ(made.str().find('\n'), std::string_view::npos);
  }
  const ndt::type fields[] = {ndt::make_scalar(scalar_id::int8), ndt::make_scalar(scalar_id::bool_)};
  const std::string one[] = {"a"};
  EXPECT_THROW(ndt::make_struct(one, fields), error);
  EXPECT_THROW(ndt::make_struct({}, fields), error);
  EXPECT_STREQ(ndt::type(R"({"a\nb\"\\": int8})")->fields[0].name, "a\nb\"\\");
  EXPECT_STREQ(ndt::type(R"({"\u0041\u00e9\u6f22": int8})")->fields[0].name, "A\xc3\xa9\xe6\xbc\xa2");
  EXPECT_STREQ(ndt::type(R"({"\ud7ff\ue000\uffff": int8})")->fields[0].name, "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
  EXPECT_EQ(printed("{\"\x01\": int8}"), R"({"\u0001": int8})");
  expect_parse_error(R"({"a\qb": int8})", "datashape: unrecognized escape \"\\q\" in quoted text at line 1, "
                                          "column 2\n{\"a\\qb\": int8}\n ^");
  for (const char *wrong :
       {R"({"\u12": int8})", R"({"\u00g0": int8})", R"({"\ud800": int8})", R"({"\u+041": int8})", R"({"\udbff": int8})",
        R"({"\udc00": int8})", R"({"\uDFFF": int8})", R"({"\ud83d\ude00": int8})", "{\"a\\\nb\": int8}",
        R"({"\x41": int8})", R"({"a\": int8})", "{\"\\u0000\": int8}"})
    EXPECT_THROW(ndt::type{std::string_view(wrong)}, error) << wrong;
}

// A text may end anywhere, also after a backslash, which is not followed then by what it hides.
TEST(datashape_error, a_quoted_name_that_is_cut) {
  for (std::string_view whole : {R"({"a\"\b\u0041": int8})", R"("\\")"})
    for (size_t size = 0; size < whole.size(); size++)
      EXPECT_THROW(ndt::type{whole.substr(0, size)}, error) << whole.substr(0, size);
}

// Streams and dimensions are numbered from the outside in (type.h).
TEST(datashape, streams_of_elements) {
  ndt::type t("strided * {id: int32, hits: var * ?float32, name: string, at: pointer[3 * int8]}");
  EXPECT_EQ(t->ndim, 1);
  EXPECT_EQ(t->all_ndim, 4); // strided, var, pointer, 3
  ASSERT_EQ(t->nstreams, 8);
  stream_role expected[] = {stream_role::values, stream_role::rows,  stream_role::valid, stream_role::values,
                            stream_role::texts,  stream_role::chars, stream_role::index, stream_role::values};
  for (int s = 0; s < 8; s++)
    EXPECT_EQ(t->roles[s], expected[s]) << s;
  const type_data *row = t->dtype;
  ASSERT_EQ(row->nfields, 4);
  EXPECT_EQ(row->fields[3].stream, 6);
  EXPECT_EQ(row->fields[3].dim, 1);
  EXPECT_EQ(std::string(row->fields[1].name), "hits");
}

TEST(datashape_error, elements) {
  expect_parse_error("{x: int32, y: blah}",
                     "datashape: unrecognized data type \"blah\" at line 1, column 15\n{x: int32, y: blah}\n"
                     "              ^");
  expect_parse_error("??int8", "datashape: an option of an option: ??int8 at line 1, column 1\n??int8\n^");
  expect_parse_error("{x: int8, x: int8}",
                     "datashape: two fields are named \"x\" at line 1, column 11\n{x: int8, x: int8}\n          ^");
  expect_parse_error("{x int8}", "datashape: expected \":\" after a field's name, found \"int8\" at line 1, column "
                                 "4\n{x int8}\n   ^");
  expect_parse_error("(int8",
                     "datashape: expected \",\" or \")\", found the end of the text at line 1, column 6\n(int8\n"
                     "     ^");
  expect_parse_error("pointer int8",
                     "datashape: expected \"[\" after \"pointer\", found \"int8\" at line 1, column 9\npointer int8\n"
                     "        ^");
  expect_parse_error("{}", "datashape: expected the name of a field, found \"}\" at line 1, column 2\n{}\n ^");
  expect_parse_error("()", "datashape: unrecognized data type \")\" at line 1, column 2\n()\n ^");
  expect_parse_error("byteswap[int8]",
                     "datashape: only scalars of two or more bytes have an order of bytes: byteswap[int8] at line 1, "
                     "column 1\nbyteswap[int8]\n^");
  expect_parse_error("string * int8",
                     "datashape: data type \"string\" is not a dimension at line 1, column 1\nstring * int8\n^");
  expect_parse_error("n * int8", "datashape: unrecognized dimension \"n\" at line 1, column 1\nn * int8\n^");
  EXPECT_THROW(ndt::type(repeated(1000, "(") + "int8"), error);
}

TEST(datashape_error, trailing_garbage) {
  expect_parse_error("int32 foo",
                     "datashape: unexpected \"foo\" after the data type at line 1, column 7\nint32 foo\n      ^");
  expect_parse_error("3 * int32,",
                     "datashape: unexpected \",\" after the data type at line 1, column 10\n3 * int32,\n         ^");
  expect_parse_error("int32 3",
                     "datashape: unexpected \"3\" after the data type at line 1, column 7\nint32 3\n      ^");
}

TEST(datashape_error, missing_star) {
  expect_parse_error("3 int32", "datashape: expected \"*\" after dimension \"3\", found \"int32\" at line 1, column 3\n"
                                "3 int32\n  ^");
  expect_parse_error("strided var * int8", "datashape: expected \"*\" after dimension \"strided\", found \"var\" "
                                           "at line 1, column 9\nstrided var * int8\n        ^");
  expect_parse_error("3x * int32", "datashape: expected \"*\" after dimension \"3\", found \"x\" at line 1, column 2\n"
                                   "3x * int32\n ^");
  expect_parse_error("3.5 * int32",
                     "datashape: dimension size 3.5 is not an integer at line 1, column 1\n3.5 * int32\n^");
}

TEST(datashape_error, dimension_without_an_element) {
  expect_parse_error("3", "datashape: expected \"*\" after dimension \"3\", found the end of the text "
                          "at line 1, column 2\n3\n ^");
  expect_parse_error("2 * var", "datashape: expected \"*\" after dimension \"var\", found the end of the text "
                                "at line 1, column 8\n2 * var\n       ^");
  expect_parse_error("3 *",
                     "datashape: expected a data type, found the end of the text at line 1, column 4\n3 *\n   ^");
  expect_parse_error("3 *  # of what?\n\n", "datashape: expected a data type, found the end of the text "
                                            "at line 1, column 4\n3 *  # of what?\n   ^");
  expect_parse_error("3 * * int8",
                     "datashape: expected a data type, found \"*\" at line 1, column 5\n3 * * int8\n    ^");
  expect_parse_error("* int8", "datashape: expected a data type, found \"*\" at line 1, column 1\n* int8\n^");
}

TEST(datashape_error, data_type_as_a_dimension) {
  expect_parse_error("int32 * 3",
                     "datashape: data type \"int32\" is not a dimension at line 1, column 1\nint32 * 3\n^");
}

TEST(datashape_error, negative_size) {
  expect_parse_error("-3 * int32", "datashape: negative dimension size -3 at line 1, column 1\n-3 * int32\n^");
  expect_parse_error("2 * -9999999999999999999 * int8",
                     "datashape: negative dimension size -9999999999999999999 at line 1, column 5\n"
                     "2 * -9999999999999999999 * int8\n    ^");
  expect_parse_error("- 3 * int32", "datashape: unrecognized data type \"-\" at line 1, column 1\n- 3 * int32\n^");
}

TEST(datashape_error, size_overflows_int64) {
  expect_parse_error("9223372036854775808 * int8",
                     "datashape: dimension size 9223372036854775808 does not fit in int64 at line 1, column 1\n"
                     "9223372036854775808 * int8\n^");
  expect_parse_error("var * 99999999999999999999999 * int8",
                     "datashape: dimension size 99999999999999999999999 does not fit in int64 at line 1, column 7\n"
                     "var * 99999999999999999999999 * int8\n      ^");
}

TEST(datashape_error, place_in_several_lines) {
  expect_parse_error("3 *   # rows\n  var * # columns\n  blah\n* 3",
                     "datashape: unrecognized dimension \"blah\" at line 3, column 3\n  blah\n  ^");
  expect_parse_error("3 *\r\n  blah\r\n",
                     "datashape: unrecognized data type \"blah\" at line 2, column 3\n  blah\n  ^");
}

TEST(datashape_error, caret_stands_under_the_token_after_tabs_and_other_scripts) {
  expect_parse_error("3 *\tblah", "datashape: unrecognized data type \"blah\" at line 1, column 5\n3 * blah\n    ^");
  expect_parse_error("3 * größe", "datashape: unrecognized data type \"gr\" at line 1, column 5\n3 * größe\n    ^");
  expect_parse_error("int8 → 日本 x",
                     "datashape: unexpected \"→\" after the data type at line 1, column 6\nint8 → 日本 x\n     ^");
}

// The text of an error is always valid UTF-8 without control characters but the two line ends.
TEST(datashape_error, unprintable_bytes_are_replaced) {
  using namespace std::string_view_literals;
  expect_parse_error("3 * \0"sv, "datashape: unrecognized data type \"\ufffd\" at line 1, column 5\n3 * \ufffd\n    ^");
  expect_parse_error("\xff\x80 int8"sv, "datashape: unrecognized data type \"\ufffd\" at line 1, column 1\n"
                                        "\ufffd\ufffd int8\n^");
  expect_parse_error("\xe2\x82"sv, "datashape: unrecognized data type \"\ufffd\" at line 1, column 1\n"
                                   "\ufffd\ufffd\n^");
  expect_parse_error("\xed\xa0\x80"sv, "datashape: unrecognized data type \"\ufffd\" at line 1, column 1\n"
                                       "\ufffd\ufffd\ufffd\n^");
}

/// A type made without any text; the text it should have is built beside it.
struct random_type {
  ndt::type type;
  std::string text;
};

random_type make_random_type(std::mt19937_64 &random) {
  auto below = [&](uint64_t n) { return random() % n; };
  scalar_id scalar = scalar_id(below(scalar_count));
  random_type result{ndt::make_scalar(scalar), scalar_name[size_t(scalar)]};
  for (uint64_t ndim = below(4) ? below(5) : below(max_ndim + 1); ndim > 0; --ndim) {
    uint64_t kind = below(3);
    intptr_t size = below(2) ? below(5) : random() >> (1 + below(63));
    result.type = kind == 0   ? ndt::make_strided_dim(result.type)
                  : kind == 1 ? ndt::make_var_dim(result.type)
                              : ndt::make_fixed_dim(size, result.type);
    std::string dim = kind == 0 ? "strided" : kind == 1 ? "var" : std::to_string(size);
    result.text = dim + " * " + result.text;
  }
  return result;
}

/// The same tokens with other blanks and comments between them.
std::string with_random_blanks(const std::string &canonical, std::mt19937_64 &random) {
  static const char *const blanks[] = {"", " ", "\n", "\t ", "\r\n", " # * 3 blah\n", "#\n"};
  auto blank = [&] { return blanks[random() % std::size(blanks)]; };
  std::string result = blank();
  for (char c : canonical)
    result += c == ' ' ? std::string(blank()) : std::string(1, c);
  return result + blank();
}

TEST(datashape, round_trip_of_random_types) {
  for (uint64_t seed : {1, 2, 3, 4}) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 2500; ++i) {
      random_type made = make_random_type(random);
      ASSERT_EQ(made.type.str(), made.text);
      ASSERT_EQ(parse_datashape(made.text).get(), made.type.get()) << made.text;
      std::string spread = with_random_blanks(made.text, random);
      ASSERT_EQ(parse_datashape(spread).get(), made.type.get()) << spread;
    }
  }
}

// Whatever the text is: a type that prints and parses back, or a type error that points into it.
TEST(datashape, random_text_parses_or_fails_with_a_place) {
  static const char *const pieces[] = {"3", "-1", "*", "strided", "var", "int32", "bool", " ",    "\n",  "#",
                                       "?", "{",  "*", "*",       "ü",   "\xff",  "x",    "\r\n", "int", "99999999999"};
  std::mt19937_64 random(5);
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t n = random() % 9; n > 0; --n)
      text += pieces[random() % std::size(pieces)];
    try {
      ndt::type t(text);
      ASSERT_EQ(parse_datashape(t.str()).get(), t.get()) << text;
      ++parsed;
    } catch (const error &e) {
      std::string what = e.what();
      ASSERT_EQ(e.kind(), kind_of_parse_error(what)) << what;
      ASSERT_EQ(what.rfind("datashape: ", 0), 0u) << what;
      ASSERT_NE(what.find(" at line "), std::string::npos) << what;
      ASSERT_EQ(what.back(), '^') << what;
    }
  }
  EXPECT_GT(parsed, 100);
}

} // namespace
