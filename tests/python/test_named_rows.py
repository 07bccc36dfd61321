"""An error that names a row names the first one that is wrong: among so many rows that several pieces are made of them,
on one thread and on two, and in whatever dimensions the rows are.

A new function that refuses rows gets a line in CASES. Where its name is that of a function, so does the error begin.
"""

import re

import numpy as np
import pytest
from dynd import nd

COUNT = 40_000  # rows
USUAL = 2  # elements of each, but for the one that is wrong


def offsets_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)])


class Flat:
    """strided * var"""

    def __call__(self, rows):
        return rows

    def name(self, row):
        return f"row {row}"


class Pairs:
    """strided * strided * var"""

    def __call__(self, rows):
        return nd.unflatten(rows, 2, axis=0)

    def name(self, row):
        return f"row ({row // 2}, {row % 2})"


class Nested:
    """strided * var * var, with empty rows outside"""

    offsets = offsets_of(np.resize([3, 0, 5, 1, 0, 7], 15_000))  # 40,000 in all

    def __call__(self, rows):
        return nd.from_offsets(self.offsets, rows)

    def name(self, row):
        outer = int(np.searchsorted(self.offsets, row, "right")) - 1
        return f"row ({outer}, {row - int(self.offsets[outer])})"


class Rows:
    """Arrays with COUNT rows in some dimensions, of which those in `wrong` have another length."""

    def __init__(self, outside, wrong):
        self.outside, self.wrong = outside, wrong

    def lengths(self, length, usual=USUAL):
        lengths = np.full(COUNT, usual)
        lengths[self.wrong] = length
        return lengths

    def __call__(self, length, usual=USUAL):
        offsets = offsets_of(self.lengths(length, usual))
        return self.outside(nd.from_offsets(offsets, nd.array(np.arange(offsets[-1]) % 7)))

    def texts(self, length):
        offsets = offsets_of(self.lengths(length))
        return self.outside(nd.from_offsets(offsets, nd.array(["a"] * int(offsets[-1]))))

    def ones(self):
        return self.outside(nd.from_offsets(np.arange(COUNT + 1), nd.array(np.ones(COUNT, "int64"))))

    def each(self, wrong, usual):
        """One number for each row."""
        numbers = nd.array(self.lengths(wrong, usual))
        return numbers if isinstance(self.outside, Flat) else self.outside(numbers)


def assigned(to, value):
    to = nd.array(to, access="rw")
    to[...] = value


def added(to, value):
    to = nd.array(to, access="rw")
    to += value


CASES = {
    "an index for each row": lambda r: r(1)[r.ones()],
    "take_along_axis": lambda r: nd.take_along_axis(r(1), r.ones(), axis=-1),
    "an index with other rows": lambda r: r(3)[..., None][r(4)[..., None]],
    "one number": lambda r: r(1)[..., 1],
    "one number from the end": lambda r: r(1)[..., -2],
    "an index array": lambda r: r(1)[..., nd.array([0, 1])],
    "take": lambda r: nd.take(r(1), nd.array([0, 1, -1]), axis=-1),
    "a mask": lambda r: r(3)[r(4) >= 0],
    "add": lambda r: r(3) + r(4),
    "where": lambda r: nd.where(r(3) > 0, r(3), r(4)),
    "compare texts": lambda r: r.texts(3) == r.texts(4),
    "assign": lambda r: assigned(r(3), r(4)),
    "assign texts": lambda r: assigned(r.texts(3), r.texts(4)),
    "in place": lambda r: added(r(3), r(4)),
    "min": lambda r: nd.min(r(0), axis=-1),
    "max of what where= takes": lambda r: nd.max(r(2), axis=-1, where=r.each(0, 1)[..., None] > 0),
    "argmax": lambda r: nd.argmax(r(0), axis=-1),
    "ptp": lambda r: nd.ptp(r(0), axis=-1),
    "min of texts": lambda r: nd.min(r.texts(0), axis=-1),
    "reduce": lambda r: nd.reduce(nd.subtract, r(0), axis=-1),
    "unflatten": lambda r: nd.unflatten(r(3), 2, axis=-1),
    "unflatten by lengths": lambda r: nd.unflatten(r(3), r(2, 2) * 0 + 1, axis=-1),
    "concat": lambda r: nd.concat([r(3)[..., None], r(4)[..., None]], axis=-1),
    "stack": lambda r: nd.stack([r(3), r(4)], axis=-1),
    "zip": lambda r: nd.zip({"a": r(3), "b": r(4)}),
    "broadcast_arrays": lambda r: nd.broadcast_arrays(r(3), r(4)),
    "searchsorted": lambda r: nd.searchsorted(r(3)[..., None], r(4)[..., None]),
    "vecdot": lambda r: nd.vecdot(r(3), r(4)),
    "histogram": lambda r: nd.histogram(r(3), 2, weights=r(4)),
}


@pytest.mark.parametrize("outside", [Flat, Pairs, Nested], ids=lambda kind: kind.__name__.lower())
@pytest.mark.parametrize("case", CASES)
def test_the_first_row_that_is_wrong_is_named(case, outside, threads):
    outside = outside()
    for wrong in ([COUNT - 1], [27_123, 27_124, COUNT - 2]):
        with pytest.raises((ValueError, IndexError)) as refused:
            CASES[case](Rows(outside, wrong))
        text = str(refused.value)
        assert re.findall(r"row (?:\d+|\([\d, ]+\))", text) == [outside.name(wrong[0])], text
        function = case.split()[0]
        assert text.startswith(f"{function}: ") or function == "take" or not hasattr(nd, function), text


def test_the_first_length_that_no_row_has_is_named(threads):
    lengths = np.full(COUNT, 2)
    lengths[[27_123, COUNT - 1]] = 4
    with pytest.raises(ValueError, match=r"row 27123 has 3 elements, not 4"):
        nd.from_dense(np.zeros((COUNT, 3)), lengths)


@pytest.mark.parametrize("row", [0, 1, COUNT // 2, COUNT - 1])
@pytest.mark.parametrize("outside", [Flat(), Pairs()])
def test_the_row_that_does_not_fit_one_size(outside, row, threads):
    """Against dimensions of one size, not of other rows."""
    lengths = np.full(COUNT, 3)
    lengths[row] = 2
    content = nd.array(np.arange(lengths.sum()))
    rows = outside(nd.from_offsets(offsets_of(lengths), content))
    square = nd.array(np.zeros((*rows.shape[:-1], 3), int))
    target = nd.array(square, access="rw")
    for name, lengths, call in [
        ("add", "2 and 3", lambda: rows + square),
        ("multiply", "3 and 2", lambda: square * rows),
        ("where", "2, 3 and 2", lambda: nd.where(rows > 0, square, rows)),
        ("add", "2 and 3", lambda: rows + square[:1]),
        ("less", "2 and 3", lambda: (rows < square).sum(axis=-1)),
        ("assign", "2 and 3", lambda: target.__setitem__(..., rows)),
    ]:
        text = f"{name}: cannot broadcast {outside.name(row)}: lengths {lengths}"
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            call()
    assert not nd.any(target)
