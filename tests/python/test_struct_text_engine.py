"""Structs, tuples, text and nested elements in large arrays: comparison and assignment against Python's own values.

The arrays are long enough for several threads (more than 200,000 elements); small random ones cover the other types.
"""

import functools
import math
import operator
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import missing_oracle as missing
import oracle
from dynd import nd
from missing_oracle import index_text
from oracle import VAR, Array, strided
from strategies import SOME, cut_operand, random_dims_space, seeds, space_tree

COUNT = 210_000
COMPARE = missing.COMPARISONS


@pytest.fixture
def two_threads():
    """Values on one thread and on three are in test_one_engine.py."""
    nd.set_num_threads(2)
    yield
    nd.set_num_threads(1)


def same(a, b):
    """Equal Python values of one structure; NaN is NaN, a struct is equal by its fields' names."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or a != a and b != b
    return type(a) is type(b) and a == b


@functools.lru_cache(None)
def records(seed=1, count=COUNT):
    """Tuples of few different values: ties in every field."""
    rng = random.Random(seed)
    return [(rng.randrange(3), rng.choice([0.0, -0.0, 0.5, math.inf]), rng.randrange(2)) for _ in range(count)]


# ---- comparison of large arrays


@pytest.mark.parametrize("name", COMPARE)
def test_structs_of_numbers(two_threads, name):
    compare, left, right = COMPARE[name], records(1), records(2)
    a = nd.array(left, type="{x: int32, y: float64, z: uint8}")
    b = nd.array(right, type="{x: int64, y: float32, z: int16}")
    expected = list(map(compare, left, right))
    found = compare(a, b)
    assert str(nd.type_of(found)) == "strided * bool" and found.tolist() == expected
    assert compare(a[::-1], b[::-1]).tolist() == expected[::-1]
    one = right[7]
    assert compare(a, b[7]).tolist() == [compare(x, one) for x in left]
    plain = np.array(left[:210_000], [("x", "i4"), ("y", "f8"), ("z", "u1")]).reshape(420, 500)
    planes = compare(nd.array(plain), nd.array([(1, 0.5, 1)], type="{x: int8, y: float16, z: bool}"))
    assert planes.tolist() == [[compare(x, (1, 0.5, 1)) for x in left[i : i + 500]] for i in range(0, 210_000, 500)]


@functools.lru_cache(None)
def nested():
    """-> two arrays of nested structs, and what Python orders as their elements are ordered."""
    rng = random.Random(3)
    words = ["", "a", "ab", "é", "a" * 40]
    draw = lambda: (rng.randrange(2), (rng.choice(words), rng.choice([None, 0, 1])))  # noqa: E731
    left, right = ([draw() for _ in range(COUNT)] for _ in range(2))
    kind = "{k: int32, in: {s: string, m: ?int16}}"
    arrays = nd.array(left, type=kind), nd.array(right, type=kind.replace("int16", "int64"))
    return *arrays, *([(k, s, m is None, m or 0) for k, (s, m) in values] for values in (left, right))


@pytest.mark.parametrize("name", COMPARE)
def test_nested_structs_with_text_and_missing_fields(two_threads, name):
    compare, (a, b, left, right) = COMPARE[name], nested()
    found = compare(a, b)
    assert str(nd.type_of(found)) == "strided * bool", "a field that is missing is not the element"
    assert found.tolist() == list(map(compare, left, right))
    assert compare(a, a[0]).tolist() == [compare(x, left[0]) for x in left]


def test_structs_that_may_be_missing(two_threads):
    rng = random.Random(4)
    left, right = ([rng.choice([None, (1, "a"), (1, "b"), (2, "a")]) for _ in range(COUNT)] for _ in range(2))
    a, b = (nd.array(values, type="?{x: int32, s: string}") for values in (left, right))
    for name in ("equal", "less_equal"):
        found = COMPARE[name](a, b)
        assert str(nd.type_of(found)) == "strided * ?bool"
        assert found.tolist() == [None if x is None or y is None else COMPARE[name](x, y) for x, y in zip(left, right)]


@pytest.mark.parametrize("name", COMPARE)
def test_text(two_threads, name):
    compare, rng = COMPARE[name], random.Random(5)
    words = ["", "a", "ab", "b", "é", "€", "😀", "a\0", "a\0b", "same beginning, one end", "same beginning, other"]
    left, right = rng.choices(words, k=COUNT), rng.choices(words, k=COUNT)
    a, b = nd.array(left), nd.array(right)
    expected = list(map(compare, left, right))
    assert compare(a, b).tolist() == expected
    assert compare(a[::-2], b[::-2]).tolist() == expected[::-2]
    assert compare(a, "b").tolist() == [compare(x, "b") for x in left]
    holes = [None if i % 5 == 0 else x for i, x in enumerate(left)]
    assert compare(nd.array(holes), b).tolist() == [None if x is None else compare(x, y) for x, y in zip(holes, right)]
    raw = nd.array([x.encode() for x in left])
    assert compare(raw, nd.array(b"ab")).tolist() == [compare(x.encode(), b"ab") for x in left]


def rows_of(values, seed=6):
    """Values cut to rows, empty ones and rows of one among them."""
    rng, rows, at = random.Random(seed), [], 0
    while at < len(values):
        length = rng.choice([0, 1, 2, 5, 30])
        rows.append(values[at : at + length])
        at += length
    return rows


def test_ragged_structs_and_text(two_threads):
    left, right = rows_of(records(1)), rows_of(records(2))
    kind = "strided * var * {x: int32, y: float64, z: uint8}"
    a, b = nd.array(left, type=kind), nd.array(right, type=kind)
    assert (a < b).tolist() == [list(map(operator.lt, x, y)) for x, y in zip(left, right)]
    column = [row[:1] or [(1, 0.5, 0)] for row in right]
    c = nd.array(column, type="strided * strided * {x: int32, y: float64, z: uint8}")
    assert (a == c).tolist() == [[x == y for x in row] for row, (y,) in zip(left, column)]
    words = [[str(x[0]) * (i % 4) for i, x in enumerate(row)] for row in left]
    w = nd.array(words)
    assert (w >= nd.array([[str(i % 3)] for i in range(len(words))])).tolist() == [
        [x >= str(i % 3) for x in row] for i, row in enumerate(words)
    ]


def test_elements_that_are_rows(two_threads):
    """Fields that are lists: by their values first, then by their lengths."""
    rng = random.Random(7)
    draw = lambda: (rng.randrange(2), [rng.randrange(2) for _ in range(rng.randrange(3))])  # noqa: E731
    left, right = ([draw() for _ in range(COUNT)] for _ in range(2))
    a = nd.array(left, type="(int32, var * int32)")
    b = nd.array(right, type="(int64, var * float64)")
    for name in ("equal", "less", "greater_equal"):
        assert COMPARE[name](a, b).tolist() == list(map(COMPARE[name], left, right))


def test_records_of_numpy_in_the_other_byte_order(two_threads):
    kind = np.dtype([("x", "i4"), ("y", "f8"), ("in", [("u", "u2"), ("v", "f4")])])
    rng = np.random.default_rng(8)
    plain = np.zeros((500, 600), kind)
    plain["x"], plain["y"] = rng.integers(-2, 2, plain.shape), rng.integers(0, 3, plain.shape) / 2
    plain["in"]["u"], plain["in"]["v"] = rng.integers(0, 2, plain.shape), 0.25
    swapped = plain.astype(kind.newbyteorder())
    a, b = nd.asarray(swapped), nd.asarray(plain)
    assert "byteswap" in str(a.type)
    flat = [[(x, y, tuple(inner)) for x, y, inner in row] for row in plain.tolist()]
    assert (a == b).tolist() == [[True] * 600] * 500
    turned = [list(column) for column in zip(*flat)]
    assert (a[:, :500] < b[:, :500].T).tolist() == [
        [x < y for x, y in zip(row, column)] for row, column in zip((row[:500] for row in flat), turned)
    ]
    target = np.zeros((500, 600), kind.newbyteorder())
    nd.asarray(target)[...] = b
    assert np.array_equal(target, swapped)
    back = np.zeros((500, 600), [("in", [("v", "f8"), ("u", "i8")]), ("y", "f4"), ("x", ">i8")])
    nd.asarray(back)[...] = a[::-1]
    assert np.array_equal(back["x"], plain["x"][::-1]) and np.array_equal(back["in"]["u"], plain["in"]["u"][::-1])
    assert np.array_equal(back["y"], plain["y"][::-1].astype("f4"))


# ---- assignment of large arrays


def test_structs_are_assigned_by_field_name(two_threads):
    values = records(1)
    source = nd.array(values, type="{x: int32, y: float64, z: uint8}")
    found = source.astype("{z: int64, y: float32, x: ?int16}")
    right = [{"z": z, "y": y, "x": x} for x, y, z in values]
    assert found.tolist() == right
    target = nd.empty(f"{COUNT} * {{z: int64, y: float32, x: ?int16}}")
    target[...] = source
    assert target.tolist() == right
    target[::2] = source[1::2]
    right[::2] = right[1::2]
    assert target.tolist() == right
    target[...] = source[5]
    assert target[-1].tolist() == dict(zip("xyz", values[5])) and target.tolist() == [target[0].tolist()] * COUNT


def test_text_and_missing_fields_are_assigned(two_threads):
    rng = random.Random(9)
    words = ["", "kurz", "ein Text, der länger ist als alles, was in einen Platz passt", "😀"]
    values = [(rng.choice(words), rng.choice([None, 1, 2]), rng.choice([None, *words])) for _ in range(COUNT)]
    source = nd.array(values, type="{s: string, m: ?int32, t: ?string}")
    right = [{"t": t, "s": s, "m": m} for s, m, t in values]
    assert source.astype("{t: ?string, s: string, m: ?float64}").tolist() == right
    target = nd.empty(f"{COUNT} * {{t: ?string, s: string, m: ?int8}}")
    target[...] = source
    assert target.tolist() == right
    target[::-1] = source
    assert target.tolist() == right[::-1]
    with pytest.raises(OverflowError, match="cannot assign an NA value to a non-option type") as caught:
        source.astype("{s: string, m: int32, t: ?string}")
    first = next(i for i, x in enumerate(values) if x[1] is None)
    assert str(caught.value).endswith(f'at index ({first}, "m")')


def test_text_is_assigned(two_threads):
    rng = random.Random(10)
    words = [rng.choice(["", "a", "kurz", "ein Text, der länger ist als ein Platz", "é" * 100]) for _ in range(COUNT)]
    source = nd.array(words)
    for kind in ("string", "?string"):
        assert source.astype(kind).tolist() == words
        target = nd.empty(f"2 * {COUNT} * {kind}")
        target[...] = source
        assert target.tolist() == [words, words]
        target[0, ::2] = source[1::2]
        assert target.tolist() == [[words[i + 1 - i % 2] for i in range(COUNT)], words]
    numbers = [str(i % 1000) for i in range(COUNT)]
    assert nd.array(numbers).astype("int16").sum() == sum(map(int, numbers))
    assert nd.array(list(range(COUNT))).astype("string").tolist() == list(map(str, range(COUNT)))
    numbers[205_000], numbers[209_000] = "x", "y"
    with pytest.raises(ValueError, match=r'"x".* at index \(205000,\)$'):
        nd.array(numbers).astype("int16")


def test_ragged_structs_are_assigned(two_threads):
    rows = rows_of(records(2))
    source = nd.array(rows, type="strided * var * {x: int32, y: float64, z: uint8}")
    right = [[{"z": z, "x": x, "y": y} for x, y, z in row] for row in rows]
    assert source.astype("{z: int8, x: float64, y: float64}").tolist() == right
    target = nd.empty(f"{len(rows)} * var * {{z: int8, x: int8, y: float64}}")
    target[...] = source
    assert target.tolist() == right
    target[:, ::-1] = source
    assert target.tolist() == [row[::-1] for row in right]
    target[...] = nd.array([[(1, 2.0, 3)]] * len(rows), type="strided * strided * {x: int32, y: float64, z: uint8}")
    assert target.tolist() == [[{"z": 3, "x": 1, "y": 2.0}] * len(row) for row in rows]


def test_elements_with_dimensions_of_their_own(two_threads):
    values = [(i % 7, [i % 5] * (i % 3), [i % 3, 1]) for i in range(COUNT)]
    source = nd.array(values, type="{a: int32, r: var * int32, m: 2 * int32}")
    right = [{"m": m, "r": r, "a": a} for a, r, m in values]
    assert source.astype("{m: 2 * float64, r: var * int8, a: int64}").tolist() == right
    target = nd.empty(f"{COUNT} * {{m: 2 * int8, r: var * ?int64, a: int8}}")
    target[...] = source
    assert target.tolist() == right


# ---- what is refused, and where


def struct_source(bad):
    """Structs {j, k: var * int32}: `bad` has (element, "j") or (element, "k", place) with a value that is too large."""
    values = [(i % 100, [i % 50, 1, 2]) for i in range(COUNT)]
    for where in bad:
        j, k = values[where[0]]
        values[where[0]] = (400, k) if where[1] == "j" else (j, [400 if i == where[2] else x for i, x in enumerate(k)])
    return nd.array(values, type="{j: int32, k: var * int32}")


@pytest.mark.parametrize(
    "bad",
    [
        [(1, "k", 2)],
        [(205_000, "k", 1), (205_001, "j"), (209_999, "k", 0)],
        [(130_000, "j"), (205_001, "j")],
        [(5, "k", 0), (125_001, "j"), (3, "k", 2)],
    ],
)
def test_the_first_bad_element_is_named_whoever_finds_it(threads, bad):
    source = struct_source(bad)
    first = min(bad, key=lambda where: where[0])
    message = f"overflow while assigning int32 value 400 to int8 at index {index_text(first)}"
    for _ in range(2):
        with pytest.raises(OverflowError) as caught:
            source.astype("{k: var * int8, j: int8}")
        assert str(caught.value) == message
    target = nd.empty(f"{COUNT} * {{j: int8, k: 3 * int8}}")
    target[...] = nd.array((7, [7, 7, 7]), type="{j: int8, k: 3 * int8}")
    with pytest.raises(OverflowError) as caught:
        target[...] = source
    assert str(caught.value) == message
    refused = {where[0] for where in bad}
    for i, (found, new) in enumerate(zip(target.tolist(), source.tolist())):
        assert found == {"j": 7, "k": [7, 7, 7]} or (i not in refused and found == new), "whole or not at all"


def test_fields_of_numbers_are_refused_by_element_not_by_field(threads):
    """The last field of an early element comes before the first field of a later one."""
    plain = np.zeros((500, 600), [("a", "i4"), ("b", "f8"), ("c", "i4")])
    plain["a"][300, 5], plain["b"][200, 599], plain["c"][200, 598] = 300, 1.5, -300
    target = np.zeros((500, 600), [("a", "i1"), ("b", "i4"), ("c", "i1")])
    target[...] = (9, 9, 9)
    with pytest.raises(OverflowError, match=r'int32 value -300 to int8 at index \(200, 598, "c"\)$'):
        nd.asarray(target)[...] = nd.asarray(plain)
    assert set(np.unique(target).tolist()) <= {(0, 0, 0), (9, 9, 9)}
    plain["c"][200, 598] = 0
    with pytest.raises(ValueError, match=r'^fractional part lost .* at index \(200, 599, "b"\)$'):
        nd.asarray(target)[...] = nd.asarray(plain)
    ragged = nd.from_offsets(np.arange(0, 300_001, 600), nd.asarray(plain.ravel()))
    with pytest.raises(ValueError, match=r'at index \(200, 599, "b"\)$'):
        ragged.astype("{a: int8, b: int32, c: int8}")


def test_texts_that_are_no_numbers_inside_structs(threads):
    values = [(str(i), i) for i in range(COUNT)]
    values[201_000], values[209_000] = ("zehn", 1), ("elf", 2)
    source = nd.array(values, type="{s: string, n: int32}")
    with pytest.raises(ValueError, match=r'"zehn".* at index \(201000, "s"\)$'):
        source.astype("{s: int32, n: int32}")


# ---- random types and values


WORDS = ["", "a", "b", "ab", "é", "a longer text than any slot can hold"]
KINDS = {"int": ["int8", "int32", "int64", "uint8", "uint64"], "float": ["float32", "float64", "float16"]}


def random_type(rng, depth=2):
    """A tree: a name of a kind, or (kind, inside...)."""
    pick = rng.random()
    if depth == 0 or pick < 0.4:
        return rng.choice(["int", "int", "float", "string", "string", "bytes"])
    if pick < 0.6:
        return ("option", random_type(rng, 0 if rng.random() < 0.6 else depth - 1))
    if pick < 0.7:
        return ("var", random_type(rng, depth - 1))
    return (rng.choice(["struct", "tuple"]), *(random_type(rng, depth - 1) for _ in range(rng.randint(1, 3))))


def unwrap(tree):
    """No option of an option."""
    if isinstance(tree, str):
        return tree
    inside = tuple(unwrap(x) for x in tree[1:])
    return inside[0] if tree[0] == "option" and inside[0][0] in ("option", "var") else (tree[0], *inside)


def text_of(rng, tree, shuffled=False):
    """A type of this tree; the numbers' types are drawn, with shuffled=True the order of structs' fields too."""
    if isinstance(tree, str):
        return rng.choice(KINDS[tree]) if tree in KINDS else tree
    inside = [text_of(rng, x, shuffled) for x in tree[1:]]
    if tree[0] == "option":
        return "?" + inside[0]
    if tree[0] == "var":
        return "var * " + inside[0]
    if tree[0] == "tuple":
        return f"({', '.join(inside)})"
    fields = [f"f{i}: {x}" for i, x in enumerate(inside)]
    return "{%s}" % ", ".join(rng.sample(fields, len(fields)) if shuffled else fields)


def value_of(rng, tree, nan=True):
    if tree == "int":
        return rng.randrange(3)
    if tree == "float":
        return rng.choice([0.0, 0.5, 1.0, -1.0, math.inf] + [math.nan] * nan)
    if tree in ("string", "bytes"):
        word = rng.choice(WORDS)
        return word if tree == "string" else word.encode()
    if tree[0] == "option":
        return None if rng.random() < 0.3 else value_of(rng, tree[1], nan)
    if tree[0] == "var":
        return [value_of(rng, tree[1], nan) for _ in range(rng.randrange(3))]
    inside = tuple(value_of(rng, x, nan) for x in tree[1:])
    return inside if tree[0] == "tuple" else {f"f{i}": x for i, x in enumerate(inside)}


def random_elements(rng, tree, count):
    """Oracle arrays that broadcast with each other, filled with elements of this tree."""
    ndim = rng.choice([1, 2, 2, 3])
    ragged = ndim > 1 and rng.random() < 0.6
    sizes = random_dims_space(rng, ndim, ragged, 4)
    space = space_tree(rng, sizes, 4)
    found = []
    for _ in range(count):
        array = cut_operand(rng, sizes, space, "int8", ragged)
        values = missing.map_leaves(lambda _: value_of(rng, tree), array.values, array.ndim)
        dims = array.dims
        if 0 in [size for _, size in dims] and not array.ragged:
            dims, values = (strided(2),), [value_of(rng, tree), value_of(rng, tree)]
        found.append(Array(dims, "element", values))
    return found


def make_elements(rng, array, text):
    kind = oracle.type_text(array.dims, text)
    access = rng.choice([None, "rw"])
    if array.dims[:1] and array.dims[0][0] == "strided" and array.values and rng.random() < 0.5:
        if rng.random() < 0.5:
            return nd.array(array.values[::-1], type=kind, access=access)[::-1]
        return nd.array([x for x in array.values for _ in range(2)], type=kind, access=access)[1::2]
    return nd.array(array.values, type=kind, access=access)


@settings(max_examples=2 * SOME)
@given(seeds, st.sampled_from(sorted(COMPARE)))
def test_random_elements_are_compared_as_python_compares_them(seed, name):
    rng = random.Random(seed)
    tree = unwrap(random_type(rng))
    arrays = random_elements(rng, tree, 2)
    try:
        dims, structure, columns = oracle.broadcast(name, arrays)
    except oracle.BroadcastError:
        a, b = (make_elements(rng, array, text_of(rng, tree)) for array in arrays)
        with pytest.raises(ValueError, match=f"^{name}: cannot broadcast"):
            COMPARE[name](a, b)
        return
    flat = [missing.compare(name, x, y) for x, y in zip(*columns)]
    a, b = (make_elements(rng, array, text_of(rng, tree)) for array in arrays)
    if tree[0] == "var":  # rows at the top are a dimension, not elements
        return
    found = COMPARE[name](a, b)
    assert found.tolist() == oracle.refill(structure, len(dims), flat)
    assert str(nd.type_of(found)).split(" * ")[-1] == ("?bool" if tree[0] == "option" else "bool")


@settings(max_examples=2 * SOME)
@given(seeds)
def test_random_elements_are_assigned(seed):
    """To other numbers and other orders of fields, by astype and into memory that is there, the source stretched."""
    rng = random.Random(seed)
    tree = unwrap(random_type(rng))
    if tree[0] == "var":
        tree = ("struct", tree)
    target, source = random_elements(rng, tree, 2)
    made = make_elements(rng, source, text_of(rng, tree))
    other = text_of(rng, tree, shuffled=True)
    if not source.ragged or source.dims[0] != VAR:
        assert same(made.astype(other).tolist(), source.values)
    destination = nd.array(target.values, type=oracle.type_text(target.dims, other), access="rw")
    if has_rows(tree):  # rows inside elements keep their lengths
        return
    try:
        plain = Array(target.dims, "bool", target.values)
        oracle.assign(plain, Array(source.dims, "bool", missing.map_leaves(lambda _: True, source.values, source.ndim)))
    except oracle.BroadcastError:
        with pytest.raises(ValueError, match="cannot broadcast"):
            destination[...] = made
        assert same(destination.tolist(), target.values)
        return
    destination[...] = made
    _, structure, columns = oracle.broadcast("assign", [target, source])
    expected = oracle.refill(structure, target.ndim, columns[1])
    assert same(destination.tolist(), expected)
    assert same(made.tolist(), source.values)


def has_rows(tree):
    return not isinstance(tree, str) and (tree[0] == "var" or any(has_rows(x) for x in tree[1:]))
