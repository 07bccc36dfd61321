"""logsumexp and softmax: against NumPy on strided arrays, and plain Python on ragged rows and missing values."""
import math

import numpy as np
import pytest

from dynd import nd

ROWS = [[1.0, 2.0, 3.0], [], [1000.0, 1000.0], [-1e300], [float("-inf"), 0.0], [5.0, float("inf")]]


def row_logsumexp(row):
    row = [x for x in row if x is not None]
    if not row or max(row) == float("-inf"):
        return float("-inf")
    top = max(row)
    return top if math.isinf(top) else top + math.log(math.fsum(math.exp(x - top) for x in row))


def same(a, b):
    return a == b or math.isclose(a, b, rel_tol=1e-14)


def test_rows():
    got = nd.logsumexp(nd.array(ROWS), axis=1).tolist()
    assert all(same(x, row_logsumexp(row)) for x, row in zip(got, ROWS)), got
    for row, own in zip(ROWS, nd.softmax(nd.array(ROWS), axis=1).tolist()):
        if float("inf") not in row:
            powers = [math.exp(x - max(row)) for x in row]
            assert all(same(x, y / math.fsum(powers)) for x, y in zip(own, powers)), own


def test_missing_values_are_skipped():
    rows = [[1.0, None, 3.0], [None], [2.0]]
    a = nd.array(rows, type="3 * var * ?float64")
    got = nd.logsumexp(a, axis=1).tolist()
    assert all(same(x, row_logsumexp(row)) for x, row in zip(got, rows)), got
    assert nd.softmax(a, axis=1).tolist()[1:] == [[None], [1.0]]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_strided(dtype, axis, keepdims):
    x = (np.random.default_rng(1).random((30, 700)) * 40 - 20).astype(dtype)
    exact = np.log(np.exp(x.astype("float64")).sum(axis=axis, keepdims=keepdims))
    for a in (nd.array(x), nd.array(np.asfortranarray(x)), nd.array(x) * 1):
        got = nd.logsumexp(a, axis=axis, keepdims=keepdims)
        assert np.asarray(got).dtype == ("float32" if dtype == "float32" else "float64")
        np.testing.assert_allclose(np.asarray(got), exact, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_softmax_of_a_lazy_array_of_any_axis():
    x = np.random.default_rng(2).random((300, 500))
    for axis in (0, 1, -1):
        powers = np.exp(2 * x)
        got = np.asarray(nd.softmax(nd.array(x) * 2.0, axis=axis))
        np.testing.assert_allclose(got, powers / powers.sum(axis=axis, keepdims=True), rtol=1e-13)


def test_errors():
    with pytest.raises(IndexError, match="softmax: axis 2 is out of bounds"):
        nd.softmax([[1.0]], axis=2)
    with pytest.raises(TypeError, match="logsumexp: not defined for complex numbers"):
        nd.logsumexp([1j])
    with pytest.raises(TypeError, match="logsumexp: axis must be"):
        nd.logsumexp([1.0], axis="x")
    for function in (nd.softmax, nd.logsumexp):
        with pytest.raises(ValueError, match=f"^{function.__name__}: rows along axis 0 must be equally long"):
            function(nd.array([[1.0, 2.0], [3.0]]), axis=0)
    with pytest.raises(ValueError, match="^logsumexp: .*broadcast"):
        nd.logsumexp([1.0, 2.0], where=[True, False, True])


@pytest.mark.parametrize("scalar", ["float64", "float32"])
def test_small_arrays_have_the_bits_of_large_ones(scalar):
    rng = np.random.default_rng(4)
    for lengths in ([3], [0, 2, 1], [5, 0, 300, 7], [1] * 100):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        values = (30 * rng.normal(size=offsets[-1])).astype(scalar)
        values[: len(values) // 4] = rng.choice([np.inf, -np.inf, np.nan, 0.0, 700.0], len(values) // 4)
        rest = np.full(1000, 600)  # the same rows among many
        many = nd.from_offsets(np.concatenate([offsets, offsets[-1] + np.cumsum(rest)]),
                               np.concatenate([values, np.ones(rest.sum(), scalar)]))
        small = nd.softmax(nd.from_offsets(offsets, nd.array(values)), axis=1)
        large = nd.softmax(many, axis=1)[: len(lengths)]
        for a, b in zip(small.tolist(), large.tolist(), strict=True):
            np.testing.assert_array_equal(a, b)
        if len(lengths) == 1:
            np.testing.assert_array_equal(nd.softmax(nd.array(values)).tolist(), large.tolist()[0])


def test_one_value_for_all_elements():
    for shape in [(3, 20_000), (2, 700), (30_000,)]:
        one = nd.full(shape, 1.7)
        assert np.array(nd.softmax(one, axis=-1)).tobytes() == np.array(nd.softmax(nd.array(np.array(one)))).tobytes()
