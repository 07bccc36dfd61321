"""Groups of many elements: each way to find them, on any number of threads, and the order of summation."""

import subprocess
import sys

import numpy as np
import pytest

from dynd import nd


def large_keys(rng, n):
    sparse = rng.integers(-(2**62), 2**62, 5000)
    words = np.array([f"{'long ' * (i % 5)}word {i}" for i in range(3000)])
    late = rng.integers(0, 100, n)
    late[n // 2 + 1] = 10**6  # no sample sees it
    far = late.copy()
    far[n // 3 + 1] = 2**60
    few = rng.integers(0, 50, n) * (n // 50)
    return {
        "dense": rng.integers(-500, 500, n), "dense int32": rng.integers(10, 300, n).astype("i4"),
        "dense many": rng.integers(0, n, n), "narrow": rng.integers(-5, 100, n).astype("i1"),
        "few of a range": few, "late": late, "far": far, "sparse": sparse[rng.integers(0, len(sparse), n)],
        "floats": rng.integers(0, 1000, n) / 8, "text": words[rng.integers(0, len(words), n)],
    }  # fmt: skip


LARGE = 300_000  # enough for several threads
CASES = ["dense", "dense int32", "dense many", "narrow", "few of a range", "late", "far", "sparse", "floats", "text"]


@pytest.mark.parametrize("case", CASES)
def test_large_groups(case, threads):
    rng = np.random.default_rng(5)
    keys, values = large_keys(rng, LARGE)[case], rng.integers(-1000, 1000, LARGE)
    unique, inverse = np.unique(keys, return_inverse=True)
    gb = nd.groupby(nd.array(values), by=nd.array(keys))
    assert gb.keys.tolist() == unique.tolist()
    assert np.array_equal(np.asarray(gb.sum()), np.bincount(inverse, values).astype("i8"))
    assert np.array_equal(np.asarray(gb.count()), np.bincount(inverse))
    assert np.array_equal(np.asarray(gb.transform("count")), np.bincount(inverse)[inverse])
    order = np.argsort(inverse, kind="stable")
    assert np.array_equal(np.asarray(nd.flatten(nd.array(gb))), values[order])
    missing = rng.random(LARGE) < 0.3
    holes = nd.groupby(nd.array(values), by=nd.mask(nd.array(keys), nd.array(~missing)))
    there, inverse = np.unique(keys[~missing], return_inverse=True)
    assert holes.keys.tolist() == there.tolist() + [None]
    wanted = np.append(np.bincount(inverse, values[~missing]), values[missing].sum()).astype("i8")
    assert np.array_equal(np.asarray(holes.sum()), wanted)


def test_texts_that_differ_in_one_byte():
    """Of every length around the words that a text is compared by, one after another with each of its bytes another."""
    keys = ["x" * n for n in range(36)] + ["x" * at + "y" + "x" * (n - at - 1) for n in range(36) for at in range(n)]
    keys += ["\0" * n for n in range(1, 36)]
    order = np.random.default_rng(2).permutation(np.repeat(np.arange(len(keys)), 3))
    gb = nd.groupby(nd.array(order), by=nd.array([keys[i] for i in order]))
    assert gb.keys.tolist() == sorted(keys)
    assert gb.sum().tolist() == [3 * i for i in sorted(range(len(keys)), key=keys.__getitem__)]


def ordered_group_sums(values, group, groups):
    """The order of summation, the slow way: parts of equal size, each in the order of the index."""
    parts = max(1, min(16, len(values) // max(4 * groups, 1 << 15)))
    parts = 1 << (parts.bit_length() - 1)
    size = -(-len(values) // parts)
    totals = np.full(groups, -0.0)
    for begin in range(0, len(values), size):
        own = np.full(groups, -0.0)
        np.add.at(own, group[begin : begin + size], values[begin : begin + size])
        totals = own if begin == 0 else totals + own
    return totals


@pytest.mark.parametrize("groups", [3, 700, 20_000, 150_000])
def test_the_order_of_summation(groups):
    rng = np.random.default_rng(groups)
    n = 600_000
    values, group = rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n), rng.integers(0, groups, n)
    group[:groups] = np.arange(groups)
    expected = ordered_group_sums(values, group, groups)
    texts = nd.array([f"{g:07}" for g in range(groups)])[nd.array(group)]
    for by in (nd.array(group), nd.array(group * 10**12), nd.array(group / 2), texts):
        for count in (1, 2, 3):
            nd.set_num_threads(count)
            assert np.asarray(nd.groupby(nd.array(values), by=by).sum()).tobytes() == expected.tobytes()
    nd.set_num_threads(1)
    narrow = nd.groupby(nd.array(values.astype("f4")), by=nd.array(group)).sum()
    assert np.array_equal(np.asarray(narrow), ordered_group_sums(values.astype("f4"), group, groups).astype("f4"))


@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_many_sparse_keys_are_grouped_in_parts(kind):
    """So many that a table of all would not be in a cache: elements are moved into parts first."""
    rng = np.random.default_rng(9)
    n, groups = 2_300_000, 200_000
    values, group = rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n), rng.integers(0, groups, n)
    group[:groups] = np.arange(groups)
    keys = np.sort(rng.integers(-(2**62), 2**62, groups)).astype(kind)
    keys = keys if kind == "int64" else np.arange(groups) * 2.0**40  # few bits differ
    expected, there, whole = ordered_group_sums(values, group, groups), rng.random(n) < 0.8, rng.integers(-9, 9, n)
    for count in (1, 2):
        nd.set_num_threads(count)
        gb = nd.groupby(nd.array(values), by=nd.array(keys[group]))
        assert np.array_equal(np.asarray(gb.keys), keys)
        assert np.asarray(gb.sum()).tobytes() == expected.tobytes()
        several = gb.agg({"n": "count", "s": (nd.array(whole.astype("i2")), "sum"), "h": (nd.mask(nd.array(whole), nd.array(there)), "sum"), "v": (nd.array(whole), "var"), "c": (nd.array(whole * (1 + 2j)), "var")})
        assert np.array_equal(np.asarray(several.n), np.bincount(group))
        assert np.array_equal(np.asarray(several.s), np.bincount(group, whole).astype("i8"))
        assert np.array_equal(np.asarray(several.h), np.bincount(group, whole * there).astype("i8"))
        mean = np.bincount(group, whole) / np.bincount(group)
        spread = np.bincount(group, (whole - mean[group]) ** 2) / np.bincount(group)
        assert np.allclose(np.asarray(several.v), spread)
        assert np.allclose(np.asarray(several.c), 5 * spread)  # means of 16 bytes, squares of 8
        assert np.array_equal(np.asarray(gb.transform("count")), np.bincount(group)[group])
        assert np.array_equal(np.asarray(nd.flatten(gb)), values[np.argsort(group, kind="stable")])
        twice = nd.groupby(nd.array(values), by=[nd.array(keys[group]), nd.array(whole > 5)])
        assert len(twice) == len(np.unique(group * 2 + (whole > 5)))
    nd.set_num_threads(1)


def test_many_sparse_keys_of_which_some_are_missing():
    """What is behind a missing key is no key."""
    rng = np.random.default_rng(10)
    n = 1_100_000
    keys, there = rng.permutation(n) * 2**40, np.arange(n) % 5 != 0
    gb = nd.groupby(nd.ones([n]), by=nd.mask(nd.array(keys), nd.array(there)))
    assert len(gb) == there.sum() + 1 and gb.keys[-1].tolist() is None
    assert np.array_equal(np.asarray(gb.keys[:-1].astype("int64")), np.sort(keys[there]))
    counts = np.asarray(gb.count())
    assert counts[-1] == n - there.sum() and (counts[:-1] == 1).all()


def with_hash(hashes):
    """Numbers that have these hashes: mixed_bits of slot_table.h, backwards."""
    x = hashes.astype("u8") * np.uint64(pow(0xD6E8FEB86659FD93, -1, 2**64))
    return (x ^ x >> np.uint64(32)) * np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))


def keys_in_parts(case, rng, n):
    """More than a million keys, of which a sample has many different ones. Parts are by bits 24 to 32 of the hash, places
    in a table by the highest ones."""
    few = rng.integers(0, n // 8, n).astype("u8")
    if case == "one part":
        return with_hash(few << np.uint64(46))
    if case == "places that many share":
        return with_hash(few % np.uint64(64) << np.uint64(24) | few // np.uint64(64) << np.uint64(45))
    if case == "all distinct":
        return rng.permutation(n) * 2**40 - 2**59
    if case == "one group but for the sample":
        keys = np.full(n, -5)
        keys[:: n // (1 << 14)] = rng.integers(-(2**62), 2**62, len(keys[:: n // (1 << 14)]))
        return keys
    return (few.astype("i8") - n // 16) * 2**41  # "both signs"


PARTS = ["one part", "places that many share", "all distinct", "one group but for the sample", "both signs"]


@pytest.mark.parametrize("case", PARTS)
def test_keys_that_fill_parts_unevenly(case):
    rng = np.random.default_rng(4)
    n = (1 << 20) + 77_777
    keys, values = keys_in_parts(case, rng, n), rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n)
    unique, inverse = np.unique(keys, return_inverse=True)
    expected, whole = ordered_group_sums(values, inverse, len(unique)), rng.integers(-9, 9, n)
    totals = np.bincount(inverse, whole)
    for threads in (1, 2, 3):
        nd.set_num_threads(threads)
        gb = nd.groupby(nd.array(values), by=nd.array(keys))
        assert np.array_equal(np.asarray(gb.keys), unique)
        assert np.asarray(gb.sum()).tobytes() == expected.tobytes()
        for kind in ("i1", "i2", "f4", "c16"):  # lines of as many elements
            assert np.array_equal(np.asarray(gb.sum(nd.array(whole.astype(kind)))), totals)
        assert np.array_equal(np.asarray(gb.transform("count")), np.bincount(inverse)[inverse])
    nd.set_num_threads(1)


TEXTS_IN_PARTS = {
    "up to 16 bytes": lambda i: ["", f"{i}", f"{i:08}", f"{i:09}", f"key {i:012}", "\0" * (i % 9), f"{i:07}\0"][i % 7],
    "one is longer": lambda i: f"{i:08}" if i != 70_000 else "x" * 17,
    "half of them are longer": lambda i: f"{i:08}" if i % 2 else f"{i:08}" + "x" * (i % 30),
    "one word": lambda i: f"{i:08}",
}


@pytest.mark.parametrize("case", TEXTS_IN_PARTS)
def test_many_texts_are_grouped_in_parts(case):
    rng = np.random.default_rng(3)
    n, pool = (1 << 20) + 5_555, 220_000
    words = [TEXTS_IN_PARTS[case](i) for i in range(pool)]
    chosen = rng.integers(0, pool, n)
    unique = sorted(set(words), key=str.encode)
    number = {word: g for g, word in enumerate(unique)}
    rank = np.array([number[word] for word in words])[chosen]
    present, group = np.unique(rank, return_inverse=True)
    values = rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n)
    expected = ordered_group_sums(values, group, len(present))
    texts = nd.array(words)[nd.array(chosen)]
    kinds = [texts, texts.astype("bytes")] if case == "up to 16 bytes" else [texts]
    for by in kinds:
        for threads in (1, 2, 3):
            nd.set_num_threads(threads)
            gb = nd.groupby(nd.array(values), by=by)
            shown = [unique[g] if by is texts else unique[g].encode() for g in present]
            assert gb.keys.tolist() == shown
            assert np.asarray(gb.sum()).tobytes() == expected.tobytes()
            assert np.array_equal(np.asarray(gb.transform("count")), np.bincount(group)[group])
    nd.set_num_threads(1)


CHOSEN_KEYS = """
import numpy as np
from dynd import nd

def undone(x, factor):
    return x * np.uint64(pow(factor, -1, 2**64))

places = undone(np.arange(400_000, dtype=np.uint64), 0xD6E8FEB86659FD93)
keys = undone(places ^ places >> np.uint64(32), 0x9E3779B97F4A7C15)
sums = nd.groupby(nd.ones(len(keys)), nd.array(keys)).sum()
assert (np.asarray(sums) == 1).all() and len(sums) == len(keys)
"""


def test_keys_that_were_chosen_to_collide_do_not():
    """They do where the hash multiplies by numbers that everybody can read: two minutes instead of 0.2 seconds."""
    subprocess.run([sys.executable, "-c", CHOSEN_KEYS], check=True, timeout=60)


def test_pairs_of_many_keys():
    """Two keys, and rows and their keys, are one number of 64 bits for each pair."""
    n = 70_000  # its square has more than 32 bits
    rng = np.random.default_rng(6)
    one, other = rng.permutation(n), rng.permutation(n)
    for names, by in ((["a", "b"], {"a": one, "b": other * 0.5}), (["0", "1"], [one * 10**6, other])):
        gb = nd.groupby(nd.array(np.arange(n)), by=by)
        order = np.argsort(one)
        first, second = (by.values() if isinstance(by, dict) else by)
        assert gb.sum().tolist() == order.tolist(), names
        keys = [tuple(key.values()) if isinstance(key, dict) else tuple(key) for key in gb.keys.tolist()]
        assert keys == list(zip(first[order].tolist(), second[order].tolist())), names
    records = nd.zip({"a": nd.array(one), "b": nd.array(other)})
    assert np.array_equal(np.asarray(nd.argsort(records)), np.argsort(one))
    assert nd.unique(records)["b"].tolist() == other[np.argsort(one)].tolist()
    assert np.asarray(nd.isin(records, records[::2])).tolist() == [i % 2 == 0 for i in range(n)]
    left = nd.zip({"a": nd.array(one), "b": nd.array(other), "x": nd.array(np.arange(n))})
    assert nd.join(left, records[::-3], on=["a", "b"])["x"].tolist() == sorted(range(n - 1, -1, -3))


def test_many_rows_of_many_keys():
    n = 70_000
    keys, values = np.random.default_rng(7).permutation(n), np.arange(n)
    rows = [nd.unflatten(nd.array(x), nd.array(np.ones(n, int))) for x in (values, keys)]
    gb = nd.groupby(rows[0], by=rows[1], axis=1)
    assert gb.keys.tolist() == [[key] for key in keys.tolist()]
    assert gb.sum(axis=2).tolist() == [[value] for value in range(n)]
