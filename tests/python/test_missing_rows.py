"""Rows that may be missing themselves, `strided * ?var * T`, in every function of what is in the rows.

The oracle is the same function of the same rows without the missing ones: where rows are missing, it is called with
empty rows there, and what it gives for them is None. Plain lists say what single results are, Awkward Array what the
forms are.
"""

import itertools
import random

import awkward as ak
import numpy as np
import pytest
from documents import readme_section, run_examples
from dynd import nd
from hypothesis import given, settings
from strategies import SOME, seeds

TYPES = {
    "float64": lambda rng: rng.randint(-9, 9) / 4,
    "int32": lambda rng: rng.randint(-9, 9),
    "?int64": lambda rng: None if rng.random() < 0.3 else rng.randint(-9, 9),
}


# ---- values ---------------------------------------------------------------------------------------------------------


def random_rows(rng, optional, make):
    """Nested lists; `optional` says for each dimension inside of the first whether its rows may be missing."""
    if not optional:
        return make(rng)
    if optional[0] and rng.random() < 0.3:
        return None
    return [random_rows(rng, optional[1:], make) for _ in range(rng.choice([0, 1, 1, 2, 3]))]


def filled(values, ndim):
    """The same with empty rows where they are missing."""
    return values if ndim == 0 else [filled(v, ndim - 1) for v in values or []]


def emptied(result, values, depth):
    """The result with None where the rows of the values, `depth` dimensions deep or less, are missing."""
    if values is None:
        return None
    return result if depth == 0 else [emptied(r, v, depth - 1) for r, v in zip(result, values, strict=True)]


def type_text(count, optional, element):
    return " * ".join([str(count)] + ["?var" if o else "var" for o in optional] + [element])


def array_of(rng, values, optional, element):
    """The array in one of several layouts."""
    make = lambda v: nd.array(v, type=type_text(len(v), optional, element))  # noqa: E731
    layout = rng.choice(["plain", "sliced", "backwards", "gathered", "hidden", "every second"])
    if layout == "sliced":
        return make([[], *values, []])[1:-1]
    if layout == "backwards":
        return make(values[::-1])[::-1]
    if layout == "gathered" and values:
        return make([[], *values])[list(range(1, len(values) + 1))]
    if layout == "hidden" and optional[0]:  # rows that are missing and have elements in memory
        some = next((v for v in values if v), [])
        a = nd.array([some if v is None else v for v in values], type=type_text(len(values), optional, element), access="rw")
        for i, v in enumerate(values):
            if v is None:
                a[i] = None
        return a
    if layout == "every second" and optional[0]:  # the same, of rows in steps
        some = next((v for v in values if v), [])
        rows = [[x for own in (some if v is None else v) for x in (own, own)] for v in values]
        a = nd.array(rows, type=type_text(len(values), [False, *optional[1:]], element), access=rng.choice(["rw", None]))
        return nd.mask(a[:, ::2], nd.array([v is not None for v in values], type=f"{len(values)} * bool"), axis=0)
    return make(values)


def drawn(rng, optional, element):
    values = [random_rows(rng, optional, TYPES[element]) for _ in range(rng.randint(0, 5))]
    return values, array_of(rng, values, optional, element)


def same(result, expected):
    found = result.tolist()
    assert repr(found) == repr(expected), (found, expected)


FORMS = [[True], [False, True], [True, True], [True, False]]

# ---- functions of one array -----------------------------------------------------------------------------------------

