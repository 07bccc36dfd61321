"""The examples of the founding documents and of the reference page, exactly: values, types, printed text, traces."""

import numpy as np
import pytest

from dynd import nd, ndt
from support import contains


def check(array, values, text):
    assert array.tolist() == values
    assert str(nd.type_of(array)) == text


# ---- multidim_kernels.md


def test_scalar_to_one_dimensional():
    a = nd.array([1, 2, 3], access="rw")
    b = nd.array(4)
    assert repr(nd.type_of(a)) == "ndt.type('strided * int32')"
    assert repr(nd.type_of(b)) == "ndt.int32"
    a[...] = b
    assert repr(a) == 'nd.array([4, 4, 4], type="strided * int32")'


def var_to_strided():
    return nd.array([[5, 6, 7], [8, 9, 10]], access="rw"), nd.array([[1, 2, 3], [4]])


def test_var_to_strided():
    a, b = var_to_strided()
    assert repr(nd.type_of(a)) == "ndt.type('strided * strided * int32')"
    assert repr(nd.type_of(b)) == "ndt.type('strided * var * int32')"
    a[...] = b
    assert repr(a) == 'nd.array([[1, 2, 3], [4, 4, 4]], type="strided * strided * int32")'


def test_var_to_strided_trace():
    """The table of calls: one for each level and element, the destination as each call found it."""
    a, b = var_to_strided()
    calls = nd.trace(nd.assign, a, b).calls
    assert [(call.level, call.name, list(call.sources), call.destination) for call in calls] == [
        (0, "strided to strided", ["[[1, 2, 3], [4]]"], "[[5, 6, 7], [8, 9, 10]]"),
        (1, "var to strided", ["[1, 2, 3]"], "[5, 6, 7]"),
        (2, "int32 to int32", ["1"], "5"),
        (2, "int32 to int32", ["2"], "6"),
        (2, "int32 to int32", ["3"], "7"),
        (1, "var to strided", ["[4]"], "[8, 9, 10]"),
        (2, "int32 to int32", ["4"], "8"),
        (2, "int32 to int32", ["4"], "9"),
        (2, "int32 to int32", ["4"], "10"),
    ]
    assert a.tolist() == [[1, 2, 3], [4, 4, 4]]


def test_trace_prints_as_a_table():
    a, b = var_to_strided()
    text = str(nd.trace(nd.assign, a, b))
    assert contains(text, "strided to strided", "var to strided", "int32 to int32", "var to strided", "int32 to int32")
    lines = [line for line in text.splitlines() if " to " in line]
    assert len(lines) == 9
    assert "[[1, 2, 3], [4]]" in lines[0] and "[[5, 6, 7], [8, 9, 10]]" in lines[0]


def test_scalar_to_one_dimensional_trace():
    a = nd.array([1, 2, 3], access="rw")
    calls = nd.trace(nd.assign, a, nd.array(4)).calls
    assert [call.level for call in calls] == [0, 1, 1, 1]
    assert [call.name for call in calls][1:] == ["int32 to int32"] * 3
    assert [list(call.sources) for call in calls] == [["4"]] * 4
    assert [call.destination for call in calls] == ["[1, 2, 3]", "1", "2", "3"]
    assert a.tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    "a, b, result",
    [((2, 3), (5, 2, 3), (5, 2, 3)), ((), (5, 2, 3), (5, 2, 3)), ((2, 3), (5, 2, 1), (5, 2, 3))],
)
def test_E3_broadcast_shapes(a, b, result):
    x = nd.asarray(np.arange(np.prod(a, dtype=int), dtype="int32").reshape(a))
    y = nd.asarray(np.arange(np.prod(b, dtype=int), dtype="int32").reshape(b))
    assert (x + y).shape == result


def test_E4_E5_ragged_with_a_column():
    a, b = nd.array([[1], [2, 3]]), nd.array([[4], [5]])
    assert (a.shape, b.shape) == ((2, None), (2, 1))
    check(a + b, [[5], [7, 8]], "strided * var * int32")


def test_E4_ragged_with_strided():
    a = nd.array([[1], [2, 3]])
    check(a + nd.array([[4, 5], [6, 7]]), [[5, 6], [8, 10]], "strided * strided * int32")


# ---- kernel_based_evaluation.rst


def test_E6_ragged_plus_strided():
    check(nd.array([[1, 2], [3]]) + nd.array([[4, 5], [6, 7]]), [[5, 7], [9, 10]], "strided * strided * int32")


def test_E7_ragged_plus_ragged():
    check(nd.array([[1, 2], [3]]) + nd.array([[4], [5, 6, 7]]), [[5, 6], [8, 9, 10]], "strided * var * int32")


def test_E45_sum_of_the_innermost_rows():
    a = nd.array([[[1, 2, 3], [4, 5]], [[6, 7, 8, 9]]])
    check(a.sum(axis=2), [[6, 9], [30]], "strided * var * int64")


