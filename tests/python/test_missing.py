"""Missing values (?T, Python's None) in every operation, strided and ragged, against nested Python lists.

Large arrays (lazy, fused, on threads) are in test_one_engine.py.
"""

import functools
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
from conversions import Refused, shown
from dynd import nd
from missing_oracle import Failed, bare, index_text, is_option, puncture
from oracle import VAR, Array, strided
from strategies import SOME, make_operands, random_values, seeds
from support import APPROXIMATE, SIGNLESS, assert_is, contains, identical, make, sliced_inside
from test_reductions import LENGTHS, SUMMED, draw_axis, undecided, wild

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


# ---- ways to make an array


def make_missing(rng, value):
    """An nd.array with these values, missing ones too, by some way."""
    if not is_option(value.scalar):
        return make(rng, value)
    access, way = rng.choice([None, "rw"]), rng.random()
    plain = lambda values: nd.array(values, type=value.type_text, access=access)  # noqa: E731
    sizes = [size for _, size in value.dims]
    if 0 in sizes[:-1] and not value.ragged:  # a list cannot say the sizes below
        return nd.array(np.ma.zeros(sizes, bare(value.scalar)))
    if way < 0.2 and 0 not in sizes:
        return overwritten(rng, value)
    if any(kind != "strided" for kind, _ in value.dims[:1]) or not value.ndim or not value.values or way < 0.4:
        return plain(value.values)
    if any(kind == "fixed" for kind, _ in value.dims):
        return plain(value.values[::-1])[::-1]
    if value.ragged and way < 0.6:
        return sliced_inside(rng, value, plain)
    if not value.ragged and way < 0.6:
        flat = oracle.leaves(value.values, value.ndim)
        mask = np.array([x is None for x in flat], bool).reshape(sizes)
        data = np.array([1 if x is None else x for x in flat], dtype=bare(value.scalar)).reshape(sizes)
        return nd.array(np.ma.array(np.asfortranarray(data), mask=mask))
    if value.ndim == 2 and not value.ragged and way < 0.7:
        return plain([list(column) for column in zip(*value.values)]).T if sizes[1] else plain(value.values)
    if value.dims[1:2] == (VAR,) and VAR not in value.dims[2:] and way < 0.75:
        rows = [element for row in value.values for element in row]
        offsets = [0, *itertools.accumulate(map(len, value.values))]
        kind = oracle.type_text((strided(len(rows)), *value.dims[2:]), value.scalar)
        return nd.from_offsets(offsets, nd.array(rows, type=kind))
    if way < 0.85:
        return plain(value.values[::-1])[::-1]
    return plain([copy for row in value.values for copy in (row, value.values[0])])[::2]


def overwritten(rng, value):
    """Every element gets a value first, zeros and extremes among them; some are then made missing again."""
    scalar = bare(value.scalar)
    garbage = lambda x: random_values(rng, scalar, 1)[0] if x is None else x  # noqa: E731
    array = nd.array(missing.map_leaves(garbage, value.values, value.ndim), type=value.type_text, access="rw")
    for index, x in zip(missing.paths(value.values, value.ndim), oracle.leaves(value.values, value.ndim)):
        if x is None:
            array[index or ...] = None
    return array


def some_missing(rng, operands, share=0.3):
    """At least one operand, mostly more, may have missing values."""
    at = rng.randrange(len(operands))
    return [puncture(rng, x, share) if i == at or rng.random() < 0.5 else x for i, x in enumerate(operands)]


SIGNS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    "abs": abs,
    "divmod": divmod,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_invert": operator.invert,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
}


def agree(name, operands, rng, by_sign=None):
    """The library and the oracle give the same values and type, or fail alike."""
    given_ = [make_missing(rng, x) if isinstance(x, Array) else x for x in operands]
    by_sign = name in SIGNS and rng.random() < 0.5 if by_sign is None else by_sign
    call = SIGNS[name] if by_sign else getattr(nd, name)
    try:
        expected = missing.elementwise(name, *operands)
    except Failed as failure:
        with pytest.raises(ValueError) as caught:
            call(*given_)
        assert contains(str(caught.value), f"^{name}: ")
        assert str(caught.value).endswith(f" at index {index_text(failure.index)}" if failure.index else "")
        return
    except oracle.BroadcastError:
        with pytest.raises(ValueError, match=f"^{name}: cannot broadcast"):
            call(*given_)
        return
    except TypeError:
        with pytest.raises(TypeError):
            call(*given_)
        return
    found = call(*given_)
    for one, right in zip(found, expected) if name == "divmod" else [(found, expected)]:
        exact = name not in APPROXIMATE or not any("complex" in x.scalar for x in operands if isinstance(x, Array))
        if exact:
            assert_is(one, right, zeros=name not in SIGNLESS)
        else:
            assert str(nd.type_of(one)) == right.type_text
            close_where_there(one.tolist(), right.values, right)


