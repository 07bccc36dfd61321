"""Order: the functions of nd that sort rows, or find something by it.

They work on strided and ragged arrays of any depth, on real numbers, bools, text and bytes, and what of these may be
missing. The order is by value, -0.0 before 0.0, then NaN, then what is missing; text is in the order of its bytes.
"""
from dynd import _dynd

__all__ = ["argsort", "is_sorted", "searchsorted", "sort", "top_k"]


def sort(a, axis=-1, *, descending=False):
    """The elements of each row of the axis in rising order; equal ones stay in their order.

    Descending reverses the order of the values; NaN and what is missing are still last. Where the axis is outside of
    ragged rows, these must be equally long along it.

    >>> nd.sort([[3.0, None, 1.0], [], [float("nan"), 2.0]])
    nd.array([[1.0, 3.0, None], [], [2.0, nan]], type="strided * var * ?float64")
    >>> nd.sort(["b", "ä", "a"], descending=True)
    nd.array(["ä", "b", "a"], type="strided * string")
    """
    return _dynd.sort(a, axis, descending)


def argsort(a, axis=-1, *, descending=False):
    """The positions within each row that sort it: take_along_axis(a, argsort(a)) is sort(a).

    >>> nd.argsort([[3, 1, 2], [], [5, 4]])
    nd.array([[1, 2, 0], [], [1, 0]], type="strided * var * int64")
    """
    return _dynd.argsort(a, axis, descending)


def is_sorted(a, axis=-1, *, descending=False):
    """Whether each row of the axis is as sort would make it.

    >>> nd.is_sorted([[1, 2, 2], [], [5, 4]])
    nd.array([True, True, False], type="strided * bool")
    """
    return _dynd.is_sorted(a, axis, descending)


def top_k(a, k, axis=-1):
    """The k largest elements of each row, the largest first; a shorter ragged row gives what it has.

    NaN and what is missing are after all others, as in sort.

    >>> nd.top_k([[3, 1, 2], [], [5]], 2)
    nd.array([[3, 2], [], [5]], type="strided * var * int32")
    """
    return _dynd.top_k(a, k, axis)


def searchsorted(a, values, side="left"):
    """Where the values would have to be inserted in a sorted array to keep it sorted; of equal elements, on that side.

    An array with rows, and values with the same rows outside of their last axis, are searched row by row.

    >>> nd.searchsorted([1, 3, 3, 5], [[3, 0], [9]])
    nd.array([[1, 0], [4]], type="strided * var * int64")
    >>> nd.searchsorted([[1, 3], [2]], [[2], [2, 3]], side="right")
    nd.array([[1], [1, 1]], type="strided * var * int64")
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    return _dynd.searchsorted(a, values, side == "right")
