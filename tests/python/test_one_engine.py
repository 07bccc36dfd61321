"""What every evaluation has, whatever its elements: the number of threads changes neither values nor messages, and
explain shows it as one kernel. (That it stops and lets others run: test_tasks_stop.py.)

Programs over large arrays with missing values are lazy and fused like others.

Run as a script it prints a digest of results, so that processes with other settings can be compared:
python test_one_engine.py THREADS
"""

import functools
import hashlib
import itertools
import marshal
import operator
import random
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import missing_oracle as missing
import oracle
import programs
from dynd import nd
from oracle import VAR, Array, strided
from strategies import seeds
from support import contains, identical
from test_lazy import worker

RECORD = np.dtype([("x", "i4"), ("y", "f8"), ("z", "u1")])


@pytest.fixture(autouse=True)
def one_thread_afterwards():
    yield
    nd.set_num_threads(1)


# ---- the number of threads changes nothing


COUNT = 300_000


@functools.lru_cache(None)
def inputs():
    rng = np.random.default_rng(50)
    record = np.zeros(COUNT, RECORD)
    record["x"], record["y"], record["z"] = rng.integers(0, 100, COUNT), rng.integers(0, 4, COUNT) / 2, 1
    words = ["w" * (i % 30) + str(i % 7) for i in range(COUNT)]
    option = np.ma.array(rng.integers(1, 100, COUNT), mask=rng.random(COUNT) < 0.2)
    offsets = np.concatenate([[0], np.sort(rng.integers(0, COUNT, 50_000)), [COUNT]])
    return nd.array(record), nd.array(words), nd.array(option), offsets


def results():
    structs, words, option, offsets = inputs()
    yield structs < structs[::-1]
    yield structs.astype("{y: float32, z: int8, x: ?int64}")
    yield words == words[::-1]
    yield words.astype("?string")
    yield option // 7
    yield option.astype("?int8")
    yield nd.fill_missing(option, 3)
    yield nd.is_missing(option)
    for content in (structs, words, option):
        rows = nd.from_offsets(offsets, content)
        yield rows == rows[:, ::-1]
        yield nd.is_missing(rows)
    for content in (structs, words, option):
        rows = nd.from_offsets(offsets, content)
        yield content[nd.array(np.arange(0, COUNT, 7))]
        yield rows[nd.array(np.arange(0, len(rows), 3))]
        yield rows[nd.local_index(rows) % 3 == 1]
        yield nd.concat([rows, rows], axis=1)
        yield nd.to_dense(rows, 3)
    yield nd.from_offsets(offsets, option).sum(axis=1)
    yield nd.from_offsets(offsets, option).max(axis=1)
    for keys in (structs, words, option, nd.array(np.random.default_rng(1).integers(0, 1 << 60, COUNT))):
        groups = nd.groupby(structs["y"] / 7, by=keys)
        yield from (groups.keys, groups.sum(), groups.var(), nd.array(groups))
    yield nd.join(structs, nd.rename(structs[:1000][["x", "y"]], {"y": "w"}), "x")


def test_values_do_not_depend_on_threads():
    found = {}
    for count in (1, 2, 3):
        nd.set_num_threads(count)
        found[count] = [value.tolist() for value in results()]
    for i, values in enumerate(zip(*found.values())):
        assert values[0] == values[1] == values[2], i


def spoiled(kind):
    """-> a call that fails at 220,000 and again at 290,000, and the end of its message."""
    structs, words, option, _ = inputs()
    at = [220_000, 290_000]
    if kind == "struct":
        record = np.zeros(COUNT, RECORD)
        record["x"][at] = 1000
        source = nd.array(record)
        return lambda: source.astype("{x: int8, y: float64, z: uint8}"), '(220000, "x")'
    if kind == "text":
        texts = ["12"] * COUNT
        texts[at[0]], texts[at[1]] = "zwölf", "z"
        source = nd.array(texts)
        return lambda: source.astype("int32"), "(220000,)"
    values = np.ma.array(np.ones(COUNT, "int32"), mask=False)
    if kind == "missing":
        values[at] = np.ma.masked
        source = nd.array(values)
        return lambda: source.astype("int32"), "(220000,)"
    values[100_000] = np.ma.masked
    values.data[[100_000, *at]] = 0
    divisor = nd.array(values)
    return lambda: nd.array(np.ones(COUNT, "int32")) // divisor, "(220000,)"


