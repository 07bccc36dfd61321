"""Where the layout or the type of the operands once cost many times the usual: `make bench BENCH=--cliffs`.

    bench/run.py --cliffs [--quick] [--only PATTERN]

A line is one expression on one kind of operands beside the alternative that its bar is for: the same in NumPy (on
ragged data: on the flat content), in Awkward Array, or a loop by hand (Numba, below). One thread, in turns, best of
all rounds, as in run.py; results are compared before anything is timed. A new line is a new entry of `rows`.
"""

import operator
import pickle
import re
import timeit
from typing import NamedTuple

import numpy as np

import contenders
from contenders import nd
from rows import Ragged
from run import NOISY, Contender, cpu_model, take_turns, time_text

MILLION = 1_000_000
WIDTHS = [58, 44, 8, 8, 7, 4, 5]


class Row(NamedTuple):
    """`ours` and `alternative` are expressions of the operands' names, which `operands` makes."""

    work: str
    operands: object
    ours: str
    base: str  # numpy, awkward, loop; ours: another expression of the library
    alternative: str
    bar: float


# ---- operands --------------------------------------------------------------------------------------------------------


class Masked(NamedTuple):
    """Values that may be missing, beside their validity; ragged where there are offsets."""

    values: np.ndarray
    valid: np.ndarray
    offsets: np.ndarray = None


def numbers(rng, dtype, shape):
    if dtype == "bool":
        return rng.random(shape) < 0.1
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


def dense(shape, dtype="float64", names="ab", order=None):
    """`order` of the axes: a view of C-contiguous memory."""
    axes = order or range(np.size(shape))
    return lambda rng: {name: numbers(rng, dtype, shape).transpose(axes) for name in names}


def row_offsets(rng, rows, shortest, longest):
    lengths = rng.integers(shortest, longest + 1, rows)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def ragged(rows, shortest, longest, dtype="float64", names="a", inner=()):
    def make(rng):
        offsets = row_offsets(rng, rows, shortest, longest)
        return {name: Ragged(offsets, numbers(rng, dtype, (offsets[-1], *inner))) for name in names}

    return make


def masked(rows, shortest, longest, dtype="float64", names="a"):
    def make(rng):
        offsets = row_offsets(rng, rows, shortest, longest)
        return {n: Masked(numbers(rng, dtype, offsets[-1]), rng.random(offsets[-1]) < 0.9, offsets) for n in names}

    return make


def optional(count):
    """Numbers that may be missing beside such that may not."""
    return lambda rng: {"a": Masked(rng.random(count) * 10, rng.random(count) < 0.9), "i": rng.integers(0, 9, count),
                        "f": rng.random(count)}  # fmt: skip


def records(rng):
    return {"a": [{"n": int(n), "x": x} for n, x in zip(rng.integers(0, 100, 100_000), rng.random(100_000))]}


def dicts(rng):
    words = ["north", "coast", "tide", "a longer text"]
    return {"a": [{"name": words[i % 4], "values": [float(i), 2.0, 3.0][: i % 4]} for i in range(100_000)]}


def bind_ours(x):
    if isinstance(x, list | nd.array):
        return nd.array(x)
    if isinstance(x, Masked):
        values = nd.array(np.ma.masked_array(x.values, mask=~x.valid))
        return values if x.offsets is None else nd.from_offsets(nd.array(x.offsets), values)
    if isinstance(x, Ragged):
        return nd.array(nd.from_offsets(x.offsets, x.content))
    return nd.array(x) if x.flags.c_contiguous and x.dtype.isnative else nd.asarray(x)


def bind_awkward(x):
    from awkward import Array, contents, index

    if isinstance(x, Masked):
        return Array(contents.ByteMaskedArray(index.Index8(x.valid.view(np.int8)), contents.NumpyArray(x.values), True))
    if not isinstance(x, Ragged):
        return Array(x)
    content = contents.NumpyArray(x.content.reshape(-1))
    for size in x.content.shape[:0:-1]:
        content = contents.RegularArray(content, size)
    return Array(contents.ListOffsetArray(index.Index64(x.offsets), content))


