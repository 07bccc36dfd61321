"""Selection and structure: the functions of nd that take, join, cut and name parts of arrays.

They work on strided and ragged arrays of any depth, and on elements of any type: numbers, text, records, missing values.
"""
import builtins as _builtins

from dynd import _dynd

__all__ = [
    "argcartesian", "argcombinations", "argwhere", "broadcast_arrays", "cartesian", "combinations", "concat", "drop_missing", "expand_dims", "first", "flatten", "flip", "from_dense",
    "isin", "last", "local_index", "mask", "nonzero", "nth", "num", "pad", "permute_dims", "rename", "repeat", "reshape",
    "roll", "rolling", "row_index", "run_lengths", "squeeze", "stack", "take", "take_along_axis", "tile", "to_dense",
    "unflatten", "unzip", "with_field", "without_field", "zip",
]  # fmt: skip


def _names(name, what, values):
    """A name or several, as a list."""
    given = [values] if isinstance(values, str) else values
    try:
        if all(isinstance(value, str) for value in given):
            return list(given)
    except TypeError:
        pass
    raise TypeError(f"{name}: {what} must be a name or several, not {values!r}")


def _several(name, arrays):
    """Arrays in a list or another iterable, as a list."""
    try:
        return list(arrays)
    except TypeError:
        raise TypeError(f"{name}: expected several arrays, not {arrays!r}") from None


# ---- selection


def take(a, indices, axis=None):
    """Elements by their number along an axis; without one, of the array as one row.

    The dimensions of the indices take the place of the axis. An index with ragged rows takes elements within the rows of
    the axis. A missing index gives a missing element. Negative indices count from the end.

    >>> nd.take([[1, 2, 3], [4], [5, 6]], [2, 0], axis=0)
    nd.array([[5, 6], [1, 2, 3]], type="strided * var * int32")
    >>> nd.take([[1, 2, 3], [4, 5]], [[1, 0], [0, 1]], axis=1)
    nd.array([[[2, 1], [1, 2]], [[5, 4], [4, 5]]], type="strided * strided * strided * int32")
    """
    return _dynd.take(a, indices, axis)


def take_along_axis(a, indices, axis=-1):
    """Elements within the rows of an axis: row r of the indices takes from row r of the array.

    The result has the shape of the indices, which may be strided or ragged.

    >>> x = nd.array([[3, 1, 2], [5, 4]])
    >>> nd.take_along_axis(x, x.argmin(axis=1, keepdims=True), axis=1)
    nd.array([[1], [4]], type="strided * strided * int32")
    """
    return _dynd.take_along_axis(a, indices, axis)


def nonzero(a):
    """Where the elements are neither 0 nor missing: the positions along each axis, as a tuple of arrays.

    >>> nd.nonzero([[0, 5], [], [7, 0, 8]])
    (nd.array([0, 2, 2], type="strided * int64"), nd.array([1, 0, 2], type="strided * int64"))
    """
    return _dynd.nonzero(a)


def argwhere(a):
    """Where the elements are neither 0 nor missing: a row of positions for each.

    >>> nd.argwhere([[0, 5], [], [7]])
    nd.array([[0, 1], [2, 0]], type="strided * strided * int64")
    """
    return _dynd.argwhere(a)


def drop_missing(a, axis=-1):
    """The elements that are not missing: ?T becomes T, and rows become shorter.

    >>> nd.drop_missing([[1, None, 3], [None]])
    nd.array([[1, 3], []], type="strided * var * int32")
    """
    return _dynd.drop_missing(a, axis)


def mask(a, mask, axis=None):
    """The elements, missing where the mask is not true. With an axis its elements, rows as a whole.

    >>> nd.mask([[1, 2], [3]], [[True, False], [True]])
    nd.array([[1, None], [3]], type="strided * var * ?int32")
    >>> nd.mask([[1, 2], [3]], [True, False], axis=0)
    nd.array([[1, 2], None], type="strided * ?var * int32")
    """
    return _dynd.mask(a, mask, axis)


def first(a, axis=-1):
    """The first element of each row; missing where a row is empty.

    >>> nd.first([[1, 2], [], [3]])
    nd.array([1, None, 3], type="strided * ?int32")
    """
    return _dynd.nth(a, 0, axis, None)


def last(a, axis=-1):
    """The last element of each row; missing where a row is empty.

    >>> nd.last([[1, 2], [], [3]])
    nd.array([2, None, 3], type="strided * ?int32")
    """
    return _dynd.nth(a, -1, axis, None)


