"""Tests that come from the registry: a new operation is tested here without a line being written."""

import functools
import inspect
import pydoc
import random
import re

import numpy as np
import pytest

import oracle
from dynd import nd
from oracle import VAR, Array, strided
from strategies import random_values
from support import SIGNLESS, assert_is, bits, identical, is_exact, make, numpy_layout

ROWS = list(nd.operations())
NAMES = [row.name for row in ROWS]
REDUCTIONS = ("sum", "min", "max")
#: what an operand's type is whatever T is
FIXED = ("bool", "int64")


def parameters(row):
    """The kinds of a row's operands: "(bool, T, T) -> T" gives ["bool", "T", "T"]."""
    return [part.strip() for part in re.match(r"\((.*?)\)\s*->", row.signature)[1].split(",")]


def is_reduction(row):
    """One operand, and the whole ragged array becomes one value."""
    if "Dims" not in row.signature or len(parameters(row)) != 1:
        return False
    return getattr(nd, row.name)(nd.array([[1.0, 2.0], [3.0]])).ndim == 0


# What takes ?T is not called with scalars; tests of missing values have that.
ELEMENTWISE = [row for row in ROWS if not is_reduction(row) and "?" not in row.signature]
REDUCING = [row for row in ROWS if is_reduction(row)]
by_name = lambda row: row.name  # noqa: E731


def takes(row, scalar):
    """Whether the operation is defined for a type; where it is not, the error says why."""
    if "?" in row.signature:
        return True
    ones = [nd.array(True if kind == "bool" else 1, type=kind if kind in FIXED else scalar) for kind in parameters(row)]
    try:
        getattr(nd, row.name)(*ones)
    except TypeError as error:
        whole = f"{row.name}: defined for integers( and bool)? only, got {scalar}"
        complex_text = f"{row.name}: not defined for complex numbers, got {scalar}"
        assert re.fullmatch(complex_text if scalar in oracle.COMPLEX else whole, str(error))
        return False
    return True


def any_type(row):
    """A type that the operation has, float64 if that is one."""
    return "float64" if takes(row, "float64") else "int64"


@functools.lru_cache(None)
def fails_on_negatives(row, scalar):
    """Powers and shift counts."""
    if scalar not in oracle.SIGNED:
        return False
    kinds = parameters(row)
    negatives = [nd.array(True if x == "bool" else -1, type=x if x in FIXED else scalar) for x in kinds]
    try:
        getattr(nd, row.name)(*negatives)
    except ValueError:
        return True
    return False


def cases(rows):
    return pytest.mark.parametrize(
        "row, scalar",
        [
            pytest.param(row, scalar, id=f"{row.name}-{scalar}")
            for row in rows
            for scalar in oracle.NUMBERS
            if takes(row, scalar)
        ],
    )


def several(result):
    return result if isinstance(result, tuple) else (result,)


def operands(rng, row, scalar, dims, structure):
    """For each operand random values in this structure, on which nothing fails; the kinds that a signature fixes are
    kept."""
    found = []
    for kind in parameters(row):
        mine = kind if kind in FIXED else scalar

        def walk(node):
            if isinstance(node, list):
                return [walk(inner) for inner in node]
            value = random_values(rng, mine, 1, finite=True)[0]
            if mine != "bool" and fails_on_negatives(row, scalar) and value < 0:
                return 1
            return value if mine == "bool" else value or 1

        found.append(Array(dims, mine, walk(structure)))
    return found


def test_the_registry_has_the_rows():
    assert set(oracle.ELEMENTWISE) | set(REDUCTIONS) <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES)
    assert {row.name for row in REDUCING} >= set(REDUCTIONS)


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_every_function_has_help_worth_reading(row):
    function = getattr(nd, row.name)
    assert callable(function) and function.__name__ == row.name
    assert len(row.doc.strip()) > 20 and row.doc[0].isupper()
    text = inspect.getdoc(function)
    assert row.doc.strip().splitlines()[0] in text
    assert row.name in text.splitlines()[0] or row.signature in text
    assert re.search(r"->", row.signature)
    page = pydoc.render_doc(function, renderer=pydoc.plaintext)
    assert row.doc.split(".")[0] in " ".join(page.split())


@cases(ELEMENTWISE)
def test_ragged_is_row_by_row(row, scalar):
    """A ragged call gives what strided calls on its rows give, whatever the operation computes."""
    rng = random.Random(3)
    lengths = [0, 1, 2, 3, 0, 7, 8, 9, 16, 17, 1, 33, 70]
    dims = (strided(len(lengths)), VAR)
    inputs = operands(rng, row, scalar, dims, [[0] * n for n in lengths])
    function = getattr(nd, row.name)
    whole = several(function(*[make(rng, x) for x in inputs]))
    for i, length in enumerate(lengths):
        parts = [nd.array(x.values[i], type=f"strided * {x.scalar}") for x in inputs]
        for all_rows, one in zip(whole, several(function(*parts))):
            assert identical(all_rows[i].tolist(), one.tolist())
            assert str(nd.type_of(all_rows)) == "strided * var * " + str(nd.type_of(one)).split(" * ")[-1]


