"""Missing values, structs and text the slow and obvious way: nested Python lists in which None is a missing value.

Arrays are those of oracle.py with a scalar like "?int32". Values are computed only where every operand has one, so
nothing here has values behind the missing ones. It knows nothing of the library under test: it must never import dynd.
"""

import operator

import numpy as np

import conversions
import oracle
from oracle import Array, strided

FALLIBLE = {"floor_divide", "remainder", "divmod", "fmod", "pow", "bitwise_left_shift", "bitwise_right_shift"}
KLEENE = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "logical_and": operator.and_,
    "logical_or": operator.or_,
}
COMPARISONS = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


class Failed(ValueError):
    """An operation that fails at an element whose operands are there; `index` is the first such in C order."""

    def __init__(self, name, index):
        super().__init__(f"{name} fails at index {index_text(index)}")
        self.name, self.index = name, index


class Missing(Exception):
    """A missing value where the destination has no place for it."""

    def __init__(self, index):
        super().__init__(f"missing at index {index_text(index)}")
        self.index = index


def index_text(index):
    """An index as messages have it: fields by their names in double quotes."""
    parts = [f'"{part}"' if isinstance(part, str) else str(part) for part in index]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def is_option(scalar):
    return scalar.startswith("?")


def bare(scalar):
    return scalar.removeprefix("?")


def map_leaves(function, values, ndim):
    return function(values) if ndim == 0 else [map_leaves(function, inner, ndim - 1) for inner in values]


def puncture(rng, array, share=0.3):
    """The array with an option type and some of its values missing."""
    values = map_leaves(lambda x: None if rng.random() < share else x, array.values, array.ndim)
    return Array(array.dims, "?" + array.scalar, values)


def paths(structure, ndim):
    """The index of every element in C order."""
    if ndim == 0:
        return [()]
    return [(i,) + rest for i, inner in enumerate(structure) for rest in paths(inner, ndim - 1)]


# ---- elementwise operations


