"""What a checked conversion costs: times of nd.assign in each error mode beside the unchecked one and NumPy's copyto
(which checks nothing), one thread, in cache and beyond.

Usage: PYTHONPATH=python python bench/convert.py
"""

import time

import cpu_level  # before NumPy
import numpy as np

from dynd import nd
from floors import aligned

PAIRS = ["float64 int32", "float64 float32", "float64 int8", "float64 int64", "float32 int32", "float32 uint8",
         "int64 int32", "int64 float64", "int32 int8", "int32 uint32"]  # fmt: skip
MODES = ["nocheck", "overflow", "fractional", "inexact"]
SIZES = {"10k": (10_000, 100, 60), "16M": (16_000_000, 1, 25)}  # elements, calls in one measurement, measurements


def best_times(calls, inner, repeats):
    """The shortest of each, of this thread alone; they take turns, so that a slow moment of the machine meets all."""
    best = [float("inf")] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            begin = time.thread_time()
            for _ in range(inner):
                call()
            best[i] = min(best[i], (time.thread_time() - begin) / inner)
    return best


def main():
    nd.set_num_threads(1)
    print(f"{'conversion':26}{'unchecked':>12}{'overflow':>10}{'fractional':>12}{'inexact':>9}{'NumPy':>8}")
    for label, (count, inner, repeats) in SIZES.items():
        for pair in PAIRS:
            source, to = pair.split()
            values = aligned(np.random.default_rng(1).integers(0, 100, count).astype(source))
            result = aligned(np.zeros(count, to))
            a, b = nd.asarray(values), nd.asarray(result)
            calls = [lambda mode=mode: nd.assign(b, a, mode) for mode in MODES]
            calls.append(lambda: np.copyto(result, values, casting="unsafe"))
            plain, *others = best_times(calls, inner, repeats)
            ratios = [f"{other / plain:.2f}" for other in others]
            print(f"{source + ' to ' + to + ', ' + label:26}{plain * 1e6:9.2f} us{ratios[0]:>10}{ratios[1]:>12}"
                  f"{ratios[2]:>9}{ratios[3]:>8}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
