"""Pairs and products of rows, stored and lazy, against nested lists and Awkward Array."""

import itertools
import subprocess
import sys
import threading

import awkward as ak
import numpy as np
import pytest
from dynd import nd
from hypothesis import given, settings
from ragged_values import drawn, map_rows, nested, rows_inside
from strategies import SOME, seeds


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_combinations(seed):
    rng, values, a, axis = drawn(seed, 1, 3)
    n, replacement = rng.randint(1, 4), rng.random() < 0.5
    choose = itertools.combinations_with_replacement if replacement else itertools.combinations
    found = nd.combinations(a, n, axis=axis, replacement=replacement)
    assert found.tolist() == map_rows(values, axis, lambda row: list(choose(row, n)))
    places = nd.argcombinations(a, n, axis=axis, replacement=replacement, fields="abcd"[:n])
    expected = map_rows(values, axis, lambda row: [dict(zip("abcd", c)) for c in choose(range(len(row)), n)])
    assert places.tolist() == expected


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_cartesian(seed):
    rng, values, a, axis = drawn(seed, 1, 3)
    others = [nd.local_index(a, axis=axis), nd.roll(a, 1, axis=axis)][: rng.randint(0, 2)]
    lists = [values] + [other.tolist() for other in others]
    rows = [rows_inside(each, axis) for each in lists]
    product = iter([list(itertools.product(*each)) for each in zip(*rows)])
    expected = map_rows(values, axis, lambda row: next(product))
    assert nd.cartesian([a, *others], axis=axis).tolist() == expected
    inner = iter([[list(itertools.product([x], *each[1:])) for x in each[0]] for each in zip(*rows)])
    nested_rows = map_rows(values, axis, lambda row: next(inner))
    assert nd.cartesian([a, *others], axis=axis, nested=True).tolist() == nested_rows
    places = iter([list(itertools.product(*[range(len(row)) for row in each])) for each in zip(*rows)])
    assert nd.argcartesian([a, *others], axis=axis).tolist() == map_rows(values, axis, lambda row: next(places))


def test_pairs_against_awkward():
    rng = np.random.default_rng(6)
    counts, few = rng.poisson(4, 2000), rng.poisson(1.5, 2000)
    pt, eta = (ak.unflatten(rng.normal(size=counts.sum()), counts) for _ in range(2))
    other = ak.unflatten(rng.normal(size=few.sum()), few)
    ours = nd.zip({"pt": nd.array(pt.tolist()), "eta": nd.array(eta.tolist())})
    a, b = nd.unzip(nd.combinations(ours, 2))
    x, y = ak.unzip(ak.combinations(ak.zip({"pt": pt, "eta": eta}), 2))
    assert (a["pt"] * b["pt"] * (a["eta"] - b["eta"])).tolist() == (x.pt * y.pt * (x.eta - y.eta)).tolist()
    a, b = nd.unzip(nd.cartesian({"a": ours["pt"], "b": nd.array(other.tolist())}, nested=True))
    x, y = ak.unzip(ak.cartesian([pt, other], nested=True))
    assert nd.abs(a - b).min(axis=-1, initial=9).tolist() == ak.min(abs(x - y), axis=-1, initial=9, mask_identity=False).tolist()


@pytest.fixture(scope="module")
def events():
    rng = np.random.default_rng(7)
    counts, few = rng.poisson(4, 30_000), rng.poisson(1.5, 30_000)
    parts = [[ak.unflatten(rng.normal(size=n.sum()), n) for _ in range(3)] for n in (counts, few)]
    ours = []
    for n, columns in zip((counts, few), parts):
        offsets = nd.array(np.concatenate([[0], np.cumsum(n)]))
        rows = [nd.from_offsets(offsets, nd.array(np.asarray(ak.flatten(c)))) for c in columns]
        ours.append(nd.zip(dict(zip(("pt", "eta", "phi"), rows))))
    return ours, [ak.zip(dict(zip(("pt", "eta", "phi"), columns))) for columns in parts]


def flat(a):
    return np.asarray(nd.flatten(a))


