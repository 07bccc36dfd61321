"""Every index form: strided arrays against NumPy, ragged ones against nested lists."""

import operator
import random

import numpy as np
import pytest
from hypothesis import given, settings

import oracle
from dynd import nd
from strategies import MANY, SOME, arrays, seeds
from support import contains, identical, make, numpy_layout


def random_slice(rng, size):
    bound = lambda: rng.choice([None, rng.randint(-size - 2, size + 2)])  # noqa: E731
    return slice(bound(), bound(), rng.choice([None, 1, 2, 3, -1, -2, -3, 100]))


def random_key(rng, shape):
    """Integers, slices, new axes and at most one ellipsis."""
    key, used = [], rng.randint(0, len(shape))
    front = rng.randint(0, used)
    axes = list(range(front)) + list(range(len(shape) - used + front, len(shape)))
    for position, axis in enumerate(axes):
        if position == front and used < len(shape):
            key.append(Ellipsis)
        if rng.random() < 0.15:
            key.append(None)
        size = shape[axis]
        key.append(rng.randint(-size, size - 1) if size and rng.random() < 0.4 else random_slice(rng, size))
    if front == used and rng.random() < 0.5:
        key.append(Ellipsis)
    if rng.random() < 0.1:
        key.append(None)
    return key[0] if len(key) == 1 and rng.random() < 0.5 else tuple(key)


@settings(max_examples=MANY)
@given(arrays(ragged=False, scalars=oracle.SCALARS), seeds)
def test_strided_is_numpy(value, seed):
    rng = random.Random(seed)
    plain = value.numpy()
    array = make(rng, value)
    key = random_key(rng, plain.shape)
    found, expected = array[key], plain[key]
    assert found.shape == np.shape(expected)
    assert identical(found.tolist(), expected.tolist())
    assert str(nd.type_of(found)).split(" * ")[-1] == value.scalar


@settings(max_examples=SOME)
@given(arrays(ragged=False, least_ndim=1), seeds)
def test_views_of_views(value, seed):
    rng = random.Random(seed)
    plain, array = value.numpy(), make(rng, value)
    for _ in range(3):
        key = random_key(rng, plain.shape)
        plain, array = np.asarray(plain[key]), array[key]
        if rng.random() < 0.3:
            plain, array = plain.T, array.T
        assert identical(array.tolist(), plain.tolist())
        with np.errstate(all="ignore"):
            assert identical((array + array).tolist(), (plain + plain).tolist())
        np.testing.assert_array_equal(np.asarray(array), plain)


@settings(max_examples=MANY)
@given(arrays(scalars=oracle.SCALARS, least_ndim=2), seeds)
def test_ragged_rows_elements_and_slices(value, seed):
    """Integers down to a row or an element, then possibly a slice over what is there."""
    rng = random.Random(seed)
    array, node, key = make(rng, value), value.values, []
    while isinstance(node, list) and node and len(key) < value.ndim and rng.random() < 0.6:
        index = rng.randint(-len(node), len(node) - 1)
        key.append(index)
        node = node[index]
    if isinstance(node, list) and (rng.random() < 0.6 or not key):
        key.append(random_slice(rng, len(node)))
    key = tuple(key)
    expected = oracle.take(value.values, value.ndim, key)
    found = array[key if len(key) > 1 or rng.random() < 0.5 else key[0]]
    assert identical(found.tolist(), expected)
    assert str(nd.type_of(found)).split(" * ")[-1] == value.scalar
    if isinstance(expected, list):
        assert len(found) == len(expected)
    chained = array
    for item in key:
        chained = chained[item]
    assert identical(chained.tolist(), expected)


@settings(max_examples=SOME)
@given(arrays(least_ndim=2), seeds)
def test_slices_of_rows_compute(value, seed):
    """A view over rows is an operand like any other."""
    rng = random.Random(seed)
    rows = random_slice(rng, len(value.values))
    array = make(rng, value)[rows]
    dims = (("strided", len(value.values[rows])),) + value.dims[1:]
    expected = oracle.elementwise("subtract", oracle.Array(dims, value.scalar, value.values[rows]), 1)
    assert identical((array - 1).tolist(), expected.values)
    assert identical((array[::-1] - 1).tolist(), expected.values[::-1])


