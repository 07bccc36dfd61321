"""What the functions of rows, fields and structure refuse, and how they say it."""
import numpy as np
import pytest
from dynd import nd

REFUSED = [
    (IndexError, "num: axis 2 is out of bounds for 2 dimension(s)", lambda r: nd.num(r, axis=2)),
    (ValueError, "unflatten: the lengths add up to 4, not to 3", lambda r: nd.unflatten([1, 2, 3], [2, 2])),
    (ValueError, "unflatten: length 1 is negative: -1", lambda r: nd.unflatten([1, 2, 3], [4, -1])),
    (ValueError, "unflatten: the lengths of row 0 add up to 1, not to 2", lambda r: nd.unflatten(r, [[1], [], [1]], axis=1)),
    (ValueError, "unflatten: the 3 elements are no rows of 2", lambda r: nd.unflatten([1, 2, 3], 2)),
    (TypeError, "unflatten: lengths must be integers", lambda r: nd.unflatten([1, 2], [0.5, 1.5])),
    (ValueError, "pad: the width is negative: -1", lambda r: nd.pad(r, -1)),
    (ValueError, "to_dense: the width is negative: -1", lambda r: nd.to_dense(r, -1)),
    (MemoryError, "", lambda r: nd.to_dense(r, 2**62)),
    (MemoryError, "tile: the result is too large", lambda r: nd.tile(r, 2**62)),
    (MemoryError, "cannot allocate 4611686018427387904 bytes", lambda r: nd.roll(nd.zeros(2**62, "int8"), 1)),
    (MemoryError, "cannot allocate 4611686018427387904 bytes", lambda r: nd.roll(nd.zeros((1, 2**62), "int8"), 1, axis=1)),
    (MemoryError, "concat: the result is too large", lambda r: nd.concat([nd.zeros(2**62, "int8")] * 3)),
    (
        MemoryError,
        "array is too large: sizes (1099511627776, 1099511627776)",
        lambda r: nd.broadcast_arrays(nd.zeros((2**40, 1), "int8"), nd.zeros((1, 2**40), "int8")),
    ),
    (MemoryError, "flatten: the result is too large", lambda r: nd.flatten(nd.zeros((0, 2**40, 2**40)), axis=2)),
    (MemoryError, "repeat: the result is too large", lambda r: nd.repeat(r, 2**62, axis=1)),
    (MemoryError, "repeat: the result is too large", lambda r: nd.repeat(np.zeros((0, 3)), 2**62, axis=1)),
    (MemoryError, "", lambda r: nd.pad(r, 2**62)),
    (TypeError, "", lambda r: nd.pad(r, 1.5)),
    (ValueError, "from_dense: row 1 has 2 elements, not 3", lambda r: nd.from_dense([[1, 2], [3, 4]], [1, 3])),
    (ValueError, "concat: no array is given", lambda r: nd.concat([])),
    (TypeError, "cannot be joined", lambda r: nd.concat([[1], ["a"]])),
    (TypeError, "cannot be joined", lambda r: nd.concat([r, [1]])),
    (ValueError, "concat: sizes differ at axis 0: 3 and 1", lambda r: nd.concat([r, [[1]]], axis=1)),
    (ValueError, "concat: sizes differ at axis 1: 1 and 2", lambda r: nd.concat([[[1]], [[1, 2]]], axis=0)),
    (ValueError, "stack: row 0 has 2 and 1 elements", lambda r: nd.stack([r, [[1], [], [2]]], axis=2)),
    (ValueError, "repeat: the number 0 is negative: -2", lambda r: nd.repeat(r, -2)),
    (ValueError, "repeat: the numbers have neither", lambda r: nd.repeat(r, [1, 2], axis=1)),
    (ValueError, "repeat: the numbers have neither", lambda r: nd.repeat([[1, 2], [3]], [[1], [2, 3]], axis=1)),
    (ValueError, "tile: a number of repetitions is negative", lambda r: nd.tile(r, -1)),
    (TypeError, "tile: reps must be an integer or a tuple", lambda r: nd.tile(r, "a")),
    (ValueError, "rolling: the window must be at least 1", lambda r: nd.rolling(r, 0)),
    (TypeError, "reshape: 1 ragged axes stay, and are None in the shape, not (3)", lambda r: nd.reshape(r, (3,))),
    (TypeError, "reshape: 1 ragged axes stay", lambda r: nd.reshape(r, (None, 3, None))),
    (TypeError, "reshape: 0 ragged axes stay", lambda r: nd.reshape([1, 2], (2, None))),
    (ValueError, "reshape: 3 elements have no shape (2, None)", lambda r: nd.reshape(r, (2, None))),
    (ValueError, "reshape: 1 elements have no shape (3, None, 2)", lambda r: nd.reshape(r, (3, None, 2))),
    (ValueError, "reshape: 0 elements have no shape (0, -1)", lambda r: nd.reshape(nd.zeros((0, 3)), (0, -1))),
    (ValueError, "permute_dims: the axes are not a permutation of the 2 dimension(s)", lambda r: nd.permute_dims(r, (0,))),
    (ValueError, "permute_dims: the axes are not a permutation", lambda r: nd.permute_dims(r, (0, 0))),
    (IndexError, "permute_dims: axis 2 is out of bounds", lambda r: nd.permute_dims(r, (0, 2))),
    (ValueError, "permute_dims: rows without elements", lambda r: nd.permute_dims(r[1:2], (1, 0))),
    (ValueError, "permute_dims: rows along axis 0 must be equally long below it: lengths 2 and 0", lambda r: nd.permute_dims(r, (1, 0))),
    (ValueError, "reshape: 3 elements have no shape (2, -1)", lambda r: nd.reshape([1, 2, 3], (2, -1))),
    (ValueError, "reshape: there is no shape (-2, -3)", lambda r: nd.reshape([1] * 6, (-2, -3))),
    (TypeError, "reshape: 1 ragged axes stay, and are None in the shape, not (3, -2)", lambda r: nd.reshape(r, (3, -2))),
    (ValueError, "reshape: there is no shape (-1, -1)", lambda r: nd.reshape([1, 2, 3], (-1, -1))),
    (ValueError, "squeeze: axis 0 has not size 1", lambda r: nd.squeeze(r, axis=0)),
    (IndexError, "expand_dims: axis 4 is out of bounds", lambda r: nd.expand_dims(r, 4)),
    (ValueError, "zip: cannot broadcast row 0: lengths 2 and 3", lambda r: nd.zip([r, [1, 2, 3]])),
    (TypeError, "unzip: the elements have no fields", lambda r: nd.unzip(r)),
    (TypeError, "with_field: the elements are not structs", lambda r: nd.with_field(r, "x", 1)),
    (IndexError, "without_field: no field q", lambda r: nd.without_field(nd.zip({"x": r}), "q")),
    (ValueError, "no field would be left", lambda r: nd.without_field(nd.zip({"x": r}), "x")),
    (IndexError, "rename: no field q", lambda r: nd.rename(nd.zip({"x": r}), {"q": "z"})),
    (IndexError, "take: index 2 is out of bounds for axis 1 of row 1 with size 0",
     lambda r: nd.take(r, nd.array([[0], [2], []]), axis=1)),
    (IndexError, "index 5 is out of bounds for axis 0", lambda r: nd.take(r, 5, axis=0)),
    (IndexError, "take: an index with rows of its own", lambda r: nd.take(r, nd.array([[0], [], []]), axis=0)),
    (IndexError, "take_along_axis: the index has 1 dimension(s), the array 2", lambda r: nd.take_along_axis(r, [0])),
    (TypeError, "nonzero: there is no such operation", lambda r: nd.nonzero(["a"])),
    (TypeError, "mask: the mask must be of bool", lambda r: nd.mask(r, 1)),
    (ValueError, 'nth: empty: cannot cast string "a" to', lambda r: nd.nth(r, 0, empty="a")),
    (ValueError, 'pad: value: cannot cast string "a" to', lambda r: nd.pad(r, 4, value="a")),
    (TypeError, "to_dense: value must be one value, not", lambda r: nd.to_dense(r, 4, value=[1, 2])),
    (TypeError, "zip: the names must be a name or several", lambda r: nd.zip({"x": r, 1: r})),
    (TypeError, "cartesian: the names must be a name or several", lambda r: nd.cartesian({"x": r, 1: r})),
    (TypeError, "nth: empty must be one value", lambda r: nd.nth(r, 0, empty=[1, 2])),
    (ValueError, "flip: axis 0 is given twice", lambda r: nd.flip(r, axis=(0, 0))),
    (ValueError, "flip: axis 1 is given twice", lambda r: nd.flip(r, axis=(1, -1))),
    (ValueError, "flip: axis 1 is given twice", lambda r: nd.flip(nd.mask(r, [True, False, True], axis=0), axis=(1, -1))),
    (ValueError, "squeeze: axis 0 is given twice", lambda r: nd.squeeze([[1, 2]], axis=(0, 0))),
    (ValueError, "tensordot: axis 1 is given twice", lambda r: nd.tensordot([[1]], [[1]], axes=([1, -1], [0, 1]))),
    (TypeError, "tensordot: axes must be an integer or a pair", lambda r: nd.tensordot([[1]], [[1]], axes=([1], [0], [0]))),
    (TypeError, "searchsorted: string in strided * bytes", lambda r: nd.searchsorted([b"a", b"c"], "b")),
    (TypeError, "searchsorted: bytes in strided * string", lambda r: nd.searchsorted(["a", "c"], [b"b"])),
    (TypeError, "rename: the elements have no fields", lambda r: nd.rename(r, {"a": "b"})),
    (IndexError, "rename: no field a in strided * (int32, int32)", lambda r: nd.rename(nd.zip([[1], [2]]), {"a": "b"})),
    (TypeError, "without_field: the elements have no fields", lambda r: nd.without_field(r, "a")),
    (TypeError, "take_along_axis: a ragged axis inside of axis 0", lambda r: nd.take_along_axis(r, [[0, 0]], axis=0)),
    (MemoryError, "repeat: the result is too large", lambda r: nd.repeat([1], 2**62)),
    (TypeError, "reshape: rows may be missing", lambda r: nd.reshape(nd.mask(r, [True, False, True], axis=0), (1, 3))),
    (IndexError, "sort: no field zz to order by", lambda r: nd.sort([{"x": 1}], by="zz")),
]


