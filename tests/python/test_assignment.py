"""a[...] = b, a[key] = b and nd.assign: the source stretches to the destination; what fails changes nothing."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conversions
import oracle
from dynd import nd
from strategies import MANY, SOME, arrays, make_operands, random_values, seeds
from support import contains, from_offsets, identical, make, numpy_layout, sliced_inside
from test_indexing import random_key


def writable(rng, value):
    """A writable array with these values: a view of NumPy memory in some layout, or our own."""
    plain = lambda values: nd.array(values, type=value.type_text, access="rw")  # noqa: E731
    if any(kind == "fixed" for kind, _ in value.dims):
        return plain(value.values)
    if value.ragged:
        ways = [lambda: plain(value.values)]
        if value.dims[0][0] == "strided":
            ways += [lambda: from_offsets(rng, value, "rw"), lambda: sliced_inside(rng, value, plain)]
        return rng.choice(ways)()
    if rng.random() < 0.6 or (value.ndim > 1 and not value.numpy().size) or value.ndim == 0:
        return nd.asarray(numpy_layout(rng, value.numpy()))
    return nd.array(value.values, type=value.type_text, access="rw")


def pairs(ragged):
    def draw(seed, how):
        rng = random.Random(seed)
        while True:
            pair = make_operands(rng, 2, ragged, how)
            if pair[0].ndim >= pair[1].ndim:
                return pair

    same = st.sampled_from([[x] for x in oracle.SCALARS])
    return st.builds(draw, seeds, st.one_of(same, st.just(oracle.SCALARS)))


def agree(to, source, rng):
    destination, operand = writable(rng, to), make(rng, source)
    write = rng.choice([nd.assign, lambda a, b: a.__setitem__(Ellipsis, b)])
    try:
        expected = oracle.assign(to, source)
    except oracle.BroadcastError:
        with pytest.raises(ValueError, match="assign.*broadcast"):
            write(destination, operand)
        expected = to
    except conversions.Refused as refused:
        with pytest.raises((OverflowError, ValueError), match=f"{refused.kind} while assigning"):
            write(destination, operand)
        return  # which elements are old and which new: test_conversion
    else:
        write(destination, operand)
    assert identical(destination.tolist(), expected.values)
    assert str(nd.type_of(destination)) == to.type_text


@settings(max_examples=MANY)
@given(pairs(ragged=True), seeds)
def test_ragged(pair, seed):
    agree(*pair, random.Random(seed))


@settings(max_examples=MANY)
@given(pairs(ragged=False), seeds)
def test_strided(pair, seed):
    agree(*pair, random.Random(seed))


@settings(max_examples=MANY)
@given(arrays(ragged=False, scalars=oracle.NUMBERS), seeds)
def test_setitem_of_any_key_is_numpy(value, seed):
    rng = random.Random(seed)
    value = oracle.from_numpy(value.numpy())
    destination, plain = writable(rng, value), value.numpy()
    key = random_key(rng, plain.shape)
    shape = np.shape(plain[key])
    cut = tuple(n if rng.random() < 0.7 else 1 for n in shape)[
        rng.randint(0, len(shape)) if rng.random() < 0.3 else 0 :
    ]
    count = int(np.prod(cut))
    source = np.array(random_values(rng, value.scalar, count), dtype=value.scalar).reshape(cut)
    plain[key] = source
    destination[key] = nd.asarray(numpy_layout(rng, source))
    assert identical(destination.tolist(), plain.tolist())


@settings(max_examples=SOME)
@given(arrays(scalars=["int32", "float64"], least_ndim=2), seeds)
def test_setitem_of_ragged_rows(value, seed):
    """A row, an element, a slice of rows, written by a scalar or by rows of the same lengths."""
    rng = random.Random(seed)
    destination = writable(rng, value)
    if not value.values:
        destination[...] = 1
        assert destination.tolist() == []
        return
    at = rng.randrange(len(value.values))
    number = 5 if value.scalar == "int32" else 5.5
    stretched = lambda node, ndim: number if ndim == 0 else [stretched(x, ndim - 1) for x in node]  # noqa: E731
    expected = list(value.values)
    expected[at] = stretched(expected[at], value.ndim - 1)
    destination[at] = number
    assert identical(destination.tolist(), expected)
    rows = slice(None, None, rng.choice([1, 2, -1, -2]))
    source = make(rng, value)[rows]
    expected[rows] = value.values[rows]
    destination[rows] = source
    assert identical(destination.tolist(), expected)


@pytest.mark.parametrize(
    "value, scalar, error", [(1.5, "int32", ValueError), (300, "int8", OverflowError)]
)
def test_a_value_that_does_not_fit_changes_nothing(value, scalar, error):
    a = nd.array([1, 2, 3], type=f"strided * {scalar}", access="rw")
    for key in (0, slice(None), Ellipsis):
        with pytest.raises(error):
            a[key] = value
    assert a.tolist() == [1, 2, 3]


def test_python_scalars_are_weak_here_too():
    a = nd.array([1, 2, 3], type="strided * int8", access="rw")
    a[1] = 7
    assert a.tolist() == [1, 7, 3]
    b = nd.array([1.0, 2.0], type="strided * float32", access="rw")
    b[0] = 0.1
    b[1] = 3
    assert b.tolist() == [float(np.float32(0.1)), 3.0]


def test_lists_as_sources():
    a = nd.array([[0, 0, 0], [0, 0, 0]], access="rw")
    a[...] = [[1, 2, 3], [4]]
    assert a.tolist() == [[1, 2, 3], [4, 4, 4]]
    a[0] = [7, 8, 9]
    assert a.tolist() == [[7, 8, 9], [4, 4, 4]]


# ---- overlap


def test_overlap_shifts():
    for key, source in [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
        (slice(None, None, 2), slice(0, 50)),
    ]:
        a, plain = nd.array(list(range(100)), access="rw"), np.arange(100)
        a[key] = a[source]
        plain[key] = plain[source].copy()
        assert a.tolist() == plain.tolist()


@pytest.mark.parametrize("dtype", ["int8", "int32", "float64", "complex128"])
@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_overlap_shifts_of_elements_with_gaps(dtype, step):
    """Of both sides the same step, or another one: more elements than are read before the first of them is written."""
    for size in (5, 127, 129, 300, 1500, 9000):
        for shift in {1, 2, size // 2, min(size, 127), min(size, 128)}:
            memory = (np.arange(2 * size * abs(step)) % 113).astype(dtype)
            whole = memory[::step]
            for to, source in [
                (whole[shift : shift + size], whole[:size]),
                (whole[:size], whole[shift : shift + size]),
                (whole[:size], memory[shift : shift + size]),
                (memory[shift : shift + size], whole[:size]),
                (whole[:size], whole[shift : shift + size][::-1]),
            ]:
                expected = source.copy()
                nd.asarray(to)[...] = nd.asarray(source)
                assert np.array_equal(to, expected), (size, shift)


def test_overlap_transpose():
    for n in (3, 40, 130):
        plain = np.arange(n * n, dtype="float64").reshape(n, n)
        a = nd.asarray(plain.copy())
        a[...] = a.T
        assert a.tolist() == plain.T.tolist()


def test_overlap_broadcast():
    a = nd.array([[1, 2], [3, 4]], access="rw")
    a[...] = a[1]
    assert a.tolist() == [[3, 4], [3, 4]]
    a = nd.array([[1, 2], [3, 4]], access="rw")
    a[...] = a[:, ::-1][:, :1]
    assert a.tolist() == [[2, 2], [4, 4]]


@pytest.mark.parametrize("as_records", [False, True])
@pytest.mark.parametrize("to, source", [
    (lambda x, n: x[n::-1], lambda x, n: x[:n]), (lambda x, n: x[:n], lambda x, n: x[n::-1]),
    (lambda x, n: x[n + 1 : 2 * n + 1], lambda x, n: x[: 2 * n : 2]), (lambda x, n: x[: 2 * n : 2], lambda x, n: x[n + 1 : 2 * n + 1]),
])  # fmt: skip
def test_overlap_of_rows_in_memory_with_steps(to, source, as_records):
    """The memory of another owner is all that the strides reach: below the first element, and beyond as many bytes as
    there are."""
    for n in (3, 1000, 100_001):
        x = np.zeros(4 * n, dtype=[("x", "f8"), ("y", "i4")])["x"] if as_records else np.zeros(4 * n)
        x[:] = np.arange(4 * n)
        dst, src = (nd.from_offsets(np.array([0, n - 1, n]), nd.asarray(part(x, n)[:n])) for part in (to, source))
        expected = source(x, n)[:n].copy()
        dst[...] = src
        assert np.array_equal(to(x, n)[:n], expected)


def test_overlap_of_ragged_rows():
    a = nd.array([[1, 2], [3, 4], [5, 6]], type="strided * var * int32", access="rw")
    a[...] = a[::-1]
    assert a.tolist() == [[5, 6], [3, 4], [1, 2]]
    a[1:] = a[:-1]
    assert a.tolist() == [[5, 6], [5, 6], [3, 4]]


def test_overlap_with_rows_that_numpy_shows():
    """Rows that got their memory one by one, and a source that is the same memory with another owner."""
    for rows in ([1000, 1], [3, 40]):
        a = nd.empty("2 * var * int64")
        a[...] = nd.array([[0] * length for length in rows], type="strided * var * int64")
        shown = np.asarray(a[0])
        shown[:] = np.arange(rows[0])
        a[:1][...] = nd.asarray(shown[::-1])[None, :]
        assert a[0].tolist() == list(range(rows[0]))[::-1]
        nd.asarray(shown)[...] = a[:1, ::-1][0]
        assert a[0].tolist() == list(range(rows[0]))


@pytest.mark.parametrize("rows, length, inside", [(2000, 100, 0), (3, 2, 0), (0, 0, 0), (3, 2, 1), (300, 70, 2)])
def test_a_mask_of_rows_in_another_order_with_any_size_inside(rows, length, inside):
    """The places are those of the rows' elements, also where each of them holds no number."""
    offsets, count = np.arange(rows + 1) * length, rows * length
    content = nd.array(np.zeros((count, inside)), access="rw")
    mask = np.arange(count) % 3 == 0
    nd.from_offsets(offsets, content)[::-1][nd.from_offsets(offsets, nd.array(mask))] = 1.0
    expected = np.where(mask.reshape(rows, length, 1), 1.0, np.zeros((rows, length, inside)))[::-1]
    assert np.asarray(content).tolist() == expected.reshape(count, inside).tolist()


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("rows", [[[1, 2], [3, 4, 5]], [[1, 2, 3], [4]], [[1, 2], []], [[7], [1, 2], []], [[1, 2], [3, 4]]])
def test_a_row_of_the_destination_stretches_or_is_refused(rows, copied):
    """Its slots are the destination's first ones: that does not make their rows the same."""
    for at in range(len(rows)):
        a = nd.array(rows, access="rw")
        row = rows[at]
        source = nd.array(a[at : at + 1]) if copied else a[at : at + 1]
        bad = [i for i, other in enumerate(rows) if len(row) not in (1, len(other))]
        if bad:
            with pytest.raises(ValueError, match=f"cannot broadcast row {bad[0]}: lengths"):
                a[...] = source
            assert a.tolist() == rows
        else:
            a[...] = source
            assert a.tolist() == [row if len(row) == len(other) else row * len(other) for other in rows]


