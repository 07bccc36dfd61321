"""Kernels that dynd-kernelgen makes: the examples of the reference over all layouts, intents and types."""

import gc
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import kernelgen_support
from dynd import nd
from kernelgen_configs import CONFIG, STRUCTS

SCALARS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
           "complex128"]
C_NAMES = {"float32": "float", "float64": "double", "complex64": "float _Complex", "complex128": "double _Complex"}


def of_types():
    text = ""
    for t in SCALARS:
        c = C_NAMES.get(t, f"{t}_t")
        text += f"\n[KERNEL same_{t}]\nprototypes: {c} same_{t}({c} a)\ninput: a\n"
        text += f"\n[KERNEL copy_{t}]\nprototypes: void copy_{t}(int n, const {c} *a, {c} *r)\ninput: a(n)\noutput: r(n)\nhide: n\n"
    return text


def declarations():
    """The prototypes of the functions, from their file."""
    import re
    text = kernelgen_support.FUNCTIONS.read_text()
    found = re.findall(r"^((?!static|typedef|point|double length)[a-z_]\w*[^;{}=#]*\)) \{", text, re.MULTILINE)
    for t in SCALARS:
        c = C_NAMES.get(t, f"{t}_t")
        found += [f"{c} same_{t}({c} a)", f"void copy_{t}(int n, const {c} *a, {c} *r)"]
    return "".join("    " + " ".join(f.split()) + ";\n" for f in found)


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernelgen")
    text = CONFIG.format(functions=kernelgen_support.FUNCTIONS, types=of_types(), declarations=declarations())
    nd.load(kernelgen_support.build(folder, text))
    nd.load(kernelgen_support.build(folder, STRUCTS.format(functions=kernelgen_support.FUNCTIONS), "structs"))


def layouts(values):
    """The same values in several layouts, as arrays of NumPy."""
    a = np.array(values)
    big = np.zeros([2 * n + 1 for n in a.shape], a.dtype)
    view = big[tuple(slice(1, None, 2) for _ in a.shape)]
    view[...] = a
    backwards = np.array(a[..., ::-1])[..., ::-1]
    return [a, np.asfortranarray(a), view, backwards]


# ---- the examples of the reference ------------------------------------------------------------------------------------

def test_square_of_scalars_rows_and_other_types():
    assert nd.kg_square(3.0).tolist() == 9.0
    assert nd.kg_square([1.0, 2.0, 3.0]).tolist() == [1, 4, 9]
    assert nd.kg_square([[1.0], [2.0, 3.0]]).tolist() == [[1], [4, 9]]
    assert nd.kg_square(np.array([2, 3], np.int32)).tolist() == [4, 9]
    assert str(nd.kg_square(np.array([2, 3], np.int32)).type) == "strided * int32"
    assert nd.kg_square(nd.array([2.0, None])).tolist() == [4.0, None]
    assert [str(s) for s in nd.kg_square.signatures] == ["(a: float64) -> float64", "(a: int32) -> int32"]


