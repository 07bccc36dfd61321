"""Indexing inside ragged rows: a[:, i:j:k] shares the content, a[:, i] takes an element of every row."""

import random

import numpy as np
import pytest

from dynd import nd

LENGTHS = [0, 1, 2, 3, 5, 200]
ENDS = [None, -300, -3, -1, 0, 1, 2, 4, 300]
STEPS = [None, 1, -1, 2, -2, 3, -3, 7, 10**12, -(10**12)]


def any_slice(rng):
    return slice(rng.choice(ENDS), rng.choice(ENDS), rng.choice(STEPS))


def ragged(rng):
    rows = [[rng.randint(-99, 99) for _ in range(rng.choice(LENGTHS))] for _ in range(rng.randint(0, 6))]
    array = nd.array(rows, type="strided * var * int64")
    for step in (-1, 2):
        if rng.random() < 0.3:
            array, rows = array[::step], rows[::step]
    return array, rows


@pytest.mark.parametrize("seed", range(400))
def test_slices_of_all_rows(seed):
    rng = random.Random(seed)
    array, rows = ragged(rng)
    part = any_slice(rng)
    view, expected = array[:, part], [row[part] for row in rows]
    assert view.tolist() == expected
    assert view[::-1].tolist() == expected[::-1]
    assert view[:, ::-1].tolist() == [row[::-1] for row in expected]
    assert (view + view[:, ::-1]).tolist() == [[x + y for x, y in zip(row, row[::-1])] for row in expected]
    number = nd.array(list(range(len(rows))), type="int64")
    assert (view * number[:, None]).tolist() == [[x * i for x in row] for i, row in enumerate(expected)]
    assert view.sum(axis=1).tolist() == [sum(row) for row in expected]
    assert view.sum().tolist() == sum(map(sum, expected))
    again = any_slice(rng)
    assert view[:, again].tolist() == [row[again] for row in expected]
    assert view[::2, again].sum(axis=1).tolist() == [sum(row[again]) for row in expected[::2]]


@pytest.mark.parametrize("seed", range(200))
def test_a_slice_is_written_through(seed):
    rng = random.Random(seed)
    _, rows = ragged(rng)
    array, part = nd.array(rows, type="strided * var * int64", access="rw"), any_slice(rng)
    view = array[:, part]
    new = [[rng.randint(-99, 99) for _ in row[part]] for row in rows]
    if rng.random() < 0.3:
        view[...] = 7
        new = [[7] * len(row) for row in new]
    elif rng.random() < 0.5:
        view[...] = nd.array(new, type="strided * var * int32")
    else:
        array[:, part] = new if any(new) else nd.array(new, type="strided * var * int64")
    for row, values in zip(rows, new):
        for at, value in zip(range(len(row))[part], values):
            row[at] = value
    assert array.tolist() == rows
    assert view.tolist() == new


def deep(rng, access=None):
    rows = [
        [[rng.randint(-99, 99) for _ in range(rng.choice([0, 1, 2, 3, 70]))] for _ in range(rng.choice([0, 1, 2, 4]))]
        for _ in range(rng.randint(0, 4))
    ]
    return nd.array(rows, type="strided * var * var * int32", access=access), rows


@pytest.mark.parametrize("seed", range(300))
def test_slices_of_rows_of_rows(seed):
    rng = random.Random(seed)
    array, rows = deep(rng)
    cut = rng.choice([slice(None), slice(1, None), slice(None, None, -1)])
    array, rows = array[cut], rows[cut]
    if rng.random() < 0.5:
        outer = any_slice(rng)
        array, rows = array[:, outer], [row[outer] for row in rows]
    part = any_slice(rng)
    view, expected = array[:, :, part], [[inner[part] for inner in row] for row in rows]
    assert view.tolist() == expected
    assert (view + view).tolist() == [[[2 * x for x in inner] for inner in row] for row in expected]
    assert (view * array[:, :, part]).tolist() == [[[x * x for x in inner] for inner in row] for row in expected]
    assert view.sum(axis=2).tolist() == [[sum(inner) for inner in row] for row in expected]
    assert nd.array(view).tolist() == expected
    assert view[:, ::-1, ::-1].tolist() == [[inner[::-1] for inner in row[::-1]] for row in expected]
    both = any_slice(rng)
    assert array[:, both, part].tolist() == [[inner[part] for inner in row[both]] for row in rows]


