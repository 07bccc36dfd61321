"""Reductions of shapes that are walked in their own ways: columns, panels, rows by eights, axes of one element."""

import itertools
import math

import numpy as np
import pytest

import oracle
from dynd import nd
from support import identical

ORDERED = ["float32", "float64", "complex64", "complex128"]
SMALL = ["bool", "int8", "uint8", "int16", "uint16"]


def random_array(rng, scalar, shape):
    """Values of very different sizes, so that another order of summation shows."""
    if scalar == "bool":
        return rng.random(shape) < 0.5
    kind = np.dtype(scalar).kind
    if kind in "iu":
        return rng.integers(np.iinfo(scalar).min, np.iinfo(scalar).max, shape, dtype=scalar, endpoint=True)
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 4, shape)
    return (values + 1j * values[..., ::-1] if kind == "c" else values).astype(scalar)


def sums(rows):
    if isinstance(rows, np.ndarray) and rows.shape[1] <= 64:  # all at once
        return oracle.ordered_sum(rows)
    return np.array([oracle.ordered_sum(row) for row in rows])


def same_bits(found, expected):
    return np.asarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("shape", [(1, 9), (7, 8), (63, 40), (64, 127), (65, 128), (200, 129), (130, 600), (1000, 13)])
@pytest.mark.parametrize("scalar", ORDERED)
def test_columns_are_summed_in_the_order_of_rows(scalar, shape, threads):
    rng = np.random.default_rng(shape[0])
    x, y = random_array(rng, scalar, shape), random_array(rng, scalar, shape)
    a, b = nd.array(x), nd.array(y)
    assert same_bits(a.sum(axis=0), sums(x.T))
    assert same_bits((a + b).sum(axis=0), sums((x + y).T))
    assert same_bits((a + nd.array(y[:, :1])).sum(axis=0), sums((x + y[:, :1]).T))
    assert same_bits(nd.array(y[::2, :1]).sum(axis=0), sums(y[::2, :1].T))
    assert same_bits(a[:, 3:].sum(axis=0), sums(x[:, 3:].T))
    total = a + b
    assert same_bits(total.sum(axis=0), sums((x + y).T)) and same_bits(total, x + y)


@pytest.mark.parametrize("name", ["min", "max", "sum"])
@pytest.mark.parametrize("scalar", [*SMALL, "int32", "int64", "uint64", "float64"])
def test_columns_in_any_order(scalar, name, threads):
    rng = np.random.default_rng(5)
    for shape in [(3, 70), (16, 9), (100, 130), (70, 600)]:
        x = random_array(rng, scalar, shape)
        if scalar == "float64" and name == "sum":
            continue
        assert np.asarray(getattr(nd.array(x), name)(axis=0)).tolist() == getattr(x, name)(axis=0).tolist()
        cube = random_array(rng, scalar, (5, 30, 20))
        for order in itertools.permutations(range(3)):
            view = cube.transpose(order)
            for axis in range(3):
                found = getattr(nd.asarray(view), name)(axis=axis)
                assert np.asarray(found).tolist() == getattr(view, name)(axis=axis).tolist()


LAYOUTS = [
    lambda x: x.transpose(2, 1, 0),
    lambda x: x.transpose(1, 2, 0),
    lambda x: x.transpose(0, 2, 1)[::-1],
    lambda x: x.transpose(2, 0, 1)[:, ::2],
    lambda x: x[:, ::-1].transpose(1, 0, 2),
    lambda x: x.transpose(2, 1, 0)[3:, :, ::-1],
    lambda x: x.reshape(-1, x.shape[2]).T,
]


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("scalar", [*ORDERED, "int16", "bool"])
def test_everything_in_c_order_whatever_the_layout(scalar, layout, threads):
    rng = np.random.default_rng(layout)
    for shape in [(3, 5, 40), (20, 7, 33), (17, 64, 19), (40, 90, 70)]:
        view = LAYOUTS[layout](random_array(rng, scalar, shape))
        flat = view.reshape(-1)
        if scalar in ORDERED:
            assert same_bits(nd.asarray(view).sum(), oracle.ordered_sum(flat))
            other = random_array(rng, scalar, view.shape)
            product = nd.array(other) + nd.array(np.ascontiguousarray(view.T)).T
            assert same_bits(product.sum(), oracle.ordered_sum((other + view).reshape(-1)))
        else:
            assert int(nd.asarray(view).sum()) == int(flat.sum(dtype=np.int64))
        if not scalar.startswith("complex"):
            assert nd.asarray(view).min().tolist() == flat.min() and nd.asarray(view).max().tolist() == flat.max()


