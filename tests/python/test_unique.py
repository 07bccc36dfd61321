"""Unique elements and ranks, against plain lists and NumPy; structs in the order of their fields."""

import itertools
import random

import numpy as np
import pytest
from dynd import nd
from hypothesis import given, settings
from ragged_values import map_rows, nested, rows_inside
from strategies import SOME, seeds
from test_order import drawn, rank


def key(x):
    """The same for elements that are one to unique and rank."""
    order = rank(x)
    return order[:2] if isinstance(x, float) else order


def value(x):
    return 0.0 if isinstance(x, float) and x == 0 else x


def groups(row, each_nan=False):
    """Lists of positions of equal elements, in the order of these; each NaN may be a group of its own."""
    order = sorted(range(len(row)), key=lambda i: key(row[i]))
    same = lambda i: (key(row[i]), i if each_nan and row[i] != row[i] else 0)  # noqa: E731
    return [list(g) for _, g in itertools.groupby(order, same)]


def flat(values, depth):
    return [x for row in rows_inside(values, depth) for x in row]


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_unique_against_lists(seed):
    rng, values, a, _ = drawn(seed)
    inner = a.ndim - 1
    different = lambda row, *each: [value(row[g[0]]) for g in groups(row, *each)]  # noqa: E731
    counts = lambda row: [len(g) for g in groups(row, True)]  # noqa: E731

    def places(row):
        found = [None] * len(row)
        for number, group in enumerate(groups(row, True)):
            for i in group:
                found[i] = number
        return found

    rows = rng.random() < 0.6
    whole = values if rows else flat(values, inner)
    depth, axis = (inner, -1) if rows else (0, None)
    expected = map_rows(whole, depth, different)
    found = nd.unique(a, axis=axis)
    assert repr(found.tolist()) == repr(expected) and found.type.dtype == a.type.dtype
    expected = map_rows(whole, depth, lambda row: different(row, True))  # as the standard has it
    found = nd.unique_counts(a, axis=axis)
    assert repr(found.values.tolist()) == repr(expected) and found.counts.tolist() == map_rows(whole, depth, counts)
    found = nd.unique_inverse(a, axis=axis)
    assert repr(found.values.tolist()) == repr(expected)
    inverse = found.inverse_indices if rows else nd.flatten(found.inverse_indices)
    assert inverse.tolist() == map_rows(whole, depth, places)
    assert nd.num(found.inverse_indices).tolist() == nd.num(a).tolist()


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_rank_against_lists(seed):
    rng, values, a, descending = drawn(seed)
    method = rng.choice(["average", "min", "max", "dense", "ordinal"])

    def ranks(row):
        first = [g for g in groups(row) if rank(row[g[0]])[0] == 0]
        nans = [g for g in groups(row) if rank(row[g[0]])[0] == 1]
        found, before = [None] * len(row), 0
        for number, group in enumerate((first[::-1] if descending else first) + nans):
            end = before + len(group)
            for i, position in enumerate(sorted(group)):
                found[position] = {
                    "average": (before + 1 + end) / 2, "min": before + 1, "max": end, "dense": number + 1, "ordinal": before + 1 + i
                }[method]  # fmt: skip
            before = end
        return found

    assert nd.rank(a, method=method, descending=descending).tolist() == map_rows(values, a.ndim - 1, ranks)


def struct_rows(rng):
    dims = [rng.randint(0, 4)] + [rng.choice(["var", 3]) for _ in range(rng.randint(0, 2))]
    dims = [rng.choice([40, 300])] if rng.random() < 0.3 else dims
    make = lambda rng: {  # noqa: E731
        "x": rng.choice([None, 1, 2, 3]),
        "y": rng.choice([0.5, -1.0, float("nan")]),
        "n": rng.choice(["", "abcdefghi", "abcdefghj", "b"]),
        "-x": rng.randint(0, 2),
    }
    values = nested(rng, dims, make)
    return values, nd.array(values, type=" * ".join(map(str, dims)) + ' * {x: ?int16, y: float64, n: string, "-x": uint8}')


