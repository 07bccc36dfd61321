"""Rows by int32 offsets behave as rows by int64 offsets do, and are as fast. (tests/python/support.py makes such arrays
for all the random tests of operations, reductions, assignment and indexing.)"""

import random

import numpy as np
import pytest

from dynd import nd
from support import offsets_of

LENGTHS = [0, 1, 2, 3, 10, 200]


def rows_of(rng, count=None):
    return [
        [rng.randint(-99, 99) for _ in range(rng.choice(LENGTHS))]
        for _ in range(rng.randint(0, 30) if count is None else count)
    ]


def narrow(rows, offsets=None, access=None, scalar="int64"):
    content = nd.array(np.array([x for row in rows for x in row], dtype=scalar), access=access)
    return nd.from_offsets(offsets_of(rows).astype(np.int32) if offsets is None else offsets, content)


@pytest.mark.parametrize("seed", range(100))
def test_every_kind_of_operation(seed):
    rng = random.Random(seed)
    rows = rows_of(rng)
    a, wide = narrow(rows), nd.array(rows, type="strided * var * int64")
    assert str(a.type) == "strided * var * int64" and a.tolist() == rows and str(a) == str(wide)
    assert [len(row) for row in a] == [len(row) for row in rows]
    for left, right in [(a, a), (a, narrow(rows)), (a, wide), (wide, a), (a[::-1], wide[::-1])]:
        assert (left - right * 2).tolist() == [[-x for x in row] for row in left.tolist()]
    number = nd.array(list(range(len(rows))), type="int64")
    assert (a * number[:, None]).tolist() == [[x * i for x in row] for i, row in enumerate(rows)]
    assert (a + nd.array([[1]])).tolist() == [[x + 1 for x in row] for row in rows]
    assert nd.where(a < 0, a, 0).tolist() == [[min(x, 0) for x in row] for row in rows]
    assert a.sum(axis=1).tolist() == (a + 0).sum(axis=1).tolist() == [sum(row) for row in rows]
    assert (a * wide).sum(axis=1).tolist() == [sum(x * x for x in row) for row in rows]
    assert a.sum().tolist() == sum(map(sum, rows))
    assert a[::-2].sum(axis=1).tolist() == [sum(row) for row in rows[::-2]]
    part = slice(rng.choice([None, 1, -2]), None, rng.choice([-2, -1, 1, 3]))
    assert a[:, part].tolist() == [row[part] for row in rows]
    assert (a[:, part] + a[:, part]).tolist() == [[2 * x for x in row[part]] for row in rows]
    if all(rows):
        assert a[:, -1].tolist() == [row[-1] for row in rows]
        assert a.max(axis=1).tolist() == [max(row) for row in rows]
    assert [row.tolist() for row in a] == rows and a[1:-1].tolist() == rows[1:-1]


@pytest.mark.parametrize("seed", range(50))
def test_assignment_to_and_from(seed):
    rng = random.Random(seed)
    rows = rows_of(rng)
    a = narrow(rows, access="rw")
    wide = nd.array(rows, type="strided * var * float64", access="rw")
    a[...] = wide * 2
    assert a.tolist() == [[2 * x for x in row] for row in rows]
    wide[...] = a
    assert wide.tolist() == a.tolist()
    a[::2] = narrow([[x + 1 for x in row] for row in rows[::2]], scalar="int8")
    assert a.tolist() == [[x + 1 if i % 2 == 0 else 2 * x for x in row] for i, row in enumerate(rows)]
    a[...] = nd.array([[5]] * len(rows)) if rows else 5
    assert a.tolist() == [[5] * len(row) for row in rows]
    assert a.astype("float32").tolist() == a.tolist() == nd.array(a).tolist()


def test_rows_of_rows():
    rows = [[[1, 2], []], [], [[3], [4, 5, 6], [7]]]
    flat = [inner for row in rows for inner in row]
    for outer, inner in [(np.int32, np.int32), (np.int32, np.int64), (np.int64, np.int32)]:
        below = narrow(flat, offsets_of(flat).astype(inner))
        a = nd.from_offsets(offsets_of(rows).astype(outer), below)
        assert a.tolist() == rows and str(a.type) == "strided * var * var * int64"
        assert (a + a).tolist() == [[[2 * x for x in y] for y in row] for row in rows]
        assert a.sum(axis=2).tolist() == [[sum(y) for y in row] for row in rows]
        assert a[1:].sum(axis=2).tolist() == [[sum(y) for y in row] for row in rows[1:]]
        assert a[2, 1].tolist() == [4, 5, 6]
        assert a[:, 1:].tolist() == [row[1:] for row in rows]


