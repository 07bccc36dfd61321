"""Functions of the structure of arrays, against nested lists: ragged and strided, of every kind of element and layout."""

import itertools
import math
import random

import dynd._structure
import numpy as np
import pytest
from documents import readme_section, run_examples
from dynd import nd
from hypothesis import given, settings
from ragged_values import ELEMENTS, drawn, map_rows, nested, rows_inside
from strategies import MANY, SOME, seeds
from support import numpy_layout


def kind(a, axis):
    """var or strided, of an axis."""
    return "var" if str(a.type).split(" * ")[axis] == "var" else "strided"


def element_of(a):
    text = str(a.type)
    return next(e for e in sorted(ELEMENTS, key=len, reverse=True) if text.endswith(" * " + e) or text == e)


@pytest.mark.parametrize("name", dynd._structure.__all__)
def test_the_examples_of_the_documentation(name):
    run_examples(getattr(nd, name).__doc__, {"nd": nd})


@pytest.mark.parametrize("access", ["immutable", "rw"])
def test_what_is_rolled_is_an_array_of_its_own(access):
    for axis in (None, 0, 1):
        a = nd.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], access=access)
        rolled = nd.roll(a, 1, axis=axis)
        expected = rolled.tolist()
        assert rolled.access == "immutable"
        if access == "rw":
            a[...] = 0
            assert rolled.tolist() == expected



def test_the_examples_of_the_readme():
    run_examples(readme_section("Selection and structure"), {}, least=10)


# ---- lengths and numbers ------------------------------------------------------------------------------------------------


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_num_and_indices(seed):
    _, values, a, axis = drawn(seed)
    found = nd.num(a, axis=axis)
    assert found.tolist() == map_rows(values, axis, len) and found.ndim == axis
    assert nd.num(a, axis=axis - a.ndim).tolist() == found.tolist()
    assert nd.local_index(a, axis=axis).tolist() == map_rows(values, axis, lambda row: list(range(len(row))))
    number = itertools.count()
    expected = map_rows(values, axis, lambda row: [next(number)] * len(row))
    assert nd.row_index(a, axis=axis).tolist() == expected


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_flatten_and_unflatten(seed):
    rng, values, a, axis = drawn(seed)
    flat = nd.flatten(a)
    assert flat.tolist() == [x for row in rows_inside(values, a.ndim - 1) for x in row]
    assert flat.ndim == 1 and str(flat.type) == "strided * " + element_of(a)
    if axis > 0:
        joined = nd.flatten(a, axis=axis)
        assert joined.tolist() == map_rows(values, axis - 1, lambda rows: [x for row in rows for x in row])
        assert joined.ndim == a.ndim - 1
        again = nd.unflatten(joined, nd.num(a, axis=axis), axis=axis - 1)
        assert again.tolist() == values
    with pytest.raises(IndexError, match="nothing is outside of axis 0"):
        nd.flatten(a, axis=0)


# ---- longer and shorter rows --------------------------------------------------------------------------------------------


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_pad_and_dense(seed):
    rng, values, a, axis = drawn(seed)
    width, clip = rng.randint(0, 4), rng.random() < 0.5
    element = element_of(a)
    fill = ELEMENTS[element](rng) if axis == a.ndim - 1 and rng.random() < 0.5 else None
    value = None if fill is None else nd.array(fill, type=element)

    def padded(row):
        longer = row + [fill] * (width - len(row))
        return longer[:width] if clip else longer

    found = nd.pad(a, width, value, clip=clip, axis=axis)
    assert found.tolist() == map_rows(values, axis, padded)
    assert kind(found, axis) == ("strided" if axis == 0 else kind(a, axis))
    dense = nd.to_dense(a, width, value, axis=axis)
    assert dense.tolist() == map_rows(values, axis, lambda row: (row + [fill] * width)[:width])
    assert dense.shape[axis] == width
    if axis > 0:
        rows = nd.from_dense(a, nd.minimum(nd.num(a, axis=axis), width), axis=axis)
        assert rows.tolist() == map_rows(values, axis, lambda row: row[:width]) and kind(rows, axis) == "var"


