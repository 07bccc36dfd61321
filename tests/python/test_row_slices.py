"""Indexing inside ragged rows: a[:, i:j] shares the content, a[:, i] takes an element of every row."""

import random

import pytest

from dynd import nd

LENGTHS = [0, 1, 2, 3, 5, 200]


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
    ends = [None, -300, -3, -1, 0, 1, 2, 4, 300]
    part = slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, -1]))
    view, expected = array[:, part], [row[part] for row in rows]
    assert view.tolist() == expected
    assert view[::-1].tolist() == expected[::-1]
    assert view[:, ::-1].tolist() == [row[::-1] for row in expected]
    assert (view + view[:, ::-1]).tolist() == [[x + y for x, y in zip(row, row[::-1])] for row in expected]
    number = nd.array(list(range(len(rows))), type="int64")
    assert (view * number[:, None]).tolist() == [[x * i for x in row] for i, row in enumerate(expected)]
    assert view.sum(axis=1).tolist() == [sum(row) for row in expected]
    assert view.sum().tolist() == sum(map(sum, expected))


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


def test_what_cannot_be_a_view():
    array = nd.array([[1, 2, 3], [4, 5]], access="rw")
    with pytest.raises(IndexError, match="step"):
        array[:, ::2]
    with pytest.raises(TypeError, match="copy"):
        array[:, 0] = 7
    deep = nd.array([[[1], [2, 3]], [[4]]])
    with pytest.raises(IndexError, match="axis 2"):
        deep[:, :, 1:]
    assert array.tolist() == [[1, 2, 3], [4, 5]]


def test_waiting_values():
    rows = [[float(i)] * (i % 7) for i in range(20_000)]
    array = nd.array(rows)
    found = (array[:, 1:] * 2.0 + array[:, :-1]).sum(axis=1).tolist()
    assert found == [sum(x * 2.0 + y for x, y in zip(row[1:], row)) for row in rows]
