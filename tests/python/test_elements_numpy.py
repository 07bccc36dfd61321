"""NumPy's records, byte orders, texts and masked arrays, in and out."""

import gc
import sys

import numpy as np
import pytest
from dynd import nd, ndt


def test_records_are_a_view():
    inner = np.dtype([("c", ">f8"), ("d", "i2", (2, 3))])
    dtype = np.dtype([("a", "i1"), ("b", inner), ("e", "?")], align=True)
    table = np.zeros((2, 3), dtype=dtype)
    table["a"], table["b"]["c"] = np.arange(6).reshape(2, 3), 1.5
    table["b"]["d"] = np.arange(36).reshape(2, 3, 2, 3)
    for plain in (table, table.T, table[::-1, ::2], table[:, :0]):
        array = nd.asarray(plain)
        assert nd.type_of(array) == (
            "strided * strided * {a: int8, b: {c: byteswap[float64], d: 2 * 3 * int16}, e: bool}"
        )
        assert array.shape == plain.shape
        assert array["a"].tolist() == plain["a"].tolist()
        assert array["b"]["c"].tolist() == plain["b"]["c"].tolist()
        assert array["b"]["d"].tolist() == plain["b"]["d"].tolist()
        copy = nd.array(plain)
        assert nd.type_of(copy) == "strided * strided * {a: int8, b: {c: float64, d: 2 * 3 * int16}, e: bool}"
        assert copy.tolist() == array.tolist() and copy.access == "immutable"
        again = np.asarray(array)
        assert again.shape == plain.shape and again.dtype == [("a", "i1"), ("b", inner), ("e", "?")]
        assert nd.asarray(again).tolist() == array.tolist()
    array = nd.asarray(table)
    table["a"][0, 0] = 100
    assert array["a"][0, 0] == 100
    array["a"] = 5
    array["b"]["c"] = 2.5
    assert (table["a"] == 5).all() and (table["b"]["c"] == 2.5).all()


def test_records_keep_their_memory_alive_and_read_only():
    table = np.arange(1000).astype([("x", "i8")])
    table.flags.writeable = False
    references = sys.getrefcount(table)
    array = nd.asarray(table)
    assert array.access == "readonly" and sys.getrefcount(table) > references
    with pytest.raises(TypeError):
        array["x"] = 1
    del array
    assert sys.getrefcount(table) == references
    array = nd.asarray(np.arange(1000).astype([("x", "i8")]))
    gc.collect()
    assert array["x"].tolist() == list(range(1000))


def test_fields_may_lie_anywhere():
    dtype = np.dtype({"names": ["b", "a"], "formats": ["<u2", "<u4"], "offsets": [0, 0], "itemsize": 7})
    table = np.zeros(3, dtype)
    table["a"] = [1, 65536 + 2, 3]
    assert nd.asarray(table).tolist() == [{"b": 1, "a": 1}, {"b": 2, "a": 65538}, {"b": 3, "a": 3}]
    assert nd.asarray(table[0]).tolist() == {"b": 1, "a": 1}


@pytest.mark.parametrize("code", [">i2", ">i4", ">u8", ">f2", ">f4", ">f8", ">c8", ">c16"])
def test_the_other_byte_order(code):
    plain = np.arange(-3, 9).astype(code).reshape(3, 4)[:, ::2]
    array = nd.asarray(plain)
    assert nd.type_of(array).dtype == ndt.type(f"byteswap[{plain.dtype.newbyteorder('=').name}]")
    assert array.tolist() == plain.tolist()
    back = np.asarray(array)
    assert back.dtype == plain.dtype and np.shares_memory(back, plain) and (back == plain).all()
    copy = nd.array(plain)
    assert str(nd.type_of(copy).dtype) == plain.dtype.newbyteorder("=").name and copy.tolist() == plain.tolist()