def test_ragged_new_axis_and_ellipsis():
    rows = nd.array([[1, 2], [], [3]])
    assert rows[...].tolist() == [[1, 2], [], [3]]
    assert rows[None].tolist() == [[[1, 2], [], [3]]]
    assert rows[None].shape == (1, 3, None)
    assert rows[:, None].tolist() == [[[1, 2]], [[]], [[3]]]
    assert rows[:, None].shape == (3, 1, None)
    assert rows[1, ...].tolist() == []
    assert rows[...,].tolist() == [[1, 2], [], [3]]


def test_new_axis_makes_a_column():
    x = nd.array([10, 20, 30])
    assert x[:, None].shape == (3, 1)
    rows = nd.array([[1, 2], [], [3]])
    assert (rows + x[:, None]).tolist() == [[11, 12], [], [33]]
    assert str(nd.type_of(rows + x[:, None])) == "strided * var * int32"


def test_zero_dimensions():
    a = nd.array(7)
    assert a[...].tolist() == 7 and a[()].tolist() == 7
    assert a[None].tolist() == [7]
    assert nd.array([[1, 2]])[0, 1].tolist() == 2
    assert (nd.array([[1, 2], [3]])[0, 1].ndim, nd.array([[1, 2], [3]])[0, 1].shape) == (0, ())


def test_numpy_integers_and_index_objects_are_indices():
    a = nd.array([1, 2, 3])
    assert a[np.int64(1)].tolist() == 2 and a[np.uint8(2)].tolist() == 3
    assert a[np.int64(1) : np.int32(3)].tolist() == [2, 3]


def test_len():
    assert len(nd.array([1, 2, 3])) == 3
    assert len(nd.array([[1, 2], [], [3], []])) == 4
    assert len(nd.array([[1, 2], [], [3]])[0]) == 2
    assert len(nd.array([])) == 0
    assert len(nd.array([1, 2, 3, 4])[::-2]) == 2
    with pytest.raises(TypeError):
        len(nd.array(1))


def test_iteration():
    assert [x.tolist() for x in nd.array([1, 2, 3])] == [1, 2, 3]
    assert [x.tolist() for x in nd.array([[1, 2], [], [3]])] == [[1, 2], [], [3]]
    assert [x.tolist() for x in nd.array([[[1], []], [[2, 3]]])[0]] == [[1], []]
    assert list(nd.array([])) == []
    with pytest.raises(TypeError):
        iter(nd.array(1))


def test_dtype_and_size():
    ragged = nd.array([[1.5], [], [2.5, 3.5]])
    assert (str(ragged.dtype), ragged.size, ragged[2].size) == ("float64", 3, 2)
    assert (str(nd.zeros((2, 3), dtype="?int16").dtype), nd.zeros((2, 3)).size, nd.array(1).size) == ("?int16", 6, 1)
    assert str(nd.array([{"x": 1}]).dtype) == "{x: int32}"


def test_shape_and_ndim():
    for values, shape in [(1, ()), ([1, 2], (2,)), ([[1, 2], [3, 4]], (2, 2)), ([[1], [2, 3]], (2, None))]:
        array = nd.array(values)
        assert (array.shape, array.ndim) == (shape, len(shape))
    assert nd.array([[[1, 2], [3, 4]], [[5, 6]]]).shape == (2, None, 2)
    assert nd.array([1, 2], type="2 * int16").shape == (2,)


def test_transpose():
    rng = random.Random(1)
    for shape in [(3,), (2, 3), (2, 3, 4), (1, 5), (0, 4)]:
        plain = numpy_layout(rng, np.arange(int(np.prod(shape)), dtype="int16").reshape(shape))
        assert nd.asarray(plain).T.tolist() == plain.T.tolist()
        assert nd.asarray(plain).T.shape == plain.T.shape
    with pytest.raises((TypeError, ValueError)):
        nd.array([[1, 2], [3]]).T


def test_a_view_shares_memory_and_a_value_does_not():
    a = nd.array([[1, 2, 3], [4, 5, 6]], access="rw")
    row, column, back, turned = a[1], a[:, 1], a[::-1, ::-1], a.T
    a[1, 1] = 50
    assert row.tolist() == [4, 50, 6] and column.tolist() == [2, 50]
    assert back.tolist() == [[6, 50, 4], [3, 2, 1]] and turned.tolist() == [[1, 4], [2, 50], [3, 6]]
    ragged = nd.array([[1, 2], [3]], access="rw")
    row, rows = ragged[0], ragged[::-1]
    ragged[0, 1] = 20
    assert row.tolist() == [1, 20] and rows.tolist() == [[3], [1, 20]]


