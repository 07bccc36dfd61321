"""NumPy in and out without a copy, content with offsets, and what must be refused."""

import ctypes
import gc
import random
import weakref

import numpy as np
import pytest

import oracle
import plugin_support
from dynd import nd, ndt
from support import numpy_layout

# ---- NumPy to us


@pytest.mark.parametrize("scalar", oracle.SCALARS)
def test_asarray_is_a_view_of_every_type_and_layout(scalar):
    rng = random.Random(1)
    for shape in [(), (5,), (2, 3), (3, 1, 4), (0, 3), (2, 0)]:
        plain = numpy_layout(rng, np.arange(int(np.prod(shape)), dtype="int64").astype(scalar).reshape(shape))
        array = nd.asarray(plain)
        assert array.shape == shape
        assert str(nd.type_of(array)) == " * ".join(["strided"] * len(shape) + [scalar])
        assert array.tolist() == plain.tolist()
        if plain.size:
            plain[...] = 1
            assert array.tolist() == plain.tolist()


def test_writing_through_a_view():
    plain = np.arange(6, dtype="int32").reshape(2, 3)
    array = nd.asarray(plain)
    assert array.access == "readwrite"
    array[1, ::2] = 100
    assert plain.tolist() == [[0, 1, 2], [100, 4, 100]]


def test_read_only_memory_stays_read_only():
    plain = np.arange(4)
    plain.flags.writeable = False
    array = nd.asarray(plain)
    assert array.access != "readwrite"
    with pytest.raises((ValueError, TypeError)):
        array[0] = 5
    assert plain.tolist() == [0, 1, 2, 3]


def without_writing(x):
    x.flags.writeable = False
    return x


NUMPY_VIEWS = {
    "its own": lambda x: x,
    "not writable": without_writing,
    "a view of what is not writable": lambda x: without_writing(x)[1:],
    "what is not writable of what is": lambda x: without_writing(x[1:]),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.zeros((2, 1, 1)))[0],
    "broadcast_arrays, of its own shape": lambda x: np.broadcast_arrays(x, x)[0],
    "a part of broadcast_arrays": lambda x: np.broadcast_arrays(x, np.zeros((2, 1, 1)))[0][1:],
    "diagonal": lambda x: x.diagonal(),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 0),
    "as_strided": lambda x: np.lib.stride_tricks.as_strided(x, (2,), (x.strides[0],)),
    "bytes": lambda x: np.frombuffer(x.tobytes(), x.dtype),
    "bytearray": lambda x: np.frombuffer(bytearray(x.tobytes()), x.dtype),
    "the real part": lambda x: x.real,
    "other bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "not writable, other bytes": lambda x: without_writing(x.astype(x.dtype.newbyteorder())),
    "a field": lambda x: np.zeros(3, [("a", x.dtype), ("b", "i2")])["a"],
    "a field of what is not writable": lambda x: without_writing(np.zeros(3, [("a", x.dtype), ("b", "i2")]))["a"],
    "records": lambda x: np.zeros(3, [("a", x.dtype), ("b", "i2")]),
    "records that are not writable": lambda x: without_writing(np.zeros(3, [("a", x.dtype), ("b", "i2")])),
    "one number": lambda x: x[0, 0, ...],
}


@pytest.mark.parametrize("view", NUMPY_VIEWS)
@pytest.mark.parametrize("dtype", ["f8", "i4", "c16", "?"])
def test_what_numpy_lets_be_written_can_be(view, dtype):
    """And nothing else: what warns of being written is lent to be read only."""
    plain = NUMPY_VIEWS[view](np.ones((3, 4), dtype))
    writable = not memoryview(plain).readonly if plain.dtype.isnative and plain.dtype.names is None else plain.flags.writeable
    array = nd.asarray(plain)
    assert array.access == ("readwrite" if writable else "readonly")
    before = plain.tolist()
    if writable:
        array[...] = nd.asarray(np.zeros_like(plain))
        assert plain.tolist() == np.zeros_like(plain).tolist()
    else:
        with pytest.raises(TypeError, match="readonly"):
            array[...] = array
        assert plain.tolist() == before