@pytest.mark.parametrize("seed", range(100))
def test_writing_inside_rows_of_rows(seed):
    rng = random.Random(seed)
    array, rows = deep(rng, "rw")
    part = any_slice(rng)
    array[:, :, part] = 7
    for row in rows:
        for inner in row:
            for at in range(len(inner))[part]:
                inner[at] = 7
    assert array.tolist() == rows


@pytest.mark.parametrize("seed", range(200))
def test_an_element_of_every_row_of_rows(seed):
    rng = random.Random(seed)
    array, rows = deep(rng, "rw")
    part, step = any_slice(rng), rng.choice([1, 2, -1])
    array, rows = array[:, ::step, part], [[inner[part] for inner in row[::step]] for row in rows]
    short = [r for r, row in enumerate(rows) if not row]
    if short:
        with pytest.raises(IndexError, match=f"index 0 is out of bounds for axis 1 of row {short[0]} with size 0$"):
            array[:, 0]
    else:
        view = array[:, 0]
        assert view.tolist() == [row[0] for row in rows]
        assert (view + view).tolist() == [[2 * x for x in row[0]] for row in rows]
        view[...] = 5  # rows are shared, not copied
        assert array.tolist() == [[[5] * len(row[0])] + row[1:] for row in rows]
    short = [(r, i) for r, row in enumerate(rows) for i, inner in enumerate(row) if not inner]
    if short:
        r, i = short[0]
        with pytest.raises(IndexError, match=rf"index -1 is out of bounds for axis 2 of row \({r}, {i}\) with size 0$"):
            array[:, :, -1]
    else:
        assert array[:, :, -1].tolist() == [[inner[-1] for inner in row] for row in array.tolist()]
        assert str(array[:, :, -1].type) == "strided * var * int32"


def test_an_index_between_rows_and_vectors():
    rows = [[[[1, 2], [3]], [[4], [5, 6, 7]]], [[[], [8]]]]
    array = nd.array(rows, type="strided * var * 2 * var * int32")
    assert array[:, 0].tolist() == [row[0] for row in rows]
    assert str(array[:, 0].type) == "strided * 2 * var * int32"
    assert array[:, 0, ::-1].sum(axis=2).tolist() == [[3, 3], [8, 0]]
    assert array[:, :, 1, 0].tolist() == [[pair[1][0] for pair in row] for row in rows]
    assert array[..., ::-2].tolist() == [[[inner[::-2] for inner in pair] for pair in row] for row in rows]


def test_a_step_beyond_32_bits():
    content = nd.asarray(np.broadcast_to(np.int8(3), 2**40))  # no memory: a stride of 0
    array = nd.from_offsets([0, 2**40], content)
    with pytest.raises(IndexError, match="inside the rows of axis 1 the step of a slice must fit 32 bits, not 5497"):
        array[:, :: 2**39]
    assert array[:, :: 2**30][:, :3].tolist() == [[3, 3, 3]]


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("i", [0, 1, -1])
def test_an_element_of_every_row(seed, i):
    array, rows = ragged(random.Random(seed))
    short = [r for r, row in enumerate(rows) if not -len(row) <= i < len(row)]
    if short:
        message = rf"index {i} is out of bounds for axis 1 of row {short[0]} with size {len(rows[short[0]])}$"
        with pytest.raises(IndexError, match=message):
            array[:, i]
    else:
        assert array[:, i].tolist() == [row[i] for row in rows]


def test_rows_of_vectors():
    array = nd.array([[[1, 2], [3, 4]], [[5, 6]]])
    assert array[:, 0].tolist() == [[1, 2], [5, 6]]
    assert array[:, -1, 0].tolist() == [3, 5]
    assert array[:, 1:].tolist() == [[[3, 4]], []]
    assert array[:, ::-1].tolist() == [[[3, 4], [1, 2]], [[5, 6]]]


