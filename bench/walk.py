"""A walk over operations x types x layouts x sizes, for the cliffs that are in no list yet: `make bench BENCH=--walk`.

    bench/run.py --walk [--quick] [--only PATTERN]

Every operation and reduction that NumPy has under the same name (ragged: that Awkward Array has), and what FUNCTIONS
lists (scans, order, selection, structure), is timed in both, in turns, one thread, the best of a few rounds. Printed is
whatever is slower here than there by more than a tenth, the worst first, with what was measured; then what is refused
here and done there. A line's name is `operation type layout size`. What is in KNOWN is slower, or refused, for a
reason, which is printed with it.
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
# Part of a line's name -> why it is slower than the alternative, or refused; in full in docs/slower_than_others.md. With a
# number, it explains no more than that.
KNOWN = {
    r"^(sum|mean|(nan)?(var|std))\(axis=None\) (float|complex|int)\d+ (a\.T|F|\[::2\]|\[::-1\]) ": "adds in C order: docs/decisions/0021",
    r"^(a?(sin|cos|tan)h?|atan2|log\w*|exp2?|expm1|cbrt|pow) float(32|16) ": "in doubles: docs/decisions/0024",
    r"^(asinh|atanh?|atan2|tanh?|cosh|exp2|log1p|cbrt|pow) (float64|u?int\d+) ": "at most 1 ULP, NumPy's AVX-512 loops up to 4: docs/decisions/0024",
    r"^arg(max|min)\(axis=(0|-1)\) float(32|64) .* 1000*$": "NumPy's loop is written for each ISA level",
    r"^(flatten|reshape|take) .* (a\.T|F) 1000(00)?$": "a transposed copy by panels of lines, which gain beyond the caches",
    r"^(copy|flip) .* (a\.T|F) ": "NumPy keeps the order of memory, the copy here is in C order",
    r"^(\w*exp\d?|expm1|log\w*|a?(sin|cos|tan)h?|atan2|cbrt|pow|sqrt|rint|frexp|deg2rad|rad2deg|ldexp|hypot) (u?int8|u?int16|bool) ":
        "float64 of all integers, NumPy's float16 or float32 of these",
    r"^(exp2?|expm1|log\w*|a?(sin|cos|tan)h?|pow|sqrt|abs) complex": "one at a time, by Kahan's formulas: docs/decisions/0024",
    r"^(a\[order\]|take_along_axis) ": "argsort, for which NumPy has loops of Intel's: docs/decisions/0034",
    r"^searchsorted .* 1000$": "the general way to search in rows is the only one, half a microsecond",
    r"^a\[\[2, 0, 1\]\] .* (a\.T|F) ": "the result is in C order, NumPy's in that of memory",
    r"^(concat|stack) .* (a\.T|F) 100000$": "a transposed copy by panels of lines, which gain beyond the caches",
    r"^(zeros|full)_like .* missing ": "Awkward Array's shares the mask of its operand",
    r"^(first|pad) .* ragged": "places are found first, then what is there",
    r"^cumulative_(max|min)\S* float16 ": "computed in float32",
    r"^tolist float16 ": "its bits become a float's by integer arithmetic, on every CPU alike",
    r"^arg(max|min)\(axis=\S+\) bool ": "any byte but 0 is true, so the bytes are made 0 or 1 first",
    r"^(argsort|top_k|sort\S*|unique\w*) ": "NumPy has loops of Intel's for AVX-512: docs/decisions/0034",
    r"^(equal|not_equal|less|less_equal|greater|greater_equal) string texts 3$": "a kernel is built for each call",
    r"^concat .* (3|1000)$": "the general way to put lists together is the only one",
    r"^arange ": "stores of 16 bytes: not compiled for each ISA level",
    r"^vecdot (.* (\[::-?\d\]|a\.T|F) |float\d+ .* 100000$|.* 3$)": ("NumPy's is BLAS; what is not contiguous is brought into scratch", 3.0),
    r"^\S+ (float64|u?int64) \[::-?\d\] 1000(00)?$": ("brought into scratch before NumPy's loop would have read it", 1.75),
    r"^is(nan|inf|finite) u?int\d+ ": ("written by the loop of the operation", 1.75),
    r"^(any|all)\(axis=\S+\) .* 100000$": ("a step of its own asks whether numbers are 0", 1.6),
    r"^(\w+) (float|int)(32|64) (a\.T|F) 100000$": ("only arrays in C order have a direct step", 1.2),
    r"^frexp ": ("one loop for all types, with two results", 1.5),
    r"^bitwise_(left|right)_shift .* number ": ("the width is asked for each element", 1.4),
    r"^a\[(b > 2\] = 0|a > b\]) .* (a\.T|F) ": ("in C order: NumPy takes the order of memory", 2.0),
    r"^(cumulative_\w+(\(axis=0\))?|flip) .* 3$|^(zeros_like|full_like|where|a\[a > b\]) string texts 3$|^a\[a > b\] .* 3$": ("a kernel is built for each call", 2.0),
    r"^a\[b > 2\] = 0 .* number$": "one bool is no mask",
    r"^tile .* \(n,4\) 100000$": ("each row is copied by itself", 1.3),
    r"^reciprocal u?int\d+ ": ("computed in float64", 1.4),
    r"^nan\w+\(axis=\S+\) float(32|64) (row|column|a\.T|F) 100000$": ("NaN is replaced before the fold: docs/decisions/0032", 1.3),
    r"^count_nonzero\(axis=None\) .* 1000$": "above 512 elements a task, half a microsecond",
    r"^ldexp int32 ": "computed in float64",
    r"\(axis=0\) .* ragged": "rows of other lengths side by side: align='left' asks for it",
    r"^a == text ": "numbers and text are not compared",
    r"^(isnan|maximum|minimum|nansum\S*) string texts": "an operation on numbers",
    r"^nan(min|max)\(": "NaN is replaced before the fold: docs/decisions/0032",
    r"^reduce\(subtract\)": "a left fold of any function: a call for each element",
    r"^floor_divide u?int8 number ": "in 16 bits, by the compiler's vectors",
    r"^divmod u?int64 ": "as many divisions; two results to write",
    r"^(add|all|any|arg(min|max|where)|count_nonzero|isin|logical_\w+|nan_to_num|nonzero|searchsorted|where)\b.* texts$":
        "an operation on numbers: functions of text are not there yet",
}


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


def with_missing(rng, dtype, n):
    """A tenth is missing; the alternative is Awkward Array's option type."""
    made = []
    for _ in range(2):
        values, valid = numbers(rng, dtype, n), rng.random(n) < 0.9
        content = ak.contents.NumpyArray(values)
        option = ak.Array(ak.contents.ByteMaskedArray(ak.index.Index8(valid.view(np.int8)), content, True))
        made.append((option, nd.array(np.ma.masked_array(values, mask=~valid))))
    return tuple(made)