def test_ddot():
    assert nd.kg_ddot([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).tolist() == 32
    x, y = np.array([1.0, 2, 3, 4])[::2], np.array([4.0, 5, 6, 7])[1::2]
    assert nd.kg_ddot(nd.asarray(x), nd.asarray(y)).tolist() == 26
    assert nd.kg_ddot([[1, 2, 3], [4, 5, 6]], [1, 1, 2]).tolist() == [9, 21]
    assert nd.kg_ddot([[1.0, 2.0], [3.0]], [[1.0, 1.0], [2.0]]).tolist() == [3, 6]
    assert nd.kg_ddot([], []).tolist() == 0
    with pytest.raises(ValueError, match="N is 3 in operand 0 and 2 in operand 1"):
        nd.kg_ddot([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="missing"):
        nd.kg_ddot([1.0, None], [1.0, 2.0])


rows_of_numbers = st.lists(st.lists(st.integers(-9, 9).map(float), max_size=5), min_size=1, max_size=6)


@given(rows_of_numbers)
@settings(deadline=None)
def test_ddot_of_ragged_rows(rows):
    a = nd.array(rows, type="strided * var * float64")
    assert nd.kg_ddot(a, a).tolist() == [sum(x * x for x in row) for row in rows]
    assert nd.kg_ddot(a[:, ::-1], a).tolist() == [sum(x * y for x, y in zip(r, r[::-1])) for r in rows]
    assert nd.kg_ddot(a[::-1], a[::-1]).tolist() == [sum(x * x for x in row) for row in rows][::-1]


def test_scale_in_place():
    x = np.array([1.0, 2.0, 3.0])
    assert nd.kg_scale(2.0, nd.asarray(x)) is None
    assert x.tolist() == [2, 4, 6]
    x = np.array([1.0, 2.0, 3.0, 4.0])
    nd.kg_scale(2.0, nd.asarray(x[::2]))
    assert x.tolist() == [2, 2, 6, 4]
    nd.kg_scale(2.0, nd.asarray(x[::-2]))
    assert x.tolist() == [2, 4, 6, 8]
    x = np.ones((2, 2))
    nd.kg_scale([2.0, 3.0], nd.asarray(x))
    assert x.tolist() == [[2, 2], [3, 3]]
    rows = nd.array([[1.0], [2.0, 3.0]], access="rw")
    nd.kg_scale([10.0, 100.0], rows)
    assert rows.tolist() == [[10], [200, 300]]


def test_written_arguments_are_never_stretched_immutable_or_shared():            # D11
    x = np.ones(2)
    with pytest.raises(ValueError, match="would be stretched"):
        nd.kg_scale([2.0, 3.0], nd.asarray(x))
    assert x.tolist() == [1, 1]
    with pytest.raises(TypeError, match="cannot be written"):
        nd.kg_scale(2.0, nd.array([1.0]))
    with pytest.raises(ValueError, match="stretched"):
        nd.kg_scale([2.0, 3.0], nd.asarray(np.broadcast_to(np.ones(2), (2, 2)).copy()[:1]))


def test_intents_of_arrays():                                                     # D3
    base = np.arange(1, 8)
    a = np.array([1, 2, 3])
    assert nd.kg_range_input(nd.asarray(a)).tolist() == 6 and a.tolist() == [1, 2, 3]
    assert nd.kg_range_input(nd.asarray(base[1::2])).tolist() == 12 and base.tolist() == list(range(1, 8))
    assert nd.kg_range_inout(nd.asarray(a)).tolist() == 6 and a.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="kg_range_inout: argument a must be C-contiguous"):
        nd.kg_range_inout(nd.asarray(base[1::2]))
    assert base.tolist() == list(range(1, 8))
    assert nd.kg_range_inplace(nd.asarray(base[1::2])).tolist() == 12 and base.tolist() == [1, 0, 3, 1, 5, 2, 7]


def test_intents_with_output():
    for a in layouts([1, 2, 3]):
        before = a.tolist()
        made, total = nd.kg_range_input_output(nd.asarray(a))
        assert (made.tolist(), total.tolist(), a.tolist()) == ([0, 1, 2], sum(before), before)
        made, total = nd.kg_range_inplace_output(nd.asarray(a))
        assert (made.tolist(), total.tolist(), a.tolist()) == ([0, 1, 2], sum(before), [0, 1, 2])
    a = np.array([1, 2, 3])
    assert [r.tolist() for r in nd.kg_range_inout_output(nd.asarray(a))] == [[0, 1, 2], 6] and a.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="contiguous"):
        nd.kg_range_inout_output(nd.asarray(np.arange(6)[::2]))
    made, total = nd.kg_range_input_output([[5, 5], [1], []])
    assert (made.tolist(), total.tolist()) == ([[0, 1], [0], []], [10, 1, 0])


def test_hidden_arrays_are_scratch():
    assert nd.kg_range_hide(4).tolist() == 0
    assert nd.kg_range_hide([0, 5, 1000]).tolist() == [0, 0, 0]
    assert nd.kg_range_new(4).tolist() == 0


