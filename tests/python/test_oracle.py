"""The oracle against NumPy (strided data) and Awkward Array (ragged data), before anything is judged by it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conversions
import oracle
from oracle import VAR, Array, fixed, strided
from support import identical
from strategies import FEW, MANY, operand_sets, random_values


def numpy_elementwise(name, common, arrays):
    with np.errstate(all="ignore"):
        if name == "where":
            return np.where(arrays[0], *[x.astype(common) for x in arrays[1:]])
        return oracle.ELEMENTWISE[name][2](*[x.astype(common) for x in arrays])


@settings(max_examples=MANY)
@given(operand_sets(1, 4, ragged=False))
def test_strided_broadcasting_is_numpy(operands):
    try:
        expected = np.broadcast_shapes(*[x.shape for x in operands])
    except ValueError:
        with pytest.raises(oracle.BroadcastError):
            oracle.broadcast("op", operands)
        return
    dims, structure, columns = oracle.broadcast("op", operands)
    assert tuple(size for _, size in dims) == expected
    oracle.check_structure(dims, structure)
    for array, column in zip(operands, columns):
        assert identical(column, np.broadcast_to(array.numpy(), expected).ravel().tolist())


@settings(max_examples=MANY)
@given(operand_sets(2, 2, ragged=False, scalars=oracle.REALS), st.sampled_from(oracle.BINARY))
def test_strided_arithmetic_is_numpy(operands, name):
    try:
        common = oracle.promote(operands, oracle.ELEMENTWISE[name][1])
    except TypeError:
        with pytest.raises(TypeError):
            numpy_elementwise(name, np.result_type(*[x.scalar for x in operands]), [np.ones(1, x.scalar) for x in operands])
        return
    try:
        expected = numpy_elementwise(name, common, [x.numpy() for x in operands])
    except ValueError:
        with pytest.raises(oracle.BroadcastError):
            oracle.elementwise(name, *operands)
        return
    result = oracle.elementwise(name, *operands).check()
    assert result.scalar == expected.dtype.name
    assert result.shape == expected.shape
    assert identical(result.values, expected.tolist())


@pytest.mark.parametrize("a, b", list(itertools.product(oracle.NUMBERS, repeat=2)))
def test_promotion_is_numpy(a, b):
    x, y = Array((strided(1),), a, [1]), Array((strided(1),), b, [1])
    assert oracle.elementwise("add", x, y).scalar == (np.ones(1, a) + np.ones(1, b)).dtype.name
    assert oracle.elementwise("equal", x, y).scalar == "bool"
    assert oracle.elementwise("divide", x, y).scalar in oracle.FLOATS + oracle.COMPLEX


@pytest.mark.parametrize("scalar", oracle.COMPLEX)
def test_complex_products_and_quotients_are_numpys(scalar):
    """To a unit in the last place of the product of the sizes; NumPy's own may fuse multiplications with additions."""
    rng = np.random.default_rng(1)
    parts = rng.standard_normal((4, 5000)) * 10.0 ** rng.integers(-8, 8, (4, 5000))
    a, b = (parts[0] + 1j * parts[1]).astype(scalar), (parts[2] + 1j * parts[3]).astype(scalar)
    unit = np.finfo(scalar).eps
    assert np.all(abs(oracle.multiply(a, b) - a * b) <= 1.5 * unit * abs(a) * abs(b))
    assert np.all(abs(oracle.divide(a, b) - a / b) <= 4 * unit * abs(a / b))
    with np.errstate(all="ignore"):
        zeros, special = np.zeros(6, scalar), np.array([0, 1, -1j, 1 + 1j, np.inf, np.nan], scalar)
        assert identical(oracle.divide(special, zeros).tolist(), (special / zeros).tolist())


def test_complex_numbers_have_no_order():
    x = Array((strided(1),), "complex64", [1j])
    for name in ("less", "greater_equal", "minimum", "divmod"):
        with pytest.raises(TypeError):
            oracle.elementwise(name, x, x)
    assert oracle.elementwise("abs", x).scalar == "float32"
    with pytest.raises(TypeError):
        oracle.reduce("max", x)


def test_python_scalars_are_weak():
    single = Array((strided(1),), "float32", [1.0])
    small = Array((strided(1),), "int8", [100])
    assert oracle.elementwise("add", single, 1.5).scalar == "float32"
    assert oracle.elementwise("add", small, 100).values == [-56]
    assert oracle.elementwise("add", small, 0.5).scalar == "float64"
    with pytest.raises(OverflowError):
        oracle.elementwise("add", small, 300)


def test_bool_has_no_arithmetic():
    flags = Array((strided(2),), "bool", [True, False])
    for name in ("add", "divide", "divmod"):
        with pytest.raises(TypeError):
            oracle.elementwise(name, flags, flags)
    assert oracle.elementwise("less", flags, flags).values == [False, False]
    assert oracle.elementwise("add", flags, Array((), "int8", 3)).values == [4, 3]


