"""What a trace shows, beyond the tables of the seeds (test_seeds.py)."""

import time

import pytest

from dynd import nd, ndt


def test_an_array_that_is_both_operands_is_shown_twice():
    a = nd.array([[1, 2], [3]])
    calls = nd.trace(nd.add, a, a).calls
    assert [call.sources for call in calls[:3]] == [["[[1, 2], [3]]"] * 2, ["[1, 2]"] * 2, ["1", "1"]]
    mixed = nd.trace(nd.add, a, nd.array(0.5)).calls
    assert mixed[2].sources == ["1", "0.5"]
    assert nd.trace(nd.where, nd.array([True]), nd.array([5]), nd.array([5])).calls[-1].sources == ["True", "5", "5"]
    b = nd.array([7])
    assert nd.trace(nd.where, b < 8, b, b).calls[-1].sources == ["True", "7", "7"]
    assert nd.trace(nd.square, b).calls[-1].sources == ["7"]


def test_a_reduction_shows_its_destination_as_it_is():
    calls = nd.trace(nd.sum, nd.array([[1, 2], [], [3]]), 1).calls
    assert [(call.level, call.name, call.sources, call.destination) for call in calls] == [
        (0, "strided", ["[[1, 2], [], [3]]"], "[0, 0, 0]"),
        (1, "sum", ["[1, 2]"], "0"),
        (1, "sum", ["[]"], "0"),
        (1, "sum", ["[3]"], "0"),
    ]
    deep = nd.trace(nd.max, nd.array([[[1.5, 2.0]], [[3.0], [4.0]]]), 2).calls
    assert [call.destination for call in deep] == ["[[0.0], [0.0, 0.0]]", "[0.0]", "0.0", "[0.0, 0.0]", "0.0", "0.0"]


def test_large_arrays_are_cut_short():
    count = 50_000
    a = nd.array(list(range(count)))
    start = time.perf_counter()
    trace = nd.trace(nd.add, a, a)
    text = str(trace)
    assert time.perf_counter() - start < 5
    assert len(trace.calls) == 10_000 and len(text) < 2_000_000
    assert trace.calls[0].sources[0] == f"[0, 1, 2, ..., {count - 3}, {count - 2}, {count - 1}]"
    assert text.endswith(f"... and {count + 1 - 10_000} more calls\n")
    short = nd.trace(nd.add, a[:50], a[:50])
    assert short.calls[0].sources[0] == str(list(range(50))) and "more calls" not in str(short)


def test_what_cannot_be_called():
    for function in (nd.explain, nd.trace):
        with pytest.raises(TypeError, match=f"{function.__name__}: the first argument must be a function to call, not int"):
            function(3)


def test_what_is_no_type():
    for value in (None, 3):
        with pytest.raises(TypeError, match=f"ndt.type: expected datashape text or a type, not {type(value).__name__}"):
            ndt.type(value)
