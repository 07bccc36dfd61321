"""ndt.type for patterns and signatures: reading, printing, matching, substituting."""
import copy
import pickle
import random

import numpy as np
import pattern_model
import pytest
from hypothesis import given, strategies as st

from dynd import nd, ndt

SCALARS = ["bool", "int8", "uint16", "int32", "float32", "float64", "complex128", "string", "bytes"]


# ---- random types, and a pattern that was made from each by replacing parts of it ------------------------------------

@st.composite
def type_and_pattern(draw, depth=3):
    """(text of a type, text of a pattern that matches it, what it binds), by a model that never parses."""
    bound = {}

    def name_for(kind, value):
        for name, (k, v) in bound.items():
            if k == kind and v == value and draw(st.booleans()):
                return name
        name = f"{'TND'[kind]}{len(bound)}"
        bound[name] = (kind, value)
        return name

    def element(depth):
        options = ["scalar"] * 3 + (["struct", "tuple", "option", "pointer"] if depth else [])
        kind = draw(st.sampled_from(options))
        if kind == "scalar":
            text = draw(st.sampled_from(SCALARS))
            return text, text
        if kind == "option":
            own, pattern = element(0)
            return f"?{own}", f"?{maybe_variable(own, pattern)}"
        if kind == "pointer":
            own, pattern = whole(depth - 1)
            return f"pointer[{own}]", f"pointer[{pattern}]"
        count = draw(st.integers(1, 3))
        parts = [whole(depth - 1) for _ in range(count)]
        if kind == "tuple":
            more = ", ..." if draw(st.booleans()) else ""
            kept = parts[:draw(st.integers(1, count))] if more else parts
            return f"({', '.join(p[0] for p in parts)})", f"({', '.join(p[1] for p in kept)}{more})"
        texts = [f"f{i}: {p[0]}" for i, p in enumerate(parts)], [f"f{i}: {p[1]}" for i, p in enumerate(parts)]
        more = draw(st.booleans())
        wanted = draw(st.permutations(texts[1])) + ["..."] if more else texts[1]
        return f"{{{', '.join(texts[0])}}}", f"{{{', '.join(wanted)}}}"

    def maybe_variable(own, pattern):
        return name_for(0, own) if not own.startswith("?") and draw(st.booleans()) else pattern

    def whole(depth):
        dims = draw(st.lists(st.sampled_from(["strided", "var", "2", "3"]), max_size=3))
        own, pattern = element(depth)
        pattern = maybe_variable(own, pattern)
        wanted = [name_for(1, d) if draw(st.booleans()) else d for d in dims]
        if draw(st.booleans()):
            a, b = sorted([draw(st.integers(0, len(dims))), draw(st.integers(0, len(dims)))])
            wanted[a:b] = [name_for(2, tuple(dims[a:b])) + "..."]
        return " * ".join(dims + [own]), " * ".join(wanted + [pattern])

    own, pattern = whole(depth)
    return own, pattern, bound


def python_value(kind, value):
    dim = lambda d: int(d) if d.isdigit() else d
    return ndt.type(value) if kind == 0 else dim(value) if kind == 1 else tuple(map(dim, value))


@given(type_and_pattern())
def test_a_pattern_made_from_a_type_matches_it(made):
    own, pattern, bound = made
    found = ndt.type(own).match(pattern)
    assert found, found.why
    used = {name: python_value(*value) for name, value in bound.items() if name in ndt.type(pattern).variables}
    assert found == used
    assert dict(found) == used and set(found) == set(used) and len(found) == len(used)
    if "..." not in pattern.replace("... *", ""):  # an open struct or tuple says less than the type
        assert ndt.type(pattern).substitute(found) == ndt.type(own)
        assert ndt.type(pattern).substitute(dict(found)) == ndt.type(own)
        assert ndt.type(pattern).substitute(**dict(found)) == ndt.type(own)