@pytest.mark.parametrize("kind", ["struct", "text", "missing", "division"])
def test_messages_do_not_depend_on_threads(kind):
    call, where = spoiled(kind)
    texts = set()
    for count in (1, 2, 3, 2, 2):
        nd.set_num_threads(count)
        with pytest.raises((ValueError, OverflowError)) as caught:
            call()
        texts.add(str(caught.value))
    assert len(texts) == 1 and texts.pop().endswith(f" at index {where}")


@pytest.mark.parametrize("kind", ["struct", "text", "missing", "division"])
def test_a_failure_in_a_ragged_array(kind):
    """The same elements in rows of 50, behind an empty row."""
    structs, words, option, _ = inputs()
    offsets = np.concatenate([[0], np.arange(0, COUNT + 1, 50)])
    if kind == "division":
        bad = np.ones(COUNT, "int32")
        bad[220_001] = 0
        a, b = nd.from_offsets(offsets, nd.array(np.ma.array(bad * 3, mask=False))), nd.from_offsets(offsets, bad)
        call, where = (lambda: a % b), "(4401, 1)"
    elif kind == "struct":
        record = np.zeros(COUNT, RECORD)
        record["z"][220_001] = 200
        rows = nd.from_offsets(offsets, nd.array(record))
        call, where = (lambda: rows.astype("{z: int8, x: int32, y: float64}")), '(4401, 1, "z")'
    elif kind == "text":
        texts = ["12"] * COUNT
        texts[220_001] = "x"
        rows = nd.from_offsets(offsets, nd.array(texts))
        call, where = (lambda: rows.astype("int32")), "(4401, 1)"
    else:
        values = np.ma.array(np.ones(COUNT, "int32"), mask=False)
        values[220_001] = np.ma.masked
        rows = nd.from_offsets(offsets, nd.array(values))
        call, where = (lambda: rows.astype("int64")), "(4401, 1)"
    for count in (1, 2):
        nd.set_num_threads(count)
        with pytest.raises((ValueError, OverflowError)) as caught:
            call()
        assert str(caught.value).endswith(f" at index {where}")


# ---- large arrays: lazy, fused, on threads, at every ISA level


def masked_list(flat, mask):
    return [None if bad else x for x, bad in zip(flat.tolist(), mask.tolist())]


@functools.lru_cache(None)
def large_inputs(kind):
    """The inputs of programs.py, every other one with missing values: -> arrays, (values, where they are there)."""
    arrays, plain = programs.INPUTS[kind]()
    rng = np.random.default_rng(23)
    made, columns = [], []
    for i, (array, flat) in enumerate(zip(arrays, plain)):
        there = np.ones(flat.shape, bool)
        if i % 2 == 0 and array.ndim == 2 and array.tolist() and flat.size == sum(map(len, array.tolist())):
            there = rng.random(flat.shape) < 0.8
            values = iter(masked_list(flat.ravel(), ~there.ravel()))
            rows = [[next(values) for _ in row] for row in array.tolist()]
            array = nd.array(rows, type=str(array.type).replace(flat.dtype.name, "?" + flat.dtype.name))
        made.append(array)
        columns.append((flat, there))
    return made, columns


def run_columns(program, inputs):
    """A program over pairs of NumPy arrays: values, and where they are there."""
    columns = list(inputs)
    for name, operands in program:
        chosen = [columns[i] for i in operands]
        (value,) = programs.run_numpy([(name, tuple(range(len(chosen))))], [x for x, _ in chosen])[len(chosen) :]
        flags = [there for _, there in chosen]
        if name == "where":
            there = flags[0] & np.where(chosen[0][0], flags[1], flags[2])
        else:
            there = functools.reduce(operator.and_, flags)
        columns.append((value, np.broadcast_to(there, value.shape)))
    return columns


def large_program(kind, seed):
    arrays, columns = large_inputs(kind)
    rng = random.Random(seed)
    scalars = [values.dtype.name for values, _ in columns]
    names = [name for name in programs.TOTAL if name != "divide"]  # no sign of a zero is promised
    return programs.random_program(rng, scalars, rng.randint(2, 9), names), arrays, columns


