"""a[mask] and a[index] in all their forms, and assignment through them: against NumPy where everything is strided, and
against nested lists where rows are ragged or elements are no numbers."""

import copy
import random

import awkward as ak
import numpy as np
import pytest
from dynd import nd
from hypothesis import given, settings
from ragged_values import ELEMENTS, ragged, rows_inside
from strategies import MANY, SOME, seeds


# ---- strided arrays: NumPy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scalar", ["?", "i1", "u2", "i4", "f8", "c16", ">i4"])
@pytest.mark.parametrize("index", ["i4", "i8", "i1", "u8"])
def test_points_of_one_axis(scalar, index):
    """Few take the direct step, from 513 on the others: both end at the same bounds."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 100, 120).astype(scalar)
    a = nd.asarray(values)
    for count in (0, 1, 3, 511, 512, 513, 600):
        numbers = rng.integers(0 if index == "u8" else -120, 120, count).astype(index)
        for own in (nd.array(numbers), nd.asarray(numbers[::-1].copy()[::-1]), numbers):
            assert nd.array(a)[own].tolist() == values[numbers].tolist()
        assert a[nd.array(numbers)].type == nd.array(values[numbers]).type or scalar == ">i4"
        for wrong in (120, -121):
            if count and not (index == "u8" and wrong < 0):
                numbers[-1] = wrong
                with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
                    a[nd.array(numbers)]


def dense_array(rng, ndim):
    shape = [rng.choice([0, 1, 2, 3, 4]) if rng.random() < 0.3 else rng.randint(1, 4) for _ in range(ndim)]
    values = np.arange(int(np.prod(shape)), dtype=rng.choice(["i4", "f8", "u1", "i8", "c16"])).reshape(shape)
    return np.ascontiguousarray(values.transpose(rng.sample(range(ndim), ndim)))


def index_of(rng, size, shape):
    return np.array([rng.randint(-size, size - 1) for _ in range(int(np.prod(shape)))], dtype="i8").reshape(shape)


def adjacent_key(rng, a, views):
    """A key in which all arrays and integers are neighbours, as NumPy's rule for the simple case wants them."""
    first = rng.randrange(a.ndim)
    count = rng.randint(1, a.ndim - first)
    shape = tuple(rng.choice([1, 2, 3]) for _ in range(rng.randint(0, 2)))
    key = [rng.choice([slice(None), slice(1, None), slice(None, None, -1), slice(0, 2)]) for _ in range(first)]
    d, arrays = first, False
    while d < first + count:
        pick = rng.random()
        if pick < 0.25 and shape == () or pick < 0.15:
            axes = rng.randint(1, first + count - d)
            mask = np.array([rng.random() < 0.6 for _ in range(int(np.prod(a.shape[d : d + axes])))], dtype=bool)
            key.append(mask.reshape(a.shape[d : d + axes]))
            d, arrays = d + axes, True
            continue
        if a.shape[d] == 0:
            key.append(np.zeros((0,), dtype="i8"))
            arrays = True
        elif pick < 0.4:
            key.append(rng.randrange(a.shape[d]))
        else:
            cut = shape[rng.randint(0, len(shape)) :] if shape else (2,)
            key.append(index_of(rng, a.shape[d], tuple(rng.choice([1, n]) for n in cut) or (1,)))
            arrays = True
        d += 1
    after = [rng.choice([slice(None), slice(None, None, 2), slice(1, 3)]) for _ in range(rng.randint(0, a.ndim - d))]
    if rng.random() < 0.3:
        key.insert(0, None)
    if rng.random() < 0.3:
        after.append(None)
    elif rng.random() < 0.3:
        after = [...] + after
    key = tuple(key) + tuple(after)
    return (key if arrays else None), [k.tolist() if isinstance(k, np.ndarray) and views else k for k in key]


@settings(max_examples=MANY)
@given(seeds)
def test_as_in_numpy(seed):
    rng = random.Random(seed)
    a = dense_array(rng, rng.randint(1, 4))
    key, ours = adjacent_key(rng, a, False)
    if key is None:
        return
    try:
        expected = a[key]
    except IndexError:
        with pytest.raises((IndexError, ValueError)):
            nd.array(a)[tuple(ours)]
        return
    for source in (nd.array(a), nd.asarray(a), nd.array(np.ascontiguousarray(a.T)).T):
        wrapped = tuple(nd.array(k) if isinstance(k, np.ndarray) and rng.random() < 0.5 else k for k in ours)
        found = np.asarray(source[wrapped])
        assert found.dtype == a.dtype and found.shape == expected.shape and np.array_equal(found, expected)


