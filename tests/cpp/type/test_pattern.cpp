// Patterns and signatures: what is read and printed, what matches and what is bound, and why something does not match.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dynd/array/array.h"
#include "dynd/base/errors.h"
#include "dynd/type/pattern.h"

using namespace dynd;

namespace {

std::string printed_pattern(std::string_view text) { return std::string(ndt::type(text).str()); }

std::string bound(std::string_view type, std::string_view pattern) {
  ndt::bindings found = ndt::match(ndt::type(type), ndt::type(pattern));
  std::string text = found ? "" : found.why;
  for (const ndt::binding &b : found.all)
    text += (text.empty() ? "" : " ") + b.name + "=" + b.str();
  return text;
}

std::string message_of(std::string_view text) {
  try {
    return "parsed as " + printed_pattern(text);
  } catch (const error &e) {
    std::string what = e.what();
    return what.substr(0, what.find('\n'));
  }
}

TEST(pattern, prints_what_it_reads) {
  for (const char *text : {"T",
                           "N * T",
                           "(a: int8 = 1, *, b: int8 = 2, c: int8, d: int8) -> T", // keywords are given by name
                           "3 * N * var * T",
                           "... * T",
                           "Dims... * T",
                           "var... * T",
                           "fixed... * N * T",
                           "N * Dims... * M * T",
                           "fixed * T",
                           "Any",
                           "Scalar",
                           "Number",
                           "Real",
                           "Int",
                           "UInt",
                           "Float",
                           "Complex",
                           "Bool",
                           "Text",
                           "Float T",
                           "?T",
                           "?(N * T)",
                           "pointer[T]",
                           "{x: T, y: N * U}",
                           "{x: T, ...}",
                           "{...}",
                           "(T, U)",
                           "(T, ...)",
                           "(...)",
                           "() -> T",
                           "(T, T) -> T",
                           "(N * T) -> (T, int64)",
                           "(T) -> void",
                           "(...) -> T",
                           "(T, ...) -> T",
                           "(x: N * T, w: N * float64, *, ddof: int64 = 1) -> float64",
                           "(N * T, k: int64) -> k * T",
                           "(f: float64, x: inout N * float64) -> void",
                           "(*, a: bool = True, b: string = \"x\\ny\", c: ?int32 = None) -> T",
                           "(a: float64 = 1.5, b: float32 = 1e-30) -> T",
                           "(a: float64 = -inf, b: float64 = nan) -> T",
                           "(\"a b\": T) -> T",
                           "((T) -> U, T) -> U",
                           "(a: uint8 = 255, b: int8 = -128) -> T"}) {
    EXPECT_EQ(printed_pattern(text), text);
    EXPECT_TRUE(ndt::type(text)->abstract) << text;
    EXPECT_TRUE(ndt::type(text) == ndt::type(printed_pattern(text)));
  }
}

TEST(pattern, accepts_other_spellings) {
  EXPECT_EQ(printed_pattern("ScalarKind"), "Scalar");
  EXPECT_EQ(printed_pattern("SignedKind"), "Int");
  EXPECT_EQ(printed_pattern("Signed"), "Int");
  EXPECT_EQ(printed_pattern("UnsignedKind"), "UInt");
  EXPECT_EQ(printed_pattern("Unsigned"), "UInt");
  EXPECT_EQ(printed_pattern("10*FloatKind"), "10 * Float");
  EXPECT_EQ(printed_pattern("ComplexKind"), "Complex");
  EXPECT_EQ(printed_pattern("fixed(10) * int32"), "10 * int32");
  EXPECT_EQ(printed_pattern("fixed[10] * int32"), "10 * int32");
  EXPECT_EQ(printed_pattern("fixed(shape=10) * int32"), "10 * int32");
  EXPECT_EQ(printed_pattern("float64, N * float64 -> float64"), "(float64, N * float64) -> float64");
  EXPECT_EQ(printed_pattern("T -> U, V"), "(T) -> (U, V)");
  EXPECT_EQ(printed_pattern("(T) -> U, V"), "(T) -> (U, V)");
  EXPECT_EQ(printed_pattern("void -> T"), "() -> T");
  EXPECT_EQ(printed_pattern("(T,) -> T # a comment"), "(T) -> T");
  EXPECT_EQ(printed_pattern("pointer(T)"), "pointer[T]");
  EXPECT_EQ(printed_pattern("uintptr"), "uint64");
  EXPECT_EQ(printed_pattern("Any T"), "T");
  EXPECT_EQ(printed_pattern("(a: float64 = 1, b: bool=false, c: ?int = NA) -> T"),
            "(a: float64 = 1.0, b: bool = False, c: ?int32 = None) -> T");
  EXPECT_FALSE(ndt::type("fixed(10) * int32")->abstract);
}

TEST(pattern, errors_say_where) {
  EXPECT_EQ(message_of("(T, U"), "datashape: expected \",\" or \")\", found the end of the text at line 1, column 6");
  EXPECT_EQ(message_of("(x: T)"), "datashape: \"x\" belongs to a signature, and no \"->\" follows at line 1, column 2");
  EXPECT_EQ(message_of("(T, *, 3 * T) -> T"),
            "datashape: expected the name of a keyword, found \"3\" at line 1, column 8");
  EXPECT_EQ(message_of("(T, *) -> T"), "datashape: \"*\" is before the keywords, once at line 1, column 5");
  EXPECT_EQ(message_of("(x: T, x: T) -> T"), "datashape: two parameters are named \"x\" at line 1, column 8");
  EXPECT_EQ(message_of("(k: int8 = 128) -> T"), "datashape: the default 128 does not fit in int8 at line 1, column 12");
  EXPECT_EQ(message_of("(k: uint8 = -1) -> T"), "datashape: the default -1 does not fit in uint8 at line 1, column 13");
  EXPECT_EQ(message_of("(k: int8 = 1.5) -> T"),
            "datashape: expected a value of type int8, found \"1.5\" at line 1, column 12");
  EXPECT_EQ(message_of("(k: bool = 1) -> T"),
            "datashape: expected a value of type bool, found \"1\" at line 1, column 12");
  EXPECT_EQ(message_of("(k: T = 1) -> T"), "datashape: a parameter of type T has no default: only bools, numbers and "
                                           "strings do at line 1, column 7");
  EXPECT_EQ(message_of("(a: int8 = 1, b: int8) -> T"),
            "datashape: a parameter without a default follows one with a default at line 1, column 18");
  EXPECT_EQ(message_of("A... * B... * T"), "datashape: two ellipses in one list of dimensions at line 1, column 1");
  EXPECT_EQ(message_of("k * T"), "datashape: unrecognized dimension \"k\" at line 1, column 1");
  EXPECT_EQ(message_of("(k: float64) -> k * T"), "datashape: unrecognized dimension \"k\" at line 1, column 17");
  EXPECT_EQ(message_of("Float * T"), "datashape: data type \"Float\" is not a dimension at line 1, column 1");
  EXPECT_EQ(message_of("N * "), "datashape: expected a data type, found the end of the text at line 1, column 4");
  EXPECT_EQ(message_of("(T) -> "), "datashape: expected a data type, found the end of the text at line 1, column 7");
  EXPECT_EQ(message_of("1.5 * T"), "datashape: dimension size 1.5 is not an integer at line 1, column 1");
  EXPECT_EQ(message_of("k... * T"), "datashape: unrecognized dimension \"k\" at line 1, column 1");
  EXPECT_EQ(message_of("void, T -> T"), "datashape: \"void\" is no parameter beside others at line 1, column 1");
}

TEST(pattern, binds) {
  EXPECT_EQ(bound("3 * float64", "N * T"), "N=3 T=float64");
  EXPECT_EQ(bound("strided * var * int32", "N * M * T"), "N=strided M=var T=int32");
  EXPECT_EQ(bound("3 * 3 * int32", "N * N * T"), "N=3 T=int32");
  EXPECT_EQ(bound("2 * 3 * var * int32", "Dims... * N * T"), "Dims=(2, 3) N=var T=int32");
  EXPECT_EQ(bound("int32", "Dims... * T"), "Dims=() T=int32");
  EXPECT_EQ(bound("2 * 3 * 4 * int32", "N * Dims... * M * T"), "N=2 Dims=(3) M=4 T=int32");
  EXPECT_EQ(bound("?float64", "?T"), "T=float64");
  EXPECT_EQ(bound("{a: int8, x: float32, b: string}", "{x: T, ...}"), "T=float32");
  EXPECT_EQ(bound("{x: float32}", "{x: Float T}"), "T=float32");
  EXPECT_EQ(bound("(int8, 3 * int8)", "(T, N * T)"), "T=int8 N=3");
  EXPECT_EQ(bound("(int8, string)", "(T, ...)"), "T=int8");
  EXPECT_EQ(bound("(float64, float64) -> float64", "(T, T) -> T"), "T=float64");
  EXPECT_EQ(bound("3 * {x: string}", "N * T"), "N=3 T={x: string}");
  EXPECT_EQ(bound("3 * 4 * int32", "Any"), "");
  EXPECT_EQ(bound("3 * 4 * int32", "N * Any"), "N=3");
  EXPECT_EQ(bound("10 * 2 * 30 * int64", "... * 30 * Any"), "");
  EXPECT_EQ(bound("3 * ?(2 * int8)", "N * ?(M * T)"), "N=3 M=2 T=int8");
}

TEST(pattern, says_why_it_does_not_match) {
  EXPECT_EQ(bound("3 * int32", "N * float64"), "3 * int32 does not match N * float64: int32 is not float64");
  EXPECT_EQ(bound("3 * 4 * int32", "N * N * T"),
            "3 * 4 * int32 does not match N * N * T: dimension 1: N is 3 before, and 4 here");
  EXPECT_EQ(bound("3 * int32", "N * M * T"), "3 * int32 does not match N * M * T: 3 * int32 has 1 dimension, not 2");
  EXPECT_EQ(bound("int32", "N * Dims... * T"),
            "int32 does not match N * Dims... * T: int32 has 0 dimensions, not 1 or more");
  EXPECT_EQ(bound("?int32", "T"), "?int32 does not match T: ?int32 may be missing, and T is not ?T");
  EXPECT_EQ(bound("int32", "?T"), "int32 does not match ?T: int32 is not ?T");
  EXPECT_EQ(bound("int32", "Float T"), "int32 does not match Float T: int32 is no Float");
  EXPECT_EQ(bound("{y: int32}", "{x: T, ...}"), "{y: int32} does not match {x: T, ...}: {y: int32} has no field x");
  EXPECT_EQ(bound("{x: (int8, int32)}", "{x: (T, T)}"),
            "{x: (int8, int32)} does not match {x: (T, T)}: field x: field 1: T is int8 before, and int32 here");
  EXPECT_EQ(bound("(int8) -> int32", "(T) -> T"),
            "(int8) -> int32 does not match (T) -> T: result: T is int8 before, and int32 here");
  EXPECT_EQ(bound("var * 3 * T", "N * Any"), "var * 3 * T does not match N * Any: it has variables itself");
  EXPECT_EQ(bound("var * int32", "fixed * T"), "var * int32 does not match fixed * T: dimension 0: var is not fixed");
  EXPECT_EQ(bound("3 * var * int32", "var... * T"),
            "3 * var * int32 does not match var... * T: 3 is not one of var...");
  EXPECT_EQ(bound("3 * int32", "T"), "3 * int32 does not match T: 3 * int32 has a dimension, and T has none");
}

TEST(pattern, families) {
  struct {
    const char *family, *members;
  } cases[] = {{"Scalar", "bool int8 uint64 float16 complex64 string bytes"},
               {"Number", "int8 uint64 float16 complex64"},
               {"Real", "int8 uint64 float16"},
               {"Int", "int8"},
               {"UInt", "uint64"},
               {"Float", "float16"},
               {"Complex", "complex64"},
               {"Bool", "bool"},
               {"Text", "string"}};
  for (auto &c : cases)
    for (const char *type : {"bool", "int8", "uint64", "float16", "complex64", "string", "bytes", "?int8", "(int8)"})
      EXPECT_EQ(bool(ndt::match(ndt::type(type), ndt::type(c.family))),
                (std::string(" ") + c.members + " ").find(std::string(" ") + type + " ") != std::string::npos)
          << c.family << " " << type;
}

TEST(pattern, substitution_is_the_reverse_of_a_match) {
  struct {
    const char *type, *pattern;
  } cases[] = {{"3 * float64", "N * T"},
               {"2 * var * strided * {x: ?int8}", "Dims... * N * {x: ?T}"},
               {"(int8, 3 * int8)", "(T, N * T)"},
               {"(float64, 4 * float64) -> 4 * float64", "(T, N * T) -> N * T"},
               {"pointer[(string, int8)]", "pointer[T]"}};
  for (auto &c : cases)
    EXPECT_TRUE(ndt::substitute(ndt::type(c.pattern), ndt::match(ndt::type(c.type), ndt::type(c.pattern))) ==
                ndt::type(c.type))
        << c.type;
}

TEST(pattern, substitution_checks) {
  ndt::bindings bound{true, {{"T", ndt::binding::kind_t::type, ndt::type("int32"), {}}}, ""};
  EXPECT_EQ(ndt::substitute(ndt::type("N * T"), bound).str(), "N * int32");
  EXPECT_THROW(ndt::substitute(ndt::type("Float T"), bound), error);
  EXPECT_THROW(ndt::substitute(ndt::type("T * int8"), bound), error);
}

TEST(pattern, no_array_has_it) {
  intptr_t size = 3;
  EXPECT_THROW(nd::empty(ndt::type("N * float64"), &size), error);
  EXPECT_THROW(nd::empty(ndt::type("(float64) -> float64"), nullptr), error);
}

} // namespace
