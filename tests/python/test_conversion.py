"""Conversions between all scalar types in all error modes: values, refusals, messages, and which element is named."""

import math
import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from conversions import COMPONENTS, FLOATS, MODES, Refused, convert, limits, shown
from dynd import nd, ndt
from strategies import SOME, arrays, as_float, random_values, seeds
from support import identical, make, numpy_layout

PAIRS = [(source, to) for source in oracle.SCALARS for to in oracle.SCALARS]
INTEGERS = ["bool"] + oracle.INTEGERS


def edge_values(source):
    """Values of `source`: limits of all types and their neighbours, halves, and what floats have besides."""
    if source in COMPONENTS:
        real = edge_values(COMPONENTS[source])
        few = [0.0, -0.0, 1.0, 0.5, math.nan, math.inf, 1e30, -1e-30]
        few = [as_float(value, COMPONENTS[source]) for value in few]
        return [complex(x, 0.0) for x in real] + [complex(x, y) for x in few for y in few + real[::9]]
    points = {0, 1, 2, 2**11, 65504, 65519, 65520, 2**24, 2**53, 2**31, 2**63} | {n for scalar in INTEGERS for n in limits(scalar)}
    whole = sorted({sign * point + step for point in points for sign in (1, -1) for step in (-1, 0, 1)})
    if source == "bool":
        return [False, True]
    if source not in FLOATS:
        low, high = limits(source)
        return [n for n in whole if low <= n <= high]
    values = [float(n) for n in whole] + [n + step for n in whole for step in (0.5, -0.5) if abs(n) < 2**40]
    values += [math.inf, math.nan, 5e-324, 1e-45, 2.0**-149, 2.0**-1022, 1 / 3, 1e300, 0.1, -0.0, 1.7976931348623157e308]
    values += [3.4028234663852886e38, 3.4028235677973366e38, 3.4028235677973362e38, 3.5e38, math.nextafter(1, 2)]
    values += [2.0**-14, 2.0**-24, 2.0**-25, math.nextafter(2.0**-25, 1), 65519.99, math.nextafter(65520, 0)]
    values += [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 1 + 3 * 2.0**-11]  # near and at ties of float16
    values += [-value for value in values]
    return [as_float(value, source) for value in values]


def outcome(convert_all):
    try:
        return convert_all()
    except (OverflowError, ValueError) as error:
        return error


def check(values, source, to, mode, array):
    """The array holds the values; its conversion is the oracle's, or refused for the first that the oracle refuses."""
    expected, refused = [], None
    for at, value in enumerate(values):
        try:
            expected.append(convert(value, source, to, mode))
        except Refused as refusal:
            refused = refused or (at, refusal.kind)
            expected.append(None)
    target = nd.array([1] * len(values), type=f"strided * {to}", access="rw")
    before = target.tolist()
    for found in (outcome(lambda: array.astype(to, errmode=mode)), outcome(lambda: nd.assign(target, array, mode))):
        if refused is None:
            assert not isinstance(found, Exception), found
        else:
            at, kind = refused
            assert type(found) is (OverflowError if kind == "overflow" else ValueError)
            assert str(found).startswith(f"{kind} while assigning {shown(source)} value ")
            assert f" to {shown(to)}" in str(found)
            assert str(found).endswith(f" at index ({at},)")
    if refused is None:
        assert identical(array.astype(to, errmode=mode).tolist(), expected)
        assert identical(target.tolist(), expected)
    for new, old, right in zip(target.tolist(), before, expected):
        assert identical(new, old) or (right is not None and identical(new, right))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source, to", PAIRS)