def close_where_there(found, expected, right):
    left, right_ = (oracle.leaves(values, right.ndim) for values in (found, expected))
    assert [x is None for x in left] == [x is None for x in right_]
    eps = 4 * np.finfo(bare(right.scalar)).eps
    for x, y in zip(left, right_):
        assert y is None or identical(x, y) or abs(x - y) <= eps * abs(y), (x, y)


def draw_operands(rng, count, scalars, spoiled=False, ragged=None):
    ragged = rng.random() < 0.5 if ragged is None else ragged
    return make_operands(rng, count, ragged, scalars, spoiled)


# ---- elementwise operations


@settings(max_examples=2 * SOME)
@given(seeds, st.sampled_from(["add", "subtract", "multiply", "divide", "minimum", "maximum"]))
def test_two_operands(seed, name):
    rng = random.Random(seed)
    scalars = oracle.REALS if name in SIGNLESS else oracle.NUMBERS
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
    bad = 0 if name in ("floor_divide", "remainder", "divmod") else 0 if scalar[0] == "u" else -1
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


# ---- reductions


def check_reduction(name, value, axis, keepdims, rng):
    if undecided(value, axis):
        return
    array = make_missing(rng, value)
    call = functools.partial(getattr(nd, name), array, axis=axis, keepdims=keepdims)
    try:
        expected = missing.reduce(name, value, axis, keepdims)
    except oracle.UnequalRowsError:
        with pytest.raises(ValueError, match=f"^{name}:"):
            call()
        return
    except TypeError:
        with pytest.raises(TypeError, match=f"^{name}: not defined for complex numbers"):
            call()
        return
    found = call()
    assert identical(found.tolist(), expected.values, zeros=False), f"{found.tolist()}, expected {expected.values}"
    text = str(nd.type_of(found))
    assert text.split(" * ")[-1] == expected.scalar and found.ndim == expected.ndim
    if not keepdims and expected.dims[:1] != (VAR,):
        assert text == expected.type_text
    if keepdims:
        assert all(found.shape[i] == 1 for i in (range(value.ndim) if axis is None else [axis % value.ndim]))


@settings(max_examples=3 * SOME)
@given(seeds, st.sampled_from(["sum", "min", "max"]), st.booleans(), st.sampled_from([0.1, 0.4, 0.8, 1.0]), st.data())
def test_reductions_skip_what_is_missing(seed, name, keepdims, share, data):
    rng = random.Random(seed)
    (array,) = draw_operands(rng, 1, oracle.SCALARS)
    value = puncture(rng, array, share)
    check_reduction(name, value, draw_axis(data, value), keepdims, rng)


def test_of_nothing():
    rows = nd.array([[1, None], [], [None], [5]])
    assert rows.sum(axis=1).tolist() == [1, 0, 0, 5] and str(nd.type_of(rows.sum(axis=1))) == "strided * int64"
    assert rows.min(axis=1).tolist() == [1, None, None, 5] and str(nd.type_of(rows.min(axis=1))) == "strided * ?int32"
    assert rows.max(axis=-1, keepdims=True).tolist() == [[1], [None], [None], [5]]
    empty = nd.array([], type="?float64")
    assert empty.sum().tolist() == 0.0 and empty.min().tolist() is None and empty.max().tolist() is None
    nothing = nd.array([[None, None]] * 3, type="strided * strided * ?float32")
    assert nothing.sum(axis=0).tolist() == [0.0, 0.0] and nothing.max(axis=0).tolist() == [None, None]
    assert (nothing.sum().tolist(), nothing.min().tolist()) == (0.0, None)
    deep = nd.array([[[1, None], []], [[None]]], type="strided * var * var * ?int32")
    assert deep.max(axis=2).tolist() == [[1, None], [None]] and deep.sum(axis=2).tolist() == [[1, 0], [0]]
    assert identical(nd.array([[math.nan, None], [None, 2.0]]).min(axis=0).tolist(), [math.nan, 2.0])


