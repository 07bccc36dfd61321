"""Operations on large immutable arrays are lazy and fused; the bits of the results are those of eager ones.

Random expressions are compared with the same under nd.eager() and with NumPy: held or dropped, materialized in any
order, from many Python threads at once, with one worker thread and with two, at every ISA level.
"""

import gc
import operator
import os
import pickle
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import programs
from dynd import nd
from strategies import FEW, seeds
from support import bits, contains

KINDS = sorted(programs.INPUTS)


@pytest.fixture(autouse=True)
def one_thread_afterwards():
    yield
    nd.set_num_threads(1)


def eager_bits(program, inputs):
    with nd.eager():
        return [bits(value) for value in programs.run(program, inputs)]


@settings(max_examples=FEW)
@given(st.sampled_from(KINDS), seeds)
def test_a_lazy_expression_has_the_bits_of_an_eager_one(kind, seed):
    program, inputs, _ = programs.make_program(kind, seed)
    last = programs.run(program, inputs)[-1]
    assert bits(last) == eager_bits(program, inputs)[-1], program


@settings(max_examples=FEW)
@given(st.sampled_from(KINDS), seeds)
def test_a_lazy_expression_is_numpy(kind, seed):
    program, inputs, plain = programs.make_program(kind, seed)
    found = programs.run(program, inputs)[-1]
    expected = programs.run_numpy(program, plain)[-1]
    assert str(nd.type_of(found)).split(" * ")[-1] == expected.dtype.name
    flat = found.tolist()
    for _ in range(found.ndim - 1):
        flat = [x for row in flat for x in row]
    flat = np.array(flat, dtype=expected.dtype)
    if flat.size == expected.size:  # an expression of the small inputs alone has another shape in the flat reference
        np.testing.assert_array_equal(flat.reshape(expected.shape), expected)


def program_of(kind, seed):
    """A random program, its inputs, and the bits of all its values."""
    program, inputs, _ = programs.make_program(kind, seed)
    return random.Random(seed), program, inputs, eager_bits(program, inputs)