def test_long_rows_that_jump(threads):
    """Too long for a panel, and many of them: pieces of one row."""
    rng = np.random.default_rng(3)
    x = random_array(rng, "float64", (30_000, 9))
    assert same_bits(nd.asarray(x.T).sum(), oracle.ordered_sum(x.T.reshape(-1)))
    x = random_array(rng, "float64", (600, 700))
    assert same_bits(nd.asarray(x.T).sum(), oracle.ordered_sum(x.T.reshape(-1)))


STRIPS = [(511, 70), (512, 9), (513, 3), (576, 65), (1000, 130), (1027, 200), (5000, 1), (4000, 17)]


@pytest.mark.parametrize("shape", STRIPS)
@pytest.mark.parametrize("scalar", ["float32", "float64", "complex128"])
def test_rows_of_a_strip_advance_together(scalar, shape, threads):
    """Their blocks begin at different columns, some are in two rows; the last one is not whole."""
    rng = np.random.default_rng(shape[1])
    x, y = random_array(rng, scalar, shape), random_array(rng, scalar, shape[::-1])
    for view in [x.T, x[::-1].T, x[:, ::-1].T, x.T[1:], x[3:].T]:
        assert same_bits(nd.asarray(view).sum(), oracle.ordered_sum(view.reshape(-1)))
    a, b = nd.array(x).T, nd.array(y)
    products = np.asarray(nd.array(np.ascontiguousarray(x.T)) * b)  # NumPy's of complex numbers have other bits
    assert same_bits((a * b).sum(), oracle.ordered_sum(products.reshape(-1)))
    assert same_bits((a - b - a).sum(), oracle.ordered_sum((x.T - y - x.T).reshape(-1)))
    held = a + b
    assert same_bits(held.sum(), oracle.ordered_sum((x.T + y).reshape(-1))) and same_bits(held, x.T + y)


@pytest.mark.parametrize("few", range(1, 10))
@pytest.mark.parametrize("scalar", ["float32", "float64"])
def test_few_rows_or_columns(scalar, few, threads):
    """One run of memory that is several logical rows; nodes of eight blocks, and what is left of them."""
    rng = np.random.default_rng(few)
    for many in [1, 63, 64, 511, 513, 1024, 4096 + 65, 64 * 157, *([120_000] if few in (3, 4) else [])]:
        for x in [random_array(rng, scalar, (many, few)), random_array(rng, scalar, (few, many))]:
            a, everything = nd.array(x), oracle.ordered_sum(x.reshape(-1))
            assert same_bits(a.sum(axis=0), sums(x.T)) and same_bits(a.T.sum(axis=1), sums(x.T))
            assert same_bits(a.sum(), everything) and same_bits(a[1:].sum(), oracle.ordered_sum(x[1:].reshape(-1)))
            assert same_bits(a.T.sum(), oracle.ordered_sum(x.T.reshape(-1)))
            assert same_bits(a[:, ::-1].T.sum(), oracle.ordered_sum(x[:, ::-1].T.reshape(-1)))
            assert same_bits(a[::-1].sum(axis=0), sums(x[::-1].T))


