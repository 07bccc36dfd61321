"""Texts and bytes of a fixed length, and values of long double, as arguments of wrapped functions."""
import numpy as np
import pytest

import kernelgen_support
from kernelgen_support import problems
from dynd import nd

FUNCTIONS = r"""
#include <ctype.h>
#include <string.h>

typedef struct { char name[6]; unsigned char id[2]; double x; } item;

long length_of(const char *text) { return (long)strlen(text); }
void upper(const char *text, char *made) {
  for (; *text; text++, made++)
    *made = (char)toupper(*text);
  memcpy(made, "\0!", 2); /* what is behind the end is not part of the text */
}
void fill(char text[4], int n) { memset(text, 'x', (size_t)n); }
void turn(char *text) { char first = text[0]; memmove(text, text + 1, 3); text[3] = first; }
unsigned sum_bytes(const unsigned char *id) { return id[0] + 256u * id[1]; }
long total(long n, const char (*names)[4]) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    for (int k = 0; k < 4; k++)
      sum += (i + 1) * (names[i][k] != 0);
  return sum;
}
void reverse(long n, const char *names, char *made) {
  for (long i = 0; i < n; i++)
    memcpy(made + 4 * i, names + 4 * (n - 1 - i), 4);
}
void replace(long n, char *names) {
  for (long i = 0; i < n; i++)
    names[4 * i] = '_';
}
item make_item(const char *name, double x) {
  item made = {{0}, {1, 2}, x};
  strncpy(made.name, name, sizeof(made.name));
  return made;
}
double weigh(long n, const item *items, char *last) {
  double sum = 0;
  for (long i = 0; i < n; i++) {
    sum += items[i].x * items[i].id[1] * (items[i].name[5] ? 100 : 1);
    memcpy(last, items[i].name, 6);
  }
  return sum;
}
const char *season(int month) {
  static const char *const names[] = {"winter", "spring", "summer", "autumn"};
  return month < 0 ? NULL : month > 3 ? "a very long season" : names[month];
}
long double half(long double x) { return x / 2; }
void half_at(long double *x, long double *rest) { *rest = *x / 4; *x /= 2; }
"""

CONFIG = """
[MODULE texts]
prefix = tx_
sources = texts.c
libraries = m
header_code = typedef struct { char name[6]; unsigned char id[2]; double x; } item;
typemaps = item: {name: fixed_string[6], id: fixed_bytes[2], x: float64}, long double: float64

[KERNEL length_of]
prototypes = long length_of(const char *text)
input = text
types = text: fixed_string[4]

[KERNEL upper]
prototypes = void upper(const char *text, char *made)
input = text
output = made
types = text: fixed_string[4], made: fixed_string[6]

[KERNEL upper_or_missing]
prototypes = void upper(const char *text, char *made)
input = text
output = made
types = text: fixed_string[4], made: fixed_string[6]
missing = propagate

[KERNEL fill]
prototypes = void fill(char text[4], int n)
input = n
output = text
types = text: fixed_string[4]

[KERNEL turn]
prototypes = void turn(char *text)
inplace = text
types = text: fixed_bytes[4]

[KERNEL sum_bytes]
prototypes = unsigned sum_bytes(const unsigned char *id)
input = id
types = id: fixed_bytes[2]

[KERNEL total]
prototypes = long total(long n, const char (*names)[4])
input = names(n)
hide = n
types = names: fixed_string[4]

[KERNEL total_known]
prototypes = long total(long n, const char (*names)[4])
input = names(n)
hide = n
types = names: fixed_string[4]
missing = skip

[KERNEL reverse]
prototypes = void reverse(long n, const char *names, char *made)
input = names(n)
output = made(n)
hide = n
types = names: fixed_string[4], made: fixed_string[4]

[KERNEL replace]
prototypes = void replace(long n, char *names)
inplace = names(n)
hide = n
types = names: fixed_bytes[4]

[KERNEL make_item]
prototypes = item make_item(const char *name, double x)
input = name, x
types = name: fixed_string[6]

[KERNEL weigh]
prototypes = double weigh(long n, const item *items, char *last)
input = items(n)
output = last
hide = n
types = last: fixed_string[6]

[KERNEL season]
prototypes = const char *season(int month)
input = month
types = result: fixed_string[6]

[KERNEL half]
prototypes = long double half(long double x)
input = x

[KERNEL half_of_positive]
prototypes = long double half(long double x)
input = x
errors = x < 0 => value: {x} is negative, its half {result}

[KERNEL half_at]
prototypes = void half_at(long double *x, long double *rest)
inplace = x
output = rest

[KERNEL sqrtl]
prototypes = long double sqrtl(long double x)
input = x

[KERNEL fmal]
prototypes = long double fmal(long double x, long double y, long double z)
input = x, y, z = 1
"""


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    (folder / "texts.c").write_text(FUNCTIONS)
    nd.load(kernelgen_support.build(folder, CONFIG, "texts"))


