"""The transcendental functions at special values, at the edges of their ranges and of complex numbers. How exact they
are is measured by tests/accuracy; that they are the oracle's on plain values, by test_api_generated.py."""

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from dynd import nd
from support import identical
from transcendental_oracle import TRANSCENDENTAL

INF, NAN = math.inf, math.nan
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
COMPLEX = [name for name, row in TRANSCENDENTAL.items() if row[1] == "floats" and name != "angle"]
REAL = sorted(TRANSCENDENTAL)

#: function -> pairs of an argument and its value, exactly
SPECIALS = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (710.0, INF), (-746.0, 0.0), (-745.0, 5e-324)],
    "exp2": [(0.0, 1.0), (10.0, 1024.0), (-1074.0, 5e-324), (1024.0, INF), (-1080.0, 0.0), (INF, INF), (-INF, 0.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (5e-324, 5e-324), (-60.0, -1.0)],
    "log": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-1.5, NAN), (INF, INF), (-INF, NAN), (5e-324, 5e-324)],
    "log2": [(1.0, 0.0), (8.0, 3.0), (5e-324, -1074.0), (0.0, -INF), (INF, INF), (-1.0, NAN)],
    "log10": [(1.0, 0.0), (1000.0, 3.0), (1e22, 22.0), (0.0, -INF), (INF, INF), (-1.0, NAN)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (5e-324, 5e-324), (1e22, -0.8522008497671888)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (5e-324, 5e-324)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.0, math.pi / 2), (-1.0, -math.pi / 2), (1.5, NAN), (INF, NAN)],
    "acos": [(1.0, 0.0), (-1.0, math.pi), (0.0, math.pi / 2), (1.5, NAN), (-INF, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (5e-324, 5e-324)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (711.0, INF)],
    "cosh": [(0.0, 1.0), (INF, INF), (-INF, INF), (711.0, INF)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (20.0, 1.0), (5e-324, 5e-324)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (INF, INF), (-INF, NAN)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (27.0, 3.0), (-8.0, -2.0), (INF, INF), (-INF, -INF)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)],
    "erfc": [(0.0, 1.0), (INF, 0.0), (-INF, 2.0), (30.0, 0.0), (-30.0, 2.0)],
    "gamma": [(1.0, 1.0), (5.0, 24.0), (0.0, INF), (-0.0, -INF), (-1.0, NAN), (172.0, INF), (INF, INF), (-INF, NAN), (-200.5, -0.0)],
    "lgamma": [(1.0, 0.0), (2.0, 0.0), (0.0, INF), (-0.0, INF), (-3.0, INF), (INF, INF), (-INF, INF)],
    "expit": [(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (-800.0, 0.0)],
    "logit": [(0.5, 0.0), (0.0, -INF), (1.0, INF), (1.5, NAN), (-0.5, NAN)],
    "angle": [(1.0, 0.0), (-1.0, math.pi), (0.0, 0.0), (-0.0, math.pi), (-INF, math.pi)],
}


@pytest.mark.parametrize("name", SPECIALS)
def test_special_values(name):
    arguments, values = zip(*SPECIALS[name], (NAN, NAN))
    found = getattr(nd, name)(nd.array(list(arguments))).tolist()
    for x, got, wanted in zip(arguments, found, values):
        assert identical(got, wanted), f"{name}({x}) gave {got}, not {wanted}"


def test_special_values_of_pairs():
    zero, one = [0.0, -0.0], [1.0, -1.0]
    pairs = list(itertools.product([*zero, *one, 0.5, -0.5, 3.0, -3.0, 2.5, 1e300, INF, -INF, NAN], repeat=2))
    a, b = map(list, zip(*pairs))
    with np.errstate(all="ignore"):
        for name, function in [("atan2", np.arctan2), ("hypot", np.hypot), ("pow", np.power), ("logaddexp", np.logaddexp)]:
            found = getattr(nd, name)(a, b).tolist()
            for x, y, got, wanted in zip(a, b, found, function(np.array(a), np.array(b)).tolist()):
                close = identical(got, wanted) or abs(got - wanted) <= 1e-15 * abs(wanted)
                assert close, f"{name}({x}, {y}) gave {got}, not {wanted}"


