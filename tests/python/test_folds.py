"""nd.reduce, the left fold by any operation of two operands, and diff."""

import functools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from dynd import nd
from missing_oracle import puncture
from missing_support import draw_operands, make_missing
from oracle import Array, strided
from strategies import SOME, arrays, seeds
from support import bits, identical, make
from test_reductions import undecided

FOLDED = ["subtract", "bitwise_xor", "gcd", "maximum", "minimum", "add", "multiply", "bitwise_or"]


def leaf(name, a, b, scalar):
    """One application, by the library itself: what is tested here is the order, not the operation."""
    left, right = (nd.array(x, type=scalar) for x in (a, b))
    return getattr(nd, name)(left, right).tolist()


def folded_rows(value, axis):
    """Rows of leaves along the axis with the structure of what is left; UnequalRowsError as in reductions."""
    below = [size for _, size in value.dims[axis + 1 :]]

    def columns(nodes):
        if not nodes:
            return [[] for _ in range(int(np.prod(below)))]
        if not isinstance(nodes[0], list):
            return [nodes]
        if len({len(node) for node in nodes}) > 1:
            raise oracle.UnequalRowsError("")
        return [column for i in range(len(nodes[0])) for column in columns([node[i] for node in nodes])]

    def walk(node, depth):
        return columns(node) if depth == axis else [row for inner in node for row in walk(inner, depth + 1)]

    return walk(value.values, 0)


def replaced(nested, f):
    return [replaced(inner, f) for inner in nested] if isinstance(nested, list) else f(nested)


def flat(nested):
    return [x for inner in nested for x in flat(inner)] if isinstance(nested, list) else [nested]


@settings(max_examples=2 * SOME)
@given(st.booleans(), st.booleans(), st.sampled_from(FOLDED), st.sampled_from([None, 3]), seeds, st.data())
def test_folds_are_folds(ragged, gaps, name, identity, seed, data):
    rng = random.Random(seed)
    scalar = rng.choice(["int32", "int8", "uint16", "int64"])
    value = data.draw(arrays(ragged=ragged, scalars=[scalar], least_ndim=1))
    axis = data.draw(st.integers(0, value.ndim - 1))
    if undecided(value, axis):
        return
    value = puncture(rng, value, 0.3) if gaps else value
    array = make_missing(rng, value) if gaps else make(rng, value)
    call = functools.partial(nd.reduce, getattr(nd, name), array, axis=axis, identity=identity)
    try:
        rows = folded_rows(value, axis)
    except oracle.UnequalRowsError:
        with pytest.raises(ValueError, match="equally long"):
            call()
        return
    by_reduction = name in ("add", "minimum", "maximum", "multiply")
    if identity is None and not gaps and any(not row for row in rows):
        if not by_reduction:
            with pytest.raises(ValueError, match="^reduce: .* is empty, and .* of no elements needs identity=$"):
                call()
        return
    expected = []
    for row in rows:
        row = [x for x in row if x is not None]
        row = row if identity is None else [identity] + row
        expected.append(functools.reduce(lambda a, b: leaf(name, a, b, scalar), row) if row else None)
    found = call()
    if by_reduction and identity is None:  # what nothing is, is the reduction's to say
        assert [f for f, e in zip(flat(found.tolist()), expected) if e is not None] == [e for e in expected if e is not None]
    else:
        assert flat(found.tolist()) == expected
    assert str(found.type).split(" * ")[-1].lstrip("?") == scalar


