"""A walk over operations x types x layouts x sizes, for the cliffs that nobody has listed yet: `make bench BENCH=--walk`.

    bench/run.py --walk [--quick] [--only PATTERN]

Every operation and reduction that NumPy has under the same name (ragged: that Awkward Array has) is timed in both, in
turns, one thread, the best of a few rounds; printed is whatever is slower here than there by more than a tenth, the
worst first, with what was measured. A line's name is `operation type layout size`. What stands below in KNOWN is
slower for a reason, which is printed with it.
"""

import itertools
import re
import time
import warnings

import awkward as ak
import numpy as np

from contenders import nd

TYPES = ["float64", "float32", "int64", "int32", "uint8", "int16", "bool", "complex128", "float16"]
SIZES = [3, 1000, 100_000, 1_000_000]
LIMIT = 1.1
# Part of a line's name -> why it is slower than the alternative.
KNOWN = {}


# ---- operands: two arrays of n elements, as NumPy has them and as they are here ----------------------------------------


def numbers(rng, dtype, shape):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return rng.integers(1, 5, shape).astype(dtype)
    return (rng.random(shape) * 0.8 + 0.1).astype(dtype)


def pair(make):
    return lambda rng, dtype, n: tuple((x, nd.asarray(x)) for x in make(rng, dtype, n))


def owned(make):
    """In memory of the library, which lets operations be lazy."""
    return lambda rng, dtype, n: tuple((x, nd.array(x)) for x in make(rng, dtype, n))


def flat(rng, dtype, n):
    return numbers(rng, dtype, n), numbers(rng, dtype, n)


def strided(rng, dtype, n):
    return numbers(rng, dtype, 2 * n)[::2], numbers(rng, dtype, 2 * n)[::2]


def reversed_(rng, dtype, n):
    return numbers(rng, dtype, n)[::-1], numbers(rng, dtype, n)[::-1]


def matrix(n):
    rows = max(1, int(n**0.5))
    return rows, max(1, n // rows)


def transposed(rng, dtype, n):
    rows, columns = matrix(n)
    return numbers(rng, dtype, (columns, rows)).T, numbers(rng, dtype, (rows, columns))


def fortran(rng, dtype, n):
    rows, columns = matrix(n)
    return numbers(rng, dtype, (columns, rows)).T, numbers(rng, dtype, (columns, rows)).T


def row_and_matrix(rng, dtype, n):
    return numbers(rng, dtype, matrix(n)), numbers(rng, dtype, matrix(n)[1])


def column_and_matrix(rng, dtype, n):
    return numbers(rng, dtype, matrix(n)), numbers(rng, dtype, (matrix(n)[0], 1))


def short_rows(rng, dtype, n):
    return numbers(rng, dtype, (max(1, n // 4), 4)), numbers(rng, dtype, (max(1, n // 4), 1))


def with_number(rng, dtype, n):
    return numbers(rng, dtype, n), numbers(rng, dtype, ())


def ragged(mean):
    def make(rng, dtype, n):
        lengths = rng.integers(1, 2 * mean, max(1, n // mean))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        contents = [numbers(rng, dtype, offsets[-1]) for _ in range(2)]
        rows = [ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(offsets), ak.contents.NumpyArray(x)))
                for x in contents]
        return tuple((row, nd.from_offsets(nd.array(offsets), nd.array(x))) for row, x in zip(rows, contents))

    return make


LAYOUTS = {
    "flat": pair(flat), "owned": owned(flat), "[::2]": pair(strided), "[::-1]": pair(reversed_),
    "a.T": pair(transposed), "F": pair(fortran), "row": pair(row_and_matrix), "column": pair(column_and_matrix),
    "(n,4)": pair(short_rows), "number": pair(with_number), "ragged4": ragged(4), "ragged20": ragged(20),
}


# ---- what is called ----------------------------------------------------------------------------------------------------


def elementwise(name, count):
    ours, numpy = getattr(nd, name), getattr(np, name)

    def other(*operands):
        return numpy(*operands)

    def own(*operands):
        result = ours(*operands)
        for r in result if isinstance(result, tuple) else [result]:
            r.eval()
        return result

    return own, other, count


def reduction(name, axis):
    ours, numpy = getattr(nd, name), getattr(np, name)

    def other(a):
        return (getattr(ak, name) if isinstance(a, ak.Array) else numpy)(a, axis=axis)

    return lambda a: ours(a, axis=axis), other, 1


def works():
    for operation in nd.operations():
        if "Dims" in operation.signature:
            if hasattr(np, operation.name):
                for axis in (None, 0, -1):
                    yield f"{operation.name}(axis={axis})", reduction(operation.name, axis)
        elif isinstance(getattr(np, operation.name, None), np.ufunc):
            yield operation.name, elementwise(operation.name, getattr(np, operation.name).nin)


# ---- measuring -----------------------------------------------------------------------------------------------------------


def seconds(f, operands, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        f(*operands)
    return (time.perf_counter() - start) / repeats


def ratio(own, ours, other, theirs, rounds):
    """Our time to the other, and ours; the best of rounds in turns. Nothing where either refuses the operands."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            other(*theirs)
            own(*ours)
            repeats = [max(1, int(2e-4 / max(seconds(f, x, 1), 1e-7))) for f, x in ((own, ours), (other, theirs))]
            times = [[], []]
            for _ in range(rounds):
                times[0].append(seconds(own, ours, repeats[0]))
                times[1].append(seconds(other, theirs, repeats[1]))
    except (TypeError, ValueError, IndexError):  # not for these types, or this axis
        return None
    return min(times[0]) / min(times[1]), min(times[0])


def reason(line):
    return next((why for part, why in KNOWN.items() if re.search(part, line)), "")


def run(quick, only):
    nd.set_num_threads(1)
    rng = np.random.default_rng(1)
    sizes = SIZES[:3] if quick else SIZES
    types = TYPES[:4] if quick else TYPES
    found, measured = [], 0
    for dtype, layout, n in itertools.product(types, LAYOUTS, sizes):
        operands = LAYOUTS[layout](rng, dtype, n)
        for name, (own, other, count) in works():
            line = f"{name} {dtype} {layout} {n}"
            if (only and not re.search(only, line)) or len(operands) < count:
                continue
            theirs, ours = zip(*operands[:count])
            result = ratio(own, ours, other, theirs, 5)
            if result and result[0] > LIMIT:  # once more: a neighbour may have been busy
                result = ratio(own, ours, other, theirs, 25)
            measured += result is not None
            if result and result[0] > LIMIT:
                found.append((result[0], line, result[1]))
    for slower, line, own_time in sorted(found, reverse=True):
        print(f"{slower:6.2f}  {own_time * 1e6:10.2f} us  {line}  {reason(line)}")
    print(f"{measured} measured, {len(found)} slower than the alternative by more than a tenth, "
          f"{sum(not reason(line) for _, line, _ in found)} of them without a reason")
    return 0
