"""Bad input: an error of the kind Python people expect, a text that names operation, place and sizes, nothing written."""

import gc
import re

import numpy as np
import pytest

from dynd import nd, ndt
from support import contains


def ragged(values, scalar="int32"):
    return nd.array(values, type=f"strided * var * {scalar}")


# ---- shapes that do not broadcast


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "minimum", "maximum", "less", "equal", "divmod"]
)
def test_shapes_that_do_not_broadcast(name):
    a, b = nd.asarray(np.ones((3, 4))), nd.asarray(np.ones((2, 4)))
    with pytest.raises(ValueError) as caught:
        getattr(nd, name)(a, b)
    assert re.fullmatch(rf"{name}: cannot broadcast \(3, 4\) with \(2, 4\) at axis 0.*", str(caught.value), re.S)


def test_the_axis_is_that_of_the_result():
    a, b = nd.asarray(np.ones((5, 3, 4))), nd.asarray(np.ones((3, 2)))
    with pytest.raises(ValueError) as caught:
        a + b
    assert contains(str(caught.value), "add", r"\(5, 3, 4\)", r"\(3, 2\)", "axis 2")


def test_three_operands_that_do_not_broadcast():
    with pytest.raises(ValueError) as caught:
        nd.where(nd.array([True, False]), nd.array([1, 2]), nd.array([1, 2, 3]))
    assert contains(str(caught.value), "where", "broadcast")


@pytest.mark.parametrize(
    "a, b, row, lengths",
    [
        ([[1, 2], [1, 2, 3]], [[1, 2], [1, 2]], 1, (3, 2)),
        ([[1, 2], []], [[1, 2], [1, 2]], 1, (0, 2)),
        ([[1], [1], [1, 2, 3, 4], [1, 2]], [[1], [1, 2], [1, 2, 3], [1, 2, 3]], 2, (4, 3)),
    ],
)
def test_rows_that_do_not_broadcast(a, b, row, lengths):
    for x, y, (m, n) in [(a, b, lengths), (b, a, lengths[::-1])]:
        with pytest.raises(ValueError) as caught:
            ragged(x) + ragged(y)
        assert contains(str(caught.value), "^add: cannot broadcast", rf"row {row}\b", f"lengths {m} and {n}")


def test_row_seventeen():
    a = [[1.0] * 3 for _ in range(40)]
    b = [list(row) for row in a]
    b[17] = [1.0, 2.0]
    with pytest.raises(ValueError, match=r"^add: cannot broadcast row 17: lengths 3 and 2"):
        ragged(a, "float64") + ragged(b, "float64")


def test_rows_against_a_strided_dimension():
    with pytest.raises(ValueError) as caught:
        ragged([[1, 2], [1, 2, 3]]) + nd.array([[1, 2], [3, 4]])
    assert contains(str(caught.value), "add", "row 1", "3 and 2")


def test_the_first_bad_row_is_named_whatever_finds_it():
    a = [[1] * (i % 4) for i in range(5_000)]
    b = [list(row) for row in a]
    for bad in (4_999, 2_003, 1_003):
        b[bad] = [1] * 9
        with pytest.raises(ValueError, match=rf"row {bad}\b"):
            ragged(a) + ragged(b)


def test_a_bad_row_deeper_down():
    a = nd.array([[[1], [1, 2]], [[1, 2, 3]]], type="strided * var * var * int32")
    b = nd.array([[[1], [1, 2]], [[1, 2]]], type="strided * var * var * int32")
    with pytest.raises(ValueError) as caught:
        a * b
    assert contains(str(caught.value), "multiply", "row", "1", "0", "3 and 2")


@pytest.mark.parametrize("order", [1, -1])
def test_a_value_for_each_row_wants_a_new_axis(order):
    pair = [nd.array([1, 2, 3]), ragged([[1, 2], [1, 2, 3, 4], []])][::order]
    with pytest.raises(ValueError) as caught:
        pair[0] * pair[1]
    assert contains(str(caught.value), "multiply")
    assert "[:, None]" in str(caught.value)


def test_the_suggestion_is_right():
    x, rows = nd.array([1, 2, 3]), ragged([[1, 2], [1, 2, 3, 4], []])
    assert (x[:, None] * rows).tolist() == [[1, 2], [2, 4, 6, 8], []]
    assert (rows * rows.sum(axis=1, keepdims=True)).tolist() == [[3, 6], [10, 20, 30, 40], []]