def test_texts_of_numpy():
    assert repr(nd.array(np.array([["ab", ""], ["é", "漢"]]))).startswith('nd.array([["ab", ""], ["é", "漢"]], type="strided *')
    assert nd.array(np.array([b"ab", b"c"])).tolist() == [b"ab", b"c"]
    table = np.array([("n", 1.5), ("mm", 2.5)], dtype=[("name", "U4"), ("v", "f4")])
    assert nd.array(table).tolist() == [{"name": "n", "v": 1.5}, {"name": "mm", "v": 2.5}]
    assert nd.array(np.zeros((0, 3), "U4")).shape == (0, 3)
    for plain in (np.array(["ab"]), table):
        with pytest.raises(TypeError, match="nd.array copies them"):
            nd.asarray(plain)


def test_masked_arrays_of_numpy():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]], dtype="i2")
    assert repr(nd.array(masked)) == 'nd.array([[1, None], [3, 4]], type="strided * strided * ?int16")'
    assert nd.array(np.ma.array([1.5])).tolist() == [1.5]
    for call in (nd.asarray, lambda m: nd.array([1, 2]) + m):
        with pytest.raises(TypeError, match="masked"):
            call(masked)


@pytest.mark.parametrize("plain", [np.array([None]), np.array([1], "M8[D]"), np.array([1], "m8[s]")])
def test_dtypes_we_do_not_have(plain):
    for call in (nd.asarray, nd.array):
        with pytest.raises(TypeError, match="no type for elements of NumPy's dtype"):
            call(plain)


def test_numpy_sees_texts_as_objects():
    plain = np.asarray(nd.array([["a", "bc"], ["é", ""]]))
    assert plain.dtype == object and plain.tolist() == [["a", "bc"], ["é", ""]]
    plain = np.asarray(nd.array([{"x": 1, "s": "a"}]))
    assert plain.dtype == [("x", "i4"), ("s", "O")] and plain.tolist() == [(1, "a")]
    plain = np.asarray(nd.array([(1, 2.5)], type="(int8, float32)"))
    assert plain.dtype == [("f0", "i1"), ("f1", "f4")] and plain.tolist() == [(1, 2.5)]
    plain = np.asarray(nd.array([((1, "a"), b"b")], type="((int8, string), bytes)"))
    assert plain.tolist() == [((1, "a"), b"b")]
    assert np.asarray(nd.array([], type="strided * {x: int8, s: string}")).shape == (0,)
    assert np.asarray(nd.array({"x": 1, "s": "a"})).tolist() == (1, "a")
    with pytest.raises(ValueError, match="copy"):
        np.asarray(nd.array(["a"]), copy=False)


@pytest.mark.parametrize("values", [[1, None], [{"x": [1]}], [{"x": None}, {"x": 1}]])
def test_what_numpy_has_no_form_for(values):
    with pytest.raises(TypeError, match=r"has no NumPy form because of .*tolist\(\)"):
        np.asarray(nd.array(values))


def lists_of_arrays():
    """Arrays of NumPy that are read from their fields, and some that say otherwise what they have."""
    rng = np.random.default_rng(4)
    for code in "?bBhHiIlLqQefdFD":
        base = rng.integers(0, 2 if code == "?" else 100, (4, 6)).astype(code)
        yield [base[0], base[1, ::-1], base[:3].reshape(-1)[::3]]
        yield [base, base.copy(order="F"), base[:, ::-1]]
        yield [base[:, :0], base[:, :0]]
        yield [base[:0], base[:0]]
    yield [np.arange(3.0), np.arange(3, dtype=np.dtype("int16", metadata={"a": 1}))]
    yield [np.arange(3.0), np.arange(3, dtype=">i4")]
    yield [np.arange(3.0), np.arange(3.0).view(np.recarray)]
    yield [np.arange(3), [1, 2, 3], np.array(range(3), dtype=np.longlong)]


@pytest.mark.parametrize("arrays", list(lists_of_arrays()), ids=str)
def test_lists_of_numpy_arrays(arrays):
    array, expected = nd.array(arrays), np.array(arrays)
    assert array.shape == expected.shape
    assert np.asarray(array).dtype == expected.dtype.newbyteorder("=")
    assert np.array_equal(np.asarray(array), expected)
    for one in arrays:
        if isinstance(one, np.ndarray) and one.dtype.isnative:
            view = nd.asarray(one)
            assert np.array_equal(np.asarray(view), one) and np.shares_memory(np.asarray(view), one) == (one.size > 0)


