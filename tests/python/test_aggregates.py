"""All reductions with all their keywords, strided and ragged, with missing values or without: against plain lists."""

import functools
import math
import random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import reduction_oracle
from dynd import nd
from missing_oracle import bare, puncture
from missing_support import make_missing
from oracle import VAR, Array, strided
from reduction_oracle import KEYWORDS, METHODS, ROUNDED
from strategies import MANY, SOME, make_operands, random_values, seeds
from support import identical

NAMES = list(KEYWORDS)


@pytest.fixture(autouse=True)
def one_thread_afterwards():
    yield
    nd.set_num_threads(1)


def undecided(value, axes):
    """Left open: rows of no known length, below an axis of no rows; nothing of nothing."""
    for axis in axes:
        rows = oracle.leaves(value.values, axis)
        below = [d for d in range(axis + 1, value.ndim) if d not in axes]
        empty = any(not row for row in rows) or not rows
        if empty and any(value.dims[d] == VAR or value.dims[d][1] == 0 for d in below):
            return True
        if not rows and value.dims[axis][1] == 0:
            return True
    return False


def same_values(name, found, expected, value, axes):
    base = name.removeprefix("nan")
    if base not in ROUNDED:
        return identical(found, expected, zeros=base in ("sum", "prod"))
    room = reduction_oracle.tolerance(name, oracle.leaves(value.values, value.ndim), bare(value.scalar))
    count = max(1, len(oracle.leaves(value.values, value.ndim)))

    def near(a, b):
        if isinstance(a, list) or isinstance(b, list):
            return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(near, a, b))
        if not math.isfinite(abs(complex(b))):
            return not math.isfinite(abs(complex(a)))
        return abs(a - b) <= room * count + 1e-6 * abs(b) * (result_is_small(value)) or identical(a, b)

    return near(found, expected)


def result_is_small(value):
    return 2000 if bare(value.scalar) == "float16" else 2 if "32" in value.scalar or "64" == value.scalar[-2:] else 1e-6