# ---- joining ------------------------------------------------------------------------------------------------------------


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_concat_and_stack(seed):
    rng = random.Random(seed)
    element = rng.choice(list(ELEMENTS))
    ndim = rng.randint(1, 3)
    axis, count = rng.randrange(ndim), rng.randint(1, 3)
    dims = [rng.randint(0, 3)] + [rng.choice(["var", "var", 2]) for _ in range(ndim - 1)]
    first = nested(rng, dims, ELEMENTS[element])

    def alike(values, depth):
        """The same outside of the axis, other rows at it."""
        if depth < axis:
            return [alike(v, depth + 1) for v in values]
        here = dims[depth] if depth and dims[depth] != "var" else rng.randint(0, 3)
        return nested(rng, [here] + dims[depth + 1 :], ELEMENTS[element])

    if axis == 0:
        lists = [nested(rng, [rng.randint(0, 3)] + dims[1:], ELEMENTS[element]) for _ in range(count)]
    else:
        lists = [alike(first, 0) for _ in range(count)]
    texts = [" * ".join([str(len(values))] + [str(d) for d in dims[1:]] + [element]) for values in lists]
    arrays = [nd.array(values, type=text) for values, text in zip(lists, texts)]

    def behind(rows, depth):
        if depth == 0:
            return [x for row in rows for x in row]
        return [behind(inner, depth - 1) for inner in zip(*rows)]

    found = nd.concat(arrays, axis=axis)
    assert found.tolist() == behind(lists, axis)
    assert found.ndim == ndim and kind(found, axis) == kind(arrays[0], axis)
    assert nd.concat(arrays, axis=axis - ndim).tolist() == found.tolist()

    def beside(rows, depth):
        return list(rows) if depth == 0 else [beside(inner, depth - 1) for inner in zip(*rows)]

    same = [arrays[0]] * count
    for new in range(ndim + 1):
        assert nd.stack(same, axis=new).tolist() == beside([lists[0]] * count, new)


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_concat_of_arrays_in_other_layouts(seed):
    """Each array has gaps, an order of its axes and a direction of its own."""
    rng = random.Random(seed)
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    axis, arrays = rng.randrange(len(shape)), []
    for first in range(rng.randint(2, 4)):
        own = shape[:axis] + [rng.randint(0, 3)] + shape[axis + 1 :]
        arrays.append(np.arange(100.0 * first, 100 * first + math.prod(own)).reshape(own))
    ours = [nd.array(a) if rng.random() < 0.3 else nd.asarray(numpy_layout(rng, a)) for a in arrays]
    assert nd.concat(ours, axis=axis).tolist() == np.concatenate(arrays, axis).tolist()
    same = [arrays[0], arrays[0] + 1000]
    beside = nd.stack([nd.asarray(numpy_layout(rng, a)) for a in same], axis=axis)
    assert beside.tolist() == np.stack(same, axis).tolist()
    records = [nd.zip({"a": a, "b": nd.array(a)}) for a in ours] if axis == 0 else []
    if records:
        assert nd.concat(records)["a"].tolist() == nd.concat(records)["b"].tolist() == np.concatenate(arrays).tolist()


def test_concat_promotes():
    assert str(nd.concat([[1, 2], [1.5]]).type) == "strided * float64"
    assert nd.concat([[[1, 2], [3]], [4]], axis=None).tolist() == [1, 2, 3, 4]
    assert nd.concat([nd.array([1, None]), nd.array([2])]).tolist() == [1, None, 2]
    assert nd.concat([nd.array(["a", None]), nd.array(["b"])]).tolist() == ["a", None, "b"]
    assert nd.concat([nd.array([[1, 2]]), nd.array([[3], [4, 5]])]).tolist() == [[1, 2], [3], [4, 5]]
    assert nd.concat([nd.array([[1, 2], [3]]), nd.array([[7, 8], [9, 9]])], axis=1).tolist() == [[1, 2, 7, 8], [3, 9, 9]]
    x = np.arange(12).reshape(3, 4)
    assert np.array_equal(np.asarray(nd.concat([x, x.T.copy().T], axis=1)), np.concatenate([x, x], axis=1))