def bind(base, operands):
    """The names that the alternative may use."""
    if base == "awkward":
        return {name: bind_awkward(x) for name, x in operands.items()} | {"ak": contenders.awkward}
    names = dict(LOOPS) if base == "loop" else {"np": np}
    for name, x in operands.items():
        names[name] = x.content if isinstance(x, Ragged) else x.values if isinstance(x, Masked) else x
        if not isinstance(x, np.ndarray):
            names["offsets"] = x.offsets
        if isinstance(x, Masked):
            names[f"{name}_valid"] = x.valid
    return names


# ---- loops by hand ---------------------------------------------------------------------------------------------------


def make_loops():
    """As a person would write them; Numba vectorises what may be reordered."""
    from numba import njit

    def column_products(a, b):
        out = np.zeros(a.shape[1])
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                out[j] += a[i, j] * b[i, j]
        return out

    def middle_max(a, b):
        out = np.full((a.shape[0], a.shape[2]), -np.inf)
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                for k in range(a.shape[2]):
                    out[i, k] = max(out[i, k], a[i, j, k] + b[i, j, k])
        return out

    def transposed_products(a, b):
        total = 0.0
        for r in range(0, a.shape[0], 32):
            for c in range(0, a.shape[1], 32):
                for i in range(r, min(r + 32, a.shape[0])):
                    for j in range(c, min(c + 32, a.shape[1])):
                        total += a[i, j] * b[j, i]
        return total

    def row_max(a, offsets):
        out = np.empty(offsets.size - 1, a.dtype)
        for r in range(out.size):
            best = a[offsets[r]]
            for i in range(offsets[r] + 1, offsets[r + 1]):
                best = max(best, a[i])
            out[r] = best
        return out

    def row_sum(a, offsets):
        out = np.empty(offsets.size - 1, np.int64)
        for r in range(out.size):
            total = 0
            for i in range(offsets[r], offsets[r + 1]):
                total += a[i]
            out[r] = total
        return out

    def masked_row_products(a, a_valid, b, b_valid, offsets):
        out = np.empty(offsets.size - 1)
        for r in range(out.size):
            total = 0.0
            for i in range(offsets[r], offsets[r + 1]):
                total += a[i] * b[i] if a_valid[i] & b_valid[i] else 0.0
            out[r] = total
        return out

    def masked_row_max(a, a_valid, offsets):
        out = np.empty(offsets.size - 1)
        valid = np.empty(offsets.size - 1, np.bool_)
        for r in range(out.size):
            best, found = -np.inf, False
            for i in range(offsets[r], offsets[r + 1]):
                best = max(best, a[i] if a_valid[i] else -np.inf)
                found |= a_valid[i]
            out[r], valid[r] = best, found
        return out

    fast = [column_products, transposed_products, row_sum, masked_row_products]
    loops = [middle_max, row_max, masked_row_max]
    return {f.__name__: njit(fastmath=f in fast)(f) for f in [*fast, *loops]}


LOOPS = {}


# ---- the lines -------------------------------------------------------------------------------------------------------


def column_rows():
    for shape in [(1000, 1000), (100_000, 50), (4096, 256)]:
        text = " x ".join(map(str, shape))
        yield Row(f"columns: a.sum(axis=0), {text}", dense(shape), "a.sum(axis=0)", "numpy", "a.sum(axis=0)", 0.9)
        yield Row(f"columns: a.max(axis=0), {text}", dense(shape), "a.max(axis=0)", "numpy", "a.max(axis=0)", 0.9)
        product = "(a*b).sum(axis=0)"
        yield Row(f"columns: {product}, {text}", dense(shape), product, "loop", "column_products(a, b)", 1.2)
    for order, axis in [((2, 1, 0), 0), ((2, 1, 0), 1), ((1, 2, 0), 0), ((1, 2, 0), 1), ((0, 2, 1), 2)]:
        text = f"a.sum(axis={axis})"
        cube = dense((100, 100, 100), order=order)
        yield Row(f"columns: {text}, 100^3 by {order}", cube, text, "numpy", text, 0.9)
    middle = "(a+b).max(axis=1)"
    yield Row(f"columns: {middle}, 200 x 300 x 50", dense((200, 300, 50)), middle, "loop", "middle_max(a, b)", 1.3)


