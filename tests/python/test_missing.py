"""Missing values (?T, Python's None) in every operation, strided and ragged, against nested Python lists.

Large arrays (lazy, fused, on threads) are in test_one_engine.py.
"""

import itertools
import math
import operator
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import missing_oracle as missing
import oracle
from dynd import nd
from missing_oracle import Failed, index_text, puncture
from oracle import VAR, Array, strided
from strategies import SOME, random_values, seeds
from support import assert_is, contains, identical
from missing_support import agree, draw_operands, make_missing, some_missing

NA = "cannot assign an NA value to a non-option type"


@pytest.fixture(autouse=True)
def one_thread_afterwards():
    yield
    nd.set_num_threads(1)


# ---- the oracle itself


def test_the_oracle():
    a = Array((strided(3), VAR), "?int8", [[1, None], [], [127]])
    one = Array((strided(3), strided(1)), "int8", [[1], [0], [1]])
    assert missing.elementwise("add", a, one) == Array(a.dims, "?int8", [[2, None], [], [-128]])
    assert missing.elementwise("add", a, 0.5) == Array(a.dims, "?float64", [[1.5, None], [], [127.5]])
    assert missing.elementwise("less", a, None) == Array(a.dims, "?bool", [[None, None], [], [None]])
    assert missing.elementwise("floor_divide", a, one).values == [[1, None], [], [127]]
    with pytest.raises(Failed) as caught:
        missing.elementwise("remainder", a, Array((), "int8", 0))
    assert caught.value.index == (0, 0)
    flags = Array((strided(3), strided(1)), "?bool", [[None], [True], [False]])
    assert missing.elementwise("where", flags, a, None).values == [[None, None], [], [None]]
    assert missing.elementwise("where", flags, None, a) == Array(a.dims, "?int8", [[None, None], [], [127]])
    assert missing.reduce("sum", a, 1) == Array(a.dims[:1], "int64", [1, 0, 127])
    assert missing.reduce("max", a, 1, True) == Array((strided(3), strided(1)), "?int8", [[1], [None], [127]])
    assert missing.reduce("min", a) == Array((), "?int8", 1)
    deep = Array((strided(2), strided(2), strided(1)), "?float64", [[[None], [2.0]], [[None], [math.nan]]])
    assert identical(missing.reduce("max", deep, 0).values, [[None], [math.nan]])
    new, refusal = missing.assign(Array((strided(2),), "int8", [5, 6]), Array((strided(2),), "?int32", [None, 300]))
    assert new.values == [5, 6] and type(refusal) is missing.Missing and refusal.index == (0,)
    new, refusal = missing.assign(Array((strided(2),), "?int8", [5, 6]), Array((strided(2),), "?int32", [None, 300]))
    assert new.values == [None, 6] and refusal.kind == "overflow" and refusal.index == (1,)
    assert missing.compare("less", (1, None), (1, 3)) is False and missing.compare("less", (1, 3), (1, None)) is True
    assert missing.compare("equal", {"x": None, "y": [1]}, {"y": [1], "x": None}) is True
    assert missing.compare("less", [1], [1, 0]) is True and missing.compare("not_equal", None, "a") is None
    assert [missing.compare(name, (math.nan,), (1.0,)) for name in missing.COMPARISONS] == [False] * 5 + [True]
    assert index_text((1, "k", 2)) == '(1, "k", 2)' and index_text((0,)) == "(0,)"


# ---- elementwise operations


PROPAGATING = ["add", "subtract", "multiply", "divide", "minimum", "maximum", "fmin", "fmax", "copysign", "nextafter"]
PROPAGATING += ["heaviside", "complex"]


@settings(max_examples=3 * SOME)
@given(seeds, st.sampled_from(PROPAGATING))
def test_two_operands(seed, name):
    rng = random.Random(seed)
    scalars = oracle.NUMBERS if name in ("add", "subtract", "multiply", "divide") else oracle.REALS
    agree(name, some_missing(rng, draw_operands(rng, 2, scalars)), rng)