# ---- several times, moved ---------------------------------------------------------------------------------------------


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_numbers_in_any_order_of_memory(seed):
    rng = random.Random(seed)
    shape = tuple(rng.choice([0, 1, 2, 5, 9]) for _ in range(rng.randint(1, 4)))
    dtype = rng.choice(["int8", "float64", "complex128", "bool", "float16", ">i4"])

    def drawn_array():
        order = rng.sample(range(len(shape)), len(shape))
        inverse = tuple(order.index(d) for d in range(len(shape)))
        x = np.random.default_rng(seed).integers(0, 100, tuple(shape[d] for d in order)).astype(dtype).transpose(inverse)
        return x[tuple(slice(None, None, rng.choice([1, -1])) for _ in shape)]

    xs = [drawn_array()] * rng.randint(1, 2) + [drawn_array()]
    axis = rng.randrange(-len(shape), len(shape))
    times = rng.randint(0, 3)
    reps = tuple(rng.randint(0, 3) for _ in range(rng.randint(1, len(shape) + 1)))
    for found, expected in [
        (nd.concat(xs, axis=axis), np.concatenate(xs, axis=axis)),
        (nd.stack(xs, axis=axis), np.stack(xs, axis=axis)),
        (nd.repeat(xs[0], times, axis=axis), np.repeat(xs[0], times, axis=axis)),
        (nd.repeat(xs[0], times), np.repeat(xs[0], times)),
        (nd.tile(xs[0], reps), np.tile(xs[0], reps)),
    ]:
        assert found.shape == expected.shape
        assert np.array_equal(np.asarray(found), expected)


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_repeat_tile_flip_roll(seed):
    rng, values, a, axis = drawn(seed)
    times = rng.randint(0, 3)
    repeated = nd.repeat(a, times, axis=axis)
    assert repeated.tolist() == map_rows(values, axis, lambda row: [x for x in row for _ in range(times)])
    assert kind(repeated, axis) == kind(a, axis)
    numbers = nd.local_index(a, axis=axis) % 3
    each = map_rows(values, axis, lambda row: [x for i, x in enumerate(row) for _ in range(i % 3)])
    assert nd.repeat(a, numbers, axis=axis).tolist() == each
    flat = [x for row in rows_inside(values, a.ndim - 1) for x in row]
    assert nd.repeat(a, times).tolist() == [x for x in flat for _ in range(times)]

    last = nd.tile(a, times)
    assert last.tolist() == map_rows(values, a.ndim - 1, lambda row: row * times)
    both = nd.tile(a, (2,) + (1,) * (a.ndim - 1))
    assert both.tolist() == (values * 2)

    assert nd.flip(a, axis=axis).tolist() == map_rows(values, axis, lambda row: row[::-1])
    shift = rng.randint(-7, 7)

    def rolled(row):
        by = shift % len(row) if row else 0
        return row[len(row) - by :] + row[: len(row) - by]

    assert nd.roll(a, shift, axis=axis).tolist() == map_rows(values, axis, rolled)
    moved = iter(rolled(flat))
    assert nd.roll(a, shift).tolist() == map_rows(values, a.ndim - 1, lambda row: [next(moved) for _ in row])


