"""The six comparisons are exact: between integers of 64 bits and others, and with Python integers of any size."""

import itertools
import math
import operator
import random

import numpy as np
import pytest

import oracle
from dynd import nd

COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
FUNCTIONS = {
    operator.lt: nd.less,
    operator.le: nd.less_equal,
    operator.gt: nd.greater,
    operator.ge: nd.greater_equal,
    operator.eq: nd.equal,
    operator.ne: nd.not_equal,
}
EDGES = [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2, 2**63, 2**63 + 1, 2**64 - 1, -(2**63), -(2**63) + 1]


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("signed", ["int8", "int32", "int64"])
def test_signed_with_uint64(compare, signed):
    rng = random.Random(3)
    info = np.iinfo(signed)
    for length in (1, 7, 64, 300):
        a = [rng.choice([x for x in EDGES if info.min <= x <= info.max]) for _ in range(length)]
        b = [rng.choice([x for x in EDGES if 0 <= x]) for _ in range(length)]
        x, y = nd.array(a, type=f"strided * {signed}"), nd.array(b, type="strided * uint64")
        assert compare(x, y).tolist() == [compare(p, q) for p, q in zip(a, b)]
        assert compare(y, x).tolist() == [compare(q, p) for p, q in zip(a, b)]
        rows, column = nd.from_offsets([0, length // 2, length], x), nd.array([b[:1], b[-1:]], type="uint64")
        assert compare(rows, column).tolist() == [
            [compare(p, b[0]) for p in a[: length // 2]],
            [compare(p, b[-1]) for p in a[length // 2 :]],
        ]
        assert compare(x[::-1], y[::-1]).tolist() == [compare(p, q) for p, q in zip(a[::-1], b[::-1])]


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("integer", ["int64", "uint64"])
@pytest.mark.parametrize("floating", ["float16", "float32", "float64"])
def test_integers_of_64_bits_with_fractions(compare, integer, floating):
    rng = random.Random(4)
    info = np.iinfo(integer)
    near = [edge + step for edge in (*EDGES, 2**54, 2**62, -(2**54)) for step in (-2, -1, 0, 1, 2)]
    integers = [x for x in near if info.min <= x <= info.max]
    with np.errstate(over="ignore"):
        numbers = [float(np.dtype(floating).type(float(x))) for x in near] + [0.5, -0.0, math.inf, -math.inf, math.nan]
    for length in (1, 7, 64, 300):
        a, b = rng.choices(integers, k=length), rng.choices(numbers, k=length)
        x, y = nd.array(a, type=f"strided * {integer}"), nd.array(b, type=f"strided * {floating}")
        assert compare(x, y).tolist() == [compare(p, q) for p, q in zip(a, b)]
        assert compare(y, x).tolist() == [compare(q, p) for p, q in zip(a, b)]
        assert compare(x, b[0]).tolist() == [compare(p, b[0]) for p in a]
        assert compare(x[::-1], y[::-1]).tolist() == [compare(p, q) for p, q in zip(a[::-1], b[::-1])]


@pytest.mark.parametrize("compare", COMPARISONS)
def test_lazy_and_fused(compare):
    count = 100_000
    a = np.random.default_rng(0).integers(2**62, 2**63 - 1, count)
    b = a.astype(np.uint64) + np.random.default_rng(1).integers(0, 2, count).astype(np.uint64)
    x, y = nd.array(a), nd.array(b)
    assert np.array_equal(np.asarray(compare(x - 1, y - nd.array(1, type="uint64"))), compare(a - 1, b - np.uint64(1)))
    assert compare(x, y).sum().tolist() == int(compare(a, b).sum())


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("scalar", ["bool"] + oracle.INTEGERS)
def test_any_python_integer(compare, scalar):
    values = [False, True] if scalar == "bool" else [np.iinfo(scalar).min, 0, 1, np.iinfo(scalar).max]
    array = nd.array(values, type=f"strided * {scalar}")
    numbers = {edge + step for edge, step in itertools.product([0, *EDGES, *map(int, values), 300, -300], (-1, 0, 1))}
    for number in [*numbers, 2**70, -(2**70), 10**400]:
        expected = [compare(int(value), number) for value in values]
        assert compare(array, number).tolist() == expected, number
        assert FUNCTIONS[compare](array, number).tolist() == expected
        assert FUNCTIONS[compare](number, array).tolist() == [compare(number, int(value)) for value in values]
        assert compare(nd.array([values, []], type=f"strided * var * {scalar}"), number).tolist() == [expected, []]


def test_a_float_array_compares_with_large_integers():
    assert (nd.array([1.5, 1e30]) < 2**70).tolist() == [True, False]
    assert (nd.array([1.5, 2.0**70]) == 2**70).tolist() == [False, True]
    for scalar, digits in (("float64", 53), ("float32", 24), ("float16", 11)):
        a = nd.array([2.0**digits], type=f"strided * {scalar}")
        assert [(a == 2**digits + step).tolist() for step in (-1, 0, 1)] == [[False], [True], [False]]
        assert (a < 2**digits + 1).tolist() == [True]


def test_arithmetic_still_asks_for_the_type():
    array = nd.array([1], type="strided * uint8")
    for call in (lambda: array + 300, lambda: array * -1, lambda: nd.minimum(array, 300)):
        with pytest.raises(OverflowError):
            call()


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("floating", ["float64", "float32", "float16", "?float64", "?float32"])
def test_floating_point_with_integers_beyond_it(compare, floating):
    values = [1.0, -1.0, 0.0, float("inf"), -float("inf"), float("nan"), 60000.0]
    a = nd.array(values, type=floating)
    for number in (10**400, -(10**400), 2**1024, 10**39, -(10**39), 65520, -70000, 5):
        assert compare(a, number).tolist() == [compare(x, number) for x in values]
        assert compare(number, a).tolist() == [compare(number, x) for x in values]
        assert FUNCTIONS[compare](a, number).tolist() == [compare(x, number) for x in values]


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("floating", ["float64", "float32", "complex128"])
def test_integers_between_two_floating_point_numbers(compare, floating):
    if floating == "complex128" and compare not in (operator.eq, operator.ne):
        return
    most = 3.4028234663852886e38 if floating == "float32" else 1.7976931348623157e308
    for exact in (10**20, 2**64, -(2**63), 2**70, -(2**70), int(most), -int(most), 10**400):
        nearest = float(exact) if abs(exact) <= most else most
        values = [nearest, math.nextafter(nearest, 0), math.nextafter(nearest, math.inf), math.inf, -math.inf, math.nan]
        values = nd.array(nd.array(values), type=f"strided * {floating}").tolist()
        a = nd.array(values, type=floating)
        for number in (exact - 1, exact, exact + 1):
            assert compare(a, number).tolist() == [compare(x, number) for x in values], number
            assert compare(number, a).tolist() == [compare(number, x) for x in values]
            assert FUNCTIONS[compare](number, a).tolist() == [compare(number, x) for x in values]
