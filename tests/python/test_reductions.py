"""sum, min and max over one axis or all, strided and ragged; float sums bit for bit in their documented order."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from dynd import nd
from oracle import VAR, Array, strided
from strategies import MANY, SOME, arrays, random_values, seeds
from support import SIGNLESS, assert_is, contains, identical, make, numpy_layout

NAMES = ["sum", "min", "max"]


def agree(name, value, axis, keepdims, rng, method=False):
    """The library and the oracle reduce to the same values, or fail alike."""
    array = make(rng, value)
    call = getattr(array, name) if method else lambda **how: getattr(nd, name)(array, **how)
    how = {} if axis is None and rng.random() < 0.5 else {"axis": axis}
    how |= {"keepdims": keepdims} if keepdims or rng.random() < 0.5 else {}
    if undecided(value, axis):
        return
    try:
        expected = oracle.reduce(name, value, axis, keepdims)
    except oracle.EmptyRowError as error:
        with pytest.raises(ValueError) as caught:
            call(**how)
        text = str(caught.value)
        assert text.startswith(name + ":") and "empty" in text
        if len(error.row) == 1 and value.dims[1:] == (VAR,):
            assert f"row {error.row[0]}" in text
        return
    except oracle.UnequalRowsError:
        with pytest.raises(ValueError) as caught:
            call(**how)
        assert str(caught.value).startswith(name + ":")
        return
    except TypeError:
        with pytest.raises(TypeError, match=f"^{name}: not defined for complex numbers, got {value.scalar}$"):
            call(**how)
        return
    found = call(**how)
    assert identical(found.tolist(), expected.values, zeros=name not in SIGNLESS)
    text = str(nd.type_of(found))
    assert text.split(" * ")[-1] == expected.scalar
    assert found.ndim == expected.ndim
    if keepdims:
        reduced = range(value.ndim) if axis is None else [axis % value.ndim]
        assert all(found.shape[i] == 1 for i in reduced)
    elif expected.dims[:1] != (VAR,):  # a lone `var` in front may as well be `strided`
        assert text == expected.type_text


def undecided(value, axis):
    """Cases that the design leaves open: an axis without any row above rows of no known length, nothing of nothing."""
    if axis is None:
        return False
    axis %= value.ndim
    rows = oracle.leaves(value.values, axis)
    below = value.dims[axis + 1 :]
    return (
        any(not row for row in rows)
        and (VAR in below or 0 in [size for _, size in below])
        or (not rows and VAR in below)
        or (not rows and value.dims[axis][1] == 0)
    )


def draw_axis(data, value):
    return data.draw(st.sampled_from([None, *range(-value.ndim, value.ndim)]))


@settings(max_examples=MANY)
@given(
    arrays(scalars=oracle.NUMBERS, least_ndim=1), st.sampled_from(NAMES), st.booleans(), st.booleans(), seeds, st.data()
)
def test_ragged(value, name, keepdims, method, seed, data):
    agree(name, value, draw_axis(data, value), keepdims, random.Random(seed), method)


@settings(max_examples=MANY)
@given(arrays(ragged=False), st.sampled_from(NAMES), st.booleans(), st.booleans(), seeds, st.data())
def test_strided(value, name, keepdims, method, seed, data):
    agree(name, value, draw_axis(data, value), keepdims, random.Random(seed), method)


@settings(max_examples=SOME)
@given(st.booleans().flatmap(lambda ragged: arrays(ragged=ragged, scalars=["bool"])), seeds, st.data())
def test_bool_sums_to_int64(value, seed, data):
    agree("sum", value, draw_axis(data, value), False, random.Random(seed))


@settings(max_examples=SOME)
@given(
    st.booleans().flatmap(lambda ragged: arrays(ragged=ragged, scalars=["bool"])),
    st.sampled_from(["min", "max"]),
    seeds,
    st.data(),
)
def test_the_smallest_and_the_largest_of_bools(value, name, seed, data):
    agree(name, value, draw_axis(data, value), False, random.Random(seed))


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
def test_integers_add_up_in_64_bits(scalar):
    top = np.iinfo(scalar).max
    total = nd.array([top] * 5, type=f"strided * {scalar}").sum()
    wide = "uint64" if scalar[0] == "u" else "int64"
    assert str(nd.type_of(total)) == wide
    with np.errstate(over="ignore"):
        assert int(total) == np.full(5, top, wide).sum()


LENGTHS = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 191, 192, 193, 255, 256, 257]
LENGTHS += [320, 447, 448, 449, 1000, 1024, 4095, 4096, 4097, 20000]


def wild(rng, scalar, count):
    if scalar in oracle.COMPLEX:
        return (wild(rng, "float64", count) + 1j * wild(rng, "float64", count)).astype(scalar)
    return (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 2 if scalar == "float16" else 7, count)).astype(scalar)


SUMMED = oracle.FLOATS + oracle.COMPLEX


@pytest.mark.parametrize("scalar", SUMMED)
def test_float_sums_are_in_the_documented_order(scalar):
    rng = np.random.default_rng(3)
    for length in LENGTHS:
        row = wild(rng, scalar, length)
        expected = oracle.ordered_sum(row).tolist()
        assert nd.array(row.tolist(), type=f"strided * {scalar}").sum().tolist() == expected, length


@pytest.mark.parametrize("scalar", SUMMED)
def test_the_order_does_not_depend_on_the_layout(scalar):
    rng = np.random.default_rng(4)
    pick = random.Random(4)
    for length in [9, 64, 65, 200, 1000, 4097]:
        row = wild(rng, scalar, length)
        expected = oracle.ordered_sum(row).tolist()
        for _ in range(4):
            assert nd.asarray(numpy_layout(pick, row)).sum().tolist() == expected
        pair = np.stack([row, row])
        assert nd.asarray(pair).sum(axis=1).tolist() == [expected] * 2
        assert nd.asarray(np.asfortranarray(pair)).sum(axis=1).tolist() == [expected] * 2
        assert nd.asarray(pair.T.copy()).sum(axis=0).tolist() == [expected] * 2
        assert nd.asarray(pair.T).sum(axis=0).tolist() == [expected] * 2
        ragged = nd.from_offsets(np.array([0, 0, length, 2 * length]), pair.ravel())
        assert ragged.sum(axis=1).tolist() == [0.0, expected, expected]


@pytest.mark.parametrize("scalar", SUMMED)
def test_reduced_axes_flatten_in_c_order(scalar):
    rng, pick = np.random.default_rng(5), random.Random(5)
    for shape in [(3, 5, 7), (2, 70), (70, 2), (1, 129), (40, 3, 2), (13, 11)]:
        cube = wild(rng, scalar, int(np.prod(shape))).reshape(shape)
        expected = oracle.ordered_sum(cube.ravel()).tolist()
        for _ in range(4):
            assert nd.asarray(numpy_layout(pick, cube)).sum().tolist() == expected
    rows = [wild(rng, scalar, n).tolist() for n in (0, 3, 200, 1, 64, 0, 7)]
    expected = oracle.ordered_sum(np.array(sum(rows, []), dtype=scalar)).tolist()
    assert nd.array(rows, type=f"strided * var * {scalar}").sum().tolist() == expected


@pytest.mark.parametrize("scalar", SUMMED)
def test_every_row_length_of_a_ragged_sum(scalar):
    rng = np.random.default_rng(6)
    rows = [wild(rng, scalar, n) for n in [*range(0, 140), 500, 1000, 0]]
    array = nd.array([row.tolist() for row in rows], type=f"strided * var * {scalar}")
    assert array.sum(axis=1).tolist() == [oracle.ordered_sum(row).tolist() for row in rows]
    if scalar in oracle.COMPLEX:
        return
    assert array[1:-1].max(axis=1).tolist() == [row.max().tolist() for row in rows[1:-1]]
    assert array[::-1][1:-1].min(axis=1).tolist() == [row.min().tolist() for row in rows[1:-1][::-1]]


@settings(max_examples=SOME)
@given(seeds, st.sampled_from(SUMMED), st.sampled_from([0, 1, 2]))
def test_float_sums_of_random_blocks(seed, scalar, axis):
    rng, pick = np.random.default_rng(seed), random.Random(seed)
    shape = tuple(pick.choice([1, 2, 3, 20, 65, 130] if i == axis else [1, 2, 5, 9]) for i in range(3))
    cube = wild(rng, scalar, int(np.prod(shape))).reshape(shape)
    expected = np.apply_along_axis(lambda row: oracle.ordered_sum(row), axis, cube)
    found = nd.asarray(numpy_layout(pick, cube)).sum(axis=axis)
    assert identical(found.tolist(), expected.astype(scalar).tolist())


def test_zeros_keep_their_sign():
    assert math.copysign(1, float(nd.array([-0.0, -0.0]).sum())) == -1
    assert math.copysign(1, float(nd.array([-0.0, 0.0]).sum())) == 1
    assert math.copysign(1, float(nd.array([], type="strided * float64").sum())) == 1
    rows = nd.array([[-0.0], [], [0.0, -0.0]]).sum(axis=1).tolist()
    assert [math.copysign(1, x) for x in rows] == [-1, 1, 1]


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("scalar", oracle.FLOATS)
def test_nan_wins(name, scalar):
    for length in (1, 7, 40, 200):
        for at in {0, length // 2, length - 1}:
            row = [float(i) for i in range(length)]
            row[at] = math.nan
            array = nd.array([row, row[:at] + row[at + 1 :] + [1.0]], type=f"strided * strided * {scalar}")
            first, second = getattr(array, name)(axis=1).tolist()
            assert math.isnan(first) and not math.isnan(second)
            assert math.isnan(float(getattr(array[0], name)()))


def test_infinities_and_extremes():
    assert nd.array([math.inf, 1.0]).min() == 1.0
    assert nd.array([-math.inf]).max().tolist() == -math.inf
    assert nd.array([math.inf]).min().tolist() == math.inf
    assert math.isnan(float(nd.array([math.inf, -math.inf]).sum()))
    for scalar in oracle.INTEGERS:
        info = np.iinfo(scalar)
        assert nd.array([info.max], type=f"strided * {scalar}").min().tolist() == info.max
        assert nd.array([info.min], type=f"strided * {scalar}").max().tolist() == info.min


def test_accuracy_is_that_of_pairwise_summation():
    row = np.full(1_000_000, 0.1, "float32")
    exact = math.fsum(row.tolist())
    assert abs(float(nd.asarray(row).sum()) - exact) <= abs(float(row.sum()) - exact) + 0.02


def test_a_scalar_result():
    total = nd.array([1, 2, 3]).sum()
    assert (total.ndim, total.shape, str(nd.type_of(total))) == (0, (), "int64")
    assert int(total) == 6 and float(total) == 6.0 and total.tolist() == 6 and total == 6 and bool(total == 6)
    assert nd.array(5).sum() == 5


def test_an_empty_row_is_named():
    rows = nd.array([[1], [2, 3], [], [4], []])
    with pytest.raises(ValueError) as caught:
        rows.max(axis=1)
    assert contains(str(caught.value), "max", "row 2", "empty")
    assert rows.max() == 4
    with pytest.raises(ValueError) as caught:
        nd.array([[[1], [2]], [[3], []]], type="strided * var * var * int32").min(axis=2)
    assert contains(str(caught.value), "min", "row", "1", "1", "empty")


def test_unequal_rows_below_the_axis():
    with pytest.raises(ValueError) as caught:
        nd.array([[1, 2], [3]]).sum(axis=0)
    assert contains(str(caught.value), "sum", "axis 0|row 1")
    assert nd.array([[1, 2], [3, 4]], type="strided * var * int32").sum(axis=0).tolist() == [4, 6]
    assert nd.array([[1, 2], [3, 4]], type="strided * var * int32").max(axis=-2).tolist() == [3, 4]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [2, -3, 17])
def test_an_axis_out_of_range(name, axis):
    with pytest.raises((IndexError, ValueError)) as caught:
        getattr(nd.array([[1, 2], [3]]), name)(axis=axis)
    assert contains(str(caught.value), name, "axis", str(axis))


def test_keepdims_broadcasts_back():
    rows = nd.array([[1.0, 3.0], [5.0], []])
    assert (rows - rows.sum(axis=1, keepdims=True)).tolist() == [[-3.0, -1.0], [0.0], []]
    assert str(nd.type_of(rows - rows.sum(axis=1, keepdims=True))) == "strided * var * float64"
    square = nd.array([[1, 2], [3, 4]])
    assert (square * square.max(axis=0, keepdims=True)).tolist() == [[3, 8], [9, 16]]


@settings(max_examples=SOME)
@given(seeds, st.sampled_from(NAMES), st.sampled_from(["int16", "int64", "float32", "float64"]))
def test_a_reduction_of_an_expression(seed, name, scalar):
    """(a * b + row[:, None]) reduced along its rows is the reduction of the finished array."""
    rng = random.Random(seed)
    lengths = [rng.choice([1, 2, 5, 70] if name != "sum" else [0, 1, 2, 5, 70]) for _ in range(rng.randint(1, 8))]
    dims = (strided(len(lengths)), VAR)
    a, b = (Array(dims, scalar, [random_values(rng, scalar, n, True) for n in lengths]) for _ in range(2))
    row = Array(dims[:1], scalar, random_values(rng, scalar, len(lengths), True))
    column = Array(dims[:1] + (strided(1),), scalar, [[x] for x in row.values])
    expected = oracle.elementwise("add", oracle.elementwise("multiply", a, b), column)
    x, y, z = (make(rng, value) for value in (a, b, row))
    found = getattr(x * y + z[:, None], name)(axis=1)
    assert_is(found, oracle.reduce(name, expected, axis=1), zeros=name == "sum")


def test_one_element_each_goes_to_every_result_of_swapped_bytes():
    plain = np.array([[[1, 5, -3]], [[2, 7, 9]]], ">i4")
    assert nd.ptp(nd.asarray(plain), axis=1).tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("place", [None, 0, 4095, 4096, 20_000, 65_535, 65_536, 299_999])
def test_any_and_all_of_many_bools(place):
    bools = np.zeros(300_000, bool)
    if place is not None:
        bools.view("u1")[place] = 2  # not 0: true
    assert nd.any(nd.array(bools)).tolist() is (place is not None)
    assert nd.all(nd.array(bools == 0)).tolist() is (place is None)


@pytest.mark.parametrize("shape", [(40, 3), (7, 50), (3, 9000), (9000, 20)])
def test_any_byte_but_0_is_true(shape):
    """NumPy views memory as bools without looking at it: each counts once, along every axis, in every layout."""
    memory = np.random.default_rng(5).integers(0, 3, shape).astype(np.uint8)
    x, view = memory != 0, memory.view(bool)
    for turn in (lambda m: m, lambda m: m.T, lambda m: m[::-1], lambda m: m[:, ::2], lambda m: m[:, ::-1]):
        a = nd.asarray(turn(view))
        for axis in (0, 1, None):
            expected = turn(x).sum(axis=axis).tolist()
            assert a.sum(axis=axis).tolist() == nd.count_nonzero(a, axis=axis).tolist() == expected
            assert nd.count(nd.array(np.ones(a.shape)), axis=axis, where=a).tolist() == expected
    rows = nd.from_offsets(np.array([0, shape[1], shape[1], memory.size]), nd.asarray(view.reshape(-1)))
    assert rows.sum(axis=1).tolist() == [x[0].sum(), 0, x[1:].sum()] and rows.sum().tolist() == x.sum()
