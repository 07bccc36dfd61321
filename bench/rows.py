"""What is measured: the speed table, one `Row` for each line of it, and the operands the rows work on.

A row is one expression; every library evaluates it with the operands bound to its own arrays. Where a
library has to write it differently, the row says how. Nothing here knows how time is taken.
"""

from dataclasses import dataclass, field, replace
from typing import Callable, NamedTuple

import numpy as np

from floors import aligned

ROOT_CHAIN = "a"
for _ in range(8):
    ROOT_CHAIN = f"sqrt({ROOT_CHAIN} / b + a)"


class Ragged(NamedTuple):
    offsets: np.ndarray
    content: np.ndarray


@dataclass
class Row:
    name: str
    expression: str
    operands: Callable[[], dict]  # name -> NumPy array or Ragged
    bar: float
    # What our time is divided by: "loop" (the row's own hand-written one), "loop FAMILY" (another), "numpy" or
    # "ours EXPRESSION". "time": the bar is in seconds. "one thread": it is the least gain from two threads.
    base: str = "loop"
    loop: str = ""  # family of hand-written loops
    lazy: bool = False  # large enough for the result to be lazy: materialize it
    sums: bool = False  # libraries add in different orders
    error: float = 0  # libraries round differently: how far apart their results may be
    peers: dict = field(default_factory=dict)  # library -> what it evaluates; NumPy always has its turn


def _rng():
    return np.random.default_rng(20140401)


def vectors(names, count):
    def make():
        rng = _rng()
        return {name: aligned(rng.random(count) + 0.5) for name in names}

    return make


def numbers(scalar, count):
    return lambda: {"a": aligned(_rng().uniform(0.1, 10, count).astype(scalar))}


def outer(rows, columns):
    def make():
        rng = _rng()
        return {"a": aligned(rng.random((rows, 1))), "b": aligned(rng.random((1, columns)))}

    return make


def plane(shape):
    return lambda: {"a": aligned(_rng().random(shape))}


def squares(side):
    def make():
        rng = _rng()
        return {name: aligned(rng.random((side, side))) for name in "ab"}

    return make


