"""matmul, @, tensordot and einsum against NumPy, for every type, layout and ragged outer dimensions."""
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dynd import _dynd, nd

TYPES = ["bool", "int8", "uint8", "int16", "uint32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def numbers(shape, kind="float64", seed=1):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, shape) if not kind.startswith("u") else rng.integers(0, 4, shape)
    imaginary = rng.integers(-3, 4, shape) * 1j if kind.startswith("c") else 0
    return np.asarray(values + imaginary).astype(kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("m, k, n", [(2, 3, 4), (1, 1, 1), (1, 5, 1), (5, 1, 3), (20, 30, 25), (0, 3, 2), (2, 0, 3), (2, 3, 0)])
def test_matmul_of_every_type(kind, m, k, n):
    a, b = numbers((m, k), kind), numbers((k, n), kind, 2)
    result = nd.matmul(a, b)
    assert np.array_equal(np.asarray(result), a @ b) and str(result.type.dtype) == kind
    assert np.array_equal(np.asarray(nd.asarray(a) @ b), a @ b) and np.array_equal(np.asarray(a @ nd.asarray(b)), a @ b)


def test_matmul_of_two_types():
    for left in TYPES:
        for right in TYPES:
            a, b = numbers((2, 3), left), numbers((3, 4), right, 2)
            result = nd.matmul(a, b)
            assert np.array_equal(np.asarray(result), a @ b) and str(result.dtype) == (a @ b).dtype.name, (left, right)
            optional = nd.matmul(nd.array(a).astype(f"?{left}"), nd.array(b).astype(f"?{right}"))
            assert str(optional.dtype) == str(result.dtype) and optional.tolist() == result.tolist(), (left, right)


def layouts(x):
    big = np.zeros([2 * s + 1 for s in x.shape], x.dtype)
    big[tuple(slice(1, None, 2) for _ in x.shape)] = x
    wide = np.zeros(x.shape[:-1] + (x.shape[-1] + 3,), x.dtype)
    wide[..., :x.shape[-1]] = x
    return [x, np.asfortranarray(x), big[tuple(slice(1, None, 2) for _ in x.shape)], x[..., ::-1].copy()[..., ::-1],
            x.T.copy().T, wide[..., :x.shape[-1]]]


@pytest.mark.parametrize("shape", [((2, 3), (3, 4)), ((20, 30), (30, 17)), ((3, 20, 30), (30, 17)), ((2, 1, 3, 4), (5, 4, 2)),
                                   ((1, 20), (20, 30)), ((30, 20), (20, 1))])
@pytest.mark.parametrize("kind", ["float64", "complex64", "int32"])
def test_matmul_of_every_layout(shape, kind):
    a, b = numbers(shape[0], kind), numbers(shape[1], kind, 2)
    for x in layouts(a):
        for y in layouts(b):
            assert np.array_equal(np.asarray(nd.asarray(x) @ nd.asarray(y)), a @ b)


def test_one_row_and_one_column_of_any_stride():
    """What is between rows says nothing where there is one. Every product is another: memory that is used again has the
    one before."""
    views = [lambda x: x, lambda x: x[None], lambda x: x[:, None].T, lambda x: np.broadcast_to(x, (1, len(x))), lambda x: x[None, ::-1]]
    for seed, view in enumerate(views):
        row, column = view(numbers(100, seed=seed)), view(numbers(100, seed=seed + 50)).T
        b, c = numbers((100, 80), seed=seed + 100), numbers((80, 100), seed=seed + 150)
        assert np.array_equal(np.asarray(nd.asarray(row) @ nd.asarray(b)), row @ b), seed
        assert np.array_equal(np.asarray(nd.asarray(c) @ nd.asarray(column)), c @ column), seed


def test_vectors_and_broadcasting():
    m, v = numbers((3, 3)), numbers(3)
    for a, b in [(m, v), (v, m), (v, v), (numbers((4, 3, 3)), v), (v, numbers((4, 3, 3))), (numbers((1, 3, 3)), numbers((4, 3, 2)))]:
        assert np.array_equal(np.asarray(nd.matmul(a, b)), a @ b)
    assert np.array_equal(np.asarray(nd.matmul(np.broadcast_to(m, (2, 3, 3)), m)), np.broadcast_to(m, (2, 3, 3)) @ m)
    assert np.array_equal(np.asarray(nd.matmul(np.full((20, 20), 2.0), np.broadcast_to(1.0, (20, 20)))), np.full((20, 20), 40.0))
    assert nd.matmul([[1, 2]], [[1.5], [2.5]]).tolist() == [[6.5]]


@pytest.mark.parametrize("m, k, n", [(1300, 1400, 1250), (3000, 3001, 1), (1, 3001, 3000), (1, 9_000_001, 1), (3000, 1, 3001)])
def test_what_blas_is_given_in_parts(m, k, n):
    """So that Ctrl-C is seen in between. Sums are of whole numbers: no order of summation shows."""
    a, b = (numbers(shape, "complex64", seed) for seed, shape in enumerate([(m, k), (k, n)]))
    expected = a @ b
    assert np.array_equal(np.asarray(nd.asarray(a) @ nd.asarray(b)), expected)
    assert np.array_equal(np.asarray(nd.asarray(np.asfortranarray(a)) @ nd.asarray(np.asfortranarray(b))), expected)


@pytest.mark.parametrize("n", [9000, 140_001])  # also of more elements than are taken between two looks at Ctrl-C
@pytest.mark.parametrize("kind", ["float32", "complex128", "int64", "bool"])
def test_long_vectors_with_any_strides(kind, n):
    a, b, matrix = numbers(n, kind), numbers(n, kind, 2), numbers((n, 9), kind, 3)
    views = [slice(None), slice(None, None, -1), slice(None, None, 3), slice(None, None, -3)]
    for one in views:
        for other in views[:2] if one in views[:2] else views[2:]:
            assert np.asarray(nd.asarray(a[one]) @ nd.asarray(b[other])) == a[one] @ b[other]
        for m in (matrix, np.asfortranarray(matrix)):
            assert np.array_equal(np.asarray(nd.asarray(a[one]) @ nd.asarray(m[one])), a[one] @ m[one])
            assert np.array_equal(np.asarray(nd.asarray(m[one].T) @ nd.asarray(a[one])), m[one].T @ a[one])


@pytest.mark.parametrize("kind", ["int16", "uint32", "bool", "float16"])
def test_long_rows_without_blas_with_any_strides(kind):
    """Rows of the result are made in parts that stay in a cache."""
    a, wide = numbers((3, 5), kind), numbers((10, 25_000), kind, 2)
    for rows in (slice(None, 5), slice(None, None, 2), slice(None, None, -2)):
        for columns in (slice(8193), slice(None, None, 2), slice(None, None, -3)):
            b = wide[rows, columns]
            for own in (b, np.asfortranarray(b)):
                assert np.array_equal(np.asarray(nd.asarray(a) @ nd.asarray(own)), a @ b), (rows, columns)
                assert np.array_equal(np.asarray(nd.asarray(own.T) @ nd.asarray(a.T)), b.T @ a.T), (rows, columns)


def test_ragged_outer_dimensions():
    blocks = [[numbers((2, 3), seed=i * 7 + j) for j in range(length)] for i, length in enumerate([2, 0, 3])]
    a = nd.array([[x.tolist() for x in row] for row in blocks], type="strided * var * 2 * 3 * float64")
    b = numbers((3, 4))
    assert nd.matmul(a, b).tolist() == [[(x @ b).tolist() for x in row] for row in blocks]
    per_row = numbers((3, 1, 3, 4))
    assert nd.matmul(a, per_row).tolist() == [[(x @ y[0]).tolist() for x in row] for row, y in zip(blocks, per_row)]


def test_many_blocks_on_threads():
    a, b = numbers((300, 20, 30)), numbers((300, 30, 10))
    assert np.array_equal(np.asarray(nd.matmul(a, b)), a @ b)
    a, b = numbers((100_000, 2, 2)), numbers((100_000, 2, 2))
    assert np.array_equal(np.asarray(nd.matmul(a, b)), a @ b)


@pytest.mark.parametrize("a, b, kind, message", [
    ([[1.0, 2.0]], [[1.0]], ValueError, "matmul: K is 2 in operand 0 and 1 in operand 1"),
    (np.ones((2, 3, 3)), np.ones((4, 3, 3)), ValueError, "matmul: cannot broadcast"),
    (1.0, [1.0], TypeError, "matmul: operands have at least one dimension"),
    ([["a"]], [[1.0]], TypeError, "string"),
    ([[1.0, None]], [[1.0], [2.0]], ValueError, "missing"),
])
def test_what_matmul_refuses(a, b, kind, message):
    with pytest.raises(kind, match=message):
        nd.matmul(a, b)


def test_without_blas():
    code = ("from dynd import nd, _dynd; import numpy as np; a = np.arange(900.0).reshape(30, 30); "
            "assert np.array_equal(np.asarray(nd.matmul(a, a)), a @ a) and _dynd.blas_library() == ''")
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "DYND_BLAS": ""}, check=True)


