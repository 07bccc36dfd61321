"""repr and str of arrays and types: what a person reads, and what evaluates back to the same array."""

import ast
import math
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from dynd import nd, ndt
from strategies import SOME, arrays, as_float, seeds
from support import identical, make


@pytest.mark.parametrize(
    "values, text",
    [
        ([4, 4, 4], 'nd.array([4, 4, 4], type="strided * int32")'),
        ([[1, 2, 3], [4, 4, 4]], 'nd.array([[1, 2, 3], [4, 4, 4]], type="strided * strided * int32")'),
        ([[1, 2], [], [3]], 'nd.array([[1, 2], [], [3]], type="strided * var * int32")'),
        (4, 'nd.array(4, type="int32")'),
        ([], 'nd.array([], type="strided * int32")'),
        ([1.5, -0.25], 'nd.array([1.5, -0.25], type="strided * float64")'),
        ([True, False], 'nd.array([True, False], type="strided * bool")'),
        ([-2200000000], 'nd.array([-2200000000], type="strided * int64")'),
    ],
)
def test_repr(values, text):
    assert repr(nd.array(values)) == text


def test_many_rows_without_elements_are_cut_short():
    for rows in (1_000_000, 2**62):
        assert repr(nd.empty(f"{rows} * 0 * int32")) == (
            f'nd.array([[], [], [], ..., [], [], []], type="{rows} * 0 * int32")')
    deep = repr(nd.empty("6 * " * 20 + "0 * int32"))
    assert len(deep) < 100_000 and deep.count("[") == deep.count("]") and ", ...]" in deep
    many = nd.from_offsets([0] * 2002, [1])
    assert repr(many) == 'nd.array([[], [], [], ..., [], [], []], type="strided * var * int32")'


@pytest.mark.parametrize("name", ["a\nb", "\t\r", 'q"', "\\", "\x01\x7f", "é 漢😀", "", "\\n"])
def test_the_type_of_any_field_is_read_back(name):
    found = nd.array({name: 1}).type
    assert ndt.type(str(found)) == found and eval(repr(found)) == found
    assert nd.array({name: 1}).tolist() == {name: 1}


def test_fixed_sizes_are_in_the_type():
    assert repr(nd.array([1, 2], type="2 * int16")) == 'nd.array([1, 2], type="2 * int16")'


def test_a_result_prints_like_any_array():
    assert repr(nd.array([[1, 2], [3]]) + 1) == 'nd.array([[2, 3], [4]], type="strided * var * int32")'
    assert repr(nd.array([1, 2]).sum()) == 'nd.array(3, type="int64")'


@settings(max_examples=SOME)
@given(st.booleans().flatmap(lambda ragged: arrays(ragged=ragged, scalars=oracle.SCALARS)), seeds)
def test_what_is_printed_evaluates_to_the_array(value, seed):
    array = make(random.Random(seed), value)
    printed = repr(array)
    if "..." in printed:
        return
    found = re.fullmatch(r'nd\.array\((.*),\s*type="([^"]*)"\)', printed, re.S)
    assert found and found[2] == str(nd.type_of(array))
    if value.scalar in oracle.COMPLEX:  # each by itself: Python's `1+infj` is an addition
        values = [complex(text.replace(" ", "")) for text in re.findall(r"[^][, ]+", found[1])]
        assert identical([as_type(x, value.scalar) for x in values], oracle.leaves(array.tolist(), array.ndim))
        return
    values = eval(found[1], {"nan": math.nan, "inf": math.inf})
    assert identical(as_type(values, value.scalar), array.tolist())


def as_type(values, scalar):
    """What is printed has as many digits as its own type needs."""
    if isinstance(values, list):
        return [as_type(value, scalar) for value in values]
    if scalar == "complex64":
        return complex(as_float(values.real, "float32"), as_float(values.imag, "float32"))
    return as_float(float(values), scalar) if scalar in oracle.FLOATS else values


@pytest.mark.parametrize("value", [1 + 2j, 1j, -1j, 0j, -0.0 + 1j, 1.5 - 2.25j, 1e20 + 1e-7j, complex("nan+nanj")])
def test_complex_numbers_print_as_in_python(value):
    assert str(nd.array(value)) == repr(value)
    assert str(nd.array([value])) == f"[{value!r}]"


