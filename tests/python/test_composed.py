"""Functions and operators that are several operations: round to places, isclose, nan_to_num, powers by 2, 3, -1, 0.5."""

import itertools
import math

import numpy as np
import pytest

import oracle
from dynd import nd
from support import identical

FINITE = [0.0, -0.0, 1.0, -1.0, 2.5, 0.125, -7.75, 1e-3, 123.456, -99999.5, 3e4]
SPECIAL = [math.inf, -math.inf, math.nan]


def numbers(scalar, values=FINITE):
    with np.errstate(all="ignore"):
        return np.array(values, scalar)


# ---- powers by Python numbers


POWERS = {
    2: lambda x: x * x,
    3: lambda x: x * x * x,
    -1: lambda x: x.dtype.type(1) / x,
    0.5: np.sqrt,
}


@pytest.mark.parametrize("scalar", oracle.FLOATS)
@pytest.mark.parametrize("size", [11, 200, 40_000])
@pytest.mark.parametrize("exponent", [2, 3, -1, 0.5, 2.0, 3.0, -1.0])
def test_powers_by_these_numbers_are_products_reciprocals_and_roots(scalar, size, exponent):
    plain = np.resize(numbers(scalar, FINITE + SPECIAL), size)
    with np.errstate(all="ignore"):
        expected = POWERS[exponent](plain)
    assert expected.dtype == scalar
    writable = nd.array(plain, access="rw")
    same = writable
    same **= exponent
    assert same is writable
    fixed = kept = nd.array(plain)
    fixed **= exponent
    found = [nd.array(plain) ** exponent, pow(nd.array(plain), exponent), nd.pow(nd.array(plain), exponent), same, fixed]
    found.append((nd.array(plain)[::-1] ** exponent)[::-1])
    for result in found:
        assert str(result.type) == f"strided * {scalar}"
        assert np.asarray(result).tobytes() == expected.tobytes() or identical(result.tolist(), expected.tolist())
    assert identical(kept.tolist(), plain.tolist())


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
def test_powers_of_integers_keep_their_type_beside_integers(scalar):
    values = [np.iinfo(scalar).max, np.iinfo(scalar).min, 0, 1, 2, 100]
    a = nd.array(values, type=scalar)
    for exponent in (2, 3):
        bits = 8 * np.dtype(scalar).itemsize
        expected = np.array([pow(x, exponent, 2**bits) for x in values], "uint64").astype(scalar)
        assert str((a**exponent).type) == f"strided * {scalar}" and (a**exponent).tolist() == expected.tolist()
        exact = np.array(values, "float64")
        exact = exact * exact if exponent == 2 else exact * exact * exact
        assert (a ** float(exponent)).tolist() == exact.tolist()
    with np.errstate(divide="ignore"):
        assert (a**-1.0).tolist() == (1.0 / np.array(values, "float64")).tolist()
    if scalar in oracle.SIGNED:
        with pytest.raises(ValueError, match=r"^pow: negative integer power at index \(0,\)$"):
            a**-1


def test_powers_by_these_numbers_take_rows_missing_values_and_complex_numbers():
    assert (nd.array([[2, 3], []]) ** 2).tolist() == [[4, 9], []]
    assert (nd.array([2.0, None]) ** 3).tolist() == [8.0, None]
    assert (nd.array([4.0, None]) ** 0.5).tolist() == [2.0, None]
    assert (nd.array([2j, 1 + 1j]) ** 2).tolist() == [-4 + 0j, 2j]
    assert (nd.array([2j]) ** -1).tolist() == [-0.5j]
    assert (nd.array([-4 + 0j]) ** 0.5).tolist() == [2j]
    swapped = nd.asarray(np.array([1.5, 2.0], ">f8"))
    assert (swapped**3).tolist() == [3.375, 8.0]
    assert (nd.array(3.0) ** 2).tolist() == 9.0


def test_powers_by_these_numbers_fuse():
    plain = np.linspace(-3, 7, 100_000)
    x = nd.array(plain)
    text = nd.explain(lambda: (1.0 + 2.0 * x - 3.0 * x**2 + 0.5 * x**3).sum())
    assert text.count("one kernel") == 1 and "pow(" not in text, text
    assert ((x + 1) ** 3).tolist() == ((plain + 1) * (plain + 1) * (plain + 1)).tolist()
    assert (x**2).tolist() == (plain * plain).tolist()


@pytest.mark.parametrize("exponent", [2, 0.5, -1])
def test_powers_of_what_has_none(exponent):
    with pytest.raises(TypeError, match="pow: there is no such operation for elements of type string"):
        nd.array(["a"]) ** exponent


