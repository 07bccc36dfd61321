"""Missing values in reductions, assignment and conversion, against nested Python lists."""

import functools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import missing_oracle as missing
import oracle
from conversions import Refused, shown
from dynd import nd
from missing_oracle import bare, index_text, puncture
from oracle import VAR, Array, strided
from strategies import SOME, seeds
from support import assert_is, identical
from test_reductions import LENGTHS, SUMMED, draw_axis, undecided, wild
from missing_support import draw_operands, make_missing

NA = "cannot assign an NA value to a non-option type"


@pytest.fixture(autouse=True)
def one_thread_afterwards():
    yield
    nd.set_num_threads(1)


# ---- reductions


def check_reduction(name, value, axis, keepdims, rng):
    if undecided(value, axis):
        return
    array = make_missing(rng, value)
    call = functools.partial(getattr(nd, name), array, axis=axis, keepdims=keepdims)
    try:
        expected = missing.reduce(name, value, axis, keepdims)
    except oracle.UnequalRowsError:
        with pytest.raises(ValueError, match=f"^{name}:"):
            call()
        return
    except TypeError:
        with pytest.raises(TypeError, match=f"^{name}: not defined for complex numbers"):
            call()
        return
    found = call()
    assert identical(found.tolist(), expected.values, zeros=False), f"{found.tolist()}, expected {expected.values}"
    text = str(nd.type_of(found))
    assert text.split(" * ")[-1] == expected.scalar and found.ndim == expected.ndim
    if not keepdims and expected.dims[:1] != (VAR,):
        assert text == expected.type_text
    if keepdims:
        assert all(found.shape[i] == 1 for i in (range(value.ndim) if axis is None else [axis % value.ndim]))


@settings(max_examples=3 * SOME)
@given(seeds, st.sampled_from(["sum", "min", "max"]), st.booleans(), st.sampled_from([0.1, 0.4, 0.8, 1.0]), st.data())
def test_reductions_skip_what_is_missing(seed, name, keepdims, share, data):
    rng = random.Random(seed)
    (array,) = draw_operands(rng, 1, oracle.SCALARS)
    value = puncture(rng, array, share)
    check_reduction(name, value, draw_axis(data, value), keepdims, rng)


def test_of_nothing():
    rows = nd.array([[1, None], [], [None], [5]])
    assert rows.sum(axis=1).tolist() == [1, 0, 0, 5] and str(nd.type_of(rows.sum(axis=1))) == "strided * int64"
    assert rows.min(axis=1).tolist() == [1, None, None, 5] and str(nd.type_of(rows.min(axis=1))) == "strided * ?int32"
    assert rows.max(axis=-1, keepdims=True).tolist() == [[1], [None], [None], [5]]
    empty = nd.array([], type="?float64")
    assert empty.sum().tolist() == 0.0 and empty.min().tolist() is None and empty.max().tolist() is None
    nothing = nd.array([[None, None]] * 3, type="strided * strided * ?float32")
    assert nothing.sum(axis=0).tolist() == [0.0, 0.0] and nothing.max(axis=0).tolist() == [None, None]
    assert (nothing.sum().tolist(), nothing.min().tolist()) == (0.0, None)
    deep = nd.array([[[1, None], []], [[None]]], type="strided * var * var * ?int32")
    assert deep.max(axis=2).tolist() == [[1, None], [None]] and deep.sum(axis=2).tolist() == [[1, 0], [0]]
    assert identical(nd.array([[math.nan, None], [None, 2.0]]).min(axis=0).tolist(), [math.nan, 2.0])


def test_an_empty_row_without_an_option_still_fails():
    with pytest.raises(ValueError, match="empty"):
        nd.array([[1], []]).min(axis=1)


EXTREMES = {"float32": (-np.inf, np.inf), "float64": (-np.inf, np.inf), "int32": (-(2**31), 2**31 - 1),
            "int64": (-(2**63), 2**63 - 1), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1)}  # fmt: skip


@pytest.mark.parametrize("scalar", EXTREMES)
def test_rows_of_what_an_extreme_of_nothing_would_be(scalar, threads):
    """A row of infinities that are there is not a row of which nothing is; so are they among others, in rows of every
    length, in short and long arrays, in another layout, and with an operation in front."""
    rng = np.random.default_rng(3)
    for rows, longest in [(9, 3), (300, 9), (3000, 30), (40, 400), (3, 5000)]:
        lengths = rng.integers(0, longest, rows)
        values = rng.choice([*EXTREMES[scalar], *EXTREMES[scalar], 7], lengths.sum()).astype(scalar)
        valid = rng.random(values.size) < np.repeat(rng.choice([0, 0.2, 1], rows), lengths)
        content = nd.array(np.ma.masked_array(values, mask=~valid))
        ends = np.cumsum(lengths)[:-1]
        there = [row[is_there].tolist() for row, is_there in zip(np.split(values, ends), np.split(valid, ends))]
        backwards = nd.unflatten(content[::-1], lengths[::-1])[::-1, ::-1]
        for a in (nd.unflatten(content, lengths), backwards, nd.unflatten(content + 0, lengths)):
            for names, python in [(("max", "nanmax"), max), (("min", "nanmin"), min)]:
                expected = [python(row, default=None) for row in there]
                for name in names:
                    assert getattr(nd, name)(a, axis=1, empty="missing").tolist() == expected


