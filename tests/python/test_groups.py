"""Groups against plain Python: keys of every kind, reductions, rows, and both ways to reduce against each other."""

import math
import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents import readme_section, run_examples
from dynd import nd, ndt
from strategies import seeds

NAN = float("nan")
TEXTS = ["", "a", "b", "ä", "exactly8", "exactly9+", "a long text that differs at its end 1", "a long text that differs at its end 2", "a\0"]
KEYS = {
    "bool": lambda rng: rng.random() < 0.5,
    "int8": lambda rng: rng.randint(-3, 3),
    "uint16": lambda rng: rng.choice([0, 1, 65535]),
    "int32": lambda rng: rng.randint(-3, 3),
    "uint64": lambda rng: rng.choice([0, 1, 2**64 - 1, 2**63]),
    "int64": lambda rng: rng.choice([-(2**63), 2**63 - 1, 0, 5, 10**15]),
    "float32": lambda rng: rng.choice([0.0, -0.0, NAN, -NAN, 1.5, -math.inf, math.inf]),
    "float64": lambda rng: rng.choice([0.0, -0.0, NAN, -1.5, math.inf]),
    "string": lambda rng: rng.choice(TEXTS),
    "bytes": lambda rng: rng.choice([b"", b"\xff", b"\0", b"0123456789"]),
    "?int16": lambda rng: rng.choice([None, 1, -1, 7]),
    "?float64": lambda rng: rng.choice([None, NAN, 1.5]),
    "?string": lambda rng: rng.choice([None, *TEXTS[:3]]),
    "{x: int32, y: string}": lambda rng: {"x": rng.randint(0, 1), "y": rng.choice("ab")},
    "{x: ?int32, y: float64}": lambda rng: {"x": rng.choice([None, 1]), "y": rng.choice([NAN, 0.0])},
    "?{x: ?int32, y: string}": lambda rng: rng.choice([None, {"x": rng.choice([None, 1]), "y": rng.choice("ab")}]),
    "?{x: int64}": lambda rng: rng.choice([None, {"x": 3}, {"x": 10**12}]),
    "(int8, ?bool)": lambda rng: (rng.randint(0, 2), rng.choice([None, True, False])),
}  # fmt: skip


def test_the_examples_of_the_documentation():
    run_examples(readme_section("Groups and joins"), {}, least=9)
    for function in (nd.groupby, nd.join):
        run_examples(function.__doc__, {"nd": nd})


def order(key):
    """A tuple that orders keys as groups do: NaN after numbers, what is missing after that."""
    if key is None:
        return (2,)
    if isinstance(key, dict):
        return (0, tuple(order(part) for part in key.values()))
    if isinstance(key, tuple):
        return (0, tuple(order(part) for part in key))
    if isinstance(key, float) and math.isnan(key):
        return (1,)
    if isinstance(key, str):
        return (0, key.encode())
    return (0, key)


def grouped(keys):
    """The positions of each group, in the order of the keys."""
    found = {}
    for i, key in enumerate(keys):
        found.setdefault(order(key), []).append(i)
    return [found[key] for key in sorted(found)]


def shown(key):
    """A key as it is shown: one zero, one NaN."""
    if isinstance(key, dict):
        return {name: shown(part) for name, part in key.items()}
    if isinstance(key, tuple):
        return tuple(shown(part) for part in key)
    return repr(key + 0.0) if isinstance(key, float) else key


@given(seeds, st.sampled_from(sorted(KEYS)))
@settings(max_examples=300)
def test_groups_of_keys_of_every_kind(seed, kind):
    rng = random.Random(seed)
    keys = [KEYS[kind](rng) for _ in range(rng.choice([0, 1, 2, 5, 30]))]
    access = rng.choice(["rw", None])
    by = nd.array(keys, type=f"strided * {kind}", access=access)
    if rng.random() < 0.3:
        keys, by = keys[::-2], by[::-2]
    gb = nd.groupby(nd.arange(len(keys)), by=by)
    expected = grouped(keys)
    assert len(gb) == len(expected)
    assert gb.keys.type == nd.array(keys, type=f"strided * {kind}").type
    assert nd.array(gb).tolist() == expected
    assert [shown(key) for key in gb.keys.tolist()] == [shown(keys[group[0]]) for group in expected]
    assert gb.count().tolist() == [len(group) for group in expected]
    assert [row.tolist() for row in gb] == expected
    assert all(gb[i].tolist() == group for i, group in enumerate(expected))