def test_no_suggestion_where_it_would_not_help():
    with pytest.raises(ValueError) as caught:
        nd.asarray(np.ones((3, 4))) + nd.asarray(np.ones((2, 4)))
    assert "None" not in str(caught.value)


# ---- operands


@pytest.mark.parametrize("other", ["text", object(), {}, b"bytes", print])
def test_operands_that_are_not_arrays(other):
    a = nd.array([1, 2, 3])
    for call in (
        lambda: a + other,
        lambda: other + a,
        lambda: nd.add(a, other),
        lambda: nd.add(other, a),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        a < other
    with pytest.raises(TypeError):
        nd.sum(other)
    with pytest.raises(TypeError):
        nd.sqrt(other)


def test_the_wrong_number_of_operands():
    a = nd.array([1, 2])
    for call in (
        lambda: nd.add(a),
        lambda: nd.add(),
        lambda: nd.sqrt(a, a),
        lambda: nd.where(a, a),
        lambda: nd.add(a, a, a, a),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        nd.sum()
    with pytest.raises(TypeError):
        nd.add(a, a, nonsense=1)
    with pytest.raises(TypeError):
        nd.sum(a, nonsense=1)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "divmod"])
def test_bool_has_no_arithmetic(name):
    for flags in (nd.array([True, False]), nd.array([[True], []])):
        with pytest.raises(TypeError) as caught:
            getattr(nd, name)(flags, flags)
        assert contains(str(caught.value), name, "bool")


@pytest.mark.parametrize("name", ["negative", "abs", "sqrt", "square"])
def test_bool_has_no_unary_arithmetic(name):
    with pytest.raises(TypeError) as caught:
        getattr(nd, name)(nd.array([True, False]))
    assert contains(str(caught.value), name, "bool")


def test_a_condition_is_bool():
    with pytest.raises(TypeError, match="where"):
        nd.where(nd.array([1, 0]), nd.array([1, 2]), nd.array([3, 4]))


@pytest.mark.parametrize(
    "scalar, value", [("int8", 300), ("uint8", -1), ("int32", 2**40), ("uint64", -5), ("int64", 2**70)]
)
def test_python_integers_that_do_not_fit(scalar, value):
    with pytest.raises(OverflowError) as caught:
        nd.array([1, 2], type=f"strided * {scalar}") + value
    assert contains(str(caught.value), str(value)[:4])


@pytest.mark.parametrize("scalar", ["int8", "int32", "uint16", "int64", "uint64"])
def test_integer_division_by_zero(scalar):
    a = nd.array([7, 8, 9], type=f"strided * {scalar}")
    b = nd.array([1, 0, 0], type=f"strided * {scalar}")
    with pytest.raises((ValueError, ZeroDivisionError)) as caught:
        divmod(a, b)
    assert contains(str(caught.value), "divmod", "zero")
    rows = nd.array([[1, 2], [0]], type=f"strided * var * {scalar}")
    with pytest.raises((ValueError, ZeroDivisionError), match="divmod"):
        nd.divmod(rows, rows)
    assert [x.tolist() for x in divmod(nd.array([1.0]), nd.array([2.0]))] == [[0.0], [1.0]]


def test_an_array_is_not_a_truth():
    with pytest.raises((ValueError, TypeError)):
        bool(nd.array([1, 2]))
    for convert in (int, float, complex):
        with pytest.raises((ValueError, TypeError)):
            convert(nd.array([1, 2]))
    assert bool(nd.array(1)) is True and bool(nd.array(0.0)) is False


# ---- construction


@pytest.mark.parametrize(
    "values", [[1, [2]], [[1], 2], [[[1]], [2]], ["a", 1], [None], [object()], {1: 2}, {}, {1, 2}]
)
def test_values_that_make_no_array(values):
    with pytest.raises((TypeError, ValueError)):
        nd.array(values)


@pytest.mark.parametrize(
    "values, text",
    [
        ([1, 2], "3 * int32"),
        ([[1, 2], [3]], "strided * strided * int32"),
        ([[1, 2], [3]], "2 * 2 * int32"),
        (1, "strided * int32"),
        ([1, 2], "strided * var * int32"),
        ([[1]], "strided * int32"),
        ([[1, 2], [3, 4]], "strided * 3 * int32"),
    ],
)
def test_values_that_are_not_of_the_type(values, text):
    with pytest.raises((TypeError, ValueError)):
        nd.array(values, type=text)