@pytest.mark.parametrize("scalar", ["float32", "float64", "int32", "int64", "int8"])
def test_the_range_of_rows(scalar, threads):
    """Two extremes at once, and whether there is anything beside each: of every row, whatever was in the memory."""
    rng = np.random.default_rng(4)
    for rows, longest in [(4, 4), (500, 12), (5, 3000)]:
        lengths = rng.integers(0, longest, rows)
        values = rng.integers(-50, 50, lengths.sum()).astype(scalar)
        valid = rng.random(values.size) < 0.5
        a = nd.unflatten(nd.array(np.ma.masked_array(values, mask=~valid)), lengths)
        ends = np.cumsum(lengths)[:-1]
        there = [row[is_there].tolist() for row, is_there in zip(np.split(values, ends), np.split(valid, ends))]
        assert nd.ptp(a, axis=1).tolist() == [max(row) - min(row) if row else None for row in there]


@pytest.mark.parametrize("scalar", SUMMED)
def test_sums_keep_their_order_with_missing_values(scalar):
    """Every missing value contributes nothing, at its place."""
    rng, pick = np.random.default_rng(7), random.Random(7)
    rows, expected = [], []
    for length in [*range(0, 140, 3), *(n for n in LENGTHS if n < 5000)]:
        row = [None if pick.random() < 0.3 else x for x in wild(rng, scalar, length).tolist()]
        rows.append(row)
        expected.append(oracle.ordered_sum(np.array([0 if x is None else x for x in row], dtype=scalar)).tolist())
        assert identical(nd.array(row, type=f"strided * ?{scalar}").sum().tolist(), expected[-1], zeros=False), length
    ragged = nd.array(rows, type=f"strided * var * ?{scalar}")
    assert identical(ragged.sum(axis=1).tolist(), expected, zeros=False)
    assert identical(ragged[::-1].sum(axis=1).tolist(), expected[::-1], zeros=False)
    everything = np.array([0 if x is None else x for row in rows for x in row], dtype=scalar)
    assert identical(ragged.sum().tolist(), oracle.ordered_sum(everything).tolist(), zeros=False)
    columns = [list(column) for column in zip(*(row[:129] for row in rows if len(row) >= 129))]
    square = nd.array(columns, type=f"strided * strided * ?{scalar}")
    across = missing.reduce("sum", Array((strided(129), strided(len(columns[0]))), "?" + scalar, columns), 0)
    assert identical(square.sum(axis=0).tolist(), across.values, zeros=False)
    assert identical(square.T.sum(axis=1).tolist(), across.values, zeros=False)


# ---- assignment and conversion


def refusal_text(refusal, source, to):
    if isinstance(refusal, missing.Missing):
        return f"^{NA}", OverflowError
    kind = OverflowError if refusal.kind == "overflow" else ValueError
    return rf"^{refusal.kind} while assigning \??{shown(bare(source)).replace('[', '.')} value ", kind


@settings(max_examples=3 * SOME)
@given(seeds, st.booleans(), st.booleans())
def test_assignment(seed, option, checked):
    """T and ?T to U and ?U, the source stretched; what is refused is named, the other elements are old or new."""
    rng = random.Random(seed)
    destination, source = draw_operands(rng, 2, oracle.SCALARS, ragged=rng.random() < 0.5)
    small = missing.map_leaves(lambda _: rng.choice([0, 1]), source.values, source.ndim)
    if not checked:  # values that every type has
        source = Array(source.dims, "int8", small)
    source = puncture(rng, source, 0.2) if rng.random() < 0.7 else source
    destination = puncture(rng, destination) if option else destination
    target = nd.array(destination.values, type=destination.type_text, access="rw") if destination.values else None
    if target is None or 0 in destination.shape:
        return
    try:
        expected, refusal = missing.assign(destination, source)
    except oracle.BroadcastError:
        with pytest.raises(ValueError, match="cannot broadcast"):
            target[...] = make_missing(rng, source)
        assert identical(target.tolist(), destination.values)
        return
    given_ = make_missing(rng, source)
    if refusal is None:
        target[...] = given_
        assert_is(target, expected)
        return
    text, kind = refusal_text(refusal, source.scalar, destination.scalar)
    with pytest.raises(kind, match=text) as caught:
        target[...] = given_
    if refusal.index:
        assert str(caught.value).endswith(f" at index {index_text(refusal.index)}")
    columns = (target.tolist(), destination.values, expected.values)
    for new, old, right in zip(*(oracle.leaves(values, destination.ndim) for values in columns)):
        assert identical(new, old) or identical(new, right)


