"""Ways through the engine that few arrays take: other orders in memory, samples that mislead, rows with slots of their
own that are long; against NumPy, plain lists, or the same values in the usual layout."""

import ctypes
import math
import operator
import pickle

import numpy as np
import pytest

from dynd import nd, ndt
from support import bits

NUMBERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


def same_bits(a, b):
    assert a.type.dtype == b.type.dtype and bits(a) == bits(b)


# ---- order


@pytest.mark.parametrize("scalar", NUMBERS)
def test_the_largest_along_any_axis(scalar):
    rng = np.random.default_rng(1)
    for shape in ((5,), (7, 4), (3, 5, 4), (4, 1, 6), (0, 3), (2, 0, 3)):
        x = rng.integers(0, 2 if scalar == "bool" else 100, shape).astype(scalar)
        for axis in range(-x.ndim, x.ndim):
            for k in {0, min(2, x.shape[axis]), x.shape[axis]}:
                expected = np.flip(np.sort(x, axis=axis), axis).take(range(k), axis)
                found = nd.top_k(nd.array(x), k, axis=axis)
                assert found.shape == expected.shape and np.array_equal(np.asarray(found), expected)


def test_the_largest_along_rows_with_rows_inside():
    a = nd.array([[[3, 1], [9, 7]], [[4, 4], [5, 1], [2, 8]], []], type="3 * var * 2 * int32")
    for k in range(4):
        expected = [[list(column) for column in zip(*[sorted(c, reverse=True)[:k] for c in zip(*rows)])] for rows in a.tolist()]
        assert nd.top_k(a, k, axis=1).tolist() == expected
    records = nd.array([[{"n": 1, "v": "b"}, {"n": 2, "v": "a"}], [{"n": 3, "v": "a"}, {"n": 1, "v": "c"}]])
    assert nd.top_k(records, 1, axis=0, by="n").tolist() == [[{"n": 3, "v": "a"}, {"n": 2, "v": "a"}]]
    texts = nd.array([["b", "z"], ["c", "y"], ["a", "x"]])
    assert nd.top_k(texts, 2, axis=0).tolist() == [["c", "z"], ["b", "y"]]


def sampled(n):
    """The places of a long row that are looked at first (for_sample, sort_long.h)."""
    random, places, mask = 0x9E3779B97F4A7C15, set(), 2**64 - 1
    for _ in range(8192):
        random ^= random << 13 & mask
        random ^= random >> 7
        random ^= random << 17 & mask
        places.add(random % n)
    return sorted(places)


@pytest.mark.parametrize("scalar", ["int16", "int32", "uint64", "float32", "float64"])
def test_a_sample_that_says_nothing_of_the_rest(scalar, threads):
    n, rng = 300_001, np.random.default_rng(2)
    places = sampled(n)
    for at_places in (0, 100, 20_000):
        x = rng.integers(10, 1000, n).astype(scalar)
        x[places] = at_places
        a, ordered = nd.array(x), np.sort(x)
        assert np.array_equal(np.asarray(nd.sort(a)), ordered)
        for q in (0, 0.001, 0.02, 0.3, 0.5, 0.98, 0.999, 1):
            assert nd.quantile(a, q, method="lower").tolist() == np.quantile(x, q, method="lower")
        assert nd.median(a).tolist() == np.median(x)
        for k in (1, 100, len(places) - 1, len(places) + 1, 50_000, n - 1):
            assert np.array_equal(np.asarray(nd.top_k(a, k)), ordered[::-1][:k])


def test_a_sample_of_nothing_but_nan():
    x = np.random.default_rng(3).standard_normal(300_001)
    x[sampled(x.size)] = np.nan
    assert np.array_equal(np.asarray(nd.sort(nd.array(x))), np.sort(x), equal_nan=True)
    assert np.array_equal(np.asarray(nd.sort(nd.array(np.full(300_001, np.nan)))), np.full(300_001, np.nan), equal_nan=True)


# ---- rows that are passed over several times


ROW_FUNCTIONS = {
    "centred": lambda x: x - x.mean(axis=-1, keepdims=True),
    "normal": lambda x: (x - x.mean(axis=-1, keepdims=True)) / (x.std(axis=-1, keepdims=True) + 1),
    "both": lambda x: x * 2 - nd.max(x, axis=-1, keepdims=True, initial=-5),
    "twice": lambda x: x - x.mean(axis=-1, keepdims=True) + x.var(axis=-1, keepdims=True),
}