@cases(ELEMENTWISE)
def test_strided_is_element_by_element(row, scalar):
    """A strided call in any layout gives what scalar calls give; so does each vector width and tail."""
    rng = random.Random(4)
    function = getattr(nd, row.name)
    for shape in [(0,), (1,), (5,), (37,), (3, 4), (2, 3, 2)]:
        structure = np.zeros(shape, int).tolist()
        inputs = operands(rng, row, scalar, tuple(map(strided, shape)), structure)
        found = several(function(*[nd.asarray(numpy_layout(rng, x.numpy())) for x in inputs]))
        columns = [oracle.leaves(x.values, x.ndim) for x in inputs]
        for result in found:
            assert result.shape == shape
        for i, values in enumerate(zip(*columns)):
            ones = several(function(*[nd.array(v, type=x.scalar) for v, x in zip(values, inputs)]))
            for result, one in zip(found, ones):
                assert identical(oracle.leaves(result.tolist(), len(shape))[i], one.tolist())


@pytest.mark.parametrize("row", ELEMENTWISE, ids=by_name)
def test_three_deep_and_mixed(row):
    rng = random.Random(5)
    structure = [[[0, 0], [0, 0]], [], [[0, 0]]]
    function = getattr(nd, row.name)
    for dims in [(strided(3), VAR, VAR), (strided(3), VAR, strided(2)), (oracle.fixed(3), VAR, VAR)]:
        inputs = operands(rng, row, any_type(row), dims, structure)
        for result in several(function(*[make(rng, x) for x in inputs])):
            assert result.tolist()[1] == [] and [len(x) for x in result.tolist()] == [2, 0, 1]
            assert str(nd.type_of(result)).split(" * ")[:-1] == inputs[0].type_text.split(" * ")[:-1]


@pytest.mark.parametrize("row", ELEMENTWISE, ids=by_name)
@pytest.mark.parametrize("scalar", ["float16", "float32", "float64", "int32", "complex128"])
def test_large_operands_wait_and_give_the_same(row, scalar):
    scalar = scalar if takes(row, scalar) else any_type(row)
    rng = random.Random(6)
    function = getattr(nd, row.name)
    for dims, structure in [
        ((strided(17_000),), [0] * 17_000),
        ((strided(5_000), VAR), [[0] * (i % 8) for i in range(5_000)]),
    ]:
        inputs = [nd.array(x.values, type=x.type_text) for x in operands(rng, row, scalar, dims, structure)]
        with nd.eager():
            expected = several(function(*inputs))
        for result, wanted in zip(several(function(*inputs)), expected):
            assert bits(result) == bits(wanted)
        for result, wanted in zip(several(function(*[x[::-1] for x in inputs])), expected):
            assert bits(result) == bits(wanted[::-1])


@pytest.mark.parametrize("row", ELEMENTWISE, ids=by_name)
def test_the_trace_calls_the_leaf_once_for_each_element(row):
    rng = random.Random(7)
    inputs = operands(rng, row, any_type(row), (strided(3), VAR), [[0, 0], [], [0]])
    arrays = [nd.array(x.values, type=x.type_text) for x in inputs]
    calls = nd.trace(getattr(nd, row.name), *arrays).calls
    assert [call.level for call in calls] == [0, 1, 2, 2, 1, 1, 2]
    assert [call.name for call in calls].count(row.name) == 3


def test_what_complex_numbers_have():
    """The rows that take them are those of the oracle."""
    sets = {name: row[1] for name, row in oracle.ELEMENTWISE.items()} | {"sum": "all", "min": "reals", "max": "reals"}
    for row in ROWS:
        if row.name in sets:
            for scalar in oracle.COMPLEX:
                assert takes(row, scalar) == ("c" in oracle.SETS[sets[row.name]])


@cases([row for row in ROWS if row.name in oracle.ELEMENTWISE])
def test_known_rows_are_the_oracle(row, scalar):
    rng = random.Random(8)
    function = getattr(nd, row.name)
    for dims, structure in [((strided(40),), [0] * 40), ((strided(4), VAR), [[0, 0, 0], [], [0], [0] * 20])]:
        inputs = operands(rng, row, scalar, dims, structure)
        expected = oracle.elementwise(row.name, *inputs)
        found = function(*[make(rng, x) for x in inputs])
        for result, wanted in zip(several(found), several(expected)):
            exact = is_exact(row.name, scalar in oracle.COMPLEX)
            assert_is(result, wanted, zeros=row.name not in SIGNLESS, exact=exact)


@cases(REDUCING)
def test_reductions_of_rows(row, scalar):
    """Each row of a ragged array reduces as it does alone; methods and functions agree; so do layouts."""
    rng = random.Random(9)
    rows = [random_values(rng, scalar, n, finite=True) for n in (1, 2, 7, 8, 9, 64, 65, 130)]
    function = getattr(nd, row.name)
    array = nd.array(rows, type=f"strided * var * {scalar}")
    alone = [function(nd.array(x, type=f"strided * {scalar}")) for x in rows]
    by_method = getattr(array, row.name)(axis=1) if hasattr(array, row.name) else function(array, axis=(1,))
    for result in (function(array, axis=1), function(array, axis=-1), by_method):
        assert identical(result.tolist(), [x.tolist() for x in alone])
    assert identical(function(array[::-1], axis=1).tolist(), [x.tolist() for x in alone[::-1]])
    assert identical(function(array, axis=1, keepdims=True).tolist(), [[x.tolist()] for x in alone])
    square = np.array([x[:2] for x in rows[1:]], dtype=scalar)
    for axis in (0, 1):
        plain = function(nd.asarray(square), axis=axis)
        assert identical(plain.tolist(), function(nd.asarray(numpy_layout(rng, square)), axis=axis).tolist())
        assert identical(plain.tolist(), function(nd.asarray(square.T), axis=1 - axis).tolist())


def test_the_package_says_what_it_is():
    import dynd

    assert dynd.__doc__ and nd.__doc__ and inspect.getdoc(nd.array)
