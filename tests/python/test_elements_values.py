"""Python values that are hostile: they hold themselves, change while they are read, are too deep or too many."""

import gc
import sys
import time
import tracemalloc

import numpy as np
import pytest
from dynd import nd, ndt


def test_values_that_hold_themselves():
    loop, record = [], {}
    loop.append(loop)
    record["x"] = record
    both = {"x": []}
    both["x"].append(both)
    for values in (loop, record, [record], both):
        with pytest.raises(ValueError, match="dimensions|nest more than 128 deep"):
            nd.array(values)


def test_deep_values():
    values = 1
    for _ in range(100):
        values = {"x": values}
    assert nd.array(values).tolist() == values
    for _ in range(100_000):
        values = {"x": values}
    with pytest.raises(ValueError, match="nest more than 128 deep"):
        nd.array(values)
    while isinstance(values, dict):  # Python's own destructor is recursive
        values = values["x"]


def test_dicts_that_change_while_they_are_read():
    class Grows:
        def __float__(self):
            record["more"] = 1
            return 1.0

    class Shrinks:
        def __float__(self):
            record.clear()
            return 1.0

    for kind in (Grows, Shrinks):
        record = {"a": kind(), "b": 1.0}
        with pytest.raises(ValueError):
            nd.array([record], type="{a: float64, b: float64}")
        record = {"a": kind(), "b": 1.0}
        with pytest.raises(ValueError):
            nd.array([record])


def test_keys_that_misbehave():
    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        nd.array([{Key("x"): 1}], type="{x: int32}")


def test_subclasses_are_values():
    class Text(str):
        pass

    class Record(dict):
        pass

    class Number(int):
        pass

    assert nd.array([Text("a"), "b"]).tolist() == ["a", "b"]
    assert nd.array([Record(x=Number(1))]).tolist() == [{"x": 1}]
    assert nd.array(np.array(["a"])[0]).tolist() == "a"


def test_too_many_fields():
    values = {f"x{i}": i for i in range(255)}
    assert nd.array(values).tolist() == values
    texts = {f"x{i}": "t" for i in range(127)}
    assert nd.array(texts).tolist() == texts
    for bad in (values | {"y": 1}, texts | {"y": "t"}):
        with pytest.raises(ValueError, match="more than 255 streams .a number has one, a text two"):
            nd.array([bad])
    with pytest.raises(ValueError, match="more than 255 streams"):
        ndt.type("{" + ", ".join(f"x{i}: string" for i in range(128)) + "}")
    with pytest.raises(ValueError, match="more than 255 dimensions"):
        ndt.type("{" + ", ".join(f"x{i}: " + "2 * " * 30 + "int8" for i in range(9)) + "}")


@pytest.mark.alone  # a time
def test_too_many_fields_are_refused_soon():
    names = [f"x{i}" for i in range(100_000)]
    start = time.perf_counter()
    for call in (lambda: nd.array(dict.fromkeys(names, 1)), lambda: ndt.type("{" + ": int8, ".join(names) + ": int8}")):
        with pytest.raises(ValueError, match="255"):
            call()
    assert time.perf_counter() - start < 2


def test_names_with_a_zero_byte():
    with pytest.raises((TypeError, ValueError), match="zero byte"):
        nd.array([{"a\0b": 1}])


@pytest.mark.memory
def test_nothing_is_leaked():
    mine, other = "-".join(["only", "here"]), "-".join(["nowhere", "else"])  # not shared with the interpreter
    values = [{"x": None, "s": mine, "h": [1, None]}, {"x": other, "s": "t", "h": []}]
    bad = [{"x": 1, "s": mine}, {"x": 2, "s": 5}]

    def rounds(times):
        for _ in range(times):
            array = nd.array(values)
            array.tolist(), array["h"][0].tolist(), str(array), list(array)
            np.asarray(array["s"])
            for wrong in (bad, [1, "a"]):
                with pytest.raises(TypeError):
                    nd.array(wrong)
            with pytest.raises(TypeError):
                nd.array(bad, type="{x: int32, s: string}")
            with pytest.raises(KeyError):
                array["q"]

    rounds(50)
    gc.collect()
    counts = [sys.getrefcount(o) for o in (values[0]["s"], values[1]["x"], values[0])]
    none = sys.getrefcount(None)
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    rounds(300)
    gc.collect()
    grown = sum(s.size_diff for s in tracemalloc.take_snapshot().compare_to(before, "filename"))
    tracemalloc.stop()
    assert [sys.getrefcount(o) for o in (values[0]["s"], values[1]["x"], values[0])] == counts
    assert abs(sys.getrefcount(None) - none) < 200 and grown < 100_000


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_at_the_ends_of_their_types(kind):
    """In lists, which are read in place, and by themselves; in new arrays and in those that are written."""
    least, greatest = (int(x) for x in (np.iinfo(kind).min, np.iinfo(kind).max))
    for value in (least, greatest, least - 1, greatest + 1, -(2**63), 2**63, -(2**64), 2**64):
        for values, text in ((value, kind), ([1, value], f"strided * {kind}"), ([[1], [], [value]], f"strided * var * {kind}"), ([None, value], f"2 * ?{kind}"), ((value,), f"1 * {kind}")):
            written = nd.empty(f"2 * {kind}")
            if least <= value <= greatest:
                assert nd.array(values, type=text).tolist() == (list(values) if isinstance(values, tuple) else values)
                written[...] = [1, value]
                assert written.tolist() == [1, value]
            else:
                with pytest.raises(OverflowError):
                    nd.array(values, type=text)
                with pytest.raises(OverflowError):
                    written[...] = [1, value]