def test_through_numpy_memory():
    plain = np.arange(10)
    nd.asarray(plain)[1:] = nd.asarray(plain)[:-1]
    assert plain.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]


# ---- what an array was computed from may change afterwards


def test_a_result_does_not_change_when_its_operand_does():
    for values in ([1, 2, 3], [[1, 2], [3]]):
        a = nd.array(values, access="rw")
        doubled = a + a
        before = doubled.tolist()
        a[...] = 0
        assert doubled.tolist() == before
    plain = np.arange(20_000, dtype="float64")
    doubled = nd.asarray(plain) * 2.0
    plain[:] = 0
    assert doubled[1].tolist() == 2.0 and doubled[19_999].tolist() == 39998.0


def test_rows_keep_their_lengths():
    a = nd.array([[1, 2, 3], [4]], access="rw")
    a[...] = nd.array([[9], [8]])
    assert a.tolist() == [[9, 9, 9], [8]]
    with pytest.raises(ValueError) as caught:
        a[...] = nd.array([[1, 2, 3], [4, 5]])
    assert contains(str(caught.value), "assign", "row 1", "2", "1")
    assert a.tolist() == [[9, 9, 9], [8]]


def test_a_failed_assignment_writes_no_row():
    a = nd.array([[0, 0, 0], [0, 0, 0], [0, 0, 0]], access="rw")
    with pytest.raises(ValueError) as caught:
        a[...] = nd.array([[1, 2, 3], [4], [5, 6]])
    assert contains(str(caught.value), "assign", "row 2", "2", "3")
    assert a.tolist() == [[0, 0, 0]] * 3