@pytest.mark.parametrize("name", ROW_FUNCTIONS)
@pytest.mark.parametrize("scalar", ["int32", "float32", "float64"])
def test_rows_that_are_not_the_inner_axis_in_memory(name, scalar, threads):
    rng, f = np.random.default_rng(4), ROW_FUNCTIONS[name]
    for shape in ((9, 5), (200, 170), (31, 1600), (3, 40_000), (40_000, 3), (20, 30, 40)):
        x = rng.integers(-50, 50, shape).astype(scalar)
        usual = f(nd.array(x)).eval()
        turned = nd.array(np.ascontiguousarray(x.T)).T
        same_bits(f(turned), usual)
        same_bits(f(nd.array(x[..., ::-1].copy())[..., ::-1]), usual)
        same_bits(f(nd.array(np.repeat(x, 2, axis=0))[::2]), usual)
        to = nd.empty(" * ".join(map(str, shape[::-1])) + f" * {usual.type.dtype}").T
        to[...] = f(turned)
        same_bits(to, usual)


@pytest.mark.parametrize("name", ROW_FUNCTIONS)
def test_rows_in_rows(name, threads):
    """Lazy values of each inner row, beside its elements."""
    rng, f = np.random.default_rng(5), ROW_FUNCTIONS[name]
    inner = rng.integers(0, 9, 6000)
    outer = rng.multinomial(inner.size, [1 / 700] * 700)
    x = rng.integers(-50, 50, inner.sum()).astype(float)
    rows = nd.unflatten(nd.array(x), inner)
    deep = nd.unflatten(rows, outer)
    assert deep.ndim == 3
    same_bits(nd.flatten(f(deep)), nd.flatten(f(rows)))
    assert nd.num(f(deep), axis=1).tolist() == outer.tolist()
    plain = nd.array([row for row in deep.tolist()[:40]], type="strided * var * var * float64")
    same_bits(f(deep)[:40], f(plain))


@pytest.mark.parametrize("part", [slice(None, None, -1), slice(None, None, 2), slice(1, None), slice(2, -1), slice(-40_000, None)], ids=str)
def test_long_rows_with_slots_of_their_own(part, threads):
    rng, step = np.random.default_rng(6), abs(part.step or 1)
    lengths = [0, 5, 120_000, 1, 33_000 * step, 32_768, 32_769 * step, 32_769]
    x = rng.standard_normal(sum(lengths))
    cut = nd.unflatten(nd.array(x), lengths)[:, part]
    plain = nd.array([row[part] for row in np.split(x, np.cumsum(lengths)[:-1])], type="strided * var * float64")
    for function in (nd.std, nd.var, nd.mean, nd.sum):
        for keywords in ({}, {"keepdims": True}) + (({"correction": 1},) if function in (nd.std, nd.var) else ()):
            same_bits(function(cut, axis=1, **keywords), function(plain, axis=1, **keywords))
    for f in ROW_FUNCTIONS.values():
        same_bits(nd.flatten(f(cut)), nd.flatten(f(plain)))


# ---- values of a whole row that are missing


@pytest.mark.parametrize("scalar", ["?int8", "?int64", "?float32", "int16", "float64"])
def test_extremes_of_rows_where_nothing_counts(scalar):
    rows = [[3, 1, 2], [], [7], [5, 5], []] * 30
    a = nd.array(rows, type=f"strided * var * {scalar}")
    kept = [i % 3 != 0 for i in range(len(rows))]
    column = nd.array([[k] for k in kept])
    optional = nd.array(rows, type="strided * var * ?" + scalar.lstrip("?"))
    expected = [max(row) if k and row else None for row, k in zip(rows, kept)]
    assert nd.max(optional, axis=1, where=column).tolist() == expected
    for keep in (True, False):
        assert nd.max(optional, axis=1, where=keep).tolist() == [max(row) if keep and row else None for row in rows]
        assert nd.min(optional, axis=1, where=keep, keepdims=True).tolist() == [[min(row) if keep and row else None] for row in rows]
    assert nd.max(a, axis=1, where=column, initial=-1).tolist() == [max(row) if k and row else -1 for row, k in zip(rows, kept)]
    pairs = nd.array([rows, rows[::-1]], type="2 * strided * var * ?" + scalar.lstrip("?"))
    assert nd.max(pairs, axis=2).tolist() == [[max(row, default=None) for row in half] for half in (rows, rows[::-1])]
    assert nd.max(pairs[:, ::-2], axis=2).tolist() == [[max(row, default=None) for row in half[::-2]] for half in (rows, rows[::-1])]