@settings(max_examples=SOME)
@given(seeds)
def test_assignment_as_in_numpy(seed):
    rng = random.Random(seed)
    a = dense_array(rng, rng.randint(1, 4)).real.astype("f8")
    key, _ = adjacent_key(rng, a, False)
    if key is None:
        return
    try:
        selected = a[key]
    except IndexError:
        return
    value = np.array([float(i + 100) for i in range(selected.size)]).reshape(selected.shape)
    cut = rng.choice(["whole", "one", "last", "ones"])
    if cut == "one":
        value = 7.0
    elif cut == "last" and selected.ndim > 1:
        value = value[0] if len(value) else 0.0
    elif cut == "ones" and selected.ndim and selected.shape[0]:
        value = value[:1]
    expected = a.copy()
    expected[key] = value
    for like in (lambda x: x, lambda x: np.ascontiguousarray(x.T).T, lambda x: np.repeat(x, 2, axis=0)[::2]):
        changed = like(a.copy())
        nd.asarray(changed)[key] = value
        assert np.array_equal(changed, expected)


# ---- ragged arrays, elements of any type: nested lists ----------------------------------------------------------------

def take(values, index):
    return None if index is None else values[index]


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_first_axis(seed):
    rng = random.Random(seed)
    values, a = ragged(rng, rng.randint(1, 3))
    n = len(values)
    keep = [rng.random() < 0.5 for _ in range(n)]
    assert a[nd.array(keep, type="strided * bool")].tolist() == [v for v, k in zip(values, keep) if k]
    if n:
        index = [rng.randint(-n, n - 1) for _ in range(rng.randint(0, 6))]
        assert a[index].tolist() == [values[i] for i in index]
        missing = [rng.choice([None, *range(n)]) for _ in range(4)]
        found = a[nd.array(missing, type="strided * ?int8")]
        assert found.tolist() == [take(values, i) for i in missing]
        element = str(a.type).split(" * ", 1)[1]
        assert str(found.type) == "strided * " + ("" if element.startswith("?") else "?") + element
    for bad in (n, -n - 1):
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size {n}"):
            a[[bad]]


def mask_like(rng, values, depth):
    if depth == 0:
        return rng.random() < 0.5
    return [mask_like(rng, v, depth - 1) for v in values]


def filtered(values, mask, depth):
    if depth == 1:
        return [v for v, m in zip(values, mask) if m]
    return [filtered(v, m, depth - 1) for v, m in zip(values, mask)]


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_masks_of_rows(seed):
    rng = random.Random(seed)
    ndim = rng.randint(2, 4)
    values, a = ragged(rng, ndim)
    depth = rng.randint(2, ndim)
    mask = mask_like(rng, values, depth)
    dims = [rng.choice(["var", str(s)]) if s is not None else "var" for s in a.shape[1:depth]]
    m = nd.array(mask, type=" * ".join(["strided"] + dims + ["bool"]))
    found = a[m]
    if all(s is not None for s in a.shape[:depth]) and "var" not in dims:
        flat = mask_flat = None
        flat, mask_flat = values, mask
        for _ in range(depth - 1):
            flat, mask_flat = [x for row in flat for x in row], [x for row in mask_flat for x in row]
        assert found.tolist() == [v for v, k in zip(flat, mask_flat) if k]
    else:
        assert found.tolist() == filtered(values, mask, depth)
        assert str(found.type).split(" * ")[depth - 1] == "var"


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_indices_of_rows(seed):
    rng = random.Random(seed)
    ndim = rng.randint(2, 3)
    values, a = ragged(rng, ndim)
    depth = rng.randint(2, ndim)
    optional = rng.random() < 0.3

    def index_in(row, depth):
        if depth > 1:
            return [index_in(inner, depth - 1) for inner in row]
        picks = [rng.randint(-len(row), len(row) - 1) for _ in range(rng.randint(0, 4))] if row else []
        return [None if optional and rng.random() < 0.3 else i for i in picks]

    def taken(row, index, depth):
        if depth > 1:
            return [taken(r, i, depth - 1) for r, i in zip(row, index)]
        return [take(row, i) for i in index]

    index = index_in(values, depth)
    scalar = "?int32" if optional else rng.choice(["int64", "int8"])
    i = nd.array(index, type=" * ".join(["strided"] + ["var"] * (depth - 1) + [scalar]))
    assert a[i].tolist() == taken(values, index, depth)


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_points_and_columns(seed):
    rng = random.Random(seed)
    values, a = ragged(rng, rng.randint(2, 3))
    n = len(values)
    least = min((len(row) for row in values), default=0)
    rows = [i for i in range(n) if values[i]]
    picks = [(i, rng.randint(-len(values[i]), len(values[i]) - 1)) for i in rng.choices(rows, k=3)] if rows else []
    x, y = [p[0] for p in picks], [p[1] for p in picks]
    assert a[x, y].tolist() == [values[i][j] for i, j in picks]
    if least:
        columns = [rng.randint(-least, least - 1) for _ in range(3)]
        assert a[:, columns].tolist() == [[row[j] for j in columns] for row in values]
        assert a[::-1, columns].tolist() == [[row[j] for j in columns] for row in values[::-1]]
        assert a[x, 0].tolist() == [values[i][0] for i in x]
    if n:
        index = [rng.randint(-n, n - 1) for _ in range(4)]
        assert a[index, 1:].tolist() == [values[i][1:] for i in index]
        assert a[index, None].tolist() == [[values[i]] for i in index]
        assert a[None, index].tolist() == [[values[i] for i in index]]


