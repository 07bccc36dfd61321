"""Masks and indices in rows that may be missing themselves, and assignment through them: against plain lists."""

import awkward as ak
import numpy as np
import pytest
from dynd import nd
from test_missing_rows import same


def test_integers_inside_of_missing_rows():
    a = nd.array([[1, 2], None, [3]])
    assert a[:, 0].tolist() == [1, None, 3]
    assert str(a[:, 0].type) == "strided * ?int32"
    assert a[0, 1].tolist() == 2 and a[1, 0].tolist() is None
    assert a[0][1].tolist() == 2 and a[1][0].tolist() is None and a[0][1:].tolist() == [2]
    assert a[::-1, -1].tolist() == [3, None, 2]
    with pytest.raises(IndexError, match=r"^index: index 1 is out of bounds for axis 1 of row 2 with size 1"):
        a[:, 1]
    with pytest.raises(IndexError, match="too many indices: 3 for 2"):
        a[:, 0, 0]
    m = nd.array([[[1, 2], None], None, [[3]]])
    assert m[:, 0].tolist() == [[1, 2], None, [3]]
    assert m[:, :, 0].tolist() == [[1, None], None, [3]]
    assert m[:, 0, -1].tolist() == [2, None, 3]
    assert m[0, 1].tolist() is None and m[0, 0, 1].tolist() == 2
    assert m[:, 1:, :1].tolist() == [[None], None, []]


def test_masks_and_indices_with_rows_that_are_missing():
    a, b = nd.array([[1, -2], None, [3]]), nd.array([[5, 6], [7], [8]])
    assert b[a > 0].tolist() == [[5], None, [8]]
    assert b[nd.array([[1, 0], None, [-1]])].tolist() == [[6, 5], None, [8]]
    assert a[nd.array([[1], [5, 6], [0]])].tolist() == [[-2], None, [3]]  # of a missing row nothing is taken
    with pytest.raises(IndexError, match="out of bounds"):
        a[nd.array([[1], [], [1]])]
    with pytest.raises(IndexError, match="use nd.take for rows by their number"):
        a[nd.array([[1], [0], [1]])]
    assert a[nd.array([True, True, False])].tolist() == [[1, -2], None]
    assert a[[1, 2]].tolist() == [None, [3]]
    assert a[:, [0, -1]].tolist() == [[1, -2], None, [3, 3]] == nd.take(a, [0, -1], axis=1).tolist()
    assert a[:, nd.array([0, None])].tolist() == [[1, None], None, [3, None]]
    assert nd.take(a, nd.array([[1], None, []]), axis=1).tolist() == [[-2], None, []]
    with pytest.raises(IndexError, match=r"^index: index 1 is out of bounds for axis 1 of row 2 with size 1"):
        a[:, [1]]
    with pytest.raises(TypeError, match=r"^index: an index array beside others, inside of rows that may be missing"):
        a[:, [True, False]]


def test_masks_and_indices_of_rows_in_rows():
    values = [[[1, 2], None], None, [[3]]]
    m, theirs = nd.array(values), ak.Array(values)
    same(m[m > 1], theirs[theirs > 1].tolist())
    for index in ([[1, 0], None, [0]], [[[1], None], None, [[0]]], [[0], [0, 0], []]):
        expected = theirs[ak.Array([index[0], None, index[2]])].tolist()  # of a missing row nothing is taken
        same(m[nd.array(index)], expected)
    assert m[nd.num(m, axis=2) > 1].tolist() == [[[1, 2]], None, []]  # where a mask is missing too
    plain = nd.array([[[1, 2], [3]], [[4]]])
    assert plain[nd.array([[True, False], None])].tolist() == [[[1, 2]], None]
    assert changed([[[1, 2], [3]], None], nd.array([[True, False], None]), 0) == [[[0, 0], [3]], None]
    assert nd.cartesian([m, m], axis=1).tolist()[1:] == [None, [([3], [3])]]
    assert nd.take_along_axis(nd.array([[1], None, [2]]), nd.array([2, 1, 0]), axis=0).tolist() == [[2], None, [1]]
    with pytest.raises(TypeError, match=r"^take_along_axis: the index has 2 dimension\(s\), .* 3; use a\[index\]"):
        nd.take_along_axis(m, nd.array([[1, 0], [], [0]]), axis=1)


