"""Sorting, selecting and ranking of rows of every length and distribution, bit for bit against a stable sort by NumPy."""

import os
import subprocess
import sys

import numpy as np
import pytest
from dynd import nd
from hypothesis import given, settings
from strategies import FEW, seeds
from test_order import NUMBERS

SIZES = [0, 1, 2, 23, 24, 25, 26, 60, 100, 255, 257, 1000, 1199, 1201, 3000]


def distribution(rng, n, dtype):
    """Numbers of a type: any bits, few different ones, in clusters, in order, with outliers, with NaNs of all kinds."""
    size = np.dtype(dtype).itemsize
    kind = rng.integers(9)
    any_bits = np.frombuffer(rng.bytes(n * size), f"u{size}").copy()
    if kind == 0:
        bits = any_bits
    elif kind == 1:
        bits = rng.choice(np.frombuffer(rng.bytes(4 * size), f"u{size}"), n)
    elif kind == 2:  # the bits below those that differ first
        bits = any_bits & np.array(rng.choice([3, 0xF0F, 0x80FF]), "u8").astype(f"u{size}")
    elif kind == 3:
        bits = np.where(rng.random(n) < 0.02, any_bits, any_bits & 127)
    elif kind == 4:
        bits = np.arange(n).astype(f"u{size}")[:: rng.choice([1, -1])].copy()
    elif kind == 5:
        bits = np.full(n, any_bits[0] if n else 0, f"u{size}")
    else:
        values = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4)
        if kind == 7:
            values = np.exp(3 * values / max(1, np.abs(values).max(initial=0)))
        if np.dtype(dtype).kind != "f":
            values = np.clip(np.round(values), 0 if np.dtype(dtype).kind in "ub" else -100, 100)
        values = values.astype(dtype)
        if kind == 8 and np.dtype(dtype).kind == "f":
            values[rng.random(n) < 0.3] = np.nan
        bits = values.view(f"u{size}")
    return (bits & 1 if dtype == "bool" else bits).astype(f"u{size}").view(dtype)


def keys(x, descending):
    """Unsigned integers in the order of the numbers; all NaNs are the last."""
    size = x.itemsize
    bits, sign = x.view(f"u{size}").astype("u8"), np.uint64(1 << (8 * size - 1))
    mask = np.uint64((1 << 8 * size) - 1)
    if x.dtype.kind == "f":
        bits = np.where(bits & sign, ~bits & mask, bits | sign)
    elif x.dtype.kind == "i":
        bits = bits ^ sign
    bits = ~bits & mask if descending else bits
    return np.where(np.isnan(x), np.uint64(2**64 - 1), bits) if x.dtype.kind == "f" else bits


def same_bits(found, expected):
    found = np.asarray(found)
    return found.dtype == expected.dtype and np.array_equal(found.view("u1"), expected.view("u1"))


