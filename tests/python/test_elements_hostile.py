"""Elements that met a random walk over types, views and assignments: what it found, each as its own test."""

import subprocess
import sys

import pytest
from dynd import nd


@pytest.mark.parametrize(
    "text, values",
    [
        ("2 * pointer[?int32]", [1, None]),
        ("2 * pointer[3 * int32]", [[1, 2, 3], [4, 5, 6]]),
        ("2 * pointer[var * string]", [["a"], []]),
        ("2 * ?pointer[?3 * string]", [None, ["a", "", "c"]]),
        ("pointer[pointer[var * {x: ?string}]]", [{"x": None}, {"x": "a"}]),
    ],
)
def test_what_pointers_point_to_is_copied(text, values):
    a = nd.array(values, type=text)
    assert nd.array(a).tolist() == values
    b = nd.empty(text)
    b[...] = a
    assert b.tolist() == values
    b[...] = a
    assert b.tolist() == values


@pytest.mark.parametrize(
    "given, wanted, values",
    [
        ("?int8", "pointer[?int64]", [1, None]),
        ("pointer[?int8]", "?int64", [1, None]),
        ("{x: var * int32}", "{x: ?var * int64}", [{"x": [1, 2]}, {"x": []}]),
        ("{x: ?2 * int32}", "{x: 2 * int64}", [{"x": [1, 2]}, {"x": [3, 4]}]),
        ("{x: pointer[2 * int32]}", "{x: 2 * int64}", [{"x": [1, 2]}, {"x": [3, 4]}]),
        ("string", "?pointer[string]", ["NA", "null", "", "a"]),
        ("string", "?pointer[pointer[bytes]]", ["a"]),
    ],
)
def test_pointers_and_options_in_any_order(given, wanted, values):
    converted = nd.array(values, type=given).astype(wanted).tolist()
    assert converted == [v.encode() if "bytes" in wanted else v for v in values]


def test_an_option_with_a_dimension_broadcasts():
    a = nd.array([[1, 2], None], type="2 * ?2 * int32", access="rw")
    a[...] = nd.array(None, type="?2 * int32")
    assert a.tolist() == [None, None]
    p = nd.array([[1, 2], [3, 4]], type="2 * pointer[2 * int32]", access="rw")
    p[...] = nd.array([5, 6], type="pointer[2 * int32]")
    assert p.tolist() == [[5, 6], [5, 6]]


def test_a_list_goes_to_what_may_be_missing():
    a = nd.empty("2 * ?var * int32")
    a[1] = [5]
    assert a.tolist() == [None, [5]]


def test_nothing_broadcasts_to_the_rows_of_a_missing_value():
    a = nd.array([[1, 2], None], type="2 * ?var * int32", access="rw")
    a[0] = None
    with pytest.raises(ValueError, match="lengths 1 and 2"):
        a[0] = [5]
    assert a.tolist() == [None, None]
    a[1] = [5]  # had no row yet
    assert a.tolist() == [None, [5]]


def test_a_null_pointer_leaves_the_struct_as_it_was():
    a = nd.array([{"x": 1, "p": 2}], type="{x: int32, p: int32}", access="rw")
    with pytest.raises(ValueError, match="a pointer points to nothing"):
        a[...] = nd.array([{"x": 5, "p": None}], type="{x: int32, p: pointer[int32]}")
    assert a.tolist() == [{"x": 1, "p": 2}]


def test_an_empty_list_has_the_elements_of_its_destination():
    a = nd.array(["a", "b"], access="rw")
    a[2:] = []
    assert a.tolist() == ["a", "b"]


def test_rows_of_nothing():
    a = nd.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]], type="2 * var * strided * float64", access="rw")
    view = a[:, :, 2:]
    view[...] = [[]]
    view[...] = 0
    assert view.tolist() == [[[], []], [[]]]
    assert nd.sum(view, axis=2).tolist() == [[0.0, 0.0], [0.0]]


@pytest.mark.parametrize("before", ["", "a", "aa", "aaa"])
def test_errors_are_not_cut_inside_a_character(before):
    with pytest.raises(ValueError, match=f'cannot cast string "{before}\U0001f600+\\.\\.\\." to int32'):
        nd.array(before + "\U0001f600" * 40).astype("int32")
    name = before + "é" * 150  # longer than the text of a kernel's error
    with pytest.raises(ValueError, match=f'at index \\(0, "{name}"\\)$'):
        nd.array([("x",)], type='{"%s": string}' % name).astype('{"%s": int32}' % name)


def test_thousands_of_arrays_without_values():
    arrays = []
    for i in range(6000):
        a = nd.empty("2 * var * string")
        a[...] = [["a", str(i)], []]
        arrays.append(a)
    assert len(bytearray(1 << 26)) == 1 << 26  # there is memory for others
    assert all(a.tolist() == [["a", str(i)], []] for i, a in enumerate(arrays))


def test_arrays_without_values_where_addresses_are_limited():
    program = """
import resource
from dynd import nd
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
arrays = [nd.empty("2 * var * string") for _ in range(300)]
for a in arrays:
    a[...] = [["a"], []]
bytearray(1 << 26)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("left", [0, 1, 10_000])
def test_a_list_of_numbers_that_one_of_them_changes(left):
    """Its length is looked at again after each that ran code."""
    class Changing:
        def __float__(self):
            values[:] = [1.0] * left
            return 1.0

    values = [0.5, Changing(), *[1.0] * 5000]
    with pytest.raises(ValueError, match="a list changed its length while it was read"):
        nd.array(values, type="strided * float64")
