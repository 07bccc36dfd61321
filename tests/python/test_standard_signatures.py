"""What the array API standard and NumPy take besides the operands: dtype=, bounds, ends, axes, methods, and what is said
where an argument is wrong."""

import itertools
import math

import numpy as np
import pytest

import oracle
from dynd import nd
from support import identical

NUMBERS = oracle.INTEGERS + oracle.FLOATS + oracle.COMPLEX


def values_of(scalar, size):
    rng = np.random.default_rng(size)
    plain = rng.integers(0, 2, size) if scalar == "bool" else rng.integers(0 if scalar[0] == "u" else -100, 100, size)
    return plain.astype(scalar) if scalar in oracle.INTEGERS + ["bool"] else (plain / 8).astype(scalar)


def exact_type(array):
    return str(nd.type_of(array)).split(" * ")[-1]


# ---- dtype=


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod", "nansum", "nanprod"])
@pytest.mark.parametrize("scalar", [*NUMBERS, "bool"])
def test_dtype_is_what_the_elements_are_taken_as(name, scalar):
    for dtype, size in itertools.product(NUMBERS, [5, 300, 5000]):
        plain = values_of(scalar, size)
        if name.endswith("prod") and scalar != "bool":
            plain = np.sign(plain.real).astype(scalar) + np.dtype(scalar).type(1)
        if scalar in oracle.COMPLEX and dtype not in oracle.COMPLEX:
            continue
        if dtype in oracle.INTEGERS and scalar in oracle.FLOATS:
            if not name.endswith("prod"):
                with pytest.raises((ValueError, OverflowError), match=f"^{name}: dtype: "):
                    getattr(nd, name)(nd.array(plain), dtype=dtype)
            continue
        with np.errstate(all="ignore"):
            call = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}.get(name) or getattr(np, name)
            wide = "float64" if dtype == "float16" else dtype  # NumPy rounds after each one
            expected = call(plain.astype(dtype), dtype=wide).astype(dtype)
        for array in (nd.array(plain), nd.asarray(np.repeat(plain, 2)[::2])):
            found = getattr(nd, name)(array, dtype=dtype)
            assert exact_type(found) == dtype
            if dtype in oracle.INTEGERS:
                assert np.asarray(found).tolist() == expected.tolist()
            else:
                np.testing.assert_allclose(np.asarray(found), expected, rtol=0.01 if dtype == "float16" else 1e-4)


def test_dtype_by_every_name_on_rows_and_missing_values():
    rows, missing = nd.array([[1, 2], [], [3]]), nd.array([1, None, 3])
    for dtype in ("float64", float, np.float64, np.dtype("f8"), nd.array(1.5).dtype):
        assert nd.sum(rows, axis=1, dtype=dtype).tolist() == [3.0, 0.0, 3.0]
        assert rows.sum(axis=1, dtype=dtype).tolist() == [3.0, 0.0, 3.0]
        assert nd.cumulative_sum(rows, axis=1, dtype=dtype).tolist() == [[1.0, 3.0], [], [3.0]]
        assert exact_type(nd.sum(missing, dtype=dtype)) == "float64"
        assert nd.cumulative_sum(missing, dtype=dtype).tolist() == [1.0, None, 4.0]
        assert nd.array([1, 2]).cumsum(dtype=dtype).tolist() == [1.0, 3.0]
    assert nd.sum(nd.array([100, 100], type="int8"), dtype="int8").tolist() == -56
    assert nd.sum([1.0, 2.0], dtype="int32").tolist() == 3
    assert exact_type(nd.sum([1.0, 2.0], dtype="int32")) == "int32"
    assert nd.sum([1, 2], dtype="float32", initial=1.5).tolist() == 4.5
    assert nd.cumulative_sum([1, 2], dtype="float32", include_initial=True).tolist() == [0.0, 1.0, 3.0]
    assert nd.sum([[1, 2], [3]], axis=0, align="left", dtype="int16").tolist() == [4, 2]
    large = nd.array(np.arange(100_000, dtype="int32"))
    text = str(nd.explain(lambda: nd.sum(large * 2, dtype="float32")))
    assert text.count("one kernel") == 1 and "float32" in text


