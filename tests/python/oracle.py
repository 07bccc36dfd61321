"""What every operation must give, computed the slow and obvious way: nested Python lists and a type beside them.

Broadcasting walks the lists row by row by the rules of the design; the leaves are computed by NumPy, one column for
each operand, for its exact arithmetic. It knows nothing of the library under test: it must never import dynd.
"""

import functools
from dataclasses import dataclass

import numpy as np

import conversions
from transcendental_oracle import TRANSCENDENTAL, power

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REALS = INTEGERS + FLOATS
NUMBERS = REALS + COMPLEX
SCALARS = ["bool"] + NUMBERS

VAR = ("var", None)


def strided(size):
    return ("strided", size)


def fixed(size):
    return ("fixed", size)


class BroadcastError(ValueError):
    """Shapes or rows that do not fit. `row` is the index path of the first bad row, None when the shapes already say it."""

    def __init__(self, text, axis, row=None, lengths=()):
        super().__init__(text)
        self.axis, self.row, self.lengths = axis, row, lengths


class EmptyRowError(ValueError):
    """min or max of nothing; `row` is the index path of the first empty row."""

    def __init__(self, text, row):
        super().__init__(text)
        self.row = row


class UnequalRowsError(ValueError):
    """A reduction of an axis outside rows of unequal length."""


@dataclass
class Array:
    """`dims` from the outside in: ("strided", n), ("fixed", n) or ("var", None); `values` nested as deep as that."""

    dims: tuple
    scalar: str
    values: object

    @property
    def ndim(self):
        return len(self.dims)

    @property
    def shape(self):
        return tuple(size for _, size in self.dims)

    @property
    def ragged(self):
        return VAR in self.dims

    @property
    def type_text(self):
        return type_text(self.dims, self.scalar)

    def numpy(self):
        """The same values as a NumPy array; only for arrays without `var`."""
        return np.array(leaves(self.values, self.ndim), dtype=self.scalar).reshape(self.shape)

    def check(self):
        """Raises if the values do not have the structure that the dims promise."""
        check_structure(self.dims, self.values)
        return self


def type_text(dims, scalar):
    names = {"strided": lambda n: "strided", "var": lambda n: "var", "fixed": str}
    return " * ".join([names[kind](size) for kind, size in dims] + [scalar])


def shape_text(dims):
    inside = ", ".join("var" if size is None else str(size) for _, size in dims)
    return f"({inside},)" if len(dims) == 1 else f"({inside})"


def check_structure(dims, values):
    if not dims:
        if isinstance(values, list):
            raise AssertionError(f"a list where a scalar belongs: {values}")
        return
    size = dims[0][1]
    if not isinstance(values, list) or (size is not None and len(values) != size):
        raise AssertionError(f"{values} is not {dims}")
    for value in values:
        check_structure(dims[1:], value)


def leaves(values, ndim):
    """The scalars in C order."""
    if ndim == 0:
        return [values]
    found = values
    for _ in range(ndim - 1):
        found = [inner for row in found for inner in row]
    return list(found)


def from_numpy(array):
    return Array(tuple(strided(n) for n in array.shape), array.dtype.name, array.tolist())


def deduce(values):
    """The type of a nested list, as nd.array deduces it: equal lengths make `strided`, unequal ones `var`."""
    dims, level = [], [values]
    while any(isinstance(value, list) for value in level):
        lengths = {len(value) for value in level}
        dims.append(strided(lengths.pop()) if len(lengths) == 1 else VAR)
        level = [inner for value in level for inner in value]
    if any(isinstance(value, complex) for value in level):
        scalar = "complex128"
    elif any(isinstance(value, float) for value in level):
        scalar = "float64"
    elif level and all(isinstance(value, bool) for value in level):
        scalar = "bool"
    else:
        scalar = "int32" if all(-(2**31) <= value < 2**31 for value in level) else "int64"
    return Array(tuple(dims), scalar, values)


# ---- broadcasting


def broadcast_dims(name, all_dims):
    """The result's dims: right-justified, from kinds and sizes alone. Raises where sizes other than 1 differ."""
    ndim = max(map(len, all_dims))
    result = []
    for axis in range(ndim):
        here = [dims[axis - ndim + len(dims)] for dims in all_dims if axis >= ndim - len(dims)]
        sizes = {size for _, size in here if size is not None and size != 1}
        if len(sizes) > 1:
            shapes = " with ".join(shape_text(dims) for dims in all_dims)
            raise BroadcastError(f"{name}: cannot broadcast {shapes} at axis {axis}", axis)
        if sizes:
            size = sizes.pop()
            result.append(fixed(size) if fixed(size) in here else strided(size))
        elif VAR in here:
            result.append(VAR)
        else:
            result.append(fixed(1) if fixed(1) in here else strided(1))
    return tuple(result)