@settings(max_examples=FEW)
@given(st.sampled_from(KINDS), seeds)
def test_values_held_by_variables_in_any_order(kind, seed):
    """Every intermediate value is held, some are dropped on the way, the rest is looked at in random order."""
    rng, program, inputs, expected = program_of(kind, seed)
    values = programs.run(program, inputs)
    order = rng.sample(range(len(values)), len(values))
    for i in order[: len(order) // 3]:
        values[i] = None
    for i in order[len(order) // 3 :]:
        assert bits(values[i]) == expected[i], (program, i)


@settings(max_examples=FEW)
@given(st.sampled_from(KINDS), seeds)
def test_materialized_in_the_middle(kind, seed):
    """Some values are evaluated while the expression is still being written down."""
    rng, program, inputs, expected = program_of(kind, seed)
    values = list(inputs)
    for name, operands in program:
        values.append(getattr(nd, name)(*[values[i] for i in operands]))
        if rng.random() < 0.3:
            values[rng.randrange(len(values))].eval()
        if rng.random() < 0.2:
            i = rng.randrange(len(values))
            assert bits(values[i]) == expected[i]
    assert bits(values[-1]) == expected[-1]


@settings(max_examples=FEW)
@given(
    st.sampled_from(KINDS), seeds, st.sampled_from(["sum", "min", "max"]), st.sampled_from([None, 1, -1]), st.booleans()
)
def test_a_reduction_absorbs_lazy_operands(kind, seed, name, axis, held):
    _, inputs, plain = programs.make_program(kind, seed)
    names = [x for x in programs.TOTAL if x not in ("less", "where")]
    program = programs.random_program(random.Random(seed), programs.scalars_of(plain), 6, names)
    with nd.eager():
        whole = programs.run(program, inputs)[-1]
    axis = axis if whole.ndim == 2 else None
    if name != "sum" and kind == "ragged":
        axis = None  # empty rows
    with nd.eager():
        expected = bits(getattr(whole, name)(axis=axis))
    values = programs.run(program, inputs)
    last = values[-1]
    if not held:
        del values
    assert bits(getattr(last, name)(axis=axis)) == expected
    assert bits(last) == bits(whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [1, 2])
def test_many_python_threads_look_at_the_same_lazy_values(kind, workers):
    nd.set_num_threads(workers)
    for seed in range(12):
        program, inputs, _ = programs.make_program(kind, seed, count=10)
        expected = eager_bits(program, inputs)
        values = programs.run(program, inputs)
        failures, barrier = [], threading.Barrier(4)

        def look(number):
            order = random.Random(number).sample(range(len(values)), len(values))
            barrier.wait()
            for i in order:
                if bits(values[i]) != expected[i]:
                    failures.append((seed, number, i))

        threads = [threading.Thread(target=look, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "a thread waits for ever"
        assert not failures


@pytest.mark.parametrize("kind", KINDS)
def test_many_python_threads_write_expressions_over_the_same_values(kind):
    """Shared lazy values grow in several directions at once."""
    shared, inputs, _ = programs.make_program(kind, 77, count=6)
    for round_ in range(6):
        values = programs.run(shared, inputs)
        numbers = [i for i, value in enumerate(values) if "bool" not in str(nd.type_of(value))]
        failures, barrier = [], threading.Barrier(4)
        with nd.eager():
            plain = programs.run(shared, inputs)

        def grow(number):
            rng = random.Random(100 * round_ + number)
            program = programs.random_program(
                rng, ["float64"] * len(numbers), 5, ["add", "multiply", "maximum", "negative"]
            )
            barrier.wait()
            found = bits(programs.run(program, [values[i] for i in numbers])[-1])
            if found != bits(programs.run(program, [plain[i] for i in numbers])[-1]):
                failures.append((round_, number))

        threads = [threading.Thread(target=grow, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "a thread waits for ever"
        assert not failures


def test_eager_in_one_thread_does_not_reach_into_another():
    """Whatever a thread chooses, the values are the same."""
    program, inputs, _ = programs.make_program("strided", 5, count=8)
    expected = eager_bits(program, inputs)
    found = []

    def work():
        for _ in range(20):
            found.append(bits(programs.run(program, inputs)[-1]) == expected[-1])

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        assert eager_bits(program, inputs) == expected
    thread.join(60)
    assert not thread.is_alive() and all(found) and len(found) == 20


def test_the_number_of_threads_changes_no_bit():
    found = set()
    for count in (1, 2, 3):
        nd.set_num_threads(count)
        found.add(programs.large_digest())
    with nd.eager():
        found.add(programs.large_digest())
    assert len(found) == 1


def worker(level=None, threads=1, script=("programs.py", "12")):
    environment = {key: value for key, value in os.environ.items() if key != "DYND_CPU_LEVEL"}
    if level:
        environment["DYND_CPU_LEVEL"] = level
    here = Path(__file__).parent
    environment["PYTHONPATH"] = os.pathsep.join([str(here), *sys.path])
    command = [sys.executable, str(here / script[0]), *script[1:], str(threads)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_isa_level_gives_the_same_bytes():
    here = " ".join([programs.digest(12), programs.large_digest()])
    assert worker("baseline") == here
    assert worker("avx2", threads=2) == here
    assert worker(None, threads=2) == here


# ---- what can be seen of a lazy value


def large(count=20_000):
    return nd.array(np.arange(count, dtype="float64").tolist())


def test_type_shape_and_length_are_known_at_once():
    a = large()
    lazy = a * 2.0 + 1.0
    assert (lazy.shape, lazy.ndim, len(lazy)) == ((20_000,), 1, 20_000)
    assert str(nd.type_of(lazy)) == "strided * float64"
    assert lazy[3].tolist() == 7.0
    assert lazy[-2:].tolist() == [39997.0, 39999.0]


def test_views_of_lazy_values():
    a = large()
    lazy = a + 1.0
    assert (lazy[::-1] - a[::-1]).sum() == 20_000
    assert (lazy[5:] * 2.0)[0].tolist() == 12.0
    square = nd.array(np.arange(10_000.0).reshape(100, 100).tolist())
    assert np.array_equal(np.asarray((square + 1.0).T), np.arange(10_000.0).reshape(100, 100).T + 1)


@pytest.mark.parametrize("kind", ["float64", "?int32", "rows"])
@pytest.mark.parametrize("how", ["root", "sum", "mean of rows"])
def test_equal_operations_that_are_all_kept(kind, how):
    """They are one step of the pass, and each of the arrays gets its values."""
    x = (np.arange(30_000) % 101).tolist()
    a = nd.array([None if i % 7 == 0 else v for i, v in enumerate(x)]) if kind == "?int32" else nd.array(x, type="float64")
    a = nd.unflatten(a, np.tile([3, 0, 6, 1], 3000)) if kind == "rows" else nd.unflatten(a, 10)
    with nd.eager():
        product, total = (a * a).tolist(), (a * a + a * a + a * a).tolist()
    kept = [a * a for _ in range(3)]
    both = kept[0] + kept[1] + kept[2]
    if how == "sum":
        both.sum().eval()
    elif how == "mean of rows":
        both.mean(axis=1, keepdims=True).eval()
    assert both.tolist() == total
    assert [one.tolist() for one in kept] == [product] * 3


def test_eval_gives_the_same_values():
    a = large()
    lazy = a * a
    done = lazy.eval()
    assert done.tolist() == lazy.tolist()
    assert nd.array([1, 2]).eval().tolist() == [1, 2]


def test_numpy_sees_a_lazy_value():
    assert np.array_equal(np.asarray(large() - 1.0), np.arange(20_000.0) - 1)
    assert not np.asarray(large() - 1.0).flags.writeable


def test_an_error_is_raised_where_it_was_written():
    a, b = large(20_000), large(19_999)
    lazy = a + 1.0
    with pytest.raises(ValueError) as caught:
        lazy * b
    assert contains(str(caught.value), "multiply", "20000", "19999")
    assert lazy[0].tolist() == 1.0
    rows, other = [[1.0] * (i % 5) for i in range(10_000)], [[1.0] * (i % 5) for i in range(10_000)]
    other[4322] = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError) as caught:
        (nd.array(rows, type="strided * var * float64") + 1.0) * nd.array(other, type="strided * var * float64")
    assert contains(str(caught.value), "^multiply:", "row 4322", "2 and 3")


def test_a_bad_row_far_down_is_named():
    rows = [[1.0] * (2 + i % 3) for i in range(30_000)]
    other = [list(row) for row in rows]
    other[17_017] = [1.0] * 7
    for threads in (1, 2):
        nd.set_num_threads(threads)
        with pytest.raises(ValueError) as caught:
            nd.array(rows, type="strided * var * float64") + nd.array(other, type="strided * var * float64")
        assert contains(str(caught.value), "add", "row 17017", "lengths")


def test_eager_ends_with_its_block():
    a = large()
    with pytest.raises(RuntimeError):
        with nd.eager():
            raise RuntimeError
    with nd.eager():
        with nd.eager():
            inside = a + 1.0
        still = a + 2.0
    outside = a + 3.0
    assert [x[0].tolist() for x in (inside, still, outside)] == [1.0, 2.0, 3.0]


def test_long_chains():
    """Far more operations than may be lazy at once; a long chain whose values no one needs is dropped, not recursed."""
    a = large()
    total = a
    for _ in range(5_000):
        total = total + 1.0
    assert total[0].tolist() == 5_000.0 and total[19_999].tolist() == 24_999.0
    for _ in range(2_000):
        total = -total
    del total
    gc.collect()


@pytest.mark.parametrize("name", ["sum", "any", "count", "mean"])
@pytest.mark.parametrize("count", [14, 15, 16])
def test_logic_on_many_numbers_that_may_be_missing(name, count):
    """Each operation takes a dozen registers: one pass has room for fewer of them."""
    columns = [[0, 1, None, 2, i % 3] for i in range(count)]
    sources = [nd.array(column * 2_000, type="strided * ?int8") for column in columns]
    for steps in range(18, 25):
        a, values = sources[0], columns[0]
        for i in range(steps):
            decides = bool(i % 2 == 0)  # logical_or by true, logical_and by false
            a = (nd.logical_or if decides else nd.logical_and)(a, sources[(i + 1) % count])
            pairs = [[None if x is None else bool(x) for x in pair] for pair in zip(values, columns[(i + 1) % count])]
            values = [decides if decides in pair else None if None in pair else not decides for pair in pairs]
        there = [x for x in values if x is not None] * 2_000
        expected = {"sum": sum(there), "any": any(there), "count": len(there), "mean": sum(there) / len(there)}
        assert getattr(nd, name)(a).tolist() == expected[name]


def test_a_wide_group():
    """Hundreds of values hang on one lazy value, and some of them on each other."""
    base = large() + 0.5
    values = [base * float(i) for i in range(200)]
    pairs = [values[i] + values[i + 1] for i in range(0, 200, 2)]
    for i in (150, 0, 199, 20):
        assert values[i][1].tolist() == 1.5 * i
    assert [pair[1].tolist() for pair in pairs] == [1.5 * (4 * i + 1) for i in range(100)]


def test_a_writable_operand_is_read_at_once():
    for make_ in (lambda x: nd.array(x.tolist(), access="rw"), nd.asarray):
        memory = make_(np.arange(20_000.0))
        doubled, chained = memory * 2.0, (memory + 1.0) * 3.0
        memory[...] = 0.0
        assert doubled[5].tolist() == 10.0 and chained[5].tolist() == 18.0
    flat = np.arange(20_000.0)
    ragged = nd.from_offsets(np.arange(0, 20_001, 4), flat)
    doubled = ragged * 2.0
    flat[:] = 0
    assert doubled[1].tolist() == [8.0, 10.0, 12.0, 14.0]


@pytest.mark.parametrize("count", [0, -1, 1.5, "2"])
def test_a_bad_number_of_threads(count):
    with pytest.raises((ValueError, TypeError)):
        nd.set_num_threads(count)


LAST_USES = {
    "operator, left": lambda i, kept: (i * 2) // kept,
    "operator, right": lambda i, kept: kept // (i * 2),
    "function, left": lambda i, kept: nd.floor_divide(i * 2, kept),
    "function, right": lambda i, kept: nd.floor_divide(kept, i * 2),
    "three": lambda i, kept: nd.where(nd.asarray(np.ones(1, bool)), kept, i * 2),
    "reduction": lambda i, kept: (i * 2 + kept).sum(),
}


@pytest.mark.parametrize("call", LAST_USES)
def test_only_what_has_a_name_is_stored(call):
    """An operand at its last use is not stored, and one that has another owner is: it is not computed twice."""
    i = nd.array(np.arange(1, 20_001))
    kept = i + 3
    text = nd.explain(lambda: LAST_USES[call](i, kept))
    assert text.count("one kernel") == 1 and text.count("\n  to ") == 2, text
    assert nd.explain(kept.eval) == "nothing was evaluated\n"
    eager = LAST_USES[call](nd.array(i, access="rw"), nd.array(kept, access="rw"))
    assert LAST_USES[call](i, kept).tolist() == eager.tolist()


@pytest.mark.parametrize(
    "call",
    [
        "x // 3",
        "3 // (x + 1)",
        "nd.floor_divide(x, 3)",
        "x.sum(axis=1)",
        "nd.mean(x, axis=1)",
        "nd.cumulative_sum(x, axis=1)",
        "nd.reduce(nd.subtract, x, axis=1)",
        "x**3 // 2",
        "nd.sum(y, where=x > 2)",
        "nd.sum(y, where=m)",
        "operator.iadd(w, x)",
        "operator.ifloordiv(w, x + 1)",
    ],
)
def test_what_one_name_holds_is_computed_once(call):
    """The pass that reads it stores it: it is not computed again when its owner looks at it."""
    plain = np.arange(12_000).reshape(120, 100)
    y = nd.array(plain)
    names = {"nd": nd, "operator": operator, "y": y, "x": y * 2, "m": y > 2}
    names["w"] = nd.array(plain, access="rw")
    found = eval(call, names)  # each array has one name, in that dictionary
    for name in ("x", "m"):
        if name in compile(call, "", "eval").co_names:
            assert nd.explain(names[name].eval) == "nothing was evaluated\n"
    names |= {"x": nd.array(plain * 2), "m": nd.array(plain > 2), "w": nd.array(plain, access="rw")}
    assert found.tolist() == eval(call, names).tolist()


@pytest.mark.parametrize("size", [2, 40])  # the direct step, and a task
def test_the_order_of_the_axes_in_memory(size):
    """That of the operands, where all have the same; else C order."""
    plain = np.arange(float(size**3)).reshape(size, size, size)
    order = {axes: nd.asarray(plain.transpose(axes)) for axes in [(2, 0, 1), (1, 2, 0), (0, 1, 2)]}
    for left in order:
        for right in order:
            result = np.asarray((order[left] + order[right]).eval())
            assert np.array_equal(result, plain.transpose(left) + plain.transpose(right))
            expected = plain.transpose(left).strides if left == right else plain.strides
            assert result.strides == expected, (left, right)


def deep(dims, first):
    """Rows in rows, each of one element but for the innermost: an array with many streams."""
    array = nd.from_offsets(nd.array([0, 10_000]), nd.array(np.arange(first, first + 10_000.0)))
    for _ in range(dims - 1):
        array = nd.from_offsets(nd.array([0, 1]), array)
    return array


@pytest.mark.parametrize("dims, kernels", [(1, 1), (5, 1), (9, 3), (16, 3), (31, 3)])
def test_one_pass_has_no_more_streams_than_it_has_room_for(dims, kernels):
    a, b, c = deep(dims, 0), deep(dims, 1), deep(dims, 2)
    expression = lambda: (a * b + c - a).eval()  # noqa: E731
    assert str(nd.explain(expression)).count("one kernel") == kernels
    found = expression()
    with nd.eager():
        assert bits(found) == bits(expression())


@pytest.mark.parametrize("shape", [(300, 200), (70, 90), (1000, 40), (33, 500), (20, 30, 40)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
def test_several_sources_in_other_orders_in_one_pass(shape, dtype):
    """Each has memory of its own where it is turned into the result's order."""
    rng = np.random.default_rng(5)
    plain = [rng.integers(0, 9, shape).astype(dtype) for _ in range(4)]
    orders = [np.ascontiguousarray, np.asfortranarray, np.asfortranarray, lambda x: np.asfortranarray(x[::-1])[::-1]]
    a, b, c, d = plain
    x, y, z, u = [nd.asarray(order(p)) for order, p in zip(orders, plain)]
    assert np.array_equal(nd.where(x < 5, y, z), np.where(a < 5, b, c))
    assert np.array_equal(nd.where(y < 5, x, z), np.where(b < 5, a, c))
    ours = [nd.array(p) for p in (x, y, z, u)]
    for one, two, three, four in ((x, y, z, u), tuple(ours)):
        assert np.array_equal(one + two * three - four * two, a + b * c - d * b)
        assert np.array_equal(nd.where(one < two, three + four, four * two), np.where(a < b, c + d, d * b))


N = 100_000
WRITABLE = {
    "array": lambda: nd.array(np.arange(N), access="rw"),
    "of another type": lambda: nd.array(np.arange(N), type="float64", access="rw"),
    "of our array": lambda: nd.array(nd.arange(N), access="rw"),
    "of our array, of another type": lambda: nd.array(nd.arange(N), type="float32", access="rw"),
    "of a lazy array": lambda: nd.array(nd.arange(N) + 0, access="rw"),
    "of every other element": lambda: nd.array(np.arange(2 * N)[::2], access="rw"),
    "of what may be missing": lambda: nd.array(nd.arange(N), type="?float32", access="rw"),
    "of rows": lambda: nd.array(nd.from_offsets(np.arange(0, N + 1, 10), np.arange(N)), access="rw"),
    "of rows, of another type": lambda: nd.array(nd.from_offsets(np.arange(0, N + 1, 10), np.arange(N)), type="float32", access="rw"),
    "of structs": lambda: nd.array(nd.zip({"x": nd.arange(N)}), access="rw")["x"],
    "zeros": lambda: nd.zeros(N, access="rw"),
    "full": lambda: nd.full(N, 5, access="rw"),
    "NumPy's memory": lambda: nd.asarray(np.arange(N)),
    "a pickle": lambda: pickle.loads(pickle.dumps(nd.array(np.arange(N), access="rw"))),
    "a part": lambda: nd.array(np.arange(N + 10), access="rw")[10:],
}


@pytest.mark.parametrize("way", WRITABLE)
def test_what_is_written_later_is_not_seen(way):
    """However the array was made, and whatever was computed of it."""
    make = WRITABLE[way]
    for f in (lambda a: a + 1, lambda a: a > 7, lambda a: -a * 2, lambda a: nd.where(a > 5, a, 0)):
        a = make()
        result = f(a)
        a[...] = 3
        assert result.tolist() == f(make()).tolist()
