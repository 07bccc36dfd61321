"""Two operations in one loop give the bits of two loops."""

import itertools
import operator

import numpy as np
import pytest
from dynd import nd

FIRST = [operator.add, operator.sub, operator.mul, operator.truediv]
SECOND = [operator.add, operator.sub, operator.mul, operator.truediv]
SIZES = [0, 1, 7, 64, 129, 1000, 3_000_001]  # the last: with streaming stores


def operands(dtype, size):
    rng = np.random.default_rng(size)
    vectors = [rng.normal(size=size).astype(dtype) for _ in range(3)]
    vectors[0][: size // 5] = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], size // 5)
    return vectors


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_every_pair(dtype, size):
    vectors = operands(dtype, size)
    numbers = [dtype(1.7), dtype(-0.3), dtype(2.9)]
    for constant in itertools.product([False, True], repeat=3):
        if all(constant) or (size > 1000 and sum(constant) == 1):
            continue
        x, y, z = [n if c else v for n, v, c in zip(numbers, vectors, constant)]
        a, b, c = [float(o) if one else nd.array(o) for o, one in zip((x, y, z), constant)]
        for f, g, swapped in itertools.product(FIRST, SECOND, [False, True]):
            with np.errstate(all="ignore"):
                between = f(x, y)
                expected = g(z, between) if swapped else g(between, z)
            if constant[0] and constant[1]:
                continue
            lazy = f(a, b)
            result = np.asarray(g(c, lazy) if swapped else g(lazy, c))
            np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares(dtype):
    x, y, _ = operands(dtype, 1000)
    a, b = nd.array(x), nd.array(y)
    for f in FIRST:
        with np.errstate(all="ignore"):
            expected = np.square(f(x, y))
        np.testing.assert_array_equal(np.asarray(nd.square(f(a, b))), expected, strict=True)
    np.testing.assert_array_equal(np.asarray(nd.square(a) - b), np.square(x) - y, strict=True)


@pytest.mark.parametrize("size", [1000, 20_000])
def test_two_pairs_of_one_expression(size):
    x, y, z = operands(np.float64, size)
    a, b, c = nd.array(x), nd.array(y), nd.array(z)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(a * b + c - c / b), x * y + z - z / y, strict=True)
        np.testing.assert_array_equal(np.asarray(a / b - (b * c + a)), x / y - (y * z + x), strict=True)
        np.testing.assert_array_equal(np.asarray((a / b).sum()), np.asarray((a / b).eval().sum()), strict=True)


def test_what_is_read_twice_or_kept_is_computed_once():
    x, y, _ = operands(np.float64, 500)
    a, b = nd.array(x), nd.array(y)
    product = a * b
    with np.errstate(invalid="ignore"):
        expected = x * y + x * y * y
    both = product + product * b
    np.testing.assert_array_equal(np.asarray(both), expected)
    np.testing.assert_array_equal(np.asarray(product), x * y)


def test_longer_expressions_over_rows():
    rows = [[0.5, 1.5], [], [2.5], [1.0, 2.0, 3.0]]
    ragged = nd.array(rows)
    value = 1.0 + 2.0 * ragged - 3.0 * ragged**2 + 0.5 * ragged**3
    assert value.tolist() == [[1.0 + 2.0 * x - 3.0 * (x * x) + 0.5 * (x * x * x) for x in row] for row in rows]
    assert ((ragged - 1.0) * 2.0 * ragged).sum(axis=1).tolist() == [sum((x - 1.0) * 2.0 * x for x in r) for r in rows]


def test_missing_values_and_views():
    x = np.arange(40.0)
    a = nd.array([None if i % 7 == 0 else float(i) for i in range(40)])
    assert (a * 2.0 + a).tolist() == [None if i % 7 == 0 else 3.0 * i for i in range(40)]
    every = nd.array(x)[::3]
    np.testing.assert_array_equal(np.asarray((every - 1.5) / 2.5 + every), (x[::3] - 1.5) / 2.5 + x[::3])