@pytest.mark.parametrize(
    "value, text", [(300, "int8"), (-1, "uint8"), (2**31, "int32"), (2**63, "int64"), (2**64, "uint64")]
)
def test_values_that_do_not_fit(value, text):
    with pytest.raises(OverflowError):
        nd.array(value, type=text)
    with pytest.raises(OverflowError):
        nd.array([0, value], type=f"strided * {text}")
    with pytest.raises(OverflowError):
        nd.array([[0], [], [0, value]], type=f"strided * var * {text}")


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_of_more_digits_than_python_shows(sign):
    large = sign * 10**5000
    for call, text in ((lambda: nd.array(large), r"array: the integer \(16610 bits\) does not fit in 64 bits"),
                       (lambda: nd.array([[1], [large]], type="strided * var * int32"), r"16610 bits\) does not fit in 64 bits at index \(1, 0\)"),
                       (lambda: nd.array([1, 2]) + large, r"16610 bits"),
                       (lambda: nd.arange(large), r"arange: stop \(16610 bits\) does not fit int64"),
                       (lambda: nd.roll([1], large), r"roll: shift \(16610 bits\) does not fit int64")):
        with pytest.raises(OverflowError, match=text):
            call()
    with pytest.raises(IndexError, match=r"flatten: axis \(16610 bits\) is out of bounds"):
        nd.flatten([1], axis=large)
    with pytest.raises((ValueError, MemoryError), match=r"too large" if sign > 0 else r"must not be negative, got \(16610 bits\)"):
        nd.zeros(large)
    with pytest.raises(OverflowError, match=f"the integer {sign * (2**128 - 1)} does not fit"):
        nd.array(sign * (2**128 - 1))


def test_a_range_that_memory_does_not_hold():
    for values in (range(10**15), [range(10**15)], [[1], range(10**15)]):
        with pytest.raises(MemoryError):
            nd.array(values)


def test_integers_beyond_every_type():
    with pytest.raises(OverflowError):
        nd.array([2**70])
    assert str(nd.type_of(nd.array([2**31]))) == "strided * int64"
    assert str(nd.type_of(nd.array([1, -(2**31) - 1]))) == "strided * int64"
    for bad in (lambda: nd.array([1]) + 2**70, lambda: nd.array([True]) + 2**70, lambda: nd.array([1.5]) + 10**400):
        with pytest.raises(OverflowError):
            bad()
    with pytest.raises(OverflowError, match=r"does not fit in 64 bits at index \(1, 0\)"):
        nd.array([[1], [2**70]])


def test_integers_beyond_64_bits_in_a_list_are_floats_beside_floats():
    a = nd.empty("2 * float64")
    a[...] = [10**20, 1]
    assert a.tolist() == [1e20, 1.0]
    assert (nd.array([1.0, 2.0]) + [10**20, -(10**30)]).tolist() == [1e20, -1e30]
    b = nd.array([1, 2], access="rw")
    with pytest.raises(OverflowError, match="does not fit in 64 bits"):
        b[...] = [10**20, 1]


@pytest.mark.parametrize("value", [10**20, -(10**20), 2**64, -(2**63) - 1])
def test_large_integers_beside_floats(value):
    a, w = nd.array([1.5]), nd.array([1.5, 2.5], access="rw")
    assert (a + value).tolist() == [1.5 + value] and (value - a).tolist() == [value - 1.5]
    assert (nd.array([1.5, None]) * value).tolist() == [1.5 * value, None]
    assert nd.maximum(a, value).tolist() == [max(1.5, float(value))]
    assert (nd.array([1j]) + value).tolist() == [1j + value]
    assert repr((nd.array([1.5], type="float32") + value).type) == "ndt.type('strided * float32')"
    assert nd.array([0.5, value]).tolist() == [0.5, float(value)]
    w[0] = value
    assert w.tolist() == [float(value), 2.5]
    nd.assign(w, value)
    assert w.tolist() == [float(value)] * 2
    small = nd.array([1.5], type="float32", access="rw")
    with pytest.raises(OverflowError, match="overflow while assigning"):
        small[0] = 10**50
    missing = nd.array([1.5, None], access="rw")
    missing[1] = value
    assert missing.tolist() == [1.5, float(value)]
    assert nd.full(2, value, dtype="float64").tolist() == nd.full_like(w, value).tolist() == [float(value)] * 2
    assert nd.full_like(missing, value).tolist() == [float(value)] * 2
    assert nd.sum(a, initial=value).tolist() == 1.5 + value and nd.max(a, initial=value).tolist() == max(1.5, value)
    assert nd.sum(nd.array([1]), initial=value, dtype="float64").tolist() == 1.0 + value
    assert nd.isin([1.5, float(value)], [value, 2]).tolist() == [False, True] == nd.isin([1.5, float(value)], value).tolist()
    for call in (lambda: nd.full(2, value, dtype="int64"), lambda: nd.sum(nd.array([1]), initial=value)):
        with pytest.raises(OverflowError, match="does not fit in 64 bits"):
            call()


