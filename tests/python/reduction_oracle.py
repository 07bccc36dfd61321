"""What every reduction must give, with all its keywords: nested lists in which None is a missing value, walked by the
rules, and NumPy for the arithmetic of one row. It never imports dynd.

Several axes are one row, in C order of the reduced axes. An element that is missing, masked or a skipped NaN keeps its
place in the row and contributes what a row without elements gives.
"""

import math

import numpy as np

import oracle
from missing_oracle import bare, is_option
from oracle import COMPLEX, FLOATS, Array, strided

KEYWORDS = {
    "sum": "where initial",
    "prod": "where initial",
    "min": "where initial empty",
    "max": "where initial empty",
    "argmin": "where empty",
    "argmax": "where empty",
    "any": "where",
    "all": "where",
    "count": "where",
    "count_nonzero": "where",
    "mean": "where weights",
    "var": "where weights correction",
    "std": "where weights correction",
    "ptp": "where",
    "norm": "where",
}
KEYWORDS |= {"nan" + name: KEYWORDS[name] for name in ("sum", "prod", "min", "max", "mean", "var", "std")}
METHODS = ["sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "mean", "var", "std", "ptp"]

#: what a row of no elements has no value for
NO_VALUE = {"min", "max", "argmin", "argmax", "ptp"}
#: computed from several folds: close, not equal
ROUNDED = {"mean", "var", "std", "norm"}


def result_scalar(name, scalar):
    name = name.removeprefix("nan")
    if name in ("min", "max", "argmin", "argmax", "ptp") and scalar in COMPLEX or name == "ptp" and scalar == "bool":
        raise TypeError(f"{name} of {scalar}")
    if name in ("sum", "prod"):
        return oracle.accumulator("sum", scalar)
    if name in ("argmin", "argmax", "count", "count_nonzero"):
        return "int64"
    if name in ("any", "all"):
        return "bool"
    if name in ROUNDED:
        real = {"complex64": "float32", "complex128": "float64"}.get(scalar, scalar)
        return "float64" if scalar not in FLOATS + COMPLEX else scalar if name == "mean" else real
    return scalar


def ordered_product(row):
    """As oracle.ordered_sum, with products; lanes without an element hold 1. Of complex numbers 1 changes nothing."""
    if row.dtype.kind != "c":
        return oracle.ordered_fold(row, np.multiply, 1)

    def product(a, b):
        return np.where(b == 1, a, np.where(a == 1, b, oracle.multiply(a, b)))

    return oracle.ordered_fold(row, product, 1)


def row_value(name, scalar, row, path, initial, missing, correction):
    """A row of (value, whether it is taken, weight) -> a Python value. `missing`: of nothing it is None."""
    skips_nan, base = name.startswith("nan"), name.removeprefix("nan")
    row = [(x, taken and not (skips_nan and x != x), w) for x, taken, w in row]
    left = [x for x, taken, _ in row if taken]
    if base in ("any", "all"):
        return getattr(np, base)(np.array(left, dtype=scalar).astype(bool)).tolist() if left else base == "all"
    if base == "count":
        return len(left)
    if base == "count_nonzero":
        return sum(bool(x) for x in left)
    if base in NO_VALUE and not left and initial is None:
        if missing:
            return None
        if skips_nan and row and scalar in FLOATS:
            return float("nan")
        raise oracle.EmptyRowError(f"{name}: row {path} is empty", path)
    kind = result_scalar(name, scalar)
    if base in ("sum", "prod"):
        filler = 0 if base == "sum" else 1
        wide = "float32" if kind == "float16" else kind  # of float16 the result is rounded once
        column = np.array([x if taken else filler for x, taken, _ in row], dtype=scalar).astype(wide)
        with np.errstate(all="ignore"):
            return joined(base, in_order(base, column), initial, kind)
    if base.startswith("arg"):
        best = None
        for i, (x, taken, _) in enumerate(row):
            if taken and (best is None or row[best][0] == row[best][0]):
                beyond = best is None or (x < row[best][0] if base == "argmin" else x > row[best][0])
                best = i if beyond or x != x else best
        return best
    column = np.array(left, dtype=scalar)
    with np.errstate(all="ignore"):
        if base == "ptp":
            return (np.max(column) - np.min(column)).tolist()
        if base in ("min", "max"):
            return joined(base, getattr(np, base)(column) if left else None, initial, kind)
        return statistic(base, column, [w for _, taken, w in row if taken], correction, kind)


def in_order(name, column):
    if not len(column):
        return column.dtype.type(name == "prod")
    if column.dtype.kind in "fc":
        return oracle.ordered_sum(column) if name == "sum" else ordered_product(column)
    return (np.add if name == "sum" else np.multiply).reduce(column)


def joined(name, value, initial, kind):
    """initial= joins last."""
    if initial is None:
        return value.astype(kind).tolist()
    wide = np.dtype("float32" if kind == "float16" else kind)
    if value is None:
        return np.dtype(kind).type(initial).tolist()
    value, first = np.array([value], wide), np.array([initial], wide)
    combine = {"sum": np.add, "prod": oracle.multiply, "min": np.minimum, "max": np.maximum}[name]
    return combine(value, first).astype(kind)[0].tolist()


def statistic(name, column, weights, correction, kind):
    """In as many digits as NumPy has."""
    wide = column.astype("clongdouble" if column.dtype.kind == "c" else "longdouble")
    weights = np.array(weights, dtype="longdouble")
    real = lambda x: np.longdouble(x).astype(kind).tolist()  # noqa: E731
    if name == "norm":
        return real(np.sqrt(np.sum(np.abs(wide) ** 2)))
    total = np.sum(weights)
    mean = np.sum(wide * weights) / total
    if name == "mean":
        return mean.astype(kind).tolist()
    variance = np.sum(np.abs(wide - mean) ** 2 * weights) / np.maximum(total - correction, 0)
    return real(variance if name == "var" else np.sqrt(variance))


def lengths(tree, ndim):
    """Of all rows: what two trees of the same shape have in common."""
    return [len(tree), *(lengths(inner, ndim - 1) for inner in tree)] if ndim else []


def spread(name, array, where, weights):
    """The array with (value, whether it is taken, weight) as its leaves. An error where it would be stretched."""
    operands = [array] + [x for x in (where, weights) if x is not None]
    dims, structure, columns = oracle.broadcast(name, operands)
    sizes, own = ([size for _, size in x] for x in (dims, array.dims))  # None where rows differ
    if sizes != own or lengths(structure, array.ndim) != lengths(array.values, array.ndim):
        raise oracle.BroadcastError(f"{name}: does not broadcast to the operand", 0, (), ())
    masks = columns[1] if where is not None else [True] * len(columns[0])
    factors = columns[-1] if weights is not None else [1] * len(columns[0])
    leaves = [(x, x is not None and m is True and w is not None, w) for x, m, w in zip(columns[0], masks, factors)]
    return oracle.refill(structure, array.ndim, leaves)


def reduce(name, array, axis=None, keepdims=False, where=None, initial=None, empty=None, weights=None, correction=0):
    """axis: None, a number or a tuple of them."""
    scalar, option = bare(array.scalar), is_option(array.scalar)
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = {a % array.ndim for a in axes}
    kind = result_scalar(name, scalar)
    missing = name.removeprefix("nan") in NO_VALUE and initial is None and (option or empty == "missing")
    values = spread(name, array, where, weights)

    def walk(trees, depth, path):
        """Trees at the same place of the axes that stay, in C order of those that are reduced."""
        if depth == array.ndim:
            return row_value(name, scalar, trees, path, initial, missing, correction)
        if depth in axes:
            found = walk([inner for tree in trees for inner in tree], depth + 1, path)
            return [found] if keepdims else found
        if not any(a < depth for a in axes):
            return [walk([inner], depth + 1, path + (i,)) for i, inner in enumerate(trees[0])]
        found = {len(tree) for tree in trees} or {array.dims[depth][1]}
        if None in found or len(found) > 1:
            raise oracle.UnequalRowsError(f"{name}: rows below axis {depth} have lengths {found}")
        return [walk([tree[i] for tree in trees], depth + 1, path + (i,)) for i in range(found.pop())]

    dims = tuple(strided(1) if d in axes else dim for d, dim in enumerate(array.dims) if keepdims or d not in axes)
    return Array(dims, "?" * missing + kind, walk([values], 0, ()))


def tolerance(name, values, scalar):
    """How far a rounded result may be from the exact one."""
    eps = np.finfo(result_scalar(name, scalar)).eps
    sizes = [abs(complex(x)) for x in values if x is not None and math.isfinite(abs(complex(x)))] or [0.0]
    scale = max(sizes)
    return 16 * eps * (scale**2 if name.endswith("var") else scale)
