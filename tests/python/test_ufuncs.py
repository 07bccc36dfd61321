"""NumPy's, SciPy's and Numba's ufuncs and gufuncs as callables."""
import importlib
import re

import numpy as np
import pytest

from dynd import _elsewhere, nd

ROWS = [[1.0, 5.0], [], [2.0]]


UFUNCS = sorted(name for name, f in vars(np).items() if isinstance(f, np.ufunc) and f.signature is None)


def test_a_ufunc_whose_loops_numpy_does_not_list():
    with pytest.raises(TypeError, match="from_ufunc: isalpha has no loop for types of this library: NumPy lists none"):
        nd.from_ufunc(np.strings.isalpha)


@pytest.mark.parametrize("name", UFUNCS)
def test_every_ufunc_gives_what_numpy_gives(name):
    ufunc = getattr(np, name)
    loops = [t for t in ufunc.types if all(k in _elsewhere.UFUNC_TYPES for k in t.replace("->", ""))]
    if not loops:
        with pytest.raises(TypeError, match="has no loop for types of this library"):
            nd.from_ufunc(ufunc)
        return
    f = nd.from_ufunc(ufunc)
    rng = np.random.default_rng(5)
    for loop in loops:
        inputs = loop.split("->")[0]
        operands = [rng.integers(1, 5, (3, 4)).astype(np.dtype(k)) for k in inputs]
        rows = [nd.from_offsets([0, 5, 5, 12], np.ravel(x)) for x in operands]
        with np.errstate(all="ignore"):
            expected = ufunc(*operands, signature=loop)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for arguments, shaped in ((operands, lambda x: x), (rows, None)):
            results = f(*arguments)
            results = results if isinstance(results, tuple) else (results,)
            assert len(results) == len(expected)
            for result, wanted in zip(results, expected):
                flat = np.asarray(result).ravel() if shaped else np.concatenate([np.asarray(row) for row in result])
                assert str(result.type.dtype) == _elsewhere.UFUNC_TYPES[wanted.dtype.char], loop
                assert np.array_equal(flat, wanted.ravel(), equal_nan=wanted.dtype.kind in "fc"), (loop, flat, wanted)


def test_gufuncs():
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(40.0).reshape(2, 4, 5)
    f = nd.from_ufunc(np.matmul)
    assert f(x, y).tolist() == (x @ y).tolist() and f(x.astype("int32"), y.astype("int32")).type == "strided * strided * strided * int32"
    assert f(nd.asarray(x.transpose(0, 2, 1)), y[:, :3]).tolist() == (x.transpose(0, 2, 1) @ y[:, :3]).tolist()
    if hasattr(np, "vecdot"):
        dot = nd.from_ufunc(np.vecdot)
        assert dot(ROWS, ROWS).tolist() == [26.0, 0.0, 4.0]
    inv = nd.from_ufunc(np.linalg._umath_linalg.inv)
    assert np.allclose(np.asarray(inv(np.eye(3) * [[[2.0]], [[4.0]]])), np.linalg.inv(np.eye(3) * [[[2.0]], [[4.0]]]))
    det = nd.from_ufunc(np.linalg._umath_linalg.det)
    assert np.allclose(np.asarray(det(np.eye(3) * 2)), 8.0)


def test_core_dimensions_that_may_be_missing():
    f, m, v = nd.from_ufunc(np.matmul), np.arange(12.0).reshape(3, 4), np.arange(4.0)
    for a, b in ((m, v), (v, m.T), (v, v), (m, m.T), (np.ones((2, 3, 4)), v), (v, np.ones((2, 4, 3))), (np.ones((5, 1, 3, 4)), np.ones((2, 4, 3)))):
        assert f(a, b).tolist() == (a @ b).tolist(), (a.shape, b.shape)