def test_an_empty_row_without_an_option_still_fails():
    with pytest.raises(ValueError, match="empty"):
        nd.array([[1], []]).min(axis=1)


@pytest.mark.parametrize("scalar", SUMMED)
def test_sums_keep_their_order_with_missing_values(scalar):
    """Every missing value contributes nothing, at its place."""
    rng, pick = np.random.default_rng(7), random.Random(7)
    rows, expected = [], []
    for length in [*range(0, 140, 3), *(n for n in LENGTHS if n < 5000)]:
        row = [None if pick.random() < 0.3 else x for x in wild(rng, scalar, length).tolist()]
        rows.append(row)
        expected.append(oracle.ordered_sum(np.array([0 if x is None else x for x in row], dtype=scalar)).tolist())
        assert identical(nd.array(row, type=f"strided * ?{scalar}").sum().tolist(), expected[-1], zeros=False), length
    ragged = nd.array(rows, type=f"strided * var * ?{scalar}")
    assert identical(ragged.sum(axis=1).tolist(), expected, zeros=False)
    assert identical(ragged[::-1].sum(axis=1).tolist(), expected[::-1], zeros=False)
    everything = np.array([0 if x is None else x for row in rows for x in row], dtype=scalar)
    assert identical(ragged.sum().tolist(), oracle.ordered_sum(everything).tolist(), zeros=False)
    columns = [list(column) for column in zip(*(row[:129] for row in rows if len(row) >= 129))]
    square = nd.array(columns, type=f"strided * strided * ?{scalar}")
    across = missing.reduce("sum", Array((strided(129), strided(len(columns[0]))), "?" + scalar, columns), 0)
    assert identical(square.sum(axis=0).tolist(), across.values, zeros=False)
    assert identical(square.T.sum(axis=1).tolist(), across.values, zeros=False)


# ---- assignment and conversion


def refusal_text(refusal, source, to):
    if isinstance(refusal, missing.Missing):
        return f"^{NA}", OverflowError
    kind = OverflowError if refusal.kind == "overflow" else ValueError
    return rf"^{refusal.kind} while assigning \??{shown(bare(source)).replace('[', '.')} value ", kind


@settings(max_examples=3 * SOME)
@given(seeds, st.booleans(), st.booleans())
def test_assignment(seed, option, checked):
    """T and ?T to U and ?U, the source stretched; what is refused is named, the other elements are old or new."""
    rng = random.Random(seed)
    destination, source = draw_operands(rng, 2, oracle.SCALARS, ragged=rng.random() < 0.5)
    small = missing.map_leaves(lambda _: rng.choice([0, 1]), source.values, source.ndim)
    if not checked:  # values that every type has
        source = Array(source.dims, "int8", small)
    source = puncture(rng, source, 0.2) if rng.random() < 0.7 else source
    destination = puncture(rng, destination) if option else destination
    target = nd.array(destination.values, type=destination.type_text, access="rw") if destination.values else None
    if target is None or 0 in destination.shape:
        return
    try:
        expected, refusal = missing.assign(destination, source)
    except oracle.BroadcastError:
        with pytest.raises(ValueError, match="cannot broadcast"):
            target[...] = make_missing(rng, source)
        assert identical(target.tolist(), destination.values)
        return
    given_ = make_missing(rng, source)
    if refusal is None:
        target[...] = given_
        assert_is(target, expected)
        return
    text, kind = refusal_text(refusal, source.scalar, destination.scalar)
    with pytest.raises(kind, match=text) as caught:
        target[...] = given_
    if refusal.index:
        assert str(caught.value).endswith(f" at index {index_text(refusal.index)}")
    columns = (target.tolist(), destination.values, expected.values)
    for new, old, right in zip(*(oracle.leaves(values, destination.ndim) for values in columns)):
        assert identical(new, old) or identical(new, right)