def everything_rows():
    layouts = [(dense((1000, 1000)), "1000^2", v) for v in ["a.T", "a[::-1]", "a[:, ::-1]", "a[::2]", "a[:, ::2]"]]
    for order in [(2, 1, 0), (1, 0, 2), (1, 2, 0), (0, 2, 1)]:
        layouts.append((dense((100, 100, 100), order=order), f"100^3 by {order}", "a"))
    for operands, size, view in layouts:
        for name, bar in [("sum", 2), ("min", 1.2), ("max", 1.2)]:
            text = f"{view}.{name}()"
            yield Row(f"everything: {text}, {size}", operands, text, "numpy", text, bar)
    integers = dense((1000, 1000), "int64")
    for view in ["a.T", "a[::-1]", "a[:, ::-1]"]:
        text = f"{view}.sum()"
        yield Row(f"everything: {text}, 1000^2 int64", integers, text, "numpy", text, 1.2)
    text = "(a*b.T).sum()"
    for side in (1000, 4096):
        yield Row(f"everything: {text}, {side}^2", dense((side, side)), text, "loop", "transposed_products(a, b)", 2)
    for name in ("sum", "max"):
        text = f"a.{name}()"
        for count in (100_000, MILLION, 10 * MILLION):
            yield Row(f"everything: {text}, {count:,}", dense(count), text, "numpy", text, 1.2)
        for shortest, longest in [(0, 20), (1, 1), (0, 1)]:
            operands = ragged(MILLION, shortest, longest)
            yield Row(f"ragged: {text}, 1M rows of {shortest} to {longest}", operands, text, "numpy", text, 1.3)


def short_rows():
    for dtype in ["uint8", "int16", "bool", "float32", "float64"]:
        for name in ["sum", "max", "min"] if dtype != "bool" else ["sum", "any", "all"]:
            ours = f"a.{ {'any': 'max', 'all': 'min'}.get(name, name)}(axis=1)"
            operands = ragged(MILLION, 4, 20, dtype)
            work = f"rows: ragged {name}(axis=1), 4 to 20, {dtype}"
            yield Row(work, operands, ours, "awkward", f"ak.{name}(a, axis=1)", 0.8)
            loop = {"sum": "row_sum(a, offsets)", "max": "row_max(a, offsets)", "any": "row_max(a, offsets)"}.get(name)
            if loop and not dtype.startswith("float"):
                yield Row(work, operands, ours, "loop", loop, 1.5)
            for length in (4, 10, 20):
                work = f"rows: {name}(axis=1), 1M x {length}, {dtype}"
                alternative = f"ak.{name}(a, axis=1)"
                yield Row(work, dense((MILLION, length), dtype, "a"), ours, "awkward", alternative, 0.8)
            work = f"rows: a[:, ::2] {name}(axis=1), 1M x 20, {dtype}"
            sliced = ours.replace("a.", "a[:, ::2].")
            operands = dense((MILLION, 20), dtype, "a")
            yield Row(work, operands, sliced, "awkward", f"ak.{name}(a[:, ::2], axis=1)", 0.8)
    operands = masked(MILLION, 1, 20, names="ab")
    text = "(a*b).sum(axis=1)"
    loop = "masked_row_products(a, a_valid, b, b_valid, offsets)"
    yield Row(f"rows: ragged ?float64 {text}", operands, text, "loop", loop, 1.5)
    yield Row("rows: ragged ?float64 a.max(axis=1)", operands, "a.max(axis=1)", "loop",
              "masked_row_max(a, a_valid, offsets)", 1.5)  # fmt: skip