@given(seeds)
@settings(max_examples=150)
def test_groups_by_several_keys(seed):
    rng = random.Random(seed)
    kinds = [rng.choice(sorted(KEYS)) for _ in range(rng.randint(1, 3))]
    count = rng.choice([0, 1, 4, 40])
    keys = [[KEYS[kind](rng) for _ in range(count)] for kind in kinds]
    arrays = [nd.array(column, type=f"strided * {kind}") for column, kind in zip(keys, kinds)]
    rows = list(zip(*keys))
    expected = grouped(rows)
    for by in (arrays, tuple(arrays), {f"k{i}": array for i, array in enumerate(arrays)}):
        gb = nd.groupby(nd.arange(count), by=by)
        assert nd.array(gb).tolist() == expected
        names = by if isinstance(by, dict) else None
        wanted = [shown(rows[group[0]]) for group in expected]
        assert [shown(key) for key in gb.keys.tolist()] == ([dict(zip(names, key)) for key in wanted] if names else wanted)


def test_several_keys_are_a_list_of_arrays_only():
    assert nd.groupby([1, 2, 3], by=[5, 6, 5]).keys.tolist() == [5, 6]
    assert nd.groupby([1, 2], by=[np.array([1, 1]), np.array([2.5, 3.5])]).keys.tolist() == [(1, 2.5), (1, 3.5)]
    assert nd.groupby([1, 2], by=[nd.array(["a", "b"])]).keys.tolist() == [("a",), ("b",)]
    assert nd.groupby([1, 2], by=[nd.array(["a", "b"]), [3, 4]]).keys.tolist() == [("a", 3), ("b", 4)]
    with pytest.raises(ValueError, match="^groupby: sizes differ at axis 0: 2 and 3"):
        nd.groupby([1, 2], by=[nd.array(["a", "b"]), [3, 4, 5]])


BITS = (8, 16, 32, 64)
VALUES = {f"int{n}": lambda rng, n=n: rng.randint(-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in BITS}
VALUES |= {f"uint{n}": lambda rng, n=n: rng.randint(0, 2**n - 1) for n in BITS}
VALUES |= {
    "bool": lambda rng: rng.random() < 0.5,
    "float16": lambda rng: rng.randint(-8, 8) / 4,
    "float32": lambda rng: rng.choice([0.0, -0.0, 1.5, -2.25, rng.randint(0, 100) / 8]),
    "float64": lambda rng: rng.choice([0.0, -0.0, NAN, math.inf, -2.25, rng.randint(0, 100) / 8]),
    "complex64": lambda rng: complex(rng.randint(-4, 4), rng.randint(-4, 4)),
    "complex128": lambda rng: complex(rng.randint(-4, 4), rng.randint(-4, 4)),
    "?int16": lambda rng: rng.choice([None, 1, -7, 300]),
    "?float32": lambda rng: rng.choice([None, None, 1.5, -0.0]),
    "?bool": lambda rng: rng.choice([None, True, False]),
}
ONE_PASS = ["sum", "prod", "min", "max", "any", "all", "count", "count_nonzero", "mean", "var", "std"]


def close(a, b):
    if a is None or b is None or isinstance(a, (bool, int)):
        return a == b and isinstance(a, type(b))
    if isinstance(a, complex):
        return close(a.real, b.real) and close(a.imag, b.imag)
    return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-3)


@pytest.mark.parametrize("kind", sorted(VALUES))
@given(seeds)
@settings(max_examples=15)
def test_one_pass_gives_what_the_rows_give(kind, seed):
    rng = random.Random(seed)
    count = rng.choice([1, 3, 20, 60])
    keys = [rng.randint(0, 4) for _ in range(count)]
    values = nd.array([VALUES[kind](rng) for _ in range(count)], type=f"strided * {kind}")
    if rng.random() < 0.3:  # a field has a stride, and is not aligned
        values = nd.zip({"a": nd.full((count,), 1, "int8"), "v": values})
        values = nd.array(values.tolist(), type="strided * {a: int8, v: %s}" % kind).v
    gb = nd.groupby(values, by=keys)
    for name in ONE_PASS:
        if "complex" in kind and name in ("min", "max"):
            with pytest.raises(TypeError):
                getattr(gb, name)()
            continue
        with np.errstate(all="ignore"):
            found, expected = getattr(gb, name)(axis=1), getattr(nd, name)(nd.array(gb), axis=1)
        assert found.type == expected.type, name
        assert all(close(a, b) for a, b in zip(found.tolist(), expected.tolist())), (name, found, expected)
    if "?" not in kind and "complex" not in kind:
        assert gb.var(correction=1).type == nd.var(nd.array(gb), axis=1, correction=1).type
        assert all(close(a, b) for a, b in zip(gb.var(correction=1).tolist(), nd.var(nd.array(gb), axis=1, correction=1).tolist()))