@given(type_and_pattern())
def test_patterns_round_trip(made):
    for text in made[:2]:
        t = ndt.type(text)
        assert ndt.type(str(t)) == t and hash(ndt.type(str(t))) == hash(t)
        assert pickle.loads(pickle.dumps(t)) == t and copy.deepcopy(t) == t
        assert eval(repr(t), {"ndt": ndt}) == t


@given(type_and_pattern(), type_and_pattern())
def test_a_match_is_what_substitution_says(a, b):
    found = ndt.type(a[0]).match(b[1])
    if found:
        assert "..." in b[1] or ndt.type(b[1]).substitute(found) == a[0]
    else:
        assert found.why.startswith(f"{ndt.type(a[0])} does not match {ndt.type(b[1])}: ")
        assert len(found) == 0 and not list(found)


# ---- against a model that walks trees --------------------------------------------------------------------------------

def to_python(value):
    dim = lambda d: int(d) if d.isdigit() else d
    return ndt.type(pattern_model.text(value)) if isinstance(value, tuple) and value and value[0] in KINDS else (
        dim(value) if isinstance(value, str) else tuple(map(dim, value)))


KINDS = {"scalar", "option", "pointer", "dim", "struct", "tuple", "function"}


@pytest.mark.parametrize("seed", range(8))
def test_matches_are_those_of_the_model(seed):
    r, matched = random.Random(seed), 0
    for _ in range(1000):
        own = pattern_model.random_function(r) if r.random() < 0.1 else pattern_model.random_type(r)
        pattern = pattern_model.pattern_of(r, own)
        own_text, pattern_text = pattern_model.text(own), pattern_model.text(pattern)
        t, p = ndt.type(own_text), ndt.type(pattern_text)
        assert ndt.type(str(p)) == p and ndt.type(str(t)) == t
        expected, found = pattern_model.match(own, pattern, {}), t.match(p)
        assert bool(found) == bool(expected), (own_text, pattern_text, expected, found)
        matched += bool(found)
        if found:
            assert any(dict(found) == {n: to_python(v) for n, v in b.items()} for b in expected), (own_text, pattern_text)
            bound = next(b for b in expected if dict(found) == {n: to_python(v) for n, v in b.items()})
            some = {n: v for n, v in bound.items() if r.random() < 0.7}
            wanted = pattern_model.text(pattern_model.substitute(pattern, some))
            assert p.substitute({n: to_python(v) for n, v in some.items()}) == ndt.type(wanted), (pattern_text, some)
        else:
            assert found.why.startswith(f"{t} does not match {p}: "), found.why
    assert 200 < matched < 800


# ---- by hand ---------------------------------------------------------------------------------------------------------

def test_signature_parts():
    s = ndt.type("(x: N * T, w: N * float64, *, ddof: int64 = 1) -> float64")
    assert s.parameters == [("x", ndt.type("N * T"), None, "positional"), ("w", ndt.type("N * float64"), None, "positional"),
                            ("ddof", ndt.int64, "1", "keyword")]
    assert s.result == ndt.float64
    assert s.variables == ("N", "T")
    assert str(s) == "(x: N * T, w: N * float64, *, ddof: int64 = 1) -> float64"
    assert s.substitute(T="int32", N=3) == "(x: 3 * int32, w: 3 * float64, *, ddof: int64 = 1) -> float64"
    both = ndt.type("(x: inout N * T, y: inout T, *, k: T) -> void")
    assert both.parameters[0][3] == "inout"
    assert both.substitute(T="int32", N=3) == "(x: inout 3 * int32, y: inout int32, *, k: int32) -> void"


PARAMETERS = ["3 * int32", "inout 3 * int32", "x: 3 * int32", "x: inout 3 * int32", "*, k: int64", "*, k: int64 = 1"]