def replaced(values, mask, new, depth):
    if depth == 0:
        return new() if mask else values
    return [replaced(v, m, new, depth - 1) for v, m in zip(values, mask)]


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_assignment_to_rows(seed):
    rng = random.Random(seed)
    ndim = rng.randint(1, 3)
    values, a = ragged(rng, ndim, access="rw")
    element = next(e for e in ELEMENTS if str(a.type).endswith(e))
    other = nd.array(ELEMENTS[element](rng), type=element)
    mask = mask_like(rng, values, ndim)
    dims = [str(s) if s is not None else "var" for s in a.shape]
    a[nd.array(mask, type=" * ".join(dims + ["bool"]))] = other
    expected = replaced(values, mask, lambda: copy.deepcopy(other.tolist()), ndim)
    assert a.tolist() == expected
    values = expected
    if ndim > 1:
        rows = [i for i in range(len(values)) if values[i] and ndim == 2]
        if rows:
            picks = [(i, rng.randrange(len(values[i]))) for i in rng.choices(rows, k=4)]
            new = [ELEMENTS[element](rng) for _ in picks]
            a[[p[0] for p in picks], [p[1] for p in picks]] = nd.array(new, type="strided * " + element)
            for (i, j), v in zip(picks, new):
                values[i][j] = v
            assert a.tolist() == values
    elif values:
        index = [rng.randrange(len(values)) for _ in range(5)]
        new = [ELEMENTS[element](rng) for _ in index]
        a[index] = nd.array(new, type="strided * " + element)
        for i, v in zip(index, new):
            values[i] = v
        assert a.tolist() == values


@settings(max_examples=MANY, deadline=None)
@given(seeds)
def test_assignment_to_an_element_of_every_row(seed):
    rng = random.Random(seed)
    ndim = rng.randint(2, 3)
    values, a = ragged(rng, ndim, access="rw")
    element = next(e for e in ELEMENTS if str(a.type).endswith(e))
    values = copy.deepcopy(values)
    axis = rng.randint(1, ndim - 1)
    rows = rows_inside(values, axis)
    at = rng.randint(-2, 1)
    key = (slice(None),) * axis + (at,)
    if any(not -len(row) <= at < len(row) for row in rows):
        with pytest.raises(IndexError, match="out of bounds"):
            a[key] = nd.array(ELEMENTS[element](rng), type=element)
        return
    each = axis == 1 == ndim - 1 and rng.random() < 0.5  # one value for each row
    new = [ELEMENTS[element](rng) for _ in range(len(rows) if each else 1)]
    a[key] = nd.array(new if each else new[0], type=("strided * " if each else "") + element)
    for i, row in enumerate(rows):
        value = new[i if each else 0]
        row[at] = map_leaves(lambda _: copy.deepcopy(value), row[at], ndim - 1 - axis)
    assert a.tolist() == values


