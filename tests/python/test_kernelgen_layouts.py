"""Every intent of every form of argument, in every kind, over every layout: against NumPy.

The functions change what they are given and return a number that depends on every element and on its place, so that a
wrong order, a missing copy and a copy too many are all seen.
"""
import itertools

import numpy as np
import pytest

import kernelgen_support
from dynd import nd

FUNCTIONS = """
static long value_of(long *a, long weight) { long old = *a * weight; *a = 2 * *a + weight; return old; }
long one(long a) { return 3 * a + 1; }
long pointed(long *a) { return value_of(a, 5); }
long row(long n, long *a) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum += value_of(a + i, i + 1);
  return sum;
}
long row_steps(long n, long *a, long step) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum += value_of(a + i * step, i + 1);
  return sum;
}
long matrix(long m, long n, long *a) {
  long sum = 0;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      sum += value_of(a + i * n + j, 10 * i + j + 1);
  return sum;
}
long matrix_f(long m, long n, long *a) {
  long sum = 0;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      sum += value_of(a + i + j * m, 10 * i + j + 1);
  return sum;
}
long matrix_steps(long m, long n, long *a, long row_step, long step) {
  long sum = 0;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      sum += value_of(a + i * row_step + j * step, 10 * i + j + 1);
  return sum;
}
long cube(long l, long m, long n, long *a) {
  long sum = 0;
  for (long h = 0; h < l; h++)
    for (long i = 0; i < m; i++)
      for (long j = 0; j < n; j++)
        sum += value_of(a + (h * m + i) * n + j, 100 * h + 10 * i + j + 1);
  return sum;
}
long cube_f(long l, long m, long n, long *a) {
  long sum = 0;
  for (long h = 0; h < l; h++)
    for (long i = 0; i < m; i++)
      for (long j = 0; j < n; j++)
        sum += value_of(a + h + (i + j * m) * l, 100 * h + 10 * i + j + 1);
  return sum;
}
"""

PROTOTYPES = {
    (1, "C"): "long row(long n, long *a)", (1, "Xnd"): "long row(long n, long *a)",
    (1, "Fortran"): "long row(long n, long *a)",
    (1, "Strided"): "long row_steps(long n, long *a, long step)",
    (2, "C"): "long matrix(long m, long n, long *a)", (2, "Xnd"): "long matrix(long m, long n, long *a)",
    (2, "Fortran"): "long matrix_f(long m, long n, long *a)",
    (2, "Strided"): "long matrix_steps(long m, long n, long *a, long row_step, long step)",
    (3, "C"): "long cube(long l, long m, long n, long *a)", (3, "Xnd"): "long cube(long l, long m, long n, long *a)",
    (3, "Fortran"): "long cube_f(long l, long m, long n, long *a)",
}
SIZES = {1: ["n"], 2: ["m", "n"], 3: ["l", "m", "n"]}
STEPS = {1: "step = stride(a, 0)", 2: "row_step = stride(a, 0), step = stride(a, 1)"}
GIVEN = ["input", "inplace", "inout", "input_output", "inplace_output", "inout_output"]


def kernel(ndim, kind, intents):
    """One kernel; the C function of the kind Xnd wants C order, that of Fortran F order."""
    sizes = SIZES[ndim]
    name = f"{'_'.join(intents)}_{ndim}_{kind.lower()}"
    lines = [f"[KERNEL {name}]", f"kinds: {kind}", f"prototypes: {PROTOTYPES[ndim, kind]}"]
    if kind == "Fortran":
        lines.append("fortran: a")
    given = intents[0] not in ("output", "hide")
    hidden = [f"{s}" for s in sizes] if given else []
    if kind == "Strided":  # of scratch, which has no gaps, the steps are known
        steps = STEPS[ndim] if intents[0] != "hide" else {1: "step = 1", 2: "row_step = n, step = 1"}[ndim]
        hidden.append(steps)
    argument = f"a({', '.join(sizes)})"
    inputs = [] if given else sizes
    for intent in intents:
        if intent == "input":
            inputs = inputs + [argument]
        elif intent == "hide":
            hidden.append(argument)
        else:
            lines.append(f"{intent}: {argument}")
    lines += [f"input: {', '.join(inputs)}"] if inputs else []
    lines += [f"hide: {', '.join(hidden)}"] if hidden else []
    return "\n".join(lines) + "\n"