@pytest.mark.parametrize("times", [65_537, 100_000, 200_003])
@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "c16"])
def test_elements_that_are_repeated_very_often(times, dtype):
    """Threads share the times: a part has the last times of one element and the first ones of the next."""
    x = np.arange(1, 6).astype(dtype)
    assert np.array_equal(np.asarray(nd.repeat(nd.array(x), times)), np.repeat(x, times))
    assert np.array_equal(np.asarray(nd.tile(nd.array(x), times)), np.tile(x, times))
    each = np.array([times, 1, 0, times + 1, 3])
    assert np.array_equal(np.asarray(nd.repeat(nd.array(x), nd.array(each))), np.repeat(x, each))
    table = x[:4].reshape(2, 2)
    for axis in (0, 1):
        assert np.array_equal(np.asarray(nd.repeat(nd.array(table), times, axis=axis)), np.repeat(table, times, axis))
        reps = (1, times) if axis else (times, 1)
        assert np.array_equal(np.asarray(nd.tile(nd.array(table), reps)), np.tile(table, reps))


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_rolling(seed):
    rng, values, a, axis = drawn(seed)
    window = rng.randint(1, 4)
    found = nd.rolling(a, window, axis=axis)
    expected = map_rows(values, axis, lambda row: [row[i : i + window] for i in range(len(row) - window + 1)])
    assert found.tolist() == expected and found.ndim == a.ndim + 1
    assert found[[i for i in range(len(expected)) if i % 2]].tolist() == expected[1::2]


def test_rolling_is_a_view():
    x = np.arange(5.0)
    windows = nd.rolling(nd.asarray(x), 2)
    x[:] = 7
    assert windows.tolist() == [[7, 7]] * 4
    rows = nd.from_offsets([0, 3, 3, 5], nd.array(np.arange(5.0)))
    assert nd.rolling(rows, 2).mean(axis=-1).tolist() == [[0.5, 1.5], [], [3.5]]


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_run_lengths(seed):
    rng = random.Random(seed)
    element = rng.choice([e for e in ELEMENTS if "var" not in e and "pointer" not in e and "3 *" not in e])
    choice = [ELEMENTS[element](rng) for _ in range(2)]
    ndim = rng.randint(1, 3)
    dims = [rng.randint(0, 6)] + [rng.choice(["var", 3]) for _ in range(ndim - 1)]
    values = nested(rng, dims, lambda r: r.choice(choice))
    a = nd.array(values, type=" * ".join([str(d) for d in dims] + [element]))
    axis = rng.randrange(ndim)
    expected = map_rows(values, axis, lambda row: [len(list(run)) for _, run in itertools.groupby(row)])
    assert nd.run_lengths(a, axis).tolist() == expected


# ---- selection by functions -------------------------------------------------------------------------------------------


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_first_last_nth_and_drop_missing(seed):
    rng, values, a, axis = drawn(seed)
    i = rng.randint(-3, 3)

    def at(row, i, empty=None):
        return row[i] if -len(row) <= i < len(row) else empty

    for found, i in ((nd.first(a, axis=axis), 0), (nd.last(a, axis=axis), -1), (nd.nth(a, i, axis=axis), i)):
        assert found.tolist() == map_rows(values, axis, lambda row: at(row, i))
    element = element_of(a)
    if axis == a.ndim - 1:
        empty = ELEMENTS[element](rng)
        found = nd.nth(a, i, axis=axis, empty=nd.array(empty, type=element))
        assert found.tolist() == map_rows(values, axis, lambda row: at(row, i, empty))
        assert str(found.type).endswith(element) and "?" + element not in str(found.type)
    some = nd.drop_missing(a)
    if element.startswith("?"):
        assert some.tolist() == map_rows(values, a.ndim - 1, lambda row: [x for x in row if x is not None])
        assert str(some.type).endswith(" " + element[1:])
        assert kind(some, a.ndim - 1) == ("strided" if a.ndim == 1 else "var")
    else:
        assert some.tolist() == values


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_mask(seed):
    rng, values, a, _ = drawn(seed)
    m = [[rng.random() < 0.5 for _ in row] for row in rows_inside(values, a.ndim - 1)]
    rows = iter(m)
    mask = map_rows(values, a.ndim - 1, lambda row: next(rows))
    dims = ["var" if s is None else str(s) for s in a.shape]
    found = nd.mask(a, nd.array(mask, type=" * ".join(dims + ["bool"])))
    rows = iter(m)
    expected = map_rows(values, a.ndim - 1, lambda row: [x if k else None for x, k in zip(row, next(rows))])
    assert found.tolist() == expected