def test_edges_one_by_one(source, to, mode):
    values = edge_values(source)
    array = nd.array(values, type=f"strided * {source}")
    assert identical(array.tolist(), values)
    for value, element in zip(values, array):
        found = outcome(lambda: element.astype(to, errmode=mode).tolist())
        try:
            expected = convert(value, source, to, mode)
        except Refused as refusal:
            assert type(found) is (OverflowError if refusal.kind == "overflow" else ValueError), value
            assert str(found).startswith(f"{refusal.kind} while assigning {shown(source)} value "), value
        else:
            assert identical(found, expected), (value, found, expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source, to", PAIRS)
def test_edges_together(source, to, mode):
    """Those that are fine, then one that is not at every place among them."""
    values = edge_values(source)

    def is_fine(value):
        try:
            convert(value, source, to, mode)
        except Refused:
            return False
        return True

    fine = [value for value in values if is_fine(value)]
    check(fine, source, to, mode, nd.array(fine, type=f"strided * {source}"))
    rng = random.Random(3)
    for value in rng.sample(values, min(len(values), 8)):
        at = rng.randint(0, len(fine))
        mixed = fine[:at] + [value] + fine[at:]
        check(mixed, source, to, mode, nd.array(mixed, type=f"strided * {source}"))


@settings(max_examples=SOME)
@given(st.sampled_from(PAIRS), st.sampled_from(MODES), st.integers(0, 200), seeds)
def test_random_values_in_any_layout(pair, mode, count, seed):
    source, to = pair
    rng = random.Random(seed)
    values = random_values(rng, source, count)
    if rng.random() < 0.7:  # mostly fine, so that what is not comes late
        low, high = (0, 1) if "bool" in pair else (0, 100)
        values = [rng.choice(values) if rng.random() < 0.01 else rng.randint(low, high) for _ in values]
    plain = np.array(values, dtype=source)
    check(plain.tolist(), source, to, mode, nd.asarray(numpy_layout(rng, plain)))


# ---- messages


@pytest.mark.parametrize(
    "value, source, to, mode, error, text",
    [
        (300, "int32", "int8", "fractional", OverflowError, "overflow while assigning int32 value 300 to int8"),
        (2, "int32", "bool", "overflow", OverflowError, "overflow while assigning int32 value 2 to bool"),
        (0.5, "float64", "bool", "overflow", OverflowError, "overflow while assigning float64 value 0.5 to bool"),
        (-1, "int8", "uint64", "overflow", OverflowError, "overflow while assigning int8 value -1 to uint64"),
        (math.nan, "float64", "int8", "overflow", OverflowError, "overflow while assigning float64 value nan to int8"),
        (1e300, "float64", "float32", "fractional", OverflowError,
         "overflow while assigning float64 value 1e+300 to float32"),
        (1.5, "float64", "int8", "fractional", ValueError,
         "fractional part lost while assigning float64 value 1.5 to int8"),
        (1 / 3, "float64", "float32", "inexact", ValueError,
         "inexact precision loss while assigning float64 value 0.333333 to float32"),
        (33554433, "int32", "float32", "inexact", ValueError,
         "inexact value while assigning int32 value 33554433 to float32 value 3.35544e+07"),
        (36028797018963969, "int64", "float64", "inexact", ValueError,
         "inexact value while assigning int64 value 36028797018963969 to float64 value 3.60288e+16"),
        (1 + 2j, "complex128", "float64", "fractional", ValueError,
         "loss of imaginary component while assigning complex[float64] value (1 + 2j) to float64"),
        (complex(300, math.nan), "complex64", "int8", "overflow", ValueError,
         "loss of imaginary component while assigning complex[float32] value (300 + nanj) to int8"),
        (complex(300, -0.0), "complex64", "int8", "overflow", OverflowError,
         "overflow while assigning complex[float32] value (300 + -0j) to int8"),
        (1.5 + 0j, "complex64", "int8", "fractional", ValueError,
         "fractional part lost while assigning complex[float32] value (1.5 + 0j) to int8"),
        (1 + 2j, "complex128", "bool", "overflow", OverflowError,
         "overflow while assigning complex[float64] value (1 + 2j) to bool"),
        (1e-5 + 1e300j, "complex128", "complex64", "inexact", OverflowError,
         "overflow while assigning complex[float64] value (1e-05 + 1e+300j) to complex[float32]"),
        (1 + 0.1j, "complex128", "complex64", "inexact", ValueError,
         "inexact precision loss while assigning complex[float64] value (1 + 0.1j) to complex[float32]"),
        (16777217, "int32", "complex64", "inexact", ValueError,
         "inexact value while assigning int32 value 16777217 to complex[float32] value (1.67772e+07 + 0j)"),
        (65520, "int32", "float16", "fractional", OverflowError,
         "overflow while assigning int32 value 65520 to float16"),
        (2049, "int16", "float16", "inexact", ValueError,
         "inexact value while assigning int16 value 2049 to float16 value 2048"),
        (0.1, "float32", "float16", "inexact", ValueError,
         "inexact precision loss while assigning float32 value 0.1 to float16"),
    ],
)  # fmt: skip
def test_messages(value, source, to, mode, error, text):
    rows = nd.array([[0, 1, 0], [1, 0, value], [value, 0, 0]], type=f"strided * strided * {source}")
    for refused in (
        lambda: rows.astype(to, errmode=mode),
        lambda: nd.assign(nd.empty(f"3 * 3 * {to}"), rows, errmode=mode),
        lambda: nd.trace(lambda: nd.assign(nd.empty(f"3 * 3 * {to}"), rows, errmode=mode)),
    ):
        with pytest.raises(error) as caught:
            refused()
        assert type(caught.value) is error and str(caught.value) == text + " at index (1, 2)"
    with pytest.raises(error) as caught:
        rows[1, 2].astype(to, errmode=mode)
    assert str(caught.value) == text


def test_an_error_mode_that_is_none():
    a = nd.array([1, 2], access="rw")
    for call in (lambda: nd.assign(a, a, errmode="strict"), lambda: a.astype("int8", errmode="strict")):
        with pytest.raises(ValueError, match="errmode must be 'nocheck', .* not 'strict'"):
            call()
    with pytest.raises(TypeError):
        nd.assign(a, a, errmode=None)
    assert a.tolist() == [1, 2]


# ---- which element


def shapes():
    plain = np.arange(24.0).reshape(2, 3, 4)
    yield plain
    yield np.asfortranarray(plain)
    yield np.arange(96.0).reshape(4, 6, 4)[::2, ::-2, ::-1]
    yield plain.transpose(2, 0, 1)
    yield np.broadcast_to(np.arange(4.0), (2, 3, 4))
    yield np.zeros((130, 70)).T
    yield np.zeros((5, 200))[:, ::2]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_first_bad_element_of_strided_arrays(order, threads):
    rng = random.Random(1)
    had = nd.num_threads()
    nd.set_num_threads(threads)
    try:
        for values in [*shapes(), np.zeros((700, 900)), np.zeros((900, 700)).T, np.zeros(700_000)]:
            if values.strides[0]:
                for _ in range(3 if values.size < 10_000 else 1):
                    values[tuple(rng.randrange(n) for n in values.shape)] = 1.5
            else:
                values = values + 0.25  # every one of them is bad
            first = tuple(int(i) for i in np.argwhere(values % 1 != 0)[0])
            to = np.full(values.shape, -7, dtype="int16", order=order)
            with pytest.raises(ValueError, match="fractional part lost") as caught:
                nd.asarray(to)[...] = nd.asarray(values)
            assert str(caught.value).endswith(f" at index {first}")
            assert np.all((to == -7) | ((to == values) & (values % 1 == 0)))
    finally:
        nd.set_num_threads(had)


def test_the_first_bad_element_of_ragged_and_broadcast_arrays():
    rows = nd.array([[1.0, 2.0], [], [3.0, 4.5, 5.5]])
    with pytest.raises(ValueError, match=r"value 4.5 to int8 at index \(2, 1\)$"):
        rows.astype("int8")
    with pytest.raises(ValueError, match=r"value 4.5 to int8 at index \(2, 1\)$"):
        nd.array(rows, type="int8")
    to = nd.array([[7, 7], [], [7, 7, 7]], type="strided * var * int32", access="rw")
    with pytest.raises(ValueError, match=r"at index \(2, 1\)$"):
        to[...] = rows
    assert all(new in (7, old) for a, b in zip(to.tolist(), [[1, 2], [], [3, 7, 7]]) for new, old in zip(a, b))
    square = nd.array([[7] * 3] * 2, access="rw")
    with pytest.raises(ValueError, match=r"value 0.5 to int32 at index \(0, 2\)$"):
        square[...] = [1.0, 2.0, 0.5]
    assert all(row[2] == 7 for row in square.tolist())
    with pytest.raises(ValueError, match=r"value 0.5 to int32 at index \(1, 0\)$"):
        square[...] = nd.array([[1.0, 2.0, 3.0], [0.5]])
    with pytest.raises(ValueError, match=r"value 0.5 to int32 at index \(0, 0\)$"):
        square[...] = 0.5


def indexed(values, ndim, index=()):
    """(index, value) of every element, in C order."""
    if ndim == 0:
        return [(index, values)]
    return [pair for i, inner in enumerate(values) for pair in indexed(inner, ndim - 1, index + (i,))]


@settings(max_examples=SOME)
@given(st.booleans().flatmap(lambda ragged: arrays(ragged, ["float64"], finite=True, least_ndim=1)), seeds)
def test_the_first_bad_element_of_any_array(value, seed):
    rng = random.Random(seed)

    def refill(node, ndim):
        if ndim == 0:
            return 0.5 if rng.random() < 0.05 else float(rng.randint(-9, 9))
        return [refill(inner, ndim - 1) for inner in node]

    value.values = refill(value.values, value.ndim)
    array = make(rng, value)
    bad = [index for index, element in indexed(value.values, value.ndim) if element == 0.5]
    if bad:
        with pytest.raises(ValueError) as caught:
            array.astype("int32")
        assert str(caught.value).endswith(f" at index {bad[0]}")
    else:
        found = indexed(array.astype("int32").tolist(), value.ndim)
        assert found == [(index, int(element)) for index, element in indexed(value.values, value.ndim)]


@pytest.mark.alone  # a time
def test_the_search_for_a_bad_element_is_fast():
    """Element by element it took 60 ns each: a second and more for these."""
    rows = 2_000_000
    content = np.zeros(10 * rows)
    content[-1] = 0.5
    array = nd.from_offsets(np.arange(rows + 1) * 10, content)
    start = time.thread_time()  # the search is this thread's: other processes do not count
    with pytest.raises(ValueError, match=rf"at index \({rows - 1}, 9\)$"):
        array.astype("int32")
    assert time.thread_time() - start < 0.8


def test_many_ragged_rows_on_threads():
    rng = np.random.default_rng(2)
    offsets = np.concatenate([[0], np.cumsum(rng.poisson(4, 100_000))])
    content = np.arange(offsets[-1]) % 100.0
    row = 70_001 + int(np.argmax(np.diff(offsets)[70_001:] > 2))
    content[offsets[row] + 2] = 1e10
    rows = nd.from_offsets(nd.asarray(offsets), nd.asarray(content))
    with pytest.raises(OverflowError, match=rf"value 1e\+10 to int16 at index \({row}, 2\)$"):
        rows.astype("int16")
    assert rows.astype("int64")[row, 2].tolist() == 10**10


def test_values_that_were_lazy():
    a = nd.array(np.arange(100_000.0))
    with pytest.raises(ValueError, match=r"value 0.5 to int32 at index \(1,\)$"):
        (a * 0.5).astype("int32")
    assert (a * 2.0).astype("int32")[99_999].tolist() == 199_998


def test_shape_errors_come_first_and_change_nothing():
    a = nd.array([1, 2, 3], type="strided * int8", access="rw")
    with pytest.raises(ValueError, match="broadcast"):
        a[...] = nd.array([300, 300])
    assert a.tolist() == [1, 2, 3]


# ---- the functions


def test_astype():
    a = nd.array([[1, 2], [3]])
    assert str(a.astype("float32")) == "[[1.0, 2.0], [3.0]]"
    assert str(nd.type_of(a.astype("strided * var * int8"))) == "strided * var * int8"
    assert nd.type_of(a.astype(ndt.type("uint8"))) == "strided * var * uint8"
    assert a.astype("int32") is a and a.astype("int8").access == "immutable"
    assert nd.array([300]).astype("int8", errmode="nocheck").tolist() == [44]
    for wrong in (None, 5):
        with pytest.raises(TypeError, match="astype"):
            a.astype(wrong)
    for wrong in ("3 * int8", "strided * int8"):
        with pytest.raises(ValueError, match="broadcast"):
            a.astype(wrong)
    # A whole type: rows of one length to a dimension of one size, and the other way round.
    b = nd.array([[1, 2], [3, 4]], type="strided * var * int32")
    assert repr(b.astype("2 * strided * int8")) == 'nd.array([[1, 2], [3, 4]], type="2 * strided * int8")'
    assert repr(nd.array([[1, 2]]).astype("strided * var * float64")) == (
        'nd.array([[1.0, 2.0]], type="strided * var * float64")')


def test_empty():
    a = nd.empty("3 * 4 * float64")
    assert a.shape == (3, 4) and a.access == "readwrite" and nd.type_of(a) == "3 * 4 * float64"
    a[...] = 2
    assert a.tolist() == [[2.0] * 4] * 3
    assert nd.empty("int8").shape == () and nd.empty(ndt.type("0 * int8")).tolist() == []
    for wrong in ("strided * int8", "3 * strided * int8", None):
        with pytest.raises(TypeError, match="empty"):
            nd.empty(wrong)


def test_python_numbers_are_checked_by_the_assignment():
    a = nd.array([1, 2], type="strided * int8", access="rw")
    nd.assign(a, 300, errmode="nocheck")
    assert a.tolist() == [44, 44]
    with pytest.raises(OverflowError, match="overflow while assigning int32 value 300 to int8"):
        a[0] = 300
    with pytest.raises(OverflowError):
        a[0] = 2**70
    b = nd.array([1.0], type="strided * float32", access="rw")
    with pytest.raises(OverflowError, match=r"float64 value 1e\+300 to float32"):
        b[0] = 1e300
    with pytest.raises(ValueError, match="inexact precision loss"):
        nd.assign(b, 0.1, errmode="inexact")
    c = nd.array([1], type="strided * uint64", access="rw")
    c[0] = 2**64 - 1
    assert c.tolist() == [2**64 - 1]
    e = nd.array([1, 2], access="rw")
    with pytest.raises(ValueError, match="fractional part lost"):
        e += 0.5
    assert e.tolist() == [1, 2]


@pytest.mark.parametrize(
    "values, type",
    [([1, 2], "int32"), ([[1.5], []], "float64"), (["a", "b"], "string"), ([1, None], "?int32")],
)
def test_a_writable_array_is_not_its_own_conversion(values, type):
    a = nd.array(values, access="rw")
    for wanted in (type, a.type):
        same = a.astype(wanted)
        assert same is not a and same.access == "immutable" and same.type == a.type
    immutable = nd.array(values)
    assert immutable.astype(type) is immutable
    a[...] = a[1] if a.ndim == 1 else 7.5
    assert same.tolist() == values


@pytest.mark.parametrize("scalar", ["complex64", "complex128"])
def test_complex_numbers_from_text(scalar):
    """As Python writes them, and as messages do."""
    texts = {
        "1.5": 1.5, " (1.5) ": 1.5, "2j": 2j, "-2J": -2j, "1.5+2j": 1.5 + 2j, "(1.5-2j)": 1.5 - 2j, "(1.5 + 2j)": 1.5 + 2j,
        "(1.5 + -2j)": 1.5 - 2j, "(-1.5 + -2e+3j)": -1.5 - 2000j, "1.5 - 2j": 1.5 - 2j, "5e-1-2.5e-1j": 0.5 - 0.25j, "-0.5e+1+2e0j": -5 + 2j,
    }  # fmt: skip
    texts |= {"1e+5j": 1e5j, "2e+1-1e-0j": 20 - 1j, "(5e-1 + -2e+0j)": 0.5 - 2j, "1e+2": 100, "-1e+2+3j": -100 + 3j}
    for written in (list(texts), [text.upper() for text in texts]):
        assert nd.array(written).astype(scalar).tolist() == list(texts.values())
    for text in ("", "j", "1.5 + + 2j", "1.5 2j", "(1.5", "1-+2j", "2i"):
        with pytest.raises(ValueError, match="cannot cast string"):
            nd.array([text]).astype(scalar)


@pytest.mark.parametrize("name, types", [("float64", [float, np.float64, np.dtype("f8")]), ("int64", [int, np.int64]),
                                         ("bool", [bool, np.bool_]), ("float32", [np.float32, "float32"])])  # fmt: skip
def test_types_of_python_and_numpy_are_types_of_elements(name, types):
    for t in types:
        assert str(nd.array([0, 1]).astype(t).type) == str(nd.array([0, 1], type=t).type) == f"strided * {name}"
        assert str(nd.array([[0, 1], [1]]).astype(t).type) == f"strided * var * {name}"