def test_never_the_reverse():
    one = nd.array([1], access="rw")
    with pytest.raises(ValueError, match="broadcast"):
        one[...] = nd.array([1, 2])
    scalar = nd.array(1, access="rw")
    with pytest.raises(ValueError, match="broadcast"):
        nd.assign(scalar, nd.array([1]))
    scalar[...] = 5
    assert scalar.tolist() == 5


@pytest.mark.parametrize("access", [None, "immutable", "readonly"])
def test_not_writable(access):
    for values in ([1, 2, 3], [[1], [2, 3]]):
        a = nd.array(values, access=access)
        for write in (
            lambda: a.__setitem__(Ellipsis, 4),
            lambda: nd.assign(a, nd.array(4)),
            lambda: a.__setitem__(0, 4),
        ):
            with pytest.raises((ValueError, TypeError), match="read.?only|immutable|writ"):
                write()
        assert a.tolist() == values


def test_the_result_of_an_operation_is_not_writable():
    total = nd.array([1, 2]) + 1
    with pytest.raises((ValueError, TypeError)):
        total[0] = 5


def test_large_assignments():
    rng = np.random.default_rng(1)
    plain = rng.standard_normal((300, 400))
    a = nd.asarray(np.zeros((400, 300)))
    a[...] = nd.asarray(plain).T
    assert np.array_equal(np.asarray(a), plain.T)
    a[...] = nd.asarray(plain[:, :1]).T
    assert np.array_equal(np.asarray(a), np.broadcast_to(plain[:, :1].T, (400, 300)))
    wide = nd.asarray(np.zeros((300, 400), "float64"))
    wide[...] = nd.asarray(plain.astype("float32"))
    assert np.array_equal(np.asarray(wide), plain.astype("float32"))