def texts(rng, dtype, n):
    """The alternative is NumPy's type of texts of any length."""
    words = np.array([f"{place} {i}" for i in range(250) for place in ("north", "coast", "a longer name", "tide")])
    made = [words[rng.integers(0, 1000, n)].astype(np.dtypes.StringDType()) for _ in range(2)]
    return tuple((x, nd.array(x.tolist())) for x in made)


# Those whose elements have types of their own.
TYPES_OF = {"texts": ["string"]}
JOINS_TEXTS = r"^(cumulative|nan|sum|mean|var|std|prod|reduce)"  # NumPy's puts texts together: of many, more than there is memory for
LAYOUTS = {
    "flat": pair(flat), "owned": owned(flat), "[::2]": pair(strided), "[::-1]": pair(reversed_),
    "a.T": pair(transposed), "F": pair(fortran), "row": pair(row_and_matrix), "column": pair(column_and_matrix),
    "(n,4)": pair(short_rows), "number": pair(with_number), "ragged4": ragged(4), "ragged20": ragged(20),
    "missing": with_missing, "texts": texts,
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


GRID = np.linspace(0, 5, 1000)
OUR_GRID = nd.array(GRID)


def sums_of_groups(a, b):
    """What people write who have NumPy only."""
    keys, inverse = np.unique(a, return_inverse=True)
    return keys, np.bincount(inverse, b)


def assigned(a, b):
    """Through a mask, into a copy."""
    result = a.copy()
    result[b > 2] = 0
    return result


def assigned_here(a, b):
    result = nd.array(a, access="rw")
    result[b > 2] = 0
    return result


def ak_where(a, b):
    return ak.where(a < b, a, b)


def ak_equal_rows(a, b):
    return ak.all(a == b, axis=-1)


# Name -> how many operands, ours, NumPy's, Awkward Array's (of ragged arrays). None: it has no such thing.
FUNCTIONS = {
    "cumulative_sum": (1, lambda a: nd.cumulative_sum(a, axis=-1), lambda a: np.cumsum(a, axis=-1), None),
    "cumulative_sum(axis=0)": (1, lambda a: nd.cumulative_sum(a, axis=0), lambda a: np.cumsum(a, axis=0), None),
    "cumulative_prod": (1, lambda a: nd.cumulative_prod(a, axis=-1), lambda a: np.cumprod(a, axis=-1), None),
    "cumulative_max": (1, lambda a: nd.cumulative_max(a, axis=-1), lambda a: np.maximum.accumulate(a, axis=-1), None),
    "diff": (1, nd.diff, np.diff, None),
    "sort": (1, nd.sort, np.sort, ak.sort),
    "sort(axis=0)": (1, lambda a: nd.sort(a, axis=0), lambda a: np.sort(a, axis=0), None),
    "argsort": (1, nd.argsort, lambda a: np.argsort(a, stable=True), ak.argsort),
    "unique": (1, nd.unique, np.unique, None),
    "unique_inverse": (1, nd.unique_inverse, np.unique_inverse, None),
    "median": (1, nd.median, np.median, None),
    "median(axis=-1)": (1, lambda a: nd.median(a, axis=-1), lambda a: np.median(a, axis=-1), None),
    "quantile": (1, lambda a: nd.quantile(a, 0.9), lambda a: np.quantile(a, 0.9), None),
    "searchsorted": (1, lambda a: nd.searchsorted(OUR_GRID, a), lambda a: np.searchsorted(GRID, a), None),
    "histogram": (1, lambda a: nd.histogram(a, 20, (0, 5)), lambda a: np.histogram(a, 20, (0, 5)), None),
    "isin": (1, lambda a: nd.isin(a, [1, 2, 3]), lambda a: np.isin(a, [1, 2, 3]), None),
    "where": (2, lambda a, b: nd.where(a < b, a, b).eval(), lambda a, b: np.where(a < b, a, b), ak_where),
    "a[a > b]": (2, lambda a, b: a[a > b], lambda a, b: a[a > b], lambda a, b: a[a > b]),
    "nonzero": (1, nd.nonzero, np.nonzero, None),
    "take": (1, lambda a: nd.take(a, [0, 2, 1]), lambda a: np.take(a, [0, 2, 1]), None),
    "a[order]": (1, lambda a: a[nd.argsort(a)], lambda a: a[np.argsort(a, stable=True)], lambda a: a[ak.argsort(a)]),
    "repeat": (1, lambda a: nd.repeat(a, 2), lambda a: np.repeat(a, 2), None),
    "roll": (1, lambda a: nd.roll(a, 5), lambda a: np.roll(a, 5), None),
    "tile": (1, lambda a: nd.tile(a, 3), lambda a: np.tile(a, 3), None),
    "concat": (2, lambda a, b: nd.concat([a, b]), lambda a, b: np.concat([a, b]), lambda a, b: ak.concatenate([a, b])),
    "stack": (2, lambda a, b: nd.stack([a, b]), lambda a, b: np.stack([a, b]), None),
    "copy": (1, nd.array, np.array, ak.copy),
    "equal rows": (2, lambda a, b: (a == b).all(axis=-1), lambda a, b: (a == b).all(axis=-1), ak_equal_rows),
    "cumulative_min(axis=0)": (1, lambda a: nd.cumulative_min(a, axis=0), lambda a: np.minimum.accumulate(a), None),
    "reduce(subtract)": (1, lambda a: nd.reduce(nd.subtract, a, axis=0), lambda a: np.subtract.reduce(a), None),
    "unique_counts": (1, nd.unique_counts, np.unique_counts, None),
    "top_k": (1, lambda a: nd.top_k(a, 3), lambda a: np.partition(a, -3, axis=-1)[..., -3:], None),
    "argwhere": (1, nd.argwhere, np.argwhere, None),
    "take_along_axis": (1, lambda a: nd.take_along_axis(a, nd.argsort(a), axis=-1),
                        lambda a: np.take_along_axis(a, np.argsort(a, stable=True), axis=-1), None),
    "a[b > 2] = 0": (2, assigned_here, assigned, None),
    "a[[2, 0, 1]]": (1, lambda a: a[[2, 0, 1]], lambda a: a[[2, 0, 1]], lambda a: a[[2, 0, 1]]),
    "flip": (1, lambda a: nd.array(nd.flip(a)), lambda a: np.array(np.flip(a)), None),
    "reshape": (1, lambda a: nd.reshape(a, (-1,)), lambda a: np.reshape(a, (-1,)), None),
    "groupby": (2, lambda a, b: nd.groupby(b, by=a).sum(axis=1), sums_of_groups, None),
    "zeros_like": (1, nd.zeros_like, np.zeros_like, ak.zeros_like),
    "full_like": (1, lambda a: nd.full_like(a, 1), lambda a: np.full_like(a, 1), lambda a: ak.full_like(a, 1)),
    "arange": (1, lambda a: nd.arange(len(a)), lambda a: np.arange(len(a)), None),
    "linspace": (1, lambda a: nd.linspace(0, 1, len(a)), lambda a: np.linspace(0, 1, len(a)), None),
    "isclose": (2, lambda a, b: nd.isclose(a, b).eval(), np.isclose, None),
    "nan_to_num": (1, lambda a: nd.nan_to_num(a).eval(), np.nan_to_num, None),
    "vecdot": (2, nd.vecdot, np.vecdot, None),
    "is_missing": (1, lambda a: nd.is_missing(a).eval(), None, ak.is_none),
    "fill_missing": (1, lambda a: nd.fill_missing(a, 1).eval(), None, lambda a: ak.fill_none(a, 1)),
    "drop_missing": (1, nd.drop_missing, None, ak.drop_none),
    "a == text": (1, lambda a: a == "tide 7", lambda a: a == "tide 7", None),
    "tolist": (1, lambda a: a.tolist(), lambda a: a.tolist(), ak.to_list),
    "num": (1, nd.num, None, ak.num),
    "flatten": (1, nd.flatten, np.ravel, ak.flatten),
    "local_index": (1, nd.local_index, None, ak.local_index),
    "pad": (1, lambda a: nd.pad(a, 8), None, lambda a: ak.pad_none(a, 8)),
    "a[:, :1]": (1, lambda a: a[:, :1], None, lambda a: a[:, :1]),
    "first": (1, nd.first, None, ak.firsts),
    "combinations": (1, lambda a: nd.combinations(a, 2), None, lambda a: ak.combinations(a, 2)),
    "cartesian": (2, lambda a, b: nd.cartesian([a, b]), None, lambda a, b: ak.cartesian([a, b])),
    "concat(axis=1)": (2, lambda a, b: nd.concat([a, b], axis=1), None, lambda a, b: ak.concatenate([a, b], axis=1)),
}


def listed(name):
    count, ours, numpy, awkward = FUNCTIONS[name]

    def other(*operands):
        alternative = awkward if isinstance(operands[0], ak.Array) else numpy
        if alternative is None:
            raise TypeError(name)
        return alternative(*operands)

    return ours, other, count


def works():
    for name in FUNCTIONS:
        yield name, listed(name)
    for operation in nd.operations():
        if "Dims" in operation.signature:
            if hasattr(np, operation.name):
                for axis in (None, 0, -1):
                    yield f"{operation.name}(axis={axis})", reduction(operation.name, axis)
        elif isinstance(getattr(np, operation.name, None), np.ufunc):
            yield operation.name, elementwise(operation.name, getattr(np, operation.name).nin)


# ---- measuring -----------------------------------------------------------------------------------------------------------


def seconds(f, operands, repeats):
    start = time.process_time()  # of this process alone: others may be busy
    for _ in range(repeats):
        f(*operands)
    return (time.process_time() - start) / repeats


def refusal(f, operands):
    """What it says where it is not for these types, or this axis."""
    try:
        f(*operands)
    except Exception as error:  # Awkward Array has its own kinds
        return (str(error).splitlines() or [type(error).__name__])[0]
    return ""


def ratio(own, ours, other, theirs, rounds):
    """Our time to the other, and ours; the best of rounds in turns."""
    repeats = [max(1, int(2e-4 / max(seconds(f, x, 1), 1e-7))) for f, x in ((own, ours), (other, theirs))]
    times = [[], []]
    for _ in range(rounds):
        times[0].append(seconds(own, ours, repeats[0]))
        times[1].append(seconds(other, theirs, repeats[1]))
    return min(times[0]) / min(times[1]), min(times[0])


def reason(line, slower=0):
    for part, known in KNOWN.items():
        why, most = known if isinstance(known, tuple) else (known, slower)
        if slower <= most and re.search(part, line):
            return why
    return ""


def lines(quick, only):
    """Everything that both can be asked: its name, then ours and the other, each with its operands."""
    rng = np.random.default_rng(1)
    types = {layout: TYPES_OF.get(layout, TYPES[:4] if quick else TYPES) for layout in LAYOUTS}
    pairs = sorted((dtype, layout) for layout in LAYOUTS for dtype in types[layout])
    for (dtype, layout), n in itertools.product(pairs, SIZES[:3] if quick else SIZES):
        operands = LAYOUTS[layout](rng, dtype, n)
        for name, (own, other, count) in works():
            line = f"{name} {dtype} {layout} {n}"
            joins = layout == "texts" and re.search(JOINS_TEXTS, name)
            if (not only or re.search(only, line)) and len(operands) >= count and not joins:
                theirs, ours = zip(*operands[:count])
                yield line, own, ours, other, theirs


def run(quick, only):
    nd.set_num_threads(1)
    warnings.simplefilter("ignore")
    found, refused, measured = [], {}, 0
    with np.errstate(all="ignore"):
        for line, own, ours, other, theirs in lines(quick, only):
            if refusal(other, theirs):
                continue
            if said := refusal(own, ours):
                refused.setdefault(line.rsplit(" ", 1)[0], said)  # whatever the size
                continue
            result = ratio(own, ours, other, theirs, 5)
            if result[0] > LIMIT:  # once more: a neighbour may have been busy
                result = ratio(own, ours, other, theirs, 25)
            measured += 1
            if result[0] > LIMIT:
                found.append((result[0], line, result[1]))
    for slower, line, own_time in sorted(found, reverse=True):
        print(f"{slower:6.2f}  {own_time * 1e6:10.2f} us  {line}  {reason(line, slower)}")
    for line, said in sorted(refused.items()):
        print(f"refused  {line}  {reason(line) or said}")
    print(f"{measured} measured, {len(found)} slower than the alternative by more than a tenth, "
          f"{sum(not reason(line, slower) for slower, line, _ in found)} of them without a reason; "
          f"{len(refused)} refused, {sum(not reason(line) for line in refused)} of them without a reason")
    return 0