def configuration(source):
    text = f"[MODULE layouts]\nprefix: lay_\nsources: {source}\n\n"
    for (ndim, kind), intents in itertools.product(PROTOTYPES, [i.split("_") for i in [*GIVEN, "output", "hide"]]):
        if kind == "Fortran" and ndim == 1:
            continue  # the kind C says the same
        text += kernel(ndim, kind, intents) + "\n"
    for intent in [*GIVEN, "output", "hide"]:
        text += f"[KERNEL {intent}_pointer]\nprototypes: long pointed(long *a)\n"
        text += "".join(f"{i}: a\n" for i in intent.split("_")) + "\n"
    text += "[KERNEL input_value]\nprototypes: long one(long a)\ninput: a\n\n"
    return text + "[KERNEL input_output_value]\nprototypes: long one(long a)\ninput: a\noutput: a\n"


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    (folder / "functions.c").write_text(FUNCTIONS)
    nd.load(kernelgen_support.build(folder, configuration(folder / "functions.c")))


def weights(shape):
    grid = np.indices(shape)
    return sum(g * 10 ** (len(shape) - 1 - i) for i, g in enumerate(grid)) + 1


def oracle(a, ndim):
    """(the returned numbers, what is in the array afterwards), over all outer dimensions"""
    w = weights(a.shape[a.ndim - ndim:])
    return (a * w).sum(axis=tuple(range(a.ndim - ndim, a.ndim))), 2 * a + w


def in_memory(a, how):
    """The same values in another layout, writable."""
    if how == "C":
        return np.array(a)
    if how == "F":
        return np.asfortranarray(a) + 0
    if how == "gaps":
        big = np.zeros([2 * n + 1 for n in a.shape], a.dtype)
        view = big[tuple(slice(1, 2 * n, 2) for n in a.shape)]
    elif how == "backwards":
        view = np.zeros(a.shape, a.dtype)[(slice(None, None, -1),) * a.ndim]
    else:  # the last two axes as they are in a larger matrix
        view = np.zeros((*a.shape[:-1], a.shape[-1] + 3), a.dtype)[..., :a.shape[-1]]
    view[...] = a
    return view


def accepts(a, ndim, kind, intent):
    block = a[(0,) * (a.ndim - ndim)] if a.size else a.reshape(-1)[:0]
    if kind == "Strided":
        return intent in ("input", "input_output") or not block.size or all(s > 0 or n <= 1 for s, n in zip(block.strides, block.shape))
    if kind == "Xnd" and "inout" not in intent:
        return True
    return block.flags.f_contiguous if kind == "Fortran" else block.flags.c_contiguous


def check(f, a, ndim, kind, intent):
    base, given = a, nd.asarray(a)
    before = a.copy()
    if not accepts(a, ndim, kind, intent):
        with pytest.raises(ValueError, match="argument a must (be .-contiguous|have positive strides)"):
            f(given)
        assert (base == before).all()
        return
    returned, changed = oracle(before, ndim)
    results = f(given)
    if intent.endswith("output"):
        made, number = results
        assert np.array_equal(np.asarray(made), changed)
    else:
        number = results
    assert np.array_equal(np.asarray(number), returned)
    assert np.array_equal(base, changed if intent.startswith("in") and not intent.startswith("input") else before)


SHAPES = {1: [(4,), (1,), (0,), (3, 4), (2, 0), (0, 3)],
          2: [(2, 3), (1, 3), (3, 1), (0, 3), (3, 0), (2, 2, 3), (0, 2, 2)],
          3: [(2, 3, 4), (1, 1, 2), (2, 0, 3), (3, 2, 1, 2)]}


@pytest.mark.parametrize("ndim, kind", [k for k in PROTOTYPES if k != (1, "Fortran")])
@pytest.mark.parametrize("intent", GIVEN)
def test_given_arrays(ndim, kind, intent):
    f = getattr(nd, f"lay_{intent}_{ndim}_{kind.lower()}")
    for shape in SHAPES[ndim]:
        values = np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape)
        for how in ["C", "F", "gaps", "backwards", "part"]:
            check(f, in_memory(values, how), ndim, kind, intent)


@pytest.mark.parametrize("ndim, kind", [k for k in PROTOTYPES if k != (1, "Fortran")])
def test_broadcast_operands_are_read_and_never_written(ndim, kind):
    shape = SHAPES[ndim][0]
    for axes in range(1, 2 ** ndim):
        small = np.arange(np.prod(shape)).reshape(shape)[tuple(slice(1) if axes >> d & 1 else slice(None) for d in range(ndim))]
        wide = np.broadcast_to(small, shape)
        returned, changed = oracle(np.array(wide), ndim)
        if kind == "Xnd":
            assert getattr(nd, f"lay_input_{ndim}_xnd")(nd.asarray(wide)).tolist() == returned
            made, number = getattr(nd, f"lay_input_output_{ndim}_xnd")(nd.asarray(wide))
            assert (made.tolist(), number.tolist()) == (changed.tolist(), returned)
        shared = np.lib.stride_tricks.as_strided(small.copy(), shape, wide.strides)
        for intent in ("inplace", "inout", "inplace_output", "inout_output"):
            f = getattr(nd, f"lay_{intent}_{ndim}_{kind.lower()}")
            with pytest.raises(TypeError, match="cannot be written"):
                f(nd.asarray(wide))
            with pytest.raises(ValueError, match="share memory"):
                f(nd.asarray(shared))