def check(x, rng):
    descending = bool(rng.integers(2))
    a = nd.array(x)
    order = np.argsort(keys(x, descending), kind="stable")
    assert same_bits(nd.sort(a, descending=descending), x[order])
    assert np.array_equal(nd.argsort(a, descending=descending), order)
    assert nd.is_sorted(nd.sort(a, descending=descending), descending=descending).tolist()
    order = np.argsort(keys(x, True), kind="stable")
    for k in {0, min(3, x.size), x.size // 3, x.size}:
        assert same_bits(nd.top_k(a, k), x[order[:k]])
    if x.dtype.kind != "f" or not np.isnan(x).any():
        ordered = x[np.argsort(keys(x, False), kind="stable")].astype("f8")
        parts = [i / (x.size - 1) for i in sorted({0, x.size // 7, x.size // 2, x.size - 1})] if x.size > 1 else []
        for many in ([[p] for p in parts], [parts] if parts else []):
            for some in many:
                places = [int(np.floor((x.size - 1) * p)) for p in some]
                assert np.array_equal(np.asarray(nd.quantile(a, some, method="lower")).astype("f8"), ordered[places])


def in_order(x, descending):
    codes = keys(x, descending)
    return bool((codes[1:] >= codes[:-1]).all())


@settings(max_examples=FEW, deadline=None)
@given(seeds)
def test_is_sorted_sees_the_only_place_that_is_wrong(seed):
    rng = np.random.default_rng(seed)
    dtype, descending = rng.choice(NUMBERS), bool(rng.integers(2))
    size = int(rng.choice([2, 3, 1023, 1024, 1025, 1026, 2049, 2050, 5000, 140_000]))
    x = distribution(rng, size, dtype)
    x = x[np.argsort(keys(x, descending), kind="stable")]
    assert nd.is_sorted(nd.array(x), descending=descending).tolist()
    for place in {1, size - 1, min(1024, size - 1), min(1025, size - 1), int(rng.integers(1, size))}:
        y = x.copy()
        y[[place - 1, place]] = y[[place, place - 1]]
        assert nd.is_sorted(nd.array(y), descending=descending).tolist() == in_order(y, descending), place
        lengths = [0, place, 0, size - place]  # where a row ends, nothing is compared
        assert nd.is_sorted(nd.unflatten(nd.array(y), lengths), descending=descending).tolist() == [
            in_order(part, descending) for part in np.split(y, np.cumsum(lengths)[:-1])
        ]


@pytest.mark.parametrize("n", [140_000, 1 << 18])
def test_is_sorted_sees_the_only_place_that_is_wrong_where_a_part_begins(n):
    """Threads share a long row: the first element of a part is compared with the last one of the part before."""
    begins = {*range(1 << 15, n, 1 << 15), *(n * part // parts for parts in range(2, 9) for part in range(1, parts))}
    zeros, there = nd.array(np.zeros(n, "i1")), nd.array(np.arange(n) < n - 5)
    for place in sorted(at + beside for at in begins for beside in (0, 1)):
        x = np.arange(n)
        x[place] -= 2
        a = nd.array(x)
        assert not nd.is_sorted(nd.array(-x.astype("f4")), descending=True).tolist(), place
        assert not any(nd.is_sorted(b).tolist() for b in (a, nd.zip({"a": zeros, "b": a}), nd.mask(a, there))), place
    x = nd.array(np.arange(n))
    assert all(nd.is_sorted(a).tolist() for a in (x, nd.zip({"a": zeros, "b": x}), nd.mask(x, there)))


@settings(max_examples=FEW, deadline=None)
@given(seeds)
def test_rows_of_any_distribution(seed):
    rng = np.random.default_rng(seed)
    for _ in range(4):
        size = rng.choice(SIZES) if rng.random() < 0.5 else rng.integers(0, 300)
        check(distribution(rng, int(size), rng.choice(NUMBERS)), rng)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_long_rows_of_any_distribution(seed):
    rng = np.random.default_rng(seed)
    before = nd.num_threads()
    try:
        nd.set_num_threads(int(rng.integers(1, 3)))
        check(distribution(rng, int(rng.choice([65535, 65536, 100_000, 300_000])), rng.choice(NUMBERS)), rng)
    finally:
        nd.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_a_row_of_several_blocks(dtype):
    rng = np.random.default_rng(11)
    x = distribution(np.random.default_rng(12), 2_500_000, dtype)
    check(x, rng)
    check((rng.standard_normal(2_500_000) * 1e6).astype(dtype), rng)


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_long_rows_beside_short_ones(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 30, 200)
    for r in rng.integers(0, 200, 3):
        lengths[r] = rng.integers(60_000, 80_000)
    x = distribution(rng, int(lengths.sum()), rng.choice(["float64", "int64", "uint16"]))
    ends, rows = np.cumsum(lengths), nd.unflatten(nd.array(x), lengths)
    orders = [np.argsort(keys(x[e - n : e], False), kind="stable") for n, e in zip(lengths, ends)]
    assert same_bits(nd.flatten(nd.sort(rows)), np.concatenate([x[e - n : e][o] for o, n, e in zip(orders, lengths, ends)]))
    assert np.array_equal(nd.flatten(nd.argsort(rows)), np.concatenate(orders))
    first = np.concatenate([x[e - n : e][np.argsort(keys(x[e - n : e], True), kind="stable")][:5] for n, e in zip(lengths, ends)])
    assert same_bits(nd.flatten(nd.top_k(rows, 5)), first)


@settings(max_examples=FEW, deadline=None)
@given(seeds)
def test_short_rows_of_any_distribution(seed):
    """Rows of all lengths around the widths of vectors, in one call: none writes into what is behind it."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, rng.choice([5, 20, 40, 300]), 30)
    x = distribution(rng, int(lengths.sum()), rng.choice(["float32", "float64", "int32", "int64", "uint32", "uint64", "int16"]))
    descending = bool(rng.integers(2))
    ends, rows = np.cumsum(lengths), nd.unflatten(nd.array(x), lengths)
    expected = [x[e - n : e][np.argsort(keys(x[e - n : e], descending), kind="stable")] for n, e in zip(lengths, ends)]
    assert same_bits(nd.flatten(nd.sort(rows, descending=descending)), np.concatenate(expected))


VECTOR_NUMBERS = ["float32", "float64", "int32", "int64", "uint32", "uint64"]


def check_sorted(x):
    for descending in (False, True):
        expected = x[np.argsort(keys(x, descending), kind="stable")]
        assert same_bits(nd.sort(nd.array(x), descending=descending), expected), (x.dtype, x.size, descending)


@pytest.mark.parametrize("dtype", VECTOR_NUMBERS)
def test_every_length(dtype):
    """Networks of 1 to 32 vectors of 4, 8 and 16 lanes, and the first lengths that are parted."""
    rng = np.random.default_rng(5)
    for n in [*range(300), *range(500, 530), *range(1010, 1040)]:
        check_sorted(distribution(rng, n, dtype))


@pytest.mark.parametrize("dtype", VECTOR_NUMBERS)
def test_rows_that_are_parted_badly(dtype):
    """Codes as far apart as there are; nearly all equal; pivots that are the largest or the smallest."""
    size = np.dtype(dtype).itemsize
    ends = np.array([0, 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1], f"u{size}").view(dtype)
    rng = np.random.default_rng(6)
    for n in (129, 257, 600, 2500):
        check_sorted(rng.choice(ends, n))
        x = np.full(n, 7, dtype)
        x[rng.integers(0, n, 3)] = ends[:3]
        check_sorted(x)
        check_sorted(np.concatenate([np.arange(n // 2), np.arange(n - n // 2)[::-1]]).astype(dtype))


def test_bad_pivots():
    """The places that are looked at hold the smallest; differences that double, where half of the range is one number."""
    for n in (600, 2000, 20_000):
        x = np.arange(n, dtype="int64") + 1000
        for place in [0, n // 2, n - 16, *range(0, n - 16, n // 9)]:
            x[place : place + 16] = np.arange(16)
        check_sorted(x)
    check_sorted(np.concatenate([2.0 ** -np.arange(1000), np.zeros(50), -(2.0 ** -np.arange(1000))]))
    check_sorted(np.tile(2 ** np.arange(63), 40))


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint16"])
def test_rows_of_many_blocks_are_the_same_on_threads(dtype):
    """Few different numbers, some NaN in some blocks, runs in order: buckets that are empty, or all of a block."""
    rng = np.random.default_rng(7)
    n = 1_300_001
    few = rng.integers(0, 16, n).astype(dtype)
    ordered = np.sort(distribution(rng, n, dtype))
    mixed = (rng.standard_normal(n) * 1000).astype(dtype)
    if dtype == "float64":
        mixed[rng.integers(0, n // 3, 1000)] = np.nan
        mixed[rng.integers(0, n, 1000)] = -0.0
    before = nd.num_threads()
    try:
        for threads in (1, 2):
            nd.set_num_threads(threads)
            for x in (few, ordered, mixed, ordered[::-1].copy()):
                check_sorted(x)
    finally:
        nd.set_num_threads(before)


def test_positions_of_keys_that_do_not_fit_beside_them():
    """Argsort leaves out lower bits of the keys where there are many positions: long runs are equal without them."""
    rng = np.random.default_rng(4)
    for x in (
        np.concatenate([[-1e300, 1e300], rng.random(200_000)]),
        np.concatenate([[0, 2**63 - 1], rng.integers(0, 1000, 100_000)]),
        np.concatenate([[-(2**63), 2**63 - 1], rng.integers(-5, 5, 30)]),
        rng.choice(rng.standard_normal(300), 200_000),
    ):
        assert np.array_equal(nd.argsort(x), np.argsort(x, kind="stable"))


def test_other_isa_levels():
    for level in ("baseline", "avx2"):
        run = [sys.executable, "-m", "pytest", "-q", "-x", __file__, "-k", "any_distribution or beside or parted or pivots or every_length or many_blocks"]
        done = subprocess.run(run, env={**os.environ, "DYND_CPU_LEVEL": level}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


WRITTEN_MEANWHILE = """
import threading
import numpy as np
from dynd import nd
rng, done = np.random.default_rng(1), threading.Event()
one = rng.integers(0, 2**62, 200_000)
other, x = one >> 40, one.copy()
def write():
    while not done.is_set():
        x[:] = other
        x[:] = one
thread = threading.Thread(target=write, daemon=True)
thread.start()
for i in range(20):
    made = np.asarray(nd.sort(nd.asarray(x)))
    assert len(made) == len(x) and (made[1:] >= made[:-1]).all()
    made = np.asarray(nd.unique(nd.asarray(x)))
    assert (made[1:] > made[:-1]).all()
done.set()
thread.join()
"""


def test_numbers_that_another_thread_writes_meanwhile():
    """Sorts read a number more than once: of memory that others can write they take a copy."""
    done = subprocess.run([sys.executable, "-c", WRITTEN_MEANWHILE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