def nth(a, i, axis=-1, *, empty=None):
    """The i-th element of each row, negative from the end. Where a row has none: `empty`, or missing without it.

    >>> nd.nth([[1, 2], [], [3]], 1)
    nd.array([2, None, None], type="strided * ?int32")
    >>> nd.nth([[1, 2], [], [3]], 1, empty=0)
    nd.array([2, 0, 0], type="strided * int32")
    """
    return _dynd.nth(a, i, axis, empty)


def isin(a, values, *, invert=False):
    """Whether each element is among the values: numbers, compared exactly, text, or structs, as one type.

    A missing element gives missing. NaN is equal to nothing.

    >>> nd.isin([["a", "b"], ["c"]], ["a", "c"])
    nd.array([[True, False], [True]], type="strided * var * bool")
    """
    return _dynd.isin(a, values, invert)


# ---- rows


def num(a, axis=-1):
    """The lengths of the rows of an axis.

    >>> nd.num([[1, 2], [], [3]])
    nd.array([2, 0, 1], type="strided * int64")
    """
    return _dynd.num(a, axis)


def local_index(a, axis=-1):
    """The position of each element in its row.

    >>> nd.local_index([[7, 8], [], [9]])
    nd.array([[0, 1], [], [0]], type="strided * var * int64")
    """
    return _dynd.local_index(a, axis)


def row_index(a, axis=-1):
    """The number of the row that each element is in; rows are counted in the order of the array.

    >>> nd.row_index([[7, 8], [], [9]])
    nd.array([[0, 0], [], [2]], type="strided * var * int64")
    """
    return _dynd.row_index(a, axis)


def flatten(a, axis=None):
    """All elements as one row; with an axis, that one joined with the one outside of it. A view where it can be.

    >>> nd.flatten([[[1, 2], [3]], [[4]]])
    nd.array([1, 2, 3, 4], type="strided * int32")
    >>> nd.flatten([[[1, 2], [3]], [[4]]], axis=2)
    nd.array([[1, 2, 3], [4]], type="strided * var * int32")
    """
    return _dynd.flatten(a, axis)


def unflatten(a, lengths, axis=0):
    """The axis cut into rows of these lengths, which must add up; one number makes rows of that length.

    >>> nd.unflatten([1, 2, 3, 4], [2, 0, 2])
    nd.array([[1, 2], [], [3, 4]], type="strided * var * int32")
    """
    return _dynd.unflatten(a, lengths, axis)


def pad(a, width, value=None, *, clip=False, axis=-1):
    """Rows shorter than `width` made as long, with the value; without one what is added is missing.

    clip: longer rows are cut to the width; else they stay.

    >>> nd.pad([[1, 2, 3], [4]], 2)
    nd.array([[1, 2, 3], [4, None]], type="strided * var * ?int32")
    >>> nd.pad([[1, 2, 3], [4]], 2, value=0, clip=True)
    nd.array([[1, 2], [4, 0]], type="strided * var * int32")
    """
    return _dynd.pad(a, width, value, clip, axis)


def to_dense(a, width, value=None, *, axis=-1):
    """Rows cut or filled to one width, as an axis of that size; without a value what is added is missing.

    >>> nd.to_dense([[1, 2, 3], [4]], 2, value=0)
    nd.array([[1, 2], [4, 0]], type="strided * strided * int32")
    """
    return _dynd.to_dense(a, width, value, axis)


def from_dense(x, lengths, *, axis=-1):
    """The first lengths[i] elements of each row.

    >>> nd.from_dense([[1, 2], [4, 0]], [2, 1])
    nd.array([[1, 2], [4]], type="strided * var * int32")
    """
    return _dynd.from_dense(x, lengths, axis)


def concat(arrays, axis=0):
    """Arrays behind each other along an axis, inside ragged rows too.

    Numbers are promoted to one type; other elements must have the same type, but for missing ones. axis=None: all
    elements of all arrays as one row.

    >>> nd.concat([[[1, 2], [3]], [[4], []]], axis=1)
    nd.array([[1, 2, 4], [3]], type="strided * var * int32")
    """
    if axis is None:
        return _dynd.concat([flatten(a) for a in _several("concat", arrays)], 0)
    return _dynd.concat(_several("concat", arrays), axis)


def stack(arrays, axis=0):
    """Arrays side by side along a new axis.

    >>> nd.stack([[[1, 2], [3]], [[4], []]])
    nd.array([[[1, 2], [3]], [[4], []]], type="strided * strided * var * int32")
    """
    return _dynd.stack(_several("stack", arrays), axis)


