"""Median, quantiles and histograms, against NumPy row by row."""

import math
import random
import warnings

import numpy as np
import pytest
from dynd import nd
from hypothesis import given, settings
from ragged_values import map_rows, nested, rows_inside
from strategies import SOME, random_values, seeds
from test_order import NUMBERS

METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip


def drawn(rng, scalars=NUMBERS):
    """Rows of numbers, as lists and as an array; sometimes lazy, sometimes with missing values."""
    scalar = rng.choice(scalars)
    missing = rng.random() < 0.4

    def make(rng):
        if missing and rng.random() < 0.3:
            return None
        if "float" in scalar and rng.random() < 0.02:
            return float("nan")
        x = random_values(rng, scalar, 1, finite=True)[0]
        return x if scalar in ("bool", "float16") or abs(x) < 2**40 else x % 1000

    dims = [rng.randint(0, 4)] + [rng.choice(["var", "var", 2, 3]) for _ in range(rng.randint(0, 2))]
    dims = [rng.choice([40, 900])] if rng.random() < 0.3 else dims
    values = nested(rng, dims, make)
    a = nd.array(values, type=" * ".join(map(str, dims)) + " * " + "?" * missing + scalar)
    return scalar, values, a


def numbers(row, scalar):
    present = [x for x in row if x is not None]
    return np.array(present, "float64" if scalar in ("bool", "float16") else scalar)


def close(found, expected, scalar):
    """Nested lists of numbers that are equal up to rounding in the type."""
    if isinstance(expected, list):
        return len(found) == len(expected) and all(close(f, e, scalar) for f, e in zip(found, expected))
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    rounding = {"float16": 2e-3, "float32": 3e-7}.get(scalar, 1e-14)
    tiny = {"float16": 1e-7, "float32": 1e-44}.get(scalar, 0)
    return abs(found - expected) <= rounding * abs(expected) + tiny


def of_row(f, row, scalar):
    x = numbers(row, scalar)
    if x.size == 0:
        return math.nan
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return float(f(x))


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_median_against_numpy(seed):
    rng = random.Random(seed)
    scalar, values, a = drawn(rng)
    inner = a.ndim - 1
    found = nd.median(a, axis=-1)
    assert found.type.dtype == (a.type.dtype if "float" in scalar and "?" not in str(a.type) else found.type.dtype)
    assert str(found.type.dtype) == (scalar if "float" in scalar else "float64")
    assert close(found.tolist(), map_rows(values, inner, lambda row: of_row(np.median, row, scalar)), scalar)
    whole = [x for row in rows_inside(values, inner) for x in row]
    assert close(nd.median(a).tolist(), of_row(np.median, whole, scalar), scalar)
    kept = nd.median(a, axis=-1, keepdims=True)
    assert close(kept.tolist(), map_rows(values, inner, lambda row: [of_row(np.median, row, scalar)]), scalar)


def own_quantile(x, q, method):
    """NumPy's, but for its differences of infinities and integers: of the two elements that it is between."""
    return np.quantile(x if x.dtype == "float64" else x.astype("float64"), q, method=method)


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_quantile_against_numpy(seed):
    rng = random.Random(seed)
    scalar, values, a = drawn(rng)
    method, inner = rng.choice(METHODS), a.ndim - 1
    q = rng.choice([0, 1, 0.5, 0.25, rng.random(), [0.5], [0.1, 0.9], [rng.random() for _ in range(4)]])
    found = nd.quantile(a, q, axis=-1, method=method)
    expected = [
        map_rows(values, inner, lambda row: of_row(lambda x: own_quantile(x, part, method), row, scalar))
        for part in (q if isinstance(q, list) else [q])
    ]
    assert close(found.tolist(), expected if isinstance(q, list) else expected[0], scalar)


