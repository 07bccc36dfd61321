"""where, count, min and max of elements that are no numbers, against plain lists."""

import random

import numpy as np
import pytest
from dynd import nd
from hypothesis import given, settings
from ragged_values import ELEMENTS, drawn, map_rows, nested
from strategies import SOME, seeds

OTHERS = [e for e in ELEMENTS if "pointer" not in e]


def chosen(condition, a, b, depth):
    if depth == 0:
        return None if condition is None else a if condition else b
    return [chosen(c, x, y, depth - 1) for c, x, y in zip(condition, a, b, strict=True)]


def mask_like(rng, values, depth, kinds):
    return rng.choice(kinds) if depth == 0 else [mask_like(rng, v, depth - 1, kinds) for v in values]


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_where(seed):
    rng = random.Random(seed)
    element = rng.choice(OTHERS)
    dims = [rng.randint(0, 4)] + [rng.choice(["var", 2]) for _ in range(rng.randint(0, 2))]
    values = nested(rng, dims, ELEMENTS[element])
    other = map_rows(values, len(dims), lambda _: ELEMENTS[element](rng))
    missing = rng.random() < 0.3
    condition = mask_like(rng, values, len(dims), [True, False, None] if missing else [True, False])
    text = " * ".join(str(d) for d in dims)
    a, b = nd.array(values, type=f"{text} * {element}"), nd.array(other, type=f"{text} * {element}")
    c = nd.array(condition, type=f"{text} * {'?' * missing}bool")
    found = nd.where(c, a, b)
    assert found.tolist() == chosen(condition, values, other, len(dims))
    assert str(found.type.dtype) == ("?" * missing + element).replace("??", "?")
    one = ELEMENTS[element](rng)
    filled = map_rows(values, len(dims), lambda _: one)
    assert nd.where(c, a, nd.array(one, type=element)).tolist() == chosen(condition, values, filled, len(dims))


def test_where_broadcasts_and_finds_a_type():
    words = nd.array([["b", "a"], [], ["c"]])
    assert nd.where(nd.array([True, False, False])[:, None], words, "-").tolist() == [["b", "a"], [], ["-"]]
    assert nd.where(words == "a", None, words).tolist() == [["b", None], [], ["c"]]
    assert nd.where(np.array([[True], [False]]), nd.array(["a", "b"]), nd.array(["x", "y"])).tolist() == [["a", "b"], ["x", "y"]]
    fixed = nd.array(["x"], type="1 * fixed_string[3]")
    assert str(nd.where(nd.array([False]), nd.array(["abcdef"]), fixed).type.dtype) == "string"
    records = nd.array([{"x": 1, "h": [1, 2]}, {"x": 2, "h": []}])
    assert nd.where(records.x > 1, records, None).tolist() == [None, {"x": 2, "h": []}]
    with pytest.raises(TypeError, match="^where: elements of type string and int32 have no type in common"):
        nd.where(nd.array([True]), nd.array(["a"]), nd.array([1]))
    with pytest.raises(TypeError, match="^where: the condition must be bool, not int32"):
        nd.where(nd.array([1]), nd.array(["a"]), "b")
    with pytest.raises(ValueError, match=r"^where: cannot broadcast"):
        nd.where(nd.array([True, False]), nd.array(["a", "b", "c"]), "b")


def test_elements_of_two_types_meet():
    numbers, others = nd.array([{"x": 1, "h": [1]}]), nd.array([{"x": 1.5, "h": [0.5]}, {"x": None, "h": []}])
    both = nd.concat([numbers, others])
    assert both.tolist() == [{"x": 1.0, "h": [1.0]}, {"x": 1.5, "h": [0.5]}, {"x": None, "h": []}]
    assert str(both.type.dtype) == "{x: ?float64, h: var * float64}"
    texts = nd.concat([nd.array(["abcdef"]), nd.array(["b"], type="1 * fixed_string[3]")])
    assert texts.tolist() == ["abcdef", "b"] and str(texts.type.dtype) == "string"
    assert nd.concat([nd.array([(1, "a")], type="(int8, string)"), nd.array([(0.5, "b")], type="(float32, string)")]).tolist() == [(1.0, "a"), (0.5, "b")]
    assert nd.where(nd.array([True, False]), nd.array([{"x": 1}, {"x": 2}]), nd.array([{"x": 1.5}, None])).tolist() == [{"x": 1.0}, None]
    for one, other in ((numbers, nd.array([{"y": 1}])), (numbers, nd.array([{"x": 1, "g": [1]}])), (nd.array(["a"]), nd.array([b"a"]))):
        with pytest.raises(TypeError, match="cannot be joined"):
            nd.concat([one, other])


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_count(seed):
    rng, values, a, axis = drawn(seed, most=3)
    if a.ndim == 1 or axis == a.ndim - 1:
        expected = map_rows(values, a.ndim - 1, lambda row: sum(x is not None for x in row))
        assert nd.count(a, axis=-1).tolist() == expected
    assert nd.count(a).tolist() == sum(x is not None for x in nd.flatten(a).tolist())


@settings(max_examples=SOME, deadline=None)
@given(seeds)
def test_extremes(seed):
    rng = random.Random(seed)
    element = rng.choice(["string", "?string", "bytes", "fixed_string[7]", "{x: int32, s: string}"])
    make = lambda r: {"x": r.randint(0, 2), "s": "ab"[r.randint(0, 1)]} if element[0] == "{" else ELEMENTS[element](r)  # noqa: E731
    dims = [rng.randint(1, 4)] + ["var"] * rng.randint(0, 2)
    values = nested(rng, dims, make)
    a = nd.array(values, type=" * ".join([str(d) for d in dims] + [element]))
    key = lambda x: (x["x"], x["s"]) if isinstance(x, dict) else x.encode() if isinstance(x, str) else x  # noqa: E731

    def best(row, pick):
        there = [i for i, x in enumerate(row) if x is not None]
        return pick(there, key=lambda i: key(row[i])) if there else None

    for name, pick in (("min", min), ("max", max)):
        at = map_rows(values, len(dims) - 1, lambda row: best(row, pick))
        assert getattr(nd, "arg" + name)(a, axis=-1, empty="missing").tolist() == at
        found = map_rows(values, len(dims) - 1, lambda row: None if best(row, pick) is None else row[best(row, pick)])
        assert getattr(nd, name)(a, axis=-1, empty="missing").tolist() == found
        flat = nd.flatten(a).tolist()
        expected = None if best(flat, pick) is None else flat[best(flat, pick)]
        assert getattr(nd, name)(a, empty="missing").tolist() == expected


def test_extremes_of_texts():
    words = nd.array([["b", "a"], [], ["c"]])
    with pytest.raises(ValueError, match="^max: row 1 is empty, and max of no elements is not defined"):
        words.max(axis=1)
    with pytest.raises(TypeError, match="^min: of string along one axis or all, without where="):
        words.min(axis=1, where=words > "a")
    with pytest.raises(TypeError, match="no order"):
        nd.array([{"h": [1]}]).max()
    assert str(words[[0, 2]].max(axis=1).type) == "strided * string"
    assert words.max(axis=1, keepdims=True, empty="missing").tolist() == [["b"], [None], ["c"]]
    assert nd.array([["a", "b"], ["c", "a"]]).max(axis=0).tolist() == ["c", "b"]
    assert nd.array([["b", "a"], None, ["c"]]).max(axis=1).tolist() == ["b", None, "c"]
