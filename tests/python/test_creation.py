"""zeros, ones, full, empty, their _like forms, arange and linspace: NumPy's values and bits, and rows that are kept."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from dynd import nd, ndt
from strategies import SOME, arrays, seeds
from support import bits, identical, make

SHAPES = [0, 3, (), (2,), (2, 3), (0, 4), (3, 0), (2, 1, 4), (300, 400), 70_000]


def as_numpy(a):
    return np.asarray(a)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scalar", [*oracle.SCALARS])
def test_constants(shape, scalar):
    for name in ("zeros", "ones"):
        expected = getattr(np, name)(shape, scalar)
        for access in (None, "immutable", "rw"):
            found = getattr(nd, name)(shape, scalar, access=access)
            assert found.access == ("readwrite" if access == "rw" else "immutable")
            assert found.shape == expected.shape and as_numpy(found).dtype == expected.dtype
            assert np.array_equal(as_numpy(found), expected)
            assert str(found.type) == "strided * " * expected.ndim + scalar
    assert np.array_equal(as_numpy(nd.full(shape, 1, dtype=scalar)), np.full(shape, 1, scalar))


@pytest.mark.parametrize("value, scalar", [(True, "bool"), (7, "int64"), (2.5, "float64"), (1 + 2j, "complex128")])
def test_full_takes_its_type_from_the_value(value, scalar):
    for shape in (3, 50_000):
        found = nd.full(shape, value)
        assert str(found.type) == f"strided * {scalar}" and found[1].tolist() == value
        assert np.array_equal(as_numpy(found), np.full(shape, value))
    assert nd.full(2, nd.array(3.5)).tolist() == [3.5, 3.5]
    for one, type in (("ab", "string"), (b"ab", "bytes"), (np.float32(2.5), "float32"), (nd.array(7, type="int8"), "int8"),
                      ({"x": 1, "y": "a"}, "{x: int32, y: string}")):
        made = nd.full((2, 1), one)
        assert str(made.dtype) == type and made.tolist() == [[getattr(one, "tolist", lambda: one)()]] * 2
    assert nd.full((2, 2), [1.5, 2.5]).tolist() == [[1.5, 2.5], [1.5, 2.5]]


def test_types_with_sizes():
    assert str(nd.zeros("3 * 4 * float64").type) == "3 * 4 * float64"
    assert nd.ones("2 * 2 * int8").tolist() == [[1, 1], [1, 1]]
    assert nd.full("2 * string", "ab").tolist() == ["ab", "ab"]
    assert nd.full(2, None, "?float64").tolist() == [None, None]
    assert nd.zeros(2, "?int32").tolist() == [0, 0]
    assert nd.zeros("2 * var * int32").tolist() == [[], []]
    assert nd.full(2, {"x": 1, "y": 2.5}, "{x: int32, y: float64}").tolist() == [{"x": 1, "y": 2.5}] * 2
    assert nd.empty("2 * 3 * int32").shape == (2, 3) and nd.empty((2, 3), "int16").access == "readwrite"
    assert nd.empty(type="4 * int32").shape == (4,)
    assert str(nd.empty(5).type) == "strided * float64"
    for dtype in (np.float32, np.dtype("float32"), "float32"):
        assert str(nd.zeros(2, dtype=dtype).type) == "strided * float32"
    for dtype, scalar in ((float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128")):
        assert str(nd.ones(2, dtype=dtype).type) == f"strided * {scalar}"


def test_large_constants_hold_one_value_and_are_operands_like_any_other():
    z = nd.full((1000, 1000), 2.5)
    assert as_numpy(z).strides == (0, 0)
    plain = np.random.default_rng(1).standard_normal((1000, 1000))
    a = nd.array(plain)
    assert np.array_equal(as_numpy(a * z + nd.ones((1000, 1000))), plain * 2.5 + 1)
    assert nd.sum(z).tolist() == 2.5e6 and z.T.shape == (1000, 1000)
    assert np.array_equal(as_numpy(nd.cumulative_sum(z, axis=0)), np.cumsum(np.full((1000, 1000), 2.5), axis=0))
    w = nd.zeros(30_000, access="rw")
    w[5] = 1.0
    assert w[:8].tolist() == [0, 0, 0, 0, 0, 1, 0, 0] and nd.zeros(30_000)[5].tolist() == 0
    with pytest.raises(TypeError, match="immutable"):
        nd.zeros(30_000)[5] = 1.0
    assert nd.zeros(10**12).shape == (10**12,)  # takes no memory


@settings(max_examples=SOME)
@given(st.one_of(arrays(scalars=oracle.SCALARS), arrays(ragged=False, scalars=oracle.SCALARS)), seeds)
def test_like_keeps_shapes_and_rows(value, seed):
    array = make(random.Random(seed), value)

    def filled(node, x):
        return [filled(inner, x) for inner in node] if isinstance(node, list) else x

    one = oracle.Array((), value.scalar, 1).numpy().item()
    for call, x in ((nd.zeros_like, type(one)(0)), (nd.ones_like, one), (lambda a, **k: nd.full_like(a, 1, **k), one)):
        for access in (None, "rw"):
            found = call(array, access=access)
            assert identical(found.tolist(), filled(value.values, x)) and str(found.type) == value.type_text
            assert found.access == ("readwrite" if access else "immutable")
        assert call(array, dtype="float32").tolist() == filled(value.values, float(x.real))
    found = nd.empty_like(array)
    assert found.access == "readwrite" and str(found.type) == value.type_text and found.shape == array.shape


def test_like_reads_no_values():
    rows = nd.from_offsets(np.arange(0, 50_001, 5), nd.array(np.arange(50_000.0)))
    lazy = rows * 2.0
    text = str(nd.explain(lambda: nd.zeros_like(lazy)))
    assert "multiply" not in text
    written = nd.empty_like(rows)
    written[0] = [1.0, 2.0, 3.0, 4.0, 5.0]
    written[1] = [7.0]  # a row may get another length
    assert written[0].tolist() == [1, 2, 3, 4, 5] and rows[0].tolist() == [0, 1, 2, 3, 4]
    assert nd.full_like(nd.array(["a", "b"]), "xy").tolist() == ["xy", "xy"]
    assert nd.full_like(nd.array([["a"], []]), "xy").tolist() == [["xy"], []]


# ---- ranges


numbers = st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3)))


@settings(max_examples=3 * SOME)
@given(numbers, numbers, numbers, st.sampled_from([None, "float64", "float32", "float16", "complex64"]))
def test_arange_has_numpys_bits(start, stop, step, dtype):
    if step == 0 or abs((stop - start) / step) > 5000:
        return
    with np.errstate(all="ignore"):
        expected = np.arange(start, stop, step, dtype)
    found = nd.arange(start, stop, step, dtype=dtype)
    assert str(found.type) == f"strided * {expected.dtype}" and found.shape == expected.shape
    assert bits(found) == bits(nd.array(expected))


@settings(max_examples=SOME)
@given(st.integers(-120, 120), st.integers(-120, 120), st.integers(-9, 9), st.sampled_from(oracle.INTEGERS))
def test_arange_of_integers(start, stop, step, dtype):
    values = list(range(start, stop, step)) if step else []
    call = lambda: nd.arange(start, stop, step, dtype=dtype)  # noqa: E731
    if step == 0:
        with pytest.raises(ValueError, match="^arange: step must not be 0$"):
            call()
    elif any(x < np.iinfo(dtype).min or x > np.iinfo(dtype).max for x in values):
        with pytest.raises(OverflowError, match=f"^arange: .* do not fit {dtype}$"):
            call()
    else:
        assert call().tolist() == values and str(call().type) == f"strided * {dtype}"


def test_arange_forms():
    assert nd.arange(4).tolist() == [0, 1, 2, 3] and str(nd.arange(4).type) == "strided * int64"
    assert nd.arange(2.5).tolist() == [0.0, 1.0, 2.0]
    assert nd.arange(1, 4).tolist() == [1, 2, 3] and nd.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert nd.arange(start=1, stop=2, step=0.5).tolist() == [1.0, 1.5]
    assert nd.arange(np.int32(3)).tolist() == [0, 1, 2]
    assert nd.arange(5.0, dtype="int32").tolist() == [0, 1, 2, 3, 4]
    assert nd.arange(3, dtype="float32").tolist() == [0.0, 1.0, 2.0]
    assert nd.arange(2**63 - 3, 2**63 - 1).tolist() == [2**63 - 3, 2**63 - 2]
    assert nd.arange(-(2**63), 2**63 - 1, 2**63 - 1).tolist() == [-(2**63), -1, 2**63 - 2]
    for n in (1000, 100_000):
        assert np.array_equal(as_numpy(nd.arange(0.0, n, 0.1)), np.arange(0.0, n, 0.1))
    w = nd.arange(3, access="rw")
    w += 1
    assert w.tolist() == [1, 2, 3]


@settings(max_examples=2 * SOME)
@given(numbers, numbers, st.integers(0, 60), st.booleans(),
       st.sampled_from([None, "float32", "float16", "int32", "complex128"]))
def test_linspace_has_numpys_bits(start, stop, num, endpoint, dtype):
    with np.errstate(all="ignore"):
        expected = np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    found = nd.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    assert str(found.type) == f"strided * {expected.dtype}" and bits(found) == bits(nd.array(expected))


def test_linspace_edges():
    for start, stop, num in [(0, 5e-324, 3), (1, 1, 4), (0, 1, 1), (3, -3, 7), (0.1, 0.9, 100_000)]:
        assert np.array_equal(as_numpy(nd.linspace(start, stop, num)), np.linspace(start, stop, num))
    assert nd.linspace(0, 1, num=3).tolist() == [0.0, 0.5, 1.0]
    for start, stop in [(0, 1j), (1 + 2j, 3.5 - 7j), (np.complex128(1j), 0.25), (2j, 2j)]:
        for num, endpoint in [(7, True), (7, False), (1, True), (0, True), (50_000, True)]:
            expected = np.linspace(start, stop, num, endpoint=endpoint)
            found = nd.linspace(start, stop, num, endpoint=endpoint)
            assert np.array_equal(as_numpy(found), expected) and str(found.type) == "strided * complex128"
    assert str(nd.linspace(0, 1j, 3, dtype="complex64").type) == "strided * complex64"


# ---- errors


@pytest.mark.parametrize("call, kind, text", [
    (lambda: nd.zeros(-1), ValueError, "zeros: a size must not be negative, got -1"),
    (lambda: nd.ones((2, -3)), ValueError, "ones: a size must not be negative, got -3"),
    (lambda: nd.zeros(2.5), TypeError, "zeros: shape must be an integer, a tuple of them or datashape text, not float"),
    (lambda: nd.zeros((2, "3")), TypeError, "zeros: a size must be an integer, not str"),
    (lambda: nd.zeros(2**62), MemoryError, "too large"),
    (lambda: nd.full((2**40, 2**40), 1.0), MemoryError, "too large"),
    (lambda: nd.empty((2**40, 2**40)), MemoryError, "too large"),
    (lambda: nd.empty(2**70), MemoryError, "too large"),
    (lambda: nd.zeros((1,) * 100), ValueError, "zeros: an array has at most"),
    (lambda: nd.zeros("3 * int32", "float64"), TypeError, "zeros: the type is given twice"),
    (lambda: nd.zeros(3, "int32", dtype="int32"), TypeError, "zeros: type= and dtype= are the same, give one of them"),
    (lambda: nd.zeros(3, 5), TypeError, "zeros: type must be datashape text, an ndt.type or a dtype, not int"),
    (lambda: nd.zeros(3, access="write"), ValueError, "zeros: access must be"),
    (lambda: nd.zeros(3, access=1), TypeError, "zeros: access must be text, not int"),
    (lambda: nd.zeros(), TypeError, "expected a type"),
    (lambda: nd.zeros("strided * float64"), TypeError, "full: expected a type with the size of every dimension"),
    (lambda: nd.full("3 * strided * int8", 1), TypeError, "full: expected a type with the size of every dimension"),
    (lambda: nd.zeros((2,), "strided * float64"), TypeError, "zeros: expected elements with the size of every dimension"),
    (lambda: nd.empty(2, "3 * strided * float64"), TypeError, "empty: expected elements with the size of every dimension"),
    (lambda: nd.full_like([1, 2], 3, dtype="strided * int32"), TypeError, "full_like: expected elements with the size"),
    (lambda: nd.full_like([[1], []], 3, dtype="strided * int32"), TypeError, "expected elements with the size"),
    (lambda: nd.empty_like([[1], []], dtype="2 * strided * int32"), TypeError, "empty_like: expected elements with the size"),
    (lambda: nd.zeros((1,) * 30, "1 * 1 * 1 * int32"), ValueError, "more than 32 dimensions"),
    (lambda: nd.full(3), TypeError, "full: missing argument 'fill_value'"),
    (lambda: nd.full(3, 1.5, "int32"), ValueError, "1.5"),
    (lambda: nd.full(3, 300, "int8"), OverflowError, "300"),
    (lambda: nd.zeros(3, shape=3), TypeError, "zeros: repeated keyword argument 'shape'"),
    (lambda: nd.arange(0, 1, 0), ValueError, "arange: step must not be 0"),
    (lambda: nd.arange(0, 1, 0.0), ValueError, "arange: step must not be 0"),
    (lambda: nd.arange(0, float("nan")), ValueError, "arange: how many elements there are is not a number"),
    (lambda: nd.arange(0, float("inf")), MemoryError, "arange: inf elements are too many"),
    (lambda: nd.arange(0, 1e300), MemoryError, "elements are too many"),
    (lambda: nd.arange(-(2**63), 2**63 - 1), MemoryError, "elements are too many"),
    (lambda: nd.arange(2**61), MemoryError, "too large"),
    (lambda: nd.arange(2**64), OverflowError, "arange: stop 18446744073709551616 does not fit int64"),
    (lambda: nd.arange("3"), TypeError, "arange: stop must be a number, not str"),
    (lambda: nd.arange(3, dtype="bool"), TypeError, "arange: bool is not a number"),
    (lambda: nd.arange(3, dtype="string"), TypeError, "arange: the type must be a number's, not string"),
    (lambda: nd.arange(0, 2, 0.5, dtype="int32"), ValueError, "arange: an integer type needs integers, got 0.5"),
    (lambda: nd.linspace(0, 1, -1), ValueError, "linspace: the number of values must not be negative, got -1"),
    (lambda: nd.linspace(0, 1, 2**61), MemoryError, "too large"),
    (lambda: nd.linspace(0, "a", 2), TypeError, "linspace: stop must be a number, not str"),
    (lambda: nd.linspace(0, 1000, 3, type="int8"), OverflowError, "linspace: the values: "),
    (lambda: nd.arange(0, 1e300, 1, access="x"), MemoryError, "arange: 1e+300 elements are too many"),
    (lambda: nd.arange(1e300, 2e300, 1e300, dtype="int64"), ValueError, "arange: an integer type needs integers, got 1e+300"),
    (lambda: nd.linspace(0, 1, access="x"), ValueError, "linspace: access must be 'immutable'"),
    (lambda: nd.linspace(0, 1j, 2, dtype="float64"), TypeError, "linspace: complex numbers are no float64"),
])
def test_errors(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_help_is_right():
    """The examples in the documentation are what they show."""
    for name in ("zeros", "zeros_like", "arange", "linspace", "empty", "reduce"):
        lines = getattr(nd, name).__doc__.splitlines()
        scope = {"nd": nd}
        for line, after in itertools.zip_longest(lines, lines[1:]):
            if line.startswith(">>> ") and "=" in line.split("(")[0]:
                exec(line[4:], scope)
            elif line.startswith(">>> ") and after and not after.startswith(">>>"):
                assert repr(eval(line[4:], scope)) == after
            elif line.startswith(">>> a["):
                exec(line[4:], scope)


def test_ranges_that_span_all_of_int64():
    assert nd.arange(-(2**63), 2**63 - 1, 2**62).tolist() == [-(2**63), -(2**62), 0, 2**62]
    assert nd.arange(2**63 - 1, -(2**63), -(2**62), dtype="float64").tolist()[:2] == [2.0**63, 2.0**62]


@pytest.mark.parametrize("access", ["readonly", "readwrite"])
def test_access_of_all_that_is_made(access):
    ragged, missing = nd.array([[1], [2, 3]]), nd.array([[1], None], type="strided * ?var * int32")
    made = [nd.arange(3, access=access), nd.linspace(0, 1, 2, access=access), nd.zeros(3, access=access)]
    made += [nd.zeros_like(a, dtype=t, access=access) for a in (ragged, missing) for t in ("int32", "float64")]
    made += [nd.full_like(ragged, "ab", dtype="string", access=access), nd.empty_like(ragged, dtype="?int8", access=access)]
    assert {a.access for a in made} == {access}
    if access == "readwrite":
        made[0][1], made[3][1, 0], made[7][1, 1] = 7, 8, "text"
        assert made[0].tolist() == [0, 7, 2] and made[3].tolist() == [[0], [8, 0]]
        assert made[7].tolist() == [["ab"], ["ab", "text"]] and ragged.tolist() == [[1], [2, 3]]


def test_completion_offers_no_modules():
    offered = dir(nd)
    assert {"sum", "array", "from_c", "groupby", "sort"} <= set(offered)
    assert not {"os", "builtins", "keyword"} & set(offered)


@pytest.mark.parametrize("dtype", ["string", "?string", "bytes", "{x: int32}", "{x: int32, y: string}", "(int8, ?float64)"])
def test_ragged_like_of_elements_that_are_no_numbers(dtype):
    """The rows are those of the array, its values are not."""
    like = nd.array([[1], [], [2, 3]])
    empty = nd.empty_like(like, dtype=dtype)
    assert str(empty.dtype) == str(nd.empty(1, dtype).dtype) and nd.num(empty).tolist() == [1, 0, 2]
    assert empty.tolist() == [nd.empty(n, dtype).tolist() for n in (1, 0, 2)]


def test_ragged_like_of_structs_and_texts():
    like = nd.array([[1], [2, 3]])
    assert nd.full_like(like, nd.array((5,), type="{x: int32}"), dtype="{x: int32}").tolist() == nd.zip({"x": [[5], [5, 5]]}).tolist()
    assert nd.full_like(like, "ab", dtype="string").tolist() == [["ab"], ["ab", "ab"]]


def test_exceptions_of_a_numbers_own_come_through():
    """Only what is no number at all is said to be none."""
    class Odd:
        def __float__(self):
            raise KeyError("its own")
    for call in (lambda x: nd.linspace(0, x), lambda x: nd.std([1.0, 2.0], correction=x)):
        with pytest.raises(KeyError, match="its own"):
            call(Odd())
        with pytest.raises(OverflowError):
            call(10 ** 400)
        with pytest.raises(TypeError, match="number, not str"):
            call("a")


def test_dtypes_that_have_fields():
    record = np.dtype([("a", "i4"), ("b", "f8", (2,)), ("s", "U3")])
    assert str(nd.empty(3, dtype=record).type) == str(nd.array(np.zeros(3, record)).type)
    assert str(nd.empty(2, dtype=np.dtype([("a", "i4")])).type) == "strided * {a: int32}"
    assert str(nd.zeros(2, dtype=np.dtype(">f4")).type) == "strided * float32"
    with pytest.raises(TypeError, match="no type for elements of NumPy's dtype"):
        nd.zeros(2, dtype=np.dtype("M8[s]"))


@pytest.mark.parametrize("scalar", ["float64", "int16", "bool"])
def test_like_ragged_rows_whatever_their_layout(scalar):
    """Rows that follow each other keep their offsets; others are made."""
    rows = [[1, 2], [], [3, 4, 5], [6]]
    a = nd.array([[[1, 2], [3]], [], [[4, 5, 6], []]])
    one = True if scalar == "bool" else 3
    for array, lists in [(nd.array(rows), rows), (nd.array(rows)[::-1], rows[::-1]), (nd.array(rows)[1:], rows[1:]),
                         (nd.array(rows)[:, :1], [row[:1] for row in rows]), (nd.array(rows, access="rw"), rows)]:
        for access in ("immutable", "rw"):
            made = nd.full_like(array, one, dtype=scalar, access=access)
            assert made.tolist() == [[one] * len(row) for row in lists]
            assert made.dtype == ndt.type(scalar) and made.access == {"rw": "readwrite"}.get(access, access)
    assert nd.zeros_like(a).tolist() == [[[0, 0], [0]], [], [[0, 0, 0], []]]
    written = nd.full_like(nd.array(rows), one, access="rw")
    written[0] = [7, 8]
    assert nd.full_like(nd.array(rows), one).tolist()[0] == [one, one] and written.tolist()[1:] == [[], [one] * 3, [one]]


@pytest.mark.parametrize("value, kind", [(300, OverflowError), (2.5, ValueError), ("x", (TypeError, ValueError))])
@pytest.mark.parametrize("dtype", ["int8", "?int8", "byteswap[int16]", "2 * int8", "var * int8"])
def test_a_value_that_does_not_fit_is_refused_without_elements_too(dtype, value, kind):
    if value == 300 and dtype == "byteswap[int16]":
        value = 10**6
    empty = [nd.zeros(0, "int64"), nd.array([[], []], type="2 * var * int64"), nd.array([[]], type="var * 0 * int64"),
             nd.array([[True]], type="var * 1 * bool")[..., 1:], nd.array([], type="strided * ?var * int8")]
    calls = [lambda: nd.full(0, value, dtype), lambda: nd.full((2, 0), value, dtype), *(lambda like=like: nd.full_like(like, value, dtype) for like in empty)]
    for call in calls:
        with pytest.raises(kind):
            call()


def test_structs_of_zeros_and_ones():
    element = "{x: int32, y: ?float64, z: {c: complex64, b: bool}, m: 2 * int8, s: string, r: var * int8}"
    for made, one in ((nd.zeros(2, element), 0), (nd.ones(2, element), 1), (nd.full(2, 1, element), 1), (nd.zeros_like(nd.ones(2, element)), 0)):
        wanted = {"x": one, "y": float(one), "z": {"c": complex(one), "b": bool(one)}, "m": [one] * 2, "s": "", "r": []}
        assert made.tolist() == [wanted] * 2 and made.access == "immutable"
    record = np.dtype([("a", "i4"), ("b", "f8", (2,)), ("c", ">i2")])
    assert nd.zeros((2, 1), dtype=record).tolist() == [[{"a": 0, "b": [0.0, 0.0], "c": 0}]] * 2
    assert nd.zeros_like(nd.array([[{"x": 5}], [], [{"x": 6}, {"x": 7}]])).tolist() == [[{"x": 0}], [], [{"x": 0}, {"x": 0}]]
    assert nd.ones(2, "?{x: int32}").tolist() == [{"x": 1}] * 2 and nd.zeros(2, "(int8, float64)").tolist() == [(0, 0.0)] * 2
    writable = nd.zeros(2, "{x: int32}", access="rw")
    writable["x"][1] = 5
    assert writable.tolist() == [{"x": 0}, {"x": 5}]
    assert nd.full(2, {"x": 3}, "{x: int32}").tolist() == [{"x": 3}] * 2


def test_elements_that_have_dimensions():
    for made in (nd.zeros((3,), "4 * int32"), nd.zeros(3, "4 * int32"), nd.full([3], 0, "4 * int32"), nd.zeros_like([1, 2, 3], "4 * int32")):
        assert made.shape == (3, 4) and made.type == "strided * 4 * int32" and made.tolist() == [[0] * 4] * 3
    assert nd.empty((3,), "2 * 4 * int32").shape == nd.empty_like([1, 2, 3], "2 * 4 * int32").shape == (3, 2, 4)
    assert nd.zeros((), "4 * int32").tolist() == [0] * 4
    assert nd.full(2, [1, 2, 3], "3 * float64").tolist() == [[1.0, 2.0, 3.0]] * 2
    assert nd.full(2, "ab", "2 * string").tolist() == [["ab", "ab"]] * 2
    rows = [[1, 2], [], [3]]
    assert nd.ones_like(rows, dtype="2 * int8").tolist() == [[[1, 1]] * len(row) for row in rows]
    assert nd.full_like(rows, [5, 6], dtype="2 * int8").tolist() == [[[5, 6]] * len(row) for row in rows]
    assert nd.empty_like(rows, dtype="2 * int8").type == "strided * var * 2 * int8"
    for made in (nd.zeros(2, "var * int32"), nd.full(2, 3, "var * int32"), nd.empty(2, "var * int32"), nd.full_like([1, 2], 3, "var * int32")):
        assert made.tolist() == [[], []] and made.type == "strided * var * int32", "rows without elements"
    assert nd.full_like(rows, 3, "var * int32").tolist() == [[[]] * len(row) for row in rows]


class Stops:
    """A sequence that Ctrl-C stops while it is read."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        raise KeyboardInterrupt


class HasDtype:
    @property
    def dtype(self):
        raise KeyboardInterrupt


def test_an_exception_of_another_kind_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        nd.zeros(Stops())
    with pytest.raises(KeyboardInterrupt):
        nd.zeros(3, HasDtype())
    with pytest.raises(KeyboardInterrupt):
        nd.asarray(HasDtype())


@pytest.mark.parametrize("value", [0, 7, -1])
def test_many_elements_of_one_value(threads, value):
    made = nd.full(3_000_001, value, "int64", access="rw")
    assert (np.asarray(made) == value).all()