def test_fields_of_structs_in_missing_rows():
    s = nd.array([[{"x": 1, "y": None}], None, [{"x": 3, "y": 4.0}, {"x": 5, "y": 6.0}]])
    assert s["x"].tolist() == [[1], None, [3, 5]] and s.x.tolist() == [[1], None, [3, 5]]
    assert str(s.y.type) == "strided * ?var * ?float64"
    assert s[s.x > 3].tolist() == [[], None, [{"x": 5, "y": 6.0}]]
    assert nd.sort(s, by="-x").x.tolist() == [[1], None, [5, 3]]
    assert [part.tolist() for part in nd.unzip(s)] == [[[1], None, [3, 5]], [[None], None, [4.0, 6.0]]]
    assert nd.rename(s, {"x": "z"}).z.tolist() == [[1], None, [3, 5]]
    assert nd.without_field(s, "y").tolist() == [[{"x": 1}], None, [{"x": 3}, {"x": 5}]]
    assert s[["x"]].tolist() == [[{"x": 1}], None, [{"x": 3}, {"x": 5}]]
    t = nd.array([["b", "a"], None, ["c"]])
    assert nd.sort(t).tolist() == [["a", "b"], None, ["c"]] and (t == "a").tolist() == [[False, True], None, [False]]


def test_fields_that_may_be_missing_of_structs_that_may_be():
    s = nd.array([[{"x": None, "y": "a"}, None, {"x": 1, "y": "b"}], []])
    assert s.x.tolist() == [[None, None, 1], []] and str(s.x.type) == "strided * var * ?int32"
    assert nd.array([[{"x": None}, None, {"x": 1}], None]).x.tolist() == [[None, None, 1], None]
    assert [part.tolist() for part in nd.unzip(s)] == [[[None, None, 1], []], [["a", None, "b"], []]]
    w = nd.array([None, {"x": 1}], type="2 * ?{x: ?int32}", access="rw")
    with pytest.raises(TypeError, match="^assign: the destination is read"):
        w["x"] = 5


def test_mask_of_rows():
    b = nd.array([[3.0, 1.0], [], [2.0]])
    masked = nd.mask(b, [True, None, False], axis=0)
    assert masked.tolist() == [[3.0, 1.0], None, None] and str(masked.type) == "strided * ?var * float64"
    assert nd.mask(b, nd.num(b) > 0, axis=0).max(axis=1).tolist() == [3.0, None, 2.0]
    assert nd.mask(masked, [False, True, True], axis=0).tolist() == [None, None, None]
    assert nd.mask(nd.array([[[1], [2, 3]], []]), nd.array([[True, False], []]), axis=1).tolist() == [[[1], None], []]
    own = np.array([True, True, True])
    masked = nd.mask(b, nd.asarray(own), axis=0)
    own[:] = False
    assert masked.tolist() == b.tolist()
    with pytest.raises(ValueError, match="^mask: sizes differ at axis 0: 3 and 1"):
        nd.mask(b, [True], axis=0)
    with pytest.raises(ValueError, match="^mask: a mask for axis 0 has 1 dimension"):
        nd.mask(b, b > 1, axis=0)


def changed(values, key, value, type=None):
    a = nd.array(values, type=type, access="rw")
    a[key] = value
    return a.tolist()


def test_assignment_inside_of_missing_rows():
    rows = [[1, 2], None, [3]]
    assert changed(rows, (slice(None), 0), 9) == [[9, 2], None, [9]]
    assert changed(rows, (slice(None), -1), [7, 8, 9]) == [[1, 7], None, [9]]
    assert changed(rows, (slice(None), slice(1)), 9) == [[9, 2], None, [9]]
    assert changed(rows, (0, 1), 9) == [[1, 9], None, [3]]
    assert changed(rows, (..., 0), 9) == [[9, 2], None, [9]]
    assert changed(rows, nd.array(rows) > 1, 0) == [[1, 0], None, [0]]
    assert changed(rows, nd.array([[1], None, [0]]), 0) == [[1, 0], None, [0]]
    with pytest.raises(TypeError, match="^assign: no selection of such a view can be assigned to"):
        changed([[[1, 2], None], None], (slice(None), slice(None), 0), 9)
    with pytest.raises(IndexError, match="out of bounds for axis 1 of row 2 with size 1"):
        changed(rows, (slice(None), 1), 9)
    with pytest.raises(IndexError, match="index 0 is out of bounds"):
        changed(rows, (1, 0), 9)
    a = nd.array(rows, access="rw")
    a += 1
    assert a.tolist() == [[2, 3], None, [4]]


def test_a_row_by_itself():
    a = nd.array([[1, 2], None])
    assert len(a[0]) == 2 and [x.tolist() for x in a[0]] == [1, 2]
    assert a[0].sum().tolist() == 3 and a[1].sum().tolist() is None
    assert (a[0] + a[0]).tolist() == [2, 4] and (a[0] + a[1]).tolist() is None
    for f in (len, list):
        with pytest.raises(TypeError, match="^len: the row is missing"):
            f(a[1])