def map_leaves(f, values, depth):
    return f(values) if depth == 0 else [map_leaves(f, v, depth - 1) for v in values]


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_an_index_with_rows_after_a_slice(seed):
    rng = random.Random(seed)
    outer, middle = rng.randint(0, 3), rng.randint(0, 3)
    lengths = [rng.randint(1, 4) for _ in range(middle)]
    values = [[[rng.randint(-9, 9) for _ in range(n)] for n in lengths] for _ in range(outer)]
    a = nd.array(values, type=f"{outer} * {middle} * var * int32")
    index = [[rng.randrange(-n, n) for _ in range(rng.randint(0, 3))] for n in lengths]
    by = nd.array(index, type=f"{middle} * var * int64")
    assert a[:, by].tolist() == [[[row[i] for i in pick] for row, pick in zip(rows, index)] for rows in values]
    assert a[::-1, by].tolist() == a[:, by].tolist()[::-1]
    mask = [[rng.random() < 0.5 for _ in range(n)] for n in lengths]
    kept = [[[x for x, m in zip(row, of_row) if m] for row, of_row in zip(rows, mask)] for rows in values]
    assert a[:, nd.array(mask, type=f"{middle} * var * bool")].tolist() == kept
    w = nd.array(values, type=f"{outer} * {middle} * var * int32", access="rw")
    w[:, by] = 77
    for rows in values:
        for row, pick in zip(rows, index):
            for i in pick:
                row[i] = 77
    assert w.tolist() == values
    theirs = ak.Array(np.arange(12).reshape(2, 2, 3).tolist())
    jagged = [[0, -1], [1]]
    assert nd.array(theirs.tolist(), type="2 * var * var * int64")[:, nd.array(jagged)].tolist() == theirs[:, ak.Array(jagged)].tolist()


def test_against_awkward():
    rng = np.random.default_rng(3)
    counts = rng.poisson(3, 500)
    x = ak.unflatten(rng.normal(size=counts.sum()), counts)
    ours = nd.array(x.tolist())
    assert ours[ours > 0].tolist() == x[x > 0].tolist()
    order = ak.argsort(x, axis=1)
    assert ours[nd.array(order.tolist())].tolist() == x[order].tolist()
    assert ours[nd.array(rng.permutation(500))].tolist()  # any order
    none = ak.mask(ak.local_index(x, axis=1), x > 0)
    assert ours[nd.array(none.tolist())].tolist() == x[none].tolist()


# ---- types, fields, missing masks ---------------------------------------------------------------------------------------


def test_result_types():
    a = nd.array([[1, 2, 3], [], [4, 5]])
    assert str(a[a > 1].type) == "strided * var * int32"
    assert str(a[[True, False, True]].type) == "strided * var * int32"
    assert str(a[[2, 0]].type) == "strided * var * int32"
    assert str(a[[0, 2], [0, 1]].type) == "strided * int32"
    assert str(a[nd.array([0, None])].type) == "strided * ?var * int32"
    assert str(a[nd.array([[0], [], [None]])].type) == "strided * var * ?int32"
    assert str(a[[0, 2]][:, [0, 1]].type) == "strided * strided * int32"
    b = nd.array([[1, 2], [3, 4]])
    assert str(b[b > 1].type) == "strided * int32"
    rows = nd.array([[True, False], [True, True]], type="2 * var * bool")
    assert b[rows].tolist() == [[1], [3, 4]] and str(b[rows].type) == "strided * var * int32"
    c = nd.array([[1, 2], [3, 4]], type="2 * var * int32")
    assert str(c[b > 1].type) == "2 * var * int32" and c[b > 1].tolist() == [[2], [3, 4]]
    assert c[:, [True, False]].tolist() == [[1], [3]] and str(c[:, [True, False]].type) == "2 * var * int32"
    assert a[range(0, 3, 2)].tolist() == [[1, 2, 3], [4, 5]] and a[range(0)].tolist() == []
    assert a[[]].tolist() == [] and str(a[[]].type) == "strided * var * int32"


def test_where_a_mask_is_missing_nothing_is_taken():
    a = nd.array([1, None, 3])
    assert a[a > 0].tolist() == [1, 3]
    r = nd.array([[1, None, -3], [None], []])
    assert r[r > 0].tolist() == [[1], [], []]