def test_a_blas_is_found():
    assert "blas" in _dynd.blas_library()


# ---- tensordot ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("a, b, axes", [((2, 3, 4), (3, 4, 5), 2), ((2, 3), (4, 5), 0), ((2, 3, 4), (4, 3, 2), ([0, 1], [2, 1])),
                                        ((2, 3), (3, 2), ([1, 0], [0, 1])), ((2, 3), (3,), 1), ((5, 6), (6, 7), ([-1], [-2])),
                                        ((2, 3), (4, 3), (1, 1)), ((0, 3), (3, 2), 1)])
@pytest.mark.parametrize("kind", ["float64", "int32", "complex128"])
def test_tensordot(a, b, axes, kind):
    x, y = numbers(a, kind), numbers(b, kind, 2)
    for own, other in zip(layouts(x), layouts(y)):
        assert np.array_equal(np.asarray(nd.tensordot(own, other, axes)), np.tensordot(x, y, axes))


@pytest.mark.parametrize("axes, kind, message", [
    (1, ValueError, "axis -1 of a has size 3, axis 0 of b 2"), (([0], [0, 1]), ValueError, "1 axes of a and 2 of b"),
    (([5], [0]), IndexError, "axis 5 is out of bounds"), (([0, 0], [0, 1]), ValueError, "axis 0 is given twice"),
    (-1, ValueError, "must not be negative"), ("x", TypeError, "must be an integer or a pair"), (None, TypeError, "must be an integer or a pair")])