# Name: a function of an array and the number of its dimensions, and how many of these stay.
OF_LAST_AXIS = {
    "negative": (lambda a, n: -a, 0),
    "plus one": (lambda a, n: a + 1, 0),
    "one minus": (lambda a, n: 1.5 - a, 0),
    "greater": (lambda a, n: a > 0, 0),
    "where": (lambda a, n: nd.where(a > 0, a, 0), 0),
    "where None": (lambda a, n: nd.where(a > 0, a, None), 0),
    "square": (lambda a, n: a**2, 0),
    "divmod": (lambda a, n: divmod(a, 2)[1], 0),
    "round": (lambda a, n: nd.round(a, 1), 0),
    "clip": (lambda a, n: nd.clip(a, -1, 1), 0),
    "isclose": (lambda a, n: nd.isclose(a, 1), 0),
    "isin": (lambda a, n: nd.isin(a, [1, 2]), 0),
    "astype": (lambda a, n: a.astype("?float32"), 0),
    "sum": (lambda a, n: nd.sum(a, axis=-1), 1),
    "sum, keepdims": (lambda a, n: nd.sum(a, axis=n - 1, keepdims=True), 0),
    "sum, where": (lambda a, n: nd.sum(a, axis=-1, where=a > 0), 1),
    "mean": (lambda a, n: nd.mean(a, axis=n - 1), 1),
    "max": (lambda a, n: nd.max(a, axis=-1, empty="missing"), 1),
    "max, initial": (lambda a, n: nd.max(a, axis=-1, initial=-99), 1),
    "argmin": (lambda a, n: nd.argmin(a, axis=-1, empty="missing"), 1),
    "count": (lambda a, n: nd.count(a, axis=-1), 1),
    "any": (lambda a, n: nd.any(a, axis=-1), 1),
    "std": (lambda a, n: nd.std(a, axis=-1), 1),
    "norm": (lambda a, n: nd.norm(a, axis=-1), 1),
    "vecdot": (lambda a, n: nd.vecdot(a, a), 1),
    "logsumexp": (lambda a, n: nd.logsumexp(a, axis=-1), 1),
    "softmax": (lambda a, n: nd.softmax(a, axis=-1), 0),
    "reduce": (lambda a, n: nd.reduce(nd.subtract, a, axis=-1, identity=1), 1),
    "cumulative_sum": (lambda a, n: nd.cumulative_sum(a, axis=-1), 0),
    "cumulative_sum, initial": (lambda a, n: nd.cumulative_sum(a, axis=-1, include_initial=True), 0),
    "diff": (lambda a, n: nd.diff(a, axis=-1), 0),
    "median": (lambda a, n: nd.median(a, axis=-1), 1),
    "quantile": (lambda a, n: nd.quantile(a, 0.25, axis=-1), 1),
    "sort": (lambda a, n: nd.sort(a), 0),
    "argsort": (lambda a, n: nd.argsort(a, descending=True), 0),
    "top_k": (lambda a, n: nd.top_k(a, 2), 0),
    "rank": (lambda a, n: nd.rank(a), 0),
    "is_sorted": (lambda a, n: nd.is_sorted(a), 1),
    "unique": (lambda a, n: nd.unique(a, axis=-1), 0),
    "unique_counts": (lambda a, n: nd.unique_counts(a, axis=-1).counts, 0),
    "unique_inverse": (lambda a, n: nd.unique_inverse(a, axis=-1).inverse_indices, 0),
    "histogram": (lambda a, n: nd.histogram(a, bins=3, range=(-9, 9), axis=-1)[0], 0),
    "searchsorted": (lambda a, n: nd.searchsorted(nd.array([-2, 0, 3]), a), 0),
    "num": (lambda a, n: nd.num(a), 1),
    "local_index": (lambda a, n: nd.local_index(a), 0),
    "pad": (lambda a, n: nd.pad(a, 2), 0),
    "to_dense": (lambda a, n: nd.to_dense(a, 2, value=7), 0),
    "repeat": (lambda a, n: nd.repeat(a, 2, axis=-1), 0),
    "tile": (lambda a, n: nd.tile(a, 2), 0),
    "flip": (lambda a, n: nd.flip(a, axis=-1), 0),
    "roll": (lambda a, n: nd.roll(a, 1, axis=-1), 0),
    "rolling": (lambda a, n: nd.rolling(a, 2), 0),
    "run_lengths": (lambda a, n: nd.run_lengths(a), 0),
    "mask of rows": (lambda a, n: a[a > 0], 0),
    "index of rows": (lambda a, n: a[nd.argsort(a)], 0),
    "take_along_axis": (lambda a, n: nd.take_along_axis(a, nd.argsort(a)), 0),
    "mask": (lambda a, n: nd.mask(a, a > 0), 0),
    "first": (lambda a, n: nd.first(a), 1),
    "last": (lambda a, n: nd.last(a), 1),
    "slice": (lambda a, n: a[..., 1:], 0),
    "slice backwards": (lambda a, n: a[(slice(None),) * (n - 1) + (slice(None, None, -2),)], 0),
    "new axis": (lambda a, n: a[..., None], 0),
    "combinations": (lambda a, n: nd.combinations(a, 2, axis=-1), 0),
    "argcombinations": (lambda a, n: nd.argcombinations(a, 2, axis=-1), 0),
    "cartesian": (lambda a, n: nd.cartesian([a, a], axis=n - 1), 0),
    "zip": (lambda a, n: nd.zip({"x": a, "y": a > 0}), 0),
    "field": (lambda a, n: nd.zip({"x": a, "y": a + 1})["y"], 0),
    "with_field": (lambda a, n: nd.with_field(nd.zip({"x": a}), "y", a + 1), 0),
    "zeros_like": (lambda a, n: nd.zeros_like(a), 0),
}