def broadcast(name, arrays):
    """-> dims, structure (nested lists of positions in the columns), one column of leaves for each operand."""
    dims = broadcast_dims(name, [array.dims for array in arrays])
    columns = [[] for _ in arrays]

    def walk(axis, nodes, row):
        if axis == len(dims):
            for column, node in zip(columns, nodes):
                column.append(node)
            return len(columns[0]) - 1
        present = [axis >= len(dims) - array.ndim for array in arrays]
        lengths = [len(node) if here else 1 for node, here in zip(nodes, present)]
        size = dims[axis][1]
        if size is None:
            size = next((length for length in lengths if length != 1), 1)
        if any(length not in (1, size) for length in lengths):
            bad = sorted({length for length in lengths if length != 1} | {size})
            raise BroadcastError(f"{name}: cannot broadcast row {row}: lengths {bad}", axis, row, tuple(lengths))
        result = []
        for i in range(size):
            inner = [
                (node[0] if length == 1 else node[i]) if here else node
                for node, length, here in zip(nodes, lengths, present)
            ]
            result.append(walk(axis + 1, inner, row + (i,)))
        return result

    structure = walk(0, [array.values for array in arrays], ())
    return dims, structure, columns


def refill(structure, ndim, flat):
    """The structure with each position replaced by its value."""
    if ndim == 0:
        return flat[structure]
    return [refill(inner, ndim - 1, flat) for inner in structure]


# ---- elementwise operations


def by_nonzero(name, function):
    """A division: of integers, by zero it is an error."""

    def checked(a, b):
        if a.dtype.kind in "iu" and np.any(b == 0):
            raise ZeroDivisionError(f"{name}: integer division by zero")
        return function(a, b)

    return checked


class NegativeError(ValueError):
    """A power of an integer or a shift count that is negative."""


def not_negative(function):
    """An operation on integers whose second operand must not be negative."""

    def checked(a, b):
        if a.dtype.kind == "i" and np.any(b < 0):
            raise NegativeError
        return function(a, b)

    return checked


def frexp(a):
    """NumPy's, but the exponent of what is not finite is 0."""
    mantissa, exponent = np.frexp(a)
    return mantissa, np.where(np.isfinite(a), exponent, 0).astype("int32")


def multiply(a, b):
    """NumPy's, but for complex numbers the textbook formula by itself: NumPy's own may fuse a product with a sum."""
    if a.dtype.kind != "c":
        return np.multiply(a, b)
    found = np.empty_like(a)
    found.real = a.real * b.real - a.imag * b.imag
    found.imag = a.real * b.imag + a.imag * b.real
    return found


def divide(a, b):
    """For complex numbers Smith's method, which is NumPy's, with nothing fused."""
    if a.dtype.kind != "c":
        return np.true_divide(a, b)
    by_real = abs(b.real) >= abs(b.imag)
    large, little = np.where(by_real, b.real, b.imag), np.where(by_real, b.imag, b.real)
    ratio = little / large
    scale = 1 / (large + little * ratio)
    found = np.empty_like(a)
    found.real = np.where(by_real, a.real + a.imag * ratio, a.real * ratio + a.imag) * scale
    found.imag = np.where(by_real, a.imag - a.real * ratio, a.imag * ratio - a.real) * scale
    zero = (large == 0) & (little == 0)
    found.real[zero] = (a.real / abs(large))[zero]
    found.imag[zero] = (a.imag / abs(large))[zero]
    return found


def ldexp(a, b):
    """NumPy's; exponents that only a larger type has give what the largest do."""
    return np.ldexp(a, np.clip(b, -(10**6), 10**6).astype("int32"))


def nextafter(a, b):
    """NumPy's, but from one zero to the other it is the other, as the standard says; NumPy's float16 stays."""
    return np.where(a == b, b, np.nextafter(a, b))


def complex_number(a, b):
    a, b = np.broadcast_arrays(a, b)
    found = np.empty(a.shape, np.result_type(a, "complex64"))
    found.real, found.imag = a, b
    return found


def imag(a):
    return a.imag if a.dtype.kind == "c" else np.zeros_like(a)


