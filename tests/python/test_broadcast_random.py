"""Elementwise operations on random operands against the oracle, by the thousand; strided ones against NumPy too."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from dynd import nd
from oracle import Array, strided
from strategies import FEW, MANY, SOME, arrays, operand_sets, random_values, seeds
from support import SIGNLESS, assert_is, identical, is_exact, make


def agree(name, operands, rng, call=None):
    """The library and the oracle give the same result or the same kind of error for these operands."""
    inputs = [make(rng, x) if isinstance(x, Array) else x for x in operands]
    before = [x.tolist() if isinstance(y, Array) else x for x, y in zip(inputs, operands)]
    call = call or getattr(nd, name)
    try:
        expected = oracle.elementwise(name, *operands)
    except oracle.BroadcastError as error:
        with pytest.raises(ValueError) as caught:
            call(*inputs)
        text = str(caught.value)
        assert text.startswith(name + ":") and "broadcast" in text
        if error.row is not None and len(error.row) == 1 and len(operands) == 2:
            assert f"row {error.row[0]}" in text
            assert all(str(length) in text for length in error.lengths)
    except ZeroDivisionError:
        with pytest.raises((ValueError, ZeroDivisionError), match=f"{name}: integer division by zero"):
            call(*inputs)
    except oracle.NegativeError:
        with pytest.raises(ValueError, match=f"{name}: negative (integer power|shift count)"):
            call(*inputs)
    except TypeError:
        with pytest.raises(TypeError):
            call(*inputs)
    else:
        found = call(*inputs)
        many = isinstance(expected, tuple)
        assert isinstance(found, tuple) == many
        for result, wanted in zip(found if many else (found,), expected if many else (expected,)):
            complexes = any(isinstance(x, Array) and x.scalar in oracle.COMPLEX for x in operands)
            assert_is(result, wanted, zeros=name not in SIGNLESS, exact=is_exact(name, complexes))
    after = [x.tolist() if isinstance(y, Array) else x for x, y in zip(inputs, operands)]
    assert identical(before, after), "an operation changed its operand"


@settings(max_examples=MANY)
@given(operand_sets(2, 2), st.sampled_from(oracle.BINARY), seeds)
def test_binary_ragged(operands, name, seed):
    agree(name, operands, random.Random(seed))


@settings(max_examples=MANY)
@given(operand_sets(2, 2, ragged=False), st.sampled_from(oracle.BINARY), seeds)
def test_binary_strided(operands, name, seed):
    agree(name, operands, random.Random(seed))


@settings(max_examples=SOME)
@given(operand_sets(1, 1, scalars=oracle.SCALARS), st.sampled_from(oracle.UNARY), seeds)
def test_unary_ragged(operands, name, seed):
    agree(name, operands, random.Random(seed))


@settings(max_examples=SOME)
@given(operand_sets(1, 1, ragged=False, scalars=oracle.SCALARS), st.sampled_from(oracle.UNARY), seeds)
def test_unary_strided(operands, name, seed):
    agree(name, operands, random.Random(seed))


@settings(max_examples=SOME)
@given(st.booleans().flatmap(lambda ragged: operand_sets(3, 3, ragged=ragged, scalars=oracle.SCALARS)), seeds)
def test_where(operands, seed):
    rng = random.Random(seed)
    condition = operands[0]
    flags = iter(random_values(rng, "bool", len(oracle.leaves(condition.values, condition.ndim))))

    def walk(node, ndim):
        return next(flags) if ndim == 0 else [walk(inner, ndim - 1) for inner in node]

    condition = Array(condition.dims, "bool", walk(condition.values, condition.ndim))
    agree("where", [condition, *operands[1:]], rng)


@settings(max_examples=SOME)
@given(st.booleans().flatmap(lambda ragged: operand_sets(2, 2, ragged=ragged, finite=True)), seeds)
def test_divmod(operands, seed):
    agree("divmod", operands, random.Random(seed))


def with_leaves(array, f):
    """The array with f of every value."""

    def walk(node, ndim):
        return f(node) if ndim == 0 else [walk(inner, ndim - 1) for inner in node]

    return Array(array.dims, array.scalar, walk(array.values, array.ndim))


@settings(max_examples=SOME)
@given(operand_sets(2, 2, finite=True, spoiled=False), seeds)
def test_divmod_without_zeros(operands, seed):
    agree("divmod", [operands[0], with_leaves(operands[1], lambda x: x or 1)], random.Random(seed))


@settings(max_examples=MANY)
@given(
    st.booleans().flatmap(lambda ragged: operand_sets(2, 2, ragged=ragged, scalars=oracle.SCALARS)),
    st.sampled_from(oracle.FALLIBLE),
    st.booleans(),
    seeds,
)
def test_what_may_fail(operands, name, tame, seed):
    """As it comes, and with values on which nothing fails."""
    a, b = operands
    if tame and b.scalar in oracle.REALS:
        b = with_leaves(b, lambda x: (x if x > 0 else 1) if b.scalar in oracle.INTEGERS else x or 1.0)
    agree(name, [a, b], random.Random(seed))


@settings(max_examples=SOME)
@given(st.booleans().flatmap(lambda ragged: operand_sets(3, 3, ragged=ragged)), seeds)
def test_clip(operands, seed):
    agree("clip", operands, random.Random(seed))


@settings(max_examples=SOME)
@given(operand_sets(2, 2, scalars=oracle.SCALARS), st.sampled_from(["less", "equal"]), seeds)
def test_comparison_of_every_type(operands, name, seed):
    agree(name, operands, random.Random(seed))


@settings(max_examples=SOME)
@given(operand_sets(2, 2, scalars=["bool", "bool", "int8", "float32"]), st.sampled_from(oracle.BINARY), seeds)
def test_bool_gives_way_but_has_no_arithmetic(operands, name, seed):
    agree(name, operands, random.Random(seed))


@settings(max_examples=SOME)
@given(
    st.booleans().flatmap(lambda ragged: arrays(ragged=ragged)),
    st.one_of(
        st.integers(0, 100),
        st.floats(width=16, allow_nan=False, allow_infinity=False),
        st.complex_numbers(width=64, allow_nan=False, allow_infinity=False, max_magnitude=1000),
    ),
    st.sampled_from(oracle.BINARY),
    st.booleans(),
    seeds,
)
def test_python_scalars_are_weak(array, scalar, name, reverse, seed):
    agree(name, [scalar, array] if reverse else [array, scalar], random.Random(seed))


OPERATORS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "divmod": divmod,
    "negative": lambda a: -a,
    "abs": abs,
    "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "pow": lambda a, b: a**b,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_left_shift": lambda a, b: a << b,
    "bitwise_right_shift": lambda a, b: a >> b,
    "bitwise_invert": lambda a: ~a,
}


@settings(max_examples=SOME)
@given(st.data(), st.sampled_from(sorted(OPERATORS)), seeds)
def test_operators_are_the_functions(data, name, seed):
    count = oracle.ELEMENTWISE[name][0]
    agree(name, data.draw(operand_sets(count, count, finite=True)), random.Random(seed), OPERATORS[name])


@settings(max_examples=FEW)
@given(arrays(least_ndim=1), st.integers(-5, 5), seeds)
def test_reflected_operators(array, number, seed):
    wide = Array(array.dims, "int64", array.values) if array.scalar in oracle.SIGNED else array
    if wide.scalar in oracle.UNSIGNED:
        number = abs(number)
    for name, call in [
        ("add", lambda a, b: a + b),
        ("subtract", lambda a, b: a - b),
        ("multiply", lambda a, b: a * b),
        ("divide", lambda a, b: a / b),
    ]:
        agree(name, [number, wide], random.Random(seed), call)


@pytest.mark.parametrize("name", oracle.BINARY)
def test_every_pair_of_types(name):
    """All 196 pairs at once for each operation, strided and ragged."""
    rng = random.Random(7)
    for a, b in itertools.product(oracle.SCALARS, repeat=2):
        x, y = (Array((strided(5),), t, random_values(rng, t, 5)) for t in (a, b))
        agree(name, [x, y], rng)
        rows = [random_values(rng, a, n) for n in (2, 0, 1, 3)]
        column = [[value] for value in random_values(rng, b, 4)]
        agree(name, [Array((strided(4), oracle.VAR), a, rows), Array((strided(4), strided(1)), b, column)], rng)


@pytest.mark.parametrize("name", oracle.BINARY)
@pytest.mark.parametrize("scalar", oracle.NUMBERS)
def test_every_length(name, scalar):
    """Lengths around every vector width, so that each tail of a loop is met; with a step and without."""
    rng = random.Random(11)
    for length in [*range(0, 36), 63, 64, 65, 127, 128, 129, 1000]:
        x, y = (Array((strided(length),), scalar, random_values(rng, scalar, length)) for _ in range(2))
        agree(name, [x, y], rng)


@pytest.mark.parametrize("scalar", ["int8", "int32", "float16", "float32", "float64", "complex64", "complex128"])
def test_every_row_length(scalar):
    """Ragged rows of every short length, operands that share offsets, that have equal ones, and per-row values."""
    rng = random.Random(13)
    lengths = [*range(0, 40), *(rng.choice([0, 1, 3, 4, 10, 17]) for _ in range(60))]
    dims = (strided(len(lengths)), oracle.VAR)
    a, b = (Array(dims, scalar, [random_values(rng, scalar, n) for n in lengths]) for _ in range(2))
    per_row = Array((dims[0], strided(1)), scalar, [[value] for value in random_values(rng, scalar, len(lengths))])
    short = Array(dims, scalar, [row[:1] if rng.random() < 0.5 and row else row for row in b.values])
    for name in ("add", "multiply", "less", "maximum"):
        for other in (a, b, per_row, short):
            agree(name, [a, other], rng)
            agree(name, [other, a], rng)
    shared = nd.array(a.values, type=a.type_text)
    assert_is(shared * shared + shared, oracle.elementwise("add", oracle.elementwise("multiply", a, a), a))


@settings(max_examples=SOME)
@given(operand_sets(2, 4, spoiled=False, scalars=["int32", "int64", "float64"], finite=True), seeds)
def test_chains_of_many_operands(operands, seed):
    """((a + b) * c) - d: the type of a result is the type of an operand."""
    rng, names = random.Random(seed), ["add", "multiply", "subtract"]
    found, expected = make(rng, operands[0]), operands[0]
    for name, operand in zip(names, operands[1:]):
        try:
            expected = oracle.elementwise(name, expected, operand)
        except oracle.BroadcastError:
            with pytest.raises(ValueError, match="broadcast"):
                getattr(nd, name)(found, make(rng, operand))
            return
        found = getattr(nd, name)(found, make(rng, operand))
    assert_is(found, expected)


@settings(max_examples=SOME)
@given(operand_sets(2, 2, ragged=False, spoiled=False, scalars=["int32", "float32", "float64"]), seeds)
def test_strided_is_numpy(operands, seed):
    rng = random.Random(seed)
    a, b = (x.numpy() for x in operands)
    if any(kind == "fixed" for x in operands for kind, _ in x.dims):
        operands = [oracle.from_numpy(x) for x in (a, b)]
    x, y = (make(rng, value) for value in operands)
    with np.errstate(all="ignore"):
        for found, expected in [(x + y, a + b), (x * y, a * b), (x / y, a / b), (x < y, a < b), (-x, -a)]:
            array = np.asarray(found)
            assert array.dtype == expected.dtype and array.shape == expected.shape
            np.testing.assert_array_equal(array, expected)


def test_zero_strides_and_repeated_memory():
    plain = np.broadcast_to(np.arange(5, dtype="float64")[:, None], (5, 7))
    a = nd.asarray(plain)
    assert (a + a).tolist() == (plain + plain).tolist()
    assert (a * nd.asarray(plain[:, :1])).tolist() == (plain * plain[:, :1]).tolist()
    assert a.T.tolist() == plain.T.tolist()


def test_many_dimensions():
    plain = np.arange(2**8, dtype="int32").reshape((2,) * 8)
    a, b = nd.asarray(plain), nd.asarray(plain.transpose(7, 6, 5, 4, 3, 2, 1, 0))
    assert (a + b).tolist() == (plain + plain.T).tolist()
    deep = nd.array([[[[[1], []], [[2, 3]]]]], type="strided * var * var * var * var * int32")
    assert (deep + deep).tolist() == [[[[[2], []], [[4, 6]]]]]


@pytest.mark.parametrize("shape", [(300, 5), (5, 300), (70, 70), (33, 129)])
def test_transposed_operands_larger_than_a_tile(shape):
    a = np.arange(shape[0] * shape[1], dtype="float32").reshape(shape)
    b = np.asfortranarray(a[::-1] * 0.5)
    x, y = nd.asarray(a), nd.asarray(b)
    np.testing.assert_array_equal(np.asarray(x + y), a + b)
    np.testing.assert_array_equal(np.asarray(x.T - y.T), a.T - b.T)
    np.testing.assert_array_equal(np.asarray(y.T[:, ::-1] * x.T), b.T[:, ::-1] * a.T)


@pytest.mark.parametrize("order", [(1, 0), (0, 2, 1), (2, 1, 0), (1, 2, 0)])
def test_results_in_another_order_of_memory_are_operands(order):
    """A small result has the order of its operands' axes: what is computed of it, or read of its memory, is not in C order."""
    x = np.arange(24.0)[: 12 if len(order) == 2 else 24].reshape((3, 4) if len(order) == 2 else (2, 3, 4))
    turned = nd.asarray(x.transpose(order).copy().transpose(np.argsort(order)))
    total = turned + turned
    assert not memoryview(total).c_contiguous and np.array_equal(np.asarray(total), 2 * x)
    for found, expected in ((total + nd.array(x), 3 * x), (nd.array(x) - total, -x), (-total, -2 * x), (total * 2, 4 * x),
                            (nd.sum(total, axis=0), 2 * x.sum(axis=0)), (nd.cumulative_sum(total, axis=-1), 2 * x.cumsum(axis=-1)),
                            (nd.array(total), 2 * x), (nd.array(total, type="float32"), 2 * x)):
        assert np.array_equal(np.asarray(found), expected)