def test_a_view_keeps_its_memory_alive():
    plain = np.arange(1000)
    gone = weakref.ref(plain)
    array = nd.asarray(plain)
    part = array[10:20]
    del plain, array
    gc.collect()
    assert gone() is not None
    assert part.tolist() == list(range(10, 20))
    del part
    gc.collect()
    assert gone() is None


def test_array_copies():
    plain = np.arange(6, dtype="float32").reshape(2, 3)
    array = nd.array(plain)
    plain[...] = 0
    assert array.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert str(nd.type_of(array)) == "strided * strided * float32"
    assert array.access == "immutable"


def test_asarray_of_our_own_array_is_that_array():
    array = nd.array([[1, 2], [3]], access="rw")
    again = nd.asarray(array)
    array[0, 0] = 10
    assert again.tolist() == [[10, 2], [3]]


def test_numpy_arrays_are_operands():
    array, plain = nd.array([1, 2, 3]), np.array([10, 20, 30], dtype="int32")
    assert nd.add(array, plain).tolist() == [11, 22, 33]
    assert (array + plain).tolist() == [11, 22, 33]
    rows = nd.array([[1, 2], [3]])
    assert (rows * np.array([[2], [5]], dtype="int32")).tolist() == [[2, 4], [15]]


def test_numpy_scalars_are_operands():
    array = nd.array([1.0, 2.0], type="strided * float32")
    assert (array + np.float32(0.5)).tolist() == [1.5, 2.5]
    assert str(nd.type_of(array + np.float64(0.5))) == "strided * float64"


def test_the_address_may_be_odd():
    memory = np.frombuffer(bytearray(8 * 100 + 3), np.uint8)[3:].view("float64")
    memory[...] = np.arange(100)
    array = nd.asarray(memory)
    assert not memory.flags.aligned
    assert (array + array).tolist() == (memory + memory).tolist()
    assert array.sum() == 4950.0
    assert (array[::-1] * array).tolist() == (memory[::-1] * memory).tolist()


def test_records_are_strides():
    """A field of a NumPy structured array: a stride that is not a multiple of the element."""
    table = np.zeros(50, dtype=[("a", "i1"), ("b", "f8"), ("c", "i2")])
    table["b"], table["c"] = np.arange(50), np.arange(50) * 2
    b, c = nd.asarray(table["b"]), nd.asarray(table["c"])
    assert (b + c).tolist() == [3.0 * i for i in range(50)]
    b[...] = 7.0
    assert table["b"].tolist() == [7.0] * 50 and table["c"].tolist() == [2 * i for i in range(50)]


