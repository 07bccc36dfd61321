"""What masks and indices refuse, how they say it, and what stretches."""

import itertools
import re

import numpy as np
import pytest
from dynd import nd


def fails(kind, text, call):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value), str(caught.value)


def test_refusals():
    a = nd.array([[1, 2, 3], [], [4, 5]])
    b = nd.array(np.arange(24).reshape(2, 3, 4))
    w = nd.array(np.arange(3), access="rw")
    deep = nd.array([[[1], [2, 3]]])
    refused = [
        (IndexError, "index 3 is out of bounds for axis 0 with size 3", lambda: a[[0, 3]]),
        (IndexError, "index 1 is out of bounds for axis 1 of row 1 with size 0", lambda: a[[1], [1]]),
        (IndexError, "index 1 is out of bounds for axis 1 of row 1 with size 0", lambda: a[:, [1]]),
        (IndexError, "index -3 is out of bounds for axis 1 of row 2 with size 2", lambda: a[nd.array([[0], [], [-3]])]),
        (IndexError, "use nd.take for rows by their number, or nd.take_along_axis", lambda: a[[[0, 1], [1, 0]]]),
        (IndexError, "row 2 of the mask has 1 element(s), that of the array 2",
         lambda: a[nd.array([[True, True, False], [], [True]])]),
        (IndexError, "the mask's axis 0 with size 2 does not fit axis 0 with size 3", lambda: a[[True, False]]),
        (IndexError, "index 4 is out of bounds for axis 2 with size 4", lambda: b[:, nd.empty("0 * int64"), 4]),
        (IndexError, "index -4 is out of bounds for axis 1 with size 3", lambda: b[nd.empty("0 * int64"), -4]),
        (IndexError, "separated by a slice", lambda: b[[0], :, [1]]),
        (IndexError, "separated by a slice", lambda: b[0, ..., [1]]),
        (IndexError, "too many indices: 4 for 3", lambda: b[[0], [0], [0], [0]]),
        (IndexError, "more than one ellipsis", lambda: b[..., [0], ...]),
        (IndexError, "the index has size 2 along axis 0, the array 3", lambda: a[nd.array([[0], []])]),
        (IndexError, "stands alone, beside slices", lambda: deep[nd.array([[0]], type="1 * var * int8"), 0]),
        (ValueError, "cannot be broadcast together", lambda: b[[0, 1], [0, 1, 2]]),
        (TypeError, "must be of integers, or of bool as a mask, not strided * float64", lambda: a[[0.5]]),
        (TypeError, "must be of integers", lambda: a[nd.array(["a", "b"])]),
        (IndexError, "at least one dimension", lambda: a[nd.array(True)]),
        (IndexError, "must be an integer, a slice", lambda: a[1.5]),
        (TypeError, "the destination is immutable", lambda: a.__setitem__([0], 1)),
        (IndexError, "missing values has no elements to assign to", lambda: w.__setitem__(nd.array([0, None]), 1)),
        (ValueError, "broadcast", lambda: w.__setitem__([0, 1], [1, 2, 3])),
        (OverflowError, "", lambda: w.__setitem__([0, 1], 2**80)),
    ]
    for kind, text, call in refused:
        fails(kind, text, call)
    assert w.tolist() == [0, 1, 2]


def test_a_missing_value_of_a_mask_selects_nothing_whatever_is_behind_it():
    mask = nd.array([1, None, 9, None, 2]) < 5  # where it is missing, 0 < 5 was computed
    assert nd.array([10, 20, 30, 40, 50])[mask].tolist() == [10, 50]
    rows = nd.array([[1, None], [None, 9, 1]]) < 5
    assert nd.array([[1, 2], [3, 4, 5]])[rows].tolist() == [[1], [5]]
    assert nd.array([[1, 2], [3, 4]])[nd.array([None, 1]) < 5].tolist() == [[3, 4]]
    written = nd.array([10, 20, 30, 40, 50], access="rw")
    written[mask] = 0
    assert written.tolist() == [0, 20, 30, 40, 0]


@pytest.mark.parametrize("a, mask", [
    ([[1, 2], [3]], [True, True]),
    ([[1, 2], [3]], [[True, False], [True, False]]),
    ([["a"], ["b", "c"]], [[True, False], [True, False]]),
    ([7], [True, False, True]),
])  # fmt: skip
def test_a_mask_does_not_stretch_the_array(a, mask):
    """It made elements that were not there."""
    with pytest.raises(ValueError, match="mask: a mask of .* does not fit an array of .*: it would stretch the array"):
        nd.mask(a, mask)