def in_order(row, by, descending):
    """Positions, by stable sorts from the last field to the first."""
    order = list(range(len(row)))
    for name in reversed(by):
        reverse = False
        if row and name not in row[0]:
            name, reverse = name[1:], True
        reverse ^= descending
        groups = [[i for i in order if rank(row[i][name])[0] == g] for g in range(3)]
        groups[0].sort(key=lambda i: rank(row[i][name]), reverse=reverse)
        order = sum(groups, [])
    return order


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_structs_against_lists(seed):
    rng = random.Random(seed)
    values, a = struct_rows(rng)
    by = rng.choice([(), ["x"], ["x", "-y"], ["-n", "x"], ["y", "n", "x"], ["-x", "-n"], "n"])
    names = ["x", "y", "n", "-x"] if not by else [by] if isinstance(by, str) else by
    descending = rng.random() < 0.5
    inner = a.ndim - 1
    order = map_rows(values, inner, lambda row: in_order(row, names, descending))
    ordered = map_rows(values, inner, lambda row: [row[i] for i in in_order(row, names, descending)])
    assert nd.argsort(a, by=by, descending=descending).tolist() == order
    found = nd.sort(a, by=by, descending=descending)
    assert repr(found.tolist()) == repr(ordered)
    assert nd.all(nd.is_sorted(found, by=by, descending=descending)).tolist()
    largest = map_rows(values, inner, lambda row: [row[i] for i in in_order(row, names, True)])
    k = min([2] + [len(row) for row in rows_inside(values, inner)])
    assert repr(nd.top_k(a, k, by=by).tolist()) == repr(map_rows(largest, inner, lambda row: row[:k]))


def test_unique_structs_and_tuples():
    a = nd.array([(2, "b"), (1, "c"), (2, "b"), (1, "a")], type="(int32, string)")
    assert nd.unique(a).tolist() == [(1, "a"), (1, "c"), (2, "b")]
    values, inverse = nd.unique_inverse(nd.array([{"x": 1, "y": None}, {"x": 1, "y": 2}, {"x": 1, "y": None}]))
    assert values.tolist() == [{"x": 1, "y": 2}, {"x": 1, "y": None}] and inverse.tolist() == [1, 0, 1]


def test_structs_that_may_be_missing():
    """They are last, after those whose fields are all missing."""
    row = [{"x": 2, "y": None}, None, {"x": 1, "y": "b"}, {"x": None, "y": None}, None, {"x": 1, "y": "a"}]
    a = nd.array(row)
    assert nd.argsort(a).tolist() == [5, 2, 0, 3, 1, 4] and nd.sort(a).tolist() == [row[i] for i in (5, 2, 0, 3, 1, 4)]
    assert nd.argsort(a, descending=True).tolist() == [0, 2, 5, 3, 1, 4]
    assert nd.argsort(a, by=["-x", "y"]).tolist() == [0, 5, 2, 3, 1, 4]
    assert nd.is_sorted(nd.sort(a)).tolist() and not nd.is_sorted(a).tolist()
    assert nd.rank(a, method="dense").tolist() == [3, None, 2, 4, None, 1]
    assert nd.top_k(a, 1).tolist() == [row[0]] and nd.max(a).tolist() == row[0] and nd.argmin(a).tolist() == 5
    values, counts = nd.unique_counts(a)
    assert values.tolist() == [row[i] for i in (5, 2, 0, 3, 1)] and counts.tolist() == [1, 1, 1, 1, 2]
    assert nd.unique(a).tolist() == values.tolist() and nd.unique_inverse(a).inverse_indices.tolist() == [2, 4, 1, 3, 4, 0]
    rows = nd.array([[{"x": 2}, None, {"x": 1}], [], [None, None]])
    assert nd.sort(rows).tolist() == [[{"x": 1}, {"x": 2}, None], [], [None, None]]
    assert nd.unique(rows, axis=1).tolist() == [[{"x": 1}, {"x": 2}, None], [], [None]]
    inside = nd.array([{"p": {"x": 2}, "q": 1}, {"p": None, "q": 0}, {"p": {"x": 1}, "q": 5}])
    assert nd.argsort(inside).tolist() == [2, 0, 1]
    assert nd.searchsorted(nd.sort(a), a).tolist() == [2, 4, 1, 3, 4, 0]