def test_fields():
    t = nd.array([{"x": 1, "y": 2.5, "z": "a"}, {"x": 3, "y": 4.5, "z": "b"}], access="rw")
    assert str(t[["z", "x"]].type) == "strided * {z: string, x: int32}"
    assert t[["z", "x"]].tolist() == [{"z": "a", "x": 1}, {"z": "b", "x": 3}]
    assert t[0, "x"].tolist() == 1 and t["x", [1, 0]].tolist() == [3, 1] and t[[True, False], "z"].tolist() == ["a"]
    t["y", [1]] = 9
    t[t["x"] > 1, "z"] = "long text"
    t[["x", "y"]] = (7, 8)
    assert t.tolist() == [{"x": 7, "y": 8.0, "z": "a"}, {"x": 7, "y": 8.0, "z": "long text"}]
    some = nd.array([{"x": 1, "y": 2}, None])
    assert some[["y"]].tolist() == [{"y": 2}, None]
    with pytest.raises(KeyError, match="no field q; there are x, y, z"):
        t[["x", "q"]]
    with pytest.raises(TypeError, match="two fields"):
        t[["x", "x"]]


def test_repeated_indices_the_last_wins(threads):
    n = 500_000
    rng = np.random.default_rng(0)
    index = rng.integers(0, 1000, n)
    expected = np.zeros(1000)
    expected[index] = np.arange(n)
    a = nd.array(np.zeros(1000), access="rw")
    a[index] = nd.array(np.arange(n, dtype="f8"))
    assert np.array_equal(np.asarray(a), expected)
    b = nd.zeros((n, 1), access="rw")  # an index array repeats the places of the mask beside it
    b[np.ones(n, bool), [[0], [0]]] = nd.array(np.array([[1.0] * n, [2.0] * n]))
    assert (np.asarray(b) == 2).all()


def test_the_last_wins_also_where_what_is_before_it_takes_longer():
    """The first half goes to places all over memory, the second one to neighbours."""
    n, size, before = 1 << 19, 1 << 22, nd.num_threads()
    index = np.concatenate([np.random.default_rng(0).integers(1, size, n // 2), np.arange(n // 2)])
    index[::1000] = 0
    expected = np.zeros(size, "int64")
    expected[index] = np.arange(n)
    try:
        for threads in [2, 4, 7] * 3:
            nd.set_num_threads(threads)
            a = nd.zeros(size, "int64", access="rw")
            a[index] = nd.arange(n)
            assert np.array_equal(np.asarray(a), expected)
    finally:
        nd.set_num_threads(before)


@pytest.mark.parametrize("element", ["float64", "?int32", "{x: int8, y: ?float64}", "string"])
def test_a_value_that_is_refused_changes_nothing(element):
    before = {"float64": 1.5, "?int32": 3, "{x: int8, y: ?float64}": {"x": 1, "y": None}, "string": "s"}[element]
    a = nd.array([before] * 5, type="strided * " + element, access="rw")
    bad = {"float64": "text", "?int32": [1, 2**40, 3], "{x: int8, y: ?float64}": {"x": 1000, "y": 1.0}, "string": 5.5}[element]
    if element != "string":
        with pytest.raises((ValueError, OverflowError, TypeError)):
            a[[0, 2, 4]] = bad
        assert a.tolist() == [before] * 5


def test_large_assignments(threads):
    rng = np.random.default_rng(3)
    n = 600_000
    v = rng.normal(size=n)
    a = nd.array(v, access="rw")
    a[v > 0.5] = 0
    v[v > 0.5] = 0
    a[v < -1] = np.arange((v < -1).sum())
    v[v < -1] = np.arange((v < -1).sum())
    assert np.array_equal(np.asarray(a), v)
    rows = nd.array(nd.from_offsets(np.arange(0, n + 1, 3), v), access="rw")
    rows[rows < 0] = 7.5
    assert np.array_equal(np.asarray(nd.flatten(rows)), np.where(v < 0, 7.5, v))
    missing = nd.array(v).astype("?float64")
    missing = nd.array(missing, access="rw")
    missing[v > 0] = None
    assert np.array_equal(np.asarray(nd.is_missing(missing)), v > 0)


def test_a_row_and_its_own_elements():
    a = nd.array(np.arange(6), access="rw")
    a[[0, 1, 2]] = a[[3, 4, 5]]
    a[::-1][[0, 1]] = a[:2]
    assert a.tolist() == [3, 4, 5, 3, 4, 3]
    b = nd.array(np.arange(4), access="rw")
    b[[1, 2, 3]] = b[:3]
    assert b.tolist() == [0, 0, 1, 2]