def test_a_mask_stretches():
    a = nd.array([[1, 2], [], [3]])
    assert nd.mask(a, [[True], [True], [False]]).tolist() == [[1, 2], [], [None]]
    assert nd.mask(a[::-1], a[::-1] > 1).tolist() == [[3], [], [None, 2]]


def test_values_that_do_not_fit_what_is_selected():
    d = nd.array(np.arange(12.0).reshape(3, 4), access="rw")
    before = d.tolist()
    for index, value, shapes in [
        ([0, 1], [1, 2], "(2,) to (2, 4)"),
        (([0, 1], [0, 1]), [7, 8, 9], "(3,) to (2,)"),
        (d > 5, [1.0, 2.0], "(2,) to (6,)"),
        (([0], slice(1, None)), [1, 2], "(2,) to (1, 3)"),
        ([0], np.zeros((2, 1, 4)), "(2, 1, 4) to (1, 4)"),
    ]:
        with pytest.raises(ValueError, match=re.escape(f"assign: cannot broadcast {shapes}") + "$"):
            d[index] = value
    assert d.tolist() == before


def broadcasts(shape, to):
    """Without dimensions of its own."""
    return len(shape) <= len(to) and all(own in (1, size) for own, size in zip(shape[::-1], to[::-1]))


@pytest.mark.parametrize("inside", [(), (4,), (2, 4)])
@pytest.mark.parametrize("index", [(), (4,), (1,), (2, 2), (1, 4), (4, 1), (2, 1, 2), (0,), (2, 0)])
def test_a_value_has_the_dimensions_of_the_index(index, inside):
    """As many values as places are not enough: one dimension of values is no index of two."""
    places = np.arange(np.prod(index, dtype=int)).reshape(index)[..., ::-1] if index else np.array(2)
    columns = np.array([1, 0, 3, 2]) % inside[0] if inside else None
    shapes = {(), (0,), (1,), (2,), (4,), *itertools.product((1, 2, 4), repeat=2), (4, 2, 4), (1, 2, 4), (2, 2, 2, 4)}
    shapes |= {index + inside, inside, (places.size, *inside), (*index, *[1] * len(inside))}
    for key, selected in [(places, index + inside), ((slice(None), columns), (5, 4, *inside[1:]))][: 1 + bool(inside)]:
        for shape, kind in itertools.product(shapes, ("float64", "?int32")):
            value = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)
            written, expected = nd.zeros((5, *inside), kind, access="rw"), np.zeros((5, *inside))
            if broadcasts(shape, selected):
                expected[key] = value
                written[key] = nd.array(value)
            else:
                with pytest.raises(ValueError, match="assign: cannot broadcast"):
                    written[key] = nd.array(value)
            assert written.tolist() == expected.tolist(), (shape, key, kind)


def test_unsigned_indices_beyond_int64_are_out_of_bounds():
    d, x = nd.array(np.arange(6).reshape(3, 2)), nd.array([[1, 2], [], [3]])
    big = np.array([2**64 - 1], dtype=np.uint64)
    rows = nd.array([[2**64 - 1], [], [0]], type="3 * var * uint64")
    for call in (lambda: d[big], lambda: d[[0], big], lambda: d[:, big], lambda: nd.take(d, big, axis=0), lambda: x[rows],
                 lambda: nd.take_along_axis(x, rows)):
        with pytest.raises(IndexError, match="an index is out of bounds: .*18446744073709551615"):
            call()
    for name, call in [("unflatten", lambda: nd.unflatten([1], big)), ("repeat", lambda: nd.repeat([1], big))]:
        with pytest.raises(OverflowError, match=f"^{name}: .*18446744073709551615"):
            call()


def test_the_first_index_out_of_bounds_is_named_among_many(threads):
    a = nd.array(np.arange(12.0).reshape(3, 4))
    first, second = np.zeros(200_000, int), np.zeros(200_000, int)
    first[[150_000, 190_000]] = 3, 5
    second[[70_000, 199_999]] = -5, 4
    good = nd.array(np.zeros(200_000, int))
    with pytest.raises(IndexError, match=r"index 3 is out of bounds for axis 0 with size 3"):
        a[nd.array(first), good]
    with pytest.raises(IndexError, match=r"index -5 is out of bounds for axis 1 with size 4"):
        a[good, nd.array(second)]
    with pytest.raises(IndexError, match=r"index -5 is out of bounds for axis 1 with size 4"):
        a[:, nd.array(second)]
