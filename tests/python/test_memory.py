"""Nothing that is called many times takes more and more memory, whether it succeeds or fails.

The calls are generated from the public API. What lives is counted: Python's objects by Python, the rest by malloc.
"""

import copy
import ctypes
import gc
import operator
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from dynd import nd, ndt

pytestmark = pytest.mark.memory


class Mallinfo(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]


mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
if mallinfo2:  # another libc does not say: there only Python's objects are counted
    mallinfo2.restype = Mallinfo

SMALL = {
    "numbers": lambda access=None: nd.array([1, 2, 3], access=access),
    "floats": lambda access=None: nd.array([[1.5, 2.5], [3.5, 4.5]], access=access),
    "ragged": lambda access=None: nd.array([[1, 2], [], [3]], access=access),
    "missing": lambda access=None: nd.array([1, None, 3], access=access),
    "bools": lambda access=None: nd.array([True, False, True], access=access),
    "texts": lambda access=None: nd.array(["a", "some longer text", ""], access=access),
    "records": lambda access=None: nd.array([{"x": 1, "r": [1, 2], "s": "t"}] * 2, access=access),
    "pointers": lambda access=None: nd.array([1, 2], type="pointer[int32]", access=access),
    "one": lambda access=None: nd.array(5, access=access),
}
LARGE = {
    "lazy": lambda access=None: nd.array(np.ones(9_000), access=access),
    "lazy ragged": lambda access=None: nd.from_offsets(np.arange(0, 9_001, 3), np.ones(9_000)),
}
ARRAYS = SMALL | LARGE

OTHERS = {
    "itself": lambda a: a,
    "a copy": lambda a: nd.array(a, access="rw"),
    "an int": lambda a: 2,
    "a float": lambda a: 2.5,
    "None": lambda a: None,
    "a list": lambda a: [1, 2, 3],
    "NumPy": lambda a: np.array([1, 2, 3]),
    "another shape": lambda a: nd.array([1, 2, 3, 4, 5]),
    "another object": lambda a: object(),
    "a dict": lambda a: {"x": 1},
}

OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
KEYS = [0, -1, 7, slice(1, None), slice(None, None, -1), ..., None, "x", "q", 1.5]
KEYS += [(0, 0), (slice(None), 0), (slice(None), slice(1))]
KEYS += [[0, -1], [True, False, True], ([0, 1], [0, 0]), (slice(None), [0]), ["x"], [[0], [1]], [7], [0.5]]
CONVERSIONS = {
    "tolist": lambda a: a.tolist(),
    "str": str,
    "repr": repr,
    "format": format,
    "len": len,
    "list": list,
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "hash": hash,
    "numpy": np.asarray,
    "memoryview": memoryview,
    "array": nd.array,
    "writable": lambda a: nd.array(a, access="rw"),
    "asarray": nd.asarray,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),
    "eval": lambda a: a.eval(),
    "T": lambda a: a.T,
    "shape": lambda a: (a.shape, a.ndim, a.type, a.access),
    "astype": lambda a: a.astype("float32"),
    "astype its own": lambda a: a.astype(a.type),
    "astype text": lambda a: a.astype("string"),
    "astype int8": lambda a: a.astype("int8"),
    "array of its type": lambda a: nd.array(a.tolist(), type=a.type),
    "explain": lambda a: nd.explain(lambda: a + a),
    "trace": lambda a: nd.trace(lambda: a[:2] == a[:2]),
    "empty": lambda a: nd.empty("3 * {x: var * int32, s: string}"),
    "from_offsets": lambda a: nd.from_offsets([0, 1], a),
    "type": lambda a: ndt.type(str(a.type)),
}


def settled():
    gc.collect()
    nd.trim_memory()
    info = mallinfo2() if mallinfo2 else Mallinfo()
    return sys.getallocatedblocks(), info.uordblks + info.hblkhd


def attempt(call):
    try:
        call()
    except (TypeError, ValueError, IndexError, KeyError, OverflowError, AttributeError, BufferError):
        pass


def growth(calls, times):
    """How many objects and bytes more there are after some rounds of the calls, for each round."""
    before = settled()
    for _ in range(times):
        for _, call in calls:
            attempt(call)
    return [(b - a) / times for a, b in zip(before, settled())]


