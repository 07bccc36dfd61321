"""What assignment costs, one thread, as ratios in one run: contiguous copies and conversions to the best hand-written
loop, transposed and permuted copies to the best contiguous copy of the same bytes, NumPy beside.

Usage: PYTHONPATH=python python bench/copies.py
"""

import pathlib
import subprocess
import timeit

import cpu_level  # before NumPy
import numpy as np

import floors
from dynd import nd

ROOT = pathlib.Path(__file__).resolve().parent.parent
# elements, runs in one measurement, measurements; at 10k the call from Python is a part of our time
SIZES = {"10k": (10_000, 200, 40), "100k": (100_000, 20, 60), "16M": (16_000_000, 1, 25)}

PAIRS = ["float64 float64", "float64 float32", "int32 float64", "float64 int32"]
SQUARE, CUBE = (4096, 4096), (256, 256, 256)
# element type, shape, order of the axes, bar
PERMUTED = [("float64", SQUARE, (1, 0), 1.5), ("float32", SQUARE, (1, 0), 1.8), ("uint8", SQUARE, (1, 0), 6),
            ("float64", CUBE, (2, 0, 1), 2), ("float64", CUBE, (2, 1, 0), 2)]  # fmt: skip


def best_times(timers, repeats):
    """The shortest of each; they take turns, so that a slow moment of the machine meets all."""
    best = [float("inf")] * len(timers)
    for _ in range(repeats):
        for i, timer in enumerate(timers):
            best[i] = min(best[i], timer())
    return best


def timed(statement, inner, **names):
    timer = timeit.Timer(statement, globals={"nd": nd, "np": np, **names})

    def run():
        timer.timeit(1)  # the one before may have written past the cache
        return timer.timeit(inner) / inner

    return run


def loop_timers(loops, family, work, inner):
    def timer(index):
        loops.time(index, work, 1)
        return loops.time(index, work, inner) / inner

    return [lambda i=index: timer(i) for _, index in loops.families[family]]


def line(what, bar, ours, floor, numpy):
    verdict = "ok" if ours / floor <= bar else "OVER"
    print(f"{what:40}{ours * 1e6:12.2f} us {ours / floor:6.2f} (bar {bar}) {verdict:5} NumPy {numpy / floor:6.2f}",
          flush=True)  # fmt: skip


def contiguous_arrays(source, to, count):
    """Values of one type, memory for them in another."""
    values = floors.aligned(np.random.default_rng(1).integers(0, 100, count).astype(source))
    return values, floors.aligned(np.zeros(count, to))


def permuted_arrays(dtype, shape, axes):
    """Values, and memory for them with their axes in another order."""
    values = floors.aligned((np.arange(np.prod(shape)) % 100).astype(dtype).reshape(shape))
    return values, floors.aligned(np.zeros([shape[a] for a in axes], dtype))


def contiguous(loops, label, source, to, count, inner, repeats):
    family = "copy" if source == to else f"{source} to {to}"
    values, result = contiguous_arrays(source, to, count)
    ours, theirs = nd.asarray(result), nd.asarray(values)
    timers = [timed("nd.assign(to, source, 'nocheck')", inner, to=ours, source=theirs),
              timed("np.copyto(to, source, casting='unsafe')", inner, to=result, source=values)]  # fmt: skip
    timers += loop_timers(loops, family, floors.make_work(result, [values], columns=count), inner)
    mine, numpy, *floor = best_times(timers, repeats)
    line(f"{source} to {to}, {label}", 1.15, mine, min(floor), numpy)


def permuted(loops, dtype, shape, axes, bar, repeats=15):
    values, result = permuted_arrays(dtype, shape, axes)
    flat = floors.aligned(np.zeros(shape, dtype))
    source = values.transpose(axes)
    ours, theirs = nd.asarray(result), nd.asarray(source)
    timers = [timed("nd.assign(to, source)", 1, to=ours, source=theirs),
              timed("np.copyto(to, source)", 1, to=result, source=source)]  # fmt: skip
    timers += loop_timers(loops, "copy", floors.make_work(flat, [values], columns=values.nbytes // 8), 1)
    mine, numpy, *floor = best_times(timers, repeats)
    assert np.array_equal(result, source)
    line(f"{dtype} {shape} by {axes}", bar, mine, min(floor), numpy)


def main():
    nd.set_num_threads(1)
    library = floors.build(ROOT / "build/bench", "native")
    loops = floors.Floors(library)
    print("ratios to the best hand-written loop; permuted copies: to the best contiguous copy of the same bytes")
    for label, (count, inner, repeats) in SIZES.items():
        for pair in PAIRS:
            contiguous(loops, label, *pair.split(), count, inner, repeats)
    for dtype, shape, axes, bar in PERMUTED:
        permuted(loops, dtype, shape, axes, bar)
    subprocess.run([ROOT / "build/release/bench/assign_cost", library], check=True)


if __name__ == "__main__":
    main()