def test_windows_are_not_written():
    base = np.arange(6)
    windows = np.lib.stride_tricks.as_strided(base, (4, 3), (8, 8))
    with pytest.raises(ValueError, match="share memory"):
        nd.lay_inplace_1_xnd(nd.asarray(windows))
    assert base.tolist() == list(range(6))
    assert nd.lay_input_1_xnd(nd.asarray(windows)).tolist() == oracle(windows, 1)[0].tolist()


RAGGED = {1: [[1, 2, 3], [], [4], [5, 6]],
          2: [[[[1, 2], [3, 4]]], [], [[[5, 6], [7, 8]], [[9, 1], [2, 3]]]]}


@pytest.mark.parametrize("kind", ["C", "Xnd", "Strided"])
@pytest.mark.parametrize("intent", GIVEN)
def test_ragged_rows(kind, intent):
    f = getattr(nd, f"lay_{intent}_1_{kind.lower()}")
    rows = nd.array(RAGGED[1], type="strided * var * int64", access="rw")
    for view, lists in [(rows, RAGGED[1]), (rows[1:], RAGGED[1][1:]), (rows[::-1], RAGGED[1][::-1])]:
        before = rows.tolist()
        results = f(view)
        made, number = results if intent.endswith("output") else (None, results)
        values = [oracle(np.array(row, dtype=int), 1) for row in lists]
        assert number.tolist() == [int(v[0]) for v in values]
        if made is not None:
            assert made.tolist() == [v[1].tolist() for v in values]
        changes = intent.startswith("in") and not intent.startswith("input")
        assert view.tolist() == ([v[1].tolist() for v in values] if changes else lists)
        rows[...] = before


@pytest.mark.parametrize("kind", ["C", "Fortran", "Xnd", "Strided"])
@pytest.mark.parametrize("intent", ["inplace", "input_output"])
def test_ragged_rows_of_matrices(kind, intent):
    f = getattr(nd, f"lay_{intent}_2_{kind.lower()}")
    rows = nd.array(RAGGED[2], type="strided * var * 2 * 2 * int64", access="rw")
    if kind == "Fortran":
        with pytest.raises(ValueError, match="F-contiguous"):
            f(rows)
        return
    results = f(rows)
    made, number = results if intent.endswith("output") else (rows, results)
    values = [[oracle(np.array(m), 2) for m in row] for row in RAGGED[2]]
    assert number.tolist() == [[int(v[0]) for v in row] for row in values]
    assert made.tolist() == [[v[1].tolist() for v in row] for row in values]


@pytest.mark.parametrize("ndim, kind", [k for k in PROTOTYPES if k != (1, "Fortran")])
def test_arrays_that_the_function_makes(ndim, kind):
    out, hidden = (getattr(nd, f"lay_{i}_{ndim}_{kind.lower()}") for i in ("output", "hide"))
    for shape in [s for s in SHAPES[ndim] if len(s) == ndim]:
        made, number = out(*shape)
        assert (np.asarray(made).tolist(), number.tolist()) == (weights(shape).tolist(), 0)
        assert hidden(*shape).tolist() == 0
    sizes = [2, 0, 3]
    made, number = out(sizes, *[2] * (ndim - 1))
    assert made.tolist() == [weights((n, *[2] * (ndim - 1))).tolist() for n in sizes] and number.tolist() == [0, 0, 0]
    for f in (out, hidden):
        with pytest.raises(ValueError, match="negative"):
            f(*[-1] * ndim)
        with pytest.raises((MemoryError, ValueError)):
            f(*[1 << 62] * ndim)