def test_pairs_are_not_stored(threads, events):
    """A reduction of an expression over pairs is one kernel, which computes the members that it needs."""
    (ours, _), (theirs, _) = events

    def mass(a, b, sqrt, cosh, cos):
        return sqrt(2 * abs(a["pt"] * b["pt"]) * (cosh(a["eta"] - b["eta"]) - cos(a["phi"] - b["phi"])))

    a, b = nd.unzip(nd.combinations(ours, 2))
    x, y = ak.unzip(ak.combinations(theirs, 2))
    expected = mass(x, y, np.sqrt, np.cosh, np.cos)
    assert np.allclose(flat(mass(a, b, nd.sqrt, nd.cosh, nd.cos)), np.asarray(ak.flatten(expected)), rtol=1e-12)
    assert np.allclose(np.asarray(mass(a, b, nd.sqrt, nd.cosh, nd.cos).sum(axis=1)), np.asarray(ak.sum(expected, axis=1)))
    text = nd.explain(lambda: mass(a, b, nd.sqrt, nd.cosh, nd.cos).sum(axis=1))
    assert text.count("one kernel") == 1 and text.count("=choose(") == 1  # all six members at once


def test_nearest_of_others(threads, events):
    (ours, others), (theirs, few) = events
    a, b = nd.unzip(nd.cartesian({"a": ours, "b": others}, nested=True))
    x, y = ak.unzip(ak.cartesian([theirs, few], nested=True))
    found = nd.sqrt((a["eta"] - b["eta"]) ** 2 + (a["phi"] - b["phi"]) ** 2).min(axis=-1, empty="missing")
    expected = ak.min(np.sqrt((x.eta - y.eta) ** 2 + (x.phi - y.phi) ** 2), axis=-1)
    assert found.tolist() == expected.tolist()


def test_nested_rows_on_threads():
    """Pieces are written side by side, whichever of them ends first: many times, because it could be chance."""
    rng, before = np.random.default_rng(1), nd.num_threads()
    first, second = rng.integers(0, 5, 300_000), rng.integers(0, 5, 300_000)
    a, b = (nd.from_offsets(np.append(0, n.cumsum()), np.arange(n.sum())) for n in (first, second))
    expected = np.repeat(second, first)
    try:
        for threads in [2, 4, 7] * 10:
            nd.set_num_threads(threads)
            assert np.array_equal(np.asarray(nd.flatten(nd.num(nd.cartesian([a, b], nested=True), axis=2))), expected)
    finally:
        nd.set_num_threads(before)


def test_lazy_records_are_arrays_like_others(events):
    (ours, others), _ = events
    made = lambda: nd.cartesian({"a": ours["pt"], "b": others["eta"]})  # noqa: E731
    with nd.eager():
        expected = made()
    values = expected.tolist()
    assert made().tolist() == values and repr(made()) == repr(expected) and str(made().type) == str(expected.type)
    assert made()[17].tolist() == values[17] and made()[:, :1].tolist() == [row[:1] for row in values]
    assert made()["b"].tolist() == expected["b"].tolist()
    assert nd.flatten(made()).tolist() == nd.flatten(expected).tolist()
    assert nd.rename(made(), {"a": "z"})["z"].tolist() == expected["a"].tolist()
    assert made()[["b"]].tolist() == expected[["b"]].tolist()
    assert nd.zip({"r": made(), "i": nd.local_index(expected)})["r"].tolist() == values
    assert bool((made() == expected).all()) and len(made()) == len(values)
    assert nd.array(made(), access="rw").tolist() == values
    lazy = made()
    part = lazy["a"] * 2
    assert lazy.tolist() == values and part.tolist() == (expected["a"] * 2).tolist()  # in either order
    assert nd.unzip(lazy)[0].tolist() == expected["a"].tolist()
    words = nd.from_offsets(np.arange(0, 60_001, 3), nd.array([str(i % 1000) for i in range(60_000)]))
    pairs = nd.combinations(nd.zip({"w": words, "n": nd.local_index(words)}), 2, fields=["x", "y"])
    assert pairs["y", "w"][7].tolist() == ["22", "23", "23"] and pairs["x"]["n"].sum().tolist() == 20_000


