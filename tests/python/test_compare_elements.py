"""Comparisons of elements that are not scalars, against Python's own of the same values."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynd import nd

EQUALITY = [operator.eq, operator.ne]
COMPARISONS = EQUALITY + [operator.lt, operator.le, operator.gt, operator.ge]

TEXT = st.text(alphabet="ab\x7fé€😀", max_size=3)
NUMBER = st.sampled_from([0, 1, -1, 2**53 + 1, -(2**63), 2**63 - 1, 0.0, -0.0, 0.5, 2.0**53, 2.0**63, math.inf, math.nan])


def test_strings_strided_ragged_and_broadcast():
    rows = [["a", "b"], [], ["é", "", "ab"]]
    a = nd.array(rows)
    for compare in COMPARISONS:
        assert compare(a, "ab").tolist() == [[compare(x, "ab") for x in row] for row in rows]
        assert compare(a, a).tolist() == [[compare(x, x) for x in row] for row in rows]
        column = nd.array([["a"], ["x"], ["ab"]])
        assert compare(a, column).tolist() == [[compare(x, y) for x in row] for row, y in zip(rows, "a x ab".split())]
        assert compare(a[::-1], "a").tolist() == [[compare(x, "a") for x in row] for row in rows[::-1]]
        assert compare(a[:, ::-1], "a").tolist() == [[compare(x, "a") for x in row[::-1]] for row in rows]
    assert str(nd.type_of(a == a)).endswith("var * bool")


@pytest.mark.parametrize("compare", COMPARISONS)
@given(left=st.lists(TEXT, min_size=1, max_size=8), right=TEXT)
def test_strings_and_bytes(compare, left, right):
    expected = [compare(x, right) for x in left]  # by code points, as UTF-8 has them
    assert compare(nd.array(left), right).tolist() == expected
    encoded = [x.encode() for x in left]
    found = compare(nd.array(encoded), nd.array(right.encode()))
    assert found.tolist() == [compare(x, right.encode()) for x in encoded]


@pytest.mark.parametrize("compare", COMPARISONS)
@given(values=st.lists(st.tuples(NUMBER, TEXT), min_size=1, max_size=6))
def test_tuples_are_compared_as_python_compares_them(compare, values):
    floats = [(float(x), s) for x, s in values]
    a = nd.array(floats, type="strided * (float64, string)")
    for other in floats[:2]:
        assert compare(a, other).tolist() == [compare(tuple(x), (other[0] + 0.0, other[1])) for x in floats]


def test_structs_by_field_name():
    a = nd.array([{"x": 1, "y": "a"}, {"x": 2, "y": None}])
    assert (a == {"y": "a", "x": 1}).tolist() == [True, False]
    assert (a == {"x": 1.5, "y": "a"}).tolist() == [False, False]
    assert (a != a).tolist() == [False, False]  # inside an element, missing equals missing
    with pytest.raises(TypeError, match="equal: cannot compare .* with {z: "):
        a == {"z": 1}


def nothing_of(values):
    return [nothing_of(x) for x in values] if isinstance(values, list) else None


@pytest.mark.parametrize("compare", COMPARISONS)
def test_missing_where_either_is(compare):
    values = [1, None, 3, None]
    a = nd.array(values)
    found = compare(a, 2)
    assert str(nd.type_of(found)).endswith("?bool")
    assert found.tolist() == [None if x is None else compare(x, 2) for x in values]
    assert compare(a, 1.5).tolist() == [None if x is None else compare(x, 1.5) for x in values]
    assert compare(a, a).tolist() == [None if x is None else compare(x, x) for x in values]
    assert compare(a, None).tolist() == [None] * 4
    assert compare(nd.array(["a", "b"]), None).tolist() == [None, None]
    assert compare(nd.array(1), None).tolist() is None
    for values in ([True], [1, 2], [[1.5], [], [2.0, 3.0]], []):
        found = compare(nd.array(values), None)
        assert str(nd.type_of(found)).endswith("?bool")
        assert found.tolist() == compare(None, nd.array(values)).tolist() == nothing_of(values)
    assert compare(nd.array([1, 2]), [None, 2]).tolist() == [None, compare(2, 2)]
    assert compare(nd.array([1, 2]), [None, None]).tolist() == [None, None]
    ragged = nd.array([["a", None], [], ["b"]])
    assert compare(ragged, "a").tolist() == [[compare("a", "a"), None], [], [compare("b", "a")]]


def test_types_that_cannot_be_compared():
    with pytest.raises(TypeError, match="equal: cannot compare string with int"):
        nd.array(["a"]) == 1
    with pytest.raises(TypeError, match="less: cannot compare string with bytes"):
        nd.array(["a"]) < b"a"
    with pytest.raises(ValueError, match="equal: cannot broadcast"):
        nd.array(["a", "b"]) == nd.array(["a", "b", "c"])


def test_explain_shows_the_levels():
    words = nd.array([["a", "b"], ["c"]])
    text = str(nd.explain(lambda: words == nd.array([["a"], ["c"]])))
    assert "from strided * var * string (2, var)" in text
    levels = [line.split("  ")[-1].strip() for line in text.splitlines() if "offset" in line]
    assert levels == ["var_dim rows of 1 operand(s), strides 1 8 0 0 0 0", "string, string to bool"]


@pytest.mark.parametrize("count", [1, 2, 19, 20, 21, 22, 30, 31, 60, 250])
def test_structs_of_any_number_of_numbers(count):
    """The last number decides, however many come before it."""
    last = f"f{count - 1}"
    left = np.zeros(5, dtype=[(f"f{i}", "i4" if i % 2 else "f8") for i in range(count)])
    right = left.copy()
    left[last], right[last] = [0, 0, 0, 1, 2], [0, 1, 0, 0, 2]
    a, b = nd.asarray(left), nd.asarray(right)
    order = [0, -1, 0, 1, 0]
    for compare in COMPARISONS:
        assert compare(a, b).tolist() == [compare(x, 0) for x in order]


@pytest.mark.parametrize("count", [15, 16, 17, 20, 21])
@pytest.mark.parametrize("types", [("?byteswap[int16]", "?byteswap[int64]"), ("?int32", "?int32"), ("int8", "?byteswap[float64]")])
def test_structs_of_many_numbers_that_may_be_missing(count, types):
    """Each takes several registers of the program that compares them: at 17 there are too many for one."""
    rng = np.random.default_rng(count)
    left, right = (rng.integers(0, 2, (60, count)).tolist() for _ in types)
    right[:30] = [list(row) for row in left[:30]]
    for rows, type in zip((left, right), types):
        for row in rows[::3] if type[0] == "?" else []:
            row[int(rng.integers(count))] = None
    fields = [", ".join(f"x{i}: {type}" for i in range(count)) for type in types]
    a, b = (nd.array([tuple(row) for row in rows], type=f"strided * {{{f}}}") for rows, f in zip((left, right), fields))
    for compare in EQUALITY:
        assert compare(a, b).tolist() == [compare(x, y) for x, y in zip(left, right)]
        assert compare(b, a).tolist() == compare(a, b).tolist()