@settings(max_examples=2 * SOME)
@given(st.booleans(), st.booleans(), st.sampled_from([None, 3]), seeds, st.data())
def test_a_fold_fails_where_one_of_its_steps_does(ragged, gaps, identity, seed, data):
    """In every layout and along every axis: a divisor of zero is no first value, and one that is not missing."""
    rng = random.Random(seed)
    value = data.draw(arrays(ragged=ragged, scalars=["int32", "uint16", "int64"], least_ndim=1))
    axis = data.draw(st.integers(0, value.ndim - 1))
    if undecided(value, axis):
        return
    zeros = data.draw(st.sampled_from([0.0, 0.02, 0.3]))
    value = Array(value.dims, value.scalar, replaced(value.values, lambda _: 0 if rng.random() < zeros else rng.choice([1, 2, 7])))
    value = puncture(rng, value, 0.3) if gaps else value
    array = make_missing(rng, value) if gaps else make(rng, value)
    try:
        rows = folded_rows(value, axis)
    except oracle.UnequalRowsError:
        return
    if identity is None and not gaps and any(not row for row in rows):
        return
    rows = [([] if identity is None else [identity]) + [x for x in row if x is not None] for row in rows]
    if any(0 in row[1:] for row in rows):
        with pytest.raises(ValueError, match="^floor_divide: integer division by zero"):
            nd.reduce(nd.floor_divide, array, axis=axis, identity=identity)
    else:
        expected = [functools.reduce(lambda a, b: a // b, row) if row else None for row in rows]
        assert flat(nd.reduce(nd.floor_divide, array, axis=axis, identity=identity).tolist()) == expected


@pytest.mark.parametrize("shape", [(3, 5), (5, 70), (70, 5), (3, 40, 6), (2, 3, 20_000)])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
def test_one_step_that_fails_among_many(dtype, shape):
    for order in range(len(shape)):
        for last in (False, True):
            x = np.ones(shape, dtype)
            place = tuple(n - 1 if last else n // 2 for n in shape)
            x[place] = 0
            axes = [(d + order) % len(shape) for d in range(len(shape))]
            view = nd.asarray(x.transpose(axes).copy().transpose(np.argsort(axes)))
            for axis in range(len(shape)):
                for identity in (None, 1):
                    with pytest.raises(ValueError, match="^floor_divide: integer division by zero"):
                        nd.reduce(nd.floor_divide, view, axis=axis, identity=identity)
                assert not np.any(np.asarray(nd.reduce(nd.multiply, view, axis=axis))[tuple(i for d, i in enumerate(place) if d != axis)])


@pytest.mark.parametrize("at", [5, 150_000, 299_999])
def test_a_step_that_fails_in_any_piece_of_a_long_row(at, threads):
    """Its pieces come one after another. What an early one fails with is not forgotten by the last one."""
    x = np.ones(300_000, "int64")
    x[at] = 0
    for operand in (nd.array(x), nd.array(np.repeat(x, 2))[::2], nd.array(x[None, :])[0]):
        for identity in (None, 1):
            with pytest.raises(ValueError, match=rf"^floor_divide: integer division by zero at index \({at},\)"):
                nd.reduce(nd.floor_divide, operand, identity=identity)


def test_examples():
    rows = nd.array([[10, 1, 2], [5]])
    assert nd.reduce(nd.subtract, rows, axis=1).tolist() == [7, 5]
    assert nd.reduce(nd.subtract, rows).tolist() == 10 - 1 - 2 - 5
    assert nd.reduce(nd.divide, [8, 2, 2]).tolist() == 2.0
    assert nd.reduce(nd.gcd, nd.array([[12, 18], [], [7]]), axis=1, identity=0).tolist() == [6, 0, 7]
    assert nd.reduce(nd.subtract, [[1, None], [None], []], axis=1).tolist() == [1, None, None]
    assert nd.reduce(nd.subtract, [[1, None, 2], [None]], axis=1, identity=10).tolist() == [7, 10]
    assert nd.reduce(nd.add, nd.array([100, 100], type="strided * int8")).tolist() == -56
    assert str(nd.reduce(nd.add, nd.array([1, 2], type="strided * int8")).type) == "int8"
    assert nd.reduce(nd.bitwise_or, [[True, False], [False, False]], axis=1).tolist() == [True, False]
    assert nd.reduce(nd.subtract, nd.array(5.0)).tolist() == 5.0
    assert nd.reduce(nd.minimum, [[3, 1], []], axis=1, identity=9).tolist() == [1, 9]


def test_long_folds():
    plain = np.random.default_rng(4).integers(-100, 100, (300, 70))
    a = nd.array(plain)
    for axis in (0, 1):
        expected = np.subtract.reduce(plain, axis=axis)
        assert np.array_equal(np.asarray(nd.reduce(nd.subtract, a, axis=axis)), expected)
        assert np.array_equal(np.asarray(nd.reduce(nd.subtract, a.T, axis=1 - axis)), expected)
    assert nd.reduce(nd.subtract, a).tolist() == plain[0, 0] - (plain.sum() - plain[0, 0])
    floats = nd.array(np.random.default_rng(5).standard_normal(100_000))
    assert nd.reduce(nd.add, floats).tolist() == nd.sum(floats).tolist()
    rows = nd.from_offsets(np.arange(0, 100_001, 7)[: 100_000 // 7], floats)
    nd.set_num_threads(3)
    threads = bits(nd.reduce(nd.subtract, rows * 2.0, axis=1))
    nd.set_num_threads(1)
    assert threads == bits(nd.reduce(nd.subtract, rows * 2.0, axis=1))


def test_logic_folds_bools():
    for name in ("logical_and", "logical_or", "logical_xor"):
        for values in ([True, True, True], [True, False, True, True], [False], [False, False]):
            wanted = bool(getattr(np, name).reduce(values))
            assert nd.reduce(getattr(nd, name), values).tolist() is wanted
            assert nd.reduce(getattr(nd, name), [values, values[:1]], axis=1).tolist() == [wanted, values[0]]
    assert nd.reduce(nd.logical_xor, [[True, None, True], []], axis=1, identity=True).tolist() == [True, True]
    with pytest.raises(TypeError, match="reduce: logical_xor of int32 gives bool, which it cannot go on with"):
        nd.reduce(nd.logical_xor, [1, 2])


@pytest.mark.parametrize("identity", [None, 1000])
@pytest.mark.parametrize("gaps", [False, True])
def test_ragged_rows_that_are_longer_than_a_batch(gaps, identity):
    """The running value goes on from batch to batch, wherever in the row they are cut."""
    rng = random.Random(8)
    rows = [[rng.randrange(-9, 9) for _ in range(length)] for length in (700, 3, 0, 255, 256, 257, 1, 1025, 30)]
    if gaps:
        rows = [[None if rng.random() < 0.3 else x for x in row] for row in rows]
    array = nd.array(rows if gaps or identity else [row for row in rows if row])
    rows = rows if gaps or identity else [row for row in rows if row]
    expected = []
    for row in rows:
        row = ([] if identity is None else [identity]) + [x for x in row if x is not None]
        expected.append(functools.reduce(lambda a, b: a - b, row) if row else None)
    assert nd.reduce(nd.subtract, array, axis=1, identity=identity).tolist() == expected


def test_numbers_behind_pointers():
    pointers = nd.array([[8, 3], [5]], type="strided * var * pointer[int32]")
    assert nd.reduce(nd.subtract, pointers, axis=1).tolist() == [5, 5]
    assert nd.reduce(nd.add, pointers, axis=1).tolist() == [11, 5]


@pytest.mark.parametrize("call, kind, text", [
    (lambda: nd.reduce(nd.negative, [1]), TypeError, "reduce: negative is no operation (T, T) -> T, but (T) -> T"),
    (lambda: nd.reduce(nd.where, [1]), TypeError, "reduce: where is no operation (T, T) -> T"),
    (lambda: nd.reduce(nd.less, [1, 2]), TypeError, "reduce: less of int32 gives bool, which it cannot go on with"),
    (lambda: nd.reduce(max, [1]), TypeError, "reduce: expected an operation of this module, as nd.add, or a callable, not <built-in"),
    (lambda: nd.reduce(nd.sum, [1]), TypeError, "reduce: expected an operation of this module"),
    (lambda: nd.reduce(nd.subtract, []), ValueError, "reduce: axis 0 is empty, and subtract of no elements needs identity="),
    (lambda: nd.reduce(nd.subtract, [[1], []], axis=1), ValueError, "reduce: row 1 is empty"),
    (lambda: nd.reduce(nd.subtract, [1], axis=3), IndexError, "reduce: axis 3 is out of bounds for 1 dimension(s)"),
    (lambda: nd.reduce(nd.add, [True]), TypeError, "bool is not a number"),
    (lambda: nd.reduce(nd.subtract, ["a"]), TypeError, "reduce: subtract: there is no such operation for elements of type string"),
    (lambda: nd.reduce(nd.floor_divide, [1, 0]), ValueError, "floor_divide: integer division by zero at index (1,)"),
    (lambda: nd.reduce(nd.subtract, [1, 2], identity="a"), ValueError, 'reduce: identity: cannot cast string "a" to int32'),
    (lambda: nd.reduce(nd.subtract, [1, 2], identity=2.5), ValueError, "reduce: identity: fractional part lost"),
    (lambda: nd.reduce(nd.subtract, [1, 2], identity=[1, 2]), TypeError, "reduce: identity must be one value"),
    (lambda: nd.reduce(nd.subtract), TypeError, "reduce: missing argument 'a'"),
    (lambda: nd.diff([1, 2], n=-1), ValueError, "diff: n must not be negative, got -1"),
    (lambda: nd.diff(nd.array(1)), IndexError, "diff: axis -1 is out of bounds for 0 dimension(s)"),
    (lambda: nd.diff([[1], [2, 3]], axis=0), ValueError, "diff: rows along axis 0 must be equally long"),
    (lambda: nd.diff([1], axis=0.5), TypeError, "diff: axis must be an integer or None, not float"),
])
def test_errors(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


# ---- diff


@settings(max_examples=SOME)
@given(arrays(ragged=False, scalars=oracle.NUMBERS), st.integers(0, 3), seeds, st.data())
def test_diff_is_numpys(value, n, seed, data):
    if value.ndim == 0:
        return
    axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
    with np.errstate(all="ignore"):
        expected = np.diff(value.numpy(), n=n, axis=axis)
    found = nd.diff(make(random.Random(seed), value), n=n, axis=axis)
    assert found.shape == expected.shape and bits(found) == bits(nd.array(expected))


@settings(max_examples=SOME)
@given(arrays(scalars=["int32", "float64"], finite=True, least_ndim=2), st.integers(0, 3), seeds, st.data())
def test_diff_of_rows(value, n, seed, data):
    axis = data.draw(st.integers(0, value.ndim - 1))
    if undecided(value, axis):
        return
    array = make(random.Random(seed), value)

    def minus(a, b):
        if not isinstance(a, list):
            return (np.dtype(value.scalar).type(a) - np.dtype(value.scalar).type(b)).item()
        if len(a) != len(b):
            raise oracle.UnequalRowsError("")
        return [minus(x, y) for x, y in zip(a, b)]

    def along(node, depth):
        if depth < axis:
            return [along(inner, depth + 1) for inner in node]
        for _ in range(n):
            node = [minus(after, before) for before, after in zip(node, node[1:])]
        return node

    try:
        with np.errstate(all="ignore"):
            expected = along(value.values, 0)
    except oracle.UnequalRowsError:
        with pytest.raises(ValueError, match="^diff: rows along axis"):
            nd.diff(array, n=n, axis=axis)
        return
    lone = any(len(node) <= 1 for node in oracle.leaves(value.values, axis))
    try:
        found = nd.diff(array, n=n, axis=axis)
    except ValueError as error:  # unequal rows that no difference meets
        assert "equally long" in str(error) and axis + 1 < value.ndim
        return
    if not (lone and axis + 1 < value.ndim):
        assert identical(found.tolist(), expected)


def test_diff_examples():
    assert nd.diff([[1, 4, 9], [], [5], [2, 3]]).tolist() == [[3, 5], [], [], [1]]
    assert nd.diff([1, None, 4, 6]).tolist() == [None, None, 2]
    assert nd.diff([[1, 2], [4, 8]], axis=0).tolist() == [[3, 6]]
    assert nd.diff([[[1, 2], [3]], [[5, 9], [4]]], axis=0).tolist() == [[[4, 7], [1]]]
    assert nd.diff([1, 4, 9, 16], n=2).tolist() == [2, 2]
    assert nd.diff([[1], [2, 4]], n=5).tolist() == [[], []]


# ---- any callable ----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def minus():
    return nd.callable(lambda x, y: 2 * x - y, "(float64, float64) -> float64", name="minus")


def left_fold(f, values, start=None):
    for value in values:
        start = value if start is None else f(start, value)
    return start


def test_any_callable_folds(minus):
    rows = [[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]]
    f = lambda x, y: 2 * x - y
    assert nd.reduce(minus, rows, axis=1).tolist() == [left_fold(f, row) for row in rows]
    assert nd.reduce(minus, rows, axis=-1, identity=10).tolist() == [left_fold(f, row, 10.0) for row in rows]
    assert nd.reduce(minus, rows).tolist() == left_fold(f, sum(rows, []))
    dense = np.arange(24.0).reshape(2, 3, 4)
    for axis in range(3):
        expected = np.apply_along_axis(lambda row: left_fold(f, row.tolist()), axis, dense)
        assert nd.reduce(minus, dense, axis=axis).tolist() == expected.tolist()
    assert nd.reduce(minus, [[], [1.0]], axis=1, identity=0).tolist() == [0.0, -1.0]
    assert nd.reduce(minus, [1, 2]).tolist() == 0.0                      # integers are converted
    hypot = nd.from_c("double hypot(double, double)", "libm.so.6")
    assert nd.reduce(hypot, [[3.0, 4.0], [5.0]], axis=1).tolist() == [5.0, 5.0]
    assert nd.reduce(nd.from_ufunc(np.bitwise_xor), nd.array([[5, 3], [7]], type="strided * var * int64"), axis=1).tolist() == [6, 7]
    assert nd.reduce(minus, nd.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]], type="strided * var * 2 * float64"), axis=2).tolist() == [[0.0, 2.0], [4.0]]


def test_what_cannot_fold(minus):
    with pytest.raises(ValueError, match=r"reduce: minus: a row is empty, and there is no identity at index \(1,\)"):
        nd.reduce(minus, [[1.0], []], axis=1)
    with pytest.raises(TypeError, match="has to take two numbers and give one of the first one's type"):
        nd.reduce(nd.callable(lambda x, y: x < y, "(float64, float64) -> bool"), [1.0, 2.0])
    with pytest.raises(TypeError, match="takes 1 operand, not 2"):
        nd.reduce(nd.callable(lambda x: x, "(float64) -> float64"), [1.0])
    with pytest.raises(IndexError, match="axis 3 is out of bounds"):
        nd.reduce(minus, [1.0], axis=3)
    with pytest.raises(TypeError, match=r"minus: operand 0 has elements of type string; it takes \(float64, float64\) -> float64"):
        nd.reduce(minus, ["a"])
    with pytest.raises(ZeroDivisionError):
        nd.reduce(nd.callable(lambda x, y: x // y, "(int64, int64) -> int64"), [[1, 2], [3, 0]], axis=1)


@pytest.mark.parametrize("values, axis, expected", [
    ([10, None, 3], None, 7), ([None, 10, 3], None, 7), ([[10, None], [None, 3]], None, 7), ([[9, None, 1], [5, 2, None]], 1, [8, 3]),
    ([[9, None, 1], [5, 2, None]], 0, [4, 2, 1]), ([[None, 4], [7, None, 2, 1]], 1, [4, 4])])
def test_missing_elements_are_left_out_by_any_callable(values, axis, expected):
    own = nd.callable(lambda x, y: x - y, "(int32, int32) -> int32")
    assert nd.reduce(own, values, axis=axis).tolist() == nd.reduce(nd.subtract, values, axis=axis).tolist() == expected


def test_rows_of_nothing_but_missing_elements():
    own = nd.callable(lambda x, y: x - y, "(int32, int32) -> int32")
    rows = nd.array([[None, None], [5, None]], type="?int32")
    assert nd.reduce(own, rows, axis=1, identity=1).tolist() == [1, -4]
    with pytest.raises(ValueError, match="a row is empty, and there is no identity"):
        nd.reduce(own, rows, axis=1)


PAIR = "{x: int64, y: float64}"


def mixed(a, b):
    return {"x": a["x"] * 2 + b["x"], "y": a["y"] - b["y"]}


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=5), max_size=6))
@settings(max_examples=60, deadline=None)
def test_structs_are_folded_by_a_callable(values):
    """By position, whatever the rows' lengths are; of rows without elements it is the identity."""
    f = nd.callable(lambda a, b: tuple(mixed(dict(zip("xy", a)), dict(zip("xy", b))).values()), f"({PAIR}, {PAIR}) -> {PAIR}", name="mixed")
    rows = [[{"x": x, "y": float(y)} for x, y in row] for row in values]
    one = {"x": 3, "y": 0.5}
    identity = nd.array(one, type=PAIR)
    a = nd.array(rows, type=f"strided * var * {PAIR}")
    assert nd.reduce(f, a, axis=1, identity=identity).tolist() == [functools.reduce(mixed, row, one) for row in rows]
    assert nd.reduce(f, a, identity=identity).tolist() == functools.reduce(mixed, sum(rows, []), one)
    there = [row for row in rows if row]
    assert nd.reduce(f, nd.array(there, type=f"strided * var * {PAIR}"), axis=1).tolist() == [functools.reduce(mixed, r) for r in there]
    if len(there) < len(rows):
        with pytest.raises(ValueError, match=f"reduce: mixed: row {rows.index([])} is empty, and there is no identity"):
            nd.reduce(f, a, axis=1)


def test_structs_along_any_axis_and_by_overloads_of_operations():
    kind = "{folded_re: int16, folded_im: int16}"
    nd.add.add(lambda a, b: (a[0] + b[0], a[1] + b[1]), f"({kind}, {kind}) -> {kind}")
    a = nd.array([[(1, 2), (3, 4), (5, 6)], [(10, 20), (30, 40), (50, 60)]], type=f"2 * 3 * {kind}")
    assert [tuple(s.values()) for s in nd.reduce(nd.add, a, axis=0).tolist()] == [(11, 22), (33, 44), (55, 66)]
    assert [tuple(s.values()) for s in nd.reduce(nd.add, a, axis=1).tolist()] == [(9, 12), (90, 120)]
    missing = nd.array([(1, 2), None, (3, 4)], type=f"3 * ?{kind}")
    assert tuple(nd.reduce(nd.add, missing).tolist().values()) == (4, 6)
    with pytest.raises(TypeError, match="subtract: there is no such operation for elements of type"):
        nd.reduce(nd.subtract, a)
    wrong = nd.callable(lambda a, b: a[0], f"({kind}, {kind}) -> int16", name="wrong")
    with pytest.raises(TypeError, match="reduce: wrong has to give what it takes first, .*, not int16"):
        nd.reduce(wrong, a)


def test_a_failure_names_the_element():
    def at(a, axis, **keywords):
        with pytest.raises(ValueError, match="^floor_divide: integer division by zero at index ") as caught:
            nd.reduce(nd.floor_divide, a, axis=axis, **keywords)
        return eval(str(caught.value).split(" at index ")[1])

    full = np.full((2, 3, 4), 7)
    full[1, 2, 1] = 0
    for axis in (0, 1, 2, -1):
        for layout in (full, np.asfortranarray(full), full[:, ::-1].copy()[:, ::-1], full.astype(">i8")):
            assert at(layout, axis) == (1, 2, 1)
    assert at(nd.array(full)[:, 2:], 0) == (1, 0, 1)
    long = np.full(100_000, 1)
    long[70_001] = 0
    assert at(long, 0) == (70_001,) and at([[5], list(long)], 1) == (1, 70_001)
    rows = nd.array([[8, 2], [], [3, 0, 1]])
    assert at(rows, 1, identity=5) == (2, 1) and at(rows[1:], 1, identity=5) == (1, 1) and at(rows[:, ::-1], 1, identity=5) == (2, 1)
    assert at(nd.array([[[8], [2, 4]], [[3], [1, 0]]]), 0) == (1, 1, 1)
    assert at(nd.array([[[8], [2, 4]], [[3], [0, 1]]]), 0) == (1, 1, 0)
    assert at(nd.array([[[8], [5]], [[3], [0]], [[2], [1]]]), 0) == (1, 1, 0)
    assert at(nd.array([8, 2, None, 0]), 0, identity=100) == (3,)
    assert at(nd.array([[8, None, 0], [0, 3]]), 1) == (0, 2)
    lazy = nd.array(np.full((100, 200), 3)) + nd.array(np.where(np.arange(200) == 150, -3, 0))
    assert at(lazy, 1) == (0, 150) and at(lazy, 0) == (1, 150)
    with pytest.raises(ValueError, match=r"^bitwise_left_shift: negative shift count at index \(0, 1\)"):
        nd.reduce(nd.bitwise_left_shift, [[1, -1], [3]], axis=1)


@pytest.mark.parametrize("part", [np.s_[1:], np.s_[:, 1:], np.s_[1:, ::-1], np.s_[::2], np.s_[:0]])
def test_a_fold_over_everything_takes_the_elements_of_a_part(part):
    whole = [[40, 9], [5], [], [3, 8, 1], [2]]
    a = nd.array(whole)[part]
    flat = [x for row in a.tolist() for x in row]
    assert nd.reduce(nd.subtract, a, identity=7).tolist() == 7 - sum(flat)
    assert nd.reduce(nd.add, a, identity=1).tolist() == 1 + sum(flat)
    holes = nd.array([[None, *row] for row in whole])[part]
    there = [x for row in holes.tolist() for x in row if x is not None]
    assert nd.reduce(nd.subtract, holes, identity=7).tolist() == 7 - sum(there)


def test_a_fold_over_everything_of_elements_that_are_no_numbers():
    words = nd.array([[{"x": 1, "s": "a"}], [], [{"x": 2, "s": "b" * 30}, None]])
    for a in (words, words[1:], words[:, :1], nd.fill_missing(words, {"x": 0, "s": ""}), nd.array([["ab", "c"], []])):
        with pytest.raises(TypeError, match="^(reduce: )?subtract: there is no such operation"):
            nd.reduce(nd.subtract, a)