@pytest.mark.parametrize("name", ["inner1d", "matrix_multiply", "cross1d", "innerwt", "conv1d_full"])
def test_gufuncs_of_numpys_own_tests(name):
    ufunc, rng = getattr(importlib.import_module("numpy._core._umath_tests"), name), np.random.default_rng(1)
    if name == "conv1d_full":                                          # the size of its result is a function of NumPy's
        a, b = rng.random((3, 1, 5)), rng.random((4, 2))
        assert np.array_equal(np.asarray(nd.from_ufunc(ufunc)(a, b)), ufunc(a, b))
        rows = nd.from_ufunc(ufunc)([[1.0, 2.0, 3.0], [4.0]], [1.0, 1.0]).tolist()
        assert rows == [[1.0, 3.0, 5.0, 3.0], [4.0, 4.0]]
        with pytest.raises(ValueError, match="both inputs have core dimension 0"):
            nd.from_ufunc(ufunc)([], [])
        return
    shape = {"cross1d": (4, 3), "matrix_multiply": (4, 3, 3)}.get(name, (4, 5))
    operands = [rng.random(shape) for _ in range(ufunc.nin)]
    result = nd.from_ufunc(ufunc)(*operands)
    assert np.allclose(np.asarray(result), ufunc(*operands), rtol=1e-15)


LINALG = sorted(name for name, f in vars(np.linalg._umath_linalg).items() if isinstance(f, np.ufunc))


@pytest.mark.parametrize("name", LINALG)
def test_every_gufunc_of_linalg(name):
    ufunc, rng = getattr(np.linalg._umath_linalg, name), np.random.default_rng(1)
    if name.startswith("qr_r_raw"):
        with pytest.raises(TypeError, match=f"from_ufunc: {name} writes to its operand"):
            nd.from_ufunc(ufunc)
        return
    f = nd.from_ufunc(ufunc)
    for loop in ufunc.types:
        kinds = loop.split("->")[0]
        parts = [p.split(",") if p else [] for p in re.findall(r"\(([^()]*)\)", ufunc.signature.split("->")[0])]
        operands = [(rng.random((4, 2) + (3,) * len(p)) + 1).astype(k) for p, k in zip(parts, kinds)]
        with np.errstate(all="ignore"):
            expected = ufunc(*operands, signature=loop)
        results = f(*operands)
        for result, wanted in zip(results if isinstance(results, tuple) else (results,), expected if isinstance(expected, tuple) else (expected,)):
            assert np.allclose(np.asarray(result), wanted, equal_nan=True, rtol=1e-4), (name, loop)


def test_sizes_that_numpy_chooses():
    rng, svd = np.random.default_rng(2), nd.from_ufunc(np.linalg._umath_linalg.svd_s)
    a = rng.random((5, 4, 2))
    for found, wanted in zip(svd(a), np.linalg.svd(a, full_matrices=False)):
        assert found.shape == wanted.shape and np.allclose(np.asarray(found), wanted)
    values = nd.from_ufunc(np.linalg._umath_linalg.svd)
    rows = [rng.random((n, 3)) for n in (2, 5, 1, 5)]                  # min(n, 3) differs: a ragged result
    found = values(nd.array([x.tolist() for x in rows], type="strided * var * 3 * float64")).tolist()
    assert all(np.allclose(x, np.linalg.svd(row, compute_uv=False)) for x, row in zip(found, rows))
    assert values(np.zeros((2, 0, 3))).shape == (2, 0) and values(np.zeros((0, 3, 2))).shape[0] == 0
    with pytest.raises(TypeError, match="has 1 dimension, and 2 are core dimensions"):
        values([1.0])


def test_ufuncs_of_strided_operands():
    f, a = nd.from_ufunc(np.add), np.arange(24.0).reshape(4, 6)
    assert f(a.T, a.T[:, ::-1]).tolist() == (a.T + a.T[:, ::-1]).tolist()
    assert f(a[::2, ::-3], 1).tolist() == (a[::2, ::-3] + 1).tolist()
    assert f(np.arange(300_000.0), 1.0).tolist()[-1] == 300_000.0
    assert f(nd.array([1.0, None]), 1.0).tolist() == [2.0, None]


def test_errors_of_ufuncs():
    power = nd.from_ufunc(np.power)
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        power(nd.array([2, 3], type="int64"), nd.array([-1, -1], type="int64"))
    assert power(2, 3).tolist() == 8
    with pytest.raises(TypeError, match="no overload takes"):
        nd.from_ufunc(np.add)("a", "b")
    for bad in (len, 3, None):
        with pytest.raises(TypeError, match="expected a ufunc"):
            nd.from_ufunc(bad)