def sign(a):
    """NumPy's, but of complex numbers by the formula, with a length that is no more than an infinity."""
    if a.dtype.kind != "c":
        return np.sign(a)
    length = np.abs(a.astype("complex128")).astype(a.real.dtype)
    found = np.sign(a)
    plain = np.isfinite(length) & (length != 0)
    found.real[plain] = (a.real / length)[plain]
    found.imag[plain] = (a.imag / length)[plain]
    return found


#: name -> (arity, set of types it works on, function of columns)
ELEMENTWISE = {
    "add": (2, "numbers", np.add),
    "subtract": (2, "numbers", np.subtract),
    "multiply": (2, "numbers", multiply),
    "divide": (2, "floats", divide),
    "negative": (1, "numbers", np.negative),
    "abs": (1, "numbers", np.abs),
    "sqrt": (1, "floats", np.sqrt),
    "square": (1, "numbers", lambda a: multiply(a, a)),
    "minimum": (2, "ordered", np.minimum),
    "maximum": (2, "ordered", np.maximum),
    "less": (2, "ordered", np.less),
    "less_equal": (2, "ordered", np.less_equal),
    "greater": (2, "ordered", np.greater),
    "greater_equal": (2, "ordered", np.greater_equal),
    "not_equal": (2, "all", np.not_equal),
    "equal": (2, "all", np.equal),
    "where": (3, "all", np.where),
    "divmod": (2, "reals", by_nonzero("divmod", np.divmod)),
    "floor_divide": (2, "reals", by_nonzero("floor_divide", np.floor_divide)),
    "remainder": (2, "reals", by_nonzero("remainder", np.remainder)),
    "pow": (2, "numbers", not_negative(power)),
    "clip": (3, "reals", lambda a, low, high: np.minimum(np.maximum(a, low), high)),
    "isnan": (1, "numbers", np.isnan),
    "signbit": (1, "reals", np.signbit),
    "modf": (1, "real_floats", np.modf),
    "frexp": (1, "real_floats", frexp),
    "bitwise_and": (2, "bits", np.bitwise_and),
    "bitwise_or": (2, "bits", np.bitwise_or),
    "bitwise_xor": (2, "bits", np.bitwise_xor),
    "bitwise_invert": (1, "bits", np.invert),
    "bitwise_left_shift": (2, "integers", not_negative(np.left_shift)),
    "bitwise_right_shift": (2, "integers", not_negative(np.right_shift)),
    "gcd": (2, "integers", np.gcd),
    "lcm": (2, "integers", np.lcm),
    "bitwise_count": (1, "integers", np.bitwise_count),
    "fmod": (2, "reals", by_nonzero("fmod", np.fmod)),
    "logical_and": (2, "all", np.logical_and),
    "logical_or": (2, "all", np.logical_or),
    "logical_xor": (2, "all", np.logical_xor),
    "logical_not": (1, "all", np.logical_not),
    "floor": (1, "reals", np.floor),
    "ceil": (1, "reals", np.ceil),
    "trunc": (1, "reals", np.trunc),
    "round": (1, "numbers", np.round),
    "rint": (1, "floats", np.rint),
    "positive": (1, "numbers", np.positive),
    "conj": (1, "numbers", np.conj),
    "real": (1, "numbers", np.real),
    "imag": (1, "numbers", imag),
    "complex": (2, "real_floats", complex_number),
    "sign": (1, "numbers", sign),
    "reciprocal": (1, "floats", np.reciprocal),
    "copysign": (2, "real_floats", np.copysign),
    "nextafter": (2, "real_floats", nextafter),
    "isfinite": (1, "numbers", np.isfinite),
    "isinf": (1, "numbers", np.isinf),
    "fmin": (2, "ordered", np.fmin),
    "fmax": (2, "ordered", np.fmax),
    "heaviside": (2, "real_floats", np.heaviside),
    "deg2rad": (1, "real_floats", np.deg2rad),
    "rad2deg": (1, "real_floats", np.rad2deg),
    "ldexp": (2, "real_floats", ldexp),
}
ELEMENTWISE |= TRANSCENDENTAL
#: whose values are only close to the oracle's, in every type
INEXACT = {*TRANSCENDENTAL, "pow"}
COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
FALLIBLE = ["divmod", "floor_divide", "remainder", "fmod", "pow", "bitwise_left_shift", "bitwise_right_shift"]
#: the operands that have a type of their own: name -> (position, type)
OWN_TYPES = {"where": (0, "bool"), "ldexp": (1, "int64")}
UNARY = [name for name, row in ELEMENTWISE.items() if row[0] == 1 and name not in INEXACT]
BINARY = [name for name, row in ELEMENTWISE.items() if row[0] == 2 and name not in {*FALLIBLE, *OWN_TYPES, *INEXACT}]

