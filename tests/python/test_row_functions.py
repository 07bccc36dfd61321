"""Mean, variance and deviation of rows in one pass: the bits of the passes one by one (two axes take them), the error of
NumPy's, one kernel with what is lazy, rows of every length."""

from fractions import Fraction

import numpy as np
import pytest

from dynd import nd

FUNCTIONS = [nd.mean, nd.var, nd.std]


def ragged(lengths, center=3.0, dtype=np.float64, seed=1):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    content = (np.random.default_rng(seed).normal(size=offsets[-1]) + center).astype(dtype)
    return nd.from_offsets(offsets, nd.array(content))


def bits(a):
    return np.array(a).tobytes()


def pass_by_pass(function, a, **keywords):
    """Two axes make it a composition of reductions."""
    return function(a[..., None], axis=(-2, -1), **keywords)


def short_rows():
    rng = np.random.default_rng(2)
    yield "ragged, mean 4", ragged(rng.poisson(4, 3000))
    yield "ragged, float32", ragged(rng.poisson(10, 3000), dtype=np.float32)
    yield "ragged, all lengths", ragged(np.arange(1200) * 37 % 700)
    yield "ragged, one row", ragged([5000])
    yield "ragged, many empty rows", ragged(np.where(np.arange(6000) % 1500 == 2, 3, 0))
    yield "ragged, nearly all empty", ragged([2] + [0] * 40_000 + [3, 1])
    yield "ragged, backwards", ragged(rng.poisson(4, 300))[::-1]
    yield "ragged, cut inside", ragged(rng.poisson(9, 300))[:, 1::2]
    for shape in [(40, 4), (7, 900), (3, 5000), (5, 1), (2, 3, 5), (70,)]:
        yield f"strided {shape}", nd.array(rng.normal(size=shape))
    yield "strided, every other", nd.array(rng.normal(size=(20, 900)))[:, ::2]
    yield "backwards", nd.array(rng.normal(size=(20, 30)))[:, ::-1]
    yield "rows apart", nd.array(rng.normal(size=(20, 30)))[::3]
    yield "one value", nd.asarray(np.broadcast_to(1.7, (3, 30_000)))
    yield "one row again and again", nd.asarray(np.broadcast_to(rng.normal(size=900), (3, 900)))
    yield "one value for each row", nd.asarray(np.broadcast_to(rng.normal(size=(3, 1)), (3, 900)))
    yield "integers", nd.array(rng.integers(-100, 100, size=(20, 30)).astype(np.int16))
    yield "float16", nd.array(rng.normal(size=(20, 30)).astype(np.float16))
    yield "missing", nd.array([[1.0, None, 2.5], [None, None, None], [4.0, 4.5, None]])
    yield "missing, long", nd.array([[None if i % 3 else i / 7 for i in range(2000)] for _ in range(3)])
    yield "missing, ragged", nd.array([[None if i % 4 == 1 else i / 7 for i in range(n)] for n in range(40)])


SHORT = list(short_rows())


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", [a for _, a in SHORT], ids=[name for name, _ in SHORT])
def test_the_bits_are_those_of_passes_one_by_one(function, a):
    assert bits(function(a, axis=-1)) == bits(pass_by_pass(function, a))
    assert bits(function(a, axis=-1, keepdims=True)) == bits(pass_by_pass(function, a))
    if function is not nd.mean:
        assert bits(function(a, axis=-1, correction=1)) == bits(pass_by_pass(function, a, correction=1))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0,)])
def test_nothing_is_nan(shape):
    a, expected = nd.array(np.zeros(shape)), np.full(shape[:-1], np.nan)
    for function in FUNCTIONS:
        np.testing.assert_array_equal(np.array(function(a, axis=-1)), expected)
    assert np.isnan(nd.std(ragged([3, 0, 2]), axis=1).tolist()[1])


# ---- lazy -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [ragged(np.arange(9000) % 9), nd.array(np.random.default_rng(3).normal(size=(300, 700)))])
def test_rows_and_what_is_computed_of_them_are_one_kernel(a):
    def standardized():
        return (a - nd.mean(a, axis=-1, keepdims=True)) / nd.std(a, axis=-1, keepdims=True)

    text = str(nd.explain(lambda: standardized().eval()))
    assert text.count("one kernel") == 1 and text.count("subtract") == 1
    mean, deviation = nd.mean(a, axis=-1)[:, None], nd.std(a, axis=-1)[:, None]
    assert repr(standardized().tolist()) == repr(((a - mean).eval() / deviation).tolist())


