"""Running values along an axis: strided in every layout, ragged, with missing values, lazy operands, on threads."""

import functools
import hashlib
import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import scan_oracle
from dynd import nd
from missing_oracle import puncture
from missing_support import draw_operands, make_missing
from oracle import VAR
from strategies import MANY, SOME, arrays, seeds
from support import bits, identical, make, numpy_layout
from test_reductions import undecided

NAMES = ["cumulative_sum", "cumulative_prod", "cumulative_min", "cumulative_max"]
SIGNLESS = {"cumulative_min", "cumulative_max"}


@pytest.fixture(autouse=True)
def one_thread_afterwards():
    yield
    nd.set_num_threads(1)


def agree(name, value, axis, include_initial, array):
    if value.ndim == 0 or undecided(value, axis):
        return
    call = functools.partial(getattr(nd, name), array, axis=axis, include_initial=include_initial)
    try:
        expected = scan_oracle.scan(name, value, axis, include_initial)
    except oracle.UnequalRowsError:
        with pytest.raises(ValueError, match=f"^{name}: rows along axis {axis % value.ndim} must be equally long"):
            call()
        return
    except TypeError:
        with pytest.raises(TypeError, match=f"^{name}: not defined for complex numbers"):
            call()
        return
    found = call()
    assert identical(found.tolist(), expected.values, name not in SIGNLESS), f"{found.tolist()} for {expected.values}"
    assert str(nd.type_of(found)) == expected.type_text


def draw_axis(data, value):
    return data.draw(st.integers(-value.ndim, value.ndim - 1)) if value.ndim else 0


@settings(max_examples=MANY)
@given(arrays(scalars=oracle.SCALARS, least_ndim=1), st.sampled_from(NAMES), st.booleans(), seeds, st.data())
def test_ragged(value, name, include_initial, seed, data):
    agree(name, value, draw_axis(data, value), include_initial, make(random.Random(seed), value))


@settings(max_examples=MANY)
@given(arrays(ragged=False, scalars=oracle.SCALARS), st.sampled_from(NAMES), st.booleans(), seeds, st.data())
def test_strided(value, name, include_initial, seed, data):
    agree(name, value, draw_axis(data, value), include_initial, make(random.Random(seed), value))


@settings(max_examples=2 * SOME)
@given(seeds, st.sampled_from(NAMES), st.booleans(), st.sampled_from([0.1, 0.4, 0.8, 1.0]), st.data())
def test_missing_values_stay_and_the_rest_goes_on(seed, name, include_initial, share, data):
    rng = random.Random(seed)
    (array,) = draw_operands(rng, 1, oracle.SCALARS)
    value = puncture(rng, array, share)
    agree(name, value, draw_axis(data, value), include_initial, make_missing(rng, value))


def test_examples():
    rows = nd.array([[1, 2, 3], [], [4, 5]])
    assert nd.cumulative_sum(rows, axis=1).tolist() == [[1, 3, 6], [], [4, 9]]
    assert str(nd.type_of(nd.cumulative_sum(rows, axis=1))) == "strided * var * int64"
    assert nd.cumulative_sum(rows, axis=1, include_initial=True).tolist() == [[0, 1, 3, 6], [0], [0, 4, 9]]
    assert nd.cumulative_sum([1.5, None, 2.5]).tolist() == [1.5, None, 4.0]
    assert nd.array([3, 1, 2]).cumsum().tolist() == [3, 4, 6]
    assert nd.array([[3, 1], [2, 5]]).cumprod(axis=0).tolist() == [[3, 1], [6, 5]]
    assert nd.cumulative_max([True, False]).tolist() == [True, True]
    assert identical(nd.cumulative_sum([-0.0, -0.0]).tolist(), [-0.0, -0.0])
    assert identical(nd.cumulative_sum([-0.0], include_initial=True).tolist(), [0.0, -0.0])
    assert nd.cumulative_min([5, 7], include_initial=True).tolist() == [2**31 - 1, 5, 5]


