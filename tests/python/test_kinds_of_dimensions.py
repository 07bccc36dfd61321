"""What kind an array's dimensions are of, `var`, `strided` or fixed, changes no values: rows of one length in every kind of
dimension, in functions of one array and of several that have other kinds each, and in conversions between all of them.

(Where the kind is what a rule asks for, it is not here: what a mask or an index of several dimensions keeps.)"""

import itertools

import numpy as np
import pytest
from dynd import nd

SHAPE = (2, 3, 2)
KINDS = list(itertools.product(("strided", "fixed"), ("strided", "fixed", "var"), ("strided", "fixed", "var")))


def type_text(kinds, shape, element):
    return " * ".join([str(n) if kind == "fixed" else kind for kind, n in zip(kinds, shape)] + [element])


def made(values, kinds, element="int32"):
    return nd.array(values.tolist(), type=type_text(kinds, values.shape, element))


def parts(found):
    found = [part.tolist() for part in found] if isinstance(found, (tuple, list)) else found.tolist()
    return repr(found)


OF_ONE = {
    **{name: getattr(nd, name) for name in "negative is_missing flatten nonzero argwhere sum max count".split()},
    "tolist": lambda a: a, "access": lambda a: nd.array(a, access="rw"), "float": lambda a: a.astype("float64"), "text": lambda a: a.astype("string"),
    "repeat": lambda a: nd.repeat(a, 2, axis=1), "tile": lambda a: nd.tile(a, (2, 1, 2)), "pad": lambda a: nd.pad(a, 4, 0), "to_dense": lambda a: nd.to_dense(a, 3, 0),
    "rows by a mask": lambda a: a[nd.array([False, True])], "index": lambda a: a[nd.array([1, 0, 1])],
    "isin": lambda a: nd.isin(a, [1, 5]), "histogram": lambda a: nd.histogram(a, 3), "unflatten": lambda a: nd.unflatten(a, 1, axis=2),
    "slices": lambda a: a[:, 1:, ::-1], "one of each": lambda a: a[:, 1], "one of each row": lambda a: a[..., 0], "new axis": lambda a: a[:, None] + 1,
    "combinations": lambda a: nd.combinations(a, 2, axis=1), "expand_dims": lambda a: nd.expand_dims(a, 2), "local_index": lambda a: nd.local_index(a, axis=1),
    "records": lambda a: nd.zip({"a": a, "b": a})["b"], "unique": nd.unique, "first": lambda a: nd.first(a, axis=1), "last": lambda a: nd.last(a, axis=2),
}  # fmt: skip
ALONG = {
    **{name: getattr(nd, name) for name in "sum min argmax mean any cumulative_sum sort argsort flip num median diff run_lengths logsumexp".split()},
    "roll": lambda a, axis: nd.roll(a, 1, axis=axis), "rolling": lambda a, axis: nd.rolling(a, 2, axis=axis), "rank": nd.rank,
    "keepdims": lambda a, axis: a - nd.mean(a, axis=axis, keepdims=True), "softmax": nd.softmax, "reduce": lambda a, axis: nd.reduce(nd.subtract, a, axis=axis),
    "top_k": lambda a, axis: nd.top_k(a, 1, axis=axis), "take": lambda a, axis: nd.take(a, nd.array([1, 0]), axis=axis),
}  # fmt: skip
OF_TWO = {
    "add": lambda a, b: a + b, "compare": lambda a, b: a < b, "texts": lambda a, b: a.astype("string") == b.astype("string"),
    "where": lambda a, b: nd.where(a > b, a, b), "where, mixed": lambda a, b: nd.where(a > 3, b, -1), "broadcast_arrays": nd.broadcast_arrays,
    "zip": lambda a, b: nd.zip({"a": a, "b": b}), "zip: a field": lambda a, b: nd.zip({"a": a, "b": b})["b"], "vecdot": nd.vecdot,
    "searchsorted": lambda a, b: nd.searchsorted(nd.sort(a), b), "isin": nd.isin, "weights": lambda a, b: nd.histogram(a, 3, weights=b),
    "take_along_axis": lambda a, b: nd.take_along_axis(a, b % 2, axis=-1), "repeat": lambda a, b: nd.repeat(a, b % 3, axis=2),
    "fill": lambda a, b: nd.fill_missing(nd.mask(a, a > 3), b), "a row for all": lambda a, b: a + b[0], "one for each row": lambda a, b: a + b[..., :1],
    **{f"concat {axis}": lambda a, b, axis=axis: nd.concat([a, b], axis=axis) for axis in range(3)},
    **{f"concat {axis} of three": lambda a, b, axis=axis: nd.concat([a, b, a[:, :, ::-1]], axis=axis) for axis in range(3)},
    **{f"stack {axis}": lambda a, b, axis=axis: nd.stack([a, b], axis=axis) for axis in range(4)},
    **{f"cartesian {axis}": lambda a, b, axis=axis: nd.cartesian([a, b], axis=axis) for axis in range(1, 3)},
    "cartesian, nested": lambda a, b: nd.cartesian([a, b], axis=2, nested=True), "assign": lambda a, b: assigned(nd.array(a, access="rw"), b),
    "assign a part": lambda a, b: assigned(nd.array(a, access="rw")[:, ::-1], b), "in place": lambda a, b: added(nd.array(a, access="rw"), b),
    "equal lists": lambda a, b: nd.concat([nd.array([a == b]), nd.array([b == a])]),
}  # fmt: skip