def test_integers_wrap_and_floor():
    low = Array((strided(1),), "int8", [-128])
    assert oracle.elementwise("negative", low).values == [-128]
    assert oracle.elementwise("abs", low).values == [-128]
    quotient, remainder = oracle.elementwise("divmod", Array((), "int32", -7), Array((), "int32", 2))
    assert (quotient.values, remainder.values) == (-4, 1)
    with pytest.raises(ZeroDivisionError):
        oracle.elementwise("divmod", low, 0)


def ragged(values):
    return Array((strided(len(values)), VAR), "int32", values)


def test_rules_of_ragged_broadcasting():
    add = lambda x, y: oracle.elementwise("add", x, y)  # noqa: E731
    two = ragged([[1, 2], [3]])
    assert add(two, Array((strided(2), strided(2)), "int32", [[4, 5], [6, 7]])).values == [[5, 7], [9, 10]]
    assert add(two, Array((fixed(2), fixed(2)), "int32", [[4, 5], [6, 7]])).type_text == "2 * 2 * int32"
    assert add(two, Array((strided(2), strided(2)), "int32", [[4, 5], [6, 7]])).type_text == "strided * strided * int32"
    assert add(two, ragged([[4], [5, 6, 7]])).values == [[5, 6], [8, 9, 10]]
    assert add(two, ragged([[4], [5, 6, 7]])).type_text == "strided * var * int32"
    assert add(ragged([[1], [2, 3]]), Array((strided(2), strided(1)), "int32", [[4], [5]])).values == [[5], [7, 8]]
    assert add(ragged([[], [1]]), ragged([[5], []])).values == [[], []]
    assert add(ragged([[], [1]]), Array((strided(0),), "int32", [])).shape == (2, 0)


def test_a_bad_row_is_named():
    with pytest.raises(oracle.BroadcastError) as caught:
        oracle.elementwise("add", ragged([[1, 2], [3, 4]]), ragged([[1], [1, 2, 3]]))
    assert (caught.value.row, caught.value.lengths) == ((1,), (2, 3))
    with pytest.raises(oracle.BroadcastError) as caught:
        oracle.elementwise("add", ragged([[1], []]), ragged([[1], [1, 2]]))
    assert caught.value.row == (1,)
    with pytest.raises(oracle.BroadcastError) as caught:
        oracle.elementwise("add", ragged([[1, 2], [3, 4, 5]]), Array((strided(2),), "int32", [1, 2]))
    assert caught.value.row == (1,)


@settings(max_examples=FEW)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 5), max_size=6))
def test_ragged_rows_are_awkward(seed, lengths):
    import awkward

    rng = np.random.default_rng(seed)
    rows = [rng.integers(-100, 100, n).tolist() for n in lengths]
    single = rng.integers(-100, 100, len(rows)).tolist()
    mine = Array((strided(len(rows)), VAR), "int64", rows)
    column = Array((strided(len(rows)), strided(1)), "int64", [[x] for x in single])
    theirs = awkward.values_astype(awkward.Array(rows + [[0]])[:-1], "int64")
    assert oracle.elementwise("add", mine, mine).values == (theirs + theirs).tolist()
    assert oracle.elementwise("multiply", mine, column).values == (theirs * np.array(single, "int64")).tolist()
    assert oracle.reduce("sum", mine, axis=1).values == awkward.sum(theirs, axis=1).tolist()


# ---- reductions


@settings(max_examples=MANY)
@given(
    operand_sets(1, 1, ragged=False, scalars=oracle.SCALARS),
    st.sampled_from(["sum", "min", "max"]),
    st.booleans(),
    st.data(),
)
def test_strided_reductions_are_numpy(operands, name, keepdims, data):
    (array,) = operands
    if array.scalar in oracle.COMPLEX:
        name = "sum"
    axis = data.draw(st.sampled_from([None, *range(-array.ndim, array.ndim)]))
    plain = array.numpy()
    if axis is not None and plain.shape[axis] == 0 and plain.size == 0 == np.sum(plain, axis=axis).size:
        return  # nothing of nothing: NumPy calls it an error, here there is no row that could be named
    try:
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(plain, axis=axis, keepdims=keepdims)
    except ValueError:
        with pytest.raises(oracle.EmptyRowError):
            oracle.reduce(name, array, axis, keepdims)
        return
    result = oracle.reduce(name, array, axis, keepdims).check()
    assert result.shape == expected.shape
    if name == "sum" and array.scalar in oracle.FLOATS + oracle.COMPLEX:
        digits = {"float16": 1e-1, "float32": 1e-4, "complex64": 1e-4}.get(array.scalar, 1e-12)
        assert np.allclose(
            result.numpy(), expected, rtol=digits, equal_nan=True
        ) or (not np.all(np.isfinite(plain)) or np.abs(plain).max() > 1e6)
    else:
        assert identical(result.values, expected.tolist(), zeros=False)
        assert result.scalar == expected.dtype.name


