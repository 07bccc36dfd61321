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


@pytest.mark.parametrize("call, kind, text", [
    (lambda a: nd.sum(a, axis=0), ValueError, "sum: rows along axis 0 must be equally long"),
    (lambda a: nd.sum(a, axis=0, align="right"), ValueError, "sum: align must be 'left' or None"),
    (lambda a: nd.sum(a, align="left"), ValueError, "sum: align='left' takes one axis"),
    (lambda a: nd.argmax(a, axis=0, align="left"), ValueError, "argmax: align='left' has no positions"),
    (lambda a: nd.sum(a, axis=0, align="left", where=a > 1), ValueError, "sum: align='left' does not go with where="),
    (lambda a: nd.mean(a, axis=0, align="left", weights=a), ValueError, "mean: align='left' does not go with weights="),
])
def test_errors(call, kind, text):
    with pytest.raises(kind) as caught:
        call(nd.array([[1, 2, 3], [4], [5, 6]]))
    assert text in str(caught.value)
