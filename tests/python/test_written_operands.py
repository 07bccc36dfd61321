"""Operands that a Python function reads and writes."""

import itertools

import numpy as np
import pytest

from dynd import nd


def test_a_python_function_that_writes():
    def scale(f, x):
        x[...] = x * f
    x = nd.array([[1.0, 2.0], [3.0, 4.0]], access="rw")
    assert nd.callable(scale, "(f: float64, x: inout N * float64) -> void")([2.0, 3.0], x) is None
    assert x.tolist() == [[2.0, 4.0], [9.0, 12.0]]


@pytest.mark.parametrize("count", [1, 255, 256, 257, 1000])
def test_many_blocks_that_are_not_aligned_are_written(count):
    """They are brought into memory where they are, some at a time, and all go back."""
    def double(x):
        x[...] = x * 2
    call = nd.callable(double, "(x: inout N * float64) -> void")
    records = np.zeros(3 * count, dtype=[("pad", "u1"), ("x", "f8")])
    for rows in (nd.from_offsets(np.arange(0, 3 * count + 1, 3), nd.asarray(records)["x"]), nd.asarray(records.reshape(count, 3))["x"]):
        records["x"] = np.arange(3 * count)
        call(rows)
        assert np.array_equal(records["x"], 2 * np.arange(3 * count))


@pytest.mark.parametrize("signature", ["(x: N * float64, y: inout N * float64) -> void", "(y: inout N * float64, x: N * float64) -> void"])
@pytest.mark.parametrize("read, written", [(slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1)), (slice(None), slice(None))])
def test_what_is_written_is_not_read_as_another_operand(signature, read, written):
    """It is refused, in either order of the two; nothing is written. A copy is another matter."""
    def add(x, y):
        y[...] = y + nd.sum(x)
    first = signature.startswith("(x")
    call = nd.callable(add if first else lambda y, x: add(x, y), signature)
    memory, before = np.arange(12.0).reshape(4, 3), np.arange(12.0).reshape(4, 3)
    operands = nd.asarray(memory[read]), nd.asarray(memory[written])
    places = (1, 0) if first else (0, 1)
    with pytest.raises(ValueError, match="operand %d is written and shares memory with operand %d, which is read: give a copy" % places):
        call(*(operands if first else operands[::-1]))
    assert memory.tolist() == before.tolist()
    operands = nd.array(memory[read]), operands[1]
    call(*(operands if first else operands[::-1]))
    expected = before.copy()
    expected[written] += before[read].sum(axis=1)[:, None]
    assert memory.tolist() == expected.tolist()


def test_rows_in_memory_with_steps_share_it():
    """Whichever end of the memory the first element is at."""
    def add(x, y):
        y[...] = y + x
    call = nd.callable(add, "(x: N * float64, y: inout N * float64) -> void")
    memory = np.arange(8.0)
    for read, written in ((memory[3::-1], memory[:3]), (memory[:3], memory[3::-1]), (memory[::2], memory[4:7]), (memory[4:7], memory[::2])):
        with pytest.raises(ValueError, match="operand 1 is written and shares memory with operand 0"):
            call(*(nd.from_offsets(np.array([0, 2, 3]), nd.asarray(part)) for part in (read, written)))
    assert memory.tolist() == np.arange(8.0).tolist()


@pytest.mark.parametrize("kind", ["strided", "rows", "many"])
def test_a_function_that_writes_is_called_once_for_an_element_and_a_failure_undoes_it(kind):
    """The function is not called again to find out for which element it failed."""
    calls = []

    def double(x):
        calls.append(x.tolist())
        x[...] = x * 2
        if calls[-1][0] < 0:
            raise ValueError("less than nothing")

    rows = [[1.0, 2.0], [3.0, 4.0] if kind == "strided" else [3.0]] * (200 if kind == "many" else 1) + [[-1.0, 0.0], [5.0, 6.0]]
    x = nd.array(rows, access="rw")
    with pytest.raises(ValueError, match="less than nothing"):
        nd.callable(double, "(x: inout N * float64) -> void")(x)
    assert calls == rows[:-1]
    assert x.tolist() == rows