def test_E46_sum_of_rows_of_vectors():
    a = nd.array([[[1, 2], [3, 4]], [[5, 6]]])
    assert str(nd.type_of(a)) == "strided * var * strided * int32"
    check(a.sum(axis=1), [[4, 6], [5, 6]], "strided * strided * int64")


def iteration_space_operands():
    a = np.arange(12, dtype="int32").reshape(3, 1, 4)
    b = np.arange(10, dtype="int32").reshape(10, 1)[::2]
    c = np.arange(4, dtype="int32")
    return a, b, c


def test_E8_iteration_space_values():
    a, b, c = iteration_space_operands()
    result = nd.asarray(a) + nd.asarray(b) + nd.asarray(c)
    assert result.shape == (3, 5, 4)
    assert result.tolist() == (a + b + c).tolist()


def test_E8_iteration_space_strides():
    """explain shows the operands stretched over the iteration space with strides of zero."""
    a, b, c = iteration_space_operands()
    text = str(nd.explain(nd.add, nd.asarray(a), nd.asarray(b)))
    assert contains(text, r"\(3, 5, 4\)")
    assert contains(text, r"\(16, 0, 4\)") and contains(text, r"\(0, 8, 0\)")
    wide = nd.asarray(np.zeros((3, 5, 4), "int32"))
    assert contains(str(nd.explain(nd.add, wide, nd.asarray(c))), r"\(0, 0, 4\)")


def test_E9_assignment_from_ragged():
    a = nd.array([[0, 1, 2], [3, 4, 5]], access="rw")
    calls = nd.trace(nd.assign, a, nd.array([[5, 6, 7], [8]])).calls
    assert a.tolist() == [[5, 6, 7], [8, 8, 8]]
    assert [call.level for call in calls] == [0, 1, 2, 2, 2, 1, 2, 2, 2]
    assert [list(call.sources)[0] for call in calls] == [
        *["[[5, 6, 7], [8]]", "[5, 6, 7]", "5", "6", "7", "[8]", "8", "8", "8"]
    ]


def test_E10_addition_trace():
    b, c = nd.array([[5, 6, 7], [8], [9, 10, 11]]), nd.array([[-1], [2, 3, 4], [6, 5, 4]])
    assert (b + c).tolist() == [[4, 5, 6], [10, 11, 12], [15, 15, 15]]
    calls = nd.trace(nd.add, b, c).calls
    assert [(call.level, call.name, list(call.sources)) for call in calls] == [
        (0, "strided", ["[[5, 6, 7], [8], [9, 10, 11]]", "[[-1], [2, 3, 4], [6, 5, 4]]"]),
        (1, "var", ["[5, 6, 7]", "[-1]"]),
        (2, "add", ["5", "-1"]),
        (2, "add", ["6", "-1"]),
        (2, "add", ["7", "-1"]),
        (1, "var", ["[8]", "[2, 3, 4]"]),
        (2, "add", ["8", "2"]),
        (2, "add", ["8", "3"]),
        (2, "add", ["8", "4"]),
        (1, "var", ["[9, 10, 11]", "[6, 5, 4]"]),
        (2, "add", ["9", "6"]),
        (2, "add", ["10", "5"]),
        (2, "add", ["11", "4"]),
    ]
    destination = nd.array([[0, 0, 0]] * 3, access="rw")
    destination[...] = b + c
    assert destination.tolist() == [[4, 5, 6], [10, 11, 12], [15, 15, 15]]


# ---- dynd_behaviour.md


def test_E1_fixed():
    a = nd.array([1, 2, 3], type="3 * int32", access="rw")
    a[...] = 4
    check(a, [4, 4, 4], "3 * int32")


def test_E5_E6_E7_fixed():
    a = nd.array([[1, 2], [3]], type="2 * var * int32")
    check(a + nd.array([[4], [5]], type="2 * 1 * int32"), [[5, 6], [8]], "2 * var * int32")
    check(a + nd.array([[4, 5], [6, 7]], type="2 * 2 * int32"), [[5, 7], [9, 10]], "2 * 2 * int32")
    check(a + nd.array([[4], [5, 6, 7]], type="2 * var * int32"), [[5, 6], [8, 9, 10]], "2 * var * int32")


def test_E11():
    a, b = nd.array([[1, 2, 3], [4]]), nd.array([[5, 6, 7], [8, 9, 10]])
    check(a + b, [[6, 8, 10], [12, 13, 14]], "strided * strided * int32")
    check(b - a, [[4, 4, 4], [4, 5, 6]], "strided * strided * int32")


def test_E13():
    a, b = nd.array([[1, 2, 3], [4]]), nd.array([[5], [6]])
    check(a + b, [[6, 7, 8], [10]], "strided * var * int32")
    check(b - a, [[4, 3, 2], [2]], "strided * var * int32")


def test_E15():
    a = nd.array([2, 4, 6])
    check(a + 2, [4, 6, 8], "strided * int32")
    check(a - 2, [0, 2, 4], "strided * int32")
    check(2 - a, [0, -2, -4], "strided * int32")
    check(a * 2, [4, 8, 12], "strided * int32")
    check(a / 2, [1.0, 2.0, 3.0], "strided * float64")
    check(2 + a, [4, 6, 8], "strided * int32")
    check(2 * a, [4, 8, 12], "strided * int32")
    check(12 / a, [6.0, 3.0, 2.0], "strided * float64")


