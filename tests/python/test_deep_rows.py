"""Rows in rows beside values for the rows of an outer axis: the axes between are walked as one."""

import numpy as np
import pytest

from dynd import nd


def offsets(rng, rows, longest):
    return np.concatenate([[0], np.cumsum(rng.integers(0, longest + 1, rows))])


def deep(rng, rows, narrow=False):
    """strided * var * var * var of numbers, with empty rows at every depth."""
    parts = [offsets(rng, rows, 4)]
    for longest in (3, 5):
        parts.append(offsets(rng, parts[-1][-1], longest))
    array = nd.array(rng.random(parts[-1][-1]))
    for part in reversed(parts):
        array = nd.from_offsets(nd.array(part.astype(np.int32 if narrow else np.int64)), array)
    return array


def times(nested, value):
    return [times(x, value) for x in nested] if isinstance(nested, list) else nested * value


def flat(nested):
    return [y for x in nested for y in flat(x)] if isinstance(nested, list) else [nested]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("cut", [slice(None), slice(3, -4), slice(None, None, 2), slice(None, None, -1)])
def test_a_value_for_each_outer_row(narrow, cut, threads):
    rng = np.random.default_rng(1)
    a, row = deep(rng, 90, narrow)[cut], rng.random(90)[cut]
    expected = [times(x, value) for x, value in zip(a.tolist(), row.tolist())]
    assert (a * nd.array(row)[:, None, None, None]).tolist() == expected
    assert (a * nd.asarray(row)[:, None, None, None]).tolist() == expected
    inner = a[5]
    values = nd.array(rng.random(len(inner)))
    assert (inner * values[:, None, None]).tolist() == [times(x, v) for x, v in zip(inner.tolist(), values.tolist())]


def test_a_value_for_each_row_of_an_axis_between():
    rng = np.random.default_rng(2)
    a = deep(rng, 60)
    middle = nd.num(a, axis=1)  # strided: of the outer rows
    lengths = nd.num(a, axis=2)  # strided * var
    assert (a * lengths[:, :, None, None]).tolist() == [
        [times(x, n) for x, n in zip(rows, ns)] for rows, ns in zip(a.tolist(), lengths.tolist())
    ]
    both = a * lengths[:, :, None, None] + middle[:, None, None, None]
    expected = [[[[v * n + m for v in row] for row in x] for x, n in zip(rows, ns)]
                for rows, ns, m in zip(a.tolist(), lengths.tolist(), middle.tolist())]  # fmt: skip
    assert both.tolist() == expected


def test_many_rows_and_their_sum(threads):
    rng = np.random.default_rng(3)
    a, row = deep(rng, 30_000), rng.random(30_000)
    found = a * nd.array(row)[:, None, None, None]
    shown = str(nd.explain(lambda: (a * nd.array(row)[:, None, None, None]).eval()))
    assert "chain var_rows" in shown and "var_dim" not in shown
    assert flat(found[:200].tolist()) == flat([times(x, v) for x, v in zip(a[:200].tolist(), row.tolist())])
    total = (a * nd.array(row)[:, None, None, None]).sum()
    dense = nd.array(np.array(flat(found.tolist())))
    assert float(total) == float(dense.sum()), "the order of the content"


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def running(rows):
    totals, found = [0.0] * len(rows[0] if rows else []), []
    for row in rows:
        totals = [total + (x or 0) for total, x in zip(totals, row)]
        found.append([None if x is None else total for total, x in zip(totals, row)])
    return found


@pytest.mark.parametrize("outside", ["strided", "var", "4"])
@pytest.mark.parametrize("missing", [False, True])
def test_an_axis_outside_of_rows_that_differ_elsewhere(outside, missing, threads):
    """Below each outer row, the inner rows are equally long: the axis between is added up."""
    rng = np.random.default_rng(4)
    number = lambda: None if missing and rng.random() < 0.3 else float(rng.integers(100))  # noqa: E731
    lengths = [(0, 0), (3, 2), (1, 0), (4, 5)]
    values = [[[number() for _ in range(m)] for _ in range(n)] for n, m in lengths]
    total = lambda row: sum(x for x in row if x is not None)  # noqa: E731
    a = nd.array(values, type=f"{outside} * var * var * {'?' * missing}float64")
    found = nd.sum(a, axis=1)
    assert found.tolist() == [[total(column) for column in transposed(rows)] for rows in values]
    assert str(found.type) == f"{outside} * var * float64"
    assert nd.sum(a[::-1], axis=1).tolist() == found.tolist()[::-1]
    assert nd.cumulative_sum(a, axis=1).tolist() == [running(rows) for rows in values]
    pairs = nd.array([values, values], type=f"strided * {outside} * var * var * {'?' * missing}float64")
    twice = [[[total([x]) * 2 for x in row] for row in rows] for rows in values]
    assert nd.sum(pairs, axis=0).tolist() == twice
    assert str(nd.sum(pairs, axis=0).type) == f"{outside} * var * var * float64"
    both = nd.sum(pairs, axis=(0, 2))
    assert both.tolist() == [[2 * total(column) for column in transposed(rows)] for rows in values]
    assert str(both.type) == f"{outside} * var * float64"


def test_rows_that_differ_along_the_axis_are_named():
    a = nd.array([[[1, 2], [3, 4]], [[5], [6], [7, 8]]])
    text = "sum: rows along axis 1 must be equally long below it, in row 1: lengths 1 and 2 of rows 1 and 2"
    with pytest.raises(ValueError, match=text):
        nd.sum(a, axis=1)
