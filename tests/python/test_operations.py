"""The operations at the edges of their types, against NumPy, Python's integers and C's library; failures that name what
failed; the operators."""

import cmath
import itertools
import math
import operator
import os
from unittest import mock

import numpy as np
import pytest

import oracle
from dynd import nd
from oracle import Array, strided
from support import SIGNLESS, close, identical, is_exact

LIMITS = {name: (np.iinfo(name).min, np.iinfo(name).max) for name in oracle.INTEGERS}
FLOAT_EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, 1e300, -1e300, math.inf, -math.inf, math.nan]


def integer_edges(scalar):
    low, high = LIMITS[scalar]
    bits = 8 * np.dtype(scalar).itemsize
    near = [low, low + 1, high, high - 1, -3, -2, -1, 0, 1, 2, 3, 7, bits - 1, bits, bits + 1, 2 * bits, high // 2 + 1]
    return sorted({value for value in near if low <= value <= high})


def float_edges(scalar):
    """Limits, subnormals and what is around them, as Python floats that the type holds."""
    info = np.finfo(scalar)
    more = [info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal, -info.smallest_subnormal]
    more += [info.tiny * 0.75, 1 + info.eps, info.max / 2, 2.0**info.nmant + 1]
    with np.errstate(all="ignore"):
        return np.array(FLOAT_EDGES + [float(x) for x in more], scalar).tolist()


UNARY_OF_REALS = ["isnan", "isfinite", "isinf", "signbit", "modf", "frexp", "floor", "ceil", "trunc", "round", "rint"]
UNARY_OF_REALS += ["positive", "conj", "real", "imag", "sign", "reciprocal", "deg2rad", "rad2deg", "logical_not"]
UNARY_OF_INTEGERS = [*UNARY_OF_REALS, "bitwise_invert", "bitwise_count"]
BINARY_OF_REALS = ["copysign", "nextafter", "fmin", "fmax", "heaviside", "complex", "logical_and", "logical_xor"]


def check(name, scalar, columns):
    """The library is the oracle on these columns of Python values."""
    inputs = [Array((strided(len(column)),), scalar, column) for column in columns]
    expected = oracle.elementwise(name, *inputs)
    found = getattr(nd, name)(*[nd.array(x.values, type=x.type_text) for x in inputs])
    several = lambda x: x if isinstance(x, tuple) else (x,)  # noqa: E731
    for result, wanted in zip(several(found), several(expected), strict=True):
        assert str(nd.type_of(result)) == wanted.type_text
        for i, (got, value) in enumerate(zip(result.tolist(), wanted.values, strict=True)):
            same = identical(got, value, name not in SIGNLESS)
            if not is_exact(name, False):
                same = close(got, value, wanted.scalar)
            assert same, f"{name}{tuple(c[i] for c in columns)} gave {got}, not {value}"


# ---- integers


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
@pytest.mark.parametrize("name", ["divmod", "floor_divide", "remainder", "fmod"])
def test_divisions_of_integers(name, scalar):
    both = [(a, b) for a, b in itertools.product(integer_edges(scalar), repeat=2) if b != 0]
    check(name, scalar, list(zip(*both)))
    low, high = LIMITS[scalar]
    wrap = lambda x: (x - low) % (high - low + 1) + low  # noqa: E731
    a, b = (nd.array(column, type=f"strided * {scalar}") for column in zip(*both))
    if name != "divmod":
        truncated = lambda x, y: abs(x) % abs(y) * (-1 if x < 0 else 1)  # noqa: E731
        exact = {"floor_divide": operator.floordiv, "remainder": operator.mod, "fmod": truncated}[name]
        assert getattr(nd, name)(a, b).tolist() == [wrap(exact(x, y)) for x, y in both]


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integers_divided_by_one_number(name, scalar):
    """Which is a product with a number that is found for the divisor: every edge by every edge, and powers of two."""
    low, high = LIMITS[scalar]
    powers = [sign * 2**k + more for k in range(8 * np.dtype(scalar).itemsize) for sign in (1, -1) for more in (-1, 0, 1)]
    divisors = sorted({d for d in [*integer_edges(scalar), *powers, 10, 641, 6700417] if low <= d <= high and d != 0})
    own = np.random.default_rng(3).integers(low, high, 50, scalar, endpoint=True).tolist()
    dividends = sorted({x for d in divisors for x in (d - 1, d, d + 1) if low <= x <= high} | set(own) | {low, high})
    wrap = lambda x: (x - low) % (high - low + 1) + low  # noqa: E731
    truncated = lambda x, y: abs(x) % abs(y) * (-1 if x < 0 else 1)  # noqa: E731
    exact = {"floor_divide": operator.floordiv, "remainder": operator.mod, "fmod": truncated}[name]
    a = nd.array(dividends, type=f"strided * {scalar}")
    for d in divisors:
        number = nd.array(d, type=scalar)
        wanted = [wrap(exact(x, d)) for x in dividends]
        assert getattr(nd, name)(a, number).tolist() == wanted, d
        if name != "fmod":
            assert nd.divmod(a, number)[name == "remainder"].tolist() == wanted, d


def test_a_number_that_cannot_divide_is_told_of_the_first_element_that_is_there():
    a = nd.array([None, None, *range(3000)])
    with pytest.raises(ValueError, match=r"floor_divide: integer division by zero at index \(2,\)"):
        a // 0
    assert (nd.array([None] * 3000, type="strided * ?int64") % 0).tolist() == [None] * 3000
    assert (a // 7).tolist() == [None, None, *(x // 7 for x in range(3000))]


@pytest.mark.parametrize("scalar", oracle.SIGNED)
def test_the_smallest_integer_by_minus_one_wraps(scalar):
    low = LIMITS[scalar][0]
    a = nd.array([low] * 70, type=f"strided * {scalar}")
    assert (a // -1).tolist() == [low] * 70
    assert (a % -1).tolist() == [0] * 70


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
def test_powers_of_integers_wrap(scalar):
    edges = integer_edges(scalar)
    check("pow", scalar, list(zip(*[(a, b) for a in edges for b in edges if b >= 0])))


def test_powers_of_integers():
    a = nd.array([2, 3, -2, 0, 1])
    assert (a**3).tolist() == [8, 27, -8, 0, 1]
    assert (a**0).tolist() == [1, 1, 1, 1, 1]
    assert (2 ** nd.array([0, 1, 10])).tolist() == [1, 2, 1024]
    assert pow(a, 2).tolist() == [4, 9, 4, 0, 1]
    assert (nd.array([1, 2]) ** -1.0).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
def test_shifts(name, scalar):
    """By the width and more there is nothing left, or the sign."""
    edges = integer_edges(scalar)
    both = [(a, b) for a in edges for b in edges if b >= 0]
    check(name, scalar, list(zip(*both)))
    low, high = LIMITS[scalar]
    a, b = (nd.array(column, type=f"strided * {scalar}") for column in zip(*both))
    bits = 8 * np.dtype(scalar).itemsize
    if name == "bitwise_right_shift":
        exact = [x >> min(y, bits) for x, y in both]
    else:
        exact = [((x << min(y, bits)) - low) % (high - low + 1) + low for x, y in both]
    assert getattr(nd, name)(a, b).tolist() == exact


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits(name, scalar):
    both = list(itertools.product(integer_edges(scalar), repeat=2))
    check(name, scalar, list(zip(*both)))


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
def test_gcd(scalar):
    both = list(itertools.product(integer_edges(scalar), repeat=2))
    check("gcd", scalar, list(zip(*both)))
    low, high = LIMITS[scalar]
    a, b = (nd.array(column, type=f"strided * {scalar}") for column in zip(*both))
    for got, (x, y) in zip(nd.gcd(a, b).tolist(), both):
        exact = math.gcd(x, y)
        assert got == (exact if exact <= high else low)


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
def test_lcm(scalar):
    """Wraps, as products do."""
    both = list(itertools.product(integer_edges(scalar), repeat=2))
    low, high = LIMITS[scalar]
    a, b = (nd.array(column, type=f"strided * {scalar}") for column in zip(*both))
    for got, (x, y) in zip(nd.lcm(a, b).tolist(), both):
        assert got == (math.lcm(x, y) - low) % (high - low + 1) + low, (x, y)


@pytest.mark.parametrize("scalar", oracle.INTEGERS)
@pytest.mark.parametrize("name", UNARY_OF_INTEGERS)
def test_one_integer(name, scalar):
    check(name, scalar, [integer_edges(scalar)])


def test_bits_of_bools():
    a, b = nd.array([True, True, False, False]), nd.array([True, False, True, False])
    assert (a & b).tolist() == [True, False, False, False]
    assert (a | b).tolist() == [True, True, True, False]
    assert (a ^ b).tolist() == [False, True, True, False]
    assert (~a).tolist() == [False, False, True, True]
    assert str(nd.type_of(~a)) == "strided * bool"
    assert (a & True).tolist() == a.tolist()
    mask = (nd.array([1.0, 5.0, 9.0]) > 2) & (nd.array([1.0, 5.0, 9.0]) < 8)
    assert mask.tolist() == [False, True, False]
    # Any byte but 0 is true, in NumPy's memory too.
    odd = nd.asarray(np.array([0, 1, 2, 255], "uint8").view(bool))
    assert (~odd).tolist() == [True, False, False, False]
    assert (odd & True).tolist() == [False, True, True, True]


# ---- floating-point numbers


@pytest.mark.parametrize("scalar", oracle.FLOATS)
@pytest.mark.parametrize("name", UNARY_OF_REALS)
def test_one_float(name, scalar):
    check(name, scalar, [float_edges(scalar) * 5])


@pytest.mark.parametrize("scalar", oracle.FLOATS)
@pytest.mark.parametrize("name", ["divmod", "floor_divide", "remainder", "fmod", "pow", *BINARY_OF_REALS])
def test_two_floats(name, scalar):
    both = list(itertools.product(float_edges(scalar), repeat=2))
    check(name, scalar, list(zip(*both)))


@pytest.mark.parametrize("name", BINARY_OF_REALS)
@pytest.mark.parametrize("scalar", oracle.INTEGERS)
def test_two_integers(name, scalar):
    check(name, scalar, list(zip(*itertools.product(integer_edges(scalar), repeat=2))))


@pytest.mark.parametrize("scalar", oracle.FLOATS)
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide", "divmod"])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_divisions_of_floats_are_exact(name, scalar, level):
    """Near multiples of the divisor, with quotients of any size; some parts of the array need the long way, others not."""
    rng = np.random.default_rng(level)
    b = rng.uniform(1, 2, 4000) * 2.0 ** rng.integers(-3, 3, 4000) * rng.choice([-1, 1], 4000)
    b = b.astype(scalar)
    most = [20, 2**8, 2**40][level]
    with np.errstate(all="ignore"):
        a = (np.floor(rng.uniform(0, most, 4000)) * b).astype(scalar) * rng.choice([-1, 1], 4000).astype(scalar)
        toward = rng.choice([-np.inf, np.inf], 4000).astype(scalar)
        a = np.where(rng.random(4000) < 0.5, a, np.nextafter(a, toward)).astype(scalar)
        a[~np.isfinite(a)] = 1
        if level:
            a[::700], b[1::700], a[2::700] = np.finfo(scalar).max, np.finfo(scalar).tiny, np.nan
    check(name, scalar, [a.tolist(), b.tolist()])
    w = nd.array(a, access="rw")
    if name == "remainder":
        w %= nd.array(b)
        with np.errstate(all="ignore"):
            assert identical(w.tolist(), np.remainder(a, b).tolist())


@pytest.mark.parametrize("scalar", oracle.FLOATS)
def test_rounding_near_halves_and_near_the_last_fraction(scalar):
    digits = np.finfo(scalar).nmant
    near = [k / 2 for k in range(-9, 10)] + [2.0**digits - 0.5, 2.0**digits, 2.0 ** (digits - 1) + 0.5, 2.0 ** (digits + 1) - 1]
    values = np.array(near + [-x for x in near], scalar)
    with np.errstate(over="ignore"):
        values = np.concatenate([np.nextafter(values, np.inf), values, np.nextafter(values, -np.inf)]).astype(scalar)
    for name in ("floor", "ceil", "trunc", "round", "rint"):
        check(name, scalar, [values.tolist()])


@pytest.mark.parametrize("scalar", oracle.FLOATS)
def test_ldexp(scalar):
    """One rounding, also where the result is subnormal; exponents of any size."""
    exponents = [*range(-30, 30), -1100, -1074, -1023, -1022, -970, -969, -200, -150, -149, -126, -103, -102, 127, 128]
    exponents += [200, 1023, 1024, 2000, 2200, 10**6, -(10**6), 2**40, -(2**40), 2**63 - 1, -(2**63)]
    values = [*float_edges(scalar), *np.array([1 / 3, -math.pi, 1e-30, 1e-7, 12345.678], scalar).tolist()]
    both = list(itertools.product(values, exponents))
    column = [x for x, _ in both]
    found = nd.ldexp(nd.array(column, type=scalar), nd.array([e for _, e in both], type="int64"))
    for got, (x, e) in zip(found.tolist(), both):
        with np.errstate(all="ignore"):  # rounded once from a type that holds what is near the limits, or exactly
            if not math.isfinite(x) or x == 0:
                exact = x
            else:
                mantissa, own = math.frexp(x)
                down = max(min(own + e, 5000), -5000)
                exact = np.longdouble(mantissa) * np.longdouble(2) ** np.longdouble(down)
            assert identical(got, float(np.array(exact, "longdouble").astype(scalar))), (x, e)
    assert nd.ldexp([[1.5, 2.0], []], 3).tolist() == [[12.0, 16.0], []]
    assert nd.ldexp([1, 2], nd.array([3, 4], type="uint8")).tolist() == [8.0, 32.0]
    mantissa, exponent = nd.frexp(nd.array(values, type=scalar))
    assert identical(nd.ldexp(mantissa, exponent).tolist(), values)
    assert nd.ldexp(nd.array([1.0, 2.0]), None).tolist() == [None, None]
    assert nd.ldexp(nd.array([1.0, None, 3.0]), nd.array([1, 2, None])).tolist() == [2.0, None, None]


@pytest.mark.parametrize("scalar", oracle.COMPLEX)
def test_one_complex_number(scalar):
    parts = [0.0, -0.0, 1.0, -2.5, 3e-39, 1e30, math.inf, -math.inf, math.nan]
    values = np.array([complex(x, y) for x in parts for y in parts], scalar).tolist()
    for name in ("isnan", "isfinite", "isinf", "conj", "real", "imag", "positive", "reciprocal", "logical_not"):
        check(name, scalar, [values])
    array = np.array(values, scalar)
    with np.errstate(all="ignore"):
        expected = np.sign(array)
    np.testing.assert_allclose(np.asarray(nd.sign(array)), expected, rtol=4 * np.finfo(scalar).eps, atol=np.finfo(scalar).tiny)


def test_logic_takes_numbers():
    a, b = nd.array([0, 3, -1, 0], type="int8"), nd.array([0.0, math.nan, 0.0, -0.0])
    assert nd.logical_and(a, b).tolist() == [False, True, False, False]
    assert nd.logical_or(a, b).tolist() == [False, True, True, False]
    assert nd.logical_xor(a, b).tolist() == [False, False, True, False]
    assert nd.logical_not(b).tolist() == [True, False, True, True]
    assert nd.logical_and(a, 1000).tolist() == [False, True, True, False], "a number has its own type"
    assert nd.logical_or([[1, 0], []], [[0j], [1j]]).tolist() == [[True, False], []]
    assert nd.logical_and([0, 5, None], None).tolist() == [False, None, None]
    assert nd.logical_or([0.0, 5.0, None], None).tolist() == [None, True, None]
    large = np.arange(100_000) % 3
    text = nd.explain(lambda: nd.logical_and(nd.array(large), nd.array(large) > 1).max())
    assert text.count("one kernel") == 1, text


def test_powers_of_floats():
    assert (nd.array([2.0, -8.0, 0.0]) ** nd.array([0.5, 1 / 3, -1.0])).tolist()[0] == math.sqrt(2)
    assert math.isnan((nd.array([-8.0]) ** (1 / 3)).tolist()[0])
    assert (nd.array([0.0]) ** -1.0).tolist() == [math.inf]
    assert (nd.array([1.0, math.nan]) ** nd.array([math.nan, 0.0])).tolist() == [1.0, 1.0]
    assert (2 ** nd.array([0.5], type="float32")).tolist() == [np.float32(2) ** np.float32(0.5)]


def test_parts_of_floats_are_python_s():
    values = [0.0, -0.0, 1.0, 0.1, -3.75, 1e-320, 5e-324, 1.7e308, 123456.789]
    mantissas, exponents = nd.frexp(values)
    assert str(nd.type_of(exponents)) == "strided * int32"
    assert list(zip(mantissas.tolist(), exponents.tolist())) == [math.frexp(x) for x in values]
    fractions, wholes = nd.modf(values)
    assert list(zip(fractions.tolist(), wholes.tolist())) == [math.modf(x) for x in values]
    assert identical([x.tolist() for x in nd.modf(nd.array(-0.0))], [-0.0, -0.0])
    assert identical([x.tolist() for x in nd.modf(nd.array(-math.inf))], [-0.0, -math.inf])
    assert [x.tolist() for x in nd.frexp(nd.array(math.inf))] == [math.inf, 0]


def test_functions_with_two_results_take_any_layout():
    rows = nd.array([[1.5, 2.25], [], [-0.5]])
    fractions, wholes = nd.modf(rows)
    assert fractions.tolist() == [[0.5, 0.25], [], [-0.5]] and wholes.tolist() == [[1.0, 2.0], [], [-0.0]]
    plain = np.linspace(-3, 3, 60).reshape(6, 10)
    for found, expected in zip(nd.frexp(nd.asarray(plain.T[::-1])), np.frexp(plain.T[::-1])):
        np.testing.assert_array_equal(np.asarray(found), expected)
    large = np.linspace(-1e9, 1e9, 200_001)
    for found, expected in zip(nd.modf(large), np.modf(large)):
        np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("scalar", oracle.REALS)
def test_clip(scalar):
    values = integer_edges(scalar) if scalar in oracle.INTEGERS else float_edges(scalar)
    few = values[::3]
    columns = list(zip(*itertools.product(values, few, few)))
    low_then_high = oracle.ELEMENTWISE["clip"][2](*[np.array(c, scalar) for c in columns])
    found = nd.clip(*[nd.array(c, type=f"strided * {scalar}") for c in columns])
    np.testing.assert_array_equal(np.asarray(found), low_then_high)


def test_clip_takes_numbers_and_rows():
    assert nd.clip([[1, 5], [], [9]], 2, 6).tolist() == [[2, 5], [], [6]]
    assert nd.clip([[1, 5], [9]], [[3], [0]], [[4], [7]]).tolist() == [[3, 4], [7]]
    assert nd.clip(nd.array([1.0, math.nan, 9.0]), 2, 6).tolist()[::2] == [2.0, 6.0]
    assert nd.clip(5, 7, 3) == 3  # the upper limit is the last word


# ---- failures


FAILURES = [
    (nd.divmod, 0, "divmod: integer division by zero"),
    (nd.floor_divide, 0, "floor_divide: integer division by zero"),
    (nd.remainder, 0, "remainder: integer division by zero"),
    (nd.fmod, 0, "fmod: integer division by zero"),
    (nd.pow, -1, "pow: negative integer power"),
    (nd.bitwise_left_shift, -1, "bitwise_left_shift: negative shift count"),
    (nd.bitwise_right_shift, -3, "bitwise_right_shift: negative shift count"),
]


@pytest.mark.parametrize("function, bad, text", FAILURES, ids=[text for _, _, text in FAILURES])
@pytest.mark.parametrize("scalar", oracle.SIGNED)
@pytest.mark.parametrize("direct", [True, False])
def test_a_failure_names_the_operation_and_the_element(function, bad, text, scalar, direct):
    """Small and dense (the direct step), beside a number, ragged, broadcast, strided, large."""
    from dynd import _dynd

    _dynd.set_direct(direct)
    try:
        for size, at in [(1, 0), (3, 1), (200, 199), (40_000, 31_000)]:
            b = np.ones(size, scalar)
            b[at] = bad
            a = nd.array(np.ones(size, scalar))
            for second in (nd.array(b), nd.asarray(b)):
                with pytest.raises(ValueError) as caught:
                    function(a, second)
                assert str(caught.value) == f"{text} at index ({at},)"
            with pytest.raises(ValueError) as caught:
                function(a, bad)
            assert str(caught.value) == f"{text} at index (0,)"
        with pytest.raises(ValueError) as caught:
            function(nd.array([[1, 2], [], [3, 4]], type=f"strided * var * {scalar}"), [[1], [bad], [bad]])
        assert str(caught.value) == f"{text} at index (2, 0)"
        with pytest.raises(ValueError) as caught:
            function(nd.array(1, type=scalar), nd.array(bad, type=scalar))
        assert str(caught.value) == text  # one value has no index
        empty = nd.array([], type=f"strided * {scalar}")
        assert len(function(empty, empty)) == (2 if function is nd.divmod else 0)
    finally:
        _dynd.set_direct(os.environ.get("DYND_DIRECT") != "0")


def test_what_cannot_fail_does_not():
    assert (nd.array([1.0]) // 0.0).tolist() == [math.inf]
    assert (nd.array([2.0]) ** -1).tolist() == [0.5]
    assert nd.array([1, 200], type="strided * uint8").__lshift__(nd.array([9, 255], type="strided * uint8")).tolist() == [0, 0]


def test_a_failed_assignment_in_place_changes_nothing():
    a = nd.array([1, 2, 3], access="rw")
    with pytest.raises(ValueError, match=r"floor_divide: integer division by zero at index \(1,\)"):
        a //= nd.array([1, 0, 1])
    assert a.tolist() == [1, 2, 3]


# ---- operators


IN_PLACE = [
    (operator.ifloordiv, operator.floordiv),
    (operator.imod, operator.mod),
    (operator.ipow, operator.pow),
    (operator.iand, operator.and_),
    (operator.ior, operator.or_),
    (operator.ixor, operator.xor),
    (operator.ilshift, operator.lshift),
    (operator.irshift, operator.rshift),
]


@pytest.mark.parametrize("in_place, plain", IN_PLACE)
def test_operators(in_place, plain):
    values, others = [9, -8, 7, 100], [2, 3, 1, 4]
    expected = [plain(x, y) for x, y in zip(values, others)]
    a, b = nd.array(values), nd.array(others)
    assert plain(a, b).tolist() == expected
    assert plain(a, 2).tolist() == [plain(x, 2) for x in values]
    assert plain(3, b).tolist() == [plain(3, y) for y in others]
    assert plain(a, np.array(others, "int32")).tolist() == expected
    assert plain(np.array(values, "int32"), b).tolist() == expected
    assert plain([9, -8, 7, 100], b).tolist() == expected
    writable = nd.array(values, access="rw")
    same = in_place(writable, b)
    assert same is writable and writable.tolist() == expected
    fixed = in_place(a, b)
    assert fixed is not a and fixed.tolist() == expected and a.tolist() == values


EVERY = [op for pair in IN_PLACE for op in pair] + [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul, divmod),
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv),
]


@pytest.mark.parametrize("op", EVERY)
def test_operators_ask_the_other_object(op):
    class Other:
        def answer(self, other):
            return self, other

    name = op.__name__.removesuffix("_")
    name = name[1:] if hasattr(int, f"__r{name[1:]}__") and name[0] == "i" else name
    setattr(Other, f"__r{name}__", Other.answer)
    a, w, other = nd.array([1, 2]), nd.array([1, 2], access="rw"), Other()
    for array in (a, w):
        assert op(array, other)[0] is other and op(array, other)[1] is array
        with pytest.raises(TypeError, match="unsupported operand"):
            op(array, object())
        with pytest.raises(TypeError):
            op(object(), array)


@pytest.mark.parametrize("op", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_comparisons_ask_the_other_object(op):
    class Other:
        def answer(self, other):
            return "asked"

        __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = answer

    assert op(nd.array([1, 2]), Other()) == "asked"
    if op not in (operator.eq, operator.ne):
        with pytest.raises(TypeError, match="not supported between instances"):
            op(nd.array([1, 2]), object())


def test_equality_with_anything():
    a = nd.array([1, 2])
    assert (a == mock.ANY) is True and (a != mock.ANY) is False
    assert (a == object()) is False and (a != object()) is True


def test_pow_with_a_modulus_is_refused():
    with pytest.raises(TypeError, match="pow: takes 2 operands"):
        pow(nd.array([1, 2]), 2, 3)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: nd.array([1.5]) & 1, "bitwise_and: defined for integers and bool only, got float64"),
        (lambda: ~nd.array([1.5], type="float32"), "bitwise_invert: defined for integers and bool only, got float32"),
        (lambda: nd.array([1.5]) << 1, "bitwise_left_shift: defined for integers only, got float64"),
        (lambda: nd.gcd([1.5], 2), "gcd: defined for integers only, got float64"),
        (lambda: nd.array([1j]) // 2, "floor_divide: not defined for complex numbers, got complex128"),
        (lambda: nd.modf([1j]), "modf: not defined for complex numbers, got complex128"),
        (lambda: nd.signbit([True]), "signbit: bool is not a number; nd.where(a, 1, 0) makes integers of it"),
        (lambda: nd.array([True]) << nd.array([True]), "bitwise_left_shift: bool is not a number; nd.where(a, 1, 0) makes integers of it"),
        (lambda: nd.ldexp([1.0], [1.5]), "ldexp: the exponent must be an int64 or smaller, not float64"),
        (lambda: nd.ldexp([1.0], [True]), "ldexp: the exponent must be an int64 or smaller, not bool"),
        (lambda: nd.ldexp([1.0], nd.array([1], type="uint64")), "ldexp: the exponent must be an int64 or smaller, not uint64"),
        (lambda: nd.floor([1j]), "floor: not defined for complex numbers, got complex128"),
        (lambda: nd.floor([True]), "floor: bool is not a number; nd.where(a, 1, 0) makes integers of it"),
        (lambda: nd.bitwise_count([1.5]), "bitwise_count: defined for integers only, got float64"),
        (lambda: nd.logical_and(["a"], 1), "logical_and: there is no such operation for elements of type string"),
        (lambda: nd.where([True], 1), "where: takes 3 operands, not 2"),
        (lambda: nd.isnan([1], [2]), "isnan: takes 1 operands, not 2"),
    ],
)
def test_type_errors(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == text


def test_they_fuse_with_their_neighbours():
    a = nd.array(np.linspace(-5, 5, 100_000))
    i = nd.array(np.arange(100_000))
    text = nd.explain(lambda: (nd.clip(a, -1, 1) * (a // 0.5) ** 4).sum())
    assert text.count("one kernel") == 1, text
    assert "clip(" in text and "floor_divide(" in text and "pow(" in text, text
    text = nd.explain(lambda: ((i & 255) ^ 3).sum())
    assert text.count("one kernel") == 1 and "bitwise_and(" in text and "bitwise_xor(" in text, text
    assert ((i & 255) ^ 3).sum().tolist() == int(((np.arange(100_000) & 255) ^ 3).sum())


@pytest.mark.parametrize(
    "scalar, sizes",
    [("complex128", [1e-310, 1e-200, 1.0, 1e200, 1e308]), ("complex64", [1e-44, 1e-30, 1e30, 1e38])],
)
def test_complex_numbers_far_from_one(scalar, sizes):
    """Their squares are zero or infinite: abs and sqrt scale them."""
    parts = [sign * x for x in [0.0, *sizes] for sign in (1.0, -1.0)]
    values = [complex(np.dtype(scalar).type(complex(x, y))) for x in parts for y in parts]
    sqrt, size = nd.sqrt(nd.array(values, type=scalar)).tolist(), abs(nd.array(values, type=scalar)).tolist()
    tiny, eps = np.finfo(scalar).smallest_subnormal, 4 * np.finfo(scalar).eps
    for value, root, length in zip(values, sqrt, size):
        expected = float(np.dtype(scalar).type(math.hypot(value.real, value.imag)).real)
        assert length == expected or abs(length - expected) <= eps * expected + tiny, value
        right = cmath.sqrt(value)
        for found, wanted in ((root.real, right.real), (root.imag, right.imag)):
            assert abs(found - wanted) <= eps * abs(wanted) + tiny, value


def test_operations_take_32_ragged_dimensions():
    def deep(rows):
        for _ in range(30):
            rows = [rows]
        return nd.array(rows, type="strided * " + "var * " * 31 + "float64")

    def inside(a):
        a = a.tolist()
        for _ in range(30):
            (a,) = a
        return a

    a, b = deep([[1.0, 2.0], [3.0]]), deep([[10.0, 20.0], [30.0]])
    ones = deep([[5.0], [6.0]])
    assert inside(nd.where(a > 1, a, b)) == [[10.0, 2.0], [3.0]]
    assert inside(nd.where(a > 1, ones, b)) == [[10.0, 5.0], [6.0]], "rows that stretch"
    assert inside(a + b) == [[11.0, 22.0], [33.0]]
    assert inside(a + ones) == [[6.0, 7.0], [9.0]]
    assert inside(a == b) == [[False, False], [False]]
    assert (a * b).sum() == 1 * 10 + 2 * 20 + 3 * 30