WALKS = {
    "elements": lambda x, y: x * 2 - y,
    "all": lambda x, y: (x - y).sum(),
    "rows": lambda x, y: (x + y).max(axis=-1, initial=-99),
    "outer rows": lambda x, y: nd.maximum(x, y).sum(axis=1, align="left") if x.ndim == 2 else (x - y).sum(axis=-1).sum(axis=1),
    "stages": lambda x, y: (x - y).mean(axis=-1),
    "running": lambda x, y: nd.cumulative_sum(x - y, axis=-1),
    "missing": lambda x, y: nd.fill_missing(nd.mask(x, x > y), 0).sum(axis=-1),
    "positions": lambda x, y: (x * y).argmax(axis=-1, empty="missing"),
    "two results": lambda x, y: (lambda d: d.sum(axis=-1) + (d * d).sum(axis=-1))(x - y),
}
LENGTHS = {
    "short": lambda rng: rng.poisson(3, 4000),
    "equal": lambda rng: np.full(3000, 4),
    "one": lambda rng: np.full(20_000, 1) + (np.arange(20_000) == 7),
    "long": lambda rng: np.array([0, 300, 17, 0, 150, 9]),
    "patterns": lambda rng: rng.integers(0, 20, 1500),
}


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("scalar", ["int8", "int32", "float64", "complex128"])
def test_choices_in_every_walk(lengths, scalar, threads):
    """Members that are computed from numbers are those of stored records, however the pairs are walked."""
    rng = np.random.default_rng(8)
    n = LENGTHS[lengths](rng)
    values = rng.integers(-9, 9, 2 * n.sum()).astype(scalar)
    offsets, few = (nd.array(np.concatenate([[0], np.cumsum(m)])) for m in (n, np.minimum(n, rng.integers(0, 7, len(n)))))
    a = nd.from_offsets(offsets, nd.array(values[: n.sum()]))
    b = nd.from_offsets(few, nd.array(values)[::-2][: int(few[-1])])  # elements that do not follow each other
    made = [
        lambda: nd.combinations(a, 2),
        lambda: nd.combinations(b, 2, replacement=True),
        lambda: nd.cartesian([a, b]),
        lambda: nd.cartesian([b, a], nested=True),
        lambda: nd.cartesian({"x": b, "y": b, "z": b})[["x", "z"]],
    ]
    made += [lambda: nd.combinations(b, 3, fields="xyz")[["z", "x"]]] if lengths != "long" else []
    for make in made:
        for name, walk in WALKS.items():
            if scalar == "complex128" and name in ("rows", "outer rows", "missing", "positions"):
                continue
            with nd.eager():
                expected = walk(*nd.unzip(make()))
            assert str(walk(*nd.unzip(make())).tolist()) == str(expected.tolist()), name


def test_choices_are_shown_and_traced(events):
    (ours, _), _ = events
    few = ours[:1500]["pt"]
    x, y = nd.unzip(nd.combinations(few, 2))
    with nd.eager():
        expected = nd.unzip(nd.combinations(few, 2))[0]
    assert "choose(r0)" in nd.explain(lambda: nd.unzip(nd.combinations(few, 2))[0].sum())
    assert repr(x) == repr(expected) and str(nd.trace(lambda: (x + 0).eval())) != ""
    assert nd.unzip(nd.combinations(few, 2))[0][::-1, ::2].tolist() == expected[::-1, ::2].tolist()


def test_pairs_take_no_memory():
    """Beyond the operands and the result an expression over pairs takes offsets, and nothing for each pair."""
    script = """
import re
import numpy as np
from dynd import nd

n = np.random.default_rng(9).poisson(20, 30_000)
a = nd.from_offsets(nd.array(np.concatenate([[0], np.cumsum(n)])), nd.array(np.arange(n.sum()) % 97.0))

def peak():
    # ru_maxrss would begin with that of the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

def nearest(a):
    x, y = nd.unzip(nd.cartesian([a, a], nested=True))
    return nd.abs(x - y + 0.5).min(axis=-1, initial=9.0).eval()

nearest(a[:300])
before = peak()
nearest(a)
print(peak() - before)
"""
    grown = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    assert grown < 40_000  # kilobytes; 12.6 million pairs


