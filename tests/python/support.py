"""The bridge between oracle values and the library: every way to make an array, and how results are compared."""

import math
import re
import struct

import numpy as np

import oracle
from oracle import VAR, strided


def identical(a, b, zeros=True):
    """Nested lists equal in structure, type and bits. All NaNs are one; with zeros=False so are 0.0 and -0.0."""
    if isinstance(a, list) or isinstance(b, list):
        return (
            isinstance(a, list)
            and isinstance(b, list)
            and len(a) == len(b)
            and all(identical(x, y, zeros) for x, y in zip(a, b))
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, complex):
        return identical(a.real, b.real, zeros) and identical(a.imag, b.imag, zeros)
    if isinstance(a, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and (not zeros or math.copysign(1, a) == math.copysign(1, b))
    return a == b


def close(a, b, scalar):
    """Nested lists of numbers that agree to some units in the last place of their size."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y, scalar) for x, y in zip(a, b))
    if identical(a, b) or scalar in oracle.INTEGERS:
        return identical(a, b)
    limits = np.finfo(scalar)
    return abs(a - b) <= 4 * float(limits.eps) * abs(b) + float(limits.smallest_subnormal)


def assert_is(result, expected, zeros=True, dims=True, exact=True):
    """The library's array is the oracle's: values, scalar type and, with dims=True, the dimension types; with
    exact=False the values are only close, with exact=None any."""
    from dynd import nd

    found = result.tolist()
    same = identical(found, expected.values, zeros) if exact else close(found, expected.values, expected.scalar)
    assert same or exact is None, f"got {found}, expected {expected.values}"
    text = str(nd.type_of(result))
    if dims:
        assert text == expected.type_text
        assert result.shape == expected.shape
    else:
        assert text.split(" * ")[-1] == expected.scalar
        assert len(text.split(" * ")) == expected.ndim + 1
    assert result.ndim == expected.ndim


#: operations on complex numbers that NumPy takes from the system's library: ours are close to its
APPROXIMATE = {"sqrt", "abs", "sign"}



def is_exact(name, is_complex):
    """Whether an operation must give the oracle's bits; None where random values are not compared at all: the angle of
    a power of a complex number may be huge, and has no digits left (test_transcendental.py compares others)."""
    if is_complex and name in ("pow", "exp2"):
        return None
    return name not in oracle.INEXACT and not (is_complex and name in APPROXIMATE)


#: operations whose result's zero may have either sign (which of 0.0 and -0.0 is smaller is not promised)
SIGNLESS = {"minimum", "maximum", "fmin", "fmax", "clip", "min", "max"}


# ---- ways to make an array


def numpy_layout(rng, plain):
    """A NumPy view with these values in some layout: permuted axes, steps, reversed, with gaps, at an odd address."""
    plain = np.asarray(plain)
    if plain.ndim == 0:
        return plain
    order = rng.sample(range(plain.ndim), plain.ndim)
    steps = [rng.choice([1, 1, 1, 2, 3, -1, -2]) for _ in order]
    shape = [plain.shape[axis] for axis in order]
    whole = [n * abs(step) + rng.choice([0, 0, 1]) for n, step in zip(shape, steps)]
    if rng.random() < 0.1:
        count = int(np.prod(whole))
        memory = np.frombuffer(bytearray(count * plain.itemsize + 1), np.uint8)[1:].view(plain.dtype).reshape(whole)
    else:
        memory = np.zeros(whole, plain.dtype)
    cut = []
    for n, step, size in zip(shape, steps, whole):
        if step > 0 or n == 0:
            cut.append(slice(0, n * abs(step), abs(step)))
        else:
            start = n * -step - 1
            stop = start + n * step
            cut.append(slice(start, stop if stop >= 0 else None, step))
    view = memory[tuple(cut)].transpose(np.argsort(order))
    assert view.shape == plain.shape
    view[...] = plain
    return view


def make_strided(rng, value):
    """An nd.array with these values, by some way that is open to arrays without `var`."""
    from dynd import nd

    plain = value.numpy()
    if any(kind == "fixed" for kind, _ in value.dims):
        return nd.array(value.values, type=value.type_text)
    way = rng.random()
    if way < 0.5 or (plain.size == 0 and plain.ndim > 1):
        return nd.asarray(numpy_layout(rng, plain))
    access = rng.choice([None, "rw"])
    if way < 0.7 or plain.ndim == 0:
        return nd.array(value.values, type=value.type_text, access=access)
    if way < 0.8:
        return nd.array(plain.T.tolist(), type=value.type_text, access=access).T
    if way < 0.9:
        return nd.array(plain[::-1].tolist(), type=value.type_text, access=access)[::-1]
    step = rng.choice([2, 3])
    spread = np.repeat(plain, step, axis=0)
    return nd.array(spread.tolist(), type=value.type_text, access=access)[::step]


def offsets_of(rows):
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def make_ragged(rng, value):
    """An nd.array with these values, by some way that is open to arrays with `var`."""
    from dynd import nd

    access = rng.choice([None, None, "rw"])
    plain = lambda values: nd.array(values, type=value.type_text, access=access)  # noqa: E731
    way = rng.random()
    if value.dims[0][0] != "strided" or way < 0.4:
        return plain(value.values)
    if value.dims[1:2] == (VAR,) and VAR not in value.dims[2:] and way < 0.6:
        if all(kind != "fixed" for kind, _ in value.dims):
            rows, inner = value.values, value.shape[2:]
            count = sum(map(len, rows))
            content = np.array(oracle.leaves(rows, value.ndim), dtype=value.scalar).reshape((count,) + inner)
            pad = np.zeros((rng.choice([0, 2]),) + inner, value.scalar)
            offsets = offsets_of(rows) + len(pad)
            content = np.concatenate([pad, content, pad]).astype(value.scalar)
            return nd.from_offsets(offsets, numpy_layout(rng, content) if rng.random() < 0.5 else content)
    rows = value.values
    if way < 0.62 and all(kind != "fixed" for kind, _ in value.dims):
        return from_offsets(rng, value, access)
    if way < 0.7:
        return sliced_inside(rng, value, plain)
    if way < 0.8 and rows:
        return plain(rows[::-1])[::-1]
    if way < 0.92 and rows:
        return plain([copy for row in rows for copy in (row, rows[0])])[::2]
    if rows:
        return plain([rows[-1]] + rows + [rows[0]])[1:-1]
    return plain(rows)


def with_gaps(rng, plain, access=None):
    """A list of the library's own whose elements are in steps, or backwards."""
    from dynd import nd

    step = rng.choice([-2, -1, 2, 3])
    spread = np.repeat(plain if step > 0 else plain[::-1], abs(step), axis=0)
    return nd.array(spread, access=access)[::step]


def from_offsets(rng, value, access=None):
    """`strided * ... * var * ...` from content and offsets of 32 or 64 bits, each `var` dimension over the next."""
    from dynd import nd

    if value.dims[0][0] != "strided" or value.dims[1:2] != (VAR,):
        return nd.array(value.values, type=value.type_text, access=access)
    inner = [element for row in value.values for element in row]
    content = oracle.Array((strided(len(inner)),) + value.dims[2:], value.scalar, inner)
    if content.ragged:
        below = from_offsets(rng, content, access)
    elif rng.random() < 0.5:
        below = with_gaps(rng, content.numpy(), access)
    else:
        below = nd.array(content.numpy(), access=access)
    width = rng.choice([np.int32, np.int64])
    return nd.from_offsets(nd.array(offsets_of(value.values).astype(width)), below)


def sliced_inside(rng, value, plain):
    """A slice inside the rows of one `var` dimension of an array whose rows are longer there."""
    axis = rng.choice([d for d, dim in enumerate(value.dims) if dim == VAR])
    step, before = rng.choice([-3, -2, -1, 1, 2, 3]), rng.randint(0, 2)

    def spread(node, depth):
        if depth < axis:
            return [spread(inner, depth + 1) for inner in node]
        row = [copy for inner in node for copy in [inner] * abs(step)]
        return row[:1] * before + (row if step > 0 else row[::-1])

    if step > 0:
        part = slice(before, None, step)
    else:
        part = slice(None, before - 1 if before else None, step)
    return plain(spread(value.values, 0))[(slice(None),) * axis + (part,)]


def make(rng, value):
    return make_ragged(rng, value) if value.ragged else make_strided(rng, value)


def contains(text, *parts):
    """The error text has each of these parts (regular expressions), in this order."""
    at = 0
    for part in parts:
        found = re.compile(part).search(text, at)
        assert found, f"{part!r} is not in {text!r} after position {at}"
        at = found.end()
    return True


def bits(array):
    """The bytes of an array's elements in C order, NaNs made alike, with the row structure in front."""
    structure, ndim = [], array.ndim
    if "var" in str(array.type):
        values = array.tolist()
        for _ in range(max(ndim - 1, 0)):
            structure.append([len(row) for row in values])
            values = [inner for row in values for inner in row]
        flat = np.array(values, dtype=str(array.type).split(" * ")[-1]).reshape(-1)
    else:
        found = np.asarray(array)
        structure, flat = found.shape, np.ascontiguousarray(found).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    if flat.dtype.kind == "f":
        flat = np.where(np.isnan(flat), flat.dtype.type("nan"), flat)
    return repr(structure).encode() + struct.pack("q", flat.size) + flat.tobytes()
