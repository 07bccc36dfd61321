"""Functions of order, against NumPy and plain lists: every kind of number and text, NaN, signed zeros, missing values."""

import bisect
import math
import random

import dynd._order
import numpy as np
import pytest
from documents import readme_section, run_examples
from dynd import nd
from hypothesis import given, settings
from ragged_values import map_rows, nested
from strategies import SOME, random_values, seeds

NUMBERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("name", dynd._order.__all__)
def test_the_examples_of_the_documentation(name):
    run_examples(getattr(nd, name).__doc__, {"nd": nd})


def test_the_examples_of_the_readme():
    run_examples(readme_section("Order and distribution"), {}, least=10)


def rank(x):
    """A tuple in the order of the elements."""
    if x is None:
        return (2,)
    if isinstance(x, float):
        return (1,) if math.isnan(x) else (0, x, math.copysign(1, x))
    return (0, x.encode() if isinstance(x, str) else x)


def positions(row, descending):
    last = [i for group in (1, 2) for i, x in enumerate(row) if rank(x)[0] == group]
    first = [i for i, x in enumerate(row) if rank(x)[0] == 0]
    first.sort(key=lambda i: rank(row[i]), reverse=descending)  # with reverse, too, equal ones keep their order
    return first + last


def drawn(seed):
    rng = random.Random(seed)
    element = rng.choice(NUMBERS + ["string", "bytes"])
    missing = rng.random() < 0.4

    def make(rng):
        if missing and rng.random() < 0.3:
            return None
        if element == "string":
            return rng.choice(["", "a", "ab", "abcdefgh", "abcdefghi", "abcdefgha", "ä", "abcdefgh\0", "Z"])
        if element == "bytes":
            return rng.choice([b"", b"\0", b"a", b"\xff", b"abcdefgh\0", b"abcdefgh"])
        return random_values(rng, element, 1)[0]

    dims = [rng.randint(0, 4)] + [rng.choice(["var", "var", 2, 3]) for _ in range(rng.randint(0, 2))]
    if rng.random() < 0.3:
        dims = [rng.choice([30, 400])]  # the loops of longer rows
    values = nested(rng, dims, make)
    a = in_some_layout(rng, values, dims, "?" * missing + element, make)
    return rng, values, a, rng.random() < 0.5


def in_some_layout(rng, values, dims, element, make):
    """The array, or the same elements with others between them, backwards, or behind others."""
    layout = rng.choice(["plain", "plain", "every second", "backwards", "sliced"])
    if layout == "every second":  # along the last axis, in rows too
        values = map_rows(values, len(dims) - 1, lambda row: [x for own in row for x in (own, make(rng))])
        dims = [*dims[:-1], dims[-1] if dims[-1] == "var" else 2 * dims[-1]]
    elif layout == "backwards":
        values = values[::-1]
    elif layout == "sliced":
        values = [*nested(rng, [2, *dims[1:]], make), *values]
        dims = [dims[0] + 2, *dims[1:]]
    a = nd.array(values, type=" * ".join(map(str, dims)) + " * " + element)
    return a[..., ::2] if layout == "every second" else a[::-1] if layout == "backwards" else a[2:] if layout == "sliced" else a


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_rows_against_lists(seed):
    rng, values, a, descending = drawn(seed)
    inner = a.ndim - 1
    order = map_rows(values, inner, lambda row: positions(row, descending))
    expected = map_rows(values, inner, lambda row: [row[i] for i in positions(row, descending)])
    found = nd.sort(a, descending=descending)
    assert repr(found.tolist()) == repr(expected) and found.type.dtype == a.type.dtype
    assert nd.argsort(a, descending=descending).tolist() == order
    sorted_ = map_rows(order, inner, lambda row: True)
    assert nd.is_sorted(found, descending=descending).tolist() == sorted_
    already = map_rows(values, inner, lambda row: [rank(row[i]) for i in positions(row, descending)] == list(map(rank, row)))
    assert nd.is_sorted(a, descending=descending).tolist() == already


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_top_k_against_lists(seed):
    rng, values, a, _ = drawn(seed)
    k = rng.randint(0, 3)
    if k > a.shape[0] and a.ndim == 1 or any(s is not None and s >= 0 and s < k for s in a.shape[-1:] if isinstance(s, int)):
        with pytest.raises(ValueError, match="top_k: k is"):
            nd.top_k(a, k)
        return
    expected = map_rows(values, a.ndim - 1, lambda row: [row[i] for i in positions(row, True)][:k])
    assert repr(nd.top_k(a, k).tolist()) == repr(expected)


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_any_axis_against_numpy(seed):
    rng = random.Random(seed)
    shape = [rng.randint(0, 4) for _ in range(rng.randint(1, 3))]
    x = np.array([rng.randint(-3, 3) for _ in range(math.prod(shape))], "int64").reshape(shape)
    x = x.T if rng.random() < 0.3 else x
    axis = rng.randrange(-x.ndim, x.ndim)
    assert np.array_equal(np.asarray(nd.sort(nd.asarray(x), axis)), np.sort(x, axis))
    assert np.array_equal(np.asarray(nd.argsort(nd.asarray(x), axis)), np.argsort(x, axis, kind="stable"))