@given(seeds)
@settings(max_examples=100)
def test_groups_within_rows(seed):
    rng = random.Random(seed)
    kind = rng.choice(sorted(KEYS))
    lengths = [rng.choice([0, 1, 5, 9]) for _ in range(rng.randint(1, 5))]
    keys = [[KEYS[kind](rng) for _ in range(n)] for n in lengths]
    numbers = iter(range(10**6))
    values = [[next(numbers) for _ in range(n)] for n in lengths]
    a, by = nd.array(values, type="strided * var * int64"), nd.array(keys, type=f"strided * var * {kind}")
    gb = nd.groupby(a, by=by, axis=1)
    groups = [grouped(row) for row in keys]
    expected = [[[row[i] for i in group] for group in own] for row, own in zip(values, groups)]
    assert len(gb) == len(lengths)
    assert nd.array(gb).tolist() == expected
    assert [[shown(k) for k in row] for row in gb.keys.tolist()] == [
        [shown(row[group[0]]) for group in own] for row, own in zip(keys, groups)
    ]
    assert gb.sum().tolist() == gb.sum(axis=2).tolist() == gb.sum(axis=-1).tolist() == [[sum(g) for g in own] for own in expected]
    assert gb.max(a).tolist() == [[max(g) for g in own] for own in expected]
    totals = [{i: sum(row[j] for j in group) for group in own for i in group} for row, own in zip(values, groups)]
    assert gb.transform("sum").tolist() == [[total[i] for i in range(n)] for total, n in zip(totals, lengths)]
    assert gb.transform(lambda rows: rows * 2).tolist() == [[2 * v for v in row] for row in values]


def test_groups_within_rows_of_one_size_and_deeper():
    a = nd.array([[1, 2, 3], [4, 5, 6]])
    assert nd.array(nd.groupby(a, by=[[7, 8, 7], [9, 9, 9]], axis=1)).tolist() == [[[1, 3], [2]], [[4, 5, 6]]]
    deep = nd.array([[[1, 2], [3]], [[4, 4, 5]]])
    gb = nd.groupby(deep, by=deep, axis=-1)
    assert gb.keys.tolist() == [[[1, 2], [3]], [[4, 5]]] and gb.count().tolist() == [[[1, 1], [1]], [[2, 1]]]


# ---- what people write


def states():
    return nd.array([
        {"state": "NY", "car_counts": 3, "km": 1.5}, {"state": "CA", "car_counts": 1, "km": None},
        {"state": "NY", "car_counts": 4, "km": 2.5}, {"state": None, "car_counts": 9, "km": 0.5},
    ])  # fmt: skip


def test_the_example_of_the_seeds():
    a, state_populations = states(), nd.array([10, 2, 3])
    gb = nd.groupby(a, by=a.state)
    cars_per = gb.sum(a.car_counts, axis=1) / state_populations
    assert gb.keys.tolist() == ["CA", "NY", None]
    assert cars_per.tolist() == [0.1, 3.5, 3.0]


def test_aggregates_at_once():
    a = states()
    gb = nd.groupby(a, by=a.state)
    found = gb.agg({"n": "count", "cars": ("car_counts", "sum"), "km": ("km", "mean"), "most": (a.km, "max"), "first": ("car_counts", "first"), "span": ("car_counts", "ptp"), "sd": ("car_counts", "std")})
    assert found.n.tolist() == [1, 2, 1] and found.cars.tolist() == [1, 7, 9] and found["first"].tolist() == [1, 3, 9]
    assert math.isnan(found.km.tolist()[0]) and found.km.tolist()[1:] == [2.0, 0.5]
    assert found.most.tolist() == [None, 2.5, 0.5] and found.span.tolist() == [0, 1, 0] and found.sd.tolist() == [0.0, 0.5, 0.0]
    rows = nd.groupby(nd.array([[1, 2, 3], [4]]), by=[[1, 2, 1], [5]], axis=1).agg({"n": "count", "s": "sum"})
    assert rows.tolist() == [[{"n": 2, "s": 4}, {"n": 1, "s": 2}], [{"n": 1, "s": 4}]]


