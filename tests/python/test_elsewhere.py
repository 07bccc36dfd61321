"""Functions from elsewhere: Python, C, Numba. Values against the function itself; what is wrong is said."""
import ctypes
import gc
import inspect
import pickle
import pydoc
import re
import shutil
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

from dynd import _elsewhere, nd, ndt

ROWS = [[1.0, 5.0], [], [2.0]]


# ---- Python functions -----------------------------------------------------------------------------------------------

def test_a_python_function_for_every_element():
    larger = nd.callable(lambda x, y: x if x > y else y, "(float64, float64) -> float64", name="larger", doc="The larger.")
    assert larger(ROWS, 3.0).tolist() == [[3.0, 5.0], [], [3.0]]
    assert larger(np.arange(6.0).reshape(2, 3).T, 2.5).tolist() == np.maximum(np.arange(6.0).reshape(2, 3).T, 2.5).tolist()
    assert larger(1, 2).tolist() == 2.0
    assert larger(nd.array([1.0, None]), 0.0).tolist() == [1.0, None]            # it is not called for what is missing
    assert larger.__name__ == "larger" and "The larger." in larger.__doc__
    assert str(inspect.signature(larger)) == "(a, b, /)" and "larger(a, b, /)" in pydoc.plain(pydoc.render_doc(larger))
    assert [str(s) for s in larger.signatures] == ["(float64, float64) -> float64"]


@pytest.mark.parametrize("kind, value", [("bool", True), ("int8", -7), ("uint64", 2 ** 63), ("float32", 1.5),
                                         ("complex128", 1 + 2j), ("float16", 0.25)])
def test_types_of_python_functions(kind, value):
    same = nd.callable(lambda x: x, f"({kind}) -> {kind}")
    assert same(nd.array([value], type=kind)).tolist() == [value]
    assert same(nd.array([value], type=kind)).type == f"strided * {kind}"