# ---- pairs that are put together when they are wanted


@pytest.mark.parametrize("lengths", [(3, 0, 1, 5), (40,) * 30, (2, 300)])
def test_fields_of_pairs_in_any_walk(lengths):
    x = np.arange(sum(lengths)) * 1.5
    rows = np.split(x, np.cumsum(lengths)[:-1])
    a = nd.unflatten(nd.array(x), list(lengths))
    first, second = nd.unzip(nd.combinations(a, 2, axis=1))
    plain = [[(p, q) for i, p in enumerate(row) for q in row[i + 1 :]] for row in rows]
    column = nd.array([[float(i)] for i in range(len(lengths))])
    expected = [[p * 2 - q + i for p, q in row] for i, row in enumerate(plain)]
    assert (first * 2 - second + column).tolist() == expected
    for cut in (slice(None, None, -1), slice(1, None, 2), slice(None, 3)):
        assert (first * 2 - second)[:, cut].tolist() == [[p * 2 - q for p, q in row][cut] for row in plain]
        assert (first[:, cut] + second[:, cut]).tolist() == [[p + q for p, q in row][cut] for row in plain]
    assert (first[::-1] + second[::-1]).tolist() == [[p + q for p, q in row] for row in plain[::-1]]
    if len(set(lengths)) == 1:
        square = np.array([[p + q for p, q in row] for row in plain])
        assert (first + second).sum(axis=0).tolist() == square.sum(axis=0).tolist()
        assert (first * 0 + second * 0 + nd.array(square)).max(axis=1).tolist() == square.max(axis=1).tolist()


# ---- selection and structure


def test_zips_of_rows_that_were_cut():
    rows = [[1, 2, 3], [4, 5], [], [6]]
    a = nd.array(rows)[:, ::-1]
    b = nd.array([[x * 10 for x in row] for row in rows])[:, ::-1]
    assert nd.zip({"a": a, "b": b}).tolist() == [[{"a": x, "b": x * 10} for x in row[::-1]] for row in rows]
    assert nd.zip({"a": a, "b": nd.array([[7], [8], [9], [0]])}).tolist() == [
        [{"a": x, "b": c} for x in row[::-1]] for row, c in zip(rows, (7, 8, 9, 0))
    ]
    left, right = nd.broadcast_arrays(a[:, :1], b)
    assert left.tolist() == [row[-1:] * len(row) for row in rows] and right.tolist() == b.tolist()


def test_rows_of_which_each_may_stretch():
    x, y = [[1], [1, 2, 3], [], [7]], [[1, 2], [5], [], [9]]
    wide = [[(p[i % len(p)], q[i % len(q)]) for i in range(max(len(p), len(q)))] if p and q else [] for p, q in zip(x, y)]
    for cut in (lambda a: a, lambda a: nd.array([row + [0] for row in a.tolist()])[:, :-1], lambda a: a[::-1]):
        a, b = cut(nd.array(x)), cut(nd.array(y))
        pairs = wide[::-1] if a.tolist() == x[::-1] else wide
        left, right = nd.broadcast_arrays(a, b)
        assert [left.tolist(), right.tolist()] == [[[p[k] for p in row] for row in pairs] for k in (0, 1)]
        assert nd.zip({"x": a, "y": b}).tolist() == [[{"x": p, "y": q} for p, q in row] for row in pairs]
        assert (a * 10 + b).tolist() == [[p * 10 + q for p, q in row] for row in pairs]
        texts = nd.zip({"x": a.astype("string"), "y": b}).tolist()
        assert texts == [[{"x": str(p), "y": q} for p, q in row] for row in pairs]