def test_views_outlive_their_array():
    row = nd.array([[1, 2], [3, 4, 5]])[1]
    part = nd.array(list(range(1000)))[500:510:3]
    back = nd.asarray(np.arange(1000))[::-1][:3]
    assert row.tolist() == [3, 4, 5] and part.tolist() == [500, 503, 506, 509] and back.tolist() == [999, 998, 997]


# ---- errors


@pytest.mark.parametrize("index", [3, -4, 100, -(2**40)])
def test_out_of_range(index):
    with pytest.raises(IndexError) as caught:
        nd.array([1, 2, 3])[index]
    assert contains(str(caught.value), str(index)) and contains(str(caught.value), "axis 0")
    with pytest.raises(IndexError) as caught:
        nd.array([[1, 2, 3]])[0, index]
    assert contains(str(caught.value), str(index)) and contains(str(caught.value), "axis 1")


def test_out_of_range_in_a_row_names_the_row():
    rows = nd.array([[1, 2], [3], []])
    for key, row in [((1, 1), 1), ((1, -2), 1), ((2, 0), 2), ((-1, 0), 2)]:
        with pytest.raises(IndexError) as caught:
            rows[key]
        text = str(caught.value)
        assert contains(text, "axis 1") and contains(text, f"row {row}") and contains(text, str(key[1]))
    with pytest.raises(IndexError, match="axis 0"):
        rows[3]


def test_too_many_indices():
    for array in (nd.array([1, 2]), nd.array(1)):
        with pytest.raises(IndexError, match="too many indices"):
            array[0, 0]
    with pytest.raises(IndexError, match="too many indices"):
        nd.array([[1, 2], [3]])[0, 0, 0]


@pytest.mark.parametrize("key", ["x", 1.5, object(), {}])
def test_not_an_index(key):
    with pytest.raises((TypeError, IndexError)):
        nd.array([1, 2, 3])[key]


def test_two_ellipses_and_a_step_of_zero():
    with pytest.raises(IndexError, match="ellipsis"):
        nd.array([[1, 2], [3, 4]])[..., ...]
    with pytest.raises(ValueError, match="step"):
        nd.array([1, 2, 3])[::0]
    with pytest.raises(ValueError, match="step"):
        nd.array([[1], [2, 3]])[::0]


def test_huge_integers():
    with pytest.raises(IndexError):
        nd.array([1, 2, 3])[2**70]
    assert nd.array([1, 2, 3])[-(2**70) : 2**70].tolist() == [1, 2, 3]
    assert nd.array([1, 2, 3])[:: 2**62].tolist() == [1]
    assert nd.array([1, 2, 3])[:: -(2**62)].tolist() == [3]


@pytest.mark.parametrize("values", [[1.5, 2.5, 3.5], [[1, 2], [3, 4]], [[1], [2, 3], []], ["a", None], []])
def test_iterating_gives_the_elements_and_knows_how_many_are_left(values):
    a = nd.array(values, type="float64") if values == [] else nd.array(values)
    iterator = iter(a)
    assert iter(iterator) is iterator
    assert operator.length_hint(iterator) == len(values)
    assert [x.tolist() for x in iterator] == values
    assert operator.length_hint(iterator) == 0
    assert next(iterator, "end") == "end"


def test_an_index_out_of_bounds_says_so_for_every_kind_of_outermost_dimension():
    for a in (nd.array([1, 2]), nd.array([[1, 2], [3, 4]]), nd.array([[1], [2, 3]]), nd.array([1, 2], access="rw")):
        for i in (2, -3):
            with pytest.raises(IndexError, match=rf"^index {i} is out of bounds for axis 0 with size 2$"):
                a[i]
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 of row 1 with size 2"):
        nd.array([[1], [2, 3]])[1, 5]
    with pytest.raises(IndexError, match="^index 10 is out of bounds for axis 0 with size 3$"):
        nd.array([1, 2, 3], type="var * int32")[10]
    with pytest.raises(IndexError, match=r"^index 9 is out of bounds for axis 2 of row \(0, 1\) with size 2$"):
        nd.array([[[1], [2, 3]], [[4]]])[0, 1, 9]