@pytest.mark.parametrize("type, values, axis, expected", [
    ("0 * var * int32", [], 0, [[]]),
    ("0 * var * int32", [], 1, []),
    ("2 * 0 * var * int32", [[], []], 1, [[[]], [[]]]),
    ("1 * var * var * int32", [[]], 0, [[], []]),
    ("2 * var * var * int32", [[[1, 2], [3, 4]], []], 1, [[[0, 0], [1, 2], [4, 6]], [[]]]),
    ("2 * var * var * int32", [[], [[1], [2]]], 1, [[[]], [[0], [1], [3]]]),
    ("3 * var * 2 * int32", [[], [[1, 2]], []], 1, [[[0, 0]], [[0, 0], [1, 2]], [[0, 0]]]),
])
def test_an_axis_without_elements_outside_of_rows_begins_with_the_initial_value(type, values, axis, expected):
    assert nd.cumulative_sum(nd.array(values, type=type), axis=axis, include_initial=True).tolist() == expected


LONG = [1, 2, 3, 5, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 70_001]


@pytest.mark.parametrize("scalar", ["float64", "float32", "int32", "complex128"])
@pytest.mark.parametrize("lazy", [False, True])
def test_long_rows_bit_for_bit(scalar, lazy):
    """Batches, windows and pieces do not show; NumPy adds in the same order."""
    rng = np.random.default_rng(3)
    rows = [(rng.standard_normal(n) * 1000).astype(scalar) for n in LONG]
    operand = (lambda a: a * a) if lazy else (lambda a: a)
    for row in rows:
        for array in (nd.array(row), nd.array(np.repeat(row, 2))[::2]):
            assert bits(nd.cumulative_sum(operand(array))) == bits(nd.array(np.cumsum(operand(row))))
    ragged = nd.from_offsets(np.cumsum([0, *LONG]), nd.array(np.concatenate(rows)))
    accumulator = scan_oracle.accumulator("cumulative_sum", scalar)
    expected = nd.array([np.cumsum(operand(row)).tolist() for row in rows], type=f"strided * var * {accumulator}")
    for threads in (1, 2, 5):
        nd.set_num_threads(threads)
        assert bits(nd.cumulative_sum(operand(ragged), axis=1)) == bits(expected)
        assert bits(nd.cumulative_sum(operand(ragged[::-1]), axis=1)) == bits(expected[::-1])


@pytest.mark.parametrize("shape", [(3, 5), (70, 3), (3, 700), (400, 401), (5, 70_000), (70_000, 5), (33, 17, 29)])
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_max"])
def test_planes_in_every_layout(shape, name):
    rng, pick = np.random.default_rng(5), random.Random(5)
    plain = rng.standard_normal(shape)
    accumulate = scan_oracle.COMBINE[name].accumulate
    for layout in (plain, np.asfortranarray(plain), plain[::-1], plain[..., ::-1], numpy_layout(pick, plain)):
        for array in (nd.asarray(layout), nd.array(layout)):
            for axis in range(plain.ndim):
                for threads in (1, 3):
                    nd.set_num_threads(threads)
                    found = np.asarray(getattr(nd, name)(array, axis=axis))
                    assert np.array_equal(found, accumulate(layout, axis=axis))
                    fused = np.asarray(getattr(nd, name)(array * 2.0 + array, axis=axis))
                    assert np.array_equal(fused, accumulate(layout * 2.0 + layout, axis=axis))