def test_a_lazy_operand_is_absorbed():
    a = ragged(np.arange(9000) % 9)
    text = str(nd.explain(lambda: nd.std(a * a + 1.0, axis=1)))
    assert text.count("one kernel") == 1 and "multiply" in text
    assert bits(nd.std(a * a + 1.0, axis=1)) == bits(nd.std((a * a + 1.0).eval(), axis=1))


def test_lazy_rows_with_a_name():
    a = ragged(np.arange(9000) % 9)
    mean = nd.mean(a, axis=1, keepdims=True)
    distance = a - mean
    twice = mean * 2.0
    assert bits(twice) == bits(nd.mean(a, axis=1) * 2.0)
    assert repr(distance.tolist()) == repr((a - nd.mean(a, axis=1)[:, None]).tolist())
    assert bits(nd.sum(a - mean, axis=1)) == bits(nd.sum((a - mean).eval(), axis=1))


# ---- long rows --------------------------------------------------------------------------------------------------------


def exact_variance(x):
    values = [Fraction(float(v)) for v in x]
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values) / len(values)


@pytest.mark.parametrize("center", [0, 1e4, 1e8])
def test_the_error_of_long_rows_is_at_most_four_times_numpys(center):
    x = np.random.default_rng(4).normal(size=70_001) + center
    exact = exact_variance(x)
    ours, numpys = (abs(Fraction(float(v)) - exact) / exact for v in (nd.var(nd.array(x)), np.var(x)))
    assert ours <= max(4 * numpys, Fraction(2) ** -52)


def test_a_long_row_has_the_same_bits_wherever_it_is():
    lengths = [5, 40_000, 0, 32_768, 32_769, 100_000, 700]
    a = ragged(lengths)
    together = nd.var(a, axis=1).tolist()
    for r, length in enumerate(lengths):
        row = np.array(a[r])
        if not length:
            continue
        assert abs(together[r] - row.var()) <= 1e-14 * row.var()
        assert float(nd.var(nd.array(row))) == together[r]
        assert float(nd.var(nd.array(np.repeat(row, 2))[::2])) == together[r]
        assert float(nd.var(nd.array(row) * 1.0)) == together[r]
        if length > 32_768:
            assert nd.var(nd.array(np.stack([row, row + 1], 1)), axis=0).tolist()[0] == together[r]
            assert nd.var(nd.array([row.tolist() + [None]]), axis=1).tolist()[0] == pytest.approx(together[r], rel=1e-14)


def test_all_axes_are_one_row():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 700)) + 2
    flat = float(nd.var(nd.array(x.ravel())))
    for a in (nd.array(x), nd.array(x) * 1.0, nd.array(np.asfortranarray(x)), nd.array(np.repeat(x, 2, 1))[:, ::2]):
        assert float(nd.var(a)) == flat
        assert nd.var(a, keepdims=True).tolist() == [[flat]]
    rows = nd.from_offsets(np.array([0, 7, 7, x.size]), nd.array(x.ravel()))
    assert float(nd.var(rows)) == flat
    assert float(nd.var(rows * 1.0)) == flat


def test_an_axis_of_one_element_changes_nothing():
    x = np.random.default_rng(6).normal(size=40_000)
    flat = float(nd.var(nd.array(x)))
    for shape in [(-1, 1), (1, -1), (200, 200, 1), (200, 1, 200), (1, 200, 1, 200, 1)]:
        a = nd.array(x.reshape(shape))
        assert float(nd.var(a)) == float(nd.var(a * 1.0)) == flat
        assert float(nd.var(nd.array(np.asfortranarray(x.reshape(shape))))) == flat
        assert float(nd.var(a, where=nd.array(x.reshape(shape) < 9))) == flat


def test_threads_share_long_rows_without_changing_a_bit():
    a = ragged([300_000, 3, 500_000])
    threads, seen = nd.num_threads(), set()
    for count in (1, 2, 3):
        nd.set_num_threads(count)
        seen.add(bits(nd.std(a, axis=1)) + bits(nd.std(a)))
    nd.set_num_threads(threads)
    assert len(seen) == 1


# ---- masks, weights, skipped NaN ----------------------------------------------------------------------------------------


def weighted(x, taken, weights):
    """The variance of the elements that are taken, exactly."""
    pairs = [(Fraction(float(v)), Fraction(float(w))) for v, w, t in zip(x, weights, taken) if t]
    total = sum(w for _, w in pairs)
    mean = sum(v * w for v, w in pairs) / total
    return sum((v - mean) ** 2 * w for v, w in pairs) / total