@pytest.mark.parametrize(
    "plain",
    [
        np.array([1.0], dtype="longdouble"),
        np.array([1.0], dtype="clongdouble"),
        np.array(["text"]),
        np.array([None]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([1], dtype="timedelta64[s]"),
        np.zeros(2, dtype=[("a", "M8[D]")]),
        np.ma.array([1, 2], mask=[False, True]),
    ],
    ids=lambda plain: str(plain.dtype),
)
def test_types_we_do_not_have(plain):
    for call in (nd.asarray, lambda x: nd.add(nd.array([1, 2]), x), lambda x: nd.from_offsets(np.array([0, 1]), x)):
        with pytest.raises(TypeError):
            call(plain)


# ---- us to NumPy


@pytest.mark.parametrize("scalar", oracle.SCALARS)
def test_numpy_sees_every_type(scalar):
    values = [[0, 1, 1], [1, 0, 1]]
    plain = np.asarray(nd.array(values, type=f"strided * strided * {scalar}"))
    assert plain.dtype.name == scalar and plain.shape == (2, 3)
    assert plain.tolist() == np.array(values, dtype=scalar).tolist()


def test_numpy_sees_views_without_a_copy():
    array = nd.array([[1, 2, 3], [4, 5, 6]], access="rw")
    plain, turned = np.asarray(array), np.asarray(array.T[::-1])
    plain[0, 0] = 10
    assert array.tolist() == [[10, 2, 3], [4, 5, 6]]
    assert turned.tolist() == [[3, 6], [2, 5], [10, 4]]
    assert np.shares_memory(plain, turned)


def test_what_is_immutable_is_read_only_to_numpy():
    for array in (nd.array([1, 2, 3]), nd.array([1, 2, 3])[::-1], nd.array([1, 2]) + 1):
        plain = np.asarray(array)
        assert not plain.flags.writeable
        with pytest.raises(ValueError):
            plain[0] = 5
        with pytest.raises(ValueError):
            plain.flags.writeable = True


def test_numpy_keeps_our_memory_alive():
    plain = np.asarray(nd.array(list(range(10_000))) + 1)
    gc.collect()
    [nd.array(list(range(10_000))) + i for i in range(5)]
    assert plain.tolist() == list(range(1, 10_001))


def test_array_protocol_arguments():
    array = nd.array([1, 2, 3])
    assert np.asarray(array, dtype="float64").dtype == "float64"
    copy = np.array(array)
    copy[0] = 10
    assert array.tolist() == [1, 2, 3]
    assert np.asarray(nd.array(5)).shape == ()
    assert np.asarray(nd.array([[1, 2], [3]])[0]).tolist() == [1, 2]


def test_ragged_is_no_numpy_array():
    with pytest.raises((TypeError, ValueError)) as caught:
        np.asarray(nd.array([[1, 2], [3]]))
    assert "var" in str(caught.value) or "ragged" in str(caught.value)


# ---- content and offsets


def test_from_offsets():
    array = nd.from_offsets(np.array([0, 2, 2, 5]), np.array([1, 2, 3, 4, 5], dtype="int32"))
    assert array.tolist() == [[1, 2], [], [3, 4, 5]]
    assert str(nd.type_of(array)) == "strided * var * int32"
    assert (array + array).tolist() == [[2, 4], [], [6, 8, 10]]
    assert array.sum(axis=1).tolist() == [3, 0, 12]


def test_offsets_need_not_cover_the_content():
    content = np.arange(10.0)
    assert nd.from_offsets(np.array([3, 5, 9]), content).tolist() == [[3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    assert nd.from_offsets(np.array([0]), content).tolist() == []
    assert nd.from_offsets(np.array([10, 10]), content).tolist() == [[]]
    assert nd.from_offsets(np.array([0, 0]), np.array([], dtype="int8")).tolist() == [[]]


def test_content_may_have_a_shape_and_a_layout():
    content = np.arange(12, dtype="int16").reshape(6, 2)
    array = nd.from_offsets(np.array([0, 1, 6]), content)
    assert str(nd.type_of(array)) == "strided * var * strided * int16"
    assert array.tolist() == [content[:1].tolist(), content[1:].tolist()]
    back = content[::-1, ::-1]
    array = nd.from_offsets(np.array([0, 4, 6]), back)
    assert array.tolist() == [back[:4].tolist(), back[4:].tolist()]
    assert (array + array).tolist() == [(back[:4] * 2).tolist(), (back[4:] * 2).tolist()]
    assert array.sum(axis=1).tolist() == [back[:4].sum(axis=0).tolist(), back[4:].sum(axis=0).tolist()]


def test_content_may_be_our_own_and_ragged():
    inner = nd.from_offsets(np.array([0, 2, 3, 3]), np.array([1, 2, 3]))
    array = nd.from_offsets(np.array([0, 1, 3]), inner)
    assert array.tolist() == [[[1, 2]], [[3], []]]
    assert str(nd.type_of(array)) == "strided * var * var * int64"
    assert nd.from_offsets(np.array([0, 1, 3]), nd.array([1, 2, 3])).tolist() == [[1], [2, 3]]


def test_content_is_a_view():
    content = np.arange(6)
    array = nd.from_offsets(np.array([0, 2, 6]), content)
    content[0] = 100
    assert array.tolist() == [[100, 1], [2, 3, 4, 5]]


def test_later_writes_to_the_offsets_are_harmless():
    offsets, content = np.array([0, 2, 4]), np.arange(4)
    array = nd.from_offsets(offsets, content)
    offsets[:] = [0, 10**9, 2 * 10**9]
    assert array.tolist() == [[0, 1], [2, 3]]
    assert array.sum() == 6


def test_offsets_keep_the_content_alive():
    array = nd.from_offsets(np.arange(0, 1001, 10), np.arange(1000))
    gc.collect()
    assert array[99].tolist() == list(range(990, 1000))


@pytest.mark.parametrize(
    "offsets",
    [[0, 3, 2, 5], [0, 2, 6], [-1, 2, 5], [0, 2, 2**62], [5, 0], [-5, -2], [0, -1, 5], [2**62, 2**63 - 1]],
)
def test_bad_offsets(offsets):
    content = np.arange(5)
    with pytest.raises((ValueError, IndexError)) as caught:
        nd.from_offsets(np.array(offsets, dtype="int64"), content)
    assert "offset" in str(caught.value)
    assert content.tolist() == [0, 1, 2, 3, 4]


def test_bad_offsets_say_where():
    with pytest.raises((ValueError, IndexError)) as caught:
        nd.from_offsets(np.array([0, 1, 4, 3, 5]), np.arange(5))
    assert "3" in str(caught.value) and "4" in str(caught.value)


@pytest.mark.parametrize(
    "offsets", [np.array([0.0, 1.0]), np.array([[0, 1]]), np.array([], dtype="int64"), np.array(0), None, "01"]
)
def test_offsets_that_are_none(offsets):
    with pytest.raises((TypeError, ValueError)):
        nd.from_offsets(offsets, np.arange(5))


def test_content_that_is_none():
    for content in (None, "text", np.array(5), object()):
        with pytest.raises((TypeError, ValueError)):
            nd.from_offsets(np.array([0, 1]), content)


def test_a_mask_is_not_lost():
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    for call in (nd.asarray, lambda x: nd.array([1.0, 2.0, 3.0]) + x, lambda x: nd.array([x]), nd.sum):
        for value in (masked, masked[::2], np.ma.masked, np.ma.array([1])):
            with pytest.raises(TypeError, match="masked array .* would lose its mask; pass x.filled"):
                call(value)
    assert nd.array(masked).tolist() == [1.0, None, 3.0] and nd.array(np.ma.masked).tolist() is None
    assert nd.asarray(masked.filled(0)).tolist() == [1.0, 0.0, 3.0]
    assert nd.asarray(masked.mask).tolist() == [False, True, False]


def test_buffers_without_strides():
    values = (ctypes.c_double * 3)(1, 2, 3)
    assert nd.asarray(values).tolist() == [1.0, 2.0, 3.0]
    assert (nd.array([1.0, 1.0, 1.0]) + values).tolist() == [2.0, 3.0, 4.0]
    assert nd.asarray(((ctypes.c_int32 * 2) * 3)()).shape == (3, 2)


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (2, 3), (0, 3), (2, 3, 4), (2, 1, 3)])
def test_buffers_lie_as_the_consumer_asks(shape):
    """PyObject_GetBuffer with each order that can be asked for, against NumPy's own answer."""
    def answers(owner):
        def answer(flags):
            view = ctypes.create_string_buffer(256)                              # a Py_buffer has 80 bytes
            try:
                ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(owner), view, flags)
            except (BufferError, ValueError):                                    # NumPy raises ValueError
                return False
            ctypes.pythonapi.PyBuffer_Release(view)
            return True
        strides = 0x10 | 0x08
        return [answer(flags) for flags in (0, 0x08, strides, 0x20 | strides, 0x40 | strides, 0x80 | strides)]

    a = np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    for view in (a, a.T, a[..., ::-1] if shape else a, a[:1] if shape else a, a[..., 1:] if shape else a):
        assert answers(nd.asarray(view)) == answers(view), view.strides


