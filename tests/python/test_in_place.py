"""a += b and its relatives: the same values as a new array has, where nothing overlaps without a copy."""

import operator
import random

import numpy as np
import pytest

from dynd import nd
from support import numpy_layout

OPERATIONS = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "iand", "ior", "ixor", "ilshift"]
LARGE = (70, 90)  # more than the direct steps take


def operands(name, dtype, shape, rng):
    low = 1 if name in ("ifloordiv", "imod", "itruediv", "ilshift") else -5
    high = 4 if name == "ilshift" else 6
    return rng.integers(max(low, 0) if dtype[0] == "u" else low, high, shape).astype(dtype)


@pytest.mark.parametrize("shape", [LARGE, (3, 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operator_in_every_layout(name, dtype, shape):
    if dtype[0] == "f" and name in ("iand", "ior", "ixor", "ilshift") or dtype[0] != "f" and name == "itruediv":
        return
    rng, order = np.random.default_rng(1), random.Random(name)
    operation = getattr(operator, name)
    for other_shape in (shape, shape[1:], (), (shape[0], 1)):
        left = numpy_layout(order, operands(name, dtype, shape, rng))
        right = numpy_layout(order, operands(name, dtype, other_shape, rng))
        ours = nd.asarray(left)
        expected = operation(left.copy(), right)
        same = operation(ours, nd.asarray(right) if other_shape else nd.array(right))
        assert same is ours
        assert left.tolist() == expected.tolist()


def test_what_overlaps_is_read_before_it_is_written():
    base = np.arange(float(LARGE[0] ** 2)).reshape(LARGE[0], LARGE[0])
    for view in (lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x[:1]):
        expected, given = base.copy(), base.copy()
        expected += view(expected).copy()
        ours = nd.asarray(given)
        ours += nd.asarray(view(given))
        assert np.array_equal(given, expected)
    line, given = np.arange(9000.0), np.arange(9000.0)
    line[1:] += line[:-1].copy()
    tail = nd.asarray(given[1:])
    tail += nd.asarray(given[:-1])
    assert np.array_equal(given, line)


def test_an_array_whose_elements_share_their_places_gets_each_result_once():
    memory = np.arange(9000.0)
    windows = np.lib.stride_tricks.as_strided(memory, (8000, 5), (8, 8))
    ours = nd.asarray(windows)
    ours += 1.0
    assert np.array_equal(memory[:8004], np.arange(8004) + 1.0)
    assert np.array_equal(memory[8004:], np.arange(8004.0, 9000.0))


def test_rows_in_place_with_a_lazy_operand_and_with_missing_values():
    offsets = np.arange(0, 20001, 2)
    content = np.arange(20000.0)
    rows = nd.from_offsets(offsets, nd.array(content))
    written = nd.array(rows, access="rw")
    written *= rows + 1.0  # lazy, and its offsets are the same
    written -= nd.array(np.arange(10000.0))[:, None]
    assert np.array_equal(np.array(written.tolist()).ravel(), content * (content + 1) - np.arange(10000).repeat(2))
    values = [None if i % 3 else float(i) for i in range(10000)]
    missing = nd.array(values, access="rw")
    missing += nd.array(values)
    missing += 1
    assert missing.tolist() == [None if v is None else 2 * v + 1 for v in values]


def test_rows_are_not_stretched_in_place():
    """Rows of one element are not as long as the other's, in few and in many rows, wherever their slots are."""
    for count in (3, 20_000):
        ones = nd.array([[float(i)] for i in range(count)], type="strided * var * float64", access="rw")
        for each in (2, 0):
            other = nd.from_offsets(np.arange(0, each * count + 1, each) if each else np.zeros(count + 1, int), np.ones(each * count))
            with pytest.raises(ValueError, match=f"cannot broadcast row 0: lengths {each} and 1"):
                ones += other
            assert nd.flatten(ones).tolist() == list(range(count))
        same = nd.from_offsets(np.arange(7, 7 + count + 1), np.arange(7.0 + count))
        ones += same
        assert nd.flatten(ones).tolist() == [2 * i + 7 for i in range(count)]


def test_what_the_array_cannot_hold_or_cannot_compute_leaves_it_as_it_was():
    whole = nd.array(np.full(9000, 3, dtype="int32"), access="rw")
    with pytest.raises(ValueError, match="fraction"):
        whole /= 2
    with pytest.raises(ValueError, match=r"zero at index \(8999,\)"):
        whole //= nd.array([1] * 8999 + [0])
    with pytest.raises(ValueError, match="broadcast"):
        whole += nd.array([1, 2])
    assert whole.tolist() == [3] * 9000
    with pytest.raises(ValueError, match="broadcast"):
        small = nd.array(1.0, access="rw")
        small += nd.array([1.0] * 9000)


@pytest.mark.memory
def test_no_memory_for_the_result():
    written, other = nd.array(np.ones(2_000_000), access="rw"), nd.array(np.ones(2_000_000))
    nd.trim_memory()
    before = resident()
    for _ in range(3):
        written += other
        written *= 2.0
    assert resident() - before < 8 << 20  # a result would have 16 MB
    assert written[0].tolist() == 22.0


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_rows_over_content_whose_elements_share_places():
    base = np.arange(6001.0)
    shared = np.lib.stride_tricks.as_strided(base, (6000, 2), (8, 8))
    for make in (nd.asarray, lambda v: nd.from_offsets(np.array([0, 3000, 6000]), nd.asarray(v))):
        base[:] = np.arange(6001.0)
        rows = make(shared)
        rows += 1.0
        assert base.tolist() == (np.arange(6001.0) + 1).tolist()


@pytest.mark.parametrize("shared", [1, 2, 9])
@pytest.mark.parametrize("view", [lambda w: w, lambda w: w.T, lambda w: w[::-1], lambda w: w[:, ::-1]])
def test_rows_that_share_a_few_places_with_their_neighbours(shared, view):
    """Each place gets a result of what was there, also where rows share only their ends."""
    memory = np.arange(9000.0)
    step = 10 - shared
    windows = np.lib.stride_tricks.as_strided(memory, (850, 10), (8 * step, 8))
    count = 849 * step + 10
    ours = nd.asarray(view(windows))
    ours += 1.0
    assert np.array_equal(memory, np.arange(9000.0) + (np.arange(9000) < count))


@pytest.mark.parametrize("values", [[True, False], [[True], [], [False, True]], [True, None]])
@pytest.mark.parametrize("exponent", [2, 3, 2.0])
def test_powers_of_bools_are_integers(values, exponent):
    """They are no numbers that are multiplied, in place as elsewhere."""
    expected = (nd.array(values) ** exponent).tolist()
    immutable, written = nd.array(values), nd.array(values, access="rw")
    alias = written
    immutable **= exponent
    written **= exponent
    assert immutable.tolist() == expected == written.tolist() and written is alias and written.type == nd.array(values).type


@pytest.mark.parametrize("access", ["immutable", "rw"])
def test_the_square_of_what_has_no_powers(access):
    texts = nd.array(["a", "b"], access=access)
    with pytest.raises(TypeError, match="^pow: there is no such operation for elements of type string"):
        texts **= 2
