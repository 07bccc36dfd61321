"""Kernels from elsewhere: NumPy's ufuncs, C functions, BLAS, beside calling them by hand; vecdot of ragged rows.

    PYTHONPATH=python python bench/callables.py [--quick] [--only PATTERN]

Results are compared before anything is timed. Bars are those of issue 12. `by hand` is the same function without us:
the ufunc on the flat content, NumPy's matmul into an array that is there (BLAS on one thread), a loop in C.
"""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import cpu_level  # before NumPy
import numpy as np

import elements
import floors
from elements import Work
from floors import aligned
from selection import ROWS, bind, offsets_of

nd = elements.nd
COUNT = 16_000_000
elements.PEERS[:] = ["by hand", "loop", "NumPy", "Awkward"]


def products(bench, rng):
    for size in (256, 1000):
        name = f"a @ b, {size} x {size}"
        if not bench.wants(name):
            continue
        x, y = (aligned(rng.random(size * size)).reshape(size, size) for _ in range(2))
        names = {"a": nd.array(x), "b": nd.array(y), "x": x, "y": y, "out": np.empty_like(x), "np": np, "nd": nd}
        work = Work(name, bench, [x @ y], 1e-12)
        work.add("ours", "(a @ b).eval()", names, lambda r: [r])
        work.add("by hand", "np.matmul(x, y, out=out)", names, lambda r: [r])
        work.report(("by hand", 1.05))


def ufuncs(bench, rng):
    if bench.wants("from_ufunc(np.cbrt), rows of mean 10"):
        offsets = offsets_of(rng, 10)
        content = aligned(rng.random(offsets[-1]))
        ours, _ = bind(offsets, {"a": content})
        names = ours | {"f": nd.from_ufunc(np.cbrt), "np": np, "x": content, "out": np.empty_like(content)}
        work = Work("from_ufunc(np.cbrt), rows of mean 10", bench, [np.cbrt(content)])
        work.add("ours", "f(a).eval()", names, lambda r: [np.asarray(nd.flatten(r))])
        work.add("by hand", "np.cbrt(x, out=out)", names, lambda r: [r])
        work.report(("by hand", 1.1))
    if bench.wants("from_ufunc(np.add), 3 elements"):
        names = {"f": nd.from_ufunc(np.add), "x": np.arange(3.0), "a": nd.array([0.0, 1.0, 2.0]), "np": np}
        work = Work("from_ufunc(np.add), 3 elements", bench, [2 * np.arange(3.0)])
        work.add("ours", "f(a, a)", names, lambda r: [r])
        work.add("NumPy", "np.add(x, x)", names, lambda r: [r])
        work.report(("NumPy", 1))


def vecdots(bench, rng):
    if not bench.wants("vecdot, rows of mean 10"):
        return
    offsets = offsets_of(rng, 10)
    contents = {name: aligned(rng.random(offsets[-1])) for name in "ab"}
    ours, _ = bind(offsets, contents)
    work = Work("vecdot, rows of mean 10", bench, [np.asarray(nd.vecdot(ours["a"], ours["b"]))], 1e-12)
    work.add("ours", "nd.vecdot(a, b)", ours, lambda r: [r])
    out = aligned(np.zeros(ROWS))
    work.add_loop("loop", "row dot", floors.make_work(out, list(contents.values()), offsets, ROWS, 0), lambda: [out])
    work.report(("loop", 1.3))


def c_functions(bench, rng):
    """hypot of the C library: a call for each element, which no loop can hide."""
    content = aligned(rng.random(COUNT))
    offsets = aligned(np.arange(0, COUNT + 1, 10, dtype=np.int64))
    out = aligned(np.zeros(COUNT))
    # The loop's own memory: on a virtual machine other memory took up to 1.1 times as long, all else being equal.
    flat, (ragged, _) = nd.asarray(content), bind(offsets, {"a": content})
    f = nd.from_c("double hypot(double, double)", "libm.so.6")
    for name, a in [("16M", flat), ("16M, ragged", ragged["a"])]:
        name = f"from_c(hypot), {name}"
        if bench.wants(name):
            work = Work(name, bench, [np.hypot(content, content)], 1e-15)
            work.add("ours", "f(a, a).eval()", {"f": f, "a": a}, lambda r: [np.asarray(nd.flatten(r))])
            work.add_loop("loop", "libm hypot", floors.make_work(out, [content, content], offsets, COUNT, 0), lambda: [out])
            work.report(("loop", 1.03))


if __name__ == "__main__":
    sys.exit(elements.main(__doc__, products, ufuncs, vecdots, c_functions))
