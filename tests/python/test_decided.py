"""One element decides a reduction of bools: it is found wherever it is, and what fails behind it still fails."""

import numpy as np
import pytest

from dynd import nd

SIZE = 40_000
#: At and around the ends of vectors, batches, parts and rows.
PLACES = [0, 1, 63, 64, 255, 256, 257, 511, 512, 1023, 1024, 1025, 3071, 3072, 7168, 32767, 32768, 39_936, SIZE - 1]
LAYOUTS = {
    "flat": lambda x: x,
    "second": lambda x: np.repeat(x, 2)[::2],
    "third": lambda x: np.repeat(x, 3)[::3],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "one row": lambda x: x.reshape(1, -1),
    "F": lambda x: x.reshape(200, -1).copy(order="F"),
    "permuted": lambda x: x.reshape(20, 50, 40).transpose(1, 0, 2).copy().transpose(1, 0, 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("decides", [True, False])
def test_the_element_that_decides_is_found_everywhere(threads, layout, decides):
    names = ["any", "max", "argmax"] if decides else ["all", "min", "argmin"]
    for places in [[p] for p in PLACES] + [[], [700, 30_000], [5000, 5001]]:
        x = np.full(SIZE, not decides)
        x[places] = decides
        y = LAYOUTS[layout](x)
        a, owned = nd.asarray(y), nd.array(y)
        for name in names:
            assert getattr(nd, name)(a).tolist() == getattr(np, name)(y), (name, places)
            assert getattr(nd, name)(owned & nd.array(np.ones_like(y))).tolist() == getattr(np, name)(y), (name, places)
            rows = getattr(nd, name)(a, axis=-1).tolist()
            assert rows == getattr(np, name)(y, axis=-1).tolist(), (name, places)


@pytest.mark.parametrize("decides", [True, False])
def test_missing_elements_decide_nothing(threads, decides):
    """The value and whether there is one are two folds: one that is decided says nothing of the other."""
    for first in (0, 300, 20_000):  # before it, all is missing
        for place in [p for p in PLACES if p >= first]:
            x = np.full(SIZE, not decides)
            x[:first] = x[place] = decides
            present = np.arange(SIZE) >= first
            a = nd.where(nd.array(present), nd.array(x), None)
            for name in ("any", "max", "argmax", "all", "min", "argmin"):
                expected = getattr(np, name)(x[first:]) + ("arg" in name and first)
                for rows, axis in (a, 0), (a.eval(), 0), (nd.reshape(a, (1, -1)), 1), (nd.reshape(a, (-1, 1)), 0):
                    found = getattr(nd, name)(rows, axis=axis).tolist()
                    assert np.ravel(found).tolist() == [expected], (name, place)
                chosen = getattr(nd, name)(nd.array(x), where=nd.array(present)).tolist()
                assert chosen == expected, (name, place)


def test_every_kind_of_byte_is_a_bool():
    """NumPy's bools may be bytes other than 0 and 1."""
    for byte in (2, 128, 255):
        x = np.zeros(5000, np.uint8)
        x[4321] = byte
        a = nd.asarray(x.view(bool))
        assert nd.any(a).tolist() is True and nd.argmax(a).tolist() == 4321
        assert nd.all(nd.asarray((x * 0 + byte).view(bool))).tolist() is True


def test_rows_of_any_length_have_their_own_positions(threads):
    rng = np.random.default_rng(3)
    for length in (1, 5, 24, 25, 63, 64, 65, 127, 300, 1000, 5000):
        x = rng.random((max(3, 20_000 // length), length)) < 1 / length
        a, offsets = nd.asarray(x), np.arange(len(x) + 1) * length
        ragged = nd.from_offsets(offsets, x.ravel())
        for name in ("argmax", "argmin", "any", "all", "max", "min"):
            expected = getattr(np, name)(x, axis=1).tolist()
            assert getattr(nd, name)(a, axis=1).tolist() == expected, (name, length)
            assert getattr(nd, name)(ragged, axis=1).tolist() == expected, (name, length)


def test_what_fails_behind_it_fails():
    b = np.ones(30_000, "int64")
    b[29_000] = 0
    one = nd.array(np.ones(30_000, "int64"))
    with pytest.raises(ValueError, match=r"integer division by zero at index \(29000,\)"):
        nd.any(one // nd.array(b))
    with pytest.raises(ValueError, match=r"integer division by zero at index \(29000,\)"):
        nd.max(one // nd.array(b) > 0)


@pytest.mark.parametrize("dtype", ["int16", "float32", "uint8", "float64"])
def test_several_folds_of_narrow_types_share_their_batches(threads, dtype):
    """They go in batches of as many bytes as those of wide types: ends of batches are elsewhere."""
    rng = np.random.default_rng(4)
    for n in (1, 63, 2047, 2048, 2049, 4097, 16_385, 70_001):
        x = rng.integers(0, 100, n).astype(dtype)
        for y in (x, np.repeat(x, 2)[::2], x[::-1]):
            a = nd.asarray(y)
            assert nd.ptp(a).tolist() == np.ptp(y)
            assert nd.any(a).tolist() == np.any(y) and nd.all(a).tolist() == np.all(y)
            assert nd.count_nonzero(a).tolist() == np.count_nonzero(y)
            assert (nd.array(y) + 1).max().tolist() == (y + 1).max()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "uint16"])
def test_every_second_of_narrow_items(dtype):
    for n in list(range(1, 140)) + [511, 513, 4097]:
        x = np.arange(2 * n + 1).astype(dtype)
        for y in (x[: 2 * n - 1 : 2], x[1::2], x[: 2 * n - 1 : 2][::-1]):
            assert nd.array(nd.asarray(y)).tolist() == y.tolist()


@pytest.mark.parametrize("scan", ["cumulative_sum", "cumulative_prod", "cumulative_min", "cumulative_max"])
@pytest.mark.parametrize("dtype", ["bool", "int16", "int64", "float16", "float32", "complex64"])
def test_running_values_of_few_columns(threads, scan, dtype):
    """Along the rows of up to 16 columns in one call, of more in a call for each row."""
    if dtype == "complex64" and scan[-3:] in ("min", "max"):
        return
    numpy = {"sum": np.cumsum, "rod": np.cumprod, "min": np.minimum.accumulate, "max": np.maximum.accumulate}[scan[-3:]]
    rng = np.random.default_rng(5)
    for columns in (1, 2, 4, 15, 16, 17, 33):
        for rows in (1, 2, 700):
            x = rng.integers(0, 2, (rows, columns)).astype(dtype)
            for y in (x, np.repeat(x, 2, axis=0)[::2], np.asfortranarray(x), x[::-1]):
                result = getattr(nd, scan)(nd.asarray(y), axis=0)
                assert np.array_equal(np.asarray(result), numpy(y, axis=0)), (rows, columns)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("length", [1, 3, 31, 33, 50, 63, 65, 100, 127, 159, 160, 255, 261, 319, 321, 640, 1279, 1281])
def test_rows_with_one_number_each_in_batches_of_whole_lines(dtype, length):
    rng = np.random.default_rng(length)
    name = "multiply" if dtype.startswith("complex") else "maximum"
    ours, theirs = getattr(nd, name), getattr(np, name)
    for rows in (3, 4, 5, 8, 17, 66, 8192 // length + 1):
        a, b = rng.integers(0, 2, (rows, length)).astype(dtype), rng.integers(0, 2, (rows, 1)).astype(dtype)
        mine, column, half = nd.array(a), nd.array(b), length // 2
        np.testing.assert_array_equal(np.asarray(ours(mine, column)), theirs(a, b))
        np.testing.assert_array_equal(np.asarray(ours(mine[:, :half], column)), theirs(a[:, :half], b))
        np.testing.assert_array_equal(np.asarray(ours(mine, mine[0])), theirs(a, a[0]))
        chosen = nd.where(mine == column, mine, column[0, 0])
        np.testing.assert_array_equal(np.asarray(chosen), np.where(a == b, a, b[0, 0]))
