"""Products of matrices and tensors."""
import importlib.util
import operator
import pathlib

from dynd import _dynd


def _blas_of_numpy():
    """The OpenBLAS that comes with NumPy's wheels, whether NumPy is loaded or not."""
    found = importlib.util.find_spec("numpy")
    if found is not None and found.origin is not None:
        package = pathlib.Path(found.origin).parent
        for folder in (package.parent / "numpy.libs", package / ".libs"):
            yield from sorted(map(str, folder.glob("*openblas*.so*")))


for _path in _blas_of_numpy():
    _dynd.add_blas_path(_path)


def matmul(a, b, /):
    """The product of matrices, which are the last two dimensions. Those outside broadcast, ragged ones included.

    An operand of one dimension is a row on the left and a column on the right. float and complex types go to BLAS
    (OpenBLAS of the system, or NumPy's), others to a plain loop. Core dimensions never stretch.

    >>> nd.matmul([[1.0, 2.0], [3.0, 4.0]], [10.0, 1.0])
    nd.array([12.0, 34.0], type="strided * float64")
    """
    return _dynd.matmul(a, b)


def tensordot(a, b, axes=2):
    """The sum of products over axes: the last ones of a with the first ones of b, or a pair of lists of axes.

    >>> nd.tensordot(nd.ones((2, 3, 4)), nd.ones((3, 4, 5))).shape
    (2, 5)
    """
    if hasattr(axes, "__index__") and not isinstance(axes, bool):
        axes = operator.index(axes)
        if axes < 0:
            raise ValueError(f"tensordot: axes must not be negative, not {axes}")
        a, b = _dynd.asarray(a), _dynd.asarray(b)
        if axes > min(a.ndim, b.ndim):
            raise IndexError(f"tensordot: {axes} axes of arrays of {a.ndim} and {b.ndim} dimension(s)")
        return _dynd.tensordot(a, b, list(range(-axes, 0)), list(range(axes)))
    try:
        first, second = ([x] if hasattr(x, "__index__") else list(x) for x in axes)
    except (TypeError, ValueError):
        raise TypeError(f"tensordot: axes must be an integer or a pair of lists of axes, not {axes!r}") from None
    return _dynd.tensordot(a, b, first, second)


def einsum(subscripts, *operands):
    """Einstein's summation over letters, as in NumPy: 'ij,jk->ik'. Operands are taken two at a time, from left to right.
    As in NumPy, what only exchanges axes of one operand, or takes a diagonal, is a view of it.

    >>> nd.einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [10.0, 1.0])
    nd.array([12.0, 34.0], type="strided * float64")
    """
    if not isinstance(subscripts, str):
        raise TypeError(f"einsum: expected subscripts as 'ij,jk->ik', not {type(subscripts).__name__}")
    return _dynd.einsum(subscripts, operands)
