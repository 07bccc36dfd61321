"""Arrays survive pickle: values, type, access, rows."""

import copy
import math
import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from dynd import nd
from strategies import SOME, arrays, seeds
from support import identical, make


@settings(max_examples=SOME)
@given(st.booleans().flatmap(lambda ragged: arrays(ragged=ragged, scalars=oracle.SCALARS)), seeds)
def test_every_array(value, seed):
    array = make(random.Random(seed), value)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        found = pickle.loads(pickle.dumps(array, protocol))
        assert identical(found.tolist(), value.values)
        assert found.type == array.type and found.access == array.access and found.shape == array.shape


def test_what_comes_back_works():
    a = nd.array([[1.5, 2.5], [], [3.5]])
    found = pickle.loads(pickle.dumps(a[1:]))
    assert (found + a[1:]).sum(axis=1).tolist() == [0.0, 7.0]
    writable = pickle.loads(pickle.dumps(nd.array([[1, 2], [3]], access="rw")))
    writable[:, 0:1] = 9
    assert writable.tolist() == [[9, 2], [9]]
    large = nd.array([1.0] * 100_000)
    assert pickle.loads(pickle.dumps(large + large)).sum().tolist() == 200_000.0
    assert copy.deepcopy(a).tolist() == a.tolist()


def test_values_of_rows_are_a_buffer_of_protocol_5():
    a = nd.array([[1.5, 2.5], [], [3.5], [4.5, 5.5, 6.5]] * 1000)
    for array in [a, a[1:-1], a + a, nd.array(a, access="rw"), a[:, :2], a[::2], nd.array([[0.5]] * 3)[0:0]]:
        assert identical(pickle.loads(pickle.dumps(array, 5)).tolist(), array.tolist())
        buffers = []
        data = pickle.dumps(array, 5, buffer_callback=buffers.append)
        assert identical(pickle.loads(data, buffers=buffers).tolist(), array.tolist())
    buffers = []
    pickle.dumps(a[1:-1], 5, buffer_callback=buffers.append)
    assert [memoryview(b).nbytes for b in buffers] == [8 * (6 * 1000 - 2 - 3)]


@pytest.mark.parametrize("access", ["immutable", "rw"])
@pytest.mark.parametrize("shape", [(1000,), (30, 40), (2, 0)])
def test_values_without_rows_are_a_buffer_that_shares_memory(access, shape):
    values = np.arange(math.prod(shape), dtype="float64").reshape(shape)
    a = nd.array(values, access=access)
    buffers = []
    data = pickle.dumps(a, 5, buffer_callback=buffers.append)
    found = np.frombuffer(buffers[0], "float64")
    assert len(buffers) == 1 and found.size == a.size and len(data) < 500
    assert not found.size or np.shares_memory(found, np.asarray(a))
    assert identical(pickle.loads(data, buffers=buffers).tolist(), a.tolist())
    for view in [a[::2], a[..., ::-1], a[1:]]:
        buffers = []
        data = pickle.dumps(view, 5, buffer_callback=buffers.append)
        assert identical(pickle.loads(data, buffers=buffers).tolist(), view.tolist())


def test_damaged_state_is_refused():
    restore, (text, access, sizes, offsets, values) = nd.array([[1, 2], [3]]).__reduce__()
    assert restore(text, access, sizes, offsets, values).tolist() == [[1, 2], [3]]
    wide, late, early = ([b"".join(x.to_bytes(8, "little", signed=True) for x in at)] for at in ([0, 5, 3], [1, 2, 3], [-1, 2, 3]))
    for state in [
        (text, access, sizes, offsets, values[:-1]),
        (text, access, sizes, offsets, values + values),
        (text, access, sizes, wide, values),
        (text, access, sizes, late, values),
        (text, access, sizes, early, values),
        (text, access, sizes, [offsets[0][:8]], values),
        (text, access, sizes, [], values),
        (text, access, [3, -1], offsets, values),
        (text, access, [-2, -1], offsets, values),
        ("3 * int32", access, [2], [], values[:8]),
        (text, "nonsense", sizes, offsets, values),
        ("strided * string", access, [2], [], values[:8]),
        ("N * int32", access, [2], [], values[:8]),
    ]:
        with pytest.raises(ValueError):
            restore(*state)
    with pytest.raises(ValueError, match="wrong number of rows"):  # its offsets would have 2**64 bytes
        restore(text, access, [2**61 - 1, -1], [b""], b"")


@pytest.mark.parametrize("scalar", oracle.SCALARS)
def test_bytes_that_are_no_whole_value_are_refused(scalar):
    rows = nd.array([[1, 0], [], [1]], type=f"3 * var * {scalar}")
    item = len(rows.__reduce__()[1][-1]) // 3
    for array in [nd.array([1, 0, 1], type=scalar), rows, nd.array([], type=scalar), nd.array(1, type=scalar)]:
        restore, (*state, values) = array.__reduce__()
        assert restore(*state, values).tolist() == array.tolist()
        for size in range(len(values) + item + 1):
            if size != len(values):
                with pytest.raises(ValueError, match="wrong number of values"):
                    restore(*state, (values + bytes(item))[:size])