def fixed(values, size=4, kind="string", **options):
    return nd.array(values, type=f"fixed_{kind}[{size}]", **options)


def layouts(values, size=4):
    """The same texts in several layouts."""
    plain = np.array([v.encode() for v in values], f"S{size}")
    wide = np.zeros(3 * len(values), f"S{size}")
    wide[1::3] = plain
    table = np.zeros(len(values), [("pad", "u1"), ("name", f"S{size}")])
    table["name"] = plain
    return [fixed(values, size), nd.asarray(plain), nd.asarray(wide)[1::3], nd.asarray(plain[::-1].copy())[::-1],
            nd.asarray(table)["name"], nd.array(values)]


def test_one_text():
    values = ["", "a", "abcd", "ä"]
    for a in layouts(values):
        assert nd.tx_length_of(a).tolist() == [len(v.encode()) for v in values]
        assert nd.tx_upper(a).tolist() == ["", "A", "ABCD", "ä"]
    assert str(nd.tx_upper("ab").type) == "fixed_string[6]" and nd.tx_upper("ab").tolist() == "AB"
    assert nd.tx_length_of([["a", "bcd"], [], ["ef"]]).tolist() == [[1, 3], [], [2]]
    assert nd.tx_length_of(nd.array([["a", "b"]], type="1 * var * fixed_string[9]")[:, ::-1]).tolist() == [[1, 1]]
    assert nd.tx_length_of(nd.array(["a", "bc"], type="?fixed_string[4]")).tolist() == [1, 2]
    assert [str(s) for s in nd.tx_upper.signatures] == ["(text: fixed_string[4]) -> fixed_string[6]"]
    with pytest.raises(OverflowError, match=r'string "abcde" of 5 bytes to fixed_string\[4\]'):
        nd.tx_length_of(["a", "abcde"])
    with pytest.raises(TypeError, match="operand text"):
        nd.tx_length_of([b"a"])
    with pytest.raises(TypeError, match="operand text"):
        nd.tx_length_of([1.5])


def test_results_and_what_is_changed():
    assert nd.tx_fill([0, 1, 4]).tolist() == ["", "x", "xxxx"]
    with pytest.raises(OverflowError, match=r"text: the text of fill is longer than fixed_string\[4\]"):
        nd.tx_fill([4, 5])
    assert nd.tx_season([0, 3]).tolist() == ["winter", "autumn"]
    with pytest.raises(OverflowError, match="result: the text of season is longer"):
        nd.tx_season(4)
    with pytest.raises(ValueError, match="season returned no text"):
        nd.tx_season([1, -1])
    plain = np.array([b"abcd", b"ef\0g", b"----"], "V4")
    nd.tx_turn(nd.asarray(plain)[:2])
    assert plain.tolist() == [b"bcda", b"f\0ge", b"----"]
    assert nd.tx_sum_bytes([b"\1\2", b"\0\1"]).tolist() == [513, 256]
    with pytest.raises(ValueError, match="cannot assign 1 bytes"):
        nd.tx_sum_bytes([b"a"])