def test_strips_of_other_reductions(threads):
    rng = np.random.default_rng(8)
    x = random_array(rng, "float64", (700, 90))
    a, other = nd.asarray(x.T), nd.array(random_array(rng, "float64", (90, 700)))
    assert int(a.argmax()) == int(x.T.argmax()) and int((a - other).argmin()) == int((x.T - np.asarray(other)).argmin())
    valid = rng.random(x.T.shape) < 0.8
    missing = nd.array(np.ma.masked_array(np.ascontiguousarray(x), mask=~np.ascontiguousarray(valid.T))).T
    assert same_bits(missing.sum(), oracle.ordered_sum(np.where(valid, x.T, 0.0).reshape(-1)))
    cube = random_array(rng, "float64", (30, 40, 50))
    for axes in [(2, 1, 0), (1, 2, 0), (2, 0, 1)]:
        for other_axes in [(2, 1, 0), (1, 0, 2), (0, 2, 1)]:
            shape = [cube.shape[i] for i in axes]
            second = random_array(rng, "float64", [shape[i] for i in np.argsort(other_axes)]).transpose(other_axes)
            found = (nd.asarray(cube.transpose(axes)) * nd.asarray(second)).sum()
            assert same_bits(found, oracle.ordered_sum((cube.transpose(axes) * second).reshape(-1)))