def test_lists_of_arrays():
    rows = [np.array([1.5], "float32"), np.array([2.5, 3.5], "float32"), []]
    assert repr(nd.array(rows)) == 'nd.array([[1.5], [2.5, 3.5], []], type="strided * var * float32")'
    assert repr(nd.array([nd.array([1, 2]), nd.array([3])])) == 'nd.array([[1, 2], [3]], type="strided * var * int32")'
    assert repr(nd.array([range(2), range(3)])) == 'nd.array([[0, 1], [0, 1, 2]], type="strided * var * int32")'
    assert str(nd.array([np.int8(1), 2]).type) == "strided * int8"
    assert str(nd.array([np.int8(1), 2.5]).type) == "strided * float64"


def test_offsets_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="from_offsets: offsets must be one-dimensional int64 or int32"):
        nd.from_offsets(["a"], [1.0])


@pytest.mark.parametrize("one", [np.datetime64(1, "s"), np.timedelta64(1, "s"), np.datetime64("NaT")])
def test_dates_and_durations_are_not_their_bytes(one):
    """Their buffer is eight plain bytes."""
    a, w = nd.array([1, 2]), nd.array([1, 2], access="rw")
    calls = [nd.asarray, nd.array, lambda x: nd.array([x]), lambda x: nd.array([[1], [x]])]
    calls += [lambda x: nd.array({"x": x})]
    calls += [lambda x: a + x, lambda x: x + a, lambda x: a == x, lambda x: nd.add(a, x), nd.sum, lambda x: a + [x]]
    calls += [lambda x: nd.assign(w, x), lambda x: nd.assign(w, [x, x]), lambda x: nd.array([x], type="int64")]
    for call in calls:
        with pytest.raises(TypeError):
            call(one)
    assert w.tolist() == [1, 2]