def single_rows():
    for name in ("sum", "max"):
        for axis, shape in [(1, (MILLION, 1)), (0, (1, MILLION)), (0, (1, 1000, 1000)), (1, (1000, 1, 1000))]:
            text = f"a.{name}(axis={axis})"
            work = f"size 1: {text}, {' x '.join(map(str, shape))}"
            yield Row(work, dense(shape), text, "numpy", "a.copy()", 1.2)


def outside_rows():
    for rows, length in [(1000, 1000), (100_000, 20)]:
        operands = ragged(rows, length, length)
        yield Row(f"outside: ragged sum(axis=0), {rows:,} rows of {length}", operands, "a.sum(axis=0)",
                  "awkward", "ak.sum(a, axis=0)", 0.8)  # fmt: skip
    operands = ragged(100_000, 1, 20, inner=(3,))
    for name in ("sum", "max"):
        yield Row(f"outside: N * var * 3, {name}(axis=1)", operands, f"a.{name}(axis=1)", "awkward",
                  f"ak.{name}(a, axis=1)", 0.8)  # fmt: skip


def small_rows():
    """What a call costs: three elements of any type and layout, values of Python and NumPy."""
    three = dense(3)
    for text in ["a < b", "a + 1.0", "a[::-1] + b", "a == b", "a * b"]:
        yield Row(f"small: {text}, 3", three, text, "numpy", text, 0.5 if "::" in text else 0.4)
    for name in ("sum", "min"):
        yield Row(f"small: a.{name}(), 3", three, f"a.{name}()", "numpy", f"a.{name}()", 0.5)
    square = lambda rng: {"a": rng.random((3, 3)), "b": rng.random(3)}  # noqa: E731
    yield Row("small: (3, 3) + (3)", square, "a + b", "numpy", "a + b", 0.4)
    yield Row("small: int32 + float64, 3", lambda rng: {"a": np.arange(3, dtype="int32"), "b": rng.random(3)},
              "a + b", "numpy", "a + b", 0.4)  # fmt: skip
    ragged_three = lambda rng: {name: Ragged(np.array([0, 2, 3, 6]), rng.random(6)) for name in "ab"}  # noqa: E731
    yield Row("small: ragged a + b, 3 rows (of NumPy's on the content)", ragged_three, "a + b", "numpy", "a + b", 1.8)
    ten = dense(10)
    yield Row("values: list(a), 10", ten, "list(a)", "numpy", "list(a)", 0.8)
    yield Row("values: nd.array(NumPy), 3", three, "nd.array(x)", "numpy", "np.array(x)", 1.5)
    yield Row("values: np.asarray(a), 3", three, "np.asarray(a)", "numpy", "np.asarray(memoryview(x))", 1.5)
    for dtype in ("float64", "int64", "float32"):
        work = f"values: a list of 1000 NumPy {dtype}"
        yield Row(work, dense(1000, dtype), "nd.array(list_of_x)", "numpy", "np.array(list_of_x)", 1.5)
    for shape in [(100, 10), (10, 1000)]:
        work = f"values: a list of {shape[0]} NumPy arrays of {shape[1]}"
        yield Row(work, dense(shape), "nd.array(list_of_x)", "numpy", "np.array(list_of_x)", 1.5)
    words = lambda rng: {"a": np.array(["north", "coast", "tide"])}  # noqa: E731
    yield Row("values: a copy of 3 texts (of NumPy's of numbers)", words, "nd.array(a)", "numpy", "np.arange(3.0).copy()", 4)


def written_rows():
    """Arrays that are written where they are."""
    for count in (100_000, 16 * MILLION):
        for text in ["operator.iadd(w, b)", "operator.imul(w, 1.0)"]:
            yield Row(f"written: {text}, {count:,}", dense(count), text, "numpy", text, 1.0)
    rows = ragged(MILLION, 1, 9)
    yield Row("written: ragged w += 1.0", rows, "operator.iadd(w, 1.0)", "awkward", "a + 1.0", 1.0)
    yield Row("written: ragged w[...] = a", rows, "nd.assign(w, a)", "awkward", "ak.copy(a)", 1.0)