@pytest.mark.parametrize("center", [0, 1e4, 1e8])
@pytest.mark.parametrize("length", [1000, 70_001])
def test_masked_weighted_and_complex_rows_have_the_error_of_plain_ones(length, center):
    rng = np.random.default_rng(6)
    x, taken, weights = rng.normal(size=length) + center, rng.random(length) < 0.6, rng.random(length) + 0.25
    room = lambda exact: 4 * abs(Fraction(float(np.var(x[taken]))) - exact) / exact + Fraction(2) ** -50  # noqa: E731
    with_nan = np.where(taken, x, np.nan)
    ones = np.ones(length)
    plain = weighted(x, taken, ones)
    for found in (nd.var(nd.array(x), where=taken), nd.nanvar(nd.array(with_nan)), nd.std(nd.array(x), where=taken) ** 2.0,
                  nd.var(nd.array(np.stack([x, x])), axis=1, where=taken)[1], nd.var(nd.array(x), where=taken, weights=ones),
                  nd.var(nd.array([v if t else None for v, t in zip(x.tolist(), taken)]))):
        assert abs(Fraction(float(found)) - plain) / plain <= room(plain)
    exact = weighted(x, taken, weights)
    columns = nd.array(np.stack([x, x], 1))
    for found in (nd.var(nd.array(x), where=taken, weights=weights),
                  nd.var(columns, axis=0, where=taken[:, None], weights=weights[:, None])[0]):
        assert abs(Fraction(float(found)) - exact) / exact <= room(plain)
    both = exact_variance(x) * 2
    assert abs(Fraction(float(nd.var(nd.array(x + 1j * x)))) - both) / both <= room(plain)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_masks_and_weights_are_read_in_the_same_pass(function):
    rng = np.random.default_rng(7)
    a = ragged(rng.poisson(6, 9000))
    text = str(nd.explain(lambda: function(a * 2.0, axis=1, where=a > 2.5, weights=a)))
    assert text.count("one kernel") == 1, text


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_masks_and_weights_of_other_shapes(function):
    rng = np.random.default_rng(8)
    for shape in [(4, 5), (3, 40_000), (40_000, 3), (2, 3, 40_000)]:
        x, last, first = rng.normal(size=shape), rng.random(shape[-1]) < 0.5, rng.random(shape[0]) + 1
        last[0] = True
        first = first.reshape([-1] + [1] * (len(shape) - 1))
        w = np.broadcast_to(first, shape)
        for axis in range(len(shape)):
            mean = np.average(x, axis=axis, weights=w * last, keepdims=True) if last.all() or axis == len(shape) - 1 else None
            found = np.asarray(function(nd.array(x), axis=axis, where=last, weights=nd.array(first)))
            if mean is None:
                assert np.isnan(found[..., ~last]).all() and not np.isnan(found[..., last]).any()
                continue
            variance = np.average((x - mean) ** 2, axis=axis, weights=w * last)
            expected = {nd.mean: np.squeeze(mean, axis), nd.var: variance, nd.std: np.sqrt(variance)}[function]
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_long_masked_rows_have_the_same_bits_wherever_they_are_and_on_threads():
    rng = np.random.default_rng(9)
    x, taken = rng.normal(size=200_000) + 3, rng.random(200_000) < 0.7
    offsets = np.array([0, 90_000, 90_000, 200_000])
    rows, masks = nd.from_offsets(offsets, nd.array(x)), nd.from_offsets(offsets, nd.array(taken))
    threads, seen = nd.num_threads(), set()
    for count in (1, 2):
        nd.set_num_threads(count)
        together = nd.var(rows, axis=1, where=masks)
        seen.add(bits(together[::2]))
        alone = [nd.var(nd.array(x[a:b]), where=taken[a:b]) for a, b in ((0, 90_000), (90_000, 200_000))]
        assert together[::2].tolist() == [float(v) for v in alone]
    nd.set_num_threads(threads)
    assert len(seen) == 1 and np.isnan(together.tolist()[1])


def test_squares_that_are_kept_are_computed_beside_their_mean():
    """Squares of distances that only a fold reads are not stored."""
    a = nd.array(np.random.default_rng(4).random((3000, 20)))

    def values():
        squares = nd.square(a - a.mean(axis=1, keepdims=True))
        mean = squares.mean(axis=1, keepdims=True)
        return [bits(x) for x in (a / mean, squares, mean)]  # the first one's pass computes all

    found = values()
    with nd.eager():
        assert found == values()