def test_sizes_in_signatures_above_31_bits():
    """None of them is one of the sizes of a call. Without elements, which would take gigabytes."""
    for size in (2**31 - 3, 2**31 - 2, 2**31 - 1, 2**31, 2**32):
        shapes = []
        f = nd.callable(lambda rows: shapes.append(rows.shape) or 1.0, f"({size} * 0 * int8) -> float64")
        assert f(nd.asarray(np.empty((size, 0), np.int8))).tolist() == 1 and shapes == [(size, 0)]


def test_names_in_another_order_in_another_overload():
    """Operands that are given by name are where the overload has them that their types choose."""
    f = nd.callable(lambda x, y: x * 10 + y, "(x: int32, y: int32) -> int32", name="two_orders")
    f.add(lambda y, x: x * 100 + y, "(y: float64, x: float64) -> float64")
    i, d = np.int32, np.float64
    assert f(x=i(1), y=i(2)).tolist() == f(y=i(2), x=i(1)).tolist() == f(i(1), y=i(2)).tolist() == 12
    assert f(x=d(1.5), y=d(2.5)).tolist() == f(y=d(2.5), x=d(1.5)).tolist() == 152.5
    assert f(d(1.5), y=d(2.5)).tolist() == 152.5 and f(d(1.5), x=d(2.5)).tolist() == 251.5


def test_names_that_the_overload_for_the_types_does_not_have():
    f = nd.callable(lambda a, b: a - b, "(a: int32, b: int32) -> int32", name="other_names")
    f.add(lambda c, d: c - d, "(c: float64, d: float64) -> float64")
    assert f(c=1.5, d=1.0).tolist() == 0.5
    with pytest.raises(TypeError, match="other_names: the overload for operands of these types has other names"):
        f(a=1.5, b=1.0)


def test_a_size_of_the_result_that_is_missing():
    f = nd.callable(lambda n: np.zeros(n), "(n: int64) -> n * float64", name="zeros_of")
    assert f(nd.array(2, type="?int64")).tolist() == [0, 0]
    with pytest.raises(TypeError, match="zeros_of: n is a size of the result, and is missing"):
        f(nd.array(None, type="?int64"))


def test_a_python_number_beside_an_array_of_numpy_takes_its_type():
    product = nd.from_ufunc(np.multiply)(np.array([2**63 + 1], "u8"), 1)
    assert product.tolist() == [2**63 + 1] and str(product.type) == "strided * uint64"
    assert str(nd.from_ufunc(np.add)(2.5, np.array([1], "f4")).type) == "strided * float32"


def test_sizes_that_are_no_integers(monkeypatch):
    """What chooses the sizes of results fails as other functions do: with the reason, and not for lack of memory."""
    asked = _elsewhere._chosen_sizes

    def wrong(ufunc, types, dims):
        chosen = asked(ufunc, types, dims)
        return chosen and (chosen[0], lambda *sizes: [2.5], *chosen[2:])

    monkeypatch.setattr(_elsewhere, "_chosen_sizes", wrong)
    f = nd.from_ufunc(importlib.import_module("numpy.linalg._umath_linalg").svd)
    with pytest.raises(TypeError, match="a size must be an integer, not float"):
        f(nd.array([[1.0, 2.0]]))


def test_sizes_that_are_chosen_from_several_that_differ_each():
    """As long as a convolution is, of each pair of rows: whichever of the two sizes is another than before."""
    from numpy._core._umath_tests import conv1d_full

    convolve = nd.from_ufunc(conv1d_full)
    rng = np.random.default_rng(1)
    for lengths in ([(2, 1), (2, 3), (3, 3), (3, 2), (2, 3)], [(1, 1), (1, 4), (1, 2), (4, 2), (1, 2)], [(5, n) for n in range(1, 9)], [(n, 5) for n in range(1, 9)]):
        left, right = ([rng.integers(-9, 9, n).astype(float).tolist() for n in sizes] for sizes in zip(*lengths))
        found = convolve(nd.array(left, type="strided * var * float64"), nd.array(right, type="strided * var * float64"))
        assert found.tolist() == [np.convolve(x, y).tolist() for x, y in zip(left, right)]
        assert convolve(nd.array(left, type="strided * var * float64"), [1.0, 2.0]).tolist() == [np.convolve(x, [1.0, 2.0]).tolist() for x in left]