def test_mask_broadcasts_and_is_false_where_it_is_missing():
    assert nd.mask([["a", "b"], ["c"]], [[True], [False]]).tolist() == [["a", "b"], [None]]
    assert nd.mask([1, 2, 3], [True, None, False]).tolist() == [1, None, None]
    assert str(nd.mask([1, 2], [True, False]).type) == "strided * ?int32"


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_take(seed):
    rng, values, a, axis = drawn(seed, 1, 3)
    least = min((len(row) for row in rows_inside(values, axis)), default=0)
    if least:
        index = [rng.randint(-least, least - 1) for _ in range(3)]
        assert nd.take(a, index, axis=axis).tolist() == map_rows(values, axis, lambda row: [row[i] for i in index])
        assert nd.take(a, index[0], axis=axis).tolist() == map_rows(values, axis, lambda row: row[index[0]])
        square = [index, index[::-1]]
        expected = map_rows(values, axis, lambda row: [[row[i] for i in line] for line in square])
        assert nd.take(a, square, axis=axis).tolist() == expected
    flat = [x for row in rows_inside(values, a.ndim - 1) for x in row]
    if flat:
        index = [rng.randint(-len(flat), len(flat) - 1) for _ in range(4)]
        assert nd.take(a, index).tolist() == [flat[i] for i in index]
    within = map_rows(values, axis, lambda row: [rng.randrange(len(row)) for _ in range(rng.randint(0, 3)) if row])
    text = " * ".join([str(len(within))] + ["var"] * axis + ["int64"])
    chosen = rows_inside(values, axis)
    rows = iter([[row[i] for i in index] for row, index in zip(chosen, rows_inside(within, axis))])
    expected = map_rows(within, axis, lambda row: next(rows))
    assert nd.take_along_axis(a, nd.array(within, type=text), axis=axis).tolist() == expected


def test_take_along_axis_as_in_numpy():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3, 4, 5))
    for axis in range(3):
        index = np.argsort(x, axis=axis)
        found = np.asarray(nd.take_along_axis(x, index, axis=axis))
        assert np.array_equal(found, np.take_along_axis(x, index, axis))


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_nonzero_and_argwhere(seed):
    rng = random.Random(seed)
    ndim = rng.randint(1, 3)
    dims = [rng.randint(0, 4)] + [rng.choice(["var", 2]) for _ in range(ndim - 1)]
    element = rng.choice(["int32", "bool", "float64", "?int8"])
    pick = [0, 0, 3] if element != "bool" else [False, True]
    pick = pick + [None] if element[0] == "?" else pick
    values = nested(rng, dims, lambda r: r.choice(pick))
    a = nd.array(values, type=" * ".join([str(d) for d in dims] + [element]))

    def places(values, depth, index):
        if depth == ndim:
            return [index] if values else []
        return [p for i, v in enumerate(values) for p in places(v, depth + 1, index + [i])]

    expected = places(values, 0, [])
    assert nd.argwhere(a).tolist() == expected
    assert [part.tolist() for part in nd.nonzero(a)] == [[p[d] for p in expected] for d in range(ndim)]


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_isin(seed):
    rng = random.Random(seed)
    element = rng.choice(["int8", "uint64", "float32", "float64", "?int64", "complex128", "string", "?string", "bytes", "bool"])
    make = {
        "string": lambda: rng.choice(["", "a", "ä", "long text of some length"]),
        "bytes": lambda: rng.choice([b"", b"a", b"\0"]),
        "bool": lambda: rng.random() < 0.5,
        "complex128": lambda: complex(rng.randint(0, 3), rng.randint(0, 1)),
    }.get(element.lstrip("?"), lambda: rng.randint(0, 5))
    value = lambda: None if element[0] == "?" and rng.random() < 0.2 else make()  # noqa: E731
    values = [[value() for _ in range(rng.randint(0, 4))] for _ in range(3)]
    a = nd.array(values, type="3 * var * " + element)
    among = [make() for _ in range(rng.choice([0, 1, 3, 40]))]  # compared with all, or looked up
    invert = rng.random() < 0.5
    found = nd.isin(a, nd.array(among, type="strided * " + element.lstrip("?")), invert=invert)
    assert found.tolist() == [[None if x is None else (x in among) != invert for x in row] for row in values]


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_isin_of_many_values(dtype):
    rng = np.random.default_rng(0)
    a, among = rng.integers(-100, 100, 3000).astype(dtype), rng.integers(-60, 60, 50).astype(dtype)
    if dtype[0] in "fc":
        a[:3], among[:2] = [np.nan, -0.0, 0.0], [np.nan, 0.0]
    if dtype[0] == "c":
        a[3:5], among[2] = [1j, complex(0, -0.0)], 1j
    for invert in (False, True):
        assert np.asarray(nd.isin(a, among, invert=invert)).tolist() == np.isin(a, among, invert=invert).tolist()


