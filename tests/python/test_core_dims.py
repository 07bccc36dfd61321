"""Kernels with core dimensions, over every layout, against plain Python and NumPy."""
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dynd import nd, ndt

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    library = tmp_path_factory.mktemp("core") / "core.so"
    source = Path(__file__).with_name("core_kernels.c")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-I",
                    str(ROOT), "-o", str(library), str(source), "-lm"], check=True)
    return nd.load(library)


rows_of_numbers = st.lists(st.lists(st.integers(-9, 9).map(float), max_size=5), min_size=1, max_size=6)


def ragged(rows):
    return nd.array(rows, type="strided * var * float64")


def layouts(values):
    """The same values in several layouts."""
    a = np.array(values, dtype=float)
    big = np.zeros([2 * n + 1 for n in a.shape])
    view = big[tuple(slice(1, None, 2) for _ in a.shape)]
    view[...] = a
    backwards = np.array(a[..., ::-1])[..., ::-1]
    packed = np.zeros(a.shape, dtype=[("pad", "u1"), ("x", "f8")])
    packed["x"] = a
    return [nd.array(a), nd.asarray(a), nd.asarray(view), nd.asarray(backwards), nd.asarray(np.asfortranarray(a)),
            nd.asarray(packed)["x"]]


# ---- (N * T, N * T) -> T --------------------------------------------------------------------------------------------

@given(rows_of_numbers)
@settings(deadline=None)
def test_dot_of_ragged_rows(rows):
    expected = [sum(x * x for x in row) for row in rows]
    a = ragged(rows)
    assert nd.core_dot(a, a).tolist() == expected
    assert nd.core_dot(a, ragged(rows)).tolist() == expected       # equal rows, other offsets
    assert nd.core_dot(a[::-1], a[::-1]).tolist() == expected[::-1]
    assert nd.core_dot(a[:, ::-1], a).tolist() == [sum(x * y for x, y in zip(r, r[::-1])) for r in rows]
    assert nd.core_dot(a[1:], a[1:]).tolist() == expected[1:]


def test_dot_of_every_layout():
    x, y = np.arange(12.0).reshape(3, 4), np.arange(12.0, 24).reshape(3, 4)
    for a in layouts(x):
        for b in layouts(y):
            assert nd.core_dot(a, b).tolist() == (x * y).sum(axis=1).tolist()
            assert nd.core_dot(a, b[0]).tolist() == (x * y[0]).sum(axis=1).tolist()     # outer dimensions broadcast
    assert nd.core_dot(x[0], y[0]).tolist() == (x[0] * y[0]).sum()
    assert nd.core_dot(x[:, None], y[None]).tolist() == (x @ y.T).tolist()
    assert nd.core_dot([1, 2], [3.5, 4]).tolist() == 11.5                          # integers convert


def test_dot_of_strided_with_ragged():
    a = ragged([[1, 2, 3], [4, 5, 6]])
    assert nd.core_dot(a, [1.0, 0.0, 2.0]).tolist() == [7.0, 16.0]
    assert nd.core_dot(nd.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]), a).tolist() == [6.0, 30.0]


def test_dot_of_rows_inside_of_rows():
    a = nd.array([[[1.0, 2.0], [3.0]], [], [[4.0, 5.0, 6.0]]])
    assert nd.core_dot(a, a).tolist() == [[5.0, 9.0], [], [77.0]]


@pytest.mark.parametrize("part", [slice(1, None), slice(2, None), slice(1, 3), slice(None, None, -1), slice(1, None, 2)])
def test_parts_of_rows_inside_of_rows(part):
    """Results are counted from their first row on."""
    values = [[[1.0, 2.0], [3.0]], [[4.0]], [], [[5.0, 6.0], [], [7.0, 8.0, 9.0]]]
    a = nd.array(values, type="strided * var * var * float64")[part]
    kept = values[part]
    assert nd.core_dot(a, a).tolist() == [[sum(x * x for x in row) for row in rows] for rows in kept]
    assert nd.core_positive(a).tolist() == kept and nd.core_running(a).tolist() == [[np.cumsum(row).tolist() for row in rows] for rows in kept]
    assert nd.core_first(a).tolist() == [[(row + [-1.0, -1.0])[:2] for row in rows] for rows in kept]