def test_results_sized_by_operands():                                             # D4, D5, D6
    assert nd.kg_fill_range(3).tolist() == [0, 1, 2]
    assert [r.tolist() for r in nd.kg_range_output(3)] == [[0, 1, 2], 0]              # D16: zeros, not garbage
    assert nd.kg_fill_some(4).tolist() == [1, 0, 3, 0]
    assert nd.kg_fill_range([3, 3]).tolist() == [[0, 1, 2], [0, 1, 2]]
    assert str(nd.kg_fill_range([3, 3]).type) == "strided * strided * float64"
    assert nd.kg_fill_range([2, 3]).tolist() == [[0, 1], [0, 1, 2]]
    assert nd.kg_fill_range([[1], [], [2, 0]]).tolist() == [[[0]], [], [[0, 1], []]]
    assert nd.kg_take([5.0, 6.0, 7.0], 2).tolist() == [5, 6]
    assert nd.kg_take([[5.0, 6.0, 7.0], [1.0]], [2, 1]).tolist() == [[5, 6], [1]]
    assert nd.kg_fill_range(nd.array([], type="0 * int32")).tolist() == []
    with pytest.raises(ValueError, match=r"kg_fill_range: the size n of a result is negative at index \(1,\)"):
        nd.kg_fill_range([1, -1])


def test_tensors():
    m = np.array([[1.0, 2, 3], [4, 5, 6]])
    for a in layouts(m):
        assert nd.kg_transpose(nd.asarray(a)).tolist() == m.T.tolist()
        assert nd.kg_mv(nd.asarray(a), [1.0, 0.0, 1.0]).tolist() == [4, 10]
    assert nd.kg_outer([1.0, 2.0], [3.0, 4.0, 5.0]).tolist() == [[3, 4, 5], [6, 8, 10]]
    assert nd.kg_outer(np.ones((2, 1, 2)), np.ones((3, 3))).shape == (2, 3, 2, 3)
    assert nd.kg_transpose(np.zeros((0, 3))).shape == (3, 0)
    ragged = nd.array([[m.tolist()], [m.tolist(), (2 * m).tolist()]], type="strided * var * 2 * 3 * float64")
    assert nd.kg_transpose(ragged).tolist() == [[m.T.tolist()], [m.T.tolist(), (2 * m.T).tolist()]]


def test_f_order():                                                               # D1, D2
    m = np.array([[1.0, 2, 3], [4, 5, 6]])
    for a in layouts(m):
        assert nd.kg_memory_c(nd.asarray(a)).tolist() == [1, 2, 3, 4, 5, 6]
        assert nd.kg_memory_f(nd.asarray(a)).tolist() == [1, 4, 2, 5, 3, 6]
        made = nd.kg_identity_f(nd.asarray(a))
        assert made.tolist() == m.tolist()
        assert np.asarray(made).flags.f_contiguous
    t = np.arange(24.0).reshape(2, 3, 4)
    for a in layouts(t):
        assert nd.kg_memory_f3(nd.asarray(a)).tolist() == t.ravel("F").tolist()
    assert nd.kg_memory_f(nd.asarray(t)).tolist() == [x.ravel("F").tolist() for x in t]
    assert nd.kg_memory_f(np.ones((1, 3))).tolist() == [1, 1, 1] and nd.kg_memory_f(np.ones((3, 0))).tolist() == []
    ragged = nd.array([[m.tolist()], []], type="strided * var * 2 * 3 * float64")
    assert nd.kg_memory_f(ragged).tolist() == [[[1, 4, 2, 5, 3, 6]], []]
    assert nd.kg_identity_f(ragged).tolist() == [[m.tolist()], []]


@given(st.lists(st.integers(0, 4), min_size=3, max_size=3), st.permutations([0, 1, 2]), st.lists(st.booleans(), min_size=3, max_size=3))
@settings(deadline=None)
def test_f_order_of_any_strides(shape, axes, flipped):
    a = np.arange(float(np.prod(shape))).reshape(shape).transpose(axes)
    a = a[tuple(slice(None, None, -1 if f else 1) for f in flipped)]
    assert nd.kg_memory_f3(nd.asarray(a)).tolist() == a.ravel("F").tolist()