def test_structs_whose_first_field_is_missing_are_ordered_by_the_next():
    a = nd.array([{"a": None, "b": 3}, {"a": 1, "b": 2}, {"a": None, "b": 1}, {"a": None, "b": None}, {"a": 0, "b": 5}])
    assert nd.argsort(a).tolist() == [4, 1, 2, 0, 3]
    assert nd.argsort(a, by=["a", "-b"]).tolist() == [4, 1, 0, 2, 3]
    many = [{"a": None if i % 3 else i % 7, "b": str(i * 37 % 100)} for i in range(300)]
    order = sorted(range(300), key=lambda i: (many[i]["a"] is None, many[i]["a"] or 0, many[i]["b"]))
    assert nd.argsort(nd.array(many)).tolist() == order


def test_an_axis_outside_of_rows():
    a = nd.array([[["b", "x"], ["c"]], [["a", "y"], ["a"]]])
    assert nd.sort(a, axis=0).tolist() == [[["a", "x"], ["a"]], [["b", "y"], ["c"]]]
    assert nd.argsort(a, axis=0).tolist() == [[[1, 0], [1]], [[0, 1], [0]]]
    assert nd.is_sorted(a, axis=0).tolist() == [[False, True], [False]]
    with pytest.raises(ValueError, match="sort: rows along axis 0 must be equally long below it: lengths 2 and 1 of rows 0 and 1"):
        nd.sort([[1, 2], [3]], axis=0)


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_searchsorted_against_numpy(seed):
    rng = random.Random(seed)
    scalar, other = rng.choice(NUMBERS[1:]), rng.choice(NUMBERS[1:])
    x = np.sort(np.array(random_values(rng, scalar, rng.randint(0, 9)), scalar))
    v = np.array(random_values(rng, other, rng.randint(0, 9)), other)
    if {scalar, other} & {"uint64", "int64"} and scalar != other or "float16" in (scalar, other) and scalar != other:
        v = v.astype(scalar) if np.can_cast(other, scalar) else x.copy()
    for side in ("left", "right"):
        found = nd.searchsorted(nd.array(x), nd.array(v), side)
        assert np.array_equal(np.asarray(found), np.searchsorted(x, v, side))


def texts_alike(case, n):
    """Texts that are equal in their first bytes, some of them in all but the last ones."""
    rng = random.Random(case)
    if case == "numbered":
        return [f"key {rng.randrange(2 * n):08}" for _ in range(n)]
    if case == "long beginnings":
        return ["ab" * rng.choice((3, 50, 51)) + str(rng.randrange(n)) for _ in range(n)]
    if case == "zeros and ends":
        return ["12345678" + "\0" * rng.randrange(20) + "a" * rng.randrange(2) for _ in range(n)]
    if case == "each longer":
        return ["x" * rng.randrange(400) for _ in range(n)]
    return [rng.choice(("the same text as all others", "the same text as all others.")) for _ in range(n)]


@pytest.mark.parametrize("case", ["numbered", "long beginnings", "zeros and ends", "each longer", "two"])
@pytest.mark.parametrize("n", [25, 3000, 140_000])
def test_texts_that_begin_alike(case, n):
    texts = texts_alike(case, n)
    other = [i % 3 for i in range(n)]
    before = nd.num_threads()
    try:
        for threads in (1, 2):
            nd.set_num_threads(threads)
            for descending in (False, True):
                assert nd.argsort(nd.array(texts), descending=descending).tolist() == positions(texts, descending)
            both = nd.argsort(nd.zip({"t": nd.array(texts), "n": nd.array(other)})).tolist()
            assert both == sorted(range(n), key=lambda i: (texts[i], other[i]))
    finally:
        nd.set_num_threads(before)


