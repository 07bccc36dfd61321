"""Masks and indices of arrays large enough for several threads and lazy operands, and of one row: against NumPy."""

import itertools
import os
import subprocess
import sys

import awkward as ak
import numpy as np
import pytest
from dynd import nd


@pytest.mark.parametrize("scalar", ["u1", "i2", "f4", "f8", "c16"])
def test_large_masks_and_indices(threads, scalar):
    rng = np.random.default_rng(1)
    n = 700_000
    v = rng.integers(-100, 100, n).astype("i1").astype(scalar)
    a = nd.array(v)
    for share in (0.0, 0.02, 0.5, 1.0):
        mask = rng.random(n) < share
        mask[:1000] = share > 0.3  # whole words
        assert np.array_equal(np.asarray(a[mask]), v[mask])
        assert np.array_equal(np.asarray(a[::-3][mask[::-3]]), v[::-3][mask[::-3]])
    index = rng.integers(-n, n, n)
    assert np.array_equal(np.asarray(a[index]), v[index])


STREAMED = """
import numpy as np
from dynd import nd
rng = np.random.default_rng(6)
for kind in ("i1", "i2", "f4", "f8", "c16"):
    for count in (1, 63, 64, 65, 777, 5000, 300_001):
        x = rng.integers(0, 100, count).astype(kind)
        runs = rng.random(count) < np.repeat([1, 0.5, 0, 0.1], -(-count // 4))[:count]  # whole words, and none
        for mask in (runs, runs[::-1].copy(), np.arange(count) == count - 1, np.zeros(count, bool)):
            for threads in (1, 2):
                nd.set_num_threads(threads)
                assert np.array_equal(np.asarray(nd.array(x)[nd.array(mask)]), x[mask]), (kind, count, threads)
"""


def test_masks_with_streaming_stores():
    """As for arrays that are larger than a cache, of any size."""
    subprocess.run([sys.executable, "-c", STREAMED], check=True, env=os.environ | {"DYND_STREAM_BYTES": "0"})


def test_large_ragged(threads):
    rng = np.random.default_rng(2)
    counts = rng.poisson(4, 200_000)
    x = ak.unflatten(rng.normal(size=counts.sum()), counts)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    ours = nd.from_offsets(offsets, nd.array(np.asarray(ak.flatten(x))))
    kept = ours[ours > 0]
    expected = x[x > 0]
    assert np.array_equal(np.asarray(nd.count(kept, axis=1)), np.asarray(ak.num(expected)))
    assert kept[:5000].tolist() == expected[:5000].tolist()
    largest = np.asarray(ours.max(axis=1, where=ours > 0, initial=0))
    assert np.array_equal(np.asarray(kept.max(axis=1, initial=0)), largest)
    order = rng.permutation(200_000)
    assert ours[order][-3000:].tolist() == x[order][-3000:].tolist()
    words = nd.from_offsets(offsets, nd.array([str(i % 1000) for i in range(int(counts.sum()))]))
    few = words[ours > 1.5]
    assert few[:5000].tolist() == [[w for w, k in zip(r, m) if k] for r, m in zip(words[:5000].tolist(), (x > 1.5)[:5000].tolist())]


@pytest.mark.parametrize("threads", [1, 2])
def test_columns_of_many_rows(threads):
    before = nd.num_threads()
    nd.set_num_threads(threads)
    try:
        x = np.random.default_rng(4).normal(size=(3000, 7, 30))
        a = nd.array(x)
        several = np.array([0, 6, -1, 3]), np.array([29, -30, 2, 0])
        for index in [(slice(None), [2, 0, -1]), (slice(None), []), (slice(None), *several), (slice(None), x[0, :, 0] > 0),
                      (slice(None, None, -2), slice(1, 4), [5, -7]), (slice(None), [[0, 1], [-1, 3]]), (slice(0, 0), [1])]:
            assert np.array_equal(np.asarray(a[index]), x[index])
        missing = nd.array([0, None, -1])
        assert a[:, missing][2999, 2].tolist() == x[2999, -1].tolist() and nd.is_missing(a[:, missing])[2999, 1].tolist()
        with pytest.raises(IndexError, match="index 7 is out of bounds for axis 1 with size 7"):
            a[:, [0, 7]]
    finally:
        nd.set_num_threads(before)


@pytest.mark.parametrize("element", ["float64", "?int16", "{x: int8, y: float64}"])
def test_whole_elements_with_gaps_inside(element):
    """Assigned through an index or a mask: one for all places, one for each, and a number, in every layout of them."""
    scalar = {"float64": "f8", "?int16": "i2"}.get(element, [("x", "i1"), ("y", "f8")])
    every = [slice(None), slice(None, None, 2), slice(None, None, -1), slice(1, 3)]
    for gaps in itertools.product(every, repeat=3):
        plain, ours = np.zeros((4, 6, 4), scalar), nd.zeros((4, 6, 4), element, access="rw")
        count, *inside = plain[gaps].shape
        for step, index in enumerate([np.array([2, 0]) % count, np.array([-1]), np.arange(count) != 1]):
            places = len(plain[gaps][index])
            for size in [inside, (places, *inside), (places, 1, inside[1]), ()]:
                value = np.array((np.arange(np.prod(size, dtype=int)).reshape(size) % 50 + 10 * step).astype(scalar))
                plain[gaps][index] = value
                ours[gaps][index] = nd.asarray(value)
        assert ours.tolist() == nd.array(plain).tolist(), gaps