#: the kinds of NumPy's types that a set has
SETS = {
    "all": "biufc",
    "ordered": "biuf",
    "numbers": "iufc",
    "reals": "iuf",
    "floats": "fc",
    "real_floats": "f",
    "integers": "iu",
    "bits": "biu",
}


def promote(operands, allowed):
    """The one type that operands are converted to. Python's own scalars are weak."""
    parts = [np.dtype(x.scalar) if isinstance(x, Array) else x for x in operands]
    common = np.result_type(*parts)
    if common.kind in "iu" and allowed in ("floats", "real_floats"):
        return np.dtype("float64")
    if common.kind not in SETS[allowed]:
        raise TypeError(f"{common} is not one of the {allowed}")
    return common


def elementwise(name, *operands):
    """The result of an operation on Arrays and Python scalars: an Array, or a tuple of them where it has two."""
    arity, allowed, function = ELEMENTWISE[name]
    if len(operands) != arity:
        raise TypeError(f"{name} takes {arity} operands")
    at, own_type = OWN_TYPES.get(name, (None, None))
    common = promote([x for i, x in enumerate(operands) if i != at], allowed)
    if at is not None and operands[at].scalar != own_type:
        raise TypeError(f"{name}: operand {at} must be {own_type}")
    arrays = [x if isinstance(x, Array) else Array((), "python", x) for x in operands]
    dims, structure, columns = broadcast(name, arrays)
    ready = []
    for i, (array, column) in enumerate(zip(arrays, columns)):
        own = common if array.scalar == "python" else array.scalar
        column = np.array(column, dtype=own)
        as_is = i == at or name in COMPARISONS  # NumPy compares int64 with uint64 exactly
        ready.append(column if as_is else column.astype(common))
    with np.errstate(all="ignore"):
        found = function(*ready)
    many = isinstance(found, tuple)
    results = tuple(
        Array(dims, flat.dtype.name, refill(structure, len(dims), flat.tolist()))
        for flat in (found if many else (found,))
    )
    return results if many else results[0]


# ---- reductions


def ordered_sum(row):
    """The sum of a float or complex row (or of many, along the last axis) in the one documented order, which depends on nothing but the index within the
    row. A float16 row adds up in float32 and is rounded once.

    Element i goes to lane i mod L (L = 64 / itemsize) of block i // 64; lanes add in rising i; blocks combine lane by
    lane like the bits of a binary counter; the lanes fold by halves. Unused lanes hold -0.0, which changes nothing.
    """
    row = np.asarray(row)
    if row.dtype == "float16":
        with np.errstate(over="ignore"):
            return ordered_sum(row.astype("float32")).astype("float16")
    if row.shape[-1] == 0:
        return np.zeros(row.shape[:-1], row.dtype)[()]
    return ordered_fold(row, np.add, complex(-0.0, -0.0) if row.dtype.kind == "c" else -0.0)