def test_large_rows_and_threads():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(300_000)
    x[::1000] = np.nan
    far = rng.integers(-(2**62), 2**62, 300_000)
    far[:200_000:2] = far[0] + rng.integers(0, 50, 100_000)  # they differ in their lowest bits only
    far[1:200_000:2] = far[rng.integers(200_000, 300_000, 100_000)] + rng.integers(0, 2, 100_000)
    lengths = rng.poisson(7, 40_000)
    v = rng.integers(-5, 5, lengths.sum())
    rows = nd.unflatten(nd.array(v), nd.array(lengths))
    expected = v[np.lexsort((v, np.repeat(np.arange(40_000), lengths)))]
    before = nd.num_threads()
    try:
        for threads in (1, 2):
            nd.set_num_threads(threads)
            assert np.array_equal(np.asarray(nd.sort(nd.array(x))), np.sort(x), equal_nan=True)
            assert np.array_equal(np.asarray(nd.argsort(nd.array(x))), np.argsort(x, kind="stable"))
            assert np.array_equal(np.asarray(nd.argsort(nd.array(far))), np.argsort(far, kind="stable"))
            assert np.array_equal(np.asarray(nd.flatten(nd.sort(rows))), expected)
    finally:
        nd.set_num_threads(before)


def test_bad_input():
    for f in (nd.sort, nd.argsort, nd.is_sorted):
        with pytest.raises(TypeError, match="elements of type complex128 have no order"):
            f([1j])
        with pytest.raises(IndexError):
            f([1, 2], axis=1)
    with pytest.raises(ValueError, match="top_k: k is 3, but axis 0 has size 2"):
        nd.top_k([1, 2], 3)
    with pytest.raises(ValueError, match="top_k: k is negative: -1"):
        nd.top_k([1, 2], -1)
    with pytest.raises(ValueError, match="side must be 'left' or 'right', not 'up'"):
        nd.searchsorted([1, 2], [1], side="up")
    with pytest.raises(ValueError, match="searchsorted: sizes differ at axis 0: 2 and 1"):
        nd.searchsorted([[1], [2, 3]], [[1]])
    for deep in ([[[1, 2]], [[3, 4], [5, 6]]], [[[1, 2], [3, 4], [5, 6]]]):  # as many rows, but in other ones
        with pytest.raises(ValueError, match="searchsorted: row 0 has 2 and 1 elements|searchsorted: sizes differ at axis 0: 2 and 1"):
            nd.searchsorted([[[1, 2], [3, 4]], [[5, 6]]], deep)


def test_searchsorted_of_structs():
    rng = random.Random(2)
    row = sorted((rng.randint(0, 4), rng.choice("abc")) for _ in range(200))
    values = [(rng.randint(-1, 5), rng.choice("abcd")) for _ in range(100)]
    a, v = (nd.array(x, type="strided * (int32, string)") for x in (row, values))
    assert nd.searchsorted(a, v).tolist() == [bisect.bisect_left(row, x) for x in values]
    assert nd.searchsorted(a, v, side="right").tolist() == [bisect.bisect_right(row, x) for x in values]
    with pytest.raises(TypeError, match=r"searchsorted: \{x: float64\} in strided \* \{x: int32\}"):
        nd.searchsorted([{"x": 1}], [{"x": 1.5}])
    with pytest.raises(TypeError, match="searchsorted: one value is no sorted array: int32"):
        nd.searchsorted(5, [1])


def test_searchsorted_of_signed_and_unsigned_is_exact():
    big = 2**62
    unsigned = nd.array(np.array([big, big + 1, big + 2], np.uint64))
    assert nd.searchsorted(unsigned, [big + 2, 0, big]).tolist() == [2, 0, 0]
    assert nd.searchsorted(unsigned, [-1, big + 1], side="right").tolist() == [0, 2]
    assert nd.searchsorted([-5, big, big + 1], np.array([0, big + 1], np.uint64)).tolist() == [1, 2]
    high = nd.array(np.array([2**63, 2**63 + 1], np.uint64))
    assert nd.searchsorted(high, [3]).tolist() == [0]
    with pytest.raises((ValueError, OverflowError), match="searchsorted: "):
        nd.searchsorted(high, [-1])
    with pytest.raises((ValueError, OverflowError), match="searchsorted: "):
        nd.searchsorted([2**53 + 1], [0.5])
    assert nd.searchsorted([1, 2, 2**53], [1.5, float(2**53)]).tolist() == [1, 2]