def test_a_slice_is_a_view():
    array = nd.array([[1, 2, 3], [4, 5]], access="rw")
    array[:, 1:] = nd.array([[9], [8]])
    assert array.tolist() == [[1, 9, 9], [4, 8]]
    array[:, ::-1] = nd.array([[1, 2, 3], [4, 5]])
    assert array.tolist() == [[3, 2, 1], [5, 4]]


def test_an_element_of_every_row_is_no_view_and_can_be_assigned_to():
    array = nd.array([[1, 2, 3], [4, 5]], access="rw")
    first = array[:, 0]
    array[:, 0] = 7
    assert array.tolist() == [[7, 2, 3], [7, 5]] and first.tolist() == [1, 4]


def test_lazy_values():
    rows = [[float(i)] * (i % 7) for i in range(20_000)]
    array = nd.array(rows)
    found = (array[:, 1:] * 2.0 + array[:, :-1]).sum(axis=1).tolist()
    assert found == [sum(x * 2.0 + y for x, y in zip(row[1:], row)) for row in rows]


def test_rows_of_the_same_lengths_that_begin_elsewhere():
    """That lengths are the same is remembered of the offsets; where the rows begin in the content is not the same."""
    content = nd.array(np.arange(100.0))
    lengths = np.tile([2, 0, 1, 3], 5)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    first, second = (nd.from_offsets(nd.array(ends + start), content) for start in (0, 7))
    expected = [[x + y for x, y in zip(a, b)] for a, b in zip(first.tolist(), second.tolist())]
    for _ in range(3):
        assert (first + second).tolist() == expected
        assert (second + first).tolist() == expected
        assert nd.where(first < second, first, second).tolist() == first.tolist()
        target = nd.array(first, access="rw")
        target[...] = second
        assert target.tolist() == second.tolist()
        assert (first == second).tolist() == [[False] * n for n in lengths]


@pytest.mark.parametrize("starts", [(0, 7), (7, 0), (3, 3)])
def test_lazy_rows_of_the_same_lengths_that_begin_elsewhere(starts):
    """Such arrays are not computed in one pass with one set of slots: each has its own places in its content."""
    lengths = np.tile([2, 0, 1, 3], 3000)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    content = nd.array(np.arange(float(ends[-1] + 10)))
    first, second = (nd.from_offsets(nd.array(ends + start), content) for start in starts)
    assert (first + second)[0].tolist() == [starts[0] + starts[1], starts[0] + starts[1] + 2.0]  # now it is remembered
    kernels = str(nd.explain(lambda: first * 2.0 + second * 2.0)).count(": one kernel")
    assert kernels == (1 if starts[0] == starts[1] else 2)
    for _ in range(2):
        doubled, other = first * 2.0, second * 2.0
        total = doubled + other
        total.eval()
        for found, factor in ((doubled, (2, 0)), (other, (0, 2)), (total, (2, 2))):
            flat = factor[0] * (np.arange(ends[-1]) + starts[0]) + factor[1] * (np.arange(ends[-1]) + starts[1])
            assert found.tolist() == [flat[a:b].tolist() for a, b in zip(ends, ends[1:])]


def test_rows_of_rows_that_are_shifted():
    """a[1:] and a[:-1] share the slots of the innermost rows, but not where their own rows begin."""
    values = [[[1.0], [3.0, 4.0]], [[2.0], [5.0, 7.0]], [[4.0], [9.0, 1.0]]]
    a = nd.array(values, type="strided * var * var * float64")
    assert (a[1:] - a[:-1]).tolist() == [[[1.0], [2.0, 3.0]], [[2.0], [4.0, -6.0]]]
    assert (a[:-1] - a[1:]).tolist() == [[[-1.0], [-2.0, -3.0]], [[-2.0], [-4.0, 6.0]]]
    deep = nd.array([values, values[::-1], values], type="strided * var * var * var * float64")
    assert (deep[1:] + deep[:-1])[0].tolist() == [[[5.0], [12.0, 5.0]], [[4.0], [10.0, 14.0]], [[5.0], [12.0, 5.0]]]