def test_E17():
    a = nd.array([[[1, 2], [3, 4]], [[5, 6]]], type="2 * var * 2 * int32")
    b = nd.array([[[10, 20], [30, 40]], [[50, 60], [70, 80]]], type="2 * 2 * 2 * int32")
    check(a + b, [[[11, 22], [33, 44]], [[55, 66], [75, 86]]], "2 * 2 * 2 * int32")


def test_E19():
    with pytest.raises(ValueError) as caught:
        nd.array([[1, 2], [3]]) + nd.array([[4, 5, 6], [5]])
    assert contains(str(caught.value), "add", "row 0", "2", "3")


def test_E21():
    a, b = nd.array([[1], [2], [3]]), nd.array([[10, 20, 30]])
    check(a + b, [[11, 21, 31], [12, 22, 32], [13, 23, 33]], "strided * strided * int32")


def test_E23_by_the_design_division_floors():
    quotient, remainder = divmod(nd.array([7, -7]), nd.array(2))
    check(quotient, [3, -4], "strided * int32")
    check(remainder, [1, 1], "strided * int32")


def test_E37_assignment_into_three_dimensions():
    a = nd.asarray(np.zeros((2, 3, 4), "int32"))
    a[...] = nd.array([3, 4, 2, 5])
    assert a.tolist() == [[[3, 4, 2, 5]] * 3] * 2
    a[...] = nd.array([[3], [5], [7]])
    assert a.tolist() == [[[3] * 4, [5] * 4, [7] * 4]] * 2


def test_E39_rows_that_have_memory_keep_their_lengths():
    a = nd.array([[1, 2], [4]], type="2 * var * int32", access="rw")
    a[...] = 9
    assert a.tolist() == [[9, 9], [9]]


def test_E49():
    a = nd.array([[3, 12, -5], [10, 2, 3]])
    assert a.sum() == 25
    check(a.sum(axis=0), [13, 14, -2], "strided * int64")
    check(a.sum(axis=1), [10, 15], "strided * int64")


def test_E51():
    assert nd.array([]).sum() == 0
    with pytest.raises(ValueError, match="min"):
        nd.array([]).min()


def test_E57():
    a = nd.array([[1, 2], [3]])
    assert a.sum() == 6
    check(a.sum(axis=1), [3, 3], "strided * int64")
    kept = a.sum(axis=1, keepdims=True)
    assert kept.tolist() == [[3], [3]] and kept.shape == (2, 1)
    check(nd.array([[1, 2], [], [3]]).sum(axis=1), [3, 0, 3], "strided * int64")


@pytest.mark.parametrize(
    "values, text",
    [
        (True, "bool"),
        (10, "int32"),
        (-2200000000, "int64"),
        (5.125, "float64"),
        ([], "strided * int32"),
        ([[], [], []], "strided * strided * int32"),
        ([1, True], "strided * int32"),
        ([10000000000, 3.25, 2, False], "strided * float64"),
        ([[1], [2, 3, 4], [5, 6]], "strided * var * int32"),
        ([[], [False, 2, 3]], "strided * var * int32"),
        ([[], [[]], [[[1, 3]]]], "strided * var * var * strided * int32"),
    ],
)
def test_E107_deduction(values, text):
    check(nd.array(values), values, text)


def test_E111_empty_of_a_given_type():
    a = nd.array([], type="strided * 3 * int16")
    assert a.shape == (0, 3)


def test_E113_access():
    a = nd.array([1, 2], access="rw")
    assert a.access == "readwrite"
    assert nd.array([1, 2]).access == "immutable"
    assert nd.array([1, 2], access="immutable").access == "immutable"
    assert nd.array([1, 2], access="readwrite").access == "readwrite"


def test_E115_setitem():
    a = nd.array(list(range(100)), access="rw")
    a[0] = 1000
    a[1:8:3] = 120
    a[5:2:-1] = nd.array([-10, -20, -30])
    assert a[:11].tolist() == [1000, 120, 2, -30, -20, -10, 6, 120, 8, 9, 10]


def test_E119_index_errors():
    a = nd.array([1, 2, 3, 4, 5])
    with pytest.raises(IndexError) as caught:
        a[5]
    assert contains(str(caught.value), "5") and contains(str(caught.value), "axis 0")
    with pytest.raises(IndexError, match="too many indices"):
        a[0, 0]


def test_E123_transpose():
    assert nd.array([[1, 2, 3], [4, 5, 6]]).T.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert nd.array([1, 2, 3, 4, 5])[::-2].tolist() == [5, 3, 1]


def test_types_are_interned_and_compare():
    assert nd.type_of(nd.array([1, 2])) == ndt.type("strided * int32")
    assert nd.type_of(nd.array(1)) == ndt.int32
    assert ndt.type("int32") == ndt.int32
    assert ndt.type("3 * int32") != ndt.type("4 * int32")