def ragged(names, mean, count=1_000_000, shortest=0):
    """`count` rows of Poisson lengths; `row` among the names is one value for each row."""

    def make():
        rng = _rng()
        lengths = np.maximum(rng.poisson(mean, count), shortest)
        offsets = aligned(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
        total = int(offsets[-1])
        return {
            name: aligned(rng.random(count)) if name == "row" else Ragged(offsets, aligned(rng.random(total)))
            for name in names.split()
        }

    return make


def three_rows():
    offsets = np.array([0, 2, 3, 6], np.int64)
    return {name: Ragged(offsets, np.arange(6.0)) for name in "ab"}


def _small():
    three = vectors("ab", 3)
    return [
        Row("a+b, 3", "a + b", three, 0.35, "numpy", peers={"numba": "add(a, b)"}),
        Row("a[i]", "a[1]", three, 0.8, "numpy"),
        Row("a[1:]", "a[1:]", three, 0.8, "numpy"),
        Row("len(a)", "len(a)", three, 1.2, "numpy"),
        Row("ragged a+b, 3 rows", "a + b", three_rows, 1e-6, "time", peers={"awkward": "a + b"}),
    ]


def _flat(count, label, bars):
    fused, product = "a*b + c - d/e", "(a*b).sum()"
    fused_peers = {"numexpr": f"evaluate('{fused}')", "numba": "fused(a, b, c, d, e)"}
    dot_peers = {"numexpr": "evaluate('sum(a*b)')", "numba": "dot(a, b)"}
    add_peers = {"numexpr": "evaluate('a + b')", "numba": "add(a, b)"}
    return [
        Row(f"a+b, {label}", "a + b", vectors("ab", count), bars[0], loop="add", lazy=True, peers=add_peers),
        Row(f"{fused}, {label}", fused, vectors("abcde", count), bars[1], loop="fused", lazy=True, peers=fused_peers),
        Row(f"{product}, {label}", product, vectors("ab", count), bars[2], loop="dot", sums=True, peers=dot_peers),
    ]


def _shaped():
    peers = {"numexpr": "evaluate('a + b')", "numba": "add(a, b)"}
    return [
        Row("(N,1)+(1,M), 1000 x 1000", "a + b", outer(1000, 1000), 1.3, loop="outer", lazy=True, peers=peers),
        Row("(N,1)+(1,4), N = 4M", "a + b", outer(4_000_000, 4), 1.7, "loop fill", "outer4", lazy=True, peers=peers),
        Row("a + b.T, 4096 x 4096", "a + b.T", squares(4096), 1.6, "ours a + b", "add transposed", lazy=True,
            peers={"numba": "add(a, b.T)"}),
    ]


def _ragged(mean):
    def row(name, expression, names, bar, loop, shortest=0, **more):
        operands = ragged(names, mean, shortest=shortest)
        return Row(f"ragged, mean {mean}: {name}", expression, operands, bar, loop=loop, **more)

    fused = "a*b + row[:, None]"
    row_mean = "bincount(parents, a, lengths.size) / lengths"
    distance = f"(a - repeat({row_mean}, lengths))"
    deviation = f"sqrt(bincount(parents, {distance}**2, lengths.size) / lengths)"
    return [
        row("a+b", "a + b", "a b", 1.35, "add", lazy=True, peers={"awkward": "a + b", "numba": "add(a, b)"}),
        row("a * row[:, None]", "a * row[:, None]", "a row", 1.2, "row multiply", lazy=True,
            peers={"numpy": "a * repeat(row, lengths)", "awkward": "a * row[:, None]",
                   "numba": "row_multiply(a, row, offsets)"}),
        row("sum(axis=1)", "a.sum(axis=1)", "a", 1.25, "row sum", sums=True,
            peers={"numpy": "bincount(parents, a, lengths.size)", "awkward": "ak.sum(a, axis=1)",
                   "numba": "row_sum(a, offsets)"}),
        # the largest of an empty row is an error, so here every row has something
        row("max(axis=1)", "a.max(axis=1)", "a", 1.25, "row max", shortest=1,
            peers={"numpy": "maximum.reduceat(a, offsets[:-1])", "awkward": "ak.max(a, axis=1)",
                   "numba": "row_max(a, offsets)"}),
        row("cumsum(axis=1)", "a.cumsum(axis=1)", "a", 1.4, "row running sum",
            peers={"numpy": "running_sums(a, lengths)"}),
        row("(a*b + row[:, None]).sum(axis=1)", f"({fused}).sum(axis=1)", "a b row", 1.6, "row fused sum", sums=True,
            peers={"numpy": "bincount(parents, a*b + repeat(row, lengths), lengths.size)",
                   "awkward": f"ak.sum({fused}, axis=1)", "numba": "row_fused_sum(a, b, row, offsets)"}),
        row("argmax(axis=1)", "a.argmax(axis=1)", "a", 1.5, "row argmax", shortest=1,
            peers={"numpy": "row_argmax(a, lengths)", "awkward": "ak.argmax(a, axis=1)"}),
        row("any(a > 0.9, axis=1)", "(a > 0.9).any(axis=1)", "a", 1.5, "row any", shortest=1,
            peers={"numpy": "logical_or.reduceat(a > 0.9, offsets[:-1])", "awkward": "ak.any(a > 0.9, axis=1)"}),
        row("softmax(axis=1)", "softmax(a, axis=1)", "a", 1.3, "row softmax", shortest=1, sums=True, lazy=True,
            peers={"numpy": "row_softmax(a, offsets, lengths)", "awkward": "ak.softmax(a, axis=1)"}),
        row("1 + 2a - 3a**2 + a**3 / 2", "1.0 + 2.0*a - 3.0*a**2 + 0.5*a**3", "a", 2, "polynomial", lazy=True, sums=True,
            peers={"awkward": "1.0 + 2.0*a - 3.0*a**2 + 0.5*a**3"}),
        # of fewer than two elements there is no deviation to divide by
        row("mean(axis=1)", "a.mean(axis=1)", "a", 1.4, "row mean", shortest=2, sums=True,
            peers={"numpy": row_mean, "awkward": "ak.mean(a, axis=1)"}),
        row("std(axis=1)", "a.std(axis=1)", "a", 1.4, "row std", shortest=2, sums=True,
            peers={"numpy": deviation, "awkward": "ak.std(a, axis=1)"}),
        row("(a - mean) / std, of rows", "(a - a.mean(axis=1, keepdims=True)) / a.std(axis=1, keepdims=True)", "a", 2,
            "row standardize", shortest=2, sums=True, lazy=True,
            peers={"numpy": f"{distance} / repeat({deviation}, lengths)",
                   "awkward": "(a - ak.mean(a, axis=1, keepdims=True)) / ak.std(a, axis=1, keepdims=True)"}),
    ]


def _scans():
    return [
        Row("cumsum, 3", "a.cumsum()", vectors("a", 3), 0.5, "numpy"),
        Row("ragged cumsum(axis=1), 3 rows", "a.cumsum(axis=1)", three_rows, 1.5e-6, "time",
            peers={"numpy": "running_sums(a, lengths)"}),
        *(Row(f"cumsum(axis={axis}), 4000 x 4000", f"a.cumsum(axis={axis})", squares(4000), 1.0, "numpy") for axis in (0, 1)),
    ]


def _planes():
    """Reductions of whole planes. An F-ordered array is the transposed view of one in C order: the loops see its memory."""
    shapes = {"4000 x 4000": (4000, 4000), "1M x 4": (1_000_000, 4), "4 x 1M": (4, 1_000_000)}
    along = {0: "columns", 1: "rows", None: "everything"}
    rows = []
    for label, shape in shapes.items():
        for order in "CF":
            array, memory = ("a", shape) if order == "C" else ("a.T", shape[::-1])
            for name in ("sum", "mean", "max"):
                for axis in (0, 1, None):
                    work = along[axis if axis is None or order == "C" else 1 - axis]
                    where = "all" if axis is None else f"axis={axis}"
                    rows.append(Row(f"{name} of {label} {order}, {where}", f"{array}.{name}(axis={axis})", plane(memory),
                                    1.3, loop=f"plane {name} {work}", sums=True))
                    if (order, axis) == ("F", None) and name != "max":  # the best loop that gives the same bits
                        rows.append(replace(rows[-1], name=rows[-1].name + " in order", base=f"loop plane {name} in order"))
    return rows


def _small_reductions():
    three, names = vectors("a", 3), "sum prod min max argmin argmax any all mean var std".split()
    rows = [Row(f"{name}, 3", f"a.{name}()", three, 0.5, "numpy") for name in names]
    total = "bincount(parents, a, lengths.size)"
    by_numpy = {"sum": {"numpy": total}, "mean": {"numpy": f"{total} / lengths"}}
    rows += [Row(f"ragged {name}(axis=1), 3 rows", f"a.{name}(axis=1)", three_rows, 1.5e-6, "time", sums=True,
                 peers=by_numpy[name] | {"awkward": f"ak.{name}(a, axis=1)"}) for name in by_numpy]
    return rows


def _functions(count, label):
    """NumPy calls the system's library for float64: for sin and cos always, for exp and log without AVX-512. Its own
    vector loops are less accurate than ours."""
    wide = np._core._multiarray_umath.__cpu_features__["AVX512_SKX"]
    system = {"sin", "cos"} | (set() if wide else {"exp", "log"})
    return [
        Row(f"{name}(x), {scalar}, {label}", f"{name}(a)", numbers(scalar, count),
            0.8 if scalar == "float64" and name in system else 1.3, "numpy", lazy=True,
            error=1e-14 if scalar == "float64" else 1e-6)
        for name in ("exp", "log", "sin", "cos", "tanh")
        for scalar in ("float64", "float32")
    ]


ROWS = [
    *_small(),
    *_scans(),
    *_small_reductions(),
    *_flat(10_000, "10k", (1.3, 1.5, 2.4)),
    *_flat(16_000_000, "16M", (1.15, 1.2, 1.2)),
    *_functions(10_000, "10k"),
    *_functions(1_000_000, "1M"),
    *_shaped(),
    *_planes(),
    Row("(a*b).sum(axis=0), 4000 x 4000", "(a*b).sum(axis=0)", squares(4000), 1.2, loop="column products", sums=True),
    *_ragged(10),
    *_ragged(4),
    Row("two threads: 8 of sqrt(x/b + a), 4M", ROOT_CHAIN, vectors("ab", 4_000_000), 1.7, "one thread",
        "root chain", lazy=True),
]