def test_masks_that_may_be_missing():
    for values in (["a", "bb", ""], [b"x", b"", b"yy"], [{"x": 1}, {"x": 2}, {"x": 3}], [(1, "p"), (2, "q"), (3, "r")]):
        for mask in ([True, None, False], [None] * 3, [True] * 3):
            expected = [v if m else None for v, m in zip(values, mask)]
            own = nd.array(values, type="3 * (int32, string)" if isinstance(values[0], tuple) else None)
            assert nd.mask(own, nd.array(mask, type="3 * ?bool")).tolist() == expected
            nested = nd.mask(nd.unflatten(nd.concat([own, own[:1]], axis=0), [3, 1]), nd.array([mask, mask[:1]], type="2 * var * ?bool"))
            assert nested.tolist() == [expected, expected[:1]]


def test_assignment_through_integers_and_slices():
    a = nd.array([[1, 2, 3], [4]], access="rw")
    a[0, nd.array([0, 2])] = 9
    a[-1, nd.array([0])] = 8
    assert a.tolist() == [[9, 2, 9], [8]]
    deep = nd.array([[[1, 2]], [[3, 4], [5, 6, 7]]], access="rw")
    deep[1, :, 0] = 9
    assert deep.tolist() == [[[1, 2]], [[9, 4], [9, 6, 7]]]
    deep[1, :, -1] = nd.array([10, 20])
    assert deep.tolist() == [[[1, 2]], [[9, 10], [9, 6, 20]]]
    with pytest.raises(IndexError, match="separated by a slice.*; select in two steps"):
        deep[1, :, nd.array([1])] = 0


# ---- explanations and traces


def lines(text):
    return [line.split("bytes", 1)[1].strip() for line in str(text).splitlines() if line.strip().startswith("offset")]


def test_explanations_of_assignments_of_elements():
    numbers, pointers = nd.array([1, 2]), nd.array([1, 2], type="2 * pointer[int32]")
    assert lines(nd.explain(nd.assign, nd.empty("2 * pointer[int32]"), numbers))[0] == "pointer of the destination: int32 to pointer[int32]"
    assert lines(nd.explain(nd.assign, nd.empty("2 * int32"), pointers))[0] == "pointer of the source: pointer[int32] to int32"
    records = nd.array([{"n": "1", "h": [1, 2]}, {"n": "2", "h": []}])
    found = lines(nd.explain(nd.assign, nd.empty("2 * {n: string, h: var * int32}"), records))
    assert found == ["fields: 2 children", "text string to string", "rows: rows to rows", "convert int32 to int32"]
    found = lines(nd.explain(nd.assign, nd.empty("2 * {n: int32, h: var * string}"), records[:1]))
    assert found == ["fields: 2 children", "parse string to int32", "rows: rows to rows", "format int32 to string"]
    sizes = nd.array([{"h": [1, 2]}], type="1 * {h: 2 * int32}")
    assert lines(nd.explain(nd.assign, nd.empty("1 * {h: var * int64}"), sizes))[1] == "rows: size 2 to rows"
    one = nd.array([{"h": 5}], type="1 * {h: int32}")
    assert lines(nd.explain(nd.assign, nd.empty("1 * {h: var * int32}"), one))[1] == "rows: one value to rows"


def test_traces_of_whole_arrays():
    a = nd.array([[0.5, 1.0], [2.0, 3.0]])
    for name, value in (("sum", 6.5), ("max", 3.0), ("argmax", 3)):
        assert getattr(nd, name)(a).tolist() == value
        text = str(nd.trace(lambda: getattr(nd, name)(a)))
        assert text.splitlines()[1].split("|")[0].strip() == "[[0.5, 1.0], [2.0, 3.0]]"
        assert text.splitlines()[1].split("|")[1].strip() == name


# ---- ranges


def test_ranges_whose_step_is_larger_than_all():
    assert nd.arange(0.0, 1e-320, 1e300).tolist() == np.arange(0.0, 1e-320, 1e300).tolist() == [0.0]
    assert nd.arange(0.0, -1e-320, 1e300).tolist() == np.arange(0.0, -1e-320, 1e300).tolist() == []
    assert nd.arange(0.0, -1e-320, -1e300).tolist() == [0.0]
    with pytest.raises(OverflowError, match="arange: the values do not fit int64"):
        nd.arange(9.2e18, 9.3e18, 1e17, dtype="int64")
    assert math.isclose(nd.arange(9.1e18, 9.2e18, 5e16, dtype="int64").tolist()[1], 9.15e18)


# ---- what is refused


class Wrong:
    def __dynd_array__(self):
        return 5


class Address(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p)]


def sized(values):
    return nd.array([{"x": values}], type="1 * {x: strided * int32}")


