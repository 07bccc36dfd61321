"""Copies of rows and texts in runs: rows that follow each other in memory are copied together, those of other lists, with
gaps between them, or missing, are not. The same columns of many rows. Against plain lists and NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynd import nd
from strategies import FEW, seeds

ROWS = st.lists(st.lists(st.integers(-99, 99), max_size=4), max_size=12)
TEXTS = st.lists(st.lists(st.text("abé", max_size=20), max_size=3), max_size=8)
DEEP = st.lists(st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=3), max_size=8)
RECORDS = ROWS.map(lambda rows: [[{"x": x, "y": "t" * (x % 5)} for x in row] for row in rows])
KINDS = [("int64", ROWS), ("string", TEXTS), ("var * int64", DEEP), ("{x: int64, y: string}", RECORDS)]


def layouts(rows, element):
    """The same rows: one after another; with gaps; backwards in memory; as slots of pairs; writable."""
    kind = f"{len(rows)} * var * {element}"
    plain = nd.array(rows, type=kind)
    filler = nd.array([[]] * len(rows), type=kind)
    between = [row for pair in zip(rows, reversed(rows)) for row in pair]
    yield plain
    yield nd.array(between, type=f"{2 * len(rows)} * var * {element}")[::2]
    yield nd.array(rows[::-1], type=kind)[::-1]
    yield nd.concat([filler, plain], axis=1)[:, :]
    yield nd.array(rows, type=kind, access="rw")


@pytest.mark.parametrize("element, strategy", KINDS, ids=[element for element, _ in KINDS])
def test_rows_of_several_lists(element, strategy):
    @given(strategy, strategy)
    def check(a, b):
        for own in layouts(a, element):
            other = nd.array(b, type=f"{len(b)} * var * {element}")
            assert nd.concat([own, other, own]).tolist() == a + b + a
            if len(a) == len(b):
                assert nd.concat([own, other], axis=1).tolist() == [x + y for x, y in zip(a, b)]

    check()


@pytest.mark.parametrize("element, strategy", KINDS, ids=[element for element, _ in KINDS])
def test_rows_at_places(element, strategy):
    @given(strategy, st.data())
    def check(a, data):
        places = data.draw(st.lists(st.integers(0, len(a) - 1), max_size=12)) if a else []
        mask = data.draw(st.lists(st.booleans(), min_size=len(a), max_size=len(a)))
        for own in layouts(a, element):
            assert own[nd.array(places, type=f"{len(places)} * int64")].tolist() == [a[i] for i in places]
            assert own[nd.array(mask, type=f"{len(a)} * bool")].tolist() == [row for row, m in zip(a, mask) if m]

    check()


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(0, 3))
def test_repeat(times, extra):
    values = np.arange(len(times)) * 10 + extra
    found = nd.repeat(nd.array(values), nd.array(times, type=f"{len(times)} * int64"))
    assert found.tolist() == np.repeat(values, times).tolist()


@given(st.lists(st.lists(st.integers(-9, 9), max_size=11), min_size=1, max_size=9), st.integers(0, 9), st.booleans())
def test_pad(rows, width, clip):
    found = nd.pad(nd.array(rows, type=f"{len(rows)} * var * int64"), width, clip=clip)
    padded = [row + [None] * (width - len(row)) for row in rows]
    assert found.tolist() == [row[:width] if clip else row for row in padded]


def test_lists_whose_rows_would_go_on_in_each_other():
    """The second row of one list begins at the number where the first row of the other ends, an empty row between."""
    a = nd.from_offsets(np.array([0, 2, 4]), nd.from_offsets(np.array([0, 1, 2, 3, 4]), np.arange(4)))
    b = nd.from_offsets(np.array([0, 2, 4]), nd.from_offsets(np.array([0, 1, 2, 3, 4]), np.arange(10, 14)))
    c = nd.from_offsets(np.array([0, 0, 2]), nd.from_offsets(np.array([0, 0, 5]), np.arange(20, 25)))
    joined = [x + y + z for x, y, z in zip(a.tolist(), b.tolist(), c.tolist())]
    assert nd.concat([a, b, c], axis=1).tolist() == joined
    assert nd.stack([a, b, c], axis=1).tolist() == [list(rows) for rows in zip(a.tolist(), b.tolist(), c.tolist())]


def test_many_rows_on_threads(threads):
    """More rows than one run or piece has, of several lists, numbers and texts."""
    rng = np.random.default_rng(7)
    lengths = rng.integers(0, 5, 70_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = rng.integers(0, 1000, offsets[-1])
    a = nd.from_offsets(offsets, values)
    rows = [row.tolist() for row in np.split(values, offsets[1:-1])]
    assert nd.concat([a, a[5:], a[::-1]]).tolist() == rows + rows[5:] + rows[::-1]
    texts = [f"t{i}" * (i % 4) for i in range(70_000)]
    mask = rng.random(70_000) < 0.7
    t = nd.array(texts)
    assert nd.concat([t, t[::3]]).tolist() == texts + texts[::3]
    assert t[nd.array(mask)].tolist() == [text for text, m in zip(texts, mask) if m]
    assert a[nd.array(mask)].tolist() == [row for row, m in zip(rows, mask) if m]


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "complex128"])
def test_the_same_columns_of_many_rows(dtype, threads):
    """Numbers, in and out of order, with rows inside and an axis of one element; more than one piece."""
    x = (np.arange(90_000 * 4) % 251).astype(dtype).reshape(90_000, 4)
    a = nd.array(x)
    for index in ([0, 2], [3, -1, 0, 0, 1], [1], [[0, 1], [2, 3]]):
        assert np.array_equal(np.asarray(a[:, index]), x[:, index])
        assert np.array_equal(np.asarray(nd.take(a, nd.array(index), axis=1)), np.take(x, index, axis=1))
        assert np.array_equal(np.asarray(a[::-2, index]), x[::-2, index])
    cube = x.reshape(300, 300, 4)
    assert np.array_equal(np.asarray(nd.array(cube)[:, [7, 3, 299]]), cube[:, [7, 3, 299]])
    assert np.array_equal(np.asarray(nd.array(cube)[:, [7, 3], [1, 2]]), cube[:, [7, 3], [1, 2]])


def test_numbers_at_any_address():
    """NumPy has complex numbers at addresses that are no multiple of 16, and numbers at odd ones."""
    for dtype in ("complex128", "float64", "int16"):
        item = np.dtype(dtype).itemsize
        for shift in (1, item // 2):
            memory = np.zeros(400 * item + 64, "uint8")
            x = memory[shift : shift + 400 * item].view(dtype)
            x[...] = np.arange(400)
            a, table = nd.asarray(x), x.reshape(100, 4)
            assert np.array_equal(np.asarray(nd.asarray(table)[:, [0, 2]]), table[:, [0, 2]])
            assert np.array_equal(np.asarray(nd.take(nd.asarray(table), nd.array([3, 1]), axis=1)), table[:, [3, 1]])
            rows = nd.from_offsets(np.arange(0, 401, 4), a)
            for width in range(1, 8):
                padded = np.asarray(nd.to_dense(rows, width, value=0))
                kept = min(width, 4)
                assert np.array_equal(padded[:, :kept], table[:, :kept]) and not padded[:, kept:].any()


def test_a_number_out_of_bounds_is_refused_whatever_it_is():
    a = nd.array(np.zeros((3, 4)))
    for number in (2**63 - 1, -(2**63), 4, -5):
        with pytest.raises(IndexError, match=f"index {number} is out of bounds for axis 1 with size 4"):
            a[nd.array([1]), nd.array([number])]
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 with size 2"):
        nd.zeros((0, 2))[:, [5]]


@settings(max_examples=FEW)
@given(seeds)
def test_a_few_numbers_with_gaps(seed):
    """Copied, assigned (also to where they are themselves), scanned and reduced."""
    rng = np.random.default_rng(seed)
    scalar = rng.choice(["float64", "float32", "int32", "uint8", "int16", "complex128", "bool"])
    n, step = int(rng.integers(0, 300)), int(rng.choice([-3, -2, -1, 2, 3]))
    x = (rng.standard_normal(n * abs(step)) * 9).astype(scalar)
    view, own = nd.asarray(x)[::step], x[::step]
    np.testing.assert_array_equal(np.asarray(nd.array(view)), own, strict=True)
    assert nd.count_nonzero(view).tolist() == np.count_nonzero(own)
    if scalar not in ("complex128", "bool") and n:
        np.testing.assert_array_equal(np.asarray(nd.cumulative_max(view)), np.maximum.accumulate(own), strict=True)
        assert nd.max(view).tolist() == own.max()
    whole = nd.array(x, access="rw")
    part = slice(0, own.size)
    whole[part] = whole[::step]
    expected = x.copy()
    expected[part] = own.copy()
    np.testing.assert_array_equal(np.asarray(whole), expected)


@settings(max_examples=FEW)
@given(seeds)
def test_rows_of_an_array_in_another_order(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 99, rng.integers(1, 20, rng.integers(2, 4))).astype(rng.choice(["int32", "float64", "uint8"]))
    x = x.transpose(rng.permutation(x.ndim))[:: rng.choice([-1, 1, 2])]
    index = rng.integers(-len(x), len(x), rng.integers(0, 40))
    np.testing.assert_array_equal(np.asarray(nd.asarray(x)[nd.array(index)]), x[index], strict=True)
    np.testing.assert_array_equal(np.asarray(nd.asarray(x)[index.tolist()]), x[index.tolist()])


def test_rows_that_are_backwards_in_memory_that_is_backwards():
    """Neighbours in a row have rising addresses, neighbouring rows falling ones."""
    memory = nd.asarray(np.arange(12.0)[::-1])
    rows = nd.from_offsets(np.array([0, 2, 4, 6, 9, 12]), memory)[:, ::-1]
    expected = [[10.0, 11.0], [8.0, 9.0], [6.0, 7.0], [3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]
    assert rows.tolist() == expected
    for places in ([0, 1, 2, 3, 4], [0, 1, 4, 3]):
        assert rows[nd.array(places)].tolist() == [expected[i] for i in places]


def test_a_padded_row_leaves_the_next_pieces_first_row_alone():
    """Short rows are written in fours, past their ends: where another thread may have written already, they are not."""
    before = nd.num_threads()
    rng = np.random.default_rng(8)
    try:
        nd.set_num_threads(4)
        for _ in range(10):
            sizes = rng.integers(0, 6, 100_000)
            x = rng.random(sizes.sum())
            expected = np.full((len(sizes), 5), -1.0)
            expected[np.arange(5) < sizes[:, None]] = x
            rows = nd.from_offsets(np.concatenate([[0], np.cumsum(sizes)]), nd.array(x))
            assert np.array_equal(np.asarray(nd.to_dense(rows, 5, -1.0)), expected)
    finally:
        nd.set_num_threads(before)
