"""nd.kernel: a kernel of the ABI, built and called from Python; the seeds' deferred kernels by it."""
import gc
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
        ((a, a, np.zeros(3, "f8, u1")["f0"]), ValueError, "buffer 2 is not aligned"),       # the second element is not
        ((np.zeros(3, "f8, u1")["f0"], a, a), ValueError, "buffer 0 is not aligned"),
    ]:
        with pytest.raises(kind, match=message or None):
            k(*bad)
    a.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        k(a, np.zeros(3), np.zeros(3))
    with pytest.raises(TypeError, match="expected a callable"):
        nd.kernel(len, ["float64"])
    with pytest.raises(TypeError, match="does not convert|no overload"):
        nd.kernel(hypot, ["complex128", "float64"])
    for bad in ("var * float64", "string", "{x: int8}", "?float64"):
        with pytest.raises(TypeError, match="the types of operands are numbers, or dimensions of fixed sizes"):
            nd.kernel(hypot, [bad, "float64"])
    with pytest.raises(TypeError, match="the size of every dimension"):
        nd.kernel(nd.add, ["strided * float64", "float64"])
    rows = nd.callable(lambda row: row.tolist(), "(N * float64) -> var * float64", name="rows")
    with pytest.raises(TypeError, match="rows: makes rows, which a kernel on buffers has no memory for"):
        nd.kernel(rows, ["4 * 3 * float64"])
    with pytest.raises(TypeError, match="does not take these types by one kernel"):
        nd.kernel(nd.from_ufunc(np.matmul), ["2 * 3 * int32", "3 * 4 * float64"])
    with pytest.raises(ValueError, match="cannot broadcast"):
        nd.kernel(nd.add, ["3 * float64", "4 * float64"])
    with pytest.raises(ZeroDivisionError):
        nd.kernel(nd.callable(lambda x: 1 // x, "(int64) -> int64"), ["int64"])(np.zeros(1, "i8"), np.zeros(1, "i8"))


def test_no_result_is_written_to_memory_that_is_read_only():
    a, b, results = np.arange(5, 8), np.full(3, 2), [np.zeros(3, "i8"), np.zeros(3, "i8")]
    for k in (nd.kernel(nd.divmod, ["3 * int64"] * 2), nd.kernel(nd.callable(lambda x, y: divmod(x, y), "(int64, int64) -> (int64, int64)"), ["int64"] * 2)):
        for result in results:
            result[:] = 0
            result.setflags(write=False)
            with pytest.raises((ValueError, BufferError), match="read-only"):
                k(*results, a, b)
            result.setflags(write=True)
            assert not result.any()
        k(*results, a, b)
        assert [result.tolist() for result in results] == [[2, 3, 3], [1, 0, 1]]


def test_buffers_of_another_type_of_the_same_size():
    k = nd.kernel(nd.callable(lambda x: x, "(int32) -> int32"), ["int32"])
    right, result = np.arange(2, dtype="int32"), np.zeros(2, "int32")
    for kind in ("float32", "uint32", ">i4"):
        with pytest.raises(TypeError, match="buffer 1 must have one dimension of int32"):
            k(result, right.astype(kind))
        with pytest.raises(TypeError, match="buffer 0 must have one dimension of int32"):
            k(result.astype(kind), right)
    k(result, right)
    assert result.tolist() == [0, 1]


# ---- kernels of the engine -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((3, 1, 4), (5, 1)), ((), ()), ((7,), ()), ((2, 3, 4, 5), (3, 1, 5)), ((300_000,), (1,))])
@pytest.mark.parametrize("name", ["add", "hypot"])
def test_the_kernel_that_the_engine_builds(hypot, shapes, name):
    f = nd.add if name == "add" else hypot
    rng = np.random.default_rng(1)
    a, b = (rng.random(shape) for shape in shapes)
    expected = getattr(np, name)(a, b)
    if name == "hypot" and not any(shapes):
        return                                                     # the author's own kernel: see above
    k = nd.kernel(f, [" * ".join([*map(str, shape), "float64"]) for shape in shapes])
    assert k.levels[0][0] == 0 and sum(size for _, size, _ in k.levels) == k.size == len(k.memory)
    assert k.prototype == "streams" and k.types[0] == " * ".join([*map(str, expected.shape), "float64"])
    for _ in range(2):
        result = np.zeros(expected.shape)
        k(result, a, b)
        assert np.array_equal(result, expected)
        a = a[::-1].copy() if a.ndim else a
        expected = getattr(np, name)(a, b)


def test_levels_of_the_engine():
    k = nd.kernel(nd.add, ["3 * 1 * 4 * int32", "5 * 1 * int32"])
    assert [text.split(" ")[0] for _, _, text in k.levels] == ["strided_dim", "chain"] and k.scratch_size > 0
    product = nd.kernel(nd.from_ufunc(np.matmul), ["6 * 2 * 3 * float64", "3 * 4 * float64"])
    a, b, result = np.ones((6, 2, 3)), np.arange(12.0).reshape(3, 4), np.zeros((6, 2, 4))
    product(result, a, b)
    assert np.array_equal(result, a @ b)
    for bad, message in [((result, a), "takes 3 buffers"), ((result, a, b.T), r"buffer 2 must be 3 \* 4 \* float64, without gaps"),
                         ((result, a, b.astype("f4")), "buffer 2 must have 2 dimensions of float64")]:
        with pytest.raises((TypeError, ValueError), match=message):
            product(*bad)
    with pytest.raises(ValueError, match="^floor_divide: integer division by zero"):
        nd.kernel(nd.floor_divide, ["2 * int32", "int32"])(np.zeros(2, "i4"), np.ones(2, "i4"), np.array(0, "i4"))


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


def test_a_function_that_two_callables_share_belongs_to_no_cycle():
    """The garbage collector would count its one reference twice, and clear a function that somebody else has."""
    class Kept:
        pass

    def make():
        def function(x):
            return kept.number + x

        kept = Kept()
        kept.number = 3.0
        kept.first = nd.callable(function, "(float64) -> float64")
        kept.second = nd.callable(lambda x, y: x, "(float64, float64) -> float64")
        kept.second.add(kept.first)
        return function

    function = make()
    gc.collect()
    assert function.__closure__ is not None and function(1.0) == 4.0
    kept = function.__closure__[0].cell_contents
    assert kept.first(2.0).tolist() == kept.second(2.0).tolist() == 5.0