def test_what_an_object_says_of_its_dtype_is_not_believed():
    class Liar:
        dtype = np.dtype("f8")
        shape, strides, nbytes = (100,), (8,), 800

        def __array__(self, dtype=None, copy=None):
            return np.array([1, 2, 3], "i1")

    class Bytes(bytearray):
        dtype = np.dtype([("x", ">f8"), ("y", ">f8")])

    assert repr(nd.asarray(Liar())) == 'nd.array([1, 2, 3], type="strided * int8")'
    assert nd.asarray(Bytes(b"abc")).tolist() == nd.array(Bytes(b"abc")).tolist() == [97, 98, 99]


NUMBERS = ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_list_of_numpy_scalars_keeps_their_type_and_values(name):
    values = np.array([0, 1, 1, 0, 1]).astype(name)
    made = nd.array(list(values))
    assert made.type == ndt.type("strided * " + name)
    assert made.tolist() == values.tolist()
    assert nd.array([list(values), list(values[:2])]).tolist() == [values.tolist(), values[:2].tolist()]


def test_numpy_scalars_of_two_types_are_promoted_and_beside_python_numbers_they_win():
    assert nd.array([np.int8(1), np.float32(2)]).type == ndt.type("strided * float32")
    assert nd.array([np.float32(1), 2.5]).type == ndt.type("strided * float32")
    assert nd.array([np.int8(1), 2.5]).type == ndt.type("strided * float64")
    assert nd.array([np.int16(1), None]).tolist() == [1, None]
    with pytest.raises(OverflowError, match=r"300 to int8 at index .1,"):
        nd.array([np.int16(3), np.int16(300)], type="int8")


def test_a_numpy_scalar_whose_type_a_program_made_is_read_by_its_own_methods():
    class mine(np.float64):
        pass

    assert nd.array([mine(1.5), mine(2.5)]).tolist() == [1.5, 2.5]