def ordered_fold(row, combine, identity):
    """In that order by any operation on columns."""
    lanes, count = 64 // row.dtype.itemsize, row.shape[-1]
    padded = np.full((*row.shape[:-1], -(-count // 64) * 64), identity, row.dtype)
    padded[..., :count] = row
    with np.errstate(all="ignore"):
        lines = padded.reshape(*row.shape[:-1], -1, 64 // lanes, lanes)
        blocks = functools.reduce(combine, (lines[..., i, :] for i in range(64 // lanes)))
        entries = []  # of the counter: falling powers of two of blocks, each combined by neighbours
        while left := blocks.shape[-2]:
            size = 1 << left.bit_length() - 1
            entry, blocks = blocks[..., :size, :], blocks[..., size:, :]
            while entry.shape[-2] > 1:
                entry = combine(entry[..., 0::2, :], entry[..., 1::2, :])
            entries.append(entry[..., 0, :])
        total = functools.reduce(lambda behind, entry: combine(entry, behind), reversed(entries))
        while total.shape[-1] > 1:
            half = total.shape[-1] // 2
            total = combine(total[..., :half], total[..., half:])
    return total[..., 0][()]


def accumulator(name, scalar):
    if name != "sum" and scalar in COMPLEX:
        raise TypeError("complex numbers have no order")
    if name != "sum" or scalar in FLOATS + COMPLEX:
        return scalar
    return "uint64" if scalar in UNSIGNED else "int64"


def reduce_row(name, scalar, row, path):
    """One logical row of Python values -> a Python value."""
    if name != "sum":
        if not row:
            raise EmptyRowError(f"{name}: row {path} is empty", path)
        with np.errstate(all="ignore"):
            return getattr(np, name)(np.array(row, dtype=scalar)).tolist()
    column = np.array(row, dtype=scalar).astype(accumulator(name, scalar))
    if scalar in FLOATS + COMPLEX:
        return ordered_sum(column).tolist()
    with np.errstate(all="ignore"):
        return np.add.reduce(column).tolist() if len(column) else 0


def reduce(name, array, axis=None, keepdims=False):
    """sum, min or max over one axis or, with None, over all of them in C order."""
    scalar = accumulator(name, array.scalar)
    if axis is None:
        result = reduce_row(name, array.scalar, leaves(array.values, array.ndim), ())
        dims = tuple(strided(1) for _ in array.dims) if keepdims else ()
        for _ in dims:
            result = [result]
        return Array(dims, scalar, result)
    axis = axis + array.ndim if axis < 0 else axis
    below = array.dims[axis + 1 :]

    def fold(trees, dims, path):
        """Trees of one structure -> one tree, each leaf the reduction of the leaves at its place."""
        if not dims:
            return reduce_row(name, array.scalar, trees, path)
        lengths = {len(tree) for tree in trees} or {dims[0][1]}
        if None in lengths:
            raise UnequalRowsError(f"{name}: no row below axis {axis} says how long the result is")
        if len(lengths) > 1:
            raise UnequalRowsError(f"{name}: rows below axis {axis} have lengths {sorted(lengths)}")
        return [fold([tree[i] for tree in trees], dims[1:], path) for i in range(lengths.pop())]

    def descend(node, depth, path):
        if depth == axis:
            found = fold(node, below, path)
            return [found] if keepdims else found
        return [descend(inner, depth + 1, path + (i,)) for i, inner in enumerate(node)]

    kept = (strided(1),) if keepdims else ()
    return Array(array.dims[:axis] + kept + below, scalar, descend(array.values, 0, ()))


# ---- assignment and indexing


def assign(destination, source):
    """The destination's new contents: the source stretches to it, never the reverse. A value that does not fit (error
    mode fractional) raises conversions.Refused; shapes come first."""
    extra = destination.ndim - source.ndim
    if extra < 0:
        raise BroadcastError("assign: the source has more dimensions", 0)
    for axis in range(source.ndim):
        size, wanted = source.dims[axis][1], destination.dims[axis + extra][1]
        if size not in (None, 1) and wanted is not None and size != wanted:
            raise BroadcastError(f"assign: cannot broadcast {source.shape} to {destination.shape}", axis + extra)

    def walk(to, node, axis, row):
        if axis == destination.ndim:
            return node
        absent = axis < extra
        if not absent and len(node) not in (1, len(to)):
            raise BroadcastError(f"assign: row {row}", axis, row, (len(node), len(to)))
        return [
            walk(inner, node if absent else node[0] if len(node) == 1 else node[i], axis + 1, row + (i,))
            for i, inner in enumerate(to)
        ]

    found = walk(destination.values, source.values, 0, ())

    def convert(node, ndim):
        if ndim == 0:
            return conversions.convert(node, source.scalar, destination.scalar, "fractional")
        return [convert(inner, ndim - 1) for inner in node]

    return Array(destination.dims, destination.scalar, convert(found, destination.ndim))


def take(values, ndim, key):
    """Basic indexing of nested lists: integers, slices, one ellipsis, None."""
    key = key if isinstance(key, tuple) else (key,)
    if any(item is Ellipsis for item in key):
        at = next(i for i, item in enumerate(key) if item is Ellipsis)
        used = sum(item is not None for item in key) - 1
        key = key[:at] + (slice(None),) * (ndim - used) + key[at + 1 :]

    def walk(node, rest):
        if not rest:
            return node
        if rest[0] is None:
            return [walk(node, rest[1:])]
        if isinstance(rest[0], slice):
            return [walk(inner, rest[1:]) for inner in node[rest[0]]]
        return walk(node[rest[0]], rest[1:])

    return walk(values, key)
