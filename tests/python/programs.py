"""Random expressions over shared arrays that are large enough to be lazy, and three ways to run them.

A program is a list of steps (operation, indices of earlier values). It runs on the library's arrays or, for the
reference, on NumPy arrays: ragged ones as their flat content, with per-row values repeated. Run as a script it prints a
digest of many results, so that processes with other settings can be compared: python programs.py SEEDS [THREADS]
"""

import functools
import hashlib
import random
import sys

import numpy as np

import oracle
from support import bits

TOTAL = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "minimum",
    "maximum",
    "negative",
    "abs",
    "sqrt",
    "square",
    "less",
    "where",
]


def random_program(rng, scalars, count, names=TOTAL):
    """Steps over values 0..len(scalars)-1, the inputs, and then each other."""
    kinds, steps = list(scalars), []
    while len(steps) < count:
        name = rng.choice(names)
        arity = oracle.ELEMENTWISE[name][0]
        numbers = [i for i, kind in enumerate(kinds) if kind != "bool"]
        flags = [i for i, kind in enumerate(kinds) if kind == "bool"]
        recent = lambda: rng.choice(numbers[-4:] if rng.random() < 0.5 else numbers)  # noqa: E731
        if name == "where":
            if not flags:
                continue
            operands = (rng.choice(flags), recent(), recent())
        else:
            operands = tuple(recent() for _ in range(arity))
        chosen = [np.dtype(kinds[i]) for i in operands if kinds[i] != "bool" or name == "less"]
        common = functools.reduce(np.promote_types, chosen)
        if name in ("divide", "sqrt") and common.kind in "iu":
            common = np.dtype("float64")
        kinds.append("bool" if name == "less" else common.name)
        steps.append((name, operands))
    return steps


def run(program, inputs):
    """All values, the inputs included, by the library."""
    from dynd import nd

    values = list(inputs)
    for name, operands in program:
        values.append(getattr(nd, name)(*[values[i] for i in operands]))
    return values


def run_numpy(program, inputs):
    """The same by NumPy, with the library's rules for types."""
    values = list(inputs)
    with np.errstate(all="ignore"):
        for name, operands in program:
            columns = [values[i] for i in operands]
            valued = columns[1:] if name == "where" else columns
            common = np.result_type(*[x.dtype for x in valued])
            if oracle.ELEMENTWISE[name][1] == "floats" and common.kind in "iu":
                common = np.dtype("float64")
            ready = [x.astype(common) for x in valued]
            values.append(np.where(columns[0], *ready) if name == "where" else oracle.ELEMENTWISE[name][2](*ready))
    return values


# ---- the shared arrays. Each set: (library arrays, NumPy arrays for the reference)


@functools.lru_cache(None)
def strided_inputs(rows=96, columns=130):
    """Results have 96 x 130 elements, 100 KB of float64: matrices in both orders, a row, a column, other types."""
    from dynd import nd

    rng = np.random.default_rng(17)
    plain = [
        rng.standard_normal((rows, columns)),
        rng.standard_normal((rows, columns)) * 1e3,
        rng.standard_normal((columns, rows)).T,
        rng.standard_normal((rows, columns)).astype("float32"),
        rng.integers(-1000, 1000, (rows, columns)).astype("int32"),
        rng.standard_normal(columns),
        rng.standard_normal((rows, 1)),
        rng.standard_normal(()),
    ]
    arrays = []
    for i, x in enumerate(plain):
        kind = " * ".join(["strided"] * x.ndim + [x.dtype.name])
        arrays.append(nd.array(x.T.tolist(), type=kind).T if i == 2 else nd.array(x.tolist(), type=kind))
    return arrays, plain


@functools.lru_cache(None)
def ragged_inputs(count=3000):
    """Rows of mean 5: shared offsets, equal offsets, rows of size 1 that stretch, a value for each row, a scalar."""
    from dynd import nd

    rng = np.random.default_rng(18)
    lengths = rng.poisson(5, count)
    lengths[:200] = 1
    total = int(lengths.sum())
    cuts = np.cumsum(lengths)[:-1]
    split = lambda flat: [part.tolist() for part in np.split(flat, cuts)]  # noqa: E731
    a, b = rng.standard_normal(total), rng.standard_normal(total) * 100
    small = rng.standard_normal(total).astype("float32")
    whole = rng.integers(-1000, 1000, total).astype("int32")
    column = rng.standard_normal((count, 1))
    stretched = [row[:1] if i % 3 == 0 else row for i, row in enumerate(split(b))]
    expand = np.concatenate([np.resize(row, n) for row, n in zip(stretched, lengths)])
    base = nd.array(split(a), type="strided * var * float64")
    arrays = [
        base,
        (base * 0.5).eval(),
        nd.array(split(b), type="strided * var * float64"),
        nd.array(split(small), type="strided * var * float32"),
        nd.array(split(whole), type="strided * var * int32"),
        nd.array(stretched, type="strided * var * float64"),
        nd.array(column.tolist(), type="strided * strided * float64"),
        nd.array(0.25),
    ]
    plain = [a, a * 0.5, b, small, whole, expand, np.repeat(column[:, 0], lengths), np.array(0.25)]
    return arrays, plain


INPUTS = {"strided": strided_inputs, "ragged": ragged_inputs}


def scalars_of(plain):
    return [x.dtype.name for x in plain]


def make_program(kind, seed, count=None):
    """-> program, library inputs, NumPy inputs. Small inputs (a row, a column, a scalar) are among them."""
    rng = random.Random(seed)
    arrays, plain = INPUTS[kind]()
    return random_program(rng, scalars_of(plain), count or rng.randint(1, 12)), arrays, plain


def digest(seeds):
    """One number for the bits of many results: every step of a program, and the sums of the last one."""
    total = hashlib.sha256()
    for kind in INPUTS:
        for seed in range(seeds):
            program, arrays, _ = make_program(kind, seed)
            values = run(program, arrays)
            for value in values[len(arrays) :][-3:]:
                total.update(bits(value))
            total.update(bits(values[-1].sum()))
            if values[-1].ndim == 2:
                total.update(bits(values[-1].sum(axis=1)))
    return total.hexdigest()


def large_digest():
    """The same for arrays large enough for threads: sums and elementwise chains of half a million elements."""
    from dynd import nd

    total = hashlib.sha256()
    rng = np.random.default_rng(19)
    for scalar in ("float32", "float64"):
        flat = (rng.standard_normal(500_000) * 10.0 ** rng.integers(-6, 6, 500_000)).astype(scalar)
        offsets = np.concatenate([[0], np.sort(rng.integers(0, flat.size, 60_000)), [flat.size]])
        a, ragged = nd.array(flat), nd.from_offsets(offsets, flat)
        square = nd.asarray(flat[:490_000].reshape(700, 700))
        results = [a * a + a - 1.5 / a, a.sum(), (a * a).sum(), nd.sqrt(nd.abs(a)).max()]
        results += [ragged.sum(axis=1), (ragged * ragged + ragged).sum(axis=1), ragged.sum(), ragged * ragged]
        results += [square + square.T, square.sum(axis=0), square.sum(axis=1), square.T.min(axis=0)]
        for result in results:
            total.update(bits(result))
    return total.hexdigest()


if __name__ == "__main__":
    from dynd import nd

    if len(sys.argv) > 2:
        nd.set_num_threads(int(sys.argv[2]))
    print(digest(int(sys.argv[1])), large_digest())
