"""align="left": reductions along an axis outside of rows that are not equally long."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynd import nd
from missing_oracle import puncture
from missing_support import make_missing
from strategies import SOME, arrays, seeds
from support import identical, make
from test_reductions import undecided

FOLDS = {
    "sum": sum,
    "prod": lambda row: int(np.prod(row, dtype=np.int64)),
    "min": min,
    "max": max,
    "mean": lambda row: sum(row) / len(row) if row else float("nan"),
    "count": len,
    "any": lambda row: any(row),
    "all": lambda row: all(row),
}


def aligned(elements):
    """The lists of leaves at each place of nested lists, for those that reach it."""
    lists = [e for e in elements if isinstance(e, list)]
    if not lists and elements:
        return ("leaf", elements)
    longest = max((len(e) for e in lists), default=0)
    return [aligned([e[j] for e in lists if j < len(e)]) for j in range(longest)]


def folded(tree, f):
    return f([x for x in tree[1] if x is not None]) if isinstance(tree, tuple) else [folded(t, f) for t in tree]


def expected(values, axis, f):
    return folded(aligned(values), f) if axis == 0 else [expected(row, axis - 1, f) for row in values]


@settings(max_examples=SOME)
@given(arrays(scalars=["int32"], least_ndim=2), st.sampled_from(sorted(FOLDS)), st.booleans(), seeds, st.data())
def test_columns_of_the_rows_that_have_one(value, name, keepdims, seed, data):
    axis = data.draw(st.integers(0, value.ndim - 1))
    if undecided(value, axis):
        return
    array = make(random.Random(seed), value)
    call = lambda **how: getattr(nd, name)(array, axis=axis, **how)  # noqa: E731
    if axis == value.ndim - 1 or any(kind != "var" for kind, _ in value.dims[axis + 1 :]):
        try:
            plain = call(keepdims=keepdims)
        except ValueError:
            return
        assert identical(call(align="left", keepdims=keepdims).tolist(), plain.tolist())
        return
    found = call(align="left")
    right = expected(value.values, axis, FOLDS[name])
    assert identical(found.tolist(), right)
    kept = call(align="left", keepdims=True)
    assert kept.ndim == value.ndim and kept.shape[axis] == 1


@settings(max_examples=SOME // 2)
@given(arrays(scalars=["int32"], least_ndim=2), st.sampled_from(["sum", "min", "max", "count"]), seeds)
def test_missing_values_are_skipped(value, name, seed):
    if undecided(value, 0) or any(kind != "var" for kind, _ in value.dims[1:]):
        return
    rng = random.Random(seed)
    value = puncture(rng, value, 0.4)
    f = (lambda row: FOLDS[name](row) if row else None) if name in ("min", "max") else FOLDS[name]
    found = getattr(nd, name)(make_missing(rng, value), axis=0, align="left")
    assert identical(found.tolist(), expected(value.values, 0, f))


def test_examples():
    rows = nd.array([[1, 2, 3], [], [4, 5]])
    assert nd.sum(rows, axis=0, align="left").tolist() == [5, 7, 3]
    assert nd.max(rows, axis=0, align="left", keepdims=True).tolist() == [[4, 5, 3]]
    assert nd.mean(rows, axis=0, align="left").tolist() == [2.5, 3.5, 3.0]
    assert nd.count(rows, axis=-2, align="left").tolist() == [2, 2, 1]
    deep = nd.array([[[1], [2, 3]], [[4, 5]], []])
    assert nd.sum(deep, axis=0, align="left").tolist() == [[5, 5], [2, 3]]
    assert nd.sum(deep, axis=1, align="left").tolist() == [[3, 3], [4, 5], []]
    lazy = nd.from_offsets(np.arange(0, 30_001, 3), nd.array(np.arange(30_000.0))) * 2.0
    assert nd.sum(lazy, axis=0, align="left").tolist() == nd.sum(lazy, axis=0).tolist()


def gathered(values, ndim, axes, leaf):
    """What is reduced at each place of the axes that stay: lists of (position, element), one for each operand."""

    def walk(trees, depth):
        if depth == ndim:
            return leaf(trees)
        if depth in axes:
            inner = [x for _, tree in trees for x in tree]
            return walk(list(enumerate(inner)), depth + 1)
        longest = max((len(tree) for _, tree in trees), default=0)
        return [walk([(p, tree[i]) for p, tree in trees if i < len(tree)], depth + 1) for i in range(longest)]

    return walk([(0, values)], 0)


def nested(rng, ndim):
    return rng.randint(0, 9) if ndim == 0 else [nested(rng, ndim - 1) for _ in range(rng.choice([1, 2, 3, 4]))]


def zipped(a, b, ndim):
    return (a, b) if ndim == 0 else [zipped(x, y, ndim - 1) for x, y in zip(a, b)]


def mapped(f, tree, ndim):
    return f(tree) if ndim == 0 else [mapped(f, inner, ndim - 1) for inner in tree]


@settings(max_examples=SOME)
@given(seeds)
def test_several_axes_masks_weights_and_positions(seed):
    """Against plain lists; the rows at a place are in C order of the reduced axes."""
    rng = random.Random(seed)
    ndim = rng.choice([2, 3, 4])
    values = nested(rng, ndim)
    type = "strided * " + "var * " * (ndim - 1)
    a = nd.array(values, type=type + "int64")
    axes = sorted(rng.sample(range(ndim), rng.randint(1, ndim)))
    if axes == list(range(ndim - len(axes), ndim)) or 0 not in axes:
        axes = sorted({0, *axes})
    axis = tuple(d - rng.choice([0, ndim]) for d in axes)
    how = {"axis": axis, "align": "left"}
    plain = gathered(values, ndim, axes, lambda row: [x for _, x in row])
    kept = ndim - len(axes)
    leaf = lambda f: mapped(f, plain, kept)  # noqa: E731
    assert nd.sum(a, **how).tolist() == leaf(sum)
    assert nd.max(a, **how).tolist() == leaf(max)
    assert nd.sum(a, keepdims=True, **how).ndim == ndim
    best = gathered(values, ndim, axes, lambda row: max(row, key=lambda pair: (pair[1], -pair[0]))[0])
    if kept:
        assert nd.argmax(a, **how).tolist() == best
    mask = mapped(lambda _: rng.random() < 0.6, values, ndim)
    masks = nd.array(mask, type=type + "bool")
    pairs = gathered(zipped(values, mask, ndim), ndim, axes, lambda row: [(p, x) for p, (x, m) in row if m])
    assert nd.sum(a, where=masks, **how).tolist() == mapped(lambda row: sum(x for _, x in row), pairs, kept)
    if kept:
        first = lambda row: max(row, key=lambda pair: (pair[1], -pair[0]))[0] if row else None  # noqa: E731
        assert nd.argmax(a, where=masks, empty="missing", **how).tolist() == mapped(first, pairs, kept)
    weight = mapped(lambda _: rng.randint(1, 3), values, ndim)
    weighted = gathered(zipped(values, weight, ndim), ndim, axes, lambda row: [x for _, x in row])
    mean = lambda row: sum(x * w for x, w in row) / sum(w for _, w in row)  # noqa: E731
    found = nd.mean(a, weights=nd.array(weight, type=type + "int64"), **how).tolist()
    assert found == mapped(mean, weighted, kept)


def test_aligned_masks_broadcast_and_missing_values_have_positions():
    rows = nd.array([[1, 2, 3], [], [4, 5]])
    assert nd.argmax(rows, axis=0, align="left").tolist() == [2, 2, 0]
    assert nd.sum(rows, axis=0, align="left", where=[[True], [True], [False]]).tolist() == [1, 2, 3]
    assert nd.argmin(nd.array([[None, 2], [3], [1, 0]]), axis=0, align="left").tolist() == [2, 2]
    assert nd.argmin(nd.array([[None, 2], [None]]), axis=0, align="left").tolist() == [None, 0]
    assert nd.sum(rows, align="left").tolist() == 15
    deep = nd.array([[[1, 2], [3]], [[4, 5, 6]], []])
    assert nd.sum(deep, axis=(0, 1), align="left").tolist() == [8, 7, 6]
    assert nd.argmax(deep, axis=(0, 1), align="left").tolist() == [2, 2, 2]
    assert nd.sum(deep, axis=(0, 2), align="left").tolist() == [18, 3]
    with pytest.raises(ValueError, match="sum: rows along axis 0 must be equally long"):
        nd.sum(deep, axis=(0, 2))


@pytest.mark.parametrize("call, kind, text", [
    (lambda a: nd.sum(a, axis=0), ValueError, "sum: rows along axis 0 must be equally long"),
    (lambda a: nd.sum([[1, 2], [3, 4], [5]], axis=0), ValueError, "below it: lengths 2 and 1 of rows 1 and 2"),
    (lambda a: nd.sum(a, axis=0, align="right"), ValueError, "sum: align must be 'left' or None"),
    (lambda a: nd.max(a, axis=0, align="left", where=a > 4), ValueError, "max: row 2 has no element that where= takes"),
    (lambda a: nd.sum(a, axis=0, align="left", where=a[:2] > 4), ValueError, "sum: cannot broadcast"),
])
def test_errors(call, kind, text):
    with pytest.raises(kind) as caught:
        call(nd.array([[1, 2, 3], [4], [5, 6]]))
    assert text in str(caught.value)
