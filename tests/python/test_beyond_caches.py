"""Arrays larger than any cache: their results are stored past the caches, their operands are read ahead. Here small ones
are treated so, and give the same bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import beyond_caches
from dynd import nd

HERE = Path(__file__).parent


def digests(threads, **settings):
    path = os.pathsep.join([str(HERE), *sys.path])
    done = subprocess.run(
        [sys.executable, str(HERE / "beyond_caches.py"), str(threads)],
        env=os.environ | settings | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=170,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_streaming_stores_and_prefetching_change_no_byte():
    far = digests(2, DYND_STREAM_BYTES="0", DYND_PREFETCH_BYTES="0", DYND_DIRECT="0")
    near = beyond_caches.digests()
    assert far.keys() == near.keys() and len(near) > 2000
    assert [name for name in near if far[name] != near[name]] == []


SHOWN = """
from dynd import nd
a = nd.array([1.5, 2.5] * 6000)
print(nd.explain(lambda: (a * 2).eval()))
"""


def test_explain_says_that_stores_stream():
    for bytes_, streams in (("0", True), ("100000000", False), ("7x", False), ("", False)):
        done = subprocess.run(
            [sys.executable, "-c", SHOWN], env=os.environ | {"DYND_STREAM_BYTES": bytes_}, capture_output=True, text=True
        )
        assert ("streaming stores" in done.stdout) == streams and "multiply" in done.stdout, done


TRANSPOSED = """
import numpy as np
from dynd import nd
x = np.zeros((40, 40, 40))
for axes in [(2, 1, 0), (2, 0, 1), (0, 2, 1)]:
    print(str(nd.explain(nd.assign, nd.asarray(np.empty((40, 40, 40))), nd.asarray(x.transpose(axes)))).count("streaming stores"))
short = nd.asarray(np.empty((40, 40, 40))[:, :, :7])  # rows that are collected in scratch, with gaps between them
print(str(nd.explain(nd.assign, short, nd.asarray(x[:, :, :7]))).count("streaming stores"))
"""


def test_transposed_copies_stream_whatever_is_between_the_rows():
    done = subprocess.run([sys.executable, "-c", TRANSPOSED], env=os.environ | {"DYND_STREAM_BYTES": "0"},
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout.split() == ["1", "1", "1", "0"]


PANELS = """
import numpy as np
from dynd import nd
for dtype in ["uint8", "int16", "float32", "float64", "complex128"]:
    for rows, columns in [(70, 50), (130, 2100), (513, 300), (1100, 520)]:  # several panels, and parts of them
        x = (np.arange(rows * columns) % 97).astype(dtype).reshape(columns, rows).T
        y = (np.arange(rows * columns) % 89).astype(dtype).reshape(rows, columns)
        for first in (0, 1):  # rows that begin in a line alike, and others
            to = np.zeros((rows + 1, columns + 3), dtype)[1:, first : columns + first]
            nd.assign(nd.asarray(to), nd.asarray(x))
            assert np.array_equal(to, x), (dtype, rows, columns)
        a, b = nd.asarray(x), nd.asarray(y)
        assert np.array_equal(np.asarray((a + b).eval()), x + y), (dtype, rows, columns)
        assert np.array_equal(np.asarray((b * a + a).eval()), y * x + x), (dtype, rows, columns)
        to = np.zeros((rows, columns))
        nd.assign(nd.asarray(to), nd.asarray(x.real))  # other sizes of elements
        assert np.array_equal(to, x.real), (dtype, rows, columns)
"""


def test_panels_of_arrays_beyond_the_caches():
    for level in ("", "avx2"):
        env = os.environ | {"DYND_STREAM_BYTES": "0"} | ({"DYND_CPU_LEVEL": level} if level else {})
        done = subprocess.run([sys.executable, "-c", PANELS], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