@pytest.mark.parametrize("base", [[2.0, 0.5], [2, 3]])
def test_an_exponent_past_the_range_of_double_is_not_another_one(base):
    a = nd.array(base)
    for call in (lambda: a ** 2**2000, lambda: nd.pow(a, 2**2000), lambda: nd.array(base, access="rw").__ipow__(2**2000)):
        with pytest.raises(OverflowError):
            call()


def test_other_exponents_are_powers():
    assert (nd.array([2.0]) ** 4).tolist() == [16.0] and (nd.array([2]) ** True).tolist() == [2]
    assert (nd.array([2.0, 1.0]) ** nd.array([2, 2])).tolist() == [4.0, 1.0]
    assert (2 ** nd.array([2, 3])).tolist() == [4, 8]
    assert (nd.array([True, False]) ** 2).tolist() == [1, 0], "bool gives way to the number"
    assert (nd.array([1.0]) ** 1e300).tolist() == [1.0]
    with pytest.raises(OverflowError):
        nd.array([2]) ** 10**400


# ---- rounding


@pytest.mark.parametrize("scalar", oracle.FLOATS)
@pytest.mark.parametrize("decimals", [-3, -1, 0, 1, 2, 3])
def test_round_to_places_is_numpys(scalar, decimals):
    plain = numbers(scalar, FINITE[:8] + [12.345, 17.5, -0.05, 0.25, 0.35])
    with np.errstate(all="ignore"):
        expected = np.round(plain, decimals)
    for found in (nd.round(plain, decimals), nd.round(nd.array(plain), decimals=decimals), round(nd.array(plain), decimals)):
        assert str(found.type) == f"strided * {scalar}" and identical(found.tolist(), expected.tolist())
    large = np.resize(plain, 30_000)
    assert identical(nd.round(nd.array(large), decimals).tolist(), np.resize(expected, 30_000).tolist())


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
@pytest.mark.parametrize("decimals", [-21, -20, -19, -10, -5, -3, -2, -1, 0, 1, 30])
def test_round_of_integers_is_exact(scalar, decimals):
    low, high = np.iinfo(scalar).min, np.iinfo(scalar).max
    values = [low, low + 1, high, high - 1, 0, 1, 4, 5, 6, 15, 25, 35, 50, 51, 100, *(x for x in (-5, -15, -25, -26) if low < x)]
    found = nd.round(nd.array(values, type=scalar), decimals)
    wrapped = [(round(x, decimals) - low) % (high - low + 1) + low for x in values]
    assert found.tolist() == wrapped and str(found.type) == f"strided * {scalar}"


def test_round_where_there_is_nothing_to_round():
    assert nd.round([1.7e308, 1.5], 20).tolist() == [1.7e308, 1.5]
    assert nd.round([1.5, -2.5], 400).tolist() == [1.5, -2.5]
    assert nd.round([1.5, -1e300], -400).tolist() == [0.0, -0.0]
    assert identical(nd.round([*SPECIAL], 2).tolist(), SPECIAL)
    assert nd.round([[1.26, 2.0], []], 1).tolist() == [[1.3, 2.0], []]
    assert nd.round([1.26, None], 1).tolist() == [1.3, None]
    assert nd.round([16, None], -1).tolist() == [20, None]
    assert round(nd.array(2.5)).tolist() == 2.0


def test_python_functions_that_round():
    a = nd.array([1.5, -1.5, 2.5, -0.2])
    assert identical(math.floor(a).tolist(), [1.0, -2.0, 2.0, -1.0])
    assert identical(math.ceil(a).tolist(), [2.0, -1.0, 3.0, -0.0])
    assert identical(math.trunc(a).tolist(), [1.0, -1.0, 2.0, -0.0])
    assert identical(round(a).tolist(), [2.0, -2.0, 2.0, -0.0])
    assert (+a).tolist() == a.tolist() and abs(a).tolist() == [1.5, 1.5, 2.5, 0.2]
    assert math.floor(nd.array([[1], []])).tolist() == [[1], []]
    with pytest.raises(TypeError):
        +nd.array([True])


# ---- isclose


@pytest.mark.parametrize("left, right", list(itertools.product(["float16", "float32", "float64", "int32", "complex64"], repeat=2)))
@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose_is_numpys(left, right, equal_nan):
    values = [0.0, 1.0, 1.0 + 1e-3, 1.0 + 1e-6, 100.0, 100.001, -1.0, 1e-9]
    columns = [values + (SPECIAL if scalar != "int32" else []) for scalar in (left, right)]
    pairs = list(itertools.product(*columns))
    a, b = (numbers(scalar, [pair[i] for pair in pairs]) for i, scalar in enumerate((left, right)))
    for settings in ({}, {"rtol": 1e-2}, {"atol": 0.5, "rtol": 0}):
        with np.errstate(all="ignore"):
            common = np.result_type(a, b)  # NumPy has the tolerance in b's type, which may be the smaller one
            expected = np.isclose(a, b.astype(common), equal_nan=equal_nan, **settings)
        found = nd.isclose(nd.array(a), nd.array(b), equal_nan=equal_nan, **settings)
        assert str(found.type) == "strided * bool"
        assert found.tolist() == expected.tolist()