SPECIAL = [0.0, -0.0, 1.0, -1.0, 1.5, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_isin_of_special_values(dtype, many):
    """Zeros of either sign are equal, in every component; NaN is in nothing. Few values are compared, many are looked up."""
    complex_too = dtype.startswith("complex")
    elements = [complex(x, y) for x in SPECIAL for y in SPECIAL] if complex_too else SPECIAL
    for skipped in range(3):
        among = elements[skipped::3][: None if many else 10]
        among += [complex(i, 2) if complex_too else float(i) for i in range(100, 140)] if many else []
        expected = [any(x == v for v in among) for x in elements]
        for a in (nd.array(elements, type=f"strided * {dtype}"), nd.array(elements[::-1], type=f"strided * {dtype}")[::-1]):
            for invert in (False, True):
                found = nd.isin(a, nd.array(among, type=f"strided * {dtype}"), invert=invert)
                assert found.tolist() == [x != invert for x in expected]


def test_isin_of_nothing():
    for values in (["a"], [b"a"], [{"x": 1}], [1, None], [1.5], [["a"], []]):
        a = nd.array(values)
        assert nd.isin(a, []).tolist() == nd.isin(a, ()).tolist() == nd.isin(a, nd.array([], type=a.type.dtype)).tolist()
    assert nd.isin(nd.array(["a", "b"]), []).tolist() == [False, False]
    assert nd.isin(nd.array(["a", None]), [], invert=True).tolist() == [True, None]


@pytest.mark.parametrize("function", [lambda a: nd.tile(a, 1), lambda a: nd.tile(a, (1, 1)), nd.drop_missing])
def test_a_result_is_never_written_with_the_operand(function):
    for values in ([1, 2], ["a", "b"]):
        written, fixed = nd.array(values, access="rw"), nd.array(values)
        made = function(written)
        before = made.tolist()
        written[0] = values[1]
        assert made.tolist() == before and made.access == function(fixed).access == "immutable"
        assert made.type == function(fixed).type


def test_isin_is_exact():
    nan = float("nan")
    assert nd.isin([1.0, nan, -0.0], [nan, 0.0]).tolist() == [False, False, True]
    assert nd.isin(nd.array([2**63 - 1, 5]), nd.array([float(2**63), 5.0])).tolist() == [False, True]
    assert nd.isin(nd.array([2**64 - 1], type="uint64"), nd.array([-1])).tolist() == [False]
    assert nd.isin([1, 2], []).tolist() == [False, False]
    assert nd.isin(nd.array([0.1], type="float32"), [0.1]).tolist() == [False]
    assert nd.isin(3, [3]).tolist() is True
    x, v = np.random.default_rng(0).integers(0, 10**6, (2, 300_000))
    assert np.array_equal(np.asarray(nd.isin(x, v[:1000])), np.isin(x, v[:1000]))
    with pytest.raises(TypeError, match="isin: string among int32"):
        nd.isin(["a"], [1])


# ---- fields ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_zip_and_unzip(seed):
    rng, values, a, _ = drawn(seed)
    index = nd.local_index(a)
    both = nd.zip({"v": a, "i": index})
    rows = iter(rows_inside(values, a.ndim - 1))
    expected = map_rows(values, a.ndim - 1, lambda row: [{"v": x, "i": i} for i, x in enumerate(next(rows))])
    assert both.tolist() == expected
    v, i = nd.unzip(both)
    assert v.tolist() == values and i.tolist() == index.tolist()
    assert nd.zip([index, index]).tolist() == map_rows(index.tolist(), a.ndim - 1, lambda row: [(x, x) for x in row])
    more = nd.with_field(both, "w", index * 2)
    assert more["w"].tolist() == (index * 2).tolist() and more["v"].tolist() == values
    assert nd.without_field(more, ["v", "i"]).tolist() == map_rows(
        (index * 2).tolist(), a.ndim - 1, lambda row: [{"w": x} for x in row])
    assert nd.rename(both, {"v": "i", "i": "v"})["i"].tolist() == values


def test_zip_shares_memory_and_broadcasts():
    x, y = np.arange(3.0), np.arange(3)
    pairs = nd.zip({"x": nd.asarray(x), "y": nd.asarray(y)})
    x[0], y[2] = 9.0, 7
    assert pairs.tolist() == [{"x": 9.0, "y": 0}, {"x": 1.0, "y": 1}, {"x": 2.0, "y": 7}]
    rows = nd.array([[1, 2], [], [3]])
    assert nd.zip({"r": rows, "s": nd.array(["a", "b", "c"])[:, None]}).tolist() == [
        [{"r": 1, "s": "a"}, {"r": 2, "s": "a"}], [], [{"r": 3, "s": "c"}]]
    assert nd.zip({"x": 1, "y": "t"}).tolist() == {"x": 1, "y": "t"}
    assert nd.zip({"a": [[1], [2]], "b": [10, 20]}).tolist() == [
        [{"a": 1, "b": 10}, {"a": 1, "b": 20}], [{"a": 2, "b": 10}, {"a": 2, "b": 20}]]


def test_with_field_of_rows_inside():
    t = nd.array([{"x": 1}, {"x": 2}])
    more = nd.with_field(t, "h", [[1, 2], [3]])
    assert str(more.type) == "strided * {x: int32, h: var * int32}"
    assert more.tolist() == [{"x": 1, "h": [1, 2]}, {"x": 2, "h": [3]}]
    assert nd.with_field(more, "x", "text").tolist() == [{"x": "text", "h": [1, 2]}, {"x": "text", "h": [3]}]


def test_with_field_of_records_that_may_be_missing():
    t = nd.array([{"x": 1}, None, {"x": 2}])
    more = nd.with_field(t, "y", ["a", "b", "c"])
    assert str(more.type) == "strided * ?{x: int32, y: string}"
    assert more.tolist() == [{"x": 1, "y": "a"}, None, {"x": 2, "y": "c"}]
    rows = nd.array([[{"x": 1}, None], [], [None]])
    assert nd.with_field(rows, "x", nd.array([5.5, 6.5, 7.5])[:, None]).tolist() == [[{"x": 5.5}, None], [], [None]]
    assert nd.with_field(rows, "y", nd.local_index(rows)).tolist() == [[{"x": 1, "y": 0}, None], [], [None]]


@pytest.mark.parametrize("text", ["(int32, int32)", "?(int32, int32)", "2 * (int32, int32)"])
def test_fields_without_names_have_none_that_change(text):
    values = [[(1, 2)] * 2] if text[0] == "2" else [(1, 2)]
    a = nd.array(values, type=f"strided * {text}")
    for same in (nd.rename(a, {}), nd.without_field(a, [])):
        assert same.type == a.type and same.tolist() == values