@pytest.mark.parametrize("scalar", [*SMALL, "int32", "float32", "float64", "int64"])
def test_short_rows_of_every_length(scalar):
    rng = np.random.default_rng(1)
    for length in [*range(1, 70), 100, 127, 128, 129]:
        x = random_array(rng, scalar, (27, length))
        for view in [x, x[::-1], x[:, ::-1], x[1::3], x[:, : max(length // 2, 1)]]:
            for name in ["min", "max"]:
                assert np.asarray(getattr(nd.asarray(view), name)(axis=1)).tolist() == getattr(view, name)(axis=1).tolist()
            if not scalar.startswith("float"):
                assert np.asarray(nd.asarray(view).sum(axis=1)).tolist() == view.sum(axis=1, dtype=np.int64).tolist()
            else:
                assert same_bits(nd.asarray(view).sum(axis=1), sums(view))


@pytest.mark.parametrize("scalar", [*SMALL, "float32", "float64"])
def test_ragged_rows_of_every_length(scalar):
    rng = np.random.default_rng(2)
    for longest in [3, 8, 17, 33, 64, 65, 200]:
        lengths = rng.integers(1, longest + 1, 203)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        content = random_array(rng, scalar, offsets[-1])
        array = nd.from_offsets(offsets, content)
        rows = [content[i:j] for i, j in itertools.pairwise(offsets)]
        for name in ["min", "max"]:
            assert getattr(array, name)(axis=1).tolist() == [getattr(row, name)().tolist() for row in rows]
        if scalar.startswith("float"):
            assert same_bits(array.sum(axis=1), sums(rows))
        else:
            assert array.sum(axis=1).tolist() == [int(row.sum(dtype=np.int64)) for row in rows]


def test_empty_rows_beside_short_ones_of_small_types():
    array = nd.array([[True], [], [False, True], []] * 5)
    assert array.sum(axis=1).tolist() == [1, 0, 1, 0] * 5
    with pytest.raises(ValueError, match="row 1 is empty"):
        array.max(axis=1)


@pytest.mark.parametrize("scalar", ["float32", "float64"])
def test_the_sign_of_a_zero_does_not_depend_on_the_order(scalar):
    for length in [2, 9, 17, 65, 600]:
        for place in {0, 1, length // 2, length - 1}:
            for zero in (0.0, -0.0):
                x = np.full(length, -zero, scalar)
                x[place] = zero
                for array in [nd.array(x), nd.asarray(x[::-1])]:
                    assert math.copysign(1, array.min()) == -1 and math.copysign(1, array.max()) == 1
                columns = nd.array(np.repeat(x[:, None], 9, axis=1))
                for axis, of in [(0, columns), (1, columns.T)]:
                    assert identical(of.min(axis=axis).tolist(), [-0.0] * 9)
                    assert identical(of.max(axis=axis).tolist(), [0.0] * 9)
    assert identical(nd.minimum(nd.array([0.0, -0.0]), nd.array([-0.0, 0.0])).tolist(), [-0.0, -0.0])
    assert identical(nd.maximum(nd.array([0.0, -0.0]), nd.array([-0.0, 0.0])).tolist(), [0.0, 0.0])


@pytest.mark.parametrize("place", [0, 1, 7, 63, 64, 99])
def test_nan_wins_wherever_it_is(place):
    x = np.arange(900.0).reshape(100, 9)
    x[place, 3] = math.nan
    for array in [nd.array(x), nd.asarray(x[::-1, ::-1]), nd.asarray(x.T), nd.asarray(np.asfortranarray(x))]:
        assert math.isnan(array.min()) and math.isnan(array.max())
    assert [math.isnan(v) for v in nd.array(x).max(axis=0).tolist()] == [i == 3 for i in range(9)]


@pytest.mark.parametrize("scalar", ["bool", "int16", "float16", "float64"])
def test_an_axis_of_one_element(scalar):
    rng = np.random.default_rng(4)
    for shape, axis in [((300, 1), 1), ((1, 300), 0), ((20, 1, 30), 1), ((1,), 0), ((0, 1), 1)]:
        x = random_array(rng, scalar, shape)
        for name in ["sum", "min", "max"]:
            expected = getattr(x, name)(axis=axis)
            found = getattr(nd.array(x), name)(axis=axis)
            assert np.asarray(found).tolist() == expected.tolist()
            assert np.asarray(getattr(nd.array(x), name)(axis=axis, keepdims=True)).shape == (*shape[:axis], 1, *shape[axis + 1 :])
    a = nd.array(random_array(rng, "float64", (50, 1)))
    assert (a * a).sum(axis=1).tolist() == [v * v for (v,) in a.tolist()]
    missing = nd.array([[1.5], [None], [-0.0]])
    assert missing.max(axis=1).tolist() == [1.5, None, -0.0]
    assert missing.sum(axis=1).tolist() == [1.5, 0.0, -0.0]


def test_rows_of_points():
    """An axis of rows with one size below: summed where they are."""
    rng = np.random.default_rng(6)
    lengths = rng.integers(1, 90, 101)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = random_array(rng, "float64", (offsets[-1], 3))
    array = nd.from_offsets(offsets, nd.array(content))
    rows = [content[i:j] for i, j in itertools.pairwise(offsets)]
    assert same_bits(array.sum(axis=1), np.array([sums(row.T) for row in rows]))
    assert array.max(axis=1).tolist() == [row.max(axis=0).tolist() for row in rows]
    assert same_bits((array * array).sum(axis=1), np.array([sums((row * row).T) for row in rows]))


def test_everything_of_many_rows_with_a_value_each(threads):
    """More elements than one piece has."""
    rng = np.random.default_rng(7)
    lengths = rng.integers(0, 20, 500_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content, row = rng.integers(0, 100, offsets[-1]), rng.integers(0, 100, lengths.size)
    array = nd.array(nd.from_offsets(offsets, content))
    assert int((array * nd.array(row)[:, None]).sum()) == int((content * np.repeat(row, lengths)).sum())
    other = nd.from_offsets(nd.array(np.arange(lengths.size + 1)), nd.array(row))  # rows of one element stretch
    assert int((array * other).sum()) == int((content * np.repeat(row, lengths)).sum())


@pytest.mark.parametrize("scalar", ["float64", "float32"])
@pytest.mark.parametrize("width", [1, 3, 16, 33, 50, 63, 64, 65, 96, 100, 127, 128, 129, 200])
def test_columns_that_are_computed_are_summed_in_the_order_of_rows(width, scalar):
    """They go through scratch, so many rows at a time as it has room for; blocks end where they do in memory."""
    rng = np.random.default_rng(6)
    a, b = (nd.array(random_array(rng, scalar, (700, width))) for _ in range(2))
    computed = nd.array(np.ascontiguousarray(np.asarray((a * b - a).eval()).T))
    assert same_bits((a * b - a).sum(axis=0), computed.sum(axis=1))


@pytest.mark.parametrize("scalar", ["float64", "float32"])
@pytest.mark.parametrize("row", [2, 8, 16, 31, 32, 33, 64, 65, 96, 128, 250])
def test_short_rows_side_by_side_keep_c_order(row, scalar):
    """They are transposed panel by panel: batches end where a panel does, and before and behind that."""
    rng = np.random.default_rng(7)
    for count in (100, 512, 3000, 20_000):
        x, y = random_array(rng, scalar, (count, row)), random_array(rng, scalar, (count, row))
        side_by_side = [nd.array(np.ascontiguousarray(values.T)).T for values in (x, y)]
        a, b = nd.array(x), nd.array(y)
        for f in (lambda p, q: p.sum(), lambda p, q: (p * q).sum(), lambda p, q, b=b: (p * b).sum()):
            assert same_bits(f(*side_by_side), f(a, b))


@pytest.mark.parametrize("shape", [(50, 1500), (100, 3, 700), (96, 1100), (37, 40, 41), (127, 33, 34), (130, 1030), (9, 1025)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "float16"])
def test_strips_keep_c_order(shape, dtype):
    """Long rows that jump in memory, beside each other: whole loops, and some lines of them."""
    memory = np.random.default_rng(5).standard_normal(shape[::-1]).astype(dtype)
    for x in (memory.T, memory.T[1:], memory.T[:, ::-1]):
        view, copy = nd.asarray(x), nd.array(np.ascontiguousarray(x))
        assert repr(view.sum().tolist()) == repr(copy.sum().tolist())
        assert repr((view * view).sum().tolist()) == repr((copy * copy).sum().tolist())


@pytest.mark.parametrize("scalar, row", [("float64", 1032), ("float32", 2064)])
def test_rows_side_by_side_that_begin_inside_of_a_node(scalar, row, threads):
    """So many that they are summed in parts, of which the second begins with a block in the middle of a tree."""
    memory = np.random.default_rng(row).random((row, 9000), scalar)
    copy = np.ascontiguousarray(memory.T)
    found, expected = nd.asarray(memory.T).sum(), nd.asarray(copy).sum()
    assert same_bits(found, expected)


@pytest.mark.parametrize("shape", [(40, 50, 20), (8, 300, 5), (20, 600, 3), (3, 70, 90), (30, 40, 1100)])
def test_two_operands_whose_axes_are_in_memory_in_any_two_orders(shape, threads):
    """All elements are summed in C order, whatever the order in memory: operands that jump are read in panels and strips."""
    rng = np.random.default_rng(1)
    x, y = random_array(rng, "float64", shape), random_array(rng, "float64", shape)
    expected = nd.array(x * y).sum()

    def in_memory(values, axes):
        return nd.permute_dims(nd.array(np.ascontiguousarray(values.transpose(axes))), np.argsort(axes).tolist())

    for first, second in itertools.product(itertools.permutations(range(3)), repeat=2):
        a, b = in_memory(x, first), in_memory(y, second)
        assert same_bits((a * b).sum(), expected)
        assert same_bits((a * b).sum(axis=(1, 2)), nd.array(x * y).sum(axis=(1, 2)))


@pytest.mark.parametrize("scalar", ["bool", "int8", "int64", "float32", "float64", "complex128"])
def test_few_elements_are_counted_where_they_are(scalar):
    values = np.array([0, 1, 2, 0, 3, 0, 0, 5]).astype(scalar)
    for x in [values, values[::-1], values[::2], values[:0], values.reshape(2, 4), values.reshape(2, 4).T, values[3]]:
        assert nd.count_nonzero(nd.asarray(np.asarray(x))).tolist() == np.count_nonzero(x)
    rows = nd.from_offsets(np.array([0, 3, 3, 8]), nd.array(values))
    assert nd.count_nonzero(rows, axis=1).tolist() == [2, 0, 2] and nd.count_nonzero(rows).tolist() == 4
    assert nd.count_nonzero(nd.asarray(np.array([2, 0, 255], "u1").view(bool))).tolist() == 2
    assert nd.count_nonzero(nd.array([-0.0, float("nan"), None])).tolist() == 1