def repeat(a, repeats, axis=None):
    """Each element several times: one number for all, or one for each position or element of the axis.

    Without an axis, of the array as one row.

    >>> nd.repeat([[1, 2], [3]], 2, axis=1)
    nd.array([[1, 1, 2, 2], [3, 3]], type="strided * var * int32")
    >>> nd.repeat([[1, 2], [3]], [[2, 0], [1]], axis=1)
    nd.array([[1, 1], [3]], type="strided * var * int32")
    """
    return _dynd.repeat(a, repeats, axis)


def tile(a, reps):
    """The array several times behind itself: reps times along the last axis, or a tuple with one for each axis.

    >>> nd.tile([[1, 2], [3]], 2)
    nd.array([[1, 2, 1, 2], [3, 3]], type="strided * var * int32")
    """
    return _dynd.tile(a, reps)


def flip(a, axis=None):
    """The reverse order along an axis, several (a tuple) or all.

    >>> nd.flip([[1, 2], [3]], axis=1)
    nd.array([[2, 1], [3]], type="strided * var * int32")
    """
    return _dynd.flip(a, axis)


def roll(a, shift, axis=None):
    """Elements moved on within their rows, those at the end to the beginning; without an axis, in the array as one row.

    Several axes (a tuple) have a shift each, or one for all.

    >>> nd.roll([[1, 2, 3], [4]], 1, axis=1)
    nd.array([[3, 1, 2], [4]], type="strided * var * int32")
    """
    if not isinstance(axis, (list, tuple)):
        return _dynd.roll(a, shift, axis)
    shifts = _dynd.integers("roll", "shift", shift)
    if len(shifts) not in (1, len(axis)):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axis)} axes")
    for along, by in _builtins.zip(axis, shifts * len(axis)):
        a = _dynd.roll(a, by, along)
    return a


def rolling(a, window, axis=-1):
    """All windows of so many neighbours, as a view: an axis of that size. A row that is shorter has none.

    >>> nd.rolling([[1, 2, 3], [4]], 2)
    nd.array([[[1, 2], [2, 3]], []], type="strided * var * strided * int32")
    >>> nd.rolling([1.0, 2.0, 4.0], 2).mean(axis=-1)
    nd.array([1.5, 3.0], type="strided * float64")
    """
    return _dynd.rolling(a, window, axis)


def run_lengths(a, axis=-1):
    """The lengths of runs of equal elements, in each row of the axis. Rows are compared as a whole.

    >>> nd.run_lengths([5, 5, 7, 7, 7, 5])
    nd.array([2, 3, 1], type="strided * int64")
    >>> nd.run_lengths([[1, 2], [1, 2], [3]], axis=0)
    nd.array([2, 1], type="strided * int64")
    """
    return _dynd.run_lengths(a, axis)


# ---- fields


def zip(arrays):
    """Records of the elements of several arrays, which are broadcast: of a dict structs, of a list tuples.

    Nothing is copied, unless rows have to be stretched.

    >>> nd.zip({"x": [[1, 2], [3]], "y": [[10], [20]]})
    nd.array([[{"x": 1, "y": 10}, {"x": 2, "y": 10}], [{"x": 3, "y": 20}]], type="strided * var * {x: int32, y: int32}")
    """
    return _dynd.zip(*_named("zip", arrays))


def unzip(a):
    """The fields of records as a tuple of arrays, views.

    >>> nd.unzip(nd.array([{"x": 1, "y": 2.5}]))
    (nd.array([1], type="strided * int32"), nd.array([2.5], type="strided * float64"))
    """
    return _dynd.unzip(a)


def with_field(a, name, values):
    """The records with one more field, or with other values in place of a field; nothing else is copied.

    >>> nd.with_field(nd.array([{"x": 1}, {"x": 2}]), "y", [0.5, 1.5])
    nd.array([{"x": 1, "y": 0.5}, {"x": 2, "y": 1.5}], type="strided * {x: int32, y: float64}")
    """
    if not isinstance(name, str):
        raise TypeError(f"with_field: the name must be text, not {name!r}")
    return _dynd.with_field(a, name, values)


def without_field(a, names):
    """The records without a field, or several; a view.

    >>> nd.without_field(nd.array([{"x": 1, "y": 2}]), "x")
    nd.array([{"y": 2}], type="strided * {y: int32}")
    """
    return _dynd.without_field(a, _names("without_field", "names", names))


def rename(a, names):
    """The records with other names for fields, as {old: new}; a view.

    >>> nd.rename(nd.array([{"x": 1, "y": 2}]), {"x": "z"})
    nd.array([{"z": 1, "y": 2}], type="strided * {z: int32, y: int32}")
    """
    if not isinstance(names, dict):
        raise TypeError(f"rename: names must be a dict from old to new, not {names!r}")
    return _dynd.rename(a, _names("rename", "the old names", list(names)), _names("rename", "the new names", names.values()))