def test_fractions_are_not_integers():
    for values in (1.5, [1, 2.5]):
        with pytest.raises((TypeError, ValueError)):
            nd.array(values, type="int32" if values == 1.5 else "strided * int32")


def test_a_list_that_holds_itself():
    loop = []
    loop.append(loop)
    with pytest.raises((ValueError, TypeError, RecursionError)):
        nd.array(loop)


def test_too_many_dimensions():
    values = 1
    for _ in range(100):
        values = [values]
    with pytest.raises((ValueError, TypeError)):
        nd.array(values)


def test_unknown_access():
    for access in ("x", "", 5):
        with pytest.raises((ValueError, TypeError)):
            nd.array([1], access=access)


# ---- datashape text


@pytest.mark.parametrize(
    "text, line, column",
    [
        ("blah", 1, 1),
        ("3 * blah", 1, 5),
        ("strided * var * in32", 1, 17),
        ("3 * * int32", 1, 5),
        ("3 *\n  var *\n  nonsense", 3, 3),
        ("-3 * int32", 1, 1),
        ("3 int32", 1, 3),
        ("int32 int32", 1, 7),
        ("3 * int32 * int32", 1, 5),
    ],
)
def test_wrong_datashape_text(text, line, column):
    with pytest.raises((ValueError, TypeError)) as caught:
        ndt.type(text)
    message = str(caught.value)
    assert contains(message, f"line {line}", f"column {column}")
    shown = message.splitlines()
    caret = next(i for i, row in enumerate(shown) if row.strip() == "^")
    assert shown[caret - 1].endswith(text.splitlines()[line - 1])
    indent = len(shown[caret - 1]) - len(text.splitlines()[line - 1])
    assert shown[caret].index("^") - indent == column - 1


@pytest.mark.parametrize("text", ["", "   ", "3 *", "strided", "var", "*", "3", "int32 *"])
def test_datashape_text_that_ends_too_early(text):
    with pytest.raises((ValueError, TypeError), match="line"):
        ndt.type(text)


def test_sizes_that_overflow():
    for text in (f"{2**63} * int32", f"{2**80} * int32", f"{2**40} * {2**40} * int32", f"{2**62} * int64"):
        with pytest.raises((ValueError, OverflowError)):
            nd.array([], type=text)


def test_shapes_whose_product_overflows():
    tall = nd.asarray(np.broadcast_to(np.float64(1), (2**40, 1)))
    wide = nd.asarray(np.broadcast_to(np.float64(1), (1, 2**40)))
    with pytest.raises((OverflowError, ValueError, MemoryError)):
        tall + wide
    large = nd.asarray(np.broadcast_to(np.float64(1), (2**45,)))
    with pytest.raises(MemoryError):
        large + large


def test_ragged_results_whose_bytes_overflow():
    """Rows over content of stride 0 have more elements than memory has bytes."""
    a = nd.from_offsets(np.array([0, 2**61]), np.broadcast_to(np.int8(1), 2**61))
    deep = nd.from_offsets(np.array([0, 1]), np.broadcast_to(np.int8(1), (1, 2**61)))
    for wide in (a, deep):
        whole = str(wide.type).replace("int8", "float64")
        for call in (lambda: wide / 2, lambda: wide.astype("float64"), lambda: nd.array(wide, type=whole)):
            with pytest.raises(MemoryError, match="too large"):
                call()


def test_text_that_is_not_unicode():
    for call in (
        lambda: ndt.type("\ud800"),
        lambda: nd.array([1], type="\ud800"),
        lambda: nd.array([1], access="\ud800"),
        lambda: nd.empty("\ud800"),
        lambda: nd.array([1]).astype("\ud800"),
        lambda: nd.array([{"x": 1}])["\ud800"],
    ):
        with pytest.raises(ValueError, match="surrogate"):
            call()
    assert (ndt.int32 == "\ud800") is False and (ndt.int32 == "int32") is True and (ndt.int32 == 5) is False