@pytest.mark.parametrize("behind", ["", ", *, j: bool"])
def test_a_signature_matches_what_takes_its_parameters_in_the_same_way(behind):
    """Read, or read and written; by position, by name, or by keyword; as many of each."""
    def signature(parameter, type):
        behind_it = behind.replace("*, ", "") if parameter.startswith("*") else behind
        return f"({parameter.replace('int32', type)}{behind_it}) -> {type}"

    def way(parameter):
        return parameter.startswith("*"), "inout" in parameter

    for own in PARAMETERS:
        for wanted in PARAMETERS:
            found = ndt.type(signature(own, "int32")).match(signature(wanted, "T"))
            named = "x:" in wanted and "x:" not in own
            if way(own) != way(wanted):
                assert not found, (own, wanted)
            elif not named:
                assert found and found["T"] == ndt.int32, (own, wanted, found)
    for own, wanted, reason in (("inout 3 * int32", "3 * T", "parameter 0 is inout"), ("3 * int32", "inout 3 * T", "parameter 0 is not inout")):
        found = ndt.type(f"({own}) -> int32").match(f"({wanted}) -> T")
        assert not found and reason in str(found)


def test_fields_element_ndim():
    assert ndt.type("{x: T, y: 3 * int32}").fields == {"x": ndt.type("T"), "y": ndt.type("3 * int32")}
    assert ndt.type("(int8, string)").fields == (ndt.int8, ndt.type("string"))
    assert ndt.type("Dims... * N * T").ndim == 1 and ndt.type("N * M * T").ndim == 2
    assert ndt.type("N * M * T").element == "M * T" and ndt.type("N * M * T").dtype == "T"
    assert ndt.type("3 * T").variables == ("T",) and ndt.type("3 * int8").variables == ()
    for bad in ("fields", "parameters", "result", "element"):
        with pytest.raises(TypeError, match="ndt.type: int8 "):
            getattr(ndt.int8, bad)


def test_a_match_without_variables_is_true():
    assert ndt.float64.match("Float") and ndt.float64.match("float64") and ndt.type("3 * int8").match("Any")
    assert not ndt.float64.match("Int")
    assert "T" in ndt.int8.match("T") and "U" not in ndt.int8.match("T")
    with pytest.raises(KeyError):
        ndt.int8.match("T")["U"]
    assert repr(ndt.type("3 * int8").match("N * T")) == "<match {'N': 3, 'T': ndt.int8}>"
    assert repr(ndt.int8.match("Float")) == "<no match: int8 does not match Float: int8 is no Float>"


@pytest.mark.parametrize("own, pattern, why", [
    ("{a: int32, b: {x: float32, y: ?int8}}", "{a: int32, b: {x: float32, y: ?int16}}", "field b: field y: int8 is not int16"),
    ("3 * (int8, 4 * string)", "3 * (int8, 5 * string)", "field 1: 4 * string is not 5 * string"),
    ("{a: int32}", "{b: int32}", "{a: int32} has field a where b is wanted"), ("(int8)", "(int8, int8)", "(int8) has 1 field, not 2"),
    ("{a: int32, b: 3 * int8}", "{a: T, b: N * T}", "field b: T is int32 before, and int8 here"),
])
def test_a_failed_match_says_where_and_why(own, pattern, why):
    assert ndt.type(own).match(pattern).why == f"{own} does not match {pattern}: {why}"


@pytest.mark.parametrize("text, message", [
    ("(N * T", 'expected "," or ")"'), ("(T) -> ", "expected a data type"), ("N ** T", "expected a data type"),
    ("(k: int8 = 300) -> T", "does not fit in int8"), ("{x: T, ..., y: T}", "expected"), ("T T", "unexpected"),
    ("Dims.. * T", "unexpected"), ("Dims... T", 'expected "*"'), ("(...) -> ... T", 'expected "*"'),
])
def test_bad_text_has_a_caret(text, message):
    with pytest.raises((TypeError, OverflowError)) as caught:
        ndt.type(text)
    lines = str(caught.value).split("\n")
    assert message in lines[0] and lines[1] == text and lines[2].strip() == "^"