def agree(name, value, rng, keywords, oracle_keywords):
    array = make_missing(rng, value)
    method = name in METHODS and rng.random() < 0.5
    call = lambda: (getattr(array, name)(**keywords) if method else getattr(nd, name)(array, **keywords))  # noqa: E731
    try:
        expected = reduction_oracle.reduce(name, value, **oracle_keywords)
    except oracle.EmptyRowError:
        with pytest.raises(ValueError, match=f"^{name}: .*(is empty|no element)"):
            call()
        return
    except (oracle.UnequalRowsError, oracle.BroadcastError):
        with pytest.raises(ValueError, match=f"^{name}: "):
            call()
        return
    except TypeError:
        with pytest.raises(TypeError, match=f"^{name}: "):
            call()
        return
    found = call()
    axis = keywords.get("axis")
    axes = range(value.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    assert same_values(name, found.tolist(), expected.values, value, axes), (found.tolist(), expected.values)
    text = str(nd.type_of(found))
    assert text.split(" * ")[-1] == expected.scalar and found.ndim == expected.ndim
    if keywords.get("keepdims"):
        assert all(found.shape[a % value.ndim] == 1 for a in axes)
    elif expected.dims[:1] != (VAR,):  # a lone `var` in front may as well be `strided`
        assert text == expected.type_text


def draw_keywords(rng, name, value, where, weights):
    """-> the keywords, and the same for the oracle."""
    ndim = value.ndim
    axis = rng.choice([None, "one", "some"]) if ndim else rng.choice([None, ()])
    if axis == "one":
        axis = rng.randrange(-ndim, ndim)
    elif axis == "some":
        axis = tuple(a - ndim * rng.randrange(2) for a in rng.sample(range(ndim), rng.randint(1, ndim)))
    ours = {"axis": axis, "keepdims": rng.random() < 0.4}
    theirs = dict(ours)
    allowed = KEYWORDS[name].split()
    if "where" in allowed and rng.random() < 0.5:
        ours["where"], theirs["where"] = make_missing(rng, where), where
    if "weights" in allowed and rng.random() < 0.4:
        ours["weights"], theirs["weights"] = make_missing(rng, weights), weights
    if "initial" in allowed and rng.random() < 0.3:
        scalar = bare(value.scalar)
        ours["initial"] = theirs["initial"] = random_values(rng, scalar, 1, finite=True)[0]
    if "empty" in allowed and rng.random() < 0.3:
        ours["empty"] = theirs["empty"] = "missing"
    if "correction" in allowed and rng.random() < 0.5:
        ours["correction"] = theirs["correction"] = rng.choice([0, 1, 0.5, 2])
    return ours, theirs


@settings(max_examples=4 * MANY)
@given(seeds, st.sampled_from(NAMES), st.booleans(), st.booleans())
def test_all_keywords(seed, name, ragged, optional):
    rng = random.Random(seed)
    scalars = oracle.SCALARS if name.removeprefix("nan") not in ROUNDED or rng.random() < 0.3 else oracle.FLOATS
    value, where, weights = make_operands(rng, 3, ragged, scalars, spoiled=rng.random() < 0.3)
    if name.removeprefix("nan") in ROUNDED:
        value = tame(rng, value)
    where = as_scalar(where, "bool", rng)
    weights = as_scalar(weights, rng.choice(["int32", "float64"]), rng)
    if optional:
        value = puncture(rng, value, rng.choice([0.1, 0.5, 1.0]))
    keywords, oracle_keywords = draw_keywords(rng, name, value, where, weights)
    axis = keywords["axis"]
    axes = range(value.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not undecided(value, [a % value.ndim for a in axes]):
        agree(name, value, rng, keywords, oracle_keywords)


def as_scalar(array, scalar, rng):
    """The same shape with small values of another type."""
    draw = lambda: rng.random() < 0.7 if scalar == "bool" else rng.choice([1, 2, 3])  # noqa: E731

    def walk(node, ndim):
        return draw() if ndim == 0 else [walk(inner, ndim - 1) for inner in node]

    values = walk(array.values, array.ndim)
    if scalar == "float64":
        values = walk_map(float, values, array.ndim)
    return Array(array.dims, scalar, values)


def walk_map(function, node, ndim):
    return function(node) if ndim == 0 else [walk_map(function, inner, ndim - 1) for inner in node]


def tame(rng, array):
    """Values of moderate size, for what is compared with a tolerance; some NaN, where there is one."""
    scalar = array.scalar

    def draw(_):
        if scalar in oracle.FLOATS + oracle.COMPLEX and rng.random() < 0.05:
            return complex("nan") if scalar in oracle.COMPLEX else float("nan")
        x = rng.randint(0, 40) / 4
        return x > 5 if scalar == "bool" else int(x) if "int" in scalar else complex(x, 1) if "c" == scalar[0] else x

    return Array(array.dims, scalar, walk_map(draw, array.values, array.ndim))


# ---- against NumPy


def numpy_value(name, array, **keywords):
    function = np.linalg.norm if name == "norm" else getattr(np, name)
    with np.errstate(all="ignore"):
        return function(array, **keywords)


@settings(max_examples=SOME)
@given(seeds, st.sampled_from([name for name in NAMES if name not in ("count", "norm")]))
def test_numpy_agrees(seed, name):
    """Every layout, axis, keepdims, where and initial that NumPy has, with its result types but for wide sums."""
    rng = random.Random(seed)
    shape = [rng.randint(1, 6) for _ in range(rng.randint(1, 4))]
    scalar = rng.choice(["float64", "float32", "int32", "int64", "uint8"])
    plain = np.array(random_values(rng, scalar, math.prod(shape), finite=True), dtype=scalar).reshape(shape)
    if scalar[0] == "f":
        plain = np.clip(plain, -100, 100)
    order = rng.sample(range(len(shape)), len(shape))
    array = np.ascontiguousarray(plain.transpose(order)).transpose(np.argsort(order))[tuple(slice(None, None, rng.choice([1, -1])) for _ in shape)]
    axis = rng.choice([None, rng.randrange(len(shape)), tuple(rng.sample(range(len(shape)), rng.randint(1, len(shape))))])
    keywords = {"axis": axis, "keepdims": rng.random() < 0.5}
    if name.startswith("arg") and isinstance(axis, tuple) or name in ("ptp",) and axis is None and keywords["keepdims"]:
        return
    if "where" in KEYWORDS[name] and not name.startswith("arg") and name not in ("count_nonzero", "ptp") and rng.random() < 0.5:
        keywords["where"] = np.array([rng.random() < 0.6 for _ in range(shape[-1])])
        if name.removeprefix("nan") in ("min", "max"):
            keywords["initial"] = 1
    expected = numpy_value(name, array, **keywords)
    found = np.asarray(getattr(nd, name)(nd.asarray(array), **keywords))
    assert found.shape == expected.shape
    assert np.allclose(found.astype("float64"), np.asarray(expected).astype("float64"), rtol=2e-4 if scalar == "float32" else 1e-9,
                       atol=1e-3 if scalar == "float32" else 1e-7, equal_nan=True)


# ---- long rows


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scalar", ["float64", "int16", "float32"])
def test_long_rows_in_any_layout(name, scalar):
    """Pieces, batches, columns, threads: one result."""
    rng = np.random.default_rng(5)
    plain = rng.integers(-1000, 1000, (700, 900)).astype(scalar)
    plain[plain == 999] = 5
    mask = rng.random((700, 900)) < 0.8
    array, turned = nd.array(plain), nd.asarray(np.asfortranarray(plain))
    for axis in (None, 0, 1, (0, 1)):
        for keywords in ({}, {"where": nd.array(mask)}):
            wanted = None
            for threads in (1, 2):
                nd.set_num_threads(threads)
                for operand in (array, turned):
                    found = getattr(nd, name)(operand, axis=axis, **keywords)
                    wanted = wanted if wanted is not None else found
                    assert identical(found.tolist(), wanted.tolist()), (axis, threads)
    nd.set_num_threads(1)
    rows = [plain[i, : i % 40].tolist() for i in range(1, 700)]
    ragged = nd.array(rows, type=f"strided * var * {scalar}")[:600]
    if name.removeprefix("nan") not in reduction_oracle.NO_VALUE:
        found = getattr(nd, name)(ragged, axis=1).tolist()
        alone = [getattr(nd, name)(nd.array(row, type=f"strided * {scalar}")).tolist() for row in rows[:600]]
        assert identical(found, alone)
    value = Array((strided(600), VAR), scalar, rows[:600])
    assert same_values(name, getattr(nd, name)(ragged).tolist(), reduction_oracle.reduce(name, value).values, value, [0, 1])


@pytest.mark.parametrize("scalar", [*oracle.INTEGERS, "float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_positions_in_few_columns(name, scalar):
    """They are read as one long row: few and many rows, with NaN, infinities and zeros of both signs, first and last."""
    rng = np.random.default_rng(5)
    for rows, columns in [(7, 3), (64, 4), (65, 1), (1000, 4), (2000, 7), (1500, 16), (3000, 64), (600, 65)]:
        x = rng.integers(0, 2 if scalar == "bool" else 90, (rows, columns)).astype(scalar)
        if scalar.startswith("float"):
            x[rng.integers(0, rows, 3), rng.integers(0, columns, 3)] = [np.nan, np.inf, -np.inf]
            x[:, -1] = np.where(x[:, -1] > 40, 0.0, -0.0)
        for kept in (x, x[::-1], np.sort(x, axis=0), np.full_like(x, x[0, 0]), x[:, : columns // 2 + 1]):
            assert np.array_equal(getattr(nd, name)(nd.array(kept), axis=0), getattr(np, name)(kept, axis=0)), kept.shape


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize("scalar", oracle.FLOATS + ["int8", "uint64", "bool"])
def test_positions_of_ties_and_nan(name, scalar):
    pick = random.Random(7)
    for length in [1, 2, 7, 8, 9, 63, 64, 65, 300, 1023, 1024, 1025, 3000, 20000]:
        x = np.array([pick.choice([0, 1, 1, 3]) for _ in range(length)]).astype(scalar)
        for nans in range(2 if scalar in oracle.FLOATS else 1):
            if nans:
                x[pick.sample(range(length), min(length, 2))] = np.nan
            wanted = int(getattr(np, name)(x))
            for array in (nd.array(x), nd.asarray(np.repeat(x, 2)[::2]), nd.array(x.tolist(), type=f"strided * ?{scalar}")):
                assert int(getattr(nd, name)(array)) == wanted
            both = nd.asarray(np.stack([x, x]))
            assert getattr(nd, name)(both, axis=1).tolist() == [wanted, wanted]
            columns = nd.asarray(np.ascontiguousarray(np.stack([x] * 9).T))
            assert getattr(nd, name)(columns, axis=0).tolist() == [wanted] * 9


@pytest.mark.parametrize("scalar", ["float64", "int8", "bool"])
def test_positions_where_what_is_there_is_the_identity(scalar):
    """The least value there is, beside what is missing or masked: the position is that of an element."""
    least = {"float64": float("-inf"), "int8": -128, "bool": False}[scalar]
    most = {"float64": float("inf"), "int8": 127, "bool": True}[scalar]
    a = nd.array([[None, least, least], [None, None, most], [None, None, None]], type=f"strided * var * ?{scalar}")
    assert a.argmax(axis=1).tolist() == [1, 2, None]
    assert a.argmin(axis=1).tolist() == [1, 2, None]
    b = nd.array([[least, least], [most, most]], type=f"strided * strided * {scalar}")
    assert b.argmax(axis=1, where=[False, True]).tolist() == [1, 1]
    assert b.argmin(axis=0, where=[[False], [True]]).tolist() == [1, 1]


# ---- nothing


def test_empty_rows():
    rows = nd.array([[1.0, 2.0], [], [3.0]])
    assert rows.sum(axis=1).tolist() == [3, 0, 3] and rows.prod(axis=1).tolist() == [2, 1, 3]
    assert math.copysign(1, rows.sum(axis=1)[1]) == 1
    for name in ("mean", "var", "std"):
        assert math.isnan(getattr(rows, name)(axis=1)[1])
    assert rows.any(axis=1).tolist() == [True, False, True] and rows.all(axis=1).tolist() == [True, True, True]
    assert nd.count(rows, axis=1).tolist() == [2, 0, 1]
    for name in ("min", "max", "argmin", "argmax"):
        with pytest.raises(ValueError, match=f"^{name}: row 1 is empty, and {name} of no elements is not defined$"):
            getattr(rows, name)(axis=1)
        found = getattr(rows, name)(axis=1, empty="missing")
        assert found.tolist()[1] is None and str(found.type).endswith("?int64" if "arg" in name else "?float64")
    assert rows.max(axis=1, initial=2.5).tolist() == [2.5, 2.5, 3.0]
    assert rows.min(axis=1, initial=2.5).tolist() == [1.0, 2.5, 2.5]
    nothing = nd.array(np.zeros((3, 0)))
    assert nothing.prod(axis=1).tolist() == [1, 1, 1] and nothing.all(axis=1).tolist() == [True] * 3
    assert nothing.max(axis=1, empty="missing").tolist() == [None] * 3
    assert nothing.prod(axis=0).tolist() == [] and float(nothing.prod()) == 1.0
    with pytest.raises(ValueError, match="^argmax: the array is empty"):
        nothing.argmax()


@pytest.mark.parametrize("name", ["min", "argmax"])
def test_empty_rows_are_not_looked_for_one_by_one(name):
    for shape, axes in [((1, 2**62, 0), (1, 2)), ((2, 2**40, 3, 0), (1, 3)), ((2, 0, 2**62), (1, 2))]:
        with pytest.raises(ValueError, match=f"^{name}: axis 1 is empty, and {name} of no elements is not defined$"):
            getattr(nd, name)(nd.zeros(shape), axis=axes)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
@pytest.mark.parametrize("many", [1, 300])
def test_nan_is_not_what_is_folded_instead_of_it(kind, many):
    """Infinity is what NaN is replaced by: beside numbers, alone, and where there is nothing else."""
    rows = [[math.nan, math.inf], [math.nan, -math.inf], [math.nan] * 2, [1.0, math.nan], [math.inf, -math.inf]]
    x = np.repeat(np.array(rows, kind), many, axis=1)
    for a in (nd.array(x), nd.array(x) + nd.array(np.zeros(1, kind))):
        assert identical(nd.nanmin(a, axis=1).tolist(), [math.inf, -math.inf, math.nan, 1.0, -math.inf])
        assert identical(nd.nanmax(a, axis=1).tolist(), [math.inf, -math.inf, math.nan, 1.0, math.inf])
        assert identical(nd.nanmin(a).tolist(), -math.inf) and identical(nd.nanmax(a).tolist(), math.inf)
        assert identical(nd.nanmin(a[2]).tolist(), math.nan) and identical(nd.nanmax(a[1]).tolist(), -math.inf)
    with pytest.raises(ValueError, match="^nanmin: row 0 is empty"):
        nd.nanmin(nd.array([[], [1.0]]), axis=1)


def test_nothing_left():
    a = nd.array([[1.0, math.nan], [math.nan, math.nan]])
    assert identical(nd.nanmax(a, axis=1).tolist(), [1.0, math.nan])
    assert nd.nanmax(a, axis=1, empty="missing").tolist() == [1.0, None]
    assert nd.nanmin(a, axis=1, initial=0.5).tolist() == [0.5, 0.5]
    assert nd.nansum(a, axis=1).tolist() == [1.0, 0.0] and math.copysign(1, nd.nansum(a, axis=1)[1]) == 1
    assert nd.nanprod(a, axis=1).tolist() == [1.0, 1.0]
    assert identical(nd.nanmean(a, axis=1).tolist(), [1.0, math.nan])
    with pytest.raises(ValueError, match=r"^max: row 1 has no element that where= takes, and max of no elements"):
        a.max(axis=1, where=nd.array([[True], [False]]))
    with pytest.raises(ValueError, match=r"^argmin: the array has no element that where= takes"):
        a.argmin(where=False)
    some = nd.array([[1, None], [None, None]])
    assert some.sum(axis=1).tolist() == [1, 0] and some.max(axis=1).tolist() == [1, None]
    assert nd.count(some).tolist() == 1 and some.max(axis=1, initial=-5).tolist() == [1, -5]
    assert str(some.max(axis=1, initial=-5).type) == "strided * int32"


# ---- errors


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda a: a.sum(axis=2), IndexError, "sum: axis 2 is out of bounds for 2 dimension(s)"),
        (lambda a: a.sum(axis=(0, -3)), IndexError, "sum: axis -3 is out of bounds for 2 dimension(s)"),
        (lambda a: a.mean(axis=(1, -1)), ValueError, "mean: axis 1 is given twice"),
        (lambda a: a.sum(axis=1.5), TypeError, "sum: axis must be an integer, a tuple of them or None, not float"),
        (lambda a: a.sum(axis=(1, "x")), TypeError, "sum: axis must be an integer, a tuple of them or None, not str"),
        (lambda a: a.sum(where=[1, 0, 1]), TypeError, "sum: where must be bool, not int32"),
        (lambda a: a.sum(where=[True, False]), ValueError, "sum: cannot broadcast (2, 3) with (2,) at axis 1"),
        (
            lambda a: a.any(where=[[[True]]]),
            ValueError,
            "any: where of shape (1, 1, 1) does not broadcast to (2, 3)",
        ),
        (lambda a: a.sum(initial=0.5), ValueError, "sum: initial: "),
        (lambda a: a.sum(initial=[1, 2]), TypeError, "sum: initial must be one number, not strided * int32"),
        (lambda a: a.sum(initial="x"), TypeError, "sum: initial must be one number, not string"),
        (lambda a: a.mean(weights="x"), TypeError, "mean: weights must be real numbers, not string"),
        (lambda a: a.mean(weights=[1j, 1, 1]), TypeError, "mean: weights must be real numbers, not complex128"),
        (lambda a: a.max(empty="zero"), ValueError, "max: empty must be 'missing' or None"),
        (lambda a: a.sum(empty="missing"), TypeError, "sum: unexpected keyword argument 'empty'"),
        (lambda a: a.max(correction=1), TypeError, "max: unexpected keyword argument 'correction'"),
        (lambda a: a.sum(0, axis=1), TypeError, "sum: repeated keyword argument 'axis'"),
        (lambda a: a.var(correction="x"), TypeError, "correction must be a number, not str"),
        (lambda a: nd.min(a + 1j), TypeError, "min: not defined for complex numbers, got complex128"),
        (lambda a: nd.nanmax(a + 1j), TypeError, "nanmax: not defined for complex numbers, got complex128"),
        (lambda a: nd.argmax(a + 1j), TypeError, "argmax: not defined for complex numbers, got complex128"),
        (lambda a: nd.ptp(a > 1), TypeError, "ptp: bool is not a number; nd.where(a, 1, 0) makes integers of it"),
        (lambda a: nd.mean(["a"]), TypeError, "mean: there is no such operation for elements of type string"),
        (lambda a: nd.vecdot(a, ["a"]), TypeError, "vecdot: there is no such operation for elements of type string"),
        (lambda a: nd.vecdot(a, [1, 2]), ValueError, "vecdot: cannot broadcast (2, 3) with (2,) at axis 1"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind) as caught:
        call(nd.array([[1, 2, 3], [4, 5, 6]]))
    assert text in str(caught.value)


def test_where_must_not_stretch_ragged_rows():
    rows = nd.array([[1.0], [2.0, 3.0]])
    assert rows.sum(axis=1, where=[[True], [False]]).tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="^sum: where of shape"):
        rows.sum(axis=1, where=nd.array([[True, False], [True, True]], type="strided * var * bool"))


# ---- fusion


def one_pass(function):
    text = str(nd.explain(function))
    assert text.count("one kernel") == 1, text
    return text


def test_reductions_fuse():
    rng = np.random.default_rng(2)
    a, b = nd.array(rng.random((300, 400))), nd.array(rng.random((300, 400)))
    mask = nd.array(rng.random((300, 400)) < 0.5)
    assert "multiply" in one_pass(lambda: nd.prod(a * b, axis=0))
    assert "greater" in one_pass(lambda: nd.any(a > 0.5, axis=1))
    assert "where" in one_pass(lambda: nd.sum(a * b, axis=(0, 1), where=mask))
    assert "less" in one_pass(lambda: nd.min(a, axis=0, where=a < 0.5, empty="missing"))
    assert "multiply" in one_pass(lambda: nd.argmax(a * b, axis=1))
    assert "multiply" in one_pass(lambda: nd.argmax(a * b, axis=0))
    assert "equal" in one_pass(lambda: nd.nansum(a * b))
    assert "multiply" in one_pass(lambda: nd.vecdot(a, b))
    ragged = nd.from_offsets(np.arange(0, 300 * 400 + 1, 4), nd.array(rng.random(300 * 400)))
    assert "var_rows" in one_pass(lambda: nd.argmax(ragged * 2.0, axis=1))
    assert "var_rows" in one_pass(lambda: nd.any(ragged > 0.3, axis=1))


def test_a_lazy_operand_of_a_variance_is_computed_once():
    rng = np.random.default_rng(3)
    plain = rng.random((300, 400))
    a = nd.array(plain)
    for axis in (0, 1, None):
        assert np.allclose(np.asarray(nd.var(a * 2.0 + 1.0, axis=axis)), (plain * 2 + 1).var(axis=axis))
    text = str(nd.explain(lambda: nd.var(a * 2.0 + 1.0, axis=1).eval()))
    assert text.count("multiply(r") == 1, text


def test_vecdot():
    rng = np.random.default_rng(4)
    a, b, c = rng.random((5, 7)), rng.random((3, 1, 7)), rng.random((3, 5, 1))
    assert np.allclose(np.asarray(nd.vecdot(a, b)), (a * b).sum(axis=-1))
    assert np.allclose(np.asarray(nd.vecdot(a, c, axis=-2)), (a * c).sum(axis=-2))
    rows = nd.array([[1, 2], [], [3]])
    assert nd.vecdot(rows, rows).tolist() == [5, 0, 9]
    assert nd.vecdot(nd.array([1, None, 3]), [4, 5, 6]).tolist() == 22
    assert nd.vecdot([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], axis=()).tolist() == [4.0, 10.0, 18.0]
    small = nd.array([100, 100], type="strided * int8")
    assert nd.vecdot(small, small).tolist() == 20000 and str(nd.vecdot(small, small).type) == "int64"


def test_vecdot_of_complex_numbers():
    a, b = [1 + 2j, 3], [1j, 1]
    assert nd.vecdot(nd.array(a), nd.array(b)).tolist() == np.vdot(a, b)
    assert nd.vecdot(nd.array(a), [1.0, 2.0]).tolist() == np.vdot(a, [1.0, 2.0])


def test_weights():
    rng = np.random.default_rng(5)
    x, w = rng.random((6, 9)), rng.integers(1, 5, (6, 9))
    assert np.allclose(np.asarray(nd.mean(x, axis=1, weights=w)), np.average(x, axis=1, weights=w))
    for i in range(6):
        repeated = np.repeat(x[i], w[i])
        assert np.isclose(nd.var(x, axis=1, weights=w)[i].tolist(), repeated.var())
        assert np.isclose(nd.std(x, axis=1, weights=w, correction=1)[i].tolist(), repeated.std(ddof=1))
    assert nd.mean([1.0, 2.0, 4.0], weights=[1, 0, 1]).tolist() == 2.5


@pytest.mark.parametrize("a, b, axis, text", [
    ([2], [1, 2, 3], -1, "along axis -1 there are 1 in one operand and 3 in the other"),
    ([[1, 2], [3]], [[1, 2], [3, 4]], -1, "rows of several lengths in one operand and 2 in the other"),
    ([[1, 2], [3]], [[1], [3, 4]], -1, "rows of several lengths in one operand and rows of several lengths"),
    ([[1, 2], [3]], [[1, 2, 3], [3]], -1, "cannot broadcast row 0: lengths 2 and 3"),
    ([[1, 2], [3]], [1], -1, "rows of several lengths in one operand and 1 in the other"),
    ([[1, 2], [3, 4]], [5, 6], -2, "both operands must have axis -2"),
    ([[1, 2], [3, 4]], 2, -1, "both operands must have axis -1"),
])  # fmt: skip
def test_vecdot_does_not_stretch_what_it_adds_up(a, b, axis, text):
    with pytest.raises(ValueError, match=text):
        nd.vecdot(a, b, axis=axis)


lengths_of_rows = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=2, max_size=2)
outer_sizes = st.tuples(st.integers(1, 2), st.integers(1, 2))


@given(lengths_of_rows, lengths_of_rows, outer_sizes, outer_sizes, st.booleans(), st.sampled_from(["strided", "var"]))
@settings(max_examples=MANY, deadline=None)
def test_vecdot_of_rows_whose_outer_axes_stretch(one, other, a_size, b_size, equal, kind):
    """Every pair of rows that meet is compared, also where other rows of the two arrays have the same lengths."""
    lengths = one, one if equal else other
    a, b = ([[[i + 2.0 * j + k for k in range(own[i][j])] for j in range(size[1])] for i in range(size[0])]
            for own, size in zip(lengths, (a_size, b_size)))
    pairs = [[(a[i % a_size[0]][j % a_size[1]], b[i % b_size[0]][j % b_size[1]]) for j in range(max(a_size[1], b_size[1]))]
             for i in range(max(a_size[0], b_size[0]))]
    operands = [nd.array(x, type=f"strided * {kind} * var * float64") for x in (a, b)]
    if all(len(x) == len(y) for row in pairs for x, y in row):
        assert nd.vecdot(*operands).tolist() == [[sum(p * q for p, q in zip(x, y)) for x, y in row] for row in pairs]
    else:
        with pytest.raises(ValueError, match="vecdot: (along axis -1|cannot broadcast)"):
            nd.vecdot(*operands)


@pytest.mark.parametrize("length", [1, 2, 3, 600])
@pytest.mark.parametrize("scalar", ["float64", "float32", "int32"])
def test_variance_of_no_more_elements_than_the_correction(length, scalar):
    """Divided by nothing, not by a number below it: whatever way the rows are in memory."""
    x = (np.arange(4 * length).reshape(4, length) % 5).astype(scalar)
    rows = nd.from_offsets(np.arange(5) * length, nd.array(x.reshape(-1)))
    for correction in (length - 1, length, length + 1, length + 0.5):
        for name in ("var", "std"):
            ours = functools.partial(getattr(nd, name), correction=correction)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = getattr(np, name)(x, axis=1, ddof=correction)
            for found in (ours(nd.array(x), axis=1), ours(nd.asarray(x.T), axis=0), ours(rows, axis=1)):
                np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)
            np.testing.assert_allclose([ours(row).tolist() for row in nd.array(x)], expected, rtol=1e-6)


def test_variance_of_nothing_with_a_correction():
    """The constants of a row without elements were not brought: what had been in memory decided."""
    nothing = nd.array([], type="0 * float64")
    for name in ["var", "std", "nanvar", "nanstd"]:
        for before in range(3):
            nd.exp(nd.full(50, float(before))).sum()
            assert math.isnan(getattr(nd, name)(nothing, correction=1).tolist())


def test_all_of_nothing_is_true_as_a_byte_too():
    """Bools share the loops of uint8, whose largest number is 255."""
    rows = nd.array([[True], [], [False]])
    for found in (rows.all(axis=1), nd.all(rows + 0, axis=1), rows.all(axis=1, keepdims=True)):
        assert np.asarray(found).view("uint8").ravel().tolist() == [1, 1, 0]
        assert nd.unique(found).tolist() == nd.groupby([1, 2, 3], by=nd.flatten(found)).keys.tolist() == [False, True]
    for sizes, axis in (((0,), None), ((0,), 0), ((3, 0), 1), ((0, 3), 0), ((3, 0), None)):
        for scalar in ("bool", "float64", "int32"):
            for keepdims in (False, True):
                found = np.asarray(nd.zeros(sizes, scalar).all(axis=axis, keepdims=keepdims))
                assert (found.view("uint8") == 1).all(), (sizes, axis, scalar)
