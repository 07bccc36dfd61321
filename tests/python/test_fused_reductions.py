"""A reduction computes what is lazy below it in its own pass: any axis, any layout, with other owners or without.

nd.explain shows one kernel, and sums have the bits of the documented order of summation.
"""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import programs
from dynd import nd
from oracle import VAR, Array, strided
from strategies import seeds
from support import bits, identical

NAMES = ["sum", "min", "max"]


@pytest.fixture(autouse=True)
def one_thread_afterwards():
    yield
    nd.set_num_threads(1)


def wild(rng, shape):
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-5, 6, shape)


def ours(plain):
    """A lazy-capable copy: immutable memory of the library's own."""
    kind = " * ".join(["strided"] * plain.ndim + [plain.dtype.name])
    return nd.array(plain.tolist(), type=kind)


def reduced(name, plain, axis, keepdims=False):
    """By NumPy, and for sums in the documented order."""
    if name != "sum":
        return getattr(np, name)(plain, axis=axis, keepdims=keepdims)
    if axis is None:
        total = np.asarray(oracle.ordered_sum(plain.ravel()))
        return total.reshape((1,) * plain.ndim) if keepdims else total
    found = np.apply_along_axis(oracle.ordered_sum, axis, plain)
    return np.expand_dims(found, axis) if keepdims else found


def one_pass(function, *words):
    """-> the function's result; it was one kernel, which has these operations in it."""
    results = []
    text = str(nd.explain(lambda: results.append(function())))
    assert text.count("one kernel") == 1, text
    for word in words:
        assert word in text, text
    return results[0]


def outputs(text):
    return [line for line in text.splitlines() if line.lstrip().startswith("to ")]


#: views of a cube that NumPy and the library write alike
VIEWS = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, :, ::-1],
    "strided": lambda x: x[::2, :, 1::3],
    "transposed and reversed": lambda x: x.T[:, ::-1],
    "transposed and strided": lambda x: x.T[1::2, :, ::-2],
    "a plane": lambda x: x[3],
    "another plane": lambda x: x[:, 2],
    "columns of a plane": lambda x: x[:, :, 1].T,
}


