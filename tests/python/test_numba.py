"""Functions that Numba compiles as kernels: of every type, what they raise, what Numba says of them."""

import gc

import numpy as np
import pytest

from dynd import nd

numba = pytest.importorskip("numba")

ROWS = [[1.0, 5.0], [], [2.0]]


def untyped(x):
    return x * 2


def test_what_numba_says_of_its_types_holds():
    whole = numba.cfunc("int64(int64)")(lambda x: 2 * x)
    assert nd.callable(whole, "(x: int64) -> int64")([3]).tolist() == [6]
    for signature in ("(float64) -> float64", "(int64, int64) -> int64", "(int64) -> int32"):
        with pytest.raises(TypeError, match=r"callable: _lambda_ was compiled by Numba as \(int64\) -> int64, not"):
            nd.callable(whole, signature)
    with pytest.raises(TypeError, match="from_ufunc: untyped has no loops yet; give its types where it is made"):
        nd.from_ufunc(numba.vectorize(untyped))


def test_numba():
    @numba.cfunc("float64(float64, int64)")
    def power(x, n):
        return x ** n
    f = nd.callable(power)
    assert str(f.signatures[0]) == "(float64, int64) -> float64"
    assert f(ROWS, 2).tolist() == [[x ** 2 for x in row] for row in ROWS]
    del power
    gc.collect()
    assert f(3.0, 2).tolist() == 9.0
    g = nd.callable(lambda x, y: x - y, "(float64, float64) -> float64", numba=True)
    assert g(ROWS, 1).tolist() == [[x - 1 for x in row] for row in ROWS]

    @numba.vectorize(["float64(float64, float64)", "int64(int64, int64)"])
    def difference(x, y):
        return x - y
    h = nd.from_ufunc(difference)
    assert h(ROWS, 1.0).tolist() == [[x - 1 for x in row] for row in ROWS]

    @numba.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
    def reversed_row(x, out):
        for i in range(len(x)):
            out[i] = x[len(x) - 1 - i]
    assert nd.from_ufunc(reversed_row)(ROWS).tolist() == [row[::-1] for row in ROWS]


def test_signatures_that_a_compiled_function_cannot_have():
    f = numba.njit(lambda x: x + 1)
    assert nd.callable(f, "(x: float64) -> float64", numba=True)([1.0]).tolist() == [2.0]
    for signature, message in ((None, "takes a signature, as"), ("(N * float64) -> float64", "takes and gives one number each, not N"),
                               ("(x: float64, *, n: int64 = 2) -> float64", "takes numbers by their position")):
        with pytest.raises(TypeError, match=f"callable: a function that Numba compiles {message}"):
            nd.callable(f, signature, numba=True)


def test_what_numba_writes_to_an_operand_is_refused():
    """NumPy refuses an array that cannot be written; here it would be changed."""
    @numba.guvectorize(["(float64[:], float64[:])"], "(n)->(n)", writable_args=(0,))
    def emptied(x, out):
        for i in range(len(x)):
            x[i], out[i] = 0, x[i]
    with pytest.raises(TypeError, match="from_ufunc: emptied writes to its operand, which its signature does not say"):
        nd.from_ufunc(emptied)


def test_what_a_function_raises_that_numba_compiled():
    """Its own exception, at the first element; on threads, too. Numba alone would print it and give 0."""
    @numba.cfunc("float64(float64)")
    def root(x):
        if x < 0:
            raise ValueError("less than nothing")
        return x ** 0.5
    f = nd.callable(root)
    assert f([[4.0, 9.0], [1.0]]).tolist() == [[2.0, 3.0], [1.0]]
    assert f(nd.array([4.0, None])).tolist() == [2.0, None]
    many = np.ones(1_000_000)
    many[[345_678, 999_999]] = -1
    for values, index in (([[4.0], [1.0, -1.0]], "(1, 1)"), (many, "(345678,)"), (many.reshape(1000, 1000), "(345, 678)")):
        for call in (f, lambda x: nd.reduce(nd.add, f(x), axis=0)):
            with pytest.raises(ValueError, match="less than nothing") as caught:
                call(nd.array(values))
            assert caught.value.__notes__ == [f"root: ValueError in the Python function at index {index}"]
    inverse = nd.callable(lambda x: 1 // x, "(int64) -> int64", numba=True, name="inverse")
    with pytest.raises(ZeroDivisionError):
        inverse([1, 0])
    with pytest.raises(ZeroDivisionError):
        nd.reduce(nd.callable(lambda x, y: x // y, "(int64, int64) -> int64", numba=True), [[8, 2], [3, 0]], axis=1)


@pytest.mark.parametrize("type", ["bool", "int8", "uint8", "int16", "uint64", "float32", "complex64", "complex128"])
def test_numbers_of_every_type_go_through_functions_that_numba_compiled(type):
    """Whether they may raise or not. Numba takes two float32 where C takes a complex64."""
    values = np.array([[1, 0], [3, 1]]).astype(type)
    if values.dtype.kind == "c":
        values += values * 2j

    def either(x, y):
        return x if x == y else y

    def refused(x, y):
        if x == 0 and y == 0:
            raise ValueError("nothing")
        return x if x == y else y
    for function in (either, refused):
        for f in (nd.callable(function, f"({type}, {type}) -> {type}", numba=True),
                  nd.callable(numba.cfunc(f"{type}({type}, {type})")(function))):
            assert np.array_equal(np.asarray(f(values, values.T)), values.T)
            assert np.array_equal(np.asarray(f(values[::-1, ::-1].T, values[0, 0])), np.full((2, 2), values[0, 0]))
    with pytest.raises(ValueError, match="nothing") as caught:
        f(values, np.zeros_like(values))
    assert caught.value.__notes__ == ["refused: ValueError in the Python function at index (0, 1)"]


def test_what_numba_knows_not_to_raise_may_be_lazy():
    x = nd.array(np.linspace(-1, 2, 200_000))
    clip = nd.callable(lambda x: min(max(x, 0.0), 1.0), "(float64) -> float64", numba=True, name="clip01")
    checked = nd.callable(lambda x: 1 / x, "(float64) -> float64", numba=True, name="checked")
    assert "=clip01(" in str(nd.explain(lambda: clip(x + 1).sum())) and "=add(" in str(nd.explain(lambda: clip(x + 1).sum()))
    assert "checked" not in str(nd.explain(lambda: nd.sum(checked(x + 3))).splitlines()[-1])


def test_a_function_fails_that_raises_only_when_it_is_compiled():
    def picky(x):
        if x > 1:
            raise ValueError("large")
        return x
    f = nd.callable(picky, "(int64) -> int64", numba=True)
    picky.__code__ = (lambda x: x).__code__                            # Numba has compiled the other one
    with pytest.raises(ValueError, match=r"picky: the compiled function raised an exception at index \(1,\)"):
        f([1, 2])