@settings(max_examples=SOME)
@given(seeds, st.sampled_from(sorted(set(oracle.UNARY) - {"modf", "frexp"})))
def test_one_operand(seed, name):
    rng = random.Random(seed)
    agree(name, some_missing(rng, draw_operands(rng, 1, oracle.NUMBERS)), rng)


def test_both_results_are_missing_where_the_operand_is():
    fraction, whole = nd.modf(nd.array([1.5, None, -2.25]))
    assert fraction.tolist() == [0.5, None, -0.25] and whole.tolist() == [1.0, None, -2.0]
    mantissa, exponent = nd.frexp(nd.array([[8.0], [None, 3.0]]))
    assert mantissa.tolist() == [[0.5], [None, 0.75]] and exponent.tolist() == [[4], [None, 2]]
    assert str(nd.type_of(exponent)) == "strided * var * ?int32"


@settings(max_examples=2 * SOME)
@given(seeds, st.sampled_from(sorted(missing.COMPARISONS)))
def test_comparisons_give_optional_bools(seed, name):
    rng = random.Random(seed)
    complex_too = name in ("equal", "not_equal") and rng.random() < 0.3
    operands = draw_operands(rng, 2, oracle.NUMBERS if complex_too else ["bool"] + oracle.REALS)
    agree(name, some_missing(rng, operands), rng)


@settings(max_examples=2 * SOME)
@given(seeds)
def test_where(seed):
    rng = random.Random(seed)
    condition, x, y = draw_operands(rng, 3, oracle.NUMBERS)
    flags = missing.map_leaves(lambda _: rng.random() < 0.5, condition.values, condition.ndim)
    agree("where", some_missing(rng, [Array(condition.dims, "bool", flags), x, y]), rng)


@settings(max_examples=SOME)
@given(seeds, st.sampled_from(["add", "subtract", "multiply", "divide", "maximum", "less", "equal", "where"]))
def test_python_scalars_and_none(seed, name):
    """A scalar is weak, None as well: it makes the result optional and changes its type in no other way."""
    rng = random.Random(seed)
    (array,) = draw_operands(rng, 1, oracle.NUMBERS if name != "less" else oracle.REALS)
    array = array if rng.random() < 0.3 else puncture(rng, array)
    scalar = rng.choice([None, None, 0, 1, 7, 0.5, 2.5])
    operands = [array, scalar] if rng.random() < 0.5 else [scalar, array]
    if name == "where":
        flags = Array(array.dims, "bool", missing.map_leaves(lambda _: rng.random() < 0.5, array.values, array.ndim))
        operands = [flags if rng.random() < 0.5 else puncture(rng, flags), *operands]
    agree(name, operands, rng)


@settings(max_examples=SOME)
@given(seeds, st.sampled_from(["add", "where", "less", "minimum"]))
def test_shapes_that_do_not_fit(seed, name):
    rng = random.Random(seed)
    count = oracle.ELEMENTWISE[name][0]
    operands = draw_operands(rng, count, oracle.REALS, spoiled=True)
    if name == "where":
        flags = missing.map_leaves(lambda _: rng.random() < 0.5, operands[0].values, operands[0].ndim)
        operands[0] = Array(operands[0].dims, "bool", flags)
    agree(name, some_missing(rng, operands), rng)


def test_the_first_example():
    found = nd.array([1, None, 3]) + 1
    assert found.tolist() == [2, None, 4] and str(nd.type_of(found)) == "strided * ?int32"
    assert (1 + nd.array([[1], [None, 2], []])).tolist() == [[2], [None, 3], []]
    assert (nd.array([1, None])[1] + 1).tolist() is None
    assert (nd.array([1, None])[0] + 1).tolist() == 2