def test_rows_inside_of_rows_whose_inner_offsets_begin_late():
    """The outermost rows begin at 0, those inside of them do not."""
    content = nd.from_offsets(np.array([3, 5, 6, 9, 11, 15, 16]), nd.array(np.arange(20.0)))
    a = nd.from_offsets(np.array([0, 2, 3]), nd.from_offsets(np.array([2, 3, 5, 6]), content))
    values = [[[[6.0, 7.0, 8.0]], [[9.0, 10.0], [11.0, 12.0, 13.0, 14.0]]], [[[15.0]]]]
    assert a.tolist() == values
    assert nd.core_positive(a).tolist() == values
    assert nd.core_running(a).tolist() == [[[np.cumsum(row).tolist() for row in rows] for rows in two] for two in values]
    assert nd.core_dot(a, a).tolist() == [[[sum(x * x for x in row) for row in rows] for rows in two] for two in values]


@pytest.mark.parametrize("rows", [[1.0, 2.0], [[1.0], [2.0, 3.0]]])
def test_sizes_that_disagree_name_both(rows):
    with pytest.raises(ValueError, match=r"core_dot: N is 2 in operand 0 and 3 in operand 1"):
        nd.core_dot([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"core_dot: N is 2 in operand 0 and 1 in operand 1 at index \(1,\)"):
        nd.core_dot(ragged([[1], [2, 3]]), ragged([[1], [2]]))
    with pytest.raises(ValueError, match=r"core_dot: N is 2 in operand 0 and 1 in operand 1 at index \(0,\)"):
        nd.core_dot([1.0, 2.0], ragged([[1], [2, 3]]))
    with pytest.raises(TypeError, match=r"core_dot: operand 1 has 0 dimensions, and 1 are core dimensions"):
        nd.core_dot([1.0], 2.0)
    with pytest.raises(ValueError, match="broadcast"):
        nd.core_dot(np.ones((2, 3)), np.ones((4, 3)))


def test_sizes_that_a_kernel_computes():
    values = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0], [7.0, 8.0, 9.0]]
    assert nd.core_inner(ragged(values)).tolist() == [row[1:-1] for row in values]
    assert nd.core_inner(np.arange(8.0).reshape(2, 4)).tolist() == [[1.0, 2.0], [5.0, 6.0]]
    for short, n in (([1.0], -1), ([[1.0, 2.0], [3.0], []], -1), (np.zeros((2, 0)), -2)):
        with pytest.raises(ValueError, match=f"core_inner: M is a size of the result, and is {n}"):
            nd.core_inner(short)
    with pytest.raises(TypeError, match="core_inner: computes sizes of its result, which a kernel on buffers cannot know"):
        nd.kernel(nd.core_inner, ["5 * float64"])
    assert str(nd.explain(nd.core_inner, np.arange(8.0).reshape(2, 4))).count("one kernel") == 1


def test_a_core_dimension_never_stretches():
    with pytest.raises(ValueError, match="N is 1 in operand 0 and 3 in operand 1"):
        nd.core_dot([1.0], [1.0, 2.0, 3.0])


def test_a_missing_value_in_a_core_dimension_is_an_error():
    assert nd.core_dot(nd.array([1.0, 2.0], type="strided * ?float64"), [1.0, 1.0]).tolist() == 3.0
    with pytest.raises(ValueError, match="missing"):
        nd.core_dot(nd.array([1.0, None]), [1.0, 1.0])