@settings(max_examples=60)
@given(st.sampled_from(["strided", "ragged"]), seeds)
def test_lazy_programs_are_eager_ones_and_those_of_numpy(kind, seed):
    program, arrays, columns = large_program(kind, seed)
    with nd.eager():
        eager = programs.run(program, arrays)[-1].tolist()
    found = programs.run(program, arrays)[-1]
    values = found.tolist()
    assert identical(values, eager)
    flat = oracle.leaves(values, found.ndim)
    column, there = run_columns(program, columns)[-1]
    if len(flat) == column.size:  # an expression of the small inputs alone has another shape in the flat reference
        assert identical(flat, masked_list(column.ravel(), ~there.ravel()), zeros=False)


@settings(max_examples=40)
@given(
    st.sampled_from(["strided", "ragged"]), seeds, st.sampled_from(["sum", "min", "max"]), st.sampled_from([None, 1])
)
def test_reductions_of_lazy_programs(kind, seed, name, axis):
    program, arrays, _ = large_program(kind, seed)
    program = [step for step in program if step[0] not in ("less", "where")]
    program = [(step, tuple(i % len(arrays) for i in operands)) for step, operands in program] or [("add", (0, 2))]
    with nd.eager():
        whole = programs.run(program, arrays)[-1]
        whole = whole + arrays[0]
        value = whole.tolist()
    last = programs.run(program, arrays)[-1] + arrays[0]
    dims = (strided(len(value)), VAR)
    expected = missing.reduce(name, Array(dims, str(whole.type).split(" * ")[-1], value), axis)
    assert identical(getattr(last, name)(axis=axis).tolist(), expected.values, zeros=False)


def one_kernel(function):
    text = str(nd.explain(function))
    assert text.count("one kernel") == 1, text
    return text


def random_option(rng, shape, scalar="float64"):
    values = rng.standard_normal(shape) * 100
    return nd.array(np.ma.array(values.astype(scalar), mask=rng.random(shape) < 0.2))


def ragged_option(rng, count=4000, scalar="float64"):
    lengths = rng.poisson(5, count)
    content = random_option(rng, int(lengths.sum()), scalar)
    rows = nd.from_offsets(np.concatenate([[0], np.cumsum(lengths)]), content).tolist()
    return nd.array(rows, type=f"strided * var * ?{scalar}")


@pytest.mark.parametrize("kind", ["strided", "ragged", "ragged with others"])
def test_one_kernel_for_a_chain_with_a_reduction(kind):
    rng = np.random.default_rng(8)
    if kind == "strided":
        a, b, c = (random_option(rng, (100, 200)) for _ in range(3))
    else:
        a = ragged_option(rng)
        b = (a * 0.5).eval()
        c = (a + 1.0).eval() if kind == "ragged" else nd.fill_missing(a, 2.0).eval()
    one_kernel(lambda: (a * b + c).sum(axis=1))
    one_kernel(lambda: (a * b + c).eval())
    one_kernel(lambda: nd.where(a < b, a, c * 2.0).max(axis=1))
    one_kernel(lambda: nd.fill_missing(a * b, 0.0).sum(axis=1))
    one_kernel(lambda: nd.is_missing(a * b).sum(axis=1))
    with nd.eager():
        expected = (a * b + c).tolist()
    assert identical((a * b + c).tolist(), expected)
    dims = (strided(len(expected)), VAR)
    found = missing.reduce("sum", Array(dims, "?float64", expected), 1)
    assert identical((a * b + c).sum(axis=1).tolist(), found.values, zeros=False)
    flags = nd.is_missing(a * b).sum(axis=1).tolist()
    with nd.eager():
        assert flags == [sum(x is None for x in row) for row in (a * b).tolist()]


def test_a_conversion_joins_the_chain():
    rng = np.random.default_rng(9)
    a, b = random_option(rng, 20_000, "float32"), nd.array(np.arange(20_000))
    text = one_kernel(lambda: (a + b).sum())
    assert "add" in text
    values = [None if x is None else x + i for i, x in enumerate(a.tolist())]
    assert (a + b).tolist() == values