@pytest.mark.parametrize("scalar", ["i1", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("places", [1, 3, 5, 7, 100, 70_001])
def test_places_of_rows_that_no_piece_ends_with(places, scalar, threads):
    """Pieces of the work begin inside of rows: that many places divide no power of two."""
    width, rows = max(9, min(places, 200)), 150_000 // places + 2
    x = np.random.default_rng(places).integers(-100, 100, (rows, width)).astype("i1").astype(scalar)
    index = np.random.default_rng(1).integers(-width, width, places)
    a = nd.array(x)
    assert np.array_equal(np.asarray(a[:, index]), x[:, index])
    assert np.array_equal(np.asarray(nd.take(a, index, axis=1)), x[:, index])
    assert np.array_equal(np.asarray(a[1:, ::-1][:, index]), x[1:, ::-1][:, index])
    assert np.array_equal(np.asarray(a[:, index[:1]]), x[:, index[:1]])
    written = nd.array(x, access="rw")
    written[:, index] = 101
    x[:, index] = 101
    assert np.array_equal(np.asarray(written), x)


def test_masks_and_indices_of_one_row():
    rows, deep = [[1, 2, 3], [4], []], [[[1, 2]], [[3, 4], [5, 6, 7]]]
    for i in (0, 1, -1, -3):
        for mask in ([x % 2 == 1 for x in rows[i]], [True] * len(rows[i]), [False] * len(rows[i])):
            by = nd.array(mask, type=f"{len(mask)} * bool")
            assert nd.array(rows)[i, by].tolist() == [x for x, m in zip(rows[i], mask) if m]
            a, expected = nd.array(rows, access="rw"), [list(row) for row in rows]
            a[i, by] = 9
            expected[i] = [9 if m else x for x, m in zip(rows[i], mask)]
            assert a.tolist() == expected
    mask = nd.array([[True, False], [False, True, True]])
    assert nd.array(deep)[1, mask].tolist() == nd.array(deep)[1][mask].tolist() == [[3], [6, 7]]
    assert nd.array(deep)[1, 0, nd.array([False, True])].tolist() == [4]
    index = nd.array([[1, 1], [-1]])
    assert nd.array(deep)[1, index].tolist() == nd.array(deep)[1][index].tolist() == [[4, 4], [7]]
    a = nd.array(deep, access="rw")
    a[1, mask] = 0
    assert a.tolist() == [[[1, 2]], [[0, 4], [5, 0, 0]]]
    with pytest.raises(IndexError):
        nd.array(rows)[0, nd.array([True])]
    with pytest.raises(IndexError):
        nd.array(rows)[3, nd.array([True])]


@pytest.mark.parametrize("dims", ["var * var", "3 * var"])
@pytest.mark.parametrize("element", ["float64", "?float64", "?string"])
def test_masks_of_parts_of_rows_in_one_row(dims, element):
    """Rows that do not follow each other, inside of a dimension that is a row itself."""
    rows = [[1.0, 2.0, 3.0], [], [4.0]] if "float" in element else [["a", "b", "c"], [], ["d"]]
    a = nd.array(rows, type=f"{dims} * {element}")
    for part in (np.s_[:, 1:], np.s_[:, ::-1], np.s_[:, ::2], np.s_[:, 5:]):
        kept = [row[part[1]] for row in rows]
        assert nd.mask(a[part], True).tolist() == kept
        assert nd.mask(a[part], nd.equal(a[part], a[part])).tolist() == kept
        assert nd.broadcast_arrays(a[part], nd.equal(a[part], a[part]))[0].tolist() == kept
        assert nd.zip([a[part], a[part]]).tolist() == [[(x, x) for x in row] for row in kept]


def test_isin_of_structs():
    a = nd.array([[{"x": 1, "s": "a"}, {"x": 2, "s": "b"}], [], [{"x": 1, "s": "b"}, None]])
    among = nd.array([{"x": 1, "s": "b"}, {"x": 2, "s": "b"}, {"x": 2, "s": "b"}, None])
    assert nd.isin(a, among).tolist() == [[False, True], [], [True, None]]
    assert nd.isin(a, among, invert=True).tolist() == [[True, False], [], [False, None]]
    assert nd.isin(a[::-1], among[:0]).tolist() == [[False, None], [], [False, False]]
    assert nd.isin(nd.array({"x": 1, "s": "b"}), among).tolist() is True
    nan = float("nan")
    b = nd.array([{"x": nan}, {"x": 0.0}, {"x": 1.0}])
    assert nd.isin(b, b).tolist() == [False, True, True]  # as equal says
    assert nd.isin(b, nd.array([{"x": -0.0}, {"x": nan}])).tolist() == [False, True, False]
    assert nd.isin(nd.array([{"x": 1}, {"x": 2}]), b).tolist() == [True, False]  # as one type
    missing = nd.array([{"x": None}, {"x": 1}])
    assert nd.isin(missing, missing[:1]).tolist() == [True, False]  # missing is equal to missing inside
    for other in (nd.array([{"y": 1}]), nd.array([1]), nd.array(["a"])):
        with pytest.raises(TypeError, match="^isin: .* among .*: only numbers, texts, bytes and structs"):
            nd.isin(b, other)