@settings(max_examples=2 * SOME)
@given(seeds, st.sampled_from(oracle.SCALARS), st.booleans())
def test_conversion(seed, to, option):
    rng = random.Random(seed)
    (array,) = draw_operands(rng, 1, oracle.SCALARS)
    source = puncture(rng, array, rng.choice([0.0, 0.3, 1.0])) if rng.random() < 0.8 else array
    kind = "?" * option + to
    same = Array(source.dims, kind, source.values)
    items = zip(missing.paths(source.values, source.ndim), oracle.leaves(source.values, source.ndim))
    try:
        flat = [missing.convert(x, source.scalar, kind, index) for index, x in items]
    except (missing.Missing, Refused) as refusal:
        text, error = refusal_text(refusal, source.scalar, kind)
        with pytest.raises(error, match=text) as caught:
            make_missing(rng, source).astype(kind)
        assert not refusal.index or str(caught.value).endswith(f" at index {index_text(refusal.index)}")
        return
    values = iter(flat)
    same.values = missing.map_leaves(lambda _: next(values), source.values, source.ndim)
    assert_is(make_missing(rng, source).astype(kind), same)


def test_what_is_behind_a_missing_value_is_never_looked_at():
    for hidden, source, to in [(300, "?int32", "?int8"), (math.nan, "?float64", "?int32"), (-1, "?int64", "?uint8")]:
        a = nd.array([1, hidden, 2], type=source, access="rw")
        a[1] = None
        assert a.astype(to).tolist() == [1, None, 2]
        b = nd.array([5, 5, 5], type=to, access="rw")
        b[...] = a
        assert b.tolist() == [1, None, 2]
    a = nd.array(["1", "no number", "3"], type="?string", access="rw")
    a[1] = None
    assert a.astype("?int32").tolist() == [1, None, 3]


def test_a_missing_value_does_not_go_to_a_plain_type():
    b = nd.array([1, 2, 3], access="rw")
    with pytest.raises(OverflowError, match=rf"^{NA} at index \(1,\)$"):
        b[...] = nd.array([7, None, 8])
    assert b.tolist()[1] == 2 and b.tolist()[0] in (1, 7) and b.tolist()[2] in (3, 8)
    with pytest.raises(OverflowError, match=rf"^{NA} at index \(1, 1\)$"):
        nd.array([[1], [2, None], [None]]).astype("float64")
    assert nd.array([[1], [2, 3]], type="strided * var * ?int32").astype("float64").tolist() == [[1.0], [2.0, 3.0]]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_refused_element_of_many(threads):
    nd.set_num_threads(threads)
    values = np.ma.array(np.arange(600_000) % 100, mask=False)
    values[350_000], values[420_000] = np.ma.masked, np.ma.masked
    with pytest.raises(OverflowError, match=rf"^{NA} at index \(350000,\)$"):
        nd.array(values).astype("int8")
    values.data[400_000], values.data[350_000] = 1000, 5000
    source = nd.array(values)
    with pytest.raises(OverflowError, match=r"value 1000 to \??int8 at index \(400000,\)$"):
        source.astype("?int8")
    assert source[:400_000].astype("?int8").sum().tolist() == int(values[:400_000].sum())


def test_parts_of_writable_arrays():
    a = nd.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], type="strided * strided * ?int32", access="rw")
    a[1:, ::2] = nd.array([[None, 0.0], [3.0, None]])
    assert a.tolist() == [[1, 2, 3], [None, 5, 0], [3, 8, None]]
    a[:, 1] = None
    assert a.tolist() == [[1, None, 3], [None, None, 0], [3, None, None]]
    a[::-1] = nd.array([[1], [None], [3]])
    assert a.tolist() == [[3, 3, 3], [None] * 3, [1, 1, 1]]
    a += 1
    assert a.tolist() == [[4, 4, 4], [None] * 3, [2, 2, 2]]
    a[1] = a[0] * nd.array([2, None, 3])
    assert a.tolist() == [[4, 4, 4], [8, None, 12], [2, 2, 2]]
    rows = nd.array([[1, None], [], [3, 4, 5]], access="rw")
    rows[:, 1:] = None
    assert rows.tolist() == [[1, None], [], [3, None, None]]
    rows[...] = nd.array([[7], [8], [9]])
    assert rows.tolist() == [[7, 7], [], [9, 9, 9]]
    rows[:, ::-1] = nd.array([[1, None], [], [None, 2, 3]])
    assert rows.tolist() == [[None, 1], [], [3, 2, None]]


def test_overlapping_assignment():
    values = [None if i % 3 == 0 else i for i in range(3000)]
    for cut in (slice(1, None), slice(None, -1)):
        a = nd.array(values, access="rw")
        other = slice(None, -1) if cut.start else slice(1, None)
        a[cut] = a[other]
        expected = list(values)
        expected[cut] = values[other]
        assert a.tolist() == expected