@pytest.mark.parametrize("kind, text, call", REFUSED)
def test_refusals(kind, text, call):
    with pytest.raises(kind) as caught:
        call(nd.array([[1, 2], [], [3]]))
    assert text in str(caught.value), str(caught.value)


def test_views_that_have_an_element_twice_are_not_written():
    x = nd.empty(3, "float64")
    x[...] = [1.0, 2.0, 3.0]
    column = nd.broadcast_arrays(x, nd.array([[1.0], [2.0]]))[0]
    windows = nd.rolling(x, 2)
    for view in (column, windows):
        with pytest.raises((ValueError, TypeError), match="readonly|read-only|not writ|cannot be writ"):
            view[0, 0] = 5.0
    assert x.tolist() == [1, 2, 3]
    nd.rolling(x, 1)[0, 0] = 7.0
    nd.broadcast_arrays(x, nd.array([[1.0, 1.0, 1.0]]))[0][0, 1] = 8.0
    assert x.tolist() == [7, 8, 3]


@pytest.mark.parametrize("call", [lambda: nd.with_field([{"x": 1}], "y", None), lambda: nd.with_field(None, "y", 1), lambda: nd.unzip(None),
                                  lambda: nd.without_field(None, "x"), lambda: nd.rename(None, {"x": "y"})])
