"""nd.kernel: a kernel of the ABI, built and called from Python; the seeds' deferred kernels by it."""
import struct

import numpy as np
import pytest

from dynd import nd, ndt


@pytest.fixture(scope="module")
def hypot():
    return nd.from_c("double hypot(double, double)", "libm.so.6")


def test_a_kernel_is_memory_that_begins_with_a_function(hypot):
    k = nd.kernel(hypot, ["float64", "float64"])
    assert k.types == [ndt.float64] * 3 and k.prototype == "expr" and k.scratch_size == 0
    assert k.size == 24 and len(k.memory) == 24                    # a prefix, and the address of hypot
    function, destructor, data = struct.unpack("PPP", k.memory)
    assert function == k.function != 0 and destructor == k.destructor == 0 and data != 0


def test_calling_it(hypot):
    k = nd.kernel(hypot, ["float64", "float64"])
    result = np.zeros(3)
    assert k(result, np.array([3.0, 5.0, 8.0]), np.array([4.0, 12.0, 15.0])) is None
    assert result.tolist() == [5.0, 13.0, 17.0]
    k(result, np.array([3.0, 0.0, 0.0]), np.array([4.0]))           # one element stands for all
    assert result.tolist() == [5.0, 4.0, 4.0]
    wide = np.zeros(6)
    k(wide[::2], np.arange(3.0)[::-1], np.zeros(3))                 # any strides
    assert wide.tolist() == [2.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    k(result[:0], np.zeros(0), np.zeros(0))


def test_overloads_and_conversions(hypot):
    f = nd.callable("several")
    f.add(lambda x: x + 1, "(int32) -> int32")
    f.add(lambda x: x * 2, "(float64) -> float64")
    for kind, expected in (("int32", [2, 3]), ("float64", [2.0, 4.0])):
        k, result = nd.kernel(f, [kind]), np.zeros(2, kind)
        k(result, np.array([1, 2], kind))
        assert result.tolist() == expected and str(k.types[0]) == kind and k.prototype == "multi"
    assert nd.kernel(hypot, ["int32", "float32"]).types == [ndt.float64] * 3      # what operands are converted to


def test_many_kernels_from_one_deferred_kernel(hypot):
    kernels = [nd.kernel(hypot, ["float64", "float64"]) for _ in range(100)]
    assert len({k.memory for k in kernels}) == 1                   # no pointer into itself: it may be moved
    result = np.zeros(1)
    kernels[50](result, np.array([3.0]), np.array([4.0]))
    assert result[0] == 5.0


def test_errors(hypot):
    k = nd.kernel(hypot, ["float64", "float64"])
    a = np.zeros(3)
    for bad, kind, message in [
        ((a, a), TypeError, "takes 3 buffers, results first, not 2"), ((a, a, a[:2]), ValueError, "buffer 2 has 2 elements"),
        ((a, a, np.zeros(3, "float32")), TypeError, "buffer 2 must have one dimension of float64"),
        ((a, a, np.zeros((3, 3))), TypeError, "must have one dimension"), ((a, a, 3), TypeError, ""),
        ((a, a, np.zeros(25, "u1")[1:].view("f8")), ValueError, "buffer 2 is not aligned"),
    ]:
        with pytest.raises(kind, match=message or None):
            k(*bad)
    a.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        k(a, np.zeros(3), np.zeros(3))
    with pytest.raises(TypeError, match="expected a callable"):
        nd.kernel(len, ["float64"])
    with pytest.raises(TypeError, match="has no kernels of its own"):
        nd.kernel(nd.subtract, ["float64", "float64"])
    with pytest.raises(TypeError, match="does not convert|no overload"):
        nd.kernel(hypot, ["complex128", "float64"])
    with pytest.raises(TypeError, match="scalars here"):
        nd.kernel(hypot, ["3 * float64", "float64"])
    with pytest.raises(TypeError, match="kernels on scalars"):
        nd.kernel(nd.callable(lambda x, *, k=1: x, "(float64, *, k: int64 = 1) -> float64"), ["float64"])
    with pytest.raises(ZeroDivisionError):
        nd.kernel(nd.callable(lambda x: 1 // x, "(int64) -> int64"), ["int64"])(np.zeros(1, "i8"), np.zeros(1, "i8"))


# ---- the seeds' model of hierarchical kernels, driving a real one at its leaf -----------------------------------------

def strided_level(child, sizes, strides):
    """A kernel for one more dimension: calls its child for each element, all operands moved by their strides."""
    def kernel(offsets):
        for i in range(sizes):
            child([offset + i * stride for offset, stride in zip(offsets, strides)])
    return kernel


def test_levels_above_a_kernel(hypot):
    leaf_kernel = nd.kernel(hypot, ["float64", "float64"])
    a, b = np.arange(6.0).reshape(2, 3), np.array([10.0, 20.0, 30.0])
    result = np.zeros((2, 3))
    flat = [result.reshape(-1), a.reshape(-1), b]

    def leaf(offsets):
        leaf_kernel(*(x[o:o + 3] for x, o in zip(flat, offsets)))
    strided_level(leaf, 2, [3, 3, 0])([0, 0, 0])                   # b stretches: stride 0
    assert np.array_equal(result, np.hypot(a, b)) and hypot(a, b).tolist() == result.tolist()