def test_lazy_records_from_many_threads(events):
    (ours, _), _ = events
    with nd.eager():
        expected = nd.combinations(ours["pt"], 2)
    lazy = nd.combinations(ours["pt"], 2)
    found = []

    def look():
        found.append((nd.unzip(lazy)[1].sum().tolist(), lazy[5].tolist()))

    workers = [threading.Thread(target=look) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [(nd.unzip(expected)[1].sum().tolist(), expected[5].tolist())] * 6


def test_too_many_pairs():
    for call in (
        lambda: nd.combinations(nd.arange(200), 60, axis=0),
        lambda: nd.combinations(nd.arange(10**6), 12, axis=0),
        lambda: nd.cartesian([nd.arange(10**5)] * 4, axis=0),
        lambda: nd.cartesian([nd.arange(10**7)] * 3, axis=0),
        lambda: nd.cartesian([nd.arange(10**6)] * 3, axis=0).eval(),  # they can be counted, and are not stored before
    ):
        with pytest.raises(MemoryError, match="too large|cannot allocate"):
            call()
    for n in (0, -1, 65):
        with pytest.raises(ValueError, match="n must be from 1 to 64"):
            nd.combinations([[1]], n)
    with pytest.raises(ValueError, match="2 names for 3 fields"):
        nd.combinations([[1]], 3, fields=["a", "b"])
    with pytest.raises(ValueError, match="sizes differ at axis 0"):
        nd.cartesian([[[1]], [[1], [2]]])


@pytest.mark.parametrize("function", [nd.cartesian, nd.argcartesian])
def test_the_axis_is_the_same_one_of_each_array(function):
    """From the end it is another one of arrays with other dimensions: the rows of one are none of the others."""
    flat, rows, missing = nd.array([1, 2, 3]), nd.array([[1], [2, 3], [4]]), nd.array([[1], None, [4]])
    for arrays, axes in (([flat, rows], (0, 1)), ([rows, flat], (1, 0)), ([rows, rows, flat], (1, 0)), ([missing, flat], (1, 0)),
                         ([flat, missing], (0, 1)), ([nd.array([[3], [5]]), nd.array([1 + 1j, 2])], (1, 0))):
        message = f"{function.__name__}: axis -1 is axis {axes[0]} of one array and axis {axes[1]} of another"
        for nested in (False, True):
            with pytest.raises(ValueError, match=message):
                function(arrays, axis=-1, nested=nested)
    with pytest.raises(IndexError, match="axis 1 is out of bounds for 1 dimension"):
        function([rows, flat], axis=1)
    assert function([rows, rows], axis=-1).tolist() == function([rows, rows], axis=1).tolist()
    assert nd.num(function([rows, missing], axis=-1)).tolist() == [1, None, 1]


@pytest.mark.parametrize("replacement", [False, True])
def test_members_at_once(replacement):
    """Fields of several sizes and more than one step takes; rows of every length that has a pattern, and longer ones."""
    lengths = np.concatenate([np.repeat(np.arange(21), 21), np.arange(21)])
    others = np.concatenate([np.tile(np.arange(21), 21), np.arange(21)])
    rng = np.random.default_rng(5)

    def fields(lengths):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return {f"{t}{i}": nd.array(nd.from_offsets(offsets, rng.integers(0, 100, offsets[-1]).astype(t)))
                for t in ("int8", "float32", "float64") for i in range(6)}

    def check(made, names):
        a, b = nd.unzip(made())
        found = sum(a[n].astype("float64") - b[n] for n in names)
        with nd.eager():
            a, b = nd.unzip(made())
            parts = [(np.asarray(nd.flatten(a[n])), np.asarray(nd.flatten(b[n]))) for n in names]
        expected = sum(x.astype(float) - y for x, y in parts)
        assert np.array_equal(np.asarray(nd.flatten(found)), expected)

    left, right = fields(lengths), fields(others)
    check(lambda: nd.cartesian([nd.zip(left), nd.zip(right)], nested=True), list(left))
    check(lambda: nd.combinations(nd.zip(left), 2, replacement=replacement), list(left))


def test_remainder_of_floats_is_pythons():
    """Around multiples of the divisor, and where the sum of both is no number of the type."""
    near = np.array([0.0, 1e-300, 1e-20, 1.0, 2.0**52])
    a = np.concatenate([sign * (np.nextafter(k * 6.28, side) + near) for sign in (1, -1) for k in range(40) for side in (-9, 999)])
    for divisor in (6.28, -6.28, 3.0, 0.1):
        expected = [x % divisor for x in a.tolist()]
        assert np.asarray(nd.array(a) % divisor).tobytes() == np.array(expected).tobytes()
        single = nd.array(a.astype("float32")) % nd.array(divisor, type="float32")
        assert np.asarray(single).tobytes() == (a.astype("float32") % np.float32(divisor)).tobytes()


def test_records_of_choices_stay_when_the_array_is_written_later():
    """So many that they would be put together when they are wanted."""
    offsets = np.arange(0, 40_001, 4)
    for make in (lambda a: nd.combinations(a, 2), lambda a: nd.cartesian({"0": a, "1": a}, axis=1), lambda a: nd.combinations(a, 3)):
        memory = np.arange(40_000.0)
        a = nd.from_offsets(offsets, nd.asarray(memory))
        assert a.access != "immutable"
        found, wanted = make(a), make(nd.from_offsets(offsets, nd.array(memory)))
        memory[:] = -1
        assert all(x.tolist() == y.tolist() for x, y in zip(nd.unzip(found), nd.unzip(wanted)))
