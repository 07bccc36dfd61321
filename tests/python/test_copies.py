"""Copies of elements of any type: the values are the source's, and neither array sees what is written to the other."""

import contextlib
import operator
import random

import numpy as np
import pytest

from dynd import nd

TEXTS = ["", "a", "héé", "x" * 40]


def random_type(rng, depth=0):
    """Datashape text, and a function that makes a value."""
    kind = rng.choice(["int", "text", "option", "var", "fixed", "struct"] if depth < 3 else ["int", "text"])
    if kind == "int":
        return "int64", lambda: rng.randrange(100)
    if kind == "text":
        return "string", lambda: rng.choice(TEXTS)
    if kind == "struct":
        fields = {name: random_type(rng, depth + 1) for name in "xyz"[: rng.randrange(1, 4)]}
        text = ", ".join(f"{name}: {type}" for name, (type, _) in fields.items())
        return "{" + text + "}", lambda: {name: make() for name, (_, make) in fields.items()}
    inner, make = random_type(rng, depth + 1)
    if kind == "option":
        known = inner.startswith("?")
        return inner if known else "?" + inner, make if known else lambda: None if rng.random() < 0.3 else make()
    size = rng.randrange(1, 3)
    if kind == "fixed":
        return f"{size} * {inner}", lambda: [make() for _ in range(size)]
    return f"var * {inner}", lambda: [make() for _ in range(rng.randrange(4))]


@pytest.mark.parametrize("seed", range(300))
def test_copies_have_the_values(seed):
    rng = random.Random(seed)
    dtype, make = random_type(rng)
    size = rng.randrange(6)
    a = nd.array([make() for _ in range(size)], type=f"{size} * {dtype}")
    for view in (a, a[1:], a[::-1], a[::2]):
        values = view.tolist()
        writable = nd.array(view, access="rw")
        frozen = nd.array(writable)
        assert writable.tolist() == frozen.tolist() == values
        assert nd.array(writable[1:], access="rw").tolist() == values[1:]
        for i in range(len(values)):
            with contextlib.suppress(ValueError):  # rows of another length
                writable[i] = values[0]
        assert frozen.tolist() == values == view.tolist()
        assert nd.array(writable).tolist() == writable.tolist()


@pytest.mark.parametrize("inner, values", [("int32", [4, 5, 6]), ("string", ["x", "y", "z"])])
def test_a_missing_row_of_a_copy_has_no_length_yet(inner, values):
    """As in a new array: it gets one from what is assigned. A row that is there keeps its length."""
    source = nd.array([None, values[:2], [], None], type=f"strided * ?var * {inner}")
    for copy in (nd.array(source, access="rw"), nd.array(nd.array(source, access="rw"), access="rw")):
        copy[0] = values
        assert copy.tolist() == [values, values[:2], [], None]
        with pytest.raises(ValueError, match="lengths 3 and 0"):
            copy[2] = values
    records = nd.array([{"r": None}, {"r": values[:1]}], type=f"strided * {{r: ?var * {inner}}}")
    copy = nd.array(records, access="rw")
    copy["r"][0] = values
    assert copy.tolist() == [{"r": values}, {"r": values[:1]}]


def test_a_row_without_memory_has_none_in_a_copy_of_rows_in_any_order():
    a = nd.empty("3 * var * string")
    a[2], a[0] = ["x" * 20, "y"], ["z"]
    copy = nd.array(a, access="rw")
    copy[1] = ["p", "q", "r"]
    assert copy.tolist() == [["z"], ["p", "q", "r"], ["x" * 20, "y"]] and a.tolist()[1] == []


def test_a_copy_of_few_of_many_rows_keeps_only_those():
    a = nd.array([{"s": "x" * 1000, "r": [1] * 100} for _ in range(1000)])
    few = nd.array(a[::100], access="rw")
    assert few.tolist() == a.tolist()[::100]


@pytest.mark.parametrize("shape", [(700, 2, 4), (300, 3, 1), (40, 5, 3, 2), (3, 70, 2), (2000, 2, 2, 2)])
@pytest.mark.parametrize("dtype", ["f8", "i4", "u1", "c16"])
def test_short_rows_that_are_stretched(shape, dtype):
    """Every choice of axes that are stretched: what is few is walked across what is many."""
    for mask in range(1, 2 ** len(shape)):
        sizes = [1 if mask >> d & 1 else n for d, n in enumerate(shape)]
        x = np.broadcast_to(np.arange(np.prod(sizes)).reshape(sizes).astype(dtype), shape)
        y = (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)
        a, b = nd.asarray(x), nd.asarray(y)
        assert np.array_equal(np.asarray(nd.array(a)), x)
        assert np.array_equal(np.asarray(a + b), x + y) and np.array_equal(np.asarray((a + b) * a), (x + y) * x)
        memory = np.zeros((*shape[:-1], shape[-1] + 3), dtype)          # rows with gaps between them
        view = nd.asarray(memory[..., 1:-2])
        nd.assign(view, a)
        assert np.array_equal(memory[..., 1:-2], x) and not memory[..., 0].any() and not memory[..., -2:].any()
        assert np.array_equal(np.asarray(view + b), x + y)
        with np.errstate(over="ignore"):
            assert np.allclose(np.asarray(nd.sum(a, axis=-1)), x.sum(axis=-1, dtype="i8" if dtype in ("i4", "u1") else None))