@pytest.mark.parametrize("step", [2, 3, -1, -2, 0])
@pytest.mark.parametrize("own, wanted", [("f8", "float64"), ("i2", "float32"), ("u1", "complex128"), ("?", "int8")])
def test_lists_of_long_rows_with_gaps(own, wanted, step):
    """Such numbers are gathered some hundreds at a time, from where the ones before end."""
    for n in (511, 512, 513, 1024, 1025, 3000):
        base = np.random.default_rng(n).integers(0, 2 if own == "?" else 100, (2, 3 * n)).astype(own)
        rows = np.broadcast_to(base[:, :1], (2, n)) if step == 0 else base[:, ::step][:, :n]
        expected = rows.astype(wanted)
        assert np.array_equal(np.asarray(nd.array(list(rows))), rows)
        for dims in ("strided * strided", "strided * var"):
            assert nd.array(list(rows), type=f"{dims} * {wanted}").tolist() == expected.tolist(), (n, dims)
        assert nd.array([rows, rows], type=f"2 * var * var * {wanted}").tolist() == [expected.tolist()] * 2, n


def test_arrays_that_are_read_only_stay_so():
    base = np.arange(4)
    assert nd.asarray(base).access == "readwrite"
    base.setflags(write=False)
    assert nd.asarray(base).access == "readonly"
    assert nd.asarray(np.broadcast_to(np.arange(3), (2, 3))).access == "readonly"
    stretched, _ = np.broadcast_arrays(np.arange(3), np.zeros((2, 3)))  # NumPy warns where it is written
    assert nd.asarray(stretched).access == "readonly"


def test_a_part_of_what_is_read_only_is_a_view():
    """Another owner may write it."""
    base = np.arange(6.0)
    shown = base.view()
    shown.setflags(write=False)
    array = nd.asarray(shown)
    parts = [array[1:3], array[::2], array[2:2], array[1:], array[...]]
    base[:] = 7
    assert [part.tolist() for part in parts] == [[7.0] * n for n in (2, 3, 0, 5, 6)]


def test_a_view_keeps_the_array_alive():
    base = np.arange(1000.0)
    before = sys.getrefcount(base)
    view = nd.asarray(base)
    assert sys.getrefcount(base) == before + 1
    with pytest.raises(ValueError):
        base.resize(2000)
    del view
    assert sys.getrefcount(base) == before


def test_texts_and_masked_arrays_of_numpy_in_a_whole_type():
    texts = np.array([["a", "bc"], ["", "d"]])
    for type in ("strided * strided * string", "strided * var * string", "2 * 2 * ?string"):
        array = nd.array(texts, type=type)
        assert nd.type_of(array) == type and array.tolist() == texts.tolist()
    empty = nd.array(texts[:0], type="strided * strided * string")
    assert empty.shape == (0, 2)
    masked = np.ma.array([1, 2], mask=[False, True])
    assert nd.array(masked, type="strided * ?int32").tolist() == [1, None]
    with pytest.raises(ValueError, match="a list of length 2 does not fit size 3"):
        nd.array(texts, type="3 * strided * string")


@pytest.mark.parametrize("dtype", ["f8", "U1", "S3", ">i4", [("x", "i4"), ("s", "U2")]])
def test_as_many_dimensions_as_arrays_have(dtype):
    """NumPy has 64."""
    for ndim in (33, 40, 64):
        with pytest.raises(ValueError, match="more than 32 dimensions"):
            nd.array(np.zeros((1,) * ndim, dtype))
        with pytest.raises(ValueError, match="more than 32 dimensions"):
            nd.array(np.ma.masked_array(np.zeros((1,) * ndim, dtype)))
    assert nd.array(np.zeros((1,) * 32, dtype)).ndim == 32
    with pytest.raises(ValueError, match="more than 32 dimensions"):
        nd.array(np.zeros((1,) * 64, "U1"), type="strided * string")
