"""Groups and joins of 10 million elements, beside reading the operands and beside polars; and what two threads gain.

    PYTHONPATH=python python bench/groups.py [--quick] [--only PATTERN] [--count N]

Answers are compared before anything is timed. Ratios are to reading keys and values once (a sum of each); bars are those
of issue 13. Polars (tools/requirements/bench.txt) gives its groups in no order and is not asked for one.
"""

import argparse
import os
import re
import time

os.environ["POLARS_MAX_THREADS"] = "1"

import cpu_level  # before NumPy
import numpy as np

from dynd import nd

try:
    import polars
except ImportError:
    polars = None

TIMES = 7


def best(call):
    times = []
    for _ in range(TIMES):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def report(name, ours, reading=None, bar=None, theirs=None):
    own = best(ours)
    line = f"{name:48} {own:8.1f} ms"
    if reading:
        line += f"  {own / best(reading):5.1f} x reading" + (f" (bar {bar})" if bar else "")
    if theirs and polars:
        line += f"  polars {best(theirs):8.1f} ms"
    nd.set_num_threads(2)
    line += f"  two threads {own / best(ours):4.2f} times as fast"
    nd.set_num_threads(1)
    print(line, flush=True)


def sparse_numbers(rng, count):
    return rng.integers(-(2**62), 2**62, count)


def key_cases(rng, count):
    """Name, bar, and a function that makes the keys."""
    words = {n: np.array([f"key {i:08}" for i in range(n)]) for n in (1000, 1_000_000)}
    yield "int64, dense 1k", 3, lambda: rng.integers(0, 1000, count)
    yield "int64, dense 1M", 7, lambda: rng.integers(0, 1_000_000, count)
    yield "int64, sparse 1k", None, lambda: sparse_numbers(rng, 1000)[rng.integers(0, 1000, count)]
    yield "int64, sparse 1M", 18, lambda: sparse_numbers(rng, 1_000_000)[rng.integers(0, 1_000_000, count)]
    yield "text, 1k", None, lambda: words[1000][rng.integers(0, 1000, count)]
    yield "text, 1M", None, lambda: words[1_000_000][rng.integers(0, 1_000_000, count)]


def groups(wanted, rng, count):
    numbers = rng.random(count)
    values = nd.array(numbers)
    for name, bar, make in key_cases(rng, count):
        if not wanted(f"groupby sum, {name}"):
            continue
        keys = make()
        unique, inverse = np.unique(keys, return_inverse=True)
        by = nd.array(keys)
        assert np.allclose(np.asarray(nd.groupby(values, by=by).sum(axis=1)), np.bincount(inverse, numbers))
        assert nd.groupby(values, by=by).keys.tolist() == unique.tolist()
        reading = (lambda: (nd.sum(by), nd.sum(values))) if bar else None
        theirs = None
        if polars:
            frame = polars.DataFrame({"k": keys, "v": numbers})
            theirs = lambda: frame.group_by("k").agg(polars.col("v").sum())
        report(f"groupby sum, {name}", lambda: nd.groupby(values, by=by).sum(axis=1), reading, bar, theirs)


def joins(wanted, rng, count):
    small = count // 10
    for name, pool in (("dense", np.arange(small)), ("sparse", sparse_numbers(rng, small))):
        if not wanted(f"join, {name}"):
            continue
        left, right = pool[rng.integers(0, small, count)], rng.permutation(pool)
        x, y = rng.random(count), rng.random(small)
        ours = nd.zip({"k": nd.array(left), "x": nd.array(x)}), nd.zip({"k": nd.array(right), "y": nd.array(y)})
        order = np.argsort(right)
        expected = y[order[np.searchsorted(right[order], left)]]
        assert np.array_equal(np.asarray(nd.join(*ours, on="k").y), expected)
        for how in ("inner", "left"):
            theirs = None
            if polars:
                frames = polars.DataFrame({"k": left, "x": x}), polars.DataFrame({"k": right, "y": y})
                theirs = lambda: frames[0].join(frames[1], on="k", how=how, maintain_order="left")
            report(f"join of {count} with {small}, int64, {name}, {how}", lambda: nd.join(*ours, on="k", how=how), theirs=theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 times instead of 7")
    parser.add_argument("--only", default="", help="a regular expression for the names of lines")
    parser.add_argument("--count", type=int, default=10_000_000)
    arguments = parser.parse_args()
    global TIMES
    TIMES = 3 if arguments.quick else TIMES
    nd.set_num_threads(1)
    rng = np.random.default_rng(13)
    wanted = re.compile(arguments.only).search
    print(f"polars {polars.__version__ if polars else 'is not installed'}")
    groups(wanted, rng, arguments.count)
    joins(wanted, rng, arguments.count)


if __name__ == "__main__":
    main()