@pytest.mark.parametrize("values, error", [
    (dict(T=3), TypeError), (dict(N="int32 * 3"), TypeError), (dict(N=-1), ValueError), (dict(N=2 ** 70), OverflowError),
    (dict(U="int8"), TypeError), (dict(N=(1, 2)), TypeError), (dict(Dims=3), TypeError), (dict(F="int8"), TypeError),
    (dict(Dims=["x y"]), TypeError), (dict(N=True), TypeError), (dict(T=None), TypeError),
])
def test_bad_substitution(values, error):
    with pytest.raises(error, match="substitute|datashape"):
        ndt.type("Dims... * N * (T, Float F)").substitute(**values)


@pytest.mark.parametrize("values", [3, "T", [1], {1: "int8"}, {"T": "int8", None: 3}])
def test_what_is_substituted_is_a_dict_or_a_match(values):
    with pytest.raises(TypeError, match="substitute: (expected a dict or a match|the name of a variable is text)"):
        ndt.type("N * T").substitute(values)


def test_substitution_of_a_failed_match_is_an_error():
    with pytest.raises(TypeError, match="nothing is bound"):
        ndt.type("T").substitute(ndt.int8.match("Float T"))


@pytest.mark.parametrize("call", [
    lambda t: nd.empty(t), lambda t: nd.array([1.0], type=t), lambda t: nd.array([1.0]).astype(t), lambda t: nd.zeros(t),
    lambda t: nd.full(3, 1.0, dtype=t), lambda t: nd.zeros_like(nd.array([1.0]), dtype=t),
])
@pytest.mark.parametrize("text", ["N * float64", "T", "Float", "... * float64", "(float64) -> float64", "3 * {x: T}", "void"])
def test_no_array_has_a_pattern(call, text):
    with pytest.raises(TypeError, match="is a (pattern|signature); no array has it"):
        call(text)
    with pytest.raises(TypeError, match="is a (pattern|signature); no array has it"):
        call(ndt.type(text))


def test_a_type_is_hashed_as_its_text():
    assert {ndt.type("N * T"): 1}["N * T"] == 1


@pytest.mark.parametrize("pattern", ["{x: T}", "(T, int8)", "?{x: T}", "pointer[T]"])
def test_types_that_are_substituted_nest_no_deeper_than_those_that_are_parsed(pattern):
    """The text of every type can be parsed."""
    made = ndt.type("int32")
    with pytest.raises(ValueError, match="types nest more than 128 deep"):
        for _ in range(200):
            made = ndt.type(pattern).substitute(T=made)
            assert ndt.type(str(made)) == made


@pytest.mark.parametrize("type, fits, large", [
    ("float16", "65519", "65520"), ("float32", "3.4028235e38", "1e300"), ("complex64", "-3e38", "-3.5e38"),
    ("float64", "1e308", "1e309"), ("int8", "127", "128"),
])  # fmt: skip
def test_a_default_that_does_not_fit_is_refused(type, fits, large):
    ndt.type(f"(x: float64, *, k: {type} = {fits}) -> float64")
    with pytest.raises(OverflowError, match=f"the default {large} does not fit in {type}"):
        ndt.type(f"(x: float64, *, k: {type} = {large}) -> float64")


def test_text_in_quotes_is_read_in_one_way():
    f = nd.callable(lambda x, *, tag: len(tag), '(int32, *, tag: string = "a\\"\\u00e9") -> int64')
    assert f(1).tolist() == 3
    with pytest.raises(TypeError, match=r'unrecognized escape "\\q" in quoted text'):
        ndt.type(r'(int32, *, tag: string = "a\q") -> int32')
    with pytest.raises(TypeError, match="the default has a zero byte"):
        ndt.type(r'(int32, *, tag: string = "a\u0000") -> int32')
    with pytest.raises(TypeError, match="the name of a parameter has a zero byte in it"):
        ndt.type(r'("a\u0000b": int32, "a\u0000c": int32) -> int32')