def test_isclose_takes_rows_numbers_and_missing_values():
    assert nd.isclose([[1.0, 2.0], []], 1).tolist() == [[True, False], []]
    assert nd.isclose(1, [[1.0, 2.0], []]).tolist() == [[True, False], []]
    assert nd.isclose([1.0, None, math.nan], [1.0, 1.0, None], equal_nan=True).tolist() == [True, None, None]
    assert nd.isclose([1.0, math.inf], None).tolist() == [None, None]
    assert nd.isclose(nd.array([0], type="uint8"), nd.array([1], type="uint8"), atol=1).tolist() == [True]
    large = np.linspace(0, 1, 50_000)
    text = nd.explain(lambda: nd.isclose(nd.array(large), nd.array(large) + 1e-9).min())
    assert text.count("one kernel") == 1, text


# ---- nan_to_num


@pytest.mark.parametrize("scalar", oracle.FLOATS + oracle.COMPLEX)
@pytest.mark.parametrize(
    "settings", [{}, {"nan": 3.5}, {"posinf": 7, "neginf": -8}, {"nan": math.inf, "posinf": math.nan, "neginf": math.inf}]
)
def test_nan_to_num_is_numpys(scalar, settings):
    parts = [*SPECIAL, 0.0, -0.0, 1.5]
    if scalar in oracle.COMPLEX:
        plain = np.array([complex(x, y) for x in parts for y in parts], scalar)
    else:
        plain = np.array(parts, scalar)
    expected = np.nan_to_num(plain, **settings)
    for size in (len(plain), 20_000):
        found = nd.nan_to_num(nd.array(np.resize(plain, size)), **settings)
        assert str(found.type) == f"strided * {scalar}"
        assert identical(found.tolist(), np.resize(expected, size).tolist())


def test_nan_to_num_takes_anything_with_numbers():
    assert nd.nan_to_num([1, 2]).tolist() == [1, 2] and str(nd.nan_to_num([1]).type) == "strided * int32"
    assert nd.nan_to_num([[math.nan], [], [1.0, math.inf]], posinf=9).tolist() == [[0.0], [], [1.0, 9.0]]
    assert nd.nan_to_num([math.nan, None]).tolist() == [0.0, None]
    writable = nd.array([1, 2], access="rw")
    copy = nd.nan_to_num(writable)
    writable[0] = 5
    assert copy.tolist() == [1, 2]


# ---- errors


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: nd.isclose([True], [1]), "isclose: bool is not a number; nd.where(a, 1, 0) makes integers of it"),
        (lambda: nd.isclose([1], ["a"]), "isclose: there is no such operation for elements of type string"),
        (lambda: nd.nan_to_num([True]), "nan_to_num: bool is not a number; nd.where(a, 1, 0) makes integers of it"),
        (lambda: nd.nan_to_num("a"), "nan_to_num: there is no such operation for elements of type string"),
        (lambda: nd.round(object(), 1), "round: operand of type object is not an array"),
    ],
)
def test_type_errors(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.isclose([1.0], [1.0], rtol="a"),
        lambda: nd.nan_to_num([1.0], nan=None),
        lambda: round(nd.array([1.5]), 1.5),
        lambda: nd.round([1.5], 0.5),
    ],
)
def test_settings_of_other_types(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("scalar", ["int16", "uint64", "float32", "?int32", "?float64"])
def test_clip_with_one_bound_of_rows_that_may_be_missing(scalar):
    rows = [[1, 5, 9], None, [], [7]]
    a = nd.array(rows, type=f"4 * ?var * {scalar}")
    plain = nd.fill_missing(a, [])
    column, text = nd.array([[2], [3], [4], [8]]), f"4 * ?var * {scalar}"
    for bounds in ({"min": 4}, {"max": 6}, {"min": 4, "max": 6}, {"min": column}, {"max": column}, {"min": a}, {"max": a}):
        found = nd.clip(a, **bounds)
        others = {name: nd.fill_missing(b, []) if b is a else b for name, b in bounds.items()}
        expected = nd.clip(plain, **others).tolist()
        assert found.tolist() == [None if row is None else own for row, own in zip(rows, expected)]
    assert str(nd.clip(a, min=4).type) == text and a.clip(max=6).tolist() == [[1, 5, 6], None, [], [6]]