# ---- bounds and ends


@pytest.mark.parametrize("low, high", [(None, None), (-1, None), (None, 2.5), (-1, 2.5), (3, 1)])
def test_clip_takes_bounds_or_none(low, high):
    plain = np.array([-3.0, -0.5, 0.0, 2.0, 7.0, math.inf])
    expected = np.clip(plain, low, high).tolist()
    assert nd.clip(plain, low, high).tolist() == expected
    assert nd.clip(nd.array(plain), min=low, max=high).tolist() == expected
    assert nd.array(plain).clip(low, high).tolist() == expected
    assert nd.clip([[-3.0, 9.0], []], low, high).tolist() == [np.clip([-3.0, 9.0], low, high).tolist(), []]
    assert nd.clip([1.0, None], low, high).tolist()[1] is None


def test_clip_bounds_broadcast():
    assert nd.clip([[1, 5, 9], [4]], [[2], [5]], 8).tolist() == [[2, 5, 8], [5]]
    assert nd.clip([1, 5], max=nd.array([3, None])).tolist() == [1, None]
    assert exact_type(nd.clip(nd.array([1, 9], type="int8"), 2, 5)) == "int8"


@pytest.mark.parametrize("scalar", "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split())
def test_clip_with_one_bound_is_exact_in_every_type(scalar):
    info = (np.iinfo if np.dtype(scalar).kind in "iu" else np.finfo)(scalar)
    plain = np.array([info.min, 0, 3, info.max], scalar)
    for bounds in ({"min": 2}, {"max": 2}, {}, {"min": plain[::-1]}, {"max": plain[::-1]}):
        expected = np.clip(plain, **bounds)
        if isinstance(next(iter(bounds.values()), 0), np.ndarray):
            bounds = {key: nd.array(value) for key, value in bounds.items()}
        found = nd.clip(nd.array(plain), **bounds)
        assert exact_type(found) == scalar and found.tolist() == expected.tolist(), bounds
    if np.dtype(scalar).kind == "f":
        assert nd.clip(nd.array(np.array([math.nan, -0.0, math.inf, -math.inf], scalar)), max=1).tolist()[1:] == [0, 1, -math.inf]
        assert math.isnan(nd.clip(nd.array(np.array([math.nan], scalar)), max=1).tolist()[0])


def test_clip_is_a_callable_like_others():
    assert [str(s) for s in nd.clip.signatures] == ["(Real T, T, T) -> T"]
    assert nd.clip.__text_signature__ == "(a, min=None, max=None)" and "None is no bound" in nd.clip.__doc__
    wide = nd.clip(nd.array([1, 2], type="int8"), max=nd.array([1, 300], type="int32"))
    assert wide.tolist() == [1, 2] and exact_type(wide) == "int32"
    assert nd.clip(nd.array([1, 2]), min=1.5).tolist() == [1.5, 2.0]
    assert nd.clip(None, 1, None).tolist() is None and nd.clip(None).tolist() is None
    a = nd.array(np.arange(100_000.0))
    for call in (lambda: nd.clip(a * 2, max=7).sum(), lambda: (a * 2).clip(3).sum(), lambda: (a * 2).clip(a, 5)):
        text = str(nd.explain(call))
        assert text.count("one kernel") == 1 and "multiply(" in text and "clip(" in text, text
    w = nd.array(np.arange(100_000.0), access="rw")  # not lazy: a temporary operand is not stored either
    assert str(nd.explain(lambda: (a * 2).clip(w, 5))).count("\n  to ") == 1


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: nd.clip(), "clip: missing argument 'a'"),
        (lambda: nd.clip([1], 1, 2, 3), "clip: takes 3 positional argument(s), not 4"),
        (lambda: nd.clip([1], lower=1), "clip: unexpected keyword argument 'lower'"),
        (lambda: nd.clip([1], 1, min=1), "clip: repeated keyword argument 'min'"),
        (lambda: nd.array([1]).clip(1, 2, 3), "clip: takes 2 positional argument(s), not 3"),
        (lambda: nd.clip([1j], max=3), "clip: not defined for complex numbers, got complex128"),
        (lambda: nd.clip([True], max=True), "clip: bool is not a number; nd.where(a, 1, 0) makes integers of it"),
        (lambda: nd.clip(["a"], max=3), "clip: there is no such operation for elements of type string"),
    ],
)
def test_clip_says_what_is_wrong(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_round_is_a_callable_and_takes_complex_numbers():
    assert [str(s) for s in nd.round.signatures] == ["(Number T) -> T"]
    for type in ("complex64", "complex128"):
        plain = np.array([1.5 + 2.5j, -0.4 - 7.5j, complex(math.inf, 0.5)], type)
        for function in ("round", "rint"):
            found = getattr(nd, function)(nd.array(plain))
            assert exact_type(found) == type and found.tolist() == getattr(np, function)(plain).tolist()
        assert nd.round(nd.array(plain), 1).tolist()[:2] == np.round(plain, 1).tolist()[:2]
    assert nd.rint([1.5 + 2.5j, None]).tolist() == [2 + 2j, None]


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_diff_with_ends_is_numpys(n, axis):
    plain = np.random.default_rng(1).normal(size=(4, 5))
    for ends in ({"prepend": 0.5}, {"append": 2.0}, {"prepend": -1.0, "append": 7.0},
                 {"prepend": np.take(plain, [0, 0], axis)}):
        assert nd.diff(nd.array(plain), n, axis, **ends).tolist() == np.diff(plain, n, axis, **ends).tolist()


def test_diff_with_ends_of_rows():
    assert nd.diff([[1, 4, 9], [], [5]], prepend=0).tolist() == [[1, 3, 5], [], [5]]
    assert nd.diff([[1, 4], []], append=nd.array([[5], [6]])).tolist() == [[3, 1], []]
    assert nd.diff([1, 4, 9], 2).tolist() == [2]
    assert nd.diff([1, None], prepend=0).tolist() == [1, None]
    assert nd.diff([1, 4], prepend=0.5).tolist() == [0.5, 3.0]


def test_diff_more_often_than_there_are_elements():
    rows = nd.array([[1.0, 4.0, 9.0], [], [5.0]])
    assert nd.diff(rows, 2**62).tolist() == [[], [], []] and nd.diff([1, 2], 2**40).tolist() == []
    assert nd.diff(nd.array([[[1], [2, 3]], [[4], [5, 6]]]), 2**40, axis=0).tolist() == []
    assert nd.diff(nd.zeros((0, 5)), 2, axis=1).shape == (0, 3)  # no elements, but rows that become shorter
    assert nd.diff(nd.zeros((2, 5, 0)), 2, axis=1).shape == (2, 3, 0)
    with pytest.raises(ValueError, match="diff: n must not be negative, got -7"):
        nd.diff(rows, -7)


# ---- methods and attributes


def test_methods_that_numpys_arrays_have():
    plain = np.array([1.26, -2.5, 7.0])
    a = nd.array(plain)
    assert a.round().tolist() == plain.round().tolist() and a.round(1).tolist() == plain.round(1).tolist()
    assert a.ptp() == 9.5 and nd.array([[1, 5], [2]]).ptp(axis=1).tolist() == [4, 0]
    z = np.array([1 + 2j, -3.5j])
    assert nd.array(z).conj().tolist() == nd.array(z).conjugate().tolist() == z.conj().tolist()
    assert nd.array(z).real.tolist() == z.real.tolist() and nd.array(z).imag.tolist() == z.imag.tolist()
    for name in "sum prod min max argmin argmax any all mean var std cumsum cumprod clip round conj".split():
        assert callable(getattr(a, name)) and hasattr(plain, name), name


def test_fields_are_attributes_of_structs_only():
    points = nd.array([{"x": 1, "size": 2, "clip": 3}])
    assert isinstance(points, nd.array) and points.x.tolist() == [1] and points.size == 1 and points["clip"].tolist() == [3]
    assert nd.array([{"x": 1}, None]).x.tolist() == [1, None]
    with pytest.raises(AttributeError):
        points.y
    with pytest.raises(AttributeError):
        nd.array([1]).x
    assert type(points)([1, 2]).tolist() == [1, 2]
    with pytest.raises(TypeError):
        type("derived", (nd.array,), {})


@pytest.mark.parametrize("scalar", oracle.COMPLEX)
def test_complex_numbers_are_rounded_in_both_components(scalar):
    plain = np.array([1.5 - 2.5j, 0.25 + 1.75j, complex(math.inf, math.nan), -0.4 + 12.345j], scalar)
    assert identical(nd.round(nd.array(plain)).tolist(), np.round(plain).tolist())
    for decimals in (1, 2, -1):
        found = nd.round(nd.array(plain[:2]), decimals)
        assert exact_type(found) == scalar and identical(found.tolist(), np.round(plain[:2], decimals).tolist())


# ---- axes and masks of what is composed


def test_vecdot_over_several_axes():
    rng = np.random.default_rng(2)
    a, b, mask = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 4, 5)), rng.random((3, 4, 1)) < 0.5
    for axis in (None, 0, -1, (0, 2), (1, 2)):
        for keepdims in (False, True):
            expected = np.sum(a * b, axis=axis, keepdims=keepdims)
            np.testing.assert_allclose(np.asarray(nd.vecdot(a, b, axis=axis, keepdims=keepdims)), expected, rtol=1e-12)
            expected = np.sum(a * b, axis=axis, keepdims=keepdims, where=mask)
            found = nd.vecdot(a, b, axis=axis, keepdims=keepdims, where=mask)
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
    assert nd.vecdot([[1, 2], [3]], [[1, 1], [2]], where=[[True, False], [True]]).tolist() == [1, 6]


