"""Ragged arrays with elements of every kind, in several layouts, and the same values as nested lists."""

import random

from dynd import nd

ELEMENTS = {
    "int32": lambda rng: rng.randint(-9, 9),
    "float64": lambda rng: rng.randint(-9, 9) / 4,
    "bool": lambda rng: rng.random() < 0.5,
    "?int64": lambda rng: None if rng.random() < 0.3 else rng.randint(-9, 9),
    "complex128": lambda rng: complex(rng.randint(-9, 9), 1),
    "string": lambda rng: "äx" * rng.randint(0, 3) + str(rng.randint(0, 9)),
    "?string": lambda rng: None if rng.random() < 0.3 else "t" * rng.randint(0, 20),
    "bytes": lambda rng: b"\0" * rng.randint(0, 3),
    "fixed_string[7]": lambda rng: "äx" * rng.randint(0, 2) + str(rng.randint(0, 9)),
    "?fixed_bytes[3]": lambda rng: None if rng.random() < 0.3 else bytes([0, rng.randint(0, 3), 0]),
    "{x: int32, y: ?float64}": lambda rng: {"x": rng.randint(0, 9), "y": rng.choice([None, 1.5])},
    "{n: string, h: var * int16}": lambda rng: {"n": "n" * rng.randint(0, 4), "h": [1, 2, 3][: rng.randint(0, 3)]},
    "(int8, var * var * string)": lambda rng: (rng.randint(0, 9), [["a"] * rng.randint(0, 2), ["bc"]][: rng.randint(0, 2)]),
    "{m: 2 * 3 * int32}": lambda rng: {"m": [[rng.randint(0, 9) for _ in range(3)] for _ in range(2)]},
    "{m: 2 * var * string}": lambda rng: {"m": [["q"] * rng.randint(0, 3) for _ in range(2)]},
    "pointer[int32]": lambda rng: rng.randint(0, 9),
}


def nested(rng, dims, make):
    if not dims:
        return make(rng)
    size = dims[0] if dims[0] != "var" else rng.choice([0, 0, 1, 2, 3, 5])
    return [nested(rng, dims[1:], make) for _ in range(size)]


def ragged(rng, depth, access=None):
    """-> values, type text, the array in one of several layouts with these values."""
    element = rng.choice(list(ELEMENTS))
    dims = [rng.randint(0, 4)] + [rng.choice(["var", "var", 2, 3]) for _ in range(depth - 1)]
    values = nested(rng, dims, ELEMENTS[element])
    text = " * ".join([str(d) for d in dims] + [element])
    layout = rng.choice(["plain", "sliced", "cut", "empty", "gaps"])
    if layout == "sliced":  # rows that begin in the middle of the content
        more = nested(rng, [2] + dims[1:], ELEMENTS[element])
        return values, nd.array(more + values, type=text.replace(str(dims[0]), str(dims[0] + 2), 1), access=access)[2:]
    if layout == "cut" and depth > 1 and dims[1] == "var":  # slots of their own
        a = nd.array([row + row[::-1] for row in values], type=text, access=access)
        return [(row + row[::-1])[::-2] for row in values], a[:, ::-2]
    # Elements of rows that do not follow each other. (Of texts inside of such rows, no selection is assigned to.)
    if layout == "gaps" and depth > 1 and dims[1] == "var" and (access is None or depth == 2):
        step, content = rng.choice([-2, -1, 2]), [x for row in values for x in row]
        spread = [x for x in content[:: 1 if step > 0 else -1] for _ in range(abs(step))]
        below = nd.array(spread, type=" * ".join([str(d) for d in [len(spread)] + dims[2:]] + [element]), access=access)[::step]
        return values, nd.from_offsets([sum(map(len, values[:i])) for i in range(len(values) + 1)], below)
    if layout == "empty" and "var" in dims and "pointer" not in element:  # rows that were assigned one by one
        a = nd.empty(text)
        a[...] = nd.array(values, type=text)
        if access is None:
            a = a[:]
        return values, a
    return values, nd.array(values, type=text, access=access)


def map_rows(values, depth, f):
    """f of every row that is `depth` dimensions inside."""
    return f(values) if depth == 0 else [map_rows(v, depth - 1, f) for v in values]


def rows_inside(values, depth):
    """All rows that are `depth` dimensions inside, in their order."""
    return [values] if depth == 0 else [row for v in values for row in rows_inside(v, depth - 1)]


def drawn(seed, least=1, most=4):
    rng = random.Random(seed)
    values, a = ragged(rng, rng.randint(least, most))
    return rng, values, a, rng.randrange(a.ndim)