def test_none_where_records_are_wanted(call):
    with pytest.raises(TypeError, match="None alone has no type"):
        call()


# ---- arguments of other types, and integers that nothing has ----------------------------------------------------------

WRONG = [
    (IndexError, "num: axis 1180591620717411303424 is out of bounds", lambda r: nd.num(r, axis=2**70)),
    (IndexError, "sort: axis -1180591620717411303424 is out of bounds", lambda r: nd.sort(r, axis=-(2**70))),
    (IndexError, "median: axis 1099511627776 is out of bounds", lambda r: nd.median(r, axis=2**40)),
    (IndexError, "flip: axis 1099511627776 is out of bounds", lambda r: nd.flip(r, axis=2**40)),
    (IndexError, "permute_dims: axis 1099511627776 is out of bounds", lambda r: nd.permute_dims(r, (0, 2**40))),
    (IndexError, "groupby: axis 1099511627776 is out of bounds", lambda r: nd.groupby([1], by=[1], axis=2**40)),
    (IndexError, "tensordot: 1099511627776 axes of arrays of 1 and 1 dimension(s)", lambda r: nd.tensordot([1], [1], 2**40)),
    (IndexError, "tensordot: axis 1099511627776 is out of bounds", lambda r: nd.tensordot([1], [1], ([2**40], [0]))),
    (TypeError, "num: axis must be an integer, not str", lambda r: nd.num(r, axis="x")),
    (TypeError, "num: axis must be an integer, not NoneType", lambda r: nd.num(r, axis=None)),
    (TypeError, "take: axis must be an integer or None, not float", lambda r: nd.take(r, [0], axis=1.0)),
    (ValueError, "combinations: n must be from 1 to 64, not 1099511627776", lambda r: nd.combinations(r, 2**40)),
    (OverflowError, "combinations: n 1180591620717411303424 does not fit int64", lambda r: nd.combinations(r, 2**70)),
    (OverflowError, "roll: shift 1180591620717411303424 does not fit int64", lambda r: nd.roll(r, 2**70, axis=1)),
    (OverflowError, "pad: width 1180591620717411303424 does not fit int64", lambda r: nd.pad(r, 2**70)),
    (OverflowError, "nth: i -1180591620717411303424 does not fit int64", lambda r: nd.nth(r, -(2**70))),
    (OverflowError, "tile: reps 1180591620717411303424 does not fit int64", lambda r: nd.tile(r, 2**70)),
    (OverflowError, "reshape: shape 1180591620717411303424 does not fit int64", lambda r: nd.reshape([1], (2**70,))),
    (OverflowError, "top_k: k 1180591620717411303424 does not fit int64", lambda r: nd.top_k(r, 2**70)),
    (OverflowError, "histogram: bins 1180591620717411303424 does not fit int64", lambda r: nd.histogram(r, 2**70)),
    (OverflowError, "set_num_threads: count 1180591620717411303424 does not fit int64", lambda r: nd.set_num_threads(2**70)),
    (TypeError, "rolling: window must be an integer, not float", lambda r: nd.rolling(r, 1.5)),
    (TypeError, "sort: by must be a name or several, not [1]", lambda r: nd.sort(r, by=[1])),
    (TypeError, "join: on must be a name or several, not 3", lambda r: nd.join(r, r, on=3)),
    (TypeError, "rename: names must be a dict from old to new, not ['x']", lambda r: nd.rename(r, ["x"])),
    (TypeError, "with_field: the name must be text, not 1", lambda r: nd.with_field(r, 1, [1])),
    (TypeError, "matmul: expected an array, not None", lambda r: nd.matmul(None, [1])),
    (TypeError, "None", lambda r: nd.asarray(None)),
    (TypeError, "concat: expected several arrays, not 3", lambda r: nd.concat(3)),
    (TypeError, "concat: expected several arrays, not 3", lambda r: nd.concat(3, axis=None)),
    (TypeError, "stack: expected several arrays, not 3", lambda r: nd.stack(3)),
    (TypeError, "zip: expected several arrays, not 3", lambda r: nd.zip(3)),
    (TypeError, "cartesian: expected several arrays, not 3", lambda r: nd.cartesian(3)),
]  # fmt: skip


@pytest.mark.parametrize("kind, text, call", WRONG)
def test_arguments_that_are_wrong(kind, text, call):
    with pytest.raises(kind) as caught:
        call(nd.array([[1, 2], [], [3]]))
    assert text in str(caught.value)
    assert caught.type is kind
