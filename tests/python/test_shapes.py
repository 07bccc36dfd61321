"""Shapes: axes that are moved, joined and stretched, of strided and ragged arrays; and large arrays of all these."""

import random

import awkward as ak
import numpy as np
import pytest
from dynd import nd
from hypothesis import given, settings
from ragged_values import ELEMENTS, drawn, map_rows, nested
from strategies import SOME, seeds


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_shapes_as_in_numpy(seed):
    rng = random.Random(seed)
    shape = tuple(rng.choice([0, 1, 1, 2, 3]) for _ in range(rng.randint(0, 4)))
    x = np.arange(int(np.prod(shape))).reshape(shape)
    order = tuple(rng.sample(range(x.ndim), x.ndim))
    a, x = nd.permute_dims(nd.array(x), order) if x.ndim else nd.array(x), x.transpose(order)
    assert np.array_equal(np.asarray(a), x)
    sizes = list(x.shape)
    rng.shuffle(sizes)
    if sizes and rng.random() < 0.5 and x.size:
        sizes[rng.randrange(len(sizes))] = -1
    assert np.array_equal(np.asarray(nd.reshape(a, sizes)), x.reshape(sizes))
    assert np.array_equal(np.asarray(nd.squeeze(a)), x.squeeze()) and np.array_equal(np.asarray(nd.flip(a)), np.flip(x))
    for none_of in (nd.squeeze, nd.flip):  # no axes are not all of them
        assert nd.array(none_of(a, axis=())).shape == x.shape and np.array_equal(np.asarray(none_of(a, axis=())), x)
    axis = rng.randint(-x.ndim - 1, x.ndim)
    assert np.asarray(nd.expand_dims(a, axis)).shape == np.expand_dims(x, axis).shape
    other = np.arange(3 if not shape else max(1, x.shape[-1] if x.ndim else 1))
    found, expected = nd.broadcast_arrays(a, other), np.broadcast_arrays(x, other)
    assert all(np.array_equal(np.asarray(f), e) for f, e in zip(found, expected))


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_shapes_of_ragged_arrays(seed):
    """Between ragged axes the axes are cut and put together, and change places."""
    rng = random.Random(seed)
    element = rng.choice(list(ELEMENTS))
    dims = [rng.randint(0, 3), rng.randint(1, 3), "var", rng.randint(1, 2), rng.randint(0, 2)][: rng.choice([3, 5])]
    values = nested(rng, dims, ELEMENTS[element])
    a = nd.array(values, type=" * ".join(map(str, dims)) + " * " + element)
    rows = [row for plane in values for row in plane]
    found = nd.reshape(a, [-1, None, *dims[3:]])
    assert found.tolist() == rows and nd.reshape(found, dims[:2] + [None] + dims[3:]).tolist() == values
    if len(dims) == 5:
        flat = map_rows(values, 3, lambda cell: [x for inner in cell for x in inner])
        assert nd.reshape(a, [*dims[:2], None, dims[3] * dims[4]]).tolist() == flat
    axes = [1, 0, 2, *([4, 3] if len(dims) == 5 else [])]
    moved = nd.permute_dims(a, axes)
    swapped = values if len(dims) == 3 else map_rows(values, 3, lambda cell: [list(c) for c in zip(*cell)] or [[]] * dims[4])
    swapped = [list(plane) for plane in zip(*swapped)] or [[] for _ in range(dims[1])]
    if len(dims) == 3 or dims[4]:
        assert moved.tolist() == swapped
        assert nd.permute_dims(moved, axes).tolist() == values
    if dims[1] == 1 and nd.flatten(a).shape[0]:
        inside = nd.permute_dims(a, [0, 2, 1, *range(3, len(dims))])
        assert inside.tolist() == [[[x] for x in plane[0]] for plane in values]


@pytest.mark.parametrize("axes", [(0, 2, 1, 3), (0, 3, 2, 1), (0, 1, 3, 2), (0, 2, 3, 1)], ids=str)
def test_rows_with_axes_of_one_size_inside_are_moved(axes):
    """What is computed of them is what is computed of the same values in rows that follow each other."""
    values = np.arange(36).reshape(9, 2, 2).tolist()
    moved = nd.permute_dims(nd.array([values[:2], [], values[2:3], values[3:]], type="strided * var * 2 * 2 * int64"), axes)
    plain = nd.array(moved.tolist(), type=moved.type)
    functions = [lambda x: x + 1, lambda x: nd.flatten(x), lambda x: x[x > 3], lambda x: x.astype("float32") * 2, lambda x: x[1:], lambda x: x[:, ::-1]]
    functions += [lambda x: nd.sort(x), lambda x: nd.cumulative_sum(x, axis=-1)]
    functions += [lambda x, axis=axis: nd.sum(x, axis=axis) for axis in (None, 1, 2, 3)]
    for f in functions:
        assert f(moved).tolist() == f(plain).tolist()


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_take_along_axis_broadcasts(seed):
    """One row of indices for all rows, and one row of elements for all rows of indices."""
    rng, values, a, _ = drawn(seed, 2, 2)
    least = min(map(len, values), default=0)
    index = [rng.randrange(least) for _ in range(rng.randint(0, 3))] if least else []
    one = nd.array([index], type=f"1 * {len(index)} * int64")
    assert nd.take_along_axis(a, one, axis=1).tolist() == [[row[i] for i in index] for row in values]
    if values and values[0]:
        within = [[rng.randrange(len(values[0])) for _ in range(rng.randint(0, 3))] for _ in range(4)]
        found = nd.take_along_axis(a[:1], nd.array(within, type="4 * var * int64"), axis=1)
        assert found.tolist() == [[values[0][i] for i in row] for row in within]
    x = np.random.default_rng(seed % 1000).normal(size=(3, 1, 4))
    for shape, axis in (((1, 5, 2), 2), ((2, 1, 4), 0), ((3, 2, 1), 1), ((1, 1, 3), 2)):
        index = np.zeros(shape, np.int64)
        assert np.array_equal(nd.take_along_axis(x, index, axis=axis), np.take_along_axis(x, index, axis))


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_broadcast_arrays_of_rows(seed):
    rng, values, a, _ = drawn(seed, 2, 3)
    ones = nd.array([[str(i)] for i in range(len(values))], type=f"{len(values)} * 1 * string")
    if a.ndim == 3:
        ones = nd.expand_dims(ones, 2)
    wide, named = nd.broadcast_arrays(a, ones)
    assert wide.tolist() == values
    names = iter(range(len(values)))
    expected = [map_rows(v, a.ndim - 2, lambda row, n=n: [str(n)] * len(row)) for n, v in zip(names, values)]
    assert named.tolist() == expected