def test_a_python_function_for_every_row():
    seen = []
    total = nd.callable(lambda row: seen.append(row) or sum(row.tolist()), "(N * float64) -> float64")
    assert total(ROWS).tolist() == [6.0, 0.0, 2.0]
    assert [row.tolist() for row in seen] == ROWS                              # it may keep them
    assert total(np.ones((2, 2, 3))).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    reverse = nd.callable(lambda row: row[::-1], "(N * float64) -> N * float64")
    assert reverse(ROWS).tolist() == [row[::-1] for row in ROWS]
    assert nd.callable(np.linalg.inv, "(N * N * float64) -> N * N * float64")(np.eye(2) * 4).tolist() == [[0.25, 0], [0, 0.25]]
    both = nd.callable(lambda row: (len(row), row.tolist()[:2]), "(N * float64) -> (int64, 2 * float64)")
    counts, firsts = both([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert counts.tolist() == [3, 3] and firsts.tolist() == [[1.0, 2.0], [4.0, 5.0]]


def test_rows_that_a_python_function_makes():
    positive = nd.callable(lambda row: [x for x in row.tolist() if x > 1], "(N * float64) -> var * float64")
    assert positive(ROWS).tolist() == [[5.0], [], [2.0]] and positive([1.0, 2.0]).tolist() == [2.0]
    assert positive(np.zeros((0, 3))).tolist() == []
    runs = nd.callable(lambda n: (list(range(n)), [[i, i * i] for i in range(n)]), "(int64) -> (var * int64, var * 2 * float64)")
    first, second = runs([2, 0, 1])
    assert first.tolist() == [[0, 1], [], [0]] and second.type == "strided * var * strided * float64"
    assert second.tolist() == [[[0.0, 0.0], [1.0, 1.0]], [], [[0.0, 0.0]]]
    some = nd.callable(lambda row: [None if x > 1 else x for x in row.tolist()], "(N * float64) -> var * ?float64")
    assert some(ROWS).tolist() == [[1.0, None], [], [None]]
    with pytest.raises(ValueError, match=r"where the result has shape \(var, 2\)"):
        nd.callable(lambda n: [1.0], "(int64) -> var * 2 * float64")(1)
    with pytest.raises(ZeroDivisionError) as caught:
        nd.callable(lambda row: [1 // len(row)], "(N * float64) -> var * int64", name="f")(ROWS)
    assert caught.value.__notes__[0].endswith("at index (1,)")


def test_rows_of_another_length_are_refused():
    """Also one without elements, which is taken where the function makes rows of its own."""
    for given in ([], [1.0], nd.array([1.0, 2.0, 3.0])):
        with pytest.raises(ValueError, match=r"where the result has shape \(2,\) at index \(0,\)"):
            nd.callable(lambda x: given, "(N * float64) -> N * float64")([[1.0, 2.0]])
        with pytest.raises(ValueError, match=r"where the result has shape \(2,\)"):
            nd.callable(lambda x: given, "(float64) -> 2 * float64")([1.0])


@pytest.mark.memory
def test_keywords_are_not_kept():
    f = nd.callable(lambda x, *, text: x, "(float64, *, text: string) -> float64")
    f([1.0, 2.0], text="t" * 100_000)
    tracemalloc.start()
    for _ in range(50):
        f([1.0, 2.0], text="t" * 100_000)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000


def test_a_python_function_with_keywords():
    f = nd.callable(lambda row, *, k, tag="": [x * k for x in row.tolist()] + [len(tag)] * 0,
                    '(N * float64, *, k: int64 = 2, tag: string = "a b") -> N * float64')
    assert f([1.0, 2.0]).tolist() == [2.0, 4.0] and f([1.0, 2.0], k=5, tag="x").tolist() == [5.0, 10.0]
    seen = []
    nd.callable(lambda x, **given: seen.append(given) or x,
                '(int32, *, a: ?float64 = None, b: bool = True, c: string = "x\\ny") -> int32')(1)
    assert seen == [{"a": None, "b": True, "c": "x\ny"}]
    with pytest.raises(TypeError, match="keyword tag has a zero byte"):
        f([1.0], tag="a\0b")


@pytest.mark.parametrize("operands, named, text", [
    ((1.0, 2.0), {"y": 3.0}, "has no keyword y"),
    ((1.0, 2.0), {"x": 3.0}, "has no keyword x"),
    ((1.0, 2.0, 5.0), {"x": 3.0}, "takes 2 operands, not 3"),
    ((), {"x": 3.0}, "takes 2 operands, not 0|has no keyword x"),
    ((1.0,), {"z": 3.0}, "has no keyword z|takes 2 operands"),
])
def test_as_many_operands_as_the_function_takes(operands, named, text):
    difference = nd.callable(lambda x, y: x - y, "(x: float64, y: float64) -> float64")
    assert difference(1.0, y=3.0).tolist() == difference(3.0, x=1.0).tolist() == difference(y=3.0, x=1.0).tolist() == -2
    with pytest.raises(TypeError, match=text):
        difference(*operands, **named)


@pytest.mark.parametrize("swapped", [False, True])
def test_an_overload_for_missing_values_takes_them_and_leaves_the_rest(swapped):
    """In whichever order the two were added, and where both would have to convert."""
    kinds = [(lambda x: 1.0, "(float64) -> float64"), (lambda x: 3.0 if x is None else 2.0, "(?float64) -> float64")]
    first, second = kinds[::-1] if swapped else kinds
    f = nd.callable(*first, name="kind_of_value")
    f.add(*second)
    assert f([1.0]).tolist() == f([1]).tolist() == [1.0]
    assert f(nd.array([1.0, None])).tolist() == f(nd.array([1, None])).tolist() == [2.0, 3.0]


def test_an_overload_of_other_dimensions_decides_nothing():
    f = nd.callable(lambda x, y: 0.0, "(float64, float64) -> float64", name="of_dimensions")
    for signature in ("(float64, N * T) -> float64", "(T, N * float64) -> float64"):
        with pytest.raises(TypeError, match="is ambiguous with"):
            f.add(lambda x, y: 1.0, signature)


def test_structs_in_python_functions():
    swap = nd.callable(lambda p: (p[1], p[0]), "({x: int32, y: float64}) -> {a: float64, b: int32}")
    a = nd.array([(1, 2.5), (3, 4.5)], type="{x: int32, y: float64}")
    assert swap(a).tolist() == [{"a": 2.5, "b": 1}, {"a": 4.5, "b": 3}]
    mixed = "{x: int8, y: {a: int16, b: {c: int8, d: float64}, e: int8}, z: int32}"
    value = {"x": 1, "y": {"a": 2, "b": {"c": 3, "d": 4.5}, "e": 5}, "z": 6}
    same = nd.callable(lambda p: p, f"({mixed}) -> {mixed}")
    assert same(nd.array([value], type=mixed)).tolist() == [value]


def test_structs_nested_as_deep_as_types_are():
    """Finding the offsets of a struct took time that was exponential in its depth."""
    text, value = "int32", 7
    for _ in range(60):
        text, value = f"{{x: {text}}}", {"x": value}
    first = nd.callable(lambda p: 2 * int(str(p).strip("(),")), f"({text}) -> int32")
    assert first(nd.array([value], type=text)).tolist() == [14]


@pytest.mark.parametrize("rows, index", [([1, 2, 0, 4, 0], "(2,)"), ([[1], [2, 0]], "(1, 1)"), (0, None)])
def test_an_exception_is_passed_on_with_its_index(rows, index):
    inverse = nd.callable(lambda x: 1 // x, "(int64) -> int64", name="inverse")
    with pytest.raises(ZeroDivisionError) as caught:
        inverse(rows)
    notes = getattr(caught.value, "__notes__", [""])
    assert index is None or (notes[0].startswith("inverse: ") and notes[0].endswith(f"at index {index}"))


class Odd(Exception):
    pass


def test_exceptions_of_any_kind():
    def fails(row):
        raise Odd("not today")
    for signature in ("(N * float64) -> float64", "(float64) -> float64"):
        with pytest.raises(Odd, match="not today"):
            nd.callable(fails, signature)([1.0])
    with pytest.raises(TypeError, match="takes 1 positional argument|takes 1"):
        nd.callable(lambda x: x, "(float64, float64) -> float64")(1.0, 2.0)
    with pytest.raises((TypeError, ValueError)):
        nd.callable(lambda x: "text", "(float64) -> float64")(1.0)
    with pytest.raises((ValueError, OverflowError), match="1.5"):
        nd.callable(lambda x: 1.5, "(int64) -> int64")(1)
    with pytest.raises(ValueError, match=r"gave strided \* float64, where the result has shape \(2,\)"):
        nd.callable(lambda x: [1.0], "(N * float64) -> N * float64")([1.0, 2.0])
    with pytest.raises(TypeError, match="must give a tuple of 2 results"):
        nd.callable(lambda x: 1.0, "(float64) -> (float64, float64)")(1.0)


def test_a_failed_call_leaves_the_next_one_alone():
    f = nd.callable(lambda x: 1 // x, "(int64) -> int64")
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            f([1, 0])
        assert f([1, 1]).tolist() == [1, 1]
    assert sys.exc_info() == (None, None, None)


@pytest.mark.parametrize("at", [5, 150_000, 299_999])
@pytest.mark.parametrize("shape", [(300_000,), (500, 600)])
def test_one_of_many_calls_that_fails(shape, at, threads):
    """Its piece may be any: the ones after it are not run, and do not hide it."""
    x = np.ones(300_000)
    x[at] = 0
    x = x.reshape(shape)
    index = re.escape(str(tuple(int(i) for i in np.unravel_index(at, shape))))
    for rows in (nd.array(x), nd.asarray(np.asfortranarray(x)), nd.unflatten(nd.array(x.ravel()), np.full(1000, 300))):
        inverse = nd.callable(lambda v: 1.0 / v, "(float64) -> float64", name="inverse")
        with pytest.raises(ZeroDivisionError) as caught:
            inverse(rows)
        expected = index if rows.shape == shape else re.escape(str((at // 300, at % 300)))
        assert re.search(f"inverse: ZeroDivisionError .* at index {expected}", caught.value.__notes__[0])
        least = nd.callable(lambda row: 1.0 / min(row.tolist()), "(N * float64) -> float64", name="least")
        with pytest.raises(ZeroDivisionError):
            least(rows)


def test_a_failure_keeps_nothing_of_the_function_alive():
    """Its traceback has the frame, and that the variables."""
    class Local:
        pass

    def fails(x):
        local = Local()
        alive.append(weakref.ref(local))
        raise ValueError("no")

    alive = []
    for f, operand in ((nd.callable(fails, "(float64) -> float64"), 1.0), (nd.callable(fails, "(N * float64) -> float64"), [1.0])):
        try:
            f(operand)
        except ValueError:
            pass
    gc.collect()
    assert len(alive) >= 2 and [local() for local in alive] == [None] * len(alive)


def test_python_functions_on_python_threads():
    f = nd.callable(lambda x: x + 1, "(int64) -> int64")
    results = []
    def work():
        results.append(f(np.arange(2000)).tolist() == list(range(1, 2001)))
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results == [True] * 4


def test_nothing_is_kept_alive():
    def f(x):
        return x
    made = nd.callable(f, "(float64) -> float64")
    made([1.0])
    alive = weakref.ref(f)
    del f, made
    gc.collect()
    assert alive() is None


def make_cycle(kind, called):
    """A callable whose function holds it, in one of several ways; a weak reference to something that only they hold."""
    class Kept:
        pass
    kept = Kept()
    if kind == "closure":
        def function(x):
            kept.f = f
            return x
        f = nd.callable(function, "(float64) -> float64")
    elif kind == "rows":
        f = nd.callable(lambda row: (kept, f) and row.sum().tolist(), "(N * float64) -> float64")
    elif kind == "object":
        kept.__class__.__call__ = lambda self, x: x
        kept.f = f = nd.callable(kept, "(float64) -> float64")
    else:
        f = nd.callable("own")
        f.add(lambda x: (kept, f) and x, "(int32) -> int32")
        f.add(nd.callable(lambda x: (kept, f) and x, "(float64) -> float64"))
    if called:
        assert f(nd.array([1.5])).tolist() in ([1.5], 1.5)
    return weakref.ref(kept)


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("kind", ["closure", "rows", "object", "overload"])
def test_a_function_that_holds_its_own_callable_is_freed(kind, called):
    seen = make_cycle(kind, called)
    gc.collect()
    assert seen() is None


def test_a_function_that_another_owner_can_call_is_not_collected():
    def owners():
        f = nd.callable(lambda x: x + len(kept), "(float64) -> float64")
        kept = [f]
        other = nd.callable("other")
        other.add(f)
        return nd.kernel(f, ["float64"]), other
    kernel, other = owners()
    gc.collect()
    result = np.zeros(1)
    kernel(result, np.array([2.0]))
    assert result.tolist() == [3.0] and other(2.0).tolist() == 3.0


def test_collection_while_the_function_runs():
    def function(x):
        gc.collect()
        return x + len(kept)
    kept = [1.0]
    f = nd.callable(function, "(float64) -> float64")
    kept.append(f)
    row = nd.callable(lambda r: (gc.collect(), row) and len(r), "(N * float64) -> int64")
    assert f([1.0, 2.0]).tolist() == [3.0, 4.0] and row([[1.0], [2.0, 3.0]]).tolist() == [1, 2]


def test_finalizers_can_call_it():
    said = []

    class Last:
        def __del__(self):
            said.append(self.f(1.0).tolist())

    def make():
        last = Last()
        f = last.f = nd.callable(lambda x: (f, last) and x, "(float64) -> float64")
    make()
    gc.collect()
    assert said == [1.0]


@pytest.mark.parametrize("signature", ["(N * T) -> M * T", "float64", "(string) -> float64", "(float64 -> float64",
                                       "() -> float64", "(T, ...) -> T"])
def test_signatures_that_a_function_cannot_have(signature):
    with pytest.raises(TypeError):
        nd.callable(lambda *x: 1.0, signature)


def test_what_is_no_function():
    with pytest.raises(TypeError, match="expected a name or a function"):
        nd.callable(3, "(float64) -> float64")
    with pytest.raises(TypeError, match="takes a signature"):
        nd.callable(len)
    with pytest.raises(TypeError, match="a name alone has no signature"):
        nd.callable("add", "(float64) -> float64")


# ---- overloads ------------------------------------------------------------------------------------------------------

def test_callables_by_name_and_overloads():
    assert nd.callable("add")(1, 2).tolist() == 3 and nd.callable(nd.add) is nd.add
    f = nd.callable("fresh", doc="Its documentation.")
    assert f.signatures == [] and f.__name__ == "fresh"
    with pytest.raises(TypeError, match="fresh: it has no overloads"):
        f(1)
    f.add(lambda x: x + 1, "(int32) -> int32")
    f.add(lambda x: x * 2, "(float64) -> float64")
    f.add(nd.callable(lambda row: len(row), "(N * int8) -> int64"))
    assert f(1).tolist() == 2 and f(1.5).tolist() == 3.0
    assert f(nd.array([1, 2, 3], type="int8")).tolist() == 3          # more core dimensions are more specific
    assert "(float64) -> float64" in f.__doc__ and "Its documentation." in f.__doc__
    with pytest.raises(TypeError, match="ambiguous"):
        f.add(lambda x: x, "(int32) -> float64")
    with pytest.raises(TypeError) as caught:
        f("text")
    assert str(caught.value).count("\n") == 3 and "no overload takes (string)" in str(caught.value)
    with pytest.raises(TypeError, match="expected a callable, or a Python function and a signature"):
        f.add(3)
    with pytest.raises(TypeError, match="has no kernels of its own"):
        f.add(nd.multiply)


def test_operations_are_callables():
    assert [str(s) for s in nd.add.signatures] == ["(Number T, T) -> T"] or len(nd.add.signatures) > 1
    assert repr(nd.multiply) == "<callable multiply>" and pickle.loads(pickle.dumps(nd.multiply)) is nd.multiply
    assert str(inspect.signature(nd.multiply)) == "(a, b, /)" and "multiply(a, b, /)" in pydoc.plain(pydoc.render_doc(nd.multiply))
    with pytest.raises(TypeError, match="multiply: has no keyword x"):
        nd.multiply(1, 2, x=3)
    elementwise = [f for f in (getattr(nd, entry.name) for entry in nd.operations()) if type(f) is type(nd.add)]
    assert len(elementwise) > 90                                        # reductions are functions of their own
    for f in elementwise:
        assert nd.callable(f.__name__) is f and f.signatures != []
        assert all(ndt.type(str(signature)) == signature for signature in f.signatures)


# ---- C --------------------------------------------------------------------------------------------------------------

def test_a_function_of_a_library():
    hypot = nd.from_c("double hypot(double, double)", "libm.so.6")
    assert hypot([[3.0, 5.0], [8.0]], [[4.0], [15.0]]).tolist() == [[5.0, np.hypot(5, 4)], [17.0]]
    assert hypot(3, 4).tolist() == 5.0 and str(hypot.signatures[0]) == "(float64, float64) -> float64"
    assert nd.from_c("extern float fabsf(float x);", "libm.so.6")(nd.array([-1.5], type="float32")).tolist() == [1.5]
    assert nd.from_c("int abs(int)")([[-3, 4], [-5]]).tolist() == [[3, 4], [5]]
    assert nd.from_c("long long llabs(const long long value)")([-2 ** 40]).tolist() == [2 ** 40]
    assert nd.from_c("double _Complex cexp(double complex z)", "libm.so.6")([0j]).tolist() == [1 + 0j]
    assert nd.from_c("unsigned int htonl(uint32_t)")(nd.array([1], type="uint32")).tolist() == [1 << 24]
    large = nd.from_c("double fabs(double)", "libm.so.6")(-np.arange(300_000.0))
    assert np.array_equal(np.asarray(large), np.arange(300_000.0))


@pytest.mark.parametrize("prototype, kind, message", [
    ("double hypot(double, double", ValueError, "expected a prototype"), ("hypot", ValueError, "expected a prototype"),
    ("double frexp(double, int *)", TypeError, r"no type for 'int \*'"), ("struct tm f(int)", TypeError, "no type for 'struct tm'"),
    ("long double fabsl(long double)", TypeError, "no type for 'long double'"), ("double f(void)", TypeError, "without operands"),
    ("void abort(int)", TypeError, "no type for 'void'"), ("int printf(const char *, ...)", TypeError, "no type for"),
    ("double no_such_function(double)", ValueError, "there is no function 'no_such_function'"),
])
def test_prototypes_that_cannot_be_taken(prototype, kind, message):
    with pytest.raises(kind, match=f"from_c: .*{message}"):
        nd.from_c(prototype, "libm.so.6")


@pytest.mark.parametrize("made", [lambda: [1.0, 2.0], lambda: [], lambda: np.ones(2), lambda: nd.array([[1.0], [2.0]])])
def test_a_function_of_numbers_gives_one_number(made):
    f = nd.callable(lambda x: made() if x > 1 else x, "(float64) -> float64")
    with pytest.raises(ValueError, match=r"gave strided \* .*, where the result is one value of type float64 at index \(0, 1\)"):
        f([[1.0, 2.0], [3.0]])
    assert nd.callable(lambda x: np.float32(x), "(float64) -> float64")([1.5]).tolist() == [1.5]
    assert nd.callable(lambda x: nd.array(x), "(float64) -> float64")([1.5]).tolist() == [1.5]


def test_a_failure_in_calls_inside_of_calls():
    calls = []
    f = nd.callable("test_nested_failure")

    def nested(x):
        calls.append(x)
        if x == 40:
            raise ValueError("deep")
        return f(x + 1).tolist()
    f.add(nested, "(float64) -> float64")
    with pytest.raises(ValueError, match="deep"):
        f([30.0, 0.0])
    assert len(calls) <= 3 * 11
    rows = nd.callable("test_nested_failure_of_rows")

    def nested_rows(x):
        calls.append(x)
        if len(x) == 20:
            raise ValueError("long")
        return rows(nd.array([*x.tolist(), 1.0])).tolist()
    rows.add(nested_rows, "(N * float64) -> float64")
    calls.clear()
    with pytest.raises(ValueError, match="long") as caught:
        rows([[1.0], [1.0, 2.0]])
    assert len(calls) <= 3 * 20 and "at index (0,)" in str(caught.value.__notes__)
    with pytest.raises(ValueError, match=r"integer division by zero at index \(1,\)"):
        nd.callable(lambda x: (nd.array([1, 2]) // nd.array([1, 0])).sum(), "(float64) -> float64")(1.0)


def test_an_address_is_one():
    for bad in (0, -1, 2**64, True, 1.5, "a", None):
        with pytest.raises(TypeError, match="from_address: expected an address, not"):
            nd.from_address(bad, "(float64) -> float64")


def test_a_library_that_is_not_there():
    for bad, message in [(("double f(double)", 3), "expected the name of a library, not 3"), ((3,), "expected a prototype")]:
        with pytest.raises(TypeError, match=message):
            nd.from_c(*bad)
    with pytest.raises(ValueError, match="from_c: the library 'libnone.so.7' cannot be loaded"):
        nd.from_c("double f(double)", "libnone.so.7")


@pytest.mark.parametrize("signature, text", [
    ("(float64, *, k: int64 = 2) -> float64", "by their position"), ("(inout float64) -> float64", "by their position"),
    ("(N * float64) -> float64", "one number each, not N"), ("(T) -> T", "one number each, not T"),
])
def test_signatures_that_a_c_function_cannot_have(signature, text):
    with pytest.raises(TypeError, match=text):
        nd.from_address(ctypes.cast(ctypes.CDLL("libm.so.6").hypot, ctypes.c_void_p).value, signature)


def test_an_address():
    libm = ctypes.CDLL("libm.so.6")
    address = ctypes.cast(libm.cbrt, ctypes.c_void_p).value
    cbrt = nd.from_address(address, "(float64) -> float64", name="cbrt", doc="The cube root.", pure=True)
    libm.cbrt.restype, libm.cbrt.argtypes = ctypes.c_double, [ctypes.c_double]
    assert cbrt(ROWS).tolist() == [[libm.cbrt(x) for x in row] for row in ROWS] and "The cube root." in cbrt.__doc__
    for bad in (0, -1, "x", None, True):
        with pytest.raises(TypeError, match="expected an address"):
            nd.from_address(bad, "(float64) -> float64")
    for signature in ("(N * float64) -> float64", "(float64) -> (float64, float64)", "(string) -> float64", "(float16) -> float16"):
        with pytest.raises(TypeError, match="takes and gives one number each"):
            nd.from_address(address, signature)


def test_a_function_that_is_called_on_the_calling_thread_only():
    address = ctypes.cast(ctypes.CDLL(None).pthread_self, ctypes.c_void_p).value
    own = nd.from_address(address, "(int64) -> uint64", threads=False)
    before = nd.num_threads()
    nd.set_num_threads(4)
    for _ in range(10):
        assert nd.unique(own(nd.arange(1_000_000))).tolist() == [threading.get_ident()]
    nd.set_num_threads(before)


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(_elsewhere, "_compiler", lambda: None)
    assert nd.from_c("double hypot(double, double)", "libm.so.6")([3.0, 5.0], [4.0, 12.0]).tolist() == [5.0, 13.0]
    with pytest.raises(RuntimeError, match="complex numbers take a C compiler"):
        nd.from_c("double _Complex csqrt(double _Complex)", "libm.so.6")


def test_wrappers_are_compiled_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_elsewhere, "_kept", {})
    nd.from_c("double hypot(double, double)", "libm.so.6")
    nd.from_c("double atan2(double, double)", "libm.so.6")
    assert len(list((tmp_path / "dynd").glob("*.so"))) == 1
    monkeypatch.setattr(_elsewhere, "_kept", {})
    monkeypatch.setattr(_elsewhere.subprocess, "run", None)              # a second process finds it
    assert nd.from_c("double atan2(double, double)", "libm.so.6")(0.0, 1.0).tolist() == 0.0


def test_wrappers_of_another_compiler_or_another_abi_are_compiled_again(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def libraries():
        monkeypatch.setattr(_elsewhere, "_kept", {})
        assert nd.from_c("double hypot(double, double)", "libm.so.6")(3.0, 4.0).tolist() == 5.0
        return len(list((tmp_path / "cache" / "dynd").glob("*.so")))
    assert libraries() == 1
    compiler = tmp_path / "another_cc"
    compiler.symlink_to(_elsewhere._compiler())
    with monkeypatch.context() as changed:
        changed.setenv("CC", str(compiler))
        assert libraries() == 2
    for header in ("kernel.h", "callable.h"):
        headers = tmp_path / header
        shutil.copytree(_elsewhere._headers() / "dynd" / "abi", headers / "dynd" / "abi")
        with open(headers / "dynd" / "abi" / header, "a") as file:
            file.write("/* another version */\n")
        with monkeypatch.context() as changed:
            changed.setattr(_elsewhere, "_headers", lambda headers=headers: headers)
            before = libraries()
        assert before == 3 + (header == "callable.h")
    assert libraries() == 4


def test_functions_that_call_themselves_stop_before_the_stack_does():
    f = nd.callable(lambda x: float(f([x - 1])[0]) + 1 if x > 0 else 0.0, "(float64) -> float64")
    assert f([50.0]).tolist() == [50.0]
    with pytest.raises(RecursionError, match="through kernels more than 100 deep"):
        f([100000.0])
    assert f([50.0]).tolist() == [50.0]


def test_an_overload_of_an_operation_passes_its_exception_on():
    """Through the operator too, not only where the callable is called by its name."""
    def refuse(a, b):
        raise KeyError("original")

    kind = "{refused_re: int16}"
    nd.add.add(refuse, f"({kind}, {kind}) -> {kind}")
    a = nd.array([{"refused_re": 1}], type=f"strided * {kind}")
    for call in (lambda: a + a, lambda: nd.add(a, a), lambda: (a + a).eval()):
        with pytest.raises(KeyError, match="original") as caught:
            call()
        assert any("KeyError in the Python function" in note for note in caught.value.__notes__)


def test_empty_results_of_several_dimensions():
    """A list of no rows does not say how long they would be."""
    outer = nd.callable(lambda a, b: [[x * y for y in b.tolist()] for x in a.tolist()],
                        "(M * float64, N * float64) -> M * N * float64")
    for m, n in ((0, 3), (3, 0), (0, 0), (2, 3)):
        assert np.asarray(outer(np.ones(m), np.ones(n))).shape == (m, n)
    assert outer([[1.0], []], [2.0, 3.0]).tolist() == [[[2.0, 3.0]], []]
    cube = nd.callable(lambda x, n: [[]] * int(n), "(x: float64, n: int64) -> n * 0 * 2 * float64")
    assert np.asarray(cube(1.0, 3)).shape == (3, 0, 2)
    wrong = nd.callable(lambda x, n: [], "(x: float64, n: int64) -> n * 2 * float64")
    with pytest.raises(ValueError, match=r"gave strided \* float64, where the result has shape \(3, 2\)"):
        wrong(1.0, 3)


def test_help_of_a_callable_says_what_may_be_given_by_name():
    named = nd.callable(lambda x, y, *, n: x + y + n, "(x: float64, y: float64, *, n: int64 = 1) -> float64")
    assert str(inspect.signature(named)) == "(x, y, *, n=1)" and named(1.0, y=2.0).tolist() == 4.0
    mixed = nd.callable(lambda x, y: x - y, "(float64, y: float64) -> float64")
    assert str(inspect.signature(mixed)) == "(a, /, y)" and mixed(3.0, y=1.0).tolist() == 2.0
    special = nd.callable(lambda x, *, a, b, c: x, "(x: float64, *, a: float64 = nan, b: float64 = inf, c: float64 = -inf) -> float64")
    assert str(inspect.signature(special)) == "(x, *, a=nan, b=inf, c=-inf)"
    assert "at once" not in nd.from_c("double hypot(double, double)", "libm.so.6", pure=True).__doc__   # it may be lazy


@pytest.mark.parametrize("name, message", [("sum", "nd.sum is a function of its own"), ("matmul", "nd.matmul is a function of its own"),
                                           ("a b", "'a b' cannot be a name"), ("", "'' cannot be a name")])
def test_a_new_callable_has_a_new_name(name, message):
    with pytest.raises(ValueError, match=f"callable: {message}"):
        nd.callable(name)


@pytest.mark.parametrize("what", ["name", "doc"])
def test_names_are_text(what):
    for call in (lambda **given: nd.from_address(1, "(float64) -> float64", **given),
                 lambda **given: nd.callable(len, "(float64) -> float64", **given)):
        with pytest.raises(TypeError, match=f": {what} must be text, not 3"):
            call(**{what: 3})