def test_arrays_of_texts():
    values = ["", "a", "abcd", "xy"]
    for a in layouts(values):
        assert nd.tx_total(a).tolist() == 2 + 3 * 4 + 4 * 2
        assert nd.tx_reverse(a).tolist() == values[::-1]
    rows = nd.array([values, [], ["q"]], type="strided * var * fixed_string[4]")
    assert nd.tx_total(rows).tolist() == [22, 0, 1]
    assert nd.tx_total(rows[:, ::-2]).tolist() == [nd.tx_total(["xy", "a"]).tolist(), 0, 1]
    assert nd.tx_reverse(rows).tolist() == [values[::-1], [], ["q"]]
    assert nd.tx_total([["ab", "c"], ["d"]]).tolist() == [4, 1]
    assert nd.tx_total(fixed([])).tolist() == 0
    plain = np.array([b"abcd"] * 4, "V4")
    nd.tx_replace(nd.asarray(plain)[::2])
    assert plain.tolist() == [b"_bcd", b"abcd"] * 2
    with pytest.raises(TypeError):
        nd.tx_replace(fixed([b"abcd"], kind="bytes"))


def test_missing_texts():
    a = nd.array(["ab", None, "c"], type="?fixed_string[4]")
    assert nd.tx_total_known(a).tolist() == 2 + 2
    for b in (a, a[::-1][::-1], nd.array(["ab", None, "c"])):
        assert nd.tx_upper_or_missing(b).tolist() == ["AB", None, "C"]
    assert nd.tx_upper_or_missing([["a", None], []]).tolist() == [["A", None], []]
    assert nd.tx_upper_or_missing("ab").tolist() == "AB"
    with pytest.raises(ValueError, match="missing"):
        nd.tx_upper(a)
    with pytest.raises(ValueError, match="missing"):
        nd.tx_total(a)


def test_fields_of_structs():
    made = nd.tx_make_item(["ab", "abcdef"], [1.0, 2.0])
    assert made.tolist() == [{"name": "ab", "id": b"\1\2", "x": 1.0}, {"name": "abcdef", "id": b"\1\2", "x": 2.0}]
    assert [r.tolist() for r in nd.tx_weigh(made)] == ["abcdef", 2 + 400]
    table = np.array([("p", b"ab", 1), ("q", b"\0\3", 2)], [("name", "S6"), ("id", "V2"), ("x", "f8")])
    for a in (nd.asarray(table), nd.asarray(table)[::-1][::-1], nd.array(nd.asarray(table))):
        assert [r.tolist() for r in nd.tx_weigh(a)] == ["q", 98.0 + 6]
    rows = nd.array([made.tolist(), [], made.tolist()[:1]], type="strided * var * {name: fixed_string[6], id: fixed_bytes[2], x: float64}")
    assert [r.tolist() for r in nd.tx_weigh(rows)] == [["abcdef", "", "ab"], [402, 0, 2]]


def test_long_double():
    assert nd.tx_half([[1.0, 3.0], [], [5.0]]).tolist() == [[0.5, 1.5], [], [2.5]]
    assert str(nd.tx_half.signatures[0]) == "(x: float64) -> float64"
    with pytest.raises(ValueError, match="-1.5 is negative, its half -0.75"):
        nd.tx_half_of_positive([1.0, -1.5])
    x = nd.array([8.0, 12.0], access="rw")
    assert nd.tx_half_at(x).tolist() == [2, 3] and x.tolist() == [4, 6]
    assert nd.tx_sqrtl(nd.array([4.0, None])).tolist() == [2.0, None]
    assert nd.tx_sqrtl(2.0).tolist() == 2 ** 0.5
    assert nd.tx_fmal([2.0, 3.0], 4.0).tolist() == [9, 13] and nd.tx_fmal(2.0, 3.0, 4.0).tolist() == 10
    assert nd.tx_fmal(1e16, 1.0, 1.0).tolist() == float(np.longdouble(1e16) + 1)


