"""Expressions that a thread evaluates again run by a kernel that it kept: the same operations over other arrays.

Random expressions over dense arrays and numbers, each with several sets of inputs of other values, sizes and shapes,
against NumPy to the bit; so many different ones between that kernels are replaced.
"""

import functools
import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings

import programs
from dynd import nd
from strategies import FEW, seeds

SHAPES = [(8193,), (10_000,), (70, 130), (3, 50, 61), (49_999,), (50_001,), (50_000,), (199_999,), (200_000,)]
SCALARS = ["float64", "float64", "float32", "int32", "int64", "uint8", "float64", "int32"]


@functools.lru_cache(None)
def inputs_of(shape, seed):
    """Six arrays and two numbers: (the library's, NumPy's)."""
    rng = np.random.default_rng(seed)
    plain = [(rng.standard_normal(shape) * 50).astype(scalar) for scalar in SCALARS[:6]]
    plain += [np.array(rng.standard_normal()), np.array(rng.integers(-9, 9), dtype="int32")]
    return [nd.array(x) for x in plain], plain


def check(values, expected, program):
    for value, wanted in zip(values, expected):
        if value is not None:
            np.testing.assert_array_equal(np.asarray(value), wanted, err_msg=str(program), strict=True)


@settings(max_examples=FEW)
@given(seeds)
def test_an_expression_with_other_inputs(seed):
    """Some intermediate values are held, so that they are results of the kernel too."""
    rng = random.Random(seed)
    program = programs.random_program(rng, SCALARS, rng.randint(1, 9))
    held = {i for i in range(len(program)) if rng.random() < 0.2} | {len(program) - 1}
    for _ in range(3):
        arrays, plain = inputs_of(rng.choice(SHAPES), rng.randrange(3))
        values = programs.run(program, arrays)[len(SCALARS) :]
        values = [value if i in held else None for i, value in enumerate(values)]
        order = rng.sample(sorted(held), len(held))
        for i in order:
            values[i].eval()
        check(values, programs.run_numpy(program, plain)[len(SCALARS) :], program)


def test_the_same_operations_of_other_operands():
    """What differs in one thing only: which operand, its type, one number or many, what else is looked at."""
    arrays, plain = inputs_of((10_000,), 0)
    a, b, c, d, _, _, number, _ = arrays
    p, q, r, s, _, _, value, _ = plain
    for _ in range(3):
        for found, wanted in [
            (a * b + a, p * q + p),
            (a * b + b, p * q + q),
            (a * a + b, p * p + q),
            (a * b - a, p * q - p),
            (a - a * b, p - p * q),
            (a * c + a, p * r + p),
            (c * b + a, r * q + p),
            (a * d + a, p * s + p),
            (a * number + a, p * value + p),
            (a * b + number, p * q + value),
            (number - a * b, value - p * q),
            (nd.divmod(a, b)[0], np.divmod(p, q)[0]),
            (nd.divmod(a, b)[1], np.divmod(p, q)[1]),
        ]:
            np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)
        held = a * b
        total = held + a
        np.testing.assert_array_equal(np.asarray(total), p * q + p)
        np.testing.assert_array_equal(np.asarray(held), p * q)


@pytest.mark.parametrize("name", ["add", "multiply", "subtract", "maximum", "arctan2"])
def test_one_number_or_many(name):
    """One operation, after that of another operand: what is read of a number is its one element."""
    arrays, plain = inputs_of((10_000,), 0)
    operation, expected = getattr(nd, {"arctan2": "atan2"}.get(name, name)), getattr(np, name)
    pairs = [(i, j) for i in (0, 1, 6) for j in (0, 1, 6) if (i, j) != (6, 6)]  # two arrays and a number of one type
    for first in pairs:
        for second in pairs:
            for i, j in (first, first, second, first):
                found = np.asarray(operation(arrays[i], arrays[j]).eval())
                if name == "arctan2":
                    np.testing.assert_allclose(found, expected(plain[i], plain[j]), rtol=1e-14)
                else:
                    np.testing.assert_array_equal(found, expected(plain[i], plain[j]))


def test_in_place():
    rng = np.random.default_rng(1)
    for n in (10_000, 20_000, 10_000):
        x, y = rng.standard_normal(n), rng.standard_normal(n)
        w, b = nd.array(x, access="rw"), nd.array(y)
        for _ in range(3):
            w += b * 2.0
            x += y * 2.0
            w *= 0.5
            x *= 0.5
            w -= w * w
            x -= x * x
        np.testing.assert_array_equal(np.asarray(w), x)


def test_operations_that_fail_still_say_where():
    values = np.arange(1, 10_001, dtype="int64")
    a = nd.array(values)
    for i in (5, 4000, 9999):
        zero = values.copy()
        zero[i] = 0
        np.testing.assert_array_equal(np.asarray(a // a), values // values)
        with pytest.raises(ValueError, match=rf"at index \({i},\)"):
            (a * 2) // nd.array(zero)


def test_many_threads():
    """Each has kernels of its own."""
    failures = []

    def work(seed):
        rng = random.Random(seed)
        arrays, plain = inputs_of((10_000,), seed % 3)
        for _ in range(40):
            program = programs.random_program(rng, SCALARS, rng.randint(1, 5))
            for _ in range(3):
                found = np.asarray(programs.run(program, arrays)[-1])
                if not np.array_equal(found, programs.run_numpy(program, plain)[-1], equal_nan=True):
                    failures.append(program)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