def test_what_tensordot_refuses(axes, kind, message):
    with pytest.raises(kind, match=message):
        nd.tensordot(np.ones((2, 3)), np.ones((2, 3)), axes)


# ---- einsum ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("subscripts, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]), ("ij->i", [(2, 3)]),
    ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("i,j->ij", [(2,), (3,)]), ("i,i", [(4,), (4,)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]), ("...ij,jk", [(2, 6, 3, 4), (4, 5)]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("ijk,jil->kl", [(2, 3, 4), (3, 2, 5)]), ("i...->...", [(2, 3)]), ("ab,bc,ca->", [(2, 3), (3, 4), (4, 2)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]), ("ijj->i", [(2, 3, 3)]), (" i j , j k -> i k ", [(2, 3), (3, 4)]), ("ij,j->i", [(2, 3), (1,)]),
    ("i,j,k->kji", [(2,), (3,), (4,)]), ("aB,Bc->ca", [(2, 3), (3, 2)]), ("ij,k->i", [(2, 3), (4,)]), ("->", [()]), (",->", [(), ()])])
@pytest.mark.parametrize("kind", ["float64", "int8", "complex64"])
def test_einsum(subscripts, shapes, kind):
    operands = [numbers(shape, kind, i) for i, shape in enumerate(shapes)]
    result = nd.einsum(subscripts, *operands)
    expected = np.einsum(subscripts, *operands)
    assert np.array_equal(np.asarray(result), expected) and str(result.type.dtype) == kind
    if all(operand.ndim for operand in operands):
        views = [layouts(operand)[2] for operand in operands]
        assert np.array_equal(np.asarray(nd.einsum(subscripts, *views)), expected)