@pytest.mark.parametrize("scalar", ["complex128", "complex64", "float64", "int32"])
@pytest.mark.parametrize("missing", [1, 127, 128, 129, 511, 512, 513, 2000, 70_000])
def test_rows_that_begin_with_many_missing_values(scalar, missing):
    """As if these were not there, in however many windows and pieces they are."""
    tail = [2, None, 3, 5]
    row = [None] * missing + tail
    dirty = nd.array([[7] * 900] * 3, type=f"3 * var * ?{scalar}")
    for name, after in (("cumulative_prod", [2, None, 6, 30]), ("cumulative_sum", [2, None, 5, 10])):
        scan = getattr(nd, name)
        for rows in ([row], [tail, row, tail], [row, [None] * missing, row]):
            scan(dirty, axis=1)  # what is in scratch memory is not zeros
            found = scan(nd.array(rows, type=f"strided * var * ?{scalar}"), axis=1).tolist()
            expected = [[None] * missing + after if r == row else after if r == tail else r for r in rows]
            assert found == expected
        assert scan(nd.array(row, type=f"strided * ?{scalar}")).tolist() == [None] * missing + after
        planes = nd.array([row, row], type=f"strided * strided * ?{scalar}")
        assert scan(planes, axis=1).tolist() == scan(planes.T, axis=0).T.tolist() == [[None] * missing + after] * 2
    difference = nd.reduce(nd.subtract, nd.array([row, tail], type=f"strided * var * ?{scalar}"), axis=1)
    assert difference.tolist() == [2 - 3 - 5] * 2


def test_lazy_operands_are_absorbed():
    a = nd.array(np.arange(1.0, 200_001.0))
    rows = nd.from_offsets(np.arange(0, 200_001, 4), a)
    each = nd.array(np.arange(50_000.0))[:, None]
    for f in (lambda: nd.cumulative_sum(a * a - a), lambda: nd.cumulative_prod(rows / each, axis=1)):
        assert str(nd.explain(f)).count("one kernel") == 1
    kept = rows * each  # with another owner it is stored on the way
    text = str(nd.explain(lambda: nd.cumulative_sum(kept, axis=1)))
    assert text.count("one kernel") == 1
    products = (np.repeat(np.arange(50_000.0), 4) * np.arange(1.0, 200_001.0)).reshape(-1, 4)
    assert nd.cumulative_sum(kept, axis=1).tolist() == np.cumsum(products, axis=1).tolist()
    assert kept.tolist() == products.tolist()


def test_missing_values_of_lazy_operands():
    pick = random.Random(2)
    values = [None if pick.random() < 0.3 else float(i % 7) for i in range(60_000)]
    offsets = np.arange(0, 60_001, 5)
    rows = nd.from_offsets(offsets, nd.array(values))
    doubled = [None if x is None else 2 * x for x in values]
    expected = [[scan_oracle.scan("cumulative_sum", oracle.Array((oracle.strided(5),), "?float64", doubled[i : i + 5]), 0).values]
                for i in range(0, 60_000, 5)]
    assert nd.cumulative_sum(rows * 2.0, axis=1).tolist() == [row for (row,) in expected]


@pytest.mark.parametrize("scalar", ["int32", "float64", "complex64"])
@pytest.mark.parametrize("lazy", [False, True])
def test_missing_values_in_a_row_of_several_pieces(scalar, lazy):
    """Each piece goes on with the value before it, which is stored beside its validity."""
    rng = np.random.default_rng(13)
    values, there = rng.integers(-9, 9, 300_000).astype(scalar), rng.random(300_000) < 0.7
    there[1 << 16 :: 1 << 16] = False  # where pieces begin
    a = nd.array(np.ma.masked_array(values, ~there))
    expected = np.cumsum(np.where(there, values * (2 if lazy else 1), 0))
    for threads in (1, 2, 5):
        nd.set_num_threads(threads)
        found = nd.cumulative_sum(a * nd.array(2, type=scalar) if lazy else a)
        assert np.array_equal(np.asarray(nd.is_missing(found)), ~there)
        assert np.array_equal(np.asarray(nd.fill_missing(found, 0)), np.where(there, expected, 0))