def test_logsumexp_with_a_mask_and_softmax_over_several_axes():
    a = np.random.default_rng(3).normal(size=(3, 4)) * 300
    mask = np.array([True, False, True, True])
    expected = [math.log(sum(math.exp(x - max(row)) for x in row)) + max(row) for row in a[:, mask].tolist()]
    np.testing.assert_allclose(nd.logsumexp(a, axis=1, where=mask).tolist(), expected, rtol=1e-14)
    assert nd.logsumexp([[1.0, 2.0], [3.0]], axis=1, where=[[False, False], [True]]).tolist() == [-math.inf, 3.0]
    powers = np.exp(a - a.max())
    for axis in (None, (0, 1)):
        np.testing.assert_allclose(np.asarray(nd.softmax(a, axis=axis)), powers / powers.sum(), rtol=1e-12)
    rows = nd.softmax([[1.0, 2.0], [3.0]], axis=None)
    np.testing.assert_allclose(float(rows.sum()), 1.0)


def test_other_names_and_defaults():
    x = np.array([1.0, 2.0, 4.0])
    assert float(nd.std(x, ddof=1)) == float(nd.std(x, correction=1)) == pytest.approx(np.std(x, ddof=1))
    assert nd.linspace(0, 1).tolist() == np.linspace(0, 1).tolist()


