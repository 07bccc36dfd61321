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