@pytest.fixture(scope="module")
def cubes():
    rng = np.random.default_rng(31)
    plain = [wild(rng, (120, 110, 9)), wild(rng, (120, 110, 9)), wild(rng, (9, 110, 120)).T]
    arrays = [ours(plain[0]), ours(plain[1]), ours(np.ascontiguousarray(plain[2].T)).T]
    return arrays, plain


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_any_layout_and_any_axis(cubes, view, name):
    """The operands' layouts differ from each other: one is transposed as it is."""
    arrays, plain = cubes
    a, b, c = (VIEWS[view](x) for x in arrays)
    x, y, z = (VIEWS[view](x) for x in plain)
    if x.nbytes < 2**16:
        x, y, z = (np.ascontiguousarray(np.tile(part, (9, 1))) for part in (x, y, z))
        a, b, c = (ours(np.ascontiguousarray(part.T)).T for part in (x, y, z))
    for axis in [None, *range(-1, x.ndim)]:
        found = one_pass(lambda: getattr(a * b, name)(axis=axis), "multiply", name)
        assert identical(found.tolist(), reduced(name, x * y, axis).tolist(), zeros=name == "sum"), axis
        found = one_pass(lambda: getattr(a * c + b, name)(axis=axis, keepdims=True), "multiply", "add", name)
        assert identical(found.tolist(), reduced(name, x * z + y, axis, True).tolist(), zeros=name == "sum"), axis


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_first_axis_of_a_plane(threads):
    nd.set_num_threads(threads)
    rng = np.random.default_rng(32)
    for shape in [(700, 400), (40_000, 3), (2, 150_000), (65, 2000), (300_000, 1), (1, 20_000)]:
        x, y = wild(rng, shape), wild(rng, shape)
        a, b = nd.array(x), nd.array(y)
        found = one_pass(lambda: (a * b).sum(axis=0), "multiply", "sum")
        columns = range(0, shape[1], max(1, shape[1] // 50))
        right = {j: oracle.ordered_sum((x * y)[:, j]).tolist() for j in columns}
        values = found.tolist()
        assert len(values) == shape[1] and {j: values[j] for j in columns} == right, shape
        found = one_pass(lambda: (a - b).max(axis=0), "subtract", "max")
        assert found.tolist() == (x - y).max(axis=0).tolist()


def test_the_first_axis_below_many_operations():
    """Rows that were computed are not overwritten by temporaries before they are reduced."""
    rng = np.random.default_rng(8)
    a, b = wild(rng, (150, 300)), wild(rng, (150, 300))
    x, y = ours(a), ours(b)

    def chain(value, factor, term, steps):
        for _ in range(steps):
            value = value * factor + term
        return value

    for steps in range(1, 7):
        found = one_pass(lambda: chain(y, x, y, steps).sum(axis=0), "columns")
        assert found.tolist() == reduced("sum", chain(b, a, b, steps), 0).tolist()


def test_a_ragged_operand_below_a_strided_result():
    rng = np.random.default_rng(9)
    a, b = wild(rng, (300, 40)), wild(rng, (300, 40))
    x, y = ours(a), nd.array(b.tolist(), type="strided * var * float64")
    for axis in (0, 1, None, (0, 1)):
        for name in NAMES:
            right = reduced(name, a * b, None if axis == (0, 1) else axis).tolist()
            assert getattr(nd, name)(x * y, axis=axis).tolist() == right


@pytest.mark.parametrize("scalar", ["float16", "float32", "complex64", "complex128"])
def test_sums_of_other_types(scalar):
    rng = np.random.default_rng(33)
    x, y = (rng.standard_normal((257, 181)).astype(scalar) for _ in range(2))
    a, b = nd.array(x), nd.array(y)
    for axis in (0, 1, None):
        found = one_pass(lambda: (a + b).sum(axis=axis), "add", "sum")
        assert identical(found.tolist(), reduced("sum", x + y, axis).tolist())


@pytest.mark.parametrize("scalar", ["int8", "uint16", "int32", "uint64"])
def test_integers_wrap_and_add_up_in_64_bits(scalar):
    rng = np.random.default_rng(34)
    info = np.iinfo(scalar)
    x, y = (rng.integers(info.min, info.max, (300, 330), dtype=scalar, endpoint=True) for _ in range(2))
    a, b = nd.array(x), nd.array(y)
    for axis in (0, 1, None):
        wide = "uint64" if scalar[0] == "u" else "int64"
        found = one_pass(lambda: (a * b).sum(axis=axis), "multiply", "sum")
        assert found.tolist() == (x * y).astype(wide).sum(axis=axis).tolist()
        found = one_pass(lambda: (a + b).min(axis=axis), "add", "min")
        assert found.tolist() == (x + y).min(axis=axis).tolist()


def test_operands_that_stretch():
    rng = np.random.default_rng(35)
    row, column, plane = wild(rng, 300), wild(rng, (200, 1)), wild(rng, (200, 300))
    a, b, c = nd.array(row), nd.array(column), nd.array(plane)
    for axis in (0, 1, None):
        found = one_pass(lambda: (c * a + b).sum(axis=axis), "multiply", "add", "sum")
        assert identical(found.tolist(), reduced("sum", plane * row + column, axis).tolist())
        assert identical((b * a).sum(axis=axis).tolist(), reduced("sum", column * row, axis).tolist())
        found = one_pass(lambda: nd.where(c < 0.0, a, b).max(axis=axis), "where", "max")
        assert found.tolist() == np.where(plane < 0.0, row, column).max(axis=axis).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_ragged(name):
    rng = np.random.default_rng(36)
    lengths = rng.integers(1, 40, 2000)
    flat, other = wild(rng, lengths.sum()), wild(rng, lengths.sum())
    cuts = np.cumsum(lengths)[:-1]
    a, b = (nd.array([part.tolist() for part in np.split(x, cuts)]) for x in (flat, other))
    found = one_pass(lambda: getattr(a * b, name)(axis=1), "multiply", name)
    right = [reduced(name, part, None).tolist() for part in np.split(flat * other, cuts)]
    assert identical(found.tolist(), right, zeros=name == "sum")
    found = one_pass(lambda: getattr(a * b, name)(), "multiply", name)
    assert identical(found.tolist(), reduced(name, flat * other, None).tolist(), zeros=name == "sum")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_ragged_and_three_deep(name, axis):
    """Rows of pairs; for axis 0 rows of one length behind a `var`."""
    rng = np.random.default_rng(37)
    lengths = np.full(500, 11) if axis == 0 else rng.integers(1, 20, 500)
    make = lambda: [wild(rng, (n, 2)).tolist() for n in lengths]  # noqa: E731
    x, y = make(), make()
    a, b = (nd.array(values, type="strided * var * strided * float64") for values in (x, y))
    found = one_pass(lambda: getattr(a * b, name)(axis=axis), "multiply", name)
    product = [(np.array(p) * np.array(q)).tolist() for p, q in zip(x, y)]
    expected = oracle.reduce(name, Array((strided(500), VAR, strided(2)), "float64", product), axis)
    assert identical(found.tolist(), expected.values, zeros=name == "sum")


# ---- other owners


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_held_value_is_an_output_of_the_same_pass(name, axis, ragged, threads):
    nd.set_num_threads(threads)
    rng = np.random.default_rng(38)
    x, y = wild(rng, (600, 500)), wild(rng, (600, 500))
    kind = "strided * var * float64" if ragged else "strided * strided * float64"
    a, b = (nd.array(z.tolist(), type=kind) for z in (x, y))
    held = []

    def work():
        c = a * b
        held.append(c)
        return getattr(c, name)(axis=axis)

    results = []
    text = str(nd.explain(lambda: results.append(work())))
    assert text.count("one kernel") == 1 and len(outputs(text)) == 2, text
    assert str(nd.explain(held[0].eval)) == "nothing was evaluated\n"
    assert identical(results[0].tolist(), reduced(name, x * y, axis).tolist(), zeros=name == "sum")
    assert identical(held[0].tolist(), (x * y).tolist())


def test_several_held_values():
    rng = np.random.default_rng(39)
    x, y = wild(rng, (100, 200)), wild(rng, (100, 200))
    a, b = nd.array(x), nd.array(y)
    held, results = [], []

    def work():
        held.append(a * b)
        held.append(held[0] + a)
        results.append((held[1] - b).sum(axis=1))

    text = str(nd.explain(work))
    assert text.count("one kernel") == 1 and len(outputs(text)) == 3, text
    assert str(nd.explain(lambda: [value.eval() for value in held])) == "nothing was evaluated\n"
    assert identical(results[0].tolist(), reduced("sum", x * y + x - y, 1).tolist())
    assert identical([value.tolist() for value in held], [(x * y).tolist(), (x * y + x).tolist()])


def test_a_value_that_is_dropped_is_not_stored():
    a = nd.array(wild(np.random.default_rng(40), (100, 200)))
    text = str(nd.explain(lambda: ((a * a) + a).sum(axis=0)))
    assert text.count("one kernel") == 1 and len(outputs(text)) == 1, text


def test_values_held_elsewhere_stay_lazy():
    """What does not lie below the reduction is not computed by it; asked for later, it has its value."""
    x = wild(np.random.default_rng(41), (100, 200))
    a = nd.array(x)
    aside = a * 3.0
    total = (a + 1.0).sum(axis=0)
    assert "multiply" in str(nd.explain(aside.eval))
    assert identical(total.tolist(), reduced("sum", x + 1.0, 0).tolist())
    assert identical(aside.tolist(), (x * 3.0).tolist())


# ---- random programs


@settings(max_examples=80)
@given(seeds, st.sampled_from(NAMES), st.sampled_from([None, 0, 1, -2]), st.booleans(), st.booleans())
def test_random_programs(seed, name, axis, held, keepdims):
    rng = random.Random(seed)
    arrays, plain = programs.strided_inputs()
    names = [x for x in programs.TOTAL if x not in ("less", "where", "divide")]  # no sign of a zero is promised
    program = programs.random_program(rng, programs.scalars_of(plain), rng.randint(1, 6), names)
    last = len(plain) + len(program) - 1
    program.append((rng.choice(["add", "multiply", "maximum"]), (last, rng.randrange(5))))  # of the whole shape
    values = programs.run(program, arrays)
    result = values[-1]
    if not held:
        del values
    found = getattr(result, name)(axis=axis, keepdims=keepdims)
    whole = programs.run_numpy(program, plain)[-1]
    scalar = oracle.accumulator(name, whole.dtype.name)
    if whole.dtype.kind == "f" or name != "sum":
        with np.errstate(all="ignore"):
            expected = reduced(name, whole, axis, keepdims)
    else:
        expected = whole.astype(scalar).sum(axis=axis, keepdims=keepdims)
    assert str(nd.type_of(found)).split(" * ")[-1] == scalar
    assert identical(found.tolist(), expected.tolist(), zeros=False)
    assert identical(result.tolist(), whole.tolist(), zeros=False)


@settings(max_examples=40)
@given(seeds)
def test_random_views_below_a_sum(seed):
    rng = random.Random(seed)
    arrays, plain = programs.strided_inputs()
    a, x = arrays[0], plain[0]
    cut = tuple(slice(None, None, rng.choice([1, 1, -1, 2, -3])) for _ in range(2))
    turned = rng.random() < 0.5
    a, x = (a[cut].T, x[cut].T) if turned else (a[cut], x[cut])
    b, y = (arrays[2][cut].T, plain[2][cut].T) if turned else (arrays[2][cut], plain[2][cut])
    axis = rng.choice([None, 0, 1])
    whole = ((a * b) - a)[::-1]
    assert identical(whole.sum(axis=axis).tolist(), reduced("sum", (x * y - x)[::-1], axis).tolist())


def test_explain_shows_strides_in_the_order_of_the_axes():
    a = nd.array(np.ones((400, 500)))
    text = str(nd.explain(lambda: a.sum(axis=0)))
    assert "from strided * strided * float64 (400, 500), strides (4000, 8)" in text


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("name", ["min", "max"])
def test_an_empty_row_below_a_lazy_operation_is_named(name, held):
    rows = nd.from_offsets(nd.array(np.array([0, 9000, 9000, 20000])), nd.array(np.arange(20000)))
    owners = [nd.abs(rows + 1)] if held else []
    with pytest.raises(ValueError, match=f"{name}: row 1 is empty"):
        getattr(owners[0] if held else nd.abs(rows + 1), name)(axis=1)
    assert all(owner[2, 5].tolist() == 9006 for owner in owners)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("longest", [3, 12, 900])
def test_the_least_root_is_that_of_the_least_element(dtype, longest, threads):
    """Ragged rows fold what is below the root, and take the root of each row's least element."""
    nd.set_num_threads(threads)
    rng = np.random.default_rng(longest)
    lengths = rng.integers(1, longest + 1, 400_000 // longest)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = np.square(rng.standard_normal(offsets[-1])).astype(dtype)
    content[rng.random(content.size) < 0.1] = rng.choice([-0.0, 0.0, -1.0, np.nan, np.inf])
    content[:: 7 * longest] = rng.choice([-0.0, -2.0, np.nan], content[:: 7 * longest].size)
    a = nd.from_offsets(nd.array(offsets), nd.array(content))
    with np.errstate(invalid="ignore"):
        roots = np.sqrt(content)
    eager = nd.from_offsets(nd.array(offsets), nd.array(roots))
    assert bits(one_pass(lambda: nd.sqrt(a).min(axis=1), "sqrt")) == bits(eager.min(axis=1))
    positive = [nd.sqrt(a + 3).min(axis=1), nd.sqrt(a + 3).eval().min(axis=1)]
    assert bits(positive[0]) == bits(positive[1])
    root = nd.sqrt(a)  # held: it is stored, and folded as it is
    assert bits(root.min(axis=1)) == bits(eager.min(axis=1)) and bits(root[-1]) == bits(eager[-1])


def test_the_least_root_of_empty_rows_and_of_the_others():
    a = nd.from_offsets(np.array([0, 0, 2, 2, 3] + [3] * 30_000), nd.array([9.0, 4.0, 16.0]))
    assert nd.sqrt(a + 0).min(axis=1, empty="missing").tolist() == [None, 2.0, None, 4.0] + [None] * 30_000
    assert nd.sqrt(a + 0).min(axis=1, initial=3).tolist() == [3.0, 2.0, 3.0, 3.0] + [3.0] * 30_000
    with pytest.raises(ValueError, match="min: row 0 is empty"):
        nd.sqrt(a + 0).min(axis=1)
    assert nd.sqrt(a).max(axis=1, empty="missing").tolist()[:4] == [None, 3.0, None, 4.0]