def naive_sum(row):
    """The documented order, word for word, one element at a time."""
    if row.dtype == "float16":
        return naive_sum(row.astype("float32")).astype("float16")
    kind, size = row.dtype.type, 64 // row.dtype.itemsize
    blocks = []
    for start in range(0, len(row), 64):
        lanes = [kind(complex(-0.0, -0.0) if row.dtype.kind == "c" else -0.0)] * size
        for i, value in enumerate(row[start : start + 64]):
            lanes[i % size] = lanes[i % size] + value
        blocks.append(lanes)

    def tree(blocks):
        if len(blocks) == 1:
            return blocks[0]
        left = 1 << ((len(blocks) - 1).bit_length() - 1)
        return [a + b for a, b in zip(tree(blocks[:left]), tree(blocks[left:]))]

    if not blocks:
        return kind(0.0)
    lanes = tree(blocks)
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [lanes[j] + lanes[j + half] for j in range(half)]
    return lanes[0]


@pytest.mark.parametrize("scalar", oracle.FLOATS + oracle.COMPLEX)
@pytest.mark.parametrize(
    "length", [0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 192, 193, 300, 448, 1000, 4097]
)
def test_the_order_of_summation(scalar, length):
    rng = np.random.default_rng(length)
    row = rng.standard_normal(length) * 10.0 ** rng.integers(-6, 2 if scalar == "float16" else 7, length)
    row = (row * 1j**rng.integers(0, 4, length) if scalar in oracle.COMPLEX else row).astype(scalar)
    assert oracle.ordered_sum(row).tobytes() == naive_sum(row).tobytes()
    exact = complex(math.fsum(row.real.tolist()), math.fsum(row.imag.tolist()))
    scale = math.fsum(abs(x) for x in row.tolist()) or 1.0
    assert abs(complex(oracle.ordered_sum(row)) - exact) <= 40 * np.finfo(scalar).eps * scale


def test_zeros_keep_their_sign_in_sums():
    assert math.copysign(1, oracle.ordered_sum(np.array([], "float64"))) == 1
    assert math.copysign(1, oracle.ordered_sum(np.full(100, -0.0))) == -1
    assert math.copysign(1, oracle.ordered_sum(np.array([-0.0, 0.0]))) == 1


def test_ragged_reductions():
    deep = Array((strided(2), VAR, VAR), "int32", [[[1, 2, 3], [4, 5]], [[6, 7, 8, 9]]])
    assert oracle.reduce("sum", deep, axis=2).values == [[6, 9], [30]]
    even = Array((strided(2), VAR, strided(2)), "int32", [[[1, 2], [3, 4]], [[5, 6]]])
    assert oracle.reduce("sum", even, axis=1).values == [[4, 6], [5, 6]]
    assert oracle.reduce("sum", even, axis=-2, keepdims=True).values == [[[4, 6]], [[5, 6]]]
    with pytest.raises(oracle.UnequalRowsError):
        oracle.reduce("sum", deep, axis=1)
    with pytest.raises(oracle.EmptyRowError) as caught:
        oracle.reduce("max", ragged([[1], [], [2]]), axis=1)
    assert caught.value.row == (1,)
    assert oracle.reduce("sum", ragged([[1, 2], [], [3]]), axis=1).values == [3, 0, 3]


# ---- the rest


def test_deduction():
    for values, text in [
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
    ]:
        assert oracle.deduce(values).type_text == text


def test_assignment_stretches_only_the_source():
    to = Array((strided(2), strided(3)), "int32", [[5, 6, 7], [8, 9, 10]])
    assert oracle.assign(to, ragged([[1, 2, 3], [4]])).values == [[1, 2, 3], [4, 4, 4]]
    rows = ragged([[1, 2, 3], []])
    assert oracle.assign(rows, Array((), "int8", 4)).values == [[4, 4, 4], []]
    with pytest.raises(oracle.BroadcastError):
        oracle.assign(rows, ragged([[1, 2], []]))
    with pytest.raises(conversions.Refused):
        oracle.assign(rows, Array((), "float64", 4.5))
    assert oracle.assign(rows, Array((), "float64", 4.0)).values == [[4, 4, 4], []]


@settings(max_examples=FEW)
@given(operand_sets(2, 4, ragged=True))
def test_generated_sets_have_the_structure_they_claim(operands):
    for array in operands:
        array.check()


def test_generated_sets_cover_what_they_should():
    """Of some hundred sets most broadcast, some do not, and every kind of dimension is met."""
    from strategies import make_operands
    import random

    good = bad = deep = empty = 0
    for seed in range(600):
        rng = random.Random(seed)
        operands = make_operands(rng, rng.randint(1, 4), True, oracle.NUMBERS)
        deep += any(array.dims.count(VAR) >= 2 for array in operands)
        empty += any(not oracle.leaves(array.values, array.ndim) for array in operands)
        try:
            oracle.broadcast("op", operands)
            good += 1
        except oracle.BroadcastError:
            bad += 1
    assert good > 300 and bad > 40 and deep > 100 and empty > 20


@pytest.mark.parametrize("scalar", oracle.SCALARS)
def test_random_values_are_of_their_type(scalar):
    import random

    values = random_values(random.Random(1), scalar, 200)
    assert identical(np.array(values, dtype=scalar).tolist(), values)
    assert len(set(map(repr, values))) > (1 if scalar == "bool" else 20)