@pytest.mark.parametrize("rows", [2, 30_000])
def test_overlap_between_views_of_one_numpy_array(rows):
    """Two views that know nothing of each other: what comes out is what a copy of the source would give."""
    step = np.arange(0, 2 * rows + 1, 2)
    for first, second in (("ragged", "strided"), ("strided", "ragged"), ("ragged", "ragged")):
        memory = np.arange(2.0 * rows + 2)
        expected = memory.copy()
        expected[1 : 2 * rows + 1] = memory[: 2 * rows]

        def view(kind, start):
            part = memory[start : start + 2 * rows]
            return nd.from_offsets(step, part) if kind == "ragged" else nd.asarray(part.reshape(rows, 2))

        view(first, 1)[...] = view(second, 0)
        assert memory.tolist() == expected.tolist()


def assigned(type, value, **how):
    a = nd.empty(type)
    nd.assign(a, value, **how)
    return a.tolist()


@pytest.mark.parametrize("of", [lambda x: {"a": x}, lambda x: (x,)])
def test_the_mode_is_that_of_records_too(of):
    for mode in ("overflow", "fractional"):
        assert assigned("{a: float32}", of(0.1), errmode=mode) == {"a": float(np.float32(0.1))}
    with pytest.raises(ValueError, match="^inexact precision loss while assigning float64 value 0.1 to float32 at"):
        assigned("{a: float32}", of(0.1), errmode="inexact")
    assert assigned("{a: int8}", of(300), errmode="nocheck") == {"a": 44}
    with pytest.raises(OverflowError, match="^overflow while assigning int32 value 300 to int8 at"):
        assigned("{a: int8}", of(300))
    assert assigned("{a: var * int8}", of([1.5, 300]), errmode="nocheck") == {"a": [1, 44]}
    assert assigned("2 * {a: int32}", [of(1.5), of(2)], errmode="overflow") == [{"a": 1}, {"a": 2}]


