"""Joins against plain Python: keys of every kind, all five ways, on any number of threads."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynd import nd, ndt
from strategies import seeds
from test_groups import KEYS, order, shown

WAYS = ["inner", "left", "outer", "semi", "anti"]


def has_missing(key):
    if isinstance(key, dict):
        return any(has_missing(part) for part in key.values())
    if isinstance(key, (tuple, list)):
        return any(has_missing(part) for part in key)
    return key is None


def joined(left, right, on, how):
    """Lists of dicts, joined the slow way."""
    def key(row):
        own = [row[name] for name in on]
        return None if has_missing(own) else tuple(order(part) for part in own)

    others = [name for name in (right[0] if right else {}) if name not in on]
    pairs, used = [], set()
    for row in left:
        equal = [] if key(row) is None else [j for j, other in enumerate(right) if key(other) == key(row)]
        used.update(equal)
        if how in ("semi", "anti"):
            pairs += [row] if bool(equal) == (how == "semi") else []
            continue
        pairs += [{**row, **{name: right[j][name] for name in others}} for j in equal]
        if not equal and how != "inner":
            pairs.append({**row, **{name: None for name in others}})
    if how == "outer":
        for j, other in enumerate(right):
            if j not in used:
                pairs.append({**{name: None for name in (left[0] if left else {})}, **other})
    return pairs


@given(seeds, st.sampled_from(WAYS))
@settings(max_examples=300)
def test_joins(seed, how):
    rng = random.Random(seed)
    kinds = [rng.choice(sorted(KEYS)) for _ in range(rng.choice([1, 1, 2, 3]))]
    on = [f"k{i}" for i in range(len(kinds))]
    sides = []
    for name, kind in (("x", "int32"), ("y", rng.choice(["string", "?float64"]))):
        count = rng.choice([1, 2, 6, 25])
        rows = [{key: KEYS[own](rng) for key, own in zip(on, kinds)} for _ in range(count)]
        for i, row in enumerate(rows):
            row[name] = i if name == "x" else str(i) if kind == "string" else i / 2
        fields = ", ".join(f"{key}: {own}" for key, own in zip(on, kinds))
        sides.append((rows, nd.array(rows, type=f"strided * {{{fields}, {name}: {kind}}}")))
    (left, a), (right, b) = sides
    found, expected = nd.join(a, b, on if len(on) > 1 else rng.choice([on, on[0]]), how), joined(left, right, on, how)
    assert [shown(row) for row in found.tolist()] == [shown(row) for row in expected]
    if how in ("semi", "anti"):
        assert found.type == a.type


def test_types_of_results():
    left, right = nd.array([{"k": 1, "x": "a"}]), nd.array([{"k": 2, "y": 1.5}])
    types = {how: str(nd.join(left, right, "k", how).type) for how in WAYS}
    assert types == {
        "inner": "strided * {k: int32, x: string, y: float64}",
        "left": "strided * {k: int32, x: string, y: ?float64}",
        "outer": "strided * {k: int32, x: ?string, y: ?float64}",
        "semi": "strided * {k: int32, x: string}",
        "anti": "strided * {k: int32, x: string}",
    }
    empty = left[:0]
    assert [len(nd.join(a, b, "k", how)) for how in WAYS for a, b in ((empty, right), (left, right[:0]))] == [0, 0, 0, 1, 1, 1, 0, 0, 0, 1]


def test_keys_of_two_types():
    left = nd.array([{"k": 1, "x": 1}, {"k": 300, "x": 2}], type="strided * {k: int16, x: int8}")
    right = nd.array([{"k": 1, "y": 5}, {"k": 255, "y": 6}], type="strided * {k: ?uint8, y: int8}")
    assert nd.join(left, right, "k").tolist() == [{"k": 1, "x": 1, "y": 5}]
    outer = nd.join(left, right, "k", "outer")
    assert outer.k.tolist() == [1, 300, 255] and outer.type.dtype == ndt.type("{k: ?int16, x: ?int8, y: ?int8}")
    halves = nd.array([{"k": 1.0, "y": 5}, {"k": 0.5, "y": 6}], type="strided * {k: float32, y: int8}")
    assert nd.join(left, halves, "k").y.tolist() == [5]


@pytest.mark.parametrize("left, right", [("string", "fixed_string[3]"), ("fixed_string[3]", "fixed_string[5]"), ("?fixed_string[3]", "string"), ("bytes", "fixed_bytes[2]")])
def test_keys_that_are_texts_of_other_lengths(left, right):
    a, b, c = (b"aa", b"bb", b"cc") if "bytes" in left else ("aa", "bb", "cc")
    first = nd.array([{"k": a, "x": 1}, {"k": b, "x": 2}], type=f"strided * {{k: {left}, x: int8}}")
    second = nd.array([{"k": b, "y": 5}, {"k": c, "y": 6}], type=f"strided * {{k: {right}, y: int8}}")
    assert nd.join(first, second, "k").tolist() == [{"k": b, "x": 2, "y": 5}]
    assert nd.join(first, second, "k").k.type.dtype == ndt.type(left)
    assert nd.join(first, second, "k", "outer").k.tolist() == [a, b, c]
    assert nd.join(first, second, "k", "anti").x.tolist() == [1]


def test_fields_with_rows_and_sides_with_strides():
    left = nd.array([{"k": "a", "h": [1, 2]}, {"k": "b", "h": []}, {"k": "a", "h": [3]}])[::-1]
    right = nd.array([{"g": [["x"]], "k": "a"}])
    assert nd.join(left, right, "k", "left").tolist() == [
        {"k": "a", "h": [3], "g": [["x"]]}, {"k": "b", "h": [], "g": None}, {"k": "a", "h": [1, 2], "g": [["x"]]},
    ]  # fmt: skip


def test_large_joins(threads):
    rng = np.random.default_rng(2)
    left = nd.zip({"k": nd.array(rng.integers(0, 90_000, 300_000)), "x": nd.arange(300_000)})
    keys = rng.permutation(100_000)[:60_000]
    right = nd.zip({"k": nd.array(keys), "y": nd.array(rng.random(60_000))})
    place = np.full(100_000, -1)
    place[keys] = np.arange(60_000)
    at = place[np.asarray(left.k)]
    inner = nd.join(left, right, "k")
    assert np.array_equal(np.asarray(inner.x), np.flatnonzero(at >= 0))
    assert np.array_equal(np.asarray(inner.y), np.asarray(right.y)[at[at >= 0]])
    both = nd.join(left, right, "k", "left")
    assert np.array_equal(np.asarray(both.x), np.arange(300_000)) and np.array_equal(np.asarray(nd.is_missing(both.y)), at < 0)
    assert len(nd.join(left, right, "k", "outer")) == 300_000 + (~np.isin(keys, np.asarray(left.k))).sum()
    assert len(nd.join(left, right, "k", "semi")) == (at >= 0).sum()
    many = nd.join(left[:1000], left.astype(left.type.dtype)[:1000][["k"]], "k")
    count = np.bincount(np.asarray(left.k)[:1000])
    assert len(many) == (count**2).sum()


def numbers_of(rng, kind, n):
    """So many different keys, of which a large range of numbers has few."""
    if kind == "string":
        return np.array([f"{i:09}" for i in rng.permutation(n)])
    if kind == "longer string":
        return np.array([f"{i:09}" + "x" * (i % 17) for i in rng.permutation(n)])
    return (rng.permutation(n) * 2**40 - 2**57).astype(kind)


def matched_rows(left, right):
    """Of each left key, its rows on the right side."""
    rows = {}
    for i, key in enumerate(right.tolist()):
        rows.setdefault(key, []).append(i)
    return [rows.get(key, []) for key in left.tolist()]


@pytest.mark.parametrize("kind", ["int64", "float64", "string", "longer string"])
@pytest.mark.parametrize("right_keys", ["each once", "some twice"])
def test_many_keys_are_matched_in_parts(kind, right_keys):
    """So many that a table of all would not be in a cache; keys on both sides that the other one lacks."""
    rng = np.random.default_rng(5)
    n = 1 << 18
    pool = numbers_of(rng, kind, n + 5_000)
    right = rng.permutation(pool[:n]) if right_keys == "each once" else pool[rng.integers(0, n, n)]
    left = pool[rng.integers(n // 2, n + 5_000, 150_000)]
    rows = matched_rows(left, right)
    pairs = [(i, j) for i, own in enumerate(rows) for j in own]
    kept = [(i, j) for i, own in enumerate(rows) for j in own or [None]]
    used = {j for own in rows for j in own}
    a = nd.zip({"k": nd.array(left), "x": nd.arange(len(left))})
    b = nd.zip({"k": nd.array(right), "y": nd.arange(n)})
    for threads in (1, 2, 3):
        nd.set_num_threads(threads)
        inner, whole, outer = (nd.join(a, b, "k", how) for how in ("inner", "left", "outer"))
        assert list(zip(inner.x.tolist(), inner.y.tolist())) == pairs
        assert inner.k.tolist() == left[[i for i, _ in pairs]].tolist()
        assert list(zip(whole.x.tolist(), whole.y.tolist())) == kept
        more = [j for j in range(n) if j not in used]
        assert list(zip(outer.x.tolist(), outer.y.tolist())) == kept + [(None, j) for j in more]
        assert outer.k.tolist() == [left[i] for i, _ in kept] + [right[j] for j in more]
        assert nd.join(a, b, "k", "semi").x.tolist() == [i for i, own in enumerate(rows) if own]
        assert nd.join(a, b, "k", "anti").x.tolist() == [i for i, own in enumerate(rows) if not own]
    nd.set_num_threads(1)


def test_a_missing_key_has_no_match_among_many_keys():
    """What is in memory at its place is a key of the right side."""
    n = 1 << 18
    right = nd.zip({"k": nd.array(np.arange(n) * 2**40), "y": nd.arange(n)})
    left = nd.zip({"k": nd.array([None, 2**40, None, 5], type="strided * ?int64"), "x": nd.arange(4)})
    assert nd.join(left, right, "k").tolist() == [{"k": 2**40, "x": 1, "y": 1}]


@given(seeds, st.sampled_from(WAYS))
@settings(max_examples=200)
def test_integers_of_a_small_range(seed, how):
    """Among left keys that are far from it, at both ends of their type."""
    rng = random.Random(seed)
    kind = rng.choice(["int8", "int32", "int64", "uint8", "uint64", "bool", "?int16", "?uint32"])
    plain = kind.strip("?")
    info = np.iinfo(plain) if plain != "bool" else None
    least, most = (int(info.min), int(info.max)) if info else (0, 1)
    first = rng.choice([least, most, 0, rng.randint(least, most)])
    near = [min(max(first + d, least), most) for d in range(-4, 5)]
    gaps = [None] if kind.startswith("?") else []
    mine, others = rng.choice([near, near + gaps, near + [least, most]]), rng.choice([near, near + gaps])
    convert = bool if plain == "bool" else lambda key: key
    left = [{"k": key if key is None else convert(key), "x": i} for i, key in enumerate(rng.choices(mine, k=rng.choice([1, 7, 40])))]
    keys = rng.choices(others, k=12) if rng.random() < 0.5 else list(dict.fromkeys(rng.sample(others, len(others))))
    right = [{"k": key if key is None else convert(key), "y": i} for i, key in enumerate(keys)]
    a, b = (nd.array(rows, type=f"strided * {{k: {kind}, {name}: int32}}") for rows, name in ((left, "x"), (right, "y")))
    assert nd.join(a, b, "k", how).tolist() == joined(left, right, ["k"], how)


def test_a_left_side_that_is_taken_whole_is_the_results_own():
    """What can be written later is copied; what cannot is shared."""
    numbers = np.arange(6)
    left = nd.zip({"k": nd.array(numbers), "x": nd.asarray(numbers)})
    right = nd.zip({"k": nd.array(numbers[::-1].copy()), "y": nd.array(numbers)})
    for how in ("inner", "left"):
        found = nd.join(left, right, "k", how)
        numbers[0] += 100
        assert found.x.tolist()[1:] == [1, 2, 3, 4, 5] and found.x.tolist()[0] == numbers[0] - 100
        assert found.y.tolist() == [5, 4, 3, 2, 1, 0]
        with pytest.raises(TypeError, match="immutable"):
            found.x[0] = 7


def address(array):
    return np.asarray(array).ctypes.data


def test_a_left_side_is_shared_only_where_it_is_most_of_its_memory():
    numbers = np.arange(100_000)
    left = nd.zip({"k": nd.array(numbers), "x": nd.array(numbers * 2)})
    right = nd.zip({"k": nd.array(numbers[::-1].copy()), "y": nd.array(numbers)})
    assert address(nd.join(left, right, "k").x) == address(left.x)
    for part in (left[:50], left[::-1], left[::2], left[60_000:]):
        found = nd.join(part, right, "k")
        assert found.x.tolist() == part.x.tolist() and found.y.tolist() == (99_999 - np.asarray(part.k)).tolist()
        assert not address(left.x) <= address(found.x) < address(left.x) + numbers.nbytes


def test_pairs_of_keys_are_more_than_32_bits_count():
    """Columns of 2^17 and 2^16 keys: rows i and i + 2^16 differ in the first only."""
    number = np.arange(1 << 17)
    right = nd.zip({"a": nd.array(number), "b": nd.array(number % (1 << 16)), "y": nd.array(number)})
    left = nd.array([{"a": 70_000, "b": 70_000 - (1 << 16)}, {"a": 5, "b": 5}, {"a": 5, "b": 70_000 - (1 << 16)}])
    left = left.astype("{a: int64, b: int64}")
    assert nd.join(left, right, ["a", "b"]).y.tolist() == [70_000, 5]
    assert nd.join(left, right, ["a", "b"], "anti").a.tolist() == [5]


LEFT, RIGHT = [{"k": 1, "x": 1, "z": "a"}], [{"k": 1, "y": 1}]
BAD = {
    "equal names": (lambda a, b: nd.join(a, a, "k"), ValueError, "both sides have a field x that is no key"),
    "a key that the left side lacks": (lambda a, b: nd.join(a, b, "y"), IndexError, "no field y in the left side"),
    "a key that the right side lacks": (lambda a, b: nd.join(a, b, ["k", "x"]), IndexError, "no field x in the right side"),
    "a key twice": (lambda a, b: nd.join(a, b, ["k", "k"]), ValueError, "the key k is given twice"),
    "no key": (lambda a, b: nd.join(a, b, []), ValueError, "no key is given"),
    "another way": (lambda a, b: nd.join(a, b, "k", "full"), ValueError, "how must be 'inner', .* not 'full'"),
    "no structs": (lambda a, b: nd.join([1], b, "k"), TypeError, "the left side must be a list of structs"),
    "rows of structs": (lambda a, b: nd.join(a, nd.array([[{"k": 1}]]), "k"), TypeError, "the right side must be a list"),
    "text beside numbers": (lambda a, b: nd.join(nd.rename(a[["z"]], {"z": "k"}), b, "k"), TypeError, "the key k is of string and int32"),
    "numbers that lose digits": (lambda a, b: nd.join(a[["k"]].astype("{k: int64}"), b.astype("{k: float64, y: int8}"), "k"), TypeError, "the key k is of int64 and float64"),
    "complex keys": (lambda a, b: nd.join(nd.array([{"k": 1j}]), nd.array([{"k": 1j}]), "k"), TypeError, "complex128 are no keys"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input(what):
    a, b = nd.array(LEFT), nd.array(RIGHT)
    call, kind, message = BAD[what]
    with pytest.raises(kind, match=message):
        call(a, b)
    assert len(nd.join(a, b, "k")) == 1


def test_a_result_that_is_too_large():
    a = nd.zip({"k": nd.zeros((3_000_000,), "int8"), "x": nd.arange(3_000_000)})
    with pytest.raises(MemoryError):
        nd.join(a, nd.rename(a, {"x": "y"}), "k")
