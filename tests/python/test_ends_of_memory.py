"""Nothing is read past an array: its last byte is the last one before a page that cannot be read. In a process of its own,
which a read past the end stops."""

import ctypes
import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dynd import nd

PAGE = mmap.PAGESIZE
SHAPES = [(rows, columns) for rows in (1, 5, 67, 300) for columns in (1, 3, 8, 33, 130)]
REDUCTIONS = ["sum", "max", "argmin", "any", "mean", "var"]


def at_the_end(values):
    """A copy of the values, behind which there is a page without access."""
    pages = -(-values.nbytes // PAGE)
    memory = mmap.mmap(-1, (pages + 1) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    assert protect(ctypes.c_void_p(start + pages * PAGE), ctypes.c_size_t(PAGE), 0) == 0
    made = np.frombuffer(memory, values.dtype, values.size, pages * PAGE - values.nbytes).reshape(values.shape)
    made[...] = values
    return made


def reduce_all(kind):
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        x = rng.integers(0, 9, shape).astype(kind)
        view, copy, mask = nd.asarray(at_the_end(x)), nd.array(x), nd.asarray(at_the_end(x > 3))
        for name in REDUCTIONS:
            for axis in (0, 1, None):
                found, wanted = (getattr(nd, name)(a, axis=axis) for a in (view, copy))
                assert np.array_equal(np.asarray(found), np.asarray(wanted)), (name, axis, shape)
        assert nd.sum(view.T).tolist() == nd.sum(copy.T).tolist()
        for axis in (0, 1):
            assert nd.sum(view, axis=axis, where=mask).tolist() == nd.sum(copy, axis=axis, where=nd.array(x > 3)).tolist()


def compute_all(kind):
    rng = np.random.default_rng(2)
    for shape in SHAPES:
        x = rng.integers(1, 9, shape).astype(kind)
        view, copy, mask = nd.asarray(at_the_end(x)), nd.array(x), nd.asarray(at_the_end(x > 3))
        functions = [lambda a: a + a, lambda a: a.T + a.T, lambda a: a[:, ::-1] * 2, lambda a: a[:, ::2] * 2, lambda a: a.astype("float64"), lambda a: a > 3]
        functions += [lambda a: nd.cumulative_sum(a, axis=0), lambda a: nd.cumulative_sum(a, axis=1), lambda a: nd.sort(a), lambda a: nd.unique(a)]
        functions += [lambda a: nd.where(a > 2, a, 1), lambda a: nd.softmax(a, axis=1), lambda a: a[mask], lambda a: nd.median(a, axis=0)]
        for i, f in enumerate(functions):
            assert np.array_equal(np.asarray(f(view)), np.asarray(f(copy))), (i, shape)


def columns_all(kind):
    """The last column, of as many rows as whole vectors have and of one more or less: nothing is behind its end."""
    functions = [lambda a: a + a, lambda a: a[::-1] * 2, lambda a: nd.sum(a), lambda a: a.astype("float64")]
    functions += [lambda a: nd.sort(a), lambda a: a > 3, lambda a: nd.cumulative_sum(a), lambda a: nd.array(a)]
    for columns in (2, 3, 4, 5, 8):
        for rows in [n + more for n in (4, 8, 16, 32, 64, 128, 512) for more in (-1, 0, 1)]:
            x = (np.arange(rows * columns).reshape(rows, columns) % 100).astype(kind)
            whole, copy = nd.asarray(at_the_end(x)), nd.array(x)
            for i, f in enumerate(functions):
                assert f(whole[:, -1]).tolist() == f(copy[:, -1]).tolist(), (i, columns, rows)
                assert f(whole[:, 0]).tolist() == f(copy[:, 0]).tolist(), (i, columns, rows)


def rows_all(kind):
    rng = np.random.default_rng(3)
    for longest in (1, 3, 9, 40, 3000):
        lengths = rng.integers(0, longest + 1, 61)
        offsets = np.append(0, lengths.cumsum())
        x = rng.integers(1, 9, offsets[-1]).astype(kind)
        copy = nd.from_offsets(offsets, nd.array(x))
        for narrow in ("int64", "int32"):
            view = nd.from_offsets(at_the_end(offsets.astype(narrow)), at_the_end(x)) if x.size else copy
            functions = [lambda a: a.sum(axis=1), lambda a: a.max(axis=1, empty="missing"), lambda a: nd.var(a[:, :5], axis=1)]
            functions += [lambda a: a + a, lambda a: a * offsets[:-1, None], lambda a: nd.cumulative_sum(a, axis=1), lambda a: nd.sort(a)]
            functions += [lambda a: nd.softmax(a, axis=1), lambda a: a[:, ::2], lambda a: nd.combinations(a[:, :3], 2), lambda a: nd.sum(a)]
            functions += [lambda a: nd.pad(a, 12), lambda a: nd.to_dense(a, 12, 0), lambda a: nd.flatten(a), lambda a: a[a > 3]]
            functions += [lambda a: nd.repeat(a, 2), lambda a: nd.concat([a, a], axis=1), lambda a: nd.first(a[:, :1]), lambda a: nd.top_k(a, 2)]
            for i, f in enumerate(functions):
                assert repr(f(view).tolist()) == repr(f(copy).tolist()), (i, longest, narrow)


def last_rows_all(kind):
    """Every end of an array: rows are taken several elements at a time, empty ones too."""
    functions = [lambda a: a.sum(axis=1), lambda a: nd.cumulative_sum(a, axis=1), lambda a: a + 1, lambda a: nd.softmax(a, axis=1)]
    functions += [lambda a: a.max(axis=1, empty="missing"), lambda a: nd.any(a, axis=1), lambda a: nd.mean(a, axis=1), lambda a: nd.sort(a)]
    for before in (0, 1, 7, 8):
        for last in range(20):
            offsets = np.array([0, 5, 5 + before, 5 + before + last, 5 + before + last][: 4 + last % 2])
            x = np.arange(offsets[-1]).astype(kind)
            for f in functions:
                found, wanted = (f(nd.from_offsets(offsets, values)) for values in (at_the_end(x), nd.array(x)))
                assert repr(found.tolist()) == repr(wanted.tolist())


def places_of_rows():
    """Functions that take elements of rows to other places."""
    functions = [lambda a: nd.combinations(a, 2), lambda a: nd.combinations(a, 2, replacement=True), lambda a: nd.combinations(a, 3)]
    functions += [lambda a: nd.cartesian([a, a]), lambda a: nd.cartesian([a, a[:, :2]]), lambda a: nd.cartesian([a[:, :2], a], nested=True)]
    functions += [lambda a: nd.combinations(a, 2, fields=["x", "y"])["x"] + 1, lambda a: nd.combinations(a, 2, fields=["x", "y"])["y"] + 1]
    functions += [lambda a: nd.cartesian({"x": a, "y": a})["x"] + 1, lambda a: nd.cartesian({"x": a, "y": a})["y"] + 1, lambda a: nd.argcombinations(a, 2)]
    functions += [lambda a: nd.rolling(a, 3), lambda a: nd.roll(a, 1, axis=1), lambda a: nd.flip(a, axis=1), lambda a: nd.tile(a, (1, 2))]
    functions += [lambda a: nd.diff(a, axis=1), lambda a: nd.median(a, axis=1), lambda a: nd.quantile(a, 0.3, axis=1), lambda a: nd.unique(a, axis=1)]
    functions += [lambda a: nd.histogram(a, 3, axis=1)[0], lambda a: nd.histogram(a, 3)[0], lambda a: nd.isin(a, list(range(0, 40, 2)))]
    functions += [lambda a: nd.isin(a, [3, 5]), lambda a: nd.searchsorted(nd.sort(a), a), lambda a: nd.rank(a, axis=1), lambda a: nd.argsort(a, axis=1)]
    functions += [lambda a: nd.run_lengths(a, axis=1), lambda a: nd.unflatten(a, 1, axis=1), lambda a: nd.repeat(a, 3, axis=1), lambda a: nd.last(a)]
    functions += [lambda a: nd.sum(a, axis=0, align="left"), lambda a: nd.where(a > 2, a, 0), lambda a: a[nd.argsort(a, axis=1)], lambda a: a[::-1]]
    functions += [lambda a: nd.vecdot(a, a), lambda a: nd.logsumexp(a, axis=1), lambda a: nd.zip({"x": a, "y": a}), lambda a: nd.nonzero(a)[0]]
    return functions


def text_of(found):
    return repr([part.tolist() for part in found] if isinstance(found, tuple) else found.tolist())


def structure_all(kind):
    """Every end of an array that is read where it is."""
    for before in (0, 3, 8):
        for last in (0, 1, 2, 3, 5, 6, 7, 9, 17):
            offsets = np.array([0, 5, 5 + before, 5 + before, 5 + before + last])
            x = np.arange(offsets[-1]).astype(kind)
            for i, f in enumerate(places_of_rows()):
                found = f(nd.from_offsets(at_the_end(offsets), at_the_end(x)))
                assert text_of(found) == text_of(f(nd.from_offsets(offsets, nd.array(x)))), (i, before, last)


def own_array_at_an_end(kind):
    """An array in memory of the library, of so many bytes that it ends where a mapping does, with nothing behind."""
    tries = []
    for _ in range(20):
        tries.append(nd.array((np.arange(((4 << 20) - 64) // np.dtype(kind).itemsize) % 50).astype(kind)))
        plain = np.asarray(tries[-1])
        end = plain.ctypes.data + plain.nbytes
        maps = [[int(at, 16) for at in line.split()[0].split("-")] for line in open("/proc/self/maps")]
        if end % PAGE == 0 and not any(low <= end < high for low, high in maps):
            return tries[-1]
    return None


def own_all(kind):
    """Lazy records read only memory of the library: at its ends too, whatever the last rows are."""
    own = own_array_at_an_end(kind)
    if own is None:
        return
    for last in (1, 2, 6, 7, 9, 16):
        lengths = np.resize([16, 9, 8, 3, 0, 1], 60)
        lengths[-1] = last
        offsets = own.shape[0] - lengths[::-1].cumsum()[::-1]
        rows = nd.from_offsets(np.append(offsets, own.shape[0]), own)
        copy = nd.from_offsets(np.append(offsets, own.shape[0]) - offsets[0], nd.array(np.asarray(own)[offsets[0] :].copy()))
        for i, f in enumerate(places_of_rows()):
            assert text_of(f(rows)) == text_of(f(copy)), (i, last)


@pytest.mark.parametrize("kind", ["i1", "i4", "f4", "f8"])
@pytest.mark.parametrize(
    "what", ["reduce_all", "compute_all", "columns_all", "rows_all", "last_rows_all", "structure_all", "own_all"]
)
def test_nothing_is_read_past_the_end(what, kind):
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_ends_of_memory as t; t.{what}({kind!r})"
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


SELECT = """
import ctypes, mmap, sys
import numpy as np
sys.path.insert(0, {folder!r})
from dynd import nd
from test_ends_of_memory import at_the_end
for kind in ("int8", "int16", "int32", "float32", "int64", "float64", "complex128"):
    for n in (65, 127, 130, 1000, 5003, 70001):
        for every in (1, 2, 3, 63, 64):
            x, mask = np.arange(n).astype(kind), np.arange(n) % every == 0
            found = nd.asarray(at_the_end(x))[nd.asarray(at_the_end(mask))]
            assert np.array_equal(found, x[mask]), (kind, n, every)
print("done")
"""


@pytest.mark.parametrize("bytes", ["1", str(1 << 40)])
@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_masks_read_nothing_past_the_end(bytes, level):
    code = SELECT.format(folder=str(Path(__file__).parent))
    environment = dict(os.environ, DYND_STREAM_BYTES=bytes, DYND_CPU_LEVEL=level)
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert made.stdout == "done\n", made