@pytest.mark.parametrize("values", [[1, 2], [[1.5], [], [2.0, 3.0]], [[1, 2], [3, 4]], 5])
def test_none_makes_everything_missing(values):
    a = nd.array(values)
    nothing = missing.map_leaves(lambda _: None, values, a.ndim)
    kind = oracle.type_text([VAR if n is None else strided(n) for n in a.shape], "?" + str(a.type).split(" * ")[-1])
    for found in (a + None, None + a, a - None, None * a, nd.minimum(a, None), nd.where(None, a, a)):
        assert found.tolist() == nothing and str(nd.type_of(found)) == kind
    found = nd.where(a == a, a, None)
    assert found.tolist() == values and str(nd.type_of(found)) == kind


@pytest.mark.parametrize(
    "left, right, result",
    [
        ("int32", "?float64", "?float64"),
        ("?int32", "float32", "?float64"),
        ("?int8", "?uint8", "?int16"),
        ("?int64", "uint64", "?float64"),
        ("?float32", "complex64", "?complex64"),
        ("bool", "?int16", "?int16"),
        ("float16", "?float16", "?float16"),
        ("?int32", "int32", "?int32"),
    ],
)
def test_types_mixed(left, right, result):
    a, b = nd.array([1, 0, 1], type=left), nd.array([1, None, 0] if right[0] == "?" else [1, 0, 0], type=right)
    if left[0] == "?":
        a = nd.array([1, 0, None], type=left)
    for x, y in ((a, b), (b, a)):
        assert str(nd.type_of(x + y)) == f"strided * {result}"
        expected = [None if p is None or q is None else p + q for p, q in zip(x.tolist(), y.tolist())]
        assert (x + y).tolist() == expected
    assert str(nd.type_of(a == b)) == "strided * ?bool"


def test_a_value_without_missing_ones_stays_what_it_is():
    assert str(nd.type_of(nd.array([1, 2]) + nd.array([1.5, 2]))) == "strided * float64"
    assert str(nd.type_of(nd.array([1, 2], type="?int32") + 1)) == "strided * ?int32", "by type, not by value"


def test_nan_is_a_value():
    a = nd.array([math.nan, None, 1.0])
    assert identical((a + 1.0).tolist(), [math.nan, None, 2.0])
    assert (a == a).tolist() == [False, None, True]
    assert identical(nd.maximum(a, 0.0).tolist(), [math.nan, None, 1.0])
    assert nd.is_missing(a).tolist() == [False, True, False]


# ---- logic


BOOLS = [True, False, None]


def test_kleene_logic():
    pairs = list(itertools.product(BOOLS, BOOLS))
    a, b = (nd.array([pair[i] for pair in pairs]) for i in (0, 1))
    assert (a & b).tolist() == [True, False, None, False, False, False, None, False, None]
    assert (a | b).tolist() == [True, True, True, True, False, None, True, None, None]
    assert (a ^ b).tolist() == [False, True, None, True, False, None, None, None, None]
    assert (~a).tolist() == [False] * 3 + [True] * 3 + [None] * 3
    for found in (a & b, a | b, a ^ b, ~a):
        assert str(nd.type_of(found)) == "strided * ?bool"
    plain = nd.array([True, False])
    assert (plain & None).tolist() == (None & plain).tolist() == [None, False]
    assert (plain | None).tolist() == (None | plain).tolist() == [True, None]
    assert (plain ^ None).tolist() == [None, None]
    assert (a & False).tolist() == [False] * 9 and (True | a).tolist() == [True] * 9


@settings(max_examples=SOME)
@given(seeds, st.sampled_from(["logical_and", "logical_or", "logical_xor"]), st.booleans())
def test_logic_on_the_truth_of_numbers(seed, name, ragged):
    rng = random.Random(seed)
    operands = draw_operands(rng, 2, ["bool"] + oracle.NUMBERS, ragged=ragged)
    zeros = lambda x: x if rng.random() < 0.5 else type(x)(0)  # noqa: E731
    operands = [Array(x.dims, x.scalar, missing.map_leaves(zeros, x.values, x.ndim)) for x in operands]
    agree(name, some_missing(rng, operands), rng)


