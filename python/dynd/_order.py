"""Order: the functions of nd that sort rows, or find something by it, and those of how numbers are distributed.

They work on strided and ragged arrays of any depth, on real numbers, bools, text and bytes, structs of these, and what of
them may be missing. The order is by value, -0.0 before 0.0, then NaN, then what is missing; text is in the order of its
bytes, structs in that of their fields, the first first.
"""
import collections as _collections
import operator as _operator

from dynd import _dynd
from dynd._structure import _names

__all__ = [
    "argsort", "histogram", "is_sorted", "median", "quantile", "rank", "searchsorted", "sort", "top_k", "unique",
    "unique_counts", "unique_inverse",
]  # fmt: skip

UniqueCountsResult = _collections.namedtuple("UniqueCountsResult", "values counts")
UniqueInverseResult = _collections.namedtuple("UniqueInverseResult", "values inverse_indices")


def sort(a, axis=-1, *, descending=False, stable=True, by=()):
    """The elements of each row of the axis in rising order; equal ones stay in their order (stable=False promises less,
    and changes nothing).

    Descending reverses the order of the values; NaN and what is missing are still last. Structs may be sorted by some of
    their fields, "-x" is the reverse order of x. Where the axis is outside of ragged rows, these must be equally long
    along it.

    >>> nd.sort([[3.0, None, 1.0], [], [float("nan"), 2.0]])
    nd.array([[1.0, 3.0, None], [], [2.0, nan]], type="strided * var * ?float64")
    >>> nd.sort(["b", "ä", "a"], descending=True)
    nd.array(["ä", "b", "a"], type="strided * string")
    >>> nd.sort([{"x": 2, "y": 1}, {"x": 1, "y": 1}, {"x": 1, "y": 2}], by=["x", "-y"])
    nd.array([{"x": 1, "y": 2}, {"x": 1, "y": 1}, {"x": 2, "y": 1}], type="strided * {x: int32, y: int32}")
    """
    return _dynd.sort(a, axis, descending, _names("sort", "by", by))


def argsort(a, axis=-1, *, descending=False, stable=True, by=()):
    """The positions within each row that sort it: take_along_axis(a, argsort(a)) is sort(a).

    >>> nd.argsort([[3, 1, 2], [], [5, 4]])
    nd.array([[1, 2, 0], [], [1, 0]], type="strided * var * int64")
    """
    return _dynd.argsort(a, axis, descending, _names("argsort", "by", by))


def is_sorted(a, axis=-1, *, descending=False, by=()):
    """Whether each row of the axis is as sort would make it.

    >>> nd.is_sorted([[1, 2, 2], [], [5, 4]])
    nd.array([True, True, False], type="strided * bool")
    """
    return _dynd.is_sorted(a, axis, descending, _names("is_sorted", "by", by))


def top_k(a, k, axis=-1, *, by=()):
    """The k largest elements of each row, the largest first; a shorter ragged row gives what it has.

    NaN and what is missing are after all others, as in sort.

    >>> nd.top_k([[3, 1, 2], [], [5]], 2)
    nd.array([[3, 2], [], [5]], type="strided * var * int32")
    """
    return _dynd.top_k(a, k, axis, _names("top_k", "by", by))


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


# ---- groups of equal elements


def unique(a, axis=None):
    """The different elements in their order: of the whole array, or of each row of an axis.

    All NaNs are one element, -0.0 and 0.0 are 0.0, and what is missing is one element, the last. With an axis the result
    has rows of unequal length, and the axis is its last one.

    >>> nd.unique([3.0, 1.0, None, float("nan"), 3.0, float("nan"), -0.0, None])
    nd.array([0.0, 1.0, 3.0, nan, None], type="strided * ?float64")
    >>> nd.unique([["b", "a", "b"], [], ["c"]], axis=1)
    nd.array([["a", "b"], [], ["c"]], type="strided * var * string")
    """
    return _dynd.unique(a, axis)


def unique_counts(a, axis=None):
    """The different elements, and how often each is there. Each NaN is an element of its own, as in the array API standard.

    >>> nd.unique_counts([[2, 1, 2], [], [5]], axis=1)
    UniqueCountsResult(values=nd.array([[1, 2], [], [5]], type="strided * var * int32"), counts=nd.array([[1, 2], [], [1]], type="strided * var * int64"))
    """
    return UniqueCountsResult(*_dynd.unique_counts(a, axis))


def unique_inverse(a, axis=None):
    """The different elements, and for each element of the array the place of its value among them; each NaN is its own.

    >>> nd.unique_inverse(["b", "a", "b"])
    UniqueInverseResult(values=nd.array(["a", "b"], type="strided * string"), inverse_indices=nd.array([1, 0, 1], type="strided * int64"))
    """
    return UniqueInverseResult(*_dynd.unique_inverse(a, axis))


_RANKS = ["average", "min", "max", "dense", "ordinal"]