# ---- combinations


def combinations(a, n, axis=1, *, replacement=False, fields=None):
    """All choices of n elements of each row, in their order: tuples, or structs with these names for the fields.

    replacement: the same element may be chosen several times. nd.unzip gives the parts. Of large arrays the members are
    not stored: an expression over their fields, and a reduction of it, gathers them in one pass.

    >>> nd.combinations([[1, 2, 3], [4]], 2)
    nd.array([[(1, 2), (1, 3), (2, 3)], []], type="strided * var * (int32, int32)")
    """
    return _dynd.combinations(a, n, axis, replacement, _names("combinations", "fields", list(fields or [])))


def argcombinations(a, n, axis=1, *, replacement=False, fields=None):
    """The positions of all choices of n elements of each row.

    >>> nd.argcombinations([[1, 2, 3], [4]], 2)
    nd.array([[(0, 1), (0, 2), (1, 2)], []], type="strided * var * (int64, int64)")
    """
    return _dynd.argcombinations(a, n, axis, replacement, _names("argcombinations", "fields", list(fields or [])))


def _named(name, arrays):
    """The names of a dict, and the arrays."""
    if isinstance(arrays, dict):
        return _names(name, "the names", list(arrays)), list(arrays.values())
    return [], _several(name, arrays)


def cartesian(arrays, axis=1, *, nested=False):
    """All choices of one element of each array, for each row: of a dict structs, of a list tuples.

    nested: a row for each element of the first array. nd.unzip gives the parts. The members are not stored, as those of
    nd.combinations.

    >>> nd.cartesian({"a": [[1, 2], [3]], "b": [["x"], ["y", "z"]]})
    nd.array([[{"a": 1, "b": "x"}, {"a": 2, "b": "x"}], [{"a": 3, "b": "y"}, {"a": 3, "b": "z"}]], type="strided * var * {a: int32, b: string}")
    """
    return _dynd.cartesian(*_named("cartesian", arrays), axis, nested)


def argcartesian(arrays, axis=1, *, nested=False):
    """The positions of all choices of one element of each array, for each row.

    >>> nd.argcartesian([[[7, 8]], [[9]]])
    nd.array([[(0, 0), (1, 0)]], type="strided * var * (int64, int64)")
    """
    return _dynd.argcartesian(*_named("argcartesian", arrays), axis, nested)


# ---- shapes


def broadcast_arrays(*arrays):
    """All arrays in their common shape, as a tuple; views, unless rows have to be stretched.

    >>> nd.broadcast_arrays([[1, 2], [3]], [[10], [20]])[1]
    nd.array([[10, 10], [20]], type="strided * var * int32")
    """
    return _dynd.broadcast_arrays(list(arrays))


def reshape(a, shape):
    """The array in another shape, a view where it can be. One size may be -1.

    Ragged axes stay as they are, None in the shape; those outside, between and inside of them change, and each of these
    groups may have a -1.

    >>> nd.reshape([1, 2, 3, 4], (2, -1))
    nd.array([[1, 2], [3, 4]], type="strided * strided * int32")
    >>> nd.reshape([[1, 2], [], [3], [4, 5]], (2, -1, None))
    nd.array([[[1, 2], []], [[3], [4, 5]]], type="strided * strided * var * int32")
    """
    return _dynd.reshape(a, shape)


def permute_dims(a, axes):
    """The axes in another order; a view, unless a ragged one is moved or moved over: its rows must be equally long then.

    >>> nd.permute_dims([[1, 2], [3, 4]], (1, 0))
    nd.array([[1, 3], [2, 4]], type="strided * strided * int32")
    >>> nd.permute_dims([[[1, 2], []], [[3], [4, 5]]], (1, 0, 2))
    nd.array([[[1, 2], [3]], [[], [4, 5]]], type="strided * strided * var * int32")
    """
    return _dynd.permute_dims(a, axes)


def squeeze(a, axis=None):
    """Axes of size 1 removed: one, several (a tuple) or all of them; a view.

    >>> nd.squeeze([[[1], [2]]], axis=2)
    nd.array([[1, 2]], type="strided * strided * int32")
    """
    return _dynd.squeeze(a, axis)


def expand_dims(a, axis=0):
    """One more axis, of size 1; a view.

    >>> nd.expand_dims([1, 2], 1)
    nd.array([[1], [2]], type="strided * strided * int32")
    """
    return _dynd.expand_dims(a, axis)
