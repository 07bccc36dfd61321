"""What scans must give, the slow and obvious way: nested lists, one element after another. It never imports dynd."""

import numpy as np

import oracle
from oracle import VAR, Array

COMBINE = {
    "cumulative_sum": np.add,
    "cumulative_prod": np.multiply,
    "cumulative_min": np.minimum,
    "cumulative_max": np.maximum,
}


def accumulator(name, scalar):
    if scalar == "float16":
        return "float32"
    wide = name in ("cumulative_sum", "cumulative_prod")
    if not wide or scalar in oracle.FLOATS or scalar in oracle.COMPLEX:
        return scalar
    return "uint64" if scalar[0] == "u" else "int64"


def initial(name, scalar):
    """The value of no elements."""
    if name in ("cumulative_sum", "cumulative_prod"):
        return np.dtype(scalar).type(name == "cumulative_prod")
    if scalar == "bool":
        return np.bool_(name == "cumulative_min")
    low, high = (-np.inf, np.inf) if scalar in oracle.FLOATS else (np.iinfo(scalar).min, np.iinfo(scalar).max)
    return np.dtype(scalar).type(high if name == "cumulative_min" else low)


def combined(name, a, b):
    if name == "cumulative_prod" and isinstance(a, np.complexfloating):
        return type(a)(complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real))
    return COMBINE[name](a, b)


def step(name, running, element):
    """The running values after an element, which may be rows, and what is shown for it."""
    if isinstance(element, list):
        if running is None:
            running = [None] * len(element)
        if len(running) != len(element):
            raise oracle.UnequalRowsError(f"{len(running)} and {len(element)}")
        pairs = [step(name, r, e) for r, e in zip(running, element)]
        return [after for after, _ in pairs], [shown for _, shown in pairs]
    if element is None:
        return running, None
    after = element if running is None else combined(name, running, element)
    return after, after


def scan(name, value, axis, include_initial=False):
    """An Array of running values along an axis; elements that are None are missing."""
    axis %= value.ndim
    missing = value.scalar.startswith("?")
    plain = value.scalar.lstrip("?")
    own = accumulator(name, plain)
    if plain in oracle.COMPLEX and name in ("cumulative_min", "cumulative_max"):
        raise TypeError(name)
    shape = [size for _, size in value.dims[axis + 1 :]]

    def typed(node):
        if isinstance(node, list):
            return [typed(inner) for inner in node]
        return None if node is None else np.dtype(own).type(node)

    def like(node, depth):
        """The value of no elements, for every place of a node."""
        if depth == 0:
            return initial(name, own)
        inner = node if isinstance(node, list) else [None] * shape[len(shape) - depth]
        return [like(element, depth - 1) for element in inner]

    def along(node, depth):
        if depth < axis:
            return [along(inner, depth + 1) for inner in node]
        running, shown = None, []
        for element in node:
            running, out = step(name, running, element)
            shown.append(out)
        if include_initial:
            shown.insert(0, like(node[0] if node else None, value.ndim - axis - 1))
        return shown

    def plain_values(node):
        if isinstance(node, list):
            return [plain_values(inner) for inner in node]
        return None if node is None else np.dtype(plain if plain == "float16" else own).type(node).item()

    with np.errstate(all="ignore"):
        values = plain_values(along(typed(value.values), 0))
    dims = list(value.dims)
    if include_initial and dims[axis] != VAR:
        dims[axis] = (dims[axis][0], dims[axis][1] + 1)
    scalar = plain if plain == "float16" else own
    return Array(tuple(dims), ("?" if missing else "") + scalar, values)
