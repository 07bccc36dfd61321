"""Rows that may be missing themselves, in groups, quantiles and extremes: what single results are, as plain lists."""

import math

import pytest
from dynd import nd


def test_groups_within_rows_that_may_be_missing():
    values, keys = nd.array([[1.0, 2.0, 3.0], None, [], [5.0, 7.0]]), nd.array([[9, 4, 9], None, [], [None, 1]])
    gb = nd.groupby(values, by=keys, axis=1)
    assert gb.keys.tolist() == [[4, 9], None, [], [1, None]] and len(gb) == 4
    assert nd.array(gb).tolist() == [[[2.0], [1.0, 3.0]], None, [], [[7.0], [5.0]]]
    expected = {"sum": [[2.0, 4.0], None, [], [7.0, 5.0]], "count": [[1, 2], None, [], [1, 1]], "max": [[2.0, 3.0], None, [], [7.0, 5.0]],
                "median": [[2.0, 2.0], None, [], [7.0, 5.0]], "last": [[2.0, 3.0], None, [], [7.0, 5.0]], "argmax": [[0, 1], None, [], [0, 0]]}  # fmt: skip
    for name, wanted in expected.items():
        for axis in (None, 2, -1):
            assert getattr(gb, name)(axis=axis).tolist() == wanted, name
    assert gb.agg({"n": "count", "s": "sum"}).tolist() == [[{"n": 1, "s": 2.0}, {"n": 2, "s": 4.0}], None, [], [{"n": 1, "s": 7.0}, {"n": 1, "s": 5.0}]]
    assert gb.transform("sum").tolist() == [[4.0, 2.0, 4.0], None, [], [5.0, 7.0]]
    assert gb.transform(lambda rows: rows - rows.mean(axis=2, keepdims=True)).tolist() == [[-1.0, 0.0, 1.0], None, [], [0.0, 0.0]]
    assert gb.sum(nd.array([[1, 2, 3], [], [], [5, 7]])).tolist() == [[2, 4], None, [], [7, 5]]  # a missing row has no elements
    assert nd.groupby(nd.array([[1, 2], [], [3]]), by=nd.array([["b", "a"], None, ["c"]]), axis=1).sum().tolist() == [[2, 1], None, [3]]
    both = nd.groupby(values, by=[keys, nd.array([["x", "y", "x"], [], None, ["x", "x"]])], axis=1)
    assert both.keys.tolist() == [[(4, "y"), (9, "x")], None, None, [(1, "x"), (None, "x")]]
    deep = nd.groupby(nd.array([[[1, 2], [3]], None]), by=nd.array([[1, 0], None]), axis=1)
    assert nd.array(deep).tolist() == [[[[3]], [[1, 2]]], None] and deep.sum(axis=3).tolist() == [[[3], [3]], None]
    with pytest.raises(ValueError, match="^groupby: row 1 has 0 and 1 elements"):
        gb.sum(nd.array([[1, 2, 3], [4], [], [5, 7]]))


def test_from_dense_of_rows_that_may_be_missing():
    rows = nd.array([[1, 2], None, [3], []])
    assert nd.from_dense(nd.to_dense(rows, 2, value=0), nd.num(rows)).tolist() == rows.tolist()
    assert nd.from_dense(rows, [1, 9, 0, 0]).tolist() == [[1], None, [], []]
    for lengths, message in (([1, 0, 2, 0], "row 2 has 1 elements, not 2"), ([1, 0, 1], "3 lengths in 1 dimension"), ([None, 0, 1, 0], "lengths: ")):
        with pytest.raises((ValueError, OverflowError), match=f"^from_dense: {message}"):
            nd.from_dense(rows, nd.array(lengths))


@pytest.mark.parametrize("scalar", ["float64", "float32", "float16"])
def test_nan_alone_in_a_row_is_not_nothing(scalar):
    nan = math.nan
    a = nd.array([[nan, 2.0], None, [nan, nan]], type=f"3 * ?var * {scalar}")
    for f, value in ((nd.nanmin, 2.0), (nd.nanmax, 2.0)):
        assert repr(f(a, axis=1).tolist()) == repr([value, None, nan])
        assert repr(f(a, axis=1, keepdims=True).tolist()) == repr([[value], None, [nan]])
        assert f(a, axis=1, empty="missing").tolist() == [value, None, None]
        assert f(a, axis=1, initial=5).tolist() == [min(value, 5.0) if f is nd.nanmin else 5.0, None, 5.0]
        with pytest.raises(ValueError, match="row 1 is empty, and nanm"):
            f(nd.array([[nan], [], None], type=f"3 * ?var * {scalar}"), axis=1)


def test_extremes_of_texts_and_structs_in_rows_that_may_be_missing():
    for rows in ([["b", "a"], None, ["c"]], [[{"x": 2}, {"x": 1}], None, [{"x": 3}]], [[b"b", b"a"], None, [b"c"]]):
        a = nd.array(rows)
        assert nd.min(a, axis=1).tolist() == [rows[0][1], None, rows[2][0]] and nd.argmax(a, axis=1).tolist() == [0, None, 0]
        with pytest.raises(ValueError, match="^max: row 0 is empty"):
            nd.max(a[:, 5:], axis=1)


def test_quantiles_over_several_axes_with_rows_that_may_be_missing():
    a = nd.array([[3.0, 1.0], None, [2.0]])
    assert nd.median(a, axis=(0, 1)).tolist() == nd.median(a, axis=(-1, -2)).tolist() == 2.0
    assert nd.median(a, axis=(1,)).tolist() == nd.median(a, axis=(-1,)).tolist() == [2.0, None, 2.0]
    assert nd.median(a, axis=(1,), keepdims=True).tolist() == [[2.0], None, [2.0]]
    assert nd.quantile(a, [0, 1], axis=(0, 1)).tolist() == [1.0, 3.0]
    b = nd.array([[[1, 2], [6]], None, [[4], []]])
    assert nd.median(b, axis=(1, 2)).tolist() == [2.0, None, 4.0]