def test_a_python_function_cannot_write_one_value():
    for signature in ("(x: inout float64) -> void", "(inout {x: int8}) -> int64"):
        with pytest.raises(TypeError, match="has one value that is written, which no Python function can: it takes rows"):
            nd.callable(lambda x: None, signature)


@pytest.mark.parametrize("rows, lengths", [([[1.0, 2.0, 3.0], [4.0]], [1, 1]), ([[], [4.0, 5.0, 6.0], []], [1, 1, 1])])
def test_rows_of_one_element_that_are_written_are_not_stretched(rows, lengths):
    """No element is written twice, nor left out; nothing was called."""
    def add(x, y):
        x[...] = x + y
    call = nd.callable(add, "(x: inout N * float64, y: float64) -> void")
    memory = np.zeros((8, 2))
    y = nd.array(rows, type="strided * var * float64")
    offsets = np.cumsum([0, *lengths])
    for x in (nd.from_offsets(offsets, nd.asarray(memory)), nd.from_offsets(offsets + 3, nd.asarray(memory))):
        with pytest.raises(ValueError, match=r"operand 0 is read and written, and would be stretched from \(\d, var\)"):
            call(x, y)
    assert not memory.any()
    call(nd.from_offsets(np.cumsum([0, *map(len, rows)]) + 2, nd.asarray(memory)), y)
    assert memory[2:].any(axis=1).sum() == sum(map(len, rows))
    call(nd.from_offsets(offsets + 3, nd.asarray(memory)), nd.array([[1.0]] * len(lengths), type="strided * var * float64"))


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_blocks_of_any_dimensions_are_written(ndim):
    def add(x):
        x[...] = x + 1
    call = nd.callable(add, f"(x: inout {''.join(f'{name} * ' for name in 'ABCD'[:ndim])}float64) -> void")
    memory = np.zeros((3,) * (ndim + 1))
    call(nd.asarray(memory[::2, ..., ::-1]))
    assert (memory[::2] == 1).all() and not memory[1].any()


@pytest.mark.parametrize("index", [(slice(None), None), (None,), (slice(None), None, slice(None, None, -1))])
def test_axes_of_one_element_share_no_memory(index):
    """Whatever their strides are."""
    def add(x):
        x[...] = x + 1
    memory = np.zeros((3, 4))
    nd.callable(add, "(x: inout N * M * float64) -> void")(nd.asarray(memory)[index])
    assert memory.tolist() == np.ones((3, 4)).tolist()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)], ids=str)
def test_axes_in_any_order_and_direction_share_no_memory(order):
    def add(x):
        x[...] = x + 1
    call = nd.callable(add, "(x: inout N * float64) -> void")
    for steps in itertools.product((1, -1), (1, -1, 2), (1, -1)):
        memory = np.zeros((3, 4, 5))
        index = tuple(slice(None, None, step) for step in steps)
        call(nd.asarray(memory.transpose(order)[index]))
        assert memory.sum() == memory.transpose(order)[index].size == np.count_nonzero(memory)


def test_a_failure_undoes_all_that_was_written():
    def move(x, n, y):
        x[...], y[...] = x - n, y + n
        if n < 0:
            raise ValueError("less than nothing")
    x, y = nd.array(np.ones((3, 2)), access="rw"), nd.array([[1.0], [2.0, 3.0], []], access="rw")
    call = nd.callable(move, "(x: inout N * float64, n: float64, y: inout M * float64) -> void")
    with pytest.raises(ValueError, match="less than nothing"):
        call(x, [1.0, 2.0, -3.0], y)
    assert (x.tolist(), y.tolist()) == ([[1.0, 1.0]] * 3, [[1.0], [2.0, 3.0], []])
    call(x, [1.0, 2.0, 3.0], y)
    assert (x.tolist(), y.tolist()) == ([[0.0, 0.0], [-1.0, -1.0], [-2.0, -2.0]], [[2.0], [4.0, 5.0], []])