def rank(a, axis=-1, method="average", *, descending=False, by=()):
    """The rank of each element in its row, from 1 on; what is missing has none.

    Equal elements have the average of their ranks, or the "min" or "max" of them; "dense": the number of different
    elements up to them; "ordinal": ranks of their own, in their order. NaNs are equal.

    >>> nd.rank([[30, 10, 10], [], [7]])
    nd.array([[3.0, 1.5, 1.5], [], [1.0]], type="strided * var * float64")
    >>> nd.rank([30, None, 10, 10], method="dense")
    nd.array([2, None, 1, 1], type="strided * ?int64")
    """
    if method not in _RANKS:
        raise ValueError(f"rank: method must be one of {', '.join(_RANKS)}, not {method!r}")
    return _dynd.rank(a, axis, _RANKS.index(method), descending, _names("rank", "by", by))


# ---- distribution


def _of_axes(name, function, a, axis, keepdims):
    """function(a, axis, keepdims), where several axes are one row."""
    if not isinstance(axis, (list, tuple)):
        return function(a, axis, keepdims)
    a = _dynd.asarray(a)
    ndim = _dynd.rows_ndim(a)
    axes = []
    for given in _dynd.integers(name, "axis", axis):
        at = given + ndim if given < 0 else given
        if not 0 <= at < ndim:
            raise IndexError(f"{name}: axis {given} is out of bounds for {ndim} dimension(s)")
        if at in axes:
            raise ValueError(f"{name}: axis {at} is given twice")
        axes.append(at)
    if not axes:
        return function(_dynd.expand_dims(a, ndim), -1, False)  # each element is a row
    if len(axes) in (1, ndim):
        return function(a, axes[0] if len(axes) == 1 else None, keepdims)
    kept = [at for at in range(ndim) if at not in axes]
    order = kept + sorted(axes)
    a = a if order == sorted(order) else _dynd.permute_dims(a, order)
    for inside in range(ndim - 1, len(kept), -1):
        a = _dynd.flatten(a, inside)
    found = function(a, -1, False)
    outside = _dynd.rows_ndim(found) - len(kept)  # an axis of several q
    for at in sorted(axes) if keepdims else ():
        found = _dynd.expand_dims(found, at + outside)
    return found


def median(a, axis=None, *, keepdims=False):
    """The middle element of each row of the axis, or the mean of the two in the middle; without an axis, of all elements.

    Several axes (a tuple) are one row. What is missing is skipped. NaN where nothing is left, or one of the elements is NaN.

    >>> nd.median([[3, 1, 2, None], [], [4, 1]], axis=1)
    nd.array([2.0, nan, 2.5], type="strided * float64")
    """
    return _of_axes("median", _dynd.median, a, axis, keepdims)


_METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip


def quantile(a, q, axis=None, *, method="linear", keepdims=False):
    """The value below which the part q, from 0 to 1, of each row's elements are; without an axis, of all elements.

    A list of several q is the first axis of the result. Several axes (a tuple) are one row. The methods are NumPy's. What is missing is skipped. NaN where
    nothing is left, or one of the elements is NaN.

    >>> nd.quantile([[1, 2, 3, 5], [], [4]], 0.25, axis=1)
    nd.array([1.75, nan, 4.0], type="strided * float64")
    >>> nd.quantile([[1, 2, 3, 5], [4]], [0, 1], axis=1)
    nd.array([[1.0, 4.0], [5.0, 4.0]], type="strided * strided * float64")
    """
    if method not in _METHODS:
        raise ValueError(f"quantile: method must be one of {', '.join(_METHODS)}, not {method!r}")

    def of_axis(a, axis, keepdims):
        return _dynd.quantile(a, q, axis, _METHODS.index(method), keepdims)

    return _of_axes("quantile", of_axis, a, axis, keepdims)


def histogram(a, bins=10, range=None, axis=None, *, weights=None):
    """How many numbers are in each bin, and the edges of the bins.

    `bins` is the number of bins of equal width, or their edges. Without a range they are from the smallest to the largest
    element of the whole array. With an axis, each row has counts of its own, and all have the same edges. A bin has its
    lower edge, the last one its upper edge too. What is missing, or NaN, is in none. Weights are added up instead of
    counted.

    >>> nd.histogram([[1, 2, 2], [], [5, None]], bins=[0, 2, 4, 6], axis=1)
    (nd.array([[1, 2, 0], [0, 0, 0], [0, 0, 1]], type="strided * strided * int64"), nd.array([0.0, 2.0, 4.0, 6.0], type="strided * float64"))
    >>> nd.histogram([1, 2, 5], bins=2, range=(0, 4), weights=[0.5, 0.25, 1])[0]
    nd.array([0.5, 0.25], type="strided * float64")
    """
    try:
        bins = _operator.index(bins)
    except TypeError:
        if range is not None:
            raise ValueError("histogram: edges say what the range is: give one of them") from None
    if range is not None:
        try:
            first, last = range
            range = float(first), float(last)
        except (TypeError, ValueError):
            raise TypeError(f"histogram: range must be two numbers, not {range!r}") from None
    return _dynd.histogram(a, bins, range, axis, weights)