def digest(threads):
    nd.set_num_threads(threads)
    rng = np.random.default_rng(11)
    offsets = np.concatenate([[0], np.cumsum(rng.poisson(6, 60_000))])
    rows = nd.from_offsets(offsets, nd.array(rng.standard_normal(offsets[-1])))
    plane = nd.array(rng.standard_normal((700, 900)))
    results = [nd.cumulative_sum(rows, axis=1), nd.cumulative_prod(rows * 0.5, axis=1),
               nd.cumulative_sum(rows, axis=1, include_initial=True)]
    results += [nd.cumulative_sum(plane * plane, axis=axis) for axis in (0, 1)]
    results += [nd.cumulative_sum(nd.array(rng.standard_normal(300_000)))]
    return [hashlib.sha256(bits(r)).hexdigest() for r in results]


def test_any_number_of_threads_gives_the_same_bits():
    assert digest(1) == digest(2) == digest(7)


def test_traces_show_rows():
    rows = nd.array([[1, 2], [], [3]])
    calls = nd.trace(nd.cumulative_sum, rows, 1).calls
    assert [call.name for call in calls] == ["strided"] + ["cumulative_sum"] * 3
    assert [list(call.sources) for call in calls[1:]] == [["[1, 2]"], ["[]"], ["[3]"]]
    text = str(nd.trace(nd.cumulative_sum, nd.array([[1, 2], [3, 4]]), 0))
    assert "[1, 3]" in text and "[2, 4]" in text


@pytest.mark.parametrize("call, kind, text", [
    (lambda: nd.cumulative_sum([[1], [2]]), ValueError, "cumulative_sum: an array of 2 dimensions needs axis="),
    (lambda: nd.cumulative_sum(nd.array(1)), ValueError, "cumulative_sum: an array of 0 dimensions needs axis="),
    (lambda: nd.cumulative_sum([1], axis=1), IndexError, "cumulative_sum: axis 1 is out of bounds for 1 dimension(s)"),
    (lambda: nd.cumulative_max([1], axis=-2), IndexError, "cumulative_max: axis -2 is out of bounds for 1 dimension(s)"),
    (lambda: nd.cumulative_sum([1], axis=10**30), IndexError, "out of bounds"),
    (lambda: nd.cumulative_sum([1], axis="0"), TypeError, "cumulative_sum: axis must be an integer or None, not str"),
    (lambda: nd.cumulative_sum(), TypeError, "cumulative_sum: missing argument 'a'"),
    (lambda: nd.cumulative_sum([1], 0, True), TypeError, "cumulative_sum: takes 2 positional argument(s), not 3"),
    (lambda: nd.cumulative_sum([1], keepdims=True), TypeError, "unexpected keyword argument 'keepdims'"),
    (lambda: nd.cumulative_sum([1], 0, axis=0), TypeError, "repeated keyword argument 'axis'"),
    (lambda: nd.cumulative_sum(["a"]), TypeError, "there is no such operation for elements of type string"),
    (lambda: nd.cumulative_min([1j]), TypeError, "cumulative_min: not defined for complex numbers, got complex128"),
    (lambda: nd.cumulative_sum([[1, 2], [3]], axis=0), ValueError,
     "cumulative_sum: rows along axis 0 must be equally long below it: lengths 2 and 1 of rows 0 and 1"),
])
def test_errors(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_without_the_direct_step():
    from dynd import _dynd

    cases = [nd.array([1, 2, 3]), nd.array([1.5, 2.5]), nd.array(np.arange(60, dtype=np.int8)), nd.array([True, True])]
    cases.append(nd.array([1.0, 1.0004883, 1.0009766, 2049.7, 0.1]))  # float16 rounds each of them

    def results():
        plain = [[getattr(nd, name)(a) for a in cases] for name in NAMES]
        return plain + [[nd.cumulative_sum(a, dtype=dtype) for a in cases] for dtype in ("float16", "float32", "float64")]

    plain = results()
    _dynd.set_direct(False)
    try:
        again = results()
    finally:
        _dynd.set_direct(os.environ.get("DYND_DIRECT") != "0")
    for one, other in zip(plain, again):
        assert [(str(a.type), bits(a)) for a in one] == [(str(a.type), bits(a)) for a in other]


@pytest.mark.parametrize("columns", [1, 4, 16, 17])
def test_few_columns_are_taken_as_what_dtype_says_first(columns):
    x = np.random.default_rng(columns).random((3000, columns)) * 3 + 1 / 3
    for own, dtype in [("float64", "float16"), ("float64", "float32"), ("float32", "float16"), ("int16", "float16")]:
        a = nd.array((x * 1000).astype(own) if own == "int16" else x.astype(own))
        taken = nd.cumulative_max(a.astype(dtype), axis=0), nd.cumulative_sum(a.astype(dtype)[:60], axis=0)
        found = nd.cumulative_max(a, axis=0, dtype=dtype), nd.cumulative_sum(a[:60], axis=0, dtype=dtype)
        assert [bits(f) for f in found] == [bits(t) for t in taken], (own, dtype)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "complex128"])