@pytest.mark.parametrize("scalar", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", REAL)
def test_a_value_does_not_depend_on_its_neighbours(name, scalar):
    """Huge, tiny and special values beside it, its place in a vector, its stride."""
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        plain = rng.uniform(-3, 3, 200)
        wild = np.concatenate([plain, plain * 1e9, plain * 1e30, 10.0 ** rng.uniform(-40, 300, 100), [INF, NAN, 0.0, -INF]])
        wild = wild.astype(scalar)
    rng.shuffle(wild)
    count = TRANSCENDENTAL[name][0]
    columns = [wild, rng.permutation(wild)][:count]
    function = getattr(nd, name)
    whole = np.asarray(function(*[nd.array(c) for c in columns]))
    alone = [float(function(*[nd.array(c[i : i + 1]) for c in columns])[0]) for i in range(len(wild))]
    assert identical(whole.astype("float64").tolist(), alone)
    for start, step in [(1, 1), (3, 2), (0, 7)]:
        part = np.asarray(function(*[nd.asarray(c)[start::step] for c in columns]))
        np.testing.assert_array_equal(part, whole[start::step])


@pytest.mark.parametrize("name", [name for name in REAL if TRANSCENDENTAL[name][0] == 1])
def test_a_float16_is_the_float32_rounded_once(name):
    every = np.arange(65536, dtype="uint16").view("float16")
    function = getattr(nd, name)
    with np.errstate(over="ignore"):
        wanted = np.asarray(function(nd.array(every.astype("float32")))).astype("float16")
    found = np.asarray(function(nd.array(every)))
    assert found.dtype == "float16"
    np.testing.assert_array_equal(found, wanted)
    there = ~np.isnan(wanted)
    assert (np.signbit(found) == np.signbit(wanted))[there].all()


DIGEST = """
import hashlib, numpy as np
from dynd import nd
from transcendental_oracle import TRANSCENDENTAL
rng = np.random.default_rng(2)
digest = hashlib.sha256()
for scalar in ("float64", "float32", "float16", "complex128", "complex64"):
    real = "float64" if scalar in ("float64", "complex128") else "float32"
    a, b = (np.concatenate([rng.uniform(-5, 5, 1000), 10.0 ** rng.uniform(-30, 30, 1000)]).astype(real) for _ in "ab")
    with np.errstate(over="ignore"):
        a, b = (a, b) if "float" in scalar else (a + 1j * b, b - 1j * a)
        a, b = (nd.array(x.astype(scalar)) for x in (a, b))
    for name, row in (TRANSCENDENTAL | {"pow": (2, "floats")}).items():
        if "float" in scalar or row[1] == "floats":
            found = np.asarray(getattr(nd, name)(*(a, b)[: row[0]]))
            parts = found.view(found.real.dtype)
            digest.update(np.where(np.isnan(parts), parts.dtype.type("nan"), parts).tobytes())
print(digest.hexdigest())
"""


def test_all_isa_levels_give_the_same_bits():
    def digest(level):
        path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "DYND_CPU_LEVEL": level, "PYTHONPATH": path}
        return subprocess.run([sys.executable, "-c", DIGEST], env=environment, capture_output=True, check=True).stdout

    assert len({digest(level) for level in ("baseline", "avx2", "avx512")}) == 1


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_are_numpy_s(name):
    """Points of every quadrant, on the branch cuts and beside them, tiny and huge."""
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.5, 1e-9, -1e-9, 1e-200, 40.0, -40.0]
    parts += [] if name == "exp2" else [1e6]  # the product with ln 2 is too long for a long double
    if name not in {"exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh"}:
        parts += [1e200, -1e200]
    z = np.array([complex(x, y) for x in parts for y in parts])
    with np.errstate(all="ignore"):
        wanted = TRANSCENDENTAL[name][2](z)
    found = np.asarray(getattr(nd, name)(nd.array(z)))
    for x, got, right in zip(z, found, wanted):
        if name in ("log1p", "atanh", "atan", "expm1") and not np.isfinite(right):
            assert not np.isfinite(got), f"{name}({x}) gave {got}, not {right}"
            continue
        for a, b in [(got.real, right.real), (got.imag, right.imag)]:
            near = identical(float(a), float(b)) or abs(a - b) <= 2e-15 * abs(right) or (a == 0 and b == 0)
            assert near, f"{name}({x}) gave {got}, not {right}"
    small = nd.array(z[abs(z) < 1e30].astype("complex64"))
    assert np.asarray(getattr(nd, name)(small)).dtype == "complex64"


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_infinities_are_numpy_s(name):
    """C leaves the sign of an infinity beside a NaN open. (NumPy's expm1 has more NaNs than exp.)"""
    parts = [0.0, 1.0, -2.0, INF, -INF]
    z = np.array([complex(x, y) for x in parts for y in parts])
    z = z[~np.isfinite(z)]
    with np.errstate(all="ignore"):
        wanted = np.exp(z) - 1 if name == "expm1" else getattr(np, NUMPY.get(name, name))(z)
    found = np.asarray(getattr(nd, name)(nd.array(z)))
    for x, got, right in zip(z, found, wanted):
        for a, b in [(got.real, right.real), (got.imag, right.imag)]:
            a, b = (abs(a), abs(b)) if np.isnan(right) else (a, b)
            same = (np.isnan(a) and np.isnan(b)) or a == b or abs(a - b) <= 1e-15
            assert same, f"{name}({x}) gave {got}, not {right}"