HEAD = "[MODULE m]\ntypemaps: long double: float64\n\n[KERNEL f]\n"
CASES = {
    "an array of long double": ("prototypes: double f(int n, const long double *x)\ninput: x(n)\nhide: n\n",
                                "argument x: arrays of long double are not wrapped: call the function from one of header_code"),
    "a returned array of long double": ("prototypes: long double *f(int n)\ninput: n\nreturn: r(n)\n", "arrays of long double are not wrapped"),
    "long double as another type": ("prototypes: double f(long double x)\ninput: x\ntypes: x: int32\n", "are converted to float64, not to int32"),
    "complex long double": ("prototypes: double f(long double _Complex x)\ninput: x\n", "add `long double _Complex: complex128` to typemaps"),
    "a text by value": ("prototypes: int f(char c)\ninput: c\ntypes: c: fixed_string[4]\n",
                        "argument c: fixed_string[4] is behind one pointer to bytes, and the function takes `char`"),
    "a text of numbers": ("prototypes: int f(const int *c)\ninput: c\ntypes: c: fixed_string[4]\n", "is behind one pointer to bytes"),
    "a text of another length": ("prototypes: int f(const char c[5])\ninput: c\ntypes: c: fixed_string[4]\n", "contradicts the prototype"),
    "a text without a length": ("prototypes: int f(const char *c)\ninput: c\ntypes: c: fixed_string\n", "`types` is a list of argument: type"),
    "a text of no bytes": ("prototypes: int f(const char *c)\ninput: c\ntypes: c: fixed_string[0]\n", "`types` is a list of argument: type"),
    "a large text": ("prototypes: int f(const char *c)\ninput: c\ntypes: c: fixed_string[70000]\n", "one text has up to 65536 bytes"),
    "a default of a text": ("prototypes: int f(const char *c)\ninput: c = 1\ntypes: c: fixed_string[4]\n", "only a number has a default"),
    "a returned text without a type": ("prototypes: char *f(int n)\ninput: n\n", "`types: result: fixed_string[16]`"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong(case, tmp_path):
    text, expected = CASES[case]
    assert expected in problems(tmp_path, HEAD + text)


@pytest.mark.parametrize("typemap, expected", [("long double: float128", "the library has no type float128"),
                                               ("name_t: fixed_string[4]", "a text of a fixed length is the type of an argument"),
                                               ("s: {name: fixed_string[]}", "expected a struct of numbers and texts")])
def test_typemaps_that_are_none(typemap, expected, tmp_path):
    assert expected in problems(tmp_path, f"[MODULE m]\ntypemaps: {typemap}\n\n[KERNEL f]\nprototypes: int f(int a)\ninput: a\n")


def test_long_double_without_a_typemap(tmp_path):
    found = problems(tmp_path, "[MODULE m]\n\n[KERNEL f]\nprototypes: double f(long double x)\ninput: x\n")
    assert "add `long double: float64` to typemaps, which converts it" in found


@pytest.mark.parametrize("declared, element", [("char name[5]; int x;", "fixed_string[4]"), ("int name; int x;", "fixed_string[4]"),
                                               ("char name[8]; int x;", "fixed_bytes[4]")])
def test_fields_are_compared_with_those_of_c(declared, element, tmp_path):
    config = kernelgen_support.write(tmp_path, f"[MODULE m]\ntypemaps: s: {{name: {element}, x: int32}}\nheader_code: typedef struct {{ {declared} }} s;\n"
                                               "    int f(s a);\n[KERNEL f]\nprototypes: int f(s a)\ninput: a\n")
    code, _, errors = kernelgen_support.run("build", config, "-o", tmp_path / "m.so")
    assert code != 0 and ("typemaps: s is not" in errors or "subscripted value" in errors)
