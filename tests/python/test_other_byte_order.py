"""Numbers in the other order of bytes: functions take them as they take native ones, with the same result."""
import numpy as np
import pytest
from dynd import nd

CALLS = {
    "repeat": lambda t: nd.repeat([1, 2], np.array([1, 2], t)),
    "repeat, one number": lambda t: nd.repeat([1, 2], np.array(2, t)),
    "repeat of them": lambda t: nd.repeat(np.array([3, 4], t), 2),
    "unflatten": lambda t: nd.unflatten([1, 2, 3], np.array([1, 2], t)),
    "from_dense": lambda t: nd.from_dense([[1, 2], [3, 4]], np.array([1, 2], t)),
    "from_offsets": lambda t: nd.from_offsets(np.array([0, 2, 3], t), [1, 2, 3]),
    "an index": lambda t: nd.array([5, 6])[nd.asarray(np.array([1], t))[0]],
    "a size": lambda t: nd.zeros(nd.asarray(np.array([2], t))[0]),
    "take": lambda t: nd.take([5, 6], np.array([1, 0], t)),
    "tensordot": lambda t: nd.tensordot(np.array([[1, 2]], t), np.array([[3], [4]], t), 1),
    "einsum": lambda t: nd.einsum("ij,j->i", np.array([[1, 2]], t), np.array([3, 4], t)),
    "matmul": lambda t: nd.matmul(np.array([[1, 2]], t), np.array([3, 4], t)),
    "reduce": lambda t: nd.reduce(nd.callable(lambda a, b: a - b, "(T, T) -> T"), np.array([4, 2], t)),
    "reduce by a callable of one type": lambda t: nd.reduce(
        nd.callable(lambda a, b: a * 2 + b, "(int32, int32) -> int32"), np.array([[4, 2], [1, 1]], t), axis=0),
    "sort": lambda t: nd.sort(np.array([[4, 2], [1, 7]], t), axis=0),
    "argsort": lambda t: nd.argsort(np.array([[4, 2], [1, 7]], t), axis=0),
    "unique": lambda t: nd.unique(np.array([[4, 4], [1, 7]], t), axis=0),
    "median": lambda t: nd.median(np.array([4, 2, 9], t)),
    "histogram": lambda t: nd.histogram(np.array([4, 2, 9], t), 2, weights=np.array([1, 2, 3], t))[0],
    "searchsorted": lambda t: nd.searchsorted(np.array([1, 4], t), np.array([2], t)),
    "isin": lambda t: nd.isin(np.array([1, 4], t), np.array([4], t)),
    "groupby": lambda t: nd.groupby(np.array([4, 2, 9], t), by=np.array([1, 0, 1], t)).sum(),
}


KINDS = ["i4", "i2", "u4", "i8"]  # Python's functions of "reduce" are of int32


@pytest.mark.parametrize("name, kind", [(name, kind) for name in CALLS for kind in KINDS[: 1 if "reduce" in name else 4]])
def test_as_native_numbers(name, kind):
    assert CALLS[name](">" + kind).tolist() == CALLS[name]("<" + kind).tolist()


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("name", ["tensordot", "einsum", "matmul", "sort", "unique", "median", "histogram", "groupby"])
def test_as_native_floating_point_numbers(name, kind):
    assert CALLS[name](">" + kind).tolist() == CALLS[name]("<" + kind).tolist()