def assigned(to, value):
    to[...] = value
    return to


def added(to, value):
    to += value
    return to


def values_of(seed):
    return np.random.default_rng(seed).permutation(int(np.prod(SHAPE))).reshape(SHAPE)


@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_array(name):
    x = values_of(1)
    wanted = parts(OF_ONE[name](made(x, ("strided",) * 3)))
    for kinds in KINDS:
        assert parts(OF_ONE[name](made(x, kinds))) == wanted, kinds


@pytest.mark.parametrize("name", ALONG)
def test_functions_along_an_axis(name):
    x = values_of(2)
    for axis in range(3):
        wanted = parts(ALONG[name](made(x, ("strided",) * 3), axis=axis))
        for kinds in KINDS:
            assert parts(ALONG[name](made(x, kinds), axis=axis)) == wanted, (kinds, axis)


@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_arrays_with_other_kinds_each(name):
    x, y = values_of(3), values_of(4)
    wanted = parts(OF_TWO[name](made(x, ("strided",) * 3), made(y, ("strided",) * 3)))
    left, right = ([made(values, kinds) for kinds in KINDS] for values in (x, y))
    for i, j in itertools.product(range(len(KINDS)), repeat=2):
        assert parts(OF_TWO[name](left[i], right[j])) == wanted, (KINDS[i], KINDS[j])


@pytest.mark.parametrize("element", ["int32", "float64", "string", "?int32", "{v: int32}"])
def test_conversions_between_all_kinds(element):
    x = values_of(5)
    to = [f"{type_text(kinds, SHAPE, element)}" for kinds in KINDS]
    for kinds in KINDS:
        a = made(x, kinds) if element != "{v: int32}" else nd.zip({"v": made(x, kinds)})
        wanted = a.tolist() if element not in ("string", "float64") else a.astype(element).tolist()
        for text in to:
            found = a.astype(text)
            assert found.tolist() == wanted and str(found.type) == text, (kinds, text)


@pytest.mark.parametrize("longer", [0, 1, 3])
@pytest.mark.parametrize("element", ["int32", "string"])
def test_rows_of_one_element_stretch_to_the_size_that_others_have(longer, element):
    """Wherever these are: the size is known from none, one or some of the rows, first or last."""
    one = 7 if element == "int32" else "t"
    for places in itertools.product([1, longer], repeat=4):
        values = [[one] * n for n in places]
        size = longer if longer in places else 1
        expected = [[one] * size] * 4
        a = nd.array(values, type=f"strided * var * {element}")
        if longer == 0 and len(set(places)) > 1:  # a row of none stretches to nothing, and one of one to none
            continue
        assert a.astype(f"strided * strided * {element}").tolist() == expected
        assert a.astype(f"4 * {size} * {element}").tolist() == expected
        inside = nd.array([values, values[::-1]], type=f"strided * strided * var * {element}")
        assert inside.astype(f"strided * strided * strided * {element}").tolist() == [expected] * 2


@pytest.mark.parametrize("shape", [SHAPE, (4, 50, 30)])
@pytest.mark.parametrize("kinds", list(itertools.product(("strided", "fixed"), repeat=3)))
def test_a_reduction_keeps_the_kinds_of_the_other_dimensions(kinds, shape):
    """Of few elements, which are reduced where they are, and of many."""
    values = np.arange(np.prod(shape)).reshape(shape) % 7
    a = made(values, kinds)
    for axis in range(3):
        rest = [part[:axis] + part[axis + 1 :] for part in (kinds, shape)]
        for name, element in [("sum", "int64"), ("max", "int32"), ("argmin", "int64"), ("mean", "float64"),
                              ("std", "float64"), ("any", "bool"), ("count_nonzero", "int64")]:  # fmt: skip
            found = getattr(nd, name)(a, axis=axis)
            assert str(found.type) == type_text(*rest, element), (name, axis)
            assert np.allclose(np.asarray(found), getattr(np, name)(values, axis=axis))
        ones = [(*part[:axis], one, *part[axis + 1 :]) for part, one in ((kinds, "strided"), (shape, 1))]
        kept = nd.sum(a, axis=axis, keepdims=True)
        assert kept.shape == ones[1] and kept.tolist() == values.sum(axis=axis, keepdims=True).tolist()