@pytest.mark.parametrize("name", OF_LAST_AXIS)
@settings(max_examples=60)
@given(seed=seeds)
def test_functions_of_the_last_axis(name, seed):
    rng = random.Random(seed)
    optional, element = rng.choice(FORMS), rng.choice(list(TYPES))
    values, a = drawn(rng, optional, element)
    f, gone = OF_LAST_AXIS[name]
    ndim = len(optional) + 1
    plain = nd.array(filled(values, ndim), type=type_text(len(values), [False] * len(optional), element))
    expected, found = f(plain, ndim), f(a, ndim)
    same(found, emptied(expected.tolist(), values, ndim - 1))


@pytest.mark.parametrize("name", OF_LAST_AXIS)
def test_results_stay_when_the_array_is_written_later(name):
    """What was computed is immutable: it shares neither the values nor which rows are missing."""
    views = ("slice", "slice backwards", "new axis", "flip")
    f, _ = OF_LAST_AXIS[name]
    for values in ([[1.0, 2.0], [3.0], None, []], [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]):
        a = nd.array(values, type="strided * ?var * float64", access="rw")
        found = f(a, 2)
        before = found.tolist()
        a[0], a[1] = None, [9.0]
        assert found.access == "immutable" or name in views
        assert name in views or repr(found.tolist()) == repr(before)


OF_ALL = {
    "sum": lambda a: nd.sum(a),
    "count": lambda a: nd.count(a),
    "max": lambda a: nd.max(a, empty="missing"),
    "median": lambda a: nd.median(a),
    "unique": lambda a: nd.unique(a),
    "histogram": lambda a: nd.histogram(a, bins=3, range=(-9, 9))[0],
    "flatten": lambda a: nd.flatten(a),
    "repeat": lambda a: nd.repeat(a, 2),
    "reduce": lambda a: nd.reduce(nd.add, a, identity=0),
    "sum of columns": lambda a: nd.sum(a, axis=0, align="left"),
}


@pytest.mark.parametrize("name", OF_ALL)
@settings(max_examples=60)
@given(seed=seeds)
def test_functions_of_all_elements_skip_missing_rows(name, seed):
    rng = random.Random(seed)
    optional, element = rng.choice(FORMS), rng.choice(list(TYPES))
    values, a = drawn(rng, optional, element)
    plain = nd.array(filled(values, len(optional) + 1), type=type_text(len(values), [False] * len(optional), element))
    same(OF_ALL[name](a), OF_ALL[name](plain).tolist())


# ---- several operands -----------------------------------------------------------------------------------------------