def test_coinciding_rows_are_flat_and_share_their_offsets():
    rows = rows_of(random.Random(1), 50)
    offsets = nd.array(offsets_of(rows).astype(np.int32))
    a, b = narrow(rows, offsets), narrow(rows, offsets)
    assert "chain flat" in nd.explain(nd.add, a, b)
    assert "chain flat" in nd.explain(nd.add, a, nd.array(rows)), "offsets of 64 bits with the same lengths"
    assert "chain flat" in nd.explain(nd.add, a + b, b), "the result has the same offsets"
    assert "var_dim" not in nd.explain(lambda: (a * b).sum(axis=1)), "whole rows at once"


def test_large_rows_wait_and_fuse():
    lengths = np.random.default_rng(0).integers(0, 20, 40_000)
    offsets = nd.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    values = np.arange(int(offsets[-1]), dtype=np.float64)
    a = nd.from_offsets(offsets, nd.array(values))
    text = nd.explain(lambda: (a * a + a).sum(axis=1))
    assert text.count("one kernel") == 1 and "var_rows" in text
    starts = offsets_of([range(n) for n in lengths])
    expected = [float((values[s:e] ** 2 + values[s:e]).sum()) for s, e in zip(starts[:500], starts[1:])]
    assert np.allclose((a * a + a).sum(axis=1)[:500].tolist(), expected, rtol=1e-12)


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_wrong_offsets(width):
    content = np.arange(6.0)
    for offsets, text in [
        ([0, 3, 2], "offsets decrease at row 1: 3 then 2"),
        ([-1, 2], "offset 0 is negative: -1"),
        ([0, 3, 7], "row 1 ends at 7, past the content's 6 elements"),
        ([7], "the rows begin at 7"),
        ([], "at least one element"),
    ]:
        with pytest.raises(ValueError, match=text):
            nd.from_offsets(np.array(offsets, dtype=width), content)


def test_no_copy_of_immutable_offsets():
    offsets = nd.array(np.array([0, 2, 3], np.int32))
    a = nd.from_offsets(offsets, nd.array([1, 2, 3]))
    b = nd.from_offsets(offsets, nd.array([4, 5, 6]))
    assert "chain flat" in nd.explain(nd.add, a, b)
    mine = np.array([0, 2, 3], np.int32)
    c = nd.from_offsets(mine, nd.array([1, 2, 3]))
    mine[1] = 99  # what can be written was copied
    assert c.tolist() == [[1, 2], [3]]


@pytest.mark.parametrize("kinds", [("int64", "int64"), ("int32", "int32"), ("int32", "int64"), ("int64", "int32")])
@pytest.mark.parametrize("begins", [(0, 0), (0, 3), (5, 3)])
def test_one_row_has_another_length(kinds, begins):
    """The first, the last, or one at an end of what is compared at once; wherever the offsets begin."""
    for count in (1, 2, 1023, 1024, 1025, 2047, 2048, 2049, 5000):
        for row in {0, count // 2, count - 1, *(r for r in (1022, 1023, 1024) if r < count)}:
            lengths = np.full(count, 2)
            other = lengths.copy()
            other[row] = 3
            arrays = []
            for own, kind, begin in zip((lengths, other, lengths), (*kinds, kinds[1]), (*begins, begins[1])):
                offsets = begin + np.concatenate([[0], np.cumsum(own)])
                arrays.append(nd.from_offsets(offsets.astype(kind), nd.array(np.arange(offsets[-1]))))
            a, b, same = arrays
            written = nd.array(a, access="rw")
            for call in (lambda: a + b, lambda: b * a, lambda: nd.where(a > 0, a, b), lambda: (a * b).sum(axis=1),
                         lambda: written.__setitem__(..., b)):  # fmt: skip
                with pytest.raises(ValueError, match=rf"cannot broadcast row {row}: lengths .*3"):
                    call()
            assert np.array_equal(np.asarray(nd.flatten(a - same)), np.full(2 * count, begins[0] - begins[1]))