def grows(calls):
    """A leak takes as much in every round; what is made once, or kept for reuse, does not."""
    growth(calls, 3)
    objects = size = float("inf")
    for _ in range(3):
        more_objects, more_bytes = growth(calls, 12)
        objects, size = min(objects, more_objects), min(size, more_bytes)
        if objects < 0.9 and size < 16:
            return False
    return True


def leaking(calls):
    """The names of the calls that leak."""
    if not grows(calls):
        return []
    if len(calls) == 1:
        return [calls[0][0]]
    half = len(calls) // 2
    return leaking(calls[:half]) + leaking(calls[half:])


def every_pair(make, call):
    """The call with this array and everything else, in both orders; large arrays are named or not."""
    for other in OTHERS:
        yield other, lambda other=other: call((a := make()), OTHERS[other](a))
        yield "with " + other, lambda other=other: call(OTHERS[other](a := make()), a)
    yield "temporaries", lambda: call(make() + 1, make() * 2)


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("access", [None, "rw"])
def test_operators(array, access):
    make = lambda: ARRAYS[array](access)  # noqa: E731
    calls = []
    for name in OPERATORS + COMPARISONS + ["i" + name.rstrip("_") for name in OPERATORS]:
        op = getattr(operator, name)
        calls += [(f"{name} {what}", call) for what, call in every_pair(make, op)]
    for name in ("neg", "abs", "invert"):
        calls.append((name, lambda op=getattr(operator, name): op(make())))
    calls += [("divmod " + what, call) for what, call in every_pair(make, divmod)]
    assert leaking(calls) == []


@pytest.mark.parametrize("array", ARRAYS)
def test_functions(array):
    make, calls = ARRAYS[array], []
    for name, _, signature in nd.operations():
        function = getattr(nd, name)
        if "Dims..." in signature:
            for axis in (None, 0, 1, 9):
                calls.append((name, lambda f=function, axis=axis: f(make(), axis)))
                calls.append((name, lambda f=function, axis=axis: f(make() + 1, axis, keepdims=True)))
            continue
        count = signature.split("->")[0].count(",") + 1
        calls.append((name, lambda f=function, n=count: f(*[make() for _ in range(n)])))
        calls.append((name, lambda f=function, n=count: f(*[make()] * (n - 1), 2)))
        calls.append((name, lambda f=function, n=count: f(*[make()] * (n + 1))))
        calls.append((name, lambda f=function, n=count: f(make() > 1, *[make() + 1 for _ in range(n - 1)])))
    assert leaking(calls) == []


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("access", [None, "rw"])
def test_indices_and_conversions(array, access):
    make, calls = lambda: ARRAYS[array](access), []  # noqa: E731
    for key in KEYS:
        calls.append((f"a[{key!r}]", lambda key=key: make()[key]))
        for other in OTHERS:
            store = lambda key=key, o=other: operator.setitem(a := make(), key, OTHERS[o](a))  # noqa: E731
            calls.append((f"a[{key!r}] = {other}", store))
        calls.append((f"a[{key!r}] += 1", lambda key=key: operator.iadd(make()[key], 1)))
        calls.append((f"del a[{key!r}]", lambda key=key: operator.delitem(make(), key)))
    for name, convert in CONVERSIONS.items():
        calls.append((name, lambda convert=convert: convert(make())))
        calls.append((name, lambda convert=convert: convert(make() + 1)))
    for mode in ("nocheck", "overflow", "fractional", "inexact", "wrong"):
        for other in OTHERS:
            calls.append((f"assign {other} {mode}", lambda o=other, m=mode: nd.assign(a := make(), OTHERS[o](a), m)))
    assert leaking(calls) == []