@pytest.mark.parametrize("kind", ["float64", "int32", "complex128", "?float64"])
def test_several_reductions_of_the_same_values_share_what_they_need(kind):
    values = nd.array([4, 1, 7, 2, 9, 3], type=f"strided * {kind}")
    gb, names = nd.groupby(values, by=nd.array([1, 2, 1, 2, 1, 2])), ["mean", "var", "std", "sum", "count", "mean"]
    together = gb.agg({f"{name}{i}": (values, name) for i, name in enumerate(names)})
    for i, name in enumerate(names):
        assert together[f"{name}{i}"].tolist() == getattr(gb, name)().tolist(), name


def test_transform():
    gb = nd.groupby(nd.array([1.0, 2.0, 5.0]), by=["b", "a", "b"])
    assert gb.transform("mean").tolist() == [3.0, 2.0, 3.0]
    assert gb.transform("last").tolist() == [5.0, 2.0, 5.0]
    assert gb.transform("sum", [10, 20, 30]).tolist() == [40, 20, 40]
    assert gb.transform(lambda rows: rows - rows.mean(axis=1, keepdims=True)).tolist() == [-2.0, 0.0, 2.0]
    assert gb.transform(lambda rows: rows.sum(axis=1)).tolist() == [6.0, 2.0, 6.0]
    with pytest.raises(ValueError, match="other lengths"):
        gb.transform(lambda rows: rows[:, :1])
    with pytest.raises(ValueError, match="1 values for 2 groups"):
        gb.transform(lambda rows: rows.sum(axis=1)[:1])


def test_other_reductions_take_the_rows():
    values, keys = nd.array([3.0, 1.0, 2.0, 8.0]), nd.array([1, 0, 1, 1])
    gb = nd.groupby(values, by=keys)
    assert gb.argmax().tolist() == [0, 2] and gb.ptp().tolist() == [0.0, 6.0] and gb.nansum().tolist() == [1.0, 13.0]
    assert gb.first().tolist() == [1.0, 3.0] and gb.last().tolist() == [1.0, 8.0] and gb.nth(1).tolist() == [None, 2.0]
    assert gb.reduce(nd.subtract).tolist() == [1.0, -7.0] and gb.reduce(nd.subtract, identity=1.0).tolist() == [0.0, -12.0]
    assert gb.median().tolist() == [1.0, 3.0] and gb.quantile(0.25).tolist() == [1.0, 2.5]
    assert gb.quantile([0, 1], keys).tolist() == [[0.0, 1.0], [0.0, 1.0]] and gb.agg({"m": "median"}).m.tolist() == [1.0, 3.0]
    assert gb.sum(where=nd.array([True, True, False, True])).tolist() == [1.0, 11.0]
    assert gb.mean(weights=nd.array([1.0, 1.0, 2.0, 0.0])).tolist() == [1.0, 7 / 3]
    assert gb.sum(keepdims=True).tolist() == [[1.0], [13.0]]
    assert gb.sum(axis=None).tolist() == [1.0, 13.0] and gb.sum(axis=(0, 1)).tolist() == 14.0
    assert gb.sum(axis=-1).tolist() == [1.0, 13.0]
    plane = nd.array([[1, 2], [3, 4], [5, 6], [7, 8]])
    assert gb.sum(plane).tolist() == [[3, 4], [13, 16]] and gb.sum(plane, axis=-1).tolist() == [[7], [3, 11, 15]]
    assert nd.groupby(["x", "y", None, "z"], by=keys).count().tolist() == [1, 2]


def test_groups_are_an_array():
    gb = nd.groupby(nd.array([1, 2, 3]), by=[1, 0, 1])
    assert (gb + 1).tolist() == (1 + gb).tolist() == [[3], [2, 4]]
    assert (nd.array([[10], [20]]) + gb).tolist() == [[12], [21, 23]]
    assert nd.num(gb).tolist() == [1, 2] and nd.sum(gb).tolist() == 6 and nd.concat([gb, gb]).tolist() == [[2], [1, 3]] * 2
    assert nd.array(gb).tolist() == nd.asarray(gb).tolist() == gb.tolist() == [[2], [1, 3]]
    assert gb.type == ndt.type("strided * var * int32") and (gb == gb).tolist() == [[True], [True, True]]
    assert (-gb).tolist() == [[-2], [-1, -3]] and nd.sort(gb, descending=True).tolist() == [[2], [3, 1]]
    assert "groupby" in repr(gb)
    b = nd.array([{"x": 1, "y": 2}, {"x": 3, "y": 4}])
    assert nd.groupby(b, by=b.x).y.tolist() == [[2], [4]]