def test_text_in_records_becomes_numbers():
    a = nd.empty("{a: int32}")
    a[...] = {"a": "12"}
    assert a.tolist() == {"a": 12}
    with pytest.raises(ValueError, match=r'^cannot cast string "12X" to int32 at index \("a",\)'):
        a[...] = {"a": "12X"}
    with pytest.raises(TypeError, match=r'cannot assign bytes to int32 at index \("a",\)'):
        a[...] = {"a": b"12"}
    assert a.tolist() == {"a": 12}
    assert assigned("{a: (int32, string)}", {"a": ("1", 2)}) == {"a": (1, "2")}
    assert assigned("2 * {a: int32}", [{"a": "1"}, {"a": 2}]) == [{"a": 1}, {"a": 2}]
    assert assigned("{a: ?int32, b: ?int8}", {"a": "NA"}) == {"a": None, "b": None}
    assert assigned("{a: byteswap[int32], b: pointer[int8]}", ("7", "300"), errmode="nocheck") == {"a": 7, "b": 44}
    assert assigned("{a: var * ?float64}", {"a": ["0.5", 2, "", None]}) == {"a": [0.5, 2.0, None, None]}
    for value in ([12], {}, object(), None):
        with pytest.raises(TypeError, match='at index \\("a",\\)|dicts without keys'):
            assigned("{a: string}", {"a": value})


def test_values_without_a_common_type_are_converted_one_by_one():
    mixed = [True, False, 1, 0, "true", "false", "on", "off"]  # reference: E41
    assert assigned("var * bool", mixed) == [True, False] * 4
    assert assigned("2 * 2 * int8", [[1, "2"], [3.0, "300"]], errmode="nocheck") == [[1, 2], [3, 44]]
    assert assigned("3 * ?int8", ["1", 2, None]) == [1, 2, None]
    assert assigned("3 * string", ["a", 2, b"b"]) == ["a", "2", "b"]
    with pytest.raises(OverflowError, match=r'^overflow converting string "300" to int8 at index \(1, 1\)'):
        assigned("2 * 2 * int8", [[1, "2"], [3.0, "300"]])
    with pytest.raises(OverflowError, match=r"cannot assign an NA value to a non-option type at index \(2,\)"):
        assigned("3 * int8", ["1", 2, None])
    with pytest.raises(ValueError, match="values at different depths: a list beside a value"):
        assigned("3 * int8", ["1", 2, [3]])
    with pytest.raises(TypeError, match="a dict beside a number"):
        assigned("2 * int8", [1, {"a": [1, "x"]}])
    with pytest.raises(TypeError, match="text beside a number"):
        assigned("int8", {"a": [1, "x"]})