# ---- errors

A = nd.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("call, kind, text", [
    (lambda: nd.sum(A, 0, np.float32), TypeError, "sum: keepdims must be True or False, not <class 'numpy.float32'>"),
    (lambda: nd.sum(A, keepdims="no"), TypeError, "sum: keepdims must be True or False, not 'no'"),
    (lambda: nd.sum(A, axis=1.0), TypeError, "sum: axis must be an integer, a tuple of them or None, not float"),
    (lambda: nd.sum(A, axis=2), IndexError, "sum: axis 2 is out of bounds for 2 dimension(s)"),
    (lambda: nd.sum(A, axis=(0, 0)), ValueError, "sum: axis 0 is given twice"),
    (lambda: nd.sum(A, dtype="bool"), TypeError, "sum: dtype must be a number's type, not bool"),
    (lambda: nd.sum(A, dtype="string"), TypeError, "sum: the type must be a number's, not string"),
    (lambda: nd.sum(A, dtype=3), TypeError, "sum: type must be datashape text, an ndt.type or a dtype, not int"),
    (lambda: nd.sum([1.5], dtype="int32"), ValueError, "sum: dtype: "),
    (lambda: nd.sum([1j], dtype=float), ValueError, "sum: dtype: "),
    (lambda: nd.max(A, dtype=float), TypeError, "max: unexpected keyword argument 'dtype'"),
    (lambda: nd.sum(A, where=[1, 0]), TypeError, "sum: where must be bool, not int32"),
    (lambda: nd.sum(A, where=[True, False, True]), ValueError, "sum: cannot broadcast"),
    (lambda: nd.sum([1.0, 2.0], where=[[True], [False]]), ValueError,
     "sum: where of shape (2, 1) does not broadcast to (2,)"),
    (lambda: nd.vecdot(A, A, where=[1, 0]), TypeError, "vecdot: where must be bool, not int32"),
    (lambda: nd.std(A, correction="1"), TypeError, "std: correction must be a number, not str"),
    (lambda: nd.std(A, correction=1, ddof=1), TypeError, "std: repeated keyword argument 'ddof'"),
    (lambda: nd.mean(A, weights=["a", "b"]), TypeError, "mean: weights must be real numbers, not string"),
    (lambda: nd.sum(A, initial=[1, 2]), TypeError, "sum: initial must be one number, not strided * int32"),
    (lambda: nd.max(A, empty="nan"), ValueError, "max: empty must be 'missing' or None"),
    (lambda: nd.cumulative_sum(A), ValueError, "cumulative_sum: an array of 2 dimensions needs axis="),
    (lambda: nd.cumulative_sum(A, axis=(0, 1)), TypeError, "cumulative_sum: axis must be an integer or None, not tuple"),
    (lambda: nd.cumulative_sum(A, 0, include_initial="x"), TypeError,
     "cumulative_sum: include_initial must be True or False, not 'x'"),
    (lambda: nd.softmax(A, axis="x"), TypeError, "softmax: axis must be an integer, a tuple of them or None, not str"),
    (lambda: nd.softmax(A, axis=5), IndexError, "softmax: axis 5 is out of bounds for 2 dimension(s)"),
    (lambda: nd.logsumexp(A, where=[1, 2]), TypeError, "where must be bool, not int32"),
    (lambda: nd.round(A, 1.5), TypeError, "round: decimals must be an integer, not float"),
    (lambda: round(A, "x"), TypeError, "round: decimals must be an integer, not str"),
    (lambda: nd.isclose(A, A, rtol="x"), TypeError, "isclose: rtol must be a number, not str"),
    (lambda: nd.isclose(A, A, equal_nan="x"), TypeError, "isclose: equal_nan must be True or False, not 'x'"),
    (lambda: nd.nan_to_num(A, posinf="x"), TypeError, "nan_to_num: posinf must be a number, not str"),
    (lambda: nd.diff(A, 1.5), TypeError, "diff: n must be an integer, not float"),
    (lambda: nd.diff(A, axis=3), IndexError, "diff: axis 3 is out of bounds for 2 dimension(s)"),
    (lambda: nd.linspace(0, 1, 3, endpoint="x"), TypeError, "linspace: endpoint must be True or False, not 'x'"),
])
def test_errors_say_what_is_wrong(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value), str(caught.value)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint16"])
@pytest.mark.parametrize("n", [1, 7, 130, 3000])
def test_elements_are_taken_as_the_dtype_before_they_are_added(n, dtype):
    """However many there are: as if they were converted first, to the bit."""
    rng = np.random.default_rng(n)
    x = nd.array(rng.standard_normal(n)) if dtype[0] == "f" else nd.array(rng.integers(0, 100, n))
    rows = nd.from_offsets(np.array([0, n // 3, n // 3, n]), x)
    for a in (x, rows, rows[1:]):
        for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
            f = getattr(nd, name)
            assert repr(f(a, axis=a.ndim - 1, dtype=dtype).tolist()) == repr(f(a.astype(dtype), axis=a.ndim - 1, dtype=dtype).tolist()), name


@pytest.mark.parametrize("stable", [True, False])
def test_sorts_are_stable_whether_that_is_asked_for_or_not(stable):
    a = np.random.default_rng(0).integers(0, 3, 100)
    assert (np.asarray(nd.argsort(a, stable=stable)) == np.argsort(a, kind="stable")).all()
    assert (np.asarray(nd.sort(a, stable=stable)) == np.sort(a)).all()