def test_dot_on_threads():
    rng = np.random.default_rng(3)
    x = rng.integers(-5, 5, (300_000, 3)).astype(float)
    assert np.array_equal(np.asarray(nd.core_dot(x, x)), (x * x).sum(axis=1))
    lengths = rng.integers(0, 6, 300_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = rng.integers(-5, 5, offsets[-1]).astype(float)
    a = nd.from_offsets(offsets, content)
    sums = np.concatenate([[0.0], np.cumsum(content * content)])
    assert np.array_equal(np.asarray(nd.core_dot(a, a)), sums[offsets[1:]] - sums[offsets[:-1]])
    narrow = nd.from_offsets(offsets.astype(np.int32), content)
    assert np.array_equal(np.asarray(nd.core_dot(narrow, a)), sums[offsets[1:]] - sums[offsets[:-1]])


# ---- (M * K * T, K * N * T) -> M * N * T ----------------------------------------------------------------------------

def test_matmul_of_every_layout():
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(40.0).reshape(2, 4, 5)
    for a in layouts(x):
        for b in layouts(y):
            assert nd.core_matmul(a, b).tolist() == (x @ y).tolist()
            assert nd.core_matmul(a, b[0]).tolist() == (x @ y[0]).tolist()
    with pytest.raises(ValueError, match="K is 4 in operand 0 and 3 in operand 1"):
        nd.core_matmul(x[0], x[0])


def test_matmul_with_ragged_first_dimension():
    a = nd.array([[[1.0, 2.0]], [], [[3.0, 4.0], [5.0, 6.0]]], type="strided * var * 2 * float64")
    b = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    expected = [[[1.0, 2.0, 3.0]], [], [[3.0, 4.0, 7.0], [5.0, 6.0, 11.0]]]
    result = nd.core_matmul(a, b)
    assert result.tolist() == expected and str(result.type) == "strided * var * strided * float64"
    with pytest.raises(ValueError, match="is ragged inside of another core dimension"):
        nd.core_matmul(nd.array([[[1.0], [2.0, 3.0]]]), b)


# ---- one block: the direct step, for which the first call decides ----------------------------------------------------

@pytest.mark.parametrize("seed", range(20))
def test_one_block_after_another(seed):
    rng = np.random.default_rng(seed)
    dot, product = nd.callable(f"dot_{seed}"), nd.callable(f"product_{seed}")  # of their own: no call was before
    weigh = {order: nd.callable(f"weigh_{order}_{seed}") for order in "cf"}
    for f, of in ((dot, nd.core_dot), (product, nd.core_matmul), (weigh["c"], nd.core_weigh_c), (weigh["f"], nd.core_weigh_f)):
        f.add(of)

    def any_layout(x):
        return layouts(x)[rng.integers(6)] if rng.random() < 0.7 else nd.asarray(x.astype("i4")) if rng.random() < 0.5 else x + 0.0 * nd.array(x)

    for _ in range(40):
        n, m, k = rng.integers(0, 4, 3)
        x, y = rng.integers(-9, 9, n).astype(float), rng.integers(-9, 9, n).astype(float)
        assert dot(any_layout(x), any_layout(y)).tolist() == (x @ y).tolist()
        a, b = rng.integers(-9, 9, (m, k)).astype(float), rng.integers(-9, 9, (k, n)).astype(float)
        found = product(any_layout(a), any_layout(b))
        assert found.tolist() == (a @ b).tolist() and str(found.type) == "strided * strided * float64"
        for order in "cf":
            wanted = (np.arange(1, a.size + 1) * a.ravel(order.upper())).sum()
            assert weigh[order](any_layout(a)).tolist() == wanted
        with pytest.raises(ValueError, match=f"N is {n} in operand 0 and {n + 1} in operand 1"):
            dot(any_layout(x), np.ones(n + 1))


# ---- results of other shapes ----------------------------------------------------------------------------------------

def test_several_results():
    best, where = nd.core_largest(ragged([[1, 3, 2], [5]]))
    assert best.tolist() == [3.0, 5.0] and where.tolist() == [1, 0] and where.type == "strided * int64"
    with pytest.raises(ValueError, match=r"core_largest: nothing is largest of nothing at index \(1,\)"):
        nd.core_largest(ragged([[1], [], [2]]))


def test_a_size_from_a_keyword():
    a = ragged([[1, 2, 3], [], [4]])
    assert nd.core_first(a).tolist() == [[1.0, 2.0], [-1.0, -1.0], [4.0, -1.0]]
    assert nd.core_first(a, k=1).tolist() == [[1.0], [-1.0], [4.0]]
    assert nd.core_first(a, k=0).tolist() == [[], [], []]
    assert nd.core_first(a, k=nd.array(3)).type == "strided * strided * float64"
    for bad, kind in [(dict(k=-1), ValueError), (dict(k=1.5), ValueError), (dict(k="x"), TypeError), (dict(k=None), TypeError),
                      (dict(n=1), TypeError), (dict(k=[1]), TypeError), (dict(k=True), TypeError)]:
        with pytest.raises(kind, match="core_first"):
            nd.core_first(a, **bad)


@given(rows_of_numbers)
@settings(deadline=None)
def test_rows_that_the_kernel_makes(rows):
    expected = [[x for x in row if x > 0] for row in rows]
    result = nd.core_positive(ragged(rows))
    assert result.tolist() == expected and result.type == "strided * var * float64"
    assert nd.core_positive(ragged(rows)[::-1]).tolist() == expected[::-1]
    assert (result + 1).tolist() == [[x + 1 for x in row] for row in expected]
    assert nd.core_positive(nd.array([rows, rows], type="strided * strided * var * float64")).tolist() == [expected] * 2


def test_rows_from_dense_arrays():
    assert nd.core_positive([1.0, -1.0, 2.0]).tolist() == [1.0, 2.0]
    assert nd.core_positive(np.array([[1.0, -1.0], [0.0, 0.0], [3.0, 4.0]])).tolist() == [[1.0], [], [3.0, 4.0]]
    assert nd.core_positive(np.zeros((0, 3))).tolist() == []


@given(st.lists(st.lists(st.integers(0, 4), max_size=5), min_size=1, max_size=6))
@settings(deadline=None)
def test_rows_without_a_bound(rows):
    expected = [[x for x in row for _ in range(x)] for row in rows]
    a = nd.array(rows, type="strided * var * int64")
    result = nd.core_repeated(a)
    assert result.tolist() == expected and result.type == "strided * var * int64"
    assert nd.core_repeated(a[:, ::-1]).tolist() == [row[::-1] for row in expected]
    assert nd.core_repeated(nd.array([rows, rows], type="strided * var * var * int64")).tolist() == [expected] * 2
    python = nd.callable(lambda row: [x for x in row.tolist() for _ in range(x)], "(N * int64) -> var * int64")
    assert python(a).tolist() == expected and python(a).type == "strided * var * int64"


def test_many_rows_without_a_bound():
    sizes = np.random.default_rng(4).integers(0, 5, (300_000, 2))
    result = nd.core_repeated(sizes)
    assert np.array_equal(np.asarray(nd.num(result)), sizes.sum(axis=1))
    assert np.array_equal(np.asarray(nd.flatten(result)), np.repeat(sizes.ravel(), sizes.ravel()))
    assert nd.core_repeated([100_000]).tolist() == [100_000] * 100_000
    with pytest.raises(ValueError, match=r"core_repeated: -1 is negative at index \(2, 0\)"):
        nd.core_repeated(nd.array([[[1], [2]], [[3]], [[-1], [4]]], type="strided * var * var * int64"))


def test_the_row_that_failed_is_named_wherever_it_is():
    """Also behind the rows that are read at once, with rows that the kernel makes, of fixed sizes, and of Python."""
    refused = nd.callable(lambda row: row.tolist().index(0), "(N * int64) -> int64", name="core_refused_here")
    for f, bad in ((nd.core_repeated, -1), (refused, 5)):
        for at in (0, 255, 256, 257, 700, 999):
            values = np.zeros((1000, 1), "int64")
            values[at] = bad
            with pytest.raises(ValueError) as caught:
                f(values)
            assert f"at index ({at},)" in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
            for a in (nd.array(values.reshape(2, 500, 1)), nd.array([values.tolist()[:500], values.tolist()[500:]], type="strided * var * var * int64")):
                with pytest.raises(ValueError) as caught:
                    f(a)
                assert f"at index ({at // 500}, {at % 500})" in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_one_block_is_aligned():
    """The direct step's first call is of an aligned array; the second one's has the same strides."""
    memory = bytearray(8 * 4 + 1)
    for begin in (0, 1, 0):
        assert nd.core_aligned(nd.asarray(np.frombuffer(memory, offset=begin, count=4))).tolist() is True


def test_a_kernel_that_misuses_the_memory_of_rows():
    with pytest.raises(RuntimeError, match="core_grown: the kernel made 5 elements, where it had announced at most 1"):
        nd.core_grown([1])
    with pytest.raises(RuntimeError, match="core_refused: the kernel has not said how many elements it made: it calls dynd_core_make for every"):
        nd.core_refused([[1], [2]])


def test_a_kernel_that_does_not_say_why():
    with pytest.raises(ValueError, match=r"^core_mute: failed at index \(0,\)$"):
        nd.core_mute([[1.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match="^core_mute: failed"):
        nd.core_mute([1.0])


def test_a_kernel_that_makes_what_it_did_not_announce():
    with pytest.raises(RuntimeError, match=r"core_liar: the kernel made 3 elements, where it had announced at most 2"):
        nd.core_liar([[1.0, 2.0]])
    with pytest.raises(RuntimeError, match=r"core_below: the kernel made -2 elements, where it had announced at most 2"):
        nd.core_below([[1.0, 2.0]])
    with pytest.raises(RuntimeError, match="core_silent: the kernel has not said how many elements it made$"):
        nd.core_silent([1.0])
    with pytest.raises(ValueError, match="core_no_bound: output_bound failed"):
        nd.core_no_bound([1.0])


@given(rows_of_numbers)
@settings(deadline=None)
def test_rows_like_the_operand(rows):
    expected = [np.cumsum(row).tolist() for row in rows]
    assert nd.core_running(ragged(rows)).tolist() == expected
    whole = nd.core_running(nd.array([[int(x) for x in row] for row in rows], type="strided * var * int64"))
    assert whole.tolist() == expected and whole.type == "strided * var * int64"
    with pytest.raises(TypeError):
        nd.core_running(nd.array([[True]]))


# ---- read and written -----------------------------------------------------------------------------------------------

def test_an_operand_that_is_written():
    x = nd.array([[1.0, 2.0], [3.0, 4.0]], access="rw")
    assert nd.core_scale([2.0, 3.0], x) is None and x.tolist() == [[2.0, 4.0], [9.0, 12.0]]
    nd.core_scale(2, x[:, ::-1][:, :1])
    assert x.tolist() == [[2.0, 8.0], [9.0, 24.0]]
    nd.core_scale(0.5, x=x)
    assert x.tolist() == [[1.0, 4.0], [4.5, 12.0]]
    packed = np.zeros(3, dtype=[("pad", "u1"), ("x", "f8")])       # not aligned: by way of a copy
    packed["x"] = [1, 2, 3]
    nd.core_scale(10, nd.asarray(packed)["x"])
    assert packed["x"].tolist() == [10, 20, 30]


def test_an_operand_that_cannot_be_written():
    with pytest.raises(TypeError, match="operand 1 is read and written, and the array cannot be written"):
        nd.core_scale(2.0, nd.array([1.0]))
    with pytest.raises(TypeError, match="operand x is read and written as float64, and has elements of type int32"):
        nd.core_scale(2.0, nd.array([1], access="rw"))
    with pytest.raises(ValueError, match="operand 1 is read and written, and would be stretched"):
        nd.core_scale([2.0, 3.0], nd.array([1.0], access="rw"))


@pytest.mark.parametrize("kind", ["one", "strided", "columns", "rows", "many"])
def test_a_failure_leaves_what_is_written_as_it_was(kind):
    rows = {"one": [1.0, 2.0, -1.0], "rows": [[1.0], [2.0, -1.0, 3.0], [4.0]]}.get(kind, [[1.0, 2.0], [3.0, 4.0], [5.0, -1.0]])
    if kind == "many":                                             # on several threads, too
        rows = [[1.0, 2.0]] * 150_000 + [[-1.0, 3.0]] + [[4.0, 5.0]] * 150_000
    x = nd.array(rows, access="rw")
    x = x.T if kind == "columns" else x
    before = x.tolist()
    with pytest.raises(ValueError, match="core_scale_positive: failed"):
        nd.core_scale_positive(2.0, x)
    assert x.tolist() == before
    nd.core_scale_positive(0.0, x)
    assert float(abs(x).max()) == 0


def test_what_is_written_is_no_other_operand():
    x = nd.array([2.0, 3.0], access="rw")
    with pytest.raises(ValueError, match="is written and shares memory with .*, which is read: give a copy of one of them"):
        nd.core_scale(x[1], x)
    assert x.tolist() == [2.0, 3.0]
    nd.core_scale(float(x[1]), x)
    assert x.tolist() == [6.0, 9.0]


# ---- layout flags ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, order", [("core_weigh_c", "C"), ("core_weigh_f", "F")])
def test_layout_flags(name, order):
    x = np.arange(24.0).reshape(2, 3, 4)
    expected = [float((np.arange(1, 13) * block.ravel(order)).sum()) for block in x]
    for a in layouts(x):
        assert getattr(nd, name)(a).tolist() == expected
        assert getattr(nd, name)(a[1]).tolist() == expected[1]
    assert getattr(nd, name)(nd.asarray(x.transpose(0, 2, 1).copy().transpose(0, 2, 1))).tolist() == expected


@pytest.mark.parametrize("name, order", [("c", "C"), ("f", "F")])
def test_blocks_with_ragged_rows_in_either_order(name, order):
    weigh, copied = getattr(nd, f"core_weigh_{name}"), getattr(nd, f"core_copied_{name}")
    rng = np.random.default_rng(2)
    blocks = [rng.integers(-9, 9, (length, 3)).astype(float) for length in (2, 0, 1, 5, 40)]
    a = nd.array([block.tolist() for block in blocks], type="strided * var * 3 * float64")
    expected = [float((np.arange(1, block.size + 1) * block.ravel(order)).sum()) for block in blocks]
    for rows, wanted, own in ((a, expected, blocks), (a[::-1], expected[::-1], blocks[::-1]), (a[1:], expected[1:], blocks[1:])):
        assert weigh(rows).tolist() == wanted
        assert copied(rows).tolist() == [block.tolist() for block in own]
    assert copied(a[:, ::-1]).tolist() == [block[::-1].tolist() for block in blocks]
    assert copied(a[:, :, ::2]).tolist() == [block[:, ::2].tolist() for block in blocks]
    inside = nd.array([[block.T.tolist() for block in blocks[:1]], [], [blocks[0].T.tolist()] * 2], type="strided * var * 3 * 2 * float64")
    assert copied(inside).tolist() == inside.tolist()


def test_blocks_that_are_larger_than_scratch():
    rng = np.random.default_rng(3)
    x = rng.random((3, 150, 120))
    for f, order in ((nd.core_copied_c, "C"), (nd.core_copied_f, "F")):
        for a in layouts(x):
            assert np.array_equal(np.asarray(f(a)), x)
        assert np.array_equal(np.asarray(f(x[:, ::-1, ::3])), x[:, ::-1, ::3])
    many = rng.random((2000, 4, 5))
    assert np.array_equal(np.asarray(nd.core_copied_f(many)), many)
    assert np.array_equal(np.asarray(nd.core_copied_c(np.asarray(many.transpose(0, 2, 1)))), many.transpose(0, 2, 1))
    assert nd.core_weigh_f(np.broadcast_to(x[0], (4, 150, 120))).tolist() == [nd.core_weigh_f(x[0]).tolist()] * 4
    assert nd.core_copied_f(np.zeros((3, 0, 2))).shape == (3, 0, 2) and nd.core_copied_f(np.zeros((0, 2, 2))).shape == (0, 2, 2)


@pytest.mark.parametrize("order", ["rising", "falling", "mixed"])
@pytest.mark.parametrize("longest", [2_100, 3_000, 5_000, 70_000])
def test_blocks_of_other_sizes_one_after_another(longest, order):
    """In scratch, and in memory of their own where they are larger, which the next one may need more of. So few that one
    call takes them all, and so many that there are several."""
    lengths = [0, 1, 40, longest // 2, longest - 1, longest]
    lengths = {"rising": lengths, "falling": lengths[::-1], "mixed": lengths[::2] + lengths[1::2]}[order]
    offsets = np.append(0, np.cumsum(lengths))
    x = np.arange(2.0 * offsets[-1]).reshape(-1, 2)
    for f in (nd.core_copied_c, nd.core_copied_f):
        for rows in (nd.from_offsets(offsets, nd.asarray(x)), nd.from_offsets(offsets, nd.asarray(np.asfortranarray(x)))):
            for a, wanted in ((rows, x), (rows[:, :, ::-1], x[:, ::-1])):
                found = f(a)
                assert nd.num(found, axis=1).tolist() == lengths
                assert np.array_equal(np.asarray(nd.flatten(found)), wanted.ravel())


def test_a_block_that_no_memory_holds():
    huge = np.broadcast_to(1.0, (1 << 28, 1 << 28))
    with pytest.raises(MemoryError):
        nd.core_weigh_c(huge)


def test_an_operand_that_is_written_in_blocks():
    x = nd.array(np.arange(12.0).reshape(3, 4), access="rw")
    nd.core_scale_c([2.0, 3.0, 4.0, 5.0], x.T)                       # columns have gaps: by way of scratch
    assert x.tolist() == (np.arange(12.0).reshape(3, 4) * [2, 3, 4, 5]).tolist()


def test_structs_in_core_dimensions():
    values = [[(1, 2), (3, 4)], [], [(5, 6)]]
    a = nd.array(values, type="strided * var * {re: int16, im: int16}")
    assert nd.core_power(a).tolist() == [30, 0, 61] and nd.core_power(a[::-1]).tolist() == [61, 0, 30]
    packed = np.array([[(1, 2), (3, 4)], [(5, 6), (7, 8)]], dtype=[("re", "i2"), ("im", "i2")])
    for b in (packed, packed.T, packed[:, ::-1]):
        expected = [sum(int(z["re"]) ** 2 + int(z["im"]) ** 2 for z in row) for row in b]
        assert nd.core_power(b).tolist() == nd.core_power(nd.array(b)).tolist() == expected
    longest = nd.callable(lambda rows: rows.tolist()[-1], "(N * {re: int16, im: int16}) -> {re: int16, im: int16}")
    assert longest(a[::2]).tolist() == [{"re": 3, "im": 4}, {"re": 5, "im": 6}]


# ---- overloads ------------------------------------------------------------------------------------------------------

def test_overloads_of_core_kernels():
    assert [str(s) for s in nd.core_sum3.signatures] == ["(3 * float64) -> float64", "(var * int64) -> int64"]
    assert nd.core_sum3(np.ones((2, 3))).tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="core_sum3: operand 0 has size 2 where it takes 3"):
        nd.core_sum3(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"core_sum3: operand 0 has a row of 1 where it takes 3 at index \(1,\)"):
        nd.core_sum3(nd.array([[1.0, 2.0, 3.0], [1.0]]))
    with pytest.raises(TypeError) as caught:
        nd.core_sum3(nd.array(["a"]))
    assert "(3 * float64) -> float64: operand 0" in str(caught.value) and "(var * int64) -> int64: operand 0" in str(caught.value)


def test_an_overload_of_an_operation_for_a_struct():
    a = nd.array([(1, 2), (3, 4)], type="{re: int16, im: int16}")
    b = nd.array([[(10, 20)], [(30, 40), (50, 60)]], type="strided * var * {re: int16, im: int16}")
    assert (a + a).tolist() == [{"re": 2, "im": 4}, {"re": 6, "im": 8}]
    assert nd.add(b, a[0]).tolist() == [[{"re": 11, "im": 22}], [{"re": 31, "im": 42}, {"re": 51, "im": 62}]]
    numpy = np.array([(1, 2), (5, 6)], dtype=[("re", "i2"), ("im", "i2")])
    assert (nd.asarray(numpy) + a).tolist() == [{"re": 2, "im": 4}, {"re": 8, "im": 10}]
    assert "({re: int16, im: int16}, {re: int16, im: int16}) -> {re: int16, im: int16}" in map(str, nd.add.signatures)
    assert (nd.array([1, 2]) + 1).tolist() == [2, 3]
    with pytest.raises(TypeError):
        a + 1
    with pytest.raises(TypeError):
        a - a


def test_explain_and_trace():
    rows = ragged([[1], [2, 3]])
    text = str(nd.explain(nd.core_dot, rows, rows))
    assert "core_dot (N * float64, N * float64) -> float64" in text and "sizes of core dimensions" not in text
    assert "sizes of core dimensions" in str(nd.explain(nd.core_dot, ragged([[1], [2]]), [1.0]))     # rows are compared
    assert nd.trace(nd.core_dot, rows, rows).calls


maybe = st.one_of(st.none(), st.integers(-9, 9).map(float))


def present_sum(row):
    there = [x for x in row if x is not None]
    return sum(there) if there else None


@given(st.lists(st.lists(maybe, max_size=5), min_size=1, max_size=6))
def test_missing_values_for_a_kernel_that_takes_them(rows):
    a = nd.array(rows, type="strided * var * ?float64")
    assert nd.core_present(a).tolist() == [present_sum(row) for row in rows]
    wide = [row + [None] * (5 - len(row)) for row in rows]
    dense = nd.array(wide, type="strided * strided * ?float64")
    assert nd.core_present(dense).tolist() == [present_sum(row) for row in rows]
    assert nd.core_present(dense[:, ::-2]).tolist() == [present_sum(row[::-2]) for row in wide]
    plain = nd.callable(lambda x: present_sum(x.tolist()), "(N * ?float64) -> ?float64")
    assert plain(a).tolist() == [present_sum(row) for row in rows]


def test_what_may_be_missing_and_what_may_not():
    assert nd.core_present([1.0, 2.0]).tolist() == 3.0
    assert nd.core_present([1, None]).tolist() == 1.0
    f = nd.callable("kind")
    f.add(nd.callable(lambda x: 1, "(N * float64) -> int64"))
    f.add(nd.callable(lambda x: 2, "(N * ?float64) -> int64"))
    assert (f([1.0]).tolist(), f([1.0, None]).tolist(), f([[1.0], [None]]).tolist()) == (1, 2, [2, 2])
    either = nd.callable(lambda x: -1 if x is None else x + 1, "(?int64) -> int64")
    assert either([1, None, 3]).tolist() == [2, -1, 4]
    reverse = nd.callable(lambda x: x.tolist()[::-1], "(N * ?T) -> N * ?T")
    assert reverse([[1.5, None], [2.5]]).tolist() == [[None, 1.5], [2.5]]
    assert str(reverse([1, 2]).type) == "strided * ?int32"


@settings(max_examples=40)
@given(rows_of_numbers)
def test_a_reduction_of_a_plug_in(rows):
    rows = [row + [1.0] for row in rows]
    weights = [[i % 3 + 1 for i in range(len(row))] for row in rows]
    expected = [sum(x * w for x, w in zip(r, s)) / sum(s) for r, s in zip(rows, weights)]
    w = nd.array(weights, type="strided * var * int32")
    assert nd.core_weighted(ragged(rows), w).tolist() == expected
    assert nd.core_weighted(ragged(rows)[::-1], w[::-1]).tolist() == expected[::-1]


def test_pieces_of_long_rows():
    for length, count in [(0, 1), (1, 1), (65536, 1), (65537, 2), (200_000, 4)]:
        assert nd.core_pieces(np.zeros((2, length))).tolist() == [count] * 2
        assert nd.core_uncut(np.zeros(length)).tolist() == 1
    x = np.random.default_rng(1).random(300_000)
    assert abs(nd.core_weighted(x, np.ones(x.size, "int32")).tolist() - x.mean()) < 1e-12


def test_one_long_row_on_threads():
    rng = np.random.default_rng(6)
    x, w = rng.random(1_000_001), rng.integers(1, 9, 1_000_001).astype("int32")
    w[700_000] = 1
    before, results = nd.num_threads(), set()
    try:
        for threads in (1, 2, 7):
            nd.set_num_threads(threads)
            results.add(nd.core_weighted(x, w).tolist())
            assert nd.core_pieces(x).tolist() == 16
            two = nd.core_weighted(np.stack([x, x[::-1]]), np.stack([w, w[::-1]])).tolist()
            results.add(two[0])
            assert abs(two[1] - two[0]) < 1e-12
            w[700_000] = -1
            with pytest.raises(ValueError, match="core_weighted: a weight is negative"):
                nd.core_weighted(x, w)
            w[700_000] = 1
    finally:
        nd.set_num_threads(before)
    assert len(results) == 1                                         # the same bits


def test_long_rows_of_a_reduction_for_one_thread_stay_on_it():
    before = nd.num_threads()
    try:
        nd.set_num_threads(4)
        assert nd.core_threads(np.zeros((2, 2_000_000))).tolist() == [0, 0]
    finally:
        nd.set_num_threads(before)


def test_the_first_piece_that_fails_says_why():
    """However many fail at once, and whichever of them ends last."""
    x, w = np.zeros(2_000_000), -(np.arange(2_000_000) // 65536).astype("int32")
    before = nd.num_threads()
    try:
        for threads in (1, 2, 7):
            nd.set_num_threads(threads)
            with pytest.raises(ValueError, match="a weight is negative: -1$"):
                nd.core_weighted(x, w)
    finally:
        nd.set_num_threads(before)


def test_reduce_by_a_reduction_along_an_axis():
    x = np.zeros((3, 70_000))
    assert nd.reduce(nd.core_pieces, x, axis=1).tolist() == [2, 2, 2]
    assert nd.reduce(nd.core_pieces, x.T, axis=0).tolist() == [2, 2, 2]
    assert nd.reduce(nd.core_pieces, x).tolist() == 4
    with pytest.raises(TypeError, match="no identity"):
        nd.reduce(nd.core_pieces, x, identity=0)


def test_a_reduction_that_fails():
    with pytest.raises(ValueError, match=r"negative.*\(1"):
        nd.core_weighted([[1.0], [2.0]], nd.array([[1], [-1]], type="strided * strided * int32"))
    with pytest.raises(ValueError, match="N is 2.*3"):
        nd.core_weighted([1.0, 2.0], [1, 2, 3])