def test_a_numpy_scalar_without_a_type_of_ours_is_refused():
    with pytest.raises(TypeError, match="float128"):
        nd.array([np.longdouble(1)])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0,), (0, 3), (2, 0)])
@pytest.mark.parametrize("name", ["int16", "float64", "bool"])
def test_a_list_of_arrays_is_what_their_lists_are(shape, name):
    part = np.ones(shape, dtype=name)
    for parts in ([part, part], [part[::-1], nd.array(part)], [part, part.tolist()]):
        lists = [p if isinstance(p, list) else p.tolist() for p in parts]
        assert nd.array(parts).tolist() == lists
        if name != "bool":
            assert nd.array(parts, type="float64").tolist() == lists
    assert nd.array([part, part]).type == ndt.type("strided * " * (len(shape) + 1) + name)


def test_a_list_of_arrays_of_unequal_lengths_is_ragged():
    parts = [np.arange(3.0), np.arange(6)[::2], np.array([], dtype="int8"), [1.5]]
    assert nd.array(parts).tolist() == [[0, 1, 2], [0, 2, 4], [], [1.5]]
    assert nd.array(parts).type == ndt.type("strided * var * float64")
    assert nd.array([np.ones((2, 2)), np.ones((1, 3))]).tolist() == [[[1, 1], [1, 1]], [[1, 1, 1]]]
    with pytest.raises(ValueError, match="depths"):
        nd.array([np.ones(2), np.ones((2, 2))])
    with pytest.raises(OverflowError, match=r"at index \(1, 2\)"):
        nd.array([[1, 2, 3], np.arange(254, 257)], type="uint8")


LENDER = """
#include <stddef.h>
typedef struct { void *buf, *obj; ptrdiff_t len, itemsize; int readonly, ndim; char *format; } view;
extern void PyErr_SetNone(void *kind), *PyExc_KeyboardInterrupt, *PyExc_MemoryError, *PyExc_BufferError;
extern int PyBuffer_FillInfo(void *v, void *object, void *memory, ptrdiff_t size, int readonly, int flags);
static int fails(view *v, void *kind) { v->obj = NULL; PyErr_SetNone(kind); return -1; }
int stopped(void *o, view *v, int flags) { return fails(v, PyExc_KeyboardInterrupt); }
int exhausted(void *o, view *v, int flags) { return fails(v, PyExc_MemoryError); }
int refuses(void *o, view *v, int flags) { return fails(v, PyExc_BufferError); }
int odd(void *o, view *v, int flags) {
  static char memory[64];
  int failed = PyBuffer_FillInfo(v, o, memory, 64, 1, 0);
  v->format = "b";
  v->itemsize = 0;
  return failed;
}
"""


@pytest.fixture(scope="module")
def lender(tmp_path_factory):
    """A class whose objects lend their memory by a function of C: before Python 3.12 no other class can."""
    library = ctypes.CDLL(str(plugin_support.build(tmp_path_factory.mktemp("lender"), "lender", LENDER, common="")))

    def make(function):
        made = type("Lender", (), {"__len__": lambda self: 1})
        as_buffer = ctypes.c_void_p.from_address(id(made) + 160)  # tp_as_buffer, of a class that has room for one
        ctypes.c_void_p.from_address(as_buffer.value).value = ctypes.cast(library[function], ctypes.c_void_p).value
        return made()

    return make


@pytest.mark.parametrize("call", [nd.asarray, nd.array, lambda x: nd.array([1, 2]) + x, lambda x: nd.array([1, 2])[x], lambda x: nd.array([[1], x])])
def test_what_an_object_that_lends_its_memory_raises_is_raised(lender, call):
    for function, kind in (("stopped", KeyboardInterrupt), ("exhausted", MemoryError), ("refuses", (TypeError, IndexError)), ("odd", (TypeError, IndexError))):
        with pytest.raises(kind):
            call(lender(function))
