"""Order: sorting one long row and a million short ones, medians, unique values; beside NumPy, Awkward Array, hand-written
loops (floors_order.cpp) and, where Debian's libhwy1t64 or libhwy1 is installed, the vectorised sort of Highway.

    PYTHONPATH=python python bench/order.py [--quick] [--only PATTERN]

Results are compared before anything is timed. Bars are those of issue 13. A library's sort gets a fresh copy each time,
as ours does; the column `vectors` is Highway. The gain from two threads (see elements.py) is beside that of the loop on
two halves, which are not merged.
"""

import ctypes
import sys
import time

import cpu_level  # before NumPy
import numpy as np

import elements
import floors
from elements import Work
from floors import aligned
from run import ROOT, Contender
from selection import awkward_parts, bind, offsets_of, parts_of

nd, ak = elements.nd, elements.ak
COUNT = 1 << 24


class Highway:
    """Its Sorter by the names of its C++ functions; None where it is not there."""

    ENDS = {"float64": "Pd", "int64": "Pl", "int32": "Pi"}

    def __init__(self):
        try:
            self._library = ctypes.CDLL("libhwy_contrib.so.1")
            self._sorter = ctypes.c_void_p()
            self._library["_ZN3hwy6SorterC1Ev"](ctypes.byref(self._sorter))
        except (OSError, AttributeError):
            self._library = None

    def contender(self, x):
        if self._library is None:
            return None
        function = self._library[f"_ZNK3hwy6SorterclE{self.ENDS[x.dtype.name]}mNS_13SortAscendingE"]
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        copy = aligned(x)

        def run(repeats):
            start = time.perf_counter()
            for _ in range(repeats):
                np.copyto(copy, x)
                function(ctypes.byref(self._sorter), copy.ctypes.data, copy.size, 0)
            return time.perf_counter() - start

        run(1)
        assert np.array_equal(copy, np.sort(x)), "Highway"
        return Contender("vectors", run)


def numbers(rng, kind):
    if kind == "float64":
        return aligned(rng.standard_normal(COUNT))
    limits = np.iinfo(kind)
    return aligned(rng.integers(limits.min, limits.max, COUNT, dtype=kind))


def long_rows(bench, rng):
    highway = Highway()
    for kind in ("float64", "int64", "int32"):
        name = f"sort(a), 16M {kind}"
        if bench.wants(name):
            x = numbers(rng, kind)
            work = Work(name, bench, [np.sort(x)])
            work.add("ours", "nd.sort(a)", {"nd": nd, "a": nd.array(x)}, lambda r: [r])
            work.add("NumPy", "np.sort(a)", {"np": np, "a": x}, lambda r: [r])
            out = aligned(np.zeros(COUNT, kind))
            work.add_loop("loop", f"sort {kind}", floors.make_work(out, [x], rows=COUNT), lambda: [out])
            half = COUNT // 2
            work.add_two("nd.sort(a)", {"nd": nd, "a": nd.array(x)}, lambda r: [r],
                         *(floors.make_work(out[part], [x[part]], rows=half) for part in (slice(0, half), slice(half, COUNT))))  # fmt: skip
            vectors = highway.contender(x)
            if vectors:
                work.contenders["vectors"] = vectors
            work.report(("NumPy", 1), ("loop", 1.15), ("gain", 0.85), *([("vectors", 1.15)] if vectors else []))
        name = f"argsort(a), 16M {kind}"
        if bench.wants(name):
            x = numbers(rng, kind)
            work = Work(name, bench, [np.argsort(x, kind="stable")])
            work.add("ours", "nd.argsort(a)", {"nd": nd, "a": nd.array(x)}, lambda r: [r])
            work.add("NumPy", "np.argsort(a, kind='stable')", {"np": np, "a": x}, lambda r: [r])
            work.report(("NumPy", 1))


def found_in_long_rows(bench, rng):
    x = numbers(rng, "float64")
    for ours, theirs in [("median(a)", "median(a)"), ("quantile(a, [0.05, 0.95])",) * 2,
                         ("top_k(a, 100)", "flip(np.partition(a, -100)[-100:][np.argsort(np.partition(a, -100)[-100:])])"),
                         ("unique(a)", "unique(a)"), ("histogram(a, 100, (-4, 4))[0]",) * 2]:  # fmt: skip
        if bench.wants(f"{ours}, 16M float64"):
            expected = eval("np." + theirs, {"np": np, "a": x})
            work = Work(f"{ours}, 16M float64", bench, [expected], 1e-14)
            work.add("ours", "nd." + ours, {"nd": nd, "a": nd.array(x)}, lambda r: [r])
            work.add("NumPy", "np." + theirs, {"np": np, "a": x}, lambda r: [r])
            work.report(("NumPy", 1))


def rows(bench, rng):
    offsets = offsets_of(rng, 10)
    content = aligned(rng.standard_normal(offsets[-1]))
    ours, theirs = bind(offsets, {"a": content})
    for function in ("sort", "argsort"):
        name = f"{function}(a), 1M rows of mean 10"
        if bench.wants(name):
            work = Work(name, bench, parts_of(eval(f"nd.{function}(a)", ours)))
            work.add("ours", f"nd.{function}(a)", ours, parts_of)
            work.add("Awkward", f"ak.{function}(a)", theirs, awkward_parts)
            bars = [("Awkward", 1)]
            if function == "sort":
                out = aligned(np.zeros(content.size))
                loop = floors.make_work(out, [content], offsets, offsets.size - 1)
                work.add_loop("loop", "sort rows", loop, lambda: [out, np.diff(offsets)])
                half = offsets.size // 2
                work.add_two("nd.sort(a)", ours, parts_of, floors.make_work(out, [content], offsets, half),
                             floors.make_work(out, [content], offsets[half:], offsets.size - 1 - half))  # fmt: skip
                bars += [("loop", 1.15), ("gain", 0.85)]
            work.report(*bars)


if __name__ == "__main__":
    sys.exit(elements.main(__doc__, long_rows, found_in_long_rows, rows))