@pytest.mark.parametrize("method", METHODS)
def test_places_of_quantiles_of_every_small_row(method):
    for n in range(1, 9):
        x = np.arange(n) ** 2.0
        parts = [i / 24 for i in range(25)]
        assert np.allclose(nd.quantile(x, parts, method=method), np.quantile(x, parts, method=method), rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_have_the_bits_of_numpy(method):
    """Between two elements the one that is nearer is what is left from: at its end it is that element."""
    rng = np.random.default_rng(4)
    for n in range(1, 40):
        x = rng.standard_normal(n) * np.exp(5 * rng.standard_normal(n))
        parts = np.concatenate([rng.random(20), [0, 0.25, 0.5, 1]])
        assert np.array_equal(nd.quantile(x, parts, method=method), np.quantile(x, parts, method=method))


def test_quantiles_of_other_axes_and_of_nothing():
    x = np.random.default_rng(1).random((5, 3, 4))
    for axis in (0, 1, 2, -1, None):
        assert np.array_equal(nd.median(x, axis=axis), np.median(x, axis=axis))
        assert np.allclose(nd.quantile(x, 0.3, axis=axis), np.quantile(x, 0.3, axis=axis), rtol=1e-15)
        assert np.array_equal(nd.median(x, axis=axis, keepdims=True), np.median(x, axis=axis, keepdims=True))
    assert nd.quantile(x, [], axis=0).shape == (0, 3, 4)
    rows = nd.array([[1.0, 2.0], None, [3.0]])  # some may be missing
    for axis in (1, -1):
        assert nd.quantile(rows, [], axis=axis).shape == (0, 3)
        assert nd.quantile(rows, [], axis=axis).type == nd.quantile(rows, [0.5], axis=axis).type
    assert math.isnan(nd.median(nd.array([], type="0 * int32")).tolist())
    assert nd.median([float("inf"), float("inf")]).tolist() == float("inf")
    assert nd.median([1.7e308, 1.7e308]).tolist() == 1.7e308


def test_quantiles_of_long_rows_on_threads():
    rng = np.random.default_rng(2)
    x, lengths = rng.standard_normal(420_000), rng.poisson(8, 50_000)
    rows = nd.unflatten(nd.array(x[: lengths.sum()]), lengths)
    ends = np.cumsum(lengths)
    expected = [np.median(x[e - n : e]) if n else np.nan for n, e in zip(lengths, ends)]
    before = nd.num_threads()
    try:
        for threads in (1, 2):
            nd.set_num_threads(threads)
            assert np.array_equal(nd.median(nd.array(x) + 1), np.median(x + 1))
            assert np.array_equal(nd.median(rows, axis=1), expected, equal_nan=True)
            for x_of in (x, np.round(x), np.zeros_like(x), np.where(x > 0, 1e300, x)):
                for q in (0, 0.001, 0.5, 1):
                    assert nd.quantile(nd.array(x_of), q, method="lower") == np.quantile(x_of, q, method="lower")
                for count in (2, 6, 7, 30):  # few are selected, for many the row is sorted
                    q = np.linspace(0, 1, count)
                    found = nd.quantile(nd.array(x_of), q, method="lower")
                    assert np.array_equal(found, np.quantile(x_of, q, method="lower"))
    finally:
        nd.set_num_threads(before)


# ---- histograms


def of_numpy(row, weights, scalar, bins, limits):
    kept = [i for i, x in enumerate(row) if x is not None and not math.isnan(x) and (weights is None or weights[i] is not None)]
    x = np.array([row[i] for i in kept], "float64")
    w = None if weights is None else np.array([weights[i] for i in kept], "float64")
    return np.histogram(x, bins, limits, weights=w)[0].tolist()


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_histogram_against_numpy(seed):
    rng = random.Random(seed)
    scalar, values, a = drawn(rng)
    inner = a.ndim - 1
    limits = rng.choice([(0, 1), (-20, 20), (0.3, 7.7), (5, 5)])
    bins = rng.choice([1, 7, [0, 1, 2, 5], [-3.5, 0, 0, 0.25], [1]])
    limits = None if isinstance(bins, list) else limits
    weighted = rng.random() < 0.4
    some = [0.5, 2.0, -1.0, None]
    weights = map_rows(values, inner, lambda row: [rng.choice(some) for _ in row]) if weighted else None
    own = nd.array(weights, type=str(a.type).replace("?", "").replace(scalar, "?float64")) if weighted else None
    counts, edges = nd.histogram(a, bins, limits, axis=-1, weights=own)
    rows = rows_inside(values, inner)
    of_rows = rows_inside(weights, inner) if weighted else [None] * len(rows)
    expected = [of_numpy(row, w, scalar, bins, limits) for row, w in zip(rows, of_rows)]
    assert (counts.tolist() if inner == 0 else nd.flatten(counts, axis=1).tolist() if inner == 2 else counts.tolist()) == (
        expected[0] if inner == 0 else expected
    )
    assert edges.tolist() == np.histogram_bin_edges(np.zeros(1), bins, limits).astype("float64").tolist()
    whole, w = sum(rows, []), sum(of_rows, []) if weighted else None
    assert nd.histogram(a, bins, limits, weights=own)[0].tolist() == of_numpy(whole, w, scalar, bins, limits)


def test_the_range_of_the_whole_array():
    x = np.random.default_rng(1).standard_normal(2000)
    for bins in (1, 3, 10, 777):
        counts, edges = nd.histogram(x, bins)
        expected, at = np.histogram(x, bins)
        assert np.array_equal(counts, expected) and np.array_equal(edges, at)
    assert nd.histogram(nd.array([[1, 2], [], [5]]), 2, axis=1)[1].tolist() == [1, 3, 5]
    assert nd.histogram(nd.array([[1, 2], [], [5]]), 2, axis=1)[0].tolist() == [[2, 0], [0, 0], [0, 1]]
    assert nd.histogram(nd.array([], type="0 * float64"), 2)[1].tolist() == [0, 0.5, 1]
    assert nd.histogram(np.arange(6).reshape(2, 3), 2, (0, 6), axis=0)[0].tolist() == [[1, 1]] * 3


def test_weights_that_broadcast_and_integers():
    a = nd.array([[1, 2], [], [5]])
    counts, _ = nd.histogram(a, [0, 4, 8], axis=1, weights=nd.array([1, 2, 3])[:, None])
    assert counts.tolist() == [[2, 0], [0, 0], [0, 3]] and str(counts.type.dtype) == "int64"
    with pytest.raises(ValueError):
        nd.histogram([1, 2], 2, weights=[[1, 2], [3, 4]])
    with pytest.raises(ValueError):
        nd.histogram([1, 2], 2, weights=[1, 2, 3])


def test_long_histograms_do_not_depend_on_threads():
    rng = np.random.default_rng(5)
    x, w = rng.random(2_000_000), rng.random(2_000_000)
    expected, before, found = np.histogram(x, 100, (0, 1), weights=w)[0], nd.num_threads(), []
    try:
        for threads in (1, 2):
            nd.set_num_threads(threads)
            assert np.array_equal(nd.histogram(nd.array(x), 100, (0, 1))[0], np.histogram(x, 100, (0, 1))[0])
            found.append(np.asarray(nd.histogram(nd.array(x), 100, (0, 1), weights=nd.array(w))[0]))
    finally:
        nd.set_num_threads(before)
    assert np.array_equal(found[0], found[1]) and np.allclose(found[0], expected, rtol=1e-12)


def test_bad_input():
    for f in (nd.median, nd.histogram, lambda a, axis=None: nd.quantile(a, 0.5, axis)):
        with pytest.raises(TypeError, match="real numbers"):
            f(["a"])
        with pytest.raises(TypeError, match="real numbers"):
            f([1j])
        with pytest.raises(IndexError):
            f([1, 2], axis=1)
    for q in (-0.1, 1.5, float("nan"), [0.5, 2]):
        with pytest.raises(ValueError, match="quantile: q must be from 0 to 1, not"):
            nd.quantile([1, 2], q)
    with pytest.raises(TypeError, match="q must be a real number or a list of them"):
        nd.quantile([1, 2], [[0.5]])
    with pytest.raises(ValueError, match="quantile: method must be one of"):
        nd.quantile([1, 2], 0.5, method="best")
    with pytest.raises(ValueError, match="there must be one bin or more, not 0"):
        nd.histogram([1, 2], 0)
    for range in (5, (1,), (1, 2, 3), ("a", 2)):
        with pytest.raises(TypeError, match="histogram: range must be two numbers, not"):
            nd.histogram([1, 2], 3, range)
    with pytest.raises(MemoryError, match="histogram: the result is too large|cannot allocate"):
        nd.histogram([[1, 2], [3]], 2**48, (0, 1), axis=1)
    with pytest.raises(ValueError, match="the edges must rise"):
        nd.histogram([1, 2], [1, 0])
    with pytest.raises(ValueError, match="a list of one or more"):
        nd.histogram([1, 2], [[1, 0]])
    with pytest.raises(ValueError, match="a range must rise and be finite"):
        nd.histogram([1, 2], 2, (1, 0))
    with pytest.raises(ValueError, match="inf is in the array: it needs a range"):
        nd.histogram([1, float("inf")], 2)
    with pytest.raises(ValueError, match="give one of them"):
        nd.histogram([1, 2], [1, 2], (1, 2))
    with pytest.raises(ValueError, match="rows along axis 0 must be equally long"):
        nd.median([[1, 2], [3]], axis=0)


def test_edges_are_in_the_bin_above_them():
    """Edges are rounded, and so is the quotient that says the bin: NumPy's counts, of the edges and their neighbours."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        first, bins = rng.integers(-5, 5) / rng.integers(1, 9), int(rng.integers(1, 40))
        last = first + rng.integers(1, 9) / rng.integers(1, 9)
        edges = np.linspace(first, last, bins + 1)
        for x in (edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)):
            found = nd.histogram(nd.array(x), bins=bins, range=(float(first), float(last)))[0]
            assert np.array_equal(found, np.histogram(x, bins, (first, last))[0])
            found = nd.histogram(nd.array(x), bins=nd.array(edges))[0]
            assert np.array_equal(found, np.histogram(x, edges)[0])


@pytest.mark.parametrize("n", [65_000, 70_000, 73_000, 80_000])
def test_quantiles_of_long_rows_with_missing_values(n):
    """Whether a row is long is asked of the values that are there."""
    x = np.random.default_rng(n).standard_normal(n)
    a = nd.array([None if i % 10 == 0 else v for i, v in enumerate(x.tolist())])
    there = x[np.arange(n) % 10 != 0]
    for q in ([0.25, 0.5, 0.75], [0.9, 0.1]):
        np.testing.assert_allclose(np.asarray(nd.quantile(a, q)), np.quantile(there, q), rtol=1e-14)


def test_weights_of_other_rows_are_refused():
    """Rows of one element are not stretched to their weights."""
    with pytest.raises(ValueError, match=r"histogram: row 0 .*1 and 0 elements"):
        nd.histogram([[1.0], [3.0]], nd.array([0.0, 2.0, 4.0]), axis=1, weights=nd.array([[], [10.0, 20.0]]))
    counts = nd.histogram(nd.array([[1.0], [3.0, 1.0]]), nd.array([0.0, 2.0, 4.0]), axis=1, weights=nd.array([[2.0], [10.0, 20.0]]))
    assert counts[0].tolist() == [[2, 0], [20, 10]]


def test_a_quantile_between_equal_infinities_is_one():
    inf = math.inf
    for values, q, expected in (([1.0, inf, inf], 0.6, inf), ([-inf, -inf, 1.0], 0.3, -inf), ([inf, inf], 0.5, inf)):
        assert nd.quantile(values, q).tolist() == expected
        assert nd.quantile(values, [q, q]).tolist() == [expected] * 2
    assert math.isnan(nd.quantile([-inf, inf], 0.5).tolist())


def test_several_axes_are_one_row():
    plain = np.random.default_rng(0).normal(size=(3, 4, 5))
    a = nd.array(plain)
    for axes in [(0, 1), (1, 2), (2, 0), (-1, 0), (0, 1, 2), (1,)]:
        for keepdims in (False, True):
            assert np.array_equal(nd.median(a, axis=axes, keepdims=keepdims), np.median(plain, axis=axes, keepdims=keepdims))
            for q in (0.25, [0.0, 0.5, 1.0]):
                expected = np.quantile(plain, q, axis=axes, keepdims=keepdims)
                found = nd.quantile(a, q, axis=axes, keepdims=keepdims)
                assert found.shape == expected.shape
                np.testing.assert_allclose(found, expected, rtol=1e-15)
    rows = nd.array([[[1, 2], [3]], [], [[4]]])
    assert repr(nd.median(rows, axis=(1, 2)).tolist()) == "[2.0, nan, 4.0]"
    for axes, kind, text in (((0, 0), ValueError, "axis 0 is given twice"), ((1, -2), ValueError, "axis 1 is given twice"),
                             ((0, 3), IndexError, "axis 3 is out of bounds for 3"), ((0, "a"), TypeError, "axis must be an integer")):  # fmt: skip
        with pytest.raises(kind, match=f"^median: {text}"):
            nd.median(a, axis=axes)
    assert np.array_equal(nd.median(a, axis=()), plain) and np.array_equal(nd.quantile(a, [0.5], axis=()), plain[None])
    with pytest.raises(ValueError, match=r"^histogram: cannot broadcast \(3,\) with \(2,\)"):
        nd.histogram([1, 2, 3], 2, weights=[1, 2])


def test_weights_beyond_int64():
    counts, _ = nd.histogram([0.5, 0.25, 1.5], bins=2, range=(0, 2), weights=np.array([2**63, 2, 2**64 - 2**11], "u8"))
    assert counts.tolist() == [2.0**63, 2.0**64 - 2**11] and str(counts.dtype) == "float64"
    assert nd.histogram([0.5], bins=1, range=(0, 1), weights=np.array([7], "i8"))[0].tolist() == [7]


@pytest.mark.parametrize("type", ["bool", "int8", "uint64", "float16", "float64", "?int32", "?float64"])
def test_the_range_is_that_of_all_elements(type):
    values = [1, 0, 1, 1] if type == "bool" else [3, 1, 5, 4]
    given = values + [None] if type.startswith("?") else values
    expected, edges = np.histogram(np.array(values, "f8"), 4)
    for a in (nd.array(given, type=type), nd.unflatten(nd.array(given, type=type), [1, 0, len(given) - 1])):
        found = nd.histogram(a, 4)
        assert found[0].tolist() == expected.tolist() and found[1].tolist() == edges.tolist()


@pytest.mark.parametrize("values", [[], [None, None]])
def test_the_range_of_no_elements(values):
    counts, edges = nd.histogram(nd.array(values, type="strided * ?float64"), 2)
    assert counts.tolist() == [0, 0] and edges.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_range_that_is_not_finite(value):
    with pytest.raises(ValueError, match="is in the array: it needs a range"):
        nd.histogram([1.0, value, 2.0], 2)


def test_a_median_whose_two_elements_the_sample_does_not_tell_apart():
    """The places that a long row is sampled at (for_sample, dynd/call/sort_long.h) have zeros only."""
    n, random, sampled = 200_000, 0x9E3779B97F4A7C15, []
    for _ in range(8192):
        random ^= random << 13 & (1 << 64) - 1
        random ^= random >> 7
        random ^= random << 17 & (1 << 64) - 1
        sampled.append(random % n)
    for low, high in ((0, 10), (10, 0)):
        x = np.full(n, high)
        x[sampled] = low
        others = np.setdiff1d(np.arange(n), sampled)
        x[others[: n // 2 - np.count_nonzero(x == low)]] = low
        assert np.count_nonzero(x == low) == n // 2
        assert nd.median(nd.array(x)).tolist() == 5.0
        assert nd.quantile(nd.array(x), 0.5).tolist() == 5.0