REFUSED = {
    "with_field: values of strided . strided . int32 do not broadcast to strided . var . {x: int32}": lambda: nd.with_field(
        nd.array([[{"x": 1}], [{"x": 2}, {"x": 3}]]), "y", nd.array([[1, 2], [3, 4]])
    ),
    "unflatten: lengths for 1 rows, not 2": lambda: nd.unflatten(nd.array([[1, 2], [3, 4]]), nd.array([[1, 1]]), axis=1),
    "cartesian: no array is given": lambda: nd.cartesian([]),
    "zip: no array is given": lambda: nd.zip({}),
    "array: a missing value before the size of its strided dimension is known; use `var`": lambda: nd.array(
        [None, [1, 2]], type="2 * ?strided * int32"
    ),
    "take_along_axis: row 0 of the index has 1 element.s., that of the array 2": lambda: nd.take_along_axis(
        nd.array([[[1, 2], [3]], [[4]]]), nd.array([[[0]], [[0], [0]]]), axis=2
    ),
    "assign: elements of an array cannot be deleted": lambda: nd.array([1, 2], access="rw").__delitem__(0),
    "top_k: k is 3, but axis 0 has size 2": lambda: nd.top_k(nd.array([[1, 2], [3, 4]]), 3, axis=0),
    "assign: expected an nd.array, not list": lambda: nd.assign([1], 2),
    "pickle: only arrays of scalars can be pickled, not strided . string": lambda: pickle.dumps(nd.array(["a"])),
    "sum: more axes than an array has": lambda: nd.sum(nd.array([1]), axis=tuple(range(100))),
    "Wrong.__dynd_array__ returns no array": lambda: nd.array(Wrong()),
    "array: cannot make 2 . 2 . int32 from strided . int32: the dimensions differ": lambda: nd.array(nd.array([1, 2]), type="2 * 2 * int32"),
    "array: cannot make 2 . int32 from strided . var . int32: the dimensions differ": lambda: nd.array(
        nd.array([[1, 2], [3]]), type="2 * int32"
    ),
    "asarray: no type for elements of format 'c' and 1 bytes": lambda: nd.asarray(memoryview(b"abcd").cast("c")),
    "asarray: no type for elements of format .* and 8 bytes": lambda: nd.asarray((Address * 2)()),
    "array: no type for elements of NumPy's dtype datetime64.Y.": lambda: nd.array(np.array(["2020"], "M8[Y]")),
    "reduce: identity must be one value": lambda: nd.reduce(nd.add, nd.array([[1, 2], [3]]), axis=1, identity=[1, 2]),
    "reduce: less of int32 gives bool, which it cannot go on with": lambda: nd.reduce(nd.less, nd.array([[1, 2], [3]]), axis=1),
    "index: an index with rows of its own stands alone, beside slices": lambda: nd.array([[[1, 2], [3]], [[4]]])[
        nd.array([0, 1]), nd.array([[0], [0]], type="2 * var * int64")
    ],
    "datashape: a struct has at least one field": lambda: nd.array([1], type=[]),
    "concat: sizes inside of the elements differ: 2 and 1": lambda: nd.concat([sized([1, 2]), sized([1])], axis=0),
    "where: sizes inside of the elements differ: 2 and 1": lambda: nd.where([True], sized([1, 2]), sized([1])),
    "max: row 0 has no element that where= takes": lambda: nd.max(nd.array([[1, 2], [3]]), axis=1, where=False),
    "max: row 1 has no element that where= takes": lambda: nd.max(nd.array([[1, 2], []]), axis=1, where=True),
    "top_k: k is negative: -1": lambda: nd.top_k(nd.array([[1, 2], [3, 4]]), -1, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        REFUSED[message]()


def test_a_list_is_close_to_an_array():
    a = nd.array([1.0, 2.0], type="2 * float32")
    assert nd.isclose([1.0, 2.5], a).tolist() == nd.isclose(a, [1.0, 2.5]).tolist() == [True, False]
    assert nd.isclose(1, a).tolist() == [True, False]
    assert nd.isclose([1.1, 2.0], a, rtol=0.2).tolist() == [True, True]


# ---- texts in each kind of memory


TEXTS = ["", "a", "ab", "b", "ä", "abc", "abd", "zz", "a"]
TEXT_KINDS = {
    "immutable": lambda texts: nd.array(texts),
    "writable": lambda texts: nd.array(texts, access="rw"),
    "reversed": lambda texts: nd.array(texts[::-1])[::-1],
    "of fields": lambda texts: nd.array([{"n": i, "t": text} for i, text in enumerate(texts)]).t,
    "rewritten": lambda texts: rewritten(texts),
    "fixed": lambda texts: nd.array(texts, type=f"{len(texts)} * fixed_string[6]"),
    "of rows": lambda texts: nd.flatten(nd.array([texts[:2], [], texts[2:]])),
}


def rewritten(texts):
    """Each text has memory of its own, in another order than the texts."""
    a = nd.array(["long before"] * len(texts), access="rw")
    for i in reversed(range(len(texts))):
        a[i] = texts[i]
    return a


@pytest.mark.parametrize("left", TEXT_KINDS)
@pytest.mark.parametrize("right", TEXT_KINDS)
def test_texts_of_any_two_kinds_are_compared(left, right):
    firsts, seconds = [a for a in TEXTS for _ in TEXTS], TEXTS * len(TEXTS)
    a, b = TEXT_KINDS[left](firsts), TEXT_KINDS[right](seconds)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        compare = getattr(operator, name)
        expected = [compare(x.encode(), y.encode()) for x, y in zip(firsts, seconds)]
        assert compare(a, b).tolist() == expected
        assert compare(nd.unflatten(a, [9] * 9), nd.unflatten(b, [9] * 9)).tolist() == np.reshape(expected, (9, 9)).tolist()
        assert compare(a, TEXT_KINDS[right](["ab"])).tolist() == [compare(x.encode(), b"ab") for x in firsts]
        assert compare(TEXT_KINDS[left](["ab"]), b).tolist() == [compare(b"ab", y.encode()) for y in seconds]


# ---- numbers among other values, types among bindings


def test_numbers_of_the_library_in_lists():
    for values in ([nd.array(1), nd.array(2.5)], [1, nd.array(2.5)], [nd.array(1.0), 2.5], [nd.array(1, type="int8"), nd.array(2.5)]):
        found = nd.array(values)
        assert found.tolist() == [1.0, 2.5] and found.type == "strided * float64"
        assert (nd.array([1.0, 2.0]) + values).tolist() == [2.0, 4.5]
    assert nd.array([nd.array(True), nd.array(False)]).type == "strided * bool"
    assert nd.array([[nd.array(1, type="int16")], [2, nd.array(3, type="int64")]]).tolist() == [[1], [2, 3]]


def test_bindings_are_a_mapping():
    found = ndt.type("3 * var * int32").match("N * var * T")
    assert dict(found.items()) == {"N": 3, "T": ndt.type("int32")} == dict(zip(found.keys(), found.values()))
    assert list(found) == list(found.keys()) and len(list(found.values())) == 2
    assert found == ndt.type("3 * var * int32").match("N * var * T") and found == {"N": 3, "T": ndt.type("int32")}
    assert found != ndt.type("4 * var * int32").match("N * var * T") and found != {"N": 3}
    refused = ndt.type("3 * int32").match("N * var * T")
    assert not refused and refused != found and found != refused and refused != {}


@pytest.mark.parametrize("scalar", ["complex64", "complex128", "float32", "float64"])
def test_blocks_that_are_copied_for_kernels(scalar):
    """Those that are not in C order, of each width."""
    rng = np.random.default_rng(7)
    f, det = nd.from_ufunc(np.matmul), nd.from_ufunc(np.linalg._umath_linalg.det)
    for shape in ((1, 1), (3, 3), (5, 5), (40, 40)):
        x = (rng.integers(-3, 4, (4, *shape)) + (1j if "complex" in scalar else 0) * rng.integers(-3, 4, (4, *shape))).astype(scalar)
        for view in (x, x.transpose(0, 2, 1), x[:, ::-1], x[::-1, :, ::-1], np.asfortranarray(x), np.repeat(x, 2, axis=2)[:, :, ::2]):
            a = nd.asarray(view)
            assert np.allclose(np.asarray(f(a, a)), view @ view, rtol=1e-4)
            assert np.allclose(np.asarray(f(a, nd.array(x))), view @ x, rtol=1e-4)
            if shape[0] < 9:
                assert np.allclose(np.asarray(det(a)), np.linalg.det(view), rtol=1e-3, atol=1e-2)