def test_other_axes_and_shapes():
    x = np.array([[3, 1], [3, 2], [1, 2]])
    assert nd.unique(x, axis=0).tolist() == [[1, 3], [1, 2]]
    assert nd.unique_inverse(x, axis=0).inverse_indices.tolist() == [[1, 0], [1, 1], [0, 1]]
    assert nd.unique_inverse(x).inverse_indices.tolist() == np.unique(x, return_inverse=True)[1].tolist()
    assert nd.unique(7).tolist() == [7] and nd.unique_inverse(7).inverse_indices.tolist() == 0
    assert nd.rank(x, axis=0, method="min").tolist() == [[2, 1], [2, 2], [1, 2]]
    assert nd.unique(nd.array([], type="0 * float64")).tolist() == []


def test_long_rows_lazy_operands_and_threads():
    rng = np.random.default_rng(3)
    x = rng.integers(-1000, 1000, 300_000) / 4
    x[::999] = np.nan
    expected, places, counts = np.unique(2 * x, return_inverse=True, return_counts=True)
    each = {"return_inverse": True, "return_counts": True, "equal_nan": False}
    _, places_of_each, counts_of_each = np.unique(2 * x, **each)
    before = nd.num_threads()
    try:
        for threads in (1, 2):
            nd.set_num_threads(threads)
            a = nd.array(x) * 2
            assert np.array_equal(nd.unique(a), expected, equal_nan=True)
            assert np.array_equal(nd.unique_counts(a).counts, counts_of_each)
            numbers = ~np.isnan(x)  # whichever NaN is which
            found = np.asarray(nd.unique_inverse(a).inverse_indices)
            assert np.array_equal(found[numbers], places_of_each[numbers]) and set(found) == set(places_of_each)
            ranks = np.cumsum(counts)[places]
            assert np.array_equal(nd.rank(a, method="max"), ranks)
    finally:
        nd.set_num_threads(before)


def test_all_elements_by_a_table_of_the_different_ones():
    """Texts, structs, narrow numbers and options: what is sorted is only what differs."""
    rng = random.Random(5)
    draws = {
        "string": lambda: rng.choice(["", "b", "a", "a text of more than sixteen bytes", "eight by", "nine byte"]),
        "bytes": lambda: rng.choice([b"", b"b", b"a\0", b"a"]),
        "int8": lambda: rng.randint(-128, 127),
        "?int64": lambda: rng.choice([None, 3, -(2**63), 2**63 - 1]),
        "bool": lambda: rng.random() < 0.5,
        "{x: int8, y: string}": lambda: {"x": rng.randint(0, 3), "y": rng.choice(["", "q", "p"])},
    }
    for element, draw in draws.items():
        row = [draw() for _ in range(3000)]
        a = nd.array(row, type=f"strided * {element}")
        positions = [g for g in groups([tuple(x.values()) if isinstance(x, dict) else x for x in row])]
        expected, counts = [row[g[0]] for g in positions], [len(g) for g in positions]
        assert nd.unique(a).tolist() == expected and nd.unique(a).type.dtype == a.type.dtype
        assert [part.tolist() for part in nd.unique_counts(a[::-1])] == [expected, counts]
        values, inverse = nd.unique_inverse(a)
        assert nd.take(values, inverse).tolist() == row and values.tolist() == expected
    zeros = nd.unique(nd.array([{"x": -0.0}, {"x": 0.0}, {"x": float("nan")}, {"x": float("nan")}]))
    assert repr(zeros.tolist()) == "[{'x': 0.0}, {'x': nan}]"