def test_the_result_of_a_stretched_operand_is_in_c_order():
    x = np.broadcast_to(np.arange(12.0).reshape(3, 1, 4), (3, 5, 4))
    assert np.asarray(nd.asarray(x) + 1.0).flags.c_contiguous
    turned = np.asfortranarray(np.ones((3, 5, 4)))                      # one that is not stretched still decides
    assert np.asarray(nd.asarray(x) + nd.asarray(turned)).flags.f_contiguous


def test_results_that_go_through_scratch_are_not_streamed_there():
    memory = np.zeros((2_000_000, 8))
    rows = nd.asarray(memory[:, :4])
    assert "streaming" not in str(nd.explain(lambda: nd.assign(rows, nd.asarray(np.ones((2_000_000, 4))))))
    assert memory[:, :4].all() and not memory[:, 4:].any()


# Name: a type, values, and others of the same lengths that are written over them.
WRITTEN = {
    "numbers": ("strided * float64", [3.0, 1.0, 2.0], [9.0, 8.0, -7.0]),
    "table": ("2 * 2 * float64", [[1.0, 2.0], [3.0, 4.0]], [[9.0, 8.0], [7.0, 6.0]]),
    "bools": ("strided * bool", [True, False, True], [False, True, False]),
    "rows": ("strided * var * int64", [[2, 1], [], [3]], [[7, 8], [], [9]]),
    "missing": ("strided * ?int64", [3, None, 1], [None, 5, 6]),
    "missing in rows": ("strided * var * ?float64", [[2.0, None], [], [3.0]], [[None, 8.0], [], [9.0]]),
    "missing rows": ("strided * ?var * int64", [[2, 1], [4], [3]], [None, [9], None]),
    "texts": ("strided * string", ["b", "a", "c"], ["x" * 40, "y", ""]),
    "missing texts": ("strided * ?string", ["b", None, "c"], [None, "y", ""]),
    "fixed texts": ("strided * fixed_string[3]", ["b", "a", "c"], ["x", "yy", ""]),
    "records": ("strided * {x: ?int64, y: string}", [{"x": 1, "y": "a"}, {"x": None, "y": "b"}], [{"x": None, "y": "z"}, {"x": 5, "y": "zz"}]),
    "missing records": ("strided * ?{x: int64}", [{"x": 1}, None], [None, {"x": 5}]),
    "many rows": ("strided * var * float64", [[i, 2.5, 3.5] for i in range(3_000)], [[1.5, i, 2.5] for i in range(3_000)]),  # enough to be lazy
}
# With an array; what a function does not take is left out.
CALLS = [
    lambda f, a: f(a), lambda f, a: f(a, a), lambda f, a: f(a, 0), lambda f, a: f(a, 1), lambda f, a: f(a, axis=-1), lambda f, a: f(a, 2, axis=-1),
    lambda f, a: f([a, a]), lambda f, a: f([a, a], axis=-1), lambda f, a: f({"p": a, "q": a}), lambda f, a: f(a == a, a, a), lambda f, a: f(a, "x"),
    lambda f, a: f(a, nd.array([True, False, True]), 0), lambda f, a: f(nd.array([1, 2, 3]), a, 0), lambda f, a: f(a, [2, 0]), lambda f, a: f(a, None),
    lambda f, a: f(nd.add, a, axis=-1), lambda f, a: f(a, where=a == a),
]  # fmt: skip
# As the library has them: other tests load plug-ins, some of which count their calls.
PUBLIC = [name for name in dir(nd) if name[0] != "_"]
SETTINGS = {"set_num_threads", "load", "trim_memory", "trace", "explain", "assign", "callable", "kernel"}


def arrays_in(result):
    return [result] if isinstance(result, nd.array) else [a for part in result for a in arrays_in(part)] if isinstance(result, (tuple, list)) else []


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_is_immutable_does_not_change_when_its_operand_is_written(kind):
    text, values, others = WRITTEN[kind]
    left_out = {"cartesian", "argcartesian"} if kind == "many rows" else set()
    names = [name for name in PUBLIC if name not in SETTINGS | left_out and callable(getattr(nd, name))]
    calls = {f"nd.{name}": getattr(nd, name) for name in names} | {name: getattr(operator, name) for name in ("add", "eq", "neg", "pow", "mul")}
    compared, before, after = 0, nd.array(values, type=text), nd.array(others, type=text)
    for name, function in calls.items():
        for number, call in enumerate(CALLS):
            a, found = nd.array(before, access="rw"), []
            with contextlib.suppress(Exception):
                wanted = arrays_in(call(function, nd.array(a)))
                found = arrays_in(call(function, a))  # not looked at before it is written
            if found and all(r.access == "immutable" for r in found):
                wanted = [repr(r.tolist()) for r in wanted]
                a[...] = after
                assert [repr(r.tolist()) for r in found] == wanted, (name, number)
                compared += 1
    assert compared > 50


@pytest.mark.parametrize("step", [2, 3, -2, -3])
@pytest.mark.parametrize("length", [1, 100, 128, 129, 200, 400])
def test_a_slice_is_copied_onto_its_own_ends(length, step):
    """Where source and destination have one element in common, or are next to each other."""
    n = 4 * length * abs(step)
    source = slice(n // 2, n // 2 + length * step, step)
    places = range(n)[source]
    for touched in (places[0], places[-1]):
        for begin in range(touched - length - 1, touched + 3):
            if 0 <= begin and begin + length <= n:
                wanted, a = np.arange(n), nd.array(np.arange(n), access="rw")
                wanted[begin : begin + length] = wanted[source].copy()
                a[begin : begin + length] = a[source]
                assert np.array_equal(a, wanted), (begin, touched)
