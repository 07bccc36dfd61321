"""Groups and joins of 10 million elements, beside reading the operands and beside polars; and what two threads gain.

    PYTHONPATH=python python bench/groups.py [--quick] [--only PATTERN] [--count N]

Answers are compared before anything is timed. Ratios are to reading keys and values once (a sum of each); bars are those
of issue 13. Polars (tools/requirements/bench.txt) gives its groups in no order and is not asked for one. `by hand`: what
two threads give the loops of floors_groups.cpp, which do not sort their groups; ours is to gain at least 0.85 of it.
"""

import argparse
import os
import pathlib
import re
import time

os.environ["POLARS_MAX_THREADS"] = "1"

import cpu_level  # before NumPy
import floors
import numpy as np

from dynd import nd

try:
    import polars
except ImportError:
    polars = None

TIMES = 7


def milliseconds(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


class Report:
    """Lines of times: contenders take turns, and the best time of each counts."""

    def __init__(self):
        self.loops = floors.Floors(floors.build(pathlib.Path(__file__).parent.parent / "build/bench", "native"))
        self.short = []

    def line(self, name, ours, reading=None, bar=None, theirs=None, hand=None, check=None):
        """`hand`: a family of loops and their operands; `check` looks at what they wrote."""
        calls = {"ours": (1, ours), "ours 2": (2, ours), "reading": (1, reading), "polars": (1, theirs if polars else None)}
        if hand:
            for key, family in (("hand", hand[0]), ("hand 2", f"{hand[0]} in two threads")):
                index = self.loops.families[family][0][1]
                self.loops.time(index, hand[1], 1)
                assert check(), f"the loop {family} gives another answer"
                calls[key] = (1, lambda index=index: self.loops.time(index, hand[1], 1))
        times = {key: [] for key, (_, call) in calls.items() if call}
        for _ in range(TIMES):
            for key in times:
                nd.set_num_threads(calls[key][0])
                times[key].append(milliseconds(calls[key][1]))
        nd.set_num_threads(1)
        self.print(name, {key: min(own) for key, own in times.items()}, bar)

    def print(self, name, best, bar):
        line = f"{name:50} {best['ours']:7.1f} ms"
        if "reading" in best:
            line += f"  {best['ours'] / best['reading']:5.1f} x reading (bar {bar})"
            self.short += [name] if best["ours"] > bar * best["reading"] else []
        if "polars" in best:
            line += f"  polars {best['polars']:7.1f} ms"
            self.short += [name] if best["ours"] > best["polars"] else []
        gain = best["ours"] / best["ours 2"]
        line += f"  two threads {gain:4.2f} times as fast"
        if "hand" in best:
            by_hand = best["hand"] / best["hand 2"]
            line += f", by hand {by_hand:4.2f} ({best['hand']:.1f} ms): {gain / by_hand:4.2f}"
            self.short += [f"{name}: gain"] if gain < 0.85 * by_hand else []
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


def hand_groups(keys, numbers, dense):
    """The loop by hand, its operands, and its sums."""
    texts = keys.dtype.kind == "U"
    own = floors.aligned(keys.astype("S16") if texts else keys)
    family = "group texts" if texts else "group dense" if dense else "group sparse"
    groups = int(keys.max()) + 1 if dense else 16
    out = floors.aligned(np.zeros(max(len(keys), groups)))
    return family, floors.make_work(out, [floors.aligned(numbers)], own, len(keys), groups), out


def groups(report, wanted, rng, count):
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
        family, work, out = hand_groups(keys, numbers, "dense" in name)
        sums = np.sort(np.bincount(inverse, numbers))
        report.line(
            f"groupby sum, {name}", lambda: nd.groupby(values, by=by).sum(axis=1), reading, bar, theirs, (family, work),
            lambda: np.allclose(np.sort(out[out != 0]), sums),
        )  # fmt: skip


def joins(report, wanted, rng, count):
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
        out = floors.aligned(np.zeros(count))
        work = floors.make_work(out, [floors.aligned(y)], floors.aligned(left), count, small, [floors.aligned(right)])
        for how in ("inner", "left"):
            theirs = None
            if polars:
                frames = polars.DataFrame({"k": left, "x": x}), polars.DataFrame({"k": right, "y": y})
                theirs = lambda: frames[0].join(frames[1], on="k", how=how, maintain_order="left")
            report.line(
                f"join of {count} with {small}, {name}, {how}", lambda: nd.join(*ours, on="k", how=how), theirs=theirs,
                hand=(f"join {name}", work), check=lambda: np.array_equal(out, expected),
            )  # fmt: skip


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
    report = Report()
    groups(report, wanted, rng, arguments.count)
    joins(report, wanted, rng, arguments.count)
    if report.short:
        print("below the bar: " + "; ".join(report.short))


if __name__ == "__main__":
    main()
