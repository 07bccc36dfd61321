"""Random arrays as oracle values: shapes that broadcast (and some that do not), ragged rows, every scalar type.

Hypothesis draws a seed and the knobs; Python's own generator does the rest, which keeps an example cheap enough to run
them by the thousand. An iteration space is made first; operands are then cut from it, stretched where they can be.
"""

import random
import struct

from hypothesis import strategies as st

import oracle
from oracle import VAR, Array, fixed, strided

MANY = 1500  #: examples of a test that is the point of its file
SOME = 400
FEW = 150

seeds = st.integers(0, 2**32 - 1)


def as_float(value, scalar):
    """The nearest value of a floating type, by Python's own packing."""
    code = {"float16": "e", "float32": "f", "float64": "d"}[scalar]
    try:
        return struct.unpack(code, struct.pack(code, value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


SPECIAL_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, float("inf"), float("-inf"), float("nan"), 1e-310, 1e-40, 3.4e38, 1.7e308]
SPECIAL_FLOATS += [6e-8, 65504.0, 65519.0, 65520.0]


def random_values(rng, scalar, count, finite=False):
    """Python values that the type holds exactly: small ones, extremes, and for floats what is special."""
    if scalar == "bool":
        return [rng.random() < 0.5 for _ in range(count)]
    if scalar in oracle.COMPLEX:
        component = {"complex64": "float32", "complex128": "float64"}[scalar]
        parts = random_values(rng, component, 2 * count, finite)
        return [complex(*pair) for pair in zip(parts[::2], parts[1::2])]
    if scalar in oracle.FLOATS:
        most = 3 if scalar == "float16" else 8  # powers of ten
        found = []
        for _ in range(count):
            pick = rng.random()
            if pick < 0.2 and not finite:
                value = rng.choice(SPECIAL_FLOATS)
            elif pick < 0.5:
                value = float(rng.randint(-20, 20))
            else:
                value = rng.gauss(0, 1) * 10.0 ** rng.randint(-8, most)
            found.append(as_float(value, scalar))
        return found
    bits = int(scalar.lstrip("uint"))
    low, high = (0, 2**bits - 1) if scalar[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    small = (max(low, -20), 20)
    return [
        rng.choice([low, high, 0, 1]) if pick < 0.1 else rng.randint(*small) if pick < 0.6 else rng.randint(low, high)
        for pick in (rng.random() for _ in range(count))
    ]


def random_dims_space(rng, ndim, ragged, largest):
    """The iteration space: for each position its size, or None where the rows below differ."""
    sizes = []
    for axis in range(ndim):
        if ragged and axis > 0 and rng.random() < 0.6:
            sizes.append(None)
        else:
            sizes.append(rng.choice([1, 2, 3, largest]) if rng.random() < 0.92 else 0)
    return sizes


def space_tree(rng, sizes, largest):
    if not sizes:
        return ()
    size = sizes[0] if sizes[0] is not None else rng.choice([0, 1, 1, 2, 3, largest])
    return [space_tree(rng, sizes[1:], largest) for _ in range(size)]


def cut_operand(rng, sizes, tree, scalar, ragged, finite=False):
    """An operand that broadcasts with the iteration space: each position kept, stretched from 1, or left out."""
    ndim = len(sizes)
    absent = rng.choice([0, 0, 0, *range(ndim + 1)])
    dims = []
    for axis in range(absent, ndim):
        size = sizes[axis]
        emptied = ragged and any(known == 0 for _, known in dims)  # below it a list cannot say sizes
        if size is None:
            dims.append(VAR if rng.random() < 0.8 or emptied else strided(1))
        elif emptied or (ragged and axis > 0 and rng.random() < 0.3):
            dims.append(VAR)
        else:
            kept = size if rng.random() < 0.75 else 1
            dims.append(fixed(kept) if rng.random() < 0.15 else strided(kept))
    nodes = [tree]
    for _ in range(absent):
        nodes = [inner for node in nodes for inner in node]

    def build(axis, covered):
        """Values for the element that stands for all the iteration space's nodes in `covered`."""
        if axis == len(dims):
            return None
        lengths = {len(node) for node in covered}
        if dims[axis] != VAR:
            size = dims[axis][1]
        elif len(lengths) == 1 and rng.random() < 0.75:
            size = next(iter(lengths))
        else:
            size = 1 if lengths else rng.randint(0, 2)
        if size == 1:
            return [build(axis + 1, [inner for node in covered for inner in node])]
        return [build(axis + 1, [node[i] for node in covered if i < len(node)]) for i in range(size)]

    return fill(rng, tuple(dims), scalar, build(0, nodes), finite)


def fill(rng, dims, scalar, structure, finite=False):
    """Values for a structure. A strided dimension below a `var` without any row has size 1."""
    level, settled = [structure], []
    for kind, size in dims:
        if kind == "strided" and not level and VAR in settled:
            size = 1
        settled.append((kind, size))
        level = [inner for node in level for inner in node]
    if not level and VAR not in settled:
        settled = [strided(size) for _, size in settled]  # made from NumPy, as a list cannot say these sizes
    values = iter(random_values(rng, scalar, len(level), finite))

    def walk(node, ndim):
        return next(values) if ndim == 0 else [walk(inner, ndim - 1) for inner in node]

    return Array(tuple(settled), scalar, walk(structure, len(dims)))


def spoil(rng, array):
    """The array with one row or one dimension made longer or shorter, so that it may no longer fit."""
    if not array.ndim:
        return array
    values, dims = array.values, list(array.dims)
    axis = rng.randrange(array.ndim)
    if dims[axis] == VAR:
        rows = oracle.leaves(values, axis)
        if rows:
            row = rng.choice(rows)
            if row and rng.random() < 0.5:
                row.pop()
            elif row:
                row.append(row[0])
        return fill(rng, tuple(dims), array.scalar, values)
    rows, longer = oracle.leaves(values, axis), rng.random() < 0.5
    if not rows or not dims[axis][1]:
        return array
    for row in rows:
        row.append(row[0]) if longer else row.pop()
    dims[axis] = (dims[axis][0], dims[axis][1] + (1 if longer else -1))
    if VAR in dims and dims[axis][1] == 0:
        return array if longer else respoil(rng, array, axis)
    return fill(rng, tuple(dims), array.scalar, values)


def respoil(rng, array, axis):
    """A list cannot say sizes below a dimension of size 0: keep only `var` below it."""
    dims = list(array.dims)
    dims[axis] = (dims[axis][0], 0)
    return fill(rng, tuple(dims[: axis + 1] + [VAR for _ in dims[axis + 1 :]]), array.scalar, array.values)


def make_operands(rng, count, ragged, scalars, spoiled=True, finite=False):
    ndim = rng.choice([0, 1, 2, 2, 3, 3]) if not ragged else rng.choice([2, 2, 3, 3, 4])
    largest = rng.choice([3, 4, 5, 7]) if ndim < 4 else 3
    sizes = random_dims_space(rng, ndim, ragged, largest)
    tree = space_tree(rng, sizes, largest)
    operands = [cut_operand(rng, sizes, tree, rng.choice(scalars), ragged, finite) for _ in range(count)]
    if spoiled and rng.random() < 0.35:
        at = rng.randrange(count)
        operands[at] = spoil(rng, operands[at])
    return operands


def operand_sets(smallest, largest, ragged=True, scalars=oracle.NUMBERS, spoiled=True, finite=False):
    """Lists of oracle arrays; about a third were spoiled after they were made to fit."""

    def make(seed, count):
        return make_operands(random.Random(seed), count, ragged, scalars, spoiled, finite)

    return st.builds(make, seeds, st.integers(smallest, largest))


def arrays(ragged=True, scalars=oracle.NUMBERS, finite=False, least_ndim=0):
    """Single oracle arrays."""

    def make(seed):
        rng = random.Random(seed)
        while True:
            (found,) = make_operands(rng, 1, ragged, scalars, False, finite)
            if found.ndim >= least_ndim and (not ragged or found.ragged):
                return found

    return st.builds(make, seeds)