def test_complex_powers():
    a = nd.array([1 + 2j, -2 + 0j, 0j, 3 - 4j])
    assert (a**2).tolist() == [x * x for x in a.tolist()]
    assert (a**0).tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(np.asarray(a**2.5)[[0, 1, 3]], np.asarray(a)[[0, 1, 3]] ** 2.5, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(2 ** nd.array([1j])), [2**1j], rtol=1e-15)
    np.testing.assert_allclose(np.asarray(a ** (1 - 2j))[[0, 1, 3]], np.asarray(a)[[0, 1, 3]] ** (1 - 2j), rtol=1e-14)
    assert nd.angle(a).tolist() == np.angle(np.asarray(a)).tolist()
    assert str(nd.type_of(nd.angle(nd.array([1j], type="complex64")))) == "strided * float32"


def test_integers_become_float64_and_bool_is_no_number():
    assert nd.exp([0, 1]).tolist() == [1.0, math.e]
    assert str(nd.type_of(nd.sin(nd.array([1], type="int8")))) == "strided * float64"
    with pytest.raises(TypeError, match="exp: bool is not a number"):
        nd.exp([True])
    with pytest.raises(TypeError, match="erf: not defined for complex numbers, got complex128"):
        nd.erf([1j])


def test_missing_lazy_ragged_and_fused():
    assert nd.exp([[0.0, None], [], [1]]).tolist() == [[1.0, None], [], [math.e]]
    x = np.random.default_rng(3).uniform(0.1, 5, 300_000)
    a = nd.array(x)
    with nd.eager():
        expected = (nd.exp(a) * nd.sin(a) + nd.log(a)).tolist()
    assert (nd.exp(a) * nd.sin(a) + nd.log(a)).tolist() == expected
    text = nd.explain(lambda: (nd.exp(a) * nd.sin(a) + nd.log(a)).sum())
    assert text.count("one kernel") == 1 and "exp(" in text and "log(" in text