def integer_leaf(name, a, b):
    """The results of one integer operation before they wrap to their type; None where it fails."""
    if name in ("floor_divide", "remainder", "divmod", "fmod"):
        if b == 0:
            return None
        if name == "fmod":
            return (abs(a) % abs(b) * (-1 if a < 0 else 1),)
        return divmod(a, b) if name == "divmod" else (a // b,) if name == "floor_divide" else (a % b,)
    if b < 0:
        return None
    return (pow(a, b, 2**64) if name == "pow" else a << b if name == "bitwise_left_shift" else a >> b,)


FLOATING = {
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "divmod": np.divmod,
    "fmod": np.fmod,
    "pow": np.power,
}


def fallible(name, common, rows, index):
    """Columns of results for rows of operands of one type that are all there."""
    columns = [[], []] if name == "divmod" else [[]]
    for row, at in zip(rows, index):
        if common.kind == "f":
            with np.errstate(all="ignore"):
                found = np.atleast_1d(FLOATING[name](*map(common.type, row))).tolist()
        else:
            found = integer_leaf(name, *row)
            if not found:
                raise Failed(name, at)
            found = [conversions.wrapped(x, common.name) for x in found]
        for column, value in zip(columns, found):
            column.append(value)
    return columns


def kleene(name, row):
    """and, or of True, False and None: what the result is whatever the missing value may be. Of numbers, their truth."""
    results = {KLEENE[name](*(filled if x is None else bool(x) for x in row)) for filled in (False, True)}
    return results.pop() if len(results) == 1 else None


BITS = {"bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor}
NAMES = [*oracle.ELEMENTWISE, *FALLIBLE - {"divmod"}, *BITS, "bitwise_invert"]


def type_set(name):
    if name in oracle.ELEMENTWISE:
        return oracle.ELEMENTWISE[name][1]
    return "all" if name in BITS or name == "bitwise_invert" else "numbers" if name == "pow" else "reals"


def in_type(values, own, common):
    """Python values of the type `own` as Python values of the type `common`."""
    with np.errstate(all="ignore"):
        return np.array(values, dtype=own).astype(common).tolist()


def elementwise(name, *operands):
    """The result of an operation on Arrays, Python scalars and None: an Array, or a tuple of them."""
    valued = [x for x in (operands[1:] if name == "where" else operands) if x is not None]
    plain = [Array(x.dims, bare(x.scalar), x.values) if isinstance(x, Array) else x for x in valued]
    common = oracle.promote(plain, type_set(name))
    if common.kind not in "iub" and (name in BITS or name == "bitwise_invert" or name.endswith("shift")):
        raise TypeError(f"{name} of {common}")
    arrays = [x if isinstance(x, Array) else Array((), "python", x) for x in operands]
    option = any(x is None or isinstance(x, Array) and is_option(x.scalar) for x in operands)
    dims, structure, columns = oracle.broadcast(name, arrays)
    owns = [common.name if array.scalar == "python" else bare(array.scalar) for array in arrays]
    rows = list(zip(*columns))
    if name == "where":
        results, scalar = [choose(row, owns, common) for row in rows], common.name
    elif name in KLEENE and (common.kind == "b" or name.startswith("logical")):
        results, scalar = [kleene(name, row) for row in rows], "bool"
    else:
        there = [i for i, row in enumerate(rows) if all(x is not None for x in row)]
        index = paths(structure, len(dims)) if name in FALLIBLE else None
        found, scalar = compute(name, common, owns, [rows[i] for i in there], index and [index[i] for i in there])
        results = [[None] * len(rows) for _ in found]
        for column, flat in zip(results, found):
            for i, value in zip(there, flat):
                column[i] = value
        results = tuple(results) if name == "divmod" else results[0]
    made = tuple(
        Array(dims, ("?" if option else "") + scalar, oracle.refill(structure, len(dims), flat))
        for flat in (results if name == "divmod" else (results,))
    )
    return made if name == "divmod" else made[0]


def choose(row, owns, common):
    condition, *values = row
    if condition is None:
        return None
    value, own = (values[0], owns[1]) if condition else (values[1], owns[2])
    return None if value is None else in_type([value], own, common)[0]


def compute(name, common, owns, rows, index):
    """-> columns of results, their scalar type, for rows in which nothing is missing."""
    columns = [list(column) for column in zip(*rows)] or [[] for _ in owns]
    if name in COMPARISONS:  # by value, without promotion; with a complex number as complex numbers
        if common.kind == "c":
            columns = [in_type(column, own, common) for column, own in zip(columns, owns)]
        else:
            columns = [in_type(column, own, own) for column, own in zip(columns, owns)]
        return [[COMPARISONS[name](*row) for row in zip(*columns)]], "bool"
    columns = [in_type(column, own, common) for column, own in zip(columns, owns)]
    if name in FALLIBLE:
        return fallible(name, common, list(zip(*columns)), index), common.name
    if name in BITS:
        return [[BITS[name](*row) for row in zip(*columns)]], common.name
    if name == "bitwise_invert":
        (column,) = columns
        if common.kind == "b":
            return [[not x for x in column]], "bool"
        return [[conversions.wrapped(~x, common.name) for x in column]], common.name
    with np.errstate(all="ignore"):
        found = oracle.ELEMENTWISE[name][2](*(np.array(column, dtype=common) for column in columns))
    return [found.tolist()], found.dtype.name


def is_missing(array):
    return Array(array.dims, "bool", map_leaves(lambda x: x is None, array.values, array.ndim))


def fill_missing(array, value):
    """`value` is an Array of the same type without missing values, or a Python scalar; it stretches to the array."""
    value = value if isinstance(value, Array) else Array((), "python", value)
    dims, structure, columns = oracle.broadcast("fill_missing", [array, value])
    flat = [y if x is None else x for x, y in zip(*columns)]
    return Array(dims, bare(array.scalar), oracle.refill(structure, len(dims), flat))


# ---- reductions


def reduce_row(name, scalar, row):
    """A row with None in it -> a Python value, or None for the least or the largest of nothing."""
    if name == "sum":
        column = np.array([0 if x is None else x for x in row], dtype=scalar).astype(oracle.accumulator(name, scalar))
        if scalar in oracle.FLOATS + oracle.COMPLEX:
            return oracle.ordered_sum(column).tolist()
        with np.errstate(all="ignore"):
            return int(np.add.reduce(column)) if len(column) else 0
    left = [x for x in row if x is not None]
    if not left:
        return None
    best = left[0]
    for x in left[1:]:
        if best != best:  # NaN wins
            break
        if x != x or (x < best if name == "min" else x > best):
            best = x
    return best


def reduce(name, array, axis=None, keepdims=False):
    """sum, min or max of an option array over one axis or all of them; what is missing is skipped."""
    scalar = bare(array.scalar)
    kind = oracle.accumulator(name, scalar)  # raises TypeError where there is no order
    kind = kind if name == "sum" else "?" + kind
    if axis is None:
        result = reduce_row(name, scalar, oracle.leaves(array.values, array.ndim))
        dims = tuple(strided(1) for _ in array.dims) if keepdims else ()
        for _ in dims:
            result = [result]
        return Array(dims, kind, result)
    axis %= array.ndim
    below = array.dims[axis + 1 :]

    def fold(trees, dims):
        if not dims:
            return reduce_row(name, scalar, trees)
        lengths = {len(tree) for tree in trees} or {dims[0][1]}
        if None in lengths or len(lengths) > 1:
            raise oracle.UnequalRowsError(f"{name}: rows below axis {axis}")
        return [fold([tree[i] for tree in trees], dims[1:]) for i in range(lengths.pop())]

    def descend(node, depth):
        if depth < axis:
            return [descend(inner, depth + 1) for inner in node]
        return [fold(node, below)] if keepdims else fold(node, below)

    kept = (strided(1),) if keepdims else ()
    return Array(array.dims[:axis] + kept + below, kind, descend(array.values, 0))


# ---- assignment


def convert(value, source, to, index):
    """One value of type `source` as one of type `to`, either of which may be an option."""
    if value is None:
        if is_option(to):
            return None
        raise Missing(index)
    try:
        return conversions.convert(value, bare(source), bare(to), "fractional")
    except conversions.Refused as refusal:
        refusal.index = index
        raise


def assign(destination, source):
    """-> the destination's new values and the first refusal in C order, None if there is none. Where a value is refused
    the new values have the old one."""
    fits = oracle.assign(
        Array(destination.dims, "bool", destination.values),
        Array(source.dims, "bool", map_leaves(lambda x: True, source.values, source.ndim)),
    )
    assert fits.dims == destination.dims
    refused = []

    def walk(to, node, axis, index):
        if axis == destination.ndim:
            try:
                return convert(node, source.scalar, destination.scalar, index)
            except (Missing, conversions.Refused) as refusal:
                refused.append(refusal)
                return to
        absent = axis < destination.ndim - source.ndim
        inner = lambda i: node if absent else node[0] if len(node) == 1 else node[i]  # noqa: E731
        return [walk(old, inner(i), axis + 1, index + (i,)) for i, old in enumerate(to)]

    values = walk(destination.values, source.values, 0, ())
    return Array(destination.dims, destination.scalar, values), refused[0] if refused else None


# ---- elements that are not scalars


def standing(x, y):
    """How two elements stand: -1, 0, 1, or None where they have no order. Missing equals missing and comes last."""
    if x is None or y is None:
        return (x is None) - (y is None)
    if isinstance(x, dict):
        x, y = list(x.values()), [y[name] for name in x]
    if isinstance(x, (list, tuple)):
        for left, right in zip(x, y):
            found = standing(left, right)
            if found != 0:
                return found
        return (len(x) > len(y)) - (len(x) < len(y))
    if x == y:
        return 0
    return -1 if x < y else 1 if x > y else None


def compare(name, x, y):
    """One of the comparisons of two elements; missing where either is."""
    if x is None or y is None:
        return None
    found = standing(x, y)
    if found is None:
        return name == "not_equal"
    return COMPARISONS[name](found, 0)