@pytest.mark.parametrize("count", [40_000, 60_000, 150_000, 250_000])  # locked, unlocked, and past the direct step
def test_large_dense_assignments(count):
    values = np.arange(count) % 1000 + 0.0
    a = nd.array(np.zeros(count, np.int32), access="rw")
    a[...] = nd.asarray(values)
    assert np.array_equal(np.asarray(a), values)
    values[count - 7] = 0.5
    b = nd.array(np.full(count, -1, np.int32), access="rw")
    with pytest.raises(ValueError, match=rf"fractional part lost .* at index \({count - 7},\)"):
        b[...] = nd.asarray(values)
    written = np.asarray(b)
    assert written[count - 7] == -1 and np.all((written == -1) | (written == values))
    c = nd.array(np.arange(count), access="rw")
    c[1:] = c[:-1]  # the same memory
    assert np.array_equal(np.asarray(c), np.concatenate([[0], np.arange(count - 1)]))


def test_rows_over_a_small_array_are_assigned_to_themselves():
    content = nd.array([1.0, 2.0, 3.0], access="rw")
    offsets = np.array([0, 2, 3])
    rows, same = nd.from_offsets(offsets, content), nd.from_offsets(offsets, content)
    rows[...] = same
    rows += same
    assert content.tolist() == [2, 4, 6]


def test_a_writable_copy_shares_its_offsets_and_is_written_in_place():
    rows = nd.array([[1.0, 2.0], [], [3.0]])
    copy = nd.array(rows, access="rw")
    copy += 1.0
    copy[...] = copy * rows
    assert copy.tolist() == [[2, 6], [], [12]]
    assert rows.tolist() == [[1, 2], [], [3]]


@pytest.mark.parametrize("lengths", [[3, 3], [1, 1], [3, 1], [0, 0]])
def test_rows_and_one_size_in_both_directions(lengths):
    rows = [[float(10 * i + k) for k in range(n)] for i, n in enumerate(lengths)]
    strided = nd.array([[0.0] * max(lengths)] * 2, access="rw")
    strided[...] = nd.array(rows, type="strided * var * float64")
    expected = [r * max(lengths) if len(r) == 1 else r for r in rows]
    assert strided.tolist() == expected
    target = nd.array(nd.array(rows, type="strided * var * float64"), access="rw")
    if len(set(lengths)) == 1:
        target[...] = nd.array(expected, type="strided * strided * float64")
        assert target.tolist() == rows
    assert (nd.array(rows, type="strided * var * float64") + strided).tolist() == [[2 * x for x in r] for r in expected]


@pytest.mark.parametrize("to, source", [("f8", "i1"), ("i1", "f8"), ("f8", "f4"), ("i2", "i8")])
def test_elements_of_other_sizes_in_the_same_memory(to, source):
    """Where two arrays overlap, wherever one begins in the other, what is assigned is what was there before."""
    count = 10
    wide = count * 8
    for begin in range(0, 2 * wide, np.dtype(source).itemsize):
        memory = np.zeros(3 * wide, dtype="u1")
        from_numpy = memory[begin : begin + count * np.dtype(source).itemsize].view(source)
        to_numpy = memory[wide : wide + count * np.dtype(to).itemsize].view(to)
        to_numpy[:] = 0
        from_numpy[:] = np.arange(1, count + 1)
        values = from_numpy.copy()
        nd.assign(nd.asarray(to_numpy), nd.asarray(from_numpy))
        assert to_numpy.tolist() == values.tolist(), begin


@pytest.mark.parametrize("step", [2, -2, 3])
def test_elements_with_gaps_that_begin_inside_of_others(step):
    """At any byte: more elements than a batch of the direct step has."""
    count, size = 300, 8
    reach = (count - 1) * abs(step) * size + size
    for begin in [*range(0, 3 * size), *range(reach - 3 * size, reach + size)]:
        memory = np.arange(reach + count * size + 64, dtype="u1")
        source = np.frombuffer(memory, "f8", (count - 1) * abs(step) + 1)[::step]
        target = np.frombuffer(memory, "f8", count, offset=begin)
        bits = source.view("u8").tolist()
        nd.assign(nd.asarray(target), nd.asarray(source))
        assert target.view("u8").tolist() == bits, begin