# ---- large arrays -------------------------------------------------------------------------------------------------------


def test_large_rows_against_awkward(threads):
    rng = np.random.default_rng(5)
    counts = rng.poisson(4, 150_000)
    x = ak.unflatten(rng.normal(size=counts.sum()), counts)
    ours = nd.from_offsets(np.concatenate([[0], np.cumsum(counts)]), nd.array(np.asarray(ak.flatten(x))))

    def same(found, expected):
        expected = ak.to_packed(expected)
        return nd.flatten(found).tolist() == ak.flatten(expected, axis=None).tolist() and \
            nd.num(found).tolist() == ak.num(expected, axis=1).tolist()

    assert np.array_equal(np.asarray(nd.num(ours)), counts)
    assert same(nd.local_index(ours), ak.local_index(x, axis=1))
    assert same(nd.concat([ours, ours * 2], axis=1), ak.concatenate([x, x * 2], axis=1))
    dense = np.asarray(nd.to_dense(ours, 8, value=0.0))
    assert np.array_equal(dense, ak.to_numpy(ak.fill_none(ak.pad_none(x, 8, clip=True), 0.0)))
    assert nd.first(ours).tolist() == ak.firsts(x).tolist()
    assert same(nd.flip(ours, axis=1), x[:, ::-1])
    assert same(nd.unflatten(nd.flatten(ours), counts), x)


def test_rows_that_meet_one_size_become_strided():
    """As in a sum. The rows were taken for strided ones, and memory behind them was read."""
    rows = nd.array([[1, 2], [3]])
    both = nd.broadcast_arrays(rows, np.ones((2, 2)))
    assert [a.tolist() for a in both] == [[[1, 2], [3, 3]], [[1.0, 1.0], [1.0, 1.0]]]
    assert nd.zip({"x": rows, "y": [10, 20]})["x"].tolist() == [[1, 2], [3, 3]]
    assert nd.zip({"x": nd.array([["a", "b"], ["c"]]), "y": [10, 20]})["x"].tolist() == [["a", "b"], ["c", "c"]]
    even = nd.array([[1, 2], [3, 4]], type="2 * var * int32")
    assert nd.histogram(even, 2, weights=np.ones((2, 2)))[0].tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="zip: cannot broadcast row 0: lengths 3 and 2"):
        nd.zip({"x": [[1, 2, 3], [3]], "y": [10, 20]})


@pytest.mark.parametrize("rows, each, expected", [
    ([[0, 1, 2, 3], [8, 9, 10, 11]], 2, [[[0, 1], [2, 3]], [[8, 9], [10, 11]]]),
    ([[0, 1, 2, 3], [], [8, 9]], 2, [[[0, 1], [2, 3]], [], [[8, 9]]]),
])  # fmt: skip
def test_unflatten_inside_of_rows_by_one_length(rows, each, expected):
    assert nd.unflatten(rows, each, axis=1).tolist() == expected
    assert nd.unflatten(np.arange(8).reshape(2, 4), 4, axis=1).shape == (2, 1, 4)
    with pytest.raises(ValueError, match="unflatten: the 1 elements of row 1 are no rows of 2"):
        nd.unflatten([[1, 2], [3]], 2, axis=1)


def test_roll_along_several_axes():
    plain = np.arange(60).reshape(3, 4, 5)
    for shift, axes in [((1, -2), (0, 2)), (3, (1, 2)), ((2, 1), (1, 1)), ([1], [0])]:
        assert np.array_equal(nd.roll(plain, shift, axis=axes), np.roll(plain, shift, axis=axes))
    assert nd.roll([[1, 2, 3], [4]], 1, axis=(0, 1)).tolist() == [[4], [3, 1, 2]]
    with pytest.raises(ValueError, match="roll: 3 shifts for 2 axes"):
        nd.roll(plain, (1, 2, 3), axis=(0, 1))