@pytest.mark.parametrize("intent", GIVEN)
def test_pointers_to_one_value(intent):
    f = getattr(nd, f"lay_{intent}_pointer")
    for shape in [(), (3,), (2, 3), (0,)]:
        for how in ["C", "F", "gaps", "backwards"]:
            if shape or how == "C":
                a = in_memory(np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape), how)
                before = a.copy()
                results = f(nd.asarray(a))
                made, number = results if intent.endswith("output") else (None, results)
                assert np.array_equal(np.asarray(number), 5 * before)
                assert made is None or np.array_equal(np.asarray(made), 2 * before + 5)
                assert np.array_equal(a, before if intent.startswith("input") else 2 * before + 5)
    rows = nd.array(RAGGED[1], type="strided * var * int64", access="rw")
    results = f(rows)
    number = results[1] if intent.endswith("output") else results
    assert number.tolist() == [[5 * x for x in row] for row in RAGGED[1]]


def test_values_without_an_operand():
    assert [r.tolist() for r in nd.lay_output_pointer()] == [5, 0]
    assert nd.lay_hide_pointer().tolist() == 0
    assert nd.lay_input_value([[1], [2, 3]]).tolist() == [[4], [7, 10]]
    assert [r.tolist() for r in nd.lay_input_output_value([1, 2])] == [[1, 2], [4, 7]]


def test_loops_as_numpy_has_them(tmp_path):
    """char **args, dimensions, steps: a function of header_code turns sizes and strides into them."""
    nd.load(kernelgen_support.build(tmp_path, """
        [MODULE loops]
        header_code:
            static void loop(char **args, const long *dimensions, const long *steps, void *data) {
              for (long i = 0; i < dimensions[0]; i++)
                *(double *)(args[1] + i * steps[1]) = 2 * *(double *)(args[0] + i * steps[0]) + (data != 0);
            }
            static void call_loop(long n, const double *x, long step, double *r) {
              char *args[] = {(char *)x, (char *)r};
              loop(args, &n, (long[]){step * 8, 8}, 0);
            }
        [KERNEL lay_loop]
        prototypes: void call_loop(long n, const double *x, long step, double *r)
        kinds: Strided
        input: x(n)
        output: r(n)
        hide: n, step = stride(x, 0)
        """, "loops"))
    x = np.arange(7.0)
    assert nd.lay_loop(nd.asarray(x[::3])).tolist() == (2 * x[::3]).tolist()
    assert nd.lay_loop([[1.0], [], [2.0, 3.0]]).tolist() == [[2], [], [4, 6]]


def test_row_pointers_of_ragged_rows(tmp_path):
    """T ** over rows of their own lengths: from the content and the offsets."""
    nd.load(kernelgen_support.build(tmp_path, """
        [MODULE pointers]
        header_code:
            static double longest(long m, const double *const *rows, const long *lengths) {
              long at = 0;
              for (long i = 1; i < m; i++)
                at = lengths[i] > lengths[at] ? i : at;
              return m && lengths[at] ? rows[at][lengths[at] - 1] : 0;
            }
            static double call_longest(long m, const double *content, const long *offsets, void *pointers, long *lengths) {
              const double **rows = pointers;
              for (long i = 0; i < m; i++)
                rows[i] = content + offsets[i], lengths[i] = offsets[i + 1] - offsets[i];
              return longest(m, rows, lengths);
            }
        [KERNEL lay_longest]
        prototypes: double call_longest(long m, const double *content, const long *offsets, void *pointers, long *lengths)
        types: pointers: uint64
        input: content(k), offsets(o)
        hide: m = len(offsets) - 1, pointers(m), lengths(m)
        """, "pointers"))
    rows = [[1.0], [2.0, 3.0, 5.0], [], [4.0]]
    offsets = np.cumsum([0, *map(len, rows)])
    assert nd.lay_longest(nd.flatten(nd.array(rows)), offsets).tolist() == 5


def test_arguments_of_many_dimensions(tmp_path):
    """Copies in and out have room for all sizes that a call can have."""
    ndim = 16
    functions = tmp_path / "deep.c"
    functions.write_text("void deep(double *a, double *sum) { long i; *sum = 0; for (i = 0; i < 65536; i++) {\n"
                         "  *sum += (double)i * a[i]; a[i] = -a[i]; } }\n")
    nd.load(kernelgen_support.build(tmp_path, f"""
        [MODULE deep]
        sources: {functions}
        [KERNEL lay_deep]
        prototypes: void deep(double *a, double *sum)
        input: a({", ".join(f"k{d}" for d in range(ndim))})
        output: a, sum
        """, "deep"))
    x = np.random.default_rng(3).integers(0, 9, (2,) * ndim).astype(float)
    turned = np.ascontiguousarray(x.T).T
    made, total = nd.lay_deep(nd.asarray(turned))
    assert total.tolist() == (np.arange(x.size) * x.ravel()).sum()
    assert np.array_equal(np.asarray(made), -x)