def test_values():
    good = [[1, 2], [3.5]], [{"x": 1}, {"x": None}], ["a", b"b"], [np.float32(1), 2], range(3), (1, 2), "text", b"bytes"
    bad = [[1, [2]], [{}], [object()], [np.datetime64(1, "s")], [2**70], "\ud800", {"a\0b": 1}, object(), {1: 2}]
    numpy = [np.zeros((2, 3)), np.zeros(2, ">f8"), np.zeros(2, [("x", "i4"), ("y", ">f8")]), np.array(["a", "b"])]
    masked = [np.ma.array([1, 2], mask=[True, False]), np.array([None]), np.zeros(2, "M8[s]"), memoryview(b"abc")]
    calls = []
    for value in [*good, *bad, *numpy, *masked]:
        for call in (nd.array, nd.asarray, lambda v: nd.array(v, access="rw"), lambda v: nd.array(v, type="int32")):
            calls.append((f"{value!r}"[:40], lambda call=call, value=value: call(value)))
        calls.append((f"nd.array([1, 2]) + {value!r}"[:40], lambda value=value: nd.array([1, 2]) + value))
        calls.append((f"from_offsets {value!r}"[:40], lambda value=value: nd.from_offsets(value, [1, 2, 3])))
    for text in ("int32", "3 * var * ?{x: string}", "{", "q", "{x: int32, x: int8}", "?int32 * 3", "\ud800", 5):
        calls.append((f"type {text!r}", lambda text=text: ndt.type(text)))
        calls.append((f"empty {text!r}", lambda text=text: nd.empty(text)))
    assert leaking(calls) == []


def test_a_long_chain_of_equal_rows_is_dropped_without_recursion():
    """Offsets that were found equal link to each other; the last of 100,000 links releases them all."""
    offsets, values, count = np.arange(200), nd.array(np.arange(199.0)), 100_000
    make = lambda: nd.from_offsets(nd.array(offsets), values)
    rows = []
    for _ in range(count):
        rows.append(make())
        rows[-1] + make()
    for i in range(count - 1, 0, -1):
        rows[i] + rows[i - 1]
    for i in range(count):
        rows[i] = None


def fresh():
    """Values that nothing else refers to, each in a list, a tuple and a dict; and all of them."""
    leaves = [float("1.25"), int("1099511627777"), "text " + str(2**40), b"bytes" + bytes(3), np.float32(1.5)]
    leaves.append(np.arange(3.0))
    held = list(leaves)
    for leaf in leaves:
        held += [[leaf, leaf], (leaf,), {"x": leaf}, [{"x": leaf, "y": [leaf]}, {"x": leaf, "y": []}]]
    return held


READERS = {
    "array": nd.array,
    "writable": lambda v: nd.array(v, access="rw"),
    "floats": lambda v: nd.array(v, type="float64"),
    "int8": lambda v: nd.array(v, type="int8"),
    "texts": lambda v: nd.array(v, type="string"),
    "rows": lambda v: nd.array(v, type="strided * ?float64"),
    "records": lambda v: nd.array(v, type="{x: ?float64}"),
    "records of texts": lambda v: nd.array([v], type="strided * {x: string}"),
    "records with rows": lambda v: nd.array(v, type="strided * {x: ?string, y: var * string}"),
    "asarray": nd.asarray,
    "assigned": lambda v: operator.setitem(nd.empty("{x: ?string}"), ..., v),
    "assigned rows": lambda v: operator.setitem(nd.empty("2 * {x: float64, y: var * float64}"), ..., v),
    "operand": lambda v: nd.array([1.0]) + v,
    "index": lambda v: nd.array([1, 2])[v],
    "contains": lambda v: nd.isin(nd.array([1.0]), v),
}


@pytest.mark.parametrize("reader", READERS)
def test_values_that_were_read_are_not_kept_alive(reader):
    """Counting what lives does not show a reference too many to what lives anyway."""
    held = fresh()
    for _ in range(2):  # the first time some things are made once
        before = [sys.getrefcount(value) for value in held]
        for i in range(len(held)):
            attempt(lambda i=i: READERS[reader](held[i]))
    gc.collect()
    assert [sys.getrefcount(value) for value in held] == before


def test_arrays_let_go_of_their_type():
    for value in (1, {"x": 1}):
        kind = type(nd.array([value]))
        before = sys.getrefcount(kind)
        for _ in range(1000):
            nd.array([value])
        assert sys.getrefcount(kind) < before + 100


POISONED = """
import numpy as np
from dynd import nd
for n in (8, 1000, 5 << 20):  # in its block, in a buffer, in pages of its own
    for again in range(2):
        memory = np.asarray(nd.empty(f"{n} * uint8"))
        assert (memory == 0xA5).all(), n
        memory[:] = 1
        del memory
"""


def test_poisoned_memory_is_never_what_was_there():
    subprocess.run([sys.executable, "-c", POISONED], check=True, env={**os.environ, "DYND_POISON": "1"})
