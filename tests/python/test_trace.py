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


def test_what_the_engine_adds_is_no_source():
    """A missing element counts as the identity, which is no operand of the reduction."""
    calls = nd.trace(nd.max, nd.array([[1, None, 3], [None, None, 4]]), 1).calls
    assert [call.sources for call in calls[1:]] == [["[1, None, 3]"], ["[None, None, 4]"]]


@pytest.mark.alone  # a time
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


def shown(trace):
    return [(call.level, call.name, call.sources, call.destination) for call in trace.calls]


def test_elements_that_are_not_scalars():
    rows = nd.array([["1", "2"], ["3"]])
    assert shown(nd.trace(nd.assign, nd.empty("2 * var * ?int32"), rows)) == [
        (0, "strided to strided", ['[["1", "2"], ["3"]]'], "[[None, None], [None]]"),  # rows have got their memory
        (1, "var to var", ['["1", "2"]'], "[None, None]"),
        (2, "string to ?int32", ['"1"'], "None"),
        (2, "string to ?int32", ['"2"'], "None"),
        (1, "var to var", ['["3"]'], "[None]"),
        (2, "string to ?int32", ['"3"'], "None"),
    ]
    assert shown(nd.trace(nd.less, rows[1], "4")) == [
        (0, "strided", ['["3"]', '"4"'], "[False]"),
        (1, "less", ['"3"', '"4"'], "False"),
    ]
    with pytest.raises(ValueError, match=r'cannot cast string "x" to int32 at index \(1,\)'):
        nd.trace(lambda: nd.array(["1", "x"]).astype("int32"))


def test_kernels_over_elements_are_explained():
    records = nd.array([{"x": 1, "y": "a"}, {"x": 2, "y": None}])
    lines = str(nd.explain(nd.equal, records, records)).splitlines()
    assert lines[0].startswith("equal: one kernel of ") and lines[0].endswith(", 2 elements")
    assert lines[1:4] == ["  to   strided * bool (2,), strides (1,)"] + ["  from strided * {x: int32, y: ?string} (2,)"] * 2
    # the outermost loop is the call itself, so that threads can share it
    assert [line.split(" bytes")[1] for line in lines[4:]] == ["  {x: int32, y: ?string}, {x: int32, y: ?string} to bool"]
    text = str(nd.explain(nd.assign, nd.empty("2 * {y: ?string, x: float64}"), records))
    assert text.startswith("assign: one kernel of ") and "to   2 * {y: ?string, x: float64} (2,)" in text
    levels = [line.split(" bytes")[1] for line in text.splitlines()[3:]]
    assert levels == [  # a field's kernel is beside that of the field before it, not below
        "  fields: 2 children",
        "    option: ?string to ?string",
        "      text string to string",
        "    convert int32 to float64",
    ]
    assert str(nd.explain(lambda: None)) == "nothing was evaluated\n"


@pytest.mark.parametrize("optional", ["", "?"])
def test_a_traced_reduction_of_an_outer_axis(optional):
    a = nd.array([[1, 2, 3], [4, 5, 6]], type=f"strided * strided * {optional}int64")
    results = []
    calls = nd.trace(lambda: results.append(a.sum(axis=0))).calls
    assert results[0].tolist() == [5, 7, 9]
    assert [call.sources[0] for call in calls] == ["[[1, 4], [2, 5], [3, 6]]", "[1, 4]", "[2, 5]", "[3, 6]"]
    rows = nd.array([[[1, 2], [3, 4]], [[5, 6]]], type="strided * var * 2 * int64")
    nd.trace(lambda: results.append(rows.max(axis=1, keepdims=True)))
    assert results[1].tolist() == rows.max(axis=1, keepdims=True).tolist() == [[[3, 4]], [[5, 6]]]
    assert results[1].type == rows.max(axis=1, keepdims=True).type