@pytest.mark.parametrize("shift", [1, 2, 7])
@pytest.mark.parametrize("to_type", ["f8", "i8", "f4"])
def test_rows_over_content_that_is_shifted(to_type, shift):
    """The rows are elsewhere, the content begins elsewhere, and still they share memory."""
    offsets = np.array([0, 4, 1200, 2000])
    for to, source in ((shift, 0), (0, shift)):
        memory = np.arange(2000.0 + shift)
        from_numpy, to_numpy = memory[source : source + 2000], memory[to : to + 2000].view(to_type)[:2000]
        expected = from_numpy.copy()
        rows = [nd.from_offsets(offsets.copy(), nd.asarray(content)) for content in (to_numpy, from_numpy)]
        nd.assign(*rows)
        assert to_numpy.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "inner, make",
    [("int32", lambda i: i), ("string", lambda i: str(i) * i), ("{x: int8, s: string}", lambda i: (i, str(i)))],
)
def test_rows_of_their_own_memory_in_another_order(inner, make):
    """A slice inside of rows has slots of its own, and the places of the array's."""
    values = [[make(i) for i in row] for row in ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [11, 12], [13], [])]
    rows = nd.empty(f"4 * var * {inner}")
    rows[...] = values
    before = rows.tolist()
    rows[...] = rows[:, ::-1]
    assert rows.tolist() == [row[::-1] for row in before]
    rows[:, 1:] = rows[:, :-1]
    assert rows.tolist() == [row[:1] + row[:-1] for row in (row[::-1] for row in before)]


@pytest.mark.parametrize("inner, row", [("int32", [1, 2, 3]), ("string", ["a", "bc"]), ("var * int8", [[1], [2, 3]])])
def test_every_row_without_memory_gets_it_by_its_index_from_either_end(inner, row):
    for at in range(-3, 3):
        rows = nd.empty(f"3 * var * {inner}")
        rows[at] = row
        assert rows.tolist() == [row if i == at % 3 else [] for i in range(3)]
        deep = nd.empty(f"2 * 3 * var * {inner}")
        deep[-1, at] = row
        assert deep.tolist() == [[[]] * 3, [row if i == at % 3 else [] for i in range(3)]]
        assert rows[at].tolist() == deep[1, at].tolist() == row


@pytest.mark.parametrize("type", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("index", [np.s_[...], np.s_[1:4], np.s_[:, 2], np.s_[3], np.s_[2, ::-1], np.s_[2, 1:6:2], np.s_[0:0],
                                   np.s_[::2, 1:5]])
def test_one_number_fills_what_is_selected(type, index):
    expected = np.arange(35).reshape(5, 7).astype(type)
    array = nd.array(expected, access="rw")
    expected[index] = True if type == "?" else 3
    array[index] = True if type == "?" else 3
    assert np.array_equal(np.asarray(array), expected)
    if type[0] in "iu":
        with pytest.raises(OverflowError):
            array[index] = 1 << 70
        assert np.array_equal(np.asarray(array), expected)


@pytest.mark.parametrize("index", [np.s_[2:5], np.s_[1:9:3], np.s_[::-1]])
def test_what_is_assigned_to_itself_stays(index):
    expected = np.arange(10.0)
    array = nd.array(expected, access="rw")
    expected[index] += 1.5
    array[index] += 1.5
    assert np.array_equal(np.asarray(array), expected)
    part = array[index]
    array[index] = part
    assert np.array_equal(np.asarray(array), expected)
    array[2:5] = array[3:6]  # not itself
    expected[2:5] = expected[3:6].copy()
    assert np.array_equal(np.asarray(array), expected)