def test_the_kind_is_chosen_by_the_layout():
    m = np.ones((2, 3))
    assert nd.kg_which(nd.asarray(m)).tolist() == 6
    assert nd.kg_which(nd.asarray(np.asfortranarray(m))).tolist() == 1006
    assert nd.kg_which(nd.asarray(np.ones((4, 6))[::2, ::2])).tolist() == 2206
    assert nd.kg_which(nd.asarray(m[::-1])).tolist() == 3006
    assert nd.kg_which(np.ones((2, 2, 3))).tolist() == [6, 6]
    assert nd.kg_which_v(np.ones(3)).tolist() == 3
    with pytest.raises(ValueError, match="kg_which_v: argument a must be C-contiguous"):
        nd.kg_which_v(nd.asarray(np.ones(6)[::2]))
    assert nd.kg_which_steps(nd.asarray(np.ones(6)[::2])).tolist() == 2203
    with pytest.raises(ValueError, match="kg_which_steps: argument a must have positive strides"):
        nd.kg_which_steps(nd.asarray(np.ones(6)[::-2]))


def test_defaults():
    assert nd.kg_sum_first(3, [1.0, 2.0, 3.0]).tolist() == 6
    assert nd.kg_sum_first(nd.array(None, type="?int32"), [1.0, 2.0, 3.0]).tolist() == 3
    assert nd.kg_sum_first([1.0, 2.0, 3.0]).tolist() == 3
    assert nd.kg_sum_first(None, [1.0, 2.0, 3.0]).tolist() == 3 and nd.kg_sum_first([1.0, 2.0], n=None).tolist() == 3
    assert nd.kg_sum_first([1.0, 2.0, 3.0], n=1).tolist() == 1
    assert nd.kg_sum_first(a=[1.0, 2.0, 3.0], n=1).tolist() == 1
    assert nd.kg_sum_first(nd.array([3, None], type="?int32"), [1.0, 2.0, 3.0]).tolist() == [6, 3]


def test_pointers_to_scalars():
    a = nd.array([10, None], type="?int64", access="rw")
    assert nd.kg_ten_input(a).tolist() == [40, 35] and a.tolist() == [10, None]
    assert nd.kg_ten_inplace(a).tolist() == [40, 35] and a.tolist() == [20, 15]
    b = np.array([10, 20])
    assert nd.kg_ten_inplace(nd.asarray(b)).tolist() == [40, 50] and b.tolist() == [20, 30]
    assert nd.kg_ten_input(10).tolist() == 40 and nd.kg_ten_input().tolist() == 35
    assert nd.kg_ten_plain([[1], [2, 3]]).tolist() == [[31], [32, 33]]
    b = np.array([10, 20])
    assert [r.tolist() for r in nd.kg_ten_inout_output(nd.asarray(b))] == [[20, 30], [40, 50]] and b.tolist() == [20, 30]
    assert [r.tolist() for r in nd.kg_ten_output()] == [15, 35]
    assert nd.kg_ten_hide().tolist() == 35


def test_missing_values_propagate_where_the_configuration_says_so():
    assert nd.kg_sum_or_missing([[1.0, 2.0], [3.0]]).tolist() == [3, 3]
    assert str(nd.kg_sum_or_missing([1.0, 2.0]).type) == "float64"
    assert nd.kg_sum_or_missing(nd.array([[1.0, None], [3.0, 4.0]])).tolist() == [None, 7]
    assert nd.kg_sum_or_missing(nd.array([[1.0, None], [3.0], []])).tolist() == [None, 3, 0]
    made = nd.kg_outer_or_missing(nd.array([[1.0, 2.0], [None, 1.0]]), nd.array([3.0, 4.0], type="?float64"))
    assert made.tolist() == [[[3, 4], [6, 8]], [[None, None], [None, None]]]


def test_sizes_are_checked():
    assert nd.kg_checked(2, [1.0, 2.0, 3.0]).tolist() == 3
    with pytest.raises(ValueError, match=r"a has size 3 along axis 0, and n \+ 1 is 2"):
        nd.kg_checked(1, [1.0, 2.0, 3.0])
    assert nd.kg_agree(3, [1.0, 2.0, 3.0]).tolist() == 6
    with pytest.raises(ValueError, match="a has size 3 along axis 0, and n is 4"):
        nd.kg_agree(4, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"and n is 4 at index \(1,\)"):
        nd.kg_agree([3, 4], [1.0, 2.0, 3.0])