def test_text_is_not_cut_at_a_zero_byte():
    for call in (
        lambda: nd.load("a\0b"),
        lambda: nd.array([1]).astype("int8", errmode="nocheck\0"),
        lambda: nd.assign(nd.array([1], access="rw"), 5, errmode="nocheck\0"),
        lambda: nd.array([1], access="rw\0"),
    ):
        with pytest.raises(ValueError, match="zero byte|must be"):
            call()


@pytest.mark.parametrize(
    "value, kind", [("abc", ValueError), (None, TypeError), ({"x": 1}, TypeError), ([1], TypeError)]
)
def test_what_is_no_complex_number(value, kind):
    value = nd.array(value, type="?int32") if value is None else nd.array(value)
    with pytest.raises(kind):
        complex(value)
    assert complex(nd.array("1+2j")) == 1 + 2j == complex(nd.array(1 + 2j)) and complex(nd.array(3)) == 3


def test_not_a_type():
    for bad in (5, None, [1], object()):
        with pytest.raises(TypeError):
            ndt.type(bad)
    with pytest.raises((TypeError, ValueError)):
        nd.array([1], type=5)


# ---- nothing is changed, nothing is leaked


def test_a_failed_evaluation_changes_nothing():
    a, b = nd.array([[1], [2, 3]], access="rw"), nd.array([[4], [5, 6, 7]])
    for call in (lambda: a + b, lambda: a.__setitem__(Ellipsis, b), lambda: nd.assign(a, b), lambda: divmod(a, a - a)):
        with pytest.raises((ValueError, ZeroDivisionError)):
            call()
        assert a.tolist() == [[1], [2, 3]] and b.tolist() == [[4], [5, 6, 7]]
    with pytest.raises(ValueError):
        a[...] = a + b
    assert a.tolist() == [[1], [2, 3]]


@pytest.mark.memory
def test_failures_leak_no_memory():
    """Five hundred failed evaluations of 240 KB operands: if one in thirty leaked, the process would show it."""
    rows = [[1.0, 2.0, 3.0] for _ in range(10_000)]
    a = nd.array(rows, type="strided * var * float64")
    b = nd.array(rows[:-1] + [[1.0, 2.0]], type="strided * var * float64")

    def fail(times):
        for _ in range(times):
            with pytest.raises(ValueError, match="row 9999"):
                a + b

    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    fail(50)
    before = resident()
    fail(500)
    assert resident() - before < 4_000_000


def test_the_library_prints_nothing(capfd):
    for call in (
        lambda: nd.array([1, 2]) + nd.array([1, 2, 3]),
        lambda: ndt.type("blah"),
        lambda: nd.array([1])[5],
        lambda: nd.array([[1], [2, 3]]).sum(axis=7),
    ):
        with pytest.raises(Exception):
            call()
    captured = capfd.readouterr()
    assert captured.out == "" and captured.err == ""


def test_a_list_that_changes_while_it_is_read():
    values = [1.0] * 1000

    class Shrinks:
        def __float__(self):
            values.clear()
            return 1.0

    values[5] = Shrinks()
    with pytest.raises(ValueError, match="changed"):
        nd.array(values)


def test_what_a_number_raises_is_raised():
    class Bad:
        def __float__(self):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        nd.array([Bad()], type="float64")


@pytest.mark.parametrize("count", [0, -1, 256, 2**31 - 1, 2**40])
def test_impossible_numbers_of_threads(count):
    with pytest.raises(ValueError, match="from 1 to 255"):
        nd.set_num_threads(count)


@pytest.mark.parametrize("before", range(50, 64))
def test_a_long_text_is_cut_between_two_characters(before):
    text = "x" * before + "\u20ac\u00e4\U0001f600" * 20
    with pytest.raises(ValueError, match="cannot cast string") as caught:
        nd.array([text]).astype("int32")
    shown = str(caught.value).split('"')[1]
    assert shown.endswith("...") and text.startswith(shown[:-3]) and 56 < len(shown[:-3].encode()) <= 60


@pytest.mark.parametrize("axis", [-(2**31), -(2**32), -(2**32) - 1, 2**31, 2**32, -(2**40), 2**63, -(10**30)])
@pytest.mark.parametrize("call", [nd.cumulative_sum, nd.sum, nd.max, lambda a, axis: nd.reduce(nd.subtract, a, axis)])
def test_an_axis_of_any_size_is_out_of_bounds(call, axis):
    with pytest.raises(IndexError, match="out of bounds|too large|cannot fit"):
        call([1, 2], axis=axis)