@pytest.mark.parametrize("kind", ["?int32", "string", "?string", "{x: int32, y: string}"])
def test_an_integer_inside_of_rows_of_other_elements(kind):
    values = {"?int32": [1, None, 3, 4], "string": ["a", "", "a longer text than fits", "d"], "?string": ["a", None, "c", "d"],
              "{x: int32, y: string}": [{"x": i, "y": str(i)} for i in range(4)]}[kind]  # fmt: skip
    p, q, r, s = values
    a = nd.array([[p, q], [r, s, p]], type=f"strided * var * {kind}")
    assert a[:, 0].tolist() == a[..., 0].tolist() == [p, r] and a[:, -1].tolist() == [q, p]
    assert a[::-1, 1].tolist() == [s, q] and a[1:, 2].tolist() == [p] and a[:, None, 0].tolist() == [[p], [r]]
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 1 of row 0 with size 2"):
        a[:, 2]
    deep = nd.array([[[p, q], [r]], [[s]]], type=f"strided * var * var * {kind}")
    assert deep[:, 0].tolist() == [[p, q], [s]] and deep[:, 0, 0].tolist() == [p, s]
    assert deep[:, :, 0].tolist() == deep[..., 0].tolist() == [[p, r], [s]] and deep[0, :, 0].tolist() == [p, r]
    assert deep[:, 0, -1:].tolist() == [[q], [s]]


@pytest.mark.parametrize("element", ["int32", "string", "2 * int32", "?int32"])
def test_a_part_of_a_dimension_of_fixed_size_has_another_size(element):
    value = {"string": "a", "2 * int32": [1, 2]}.get(element, 5)
    a = nd.array([value] * 3, type=f"3 * {element}")
    for part in (slice(2), slice(1, None), slice(None, None, 2), slice(0)):
        assert str(a[part].type) == f"strided * {element}" and a[part].tolist() == [value] * len(range(3)[part])
    for some in ([0, 2], nd.array([2, 0, 1]), nd.array([True, False, True])):
        assert str(a[some].type) == f"strided * {element}" and a[some].tolist() == [value] * len(a[some])
    for whole in (slice(None), slice(0, 3), slice(None, None, -1), ...):
        assert str(a[whole].type) == f"3 * {element}" and len(a[whole]) == 3
    deep = nd.array([[value] * 3] * 2, type=f"2 * 3 * {element}")
    assert str(deep[1][:2].type) == str(deep[1, :2].type) == f"strided * {element}"


def test_an_element_of_a_writable_array_is_a_view():
    a = nd.array([[1.0, 2.0], [3.0, 4.0]], access="rw")
    a[0][1][...] = 7
    a[1, 0][...] = 8
    a[1][-1, ...][...] = 9
    assert a.tolist() == [[1.0, 7.0], [8.0, 9.0]]
    b = nd.array([1, 2, 3], access="rw")
    first, last = b[0], b[-1]
    b[...] = [4, 5, 6]
    assert (first.tolist(), last.tolist()) == (4, 6)


def test_many_numbers_of_several_axes(threads):
    """So many that they are found in several pieces."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 1000, (300, 20, 30))
    i, j, k = (rng.integers(-n, n, 120_000) for n in x.shape)
    a = nd.array(x)
    assert np.array_equal(np.asarray(a[nd.array(i), nd.array(j)]), x[i, j])
    assert np.array_equal(np.asarray(a[nd.array(i), nd.array(j), nd.array(k)]), x[i, j, k])
    assert np.array_equal(np.asarray(a[:3, nd.array(j), nd.array(k)]), x[:3, j, k])


def test_the_same_numbers_of_many_rows_in_several_pieces(threads):
    """Where they are not copied as numbers are: assigned to, missing, and texts."""
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 100, (1500, 80)), rng.integers(100, 200, (1500, 70))
    i = rng.permutation(80)[:70]
    a, expected = nd.array(x, access="rw"), x.copy()
    a[:, nd.array(i)] = y
    expected[:, i] = y
    assert np.array_equal(np.asarray(a), expected)
    some = nd.array([int(k) if k % 3 else None for k in i], type="strided * ?int64")
    assert np.array_equal(np.asarray(nd.fill_missing(nd.array(x)[:, some], -1)), np.where(i % 3, x[:, i], -1))
    texts = nd.array(x).astype("string")
    assert np.array_equal(np.asarray(texts[:, nd.array(i)].astype("int64")), x[:, i])