def test_fields_are_attributes_where_the_name_is_free():
    a = nd.array([{"state": 1, "sum": 2, "type": 3, "ä": 4}])
    assert a.state.tolist() == [1] and a.ä.tolist() == [4] and callable(a.sum) and a.type == nd.type_of(a)
    assert nd.array([[{"x": [1, 2]}], []], type="2 * var * {x: var * int8}").x.tolist() == [[[1, 2]], []]
    assert nd.array([None, {"x": 1}], type="strided * ?{x: int32}").x.tolist() == [None, 1]
    for what in (a, nd.array([1]), nd.array([(1, 2)], type="strided * (int8, int8)")):
        with pytest.raises(AttributeError, match="nothing"):
            what.nothing
        assert not hasattr(what, "__array_nothing__")
    with pytest.raises(AttributeError):
        a.state = 5


def test_keys_that_change_afterwards_do_no_harm():
    keys, values = nd.array([0, 1, 0, 1], access="rw"), nd.array([1, 2, 3, 4], access="rw")
    view = np.array([0, 1, 0, 1])
    for by in (keys, nd.asarray(view)):
        gb = nd.groupby(values, by=by)
        by[...] = 2**30
        assert gb.sum().tolist() == [4, 6] and gb.keys.tolist() == [0, 1] and nd.array(gb).tolist() == [[1, 3], [2, 4]]
    texts = nd.array(["a", "b", "a", "b"], access="rw")
    gb = nd.groupby(values, by=texts)
    texts[0] = "c"
    assert gb.keys.tolist() == ["a", "b"] and gb.sum().tolist() == [4, 6]


def test_lazy_operands():
    rng = np.random.default_rng(3)
    values, keys = nd.array(rng.random(100_000)), nd.array(rng.integers(0, 50, 100_000))
    gb = nd.groupby(values * 2, by=keys % 7)
    expected = np.bincount(np.asarray(keys) % 7, np.asarray(values) * 2)
    assert np.allclose(np.asarray(gb.sum()), expected) and gb.keys.tolist() == list(range(7))


def test_several_threads_share_groups():
    rng = np.random.default_rng(3)
    values, keys = nd.array(rng.integers(0, 99, 300_000)), nd.array(rng.integers(0, 50, 300_000))
    gb, expected, found = nd.groupby(values, by=keys), nd.groupby(values, by=keys).sum().tolist(), []
    def work():
        found.append(nd.sum(gb, axis=1).tolist())
        found.append(gb.sum().tolist())
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 8