@settings(max_examples=2 * SOME)
@given(seeds, st.sampled_from(oracle.SCALARS), st.booleans())
def test_conversion(seed, to, option):
    rng = random.Random(seed)
    (array,) = draw_operands(rng, 1, oracle.SCALARS)
    source = puncture(rng, array, rng.choice([0.0, 0.3, 1.0])) if rng.random() < 0.8 else array
    kind = "?" * option + to
    same = Array(source.dims, kind, source.values)
    items = zip(missing.paths(source.values, source.ndim), oracle.leaves(source.values, source.ndim))
    try:
        flat = [missing.convert(x, source.scalar, kind, index) for index, x in items]
    except (missing.Missing, Refused) as refusal:
        text, error = refusal_text(refusal, source.scalar, kind)
        with pytest.raises(error, match=text) as caught:
            make_missing(rng, source).astype(kind)
        assert not refusal.index or str(caught.value).endswith(f" at index {index_text(refusal.index)}")
        return
    values = iter(flat)
    same.values = missing.map_leaves(lambda _: next(values), source.values, source.ndim)
    assert_is(make_missing(rng, source).astype(kind), same)


def test_what_is_behind_a_missing_value_is_never_looked_at():
    for hidden, source, to in [(300, "?int32", "?int8"), (math.nan, "?float64", "?int32"), (-1, "?int64", "?uint8")]:
        a = nd.array([1, hidden, 2], type=source, access="rw")
        a[1] = None
        assert a.astype(to).tolist() == [1, None, 2]
        b = nd.array([5, 5, 5], type=to, access="rw")
        b[...] = a
        assert b.tolist() == [1, None, 2]
    a = nd.array(["1", "no number", "3"], type="?string", access="rw")
    a[1] = None
    assert a.astype("?int32").tolist() == [1, None, 3]


def test_a_missing_value_does_not_go_to_a_plain_type():
    b = nd.array([1, 2, 3], access="rw")
    with pytest.raises(OverflowError, match=rf"^{NA} at index \(1,\)$"):
        b[...] = nd.array([7, None, 8])
    assert b.tolist()[1] == 2 and b.tolist()[0] in (1, 7) and b.tolist()[2] in (3, 8)
    with pytest.raises(OverflowError, match=rf"^{NA} at index \(1, 1\)$"):
        nd.array([[1], [2, None], [None]]).astype("float64")
    assert nd.array([[1], [2, 3]], type="strided * var * ?int32").astype("float64").tolist() == [[1.0], [2.0, 3.0]]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_refused_element_of_many(threads):
    nd.set_num_threads(threads)
    values = np.ma.array(np.arange(600_000) % 100, mask=False)
    values[350_000], values[420_000] = np.ma.masked, np.ma.masked
    with pytest.raises(OverflowError, match=rf"^{NA} at index \(350000,\)$"):
        nd.array(values).astype("int8")
    values.data[400_000], values.data[350_000] = 1000, 5000
    source = nd.array(values)
    with pytest.raises(OverflowError, match=r"value 1000 to \??int8 at index \(400000,\)$"):
        source.astype("?int8")
    assert source[:400_000].astype("?int8").sum().tolist() == int(values[:400_000].sum())


def test_parts_of_writable_arrays():
    a = nd.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], type="strided * strided * ?int32", access="rw")
    a[1:, ::2] = nd.array([[None, 0.0], [3.0, None]])
    assert a.tolist() == [[1, 2, 3], [None, 5, 0], [3, 8, None]]
    a[:, 1] = None
    assert a.tolist() == [[1, None, 3], [None, None, 0], [3, None, None]]
    a[::-1] = nd.array([[1], [None], [3]])
    assert a.tolist() == [[3, 3, 3], [None] * 3, [1, 1, 1]]
    a += 1
    assert a.tolist() == [[4, 4, 4], [None] * 3, [2, 2, 2]]
    a[1] = a[0] * nd.array([2, None, 3])
    assert a.tolist() == [[4, 4, 4], [8, None, 12], [2, 2, 2]]
    rows = nd.array([[1, None], [], [3, 4, 5]], access="rw")
    rows[:, 1:] = None
    assert rows.tolist() == [[1, None], [], [3, None, None]]
    rows[...] = nd.array([[7], [8], [9]])
    assert rows.tolist() == [[7, 7], [], [9, 9, 9]]
    rows[:, ::-1] = nd.array([[1, None], [], [None, 2, 3]])
    assert rows.tolist() == [[None, 1], [], [3, 2, None]]


def test_overlapping_assignment():
    values = [None if i % 3 == 0 else i for i in range(3000)]
    for cut in (slice(1, None), slice(None, -1)):
        a = nd.array(values, access="rw")
        other = slice(None, -1) if cut.start else slice(1, None)
        a[cut] = a[other]
        expected = list(values)
        expected[cut] = values[other]
        assert a.tolist() == expected
