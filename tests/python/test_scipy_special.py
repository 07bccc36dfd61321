"""Every ufunc of scipy.special as a callable, on strided and ragged arrays, against the ufunc itself."""

import warnings

import numpy as np
import pytest
import scipy.special

from dynd import nd

UFUNCS = sorted(name for name in dir(scipy.special) if isinstance(getattr(scipy.special, name), np.ufunc))
OFFSETS = np.array([0, 3, 3, 7, 12])


def tuple_of(results):
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("name", UFUNCS)
def test_as_the_ufunc(name):
    ufunc = getattr(scipy.special, name)
    ours = nd.from_ufunc(ufunc)
    rng = np.random.default_rng(1)
    called = 0
    for dtype in (np.float64, np.float32, np.int64, np.complex128):
        x = [(2 * rng.random(12) + 1.1).astype(dtype) for _ in range(ufunc.nin)]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that are cut to integers
            try:
                expected = tuple_of(ufunc(*x))
            except TypeError:
                with pytest.raises(TypeError):
                    ours(*map(nd.array, x))
                continue
            flat = tuple_of(ours(*map(nd.array, x)))
            rows = tuple_of(ours(*(nd.from_offsets(OFFSETS, a) for a in x)))
        called += 1
        for e, f, r in zip(expected, flat, rows, strict=True):
            np.testing.assert_array_equal(np.asarray(f), e, strict=True)
            np.testing.assert_array_equal(np.asarray(nd.flatten(r)), e, strict=True)
            assert np.asarray(nd.num(r)).tolist() == [3, 0, 4, 5]
    assert called