@settings(max_examples=SOME)
@given(seeds, st.sampled_from(["bitwise_and", "bitwise_or", "bitwise_xor"]), st.booleans())
def test_bits_and_logic(seed, name, logic):
    rng = random.Random(seed)
    operands = draw_operands(rng, 2, ["bool"] if logic else oracle.INTEGERS)
    if oracle.promote([Array((), x.scalar, 0) for x in operands], "all").kind == "f":  # int64 with uint64
        operands = [Array(x.dims, "int64", missing.map_leaves(lambda v: v % 1000, x.values, x.ndim)) for x in operands]
    agree(name, some_missing(rng, operands), rng)


@settings(max_examples=SOME)
@given(seeds)
def test_invert(seed):
    rng = random.Random(seed)
    agree("bitwise_invert", some_missing(rng, draw_operands(rng, 1, ["bool"] + oracle.INTEGERS)), rng)


# ---- operations that fail


@settings(max_examples=2 * SOME)
@given(seeds, st.sampled_from(sorted(missing.FALLIBLE)), st.sampled_from(oracle.INTEGERS), st.booleans())
def test_a_failing_operation_fails_only_where_its_operands_are_there(seed, name, scalar, careful):
    """Careful ones have a bad right operand only where one of the two is missing, if shapes let them."""
    rng = random.Random(seed)
    a, b = draw_operands(rng, 2, [scalar])
    bad = 0 if name in ("floor_divide", "remainder", "divmod", "fmod") else 0 if scalar[0] == "u" else -1
    good = [1, 2, 3, 5] if bad == 0 else [0, 1, 2, 6]
    right = missing.map_leaves(lambda _: rng.choice([*good, bad]), b.values, b.ndim)
    if careful:
        right = missing.map_leaves(lambda x: None if x == bad and bad not in good else x, right, b.ndim)
        agree(name, [puncture(rng, a), Array(b.dims, "?" + scalar, right)], rng)
    else:
        agree(name, some_missing(rng, [a, Array(b.dims, scalar, right)], 0.7), rng)


DIVISIONS = [operator.floordiv, operator.mod, divmod]