def add_lists(values, others):
    """x + y of nested lists with the same rows, or where one of both has a single element; None where either is."""
    if values is None or others is None:
        return None
    if not isinstance(values, list) and not isinstance(others, list):
        return values + others
    if not isinstance(values, list) or not isinstance(others, list):
        one, rows = (others, values) if isinstance(values, list) else (values, others)
        return [add_lists(one, row) for row in rows]
    size = len(others) if len(values) == 1 else len(values)
    pick = lambda v, i: v[0 if len(v) == 1 else i]  # noqa: E731
    return [add_lists(pick(values, i), pick(others, i)) for i in range(size)]


@settings(max_examples=SOME)
@given(seed=seeds)
def test_operands_with_rows_of_their_own(seed):
    rng = random.Random(seed)
    values = [[random_rows(rng, [True], TYPES["int32"]) for _ in range(3)] for _ in range(rng.randint(1, 3))]
    text = f"{len(values)} * 3 * ?var * int32"

    def other():
        kind = rng.choice(["rows", "missing rows", "a value for each row", "one row", "scalar", "fewer dimensions"])
        like = lambda row: [rng.randint(-9, 9) for _ in ([0] * rng.randint(0, 2) if row is None else row)]  # noqa: E731
        rows = [[like(row) for row in v] for v in values]
        if kind == "rows":
            return rows, nd.array(rows, type=text.replace("?", ""))
        if kind == "missing rows":
            rows = [[None if rng.random() < 0.3 else row for row in v] for v in rows]
            return rows, nd.array(rows, type=text)
        if kind == "a value for each row":
            each = [[[rng.randint(-9, 9)] for _ in v] for v in values]
            return each, nd.array(each, type=f"{len(values)} * 3 * 1 * int32")
        if kind == "one row":
            return [[[5]]], nd.array([5])
        if kind == "scalar":
            return 7, 7
        row = [[None if rng.random() < 0.5 else [3]] for _ in range(3)]
        return [[r[0] for r in row]], nd.array([r[0] for r in row], type="3 * ?var * int32")

    expected, right = other()
    found = nd.array(values, type=text) + right
    same(found, add_lists(values, expected))
    same(right + nd.array(values, type=text), add_lists(values, expected))