def slice_rows():
    rows = ragged(MILLION, 3, 7)
    for ours, its in [("sum(axis=1)", "ak.sum(a[:, 1:3], axis=1)"), ("sum()", "ak.sum(a[:, 1:3])")]:
        yield Row(f"slices: a[:, 1:3].{ours}", rows, f"a[:, 1:3].{ours}", "awkward", its, 1.0)
    yield Row("slices: a[:, 1:3] + 1", rows, "(a[:, 1:3] + 1).eval()", "awkward", "a[:, 1:3] + 1", 1.0)
    yield Row("slices: a[:, 0]", rows, "a[:, 0]", "numpy", "a[offsets[:-1]]", 1.2)

    def equal(rng):
        return {"a": Ragged(np.arange(0, MILLION + 1, 4), rng.random(MILLION)), "b": rng.random((MILLION // 4, 4))}

    yield Row("slices: rows of 4 + strided, 250k", equal, "(a + b).eval()", "numpy", "a.reshape(-1, 4) + b", 3)


def type_rows():
    for dtype in (">f8", ">i4", ">u2"):
        operands = lambda rng, dtype=dtype: {"a": np.arange(100_000).astype(dtype)}  # noqa: E731
        yield Row(f"types: {dtype} a + a, 100k", operands, "(a + a).eval()", "numpy", "a + a", 1.0)
    bools = dense(100_000, "bool")
    yield Row("types: bool to float64, 100k", bools, "a.astype('float64')", "numpy", "a.astype(float)", 1.2)
    yield Row("types: abs of float16, 100k", dense(100_000, "float16"), "abs(a).eval()", "numpy", "abs(a)", 1.2)
    yield Row("types: abs of complex64, 100k", dense(100_000, "complex64"), "abs(a).eval()", "numpy", "abs(a)", 1.2)
    bare = "(a > 5.0).eval()"
    yield Row("types: ?float64 > 5 (of > 5.0), 100k", optional(100_000), "(a > 5).eval()", "ours", bare, 1.3)
    yield Row("types: ?float64 + int64 (of + float64), 100k", optional(100_000), "(a + i).eval()", "ours", "(a + f).eval()", 1.3)
    yield Row("types: copy of ?float64, 100k", optional(100_000), "nd.array(a)", "awkward", "ak.copy(a)", 1.2)
    yield Row("types: float64 to ?float64, 100k", dense(100_000), "a.astype('?float64')", "numpy", "np.ma.array(a, copy=True)", 1.2)
    for work, ours, its in [("copy", "nd.array(a)", "ak.copy(a)"), ("==", "(a == a).eval()", "(a.n == a.n) & (a.x == a.x)")]:
        yield Row(f"types: records, {work}, 100k", records, ours, "awkward", its, 1.2)
    yield Row("types: a copy of 100k dicts of text and lists", dicts, "nd.array(a)", "awkward", "ak.copy(a)", 2)
    dumps = "pickle.dumps(a, 5)"
    yield Row("types: pickle.dumps of ragged, 1M rows", ragged(MILLION, 1, 9), dumps, "awkward", dumps, 1.2)
    reversed_sum = "a[::-1] + b[::-1]"
    yield Row(f"types: {reversed_sum}, 100k", dense(100_000), f"({reversed_sum}).eval()", "numpy", reversed_sum, 1.2)


def chain_rows():
    """Expressions that are one pass."""
    for count in (100_000, MILLION):
        for text, its in [("(a < b).sum()", "(a < b).sum()"), ("nd.where(a < b, a, b).eval()", "np.where(a < b, a, b)")]:
            yield Row(f"chain: {its}, {count:,}", dense(count), text, "numpy", its, 0.6)
    ten = "a + b*a - b*b + a*a - a + b*a*b"
    yield Row("chain: 10 operations over a and b, 1,000,000", dense(MILLION), f"({ten}).eval()", "numpy", ten, 0.4)

    def deep(rng):
        outer = row_offsets(rng, 100_000, 1, 5)
        inner = row_offsets(rng, outer[-1], 1, 7)
        rows = [nd.from_offsets(nd.array(inner), nd.array(rng.random(inner[-1]))) for _ in "ab"]
        a, b = (nd.from_offsets(nd.array(outer), x) for x in rows)
        return {"a": a, "b": b, "row": rng.random(100_000)}

    yield Row("chain: three deep a * row[:, None, None] (of a + b)", deep, "(a * row[:, None, None]).eval()", "ours",
              "(a + b).eval()", 2)  # fmt: skip


def narrow_rows():
    """Types of one and two bytes, where a call's end and its steps show; bools, of which one element may decide."""
    for dtype in ("uint8", "int16", "float32"):
        for length in (40, 100):
            rows = 16 * MILLION // length
            column = lambda rng, shape=(rows, length), dtype=dtype: {  # noqa: E731
                "a": numbers(rng, dtype, shape), "b": numbers(rng, dtype, (shape[0], 1))}  # fmt: skip
            yield Row(f"narrow: {dtype} a + b[:, None], 16M in rows of {length}", column, "(a + b).eval()", "numpy", "a + b", 1.0)
    for dtype in ("uint8", "int16"):
        for text in ("a[::2].max()", "nd.ptp(a)", "nd.all(a)", "nd.count_nonzero(a)", "nd.cumulative_sum(nd.reshape(a, (-1, 4)), axis=0)"):
            its = text.replace("nd.cumulative_sum", "np.cumsum").replace("nd.", "np.")
            yield Row(f"narrow: {dtype} {text}, 1M", dense(MILLION, dtype), text, "numpy", its, 1.2)
    for text in ("nd.any(a[::2])", "nd.argmax(a)", "nd.argwhere(a[::2])", "nd.cumulative_max(a)"):
        its = text.replace("nd.cumulative_max", "np.maximum.accumulate").replace("nd.", "np.")
        bar = 1.5 if "arg" in text else 1.2  # a question of all bytes first: any but 0 is true
        yield Row(f"narrow: bool {text}, 1M", dense(MILLION, "bool"), text, "numpy", its, bar)


def copied_rows():
    """Rows and texts that are put together, taken and repeated; what is taken is used, or packed: Awkward Array's is a view."""

    def taken(rng):
        operands = ragged(100_000, 0, 4)(rng)
        return operands | {"m": rng.random(100_000) < 0.5, "i": rng.permutation(100_000)}

    for work, ours, its in [
        ("concat([a, a])", "nd.concat([a, a])", "ak.concatenate([a, a])"),
        ("concat([a, a], axis=1)", "nd.concat([a, a], axis=1)", "ak.concatenate([a, a], axis=1)"),
        ("a[mask] + 1", "(a[m] + 1).eval()", "a[m] + 1"),
        ("a[index].sum(axis=1)", "a[i].sum(axis=1)", "ak.sum(a[i], axis=1)"),
        ("pad(a, 3)", "nd.pad(a, 3)", "ak.pad_none(a, 3)"),
    ]:
        yield Row(f"copied: {work}, 100k rows of 0 to 4", taken, ours, "awkward", its, 1.1)

    def words(rng):
        some = ["north", "tide", "", "a text of more than sixteen bytes"]
        return {"a": [some[i] for i in rng.integers(0, 4, 100_000)], "m": rng.random(100_000) < 0.5}

    for work, ours, its in [
        ("concat([a, a])", "nd.concat([a, a])", "ak.concatenate([a, a])"),
        ("a[mask]", "a[m]", "ak.to_packed(a[m])"),
    ]:
        yield Row(f"copied: {work}, 100k texts", words, ours, "awkward", its, 1.0)

    def counts(rng):
        return {"a": rng.random(100_000), "n": rng.integers(0, 5, 100_000)}

    yield Row("copied: repeat(a, n), 100k", counts, "nd.repeat(a, n)", "numpy", "np.repeat(a, n)", 1.2)


def rows():
    for part in [copied_rows, narrow_rows, small_rows, chain_rows, written_rows, slice_rows, type_rows, column_rows, everything_rows, short_rows, single_rows,
                 outside_rows]:  # fmt: skip
        yield from part()


# ---- measuring -------------------------------------------------------------------------------------------------------


def flat(result):
    """The numbers of a result, missing ones as 0."""
    if isinstance(result, nd.array):
        result = nd.fill_missing(result, 0) if "?" in str(result.type) else result
        result = result.tolist() if "var" in str(result.type) else np.asarray(result)
    elif contenders.awkward and isinstance(result, contenders.awkward.Array):
        result = contenders.awkward.to_list(result)
        result = [[0 if x is None else x for x in row] if isinstance(row, list) else row for row in result]
    if isinstance(result, list):
        result = [x for row in result for x in row] if result and isinstance(result[0], list) else result
    return np.asarray(result, np.float64).reshape(-1)


def same(row, ours, alternative):
    if row.base == "loop" and "masked_row_max" in row.alternative:
        return True  # the loop leaves the values of missing rows open
    if ours is None or row.work.startswith(("values", "types: ?", "types: copy", "types: records", "types: a copy",
                                            "types: pickle", "chain: three")):  # fmt: skip
        return True  # an assignment, or not the same thing
    if row.work.endswith("texts"):
        return ours.tolist() == contenders.awkward.to_list(alternative)
    left, right = flat(ours), flat(alternative)
    scale = np.abs(right).max(initial=1.0)
    return left.shape == right.shape and np.allclose(left, right, rtol=1e-9, atol=1e-11 * scale * left.size)


def measure(row, seconds):
    operands = row.operands(np.random.default_rng(20140401))
    first = operands["a"]
    given = {"operator": operator, "pickle": pickle, "np": np, "x": first}
    if isinstance(first, np.ndarray):
        given["list_of_x"] = list(first)
    names = {name: bind_ours(x) for name, x in operands.items()} | given | {"nd": nd}
    if "w" in row.ours:
        names["w"] = nd.array(names["a"], access="rw")
    others = (names if row.base == "ours" else bind(row.base, operands)) | given
    if row.base != "ours":
        others["w"] = first.copy() if isinstance(first, np.ndarray) else None
    is_right = same(row, eval(row.ours, names), eval(row.alternative, others))
    ours = Contender("ours", timeit.Timer(row.ours, globals=names).timeit)
    base = Contender(row.base, timeit.Timer(row.alternative, globals=others).timeit)
    take_turns([ours, base], seconds, 3)
    return ours, base, is_right


def print_line(texts):
    print("  ".join(text.ljust(width) for text, width in zip(texts, WIDTHS)).rstrip(), flush=True)


def run(quick, only):
    """Measures the lines whose work contains `only`; true where a result was wrong."""
    LOOPS.update(make_loops())
    print(f"{cpu_model()}\n")
    print_line(["work", "alternative", "ours", "its", "ratio", "bar"])
    failed, wrong = [], []
    for row in rows():
        if not re.search(only, row.work):
            continue
        ours, base, is_right = measure(row, 0.25 if quick else 1)
        ratio = ours.best / base.best
        verdict = "WRONG" if not is_right else "" if ratio <= row.bar else "OVER"
        failed += [] if ratio <= row.bar else [row.work]
        wrong += [] if is_right else [row.work]
        noisy = " ~" if base.median > NOISY * base.best else ""
        print_line([row.work, f"{row.base}: {row.alternative}"[:44], time_text(ours.best), time_text(base.best),
                    f"{ratio:.2f}{noisy}", f"{row.bar}", verdict])  # fmt: skip
    print(f"\n{len(failed)} miss their bar" + "".join(f"\n    {work}" for work in failed))
    return bool(wrong)