def test_float16_prints_the_shortest_text_that_reads_back():
    """Every one of them, against NumPy's own shortest digits."""
    every = np.arange(2**16, dtype="uint16").view("float16")
    texts = [str(x) for x in nd.asarray(every)]
    for text, value in zip(texts, every):
        wanted = np.format_float_scientific(value, unique=True, trim="-")
        assert np.float16(text) == value or (np.isnan(value) and text == "nan")
        assert float(text) == float(wanted) or np.isnan(value), (text, wanted)


def test_float32_digits_round_trip():
    array = nd.array([0.1, 3.4028234663852886e38, 1e-45], type="strided * float32")
    values = ast.literal_eval(re.search(r"\[.*\]", repr(array))[0])
    assert nd.array(values, type="strided * float32").tolist() == array.tolist()


def test_special_floats():
    text = repr(nd.array([math.nan, math.inf, -math.inf, -0.0]))
    assert re.search(r"\[nan, inf, -inf, -0(\.0?)?\]", text)


@pytest.mark.parametrize(
    "array",
    [
        lambda: nd.array(list(range(100_000))),
        lambda: nd.array([[i] * (i % 4) for i in range(50_000)], type="strided * var * int32"),
        lambda: nd.array([list(range(10_000))] * 3),
        lambda: nd.array([[list(range(i % 3)) for i in range(3_000)]] * 5, type="strided * var * var * int32"),
        lambda: nd.array([1.5] * 100_000) * 2.25,
    ],
)
def test_large_arrays_are_shortened(array):
    array = array()
    text = repr(array)
    assert "..." in text and len(text) < 10_000
    assert text.startswith("nd.array(") and text.endswith(f'type="{nd.type_of(array)}")')


def test_str_shows_the_values():
    assert "[1, 2, 3]" in str(nd.array([1, 2, 3]))


# ---- types


@pytest.mark.parametrize("name", oracle.SCALARS)
def test_scalar_types(name):
    kind = ndt.type(name)
    assert str(kind) == name
    assert repr(kind) == f"ndt.{name}"
    assert getattr(ndt, name) == kind


@pytest.mark.parametrize(
    "text",
    ["strided * int32", "3 * int32", "var * float64", "strided * var * var * bool", "0 * 2 * strided * var * uint8"],
)
def test_types_print_as_they_are_written(text):
    assert str(ndt.type(text)) == text
    assert repr(ndt.type(text)) == f"ndt.type('{text}')"
    assert eval(repr(ndt.type(text)), {"ndt": ndt}) == ndt.type(text)


def test_space_in_a_type_means_nothing():
    assert ndt.type("3*var*int32") == ndt.type("  3 *  var\n * int32 ")
    assert str(ndt.type("3*var*int32")) == "3 * var * int32"


def test_types_are_keys():
    kinds = {ndt.type("strided * int32"): 1, ndt.int32: 2}
    assert kinds[nd.type_of(nd.array([1, 2]))] == 1 and kinds[nd.type_of(nd.array(1))] == 2
    assert ndt.type("int8") != ndt.type("int16")
    assert (ndt.int8 == "something") is False
    assert ndt.type(ndt.int8) == ndt.int8
    assert nd.array([1, 2]).type == ndt.type("strided * int32")


def test_a_type_makes_an_array():
    assert str(nd.type_of(nd.array([1, 2], type=ndt.type("2 * uint8")))) == "2 * uint8"


# ---- explain


@pytest.mark.parametrize("ragged", [False, True])
def test_explain_shows_every_level(ragged):
    values = [[1.0, 2.0], [3.0]] if ragged else [[1.0, 2.0], [3.0, 4.0]]
    a = nd.array(values)
    text = str(nd.explain(nd.add, a, a[:, ::-1] if not ragged else nd.array([[1.0], [2.0, 3.0]])))
    assert "add" in text and "float64" in text
    assert re.search("strided|flat|loop", text)
    if ragged:
        assert "var" in text
    assert re.search("stride", text) and re.search("offset", text) and re.search("size|bytes", text)


def test_explain_of_a_function_of_ours():
    a = nd.array([[1.0, 2.0], [3.0]])
    text = str(nd.explain(lambda x: (x * x + 1.0).sum(axis=1), a))
    assert "multiply" in text and "add" in text and "sum" in text