def test_status_and_errno_are_errors():
    assert nd.kg_half([[2], [4, 6]]).tolist() == [[1], [2, 3]]
    with pytest.raises(ValueError, match=r"kg_half: 3 is odd, 100% sure at index \(1, 0\)"):
        nd.kg_half([[2], [3]])
    with pytest.raises(IndexError, match="kg_half: -3 is negative and odd"):
        nd.kg_half(-3)
    with pytest.raises(ValueError, match="no inverse"):
        nd.kg_inverse([1.0, 0.0])
    assert nd.kg_inverse([2.0]).tolist() == [0.5]


def test_a_failure_in_place_leaves_the_rows_before_it_as_they_were():
    a = np.array([[2, 4], [8, 3], [6, 6]], np.int32)
    with pytest.raises(ValueError, match="halve returned 2"):
        nd.kg_halve(nd.asarray(a))
    assert a.tolist() == [[2, 4], [8, 3], [6, 6]]


def test_other_forms_of_arguments():
    m = np.arange(6.0).reshape(2, 3)
    for a in layouts(m):
        assert nd.kg_sum_rows(nd.asarray(a)).tolist() == m[0].sum() + 2 * m[1].sum()                # T **
    assert nd.kg_trace3(np.eye(3)).tolist() == 3
    with pytest.raises(ValueError, match="3"):
        nd.kg_trace3(np.eye(4))
    assert nd.kg_table(3).tolist() == [1, 2, 3]                                                   # D10
    with pytest.raises(ValueError, match="first_of_table returned no array"):
        nd.kg_table(5)
    assert nd.kg_applied([1.0, 3.0]).tolist() == [1, 9]                                           # a callback
    assert [r.tolist() for r in nd.kg_minmax([[3.0, 1.0], [2.0]])] == [[1, 2], [3, 2]]
    assert nd.kg_coded([1.0, 2.0]).tolist() == 6
    assert nd.kg_not_([True, False]).tolist() == [False, True]
    assert "The least and the largest element." in nd.kg_minmax.__doc__ and "void minmax(int n" in nd.kg_minmax.__doc__


@pytest.mark.parametrize("name", SCALARS)
def test_every_scalar_type(name):                                                 # D7
    values = np.array([0, 1, 100], name)
    made = getattr(nd, f"kg_same_{name}")(values)
    assert made.tolist() == values.tolist() and str(made.type) == f"strided * {name}"
    made = getattr(nd, f"kg_copy_{name}")(nd.asarray(values[::-1]))
    assert made.tolist() == values[::-1].tolist() and str(made.type) == f"strided * {name}"


def test_structs():
    points = nd.array([(3, 4), (6, 8)], type="{x: float64, y: float64}")
    assert nd.kg_length(points).tolist() == [5, 10]
    assert nd.kg_moved(points, 1.0).tolist() == [{"x": 4, "y": 5}, {"x": 7, "y": 9}]


def test_resources_are_made_for_each_size_and_released():
    rows = [[1.0, 2.0], [3.0, 4.0], [], [5.0]] * 300
    made, released = nd.kg_count_made(0).tolist(), nd.kg_count_released(0).tolist()
    assert nd.kg_reversed_(nd.array(rows, type="strided * var * float64")).tolist() == [r[::-1] for r in rows]
    gc.collect()
    made, released = nd.kg_count_made(0).tolist() - made, nd.kg_count_released(0).tolist() - released
    assert 3 <= made <= 12 and made == released
    for _ in range(3):
        assert nd.kg_reversed_(np.arange(3.0)).tolist() == [2, 1, 0]
    assert nd.kg_count_made(0).tolist() - made <= 12


def test_the_same_configuration_in_two_folders_has_two_plug_ins(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for i in (1, 2):
        folder = tmp_path / str(i)
        folder.mkdir()
        (folder / "times.c").write_text(f"double two_folders(double x) {{ return {i} * x; }}\n")
        (folder / "times.cfg").write_text("[MODULE times]\nsources = times.c\n[KERNEL two_folders]\n"
                                          "prototypes = double two_folders(double x)\ninput = x\n")
    code = "import sys; from dynd import nd; print(nd.wrap(sys.argv[1]).two_folders(1.0).tolist())"
    made = [subprocess.run([sys.executable, "-c", code, str(tmp_path / str(i) / "times.cfg")], capture_output=True, text=True).stdout for i in (1, 2)]
    assert made == ["1.0\n", "2.0\n"]