@pytest.mark.parametrize("length", [127, 129, 511, 513, 1279, 16_383, 16_384, 16_385, 32_768, 65_537])
def test_rows_of_any_length_with_gaps(length, dtype):
    x = np.random.default_rng(length).integers(0, 3, (3, 2 * length)).astype(dtype)
    for view in (np.s_[:, ::2], np.s_[:, ::-2], np.s_[::-1, :length]):
        a = nd.asarray(x)[view]
        sums = np.cumsum(x[view], axis=1)
        assert np.array_equal(np.asarray(nd.cumulative_sum(a, axis=1)), sums)
        assert np.array_equal(np.asarray(nd.cumulative_sum(a, axis=1, include_initial=True))[:, 1:], sums)
        assert np.array_equal(np.asarray(nd.cumulative_sum(a + a, axis=1)), np.cumsum(x[view] + x[view], axis=1))


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 15, 16, 17])
def test_few_columns_that_are_computed_before(columns, threads):
    rng = np.random.default_rng(columns)
    for rows in (1, 2, 512 // columns, 512 // columns + 1, 1024 // columns + 1, 20_000):
        x = rng.integers(-9, 9, (rows, columns)).astype("int8")
        a, line, column = nd.array(x), x[:1].astype(float), x[:, :1].astype(float)
        cases = {
            "widened": (a, x),
            "computed": (a * 2.5 + 1, x * 2.5 + 1),
            "and a line": (a + nd.array(line), x + line),
            "and a column": (a + nd.array(column), x + column),
            "a view": (nd.array(np.repeat(x, 2, axis=1))[:, ::2] * 0.5, x * 0.5),
            "with gaps": (nd.array(np.pad(x, ((0, 0), (0, 3))))[:, :columns] * 0.5, x * 0.5),
        }
        for name, (ours, theirs) in cases.items():
            found = nd.cumulative_sum(ours, axis=0)
            assert np.array_equal(np.asarray(found), np.cumsum(theirs, axis=0)), (name, rows)
            assert np.array_equal(np.asarray(ours), theirs), (name, rows)  # kept by its own name
        missing = nd.where(nd.array(x > 0), a, None)
        by_column = [nd.cumulative_sum(missing[:, c]).tolist() for c in range(columns)]
        assert nd.cumulative_sum(missing, axis=0).tolist() == [list(line) for line in zip(*by_column)]


def test_a_conversion_is_a_step_of_the_scan_however_few_columns_there_are():
    for columns in (2, 16, 17, 300):
        a = nd.array(np.ones((5000, columns), "int8"))
        text = str(nd.explain(lambda a: nd.cumulative_sum(a, axis=0), a))
        assert text.count("chain") == 1 and "r1=int64(r0)" in text and "int8" in text, text


def test_what_a_few_columns_refuse_is_named():
    for columns in (1, 2, 16, 17, 300):
        x = np.ones((5000, columns))
        x[4000, columns - 1] = x[4001, 0] = 1.5
        with pytest.raises(ValueError, match=rf"1\.5 to int32 at index \(4000, {columns - 1}\)"):
            nd.cumulative_sum(nd.array(x), axis=0, dtype="int32")