def test_where_there_is_nothing_nothing_fails():
    found = nd.array([None, 8]) // nd.array([0, 3])
    assert found.tolist() == [None, 2] and str(nd.type_of(found)) == "strided * ?int32"
    assert (nd.array([None, 8]) % nd.array([0, 3])).tolist() == [None, 2]
    quotient, rest = divmod(nd.array([None, 8]), nd.array([0, 3]))
    assert (quotient.tolist(), rest.tolist()) == ([None, 2], [None, 2])
    assert str(nd.type_of(quotient)) == str(nd.type_of(rest)) == "strided * ?int32"
    assert (nd.array([2, None]) ** nd.array([3, -1])).tolist() == [8, None]
    assert (nd.array([1, None, 3]) << nd.array([2, -1, None])).tolist() == [4, None, None]
    assert (nd.array([9, None, 3]) >> nd.array([2, -1, None])).tolist() == [2, None, None]
    assert (nd.array([[None], [8, None]]) // nd.array([[0], [3, 0]])).tolist() == [[None], [2, None]]
    hidden = nd.array([4, 0, 2], type="?int32", access="rw")
    hidden[1] = None  # a zero is behind it
    nines = nd.array([9, 9, 9])
    assert [(nines // hidden).tolist(), (nines % hidden).tolist()] == [[2, None, 4], [1, None, 1]]
    assert [x.tolist() for x in divmod(nines, hidden)] == [[2, None, 4], [1, None, 1]]


@pytest.mark.parametrize(
    "call, name",
    [(operator.floordiv, "floor_divide"), (operator.mod, "remainder"), (divmod, "divmod")],
)
def test_a_division_by_zero_names_its_element(call, name):
    message = f"^{name}: integer division by zero at index "
    with pytest.raises(ValueError, match=message + r"\(0,\)$"):
        call(nd.array([1, 8]), nd.array([0, None]))
    with pytest.raises(ValueError, match=message + r"\(2, 1\)$"):
        call(nd.array([[None], [], [3, 4, 5]]), nd.array([[0], [], [1, 0, 0]]))
    with pytest.raises(ValueError, match=message + r"\(1,\)$"):
        call(nd.array([None, 8, 8]), 0)
    assert call(nd.array([None, None], type="?int32"), 0) is not None


@pytest.mark.parametrize(
    "call, name", [(operator.pow, "pow"), (operator.lshift, "bitwise_left_shift"), (operator.rshift, "bitwise_right_shift")]
)
def test_a_negative_power_or_count_names_its_element(call, name):
    for left, right, where in [
        ([1, 8, 3], [-1, None, 2], "(0,)"),
        ([None, 8, 3], [-1, None, -2], "(2,)"),
        ([[1], [None, 5]], [[2], [-1, -1]], "(1, 1)"),
    ]:
        with pytest.raises(ValueError) as caught:
            call(nd.array(left), nd.array(right))
        assert contains(str(caught.value), f"^{name}: ", "negative")
        assert str(caught.value).endswith(f" at index {where}")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", DIVISIONS)
def test_the_first_failing_element_far_down(threads, call):
    nd.set_num_threads(threads)
    count = 500_000
    left, right = np.ma.array(np.full(count, 7), mask=False), np.full(count, 2)
    right[[1000, 250_001, 300_000, 499_999]] = 0
    left[1000] = np.ma.masked
    a, b = nd.array(left), nd.array(right)
    with pytest.raises(ValueError, match=r"at index \(250001,\)$"):
        call(a, b)
    left[[250_001, 300_000]] = np.ma.masked
    with pytest.raises(ValueError, match=r"at index \(499999,\)$"):
        call(nd.array(left), b)
    left[499_999] = np.ma.masked
    found = call(nd.array(left), b)
    first = (found[0] if call is divmod else found).tolist()
    assert first.count(None) == 4 and first[1000] is None and set(first) == {None, 7 % 2 if call is operator.mod else 3}


def test_floats_divide_by_zero_as_ever():
    a = nd.array([1.0, None, 7.5, -7.5])
    assert (a // nd.array([4.0, 0.0, None, 2.0])).tolist() == [0.0, None, None, -4.0]
    assert (a % nd.array([4.0, 0.0, None, 2.0])).tolist() == [1.0, None, None, 0.5]
    assert (a ** nd.array([-1.0, -1.0, 1.0, 2.0])).tolist() == [1.0, None, 7.5, 56.25]


# ---- is_missing and fill_missing


@settings(max_examples=SOME)
@given(seeds)
def test_is_missing_and_fill_missing(seed):
    rng = random.Random(seed)
    (array,) = draw_operands(rng, 1, oracle.SCALARS)
    value = puncture(rng, array) if rng.random() < 0.8 else array
    made = make_missing(rng, value)
    assert_is(nd.is_missing(made), missing.is_missing(value))
    (filler,) = random_values(rng, array.scalar, 1, True)
    assert_is(nd.fill_missing(made, filler), missing.fill_missing(value, filler))
    whole = nd.array(filler, type=array.scalar)
    assert_is(nd.fill_missing(made, whole), missing.fill_missing(value, filler))


def test_a_filler_stretches():
    rows = nd.array([[1, None, 3], [None, 5, None]])
    assert nd.fill_missing(rows, nd.array([7, 8, 9])).tolist() == [[1, 8, 3], [7, 5, 9]]
    assert nd.fill_missing(rows, nd.array([[7], [8]])).tolist() == [[1, 7, 3], [8, 5, 8]]
    ragged = nd.array([[1, None], [], [None]])
    assert nd.fill_missing(ragged, nd.array([[7], [8], [9]])).tolist() == [[1, 7], [], [9]]
    assert nd.fill_missing(ragged, nd.array([[7, 8], [], [9]])).tolist() == [[1, 8], [], [9]]
    assert str(nd.type_of(nd.fill_missing(ragged, 0))) == "strided * var * int32"
    plain = nd.array([[1], [2, 3]])
    same = nd.fill_missing(plain, 5)
    assert same.tolist() == [[1], [2, 3]] and nd.type_of(same) == nd.type_of(plain)
    row = nd.array([1, 2, 3])  # nothing can be missing in it, and it stretches as any operand
    for filled in (nd.fill_missing(row, nd.array([[7.5], [8.5]])), nd.fill_missing(row, [[7.5], [8.5]])):
        assert filled.tolist() == [[1.0, 2.0, 3.0]] * 2
    assert nd.fill_missing(nd.array([[1], [2], [3]]), nd.array([[7, 8], [], [9]])).tolist() == [[1, 1], [], [3]]
    with pytest.raises(ValueError, match="fill_missing: cannot broadcast"):
        nd.fill_missing(row, nd.array([7, 8]))


@pytest.mark.parametrize(
    "values, type",
    [
        (["a", None, "", "ein langer Text, der nicht hineinpasst"], "?string"),
        ([b"a", None, b""], "?bytes"),
        ([{"x": 1, "y": None}, None, {"x": 2, "y": "t"}], "?{x: int32, y: ?string}"),
        ([(1, [1, 2]), None], "?(int32, var * int8)"),
        ([None, None], "?string"),
    ],
)
def test_any_element_may_be_missing(values, type):
    a = nd.array(values, type=type)
    flags = [x is None for x in values]
    assert nd.is_missing(a).tolist() == flags and str(nd.type_of(nd.is_missing(a))) == "strided * bool"
    assert nd.is_missing(a[::-1]).tolist() == flags[::-1]
    rows = nd.from_offsets([0, 0, len(values)], a)
    assert nd.is_missing(rows).tolist() == [[], flags]
    filler = next((x for x in values if x is not None), "nothing")
    filled = nd.fill_missing(a, nd.array(filler, type=type[1:]))
    assert filled.tolist() == [filler if x is None else x for x in values]
    assert str(nd.type_of(filled)) == "strided * " + type[1:]
    assert nd.is_missing(filled).tolist() == [False] * len(values)


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_a_fill_has_rows_of_its_own_lengths(length):
    fill = list(range(length))
    structs = [{"a": [1, 2]}, None, {"a": []}, {"a": [5]}]
    filled = [{"a": fill} if x is None else x for x in structs]
    for inside in ["var * int8", "pointer[var * int8]"]:
        a = nd.array(structs, type=f"4 * ?{{a: {inside}}}")
        assert nd.fill_missing(a, nd.array({"a": fill}, type="{a: var * int8}")).tolist() == filled
    nested = nd.array([structs, []], type="2 * var * ?{a: var * int8}")
    assert nd.fill_missing(nested, nd.array({"a": fill}, type="{a: var * int8}")).tolist() == [filled, []]
    rows = nd.array([[1, 2], None], type="2 * ?var * int8")
    assert nd.fill_missing(rows, nd.array(fill, type="var * int32")).tolist() == [[1, 2], fill]


def test_a_fill_that_is_missing_is_refused():
    for type in ["?string", "pointer[?string]"]:
        with pytest.raises(OverflowError, match=NA):
            nd.fill_missing(nd.array(["a", None]), nd.array(["x", None], type=f"2 * {type}"))
    assert nd.fill_missing(nd.array(["a", None]), nd.array(["x", "y"], type="2 * ?string")).tolist() == ["a", "y"]


def test_what_is_missing_inside_an_element_is_not_the_element():
    a = nd.array([{"x": None}, {"x": 1}])
    assert nd.is_missing(a).tolist() == [False, False]
    assert nd.is_missing(a["x"]).tolist() == [True, False]
    assert (a["x"] + 1).tolist() == [None, 2]
