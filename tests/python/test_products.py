"""Sums of products, which are one pass without a step for the product: either factor in every layout, repeated or one
number, of every type, along every axis and in ragged rows. The values are small integers, so every order gives them."""

import itertools

import numpy as np
import pytest
from dynd import nd

LAYOUTS = {
    "plain": lambda x: nd.array(x),
    "NumPy's": lambda x: nd.asarray(x.copy()),
    "in steps": lambda x: nd.array(np.repeat(x, 2, axis=-1))[..., ::2],
    "backwards": lambda x: nd.array(x[..., ::-1].copy())[..., ::-1],
    "transposed": lambda x: nd.asarray(np.asfortranarray(x)),
    "rows in steps": lambda x: nd.array(np.repeat(x, 3, axis=0))[::3],
    "other bytes": lambda x: nd.asarray(x.astype(x.dtype.newbyteorder())),
    "lazy": lambda x: nd.array(x) + nd.array(np.zeros((), x.dtype)),
}
SHAPES = [(7,), (100,), (3_000,), (20_000,), (3, 5), (70, 90), (2, 9_000), (9_000, 2)]


def values_of(seed, shape, dtype):
    return np.random.default_rng(seed).integers(0, 5, shape).astype(dtype)


def check(found, wanted):
    assert np.array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_of_products_in_every_layout(shape, dtype):
    x, y = values_of(1, shape, dtype), values_of(2, shape, dtype)
    exact = "float64" if dtype.startswith("float") else "int64"
    wanted = x.astype(exact) * y.astype(exact)
    for left, right in itertools.product(LAYOUTS, repeat=2):
        make = lambda: (LAYOUTS[left](x), LAYOUTS[right](y))  # noqa: E731
        a, b = make()
        check(nd.vecdot(a, b), wanted.sum(axis=-1))
        for axis in (None, *range(x.ndim)):
            a, b = make()
            check((a * b).sum(axis=axis), wanted.sum(axis=axis))
            check(nd.sum(a, axis=axis, where=b > 2), (x.astype(exact) * (y > 2)).sum(axis=axis))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors_that_are_repeated(shape, layout):
    """One number, one for each row, one for each column, the array itself."""
    x = values_of(3, shape, "float64")
    own = lambda: LAYOUTS[layout](x)  # noqa: E731
    row, column = values_of(4, shape[-1:], "float64"), values_of(5, (*shape[:-1], 1), "float64")
    for axis in (None, *range(x.ndim)):
        for factor in (3.0, nd.array(3.0), row, column):
            other = np.asarray(factor)
            check((own() * factor).sum(axis=axis), (x * other).sum(axis=axis))
            check((factor * own()).sum(axis=axis), (x * other).sum(axis=axis))
        check((own() * own()).sum(axis=axis), (x * x).sum(axis=axis))
        a = own()
        check((a * a).sum(axis=axis), (x * x).sum(axis=axis))
    check(nd.vecdot(own(), row), (x * row).sum(axis=-1))
    check(nd.mean(own(), axis=-1, weights=row + 1.0), (x * (row + 1)).sum(axis=-1) / (row + 1).sum())


ROWS = {"short": (1_500, 9), "long": (30, 5_000), "few": (5, 4)}


@pytest.mark.parametrize("rows", ROWS)
def test_sums_of_products_of_ragged_rows(rows):
    count, longest = ROWS[rows]
    offsets = np.append(0, np.random.default_rng(6).integers(0, longest, count).cumsum())
    x, y = values_of(7, offsets[-1:], "float64"), values_of(8, offsets[-1:], "float64")
    sums = lambda values: [values[i:j].sum() for i, j in zip(offsets, offsets[1:])]  # noqa: E731
    each = values_of(9, (count, 1), "float64")
    spread = each.ravel().repeat(np.diff(offsets))
    for left, right in itertools.product(["plain", "NumPy's", "in steps", "backwards", "lazy"], repeat=2):
        make = lambda: (nd.from_offsets(offsets, LAYOUTS[left](x)), nd.from_offsets(offsets, LAYOUTS[right](y)))  # noqa: E731
        a, b = make()
        check(nd.vecdot(a, b), sums(x * y))
        check((a * b).sum(axis=1), sums(x * y))
        a, b = make()
        check((a * b).sum(), (x * y).sum())
        check((a * 3.0).sum(), (x * 3).sum())
        check((a * 3.0).sum(axis=1), sums(x * 3))
        check((a * nd.array(each)).sum(axis=1), sums(x * spread))
        check((a * nd.array(each)).sum(), (x * spread).sum())
