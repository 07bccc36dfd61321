"""What ARCHITECTURE.md shows of explain is what explain says, but for numbers of bytes: each is one of these."""

import pathlib
import re

import numpy as np
import pytest

from dynd import nd

PAGE = pathlib.Path(__file__).resolve().parents[2] / "ARCHITECTURE.md"


def planes():
    a, b = (nd.array(np.ones(shape, "i4")) for shape in ((3, 1, 4), (5, 1)))
    return nd.explain(nd.add, a, b)


def ragged_sum():
    offsets = nd.array(np.arange(0, 400_001, 4))
    a, b = (nd.from_offsets(offsets, nd.array(np.ones(400_000))) for _ in "ab")
    row = nd.array(np.ones(100_000))
    return nd.explain(lambda: (a * b + row[:, None]).sum(axis=1))


def missing_values():
    a, b = nd.array([1, None] * 15_000), nd.array([None, 1] * 15_000)
    return nd.explain(lambda: nd.fill_missing(a * b + 1, 0).sum())


def assignment():
    a, b = nd.array([[5, 6, 7], [8, 9, 10]], access="rw"), nd.array([[1, 2, 3], [4]])
    return nd.explain(nd.assign, a, b)


def structs():
    p = nd.array([(1, 2.5), (3, 4.5)], type="{x: int32, y: float64}")
    q = nd.array([(1, 2.5), (3, 5.5)], type="{x: int32, y: float64}")
    return nd.explain(lambda: p == q)


def texts():
    return nd.explain(lambda: nd.array(["north", "coast"]) == "coast")


def nested_elements():
    dst = nd.empty("2 * {n: string, h: var * int32}")
    src = nd.array([{"n": "a", "h": [1, 2]}, {"n": "b", "h": []}])
    return nd.explain(nd.assign, dst, src)


def staged_rows():
    lengths = np.full(20_000, 4)
    x = nd.from_offsets(nd.array(np.concatenate([[0], np.cumsum(lengths)])), nd.array(np.ones(80_000)))
    return nd.explain(lambda: (x - nd.mean(x, axis=1, keepdims=True)) / nd.std(x, axis=1, keepdims=True))


def without_bytes(text):
    return re.sub(r"(offset )?\d+(, \d+)? bytes", "some bytes", text)


SHOWN = [planes, ragged_sum, missing_values, assignment, structs, texts, nested_elements, staged_rows]


@pytest.mark.parametrize("made", SHOWN)
def test_explanations_are_as_shown(made):
    assert without_bytes(made().strip()) in without_bytes(PAGE.read_text())


def test_all_explanations_are_looked_at():
    assert len(re.findall(r"^\w+: one kernel of ", PAGE.read_text(), re.M)) == len(SHOWN)