def test_a_type_with_too_many_dimensions_is_a_value_error():
    with pytest.raises(ValueError, match="more than 32 dimensions at line 1, column 129"):
        ndt.type("2 * " * 33 + "int8")


# ---- calls of kernels whose operands are patterns


def same(signature, function=lambda *operands: operands[0]):
    return nd.callable(function, signature, name="same")


@pytest.mark.parametrize("given", [9, 20])
def test_more_operands_than_a_kernel_has(given):
    f = same("(x: float64) -> float64")
    for keywords in ({}, {"y": 1.0}):
        with pytest.raises(TypeError, match=f"^same: takes 1 operand, not {given}$"):
            f(*[nd.array([1.0])] * given, **keywords)
    f.add(lambda x, y: x, "(float64, float64) -> float64")
    with pytest.raises(TypeError, match=f"no overload takes .*, [.][.][.]\\)(.|\n)*takes 2 operands, not {given}"):
        f(*[[1.0]] * given)


def test_a_variable_may_be_a_struct_or_a_text():
    struct, text = nd.array([{"x": 1, "y": 2.5}]), nd.array(["abc", "d"], type="2 * fixed_string[3]")
    assert same("(T) -> T")(struct).tolist() == struct.tolist() and same("(T) -> T")(text).tolist() == ["abc", "d"]
    one = lambda *operands: 1.0
    assert same("(Any) -> float64", one)(struct).tolist() == [1.0]
    assert same("(Text) -> float64", one)(text).tolist() == [1.0, 1.0]
    assert same("(T, U) -> U", lambda x, y: y)(struct, [2.0]).tolist() == [2.0]
    assert same("(T, *, k: float64 = 3) -> float64", lambda x, *, k: k)(struct, k=4.0).tolist() == [4.0]
    assert nd.reduce(same("(T, T) -> T"), nd.array([{"x": i} for i in (4, 5, 6)])).tolist() == {"x": 4}
    assert same("(T) -> T")([1.5]).tolist() == [1.5]


def test_no_kernel_takes_a_struct_that_may_be_missing():
    for values in ([{"x": 1, "y": 2.5}], [{"x": 1, "y": 2.5}, None]):
        with pytest.raises(TypeError, match=r"same: operand 0 has elements of type .*; it takes \(\?T\) -> \?T"):
            same("(?T) -> ?T")(nd.array(values))
    assert same("(?T) -> ?T")(nd.array([1.5, None])).tolist() == [1.5, None]


def test_all_overloads_are_added_or_none():
    f = same("(int32) -> int32")
    g = same("(float64) -> float64")
    g.add(lambda x: x, "(int32) -> int32")
    with pytest.raises(TypeError, match="is ambiguous with"):
        f.add(g)
    assert [str(s) for s in f.signatures] == ["(int32) -> int32"]
    h = same("(int8) -> int8")
    h.add(g)
    assert len(h.signatures) == 3


def test_a_keyword_in_the_other_byte_order():
    f = same("(float64, *, k: float64 = 3) -> float64", lambda x, *, k: x * k)
    assert f([2.0], k=nd.asarray(np.array(5.0, ">f8"))).tolist() == [10.0]
    assert f([2.0], k=nd.asarray(np.array(5, ">i2"))).tolist() == [10.0]


def test_a_default_below_the_range_is_zero():
    signature = ndt.type("(x: float64, *, k: float64 = 1e-400, m: float32 = -1e-400) -> float64")
    assert str(signature) == "(x: float64, *, k: float64 = 0.0, m: float32 = -0.0) -> float64"
    assert float(nd.array(["1e-400"]).astype("float64")[0]) == 0.0, "as arrays read it"