@pytest.mark.parametrize("threads", [1, 2])
def test_positions_of_few_different_keys(threads):
    """They are counted to their places; equal ones stay in their order, whichever thread takes them."""
    rng = np.random.default_rng(11)
    before = nd.num_threads()
    nd.set_num_threads(threads)
    try:
        for count in (100, 5000, 300_000):
            for keys in (rng.integers(-128, 128, count).astype("int8"), rng.integers(0, 2, count) > 0,
                         rng.integers(2**40, 2**40 + count // 4 + 2, count)):
                a = nd.array(keys)
                assert np.array_equal(nd.argsort(a), np.argsort(keys, kind="stable"))
                fallen = np.argsort(-keys.astype("int64"), kind="stable")
                assert np.array_equal(nd.argsort(a, descending=True), fallen)
                pairs = nd.zip({"k": a, "v": -nd.arange(count)})
                assert np.array_equal(nd.argsort(pairs), np.lexsort((-np.arange(count), keys)))
                there = rng.random(count) < 0.9
                missing = np.argsort(np.where(there, keys.astype("int64"), 2**62), kind="stable")
                assert np.array_equal(nd.argsort(nd.mask(a, nd.array(there))), missing)
    finally:
        nd.set_num_threads(before)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_along_any_axis_without_elements(axis):
    for a in (nd.zeros((2, 0, 3)), nd.zeros((0, 2, 3)), nd.array([[[], []], []], type="2 * var * var * int32")[1:]):
        for f in (nd.sort, nd.argsort, nd.rank):
            assert f(a, axis=axis).tolist() == a.tolist()
    rows = nd.array([[[], []], [[], []]], type="2 * var * var * int32")
    assert nd.sort(rows, axis=axis).tolist() == nd.argsort(rows, axis=axis).tolist() == rows.tolist()


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_along_any_axis_of_any_layout(axis):
    """The same values whatever the order of the axes in memory is; the result is an array of its own."""
    values = np.random.default_rng(3).integers(0, 9, (4, 5, 6)).astype("f8")
    for a in (values, values.transpose(2, 0, 1).copy().transpose(1, 2, 0), values[::-1, :, ::2]):
        given = nd.asarray(a)
        assert np.array_equal(nd.sort(given, axis=axis), np.sort(a, axis=axis))
        assert np.array_equal(nd.argsort(given, axis=axis), np.argsort(a, axis=axis, kind="stable"))
        assert nd.sort(given, axis=axis).access == "immutable"
        texts = nd.array([[[str(x) for x in row] for row in rows] for rows in a])
        assert nd.sort(texts, axis=axis).tolist() == np.sort(a, axis=axis).astype(int).astype("f8").astype(str).tolist()


@pytest.mark.parametrize("type", ["f8", "f4", "i8", "u1", "i2"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_few_values_in_many_sorted_numbers(type, side):
    rng = np.random.default_rng(7)
    many = rng.integers(-40 if type[0] != "u" else 0, 40, 5000).astype(type)
    few = np.array([-0.0, 0, 3, 39, 39, 1, 77], type)
    if type[0] == "f":
        many[:3] = [-0.0, np.nan, np.inf]
        few[-2:] = [np.nan, -np.inf]
    many.sort()
    found = nd.searchsorted(many, few, side=side).tolist()
    assert found == np.searchsorted(many, few, side=side).tolist()
    assert nd.searchsorted(nd.asarray(np.repeat(many, 2))[::2], few[3], side=side).tolist() == found[3]


@pytest.mark.parametrize("k", [0, 1, 3, 1000, 20_000, 150_000, 199_999])
def test_the_first_of_a_long_row(threads, k):
    numbers = np.random.default_rng(k).integers(0, 50_000, 200_000).tolist()
    for row in ([f"{x:07}" for x in numbers], [x if x % 7 else None for x in numbers], [{"x": x % 100, "i": i} for i, x in enumerate(numbers)]):
        by = ("x",) if isinstance(row[0], dict) else ()
        a = nd.array([row, row[:9], row[::-1]])
        k_of = [k, min(k, 9), k]
        wanted = nd.sort(a, descending=True, by=by)
        found = nd.top_k(a, k, by=by)
        assert found.tolist() == [w[:n] for w, n in zip(wanted.tolist(), k_of)]