def test_bad_input():
    for f in (nd.unique, nd.unique_counts, nd.unique_inverse, nd.rank):
        with pytest.raises(TypeError, match="elements of type complex128 have no order"):
            f([1j])
        with pytest.raises(IndexError):
            f([1, 2], axis=1)
    with pytest.raises(TypeError, match="rank: elements of type complex128 have no order"):
        nd.rank(nd.array([None], type="1 * ?{x: complex128}"))
    with pytest.raises(TypeError, match=r"sort: elements of type var \* int32 have no order"):
        nd.sort(nd.array([{"x": [1]}]))
    with pytest.raises(ValueError, match="rank: method must be one of average, min, max, dense, ordinal, not 'up'"):
        nd.rank([1], method="up")
    with pytest.raises(IndexError, match=r"sort: no field y to order by in \{x: int32\}"):
        nd.sort([{"x": 1}], by=["x", "-y"])
    with pytest.raises(TypeError, match="argsort: only structs are ordered by fields, not int32"):
        nd.argsort([1], by="x")


def test_one_zero_and_native_numbers_along_an_axis_too():
    """Of the fields of structs, of either byte order: as all elements at once give it."""
    def text(a):
        return repr(a.tolist()), str(a.dtype)

    def ways(a):
        yield nd.unique(a, axis=1)
        yield nd.unique_counts(a, axis=1).values
        yield nd.unique_inverse(a, axis=1).values

    structs = nd.array([(-0.0, (1, -0.0)), (0.0, (1, 0.0))], type="strided * {x: float64, y: (int8, float32)}")
    missing = nd.array([{"x": -0.0}, None], type="strided * ?{x: ?float32}")
    for one in (structs, missing, nd.asarray(np.array([-0.0, 0.0], ">f8")), nd.asarray(np.array([3, 1, 3], ">i4"))):
        all_at_once = text(nd.unique(one))
        assert "-0.0" not in all_at_once[0] and "byteswap" not in all_at_once[1]
        for found in ways(nd.unflatten(one, [len(one)])):
            assert text(found[0]) == all_at_once
    swapped = nd.asarray(np.array([(-0.0, 2)], [("a", ">f4"), ("b", ">i2")]))
    for found in ways(nd.unflatten(swapped, [1])):
        assert text(found[0]) == ("[{'a': 0.0, 'b': 2}]", "{a: float32, b: int16}")


@pytest.mark.parametrize("largest", [900, 40_000])
@pytest.mark.parametrize("rare", [None, 33_000, 100_000])
def test_many_keys_of_a_small_range_and_a_rare_one(largest, rare):
    keys = np.random.default_rng(3).integers(0, largest, 200_000)
    if rare is not None:
        keys[123] = rare  # hardly in a sample
    expected, counts = np.unique(keys, return_counts=True)
    groups = nd.groupby(nd.array(np.ones(len(keys))), by=nd.array(keys))
    assert groups.keys.tolist() == expected.tolist()
    assert groups.sum(axis=1).tolist() == counts.tolist()


@pytest.mark.parametrize("size", [1, 7, 8, 9, 15, 16, 17, 18, 23, 24, 25, 26, 33, 40])
def test_texts_that_differ_in_one_byte(size):
    """Wherever that is: among so many of them some have the same place in the table."""
    letters = [chr(c) for c in range(33, 127)]
    for at in range(size):
        texts = [f"{'x' * at}{letter}{'y' * (size - at - 1)}" for letter in letters]
        twice = nd.array(texts[::-1] + texts)
        for a in (twice, nd.array(twice, type="bytes")):
            found = nd.unique_counts(a)
            assert nd.array(found.values, type="string").tolist() == texts and found.counts.tolist() == [2] * len(texts)


@pytest.mark.parametrize("n", [140_000, 1 << 18])
def test_groups_that_end_or_go_on_where_a_part_begins(n):
    """Threads share a long row: the first element of a part is compared with the last one of the part before."""
    begins = {*range(1 << 15, n, 1 << 15), *(n * part // parts for parts in range(2, 9) for part in range(1, parts))}
    for ends in (begins, {at + 1 for at in begins}, {at - 1 for at in begins}, {n // 3}):
        values = np.cumsum(np.isin(np.arange(n), list(ends))) * 0.5
        different, counts = np.unique(values, return_counts=True)
        a = nd.array(values)
        for a in (a, a.astype("float32"), nd.mask(a, nd.array(np.ones(n, bool)))):
            found = nd.unique_counts(a)
            assert (found.values.tolist(), found.counts.tolist()) == (different.tolist(), counts.tolist())
            assert nd.run_lengths(a).tolist() == counts.tolist()