def digest():
    """One number for the results of many programs over large arrays with missing values."""
    total = hashlib.sha256()
    for kind, seed in itertools.product(["strided", "ragged"], range(8)):
        program, arrays, _ = large_program(kind, seed)
        total.update(repr(programs.run(program, arrays)[-1].tolist()).encode())
    rng = np.random.default_rng(10)
    for scalar in ("float32", "float64", "int32"):
        a, b = random_option(rng, 250_000, scalar), random_option(rng, 250_000, scalar)
        rows = nd.from_offsets(np.concatenate([[0], np.sort(rng.integers(0, 250_000, 40_000)), [250_000]]), a)
        plane = nd.array(np.ma.array(rng.standard_normal((600, 500)).astype(scalar), mask=rng.random((600, 500)) < 0.1))
        for found in (
            a * b + a,
            (a * b).sum(),
            nd.where(a < b, a, b).max(),
            nd.fill_missing(a, 1).sum(),
            rows.sum(axis=1),
            (rows * rows).max(axis=1),
            plane.sum(axis=0),
            (plane + plane).min(axis=1),
            plane.T.sum(axis=1),
        ):
            total.update(marshal.dumps(found.tolist(), 2))  # no NaN among them
    return total.hexdigest()


def test_threads_and_isa_levels_change_no_bit():
    here = digest()
    nd.set_num_threads(2)
    assert digest() == here
    with nd.eager():
        assert digest() == here
    assert worker("baseline", script=("test_one_engine.py",)) == here
    assert worker("avx2", threads=2, script=("test_one_engine.py",)) == here


# ---- explain


@pytest.mark.parametrize(
    "name, function",
    [
        ("less", lambda structs, words, option: structs < structs[::-1]),
        ("equal", lambda structs, words, option: words == words[::-1]),
        ("less_equal", lambda structs, words, option: (option <= 5).eval()),
        ("assign|astype", lambda structs, words, option: structs.astype("{x: int64, y: float32, z: uint8}")),
        ("assign|astype", lambda structs, words, option: words.astype("?string")),
        ("floor_divide", lambda structs, words, option: (option // 3).eval()),
        ("is_missing", lambda structs, words, option: nd.is_missing(option).eval()),
        ("fill_missing", lambda structs, words, option: nd.fill_missing(option, 0).eval()),
        ("sum", lambda structs, words, option: (option * option).sum()),
        ("max", lambda structs, words, option: nd.where(option < 50, option, None).max()),
    ],
)
def test_one_explanation_for_all(name, function):
    structs, words, option, _ = inputs()
    text = str(nd.explain(function, structs, words, option))
    first, *lines = text.splitlines()
    assert contains(first, f"^({name}): one kernel of \\d+ bytes", f", {COUNT} elements$")
    assert text.count("one kernel") == 1, text
    assert any(line.startswith("  to   ") for line in lines) and any(line.startswith("  from ") for line in lines)


def test_explanations_do_not_depend_on_threads():
    structs, words, option, _ = inputs()
    for function in (lambda: structs == structs, lambda: words < "w", lambda: (option + 1).eval()):
        found = set()
        for count in (1, 2):
            nd.set_num_threads(count)
            found.add(str(nd.explain(function)))
        assert len(found) == 1


if __name__ == "__main__":
    nd.set_num_threads(int(sys.argv[1]))
    print(digest())


# ---- what is watched


def rows_that_may_be_missing():
    return nd.array([[1, 2], None, [3]], type="strided * ?var * int64")


@pytest.mark.parametrize("shown, call", [
    (["cumulative_sum"], lambda: nd.cumulative_sum([[1.0, 2.0]], axis=0, include_initial=True)),
    (["sum"], lambda: nd.sum(rows_that_may_be_missing(), axis=1)),
    (["add"], lambda: rows_that_may_be_missing() + 1),
    (["nanmin", "nanmin", "where"], lambda: nd.nanmin([[np.nan, 1.0], [np.nan, np.nan]], axis=1)),
    (["nothing was evaluated"], lambda: nd.array([[1, 2], [3, 4]])[nd.array([0, 1]), nd.array([[0], [1]])]),
    (["nothing was evaluated"], lambda: rows_that_may_be_missing()[:, 0]),
    (["nothing was evaluated"], lambda: nd.take(rows_that_may_be_missing(), [0], axis=1)),
])  # fmt: skip
def test_an_explanation_has_no_kernel_of_an_intermediate_array(shown, call):
    lines = str(nd.explain(call)).splitlines()
    assert [line.split(":")[0] for line in lines if line and line[0] != " "] == shown
