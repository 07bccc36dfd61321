"""Results of arrays that count as larger than any cache, or not: run as a script it prints a digest for each case, so
that processes with other settings can be compared: python beyond_caches.py THREADS

What the environment says (DYND_STREAM_BYTES, DYND_PREFETCH_BYTES) changes how results are stored and operands are read;
no bit of a result depends on it.
"""

import hashlib
import json
import sys

import numpy as np

import programs
from dynd import nd
from test_api_generated import ELEMENTWISE, FIXED, parameters, several, takes

SCALARS = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
SIZES = (1, 31, 64, 129, 1025, 9001)  # around lines, batches, and what is lazy
LENGTHS = (0, 3, 1, 5, 17, 0, 64, 2, 300, 1)


def small(rng, scalar, count):
    """Numbers on which no operation fails."""
    return rng.integers(1, 7, count).astype(scalar)


def digest_of(*results):
    """Of the lengths of rows and the elements; all NaNs are one."""
    total = hashlib.sha256()
    for result in results:
        if "var" in str(result.type):
            total.update(np.asarray(nd.num(result, axis=1)).tobytes())
            result = nd.flatten(result)
        x = np.ascontiguousarray(result)
        real = x.view(x.real.dtype) if x.dtype.kind == "c" else x
        total.update(np.where(real == real, real, real.dtype.type(0)).tobytes() + np.packbits(real != real).tobytes())
    return total.hexdigest()[:16]


def operands(rng, row, scalar, count):
    """Those that follow each other, those that do not, numbers beside them, and rows beside a number for each."""
    kinds = [kind if kind in FIXED else scalar for kind in parameters(row)]
    dense = [nd.array(small(rng, kind, count)) for kind in kinds]
    yield "dense", dense
    yield "spread", [nd.array(small(rng, kind, 2 * count))[::2] for kind in kinds]
    yield "odd", [nd.array(small(rng, kind, count + 3))[3:] for kind in kinds]
    for at in range(len(kinds) > 1 and len(kinds)):
        yield f"number {at}", [array[0] if i == at else array for i, array in enumerate(dense)]
    if count >= 1025:
        rows = np.resize(LENGTHS, count // 40)
        ragged = [nd.unflatten(nd.array(small(rng, kind, rows.sum())), rows) for kind in kinds]
        yield "ragged", ragged
        column = nd.array(small(rng, kinds[-1], rows.size).reshape(-1, 1))
        yield "column", ragged[:-1] + [column]
    for length in (50, 65, 130) if count == 9001 and scalar in ("float64", "int32") else ():
        shape = (count // length, length)  # rows in batches that begin and end with cache lines, or do not
        planes = [nd.array(small(rng, kind, shape)) for kind in kinds]
        yield f"rows of {length}", planes[:-1] + [nd.array(small(rng, kinds[-1], (shape[0], 1)))]


def operations():
    rng = np.random.default_rng(31)
    for row in ELEMENTWISE:
        for scalar in SCALARS[1:]:
            if not takes(row, scalar):
                continue
            for count in SIZES if scalar in ("float64", "int32") else (129, 9001):
                for layout, given in operands(rng, row, scalar, count):
                    yield f"{row.name} {scalar} {count} {layout}", several(getattr(nd, row.name)(*given))


def conversions():
    rng = np.random.default_rng(32)
    for source in SCALARS:
        for scalar in SCALARS:
            x = rng.integers(0, 2, 2100).astype(source)
            for count in (0, 1, 65, 700):
                for begin in (0, 1, 7):  # where a cache line begins is nothing to rely on
                    for mode in ("nocheck", "overflow"):
                        to = nd.empty(f"{count + 9} * {scalar}")
                        to[...] = 1
                        nd.assign(to[begin : begin + count], nd.array(x)[begin : begin + count], errmode=mode)
                        spread = nd.empty(f"{count} * {scalar}")
                        nd.assign(spread, nd.array(x)[: 3 * count : 3], errmode=mode)
                        yield f"{source} to {scalar} {count} {begin} {mode}", (to, spread)


def copies():
    """Transposed, reversed, in rows of any length; as they are and computed with."""
    rng = np.random.default_rng(33)
    for scalar in ("int8", "uint16", "float32", "float64", "complex128"):
        for shape in ((1, 700), (64, 64), (65, 129), (257, 70), (600, 33), (3, 40, 130)):
            x = rng.integers(0, 100, shape).astype(scalar)
            a = nd.array(x)
            for name, view in {"T": a.T, "back": a[::-1], "step": a[:, ::3], "last": a[..., 1:]}.items():
                copy = nd.empty(" * ".join(map(str, view.shape)) + f" * {scalar}")
                copy[...] = view
                yield f"{name} of {shape} {scalar}", (copy, view + view, view.sum(axis=0), view.sum(axis=-1))


def rows():
    """Functions of rows: what is read ahead of a window is that of the next one."""
    rng = np.random.default_rng(34)
    for scalar in ("int16", "int64", "float32", "float64"):
        for most in (1, 4, 30, 900):
            lengths = rng.integers(0, most + 1, 20_000 // most)
            x = rng.integers(-50, 50, lengths.sum()).astype(scalar)
            a, column = nd.unflatten(nd.array(x), lengths), nd.array(small(rng, scalar, lengths.size).reshape(-1, 1))
            b = nd.unflatten(nd.array(x[::-1].copy()), lengths)
            for name, make in {
                "chain": lambda: (a * column + b, a - column * b), "sums": lambda: ((a * column + b).sum(axis=1), (a * b).sum(axis=1)),
                "norm": lambda: (a - a.mean(axis=1, keepdims=True), (a * b + column).max(axis=1, initial=0)),
                "flat": lambda: ((a * b + 1).sum(), nd.cumulative_sum(a * b, axis=1), nd.count_nonzero(a * column + b, axis=1)),
                "missing": lambda: (nd.mask(a, b > 0).sum(axis=1), nd.fill_missing(nd.mask(a, b > 0) * column, 0)),
            }.items():  # fmt: skip
                yield f"{name} {scalar} {most}", make()


def digests():
    found = {name: digest_of(*results) for cases in (operations, conversions, copies, rows) for name, results in cases()}
    return found | {"programs": programs.digest(8), "large": programs.large_digest()}


if __name__ == "__main__":
    nd.set_num_threads(int(sys.argv[1]))
    print(json.dumps(digests()))