BAD = {
    "the name of a field": (lambda gb: nd.groupby([{"x": 1}], by="x"), TypeError, "groupby: by must be an array with a key for each element"),
    "no aggregate": (lambda gb: gb.agg({}), TypeError, "groupby: agg takes a dict with one aggregate or more, not {}"),
    "aggregates in a list": (lambda gb: gb.agg(["count"]), TypeError, "groupby: agg takes a dict"),
    "keys of another length": (lambda gb: nd.groupby([1, 2], by=[1]), ValueError, "groupby: sizes differ at axis 0: 1 and 2"),
    "two keys of other lengths": (lambda gb: nd.groupby([1, 2], by=[nd.array([1, 2]), nd.array([1])]), ValueError, "sizes differ at axis 0: 2 and 1"),
    "rows of another length": (lambda gb: nd.groupby([[1], [2, 3]], by=[[1], [1]], axis=1), ValueError, "row 1 has 1 and 2 elements"),
    "values of another length": (lambda gb: gb.sum([1, 2]), ValueError, "sizes differ at axis 0: 3 and 2"),
    "values without an axis": (lambda gb: gb.sum(1), ValueError, "values of 0 dimension"),
    "where of another length": (lambda gb: gb.sum(where=[True]), ValueError, "sizes differ"),
    "keys of two dimensions": (lambda gb: nd.groupby([1, 2], by=[[1, 2], [3, 4]]), ValueError, "keys of 2 dimension"),
    "no keys": (lambda gb: nd.groupby([1, 2], by={}), ValueError, "no keys are given"),
    "complex keys": (lambda gb: nd.groupby([1], by=[1j]), TypeError, "complex128 are no keys"),
    "keys that are rows": (lambda gb: nd.groupby([1], by=nd.array([{"x": [1]}])), (TypeError, ValueError), "no keys"),
    "axes that differ": (lambda gb: nd.groupby([1, 2], by=[nd.array([[1], [2, 3]]), nd.array([1, 2])], axis=-1), ValueError,
                         "groupby: axis -1 is axis 1 of one array and axis 0 of another"),
    "axes that differ, rows last": (lambda gb: nd.groupby([[1], [2, 3]], by={"a": nd.array([1, 2]), "b": nd.array([[1], [2, 3]])}, axis=-1),
                                    ValueError, "groupby: axis -1 is axis 0 of one array and axis 1 of another"),
    "axes that differ, of missing rows": (lambda gb: nd.groupby([[1], [2]], by=[nd.array([[1], None]), nd.array([1, 2])], axis=-1),
                                          ValueError, "groupby: axis -1 is axis 1 of one array and axis 0 of another"),
    "no such axis": (lambda gb: nd.groupby([1], by=[1], axis=1), IndexError, "axis 1 is out of bounds"),
    "a field that there is not": (lambda gb: gb.agg({"n": ("nope", "sum")}), KeyError, "nope"),
    "an aggregate that there is not": (lambda gb: gb.agg({"n": ("x", "nope")}), ValueError, "no aggregate 'nope'"),
    "an attribute that is no aggregate": (lambda gb: gb.agg({"n": "tolist"}), ValueError, "no aggregate 'tolist'"),
    "a request that is none": (lambda gb: gb.agg({"n": ["x", "sum"]}), TypeError, "'n' must be the name of an aggregate"),
    "a transformation that there is not": (lambda gb: gb.transform("nope"), ValueError, "no aggregate 'nope'"),
    "a reduction that there is not": (lambda gb: gb.nope(), AttributeError, "nope"),
    "a function that gives one value": (lambda gb: gb.transform(lambda rows: 5), ValueError, "transform: the function must return the rows"),
    "a sum of records": (lambda gb: gb.sum(), TypeError, "sum"),
    "a keyword that there is not": (lambda gb: gb.sum("x", nope=1), TypeError, "nope"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input(what):
    gb = nd.groupby(nd.array([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}, {"x": 3, "y": "a"}]), by=["a", "b", "a"])
    call, kind, message = BAD[what]
    with pytest.raises(kind, match=message.replace("(", r"\(")):
        call(gb)
    assert gb.sum("x").tolist() == [4, 2]


def test_transform_by_values_of_other_rows_is_refused():
    """As many values as groups, but not in their rows."""
    gb = nd.groupby(nd.array([[1, 2, 1], [5]]), by=nd.array([[1, 2, 1], [5]]), axis=1)
    assert gb.transform(lambda rows: nd.array([[10, 20], [30]])).tolist() == [[10, 20, 10], [30]]
    with pytest.raises(ValueError, match="groupby: row 0 .*2 and 1 elements"):
        gb.transform(lambda rows: nd.array([[10], [20, 30]]))


def test_missing_structs_of_several_columns():
    """What does not count has a slot of its own behind all others."""
    rng = np.random.default_rng(5)
    for n in (3, 100, 5000):
        a, b, there = rng.integers(0, 7, n), rng.integers(0, 5, n), rng.random(n) < 0.8
        keys = [{"a": int(x), "b": int(y)} if t else None for x, y, t in zip(a, b, there)]
        keys[:3] = [{"a": 1, "b": 2}, None, {"a": 1, "b": 2}]
        gb = nd.groupby(np.arange(n), by=nd.array(keys, type=f"{n} * ?{{a: int64, b: int64}}"))
        wanted = {}
        for i, key in enumerate(keys):
            wanted.setdefault(key and (key["a"], key["b"]), []).append(i)
        order = sorted(k for k in wanted if k) + [None]
        assert nd.array(gb).tolist() == [wanted[k] for k in order]


def test_groups_do_not_see_what_is_written_later():
    values = nd.array([1.0, 2.0, 3.0], access="rw")
    groups = nd.groupby(values, by=[1, 2, 1])
    values[0] = 100.0
    assert groups.sum().tolist() == nd.sum(groups, axis=1).tolist() == [4.0, 2.0]
    assert groups.max().tolist() == [3.0, 2.0] and groups[0].tolist() == [1.0, 3.0]
    memory = np.arange(3.0)
    view = memory.view()
    view.flags.writeable = False
    groups = nd.groupby(nd.asarray(view), by=[1, 2, 1])  # another owner writes what this one cannot
    memory[0] = 100.0
    assert groups.sum().tolist() == nd.sum(groups, axis=1).tolist() == [2.0, 1.0]