@given(st.data())
@settings(max_examples=150)
def test_einsum_of_random_subscripts(data):
    sizes = dict(zip("abcde", data.draw(st.lists(st.integers(1, 3), min_size=5, max_size=5))))
    terms = data.draw(st.lists(st.text("abcde", min_size=1, max_size=4), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    output = "".join(data.draw(st.permutations(used)))[:data.draw(st.integers(0, len(used)))]
    operands = [numbers(tuple(sizes[c] for c in term), seed=i) for i, term in enumerate(terms)]
    text = ",".join(terms) + "->" + output
    assert np.array_equal(np.asarray(nd.einsum(text, *operands)), np.einsum(text, *operands)), text


@pytest.mark.parametrize("subscripts, operands, kind, message", [
    ("ij,jk->ik", [np.ones((2, 3))], ValueError, "1 operands for the subscripts of 2"),
    ("ij->ik", [np.ones((2, 3))], ValueError, "a label that no operand has: k"), ("ij->ii", [np.ones((2, 3))], ValueError, "a label twice: i"),
    ("ij", [np.ones(3)], ValueError, "an operand of 1 dimensions has the subscripts ij"), ("i1", [np.ones((2, 2))], ValueError, "letters"),
    ("i,i", [np.ones(2), np.ones(3)], ValueError, "einsum: i is 2 in operand 0 and 3 in operand 1"),
    ("ij,j,j->i", [np.ones((2, 1)), np.ones(4), np.ones(3)], ValueError, "j is 4 in operand 1 and 3 in operand 2"),
    ("...i,...i", [np.ones((2, 2)), np.ones((3, 2))], ValueError, "a dimension of ... is 2 in operand 0 and 3 in operand 1"),
    ("ij", [[[1.0], [2.0, 3.0]]], TypeError, "takes strided arrays of numbers"), (3, [np.ones(2)], TypeError, "expected subscripts"),
    ("i", [], TypeError, "there are no operands"), ("i", [["a"]], TypeError, "takes strided arrays of numbers")])
def test_what_einsum_refuses(subscripts, operands, kind, message):
    with pytest.raises(kind, match=message):
        nd.einsum(subscripts, *operands)


@pytest.mark.parametrize("kind", ["int64", "uint8", "bool", "float64"])
def test_large_products_whose_rows_are_on_threads(threads, kind):
    """Not by BLAS: integers, and a result of any type is made of whole rows."""
    random = np.random.default_rng(5)
    a, b = (random.integers(-2 ** 40, 2 ** 40, shape).astype(kind) for shape in ((301, 130), (130, 97)))
    for x, y in ((a, b), (a[::-2], b[:, ::-1]), (np.asfortranarray(a), np.asfortranarray(b)), (a[:, :1], b[:1])):
        expected = x @ y
        assert np.allclose(np.asarray(nd.matmul(nd.asarray(x), nd.asarray(y))), expected, rtol=1e-12), (x.strides, y.strides)


def test_einsum_is_in_the_type_of_all_operands_from_the_start():
    small, wide = np.array([100, 100], np.int8), np.array([1, 2], np.int64)
    for subscripts, operands in [("i,j->j", (small, wide)), ("i,i,j->j", (small, small, wide)), ("i,i,->", (small, small, np.float64(2)))]:
        made, wanted = nd.einsum(subscripts, *operands), np.einsum(subscripts, *operands)
        assert np.asarray(made).tolist() == wanted.tolist() and np.asarray(made).dtype == wanted.dtype


@pytest.mark.parametrize("subscripts", ["ii->i", "ii", "ii->"])
def test_a_diagonal_does_not_stretch(subscripts):
    for shape in [(1, 3), (3, 1)]:
        with pytest.raises(ValueError, match="einsum: i is . in operand 0 and . in operand 0"):
            nd.einsum(subscripts, np.ones(shape))


def test_a_result_of_too_many_dimensions_names_the_operation():
    x = nd.array(np.ones((1,) * 20))
    with pytest.raises(ValueError, match="tensordot: more than 32 dimensions"):
        nd.tensordot(x, x, axes=0)


def test_a_product_with_another_object_is_left_to_it():
    class Other:
        def __matmul__(self, right):
            return "left", type(right)

        def __rmatmul__(self, left):
            return "right", type(left)

    a = nd.array([[1.0]])
    assert (a @ Other(), Other() @ a) == (("right", type(a)), ("left", type(a)))
    with pytest.raises(TypeError, match="unsupported operand type"):
        a @ object()
    with pytest.raises(TypeError, match="unsupported operand type"):
        object() @ a


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int64", "int8", "uint16"])
@pytest.mark.parametrize("text", ["ij,ij->i", "ij,ji->j", "ij,ij->", "ij,ij->ij", "i,i->", "ij,ij,ij->j", "ii,ii->i"])
def test_einsum_of_operands_with_the_same_labels(text, dtype):
    """Products that are summed in one pass: integers wrap as in NumPy."""
    rng = np.random.default_rng(3)
    operands = [rng.integers(-100, 100, (7,) * len(labels)).astype(dtype) for labels in text.split("->")[0].split(",")]
    if dtype == "float16":
        operands = [(x % 4).astype(dtype) for x in operands]
    with np.errstate(over="ignore"):
        expected = np.einsum(text, *operands)
    found = nd.einsum(text, *map(nd.array, operands))
    assert np.asarray(found).dtype == expected.dtype
    assert np.array_equal(np.asarray(found), expected)


def test_einsum_that_only_moves_axes_is_a_view():
    w = nd.array([[1, 2], [3, 4]], access="rw")
    moved, diagonal = nd.einsum("ij->ji", w), nd.einsum("ii->i", w)
    w[0, 0] = 9
    assert moved.tolist() == [[9, 3], [2, 4]] and diagonal.tolist() == [9, 4], "as in NumPy, and as its help says"


def test_einsum_rounds_a_sum_of_halves_once():
    """As matmul does; and not each product before."""
    x, y = np.array([[1 + 2**-10, -1, -(2**-9)], [1 + 2**-10, 1, 1]], "float16")  # the first product is 1 + 2**-9 + 2**-20
    assert nd.einsum("i,i->", x, y).tolist() == nd.matmul(x, y).tolist() == 2**-20


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_operands_whose_bytes_overflow(dtype):
    """They hold one value in memory: a copy, which BLAS needs, would have more bytes than 64 bits count."""
    k = 2**64 // np.dtype(dtype).itemsize // 3 + 1
    few, row, column = nd.ones((3, 1), dtype=dtype), nd.full((1, k), 1.0, dtype=dtype), nd.full((k, 1), 1.0, dtype=dtype)
    for a, b in ((nd.broadcast_arrays(few, row)[0], column), (row, nd.broadcast_arrays(column, nd.ones((1, 3), dtype=dtype))[0])):
        with pytest.raises(MemoryError):
            nd.matmul(a, b)