def test_a_row_opposite_a_missing_one_may_have_any_length():
    a = nd.array([[1.0, 2.0], None, [3.0]])
    b = nd.array([[1.0, 2.0], [5.0, 6.0, 7.0], [3.0]])
    assert (a + b).tolist() == [[2.0, 4.0], None, [6.0]]
    assert str((a + b).type) == "strided * ?var * float64"
    assert (a + nd.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).tolist() == [[2.0, 4.0], None, [8.0, 9.0]]
    c = nd.array([[1, 2], None, [3, 4]])
    assert (c * nd.array([10, 100])).tolist() == [[10, 200], None, [30, 400]]  # one row for all
    assert (nd.array([None, [1]]) + nd.array([[[1, 2]], [[3]]])).tolist() == [[None, [2, 3]], [None, [4]]]
    assert (nd.array([[1], None, [2, 3, 4]]) + nd.array([10, 20, 30])).tolist() == [[11, 21, 31], None, [12, 23, 34]]
    with pytest.raises(ValueError, match=r"^add: cannot broadcast row 0: lengths 2 and 3"):
        a + nd.array([[1.0, 2.0, 3.0], [5.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match=r"^add: cannot broadcast \(3,\) with \(2,\) at axis 0"):
        a + nd.array([[1.0], [2.0]], type="2 * var * float64")
    with pytest.raises(ValueError, match=r"^add: cannot broadcast row 0: lengths 2 and 3; for one value for each row use x\[:, None\]"):
        a + nd.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("threads", [1, 2])
def test_large_arrays_and_lazy_operands(threads):
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 6, 120_000)
    rows = nd.from_offsets(nd.array(np.concatenate([[0], np.cumsum(lengths)])), nd.array(rng.normal(size=lengths.sum())))
    there = rng.random(len(lengths)) < 0.8
    places = nd.mask(nd.arange(len(lengths)), nd.array(there))
    before = nd.num_threads()
    nd.set_num_threads(threads)
    try:
        a = rows[places]
        kept, lazy = rows[nd.array(there)], rows * 2 + 1
        for f in (lambda x, y: x + y, lambda x, y: x[x > y], lambda x, y: nd.sort(x), lambda x, y: x.sum(axis=1)):
            found = f(a, lazy)
            assert (nd.is_missing(found).tolist() == ~there).all()
            left, right = nd.drop_missing(found), f(kept, lazy[nd.array(there)])
            assert left.type.dtype == right.type.dtype and left.tolist() == right.tolist()
    finally:
        nd.set_num_threads(before)


def test_what_is_missing_cannot_fail():
    a = nd.array([[7, 8], [0, 0], [9]], type="3 * ?var * int32", access="rw")
    a[1] = None
    assert (10 // a).tolist() == [[1, 1], None, [1]]
    with pytest.raises(ValueError, match=r"division by zero at index \(2, 0\)"):
        a // nd.array([[1, 1], [0, 0], [0]])


# ---- reductions -----------------------------------------------------------------------------------------------------


def test_rows_that_are_there_and_empty_are_told_from_missing_ones():
    a = nd.array([[1.0, 3.0], None, [2.0]])
    assert a.max(axis=1).tolist() == [3.0, None, 2.0]
    assert a.argmax(axis=1).tolist() == [1, None, 0]
    assert nd.ptp(a, axis=1).tolist() == [2.0, None, 0.0]
    assert a.max(axis=1, keepdims=True).tolist() == [[3.0], None, [2.0]]
    assert (a / a.sum(axis=1, keepdims=True)).tolist() == [[0.25, 0.75], None, [1.0]]
    assert nd.reduce(nd.maximum, a, axis=1).tolist() == [3.0, None, 2.0]
    assert nd.reduce(nd.subtract, a, axis=1).tolist() == [-2.0, None, 2.0]
    b = nd.array([[1.0], None, []])
    for f in (lambda x: x.max(axis=1), lambda x: x.max(axis=1, keepdims=True), lambda x: x.argmin(axis=1)):
        with pytest.raises(ValueError, match=r"^(max|argmin): row 2 is empty, and (max|argmin) of no elements is not defined"):
            f(b)
    with pytest.raises(ValueError, match=r"^subtract: row 2 is empty"):
        nd.reduce(nd.subtract, b, axis=1)
    with pytest.raises(ValueError, match=r"^max: row 0 has no element that where= takes"):
        a.max(axis=1, where=a > 5)
    assert nd.array([[None], None, []], type="3 * ?var * ?int32").max(axis=1).tolist() == [None, None, None]


def test_axes_outside_of_missing_rows():
    a = nd.array([[1, 2], None, [3, 4]])
    assert a.sum(axis=0).tolist() == [4, 6]
    assert a.max(axis=0).tolist() == [3, 4]
    assert nd.mean(a, axis=(0, 1)).tolist() == 2.5
    assert a.sum(axis=0, where=a > 1).tolist() == [3, 6]
    assert nd.array([[1, 2], None, [3]]).sum(axis=0, align="left").tolist() == [4, 2]
    with pytest.raises(ValueError, match="must be equally long"):
        nd.array([[1, 2], None, [3]]).sum(axis=0)
    message = r"^{}: axis 0 is outside of rows that may be missing, of strided \* \?var \* int32; use fill_missing\(a, \[\]\) or"
    with pytest.raises(TypeError, match=message.format("cumulative_sum")):
        nd.cumulative_sum(a, axis=0)
    with pytest.raises(TypeError, match=message.format("diff")):
        nd.diff(a, axis=0)


def test_dimensions_of_one_size_that_may_be_missing():
    a = nd.array([[1, 2, 3], None], type="2 * ?3 * int32")
    assert (a + 1).tolist() == [[2, 3, 4], None]
    assert a.sum(axis=1).tolist() == [6, None]
    assert a[:, 1].tolist() == [2, None]
    assert nd.sort(a, descending=True).tolist() == [[3, 2, 1], None]


# ---- joining --------------------------------------------------------------------------------------------------------


def test_joining_rows_some_of_which_may_be_missing():
    a, b = nd.array([[1, 2], None]), nd.array([[0.5], []], type="2 * var * float64")
    both = nd.concat([a, b])
    assert both.tolist() == [[1.0, 2.0], None, [0.5], []] and str(both.type) == "strided * ?var * float64"
    assert nd.expand_dims(a, -1).tolist() == [[[1], [2]], None] and nd.expand_dims(a, 1).tolist() == [[[1, 2]], [None]]
    assert nd.stack([a, a], axis=2).tolist() == [[[1, 1], [2, 2]], None] and nd.stack([a, a], axis=1).tolist() == [[[1, 2]] * 2, [None] * 2]
    assert nd.stack([b, a]).tolist() == [[[0.5], []], [[1.0, 2.0], None]]
    beside = nd.concat([a, b], axis=1)  # a missing row adds nothing
    assert beside.tolist() == [[1.0, 2.0, 0.5], []] and str(beside.type) == "strided * var * float64"
    m = nd.array([[[1], [2]], None])
    assert nd.concat([m, m], axis=2).tolist() == [[[1, 1], [2, 2]], None]
    for one, other, axis in ((a, b, 0), (a, b, 1), (m, m, 1), (m, m, 2)):
        same(nd.concat([one, other], axis=axis), ak.concatenate([ak.Array(one.tolist()), ak.Array(other.tolist())], axis=axis).tolist())


def test_joining_rows_that_may_be_missing_at_several_depths():
    """Rows of every array may be missing where those of any of them may."""
    given = [[[[1], None], [[2, 3]]], [[[4]], None], [[[5], []], []], [[[6], None], None]]
    types = ["strided * var * ?var", "strided * ?var * var", "strided * var * var", "strided * ?var * ?var"]
    arrays = [nd.array(values, type=f"{type} * int32") for values, type in zip(given, types)]
    for some in [order for n in (2, 3) for order in itertools.permutations(range(4), n)]:
        several, values = [arrays[i] for i in some], [given[i] for i in some]
        assert nd.concat(several).tolist() == sum(values, []), some
        assert nd.stack(several).tolist() == values, some
        assert nd.stack(several, axis=1).tolist() == [list(rows) for rows in zip(*values)], some
        beside = [sum((row or [] for row in rows), []) for rows in zip(*values)]  # a missing row adds nothing
        assert nd.concat(several, axis=1).tolist() == beside, some


def test_flatten_skips_what_is_joined():
    m = nd.array([[[1, 2], None], [], None, [[3]]])
    for axis in (1, 2):
        same(nd.flatten(m, axis=axis), ak.flatten(ak.Array(m.tolist()), axis=axis).tolist())
    assert nd.flatten(m).tolist() == [1, 2, 3]


def test_what_takes_no_missing_rows_says_what_to_do():
    a = nd.array([[1, 2], None, [3]])
    message = r"axis 1 is inside of rows that may be missing, of strided \* \?var \* int32; use fill_missing\(a, \[\]\) or drop_missing\(a\) first"
    with pytest.raises(TypeError, match=f"^unflatten: {message}"):
        nd.unflatten(a, [[1, 1], [], [1]], axis=1)
    with pytest.raises(IndexError, match=r"^sum: axis 2 is out of bounds for 2 dimension"):
        a.sum(axis=2)


def test_functions_from_elsewhere():
    a = nd.array([[1.0, 2.0], None, [3.0]])
    assert nd.callable(lambda x: x + 1, "(float64) -> float64")(a).tolist() == [[2.0, 3.0], None, [4.0]]
    assert nd.from_ufunc(np.hypot)(a, 0.0).tolist() == a.tolist()
    assert [x.tolist() for x in nd.from_ufunc(np.modf)(a)] == [[[0.0, 0.0], None, [0.0]], a.tolist()]
    add = nd.callable(lambda x, y: x + y, "(float64, float64) -> float64")
    assert nd.reduce(add, a, axis=1, identity=0.0).tolist() == [3.0, None, 3.0]
    with pytest.raises(TypeError, match="^reduce: rows that may be missing need identity="):
        nd.reduce(add, a, axis=1)
    of_row = nd.callable(lambda x: float(np.asarray(x).max()), "(N * float64) -> float64")
    with pytest.raises(TypeError, match=r": takes rows, and these may be missing; use fill_missing\(a, \[\]\) or drop_missing\(a\) first"):
        of_row(a)


def test_missing_rows_as_elements():
    a = nd.array([[1, 2], None, [3]])
    assert nd.is_missing(a).tolist() == [False, True, False]
    assert nd.drop_missing(a).tolist() == [[1, 2], [3]]
    assert nd.fill_missing(a, []).tolist() == [[1, 2], [], [3]]
    assert nd.take(a, [1, 0], axis=0).tolist() == [None, [1, 2]]
    assert nd.flip(a, axis=0).tolist() == [[3], None, [1, 2]] and nd.flip(a).tolist() == [[3], None, [2, 1]]
    assert nd.repeat(a, 2, axis=0).tolist() == [[1, 2], [1, 2], None, None, [3], [3]]
    assert nd.num(a, axis=0).tolist() == 3
    b = nd.array([[1, None], None])
    assert nd.drop_missing(b, axis=1).tolist() == [[1], None]
    assert nd.groupby(a, by=[1, 1, 2]).eval().tolist() == [[[1, 2], None], [[3]]]


def test_the_examples_of_the_readme():
    run_examples(readme_section("Rows that may be missing"), {}, least=5)


# ---- beside Awkward Array -------------------------------------------------------------------------------------------

AWKWARD = {
    "sum": (lambda a: nd.sum(a, axis=-1), lambda a: ak.sum(a, axis=-1)),
    "sum of rows": (lambda a: nd.sum(a, axis=1, align="left"), lambda a: ak.sum(a, axis=1)),
    "max": (lambda a: nd.max(a, axis=-1, empty="missing"), lambda a: ak.max(a, axis=-1)),
    "argmax": (lambda a: nd.argmax(a, axis=-1, empty="missing"), lambda a: ak.argmax(a, axis=-1)),
    "count": (lambda a: nd.count(a, axis=-1), lambda a: ak.count(a, axis=-1)),
    "num": (lambda a: nd.num(a, axis=1), lambda a: ak.num(a, axis=1)),
    "last num": (lambda a: nd.num(a), lambda a: ak.num(a, axis=-1)),
    "sort": (lambda a: nd.sort(a), lambda a: ak.sort(a)),
    "argsort": (lambda a: nd.argsort(a), lambda a: ak.argsort(a)),
    "flatten": (lambda a: nd.flatten(a, axis=1), lambda a: ak.flatten(a, axis=1)),
    "mask": (lambda a: a[a > 0], lambda a: a[a > 0]),
    "add": (lambda a: a + a, lambda a: a + a),
    "slice": (lambda a: a[:, 1:], lambda a: a[:, 1:]),
    "local_index": (lambda a: nd.local_index(a), lambda a: ak.local_index(a)),
    "combinations": (lambda a: nd.combinations(a, 2, axis=1), lambda a: ak.combinations(a, 2, axis=1)),
    "first": (lambda a: nd.first(a, axis=1), lambda a: ak.firsts(a, axis=1)),
}


@pytest.mark.parametrize("name", AWKWARD)
@settings(max_examples=40)
@given(seed=seeds)
def test_as_awkward_array_has_it(name, seed):
    rng = random.Random(seed)
    optional = rng.choice([[True], [True, False]] + [[True, True]] * ("sort" not in name))  # theirs loses rows there
    values = [random_rows(rng, optional, TYPES["float64"]) for _ in range(rng.randint(1, 5))] + [[[1.5]] if optional[1:] else [1.5]]
    ours, theirs = AWKWARD[name]
    same(ours(array_of(rng, values, optional, "float64")), theirs(ak.Array(values)).tolist())
